"""kennel serve: servers whose argv is in the registry or in mcp-servers.json; their policy alone lets them start."""
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kit import *  # noqa: E402,F403
from serve_kit import *  # noqa: E402,F403


USER = "    user nobody\n" if os.getuid() == 0 else ""


class Home:
    """A user's registry and files, and a directory in which servers leave a trace."""

    def __init__(self, name):
        self.home = "%s/rows-%s" % (TMP, name)
        os.makedirs(self.home, mode=0o700)
        self.traces = self.home + "-traces"
        os.mkdir(self.traces)
        os.chmod(self.traces, 0o777)
        self.env = {"KENNEL_HOME": self.home}

    def kennel(self, *words, status=0):
        r = run([KENNEL] + list(words), env=self.env)
        equal(r.returncode, status, "%s: %s" % (words, r.stdout + r.stderr))
        return r.stdout.decode()

    def config(self, name, **more):
        """What the server does is in a file: a row has no long argument."""
        write("%s/config-%s" % (self.traces, name), json.dumps(dict(more, name=name, trace="%s/%s" % (self.traces, name))))

    def argv(self, name, keep=False):
        """A server that leaves a trace of this name."""
        if not keep:
            self.config(name)
        return [PYTHON, SERVER, "%s/config-%s" % (self.traces, name)]

    def left(self):
        return sorted(n for n in os.listdir(self.traces) if not n.startswith("config-"))

    def kept(self):
        """The registry's file."""
        return next(d + "/registry.db" for d, _, files in os.walk(self.home) if "registry.db" in files)

    def policy(self, name, *more, grants=ALL):
        """A policy whose own `run` leaves no trace of a row's."""
        return server(name, grants, USER + "    write %s\n%s" % (words(self.traces), "".join("    %s\n" % m for m in more)))

    def hub(self, *servers, **how):
        return Hub(*servers, env=self.env, **how)


def file_of(**servers):
    return json.dumps({"mcpServers": {n: {"command": a[0], "args": a[1:]} for n, a in servers.items()}})


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o644)


@test("S4-20 S4-43 a row whose policy does not grant its argv is denied and never spawned; the control, which is granted, is", 90)
def granted():
    h = Home("granted")
    for name in ("good", "bad", "none"):
        h.kennel("server", "add", name, "--", *h.argv(name))
    hub = h.hub(h.policy("good", "exec allow " + words(*h.argv("good"))), h.policy("bad", "exec allow " + words(*h.argv("good"))))
    equal(hub.said("good.echo", text="x"), "good: x")
    equal(hub.query("good", "echo", arguments={"text": "x"})["state"], "ok")
    for name, reason in (("bad", "argv-not-granted"), ("none", "no-policy")):
        got = hub.query(name, "echo", arguments={"text": "x"})
        equal((got["state"], got["detail"]), ("denied", 'denied: exec of "%s" is not within the granted authority' % PYTHON))
        equal(refusal(hub.do(name + ".echo", {"text": "x"})), "unknown tool: %s.echo" % name)
        equal(refusal(hub.do("tool_invoke", {"name": name + ".echo", "arguments": {}})), "unknown tool: %s.echo" % name)
        shown = hub.structured("tool_describe", name=name)
        equal((shown["tools"], shown["status"], shown["reason"]), (0, "error", reason), shown)
        equal(shown["detail"], got["detail"])
    found = hub.structured("tool_search", query="", limit=100)["tools"]
    equal({t["facet"] for t in found} & {"good", "bad", "none"}, {"good"}, found)
    said = hub.greeting["result"]["instructions"].splitlines()
    check("good" in said, said)
    check("none" not in said, "a server without a policy is named", said)
    rows = {r["name"]: r for r in json.loads(run([KENNEL, "ps", "--json"], env=h.env).stdout)[0]["servers"]}
    equal((rows["bad"]["reason"], rows["none"]["reason"]), ("argv-not-granted", "no-policy"), rows)
    hub.close()
    equal(h.left(), ["good"], "traces")
    # the log names what was started, and each refusal
    starts = [e["fields"] for e in audit(env=h.env) if e["kind"] == "start"]
    equal({s["server"] for s in starts}, {"good"}, starts)


