"""A session with the toy server: what passes, what is stopped, what is said."""
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

TOKEN = "s3ntinel-%d-Zq/+x" % os.getpid()


def secret_body(*flags):
    return toy_policy("    secret TOKEN from env AGENT_TOKEN", *flags)


def secret_run(*flags):
    s = kennel_run(secret_body(*flags), env={"AGENT_TOKEN": TOKEN})
    s.initialize()
    return s


# ---- what passes -----------------------------------------------------------------

@test("S2-03 S2-23 S3-35 S3-44 S4-13 S4-15 K-09 a session: initialize, list, call")
def session():
    s = kennel_run(toy_policy())
    r = s.initialize()
    equal(r["result"]["serverInfo"]["name"], "toy")
    tools = s.request("tools/list")["result"]["tools"]
    check({"name", "description", "inputSchema"} <= set(tools[0]), tools[0])
    equal(s.text("echo", text="hello"), "hello")
    check(s.close() is not None, "kennel did not end")
    equal(s.p.returncode, 0, s.stderr())


ODD = [
    b'{ "jsonrpc" : "2.0" ,\t"id":"odd\\u0020id" , "method":"x/unknown", "params":{"a":[1,2.50,1e3,-0],"z":null} }',
    b'{"method":"vendor/thing","id":77,"jsonrpc":"2.0","extra":{"k":"\\ud83d\\ude00 \xc3\xa9"},"params":[]}',
    b'{"jsonrpc":"2.0","id":9007199254740993,"method":"x/big"}',
]


@test("bytes that need no decision pass to the server as they came")
def exact_in():
    s = kennel_run(toy_policy())
    s.initialize()
    for raw in ODD:
        s.send_bytes(raw + b"\n")
        got = s.message()["result"]["content"][0]["text"]
        equal(got.encode(), raw, "the request as the server saw it")


@test("bytes of the server pass to the agent as they came")
def exact_out():
    s = kennel_run(toy_policy())
    s.initialize()
    for raw in ('{ "jsonrpc":"2.0",  "method":"notifications/x" , "params":{"n":1.50,"u":"\\u00e9"}}',
                '{"method":"notifications/message","jsonrpc":"2.0","params":{"level":"info","data":[1, 2]}}'):
        s.n += 1
        s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call",
                "params": {"name": "say", "arguments": {"text": raw}}})
        equal(s.line(), raw.encode())
        s.wait(s.n)


