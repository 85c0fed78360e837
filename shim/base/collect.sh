#!/bin/sh
# collect.sh NAME [-CALL...] FILE...: the system calls that the files' notes ask
# for, as a sorted C table.  A note is a comment "syscalls: a b c" beside the call
# that needs them ("early: a b c": made before the program confines itself, and
# not collected); confine.c brings what every program needs.  -CALL leaves out what
# this program uses shared code for only before it is confined.
set -eu
name=$1; shift
less=
while case ${1:-} in -*) ;; *) false ;; esac; do
	less="$less ${1#-}"; shift
done
echo "/* Generated from the notes in the sources of $name. */"
echo "#include <stdint.h>"
echo "#include <sys/syscall.h>"
echo "static const uint16_t ${name}_syscalls[] = {"
sed -n 's/.*[/ *]syscalls:\([a-z0-9_ ]*\).*/\1/p' "$@" | tr -s ' ' '\n' | grep . |
    LC_ALL=C sort -u | while read -r call; do
	case "$less " in *" $call "*) continue ;; esac
	printf '#ifdef SYS_%s\n\tSYS_%s,\n#endif\n' "$call" "$call"
done
echo "};"
