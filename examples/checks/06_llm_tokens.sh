#!/bin/sh
# 06_llm_tokens.sh PROGRAM: what it prints, to the letter; time stands still but where the example moves it.
set -eu
"$1" 2>/dev/null | diff - /dev/fd/3 3<<'END'
ann: 200, reserved 4100, used 800, 49366 left
ann: 502, the model did not answer, 49366 left
ann: 200, reserved 46000, used 48500, 1033 left
ann: 429, Retry-After: 37
ann: 200, reserved 4100, used 800, 5400 left
bob: 400, more than anybody has at once
END
