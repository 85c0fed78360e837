#!/bin/sh
# "kennel policy": verbs, exit status, files.
#
#	tests/policy/cli.sh [KENNEL]
here=$(cd "$(dirname "$0")" && pwd) || exit 1
kennel=${1:-$here/../../build/bin/kennel}
if [ ! -x "$kennel" ]; then
	echo "skip - policy cli: $kennel is not built"
	exit 0
fi
tmp=$(mktemp -d) || exit 1
own=$(mktemp -d /var/tmp/kennel-policy-XXXXXX) || exit 1 # /tmp is a server's own
trap 'rm -rf "$tmp" "$own"' EXIT
trap 'exit 1' HUP INT TERM
KENNEL_HOME=$tmp/home
export KENNEL_HOME
passed=0 failed=0

result() { # good name
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok - policy cli $2"
	else
		failed=$((failed + 1))
		echo "not ok - policy cli $2"
		cat "$tmp/out" "$tmp/err"
	fi
}

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

cat >"$tmp/good.kennel" <<'EOF'
server one {
	run /bin/sh -c true
}
server two {
	run /bin/sh
}
EOF
cat >"$tmp/bad.kennel" <<'EOF'
server good {
	run /bin/sh
}
server bad {
	run /bin/sh
	reed /srv
}
EOF
cat >"$tmp/missing.kennel" <<'EOF'
server good {
	run /bin/sh
}
server bad {
	run /no/such/program
}
EOF

expect 0 "check of a good file" check "$tmp/good.kennel"
holds "and prints one line" test "$(cat "$tmp/out" "$tmp/err")" = "$tmp/good.kennel: 2 servers, no errors, no warnings"
expect 65 "check: an error" check "$tmp/good.kennel" "$tmp/bad.kennel"
holds "names file, line and column" \
    grep -q "bad.kennel:6:2: error: unknown keyword .reed.: did you mean .read.?" "$tmp/err"
expect 69 "check: no such file" check "$tmp/nothing.kennel"
expect 65 "check: a folder" check "$tmp"
expect 64 "check: no file" check
expect 64 "check: unknown option" check --fast "$tmp/good.kennel"
expect 64 "no verb"
expect 64 "unknown verb" chekc "$tmp/good.kennel"
"$kennel" polcy check >"$tmp/out" 2>"$tmp/err"
holds "a typing error in a verb of kennel is answered" \
    grep -q '^kennel: unknown command `polcy`: did you mean `policy`?$' "$tmp/err"

expect 65 "compile: with one error nothing is written" compile "$tmp/missing.kennel"
holds "and no folder holds a file" \
    test -z "$(find "$KENNEL_HOME" -type f 2>/dev/null)"
expect 65 "compile -o: with one error nothing is written" \
    compile "$tmp/missing.kennel" -o "$tmp/x.sealed"
holds "and there is no file" test ! -e "$tmp/x.sealed"
expect 0 "compile: one file for each server" compile "$tmp/good.kennel"
holds "named after the servers" \
    test "$(cd "$KENNEL_HOME/sealed" && echo *)" = "one.sealed two.sealed"
holds "for the owner alone" \
    test "$(stat -c %a "$KENNEL_HOME/sealed/one.sealed")" = 600
cp "$KENNEL_HOME/sealed/one.sealed" "$tmp/before"
expect 0 "compile again" compile "$tmp/good.kennel"
holds "same text, same bytes" cmp -s "$KENNEL_HOME/sealed/one.sealed" "$tmp/before"
expect 0 "compile -o" compile "$tmp/good.kennel" -o "$tmp/x.sealed"
expect 78 "compile -o: no such folder" compile "$tmp/good.kennel" -o "$tmp/no/x.sealed"
expect 64 "compile: -o without a file" compile "$tmp/good.kennel" -o

expect 0 "show a text" show "$tmp/good.kennel"
holds "names both servers" sh -c "grep -q one '$tmp/out' && grep -q two '$tmp/out'"
expect 0 "show a sealed file" show "$tmp/x.sealed"
cp "$tmp/out" "$tmp/sealed.out"
"$kennel" policy show "$tmp/good.kennel" >"$tmp/out" 2>"$tmp/err"
holds "text and sealed file show the same" cmp -s "$tmp/out" "$tmp/sealed.out"
expect 0 "show one server" show "$tmp/x.sealed" two
expect 69 "show a server that is not there" show "$tmp/x.sealed" three
expect 0 "show --json" show "$tmp/x.sealed" --json
dd if="$tmp/x.sealed" of="$tmp/cut.sealed" bs=100 count=3 2>/dev/null
expect 65 "show a broken sealed file" show "$tmp/cut.sealed"

