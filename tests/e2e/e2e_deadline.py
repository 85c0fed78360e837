"""Deadlines of kennel run: of the start, of a call that sends progress, and of what is under way when
the agent's input ends."""
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

HERE = os.path.dirname(os.path.abspath(__file__))
SLOW = HERE + "/slow_server.py"
HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}}}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
be_subreaper()


def body(more="", *args, tools="allow *"):
    return "    run %s\n    read %s\n    tool %s\n%s\n" % (
        words("/usr/bin/python3", "-u", SLOW, *args), words(HERE), tools, more)


def session(more="", *args, **how):
    return kennel_run(body(more, *args), **how)


def call(rid, name, meta=None, **arguments):
    params = {"name": name, "arguments": arguments}
    if meta is not None:
        params["_meta"] = meta
    return {"jsonrpc": "2.0", "id": rid, "method": "tools/call", "params": params}


def took(fn):
    t0 = time.time()
    return fn(), time.time() - t0


def piped(text, *messages, env=None, seconds=60):
    """printf ... | kennel run t: the answers by id, the time it took, the status."""
    path = policy(text)
    lines = b"".join(json.dumps(m).encode() + b"\n" for m in messages)
    r, t = took(lambda: run([KENNEL, "run", "t", "--policy", path], stdin=lines, env=env, timeout=seconds))
    answers = [json.loads(line) for line in r.stdout.splitlines()]
    return {m["id"]: m for m in answers if "id" in m and "method" not in m}, t, r


# ---- the start ------------------------------------------------------------------------

@test("initialize has `timeout start`, and a call after it `timeout call`")
def start_longer():
    s = session("    timeout call 1s start 20s", "start=3")
    r, t = took(lambda: s.initialize())
    equal(r.get("result", {}).get("serverInfo", {}).get("name"), "slow", r)
    check(2.5 < t < 8, t)
    r, t = took(lambda: s.call("spin"))
    equal(r["error"]["code"], -32001, r)
    check(0.9 < t < 3, t)


@test("a request that is sent before the first answer begins its own time then")
def before_the_answer():
    s = session("    timeout call 1s start 20s", "start=3")
    s.send(HELLO)
    s.send(READY)
    s.send(call(1, "echo"))
    s.send(call(2, "spin"))
    equal(s.wait(1)["result"]["content"][0]["text"], "echo")
    r, t = took(lambda: s.wait(2))
    equal(r["error"]["code"], -32001, r)
    within("1000 ms", r["error"]["message"])


@test("the first request of 2026-07-28 has `timeout start`, too")
def modern():
    s = session("    timeout call 1s start 20s", "start=3")
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}}
    s.send(call(1, "echo", meta))
    equal(s.wait(1)["result"]["content"][0]["text"], "echo")


@test("an answered ping before it does not end the time of initialize")
def ping_first():
    s = session("    timeout call 1s start 20s", "start=3", "wait=1")
    equal(s.request("ping").get("result"), {})
    equal(s.initialize().get("result", {}).get("serverInfo", {}).get("name"), "slow")


@test("a start that takes longer than `timeout start` ends the session, and nothing is passed after it")
def start_too_long():
    for args in (("start=6",), ("start=6", "wait=1")):
        s = session("    timeout call 30s start 1s", *args)
        if len(args) > 1:
            equal(s.request("ping").get("result"), {}, "control: it reads")
        s.send(HELLO)
        r, t = took(lambda: s.wait(0))
        equal(r["error"]["code"], -32001, r)
        within("timeout start", r["error"]["message"])
        check(0.8 < t < 3, t)
        try:
            s.send({"jsonrpc": "2.0", "id": 9, "method": "tools/list"})
            r = s.wait(9, 3)
            equal(r["error"]["code"], -32000, r)
        except (EOFError, OSError):
            pass
        check(wait_for(lambda: s.p.poll() is not None, 3) is not None, "the session goes on")


@test("server pin waits for `timeout start`")
def pin_waits():
    if AS != "user":
        skip("runs once, as the user: it is long, and no rule of it asks who runs kennel")
    path = policy(body("    timeout call 1s start 60s", "start=33"))
    r, t = took(lambda: run([KENNEL, "server", "pin", "t", "--policy", path, "-o", path + ".pins"], timeout=90))
    equal(r.returncode, 0, r.stderr)
    check(32 < t < 60, t)
    path = policy(body("    timeout start 1s", "start=5"))
    r, t = took(lambda: run([KENNEL, "server", "pin", "t", "--policy", path, "-o", path + ".pins"]))
    check(r.returncode != 0 and t < 6, "control: %s %s" % (r, t))


# ---- progress --------------------------------------------------------------------------

def with_progress(more, s, every, seconds=30, **arguments):
    h = session(more)
    h.initialize()
    h.send(call(7, "progress", {"progressToken": "tok"}, s=s, every=every, **arguments))
    return took(lambda: h.wait(7, seconds))


@test("progress moves the deadline of its call, up to `most`")
def progress():
    r, t = with_progress("    timeout call 1s most 20s", 4, 0.4)
    equal(r.get("result", {}).get("content", [{}])[0].get("text"), "worked", r)
    check(t > 3.5, t)
    r, t = with_progress("    timeout call 1s most 3s", 30, 0.4)
    equal(r["error"]["code"], -32001, r)
    within("3000 ms", r["error"]["message"])
    check(2.5 < t < 5, t)


