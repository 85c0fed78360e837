"""What the API of the console shows: servers, secrets, the log."""
import json
import os
import re
import shutil
import sys
import time

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


@test("the console enables the server that its page has shown: one that was changed since is 409, and looked at again")
def enables_what_was_shown():
    policies(fresh="    tool allow echo\n")
    c = Console().login()

    def enable(name, **more):
        return c.json("POST", "mcp/" + name, dict({"enabled": True}, **more))
    equal(server(c, "fresh")["updated_gen"], None)
    equal(enable("fresh", generation=0), (200, {}), "the registry has no row of it")
    refused(enable("fresh", generation=0), 409, "look at it again")
    for command in ("/bin/good", "/bin/evil"):
        equal(run([KENNEL, "server", "add", "mine", "--", command]).returncode, 0)
        equal(c.json("POST", "mcp/mine", {"enabled": False, "generation": 0}), (200, {}), "what disables is not refused")
        if command == "/bin/good":
            drawn = server(c, "mine")
    refused(enable("mine", generation=drawn["updated_gen"]), 409, "is not of generation")
    equal((server(c, "mine")["enabled"], server(c, "mine")["command"]), (False, "/bin/evil"))
    for wrong in ("7", True, -1, 1.5, 10 ** 30, {}):
        refused(enable("mine", generation=wrong), 400)
    equal(enable("mine", generation=server(c, "mine")["updated_gen"]), (200, {}), "the control")
    check(server(c, "mine")["enabled"])
    records = [e["fields"] for e in audit() if e["kind"] == "registry" and e["fields"].get("name") == ["mine"]]
    equal({(e["action"], e["channel"]) for e in records}, {("add", "command"), ("disable", "console"), ("enable", "console")})
    for kind in ("activity", "access"):
        report = run([KENNEL, "audit", "report", "--kind", kind]).stdout.decode()
        parts = dict(re.findall(r"<h2[^>]*>([^<]*)</h2>(.*?)</table>", report, re.S))
        check(re.search(">allow<.*?action=login<", parts["Console"], re.S), parts["Console"])
        for action in ("action=add", "action=enable"):
            check(re.search("source=person " + action + "[ <]", parts["Configured servers"]), parts["Configured servers"])
    equal(run([KENNEL, "server", "remove", "mine"]).returncode, 0)
    os.unlink(HOME + "/policies/fresh.kennel")


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


@test("POST /api/log: pages and filters are those of kennel audit log; verified rows, and an altered log, are said to be so", 180)
def log_pages():
    policies(alpha="    tool allow echo\n    tool deny say\n", beta="    tool allow echo\n")
    for name in ("beta", "alpha"):
        s = kennel_run("    run %s\n    tool allow echo\n" % words(TOY), name=name)
        s.initialize()
        for i in range(5 if name == "beta" else 600):
            s.call("echo", text="mark-%d." % i)
        s.call("say")
        s.close()
    c = Console().login()

    def page(**what):
        status, value = c.json("POST", "log", what)
        equal(status, 200, value)
        return value

    newest = page()["records"]
    equal(len(newest), 500)
    equal(c.json("GET", "log")[1]["records"], newest)
    older = page(before=str(newest[0]["idx"]))["records"]
    check(len(older) > 100, len(older))
    equal([r["idx"] for r in older + newest], sorted({r["idx"] for r in older + newest}))
    equal([r["idx"] for r in page(after=str(newest[-3]["idx"]))["records"]], [r["idx"] for r in newest[-2:]])
    equal(page(after=str(newest[-1]["idx"]))["records"], [])
    calls = page(server="beta", kind="call", verdict="allow")["records"]
    equal({(r["fields"]["server"], r["kind"], r["fields"]["verdict"]) for r in calls}, {("beta", "call", "allow")})
    check(page(server="beta", verdict="deny")["records"], page(verdict="deny"), page(contains="say"))
    equal(page(server="gamma")["records"], [])
    found = page(contains='"say"')["records"]
    check(found and all("say" in json.dumps(r) for r in found), found)
    for what in ({"kind": "--help"}, {"verdict": "x"}, {"before": "-1"}, {"after": "1 2"}, {"before": "0"}):
        refused(c.json("POST", "log", what), 400, "invalid filter")
    for what in ({"kind": 1}, {"server": None}, {"server": "x" * 300}, [], "x"):
        refused(c.json("POST", "log", json.dumps(what).encode()), 400, "an object with filters")
    refused(c.json("POST", "log", {"server": "a\nb"}), 400, "control character")
    equal(page(contains="--all --log=/etc")["records"], [], "part of the option's value")
    sure = page(verified=True)
    check(sure["log"]["verified"], sure["log"])
    equal([r for r in sure["records"] if r["idx"] <= newest[-1]["idx"]], newest[-len(sure["records"]):])
    check(not page()["log"]["verified"])
    # a record that was altered; the control: the same without a change
    check(wait_for(lambda: "kennel-recorder" not in descendants(os.getpid()).values(), LONG))
    for new, status in ((b"echo", 200), (b"ecno", 409)):
        # who closes the log last takes the -wal away
        for path in [HOME + "/audit/" + n for n in os.listdir(HOME + "/audit") if n.startswith("audit.db")]:
            try:
                f = open(path, "r+b")
            except FileNotFoundError:
                continue
            with f:
                for m in re.finditer(rb'"name":\["(echo)"\]', f.read()):
                    f.seek(m.start(1))
                    f.write(new)
        got = c.json("POST", "log", {"verified": True})
        equal(got[0], status, (got, run([KENNEL, "audit", "verify"]).stdout))
    refused(got, 409, "names what is wrong")
    shutil.rmtree(HOME + "/audit", ignore_errors=True)


