#!/bin/sh
# What must not compile, and beside each its control that does: a secret has
# no way into text, a message or a structure.  S1-03 S4-29
#
#	CC=cc FLAGS="..." run.sh
set -eu
cd "$(dirname "$0")/../.."
# The Makefile gives the flags of the programs; by hand the ones that matter.
: "${FLAGS:=-D_GNU_SOURCE -I. -std=gnu11 -Wall -Wextra -Werror -Wformat=2}"
failed=0
n=0
compiles() { # FILE: with exactly the flags of the programs
	# shellcheck disable=SC2086
	${CC:-cc} $FLAGS -fsyntax-only -x c "$1" 2> "$said"
}
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for control in tests/compile_fail/*.ok.c; do
	bad=${control%.ok.c}.c
	name=$(basename "$bad" .c)
	n=$((n + 1))
	if ! compiles "$control"; then
		echo "not ok: the control of $name does not compile"
		sed 's/^/	/' "$said"
		failed=$((failed + 1))
	elif compiles "$bad"; then
		echo "not ok: $name compiles"
		failed=$((failed + 1))
	# The reason must be the one that the case is about, its first line.
	elif ! grep -qE "$(sed -n '1s/^\/\* error: \(.*\) \*\/$/\1/p' "$bad")" "$said"; then
		echo "not ok: $name fails for another reason"
		sed 's/^/	/' "$said"
		failed=$((failed + 1))
	else
		echo "ok: $name"
	fi
done
for bad in tests/compile_fail/*.c; do
	case $bad in *.ok.c) continue ;; esac
	[ -f "${bad%.c}.ok.c" ] || { echo "not ok: $bad has no control"; failed=$((failed + 1)); }
done
echo "$n cases, $failed failed"
[ "$failed" -eq 0 ] && [ "$n" -gt 0 ]
