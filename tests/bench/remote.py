"""A server at a URL: what a call costs without kennel and with it, from a bare client and from that of the SDK, and a
large answer beside curl."""
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

import kit

SERVER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/e2e/remote_server.py"
MEGABYTES = 10


def p99(xs):
    return sorted(xs)[min(len(xs) - 1, int(len(xs) * 0.99))]


def message(rid, tool, **arguments):
    return {"jsonrpc": "2.0", "id": rid, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


class Far:
    """The server of the tests, as a process of its own."""

    def __init__(self):
        self.p = kit.start([sys.executable, SERVER], stdout=subprocess.PIPE)
        self.port = int(self.p.stdout.readline())
        self.url = "http://localhost:%d/mcp" % self.port


class Direct:
    """The same requests over one connection of Python's http.client."""

    def __init__(self, mcp):
        self.c = http.client.HTTPConnection("127.0.0.1", mcp.port)
        self.headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        r = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})
        self.headers["Mcp-Session-Id"] = r.getheader("Mcp-Session-Id")

    def post(self, m):
        self.c.request("POST", "/mcp", json.dumps(m).encode(), self.headers)
        r = self.c.getresponse()
        r.data = r.read()
        return r


def sealed(mcp):
    p = kit.policy("%s    remote %s to loopback\n    tool allow *\n    limit output 16M\n" % (
        "    user nobody\n" if os.geteuid() == 0 else "", mcp.url), "far")
    kit.run([kit.KENNEL, "policy", "compile", p, "-o", p + ".sealed"])
    return [kit.KENNEL, "run", "far", "--policy", p + ".sealed"]


def sdk(command, n):
    """The official client (TypeScript), with each call's time taken inside of it."""
    plan = kit.TMP + "/plan.json"
    with open(plan, "w") as f:
        json.dump({"steps": [{"do": "time", "name": "echo", "arguments": {"text": "x"}, "n": n}]}, f)
    r = kit.run([kit.NODE, kit.STAGE + "/client.mjs", plan] + command, timeout=300)
    kit.check(r.returncode == 0, r.stderr[-800:])
    return json.loads(r.stdout)["results"][0]["result"]


def calls(n, call):
    took = []
    for _ in range(n // 10):
        call()
    for _ in range(n):
        t0 = time.perf_counter_ns()
        call()
        took.append((time.perf_counter_ns() - t0) / 1000)
    return took


def latency_rows(mcp, s, command, n):
    d = Direct(mcp)
    ways = {"bare client": (calls(n, lambda: d.post(message(1, "echo", text="x"))), calls(n, lambda: s.text("echo", text="x")))}
    if os.path.exists(kit.NODE):
        ways["client of the SDK"] = (sdk([mcp.url], n), sdk(command, n))
    else:
        print("skipped: the client of the SDK: node is not here", file=sys.stderr)
    print("## A call of a server at a URL\n\n| client | directly, median | p99 | with kennel, median | p99 | added |\n"
          "| --- | --- | --- | --- | --- | --- |")
    for what, (direct, kennel) in ways.items():
        a, b = statistics.median(direct), statistics.median(kennel)
        print("| %s | %.1f µs | %.1f µs | %.1f µs | %.1f µs | %.1f µs |" % (what, a, p99(direct), b, p99(kennel), b - a))
    print()
    return d.headers["Mcp-Session-Id"]


def curl(mcp, session):
    command = ["curl", "-sN", "-H", "Content-Type: application/json", "-H", "Mcp-Session-Id: " + session,
               "-H", "Accept: application/json, text/event-stream",
               "-d", json.dumps(message(1, "large", megabytes=MEGABYTES)), "-o", "/dev/null", mcp.url]
    kit.check(subprocess.run(command, timeout=60).returncode == 0, "curl")


def throughput_rows(mcp, s, session, n):
    ways = {"kennel": lambda: s.call("large", 60, megabytes=MEGABYTES)}
    if shutil.which("curl"):
        ways = {"curl": lambda: curl(mcp, session), **ways}
    else:
        print("skipped: curl is not here", file=sys.stderr)
    print("## %d MB of events from a server at a URL\n\n| what | MB/s |\n| --- | --- |" % MEGABYTES)
    for what, way in ways.items():
        took = statistics.median(calls(n, way)) / 1e6
        print("| %s | %.0f |" % (what, MEGABYTES / took))
    print()


def rows(quick):
    mcp = Far()
    command = sealed(mcp)
    s = kit.Mcp(command)
    s.initialize()
    session = latency_rows(mcp, s, command, 200 if quick else 2000)
    throughput_rows(mcp, s, session, 5 if quick else 20)
    s.close()
