"""What a hostile server can do to a session: every trick ends in a clear error
or a clean kill, within the deadline, with the log whole and nothing left."""
import base64
import glob
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
SERVER = HERE + "/hostile.py"
SHARED = os.environ.get("KT_SHARED", HERE + "/../../../shared")
SUITE = SHARED + "/data/JSONTestSuite/test_parsing"
CALL_S = 1.0  # timeout call
be_subreaper()


def b64(data):
    return base64.b64encode(data).decode()


def session(more="", *says, version="2025-11-25", hello=True, call="%dms" % (CALL_S * 1000), **how):
    body = "    run %s\n    read %s\n    tool allow *\n    timeout call %s\n%s\n" % (
        words(PYTHON, SERVER, *[b64(x) for x in says]), words(HERE), call, more)
    s = kennel_run(body, **how)
    if hello:
        equal(s.initialize(version).get("result", {}).get("serverInfo", {}).get("name"), "bad",
              s.stderr())
    return s


def tool(s, name, seconds=CALL_S + 2, **a):
    """The answer, and the time it took."""
    t0 = time.time()
    r = s.call(name, seconds, **a)
    return r, time.time() - t0


def ends(s, seconds=2.0):
    """The agent closes; all that the session had is gone."""
    mine = descendants(s.p.pid)
    took = s.close()
    check(took is not None and took < seconds, "kennel took %s" % took)
    left = wait_for(lambda: not [p for p in mine if alive(p)], 2)
    check(left is not None, "left: %s" % mine)


def goes_on(s):
    equal(s.text("echo", text="still"), "still")


def code(r):
    return r.get("error", {}).get("code", r)


# ---- words ------------------------------------------------------------------------

LOST = [  # an answer that cannot pass: told at once
    ("invalid UTF-8", b'{"jsonrpc":"2.0","id":@ID@,"result":"\xc0\xaf"}\n', "UTF-8"),
    ("a raw surrogate", b'{"jsonrpc":"2.0","id":@ID@,"result":"\xed\xa0\x80"}\n', "UTF-8"),
    ("a NUL", b'{"jsonrpc":"2.0","id":@ID@,"result":"\0"}\n', "not JSON"),
    ("NaN", b'{"jsonrpc":"2.0","result":NaN,"id":@ID@}\n', "not JSON"),
    ("a key twice", b'{"jsonrpc":"2.0","id":@ID@,"result":1,"result":{}}\n', "duplicate"),
    ("an id twice", b'{"jsonrpc":"2.0","id":0,"id":@ID@,"result":{}}\n', "duplicate"),
    ("too deep", b'{"jsonrpc":"2.0","id":@ID@,"result":' + b"[" * 200 + b"]" * 200 + b"}\n", "deep"),
    ("an error and a result", b'{"jsonrpc":"2.0","id":@ID@,"result":1,"error":2}\n', "both"),
    ("two messages in a line", b'{"jsonrpc":"2.0","id":@ID@,"result":1}'
     b'{"jsonrpc":"2.0","id":@ID@,"result":2}\n', "not JSON"),
    ("a carriage return", b'{"jsonrpc":"2.0","id":@ID@,"result":\r1}\n', "not JSON"),
]

NOISE = [  # nothing that counts: the true answer comes behind it
    ("an id of another type", b'{"jsonrpc":"2.0","id":"x@ID@","result":"false"}\n'),
    ("an id between two", b'{"jsonrpc":"2.0","id":@ID@.5,"result":"false"}\n'),
    ("an id nobody has", b'{"jsonrpc":"2.0","id":4711,"result":"false"}\n'),
    ("an id that is null", b'{"jsonrpc":"2.0","id":null,"result":"false"}\n'),
    ("an id that is a list", b'{"jsonrpc":"2.0","id":[@ID@],"result":"false"}\n'),
    ("an answer to a question to come", b'{"jsonrpc":"2.0","id":100000,"result":"false"}\n'),
    ("no JSON at all", b"hello\x00\xff\n\n\r\n   \n"),
    ("a byte order mark", b"\xef\xbb\xbf\n"),
    ("an array", b'[{"jsonrpc":"2.0","id":@ID@,"result":"false"}]\n'),
    ("a number", b"@ID@\n"),
    ("no jsonrpc", b'{"id":@ID@,"result":"false"}\n'),
    ("a request with a bad id", b'{"jsonrpc":"2.0","id":{},"method":"roots/list"}\n'),
    ("a request that is not allowed", b'{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}\n'),
    ("a cancellation of nothing", b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}\n'),
]


