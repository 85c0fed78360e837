"""kennel serve between the two eras of MCP: 2026-07-28 and everything before it."""
import base64
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kit import *  # noqa: E402,F403
from serve_kit import *  # noqa: E402,F403

ALL_CAPS = {"sampling": {}, "elicitation": {}, "roots": {}}
NAME = {"message": "name?", "requestedSchema": {"type": "object", "properties": {}}}
ELICIT = {"method": "elicitation/create", "params": NAME}
ACCEPT = {"action": "accept", "content": {"n": 1}}
SUB = META + "subscriptionId"


def modern_lines(h, method):
    """What a modern server has read of this method, without the envelope."""
    return [m["params"] for m in h.seen("one", method)]


# ---- greeting ----------------------------------------------------------------------------

@test("2026-07-28: server/discover or tools/list may be the first message, and starts nothing")
def first_message():
    h = Hub(server("one"), modern=True)
    r = h.ask("tools/list")["result"]
    equal([t["name"] for t in r["tools"]], OWN_LISTED)
    equal((r["resultType"], r["ttlMs"], r["cacheScope"]), ("complete", 300000, "private"))
    equal(r["_meta"][META + "serverInfo"]["name"], "kennel")
    h = Hub(server("one"), modern=True)
    r = h.ask("server/discover")["result"]
    equal(r["supportedVersions"], ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
    equal((r["resultType"], r["cacheScope"]), ("complete", "private"))
    equal(sorted(r["capabilities"]), ["completions", "logging", "prompts", "resources", "tools"])
    check("tasks" not in r["capabilities"] and r["instructions"], r)
    equal(h.processes(), [])
    for method, params in (("resources/list", {}), ("prompts/list", {}), ("resources/templates/list", {})):
        r = h.ask(method, params)["result"]
        equal((r["resultType"], r["cacheScope"]), ("complete", "private"), method)
        check("ttlMs" in r, r)
    for method in ("ping", "logging/setLevel", "resources/subscribe", "initialize"):
        equal(h.ask(method, {"level": "debug", "uri": "r://x"})["error"]["code"], -32601, method)


@test("2026-07-28: an unknown version is -32022 and names those that work; a request without capabilities is refused")
def versions():
    h = Hub(server("one"), modern=True)
    for version in ("2027-01-01", "2025-11-25", "", 7, None):
        r = h.ask("tools/list", meta={META + "protocolVersion": version})["error"]
        equal(r["code"], -32022, version)
        equal(r["data"]["requested"], version if isinstance(version, str) else None)
        within("2026-07-28", r["data"]["supported"])
    for caps in (None, [], 5):
        equal(h.ask("tools/list", meta={META + "clientCapabilities": caps})["error"]["code"], -32602, caps)
    check("result" in h.ask("tools/list"), "control")
    r = h.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "k", "version": "1"}})
    equal(r["error"]["code"], -32022, "the session keeps to its era")


@test("a server of 2026-07-28 only is found by its refusal of initialize, and asked in a process of its own")
def found_modern():
    for refuse in (-32601, -32022):
        h = Hub(server("one", modern=True, refuse=refuse))
        equal(h.said("one.echo", text="a"), "one: a", refuse)
        fresh = Hub(server("one", modern=True, refuse=refuse))
        equal(fresh.query("one", "echo", arguments={"text": "q"})["state"], "ok", "found by a single query")
        equal(h.seen("one", "initialize"), [], "the process that refused is another one")
        equal(len(h.seen("one", "server/discover")), 1)
        equal(len(h.processes()), 1, "and it is gone")
        for m in h.seen("one", "tools/list") + h.seen("one", "tools/call"):
            meta = m["params"]["_meta"]
            equal(meta[META + "protocolVersion"], MODERN)
            equal(meta[META + "clientInfo"], {"name": "kit", "version": "1"})
            equal(meta[META + "clientCapabilities"], {})
        h.ask("logging/setLevel", {"level": "notice"})
        h.said("one.echo")
        equal(h.seen("one", "logging/setLevel"), [])
        equal(h.seen("one", "tools/call")[-1]["params"]["_meta"][META + "logLevel"], "notice")
        equal(h.query("one", "echo", arguments={"text": "q"})["state"], "ok")
    h = Hub(server("one", init_error={"code": -32603, "message": "broken"}))
    within("one is restarting: try again in", refusal(h.do("one.echo")))


