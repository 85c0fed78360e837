"""A running kennel serve sees each change of a row of the registry; every test is one session, with a server that nothing changes."""
import hashlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kit import *  # noqa: E402,F403
from serve_kit import *  # noqa: E402,F403
from console_kit import *  # noqa: E402,F403


USER = "    user nobody\n" if os.getuid() == 0 else ""
WAITS = "%s is registered, not enabled: a person runs kennel server enable %s"


class Home:
    """A user's policies, registry and running session; `other` is the control: nothing of it changes."""

    def __init__(self, name, *names, more=""):
        self.home = "%s/changes-%s" % (TMP, name)
        os.makedirs(self.home + "/policies", mode=0o700)
        self.env = {"KENNEL_HOME": self.home}
        for n in ("other",) + names:
            self.policy(n, more=more if n != "other" else "")

    def policy(self, name, grants=ALL, more=""):
        path = "%s/policies/%s.kennel" % (self.home, name)
        with open(path, "w") as f:
            f.write("server %s {\n    run %s\n    read %s %s\n%s%s%s}\n" % (
                name, words(*self.argv(name)), words(os.path.dirname(SERVER)), words(self.argv(name)[2]), grants, USER, more))
        os.chmod(path, 0o600)
        return path

    def argv(self, name):
        """Its configuration is in a file: a row has no argument that looks like a secret."""
        path = "%s-%s.json" % (self.home, name)
        with open(path, "w") as f:
            f.write(json.dumps({"name": name}))
        os.chmod(path, 0o644)
        return [PYTHON, SERVER, path]

    def kennel(self, *words, status=0, stdin=b"", cwd=None):
        r = run([KENNEL] + list(words), env=self.env, stdin=stdin, cwd=cwd)
        equal(r.returncode, status, "%s: %s" % (words, r.stdout + r.stderr))
        return r.stdout.decode()

    def serve(self, *args, cwd=None):
        self.hub = Hub(command=["sh", "-c", "cd %s && exec \"$@\"" % (cwd or "."), "sh", KENNEL, "serve", *args], env=self.env)
        self.first = self.pid("other")
        return self.hub

    def pid(self, name, hub=None):
        """The host's number of its process, which a call has started if there was none."""
        hub = hub or self.hub
        equal(hub.said(name + ".echo", text="x"), name + ": x")
        found = [p for p in hub.processes() if self.argv(name)[2].encode() in reads("/proc/%d/cmdline" % p)]
        equal(len(found), 1, name)
        return found[0]

    def unchanged(self):
        equal(self.pid("other"), self.first, "the control has the process that it had")


def state(h, name, tool="echo"):
    got = h.query(name, tool, arguments={"text": "x"})
    return got["state"], got.get("detail")


GONE = "no registered MCP server named \"%s\""


@test("S2-60 S2-26 in one session: a person disables a server that runs, and enables it again", 90)
def toggled():
    h = Home("toggle", "mk")
    hub = h.serve()
    first = h.pid("mk")
    equal(len(hub.processes()), 2)
    within("disabled mk\nits process under process %d is ended\n" % hub.p.pid, h.kennel("server", "disable", "mk"))
    equal(refusal(hub.do("mk.pid")), "unknown tool: mk.pid")
    equal(refusal(hub.do("tool_invoke", {"name": "mk.pid", "arguments": {}})), "unknown tool: mk.pid")
    equal(state(hub, "mk"), ("error", GONE % "mk"))
    absent("mk.", json.dumps(hub.structured("tool_search", query="", limit=100)["tools"]))
    check(wait_for(lambda: len(hub.processes()) == 1, 10) is not None, "its process is ended")
    h.unchanged()
    equal(h.kennel("server", "enable", "mk"), "enabled mk\n")
    check(h.pid("mk") != first, "a new process")
    equal(state(hub, "mk"), ("ok", None))
    h.unchanged()
    # it was never started: the same
    h.kennel("server", "disable", "mk")
    equal(refusal(hub.do("mk.pid")), "unknown tool: mk.pid")


@test("S2-60 server disable --later says that a session keeps the server, and it does", 60)
def later():
    h = Home("later", "mk")
    hub = h.serve()
    first = h.pid("mk")
    said = h.kennel("server", "disable", "mk", "--later")
    within("it still runs in process %d, until its agent ends it\n" % hub.p.pid, said)
    within("until it ends or `kennel server restart mk`\n", said)
    equal(h.pid("mk"), first)
    h.kennel("server", "restart", "mk")
    equal(refusal(hub.do("mk.pid")), "unknown tool: mk.pid", "as it says")
    equal(h.kennel("server", "enable", "mk", "--later", status=64), "")


