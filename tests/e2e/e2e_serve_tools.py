"""kennel serve: names, tool_search, tool_describe, tool_invoke, mcp_query, refusals, pins."""
import hashlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kit import *  # noqa: E402,F403
from serve_kit import *  # noqa: E402,F403

LONG = 45  # seconds until something that must come is given up

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
READS = {"readOnlyHint": True}
OWN = sorted(OWN_LISTED + ["mcp_register"])


def tool(name, about="", **more):
    return dict({"inputSchema": SCHEMA}, name=name, description=about, **more)


def names(found):
    return [t["name"] for t in found["tools"]]


def pinned(name, grants=ALL, more="", **config):
    """The server of a policy that has its pins, as `server pin` writes them."""
    first = policies(server(name, grants, more, **config))
    pins = first.replace(".kennel", ".pins")
    r = run([KENNEL, "server", "pin", name, "--policy", first, "-o", pins], timeout=60)
    check(r.returncode == 0, r.stderr)
    os.chmod(pins, 0o644)
    return server(name, grants, more + "    pins %s\n" % words(pins), **config), pins


def live(pinned_server, name, **config):
    """The same pins, in front of a server that is otherwise."""
    said = [line for line in run_line(name, **config).splitlines() if line.startswith("    run")][0]
    return "\n".join(said if line.startswith("    run") else line for line in pinned_server.split("\n"))


@test("of a definition that was reviewed in variants the agent gets the one with the most of its own capabilities, before the server runs")
def variants():
    pins = TMP + "/variants.pins"
    rows = [("echo", ""), ("echo", "elicitation,roots"), ("echo", "roots"), ("only", "sampling")]
    with open(pins, "w") as f:
        f.write('{"kennel-pins":1,"server":"one"}\n')
        for name, variant in rows:
            f.write('{"body":{"description":"for [%s]","inputSchema":{"type":"object"},"name":"%s"},"kind":"tool","name":"%s","variant":"%s"}\n'
                    % (variant, name, name, variant))
        for variant in ("", "roots"):
            f.write('{"body":"use [%s]","kind":"instructions","name":"","variant":"%s"}\n' % (variant, variant))
    os.chmod(pins, 0o644)

    def shown(h):
        return {t["name"]: t["summary"] for t in h.structured("tool_search", query="", server="one")["tools"]}
    grants = "    tool allow *\n%s    pins %s\n"
    every = server("one", grants % ("    elicitation allow\n    roots allow\n    sampling allow\n", words(pins)))
    wanted = (({}, {"one.echo": "for []"}), ({"roots": {}}, {"one.echo": "for [roots]"}),
              ({"elicitation": {}}, {"one.echo": "for []"}),
              ({"elicitation": {"form": {}}, "roots": {}}, {"one.echo": "for [elicitation,roots]"}),
              ({"roots": {}, "sampling": {}}, {"one.echo": "for [roots]", "one.only": "for [sampling]"}))
    for caps, tools in wanted:
        h = Hub(every, capabilities=caps)
        equal(shown(h), tools, caps)
        equal(h.structured("tool_describe", name="one")["instructions"], "use [roots]" if "roots" in caps else "use []", caps)
        equal("unknown tool" in json.dumps(h.do("one.only")), "sampling" not in caps, caps)
    h = Hub(every, modern=True)
    for caps, tools in wanted + wanted[:1]:  # each request has its own
        h.capabilities = caps
        equal(shown(h), tools, caps)
        equal(h.processes(), [])
    # what the policy keeps from the server is not seen by it
    h = Hub(server("one", grants % ("    elicitation allow\n", words(pins))), capabilities=wanted[3][0])
    equal(shown(h), {"one.echo": "for []"})


# ---- names ---------------------------------------------------------------------------

