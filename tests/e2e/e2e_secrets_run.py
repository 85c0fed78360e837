"""kennel run NAME --secrets-tools: one server under its own names, and kennel's tools for secrets after its own."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403

be_subreaper()
TOOLS = OWN_LISTED[:8]
PLAIN = "required %s\nsecret %s {\n    retrieval-url \"https://example.invalid/tokens\"\n}\n" % (PATH, PATH)
PASSPHRASE = "a passphrase of some length"


class Run(Session):
    """One server, with kennel's tools."""

    def __init__(self, one, manifest=PLAIN, **how):
        homes[0] += 1
        self.dir = "%s/run-%d" % (TMP, homes[0])
        self.env = {"KENNEL_HOME": self.dir + "/home"}
        os.makedirs(self.dir + "/.kennel")
        os.makedirs(self.dir + "/home", mode=0o700)
        self.write(manifest)
        self.path = policies(one)
        self.how = how
        self.h = None

    def begin(self, *more, **how):
        self.h = Hub(env=self.env, command=[KENNEL, "run", "one", "--secrets-tools", "--policy", self.path, "--project",
                                            self.dir] + list(more), **dict(self.how, **how))
        return self.h


def names(h):
    got, cursor = [], None
    while True:
        r = h.ask("tools/list", {"cursor": cursor} if cursor else {})["result"]
        got.append([t["name"] for t in r["tools"]])
        cursor = r.get("nextCursor")
        if cursor is None:
            return got


@test("the eight tools are appended to the last page of the server's, which keep their names", seconds=90)
def pages():
    place = "%s/run-many" % TMP
    os.mkdir(place, 0o755)
    config = place + "/config.json"
    with open(config, "w") as f:
        json.dump({"name": "one", "many": {"tools": 230}}, f)
    os.chmod(config, 0o644)
    one = "server one {\n    run %s\n    read %s %s\n%s}\n" % (
        words(PYTHON, SERVER, config), words(os.path.dirname(SERVER)), words(place), ALL)
    h = Run(one).begin()
    got = names(h)
    check(len(got) > 1, got)
    equal(got[-1][-8:], TOOLS)
    equal([n for page in got for n in page][:-8], ["t%03d" % k for k in range(230)])
    for page in got[:-1]:
        equal([n for n in page if n in TOOLS], [])
    for t in h.ask("tools/list", {"cursor": None})["result"]["tools"]:
        if t["name"] == "t000":
            equal(list(t), ["name", "uri", "description", "inputSchema"], "as the server wrote it")


@test("tools, prompts and resources of the server are reached by their own names; refusals are those of kennel run", seconds=90)
def plain():
    one = server("one", grants="    tool allow echo params\n    tool deny raw { because \"it is raw\" }\n    prompt allow *\n"
                 "    resource allow *\n", prompts=[{"name": "greet"}], resources=[{"uri": "r://a", "name": "a"}])
    s = Run(one.replace("{ because \"it is raw\" }", "because \"it is raw\""))
    h = s.begin()
    equal(h.said("echo", text="x"), "one: x")
    equal([p["name"] for p in h.ask("prompts/list")["result"]["prompts"]], ["greet"])
    within("greet", json.dumps(h.ask("prompts/get", {"name": "greet"})["result"]))
    within("one has r://a", json.dumps(h.ask("resources/read", {"uri": "r://a"})["result"]))
    equal(names(h)[0], ["echo", "params"] + TOOLS)
    r = h.do("raw", {})["result"]
    within("it is raw", r["content"][0]["text"])
    equal(r["isError"], True)
    equal(h.do("seen", {})["result"]["content"][0]["text"], "unknown tool: seen")
    h.close()
    # the records of allowed calls come up to 50 ms later
    check(wait_for(lambda: any(e["kind"] == "call" and e["fields"].get("name") == ["echo"] for e in audit(env=s.env)), 20)
          is not None, audit(env=s.env))


@test("S1-06 S1-107 S1-108 S1-114 nothing of kennel's but the eight tools exists beside the server, in any spelling", seconds=90)
def absent_tools():
    h = Run(server("one")).begin()
    verbs = ("get", "put", "set", "export", "dump", "validate", "rotate", "ui", "catalog", "grant", "unlock", "approve",
             "reopen")
    spelled = ["%s%s%s" % (s, sep, v) for s in ("secrets", "secret") for v in verbs for sep in ("_", ".", "-")]
    spelled += ["%s%s" % (s, v.capitalize()) for s in ("secrets", "secret") for v in verbs]
    spelled += ["tool_search", "tool_describe", "tool_invoke", "mcp_query", "mcp_register", "kennel.secrets_list",
                "secrets__list", "Secrets_list", "one__secrets_list"]
    for name in spelled:
        for arguments in ({"path": PATH}, {}):
            equal(h.do(name, arguments)["result"]["content"][0]["text"], "unknown tool: " + name)
    equal(h.said("echo", text="x"), "one: x", "control")


