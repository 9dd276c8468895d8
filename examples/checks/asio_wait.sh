#!/bin/sh
# asio_wait.sh PROGRAM: those who wait are served in the order of their calls; who leaves, or will not wait, is not.
set -eu
said=$("$1")
[ "$said" = "this Asio has no coroutines for this compiler" ] && exit 0
printf '%s\n' "$said" | grep 'is sent$' | diff - /dev/fd/3 3<<'END'
call 1 is sent
call 2 is sent
call 3 is sent
call 4 is sent
call 5 is sent
END
printf '%s\n' "$said" | grep -v 'is sent$' | sort | diff - /dev/fd/3 3<<'END'
call 6 is called off
call 7 would wait too long
END