@test("MCP-ATTACKS 40 answers that cannot pass end their call at once, and no other")
def lost():
    s = session()
    for name, data, why in LOST:
        r, took = tool(s, "raw", bytes=b64(data))
        check("error" in r and why in r["error"]["message"], name, r)
        check(took < CALL_S / 2, name, took)
    goes_on(s)
    ends(s)


@test("MCP-ATTACKS 39 what is no answer changes nothing")
def noise():
    s = session()
    for name, data in NOISE:
        r, _ = tool(s, "raw_then", bytes=b64(data))
        check(r.get("result", {}).get("content", [{}])[0].get("text") == "true", name, r)
    for m in s.lines:  # a cancellation is a notification like others
        equal(m.get("method"), "notifications/cancelled", m)
    ends(s)


@test("MCP-ATTACKS 39 two answers, answers before questions, late answers: the first that is asked for counts")
def answers():
    early = b'{"jsonrpc":"2.0","id":77,"result":"early"}\n'
    s = session("", early)
    s.n = 76
    goes_on(s)
    two = b'{"jsonrpc":"2.0","id":@ID@,"result":"one"}\n{"jsonrpc":"2.0","id":@ID@,"result":"two"}\n'
    r, _ = tool(s, "raw", bytes=b64(two))
    equal(r.get("result"), "one")
    future = b'{"jsonrpc":"2.0","id":@ID@,"result":"now"}\n{"jsonrpc":"2.0","id":%d,"result":"future"}\n' % (s.n + 2)
    r, _ = tool(s, "raw", bytes=b64(future))
    equal(r.get("result"), "now")
    goes_on(s)
    equal(s.lines, [])
    # a lone surrogate as an escape is JSON: it passes as it came
    r, _ = tool(s, "raw", bytes=b64(b'{"jsonrpc":"2.0","id":@ID@,"result":"\\ud800"}\n'))
    equal(r.get("result"), "\ud800")
    ends(s)


@test("S3-03 S4-44 MCP-ATTACKS 42 hang, SIGSTOP of itself and of all, slow loris: the deadline answers")
def hang():
    for trick in ("hang", "stop", "stop_all", "slow"):
        s = session()
        for p, comm in descendants(s.p.pid).items():
            status = reads("/proc/%d/status" % p)
            check(comm.startswith("kennel") or b"Seccomp:\t2" in status, comm, "is not in a sandbox")
        r, took = tool(s, trick)
        equal(code(r), -32001, trick)
        check(CALL_S * 0.9 < took < CALL_S + 0.5, trick, took)
        ends(s)


