"""kennel run: a server that ends is started again, and the agent's session goes on."""
import json
import os
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from serve_kit import ALL, SERVER, config_of, run_line  # noqa: E402

be_subreaper()
MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "io.modelcontextprotocol/clientInfo": {"name": "kit", "version": "1"}}}


def server(grants=ALL, more="", **config):
    return run_line("hub", **config) + grants + more


def scripts(s):
    """The processes of the server."""
    return [p for p, comm in descendants(s.p.pid).items() if comm.startswith("python")]


def dies(s, how="kill", **arguments):
    r = s.call(how, **arguments)
    equal(r["error"]["code"], -32000, r)
    check(wait_for(lambda: scripts(s) == [], 5) is not None, "its processes stay:", scripts(s))


def again(s, tool="echo", **arguments):
    """Repeats a call until the server may be started again; the answer."""
    end = time.time() + 20
    while time.time() < end:
        r = s.call(tool, **arguments)
        if "restarting" not in json.dumps(r):
            return r
        check(r["result"]["isError"] and r["result"]["_meta"]["kennel/refusal"]["outcome"] == "restarting", r)
        check(matches(r"^kennel: t is restarting: try again in [1-9]\d* s", r["result"]["content"][0]["text"]), r)
        time.sleep(0.2)
    check(False, "it is not started again")


def said(r):
    check("result" in r, r)
    return r["result"]["content"][0]["text"]


def seen(s, method):
    return json.loads(s.text("seen", method=method))


# ---- the session goes on ----------------------------------------------------------

@test("a server that dies is started again by the next call; open calls end with an error, and the agent greets once", 120)
def dies_once():
    s = kennel_run(server())
    s.initialize(capabilities={"roots": {}})
    s.send({"jsonrpc": "2.0", "id": "open", "method": "tools/call", "params": {"name": "hang", "arguments": {}}})
    first, = scripts(s)
    dies(s)
    equal([m["error"]["code"] for m in s.lines if m.get("id") == "open"], [-32000])
    r = s.call("echo")  # at once: too early
    check(matches(r"^kennel: t is restarting: try again in 1 s", r["result"]["content"][0]["text"]), r)
    equal(said(again(s, text="on")), "hub: on")
    second, = scripts(s)
    check(first != second, first)
    greeting, = seen(s, "initialize")
    equal(greeting["params"], {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}},
                               "clientInfo": {"name": "kit", "version": "1"}})
    check(matches(r"^kennel-[0-9a-f]{16}-\d+$", greeting["id"]), greeting)
    equal(len(seen(s, "notifications/initialized")), 1)
    equal([m for m in s.lines if "serverInfo" in json.dumps(m)], [], "its greeting is not the agent's")
    s.p.stdin.close()
    check(wait_for(lambda: s.p.poll() is not None, 5) is not None, "kennel did not end")
    equal((s.p.returncode, descendants(os.getpid())), (0, {p: c for p, c in descendants(os.getpid()).items()
                                                            if c == "kennel-recorder"}))
    equal(audit_verify().returncode, 0)


@test("the log has both processes, and what kennel sent of its own", 120)
def logged():
    s = kennel_run(server())
    s.initialize()
    dies(s)
    again(s)
    s.close()
    mine = [e for e in audit() if e["session"] == audit()[-1]["session"]]
    leash = [e["kind"] for e in mine if e["writer"]["role"] == "leash" and e["kind"] in ("start", "stop")]
    equal(leash, ["start", "stop", "start", "stop"])
    stops = [e["fields"] for e in mine if e["kind"] == "stop" and e["writer"]["role"] == "leash"]
    equal([(f.get("signal"), f.get("status")) for f in stops], [(9, None), (None, 0)])
    equal([(e["fields"]["method"], e["fields"]["outcome"]) for e in mine if e["fields"].get("direction") == "kennel"],
          [("initialize", "forwarded"), ("initialize", "ok")])
    equal(audit_verify().returncode, 0)


