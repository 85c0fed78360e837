"""What a server can make kennel repeat has a budget: each server here does the same thing without an end, and the calls are answered,
the records stay few, and the control, a server that does it a few times, is served as before."""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from odd_kit import *  # noqa: E402,F403
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

SECONDS = 10
RECORDS = 200
CAPABLE = {"sampling": {}, "elicitation": {}, "roots": {}}
ALLOWED = "    sampling allow\n    elicitation allow\n    roots allow\n    resource allow *\n    prompt allow *\n"


def records(name):
    """Of this server; the log is written within 50 ms."""
    time.sleep(0.3)
    return [e for e in audit() if e["fields"].get("server") == name]


def few(name, most=RECORDS):
    n = len(records(name))
    check(n < most, name, n)
    return n


def lists_of(text):
    return int(text.split()[1])


def at_once(sessions, fn):
    """fn(name, session) for each at the same time; raises what one of them raised."""
    wrong = []

    def each(name, s):
        try:
            fn(name, s)
        except BaseException as e:  # told by the main thread
            wrong.append((name, repr(e)))
    threads = [threading.Thread(target=each, args=x) for x in sessions]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(not wrong, wrong)


KINDS = ("tools", "prompts", "resources", "roots")


@test("kennel serve: a server that announces a changed list with each list, before or after it, in both eras", seconds=180)
def announces():
    if AS != "user":
        skip("runs once, as the user: it is long, and no rule of it asks who runs kennel")
    def calls(name, h):
        end = time.time() + SECONDS
        while time.time() < end:
            began = time.time()
            n = lists_of(h.said(name + ".lists", 15))
            check(time.time() - began < 8, name, time.time() - began)
            time.sleep(1)
        check(n <= 4 * 10, name, n)  # four lists in each listing
        h.close()
        few(name)

    for modern in (False, True):
        for when in ("before", "after"):
            at_once([("b%s%s%d" % (kind, when, modern),
                      served("b%s%s%d" % (kind, when, modern), ALLOWED, modern=modern,
                             changed=["notifications/%s/list_changed" % kind, when])) for kind in KINDS], calls)


@test("such a server is named in the log and to the person; one that changes its list a few times is not", seconds=60)
def named():
    h = served("loud", changed=["notifications/tools/list_changed", "after"])
    h.said("loud.lists")
    time.sleep(6)
    h.said("loud.lists")
    h.close()
    check(any("announces changed lists whenever it is listed" in json.dumps(e) for e in records("loud")), records("loud")[-3:])
    within("loud: it announces changed lists whenever it is listed", h.stderr())
    h = served("quiet", flood=["notifications/tools/list_changed", 3, "notification", {}])
    before = lists_of(h.said("quiet.lists"))
    time.sleep(2)
    after = lists_of(h.said("quiet.lists"))
    check(before < after <= before + 12, before, after)
    h.close()
    check(not any("announces" in json.dumps(e) for e in records("quiet")), records("quiet"))


@test("a list that changes is offered at once, and again after a quiet time", seconds=60)
def changes():
    h = served("flips", flip=True, flood=["notifications/tools/list_changed", 1, "notification", {}])
    for _ in range(3):
        n = lists_of(h.said("flips.lists", 10)) if _ == 0 else n
        time.sleep(2)
        r = h.do("tool_describe", {"name": "flips.lists"})
        check("result" in r, r)
    h.close()
    few("flips")


@test("a call that waits for slow lists ends at its own deadline, parked or sent; the next one is answered", seconds=90)
def waits():
    h = served("late", "    timeout call 2s start 20s\n", slow=1.5)
    began = time.time()
    r = h.do("late.lists", seconds=15)
    check(time.time() - began < 5, time.time() - began)
    equal(r["error"]["code"], -32001, r)
    within("took longer than `timeout call`", r["error"]["message"])
    time.sleep(7)
    lists_of(h.said("late.lists", 10))
    h.close()


@test("kennel run: a server that announces changed lists without an end, each kind: calls are answered", seconds=120)
def announces_run():
    if AS != "user":
        skip("runs once, as the user: it is long, and no rule of it asks who runs kennel")
    for kind in KINDS:
        name = "r" + kind
        s = kennel_run(body(ALLOWED, flood=["notifications/%s/list_changed" % kind, 3000, "notification", {}]), name)
        s.initialize(capabilities=CAPABLE)
        for _ in range(3):
            lists_of(s.text("lists", 15))
        s.close()
        few(name, 60)


FLOODS = [
    ["sampling/createMessage", 3000, "request", {"messages": [], "maxTokens": 1}],
    ["elicitation/create", 3000, "request", {"message": "x", "requestedSchema": {"type": "object", "properties": {}}}],
    ["roots/list", 3000, "request", {}],
    ["ping", 3000, "request", {}],
    ["un/known", 3000, "request", {}],
    ["notifications/message", 3000, "notification", {"level": "info", "data": "x"}],
    ["notifications/unknown", 3000, "notification", {}],
    ["notifications/progress", 3000, "notification", {"progressToken": 1, "progress": 1}],
    ["notifications/resources/updated", 3000, "notification", {"uri": "x://resources"}],
    ["notifications/roots/list_changed", 3000, "notification", {}],
    ["elicitation/create", 3000, "notification", {}],
    ["tools/call", 3000, "request", {}],
]


def drain(s, rid, seconds=20):
    """The answer of a call; the agent refuses what the server asks. Returns it and the number of requests that came."""
    end, n = time.time() + seconds, 0
    while True:
        m = s.message(max(0.01, end - time.time()))
        if "method" not in m and m.get("id") == rid:
            return m, n
        if "method" in m and "id" in m:
            n += 1
            s.send({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -1, "message": "no"}})


