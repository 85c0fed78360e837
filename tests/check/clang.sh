#!/bin/sh
# clang accepts every program too, with the same warnings as errors.  But for
# formats handed on by va_list: gcc sees those by the function's attribute.
command -v clang >/dev/null || { echo "clang is missing"; exit 77; }
exec make -s -j2 B=build/clang CC=clang \
	WARN="-Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
-Wformat=2 -Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wno-unused-parameter \
-Wno-missing-field-initializers -Wno-unused-command-line-argument -Wno-format-nonliteral" \
	all
