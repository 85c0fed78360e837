#!/bin/sh
# The man pages are well-formed.
command -v mandoc >/dev/null || { echo "mandoc is missing"; exit 77; }
set -- docs/man/*.[1-8]
[ -e "$1" ] || { echo "there are no man pages"; exit 1; }
mandoc -Tlint -Wwarning "$@"
