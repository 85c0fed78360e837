"""What a policy says about tools, their arguments and their definitions, in force
at a running server."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

TOYS = "    run %s\n" % words(TOY)


def verdict(s, arguments, tool="line"):
    """allow (the server got it, whatever it says), or what the refusal says;
    arguments as JSON text."""
    s.n += 1
    s.send_bytes(('{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s"%s}}\n'
                  % (s.n, tool, "" if arguments is None else ',"arguments":' + arguments)).encode())
    r = s.wait(s.n)
    if "error" in r:
        return r["error"]["data"]["kennel"]["outcome"] if "data" in r["error"] else "allow"
    if r["result"].get("isError") and "kennel/refusal" in r["result"].get("_meta", {}):
        return r["result"]["_meta"]["kennel/refusal"]["outcome"]
    return "allow"


def judged(grants, *rows):
    s = kennel_run(TOYS + grants)
    s.initialize()
    for arguments, wanted in rows:
        equal(verdict(s, arguments), wanted, "%s: %s" % (grants.strip(), arguments))
    s.close()


@test("C18 C35 when: texts, choices, patterns, paths")
def texts():
    judged('    tool allow line when args.branch == "main"\n',
           ('{"branch":"main"}', "allow"), ('{"branch":"m\\u0061in"}', "allow"), ('{"branch":"main "}', "deny"),
           ('{"branch":["main"]}', "deny"), ('{"branch":null}', "deny"), ("{}", "deny"), (None, "deny"),
           ('{"branch":"main","branch":"x"}', "deny"), ('{"branch":"x","branch":"main"}', "deny"),
           ('{"Branch":"main"}', "deny"), ('{"branch":"main","other":{"a":1,"a":2}}', "allow"))
    judged('    tool allow line\n    tool deny line when args.branch in ["main", "release"]\n',
           ('{"branch":"topic"}', "allow"), ('{"branch":"release"}', "deny"), ("{}", "deny"),
           ('{"branch":7}', "deny"))
    judged('    tool allow line when args.a.b[1] matches x*y\n',
           ('{"a":{"b":[0,"x--y"]}}', "allow"), ('{"a":{"b":["xy"]}}', "deny"),
           ('{"a":{"b":[0,"yx"]}}', "deny"), ('{"a":{"b":{"1":"xy"}}}', "deny"))
    judged('    tool allow line when args.path under "/srv/work"\n',
           ('{"path":"/srv/work"}', "allow"), ('{"path":"/srv/work/a"}', "allow"), ('{"path":"/srv/workers"}', "deny"),
           ('{"path":"/srv/work/../secret"}', "deny"), ('{"path":"/srv"}', "deny"), ('{"path":"work"}', "deny"))


@test("when under DIR relative: a path that the server looks up in its cwd; without the word, and for any other text, as before")
def relative():
    rows = ('{"path":"a/b.txt"}', "allow"), ('{"path":"a"}', "allow"), ('{"path":"/tmp/w/a"}', "allow")
    odd = [('{"path":%s}' % json.dumps(p), "deny") for p in (
        "", ".", "..", "../x", "a/../../x", "./a", "a//b", "a/", "~/x", "~", "file:x", "%2e%2e/x", "%2Fetc/passwd", "%7e/x",
        "a\\b", "/etc/passwd", "/tmp/w/../x")]
    judged("    cwd /tmp\n    tool allow line when args.path under /tmp relative\n", *rows, *odd[:-1])
    judged("    cwd /tmp\n    tool allow line when args.path under /tmp/w relative\n",
           ('{"path":"w/x"}', "allow"), ('{"path":"w"}', "allow"), ('{"path":"x"}', "deny"), ('{"path":"wx"}', "deny"), *odd)
    judged("    cwd /tmp\n    tool allow line when args.path under /tmp\n", (rows[0][0], "deny"), rows[2])  # the control
    # what denies counts in doubt
    judged("    cwd /tmp\n    tool allow line\n    tool deny line when args.path under /tmp/w relative\n",
           ('{"path":"x"}', "allow"), ('{"path":"w/x"}', "deny"), ('{"path":"../x"}', "deny"), ('{"path":"~/x"}', "deny"))


@test("`relative` needs a `cwd` line, which a grant covers; policy diff tells what the word adds, and show says it")
def relative_word():
    tool = "    tool allow line when args.path under /tmp/w%s\n"
    for cwd, more in (("", "needs a `cwd` line in server `t`"), ("    cwd /srv\n", "/srv is not in the view")):
        r = run([KENNEL, "policy", "check", policy(TOYS + cwd + tool % " relative")])
        equal(r.returncode, 65, r.stderr)
        within(more.encode(), r.stderr)
    cwd = "    cwd /tmp/w\n"
    old, new = policy(TOYS + cwd + tool % ""), policy(TOYS + cwd + tool % " relative")
    other = policy(TOYS + "    cwd /tmp\n" + tool % " relative")
    equal(run([KENNEL, "policy", "check", new]).returncode, 0)
    for a, b, word in ((old, new, b"newly allowed: tool"), (new, old, b"newly denied: tool"),
                       (new, other, b"newly denied: tool"), (other, new, b"newly allowed: tool")):
        r = run([KENNEL, "policy", "diff", a, b])
        equal(r.returncode, 1 if b"allowed" in word else 0, r.stderr)
        within(word, r.stdout, (a, b))
    within(b'under "/tmp/w" relative', run([KENNEL, "policy", "show", new]).stdout)
    equal(run([KENNEL, "policy", "diff", new, new]).stdout, b"")


@test("C35 when: numbers as they are written, and, or, not")
def numbers():
    judged("    tool allow line when args.n <= 5\n",
           ('{"n":5}', "allow"), ('{"n":5.0}', "allow"), ('{"n":5.000000000000000000001}', "deny"), ('{"n":0.5e1}', "allow"),
           ('{"n":-1e400}', "allow"), ('{"n":1e400}', "deny"), ('{"n":"5"}', "deny"), ('{"n":true}', "deny"))
    judged("    tool allow line when args.n == 9007199254740993\n",
           ('{"n":9007199254740993}', "allow"), ('{"n":9007199254740992}', "deny"))
    judged('    tool allow line when (args.a == 1 or args.b == 2) and not args.c == true\n',
           ('{"a":1,"c":false}', "allow"), ('{"a":0,"b":2,"c":false}', "allow"), ('{"a":0,"b":0,"c":false}', "deny"),
           ('{"a":1,"c":true}', "deny"), ('{"a":1}', "deny"))


@test("MCP-ATTACKS 8: a name is its bytes; one that looks the same is another")
def names():
    s = kennel_run(TOYS + "    tool allow echo\n")
    s.initialize()
    equal(s.text("echo", text="x"), "x")
    for other in ("\\u0435cho", "echo\\u200b", "Echo", "echo ", "\\uff45cho", "e\\u0301cho"):
        equal(verdict(s, "{}", other), "deny", other)
    equal(verdict(s, '{"text":"x"}', "\\u0065cho"), "allow", "the same letter, written as an escape")
    s.close()


@test("a refusal says why, and what to do instead; a wait that ended is recorded")
def words_of_policy():
    s = kennel_run(TOYS + '    tool allow echo\n    tool deny "env" because "it is private" instead "use echo"\n'
                   '    tool ask big because "it is large"\n    timeout ask 300ms\n')
    s.initialize()
    r = s.call("env")["result"]
    check(r["isError"], r)
    within("it is private", r["content"][0]["text"])
    within("Instead: use echo", r["content"][0]["text"])
    equal(r["_meta"]["kennel/refusal"]["instead"], "use echo")
    equal(verdict(s, "{}", "big"), "no answer yet")
    s.close()
    check(audited('"call"', '"big"', '"no answer yet"'), "the end of the wait")


PINNED = TOYS + '    pins "%s"\n    tool allow *\n    resource allow *\n'


def pinned(text, change=None):
    """A policy beside its pins file; change: what to do to the pins before."""
    p = policy(TOYS + "    tool allow *\n    resource allow *\n    prompt allow *\n", "toy")
    pins = p[:-len(".kennel")] + ".pins"
    r = run([KENNEL, "server", "pin", "toy", "--policy", p, "-o", pins])
    equal(r.returncode, 0, r.stderr)
    if change:
        data = reads(pins).decode()
        check(change[0] in data, "nothing to change")
        with open(pins, "w") as f:
            f.write(data.replace(*change))
    p2 = policy(text % os.path.basename(pins), "toy")
    return p2, pins


def refusal(s, tool, **arguments):
    """The refusal of this call: its outcome and its text."""
    r = s.request("tools/call", {"name": tool, "arguments": arguments})["result"]
    check(r["isError"], r)
    return r["_meta"]["kennel/refusal"]["outcome"], r["content"][0]["text"]


@test("a call beyond its rate or quota is refused before the server sees it, and recorded; the last within it passes")
def limits():
    p = policy(TOYS + "    tool allow echo rate 3/5s because \"it costs\"\n"
               "    tool allow line quota 2 instead \"use echo\"\n    tool allow *\n", "toy")
    s = Mcp([KENNEL, "run", "toy", "--policy", p])
    s.initialize()
    for _ in range(3):
        equal(s.text("echo", text="x"), "x")
    outcome, text = refusal(s, "echo", text="x")
    equal(outcome, "rate limit")
    within('the tool "echo" (%s:4)' % p, text)
    within("rate limit: 3 in 5s, try again in", text)
    within("it costs", text)
    # the other tool has its own limit
    equal([verdict(s, "{}") for _ in range(3)], ["allow", "allow", "quota"])
    outcome, text = refusal(s, "line")
    equal(outcome, "quota")
    within("quota: 2 calls in this session are used up. Instead: use echo", text)
    time.sleep(5.1)
    equal(s.text("echo", text="again"), "again", "the rate allows it again")
    within("echo", json.dumps(s.request("tools/list")), "it is listed all the time")
    s.close()
    check(audited('"refused"', '"echo"', "rate limit", '"deny"', ":4"), "the refusal is in the log")
    check(audited('"refused"', '"line"', "quota"), "and the other one")
    # a session of its own has a quota of its own
    s = Mcp([KENNEL, "run", "toy", "--policy", p])
    s.initialize()
    equal(verdict(s, "{}"), "allow")
    s.close()


@test("oneshot: kennel run, which has one process for all calls, refuses it; kennel exec starts it")
def oneshot():
    p = policy(TOYS + "    oneshot\n    tool allow *\n    exec allow /bin/echo **\n", "toy")
    s = Mcp([KENNEL, "run", "toy", "--policy", p])
    r = s.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                 "clientInfo": {"name": "kit", "version": "1"}})
    within("oneshot", json.dumps(r["error"]))
    within("use `kennel serve`", json.dumps(r["error"]))
    equal(s.p.wait(timeout=20), 78)
    check(audited('"refused"', "oneshot", '"deny"'), "it is in the log")
    r = run([KENNEL, "exec", "--policy", p, "toy", "--", "/bin/echo", "one"])
    equal((r.returncode, r.stdout), (0, b"one\n"), r.stderr)
    # the control: without the line it starts
    s = Mcp([KENNEL, "run", "toy", "--policy", policy(TOYS + "    tool allow *\n", "toy")])
    s.initialize()
    equal(s.text("echo", text="x"), "x")
    s.close()


@test("MCP-ATTACKS 1 3 4 6: definitions are pinned; what differs is neither shown nor called")
def pins():
    p, _ = pinned(PINNED)
    s = Mcp([KENNEL, "run", "toy", "--policy", p])
    s.initialize()
    tools = [t["name"] for t in s.request("tools/list")["result"]["tools"]]
    within("echo", tools)
    equal(s.text("echo", text="x"), "x")
    s.close()
    # The person reviewed another text than the server says now.
    p, _ = pinned(PINNED, ('"description":"says text"', '"description":"says it"'))
    s = Mcp([KENNEL, "run", "toy", "--policy", p])
    s.initialize()
    tools = [t["name"] for t in s.request("tools/list")["result"]["tools"]]
    check("echo" not in tools and "line" in tools, tools)
    equal(verdict(s, '{"text":"x"}', "echo"), "differs from its pin")
    equal(verdict(s, "{}", "line"), "allow")
    s.close()
    within('tool "echo" is not as it was reviewed, and is not used: compare with `kennel server pin toy --diff`', s.stderr())
    check(audited('"manifest"', '"echo"', "differs from its pin", "description"), "the difference is in the log")
    r = run([KENNEL, "server", "pin", "toy", "--policy", p, "--diff"])
    equal((r.returncode, r.stdout.splitlines()[0]), (1, b"changed tool echo"), r.stderr)
    within(b"      - says [-it-]\n      + says {+text+}\n", r.stdout)


@test("by-annotations: what was reviewed as destructive asks, as read-only is allowed, the rest asks")
def by_annotations():
    p, _ = pinned(TOYS + '    pins "%s"\n    tool by-annotations\n    timeout ask 300ms\n')
    s = Mcp([KENNEL, "run", "toy", "--policy", p])
    s.initialize()
    equal(verdict(s, "{}", "line"), "no answer yet", "a tool without annotations asks")
    within("line", [t["name"] for t in s.request("tools/list")["result"]["tools"]])
    s.close()


@test("a pins file that is not one: its line, and nothing is compiled")
def bad_pins():
    for change in (('{"kennel-pins":1', '{"kennel-pins":2'), ('"kind":"tool"', '"kind":"tol"'),
                   ('"variant":""', '"variant":"","x":1'), ('"description":"says text"', '"description":"says \\ud800"')):
        p, pins = pinned(PINNED, change)
        r = run([KENNEL, "policy", "compile", p, "-o", TMP + "/bad.sealed"])
        equal(r.returncode, 65, "%s: %s" % (change, r.stderr))
        within(os.path.basename(pins).encode(), r.stderr, change)


@test("audit args full: what was sent is kept, sealed, beside a record that has its digest; the rest is not")
def kept_whole():
    env = {"KENNEL_HOME": TMP + "/kept"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700, exist_ok=True)
    s = kennel_run(TOYS + "    tool allow *\n    audit args full echo\n    audit result full echo\n    audit sync strict\n", env=env)
    s.initialize()
    equal(s.text("echo", text="kept-m4rk"), "kept-m4rk")
    equal(s.text("line", text="other-m4rk")[:1], "{")
    s.close()
    check(audited('"echo"', '"ok"', env=env), "the call is in the log")
    d = env["KENNEL_HOME"] + "/audit"
    raw = b"".join(reads(d + "/" + f) for f in os.listdir(d))
    check(b"kept-m4rk" not in raw and b"other-m4rk" not in raw, "nothing lies there open")

    def payload(tool):
        events = [e for e in audit(env=env) if '"%s"' % tool in json.dumps(e) and "params_sha256" in e["fields"]]
        r = run([KENNEL, "audit", "payload", str(events[0]["idx"])], env=env)
        return r.returncode, r.stdout
    status, out = payload("echo")
    equal(status, 0, out)
    within(b"kept-m4rk", out)
    check(payload("line")[0] != 0, "what the policy does not name is not kept")


if __name__ == "__main__":
    main()