# ---- an older agent, a server of 2026-07-28 ------------------------------------------------

@test("older agent, modern server: its inputs are requests with the server's name, and the call is repeated with the answers")
def inputs_down():
    h = Hub(server("one", modern=True), capabilities=ALL_CAPS)
    for method, params, answer in (("elicitation/create", NAME, ACCEPT), ("roots/list", {}, {"roots": []})):
        a = h.post_call("one.ask", {"method": method, "params": params}, meta={"progressToken": "t"})
        q = h.until(method)
        if params is NAME:
            equal(q["params"]["message"], "[one] name?")
        h.send({"jsonrpc": "2.0", "id": q["id"], "result": answer})
        r = h.wait(a)
        equal(json.loads(r["result"]["content"][0]["text"]), {"responses": {"one": answer}, "state": "s-one \u00e9"})
    calls = [m for m in h.seen("one", "tools/call") if m["params"]["name"] == "ask"]
    equal(len(calls), 4)
    equal(len({m["id"] for m in calls}), 4, "each attempt has an id of its own")
    equal(len({m["params"]["_meta"]["progressToken"] for m in calls}), 4)
    began = time.monotonic()
    a = h.post_call("one.poll", {"rounds": 3})
    equal(h.said("one.echo", text="on"), "one: on", "others do not wait for it")
    equal(h.wait(a)["result"]["content"][0]["text"], "rounds 3", "a state alone is repeated")
    check(time.monotonic() - began >= 0.75, "after a quarter of a second each")
    a = h.post_call("one.poll", {"rounds": 3})
    equal(h.said("one.echo", text="on"), "one: on")
    h.notify("notifications/cancelled", {"requestId": a})
    r = h.do("one.poll", {"rounds": 30})
    equal(r["error"]["code"], -32004)
    within("asked too often", r["error"]["message"])


@test("older agent, modern server: a page to open gets an elicitationId, a new one each time; a client without pages is not asked")
def pages_down():
    page = {"mode": "url", "message": "log in", "url": "https://example.org/"}
    form = dict(NAME, mode="form")
    h = Hub(server("one", modern=True), capabilities={"elicitation": {"form": {}, "url": {}}})
    seen = []
    for params in (page, page, form):
        a = h.post_call("one.ask", {"method": "elicitation/create", "params": params})
        q = h.until("elicitation/create")
        seen.append(q["params"].pop("elicitationId", None))
        equal(q["params"], dict(params, message="[one] " + params["message"]))
        h.send({"jsonrpc": "2.0", "id": q["id"], "result": {"action": "accept"}})
        equal(json.loads(h.wait(a)["result"]["content"][0]["text"])["responses"], {"one": {"action": "accept"}})
    check(all(matches("^kennel-[0-9a-f]{32}$", i) for i in seen[:2]) and seen[0] != seen[1] and seen[2] is None, seen)
    for caps in ({"elicitation": {}}, {"elicitation": {"form": {}}}):
        h = Hub(server("one", modern=True), capabilities=caps)
        equal(h.do("one.ask", {"method": "elicitation/create", "params": page})["error"]["code"], -32004, caps)
        h.none("elicitation/create", 0.1)
        a = h.post_call("one.ask", {"method": "elicitation/create", "params": form})
        h.until("elicitation/create")