@test("a flood of rubbish, of notifications and of requests: bounded, and the session goes on", seconds=60)
def flood():
    s = session()
    for line in (b"rubbish\n", b'{"jsonrpc":"2.0","id":7,"result":0}\n'):
        r, _ = tool(s, "flood", seconds=10, line=b64(line), n=20000)
        check("result" in r or code(r) == -32001, r)
    r, _ = tool(s, "flood", seconds=10, n=20000,
                line=b64(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n'))
    check("result" in r or code(r) == -32001, r)
    r, _ = tool(s, "ask_flood", seconds=10, n=3000)
    check("result" in r or code(r) == -32001, r)
    s.initialize()  # whatever is still on its way comes before this
    s.lines.clear()
    goes_on(s)
    ends(s)
    for kind in ("dropped", "refused"):
        n = sum(kind in json.dumps(e) for e in audit())
        check(n < 1000, "%d records of rubbish" % n)
    check(audited("more lines of that kind"), "the rest is not counted")


@test("MCP-ATTACKS 41 a line of 100 MB: an error at once, memory stays; one without an end: the deadline", seconds=60)
def long_line():
    s = session()
    r, took = tool(s, "long", seconds=20, n=100 << 20)
    check(code(r) in (-32003, -32001), r)
    check(peak_kb(s.p.pid) < 64 << 10, peak_kb(s.p.pid))
    ends(s)
    s = session()
    r, took = tool(s, "endless")
    equal(code(r), -32001)
    check(took < CALL_S + 0.7, took)
    ends(s)


@test("an answer behind its deadline is swallowed, the next call is answered")
def late():
    s = session()
    r, _ = tool(s, "late", after=CALL_S + 0.3)
    equal(code(r), -32001)
    time.sleep(0.5)
    goes_on(s)
    equal(s.lines, [])
    ends(s)


@test("streams have no deadline: a listen request and a task's result stay open, and end when the server ends them")
def streams():
    sub = "io.modelcontextprotocol/subscriptionId"
    s = session()
    for i, method in ((41, "subscriptions/listen"), ("41", "subscriptions/listen"), ("t", "tasks/result")):
        s.send({"jsonrpc": "2.0", "id": i, "method": method,
                "params": {"notifications": {"toolsListChanged": True}, "taskId": "x"}})
    for i in (41, "41"):
        m = s.message()
        equal((m["method"], m["params"]["_meta"][sub]), ("notifications/subscriptions/acknowledged", i))
    r, _ = tool(s, "hang")  # a call beside them has one
    equal(code(r), -32001)
    equal(s.lines, [], "what ended at the deadline of calls")
    r, _ = tool(s, "streams")
    equal(r["result"]["content"][0]["text"], "3")
    ended = [m["id"] for m in s.lines if "result" in m]
    equal(ended, [41, "41", "t"])
    equal([m["params"]["_meta"][sub] for m in s.lines if "method" in m], [41, "41", "t"])
    goes_on(s)
    ends(s)


@test("an answer that crosses its cancellation passes once, and the id is free behind it")
def crossing():
    s = session()
    s.n = 50
    s.send({"jsonrpc": "2.0", "id": 50, "method": "tools/call",
            "params": {"name": "late", "arguments": {"after": 0.2}}})
    s.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 50}})
    equal(s.wait(50, 2)["result"]["content"][0]["text"], "late")
    s.n = 49
    goes_on(s)
    equal(s.n, 50)
    ends(s)


def peak_kb(pid):
    return [int(x.split()[1]) for x in reads("/proc/%d/status" % pid).decode().splitlines()
            if x.startswith("VmHWM")][0]


@test("an agent that does not read a flood: no memory for it, and all ends when it leaves")
def unread():
    s = session()
    line = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%s"}}\n' % (b"x" * 4000)
    s.send({"jsonrpc": "2.0", "id": 60, "method": "tools/call",
            "params": {"name": "flood", "arguments": {"line": b64(line), "n": 50000}}})
    time.sleep(1.0)
    for pid, comm in list(descendants(s.p.pid).items()) + [(s.p.pid, "kennel")]:
        if "kennel" in comm:
            check(peak_kb(pid) < 64 << 10, comm, peak_kb(pid))
    ends(s)


@test("control: without kennel all of that reaches the agent, and what hangs hangs")
def without():
    how = ["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"] if os.geteuid() == 0 else []
    s = Mcp(how + [PYTHON, SERVER])
    s.initialize()
    for name, data in [x[:2] for x in LOST] + NOISE:
        for line in data.rstrip(b"\n").split(b"\n"):
            s.n += 1
            s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call",
                    "params": {"name": "raw", "arguments": {"bytes": b64(line + b"\n")}}})
            equal(s.line(2), line.replace(b"@ID@", b"%d" % s.n), name)
    two = b'{"jsonrpc":"2.0","id":@ID@,"result":"one"}\n{"jsonrpc":"2.0","id":@ID@,"result":"two"}\n'
    s.call("raw", bytes=b64(two))
    equal(s.message(2)["result"], "two")
    s.call("long", 10, n=12 << 20)  # more than the common client bears
    s.n += 1
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": "hang", "arguments": {}}})
    try:
        check(False, "an answer:", s.line(CALL_S + 0.3))
    except TimeoutError:
        pass


# ---- ends ---------------------------------------------------------------------------

