"""kennel serve: what an agent registers, what a person disables, arguments, limits, one process per call."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kit import *  # noqa: E402,F403
from serve_kit import *  # noqa: E402,F403

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer", "maximum": 3}},
          "required": ["text"], "additionalProperties": False}


def pinned(name, more="", **config):
    """The server of a policy that has its pins, as `server pin` writes them."""
    first = policies(server(name, ALL, more, **config))
    pins = first.replace(".kennel", ".pins")
    r = run([KENNEL, "server", "pin", name, "--policy", first, "-o", pins], timeout=60)
    check(r.returncode == 0, r.stderr)
    os.chmod(pins, 0o644)
    return server(name, ALL, more + "    pins %s\n" % words(pins), **config)


def refused(answer):
    r = answer["result"]
    check(r.get("isError"), r)
    return r["content"][0]["text"]


@test("S4-52 S4-12 an agent registers, lists and removes a server through tool_invoke; the tool is not listed and is found")
def register():
    h = Hub(server("one"))
    absent("mcp_register", [t["name"] for t in h.ask("tools/list")["result"]["tools"]])
    within("mcp_register", [t["name"] for t in h.structured("tool_search", query="register")["tools"]])

    def invoke(**arguments):
        return h.do("tool_invoke", {"name": "mcp_register", "arguments": arguments})
    added = invoke(action="add", name="mine", command="/usr/bin/python3", args=["x.py"], note="a note")
    equal(list(added["result"]["structuredContent"]), ["name", "created_gen"], added)
    got = invoke(action="list")["result"]["structuredContent"]["servers"]
    equal([(s["name"], s["command"], s["args"], s["note"]) for s in got],
          [("mine", "/usr/bin/python3", ["x.py"], "a note")])
    # a row gives no authority: it is disabled, and the agent that added it reads who can change that
    equal(refused(h.do("mine.echo")), "mine is registered, not enabled: a person runs kennel server enable mine")
    shown = json.loads(run([KENNEL, "server", "show", "mine", "--json"]).stdout)
    equal((shown["enabled"], shown["source"]), (False, "agent"), shown)
    equal(invoke(action="remove", name="mine")["result"]["structuredContent"], {"name": "mine", "removed": True})
    equal(refused(invoke(action="remove", name="mine")), 'no registered mcp server "mine"')
    within("is defined by its policy; nothing was changed", refused(invoke(name="one", command="/bin/sh")))


@test("a person who replaces an agent's entry by JSON keeps nothing that the agent wrote; the control keeps what a person wrote")
def replaced_by_person():
    env = {"KENNEL_HOME": TMP + "/replaced"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)

    def put(**members):
        r = run([KENNEL, "server", "add", "--json"], env=env,
                stdin=json.dumps(dict({"name": "mine", "transport": "stdio", "command": "/bin/cat"}, **members)))
        equal(r.returncode, 0, r.stdout + r.stderr)
        row, = json.loads(run([KENNEL, "server", "export"], env=env).stdout)["mcp_servers"]
        return row.get("note"), row["policy_server"], row["enabled"]
    h = Hub(server("one"), env=env)
    h.do("tool_invoke", {"name": "mcp_register", "arguments": {
        "action": "add", "name": "mine", "command": "/bin/sh", "note": "reviewed by joe: safe"}})
    within("reviewed by joe", run([KENNEL, "server", "export"], env=env).stdout.decode())
    h.close()
    equal(put(), (None, "mine", True))
    put(note="mine, indeed", enabled=False)
    equal(put(), ("mine, indeed", "mine", False))
    added = [e["fields"] for e in audit(env=env) if e["kind"] == "registry" and e["fields"]["source"] == "agent"]
    equal([(e["outcome"], len(e["sha256"])) for e in added], [("asked", 64), ("done", 64)])


@test("server enable --generation enables what was shown, and nothing that the agent has changed since; without it, what is there")
def enables_what_was_shown():
    env = {"KENNEL_HOME": TMP + "/shown"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    h = Hub(server("one"), env=env)

    def register(command):
        h.do("tool_invoke", {"name": "mcp_register", "arguments": {"action": "add", "name": "mine", "command": command}})
        return row()["updated_gen"]

    def row():
        return json.loads(run([KENNEL, "server", "show", "mine", "--json"], env=env).stdout)

    def enable(*options):
        r = run([KENNEL, "server", "enable", "mine", *options], env=env)
        return r.returncode, row()["enabled"], r.stderr.decode()
    shown = register("/bin/good")
    now = register("/bin/evil")
    status, enabled, said = enable("--generation", str(shown))
    equal((status, enabled), (1, False), said)
    within("look at it again", said)
    equal(enable("--generation=0")[:2], (1, False), "it was shown with a row")
    equal(enable("--generation=%d" % now)[:2], (0, True), "the control")
    register("/bin/other")
    equal(enable()[:2], (0, True), "the plain command")
    for wrong in (["--generation"], ["--generation", ""], ["--generation=-1"], ["--generation", "0x10"], ["--generation=" + "9" * 19]):
        equal(enable(*wrong)[0], 64, wrong)
    got = [(e["fields"]["outcome"], e["fields"].get("reason", "")[:14]) for e in audit(env=env)
           if e["kind"] == "registry" and e["fields"]["action"] == "enable"]
    equal(got, [("asked", ""), ("refused", "`mine` is not ")] * 2 + [("asked", ""), ("done", "")] * 2)
    # of a server that its policy defines the registry has no row at first
    r = [run([KENNEL, "server", "enable", "--generation", n, "one"], env=env).returncode for n in ("0", "0")]
    equal(r, [65, 65], "no policy of it is in the directory")
    h.close()


@test("server disable names the sessions that still run the server, and what still starts it")
def still_running():
    folder = HOME + "/policies"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = folder + "/live.kennel"
    with open(path, "w") as f:
        f.write(server("live"))
    try:
        def disable():
            r = run([KENNEL, "server", "disable", "live"])
            equal(r.returncode, 0, r.stderr)
            return r.stdout.decode()
        starts = "`kennel serve` leaves it out; `kennel run live` still starts it while %s is there\n" % path
        equal(disable(), "disabled live\n" + starts, "the control: nothing runs")
        equal(run([KENNEL, "server", "enable", "live"]).stdout, b"enabled live\n")
        h = Mcp([KENNEL, "serve", "live"])
        h.initialize()
        equal(h.call("live__echo", text="x")["result"]["content"][0]["text"], "live: x")
        alone = Mcp([KENNEL, "run", "live"])
        alone.initialize()
        said = disable()
        within("its process under process %d is ended\n" % h.p.pid, said)
        within("it still runs in process %d, until its agent ends it\n" % alone.p.pid, said)
        equal(h.call("live__echo", text="y")["result"]["content"][0]["text"], "unknown tool: live__echo")
        h.close()
        alone.close()
        equal(disable(), "disabled live\n" + starts)
    finally:
        os.unlink(path)


@test("S2-26 S3-30 a server that a person disabled is not named, not found and not called; enabled again, it is")
def disabled():
    name = "kept"
    folder = HOME + "/policies"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with open("%s/%s.kennel" % (folder, name), "w") as f:
        f.write(server(name))
    try:
        for enabled in (True, False, True):
            r = run([KENNEL, "server", "enable" if enabled else "disable", name])
            equal(r.returncode, 0, r.stderr)
            h = Mcp([KENNEL, "serve", name])
            greeting = h.initialize()
            check((name in greeting["result"]["instructions"].splitlines()[-1]) == enabled, greeting)
            said = h.call(name + "__echo", text="x")["result"]
            equal(said["content"][0]["text"], "kept: x" if enabled else "unknown tool: kept__echo")
            if not enabled:
                check(audited('"server": "kept"', '"name": ["echo"]', "the server is disabled"), "its record")
            r = h.request("resources/read", {"uri": "kennel://%s/r" % name})
            check(("kept has r" in json.dumps(r)) == enabled, r)
            found = h.call("tool_search", query="", server=name, limit=100)["result"]["structuredContent"]["tools"]
            equal("kept.echo" in [t["name"] for t in found], enabled)
            h.close()
    finally:
        os.unlink("%s/%s.kennel" % (folder, name))


@test("S2-31 S2-19 approval is auto for what the policy allows and confirm for what it asks about; what it denies is unknown")
def approval():
    grants = "    tool allow echo\n    tool ask pid\n    tool deny exit\n"
    h = Hub(server("one", grants))
    for name, wanted in (("echo", ("auto", "allow")), ("pid", ("confirm", "ask"))):
        d = h.structured("tool_describe", name="one." + name)
        equal((d["approval"], d["verdict"]), wanted, d)
        equal(list(d)[:3], ["name", "description", "inputSchema"], d)
    check(h.do("tool_describe", {"name": "one.exit"})["result"]["isError"])
    found = h.structured("tool_search", query="", server="one", limit=100)["tools"]
    equal(sorted((t["name"], t["approval"]) for t in found), [("one.echo", "auto"), ("one.pid", "confirm")])


@test("S4-01 servers are one surface: their tools come over one connection, and the secret that a server has is in nothing that the agent reads")
def one_surface():
    value = "Zq8vT2mXw4Lr9Kp1"
    path = TMP + "/one-secret"
    with open(path, "w") as f:
        f.write(value)
    os.chmod(path, 0o600)
    h = Hub(server("one", ALL, "    secret TOKEN from file %s\n" % words(path)), server("two"), args=["--expose", "*.variable"])
    read = [h.greeting, h.ask("tools/list"), h.do("tool_search", {"query": ""}), h.do("tool_describe", {"name": "one"}),
            h.do("two.variable", {"name": "TOKEN"}), h.do("one.variable", {"name": "TOKEN"}), h.query("one", "variable", arguments={"name": "TOKEN"}),
            h.do("one.variable", {"name": 5})]
    absent(value, json.dumps(read) + h.stderr())
    within("%d" % len(value), read[5]["result"]["content"][0]["text"], "the server has it")
    equal(read[4]["result"]["content"][0]["text"], "None 0", "the other one has not")
    equal([t["name"] for t in read[1]["result"]["tools"]][-2:], ["one__variable", "two__variable"])


@test("arguments that a reviewed schema does not allow never reach the server; those that it allows do")
def arguments():
    h = Hub(pinned("one", tools=[{"name": "echo", "description": "e", "inputSchema": SCHEMA},
                                 {"name": "seen", "description": "s", "inputSchema": {"type": "object"}}]))
    for bad, text in (({"text": 5}, "/text: expected a string, found a number"),
                      ({}, "missing member `text`"),
                      ({"text": "x", "n": 4}, "/n: "),
                      ({"text": "x", "more": 1}, "unexpected member `more`")):
        within(text, refused(h.do("one.echo", bad)), bad)
        within("invalid arguments for one.echo: ", refused(h.do("one__echo", bad)))
    equal(h.said("one.echo", text="x", n=3), "one: x")
    # the control: the server got the one call and no other
    calls = [m for m in h.seen("one", "tools/call") if m["params"]["name"] == "echo"]
    equal([c["params"]["arguments"] for c in calls], [{"text": "x", "n": 3}])


@test("rate and quota count over all processes of a server; the next call says when to try again")
def limits():
    h = Hub(server("one", "    tool allow echo rate 2/1h\n    tool allow pid quota 1\n    tool allow exit\n"))
    for _ in range(2):
        equal(h.said("one.echo", text="x"), "one: x")
    within("rate limit: 2 in 1h, try again in ", refused(h.do("one.echo", {"text": "x"})))
    h.said("one.pid")
    h.do("one.exit")
    within("quota: ", refused(h.do("one.pid")))
    # calls of mcp_query count with the others, whichever comes first
    h = Hub(server("one", "    tool allow echo rate 2/1h\n"))
    call = {"server": "one", "tool": "echo", "arguments": {"text": "x"}}
    equal(h.do("mcp_query", call)["result"]["structuredContent"]["state"], "ok")
    equal(h.said("one.echo", text="x"), "one: x")
    last = h.do("mcp_query", call)["result"]["structuredContent"]
    equal(last["state"], "denied")
    within("rate limit: 2 in 1h", last["detail"])
    within("rate limit: 2 in 1h", refused(h.do("one.echo", {"text": "x"})))


@test("oneshot: each call has a process of its own; without the word calls share one")
def oneshot():
    h = Hub(server("one", ALL, "    oneshot\n"), server("two"), server("three", ALL, "    oneshot\n", modern=True),
            server("four", ALL, "    oneshot\n", modern=True))
    for name in ("one", "two"):
        h.said(name + ".echo", seconds=40, text="x")
    # a line that waits for a server of another era, with and without _meta
    equal(h.said("three.echo", seconds=40, text="x"), "three: x")
    equal(h.do("four.echo", {"text": "x"}, 40, {"progressToken": "t", "x/y": 1})["result"]["content"][0]["text"], "four: x")
    # what the process of the next call has seen
    equal([c["params"]["name"] for c in h.seen("one", "tools/call")], ["seen"])
    equal([c["params"]["name"] for c in h.seen("two", "tools/call")], ["echo", "seen"])


@test("oneshot: the first call finds the era of its server, and is bridged between it and an agent of the other one")
def oneshot_era():
    elicit = {"method": "elicitation/create", "params": {"message": "n?", "requestedSchema": {"type": "object", "properties": {}}}}
    answer = {"action": "accept", "content": {"n": 1}}
    tools = [{"name": n, "description": n, "inputSchema": {"type": "object"}} for n in ("ask", "params")]
    home = TMP + "/oneshot-era"
    os.makedirs(home)

    def first(modern, agent):
        return Hub(pinned("one", "    oneshot\n", modern=modern, tools=tools), modern=agent, capabilities={"elicitation": {}},
                   env={"KENNEL_HOME": home})
    h = first(True, False)  # nothing is recalled of it: the line is written again
    a = h.post_call("one.ask", elicit, meta={"progressToken": "t"})
    q = h.until("elicitation/create", 30)
    equal(q["params"]["message"], "[one] n?")
    h.send({"jsonrpc": "2.0", "id": q["id"], "result": answer})
    equal(json.loads(h.wait(a)["result"]["content"][0]["text"])["responses"], {"one": answer})
    for agent in (False, True):  # the registry recalls 2026-07-28, which the server no longer speaks
        h.close()
        h = first(False, agent)
        p = json.loads(h.do("one.params", {}, 30, {"progressToken": "t", "x/y": 1})["result"]["content"][0]["text"])
        equal([k for k in p["_meta"] if k.startswith(META)], [], "an older server sees no envelope")
        equal(p["_meta"]["x/y"], 1)
        h.close()
        h = first(True, agent)
        p = json.loads(h.do("one.params", {}, 30)["result"]["content"][0]["text"])
        equal(p["_meta"][META + "protocolVersion"], MODERN)


@test("oneshot: a task, which its process would not outlive, is an error, of either era; reads and subscriptions have a process that stays")
def oneshot_tasks():
    caps = {"tools": {}, "resources": {"subscribe": True}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
    r = [{"uri": "r://1", "name": "r"}]
    h = Hub(server("one", ALL, "    oneshot\n", capabilities=caps, resources=r), server("two", capabilities=caps))
    h.said("one.echo", seconds=40, text="x")
    e = h.do("one.task", task={})["error"]
    equal(e["code"], -32601)
    within("one has a process for each call", e["message"])
    e = h.do("tool_invoke", {"name": "one.task", "arguments": {}}, task={})
    within("one has a process for each call", json.dumps(e))
    equal(h.do("two.task", task={})["result"]["task"]["taskId"], "two.t.1", "control")
    equal([t["taskId"] for t in h.ask("tasks/list")["result"]["tasks"]], ["two.t.1"])
    equal(h.ask("tasks/get", {"taskId": "one.t.1"})["error"]["code"], -32602)
    equal(h.ask("resources/subscribe", {"uri": "r://1"})["result"], {})
    check(wait_for(lambda: len(h.processes()) == 2, 5) is not None, h.processes())
    caps = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    h = Hub(server("one", ALL, "    oneshot\n", modern=True), server("two", modern=True), modern=True, capabilities=caps)
    within("one has a process for each call", h.do("one.new_task", seconds=40)["error"]["message"])
    equal(h.do("two.new_task", seconds=40)["result"]["taskId"], "two.t.1", "control")


@test("oneshot: a process that hangs in its call and answers pings ends with the deadline")
def oneshot_hangs():
    h = Hub(server("one", ALL, "    oneshot\n    timeout call 1s\n"))
    h.said("one.echo", seconds=40, text="x")
    check(wait_for(lambda: len(h.processes()) == 1, 5) is not None, h.processes())
    listed = set(h.processes())  # the one that has listed its tools stays
    equal(h.do("one.hang", {}, 40)["error"]["code"], -32001)
    check(wait_for(lambda: set(h.processes()) == listed, 8) is not None, h.processes())


@test("S4-45 a registry that cannot be read: no server is started, and stderr says what to do")
def unreadable():
    home = TMP + "/unreadable"
    os.makedirs(home)
    at = None
    h = Hub(server("one"), env={"KENNEL_HOME": home})
    equal(h.said("one.echo", text="x"), "one: x")
    h.do("tool_invoke", {"name": "mcp_register", "arguments": {"action": "add", "name": "mine", "command": "/bin/true"}})
    for top, _, files in os.walk(home):
        at = top + "/registry.db" if "registry.db" in files else at
    h.close()
    os.rename(at, at + ".away")
    os.symlink(at + ".away", at)  # which is not followed
    h = Hub(server("one"), env={"KENNEL_HOME": home})
    within("unknown tool", refused(h.do("one.echo", {"text": "x"})))
    within("unable to read the registry", h.stderr())
    within("kennel server list", h.stderr())


if __name__ == "__main__":
    main()
