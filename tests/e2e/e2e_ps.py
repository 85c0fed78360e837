"""kennel ps: the running sessions, over the socket that each has for its user."""
import json
import os
import signal
import socket
import subprocess
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

BODY = "    run %s\n    tool allow echo say\n    tool ask line\n    tool deny exit\n" % words(TOY)
LONG = 45  # seconds until something that must come is given up


def ps(status=0):
    r = run([KENNEL, "ps", "--json"])
    equal(r.returncode, status, r.stderr)
    return {row["pid"]: row for row in json.loads(r.stdout)}


def shown_by(verb, pid):
    """Of the text of ps or top: state, open, calls and refused of this process."""
    lines = run([KENNEL, verb]).stdout.decode().splitlines()
    (line,) = [x for x in lines if str(pid) in x.split()]
    state = [x for x in ("needs-approval", "connected", "connecting") if x in line][0]
    at = {name: lines[0].split().index(name) for name in ("open", "calls", "refused")}
    cells = line.replace(state, state.replace(" ", "_")).split()
    if verb == "ps":  # its time has two words
        at = {name: n + 1 for name, n in at.items()} if len(cells) == len(lines[0].split()) + 1 else at
    return (state,) + tuple(int(cells[at[name]]) for name in ("open", "calls", "refused"))


def socket_of(pid):
    return os.path.join(HOME, "run", "run-%d" % pid)


def session():
    s = kennel_run(BODY)
    s.initialize()
    return s


def connected(at):
    c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    c.settimeout(20)
    c.connect(at)
    return c


@test("a session is listed with what is under way, what was refused, and what waits", 300)
def listed():
    before = time.time()
    s = session()
    row = ps()[s.p.pid]
    equal((row["server"], row["kind"], row["status"]), ("t", "run", "connected"))
    equal((row["calls"], row["waiting"], row["refused"]), (0, 0, 0))
    check(before - 2 <= row["since"] <= time.time() + 2, row)
    made = row["calls_made"]
    equal(made, 0, "what opens the session is no call")
    equal(s.text("echo", text="x"), "x")
    s.request("tools/call", {"name": "exit", "arguments": {}})
    s.n += 1
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": "line", "arguments": {}}})
    check(wait_for(lambda: ps()[s.p.pid]["waiting"] == 1, LONG) is not None)
    row = ps()[s.p.pid]
    equal((row["calls_made"], row["refused"], row["calls"]), (made + 1, 1, 0))
    text = run([KENNEL, "ps"]).stdout.decode()
    within("needs-approval", text)
    within(row["session"][:8], text)
    equal(shown_by("top", s.p.pid), shown_by("ps", s.p.pid), "kennel top and kennel ps")
    equal(shown_by("ps", s.p.pid), ("needs-approval", 0, 1, 1))
    (q,) = [json.loads(line) for line in run([KENNEL, "approve", "list", "--json"]).stdout.splitlines()]
    equal(run([KENNEL, "approve", "allow", q["id"]]).returncode, 0)
    s.wait(s.n, LONG)
    for verb in ("ps", "top"):
        equal(shown_by(verb, s.p.pid), ("connected", 0, 2, 1), verb)
    equal([line for line in text.splitlines() if len(line) > 100], [])
    check(audited('"start"', row["session"], row["policy"], seconds=LONG), "the ids are those of the log")
    s.close()
    check(s.p.pid not in ps() and not os.path.exists(socket_of(s.p.pid)))


