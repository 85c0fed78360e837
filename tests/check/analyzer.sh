#!/bin/sh
# gcc's analyzer over every program: leaks, double frees, closed descriptors used.
command -v gcc >/dev/null || { echo "gcc is missing"; exit 77; }
# -O1: with less, it does not see through the small functions
exec sh tests/lib/each_source.sh analyzer "$0" sh -c 'exec gcc $CHECK_FLAGS -O1 \
	-fanalyzer -Werror -c -o /dev/null "$@"' gcc