@test("a restart of one server leaves the argv of the others as it was granted", 90)
def argv_stays():
    h = Home("restart")
    names = ["a", "b", "c", "d"]
    for name in names:
        h.kennel("server", "add", name, "--", *h.argv(name))
    hub = h.hub(*[h.policy(n, "exec allow " + words(*h.argv(n, keep=True))) for n in names])
    equal(hub.said("a.echo", text="x"), "a: x")
    for _ in range(3):
        h.kennel("server", "restart", "a")
    for name in reversed(names):  # started only now
        equal(hub.said(name + ".echo", text="x"), name + ": x")
    hub.close()


@test("S4-22 C38 a row that is exactly its policy's `run` needs no exec line; one argument more does", 60)
def run_itself():
    h = Home("run")
    line = h.argv("x")
    h.kennel("server", "add", "x", "--", *line)
    policy = "server x {\n    run %s\n    read %s\n    write %s\n%s%s}\n" % (
        words(*line), words(os.path.dirname(SERVER)), words(h.traces), ALL, USER)
    hub = h.hub(policy)
    equal(hub.said("x.echo", text="y"), "x: y")
    hub.close()
    h.kennel("server", "add", "x", "--", *(line + ["more"]))
    hub = h.hub(policy)
    equal(hub.query("x", "echo")["state"], "denied")


@test("S4-23 S4-25 `exec allow` grants a row by the base name of its program; a program of that name elsewhere is not it", 60)
def base_name():
    h = Home("base")
    other = h.home + "/python3"
    os.symlink(PYTHON, other)
    one = h.argv("one")
    h.kennel("server", "add", "one", "--", "python3", *one[1:])
    h.kennel("server", "add", "two", "--", other, *one[1:])
    grant = "exec allow " + words(*one)
    hub = h.hub(h.policy("one", grant), h.policy("two", grant))
    equal(hub.said("one.echo", text="y"), "one: y")
    equal(hub.query("two", "echo")["state"], "denied")


def status(h, name):
    hub = json.loads(run([KENNEL, "ps", "--json"], env=h.env).stdout)[0]
    return next(s["status"] for s in hub["servers"] if s["name"] == name)


@test("S2-21 S2-28 S3-10 S3-11 a call connects a server, and a restart disconnects it until the next one; status has the four words", 90)
def connects():
    h = Home("status")
    hub = h.hub(server("one", slow=2), server("bad", init_error={"code": -32000, "message": "no"}))
    equal(hub.processes(), [])
    call = hub.post_call("one.echo", {"text": "x"})
    check(wait_for(lambda: status(h, "one") == "connecting", 10) is not None, "connecting")
    equal(status(h, "bad"), "disconnected")
    equal(hub.wait(call)["result"]["content"][0]["text"], "one: x")
    equal((status(h, "one"), len(hub.processes())), ("connected", 1))
    h.kennel("server", "restart", "one")
    check(wait_for(lambda: status(h, "one") == "disconnected" and not hub.processes(), 10) is not None, "disconnected")
    equal(hub.said("one.echo", text="y"), "one: y")
    equal((status(h, "one"), len(hub.processes())), ("connected", 1))
    refusal(hub.do("bad.echo"))
    equal(status(h, "bad"), "error")


@test("S3-05 (local processes) a row of transport stdio is started; one of transport http only if its policy is remote", 60)
def transports():
    h = Home("http")
    h.kennel("server", "add", "far", "--url", "https://mcp.example/mcp")
    h.kennel("server", "add", "near", "--", *h.argv("near"))
    hub = h.hub(h.policy("far"), h.policy("near", "exec allow " + words(*h.argv("near"))))
    equal(hub.said("near.echo", text="x"), "near: x")
    got = hub.query("far", "echo")
    equal((got["state"], got["detail"]), ("denied", "denied: \"https://mcp.example/mcp\" is not the URL of the policy's `remote`"))
    equal(hub.structured("tool_describe", name="far")["reason"], "argv-not-granted")