@test("older agent, modern server: a request without params, or with empty ones, reaches the server with its envelope")
def no_params_down():
    caps = {"tools": {}, "tasks": {"list": {}}}
    h = Hub(server("one", modern=True, capabilities=caps))
    h.said("one.echo", text="x")
    equal(h.ask("tasks/list")["result"]["tasks"], [])
    h.send({"jsonrpc": "2.0", "id": "bare", "method": "tasks/list"})
    equal(h.wait("bare")["result"]["tasks"], [])
    for params in modern_lines(h, "tasks/list"):
        equal((list(params), params["_meta"][META + "protocolVersion"]), (["_meta"], MODERN))


@test("older agent, modern server: no answer, no capability, no policy: the call ends; a cancelled call takes its question along")
def inputs_down_refused():
    h = Hub(server("one", modern=True), server("two", modern=True, grants="    tool allow *\n"), capabilities={"elicitation": {}})
    a = h.post_call("one.ask", ELICIT)
    q = h.until("elicitation/create")
    h.send({"jsonrpc": "2.0", "id": q["id"], "error": {"code": -1, "message": "no"}})
    equal(h.wait(a)["error"]["code"], -32004)
    r = h.do("one.ask", {"method": "roots/list"})
    equal(r["error"]["code"], -32004, "the client has no roots")
    h.none("roots/list", 0.1)
    equal(h.do("two.ask", ELICIT)["error"]["code"], -32004, "the policy")
    h.none("elicitation/create", 0.1)
    a = h.post_call("one.ask", ELICIT)
    q = h.until("elicitation/create")
    h.notify("notifications/cancelled", {"requestId": a})
    equal(h.until("notifications/cancelled")["params"]["requestId"], q["id"])
    h.send({"jsonrpc": "2.0", "id": q["id"], "result": ACCEPT})
    equal(h.said("one.echo", text="on"), "one: on")
    r = h.query("one", "ask", arguments=ELICIT)
    equal(r["state"], "error")
    within("needs input", r["detail"])


@test("older agent, modern server: subscriptions and list changes come over one listen, resources keep their old error")
def listens_down():
    h = Hub(server("one", modern=True, resources=[{"uri": "r://a", "name": "a"}, {"uri": "r://b", "name": "b"}]))
    equal(h.ask("resources/read", {"uri": "r://a"})["result"]["contents"][0]["text"], "one has r://a")
    equal(h.ask("resources/read", {"uri": "kennel://one/r://none"})["error"]["code"], -32002)
    for uri in ("r://a", "r://b"):
        equal(h.ask("resources/subscribe", {"uri": uri})["result"], {})
    asked = [sorted(m["notifications"].get("resourceSubscriptions", [])) for m in modern_lines(h, "subscriptions/listen")]
    equal(asked[-1], ["r://a", "r://b"])
    h.do("one.touch", {"uri": "r://b"})
    equal(h.until("notifications/resources/updated")["params"]["uri"], "r://b")
    h.none("notifications/resources/updated", 0.2)
    h.do("one.set", {"list": "prompts", "value": [{"name": "p"}]})
    h.until("notifications/prompts/list_changed")
    h.none("notifications/subscriptions/acknowledged", 0.1)
    equal(h.ask("resources/unsubscribe", {"uri": "r://b"})["result"], {})
    equal(modern_lines(h, "subscriptions/listen")[-1]["notifications"]["resourceSubscriptions"], ["r://a"])
    h.do("one.touch", {"uri": "r://b"})
    h.none("notifications/resources/updated", 0.2)


# ---- an agent of 2026-07-28, an older server ------------------------------------------------

