#!/bin/sh
# clang accepts the programs, the unit tests and what they run, with the same
# warnings as errors.
command -v clang >/dev/null || { echo "clang is missing"; exit 77; }
exec make -s -j2 B=build/clang CC=clang SAY=: compiled
