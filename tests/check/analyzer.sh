#!/bin/sh
# gcc's analyzer over every program: NULL, double frees, closed descriptors used.
command -v gcc >/dev/null || { echo "gcc is missing"; exit 77; }
# malloc-leak: gcc 12 calls memory lost as soon as its pointer is kept in a
# struct that the caller gave.  Leaks are seen by check-tidy (unix.Malloc) and by
# ASan in every unit test.  -O1: what it inlines is followed without a limit.
exec sh tests/lib/each_source.sh analyzer "$0" sh -c 'exec gcc $CHECK_FLAGS -O1 \
	-fanalyzer -Wno-analyzer-malloc-leak -Werror -c -o /dev/null "$@"' gcc