@test("what does not move it: no `most`, no progress for a while, another call's token")
def progress_not():
    for more, every, arguments in (("    timeout call 1s", 0.4, {}), ("    timeout call 1s most 20s", 2.5, {}),
                                   ("    timeout call 1s most 20s", 0.4, {"token": "other"})):
        r, t = with_progress(more, 5, every, **arguments)
        equal(r.get("error", {}).get("code"), -32001, (more, arguments, r))
        check(0.9 < t < 3, t)


# ---- the end of the input ---------------------------------------------------------------

@test("printf | kennel run: the answers of a server that starts slowly are not lost")
def pipe():
    got, t, r = piped(body("    timeout call 5s start 20s", "start=3"), HELLO, READY, call(1, "echo"), call(2, "sleep", s=2))
    equal(sorted(got), [0, 1, 2], r.stderr)
    equal(got[2]["result"]["content"][0]["text"], "sleep", got)
    check(t < 10, "it ends with the last answer: %.1f" % t)


@test("a call under way at the end of the input ends at its deadline")
def pipe_deadline():
    got, t, r = piped(body("    timeout call 3s"), HELLO, READY, call(1, "spin"))
    equal(got[1]["error"]["code"], -32001, r.stderr)
    check(2.5 < t < 7, t)


@test("and after 30 s whatever its deadline is", seconds=90)
def pipe_most():
    if AS != "user":
        skip("runs once, as the user: it is long, and no rule of it asks who runs kennel")
    got, t, r = piped(body("    timeout call 10m"), HELLO, READY, call(1, "spin"))
    equal(got[1]["error"]["code"], -32001, r.stderr)
    within("30 s", got[1]["error"]["message"])
    check(28 < t < 40, t)


@test("without a request under way the end of the input ends the session at once")
def idle():
    s = session()
    s.initialize()
    s.p.stdin.close()
    check(wait_for(lambda: s.p.poll() is not None, 2) is not None, "it waits for nothing")


@test("a reader that goes away while its call is under way ends the session within 2 s")
def reader_gone():
    for how in ("reader", "sockets", "signal"):
        s = session("    timeout call 10m", socket_stdio=how == "sockets")
        s.send(HELLO)
        s.wait(0)
        s.send(READY)
        s.send(call(1, "spin"))
        time.sleep(0.5)
        if how == "sockets":
            s.sock.shutdown(socket.SHUT_WR)
        else:
            s.p.stdin.close()
        time.sleep(2.5)
        equal(s.p.poll(), None, "control: it waits for the answer")
        mine = descendants(s.p.pid)
        if how == "reader":
            s.p.stdout.close()
        elif how == "sockets":
            s.sock.close()
        else:
            s.p.terminate()
        check(wait_for(lambda: s.p.poll() is not None, 2) is not None, how)
        check(wait_for(lambda: not [p for p in mine if alive(p)], 2) is not None, how, mine)
        s.sock = None


@test("what the server asks of the agent after the end of its input is refused, and the call goes on")
def asks():
    got, t, r = piped(body("    elicitation allow"), HELLO, READY, call(1, "ask"))
    check("result" in got.get(1, {}), got, r.stderr)
    within("input", got[1]["result"]["content"][0]["text"])
    check(t < 5, t)


@test("a call that waits for a person at the end of the input is refused, not made")
def withdrawn():
    text = body(tools="ask *")
    got, t, r = piped(text, HELLO, READY, call(1, "echo"))
    equal(got[1]["result"]["isError"], True)
    within("input", got[1]["result"]["content"][0]["text"])
    check(t < 5, t)
    check(audited("withdrawn", "echo"), "the log has it")
    path = policy(text)
    s = Mcp([KENNEL, "run", "t", "--policy", path])
    s.initialize()
    s.send(call(1, "echo"))
    s.send(call(2, "spin"))
    check(wait_for(lambda: b"echo" in run([KENNEL, "approve", "list"]).stdout, 5) is not None, "control: it is asked")
    s.p.stdin.close()
    s.wait(1)
    equal(run([KENNEL, "approve", "list"]).stdout.count(b"echo"), 0)


@test("SIGKILL of the agent during a call and during a question leaves nothing after 2 s")
def agent_killed():
    for tools in ("allow *", "ask *"):
        path = policy(body("    timeout call 10m", tools=tools))
        lines = b"".join(json.dumps(m).encode() + b"\n" for m in (HELLO, READY, call(1, "spin")))
        # an agent of its own: it has both ends of the pipes
        agent = start([sys.executable, "-c", "import subprocess, sys, time\n"
                       "p = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)\n"
                       "p.stdin.write(bytes.fromhex(sys.argv[1])); p.stdin.flush()\n"
                       "print(p.stdout.readline()); print(p.pid, flush=True)\n"
                       "time.sleep(100)", lines.hex(), KENNEL, "run", "t", "--policy", path],
                      stdout=subprocess.PIPE, env=environment())
        agent.stdout.readline()
        kennel = int(agent.stdout.readline())
        if tools == "ask *":
            check(wait_for(lambda: b"spin" in run([KENNEL, "approve", "list"]).stdout, 5) is not None, "control: it is asked")
        time.sleep(0.5)
        mine = set(descendants(kennel)) | {kennel}
        check(len(mine) > 3, "control: the session is there", mine)
        agent.kill()
        agent.wait()

        def left():
            reap()
            return [p for p in mine if alive(p) and b"kennel-recorder" not in reads("/proc/%d/cmdline" % p)]
        check(wait_for(lambda: not left(), 2) is not None, tools, left())


main()