@test("`exec ask`: a row's program waits for a person, and starts once it is approved", 90)
def asks():
    h = Home("asks")
    h.kennel("server", "add", "one", "--", *h.argv("one"))
    hub = h.hub(h.policy("one", "exec ask " + words(*h.argv("one")), "timeout start 60s"))
    call = hub.post_call("one.echo", {"text": "y"})
    check(wait_for(lambda: h.kennel("approve", "list", "--json"), 30) is not None, "no question")
    asked = json.loads(h.kennel("approve", "list", "--json").splitlines()[0])
    equal((asked["kind"], h.left()), ("program", []), asked)
    h.kennel("approve", "allow", asked["id"])
    equal(hub.wait(call, 60)["result"]["content"][0]["text"], "one: y")
    equal(h.left(), ["one"])


COVER = """
mkdir -p $T/u && mount --make-rprivate / && mount -t tmpfs t $T/u && mkdir $T/u/u $T/u/w || exit 77
mount -t overlay o -o lowerdir=/etc,upperdir=$T/u/u,workdir=$T/u/w /etc || exit 77
mkdir -p -m 755 /etc/kennel && cp $FILE /etc/kennel/mcp-servers.json && chmod 644 /etc/kennel/mcp-servers.json || exit 1
exec "$@"
"""


@test("S2-06 the administrator's mcp-servers.json defines a server in place of its policy's `run`, as far as the policy grants it", 120)
def global_file():
    if os.getuid() != 0:
        skip("only root can cover /etc")
    h = Home("etc")
    for granted in (True, False):
        path = h.home + "/file"
        write(path, file_of(mine=h.argv("mine" if granted else "other")))
        policy = policies(h.policy("mine", "exec allow " + words(*h.argv("mine"))))
        hub = Hub(command=["unshare", "-m", "sh", "-c", COVER, "sh", KENNEL, "serve", "--policy", policy],
                  env=dict(h.env, T=h.home, FILE=path))
        got = hub.query("mine", "echo", arguments={"text": "y"})
        equal(got["state"], "ok" if granted else "denied", got)
        hub.close()
        equal(h.left(), ["mine"])


@test("another mcp-servers.json does not replace a policy's `run`, and a server that it alone defines is denied", 60)
def own_file():
    h = Home("file")
    write(h.home + "/mcp-servers.json", file_of(mine=h.argv("mine"), other=h.argv("other")))
    hub = h.hub(h.policy("mine", "exec allow " + words(*h.argv("mine"))))
    equal(hub.said("mine.echo", text="y"), "mine: y")
    equal(hub.query("other", "echo")["state"], "denied")
    equal(h.left(), [])
    hub.close()
    write(h.home + "/mcp-servers.json", "{")
    hub = h.hub(h.policy("mine"))
    equal(hub.said("mine.echo", text="y"), "mine: y")
    within("mcp-servers.json:1:", hub.stderr())


@test("S4-21 an agent registers a server: it is not enabled until a person enables it, and is denied without a policy even then", 90)
def agents():
    h = Home("agent")
    line = h.argv("mine")
    hub = h.hub(h.policy("one"))
    added = hub.do("tool_invoke", {"name": "mcp_register", "arguments": {"name": "mine", "command": line[0], "args": line[1:]}})
    check(not added["result"].get("isError"), added)
    for enabled in (False, True):
        if enabled:
            h.kennel("server", "enable", "mine")
        hub.close()
        hub = h.hub(h.policy("one"))
        got = hub.query("mine", "echo")
        equal((got["state"], got["detail"]), ("denied", 'denied: exec of "%s" is not within the granted authority' % PYTHON) if enabled
              else ("denied", "mine is registered, not enabled: a person runs kennel server enable mine"))
    # it is still the agent's to change
    added = hub.do("tool_invoke", {"name": "mcp_register", "arguments": {"name": "mine", "command": line[0]}})
    check(not added["result"].get("isError"), added)
    equal(h.left(), [])


