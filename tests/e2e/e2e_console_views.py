"""What the API of the console shows: servers, secrets, the log."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from console_kit import *  # noqa: E402,F403

HOSTILE = "<img src=x onerror=alert(1)>\u202e\"'&\\u0000"


def policies(**more):
    os.makedirs(HOME + "/policies", exist_ok=True)
    for name, body in more.items():
        with open(HOME + "/policies/%s.kennel" % name, "w") as f:
            f.write("server %s {\n    run %s\n%s}\n" % (name, words(TOY), body))


def server(c, name):
    status, value = c.json("GET", "mcp")
    equal(status, 200, value)
    found = [s for s in value["servers"] if s["name"] == name]
    equal(len(found), 1, value)
    return found[0]


@test("S2-52 S2-56 GET /api/mcp lists what kennel server list does, with the tools of each server")
def lists():
    policies(alpha="    tool allow echo\n    tool ask line\n", beta="    tool allow echo\n")
    with open(HOME + "/mcp-servers.json", "w") as f:
        json.dump({"mcpServers": {"everywhere": {"command": TOY}}}, f)
    s = kennel_run("    run %s\n    tool allow echo\n" % words(TOY), name="alpha")
    s.initialize()
    s.close()
    c = Console().login()
    status, value = c.json("GET", "mcp")
    equal((status, list(value)), (200, ["servers"]))
    want = json.loads(run([KENNEL, "server", "list", "--json"]).stdout)
    equal([{k: v for k, v in s.items() if k != "tool_list"} for s in value["servers"]], want)
    equal([s["name"] for s in value["servers"]], ["alpha", "beta", "everywhere"])
    equal([s["scope"] for s in value["servers"]], ["user", "user", "global"])
    for s in value["servers"]:
        shown = json.loads(run([KENNEL, "server", "show", s["name"], "--json"]).stdout)
        equal(s["tool_list"], shown["tool_list"], s["name"])
        check(s["status"] in ("disconnected", "connecting", "connected", "error"), s)
        check(s["discovery_status"] in ("pending", "connected", "unreachable", "error"), s)


@test("S2-60 a person disables and enables a server; a name that is an option or a path changes nothing")
def toggles():
    policies(alpha="    tool allow echo\n")
    c = Console().login()
    for on in (False, True):
        equal(c.json("POST", "mcp/alpha", {"enabled": on}), (200, {}))
        s = server(c, "alpha")
        equal((s["enabled"], s["reason"]), (on, None if on else "disabled"))
    refused(c.json("POST", "mcp/nothing", {"enabled": True}), 400, "nothing")
    for name in ("--help", "-x", "", "x" * 300):
        refused(c.json("POST", "mcp/" + name, {"enabled": False}), 400, "a name is empty, longer than 255 bytes")
    for name in ("a/b", "a%20b", "a%00", "a%0a", "%ff", "x" * 200, "alpha%3Bid", "../alpha"):
        refused(c.json("POST", "mcp/" + name, {"enabled": False}), 400, "no server")
    for body in ({}, {"enabled": 1}, {"enabled": "true"}, [], {"enabled": None}):
        refused(c.json("POST", "mcp/alpha", json.dumps(body).encode()), 400, "`enabled`, true or false")
    check(server(c, "alpha")["enabled"])
    # and without a login
    c.key = "0" * 32
    refused(c.json("POST", "mcp/alpha", {"enabled": False}), 401)
    refused(c.json("GET", "mcp"), 401)


@test("GET /api/log: the records of kennel audit log, also of a text that is meant to break a page")
def log():
    policies(alpha="    tool allow echo\n")
    s = kennel_run("    run %s\n    tool allow echo say\n" % words(TOY), name="alpha")
    s.initialize()
    s.call(HOSTILE)
    s.close()
    c = Console().login()
    status, value = c.json("GET", "log")
    equal((status, list(value)), (200, ["log", "records"]))
    want = [json.loads(line) for line in run([KENNEL, "audit", "log", "--json", "-n", "500"]).stdout.splitlines()]
    # the recorder adds its own end some time after the session's
    equal(value["records"], want[1:1 + len(value["records"])])
    check(len(value["records"]) > 3, value)
    check(any(HOSTILE in json.dumps(r, ensure_ascii=False) or "onerror" in json.dumps(r) for r in value["records"]))


@test("GET /api/secrets: what kennel secret list prints, and no value")
def secrets():
    os.makedirs(HOME, exist_ok=True)
    c = Console().login()
    status, value = c.json("GET", "secrets")
    equal((status, list(value)), (200, ["secrets"]), value)
    equal(value["secrets"], json.loads(run([KENNEL, "secret", "list", "--json", "--all"]).stdout))


@test("a command that fails is an error with the line to run; many requests at once are answered or refused")
def failing():
    import threading
    policies(alpha="    tool allow echo\n")
    c = Console().login()
    got = []
    threads = [threading.Thread(target=lambda: got.append(c.json("GET", "mcp")[0])) for _ in range(24)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(set(got) <= {200, 503} and got.count(200) >= 8, got)
    equal(c.json("GET", "mcp")[0], 200)
    # a client that leaves while a command runs
    import socket
    for _ in range(20):
        s = socket.create_connection(("127.0.0.1", c.port))
        s.sendall(("GET /api/mcp HTTP/1.1\r\nHost: %s\r\nCookie: kennel-%d=%s\r\nX-Kennel-Key: %s\r\n\r\n" %
                   (c.host(), c.port, c.cookie, c.key)).encode())
        s.close()
    check(wait_for(lambda: c.json("GET", "mcp")[0] == 200, LONG))
    # a log that cannot be read
    shutil.rmtree(HOME + "/audit", ignore_errors=True)
    equal(c.json("GET", "log"), (200, {"log": {"size": 0}, "records": []}), "no log yet")
    open(HOME + "/audit", "w").close()
    status, value = c.json("GET", "log")
    equal(status, 502, value)
    within("`kennel audit log` has failed", json.dumps(value))
    os.unlink(HOME + "/audit")


if __name__ == "__main__":
    main()