@test("exit, crash, a closed output: open calls get an error, nothing of the server stays, and a later call starts it again")
def deaths():
    for trick in ("exit", "crash", "close_out"):
        s = session()
        r, took = tool(s, trick)
        check(code(r) == -32000 and took < 1.0, trick, r, took)
        check(wait_for(lambda: set(descendants(s.p.pid).values()) <= {"kennel", "kennel-recorder"}, 3) is not None,
              trick, descendants(s.p.pid))
        check(wait_for(lambda: "restarting" not in json.dumps(tool(s, "echo", text="x")[0]), 10) is not None, trick)
        equal(s.text("echo", text="on"), "on")
        ends(s)


@test("a server that does not read: calls end at their deadline, and kennel when it is told")
def deaf():
    for trick in ("close_in", "deaf"):
        s = session()
        check("result" in tool(s, trick)[0], trick)
        r, took = tool(s, "echo", text="x")
        check(code(r) in (-32000, -32001) and took < CALL_S + 0.5, trick, r, took)
        ends(s)


def fill(s, seconds=0.4):
    """Sends requests until none is taken for so long."""
    os.set_blocking(s.w, False)
    sent, rest, since = 0, b"", time.time()
    while sent < 64 << 20 and time.time() - since < seconds:
        if not rest:
            s.n += 1
            rest = json.dumps({"jsonrpc": "2.0", "id": s.n, "method": "x/y", "params": ["x" * 60000]}).encode() + b"\n"
        try:
            n = os.write(s.w, rest)
        except BlockingIOError:
            time.sleep(0.01)
            continue
        sent, rest, since = sent + n, rest[n:], time.time()
    check(256 << 10 < sent < 64 << 20, "%d bytes were taken" % sent)


@test("an agent that fills a deaf server's pipe and leaves: all gone in two seconds")
def stuffed():
    for leaves in ("both", "sockets", "input", "early"):
        s = session(socket_stdio=leaves == "sockets")
        check("result" in tool(s, "deaf")[0])
        fill(s, 0.05 if leaves == "early" else 0.4)
        if leaves in ("both", "early"):
            s.p.stdout.close()
        ends(s)  # "input": a server that reads nothing of what is under way is lost after `timeout call`


@test("an agent that fills the pipe of a server that reads nothing for ten minutes, and leaves")
def stuffed_long():
    for leaves in ("both", "sockets", "one request"):
        s = session(call="10m", socket_stdio=leaves == "sockets")
        check("result" in tool(s, "deaf")[0])
        if leaves == "one request":  # which stays in a pipe that has room
            s.send({"jsonrpc": "2.0", "id": 77, "method": "x/y"})
        else:
            fill(s)
        if leaves != "sockets":
            s.p.stdout.close()
        ends(s)


@test("signals to PID 1 of its cell: the session ends or goes on, nothing stays")
def shim():
    s = session()
    r, _ = tool(s, "kill_shim")
    check("result" in r or code(r) == -32000, r)
    ends(s)


# ---- resources ------------------------------------------------------------------------

@test("MCP-ATTACKS 43 a fork bomb stays below limit processes, and all of it goes")
def bomb():
    s = session("    limit processes 30")
    r, _ = tool(s, "bomb", seconds=CALL_S + 5)
    check("result" in r, r)
    n = int(r["result"]["content"][0]["text"])
    check(n < 30, "%d children" % n)
    ends(s)


@test("MCP-ATTACKS 44 double fork and setsid with the output held open: gone with the session")
def daemon():
    s = session()
    equal(s.text("daemon"), "left")
    ends(s)
    s = session()
    equal(s.text("daemon"), "left")
    r, took = tool(s, "exit")
    check("error" in r, r)
    check(wait_for(lambda: set(descendants(s.p.pid).values()) <= {"kennel", "kennel-recorder"}, 3) is not None,
          descendants(s.p.pid))
    ends(s)