@test("kennel run: a flood of requests or notifications in a call: few are forwarded, the rest has -32603, in one record", seconds=240)
def floods_run():
    if AS != "user":
        skip("runs once, as the user: it is long, and no rule of it asks who runs kennel")
    for i, flood in enumerate(FLOODS):
        name = "f%d" % i
        s = kennel_run(body(ALLOWED, flood=flood), name)
        s.initialize(capabilities=CAPABLE)
        s.send({"jsonrpc": "2.0", "id": "c1", "method": "tools/call", "params": {"name": "lists"}})
        m, asked = drain(s, "c1")
        check("result" in m, flood, m)
        if flood[2] == "request":
            check(asked <= 80, flood, asked)
        s.send({"jsonrpc": "2.0", "id": "c2", "method": "ping", "params": {}})
        drain(s, "c2")
        s.close()
        few(name)
        if flood[2] == "request":
            over = [e for e in records(name) if "beyond its budget" in e["fields"].get("reason", "")]
            check(1 <= len(over) <= 3, flood, over)
            # each request that was forwarded, and its answer, has its own record
            sent = [e for e in records(name) if e["kind"] == "call" and e["fields"].get("direction") == "server"
                    and e["fields"].get("outcome") == "forwarded"]
            equal(len(sent), asked, flood)


@test("kennel serve: the same floods: the call is answered, the records are few", seconds=240)
def floods_serve():
    if AS != "user":
        skip("runs once, as the user: it is long, and no rule of it asks who runs kennel")
    for i, flood in enumerate(FLOODS):
        name = "s%d" % i
        h = served(name, ALLOWED, {"capabilities": CAPABLE}, flood=flood)
        rid = h.post_call(name + ".lists")
        m, asked = drain(h, rid)
        check("result" in m and not m["result"].get("isError"), flood, m)
        check(asked <= 80, flood, asked)
        h.close()
        few(name)


def updates(s, rid, seconds=20):
    """How many updates of a resource came before the answer to rid."""
    end, n = time.time() + seconds, 0
    while True:
        m = s.message(max(0.01, end - time.time()))
        if m.get("id") == rid and "method" not in m:
            check("result" in m, m)
            return n
        n += m.get("method") == "notifications/resources/updated"


@test("a flood of updates of a resource that the agent has subscribed to: the calls are answered, the records are few", seconds=90)
def subscribed():
    flood = ["notifications/resources/updated", 3000, "notification", {"uri": "x://resources"}]
    s = kennel_run(body(ALLOWED, flood=flood), "sub")
    s.initialize()
    s.send({"jsonrpc": "2.0", "id": "u", "method": "resources/subscribe", "params": {"uri": "x://resources"}})
    check("result" in s.wait("u"), "control: it has subscribed")
    for rid in ("c1", "c2"):
        s.send({"jsonrpc": "2.0", "id": rid, "method": "tools/call", "params": {"name": "lists"}})
        check(1 <= updates(s, rid), "control: the agent gets updates")
    s.close()
    few("sub")
    h = served("subs", ALLOWED, flood=flood)
    uri = [r["uri"] for r in h.ask("resources/list")["result"]["resources"] if r["uri"].endswith("x://resources")]
    equal(len(uri), 1)
    check("result" in h.ask("resources/subscribe", {"uri": uri[0]}), "control: it has subscribed")
    for _ in range(2):
        check(1 <= updates(h, h.post_call("subs.lists")), "control: the agent gets updates")
    h.close()
    few("subs")


@test("the control: a server that asks ten times gets ten answers, and no request is counted", seconds=60)
def asks_a_little():
    s = kennel_run(body(ALLOWED, flood=["roots/list", 10, "request", {}]), "ten")
    s.initialize(capabilities=CAPABLE)
    s.send({"jsonrpc": "2.0", "id": "c1", "method": "tools/call", "params": {"name": "lists"}})
    m, asked = drain(s, "c1")
    while asked < 10:
        m = s.message(5)
        asked += "method" in m
    s.close()
    check(not any("beyond its budget" in json.dumps(e) for e in records("ten")), records("ten"))


@test("each call of an agent has its own record, however many it makes", seconds=60)
def agent_calls():
    s = kennel_run(body(), "many")
    s.initialize()
    for i in range(150):
        s.send({"jsonrpc": "2.0", "id": 1000 + i, "method": "tools/call", "params": {"name": "lists"}})
    for i in range(150):
        s.wait(1000 + i)
    s.close()
    n = [e for e in records("many") if e["fields"].get("method") == "tools/call" and e["fields"].get("outcome") == "forwarded"]
    equal(len(n), 150)


@test("a server that crashes in each call: it is started a few times, and each call is answered, in run and in serve", seconds=120)
def crashes():
    s = kennel_run(body(crash=True), "crash")
    s.initialize()
    end, n = time.time() + SECONDS, 0
    while time.time() < end:
        r = s.call("lists", 10)
        check("error" in r or r["result"].get("isError"), r)
        n += 1
        time.sleep(0.1)
    s.close()
    starts = len([e for e in records("crash") if e["kind"] == "start"])
    check(starts <= 8, starts, n)
    h = served("crashed", crash=True)
    end, n = time.time() + SECONDS, 0
    while time.time() < end:
        r = h.do("crashed.lists")
        check("error" in r or r["result"].get("isError"), r)
        n += 1
        time.sleep(0.1)
    h.close()
    starts = len([e for e in records("crashed") if e["kind"] == "start"])
    check(starts <= 8, starts, n)


main()