# expect, pins, include, system calls: what needs the sealed file
mkdir "$tmp/inc"
printf 'block sh {\n\trun /bin/sh\n}\n' >"$tmp/inc/base.kennel"
cat >"$tmp/more.kennel" <<'EOT'
include "inc/base.kennel"
server files {
	use sh
	pins "files.pins"
	tool allow @readonly
	tool ask @destructive
	tool deny @unannotated
	exec allow /bin/cat a|b * except b x
	syscalls deny mlockall
	net allow api.example.com:443
}
expect files {
	tool look -> allow
	tool wipe -> ask
	tool other -> deny
	exec /bin/cat a x -> allow
	exec /bin/cat b x -> deny
	exec /bin/cat a -> deny
	net api.example.com:443 -> allow
	net api.example.com:80 -> deny
	read /etc/shadow -> deny
}
EOT
cat >"$tmp/files.pins" <<'EOT'
{"kennel-pins":1,"server":"files"}
{"body":{"annotations":{"readOnlyHint":true},"name":"look"},"kind":"tool","name":"look","variant":""}
{"body":{"name":"other"},"kind":"tool","name":"other","variant":""}
{"body":{"annotations":{"destructiveHint":true},"name":"wipe"},"kind":"tool","name":"wipe","variant":""}
EOT
expect 0 "expect holds of includes, pins, classes, carve-outs, hosts" \
    compile "$tmp/more.kennel" -o "$tmp/more.sealed"
for verb in "explain $tmp/more.kennel files tool look" "query $tmp/more.kennel hold" \
    "score $tmp/more.kennel" "doc $tmp/more.kennel" "diff $tmp/more.kennel $tmp/more.sealed"; do
	# shellcheck disable=SC2086
	"$kennel" policy $verb >"$tmp/out" 2>"$tmp/err"
	holds "${verb%% *} reads what a text includes and pins" \
	    sh -c "! grep -q 'error:' '$tmp/err' && [ ! -s '$tmp/err' ]"
done
"$kennel" policy doc "$tmp/more.kennel" >"$tmp/out" 2>"$tmp/err"
holds "doc says what becomes of a question" grep -q "waits for a person" "$tmp/out"
sed 's/tool look -> allow/tool look -> deny/' "$tmp/more.kennel" >"$tmp/wrong.kennel"
expect 65 "expect that does not hold stops the compilation" \
    compile "$tmp/wrong.kennel" -o "$tmp/wrong.sealed"
holds "it names line, answer and the line that decided" \
    grep -q "wrong.kennel:13:2: error: expected deny, got allow: decided by .*wrong.kennel:5" "$tmp/err"
holds "and nothing is written" test ! -e "$tmp/wrong.sealed"
sed -i 's/"files"}/"others"}/' "$tmp/files.pins"
expect 65 "pins of another server are refused" \
    compile "$tmp/more.kennel" -o "$tmp/wrong.sealed"
holds "it names the file and its line" \
    grep -q "files.pins:1: the file contains the pins of another server" "$tmp/err"
chmod 666 "$tmp/inc/base.kennel"
expect 65 "what everybody may write is not included" check "$tmp/more.kennel"
holds "it says so" grep -q "base.kennel: it is world-writable" "$tmp/err"

# A program that others may change: told, unless the policy says its bytes.
cp /bin/true "$own/mine"
[ "$(id -u)" -ne 0 ] || chgrp 1 "$own/mine"
chmod 775 "$own/mine"
printf 'server one {\n\trun %s\n}\n' "$own/mine" >"$tmp/mine.kennel"
expect 0 "a program that its group may write is granted" \
    compile "$tmp/mine.kennel" -o "$tmp/mine.sealed"
holds "with a warning" grep -q "mine.kennel:2:6: warning: .*changed by its group" "$tmp/err"
printf 'server one {\n\trun %s\n\tdigest %s\n}\n' "$own/mine" "$own/mine" >"$tmp/mine.kennel"
expect 0 "one with its digest too" compile "$tmp/mine.kennel" -o "$tmp/mine.sealed"
holds "without a warning" test ! -s "$tmp/err"
"$kennel" policy show "$tmp/mine.sealed" >"$tmp/out" 2>"$tmp/err"
holds "show says which bytes" \
    grep -q "digest $own/mine $(sha256sum <"$own/mine" | cut -c1-64)" "$tmp/out"
printf x >>"$own/mine"
printf 'server one {\n\trun %s\n\tdigest %s\n}\n' "$own/mine" "$own/mine" >"$tmp/mine.kennel"
expect 1 "diff tells other bytes" diff "$tmp/mine.sealed" "$tmp/mine.kennel"
holds "and which" grep -q sha256 "$tmp/out"
sed "s|digest .*|digest $own/mine $(sha256sum </bin/sh | cut -c1-64)|" "$tmp/mine.kennel" >"$tmp/other.kennel"
expect 65 "a digest that the file does not have" compile "$tmp/other.kennel" -o "$tmp/other.sealed"
holds "it says which it has" \
    grep -q "other.kennel:3:[0-9]*: error: the digest does not match: the sha256 of the file is" "$tmp/err"

"$kennel" policy check - <"$tmp/bad.kennel" >"$tmp/out" 2>"$tmp/err"
holds "- is standard input" grep -q '^(standard input):6:2: error:' "$tmp/err"
holds "no temporary file is left" \
    test -z "$(find "$tmp" -name '*.kennel-*.new' -print)"
echo "policy cli: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