@test("modern agent, older server: its request is input_required, the call is held, the handle continues it once")
def inputs_up():
    h = Hub(server("one"), server("two"), modern=True, capabilities=ALL_CAPS)
    r = h.do("one.ask", ELICIT)["result"]
    equal(r["resultType"], "input_required")
    (key, asked), = r["inputRequests"].items()
    equal(asked["method"], "elicitation/create")
    equal(asked["params"]["message"], "[one] name?")
    check(matches("^[0-9a-f]{32}$", r["requestState"]), r)
    for how in ({"requestState": r["requestState"][:-1] + "0"}, {"requestState": ""}, {"requestState": 5}, {"requestState": "x" * 5000}):
        if how["requestState"] == r["requestState"]:
            continue
        e = h.do("one.ask", ELICIT, inputResponses={key: ACCEPT}, **how)
        equal(e["error"]["code"], -32602, "forged")
    e = h.do("two.ask", ELICIT, inputResponses={key: ACCEPT}, requestState=r["requestState"])
    equal(e["error"]["code"], -32602, "of another server")
    d = h.do("one.ask", ELICIT, inputResponses={key: ACCEPT}, requestState=r["requestState"])["result"]
    equal(d["resultType"], "complete")
    equal(json.loads(d["content"][0]["text"]), {"result": ACCEPT})
    e = h.do("one.ask", ELICIT, inputResponses={key: ACCEPT}, requestState=r["requestState"])
    equal(e["error"]["code"], -32602, "used")
    equal(len([m for m in h.seen("one", "tools/call") if m["params"]["name"] == "ask"]), 1, "one call at the server")
    r = h.do("tool_invoke", {"name": "one.ask", "arguments": ELICIT})["result"]
    key = list(r["inputRequests"])[0]
    d = h.do("tool_invoke", {"name": "one.ask", "arguments": ELICIT}, inputResponses={key: ACCEPT},
             requestState=r["requestState"])["result"]
    equal(json.loads(d["content"][0]["text"]), {"result": ACCEPT}, "invoked")


@test("modern agent, older server: what the request does not declare is not asked; a missing answer is an error at the server")
def inputs_up_refused():
    h = Hub(server("one"), modern=True, capabilities={"roots": {}})
    h.said("one.echo")
    r = json.loads(h.said("one.ask", **ELICIT))
    equal(r["error"]["code"], -32601)
    r = h.do("one.ask", {"method": "roots/list"})["result"]
    equal(r["resultType"], "input_required", "control: it declares roots")
    r = h.do("one.ask", {"method": "roots/list"}, inputResponses={"other": {}}, requestState=r["requestState"])
    within("error", r["result"]["content"][0]["text"])
    r = h.do("one.late_ask", {"method": "roots/list"})["result"]
    time.sleep(0.6)
    e = h.do("one.late_ask", {"method": "roots/list"}, inputResponses={}, requestState=r["requestState"])
    equal(e["error"]["code"], -32602, "the server did not wait")
    equal(h.lines, [], "nobody gets an answer with an id of kennel's")
    h.do("one.ask", {"method": "roots/list"})
    h.do("one.exit")
    equal(h.lines, [])


@test("modern agent, older server: calls that end without the answers they asked for keep no place for open requests")
def inputs_up_ended():
    h = Hub(server("one"), modern=True, capabilities={"roots": {}})
    h.said("one.echo")
    raw = lambda n: {"bytes": base64.b64encode((
        '{"jsonrpc":"2.0","id":"q%d","method":"roots/list"}\n{"jsonrpc":"2.0","id":@ID@,"result":{"content":[]}}\n' % n).encode()).decode()}
    for n in range(39):  # with the one below, what a server may ask at once
        equal(h.do("one.raw", raw(n))["result"]["resultType"], "input_required", n)
    got = [m for m in json.loads(h.said("one.seen")) if str(m.get("id", "")).startswith("q")]
    equal([m["error"]["message"] for m in got], ["kennel: no answer"] * 39, "the server hears of it")
    equal(h.do("one.ask", {"method": "roots/list"})["result"]["resultType"], "input_required")
    h.do("one.cancel_ask", {"method": "roots/list"})
    equal(h.lines, [], "the agent has no such request to cancel")