@test("S4-47 the same session with and without kennel gives the same bytes, errors of the server included")
def same():
    requests = [{"jsonrpc": "2.0", "id": i, "method": m, "params": p} for i, (m, p) in enumerate([
        ("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
        ("ping", {}), ("tools/list", {}), ("resources/list", {}), ("resources/read", {"uri": "toy://one"}),
        ("prompts/list", {}), ("prompts/get", {"name": "first"}), ("vendor/unknown", {"x": [1]}),
        ("tools/call", {"name": "echo", "arguments": {"text": "a\u0001b\u00e9\U0001f600"}}),
        ("tools/call", {"name": "nosuch", "arguments": {}}),
        ("tools/call", {"name": "big", "arguments": {"n": 300000}})])]
    out = []
    for make in (lambda: Mcp([TOY]),
                 lambda: kennel_run(toy_policy("    resource allow *\n    prompt allow *"))):
        s = make()
        got = []
        for r in requests:
            s.send(r)
            got.append(s.line())
        out.append(got)
    for a, b, r in zip(out[0], out[1], requests):
        equal(b, a, r["method"])
    check("error" in json.loads(out[1][9]), "the server's own error:", out[1][9])


@test("every protocol version is agreed between client and server themselves")
def versions():
    for v in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        s = kennel_run(toy_policy())
        equal(s.initialize(v)["result"]["protocolVersion"], v)
        s.close()


@test("2026-07-28: no initialize, requests may come first")
def modern():
    s = kennel_run(toy_policy())
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    within("echo", json.dumps(s.request("tools/list", meta)))
    r = s.request("tools/call", dict(meta, name="echo", arguments={"text": "m"}))
    equal(r["result"]["content"][0]["text"], "m")


@test("a discover probe, SIGTERM, then a second process that starts with a request")
def discover():
    body = toy_policy()
    s = kennel_run(body, stderr=subprocess.DEVNULL)
    within("2026-07-28", json.dumps(s.request("server/discover", {"_meta": {}})))
    s.p.send_signal(signal.SIGTERM)
    second = kennel_run(body)
    within("echo", json.dumps(second.request("tools/list", {"_meta": {}})))
    check(wait_for(lambda: s.p.poll() is not None) is not None, "the first did not end")


@test("a socketpair as stdio")
def socketpair():
    s = kennel_run(toy_policy(), socket_stdio=True)
    s.initialize()
    equal(len(s.text("big", n=500000)), 500000)
    check(s.close() is not None, "did not end")


@test("progress and cancellation reach the other side")
def progress():
    s = kennel_run(toy_policy())
    s.initialize()
    r = s.request("tools/call", {"name": "progress", "arguments": {"n": 4}, "_meta": {"progressToken": "p-1"}})
    equal(r["result"]["content"][0]["text"], "done")
    got = [m["params"]["progress"] for m in s.lines if m.get("method") == "notifications/progress"]
    equal(got, [1, 2, 3, 4])
    s.send({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": {"name": "wait", "arguments": {}}})
    s.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow", "reason": "no"}})
    equal(s.text("was_cancelled"), '"slow"')


@test("server to client: ping always, sampling, elicitation and roots when allowed")
def asks():
    s = kennel_run(toy_policy("    sampling allow\n    elicitation allow\n    roots allow"))
    s.initialize(capabilities={"sampling": {}, "elicitation": {}, "roots": {}})
    for kind, method in (("ping", "ping"), ("sampling", "sampling/createMessage"),
                         ("elicitation", "elicitation/create"), ("roots", "roots/list")):
        s.n += 1
        mine = s.n
        s.send({"jsonrpc": "2.0", "id": mine, "method": "tools/call",
                "params": {"name": "ask", "arguments": {"kind": kind}}})
        q = s.message()
        equal(q["method"], method)
        s.send({"jsonrpc": "2.0", "id": q["id"], "result": {"mine": kind}})
        within('"mine":"%s"' % kind, s.wait(mine)["result"]["content"][0]["text"])


@test("sampling, elicitation and roots that are not allowed: not offered, not asked")
def asks_denied():
    s = kennel_run(toy_policy())
    s.initialize(capabilities={"sampling": {}, "elicitation": {}, "roots": {"listChanged": True},
                               "experimental": {"x": {}}})
    first = json.loads(s.text("first"))["params"]["capabilities"]
    equal(first, {"experimental": {"x": {}}}, "capabilities as the server saw them")
    for kind in ("sampling", "elicitation", "roots"):
        within("error", s.text("ask", kind=kind), kind)
    equal([m for m in s.lines if "method" in m], [], "questions that reached the agent")


@test("1 MB and 8 MB results; 300 calls in flight")
def volume():
    s = kennel_run(toy_policy())
    s.initialize()
    equal(len(s.text("big", n=1 << 20)), 1 << 20)
    equal(len(s.text("big", n=8 << 20, seconds=40)), 8 << 20)
    batch = b"".join(b'{"jsonrpc":"2.0","id":"q%d","method":"tools/call","params":{"name":"echo",'
                     b'"arguments":{"text":"t%d"}}}\n' % (i, i) for i in range(300))
    s.send_bytes(batch)
    for i in range(300):
        m = s.message()
        equal((m["id"], m["result"]["content"][0]["text"]), ("q%d" % i, "t%d" % i))


# ---- what is refused, and how it is said ----------------------------------------

@test("S4-32 lines of the server that are not JSON are dropped and logged")
def junk():
    s = kennel_run(toy_policy("", "--banner", "Toy server listening"))
    s.initialize()
    equal(s.text("junk"), "after junk")
    equal(s.lines, [])
    s.close()
    check(audited("dropped"), "no event for the dropped lines")


@test("bad messages of the agent: an error each, and the session goes on")
def bad_messages():
    s = kennel_run(toy_policy())
    s.initialize()
    deep = b'{"jsonrpc":"2.0","id":5,"method":"x","params":' + b"[" * 3000 + b"]" * 3000 + b"}"
    for what, raw in (("not JSON", b"{nonsense"), ("invalid UTF-8", b'{"jsonrpc":"2.0","id":5,"method":"\xff"}'),
                      ("duplicate key", b'{"jsonrpc":"2.0","id":5,"method":"ping","method":"tools/call"}'),
                      ("too deep", deep)):
        s.send_bytes(raw + b"\n")
        m = s.message()
        check("error" in m and m["error"]["code"] < 0, what, m)
        equal(s.text("echo", text=what), what, "after " + what)


@test("a message above the limit: an error, and the session goes on")
def oversize():
    s = kennel_run(toy_policy())
    s.initialize()
    s.send_bytes(b'{"jsonrpc":"2.0","id":"huge","method":"x","params":"' + b"a" * (17 << 20) + b'"}\n')
    m = s.message(30)
    check("error" in m, m)
    equal(s.text("echo", text="still"), "still")


@test("tool gates: lists show what may be used, the rest is denied and recorded")
def tool_gate():
    s = kennel_run('    run %s\n    tool allow echo big*\n    tool deny bigger\n' % words(TOY))
    s.initialize()
    equal(sorted(t["name"] for t in s.request("tools/list")["result"]["tools"]), ["big", "echo"])
    equal(s.text("echo", text="x"), "x")
    r = s.call("env")
    check("error" in r or r["result"].get("isError"), r)
    absent("PATH=", json.dumps(r))
    s.close()
    check(audited('"env"', "deny"), "no event for the denied tool")


@test("resource and prompt gates")
def other_gates():
    s = kennel_run('    run %s\n    resource allow toy://one\n    prompt allow first\n' % words(TOY))
    s.initialize()
    equal([r["uri"] for r in s.request("resources/list")["result"]["resources"]], ["toy://one"])
    equal([r["name"] for r in s.request("prompts/list")["result"]["prompts"]], ["first"])
    check("result" in s.request("resources/read", {"uri": "toy://one"}))
    check("error" in s.request("resources/read", {"uri": "toy://two"}))
    check("result" in s.request("prompts/get", {"name": "first"}))
    check("error" in s.request("prompts/get", {"name": "second"}))
    equal(s.request("tools/list")["result"]["tools"], [])


@test("S4-19 S4-20 S4-43 an exec that nothing grants is denied, recorded, never run")
def exec_denied():
    mark = TMP + "/mark-%d" % os.getpid()
    s = kennel_run(toy_policy('    exec allow /bin/echo good **'))
    s.initialize()
    equal(s.text("exec", argv=["/bin/echo", "good", "day"]), "exit 0\ngood day\n")
    for argv in (["/bin/echo", "evil"], ["/bin/echo"], ["/usr/bin/touch", mark], ["/bin/cat", "/etc/passwd"],
                 ["/bin/sh", "-c", "id"]):
        within(s.text("exec", argv=argv), ("EACCES", "ENOENT"), argv)
    s.close()
    check(not os.path.exists(mark), "it ran")
    check(audited("exec", "deny", "/bin/echo"), "no event for the denied exec")
    check(audited("exec", "allow", "/bin/echo"), "no event for the allowed exec")


@test("S4-24 arguments are literal: no shell between")
def literal():
    s = kennel_run(toy_policy('    exec allow /bin/echo **'))
    s.initialize()
    equal(s.text("exec", argv=["/bin/echo", "$(id); `id` && x"]), "exit 0\n$(id); `id` && x\n")


# ---- secrets ----------------------------------------------------------------------

@test("S3-43 a server with a name, a command, its words and a token in its environment")
def configured():
    s = kennel_run("    run %s\n    tool allow *\n    secret GITHUB_TOKEN from env AGENT_TOKEN\n" % words(
        TOY, "--banner", "@example/server-github"), name="github", env={"AGENT_TOKEN": TOKEN})
    s.initialize()
    equal(s.text("spell", var="GITHUB_TOKEN").replace("-", ""), TOKEN.replace("-", ""))
    s.close()
    check(audited('"server": "github"', "dropped"), "the banner that its words ask for")


@test("K-05 S3-16 S3-37 S4-26 S4-27 S4-28 MCP-ATTACKS 13 19 22 53 the environment is exactly what the policy says")
def environment_exact():
    path = TMP + "/secret-file"
    with open(path, "w") as f:
        f.write("file-%s\n" % TOKEN)
    os.chmod(path, 0o600)
    s = kennel_run(toy_policy('    env MODE = "test"\n    env PASSED\n    secret FROM_ENV from env AGENT_TOKEN\n'
                              '    secret FROM_FILE from file %s\n    secret FROM_CMD from cmd /bin/echo %s' %
                              (words(path), words("cmd-" + TOKEN))),
                   env={"AGENT_TOKEN": TOKEN, "PASSED": "on", "SECRET_FOO": "surplus", "NODE_OPTIONS": "--x",
                        "LD_PRELOAD": "/nonexistent.so", "SSH_AUTH_SOCK": "/run/x", "DISPLAY": ":0",
                        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/x"})
    s.initialize()
    env = dict(line.split("=", 1) for line in s.text("env").splitlines())
    equal(sorted(env), sorted(["PATH", "HOME", "USER", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "MODE", "PASSED", "FROM_ENV",
                               "FROM_FILE", "FROM_CMD"]))
    equal((env["MODE"], env["PASSED"]), ("test", "on"))
    equal([env[k] for k in ("FROM_ENV", "FROM_FILE", "FROM_CMD")], ["***"] * 3)
    for var, value in (("FROM_ENV", TOKEN), ("FROM_FILE", "file-" + TOKEN), ("FROM_CMD", "cmd-" + TOKEN)):
        equal(s.text("spell", var=var).replace("-", ""), value.replace("-", ""), var)
    s.close()
    check(audited("secrets", "FROM_ENV", "FROM_FILE", "FROM_CMD"), "no event that names the secrets")


@test("S4-37 a value that the server echoes from its arguments comes back as it was, and a secret's value among them as ***")
def echoed():
    s = secret_run()
    for said in ("hunter2-of-the-agent", TOKEN[:7], TOKEN[::-1].replace(TOKEN[-1], "!"), "***"):
        equal(s.text("echo", text=said), said)
    for said in ("%s", "token=%s;", "%s and %s"):
        equal(s.text("echo", text=said.replace("%s", TOKEN)), said.replace("%s", "***"))
    bare = Mcp([TOY], env={"TOKEN": TOKEN})  # the control
    bare.initialize()
    equal(bare.text("echo", text=TOKEN), TOKEN)
    bare.close()
    s.close()


@test("K-06 S4-35 S4-36 S4-50 MCP-ATTACKS 13 14 what the server says is scrubbed, whatever it wears")
def scrub():
    s = secret_run("--describe", "TOKEN")
    bare = Mcp([TOY], env={"TOKEN": TOKEN})
    for mode in ("raw", "unicode", "split", "bytes", "error", "note", "key", "blob", "uri"):
        s.n += 1
        s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call",
                "params": {"name": "leak", "arguments": {"var": "TOKEN", "mode": mode}}})
        text = b""
        while b'"id":%d' % s.n not in text:
            text = s.line()
            within(b"***", text if mode != "note" else b"***", mode)
            for form in (TOKEN.encode(), json.dumps(TOKEN).encode()[1:-1]):
                absent(form, text, mode)
            absent(TOKEN, json.dumps(json.loads(text), ensure_ascii=False), mode + " decoded")
        bare.n += 1  # the control: the same without kennel
        bare.send({"jsonrpc": "2.0", "id": bare.n, "method": "tools/call",
                   "params": {"name": "leak", "arguments": {"var": "TOKEN", "mode": mode}}})
        said = bare.message()
        within(TOKEN, json.dumps(said, ensure_ascii=False), mode + " without kennel")
        if mode == "note":
            bare.message()
    listed = s.request("tools/list")
    absent(TOKEN, json.dumps(listed), "tool description")
    within("***", json.dumps(listed), "tool description")
    s.close()
    check(audited("scrub", "TOKEN"), "no event for the scrub")


@test("S3-41 S4-33 stderr goes to the log only, scrubbed")
def stderr_log():
    s = secret_run("--stderr", "toy is starting")
    equal(s.text("leak", var="TOKEN", mode="stderr"), "logged")
    equal(s.text("leak", var="TOKEN", mode="junk"), "printed")
    s.close()
    absent("using token", s.stderr(), "kennel's stderr")

    def there():
        r = run([KENNEL, "server", "log", "t"])
        return b"using token *** now" in r.stdout and b"toy is starting" in r.stdout
    check(wait_for(there, 3) is not None, run([KENNEL, "server", "log", "t"]))
    whole = run([KENNEL, "server", "log", "t"]).stdout
    absent(TOKEN.encode(), whole)
    lines = whole.splitlines(True)
    for n in 1, 2, len(lines), len(lines) + 9:
        equal(run([KENNEL, "server", "log", "-n", str(n), "t"]).stdout, b"".join(lines[-n:]), n)
    for wrong in "0", "-1", "x", "1x", "99999999999999999999":
        equal(run([KENNEL, "server", "log", "-n", wrong, "t"]).returncode, 64, wrong)


@test("S4-31 S4-46 a missing secret refuses the start and names the variable")
def missing():
    s = kennel_run(secret_body())
    r = s.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                 "clientInfo": {"name": "x", "version": "1"}})
    check("error" in r, r)
    within("TOKEN", r["error"]["message"])
    check(wait_for(lambda: s.p.poll() is not None, 5) is not None, "kennel did not end")
    check(s.p.returncode != 0, "status 0")


@test("a helper is fenced: no file, no network, no privilege; and `may` opens what it says")
def fenced_helper():
    helper, mark = TMP + "/fenced", TMP + "/fenced-mark"
    with open(helper, "w") as f:
        f.write("#!/bin/sh\n(echo x >%s) 2>/dev/null && w=wrote || w=not\n"
                "n=$(sed -n 's/^NoNewPrivs:.//p' /proc/self/status)\necho value-$w-$n\n" % mark)
    os.chmod(helper, 0o755)
    for may, want in (("", "value-not-1"), (" { may files }", "value-wrote-1")):
        s = kennel_run(toy_policy("    secret TOKEN from cmd %s%s" % (words(helper), may)))
        s.initialize()
        equal(s.text("spell", var="TOKEN").replace("-", ""), want.replace("-", ""))
        equal(os.path.exists(mark), "wrote" in want)
        s.close()
    os.unlink(mark)
    os.unlink(helper)


@test("S4-38 S4-49 a failing helper: its exit status and nothing of what it said")
def failing_helper():
    said = "h3lper-%d-Zq/+x" % os.getpid()  # of no policy: those lie beside the log as they are written
    helper = TMP + "/helper"
    with open(helper, "w") as f:
        f.write("#!/bin/sh\necho %s\necho %s >&2\nexit 23\n" % (said, said))
    os.chmod(helper, 0o755)
    s = kennel_run(toy_policy("    secret TOKEN from cmd %s" % words(helper)))
    r = s.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                 "clientInfo": {"name": "x", "version": "1"}})
    check("error" in r, r)
    within("23", r["error"]["message"])
    within("TOKEN", r["error"]["message"])
    wait_for(lambda: s.p.poll() is not None, 5)
    absent(said, json.dumps(r))
    absent(said, s.stderr(), "kennel's stderr")
    for folder, _, files in os.walk(HOME):
        for f in files:
            absent(said.encode(), reads(folder + "/" + f), f)


