# kennel policy check --json: every diagnostic, its code, its place.
printf 'server a {\n\trun /bin/true\n}\n' >"$tmp/ok.kennel"
expect 0 "check --json: nothing to say" check --json "$tmp/ok.kennel"
holds "... but an empty list" grep -qx '{"diagnostics":\[\],"errors":0,"warnings":0,"unchecked":0}' "$tmp/out"
holds "... and nothing else" test ! -s "$tmp/err"
cat >"$tmp/c.kennel" <<'EOT'
server a {
	run /bin/sh
	reed /srv
}
EOT
expect 65 "check --json: an error" check --json "$tmp/c.kennel"
is_json
says '"severity":"error","code":"syntax","file":"'"$tmp/c.kennel"'","line":3,"column":2,"message":"unknown keyword `reed`: did you mean `read`?"'
(cd "$here" && python3 - "$kennel" fail/*.kennel) >"$tmp/out" 2>"$tmp/err" <<'EOT'
import json, random, subprocess, sys
kennel, files = sys.argv[1], sys.argv[2:]
def check(args, data=None):
    r = subprocess.run([kennel, "policy"] + args, input=data, capture_output=True)
    return r.returncode, r.stdout, r.stderr
for f in files:
    status, out, err = check(["check", "--json", f])
    got = json.loads(out)
    assert status == 65 and got["errors"] > 0 and not err, f
    for d in got["diagnostics"]:
        assert d["code"] != "other" and d["line"] >= 0 and d["message"], (f, d)
        assert "hunter" not in d["message"], f
    assert len(got["diagnostics"]) <= 200
random.seed(4)
words = [b"server a {\n", b"}\n", b"run /bin/sh", b"tool allow * when args.a == ", b"\"", b"\\u",
    b"[", b"{", b"\n", b" ", b"$x", b"\x00", b"\xff", b"#", b"net allow a.b:1", b"expect a {\n", b"-> allow",
    b"(", b"not ", b"never write /etc", b"include \"x\"", b"\\\n", b"block b {\n", b"use b\n"]
for i in range(60):
    data = b"".join(random.choice(words) for _ in range(random.randint(1, 40)))
    status, out, err = check(["check", "--json", "-"], data)
    assert status in (0, 65), (status, data)
    json.loads(out)
    status, out, err = check(["fmt", "-"], data)
    assert status in (0, 65), (status, data, err)
    assert status == 0 or (not out and b"error: " in err), data
EOT
result $? "check --json: every golden failure; any bytes give a located error"
bad=
for c in $(grep -rhE '^#define DIAG_CODE ' "$here/../../policy" | cut -d'"' -f2 | sort -u); do
	grep -q "^\.It $c Ta" "$here/../../docs/man/kennel-policy.1" || bad="$bad $c"
done
echo "$bad" >"$tmp/out"
holds "check: every code is in the manual" test -z "$bad"
cat >"$tmp/host.kennel" <<'EOT'
server a {
	run /no/program x
	read /no/directory
}
server b {
	run /usr/bin/python3 -u /no/script.py /no/other.py
	exec allow /no/other
}
EOT
expect 0 "check: what this machine lacks is a warning" check "$tmp/host.kennel"
holds "... of each line" test "$(grep -c ': warning: /no/.* does not exist' "$tmp/err")" = 4
holds "... and counted" grep -qx "$tmp/host.kennel: 2 servers, no errors, 4 warnings" "$tmp/out"
expect 65 "compile: a missing program is an error" compile -o "$tmp/host.sealed" "$tmp/host.kennel"
holds "... with the same warnings" test "$(grep -c ': warning: /no/.* does not exist: ' "$tmp/err")" = 2
sed 's/read/reed/' "$tmp/host.kennel" >"$tmp/both.kennel"
expect 65 "check: an error of the text" check "$tmp/both.kennel"
holds "... is counted" grep -qx "$tmp/both.kennel: 1 error; not checked: warnings, expectations" "$tmp/out"
expect 65 "check --json: an error of the text" check --json "$tmp/both.kennel"
holds "... has no number of warnings" grep -q '"errors":1,"warnings":null,"unchecked":0}' "$tmp/out"
printf 'block b {\n\tread /usr/lib\n}\n' >"$tmp/let.kennel"
expect 65 "check: an error in one of two files" check "$tmp/both.kennel" "$tmp/let.kennel"
holds "... is no word on warnings" grep -qx "2 files: 1 error; not checked: warnings, expectations" "$tmp/out"

# where a program is missing, what does not depend on it is checked all the same
absent() { # the second line of the server, lines of `expect`
	{
		printf 'server a {\n\trun /no/program --stdio\n%s\n\ttool allow x\n' "$1"
		printf '\texec allow /no/tool list **\n\tnet allow a.example:443\n}\n'
		printf 'expect a {\n'
		shift
		printf '\t%s\n' "$@"
		printf '}\n'
	} >"$tmp/absent.kennel"
}
right="tool x -> allow|tool y -> deny|net a.example:443 -> allow|net b.example:443 -> deny\
|exec /no/tool list a -> allow|exec /no/tool rm -> deny|exec /no/program --stdio -> allow"
wrong="tool x -> deny|tool y -> allow|net a.example:443 -> deny|net b.example:443 -> allow\
|exec /no/tool list a -> deny|exec /no/tool rm -> allow|exec /no/program --stdio -> deny"
IFS='|'
absent "" $right
expect 0 "check: expectations that hold, of a program that is missing" check "$tmp/absent.kennel"
holds "... are checked" grep -qx "$tmp/absent.kennel: 1 server, no errors, 2 warnings" "$tmp/out"
for line in $wrong; do
	absent "" "$line"
	expect 65 "check: $line, of a program that is missing" check "$tmp/absent.kennel"
	holds "... is an error" grep -q "absent.kennel: 1 error, 2 warnings$" "$tmp/out"
done
unset IFS
absent "" "read /etc/shadow -> allow" "write /srv -> deny" "tool y -> deny"
expect 1 "check: what a missing program needs is open" check "$tmp/absent.kennel"
holds "... and counted" grep -qx "$tmp/absent.kennel: 1 server, no errors, 4 warnings, 2 expectations not checked" "$tmp/out"
holds "... with its line" grep -q "absent.kennel:9:2: warning: not checked: this machine lacks files" "$tmp/err"
expect 1 "check --json: the same" check --json "$tmp/absent.kennel"
holds "... with a code of its own" test "$(grep -c '"code":"unchecked"' "$tmp/out")" = 2
holds "... and a number" grep -q '"errors":0,"warnings":4,"unchecked":2}' "$tmp/out"
sed 's|/no/|/usr/bin/|; s|program --stdio|true|; s|tool list|env list|' "$tmp/absent.kennel" >"$tmp/there.kennel"
sed -i 's|read /etc/shadow -> allow|read /etc/shadow -> deny|' "$tmp/there.kennel"
expect 0 "check: a program that is there" check "$tmp/there.kennel"
holds "... leaves nothing open" grep -qx "$tmp/there.kennel: 1 server, no errors, no warnings" "$tmp/out"
absent '	pins "none.pins"' "tool x -> allow" "net a.example:443 -> deny"
expect 65 "check: without the file of pins, a host is checked" check "$tmp/absent.kennel"
holds "... and no tool" grep -qx "$tmp/absent.kennel: 1 error, 4 warnings, 1 expectation not checked" "$tmp/out"
absent '	exec allow /no/tool gc in /no/link' "exec /no/tool gc in /no/link -> allow"
expect 0 "check: a directory that may be created later" check "$tmp/absent.kennel"
ln -sfn loop "$tmp/loop"
absent "	exec allow /no/tool gc in $tmp/loop/x" "exec /no/tool gc in $tmp/loop/x -> allow"
expect 1 "check: a directory that cannot be resolved is open" check "$tmp/absent.kennel"
absent "" "tool x -> deny"
printf 'never tool x\n' >>"$tmp/absent.kennel"
expect 65 "check: a broken never, and an expect that fails" check "$tmp/absent.kennel"
holds "... are two errors of one run" grep -qx "$tmp/absent.kennel: 2 errors, 2 warnings" "$tmp/out"
expect 65 "compile: a broken never, and an expect that fails" compile -o "$tmp/no.sealed" "$tmp/absent.kennel"
holds "... write nothing" test ! -e "$tmp/no.sealed"
sed -i 's|tool x -> deny|tool x -> allow|; s|/no/program --stdio|/bin/true|; s|/no/tool|/bin/false|' "$tmp/absent.kennel"
expect 65 "compile: a broken never alone" compile -o "$tmp/no.sealed" "$tmp/absent.kennel"
holds "... writes nothing either" test ! -e "$tmp/no.sealed"
sed '/^never/d' "$tmp/absent.kennel" >"$tmp/whole.kennel"
expect 0 "compile: the same without it" compile -o "$tmp/no.sealed" "$tmp/whole.kennel"
mkdir -p "$KENNEL_HOME/policies"
printf 'server w {\n\trun /bin/sh -c **\n\ttool allow *\n\texec allow /bin/sh **\n}\n' >"$KENNEL_HOME/policies/w.kennel"
expect 0 "check: a policy with warnings" check "$KENNEL_HOME/policies/w.kennel"
count=$(sed -n 's/.*no errors, \([0-9]* warnings*\)$/\1/p' "$tmp/out")
expect 0 "check --all: the same policy" check --all
holds "... has the same warnings in its sum" grep -qx "1 policy checked, 0 errors, ${count:-none}" "$tmp/out"
rm -r "$KENNEL_HOME/policies"
echo '# nothing' >"$tmp/empty.kennel"
expect 0 "check: a file without a server" check "$tmp/empty.kennel"
holds "... warns" grep -q 'empty.kennel: warning: no server found' "$tmp/err"
printf 'block b {\n\tread /usr/lib\n}\n' >"$tmp/let.kennel"
expect 0 "check: a file for others to include" check "$tmp/let.kennel"
holds "... does not" grep -qx "$tmp/let.kennel: 0 servers, no errors, no warnings" "$tmp/out"
expect 0 "check: two files" check "$tmp/let.kennel" "$tmp/ok.kennel"
holds "... are counted together" grep -qx "2 files: 1 server, no errors, 1 warning" "$tmp/out"

# an argument of `run` that the cell does not have; /tmp is its own
script=$(python3 -c 'import os; print(os.path.realpath(os.__file__))')
printf 'server a {\n\trun /bin/true %s /usr/share / /tmp -v %s.none\n\tuser nobody\n}\n' \
    "$script" "$script" >"$tmp/unseen.kennel"
expect 0 "check: a script and a directory that no grant includes" check "$tmp/unseen.kennel"
holds "... both have a warning" grep -q ', 2 warnings$' "$tmp/out"
holds "... the script's says what to add" grep -q "grants $script: the server cannot start; add \`read $script\`" "$tmp/err"
holds "... and the directory's" grep -q "grants /usr/share: the server cannot open it" "$tmp/err"
sed -i "s|user|read $script /usr/share/doc\n\tuser|" "$tmp/unseen.kennel"
expect 0 "check: with grants of the script and in the directory" check "$tmp/unseen.kennel"
holds "... there is no warning" grep -q ', no warnings$' "$tmp/out"
