"""The control socket of kennel serve: status through a server's life, restart, kennel ps and top."""
import json
import os
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from screen import Screen  # noqa: E402

LONG = 45  # seconds until something that must come is given up
STATUS, WATCH, RESTART = 2, 4, 6
PAGE, RESTARTED = 3, 7


def toy(name, grants="    tool allow *\n", run=None):
    return name, "server %s {\n    run %s\n%s}\n" % (name, run or words(TOY), grants)


class Hub(Mcp):
    """kennel serve of these servers, greeted."""

    def __init__(self, *servers, file=False, **how):
        # found by name: of files that are named, each must hold
        os.makedirs(HOME + "/policies", mode=0o700, exist_ok=True)
        self.write(*servers)
        named = [w for name, _ in servers for w in (("--policy", self.at(name)) if file else (name,))]
        super().__init__([KENNEL, "serve"] + named, **how)
        self.initialize()

    def at(self, name):
        return "%s/policies/%s.kennel" % (HOME, name)

    def write(self, *servers):
        for name, body in servers:
            with open(self.at(name), "w") as f:
                f.write(body)
            os.chmod(self.at(name), 0o644)

    def row(self, name):
        return {s["name"]: s for s in ps()[self.p.pid]["servers"]}[name]

    def session(self, name):
        """The row of kennel ps of a session of this hub; None."""
        found = [r for r in ps().values() if r["via"] == self.p.pid and r["server"] == name]
        return found[0] if found else None


def ps(status=0):
    r = run([KENNEL, "ps", "--json"])
    equal(r.returncode, status, r.stderr)
    return {row["pid"]: row for row in json.loads(r.stdout)}


def socket_of(pid):
    return os.path.join(HOME, "run", "serve-%d" % pid)


def connected(pid, seconds=20):
    c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    c.settimeout(seconds)
    c.connect(socket_of(pid))
    return c


def request(kind, more=b"", version=1):
    return struct.pack("<II", kind, version) + more


def text(s):
    return struct.pack("<I", len(s)) + s.encode() + b"\0"


def restart(name):
    return run([KENNEL, "server", "restart", name])


@test("a server goes from disconnected to connecting, connected and error, and a restart resets it", 120)
def life():
    before = time.time()
    h = Hub(toy("good"), toy("bad", run="/bin/false"), toy("refused", run="/nonexistent/server"))
    hub = ps()[h.p.pid]
    equal((hub["kind"], hub["status"], hub["client"], hub["era"]), ("serve", "connected", "kit", "legacy"))
    check(before - 2 <= hub["since"] <= time.time() + 2, hub)
    equal((hub["server"], hub["session"], hub["via"], hub["waiting"]), (None, None, None, 0))
    equal([s["name"] for s in hub["servers"]], ["bad", "good", "refused"])
    row = h.row("good")
    equal((row["status"], row["discovery_status"], row["reason"]), ("disconnected", "pending", None))
    equal((row["protocol"], row["policy"], row["restarts"]), (None, None, 0))
    equal(h.text("good__echo", text="x", seconds=LONG), "x")
    row = h.row("good")
    equal((row["status"], row["discovery_status"], row["reason"], row["failed"]), ("connected", "connected", None, ""))
    equal((row["calls"], row["calls_made"], row["refused"], row["pinned"]), (0, 1, 0, False))
    check(row["tools"] > 10 and row["protocol"] == "2025-11-25" and 0 < row["p50_us"] <= row["p99_us"], row)
    listed = {s["name"]: s for s in json.loads(run([KENNEL, "server", "list", "--json"]).stdout)}
    equal((listed["good"]["status"], listed["refused"]["status"]), ("connected", "error"))
    session = h.session("good")
    equal((session["kind"], session["policy"], session["server"]), ("run", row["policy"], "good"))
    equal(session["calls_made"], row["calls_made"], "the session counts what its hub counts")
    equal(ps()[h.p.pid]["calls_made"], row["calls_made"])
    r = h.call("bad__echo", LONG)
    check(r["result"]["isError"], r)
    row = h.row("bad")
    equal((row["status"], row["discovery_status"]), ("error", "unreachable"))
    equal((row["reason"], row["restarts"]), ("backoff", 1))
    within("exited with status 1", row["failed"])
    h.call("refused__echo", LONG)
    row = h.row("refused")
    equal((row["status"], row["discovery_status"]), ("error", "error"))
    equal(row["reason"], "policy-error")
    within("/nonexistent/server", row["detail"])
    h.write(toy("good"), toy("bad"), toy("refused"))
    for name in ("bad", "refused"):
        r = restart(name)
        equal((r.returncode, r.stdout), (0, b"%s: was not running in process %d; the next call starts it\n"
                                         % (name.encode(), h.p.pid)), r.stderr)
        check(wait_for(lambda: h.row(name)["status"] == "disconnected", LONG) is not None, h.row(name))
        equal(h.text(name + "__echo", text=name, seconds=LONG), name, "the policy was found again")
    h.close()
    check(h.p.pid not in ps() and not os.path.exists(socket_of(h.p.pid)))