def shown(h, name):
    return json.loads(h.kennel("server", "show", name, "--json"))


TOOL = {"name": "echo", "description": "Says it", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": {"title": "Echo", "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}}


@test("S2-20 S2-25 S3-14 S3-15 S3-28 C14 a live list is stored: server show has its tools with all annotations, also once kennel serve has ended", 90)
def discovered():
    h = Home("seen")
    h.kennel("server", "add", "one", "--", *h.argv("one"))
    h.config("one", tools=[TOOL], resources=[{"uri": "r://1", "name": "r"}], prompts=[{"name": "p"}])
    before = shown(h, "one")
    equal((before["discovery_status"], before["tools"], before["tool_list"]), ("pending", 0, []))
    hub = h.hub(h.policy("one", "exec allow " + words(*h.argv("one", keep=True))))
    equal(hub.said("one.echo", text="x"), "one: x")
    check(wait_for(lambda: shown(h, "one")["discovery_status"] == "connected", 20) is not None, "while it runs")
    hub.close()
    after = shown(h, "one")
    equal((after["discovery_status"], after["tools"], after["protocol"]), ("connected", 1, "2025-11-25"), after)
    tool = after["tool_list"][0]
    equal({k: tool[k] for k in ("serverName", "name", "description", "inputSchema", "annotations", "tool_key")},
          dict({k: TOOL[k] for k in ("name", "description", "inputSchema", "annotations")}, serverName="one", tool_key="one.echo"))
    check(after["updated_gen"] > before["updated_gen"], after)
    db = sqlite3.connect(h.kept())
    equal(db.execute("SELECT server, uri, name FROM resources").fetchall(), [("one", "r://1", "r")])
    equal(db.execute("SELECT server, name FROM prompts").fetchall(), [("one", "p")])
    db.close()
    # the next discovery replaces the list as a whole
    h.config("one", tools=[dict(TOOL, name="seen"), dict(TOOL, name="pid", description="")])
    hub = h.hub(h.policy("one", "exec allow " + words(*h.argv("one", keep=True))))
    hub.said("one.pid")
    hub.close()
    equal([t["name"] for t in shown(h, "one")["tool_list"]], ["pid", "seen"])
    # one that gets no answer keeps what was seen before
    h.config("one", exit=3)
    hub = h.hub(h.policy("one", "exec allow " + words(*h.argv("one", keep=True))))
    refusal(hub.do("one.pid"))
    hub.close()
    last = shown(h, "one")
    equal((last["discovery_status"], last["tools"]), ("unreachable", 2), last)
    h.config("one", init_error={"code": -32000, "message": "no"})
    hub = h.hub(h.policy("one", "exec allow " + words(*h.argv("one", keep=True))))
    refusal(hub.do("one.pid"))
    hub.close()
    equal(shown(h, "one")["discovery_status"], "error")


def tool_rows(h):
    with sqlite3.connect(h.kept()) as db:
        return [n for n, in db.execute("SELECT name FROM tools WHERE server = 'one' ORDER BY name")]


@test("while another process uses the registry, calls go on; what was listed is stored when it is free, also at the end", 90)
def busy():
    for at_end in (False, True):
        h = Home("busy-%d" % at_end)
        h.kennel("server", "add", "other", "--", "/bin/true")
        db = sqlite3.connect(h.kept(), isolation_level=None)
        hub = h.hub(server("one", tools=[dict(TOOL, name=n) for n in ("echo", "seen")]))
        db.execute("BEGIN IMMEDIATE")
        end = time.monotonic() + 7  # longer than a writer that waits for the lock
        while time.monotonic() < end:
            equal(hub.said("one.echo", seconds=3, text="x"), "one: x")
            time.sleep(0.05)
        if at_end:
            hub.p.stdin.close()
            time.sleep(0.1)
        db.execute("ROLLBACK")
        check(wait_for(lambda: tool_rows(h) == ["echo", "seen"], 30) is not None, (at_end, tool_rows(h)))
        absent("unable to store", hub.stderr() if at_end else "")
        db.close()


