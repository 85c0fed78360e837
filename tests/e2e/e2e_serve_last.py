"""The end of the agent's input in kennel serve: what is under way is answered, nobody is asked any more."""
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_kit import *  # noqa: E402,F403
from kit import *  # noqa: E402,F403

HERE = os.path.dirname(os.path.abspath(__file__))
SLOW = HERE + "/slow_server.py"
HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}}}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
be_subreaper()


def slow(more="", *args, tools="allow *", name="slow"):
    return "server %s {\n    run %s\n    read %s\n    tool %s\n%s\n}\n" % (
        name, words("/usr/bin/python3", "-u", SLOW, *args), words(HERE), tools, more)


def call(rid, name, _meta=None, **arguments):
    params = {"name": name, "arguments": arguments}
    if _meta is not None:
        params["_meta"] = _meta
    return {"jsonrpc": "2.0", "id": rid, "method": "tools/call", "params": params}


def piped(text, *messages, seconds=60, command=None):
    """printf ... | kennel serve: the answers by id, all messages, the time it took."""
    lines = b"".join(json.dumps(m).encode() + b"\n" for m in messages)
    t0 = time.time()
    r = run((command or [KENNEL, "serve"]) + ["--policy", policies(text)], stdin=lines, timeout=seconds)
    got = [json.loads(line) for line in r.stdout.splitlines()]
    equal(r.returncode, 0, r.stderr)
    return {m["id"]: m for m in got if "id" in m and "method" not in m}, got, time.time() - t0


def listed():
    return run([KENNEL, "approve", "list"]).stdout


@test("printf | kennel serve: calls of a server that starts slowly, lists, and a call in a process of its own are answered")
def pipe():
    got, _, t = piped(slow("    timeout call 5s start 20s", "start=3"), HELLO, READY, call(1, "slow.echo"), call(2, "slow.sleep", s=2),
                      {"jsonrpc": "2.0", "id": 3, "method": "tools/list"},
                      call(4, "mcp_query", server="slow", tool="echo"), call(5, "none.such"))
    equal(sorted(got), [0, 1, 2, 3, 4, 5])
    equal(got[1]["result"]["content"][0]["text"], "echo")
    equal(got[2]["result"]["content"][0]["text"], "sleep")
    equal(got[4]["result"]["structuredContent"]["state"], "ok", got[4])
    check(2.5 < t < 20, "it ends with the last answer: %.1f" % t)


@test("the same of kennel run --secrets-tools, of an agent of 2026-07-28, and without a last newline")
def pipe_others():
    got, _, _ = piped(slow("    timeout call 5s start 20s", "start=2"), HELLO, READY, call(1, "echo"),
                      command=[KENNEL, "run", "slow", "--secrets-tools"])
    equal(got[1]["result"]["content"][0]["text"], "echo", got)
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}, META + "clientInfo": {"name": "t", "version": "1"}}
    got, _, _ = piped(slow("    timeout call 5s start 20s", "start=2"), call(1, "slow.echo", _meta=meta))
    equal(got[1]["result"]["content"][0]["text"], "echo", got)


@test("a call under way at the end of the input ends at its deadline")
def deadline():
    got, _, t = piped(slow("    timeout call 3s"), HELLO, READY, call(1, "slow.spin"))
    equal(got[1]["error"]["code"], -32001, got)
    check(2.5 < t < 12, t)


@test("and after 30 s whatever its deadline is, also one whose server does not start", seconds=120)
def most():
    if AS != "user":
        skip("runs once, as the user: it is long, and no rule of it asks who runs kennel")
    got, _, t = piped(slow("    timeout call 10m start 10m") + slow("    timeout call 10m start 10m", "start=300", name="late"),
                      HELLO, READY, call(1, "slow.spin"), call(2, "late.echo"), call(3, "mcp_query", server="slow", tool="spin"))
    equal(got[1]["error"]["code"], -32001, got)
    within("30 s", got[1]["error"]["message"])
    check(2 in got and 3 in got, got)
    check(28 < t < 45, t)


@test("without a request under way the end of the input ends it at once")
def idle():
    h = Hub(slow())
    equal(h.said("slow.echo"), "echo")
    h.p.stdin.close()
    check(wait_for(lambda: h.p.poll() is not None, 5) is not None, "it waits for nothing")


@test("a reader that goes away while its call is under way ends everything within 2 s")
def reader_gone():
    for how in ("reader", "sockets", "signal"):
        h = Hub(slow("    timeout call 10m"), socket_stdio=how == "sockets")
        equal(h.said("slow.echo"), "echo")
        h.post_call("slow.spin")
        time.sleep(0.5)
        if how == "sockets":
            h.sock.shutdown(socket.SHUT_WR)
        else:
            h.p.stdin.close()
        time.sleep(2.5)
        equal(h.p.poll(), None, "control: it waits for the answer")
        mine = [p for p, comm in descendants(h.p.pid).items() if comm != "kennel-recorder"]
        check(len(h.processes("slow_server")) == 1, "control: it runs")
        if how == "reader":
            h.p.stdout.close()
        elif how == "sockets":
            h.sock.close()
        else:
            h.p.terminate()
        check(wait_for(lambda: h.p.poll() is not None, 3) is not None, how)
        check(wait_for(lambda: not [p for p in mine if alive(p)], 2) is not None, how, mine)
        h.sock = None