@test("10,000 rows of the log are shown in pages of 500, each row once", 240)
def rows():
    policies(alpha="    tool allow echo\n")
    s = kennel_run("    run %s\n    tool allow echo\n" % words(TOY), name="alpha")
    s.initialize()
    for _ in range(50):  # each call has two records
        for _ in range(100):
            s.n += 1
            s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}})
        s.wait(s.n, LONG)
    s.close()
    c = Console().login()
    began = time.time()
    status, value = c.json("GET", "log")
    first = time.time() - began
    equal((status, len(value["records"])), (200, 500))
    seen, pages = [r["idx"] for r in value["records"]][::-1], 1
    check(value["log"]["size"] > 10000, value["log"])
    while True:
        status, value = c.json("POST", "log", {"before": str(seen[-1]), "server": "alpha"})
        equal(status, 200, value)
        if not value["records"]:
            break
        seen += [r["idx"] for r in value["records"]][::-1]
        pages += 1
    check(len(seen) > 10000 and seen == sorted(set(seen), reverse=True), len(seen))
    print("# %d rows in %d pages: the first %.2f s, all %.2f s" % (len(seen), pages, first, time.time() - began), flush=True)


@test("GET /api/secrets: what kennel secret list prints, and no value")
def secrets():
    os.makedirs(HOME, exist_ok=True)
    c = Console().login()
    status, value = c.json("GET", "secrets")
    equal((status, list(value)), (200, ["secrets"]), value)
    equal(value["secrets"], json.loads(run([KENNEL, "secret", "list", "--json", "--all"]).stdout))


@test("GET /api/versions: what kennel secret versions prints, also of a value that was replaced; null while the vault is locked")
def versions():
    c = Console().login()
    path, passphrase, values = "team/github/token", "one long passphrase", ("ghs-first-value-7Qx2", "ghs-second-value-9Kp4")

    def secret(*words, stdin=""):
        r = run([KENNEL, "secret"] + list(words), stdin=stdin)
        equal(r.returncode, 0, r.stderr)
        return r.stdout.decode()
    equal(c.json("GET", "versions"), (200, {"versions": None}), "no vault")
    secret("init", "--stdin", stdin=passphrase)
    secret("set", path, "--stdin", stdin=values[0])
    secret("rotate", path, "--stdin", stdin=values[1])
    status, value = c.json("GET", "versions")
    equal((status, value["versions"]), (200, json.loads(secret("versions", "--json"))))
    equal([(v["version"], v["replaced"] is None) for v in value["versions"]], [(1, False), (2, True)])
    for v in values:
        absent(v.encode(), json.dumps(value).encode())
    secret("lock")
    equal(c.json("GET", "versions"), (200, {"versions": None}), "locked")


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


@test("the pages: one HTML page, its styles and scripts, all of its own and together under 100 kB")
def small():
    c = Console()
    status, headers, html = c.request("GET", "/")
    equal(status, 200)
    parts = re.findall(r'(?:src|href)="(/[^"#]+)"', html.decode())
    check(len(parts) >= 8, parts)
    equal(re.findall(r'(?:src|href)="(?![/#])[^"]*"', html.decode()), [], "nothing from elsewhere, nothing inline")
    size = len(html)
    for path in parts:
        status, headers, text = c.request("GET", path)
        equal(status, 200, path)
        size += len(text)
    check(size < 100000, size)


if __name__ == "__main__":
    main()
