"""An MCP server of either era for the tests of kennel serve (serve_kit.py).

    hub_server.py CONFIG     a JSON object, in base64 or in the file of this path: see `config`

The name of a tool is what it does. Everything that it reads is kept: `seen`.
"""
import base64
import json
import os
import signal
import socket
import sys
import threading
import time

config = {
    "name": "hub",       # what its answers are marked with
    "modern": False,     # 2026-07-28 and nothing else
    "refuse": -32601,    # modern: the error of initialize
    "tools": None,       # list; None: a definition of each tool below
    "resources": [], "templates": [], "prompts": [],
    "last_cursor": None, # [the nextCursor of a last page]
    "page": 0,           # items of a page; 0: all
    "slow": 0,           # seconds before initialize is answered
    "capabilities": None,
    "instructions": None,
    "init_error": None,
    "init_raw": None,    # a line in place of the answer
    "exit": None,        # status, before anything is read
    "stderr": "",        # what it writes there at its start
    "exit_page": False,  # it ends when the second page of a list is asked for
    "endless": False,    # each page of a list has a next one
    "trace": None,       # a file to which it adds a line at its start
}
if sys.argv[1:] and sys.argv[1].startswith("/"):
    config.update(json.load(open(sys.argv[1])))
elif sys.argv[1:]:
    config.update(json.loads(base64.b64decode(sys.argv[1])))
if config["trace"]:
    with open(config["trace"], "a") as f:
        f.write("started\n")
META = "io.modelcontextprotocol/"
for kind, n in config.get("many", {}).items():  # too long for an argument
    config[kind] = [{"name": "%s%03d" % (kind[0], k), "uri": "r://%d" % (k + config.get("first", 0)), "description": config.get("about_n", 4) * "x",
                     "inputSchema": {"type": "object"}} for k in range(n)]
if isinstance(config["instructions"], list):  # a text and how often; too long for an argument
    config["instructions"] = config["instructions"][0] * config["instructions"][1]
seen, waiting, subscribed, listens, tasks = [], {}, [], {}, {}
asked = 0


def raw(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view[:1 << 20]):]


def say(**m):
    raw(json.dumps(dict(m, jsonrpc="2.0")).encode() + b"\n")


def result(i, **members):
    if config["modern"]:
        members.setdefault("resultType", "complete")
    say(id=i, result=members)


def text(i, t, **more):
    result(i, content=[{"type": "text", "text": t if isinstance(t, str) else json.dumps(t)}], **more)


# ---- tools: name -> function of the id, the arguments and all params ------------------

def t_echo(i, a, p):
    text(i, "%s: %s" % (config["name"], a.get("text", "")))


def t_seen(i, a, p):
    """The messages that came so far, of this method."""
    text(i, [m for m in seen if a.get("method") in (None, m.get("method"))])


def t_params(i, a, p):
    text(i, p)


def t_variable(i, a, p):
    """A variable, and how many bytes it has."""
    text(i, "%s %d" % (os.environ.get(a["name"]), len(os.environ.get(a["name"], ""))))


def t_pid(i, a, p):
    text(i, str(os.getpid()))


def t_raw(i, a, p):
    """These bytes; @ID@ is the id of the call."""
    raw(base64.b64decode(a["bytes"]).replace(b"@ID@", json.dumps(i).encode()))


def t_long(i, a, p):
    raw(b'{"jsonrpc":"2.0","result":{"content":[],"a":"')
    for _ in range(int(a["mib"])):
        raw(b"x" * (1 << 20))
    raw(b'"},"id":%s}\n' % json.dumps(i).encode())


