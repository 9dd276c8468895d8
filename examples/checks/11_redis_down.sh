#!/bin/sh
# 11_redis_down.sh PROGRAM: while Redis is down (seconds 2 to 4) each policy does what it says, and afterwards Redis decides.
set -eu
if ! command -v redis-server >/dev/null; then
  echo "redis-server not found (Debian: redis-server): not checked"
  exit 0
fi
"$1" 400 | tee /dev/stderr | awk '
  $2 == "down" { down++; if ($3 != 20 || $4 != "policy" || $7 != 0 || $8 != "policy" || $11 > 6 || $12 != "local") wrong = 1 }
  $1 == 0 || $1 == 7 { up++; if ($4 != "redis" || $8 != "redis" || $12 != "redis") wrong = 1 }
  END { exit wrong || down != 3 || up != 2 }'