@test("a tool of the server with the name of one of the eight is left out and recorded, by every spelling", seconds=90)
def taken():
    own = [{"name": n, "description": "mine", "inputSchema": {"type": "object"}} for n in ("echo", "secrets_list", "tool_search")]
    s = Run(server("one", tools=own))
    h = s.begin()
    equal(names(h), [["echo", "tool_search"] + TOOLS])
    listed = h.do("secrets_list", {})["result"]["structuredContent"]["secrets"]
    equal([x["path"] for x in listed], [PATH], "kennel's own answers")
    equal(h.do("one.secrets_list", {})["result"]["content"][0]["text"], "unknown tool: one.secrets_list")
    h.close()
    within("its tool secrets_list has the name", h.stderr())
    mine = [e["fields"] for e in audit(env=s.env) if e["kind"] == "refused" and e["fields"]["method"] == "tools/list"]
    equal([(e["name"], e["reason"], e["direction"]) for e in mine],
          [(["secrets_list"], "kennel has a tool with this name", "server")])


@test("S1-47 S1-98 S1-104 S1-120 the server cannot start for want of a value: kennel answers initialize and lists its tools; once a "
      "person has typed it the next call starts the server, and the lists have changed", seconds=120)
def provided():
    for modern in (False, True):
        s = Run(server("one", more="    secret GH from vault %s\n" % PATH))
        s.secret("init", "--stdin", stdin=PASSPHRASE)
        s.secret("grant", PATH, "--server", "one", "--policy", s.path)
        h = s.begin(modern=modern)
        if not modern:
            equal(h.greeting["result"]["_meta"], {"kennel/secrets-protocol": "1.0"})
            equal(h.greeting["result"]["capabilities"]["tools"], {"listChanged": True})
        equal(names(h), [TOOLS])
        r = h.do("echo", {"text": "x"})
        equal(refused(r, "missing-secret", PATH), "missing secret: GH (%s): it is not in the vault" % PATH)
        equal(r["result"]["structuredContent"]["remediation"]["action"], "secrets_request_provision")
        closed = h.structured("secrets_request_provision", path=PATH)["request_id"]
        equal(s.question()["server"], "one")
        s.answer("deny")
        s.settled(closed, "cancelled")
        rid = h.structured("secrets_request_provision", path=PATH)["request_id"]
        t = Typist([KENNEL, "approve", "allow", s.question()["id"]], s.env)
        t.type("The value (it is not shown): ", VALUE)
        equal(t.done(), 0, t.out)
        s.settled(rid, "ok")
        equal(h.said("echo", seconds=LONG, text="x"), "one: x")
        if not modern:
            h.until("notifications/tools/list_changed", LONG)
        check("echo" in names(h)[0], "listed now")
        h.close()
        mine = [e["fields"] for e in audit(env=s.env) if e["kind"] == "approve"]
        equal([e["server"] for e in mine], ["kennel run"] * 4)
        s.done()


@test("S1-15 S1-82 a use is approved beside one server, too", seconds=90)
def use():
    gated = "secret %s {\n    approve session\n}\n" % PATH
    s = Run(server("one", more="    secret GH from vault %s\n" % PATH), gated)
    s.secret("init", "--stdin", stdin=PASSPHRASE)
    s.secret("set", PATH, "--stdin", stdin=VALUE)
    s.secret("grant", PATH, "--server", "one", "--policy", s.path)
    h = s.begin()
    rid = s.ask()
    s.answer("allow", "--session")
    s.settled(rid, "session")
    equal(h.said("echo", seconds=LONG, text="x"), "one: x")
    equal(s.questions(), [])
    equal(s.status(s.ask()), "session")
    s.done()


@test("options: --project needs --secrets-tools; facet deny secrets leaves the server alone; a policy error is said")
def options():
    s = Run(server("one"))
    r = run([KENNEL, "run", "one", "--project", s.dir], env=s.env)
    equal(r.returncode, 64)
    within(b"--secrets-tools", r.stderr)
    with open(s.dir + "/home/settings.kennel", "w") as f:
        f.write("facet deny secrets\n")
    os.chmod(s.dir + "/home/settings.kennel", 0o600)
    h = s.begin()
    equal([n for n in names(h)[0] if n in TOOLS], [])
    equal(h.said("echo", text="x"), "one: x")
    equal(h.do("secrets_list", {})["result"]["content"][0]["text"], "unknown tool: secrets_list")
    check("_meta" not in h.greeting["result"], h.greeting)
    broken = Run("server one {\n    nonsense\n}\n")
    h = broken.begin(greet=False)
    within(":2:5: error: unknown keyword", json.dumps(h.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                                           "clientInfo": {"name": "kit", "version": "1"}})))


if __name__ == "__main__":
    main()