@test("what the agent has set is set again: log level, subscriptions", 120)
def replayed():
    s = kennel_run(server())
    s.initialize()
    for level in ("debug", "error"):
        s.request("logging/setLevel", {"level": level})
    for n in range(4):
        s.request("resources/subscribe", {"uri": "r://%d" % n})
    s.request("resources/unsubscribe", {"uri": "r://2"})
    dies(s)
    again(s)
    equal([m["params"]["level"] for m in seen(s, "logging/setLevel")], ["error"])
    equal([m["params"]["uri"] for m in seen(s, "resources/subscribe")], ["r://0", "r://1", "r://3"])
    s.lines.clear()
    s.call("touch", uri="r://3")
    equal([m["method"] for m in s.lines], ["notifications/resources/updated"])


@test("a server that exits with an error, and one that closes its output and stays, are started again", 120)
def other_ends():
    s = kennel_run(server())
    s.initialize()
    dies(s, "exit", status=7)
    equal(said(again(s, text="a")), "hub: a")
    first = scripts(s)
    dies(s, "shut")
    equal(said(again(s, text="b")), "hub: b")
    check(len(scripts(s)) == 1 and scripts(s) != first, first, scripts(s))


@test("a server that exits with status 0 has ended the session")
def decides():
    s = kennel_run(server())
    s.initialize()
    s.call("exit", status=0)
    check(wait_for(lambda: s.p.poll() is not None, 5) is not None, "kennel did not end")
    equal(s.p.returncode, 0)


@test("a server that dies before it has answered ends the session, as before")
def never_answered():
    s = kennel_run(server(exit=9))
    r = s.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}})
    equal(r["error"]["code"], -32000)
    check(wait_for(lambda: s.p.poll() is not None, 5) is not None, "kennel did not end")


@test("2026-07-28: nothing is replayed", 120)
def modern():
    s = kennel_run(server(modern=True))
    ask = lambda name, **a: s.request("tools/call", dict(MODERN, name=name, arguments=a))  # noqa: E731
    equal(said(ask("echo", text="a")), "hub: a")
    equal(ask("kill")["error"]["code"], -32000)
    check(wait_for(lambda: "restarting" not in json.dumps(ask("echo", text="b")), 10) is not None, "not again")
    got = json.loads(said(ask("seen")))
    equal({m["method"] for m in got}, {"tools/call"})


@test("a question of the dead process is taken back, and its answer is dropped", 120)
def question():
    s = kennel_run(server())
    s.initialize(capabilities={"elicitation": {}})
    s.send({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {
        "name": "ask", "arguments": {"method": "elicitation/create", "params": {"message": "?"}}}})
    q = s.message()
    equal(q["method"], "elicitation/create")
    os.kill(scripts(s)[0], signal.SIGKILL)
    s.wait("a")
    taken = [m for m in s.lines if m.get("method") == "notifications/cancelled"]
    if not taken:
        taken = [s.message()]
    equal([m["params"]["requestId"] for m in taken], [q["id"]])
    s.send({"jsonrpc": "2.0", "id": q["id"], "result": {"action": "accept"}})
    again(s)
    equal([m for m in seen(s, None) if "result" in m], [], "the new process got the old answer")


@test("an answer to the dead process that comes late is not taken for one to the next process, which uses the id again", 120)
def question_again():
    ask = lambda rid: {"jsonrpc": "2.0", "id": rid, "method": "tools/call", "params": {  # noqa: E731
        "name": "ask", "arguments": {"method": "elicitation/create", "params": {"message": "?"}, "id": 1}}}
    s = kennel_run(server())
    s.initialize(capabilities={"elicitation": {}})
    s.send(ask("a"))
    equal(s.message()["id"], 1)
    os.kill(scripts(s)[0], signal.SIGKILL)
    s.wait("a")
    again(s)
    s.lines.clear()
    s.send(ask("b"))  # the agent may still answer 1
    within("still in use", said(s.wait("b")))
    equal([m for m in s.lines if m.get("method") == "elicitation/create"], [], "it was asked")
    s.send({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {"of": "the dead"}}})
    s.send(ask("c"))  # it has answered: the id is free
    equal(s.message()["id"], 1)
    s.send({"jsonrpc": "2.0", "id": 1, "result": {"action": "decline"}})
    equal(json.loads(said(s.wait("c"))), {"result": {"action": "decline"}})
    absent("the dead", json.dumps(seen(s, None)))


