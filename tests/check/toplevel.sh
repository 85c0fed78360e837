#!/bin/sh
# K-03: the top level is fixed, so that a newcomer knows within a minute which
# folder is which process.  A stray entry is planted and must be caught.
set -u
wanted="Makefile README.md docs leash policy shim supervisor tests"
n=0; bad=0
judge() { # judge NAME FOUND: the folder holds what is wanted and nothing else
	n=$((n + 1))
	if [ "$(printf '%s\n' $wanted)" = "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"; bad=1
	fi
}
have=$(ls | grep -v '^build' | LC_ALL=C sort)
judge "K-03 the top level is Makefile, README.md and six folders" "$have"
n=$((n + 1))
if [ "$(printf '%s\n' $wanted)" = "$(printf '%s\nvendor' "$have")" ]; then
	echo "not ok $n - a planted folder is caught"; bad=1
else
	echo "ok $n - a planted folder is caught"
fi
exit $bad
