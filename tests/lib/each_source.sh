#!/bin/sh
# each_source.sh NAME CONFIG COMMAND...
#
# COMMAND FILE for every source of the programs, two at a time.  A file that
# passed is looked at again only when it, a header it includes or CONFIG (a file
# that says how) is not what it was.  Prints what COMMAND says of those that fail.
if [ "$1" != --one ]; then
	make -s build/gen/stamp || exit 1
	mkdir -p "build/check/$1"
	CHECK_FLAGS="-D_GNU_SOURCE -I. -Ibuild/gen -std=gnu11 \
$(pkg-config --cflags libnl-3.0)"
	export CHECK_FLAGS
	git ls-files 'shim/*.c' 'leash/*.c' 'policy/*.c' 'supervisor/*.c' |
	    while read -r f; do
		[ ! -e "$f" ] || echo "$f"
	done | xargs -P2 -n1 sh "$0" --one "$@"
	exit $?
fi
shift
name=$1 config=$2
shift 2
for f do :; done # the last: xargs puts it there
passed=build/check/$name/$(echo "$f" | tr / _)
# the rule "x.o: x.c a.h \" without its target and backslashes
reads=$(cc $CHECK_FLAGS -MM "$f" | sed 's/^[^:]*://; s/\\$//')
now="$(cat $reads "$config" "$0" | sha256sum) $*"
[ ! -e "$passed" ] || [ "$(cat "$passed")" != "$now" ] || exit 0
if said=$("$@" 2>&1); then
	echo "$now" >"$passed"
else
	echo "$said" | grep -av -e ' warnings\{0,1\} generated' -e '^Suppressed '
	exit 1
fi