@test("`timeout idle` does not end a session while its server is started again; after that it does", 120)
def idle_restart():
    s = changes("    timeout idle 1s\n", slow=3)
    s.initialize()
    dies(s)
    time.sleep(0.6)  # the backoff, and less than the limit
    equal(said(s.call("echo", text="a")), "hub: a")
    check(wait_for(lambda: s.p.poll() is not None, 10) is not None, "control: it is idle now")


@test("subscriptions are kept up to a mebibyte in all; a longer one is lost with its process, and the others are not", 120)
def long_subscriptions():
    s = kennel_run(server())
    s.initialize()
    for uri, n in (("r://a", 1), ("r://b", 1 << 20), ("r://c", 600 << 10), ("r://d", 600 << 10), ("r://e", 1)):
        equal(s.request("resources/subscribe", {"uri": uri, "x": "x" * n})["result"], {})
    s.request("resources/unsubscribe", {"uri": "r://c"})
    equal(s.request("resources/subscribe", {"uri": "r://f", "x": "x" * (600 << 10)})["result"], {})
    dies(s)
    again(s)
    equal([m["params"]["uri"] for m in seen(s, "resources/subscribe")], ["r://a", "r://e", "r://f"])


# ---- approvals ---------------------------------------------------------------------

def questions(s):
    r = run([KENNEL, "approve", "list", "--json"])
    equal(r.returncode, 0, r.stderr)
    return [q for q in map(json.loads, r.stdout.decode().splitlines()) if q["id"].startswith("%d-" % s.p.pid)]


def allow(s, *more):
    check(wait_for(lambda: questions(s) != [], 20) is not None, "no question")
    q, = questions(s)
    equal(run([KENNEL, "approve", "allow", q["id"]] + list(more)).returncode, 0)
    return q


def ask_tool(s, **arguments):
    s.n += 1
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": "echo", "arguments": arguments}})
    return s.n


@test("an approval for the session outlives the process; a pending one ends with it, and so does one for once", 120)
def approvals():
    s = kennel_run(server("    tool allow kill\n    tool ask echo\n"))
    s.initialize()
    rid = ask_tool(s, text="a")
    allow(s, "--session")
    equal(said(s.wait(rid)), "hub: a")
    pending = ask_tool(s, text="b")
    check(wait_for(lambda: questions(s) != [], 20) is not None, "no question")
    dies(s)
    equal([m["error"]["code"] for m in s.lines if m.get("id") == pending], [-32000])
    equal(questions(s), [], "what waited for the dead process")
    equal(said(again(s, text="a")), "hub: a", "no question")
    rid = ask_tool(s, text="b")
    allow(s)
    equal(said(s.wait(rid)), "hub: b")


def secret_server(approve):
    with open(TMP + "/value", "w") as f:
        f.write("r3start-s3ntinel-%d\n" % os.getpid())
    os.chmod(TMP + "/value", 0o600)
    return server(more="    secret GH from file %s/value { approve %s }\n" % (TMP, approve))


@test("S1-66 a secret approved for the session is given to the next process without a question, and is redacted", 120)
def secret_session():
    s = kennel_run(secret_server("session"))
    s.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}})
    s.n = 1
    allow(s, "--session")
    s.wait(1)
    dies(s)
    equal(said(again(s, "getenv", name="GH")), "***")


@test("a secret approved once is asked about again by the next process; a denied one leaves the server down", 120)
def secret_once():
    s = kennel_run(secret_server("session"))
    s.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}})
    s.n = 1
    allow(s)
    s.wait(1)
    dies(s)
    time.sleep(1)
    rid = ask_tool(s, text="a")
    allow(s)
    equal(said(s.wait(rid)), "hub: a")
    dies(s)
    time.sleep(1.5)
    rid = ask_tool(s, text="b")
    check(wait_for(lambda: questions(s) != [], 20) is not None, "no question")
    equal(run([KENNEL, "approve", "deny", questions(s)[0]["id"]]).returncode, 0)
    within("a person denied its use", said(s.wait(rid)))
    equal(s.p.poll(), None)


# ---- limits -------------------------------------------------------------------------

