# kennel policy check --json: every diagnostic, its code, its place.
printf 'server a {\n\trun /bin/true\n}\n' >"$tmp/ok.kennel"
expect 0 "check --json: nothing to say" check --json "$tmp/ok.kennel"
holds "... but an empty list" grep -qx '{"diagnostics":\[\],"errors":0,"warnings":0}' "$tmp/out"
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
holds "... is counted" grep -qx "$tmp/both.kennel: 1 error, no warnings" "$tmp/out"
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