def t_flood(i, a, p):
    line = base64.b64decode(a["line"])
    for _ in range(int(a["n"]) // 1000):
        raw(line * 1000)
    text(i, "flooded")


def t_progress(i, a, p):
    token = p.get("_meta", {}).get("progressToken")
    for n in range(a["n"]):
        say(method="notifications/progress", params={"progressToken": token, "progress": n + 1})
    text(i, "done")


def t_connect(i, a, p):
    """Connects, sends, reads to the end; other calls go on."""
    def at_once():
        try:
            with socket.create_connection((a["host"], a["port"]), a.get("timeout", 120)) as s:
                peer, got = s.getpeername()[0], b""
                s.sendall(b"x")
                s.shutdown(socket.SHUT_WR)
                while more := s.recv(4096):
                    got += more
            text(i, "end: " + got.decode() + " " + peer)
        except OSError as e:
            text(i, type(e).__name__)
    threading.Thread(target=at_once, daemon=True).start()


def t_hang(i, a, p):
    pass


def t_late(i, a, p):
    time.sleep(a["after"])
    text(i, "late")


def t_hold(i, a, p):
    """Answered by `release`, the last one first."""
    waiting.setdefault("held", []).append(i)


def t_release(i, a, p):
    for held in reversed(waiting.pop("held", [])):
        text(held, "held %s" % json.dumps(held))
    text(i, "released")


def t_ask(i, a, p):
    """A request to the client; its answer is the answer of the call."""
    global asked
    if config["modern"]:
        return ask_modern(i, a, p)
    asked += 1
    rid = a.get("id", asked)
    waiting[json.dumps(rid)] = i
    say(id=rid, method=a["method"], params=a.get("params", {}))


def ask_modern(i, a, p):
    if "inputResponses" in p:
        text(i, {"responses": p["inputResponses"], "state": p.get("requestState")})
    else:
        result(i, resultType="input_required", requestState="s-%s \u00e9" % config["name"],
               inputRequests={"one": {"method": a["method"], "params": a.get("params", {})}})


def t_poll(i, a, p):
    """Needs nothing but to be asked again, twice."""
    n = int(p.get("requestState", "0"))
    if n < a.get("rounds", 2):
        result(i, resultType="input_required", requestState=str(n + 1))
    else:
        text(i, "rounds %d" % n)


def t_cancel_ask(i, a, p):
    """Asks, and takes the question back."""
    say(id="q", method=a["method"], params=a.get("params", {}))
    say(method="notifications/cancelled", params={"requestId": "q"})
    text(i, "cancelled")


def t_late_ask(i, a, p):
    """Asks, and answers the call without waiting."""
    say(id="q", method=a["method"], params=a.get("params", {}))
    time.sleep(0.3)
    text(i, "did not wait")


def t_set(i, a, p):
    """Changes a list, and says so."""
    config[a["list"]] = a["value"]
    what = {"tools": "tools", "prompts": "prompts"}.get(a["list"], "resources")
    notify_listens("notifications/%s/list_changed" % what, {}, what + "ListChanged")
    if a.get("twice"):
        notify_listens("notifications/%s/list_changed" % what, {}, what + "ListChanged")
    text(i, "set")


def t_touch(i, a, p):
    notify_listens("notifications/resources/updated", {"uri": a["uri"]}, None)
    text(i, "touched")


def t_log(i, a, p):
    say(method="notifications/message", params=a["params"])
    text(i, "logged")


def t_say(i, a, p):
    say(**a["message"])
    text(i, "said")


def t_end_listens(i, a, p):
    for lid in list(listens):
        result(lid, _meta={META + "subscriptionId": lid})
        del listens[lid]
    text(i, "ended")


def t_exit(i, a, p):
    os._exit(int(a.get("status", 3)))


def t_kill(i, a, p):
    os.kill(os.getpid(), signal.SIGKILL)


def t_getenv(i, a, p):
    text(i, os.environ.get(a["name"], ""))


def t_shut(i, a, p):
    os.close(1)
    time.sleep(3600)


def t_stop(i, a, p):
    os.kill(os.getpid(), signal.SIGSTOP)


def t_new_task(i, a, p):
    """A task of 2026-07-28 that needs input."""
    tid = "t.%d" % (len(tasks) + 1)
    tasks[tid] = {"taskId": tid, "status": "input_required", "createdAt": "2026-01-01T00:00:00Z", "ttlMs": 1000,
                  "lastUpdatedAt": "2026-01-01T00:00:00Z"}
    result(i, **dict(tasks[tid], resultType="task"))


def t_tell_task(i, a, p):
    for rid, wanted in listens.items():
        if a["id"] in wanted.get("taskIds", []):
            say(method="notifications/tasks", params=dict(tasks[a["id"]], inputRequests=a["inputs"], _meta={
                META + "subscriptionId": rid}))
    text(i, "told")


def t_task(i, a, p):
    if "task" not in p:
        return text(i, "not a task")
    tid = "t.%d" % (len(tasks) + 1)
    tasks[tid] = {"taskId": tid, "status": "working", "ttl": None, "createdAt": "2026-01-01T00:00:00Z",
                  "lastUpdatedAt": "2026-01-01T00:00:00Z"}
    result(i, task=tasks[tid])
    say(method="notifications/tasks/status", params=tasks[tid])


TOOLS = {n[2:]: f for n, f in globals().items() if n.startswith("t_")}


# ---- methods ----------------------------------------------------------------------

def notify_listens(method, params, member):
    if not config["modern"]:
        if method != "notifications/resources/updated" or params["uri"] in subscribed:
            say(method=method, params=params)
        return
    for lid, wanted in listens.items():
        if wanted.get(member) or params.get("uri") in wanted.get("resourceSubscriptions", []):
            say(method=method, params=dict(params, _meta={META + "subscriptionId": lid}))


def own_tools():
    if config["tools"] is not None:
        return config["tools"]
    return [{"name": n, "description": (f.__doc__ or n), "inputSchema": {"type": "object"}} for n, f in TOOLS.items()]


def listing(key, items):
    def fn(i, p):
        at = int(p.get("cursor") or 0)
        if at > 0 and config["exit_page"]:
            os._exit(3)
        if config["endless"]:
            time.sleep(0.2)
            return result(i, nextCursor=str(at + 1), **{key: []})
        n = config["page"] or len(items()) or 1
        more = {"nextCursor": str(at + n)} if at + n < len(items()) else {}
        if not more and config["last_cursor"]:
            more = {"nextCursor": config["last_cursor"][0]}
        if config["modern"]:
            more.update(ttlMs=1000, cacheScope="public")
        result(i, **{key: items()[at:at + n]}, **more)
    return fn


def capabilities():
    if config["capabilities"] is not None:
        return config["capabilities"]
    return {"tools": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": True},
            "prompts": {"listChanged": True}, "logging": {}, "completions": {}}


def m_initialize(i, p):
    time.sleep(config["slow"])
    if config["modern"]:
        e = {"code": config["refuse"], "message": "no"}
        if config["refuse"] == -32022:
            e["data"] = {"supported": ["2026-07-28"], "requested": p["protocolVersion"]}
        return say(id=i, error=e)
    if config["init_raw"]:
        return raw(config["init_raw"].replace("@ID@", json.dumps(i)).encode() + b"\n")
    if config["init_error"]:
        return say(id=i, error=config["init_error"])
    more = {"instructions": config["instructions"]} if config["instructions"] else {}
    result(i, protocolVersion=p["protocolVersion"], capabilities=capabilities(),
           serverInfo={"name": config["name"], "version": "1"}, **more)


def m_discover(i, p):
    if not config["modern"]:
        return say(id=i, error={"code": -32602, "message": "Invalid request parameters"})
    more = {"instructions": config["instructions"]} if config["instructions"] else {}
    result(i, supportedVersions=["2026-07-28"], capabilities=capabilities(), ttlMs=0, cacheScope="private",
           _meta={META + "serverInfo": {"name": config["name"], "version": "1"}}, **more)


def m_listen(i, p):
    listens[i] = p["notifications"]
    say(method="notifications/subscriptions/acknowledged",
        params={"notifications": p["notifications"], "_meta": {META + "subscriptionId": i}})


def m_call(i, p):
    if p.get("name") not in TOOLS:
        return say(id=i, error={"code": -32602, "message": "no such tool: %s" % p.get("name")})
    TOOLS[p["name"]](i, p.get("arguments", {}), p)


def m_read(i, p):
    more = {"ttlMs": 5, "cacheScope": "public"} if config["modern"] else {}
    if p["uri"].endswith("/none"):
        return say(id=i, error={"code": -32002 if not config["modern"] else -32602, "message": "no such resource"})
    result(i, contents=[{"uri": p["uri"], "text": "%s has %s" % (config["name"], p["uri"])}], **more)


def m_prompt(i, p):
    result(i, messages=[{"role": "user", "content": {"type": "text", "text": "%s %s %s" % (
        config["name"], p["name"], json.dumps(p.get("arguments")))}}])


def m_complete(i, p):
    result(i, completion={"values": [config["name"], json.dumps(p["ref"], sort_keys=True)]})


def m_subscribe(i, p):
    subscribed.append(p["uri"])
    result(i)


def m_unsubscribe(i, p):
    if p["uri"] in subscribed:
        subscribed.remove(p["uri"])
    result(i)


def m_task(i, p):
    t = tasks.get(p["taskId"])
    if t is None:
        return say(id=i, error={"code": -32602, "message": "no such task"})
    result(i, **t)


def m_task_cancel(i, p):
    tasks[p["taskId"]]["status"] = "cancelled"
    m_task(i, p)


def m_task_result(i, p):
    text(i, "%s did %s" % (config["name"], p["taskId"]), _meta={META + "related-task": {"taskId": p["taskId"]}})


METHODS = {
    "initialize": m_initialize, "server/discover": m_discover, "subscriptions/listen": m_listen,
    "ping": lambda i, p: result(i), "logging/setLevel": lambda i, p: result(i),
    "tools/list": listing("tools", own_tools), "tools/call": m_call,
    "resources/list": listing("resources", lambda: config["resources"]),
    "resources/templates/list": listing("resourceTemplates", lambda: config["templates"]),
    "resources/read": m_read, "resources/subscribe": m_subscribe, "resources/unsubscribe": m_unsubscribe,
    "prompts/list": listing("prompts", lambda: config["prompts"]), "prompts/get": m_prompt,
    "completion/complete": m_complete, "tasks/get": m_task, "tasks/cancel": m_task_cancel,
    "tasks/result": m_task_result, "tasks/list": listing("tasks", lambda: list(tasks.values())),
}


def main():
    os.write(2, config["stderr"].encode())
    if config["exit"] is not None:
        os._exit(config["exit"])
    for line in sys.stdin.buffer:
        m = json.loads(line)
        seen.append(m)
        if "method" not in m:
            call = waiting.pop(json.dumps(m.get("id")), None)
            if call is not None:
                text(call, {k: m[k] for k in ("result", "error") if k in m})
        elif m["method"] == "notifications/cancelled" and m["params"].get("requestId") in listens:
            del listens[m["params"]["requestId"]]
        elif "id" not in m:
            continue
        elif m["method"] in METHODS:
            METHODS[m["method"]](m["id"], m.get("params", {}))
        else:
            say(id=m["id"], error={"code": -32601, "message": "no such method"})


main()