@test("a restart ends the server's process and its open calls; the agent's session goes on", 120)
def restarts():
    h = Hub(toy("one"), toy("two"))
    for name in ("one", "two"):
        equal(h.text(name + "__echo", text="x", seconds=LONG), "x")
    one, two = h.session("one")["pid"], h.session("two")["pid"]
    h.n += 1
    h.send({"jsonrpc": "2.0", "id": h.n, "method": "tools/call", "params": {"name": "one__hang", "arguments": {}}})
    check(wait_for(lambda: h.row("one")["calls"] == 1, LONG) is not None, h.row("one"))
    h.write(toy("one", "    tool allow echo\n"), toy("two"))
    r = restart("one")
    equal((r.returncode, r.stdout), (0, b"one: stopped in process %d; the next call starts it\n" % h.p.pid), r.stderr)
    answer = h.wait(h.n, LONG)
    equal(answer["error"]["code"], -32000, answer)
    within("restart", answer["error"]["message"])
    check(wait_for(lambda: not os.path.exists("/proc/%d" % one), LONG) is not None, "its session is gone")
    equal(h.text("one__echo", text="y", seconds=LONG), "y", "it is started by the next call")
    check(h.call("one__env", LONG)["result"]["isError"], "the edited policy holds")
    check(h.session("one")["pid"] != one)
    equal(h.session("two")["pid"], two, "the control: the other server went on")
    equal((h.row("one")["restarts"], h.row("two")["restarts"]), (1, 0))
    r = restart("three")
    equal(r.returncode, 65)
    within(b"no `kennel serve` of this user has a server three", r.stderr)
    h.close()


@test("restart starts a server again that is in a crash loop", 120)
def crash_loop():
    h = Hub(toy("t"))
    for i in range(5):
        r = h.call("t__crash", LONG)
        while "restarting" in json.dumps(r):
            time.sleep(0.3)
            r = h.call("t__crash", LONG)
        check("error" in r, r)
        check(wait_for(lambda: h.row("t")["restarts"] == i + 1, LONG) is not None, h.row("t"))
    row = h.row("t")
    equal((row["status"], row["reason"], row["restarts"]), ("error", "crash-loop", 5))
    within("restarting", json.dumps(h.call("t__echo", LONG, text="x")), "the control")
    equal(restart("t").returncode, 0)
    equal(h.text("t__echo", text="x", seconds=LONG), "x")
    equal(h.row("t")["status"], "connected")
    h.close()


@test("a refusal by the policy is counted, by server and by hub", 120)
def refusals():
    h = Hub(toy("t", "    tool allow echo\n    tool deny exit\n"))
    equal(h.text("t__echo", text="x", seconds=LONG), "x")
    check(h.call("t__exit", LONG)["result"]["isError"])
    h.call("t__nothing", LONG)
    h.call("other__echo", LONG)
    hub = ps()[h.p.pid]
    equal((hub["refused"], hub["servers"][0]["refused"], hub["calls_made"]), (3, 2, 1), hub)
    h.close()


@test("watch sends a page after a change, at most four a second, and none without one", 120)
def watch():
    h = Hub(toy("t"))
    equal(h.text("t__echo", text="x", seconds=LONG), "x")
    c = connected(h.p.pid)
    c.send(request(WATCH))
    equal(c.recv(1 << 16)[:8], struct.pack("<II", PAGE, 1))
    c.settimeout(1)
    try:
        check(False, c.recv(1 << 16))
    except socket.timeout:
        pass
    begin = time.time()
    for _ in range(40):
        h.text("t__echo", text="x", seconds=LONG)
    seconds, n = 0, 0
    try:
        while True:
            equal(c.recv(1 << 16)[:8], struct.pack("<II", PAGE, 1))
            n, seconds = n + 1, time.time() - begin
    except socket.timeout:
        pass
    check(1 <= n <= 2 + seconds * 4, n, seconds)
    c.close()
    h.close()