@test("what a server asks of the agent after the end of its input is refused, and the call goes on")
def asks():
    for era in ([], ["era=modern"]):
        got, all_, t = piped(slow("    elicitation allow", *era), HELLO, READY, call(1, "slow.ask"))
        check("result" in got.get(1, {}), got)
        within("input", got[1]["result"]["content"][0]["text"])
        check(t < 10, t)
    h = Hub(slow("    elicitation allow"), capabilities={"elicitation": {}})  # the same while the question is open
    rid = h.post_call("slow.ask")
    h.until("elicitation/create")
    h.p.stdin.close()
    within("input", h.wait(rid)["result"]["content"][0]["text"])


@test("an input that a server of 2026-07-28 needs of an agent whose input has ended: its call is refused")
def inputs():
    text = server("one", modern=True)
    h = Hub(text, capabilities={"elicitation": {}})
    rid = h.post_call("one.ask", {"method": "elicitation/create", "params": {
        "message": "?", "requestedSchema": {"type": "object", "properties": {}}}})
    h.until("elicitation/create")
    h.p.stdin.close()
    within("input", h.wait(rid)["error"]["message"])
    check(wait_for(lambda: h.p.poll() is not None, 5) is not None, "nothing else is under way")


@test("a call that waits for a person at the end of the input is refused, not made, and its question withdrawn")
def withdrawn():
    text = slow(tools="ask *")
    got, _, t = piped(text, HELLO, READY, call(1, "slow.echo"))
    within("input", got[1]["error"]["message"])
    check(t < 10, t)
    h = Hub(text + slow(name="other"))
    rid, other = h.post_call("slow.echo"), h.post_call("other.sleep", {"s": 4})
    check(wait_for(lambda: b"echo" in listed(), 10) is not None, "control: it is asked")
    h.p.stdin.close()
    within("input", h.wait(rid)["result"]["content"][0]["text"])
    equal(listed().count(b"echo"), 0)
    equal(h.p.poll(), None, "control: another call goes on")
    equal(h.wait(other)["result"]["content"][0]["text"], "sleep")
    check(audited("withdrawn", "echo"), "the log has it")


@test("a question about a program at the end of the input is withdrawn, and the program refused")
def programs():
    text = "server toy {\n    run %s\n    tool allow *\n    exec ask /bin/echo **\n}\n" % words(TOY)
    h = Hub(text)
    rid = h.post_call("toy.exec", {"argv": ["/bin/echo", "late"]})
    check(wait_for(lambda: b"echo" in listed(), 10) is not None, "control: it is asked")
    h.p.stdin.close()
    r = h.wait(rid)
    check("exit 0" not in json.dumps(r), r)
    equal(listed().count(b"echo"), 0)


@test("SIGKILL of the agent, or of kennel serve, during a call and during a question leaves nothing after 2 s", seconds=90)
def killed():
    for whom in ("agent", "kennel"):
        for tools in ("allow *", "ask *"):
            path = policies(slow("    timeout call 10m", tools=tools))
            lines = b"".join(json.dumps(m).encode() + b"\n" for m in (HELLO, READY, call(1, "slow.spin")))
            # an agent of its own: it has both ends of the pipes
            agent = start([sys.executable, "-c", "import subprocess, sys, time\n"
                           "p = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)\n"
                           "p.stdin.write(bytes.fromhex(sys.argv[1])); p.stdin.flush()\n"
                           "print(p.stdout.readline()); print(p.pid, flush=True)\n"
                           "time.sleep(100)", lines.hex(), KENNEL, "serve", "--policy", path],
                          stdout=subprocess.PIPE, env=environment())
            agent.stdout.readline()
            kennel = int(agent.stdout.readline())
            if tools == "ask *":
                check(wait_for(lambda: b"spin" in listed(), 10) is not None, "control: it is asked")
            check(wait_for(lambda: [p for p in descendants(kennel) if b"slow_server" in reads("/proc/%d/cmdline" % p)], 10),
                  "control: its server runs")
            time.sleep(0.5)
            mine = set(descendants(kennel)) | {kennel}
            check(len(mine) > 4, "control: the sessions are there", mine)
            if whom == "agent":
                agent.kill()
                agent.wait()
            else:
                os.kill(kennel, signal.SIGKILL)

            def left():
                reap()
                return [p for p in mine if alive(p) and b"kennel-recorder" not in reads("/proc/%d/cmdline" % p)]
            check(wait_for(lambda: not left(), 2) is not None, whom, tools, left())
            equal(listed().count(b"spin"), 0, whom)
            if whom == "kennel":
                agent.kill()
                agent.wait()


main()
