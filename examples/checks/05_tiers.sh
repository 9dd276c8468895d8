#!/bin/sh
# 05_tiers.sh PROGRAM: what it prints, to the letter; time stands still but where the example moves it.
set -eu
"$1" 2>/dev/null | diff - /dev/fd/3 3<<'END'
ann  free          40 of    40 calls,    60 left
bob  basic         40 of    40 calls,   960 left
ann  enterprise     1 of     1 calls,  5999 left
ann  enterprise  5999 of 10000 calls,     0 left, again in 6 ms
ann  free           0 of     1 calls,     0 left, again in 600 ms
ann  free          50 of   100 calls,     0 left, again in 600 ms
ann  free          20 of   100 calls,     0 left, again in 600 ms
END