@test("S3-24 S3-29 S3-32 S2-48 C15 a tool has three spellings, and one answers to all: store, wire, mcp_")
def spellings():
    h = Hub(server("one"), server("one_two"), server("One-Two"))
    for s in ("one", "one_two", "One-Two"):
        for spelled in (s + ".echo", s + "__echo", "mcp_%s_echo" % s.lower().replace("-", "_")):
            if s != "one" and spelled.startswith("mcp_"):
                continue  # two servers have it: below
            for how in ({"name": spelled, "arguments": {"text": "x"}},
                        {"name": "tool_invoke", "arguments": {"name": spelled, "arguments": {"text": "x"}}}):
                r = h.ask("tools/call", how)
                equal(r["result"]["content"][0]["text"], s + ": x", spelled)
    within("is the name of several tools: ", refusal(h.do("mcp_one_two_echo")))
    for s in ("One-Two.echo", "one_two.echo"):
        within(s, refusal(h.do("mcp_one_two_echo")))
    equal(h.structured("tool_describe", name="mcp_one_echo")["name"], "one.echo")


@test("C15 wire names: plain if they can be, else cut and hashed; a name depends on nothing but itself")
def wire_names():
    odd = ["create.issue", "_x", "caf\u00e9", "x" * 80, "a b", "ok-1"]
    h = Hub(server("one", tools=[tool(n) for n in odd]), args=["--expose", "one.*"])
    h.do("one.nothing")
    found = {t["name"]: t["wire"] for t in h.structured("tool_search", query="", server="one")["tools"]}
    for n in odd:
        wire = found["one." + n]
        check(matches(r"^[A-Za-z0-9_-]{1,64}$", wire), wire)
        if n == "ok-1":
            equal(wire, "one__ok-1")
        else:
            digest = hashlib.sha256(("one." + n).encode()).hexdigest()[:8]
            check(wire.endswith("_" + digest), wire, digest)
        r = h.do(wire)
        within("no such tool: " + n, r["error"]["message"], "reaches the server under its own name")
    listed = [t["name"] for t in h.ask("tools/list")["result"]["tools"]][len(OWN_LISTED):]
    equal(sorted(listed), sorted(found.values()))


# ---- search, describe, invoke -----------------------------------------------------------

@test("S4-12 S3-02 tool_search: keys in order, rank, all words before any, the server's filter, limit and cursor")
def search():
    h = Hub(server("hub", grants="    tool allow *\n", tools=[
        tool("create_issue", "Create an issue. And more.", annotations=READS), tool("listIssues", "All of the tracker."),
        tool("zebra", "Create a beast")]),
        server("two", grants="    tool ask *\n", tools=[tool("create_issue", "x" * 300)]))
    r = h.do("tool_search", {"query": "create issue"})["result"]
    got = r["structuredContent"]
    equal(json.loads(r["content"][0]["text"]), got)
    equal(list(got), ["tools", "starting"])
    equal(got["starting"], [])
    equal(sorted(names(got)), ["hub.create_issue", "two.create_issue"])
    first = [t for t in got["tools"] if t["name"] == "hub.create_issue"][0]
    equal(list(first), ["name", "summary", "facet", "mutates", "wire", "approval", "pinned"])
    equal(first, {"name": "hub.create_issue", "summary": "Create an issue", "facet": "hub", "mutates": True,
                  "wire": "hub__create_issue", "approval": "auto", "pinned": False})
    second = [t for t in got["tools"] if t["name"] == "two.create_issue"][0]
    equal((second["approval"], len(second["summary"])), ("confirm", 160))
    equal(names(h.structured("tool_search", query="issues"))[0], "hub.listIssues", "camelCase")
    equal(names(h.structured("tool_search", query="zeb")), ["hub.zebra"], "the last word is a beginning")
    within("hub.zebra", names(h.structured("tool_search", query="zebra nonesuch")), "any, if not all")
    equal(names(h.structured("tool_search", query="create", server="two")), ["two.create_issue"])
    equal(sorted(names(h.structured("tool_search", query=""))), sorted(OWN + [
        "hub.create_issue", "hub.listIssues", "hub.zebra", "two.create_issue"]))
    page = h.structured("tool_search", query="", limit=4)
    equal((len(page["tools"]), list(page)), (4, ["tools", "starting", "nextCursor"]))
    rest = h.structured("tool_search", query="", cursor=page["nextCursor"], limit=100)
    equal((len(rest["tools"]), "nextCursor" in rest), (len(OWN), False))
    for bad in ({}, {"query": 5}, {"query": "x", "limit": 0}, {"query": "x", "limit": 101}, {"query": "x", "limit": "5"},
                {"query": "x", "cursor": "y"}, {"query": "x", "limit": 1.5}):
        within("invalid arguments for tool_search: ", refusal(h.do("tool_search", bad)), bad)
    for query in ('"', "a OR b", "name:x", "*", "NEAR(", "x" * 3000, " ".join("w%d" % n for n in range(40)), "\u0000", "\u202e"):
        check("result" in h.do("tool_search", {"query": query}), query[:20])
    equal(h.structured("tool_search", query="mcp_query", server="kennel")["tools"][0]["name"], "mcp_query")