@test("a program of kennel exec is listed too; without sessions there is a sentence", 300)
def program():
    p = subprocess.Popen([KENNEL, "exec", "--policy", policy("    run /bin/cat\n"), "t", "--", "/bin/cat"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
    try:
        check(wait_for(lambda: p.pid in ps(), LONG) is not None)
        row = ps()[p.pid]
        equal((row["kind"], row["status"], row["calls_made"]), ("exec", "connected", 0))
    finally:
        p.stdin.close()
        p.stdout.read()
        equal(p.wait(), 0)
        p.stdout.close()
    empty = "%s/none" % TMP
    os.mkdir(empty, 0o700)
    r = run([KENNEL, "ps"], env={"KENNEL_HOME": empty})
    equal((r.returncode, r.stdout), (0, b"no session is running\n"), r.stderr)


@test("the socket of a killed session is removed, that of a live one is not", 300)
def left():
    dead, alive = session(), session()
    at = socket_of(dead.p.pid)
    equal(os.stat(at).st_mode & 0o777, 0o600)
    os.kill(dead.p.pid, signal.SIGKILL)
    dead.p.wait()
    check(os.path.exists(at), "the control: it is left behind")
    equal(sorted(ps()), [alive.p.pid])
    check(not os.path.exists(at) and os.path.exists(socket_of(alive.p.pid)))
    alive.close()


@test("the socket of a killed session is removed while its parent has not reaped it", 300)
def unreaped():
    dead, stopped = session(), session()
    at = socket_of(dead.p.pid)
    os.kill(dead.p.pid, signal.SIGKILL)
    with open("/proc/%d/stat" % dead.p.pid) as f:
        check(wait_for(lambda: f.seek(0) == 0 and ") Z " in f.read(), LONG) is not None, "the control: a zombie")
    os.kill(stopped.p.pid, signal.SIGSTOP)
    try:
        equal(sorted(ps(125)), [])
    finally:
        os.kill(stopped.p.pid, signal.SIGCONT)
    check(not os.path.exists(at) and os.path.exists(socket_of(stopped.p.pid)), "one that is stopped keeps its socket")
    equal(sorted(ps()), [stopped.p.pid])
    stopped.close()
    dead.p.wait()


@test("rubbish, silent clients and a stopped session end nothing but their own connection", 300)
def hostile():
    s = session()
    at = socket_of(s.p.pid)
    for rubbish in (b"", b"\1", b"\1\0\0\0\3\0\0\0", b"\1\0\0\0\1\0\0\0x", b"\2\0\0\0\1\0\0\0", b"x" * 4096):
        c = connected(at)
        c.send(rubbish)
        equal(c.recv(600), b"", rubbish)
        c.close()
    c = connected(at)
    c.send(b"\1\0\0\0\1\0\0\0")
    equal(c.recv(600)[:8], b"\2\0\0\0\1\0\0\0", "the control")
    c.close()
    many = [connected(at) for _ in range(5)]
    equal(many[4].recv(100), b"", "a fifth of one process")
    check(s.p.pid in ps(), "and another process is answered")
    for c in many:
        c.close()
    equal(s.text("echo", text="x"), "x", "the session goes on")
    os.kill(s.p.pid, signal.SIGSTOP)
    try:
        r = run([KENNEL, "ps"])
        equal(r.returncode, 125)
        within(b"the session of process %d does not answer" % s.p.pid, r.stderr)
    finally:
        os.kill(s.p.pid, signal.SIGCONT)
    check(s.p.pid in ps())
    s.close()


@test("a session of an older kennel is listed, and what it sends cannot command a terminal", 300)
def older():
    s = session()  # makes the directory
    at = socket_of(os.getpid())
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(at)
    listening.listen()
    asked, answer = [], {}

    def serve():
        while True:
            c, _ = listening.accept()
            asked.append(c.recv(100))
            if asked[-1] == b"\1\0\0\0\1\0\0\0":
                c.send(answer["is"])
            c.close()

    def packet(name, session):
        text = [struct.pack("<I", len(t)) + t + b"\0" for t in (name, session, bytes(32))]
        return struct.pack("<IIII", 2, 1, 1, 1) + b"".join(text) + struct.pack("<QIIQQ", 10 ** 18, 0, 0, 7, 0)

    threading.Thread(target=serve, daemon=True).start()
    try:
        answer["is"] = packet(b"old\x1b[2J\n", b"0123456789abcdef")
        row = ps()[os.getpid()]
        equal((row["calls_made"], row["via"]), (7, None))
        equal([a[4] for a in asked], [2, 1], "the newest version first")
        text = run([KENNEL, "ps"]).stdout
        within(b"old\\x1b[2J\\x0a", text)
        absent(b"\x1b", text)
        answer["is"] = packet(b"old", b"\x1b[2J\x1b[1;1Hfake")
        r = run([KENNEL, "ps"])
        equal(r.returncode, 125)
        absent(b"\x1b", r.stdout + r.stderr)
    finally:
        os.unlink(at)
    s.close()


if __name__ == "__main__":
    main()