@test("modern agent, older server: results are completed, resources have their new error, progress and log levels as asked")
def modern_results():
    h = Hub(server("one", resources=[{"uri": "r://a", "name": "a"}], prompts=[{"name": "p"}]), modern=True)
    r = h.ask("resources/read", {"uri": "r://a"})["result"]
    equal((r["resultType"], r["ttlMs"], r["cacheScope"]), ("complete", 0, "private"))
    equal(h.ask("resources/read", {"uri": "kennel://one/r://none"})["error"]["code"], -32602)
    equal(h.ask("resources/read", {"uri": "none://"})["error"]["code"], -32602)
    equal(h.ask("prompts/get", {"name": "one__p"})["result"]["resultType"], "complete")
    r = h.do("one.progress", {"n": 2}, meta={"progressToken": 9})["result"]
    equal(r["resultType"], "complete")
    equal([m["params"]["progressToken"] for m in h.lines], [9, 9])
    h.lines = []
    h.do("one.log", {"params": {"level": "error", "data": 1}})
    h.none("notifications/message", 0.2)
    h.do("one.log", {"params": {"level": "error", "data": 1}}, meta={META + "logLevel": "info"})
    equal(h.until("notifications/message")["params"]["logger"], "one")
    seen = h.seen("one", "tools/call")[-1]["params"].get("_meta", {})
    equal([k for k in seen if k.startswith(META)], [], "an older server sees no envelope")
    r = h.do("one.params", {}, meta={"traceparent": "00-1-2-01", "baggage": "k=v"})
    within('"traceparent": "00-1-2-01"', r["result"]["content"][0]["text"])


def listens(modern_server):
    h = Hub(server("one", modern=modern_server, resources=[{"uri": "r://a", "name": "a"}]), server("two", modern=modern_server),
            modern=True)
    h.said("one.echo")
    for rid in (70, "70"):
        h.post("subscriptions/listen", {"notifications": {"promptsListChanged": True, "resourceSubscriptions": ["r://a", "r://none"],
                                                          "taskIds": ["t"]}}, rid=rid)
        ack = h.until("notifications/subscriptions/acknowledged")["params"]
        equal(ack["_meta"][SUB], rid)
        equal(ack["notifications"], {"promptsListChanged": True, "resourceSubscriptions": ["r://a"]})
    h.post("subscriptions/listen", {"notifications": {}}, rid=70)
    equal(h.wait(70)["error"]["code"], -32600, "the id is in use")
    h.do("one.touch", {"uri": "r://a"})
    got = [h.until("notifications/resources/updated")["params"] for _ in (0, 1)]
    equal({p["uri"] for p in got}, {"r://a"})
    equal(sorted([p["_meta"][SUB] for p in got], key=repr), ["70", 70])
    h.do("one.set", {"list": "prompts", "value": [{"name": "p"}]})
    got = [h.until("notifications/prompts/list_changed")["params"]["_meta"][SUB] for _ in (0, 1)]
    equal(sorted(got, key=repr), ["70", 70])
    h.do("one.set", {"list": "resources", "value": [{"uri": "r://b", "name": "b"}]})
    h.none("notifications/resources/list_changed")
    h.notify("notifications/cancelled", {"requestId": 70})
    h.do("one.set", {"list": "prompts", "value": []})
    equal(h.until("notifications/prompts/list_changed")["params"]["_meta"][SUB], "70")
    h.none("notifications/prompts/list_changed")
    h.p.send_signal(signal.SIGTERM)
    r = h.wait("70", 5)["result"]
    equal((r["resultType"], r["_meta"][SUB]), ("complete", "70"))
    check(wait_for(lambda: h.p.poll() is not None, 2) is not None, "it does not end")


@test("subscriptions/listen with older servers: acknowledged, ids type by type, ended by the client or by kennel")
def listens_legacy():
    listens(False)


@test("subscriptions/listen with servers of 2026-07-28: the same")
def listens_modern():
    listens(True)