@test("S3-30 in one session: a person adds a server, changes its argv, and removes it; the same row again ends nothing", 90)
def added():
    h = Home("add")
    hub = h.serve()
    equal(state(hub, "new"), ("error", GONE % "new"))
    equal(refusal(hub.do("new.echo")), "unknown tool: new.echo")
    h.policy("new")
    h.kennel("server", "add", "new", "--", *h.argv("new"))
    equal(hub.said("new.echo", text="x"), "new: x")
    first = h.pid("new")
    h.kennel("server", "add", "new", "--note", "a text", "--", *h.argv("new"))
    equal(h.pid("new"), first, "what it starts is the same")
    h.kennel("server", "add", "new", "--", *(h.argv("new") + ["more"]))
    equal(state(hub, "new")[0], "denied", "its policy does not grant this argv")
    h.kennel("server", "add", "new", "--", *h.argv("new"))
    check(h.pid("new") != first, "again")
    os.unlink(h.home + "/policies/new.kennel")
    h.kennel("server", "remove", "new")
    check(wait_for(lambda: len(hub.processes()) == 1, 10) is not None, hub.processes())
    check("result" not in hub.do("new.echo") or hub.do("new.echo")["result"]["isError"], "it is gone")
    h.unchanged()


@test("S3-30 in one session: a person imports servers; one that is not enabled is not started, and one that has no policy is denied", 90)
def imported():
    h = Home("import", "yes", "no")
    rows = [{"name": n, "transport": "stdio", "command": PYTHON, "args": h.argv(n)[1:], "auth_type": "none", "enabled": n != "no",
             "policy_server": n, "created_gen": 1} for n in ("bare", "no", "yes")]
    path = h.home + "/dump"
    with open(path, "w") as f:
        f.write(json.dumps({"kennel_registry": 1, "generation": 5, "mcp_servers": rows}))
    hub = h.serve()
    pids = h.pid("yes"), h.pid("no")
    h.kennel("server", "import", path)
    check(h.pid("yes") != pids[0], "it is defined by the row now")
    equal(refusal(hub.do("no.pid")), "unknown tool: no.pid")
    equal(state(hub, "bare"), ("denied", 'denied: exec of "%s" is not within the granted authority' % PYTHON))
    pid = h.pid("yes")
    h.kennel("server", "import", path)
    equal(h.pid("yes"), pid, "the same rows again")
    h.unchanged()


def register(hub, **arguments):
    return hub.do("tool_invoke", {"name": "mcp_register", "arguments": arguments})["result"]


@test("S4-20 S3-39 in one session: an agent registers a server, is told that a person enables it, and a person does", 90)
def registered():
    h = Home("agent", "mine")
    os.unlink(h.home + "/policies/mine.kennel")
    hub = h.serve()
    line = h.argv("mine")
    equal(state(hub, "mine"), ("error", GONE % "mine"), "not registered yet")
    check(not register(hub, name="mine", command=line[0], args=line[1:]).get("isError"))
    text = WAITS % ("mine", "mine")
    equal(state(hub, "mine"), ("denied", text))
    for name in ("mine.echo", "mine__echo", "mcp_mine_echo"):
        equal(refusal(hub.do("tool_invoke", {"name": name, "arguments": {}})), text, name)
    equal(refusal(hub.do("tool_describe", {"name": "mine"})), text)
    equal(hub.do("mine.echo")["result"]["_meta"]["kennel/refusal"]["outcome"], "not enabled")
    equal(refusal(hub.do("mined.echo")), "unknown tool: mined.echo", "another name")
    h.kennel("server", "enable", "mine")
    equal(state(hub, "mine"), ("denied", 'denied: exec of "%s" is not within the granted authority' % PYTHON))
    h.policy("mine")
    h.kennel("server", "restart", "mine")
    equal(hub.said("mine.echo", text="x"), "mine: x")
    pid = h.pid("mine")
    # its policy defines it now: the name is the agent's no more
    within("is defined by its policy", register(hub, name="mine", command=line[0])["content"][0]["text"])
    equal(h.pid("mine"), pid)
    h.unchanged()


@test("S4-21 an agent that changes or removes its row: every session of the user sees it, and no agent enables it", 90)
def changed_by_agent():
    h = Home("loses")
    one = h.serve()
    two = Hub(command=[KENNEL, "serve"], env=h.env)
    text = WAITS % ("mine", "mine")
    for act in ({"name": "mine", "command": "/bin/false"}, {"action": "remove", "name": "mine"}):
        check(not register(one, name="mine", command="/bin/true").get("isError"))
        for hub in (one, two):
            equal(state(hub, "mine"), ("denied", text))
        h.kennel("server", "enable", "mine")
        for hub in (one, two):
            equal(state(hub, "mine"), ("denied", 'denied: exec of "/bin/true" is not within the granted authority'))
        # the same again leaves it enabled; another one is what no person has seen
        check(not register(one, name="mine", command="/bin/true", note="n").get("isError"))
        equal(state(one, "mine"), ("denied", 'denied: exec of "/bin/true" is not within the granted authority'))
        check(not register(one, **act).get("isError"))
        if "command" in act:
            equal((state(one, "mine"), state(two, "mine")), (("denied", text),) * 2)
        else:
            equal(state(one, "mine"), ("error", GONE % "mine"))
        for word in ("enable", "disable", "trust", "import"):
            within("unknown action", register(one, action=word, name="mine")["content"][0]["text"])
    h.unchanged()


