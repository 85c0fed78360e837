#!/bin/sh
# The verbs of "kennel policy" that are tools: fmt, explain, diff and the rest.
#
#	tests/policy/tools.sh [KENNEL]
here=$(cd "$(dirname "$0")" && pwd) || exit 1
kennel=${1:-$here/../../build/bin/kennel}
if [ ! -x "$kennel" ]; then
	echo "skip - policy tools: $kennel is not built"
	exit 0
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
KENNEL_HOME=$tmp/home
export KENNEL_HOME
passed=0 failed=0

result() { # good name
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
		[ -n "$QUIET" ] || echo "ok - policy tools $2"
	else
		failed=$((failed + 1))
		echo "not ok - policy tools $2"
		head -40 "$tmp/out" "$tmp/err"
	fi
}

# What it says is in $tmp/out, what it complains about in $tmp/err.
expect() { # status name argument...
	want=$1 name=$2
	shift 2
	"$kennel" policy "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	[ "$got" -eq "$want" ] || echo "# exit status $got, not $want"
	[ "$got" -eq "$want" ]
	result $? "$name"
}

holds() { # name condition...
	name=$1
	shift
	"$@"
	result $? "$name"
}

says() { # text: a line of the answer holds it
	grep -qF -- "$1" "$tmp/out"
	result $? "... $1"
}

complains() { # text: a line on standard error holds it
	grep -qF -- "$1" "$tmp/err"
	result $? "... $1"
}

lacks() { # text
	! grep -qF -- "$1" "$tmp/out"
	result $? "... not: $1"
}

is_json() {
	python3 -c 'import json,sys; json.load(open(sys.argv[1], encoding="utf-8"))' \
	    "$tmp/out" 2>>"$tmp/err"
	result $? "... is JSON"
}

for part in "$here"/tools/*.sh; do
	. "$part"
done
holds "no temporary file is left" \
    test -z "$(find "$tmp" -name '*.kennel-*.new' -print)"
echo "policy tools: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