@test("rubbish and silent clients end nothing but their own connection", 120)
def hostile():
    h = Hub(toy("t"))
    for rubbish in (b"", b"\2", request(STATUS), request(STATUS, struct.pack("<I", 2)), request(STATUS, b"\0" * 4, 2),
                    request(WATCH, b"x"), request(RESTART), request(RESTART, text("t") + b"x"),
                    request(RESTART, text("t" * 200)), request(RESTART, struct.pack("<I", 3) + b"a\0b\0"),
                    request(PAGE), request(99), b"x" * 4096):
        c = connected(h.p.pid)
        c.send(rubbish)
        equal(c.recv(600), b"", rubbish)
        c.close()
    c = connected(h.p.pid)
    c.send(request(STATUS, b"\0" * 4))
    equal(c.recv(1 << 16)[:8], struct.pack("<II", PAGE, 1), "the control")
    c.close()
    many = [connected(h.p.pid) for _ in range(5)]
    equal(many[4].recv(100), b"", "a fifth of one process")
    check(h.p.pid in ps(), "and another process is answered")
    for c in many:
        c.close()
    equal(h.text("t__echo", text="x", seconds=LONG), "x", "the session goes on")
    os.kill(h.p.pid, signal.SIGSTOP)
    try:
        r = run([KENNEL, "ps"])
        equal(r.returncode, 125)
        within(b"the kennel serve of process %d does not answer" % h.p.pid, r.stderr)
        equal(restart("t").returncode, 125)
    finally:
        os.kill(h.p.pid, signal.SIGCONT)
    h.close()


@test("many servers come in pages", 120)
def pages():
    names = ["s%03d" % i for i in range(300)]
    body = "".join(toy(name)[1] for name in names)
    h = Hub(("many", body), file=True)
    equal([s["name"] for s in ps()[h.p.pid]["servers"]], names)
    c = connected(h.p.pid)
    c.send(request(STATUS, b"\0" * 4))
    packet = c.recv(1 << 20)
    check(len(packet) <= 16384 and b"s000" in packet and b"s299" not in packet, len(packet))
    c.close()
    h.close()


@test("the socket is its user's alone", 120)
def other_user():
    h = Hub(toy("t"))
    mode = os.stat(socket_of(h.p.pid)).st_mode
    equal(mode & 0o777, 0o600)
    if os.getuid() == 0:
        # the modes would refuse it already: they are lifted, so that the peer's uid is what is tested
        for at in (TMP, HOME, HOME + "/run"):
            os.chmod(at, os.stat(at).st_mode | 0o011)
        os.chmod(socket_of(h.p.pid), 0o666)
        probe = ("import socket,sys\nc = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\nc.settimeout(20)\n"
                 "c.connect(sys.argv[1])\n"
                 "try:\n    c.send(bytes.fromhex('020000000100000000000000'))\n    print(len(c.recv(65536)))\n"
                 "except OSError:\n    print(0)\n")
        probe = [sys.executable, "-c", probe, socket_of(h.p.pid)]
        other = run(["setpriv", "--reuid=61999", "--regid=61999", "--clear-groups"] + probe)
        equal(other.stdout, b"0\n", other.stderr)
        same = run(probe)
        check(int(same.stdout) > 20, "the control", same.stderr)
    h.close()


@test("the socket of a killed hub is removed, by its launcher or by kennel ps", 120)
def left():
    dead, alive = Hub(toy("t")), Hub(toy("t"))
    at = socket_of(dead.p.pid)
    check(os.path.exists(at), "the control")
    launchers = [int(p) for p in os.listdir("/proc") if p.isdigit()
                 and b"\nPPid:\t%d\n" % dead.p.pid in reads("/proc/%s/status" % p)]
    equal(len(launchers), 1)
    os.kill(launchers[0], signal.SIGKILL)
    os.kill(dead.p.pid, signal.SIGKILL)
    dead.p.wait()
    if os.path.exists(at):  # the hub may have seen the launcher's end first, but it may not remove it
        equal(list(ps()), [alive.p.pid])
    check(not os.path.exists(at) and os.path.exists(socket_of(alive.p.pid)))
    os.kill(alive.p.pid, signal.SIGKILL)
    alive.p.wait()
    check(wait_for(lambda: not os.path.exists(socket_of(alive.p.pid)), LONG) is not None, "its launcher removes it")