@test("a start that is refused answers the first request, then exits")
def refused_start():
    s = kennel_run('    run /nonexistent/server\n')
    s.send({"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": {}})
    m = s.message()
    equal(m["id"], "first")
    check("error" in m, m)
    check(wait_for(lambda: s.p.poll() is not None, 5) is not None, "kennel did not end")
    check(s.p.returncode != 0, "status 0")


@test("S4-34 a server that dies: open requests get an error, nothing it printed is in it, and kennel stays")
def crash():
    s = kennel_run(toy_policy("", "--stderr", "toy stack trace", "--banner", "toy banner"))
    s.initialize()
    r = s.call("crash")
    check("error" in r, r)
    for printed in ("stack trace", "banner"):
        absent(printed, json.dumps(r))
    equal(s.lines, [])
    check(s.close() is not None, "kennel did not end")
    equal(s.p.returncode, 128 + 6)


@test("a server that is gone at once")
def gone():
    s = kennel_run(toy_policy("", "--fail", "9"))
    r = s.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                 "clientInfo": {"name": "x", "version": "1"}})
    check("error" in r, r)


@test("read, write, hide: the view is what was granted")
def view():
    d = TMP + "/view"
    os.makedirs(d + "/work", exist_ok=True)
    os.chmod(d, 0o755)
    os.chmod(d + "/work", 0o777)
    for n in ("seen", "hidden"):
        with open("%s/%s" % (d, n), "w") as f:
            f.write("content of " + n)
        os.chmod("%s/%s" % (d, n), 0o644)
    s = kennel_run(toy_policy("    read %s\n    write %s\n    hide %s\n%s" % (
        words(d), words(d + "/work"), words(d + "/hidden"),
        "    user %s" % words("65534") if os.geteuid() == 0 else "")))
    s.initialize()
    equal(s.text("open", path=d + "/seen"), "content of seen")
    absent("content", s.text("open", path=d + "/hidden"), "the hidden file")
    equal(s.text("write", path=d + "/work/new", text="x"), "written")
    within(s.text("write", path=d + "/new", text="x"), ("EROFS", "EACCES"), "write under read")
    within(s.text("open", path="/etc/shadow"), ("ENOENT", "EACCES"), "not granted")
    equal(reads(d + "/work/new"), b"x")


if __name__ == "__main__":
    main()