@test("tool_describe: a tool, a server, one of kennel's own; keys in order")
def describe():
    h = Hub(server("one", more="    about \"the first\"\n", instructions="Be kind.",
                   tools=[tool("echo", "Says. More.", outputSchema={"type": "object"}, annotations=READS,
                               execution={"taskSupport": "optional"}), tool("bare")]), server("two"))
    r = h.structured("tool_describe", name="one")
    equal(list(r), ["name", "about", "instructions", "tools", "status"])
    equal(r, {"name": "one", "about": "the first", "instructions": "Be kind.", "tools": 2, "status": "connected"})
    r = h.structured("tool_describe", name="one.echo")
    equal(list(r), ["name", "description", "inputSchema", "mutates", "facet", "outputSchema", "annotations", "execution",
                    "wire", "approval", "verdict", "pinned"])
    equal((r["name"], r["description"], r["inputSchema"], r["mutates"], r["wire"], r["approval"], r["verdict"], r["pinned"]),
          ("one.echo", "Says. More.", SCHEMA, True, "one__echo", "auto", "allow", False))
    equal(list(h.structured("tool_describe", name="one__bare")), ["name", "description", "inputSchema", "mutates", "facet",
                                                                  "wire", "approval", "verdict", "pinned"])
    r = h.structured("tool_describe", name="mcp_register")
    equal((r["facet"], r["mutates"], r["verdict"]), ("mcp", True, "allow"))
    for name in OWN:  # a tool that only reads says so in both places, and in the search
        r = h.structured("tool_describe", name=name)
        equal(r["mutates"], not r["annotations"]["readOnlyHint"], name)
        found = h.structured("tool_search", query=name, server="kennel")["tools"]
        equal([t["mutates"] for t in found if t["name"] == name], [r["mutates"]], name)
    for unknown in ("one.none", "three", "three.x", "", "."):
        equal(refusal(h.do("tool_describe", {"name": unknown})), "unknown tool: " + unknown)
    within("invalid arguments for tool_describe: ", refusal(h.do("tool_describe", {})))


@test("tool_invoke: the result passes unwrapped, an error stays an error; it does not invoke the discovery tools")
def invoke():
    h = Hub(server("one"))
    r = h.do("tool_invoke", {"name": "one.echo", "arguments": {"text": "x"}})["result"]
    equal(r, {"content": [{"type": "text", "text": "one: x"}]})
    equal(json.loads(h.do("tool_invoke", {"arguments": {"a": 1.50}, "name": "one.params"})["result"]["content"][0]["text"]),
          {"name": "params", "arguments": {"a": 1.5}})
    equal(json.loads(h.do("tool_invoke", {"name": "one.params"})["result"]["content"][0]["text"]),
          {"name": "params", "arguments": {}})
    raw = '{"jsonrpc":"2.0","id":@ID@,"error":{"code":-32042,"message":"m","data":{"elicitations":[]}}}\n'
    import base64
    e = h.do("tool_invoke", {"name": "one.raw", "arguments": {"bytes": base64.b64encode(raw.encode()).decode()}})
    equal((e["error"]["code"], e["error"]["data"]), (-32042, {"elicitations": []}))
    h.lines = []
    h.do("tool_invoke", {"name": "one.progress", "arguments": {"n": 2}}, meta={"progressToken": "t"})
    equal([m["params"]["progressToken"] for m in h.lines], ["t", "t"])
    for n in ("tool_invoke", "tool_search", "tool_describe"):
        equal(refusal(h.do("tool_invoke", {"name": n, "arguments": {"query": ""}})), "tool_invoke cannot invoke the discovery tools")
    equal(h.do("tool_invoke", {"name": "mcp_query", "arguments": {"server": "one", "tool": "echo"}})["result"]
          ["structuredContent"]["state"], "ok", "control: another of kennel's own")
    for bad in ({}, {"name": "one.echo", "arguments": 5}, {"name": 5}):
        within("invalid arguments for tool_invoke: ", refusal(h.do("tool_invoke", bad)), bad)


