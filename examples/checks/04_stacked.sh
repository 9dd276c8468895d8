#!/bin/sh
# 04_stacked.sh PROGRAM: what it prints, to the letter; time stands still but where the example moves it.
set -eu
"$1" 2>/dev/null | diff - /dev/fd/3 3<<'END'
ann /orders: 5 of 6, then 429 for the user, Retry-After: 1
bob /orders: 5 of 6, then 429 for the user, Retry-After: 1
eve /orders: 2 of 6, then 429 for the tenant, Retry-After: 1
198.18.0.66 /login: 10 of 100, then 429 for the login, Retry-After: 900
198.18.0.2 /login: all 3
the site has counted 25
198.18.0.66 /login: 10 of 11, then 429 for the login, Retry-After: 900
END
