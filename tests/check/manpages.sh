#!/bin/sh
# The man pages are well-formed.
command -v mandoc >/dev/null || { echo "mandoc is missing"; exit 77; }
set -- docs/man/*.[1-8]
[ -e "$1" ] || { echo "there are no man pages"; exit 1; }
# "kennel exec" is a page of its own and may name kennel(1).
out=$(mandoc -Tlint -Wwarning "$@" | grep -v "cross reference to self: Xr kennel 1")
[ -z "$out" ] || { echo "$out"; exit 1; }