# ---- refusals ----------------------------------------------------------------------------

GATED = """
    tool allow echo pid seen
    tool allow raw when args.text == "a"
    tool deny hang because "it never answers" instead "one.echo"
"""


@test("C35 refusals: one text for a tool that is not granted and one that is not there; a deny line says why")
def refusals():
    h = Hub(server("one", grants=GATED), server("two", grants=""))
    equal(h.said("one.echo", text="x"), "one: x", "control")
    for spelled in ("one.exit", "one__exit", "one.nothing", "one__nothing", "three.echo", "echo", "", "two.echo", "two__echo"):
        for r in (h.do(spelled), h.do("tool_invoke", {"name": spelled})):
            equal(refusal(r), "unknown tool: " + spelled)
    # the log tells an auditor which server and tool it was, and what withheld it
    rows = [("one", "exit", "no line grants it"), ("one", "nothing", "no line grants it"), ("two", "echo", "no line grants it"),
            ("kennel serve", "three.echo", "unknown tool")]
    for server_, tool_, reason in rows:
        check(audited('"server": "%s"' % server_, '"name": ["%s"]' % tool_, '"reason": "%s"' % reason), (server_, tool_, reason))
    check(not audited('"server": "two"', '"name": ["nothing"]', seconds=0.1), "a control: it was not called")
    text = refusal(h.do("one.hang"))
    within("it never answers", text)
    within("one.echo", text)
    equal(refusal(h.do("tool_invoke", {"name": "one.hang"})), text)
    r = h.do("one.hang")["result"]["_meta"]["kennel/refusal"]
    equal(r["outcome"], "deny")
    within("raw", refusal(h.do("one.raw", {"text": "b"})))
    found = names(h.structured("tool_search", query=""))
    equal(sorted(found), sorted(OWN + ["one.echo", "one.pid", "one.raw", "one.seen"]))
    equal([m["params"]["name"] for m in h.seen("one", "tools/call")], ["echo", "seen"], "nothing else was sent")


@test("a broken policy makes only its server an error; a --policy that is broken ends the session with its line")
def broken():
    home = "%s/broken-%s" % (TMP, time.time_ns())
    os.makedirs(home + "/policies", mode=0o700)
    for name, text in (("good", server("good")), ("bad", "server bad {\n    run\n    tool alow *\n}\n")):
        with open("%s/policies/%s.kennel" % (home, name), "w") as f:
            f.write(text)
    h = Mcp([KENNEL, "serve"], env={"KENNEL_HOME": home})
    h.initialize()
    r = h.call("tool_invoke", name="good.echo", arguments={"text": "x"})
    equal(r["result"]["content"][0]["text"], "good: x")
    text = refusal(h.call("tool_invoke", name="bad.echo"))
    within("bad", text)
    within(":2:5: error: `run` takes a program", text)  # a long path is cut
    r = h.call("tool_describe", name="bad")["result"]["structuredContent"]
    equal(r["status"], "error")
    r = h.request("tools/call", {"name": "mcp_query", "arguments": {"server": "bad", "tool": "echo"}})["result"]
    equal(r["structuredContent"]["state"], "error")
    for text in ("server bad {\n    run\n    tool alow *\n}\n", "server bad {\n"):
        h = Hub(text, server("good"))
        e = h.do("good.echo")["error"]
        equal(e["code"], -32000)
        within(h.path + ":", e["message"])
        check(wait_for(lambda: h.p.poll() is not None, LONG) is not None, "it goes on")
        equal(h.p.returncode, 65)


