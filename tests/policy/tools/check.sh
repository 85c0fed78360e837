# kennel policy check --json: every diagnostic, its code, its place.
expect 0 "check --json: nothing to say" check --json "$here/01-smallest.kennel"
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
