#!/bin/sh
# The golden corpus of the policy language.  NN-name.kennel has NN-name.ok, the
# tree as it is printed (and, where there are warnings, NN-name.warn);
# fail/NN-name.kennel has fail/NN-name.err, every diagnostic of it.  What is
# printed must print as itself again.
#
#	tests/policy/run.sh [POLICY_TEXT]
#
# UPDATE=1 writes the answers instead of comparing them.  At the end come
# cli.sh, tools.sh and secret.sh, where the whole kennel is built.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tool=${1:-$here/../../build/tests/policy_text}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
passed=0 failed=0

say() { # ok|no name
	if [ "$1" = ok ]; then
		passed=$((passed + 1))
		echo "ok - policy $2"
	else
		failed=$((failed + 1))
		echo "not ok - policy $2"
	fi
}

same() { # expected got
	if [ -n "$UPDATE" ]; then
		if [ -s "$2" ] || [ "${1%.ok}" != "$1" ]; then
			cp "$2" "$1"
		else
			rm -f "$1"
		fi
		return 0
	fi
	if [ ! -e "$1" ]; then
		# no file of warnings: there must be none
		[ "${1%.warn}" != "$1" ] && [ ! -s "$2" ] && return 0
	fi
	diff -u "$1" "$2"
}

# a warning depends on where the folders of the caller are
unset HOME KENNEL_HOME XDG_CONFIG_HOME XDG_STATE_HOME
cd "$here" || exit 1
for f in *.kennel; do
	name=${f%.kennel}
	"$tool" "$f" >"$tmp/out" 2>"$tmp/err"
	status=$?
	"$tool" - printed <"$tmp/out" >"$tmp/again" 2>/dev/null
	if [ $status -eq 0 ] && same "$name.ok" "$tmp/out" &&
	    same "$name.warn" "$tmp/err" && diff -u "$tmp/out" "$tmp/again"; then
		say ok "$name"
	else
		[ $status -eq 0 ] || cat "$tmp/err"
		say no "$name"
	fi
done
for f in fail/*.kennel; do
	name=${f%.kennel}
	"$tool" "$f" >"$tmp/out" 2>"$tmp/err"
	status=$?
	if [ $status -eq 65 ] && [ ! -s "$tmp/out" ] && same "$name.err" "$tmp/err" &&
	    ! grep -q hunter "$tmp/err"; then
		say ok "$name"
	else
		[ $status -eq 65 ] || echo "# exit status $status"
		say no "$name"
	fi
done
# what people start from: no error, no warning
for f in ../../policy/presets/*.kennel; do
	name=${f##*/}
	if "$tool" "$f" >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/err" ]; then
		say ok "preset ${name%.kennel}"
	else
		cat "$tmp/err"
		say no "preset ${name%.kennel}"
	fi
done
echo "policy: $passed passed, $failed failed"
[ -n "$UPDATE" ] || python3 "$here/manual.py" "$tool" || failed=1
[ -n "$UPDATE" ] || sh "$here/cli.sh" || failed=1
[ -n "$UPDATE" ] || sh "$here/tools.sh" || failed=1
[ -n "$UPDATE" ] || sh "$here/secret.sh" || failed=1
[ "$failed" -eq 0 ]