def with_settings(text):
    home = "%s/settings-%s" % (TMP, time.time_ns())
    os.makedirs(home, mode=0o700)
    with open(home + "/settings.kennel", "w") as f:
        f.write(text)
    os.chmod(f.name, 0o600)
    return {"KENNEL_HOME": home}, f.name


def told(h, status):
    """The answer to the agent's first request; then the session ends, and says the same on standard error."""
    e = h.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}})["error"]
    equal(e["code"], -32000)
    check(wait_for(lambda: h.p.poll() is not None, LONG) is not None, "it goes on")
    equal(h.p.returncode, status)
    within(e["message"], h.stderr())
    return e["message"]


def doctor_settings(env):
    return {r["name"]: r for r in json.loads(run([KENNEL, "doctor", "--json"], env=env).stdout)}["settings"]


@test("an error in settings.kennel or on the command line: the agent's first request gets it, with file and line; doctor names it")
def broken_settings():
    env, path = with_settings("facet allow search\nfacet allow serach\nahead x\n")
    line = told(Hub(server("one"), greet=False, env=env), 78)
    check(line.startswith(path[:20]), line)  # a long path is cut
    within(":2:13: error: unknown facet `serach`: did you mean `search`?", line)
    equal(told(Hub(greet=False, env=env, command=[KENNEL, "serve"]), 78), line)
    equal(told(Hub(server("one"), greet=False, args=["--facet", "none"]), 64)[:13], "unknown facet")
    r = run([KENNEL, "serve"], stdin=b"", env=env)
    equal(r.returncode, 78, "no request")
    within(":3:7: error: expected a number", r.stderr.decode(), "all of them on standard error")
    row = doctor_settings(env)
    equal((row["holds"], len(row["findings"]), row["findings"][0]), (False, 2, line))
    within(line, run([KENNEL, "doctor"], env=env).stdout.decode())
    env, path = with_settings("facet allow search\n")
    row = doctor_settings(env)
    equal((row["holds"], row["findings"], row["said"]), (True, [], path), "the control")


@test("more exposed tools than `budget`: the agent's first request gets it; tools that cannot be counted are refused too", seconds=90)
def over_budget():
    s, _ = pinned("one", tools=[tool(n) for n in ("a", "b", "c")])
    env, path = with_settings("budget 2\nexpose one.*\n")
    equal(told(Hub(s, greet=False, env=env), 64), "3 tools are exposed, and `budget 2` in %s allows fewer: expose fewer, or raise it" % path)
    h = Hub(s, greet=False, env=env)
    check(wait_for(lambda: "budget" in h.stderr(), LONG) is not None)
    h.p.stdin.close()
    check(wait_for(lambda: h.p.poll() is not None, LONG) is not None)
    equal(h.p.returncode, 64, "no request")
    # without pins a pattern with * has no number
    bare = server("bare", grants="    tool allow a b\n", tools=[tool(n) for n in ("a", "b", "c")])
    why = told(Hub(bare, greet=False, env=env, args=["--expose", "ba*.a*"]), 64)
    equal(why, "server `bare` has no pins, and a pattern with `*` exposes tools of it, so `budget 2` in %s has nothing to count: "
          "pin it with `kennel server pin bare`, or expose its tools by name" % path)
    # names are counted: once each, and only those that the policy does not deny
    named = ["--expose", "bare.a", "--expose", "b*.a", "--expose", "bare.b", "--expose", "bare.c"]
    h = Hub(bare, env=env, args=named)
    h.structured("tool_search", query="")
    equal([t["name"] for t in h.ask("tools/list")["result"]["tools"]][len(OWN_LISTED):], ["bare__a", "bare__b"])
    within("3 tools are exposed", told(Hub(bare.replace("a b\n", "*\n"), greet=False, env=env, args=named), 64))
    # the same check of doctor, with the policies that a start by name finds
    os.makedirs(os.path.dirname(path) + "/policies")
    at = os.path.dirname(path) + "/policies/%s.kennel"
    for name, text, wrong in (("one", s, "3 tools are exposed"), ("bare", bare, "server `bare` has no pins")):
        with open(at % name, "w") as f:
            f.write(text)
        with open(path, "w") as f:
            f.write("budget 2\nexpose %s.*\n" % name)
        within(wrong, told(Hub(greet=False, env=env, command=[KENNEL, "serve"]), 64), "serve")
        row = doctor_settings(env)
        equal(row["holds"], False)
        within(wrong, row["said"])
        within("kennel serve does not start", row["fix"])
    with open(path, "w") as f:
        f.write("budget 3\nexpose one.*\n")
    equal((doctor_settings(env)["holds"], doctor_settings(env)["said"]), (True, path), "the control")
    # of a server that the policy of this session does not have, or without a budget, a pattern does no harm
    Hub(bare, env=env)
    Hub(bare, args=["--expose", "bare.*"])


