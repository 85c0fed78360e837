#!/bin/sh
# Every function that a confined program's objects take from a library makes only system calls that the
# program's allow-list has.  libc.calls is the table of functions and their calls; libc.excused names the
# functions that a program calls only before it is confined.  A function that the table lacks is an error.
#
# From the Makefile: OBJ GEN CC CONFINED and, for each program P of CONFINED, OBJECTS_P.
set -eu
here=tests/check
work=build/check/libc
failed=0
say() {
	echo "$1: $2"
	[ "$1" = ok ] || failed=1
}

# What an object takes from elsewhere: "OBJECT FUNCTION", and "OBJECT syscall CALL" for each number in its
# source.
takes() { # OBJECT...
	nm -A -u "$@" | sed "s|^$OBJ/||; s|:  *[a-zA-Z] | |" > "$work/all"
	cat "$work/all"
	awk '$2 == "syscall" { print $1 }' "$work/all" | while read -r o; do
		grep -oE '\bSYS_[a-z0-9_]+' "${o%.o}.c" | sort -u | sed "s|^SYS_|$o syscall |"
	done
}

judge() { # PROGRAM ALLOW-LIST EXCUSED OBJECT...
	program=$1 list=$2 excused=$3
	shift 3
	nm -g --defined-only "$@" | awk 'NF == 3 { print $3 }' > "$work/own"
	takes "$@" > "$work/takes"
	grep -oE 'SYS_[a-z0-9_]+,' "$list" | sed 's/^SYS_//; s/,$//' > "$work/list"
	awk -v program="$program" -v own="$work/own" -v list="$work/list" -v table="$here/libc.calls" \
	    -v excused="$excused" '
	function known(f,  n) {
		if (f in calls)
			return f
		for (n = length(f); n > 0; n--)
			if ((substr(f, 1, n) "*") in calls)
				return substr(f, 1, n) "*"
		return ""
	}
	function lacks(needed,  i, n, c, out) {
		n = split(needed, c, " ")
		for (i = 1; i <= n; i++)
			if (c[i] != "-" && !(c[i] in may))
				out = out " " c[i]
		return out
	}
	function missing(object, f, what,  e) {
		e = (object " " f) in excuse ? object " " f : "* " f
		if (e in excuse)
			used[excuse[e]] = 1
		else
			print object ":" f ":" what
	}
	BEGIN {
		while ((getline line < own) > 0)
			ours[line] = 1
		while ((getline line < list) > 0)
			may[line] = 1
		while ((getline line < table) > 0) {
			if (line ~ /^#/ || split(line, side, " = ") != 2)
				continue
			n = split(side[2], name, " ")
			for (i = 1; i <= n; i++)
				calls[name[i]] = side[1]
		}
		while ((getline line < excused) > 0) {
			n = split(line, word, " ")
			if (word[1] != program)
				continue
			entry[line] = 1
			for (i = 3; i <= n; i++)
				excuse[word[2] " " word[i]] = line
		}
	}
	$2 in ours { next }
	NF == 3 { # a number that the source names
		if (lacks($3) != "")
			missing($1, $2, lacks($3))
		next
	}
	{
		f = known($2)
		if (f == "")
			missing($1, $2, " unknown to libc.calls")
		else if (lacks(calls[f]) != "")
			missing($1, $2, lacks(calls[f]))
	}
	END {
		for (line in entry)
			if (!(line in used))
				print "libc.excused:needless:" line
	}' "$work/takes" | sort -u
}

ask() { # WHAT FOUND
	if [ -z "$2" ]; then
		say ok "$1"
	else
		say "not ok" "$1: $2"
	fi
}
caught() { # WHAT PATTERN FOUND
	if echo "$3" | grep -q "$2"; then
		say ok "$1 is caught"
	else
		say "not ok" "$1 is not caught: $3"
	fi
}
objects() { # PROGRAM
	eval "for o in \$OBJECTS_$1; do echo \$OBJ/\$o; done"
}

rm -rf "$work"
mkdir -p "$work"
for p in $CONFINED; do
	# shellcheck disable=SC2046
	ask "a confined kennel-$p calls nothing that its allow-list lacks" \
	    "$(judge "$p" "$GEN/${p}_syscalls.h" "$here/libc.excused" $(objects "$p"))"
done
for p in $(awk '!/^#/ && NF { print $1 }' "$here/libc.excused" | sort -u); do
	case " $CONFINED " in
	*" $p "*) ;;
	*) say "not ok" "libc.excused names $p, which is not a confined program" ;;
	esac
done

plant() { # NAME TEXT: the leash with one object more
	echo "$2" > "$work/$1.c"
	$CC -D_GNU_SOURCE -c -o "$work/$1.o" "$work/$1.c"
	# shellcheck disable=SC2046
	judge leash "$GEN/leash_syscalls.h" "$here/libc.excused" $(objects leash) "$work/$1.o"
}
caught "a leash that calls qsort" 'qsort: sysinfo' "$(plant sorts '#include <stdlib.h>
int c(const void *, const void *); void p(int *v, size_t n);
void p(int *v, size_t n) { qsort(v, n, sizeof(*v), c); }
int c(const void *a, const void *b) { return a < b; }')"
caught "a leash that calls a function without a row" 'getservbyport: unknown' "$(plant asks '#include <netdb.h>
int p(void);
int p(void) { return getservbyport(80, 0) != 0; }')"
caught "a leash that makes a system call by its number" 'syscall: reboot' "$(plant number '#include <sys/syscall.h>
#include <unistd.h>
long p(void);
long p(void) { return syscall(SYS_reboot, 0, 0, 0); }')"
{
	cat "$here/libc.excused"
	echo "leash leash/output.o qsort"
} > "$work/excused"
# shellcheck disable=SC2046
caught "an entry that excuses nothing" 'needless:leash leash/output.o qsort' \
    "$(judge leash "$GEN/leash_syscalls.h" "$work/excused" $(objects leash))"
rm -rf "$work"
exit $failed