@test("MCP-ATTACKS 43 disk and inode fill: its own /tmp is full, nobody else's", seconds=60)
def disk():
    s = session()
    r, _ = tool(s, "disk", seconds=20)
    if "result" in r:
        n, files, errno_ = r["result"]["content"][0]["text"].split()
        check(int(n) < 2 << 30 and int(files) < 1000000, n, files)
        check(int(errno_) in (28, 122, 12), errno_)
    else:
        check(code(r) in (-32000, -32001), r)
    ends(s)


@test("MCP-ATTACKS 43 a descriptor flood stays below limit files, which cannot be raised")
def files():
    s = session("    limit files 64")
    check(int(s.text("files", seconds=5)) < 64)
    equal(s.text("limits"), "refused")
    goes_on(s)
    ends(s)


@test("MCP-ATTACKS 43 a memory bomb stays below limit memory", seconds=60)
def memory():
    s = session("    limit memory 256M")
    r, _ = tool(s, "memory", seconds=10)
    if "result" in r:
        check(int(r["result"]["content"][0]["text"]) <= 256, r)
    else:
        check(code(r) in (-32000, -32001), r)  # killed
    if s.p.poll() is None:
        ends(s)


@test("a flood on stderr: the file is bounded, the session goes on")
def stderr_flood():
    s = session()
    r, _ = tool(s, "stderr", seconds=10, n=40 << 20)
    check("result" in r or code(r) == -32001, r)
    ends(s)
    size = sum(os.path.getsize(f) for f in glob.glob(HOME + "/**/*.log*", recursive=True))
    check(size < 32 << 20, "%d bytes" % size)


# ---- JSONTestSuite ---------------------------------------------------------------------

# Between [ and ] they are JSON, all the same.
WRAPPED = ("n_structure_no_data.json", "n_single_space.json")
LONG = 100000  # nesting beyond every limit, in bytes


def suite_elements():
    """Name and bytes of each file that can be an element in a line."""
    names = sorted(glob.glob(SUITE + "/*.json"))
    if not names:
        skip("JSONTestSuite is not beside this tree")
    for n in names:
        name, data = os.path.basename(n), reads(n)
        # A line end between tokens is a space; inside a string it is none.
        if len(data) <= LONG and name != "n_string_unescaped_newline.json":
            yield name, data.replace(b"\n", b" ").replace(b"\r", b" ")


@test("MCP-ATTACKS 40 JSONTestSuite: every file as params reaches the server as it is, or not at all", seconds=60)
def suite_params():
    s = session()
    bad = []
    for name, data in suite_elements():
        s.n += 1
        line = b'{"jsonrpc":"2.0","id":%d,"method":"x/y","params":[%s]}' % (s.n, data)
        s.send_bytes(line + b"\n")
        got = s.line(CALL_S + 1)
        m = json.loads(got)
        if "result" in m and base64.b64decode(m["result"]["content"][0]["text"]) == line:
            if name[0] == "n" and name not in WRAPPED:
                bad.append((name, "passed"))
        elif name[0] == "y" or b'"error"' not in got:
            bad.append((name, got[:200]))
    check(not bad, bad[:10])
    goes_on(s)
    ends(s)


@test("MCP-ATTACKS 40 JSONTestSuite: every file as result reaches the agent as it is, or an error does", seconds=60)
def suite_result():
    s = session()
    bad = []
    for name, data in suite_elements():
        line = b'{"jsonrpc":"2.0","id":@ID@,"result":[' + data + b"]}"
        s.n += 1
        t0 = time.time()
        s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call",
                "params": {"name": "raw", "arguments": {"bytes": b64(line + b"\n")}}})
        got = s.line(CALL_S + 1)
        if got == line.replace(b"@ID@", b"%d" % s.n):
            if name[0] == "n" and name not in WRAPPED:
                bad.append((name, "passed"))
        elif name[0] == "y" or b'"error"' not in got or b'"id":%d,' % s.n not in got:
            bad.append((name, got[:200]))
        elif time.time() - t0 > CALL_S / 2:
            bad.append((name, "only at the deadline"))
    check(not bad, bad[:10])
    goes_on(s)
    ends(s)


@test("after all that the log is whole")
def log_whole():
    r = audit_verify()
    equal(r.returncode, 0, r.stdout + r.stderr)
    within(b"intact", r.stdout)


if __name__ == "__main__":
    main()
