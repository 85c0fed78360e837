"""Servers are added, tried and removed over the console's API: S2-53, S2-54."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from console_kit import *  # noqa: E402,F403
from serve_kit import PYTHON, SERVER  # noqa: E402

be_subreaper()

HOSTILE = "<img src=x onerror=alert(1)>\u202e\"'&\\"
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
USER = "    user nobody\n" if os.getuid() == 0 else ""
TOOLS = [{"name": "echo", "description": HOSTILE, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
         {"name": "plain", "inputSchema": {"type": "object"}}]


def argv_of(name, **config):
    """The argv of a scripted server; it adds a line to NAME.trace when it starts."""
    path = "%s/%s.json" % (TMP, name)
    with open(path, "w") as f:
        json.dump(dict({"name": name, "tools": TOOLS, "trace": "%s/traces/%s" % (TMP, name)}, **config), f)
    os.chmod(path, 0o644)
    os.makedirs(TMP + "/traces", exist_ok=True)
    os.chmod(TMP + "/traces", 0o777)
    return [PYTHON, SERVER, path]


def started(name):
    return reads("%s/traces/%s" % (TMP, name)) != b""


def policy_for(name, argv, more=""):
    os.makedirs(HOME + "/policies", exist_ok=True)
    with open(HOME + "/policies/%s.kennel" % name, "w") as f:
        f.write("server %s {\n" % name + USER + "    run %s\n    read %s\n    read %s\n    write %s\n    tool allow *\n%s}\n" % (
            words(*argv), words(os.path.dirname(SERVER)), words("%s/%s.json" % (TMP, name)), words(TMP + "/traces"), more))


def entry(name, argv, **more):
    return dict({"name": name, "transport": "stdio", "command": argv[0], "args": argv[1:]}, **more)


def added(c, body, replaced=False):
    status, value = c.json("POST", "mcp", body)
    equal(status, 200, value)
    equal(sorted(value), ["connection", "detail", "replaced", "server"])
    equal((value["replaced"], value["server"]["name"]), (replaced, body["name"]), value)
    return value


def row(c, name):
    status, value = c.json("GET", "mcp")
    equal(status, 200, value)
    return next((s for s in value["servers"] if s["name"] == name), None)


def field(got, status, name, *parts):
    equal((got[0], got[1]["error"].get("field")), (status, name), got)
    for part in parts:
        within(part, got[1]["error"]["message"])


@test("S2-53 S2-19 a server is added, started in its cell, and answered with status and tools; a second time it is replaced", 120)
def connects():
    argv = argv_of("alpha")
    policy_for("alpha", argv)
    c = Console().login()
    value = added(c, entry("alpha", argv, env={"LOG": "debug", "T": {"vault": "team/x/token"}}))
    equal((value["connection"], value["detail"]), ("connected", None), value)
    check(started("alpha"))
    s = value["server"]
    equal((s["discovery_status"], s["tools"], s["protocol"], s["source"], s["enabled"]),
          ("connected", 2, "2025-11-25", "person", True), s)
    equal([(t["name"], t.get("description"), t["verdict"]) for t in s["tool_list"]],
          [("echo", HOSTILE, "allow"), ("plain", None, "allow")])
    equal(s, row(c, "alpha"), "GET has the same")
    # the same again: its row keeps its place, and what is not said stays
    equal(c.json("POST", "mcp/alpha", {"enabled": False}), (200, {}))
    value = added(c, entry("alpha", argv), replaced=True)
    equal((value["server"]["created_gen"], value["server"]["env"], value["server"]["enabled"]), (s["created_gen"], None, False))
    equal((value["connection"], value["server"]["reason"]), (None, "disabled"))
    value = added(c, entry("alpha", argv, enabled=True), replaced=True)
    equal((value["connection"], value["server"]["enabled"]), ("connected", True))
    # another argv than the policy's run, but one that it grants
    other = argv_of("beta")
    policy_for("beta", [TOY], "    exec allow %s\n" % words(*other))
    equal(added(c, entry("beta", other))["connection"], "connected")
    check(started("beta"))


@test("an error of the page is the command's error, and not the warnings of mcp-servers.json before it", 60)
def error_after_warnings():
    argv = argv_of("gamma")
    policy_for("gamma", argv)
    path = HOME + "/mcp-servers.json"
    with open(path, "w") as f:
        f.write(json.dumps({"mcpServers": {"lit%d" % i: {"command": PYTHON, "args": ["--token", TOKEN]} for i in range(4)}}))
    try:
        c = Console().login()
        for name, status, text in (("absent", 404, "absent"), ("gamma", 409, "`gamma` is defined by ")):
            got = c.json("DELETE", "mcp/" + name)
            equal(got[0], status, got)
            within(text, got[1]["error"]["message"])
            absent("looks like a secret", got[1]["error"]["message"])
        got = c.json("POST", "mcp/gamma", {"enabled": True, "generation": 99})
        equal(got[0], 409, got)
        within("look at it again", got[1]["error"]["message"])
    finally:
        os.unlink(path)
        os.unlink(HOME + "/policies/gamma.kennel")


@test("S2-53 HUB-6 no policy, an argv that is not granted, a URL that is not the policy's: saved, and nothing is started", 120)
def not_started():
    c = Console().login()
    argv = argv_of("nobody")
    value = added(c, entry("nobody", argv))
    equal((value["connection"], value["server"]["reason"]), (None, "no-policy"), value)
    within("kennel init nobody", value["detail"])
    argv = argv_of("gamma")
    policy_for("gamma", [TOY])
    value = added(c, entry("gamma", argv))
    equal((value["connection"], value["server"]["reason"]), (None, "argv-not-granted"), value)
    within("not within the granted authority", value["detail"])
    value = added(c, {"name": "gamma", "transport": "http", "url": "https://localhost/mcp"}, replaced=True)
    equal((value["connection"], value["server"]["reason"], value["server"]["command"]), (None, "argv-not-granted", None), value)
    with open(HOME + "/policies/broken.kennel", "w") as f:
        f.write("server broken {\n    nonsense\n}\n")
    value = added(c, entry("broken", ["/bin/cat"]))
    equal((value["connection"], value["server"]["reason"], value["server"]["status"]), (None, "policy-error", "error"), value)
    check(not started("nobody") and not started("gamma"))
    policy_for("gamma", argv)  # the control
    equal(added(c, entry("gamma", argv), replaced=True)["connection"], "connected")
    check(started("gamma"))
    os.unlink(HOME + "/policies/broken.kennel")


@test("S2-53 S3-40 a server that ends, answers wrongly or not at all is saved as unreachable or error, within seconds", 150)
def fails():
    c = Console().login()
    for name, config, outcome, part in (
            ("ends", {"exit": 3}, "unreachable", "closed its output"),
            ("wrong", {"init_error": {"code": -32000, "message": HOSTILE}}, "error", "the server answered with an error"),
            ("twice", {"tools": [TOOLS[0], TOOLS[0]]}, "error", "two tools of the server have the same name"),
            ("late", {"slow": 600}, "unreachable", "did not answer in time")):
        argv = argv_of(name, **config)
        policy_for(name, argv)
        t0 = time.time()
        value = added(c, entry(name, argv))
        equal((value["connection"], value["server"]["discovery_status"]), (outcome, outcome), value)
        within(part, value["detail"])
        check(time.time() - t0 < 60, name, time.time() - t0)
        check(started(name), name)
        equal(value["server"]["tool_list"], [])
    # no process of it is left
    check(wait_for(lambda: not [p for p in descendants(os.getpid()) if b"late.json" in reads("/proc/%d/cmdline" % p)], LONG), "late")


@test("S2-53 each field that is missing or wrong is refused by its name, and nothing is stored")
def wrong_fields():
    c = Console().login()
    good = {"name": "x", "transport": "stdio", "command": "/bin/cat"}
    far = {"name": "x", "transport": "http", "url": "https://h/mcp"}
    for name, body, part in (
            ("name", {"transport": "stdio", "command": "/bin/cat"}, "missing"),
            ("name", dict(good, name=""), "letters"),
            ("name", dict(good, name="a b"), "letters"),
            ("name", dict(good, name="../x"), "letters"),
            ("name", dict(good, name="x" * 65), "up to 64"),
            ("name", dict(good, name=5), "invalid"),
            ("transport", {"name": "x", "command": "/bin/cat"}, "missing"),
            ("transport", dict(good, transport="sse"), "stdio or http"),
            ("command", {"name": "x", "transport": "stdio"}, "missing or empty"),
            ("command", dict(good, command=""), "missing or empty"),
            ("command", dict(good, command="/bin/\ncat"), "control"),
            ("command", dict(far, command="/bin/cat"), "only allowed"),
            ("args", dict(good, args="a"), "array of texts"),
            ("args", dict(good, args=[1]), "array of texts"),
            ("url", {"name": "x", "transport": "http"}, "missing"),
            ("url", dict(far, url="ftp://h"), "https://"),
            ("url", dict(good, url="https://h"), "only allowed"),
            ("url", dict(good, headers={"A": "b"}), "only allowed"),
            ("headers", dict(far, headers=[]), ""),
            ("headers", dict(far, headers={"A": {"vault": "x"}}), "path of a secret"),
            ("env", dict(good, env={"A": 5}), ""),
            ("env", dict(good, env={"A": {"env": "B", "file": "/x"}}), "expected a reference"),
            ("enabled", dict(good, enabled=1), "invalid"),
            ("policy_server", dict(good, policy_server="other"), "only allowed in an export"),
            ("created_gen", dict(good, created_gen=1), "only allowed in an export"),
            (None, dict(good, nonsense=1), "nonsense"),
            (None, [], "object"), (None, None, "object")):
        field(c.json("POST", "mcp", json.dumps(body).encode()), 400, name, part)
    refused(c.json("POST", "mcp", b"{"), 400, "expected JSON")
    equal(row(c, "x"), None)
    equal(c.request("POST", "/api/mcp", b"[" + b" " * 9000 + b"]")[0], 413)
    equal(added(c, good)["connection"], None)  # the control


@test("S2-53 C13 a literal secret is refused in every field, is not echoed, and is in no file")
def secrets():
    c = Console().login()
    good = {"name": "hidden", "transport": "stdio", "command": "/bin/cat"}
    far = {"name": "hidden", "transport": "http", "url": "https://h/mcp"}
    for name, body in (
            ("command", dict(good, command=TOKEN)), ("args", dict(good, args=["-x", TOKEN])),
            ("args", dict(good, args=["--token", TOKEN[4:12]])), ("env", dict(good, env={"A": TOKEN})),
            ("env", dict(good, env={"API_KEY": TOKEN[4:12]})), ("url", dict(far, url="https://h/?token=" + TOKEN[4:12])),
            ("headers", dict(far, headers={"Authorization": "Bearer " + TOKEN[4:12]})),
            ("note", dict(good, note=TOKEN)), ("auth", dict(good, auth=TOKEN, auth_type="bearer")),
            ("name", dict(good, name=TOKEN + "/")), ("transport", dict(good, transport=TOKEN)),
            (None, dict(good, **{TOKEN: 1}))):
        status, headers, text = c.request("POST", "/api/mcp", body)
        equal((status, json.loads(text)["error"]["field"]), (400, name), text)
        absent(TOKEN[4:12].encode(), text)
    equal(row(c, "hidden"), None)
    for top, _, files in os.walk(HOME):
        for f in files:
            absent(TOKEN[4:12].encode(), reads(top + "/" + f), f)
    field(c.json("POST", "mcp", dict(good, env={"API_KEY": {"vault": "team/x/key"}}, name="a b")), 400, "name")
    equal(added(c, dict(good, env={"API_KEY": {"vault": "team/x/key"}}))["server"]["env"], {"API_KEY": {"vault": "team/x/key"}})


@test("S2-53 a text that is meant to break a page comes back as it was, as JSON, from every field")
def hostile():
    c = Console().login()
    for body in ({"name": "h1", "transport": "stdio", "command": HOSTILE, "args": [HOSTILE, ""], "env": {"LOG": HOSTILE}},
                 {"name": "h2", "transport": "http", "url": "https://h/" + HOSTILE, "headers": {"X": HOSTILE}}):
        value = added(c, body)
        for s in (value["server"], row(c, body["name"])):
            equal({k: s[k] for k in body}, body)
        status, headers, text = c.request("GET", "/api/mcp")
        equal((headers["Content-Type"], headers["X-Content-Type-Options"]), ("application/json", "nosniff"))


@test("S2-53 a server that is edited keeps what the console does not show of it")
def keeps():
    c = Console().login()
    equal(run([KENNEL, "server", "add", "noted", "--url", "https://h/mcp", "--auth", "bearer", "--auth-ref", "vault:team/r/token",
               "--note", "for later"]).returncode, 0)
    value = added(c, {"name": "noted", "transport": "http", "url": "https://other/mcp"}, replaced=True)
    equal(value["server"]["url"], "https://other/mcp")
    got = json.loads(run([KENNEL, "server", "export"]).stdout)
    s = next(s for s in got["mcp_servers"] if s["name"] == "noted")
    equal((s["note"], s["auth_type"], s["auth"]), ("for later", "bearer", {"vault": "team/r/token"}))


@test("S2-54 a server is removed with its tools; one that is unknown is 404, one of a policy or a file 409", 120)
def removes():
    argv = argv_of("delta")
    policy_for("delta", argv)
    with open(HOME + "/mcp-servers.json", "w") as f:
        json.dump({"mcpServers": {"everywhere": {"command": TOY}}}, f)
    c = Console().login()
    equal(len(added(c, entry("delta", argv))["server"]["tool_list"]), 2)
    equal(c.json("DELETE", "mcp/delta"), (200, {}))
    s = row(c, "delta")
    equal((s["source"], s["tool_list"]), ("policy", []), "what is left is its policy's")
    refused(c.json("DELETE", "mcp/delta"), 409, "delta.kennel", "server disable")
    refused(c.json("DELETE", "mcp/everywhere"), 409, "mcp-servers.json")
    refused(c.json("DELETE", "mcp/nothing"), 404, "no server `nothing`")
    for name in ("a%20b", "../delta", "%64elta"):
        refused(c.json("DELETE", "mcp/" + name), 404)
    for name in ("--help", "", "x" * 300):
        refused(c.json("DELETE", "mcp/" + name), 400)
    equal(added(c, entry("gone", ["/bin/cat"]))["server"]["reason"], "no-policy")
    equal(c.json("DELETE", "mcp/gone"), (200, {}))
    equal(row(c, "gone"), None)


@test("S2-54 C34 a running session ends the process of a server that is removed", 120)
def disconnects():
    argv = argv_of("eta")
    policy_for("eta", [TOY], "    exec allow %s\n" % words(*argv))
    c = Console().login()
    equal(added(c, entry("eta", argv))["connection"], "connected")
    s = Mcp([KENNEL, "serve", "eta"])
    s.initialize()

    def call():
        s.n += 1
        s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {
            "name": "tool_invoke", "arguments": {"name": "eta.echo", "arguments": {"text": "x"}}}})
        return json.dumps(s.wait(s.n, LONG))

    def running():
        return [p for p in descendants(s.p.pid) if b"eta.json" in reads("/proc/%d/cmdline" % p)]

    within("eta: x", call())
    check(running(), "the control")
    equal(row(c, "eta")["status"], "connected")
    equal(c.json("DELETE", "mcp/eta"), (200, {}))
    check(wait_for(lambda: not running(), LONG), "its process has ended")
    absent("eta: x", call(), "it is the policy's now")
    check(not running())
    s.close()


@test("S2-53 S2-54 CSRF: a request without the console's Origin or without both secrets adds and removes nothing")
def csrf():
    c = Console().login()
    body = {"name": "forged", "transport": "stdio", "command": "/bin/cat"}
    added(c, dict(body, name="mine"))
    for how in ({"leave_out": ("Origin",)}, {"headers": {"Origin": "http://evil.example"}}, {"headers": {"Sec-Fetch-Site": "same-site"}},
                {"headers": {"Origin": "null"}}):
        refused(c.json("POST", "mcp", body, **how), 403)
        refused(c.json("DELETE", "mcp/mine", **how), 403)
    refused(c.json("POST", "mcp", body, headers={"Content-Type": "text/plain"}), 415)
    for header in ("Cookie", "X-Kennel-Key"):
        refused(c.json("POST", "mcp", body, leave_out=(header,)), 401)
        refused(c.json("DELETE", "mcp/mine", leave_out=(header,)), 401)
    equal((row(c, "forged"), row(c, "mine")["command"]), (None, "/bin/cat"))
    equal(c.json("DELETE", "mcp/mine"), (200, {}))  # the control


@test("S2-52 policies: scores, errors and warnings of all of them, and explain, as the commands print them", 90)
def policies():
    for f in os.listdir(HOME + "/policies") if os.path.isdir(HOME + "/policies") else []:
        os.unlink(HOME + "/policies/" + f)
    policy_for("zeta", [TOY], "    exec allow /bin/ls **\n    tool ask line because %s\n    read /etc\n" % words(HOSTILE[:28]))
    with open(HOME + "/policies/broken.kennel", "w") as f:
        f.write("server broken {\n    nonsense\n}\n")
    c = Console().login()
    status, value = c.json("GET", "policies")
    equal(status, 200, value)
    equal(value, json.loads(run([KENNEL, "policy", "score", "--json", "--all"]).stdout))
    by = {s["server"]: s for s in value["servers"]}
    path = HOME + "/policies/zeta.kennel"
    one = json.loads(run([KENNEL, "policy", "score", "--json", path]).stdout)["servers"][0]
    equal((by["zeta"]["score"], by["zeta"]["items"], by["zeta"]["policy"]), (one["score"], one["items"], path))
    equal((by["broken"]["score"], by["broken"]["errors"]), (None, 1))
    said = run([KENNEL, "policy", "score", "--all"])
    within("broken.kennel: it cannot be used", said.stdout.decode())
    equal(said.returncode, 65)
    status, value = c.json("GET", "policies/check")
    equal(status, 200, value)
    equal((value["errors"], value["policies"]), (1, 2), value)
    found = [(d["severity"], os.path.basename(d["file"]), d["line"]) for d in value["diagnostics"]]
    check(("error", "broken.kennel", 2) in found and ("warning", "zeta.kennel") in [f[:2] for f in found], found)
    r = run([KENNEL, "policy", "check", "--all", "--json"])
    equal((r.returncode, json.loads(r.stdout)), (65, value))
    check(all(d["message"] and set(d) == {"severity", "file", "line", "message"} for d in value["diagnostics"]))

    def explain(kind, *w, **more):
        return c.json("POST", "policies/explain", dict(server="zeta", kind=kind, words=list(w), **more))

    for kind, w, verdict in (("tool", ["echo"], "allow"), ("tool", ["line", '{"a": 1}'], "ask"), ("net", ["example.org:443"], "deny"),
                             ("read", ["/etc/hosts"], "allow"), ("write", ["/etc/hosts"], "deny"),
                             ("exec", ["/bin/ls", "-la", "--json"], "allow"), ("tool", [HOSTILE], "allow"), ("roots", [], "deny")):
        status, value = explain(kind, *w)
        equal((status, value["verdict"]), (200, verdict), (kind, w, value))
        equal(value, json.loads(run([KENNEL, "policy", "explain", "--json", path, "zeta", kind, *w]).stdout))
    equal(explain("tool", "line")[1]["by"]["because"], HOSTILE[:28])
    field(explain("tool"), 400, "words", "tool takes a name")
    field(explain("nonsense", "x"), 400, "kind", "expected exec")
    field(explain("--from", "x"), 400, "kind", "expected exec")
    field(explain("read", "x"), 400, "words", "absolute path")
    for name, part in (("nobody", "no policy"), ("broken", "errors"), (HOSTILE, "no policy"), ("--json", "no policy"), ("../zeta", "no policy")):
        field(c.json("POST", "policies/explain", {"server": name, "kind": "tool", "words": ["x"]}), 400, "server", part)
    for body, name in (({}, "server"), ({"server": "zeta"}, "kind"), ({"server": 1, "kind": "tool"}, "server"),
                       ({"server": "zeta", "kind": "tool", "words": "echo"}, "words"), ([], None),
                       ({"server": "zeta", "kind": "tool", "words": ["a"], "from": 1}, "from")):
        field(c.json("POST", "policies/explain", json.dumps(body).encode()), 400, name)
    env = {"KENNEL_HOME": TMP + "/no-policies"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    equal(run([KENNEL, "policy", "score", "--all"], env=env).returncode, 69)
    equal(json.loads(run([KENNEL, "policy", "score", "--all", "--json"], env=env).stdout)["servers"], [])
    for words_ in (["score", "--all", path], ["check", "--json", "--all", path], ["explain", "--request", path]):
        equal(run([KENNEL, "policy", *words_]).returncode, 64, words_)
    # no file that a request names is read
    field(c.json("POST", "policies/explain", {"server": "/etc/passwd", "kind": "tool", "words": ["x"]}), 400, "server", "no policy")
    c.key = None
    refused(c.json("GET", "policies"), 401)
    refused(c.json("POST", "policies/explain", {}), 401)


if __name__ == "__main__":
    main()