@test("no policy at all: kennel's own tools work, and say how to make one")
def no_policy():
    home = "%s/empty-%s" % (TMP, time.time_ns())
    os.makedirs(home, mode=0o700)
    h = Mcp([KENNEL, "serve"], env={"KENNEL_HOME": home})
    h.initialize()
    r = h.call("tool_search", query="")["result"]["structuredContent"]
    equal(sorted(names(r)), OWN)
    within("no servers: create a policy with kennel init NAME -- COMMAND", json.dumps(r))
    equal(refusal(h.call("tool_invoke", name="x.y")), "unknown tool: x.y")
    h.close()
    within("no servers", h.stderr())


# ---- mcp_query ------------------------------------------------------------------------------

@test("S4-13 S4-14 S4-18 S4-62 mcp_query: a process of its own, in four states; initialize, initialized, tools/call")
def query():
    h = Hub(server("one", grants=GATED + "    tool allow exit kill late\n", more="    timeout call 4s\n"),
            server("two", more="    secret KEY from env NOT_THERE\n"), server("three", init_error={"code": -5, "message": "no"}))
    got = h.query("one", "echo", arguments={"text": "a"})
    equal(got, {"server": "one", "tool": "echo", "state": "ok", "result": {"content": [{"type": "text", "text": "one: a"}]}})
    h.query("one", "pid")
    check(wait_for(lambda: not h.processes(), 3) is not None, "a process is left")
    got = json.loads(h.query("one", "seen")["result"]["content"][0]["text"])
    equal([m["method"] for m in got], ["initialize", "notifications/initialized", "tools/call"])
    got = h.query("one", "hang")
    equal(got["state"], "denied")
    within("it never answers", got["detail"])
    equal(h.query("one", "exec")["state"], "denied")
    got = h.query("two", "echo")
    equal(got["state"], "skipped")
    check(matches("^credential KEY unavailable: ", got["detail"]), got)
    equal(h.query("one", "late", arguments={"after": 60}, timeout_seconds=1), {
        "server": "one", "tool": "late", "state": "error", "detail": "timed out after 1 s"})
    check(wait_for(lambda: not h.processes(), 3) is not None, "a process is left")
    for t in ("exit", "kill"):
        got = h.query("one", t)
        equal(got["state"], "error")
        within("downstream MCP returned no response to tools/call (handshake may have failed)", got["detail"])
    within("(handshake may have failed)", h.query("three", "echo")["detail"])
    equal(h.query("none", "echo"), {"server": "none", "tool": "echo", "state": "error",
                                    "detail": 'no registered MCP server named "none"'})
    for bad in ({}, {"server": "one"}, {"server": "one", "tool": 5}, {"server": "one", "tool": "echo", "arguments": []},
                {"server": "one", "tool": "echo", "timeout_seconds": 0}, {"server": "one", "tool": "echo", "timeout_seconds": 5}):
        within("invalid arguments for mcp_query: ", refusal(h.do("mcp_query", bad)), bad)
    h2 = Hub(server("one"))
    got = h2.query("one", "nosuch")
    equal((got["state"], got["detail"]), ("error", "downstream MCP error: no such tool: nosuch"))
    rid = h2.post("tools/call", {"name": "mcp_query", "arguments": {"server": "one", "tool": "hang"}})
    check(wait_for(lambda: h2.processes(), 5) is not None, "not started")
    h2.notify("notifications/cancelled", {"requestId": rid})
    check(wait_for(lambda: not h2.processes(), 4) is not None, "a cancelled query leaves its process")