@test("five ends in five minutes are a crash loop: the next attempt is five minutes away, and kennel stays", 120)
def crash_loop():
    s = kennel_run(server())
    s.initialize()
    for n in range(5):
        dies(s) if n == 0 else again(s, "kill")
        check(wait_for(lambda: scripts(s) == [], 5) is not None, scripts(s))
        time.sleep(0.1)
    text = said(s.call("echo"))
    check(matches(r"try again in (29\d|300) s", text), text)
    equal(s.p.poll(), None)
    r = s.request("tools/list")
    equal((r["error"]["code"], "restarting" in r["error"]["message"]), (-32000, True), "a request that is no call")
    s.p.stdin.close()
    check(wait_for(lambda: s.p.poll() is not None, 3) is not None, "kennel did not end")


def changes(more="", **later):
    """A server whose later processes have another configuration."""
    d = tempfile.mkdtemp(prefix="once-", dir=TMP)
    os.chmod(d, 0o755)
    if os.geteuid() == 0:
        os.chown(d, 65534, 65534)
    # the first process finds no file and makes it; the second one has no resources
    body = (("    user nobody\n" if os.geteuid() == 0 else "") + "    run /bin/sh -c \"if test -e $0/was; then exec /usr/bin/python3 $1 $2; fi; : > $0/was; exec "
            "/usr/bin/python3 $1 $3\" %s %s\n    write %s\n    read %s\n    exec allow /usr/bin/python3 **\n"
            "    exec allow /bin/sh **\n" % (d, words(SERVER, config_of("hub", **later), config_of("hub")), d,
                                            words(os.path.dirname(SERVER))))
    return kennel_run(body + ALL + more)


@test("a process that agrees to something else than the first one ends the session", 120)
def another():
    s = changes(capabilities={"tools": {}})
    s.initialize()
    dies(s)
    r = again(s)
    within("another protocol version or other capabilities", r["error"]["message"])
    check(wait_for(lambda: s.p.poll() is not None, 5) is not None, "kennel did not end")


@test("a process that answers the replayed greeting with an error, or with what cannot be read, counts as an end", 120)
def bad_greeting():
    for later, in ({"init_error": {"code": -32603, "message": "not today"}},), ({"init_raw": '{"id":@ID@,"jsonrpc":"2.0","result":{]}'},):
        s = changes(**later)
        s.initialize()
        dies(s)
        time.sleep(1)
        text = said(s.call("echo"))
        check(matches(r"t is restarting: try again in [1-3] s", text), text)
        within("restarting", said(s.call("echo")))
        check(wait_for(lambda: scripts(s) == [], 5) is not None, scripts(s))
        check(s.close() is not None, "kennel did not end")


@test("a secret from the environment: kennel keeps no copy, so the session ends with its server")
def from_env():
    s = kennel_run(server(more="    secret TOKEN from env AGENT_TOKEN\n"), env={"AGENT_TOKEN": "Zq7-%d-mmmmmmmmmmm" % os.getpid()})
    s.initialize()
    equal(s.call("kill")["error"]["code"], -32000)
    check(wait_for(lambda: s.p.poll() is not None, 5) is not None, "kennel did not end")
    equal(s.p.returncode, 128 + 9)


@test("end of file while the server is down, and while it is started: nothing is left", 120)
def leaves():
    for wait in (0.0, 0.9):
        s = kennel_run(server(slow=2 if wait else 0))
        s.initialize()
        dies(s)
        if wait:
            time.sleep(wait)
            s.send({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "echo", "arguments": {}}})
            check(wait_for(lambda: scripts(s) != [], 5) is not None, "it is not started")
        s.p.stdin.close()
        check(wait_for(lambda: s.p.poll() is not None, 5) is not None, "kennel did not end")
        reap()
        equal([c for c in descendants(os.getpid()).values() if c != "kennel-recorder"], [])


@test("kennel is killed: the process that starts servers ends too", 60)
def killed():
    s = kennel_run(server())
    s.initialize()
    dies(s)
    again(s)
    s.p.send_signal(signal.SIGKILL)
    reap()
    check(wait_for(lambda: (reap(), [c for c in descendants(os.getpid()).values() if c != "kennel-recorder"])[1] == [],
                   5) is not None, descendants(os.getpid()))


if __name__ == "__main__":
    main()
