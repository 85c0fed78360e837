"""An MCP server with the habits of one that works with other clients (e2e_odd.py, e2e_budget.py).

    odd_server.py CONFIG     a JSON object in base64: see `config`
"""
import base64
import json
import sys
import time

config = {
    "modern": False,    # 2026-07-28 and nothing else
    "ids": None,        # how its answers write an id: float, string, text (1.0 as a text), zero
    "greets": True,     # so also in the answer of initialize
    "token": None,      # likewise in progress
    "first": "",        # in base64: bytes before its first line
    "banner": "",       # a text before each answer of a call, on the same line
    "lines": [],        # texts on lines of their own, before a call is not answered
    "deaf": False,      # no call is answered
    "pages": "",        # how its list of tools is paged: see `page`
    "slow": 0,          # seconds before a page
    "changed": None,    # a notification with each list: [method, "before" or "after"]
    "flip": False,      # each list has another description
    "flood": None,      # in a call: [method, how many, "request" or "notification", params]
    "crash": False,     # it exits in a call
    "drip": None,       # [method, seconds between two]: notifications without an end, from the first list
}
config.update(json.loads(base64.b64decode(sys.argv[1])))
lists, asked, answers = {}, 0, 0
out = sys.stdout.buffer


def raw(b):
    out.write(b)
    out.flush()


def say(**m):
    raw(json.dumps(dict(m, jsonrpc="2.0")).encode() + b"\n")


def spelled(how, v):
    if how == "float" and isinstance(v, int):
        return float(v)
    if how == "string":
        return str(v)
    if how == "text":
        return str(float(v)) if isinstance(v, int) else v
    if how == "zero":
        return 0
    return v


def rep(m, result):
    i = m["id"]
    if config["ids"] and (config["greets"] or m["method"] not in ("initialize", "server/discover")):
        i = spelled(config["ids"], i)
    if config["modern"]:
        result = dict(result, resultType="complete")
    say(id=i, result=result)


def tool(name):
    return {"name": name, "inputSchema": {"type": "object"}}


def page(cursor, n):
    """(tools, nextCursor or None) of the n-th request."""
    how = config["pages"]
    if how == "empty":            # an empty cursor, and a page of it
        return (["a"], "") if cursor is None else (["b"], None)
    if how == "empty end":        # an empty cursor on every page, as an end
        return ["a"], ""
    if how == "empty refused":    # an empty cursor as an end; it is no cursor
        return (["a"], "") if cursor is None else None
    if how == "stuck":            # the cursor does not change
        return ["a", "b"], "8"
    if how == "circle":           # two cursors by turns
        return (["a"], "1") if cursor in (None, "2") else (["b"], "2")
    if how == "same":             # the page does not change, the cursor does
        return ["a"], str(n)
    if how == "three":            # the control
        return {None: (["a"], "x"), "x": (["b"], "y"), "y": (["c"], None)}[cursor]
    return ["a", "lists"], None


def listing(m):
    kind = m["method"].split("/")[0]
    n = lists[kind] = lists.get(kind, 0) + 1
    time.sleep(config["slow"])
    got = page(m.get("params", {}).get("cursor"), n) if kind == "tools" else ([kind], None)
    if got is None:
        return say(id=m["id"], error={"code": -32602, "message": "invalid cursor"})
    items = [dict(tool(x), uri="x://" + x) for x in got[0]]
    if config["flip"]:
        items[0]["description"] = "v%d" % (n % 2)
    if config["changed"] and config["changed"][1] == "before":
        say(method=config["changed"][0])
    answer = {kind: items}
    if m["method"].startswith("resources/templates"):
        answer = {"resourceTemplates": []}
    if got[1] is not None:
        answer["nextCursor"] = got[1]
    if config["modern"]:
        answer.update(ttlMs=0, cacheScope="private")
    rep(m, answer)
    if config["changed"] and config["changed"][1] == "after":
        say(method=config["changed"][0])


def flood():
    global asked
    method, count, how, params = config["flood"]
    for _ in range(count):
        asked += 1
        if how == "request":
            say(id="q%d" % asked, method=method, params=params)
        else:
            say(method=method, params=params)


def call(m):
    if config["crash"]:
        sys.exit(3)
    token = m["params"].get("_meta", {}).get("progressToken")
    if token is not None:
        say(method="notifications/progress", params={"progressToken": spelled(config["token"], token), "progress": 1})
    for text in config["lines"]:
        raw(text.encode() + b"\n")
    if config["flood"]:
        flood()
    if config["banner"]:
        raw(config["banner"].encode())
    if not config["deaf"]:
        rep(m, {"content": [{"type": "text", "text": "lists %d answers %d" % (sum(lists.values()), answers)}]})


def handle(m):
    global answers
    if "method" not in m:
        answers += 1
        return
    if "id" not in m:
        return
    caps = {k: {"listChanged": True} for k in ("tools", "prompts", "resources")}
    caps["resources"]["subscribe"] = True
    if m["method"] == "initialize" and config["modern"]:
        return say(id=m["id"], error={"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}})
    if m["method"] == "initialize":
        return rep(m, {"protocolVersion": m["params"]["protocolVersion"], "capabilities": caps,
                       "serverInfo": {"name": "odd", "version": "1"}})
    if m["method"] == "server/discover":
        return rep(m, {"supportedVersions": ["2026-07-28"], "capabilities": caps, "serverInfo": {"name": "odd", "version": "1"}})
    if m["method"] == "subscriptions/listen":
        return
    if m["method"].endswith("/list"):
        return listing(m)
    if m["method"] == "tools/call":
        return call(m)
    if m["method"] in ("ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"):
        return rep(m, {})
    say(id=m["id"], error={"code": -32601, "message": "no"})


raw(base64.b64decode(config["first"]))
for line in sys.stdin.buffer:
    if line.strip():
        handle(json.loads(line))