@test("S4-48 the value that a helper printed is in no result of mcp_query, whatever the tool makes of it; the server has it")
def helper_value():
    value = "from-helper-%d-Zq/+x" % os.getpid()
    kept = TMP + "/helper-value"
    with open(kept, "w") as f:
        f.write(value + "\n")
    os.chmod(kept, 0o644)
    h = Hub(server("one", more="    secret KEY from cmd /bin/cat %s { may files }\n" % words(kept)))
    variable = {"name": "KEY"}
    equal(h.query("one", "variable", arguments=variable)["result"]["content"][0]["text"], "*** %d" % len(value),
          "the control: the server has the value")
    equal(h.query("one", "getenv", arguments=variable)["result"]["content"][0]["text"], "***")
    for inside in (value, {"structuredContent": {"token": value, value: 1}, "isError": True},
                   {"content": [{"type": "resource", "resource": {"uri": "x://" + value, "text": value}}]}):
        said = inside if isinstance(inside, str) else json.dumps(inside)
        absent(value, json.dumps(h.do("mcp_query", {"server": "one", "tool": "echo", "arguments": {"text": said}})), said)
    absent(value, h.stderr(), "kennel's standard error")
    os.unlink(kept)


@test("S2-48 C31 mcp_query takes each spelling of a tool, of pinned servers and of others; the result has the server's own name", seconds=90)
def query_spellings():
    tools = [tool("Get.It"), tool("echo"), tool("one.echo"), tool("same-it"), tool("same_it")]
    s, _ = pinned("one", tools=tools)
    wire = "one__Get_It_" + hashlib.sha256(b"one.Get.It").hexdigest()[:8]
    for config in (s, server("one", tools=tools)):
        for said, own in (("Get.It", "Get.It"), ("one.Get.It", "Get.It"), (wire, "Get.It"), ("mcp_one_get_it", "Get.It"),
                          ("one__echo", "echo"), ("one.echo", "one.echo"), ("one.nosuch", "one.nosuch")):
            h = Hub(config, server("two", tools=[tool("other")]))
            got = h.do("mcp_query", {"server": "one", "tool": said})["result"]["structuredContent"]
            equal((got["server"], got["tool"]), ("one", own), said)
            h.close()
        h = Hub(config, server("two", tools=[tool("other")]))
        got = h.do("mcp_query", {"server": "one", "tool": "mcp_one_same_it"})["result"]["structuredContent"]
        equal((got["state"], got["detail"]), ("error", "mcp_one_same_it is the name of several tools: one.same-it, one.same_it"))
        # a spelling of another server's tool is none of this one's
        equal(h.do("mcp_query", {"server": "one", "tool": "two.other"})["result"]["structuredContent"]["tool"], "two.other")


# ---- pins ----------------------------------------------------------------------------------

@test("pinned servers: lists, search, describe and refusals come from the pins, and nothing is started", seconds=90)
def pins():
    tools = [tool("echo", "Says.", annotations=READS), tool("pid"), tool("seen"), tool("hang")]
    s, _ = pinned("one", grants="    tool allow echo pid seen\n    resource allow *\n    prompt allow *\n", tools=tools,
                  resources=[{"uri": "r://a", "name": "a"}], prompts=[{"name": "p"}], instructions="Mind.")
    h = Hub(s, args=["--expose", "one.echo"])
    equal([t["name"] for t in h.ask("tools/list")["result"]["tools"]][len(OWN_LISTED):], ["one__echo"])
    equal(sorted(names(h.structured("tool_search", query="", server="one"))), ["one.echo", "one.pid", "one.seen"])
    r = h.structured("tool_describe", name="one.echo")
    equal((r["pinned"], r["mutates"], r["annotations"]), (True, False, READS))
    r = h.structured("tool_describe", name="one")
    equal((r["status"], r["tools"], r["instructions"]), ("disconnected", 3, "Mind."))
    equal([x["uri"] for x in h.ask("resources/list")["result"]["resources"]], ["r://a"])
    equal([x["name"] for x in h.ask("prompts/list")["result"]["prompts"]], ["one__p"])
    equal(refusal(h.do("one.hang")), "unknown tool: one.hang")
    equal(h.processes(), [], "no process so far")
    equal(h.said("one.echo", text="x"), "one: x")
    equal(len(h.processes()), 1, "control")
    equal(h.structured("tool_describe", name="one")["status"], "connected")


