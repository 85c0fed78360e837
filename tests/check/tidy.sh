#!/bin/sh
# clang-tidy over every program: the checks of .clang-tidy, as errors.  One file
# at a time: of several, version 14 takes every va_list but the first for unset.
command -v clang-tidy >/dev/null || { echo "clang-tidy is missing"; exit 77; }
exec sh tests/lib/each_source.sh tidy .clang-tidy sh -c 'exec clang-tidy --quiet \
	--warnings-as-errors="*" "$@" -- $CHECK_FLAGS' tidy
