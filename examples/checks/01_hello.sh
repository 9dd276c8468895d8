#!/bin/sh
# 01_hello.sh PROGRAM: what it prints, and that the README shows it as it is.
set -eu
examples=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$1" | diff - /dev/fd/3 3<<'END'
200 OK, 2 left
200 OK, 1 left
200 OK, 0 left
429 Too Many Requests, Retry-After: 6
429 Too Many Requests, Retry-After: 6
END
[ "$(wc -l <"$examples/01_hello.cpp")" -le 15 ] # the first screen
awk '/^```/ { if (shown) exit; shown = /cpp/; next } shown' "$examples/../README.md" >"$folder/shown"
diff "$examples/01_hello.cpp" "$folder/shown"