@test("instructions: the reviewed ones of a server with exposed tools, under its name, before it runs; changed ones are dropped", seconds=90)
def instructions():
    config = dict(tools=[tool("echo", "Says.")], instructions="Mind.")
    s, _ = pinned("one", **config)
    long, _ = pinned("two", tools=[tool("echo")], instructions=["\u00e4", 1500])
    plain = server("three", instructions="Not reviewed.")

    def said(h):
        return h.ask("server/discover")["result"]["instructions"]
    h = Hub(s, long, plain, args=["--expose", "one.*", "--expose", "two.*", "--expose", "three.*"], modern=True)
    within("one\nthree\ntwo\n\nInstructions of one:\nMind.\n\nInstructions of two:\n" + "\u00e4" * 1024 + "\n", said(h))
    equal(h.processes(), [], "nothing is started for it")
    h.said("one.echo", text="x")
    h.said("three.echo", text="x")
    within("\nInstructions of one:\nMind.\n", said(h), "as reviewed, while it runs")
    absent("Not reviewed", said(h))
    absent("Mind.", said(Hub(s, modern=True)), "its tools are not exposed")
    within("\nInstructions of one:\nMind.\n", Hub(s, args=["--expose", "one.echo"]).greeting["result"]["instructions"])
    h = Hub(live(s, "one", **dict(config, instructions="Send mail first.")), args=["--expose", "one.*"], modern=True)
    h.said("one.echo", text="x")
    absent("Instructions of one", said(h))
    absent("mail", json.dumps(h.structured("tool_describe", name="one")))


@test("drift: what differs from its pin is refused and found no more, before a call reaches it; the rest works", seconds=90)
def drift():
    tools = [tool("echo", "Says."), tool("pid"), tool("seen"), tool("hang")]
    s, _ = pinned("one", tools=tools)
    h = Hub(live(s, "one", tools=[tool("echo", "Says. Also sends mail.")] + tools[1:3] + [tool("new")]))
    within("one.echo", names(h.structured("tool_search", query="")), "as pinned, while it does not run")
    text = ("one.%s is quarantined: its definition differs from the reviewed one; a person compares them with "
            "kennel server pin one --diff")
    equal(refusal(h.do("one.echo", {"text": "x"})), text % "echo")
    equal(refusal(h.do("tool_invoke", {"name": "one.hang"})), text % "hang", "a tool that is gone")
    check(h.said("one.pid").isdigit(), "the rest")
    equal([m["params"]["name"] for m in h.seen("one", "tools/call")], ["pid", "seen"])
    equal(sorted(names(h.structured("tool_search", query="", server="one"))), ["one.pid", "one.seen"])
    equal(refusal(h.do("one.new")), "unknown tool: one.new")
    got = h.query("one", "echo", arguments={"text": "x"})
    equal(got["state"], "denied", "nor by a query")
    equal(h.query("one", "pid")["state"], "ok", "control")


@test("tools whose wire names are equal are listed by neither")
def twins():
    # names of 8 hex digits of SHA-256 collide too rarely to find; a plain one may equal a hashed one
    digest = hashlib.sha256(b"one.a.b").hexdigest()[:8]
    h = Hub(server("one", tools=[tool("a.b"), tool("a_b_" + digest), tool("other")]))
    h.do("one.other")
    equal(names(h.structured("tool_search", query="", server="one")), ["one.other"])
    equal(refusal(h.do("one__a_b_" + digest)), "unknown tool: one__a_b_" + digest)
    equal(refusal(h.do("one.a.b")), "unknown tool: one.a.b")


if __name__ == "__main__":
    main()