@test("subscriptions/listen for tasks: those of a running server are honoured, under their names here; each listener hears of its own")
def listens_tasks():
    caps = dict(ALL_CAPS, extensions={"io.modelcontextprotocol/tasks": {}})
    h = Hub(server("one", modern=True), server("two", modern=True), server("old"), modern=True, capabilities=caps)
    for s in ("one", "two"):
        equal(h.do(s + ".new_task")["result"]["taskId"], s + ".t.1")
    equal(h.do("one.new_task")["result"]["taskId"], "one.t.2")
    h.said("old.echo", text="x")

    def listen(rid, wanted, honoured):
        h.post("subscriptions/listen", {"notifications": {"taskIds": wanted}}, rid=rid)
        got = h.until("notifications/subscriptions/acknowledged")["params"]
        equal((got["_meta"][SUB], got["notifications"]), (rid, dict({"taskIds": honoured} if honoured else {}, resourceSubscriptions=[])))
    listen(7, ["one.t.1", "none.t.1", "old.t.1", "t.1", 5], ["one.t.1"])
    listen("7", ["two.t.1", "one.t.1"], ["one.t.1", "two.t.1"])
    listen("8", ["old.t"], [])
    wanted = [m["params"]["notifications"] for m in h.seen("one", "subscriptions/listen")]
    check("taskIds" not in wanted[0] and set(wanted[-1]["taskIds"]) == {"t.1"}, wanted)

    def told(s, task):
        h.do(s + ".tell_task", {"id": task, "inputs": {"k": ELICIT}})
        return h.until("notifications/tasks")["params"]
    got = [told("one", "t.1"), h.until("notifications/tasks")["params"]]
    equal(sorted([p["_meta"][SUB] for p in got], key=repr), ["7", 7])
    for p in got:
        equal((p["taskId"], p["status"], p["inputRequests"]["k"]["params"]["message"]), ("one.t.1", "input_required", "[one] name?"))
    p = told("two", "t.1")
    equal((p["taskId"], p["_meta"][SUB]), ("two.t.1", "7"))
    h.do("one.tell_task", {"id": "t.2", "inputs": {}})
    h.none("notifications/tasks")


@test("a listen for a resource starts its server; a restarted server is listened to again")
def listen_starts():
    for era in (False, True):
        h = Hub(server("one", modern=era, resources=[{"uri": "r://a", "name": "a"}]), modern=True)
        h.post("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["r://a"]}}, rid="l")
        h.until("notifications/subscriptions/acknowledged")
        check(wait_for(lambda: h.processes(), 5) is not None, "not started")
        h.do("one.touch", {"uri": "r://a"})
        h.until("notifications/resources/updated")
        h.do("one.exit")
        time.sleep(1)
        h.do("one.touch", {"uri": "r://a"})
        equal(h.until("notifications/resources/updated")["params"]["_meta"][SUB], "l")


# ---- both of 2026-07-28 --------------------------------------------------------------------

@test("modern agent, modern server: input_required passes with the server's name, the state byte for byte")
def both_modern():
    h = Hub(server("one", modern=True), modern=True, capabilities=ALL_CAPS)
    r = h.do("one.ask", ELICIT)["result"]
    equal(r["resultType"], "input_required")
    equal(r["requestState"], "s-one \u00e9")
    equal(r["inputRequests"]["one"]["params"]["message"], "[one] name?")
    d = h.do("one.ask", ELICIT, inputResponses={"one": ACCEPT}, requestState=r["requestState"])["result"]
    equal(json.loads(d["content"][0]["text"]), {"responses": {"one": ACCEPT}, "state": "s-one \u00e9"})
    meta = h.seen("one", "tools/call")[0]["params"]["_meta"]
    equal(meta[META + "clientCapabilities"], ALL_CAPS)
    h2 = Hub(server("one", modern=True, grants="    tool allow *\n"), modern=True, capabilities=ALL_CAPS)
    equal(h2.do("one.ask", ELICIT)["error"]["code"], -32004, "the policy")


if __name__ == "__main__":
    main()