@test("a registration is answered when its record is on disk, not when the hub's next timer comes", 60)
def registers_soon():
    h = Home("soon")
    hub = h.serve()
    register(hub, name="n", command="/bin/true")  # the recorder is there now
    t = time.monotonic()
    for _ in range(3):
        check(not register(hub, name="n", command="/bin/true").get("isError"))
    check(time.monotonic() - t < 4, "%.1f s" % (time.monotonic() - t))


@test("an agent that registers in a loop ends no process of a session, and a server in its pause does not start sooner", 120)
def loop():
    h = Home("loop")
    hub = h.serve()
    two = Hub(command=[KENNEL, "serve"], env=h.env)
    pid = h.pid("other", two)
    for i in range(30):
        register(hub, name="n%d" % (i % 5), command="/bin/true")
        register(hub, action="remove", name="n%d" % (i % 5))
    h.unchanged()
    equal(h.pid("other", two), pid)
    equal([s["name"] for s in json.loads(h.kennel("ps", "--json"))[0]["servers"]], ["other"])
    within("is defined by its policy", register(hub, name="other", command="/bin/true")["content"][0]["text"])


@test("a server that a person's pattern offers, and a person disabled, is not unknown; a name beside the pattern is", 60)
def offered():
    h = Home("offered", "mk", "no")
    hub = h.serve("--expose", "mk.e*")
    for name in ("mk", "no"):
        h.kennel("server", "disable", name)
    equal(refusal(hub.do("mk.echo")), WAITS % ("mk", "mk"))
    equal(refusal(hub.do("mk__echo")), WAITS % ("mk", "mk"))
    equal(state(hub, "mk"), ("denied", WAITS % ("mk", "mk")))
    equal(refusal(hub.do("mk.pid")), "unknown tool: mk.pid", "not of the pattern")
    equal(refusal(hub.do("no.echo")), "unknown tool: no.echo")
    h.kennel("server", "enable", "mk")
    equal(hub.said("mk.echo", text="x"), "mk: x")
    h.unchanged()


@test("S2-40 in one session: a project's file is trusted after its question was closed; before, and after another change, it is not read", 90)
def trusted():
    h = Home("trust", "proj")
    d = h.home + "/project"
    os.makedirs(d)
    path = d + "/mcp-servers.json"

    def put(note):
        with open(path, "w") as f:
            f.write(json.dumps({"mcpServers": {"proj2": {"command": PYTHON, "args": h.argv("proj")[1:], "x": note}}}))

    def trust():
        digest = hashlib.sha256(open(path, "rb").read()).hexdigest()
        return h.kennel("server", "trust", path, "--sha256", digest)
    put("a")
    hub = h.serve(cwd=d)
    check(wait_for(lambda: h.kennel("approve", "list", "--json"), 20) is not None, "a question")
    h.kennel("approve", "deny", json.loads(h.kennel("approve", "list", "--json").splitlines()[0])["id"])
    equal(state(hub, "proj2"), ("error", GONE % "proj2"))
    trust()
    check(wait_for(lambda: state(hub, "proj2")[0] == "denied", 10) is not None, "it is a server now, and its policy decides")
    h.unchanged()
    # the file changes under the session: these contents were never approved
    put("b")
    h.kennel("server", "restart", "proj2")
    check(wait_for(lambda: state(hub, "proj2") == ("error", GONE % "proj2"), 10) is not None, "it is left out")
    h.unchanged()


@test("S2-60 in one session: the console's toggle, and a server that it adds and removes", 120)
def console():
    h = Home("console", "mk", "new")
    os.unlink(h.home + "/policies/new.kennel")
    hub = h.serve()
    first = h.pid("mk")
    c = Console(env=h.env).login()
    equal(c.json("POST", "mcp/mk", {"enabled": False}), (200, {}))
    equal(refusal(hub.do("mk.echo")), "unknown tool: mk.echo")
    check(wait_for(lambda: len(hub.processes()) == 1, 10) is not None, "its process is ended")
    equal(c.json("POST", "mcp/mk", {"enabled": True}), (200, {}))
    check(h.pid("mk") != first, "a new process")
    h.policy("new")
    line = h.argv("new")
    equal(c.json("POST", "mcp", {"name": "new", "transport": "stdio", "command": line[0], "args": line[1:]})[0], 200)
    equal(hub.said("new.echo", text="x"), "new: x")
    os.unlink(h.home + "/policies/new.kennel")
    equal(c.json("DELETE", "mcp/new")[0], 200)
    check(wait_for(lambda: len(hub.processes()) == 2, 10) is not None, "its process is ended")
    equal(hub.do("new.echo")["result"]["isError"], True)
    h.unchanged()


if __name__ == "__main__":
    main()