# ---- kennel top -------------------------------------------------------------------

def line_of(screen, name):
    return [line for line in screen.splitlines() if line.startswith(name)][0]


@test("top shows the servers of a hub and of a run, live, in 80 columns, and restarts one", 120)
def top():
    h = Hub(toy("alpha"), toy("beta"))
    alone = kennel_run("    run %s\n    tool allow echo\n    tool ask line\n" % words(TOY), name="gamma")
    alone.initialize()
    equal(h.text("alpha__echo", text="x", seconds=LONG), "x")
    s = Screen([KENNEL, "top"], TERM="vt100")
    shown = s.until("gamma")
    within("1 kennel serve, 2 sessions, by server", shown)
    equal(shown.splitlines()[1].split(), ["server", "pid", "state", "open", "calls", "refused", "ask", "p50", "p99",
                                          "memory"])
    alpha = line_of(shown, "alpha").split()
    equal(alpha[:7], ["alpha", str(h.p.pid), "connected", "0", "1", "0", "0"])
    check(alpha[7].endswith("s") and alpha[8].endswith("s") and float(alpha[9].rstrip("M")) > 1, alpha)
    equal(line_of(shown, "beta").split()[2:5], ["disconnected", "0", "0"])
    equal(line_of(shown, "gamma").split()[1], str(alone.p.pid))
    equal(h.text("alpha__echo", text="x", seconds=LONG), "x")
    check(wait_for(lambda: line_of(s.text(), "alpha").split()[4] == "2", LONG) is not None, s.text())
    alone.n += 1
    alone.send({"jsonrpc": "2.0", "id": alone.n, "method": "tools/call", "params": {"name": "line", "arguments": {}}})
    check(wait_for(lambda: line_of(s.text(), "gamma").split()[6] == "1", LONG) is not None, s.text())
    s.key(b"r")  # the first row is selected
    s.until("restart alpha? y restarts it")
    s.key(b"n")
    s.until("q quit")
    equal(h.row("alpha")["status"], "connected", "the control: only y restarts")
    s.key(b"ry")
    s.until("alpha: stopped; the next call starts it")
    check(wait_for(lambda: line_of(s.text(), "alpha").split()[2] == "disconnected", LONG) is not None, s.text())
    s.key(b"\x1bOB\x1bOBr")
    s.until("gamma restarts with its agent")
    s.key(b"s")
    s.until("by pid")
    s.key(b"q")
    check(wait_for(lambda: s.p.poll() is not None, LONG) is not None)
    equal(s.p.returncode, 0)
    equal(h.text("alpha__echo", text="x", seconds=LONG), "x", "the agent's session goes on")
    alone.close()
    h.close()


@test("top prints a table once without a terminal that can show it, and says why", 120)
def top_once():
    h = Hub(toy("alpha"))
    r = run([KENNEL, "top"])
    equal((r.returncode, r.stderr), (0, b""))
    lines = r.stdout.decode().splitlines()
    equal(([line.split()[0] for line in lines], [line for line in lines if len(line) > 80]), (["server", "alpha"], []))
    for term, why in (("dumb", "has no live view"), ("nosuch-terminal", "no terminfo entry for TERM `nosuch-terminal`")):
        s = Screen([KENNEL, "top"], columns=200, TERM=term)
        check(wait_for(lambda: s.p.poll() is not None, LONG) is not None)
        within(why, s.text())
        within("\nalpha ", s.text(0))
        absent(b"\x1b", s.raw)
    h.close()


@test("top has colours unless NO_COLOR is set", 120)
def top_colour():
    h = Hub(toy("bad", run="/bin/false"))
    h.call("bad__echo", LONG)
    for more, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        s = Screen([KENNEL, "top"], TERM="xterm-256color", **more)
        check(wait_for(lambda: (s.text() or True) and b"bad" in s.raw, LONG) is not None)
        equal(b"\x1b[31m" in s.raw, coloured, s.raw)
        s.key(b"q")
        check(wait_for(lambda: s.p.poll() is not None, LONG) is not None)
    h.close()


if __name__ == "__main__":
    main()
