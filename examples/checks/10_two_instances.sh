#!/bin/sh
# 10_two_instances.sh PROGRAM: the script admits 50 in each of five rounds; reading, then incrementing never fewer.
set -eu
if ! command -v redis-server >/dev/null; then
  echo "redis-server not found (Debian: redis-server): not checked"
  exit 0
fi
"$1" | tee /dev/stderr | awk '/^ +[1-5] / { rounds++; if ($3 != 50 || $2 < 50) wrong = 1 } END { exit wrong || rounds != 5 }'