@test("a server that changes its lists again and again is stored at most once in five seconds, and its last list is stored")
def often():
    h = Home("often")
    h.kennel("server", "add", "other", "--", "/bin/true")
    tools = [dict(TOOL, name=name) for name in ("echo", "set")]
    hub = h.hub(server("one", tools=tools))
    hub.said("one.echo", text="x")
    check(wait_for(lambda: tool_rows(h), 10) is not None, "stored", hub.stderr())

    def generation():
        with sqlite3.connect(h.kept()) as db:
            return db.execute("SELECT value FROM generation").fetchone()[0]
    first = generation()
    for n in range(10):
        equal(hub.said("one.set", list="tools", value=tools + [dict(TOOL, name="t%d" % n)]), "set")
        time.sleep(0.25)
    check(generation() - first <= 2, "%d writes" % (generation() - first))
    check(wait_for(lambda: "t9" in tool_rows(h), 15) is not None, tool_rows(h))


@test("a list that was cut short by the end of its server is not stored")
def cut_short():
    h = Home("cut-short")
    tools = [dict(TOOL, name=n) for n in ("echo", "hold", "set")]
    hub = h.hub(server("one", tools=tools, page=1))
    held = hub.post_call("one.hold")  # while a call is under way nothing is stored
    hub.do("one.set", {"list": "exit_page", "value": True})
    equal(hub.wait(held)["error"]["code"], -32000)
    hub.close()
    equal(tool_rows(h), [])


@test("drift that a session saw is shown by server show once it has ended; a tool as reviewed is the control", 90)
def drift_is_kept():
    h = Home("drift")
    os.mkdir(h.home + "/policies", 0o700)
    line = h.argv("one")
    path = h.home + "/policies/one.kennel"
    body = "server one {\n    run %s\n    read %s\n%s%s    write %s\n%%s}\n" % (
        words(*line), words(os.path.dirname(SERVER)), ALL, USER, words(h.traces))
    h.config("one", tools=[TOOL, dict(TOOL, name="pid")])
    write(path, body % "")
    h.kennel("server", "pin", "one", "-o", h.home + "/one.pins")
    write(path, body % ("    pins %s\n" % words(h.home + "/one.pins")))
    h.config("one", tools=[dict(TOOL, description="Other"), dict(TOOL, name="pid")])
    hub = Hub(command=[KENNEL, "serve"], env=h.env)
    hub.said("one.pid")
    hub.close()
    got = shown(h, "one")
    equal(got["discovery_status"], "error", got)
    equal([(t["name"], t["pinned"], t["drift"]) for t in got["tool_list"]], [("echo", True, True), ("pid", True, False)], got)


@test("the registry recalls the era of a server: the next session needs no process to find it, and finds another one")
def recalled():
    h = Home("recalled")

    def starts(wanted, modern, agent=False):
        trace = "%s/%d" % (h.traces, len(os.listdir(h.traces)))
        s = h.hub(server("one", ALL, USER + "    write %s\n" % words(h.traces), trace=trace, modern=modern), modern=agent)
        equal(s.said("one.echo", text="x"), "one: x", (wanted, modern))
        s.close()  # at its end it has stored what it found
        with sqlite3.connect(h.kept()) as db:
            equal(db.execute("SELECT protocol FROM servers WHERE name = 'one'").fetchall(), [(MODERN if modern else "2025-11-25",)])
        with open(trace) as f:
            equal(len(f.readlines()), wanted, (wanted, modern))
    starts(2, True)  # it refuses initialize
    starts(1, True)
    starts(2, False)  # it no longer speaks 2026-07-28
    starts(1, False)
    starts(2, True, agent=True)
    starts(2, False, agent=True)


if __name__ == "__main__":
    main()
