"""A server that takes its time: slow_server.py [start=S] [era=modern].

Tools: echo; sleep{s}; progress{s, every, token}: works s seconds and sends progress, with the call's
token or with another one; ask{}: an elicitation, and its answer; spin{}: never answers."""
import json
import sys
import threading
import time

given = dict(a.split("=", 1) for a in sys.argv[1:])
lock = threading.Lock()
waiting = {}


def say(m):
    with lock:
        sys.stdout.write(json.dumps(dict(m, jsonrpc="2.0")) + "\n")
        sys.stdout.flush()


def text(rid, t):
    say({"id": rid, "result": {"resultType": "complete", "content": [{"type": "text", "text": t}]}})


def progress(m, a):
    token, end, n = a.get("token", m["params"].get("_meta", {}).get("progressToken")), time.time() + a["s"], 0
    while time.time() < end:
        time.sleep(a["every"])
        n += 1
        say({"method": "notifications/progress", "params": {"progressToken": token, "progress": n}})
    text(m["id"], "worked")


def ask(m, a):
    waiting["q"] = m["id"]  # before the answer can come
    say({"id": "q", "method": "elicitation/create", "params": {
        "message": "?", "requestedSchema": {"type": "object", "properties": {}}}})


def call(m):
    name, a = m["params"]["name"], m["params"].get("arguments", {})
    if name == "spin":
        return
    if name == "sleep":
        time.sleep(a["s"])
    if name in ("progress", "ask"):
        globals()[name](m, a)
    else:
        text(m["id"], name)


def handle(m):
    method, rid = m.get("method"), m.get("id")
    if method is None and rid in waiting:
        text(waiting.pop(rid), json.dumps(m.get("error") or m.get("result")))
    elif method == "initialize":
        say({"id": rid, "result": {"protocolVersion": m["params"]["protocolVersion"],
                                   "capabilities": {"tools": {}}, "serverInfo": {"name": "slow", "version": "1"}}})
    elif method == "server/discover":
        say({"id": rid, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                                   "serverInfo": {"name": "slow", "version": "1"}}})
    elif method == "tools/list":
        names = ("echo", "sleep", "progress", "ask", "spin")
        say({"id": rid, "result": {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in names]}})
    elif method == "tools/call":
        threading.Thread(target=call, args=(m,), daemon=True).start()
    elif method == "ping":
        say({"id": rid, "result": {}})


if "wait" not in given:
    time.sleep(float(given.get("start", 0)))
for line in sys.stdin:
    m = json.loads(line)
    if "wait" in given and m.get("method") == "initialize":
        time.sleep(float(given["start"]))  # it answers a ping before
    handle(m)
while waiting or threading.active_count() > 1:  # finishes its work after the end of its input
    time.sleep(0.05)
