#!/bin/sh
# 02_access_log.sh PROGRAM: what the example says of the log that comes with Penstock, recounted; and of odd input.
set -u
program=$1
checks=$(cd "$(dirname "$0")" && pwd)
log=$checks/../data/access.log
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
# Name, admitted and refused of each algorithm, from a table on standard input.
table() { awk '$1 ~ /^(fixed|sliding|token|leaky)_/ { print $1, $2, $3 }'; }
# expect_status STATUS WORDS ARGUMENT...: runs it; WORDS must be on standard error, and nothing on standard output.
expect_status() {
  status=$1 words=$2
  shift 2
  "$program" "$@" >"$folder/out" 2>"$folder/err"
  got=$?
  [ $got -eq "$status" ] || fail "$*: exit status $got, expected $status"
  grep -qF -e "$words" "$folder/err" || fail "$*: '$words' is not in: $(cat "$folder/err")"
  [ ! -s "$folder/out" ] || fail "$*: an error, and yet a table"
}

# The totals, counted again by other means. All days of this log are of one month, so its times sort as text.
sort -s -t ' ' -k 4,4 "$log" >"$folder/sorted"
for limit in 10/60 2/10 100/3600 60/60 1/1; do
  units=${limit%/*} period=${limit#*/}
  "$program" --limit "$units per $period s" "$log" | table >"$folder/printed"
  awk -v "units=$units" -v "period=$period" -f "$checks/recount.awk" "$folder/sorted" >"$folder/recounted"
  diff "$folder/printed" "$folder/recounted" || fail "$units per $period s: printed <, recounted >"
done

# The shipped log is the default, wherever the program is run; standard input and a file say the same.
"$program" --limit 10/min "$log" | table >"$folder/file"
[ "$(awk '$2 + $3 == 10000' "$folder/file" | wc -l)" -eq 6 ] || fail "admitted and refused do not add up to 10000"
(cd "$folder" && "$program") | table | diff "$folder/file" - || fail "the default log"
"$program" - <"$log" | table | diff "$folder/file" - || fail "standard input"
"$program" "$folder/sorted" | table | diff "$folder/file" - || fail "the order of the lines"
sed 's/$/\r/' "$log" | "$program" - | table | diff "$folder/file" - || fail "lines that end in CR LF"
awk '{ print $0, "\"-\"", "\"curl/7.88\"" }' "$log" | "$program" - | table | diff "$folder/file" - || fail "the combined format"
# Eight hours to the east on every line: windows of a minute do not notice.
sed 's/ +0000]/ +0800]/' "$log" | "$program" - | table | diff "$folder/file" - || fail "another zone"

# A zone is part of the time: these are three requests of one second.
cat >"$folder/zones" <<'END'
::1 - - [29/Feb/2024:00:00:10 +0000] "GET / HTTP/1.1" 200 5
::1 - - [28/Feb/2024:16:30:10 -0730] "GET / HTTP/1.1" 200 5
::1 - - [29/Feb/2024:05:45:10 +0545] "GET / HTTP/1.1" 200 5
END
[ "$("$program" --limit 2/s "$folder/zones" | table | awk '$2 == 2 && $3 == 1' | wc -l)" -eq 6 ] || fail "zones"

# Seven good lines among seven malformed ones, and no end to the last.
time='[17/May/2015:10:05:03 +0000]'
million=$(printf '%01000000d' 0)
{
  printf '%s\n' "2001:db8::7 - - $time \"GET / HTTP/1.1\" 200 5"
  printf '%s\n' 'not a line of a log' ''
  printf '%s\n' "2001:db8::7 - frank $time \"GET /\\\"quoted\\\" HTTP/1.1\" 200 -"
  printf '%s\n' '2001:db8::7 - - [31/Feb/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5'
  printf '%s\n' '2001:db8::7 - - [17/May/2015:25:05:03 +0000] "GET / HTTP/1.1" 200 5'
  printf '%s\000%s\n' "2001:db8::7 - - $time \"GET /" ' HTTP/1.1" 200 5'
  printf '%s\000%s\n' '2001:' "db8::7 - - $time \"GET / HTTP/1.1\" 200 5"
  printf '%s\r\n' "2001:db8::7 - - $time \"GET /$million HTTP/1.1\" 200 5"
  printf '%s\n' "$million - - $time \"GET / HTTP/1.1\" 200 5"
  printf '%s\n' "2001:db8::7 - - $time \"GET / HTTP/1.1"
  printf '%s\n' "2001:db8::7 - a b $time \"-\" 408 -"
  printf '%s\n' "2001:db8::7 - - $time \"\\\\\" 400 226"
  printf '%s' "2001:db8::7 - - $time \"GET / HTTP/1.1\" 200 5"
} >"$folder/odd"
"$program" --limit 3/min "$folder/odd" >"$folder/out" || fail "malformed lines are fatal"
grep -q '7 requests of 1 clients' "$folder/out" || fail "seven lines are good"
grep -q 'malformed, and left out: 7 lines, number 2, 3, 5, 6, 8, \.\.\.$' "$folder/out" || fail "seven lines are malformed"
[ "$(table <"$folder/out" | awk '$2 == 3 && $3 == 4' | wc -l)" -eq 6 ] || fail "three of seven are admitted"
grep -q '^2001:db8::7 ' "$folder/out" || fail "the client refused most is not named"

# Nothing in, nothing out; what is no log; what cannot be.
[ "$("$program" - </dev/null | table | awk '$2 == 0 && $3 == 0' | wc -l)" -eq 6 ] || fail "an empty log"
head -c 100000 "$program" | "$program" - >"$folder/out" || fail "a program is not a log, but no reason to stop"
grep -q ' 0 requests of 0 clients' "$folder/out" || fail "requests found in a program"
expect_status 2 "no_such.log: no such file" "$folder/no_such.log"
expect_status 2 "is a folder" "$folder"
expect_status 2 'rate "10 per fortnight": expected a unit' --limit "10 per fortnight" "$log"
expect_status 2 "at position 7" --limit "10 per fortnight" "$log"
expect_status 2 "allowed: a count from 1 to" --limit 9999999999/s "$log"
expect_status 2 "usage:" --limit
expect_status 2 "usage:" --frobnicate
"$program" --help | grep -q '^usage:' || fail "--help"

[ $failures -eq 0 ]
