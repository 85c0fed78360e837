"""Attacks on kennel console, each with its control; e2e_console.py has those by Host, Origin, link and cookie."""
import ctypes
import glob
import json
import os
import platform
import re
import select
import signal
import socket
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from clock import ORIG, POKE, RAX, RDI, RSI, RSP, libc, ptrace, put_registers, registers  # noqa: E402
from console_kit import *  # noqa: E402,F403
from secrets_kit import PATH, Session, server  # noqa: E402

RUN_DIR = HOME + "/run"
CONNECTIONS = 64


def server_of():
    return int(glob.glob(RUN_DIR + "/console-*")[0].rsplit("-", 1)[1])


def heads(c):
    return ("Host: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nCookie: kennel-%d=%s\r\nX-Kennel-Key: %s\r\n" %
            (c.host(), c.host(), c.port, c.cookie, c.key)).encode()


# ---- a confined server that is taken over ---------------------------------------------------

SEIZE, INTERRUPT, STEP, DETACH = 0x4206, 0x4207, 9, 17
WALL = 0x40000000
RDX, RIP = 12, 16
CALLS = {"getpid": 39, "socket": 41, "connect": 42, "bind": 49, "execve": 59, "openat": 257, "getdents64": 217, "write": 1}


class Taken:
    """A process that makes the system calls of a test, as if it was taken over. x86_64, and the tracer is root."""

    def __init__(self, pid):
        self.pid = pid
        ptrace(SEIZE, pid)
        ptrace(INTERRUPT, pid)
        os.waitpid(pid, WALL)
        self.registers = registers(pid)

    def memory(self, data):
        """Where these bytes are in its stack now."""
        at = (self.registers[RSP] - 4096) & ~7
        data += b"\0" * (-len(data) % 8)
        for i in range(0, len(data), 8):
            ptrace(POKE, self.pid, at + i, struct.unpack_from("<Q", data, i)[0])
        return at

    def call(self, name, a=0, b=0, c=0):
        """Its result, or the signal that ended the process."""
        r = list(self.registers)
        r[RAX], r[RDI], r[RSI], r[RDX] = CALLS[name], a & 2 ** 64 - 1, b, c
        r[ORIG] = 2 ** 64 - 1  # the call in which it was interrupted does not begin again
        r[RIP] -= 2  # that call's own instruction
        put_registers(self.pid, r)
        ptrace(STEP, self.pid)
        _, status = os.waitpid(self.pid, WALL)
        if os.WIFSIGNALED(status):
            return signal.Signals(os.WTERMSIG(status)).name
        return ctypes.c_int64(registers(self.pid)[RAX]).value

    def leave(self):
        put_registers(self.pid, self.registers)
        ptrace(DETACH, self.pid)


@test("a server that is taken over opens no socket, file or program: neither the keeper's socket nor a session's")
def taken_over():
    if AS != "root":
        # an ordinary user cannot even trace it
        other = start(["sleep", "60"])
        code = "import ctypes, sys\nfor pid in sys.argv[1:]:\n" \
            "    print(ctypes.CDLL(None, use_errno=True).ptrace(%d, int(pid), None, None))\n" % SEIZE
        Console()
        equal(run([sys.executable, "-c", code, str(server_of()), str(os.getpid())]).stdout.split()[:1], [b"-1"])
        ptrace(SEIZE, other.pid)  # the control
        return
    if platform.machine() != "x86_64":
        raise Skip("its registers are those of x86_64")
    os.makedirs(RUN_DIR, mode=0o700, exist_ok=True)
    keeper = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    path = RUN_DIR + "/keeper.sock"
    if os.path.exists(path):
        os.unlink(path)
    keeper.bind(path)
    keeper.listen()
    address = struct.pack("<H", socket.AF_UNIX) + path.encode() + b"\0"
    for name in ("socket", "connect", "bind", "openat", "getdents64", "execve"):
        c = Console()
        t = Taken(server_of())
        equal(t.call("getpid"), t.pid, "the control: calls that it has")
        where = t.memory(address if name in ("connect", "bind") else b"/dev/null\0")
        arguments = {"socket": (socket.AF_UNIX, socket.SOCK_SEQPACKET, 0), "connect": (3, where, len(address)),
                     "bind": (3, where, len(address)), "openat": (-100, where, 0), "getdents64": (3, where, 64),
                     "execve": (where, 0, 0)}
        equal(t.call(name, *arguments[name]), "SIGSYS", name)
        equal(c.end(), 125)
    # the control: the launcher makes these calls, and they succeed
    c = Console()
    t = Taken(c.p.pid)
    fd = t.call("socket", socket.AF_UNIX, socket.SOCK_SEQPACKET, 0)
    check(fd > 2, fd)
    equal(t.call("connect", fd, t.memory(address), len(address)), 0)
    t.leave()
    equal(c.request("GET", "/")[0], 200)
    keeper.close()
    os.unlink(path)


def descriptors(pid):
    return {int(n): os.readlink("/proc/%d/fd/%s" % (pid, n)) for n in os.listdir("/proc/%d/fd" % pid)}


def terminals(pid):
    return [n for n, to in descriptors(pid).items() if re.match("/dev/(pts/|tty|console)", to)]


def launcher_socket(pid):
    """A copy of the server's socket for commands."""
    pidfd = os.pidfd_open(pid)
    try:
        for n, to in sorted(descriptors(pid).items()):
            if not to.startswith("socket:"):
                continue
            fd = libc.syscall(438, pidfd, n, 0)  # pidfd_getfd
            check(fd >= 0, os.strerror(ctypes.get_errno()))
            s = socket.socket(fileno=fd)
            if s.type == socket.SOCK_SEQPACKET and not s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                return s
            s.close()
    finally:
        os.close(pidfd)
    raise AssertionError(descriptors(pid))


@test("a server that is taken over has no descriptor of the terminal: what it writes is not shown, its reports have fixed texts")
def no_terminal():
    reused = "a link was opened a second time; its login has ended"
    c = Console().login()
    refused(c.json("POST", "login", {"link": c.link}), 403)
    c.until(reused)
    if AS != "root":
        try:
            os.listdir("/proc/%d/fd" % server_of())
            raise AssertionError("its descriptors are shown to its user")
        except PermissionError:
            pass
        check(terminals(c.p.pid), "the control")
        equal(c.interrupt(), 0)
        return
    equal(terminals(server_of()), [])
    equal(sorted(terminals(c.p.pid)), [0, 1, 2], "the control")
    if platform.machine() == "x86_64":
        text = b"kennel: passphrase: "
        for pid, shown in ((server_of(), 0), (c.p.pid, 1)):  # the second is the control
            t = Taken(pid)
            equal(t.call("write", 2, t.memory(text), len(text)), len(text))
            t.leave()
            c.read(1)
            equal(c.text.count(text.decode()), shown)
    c.interrupt()
    c = Console()
    s = launcher_socket(server_of())
    for _ in range(1000):
        select.select([], [s], [], LONG)
        s.send(struct.pack("<III", 6, 1, 0))
    c.until(reused)
    select.select([], [s], [], LONG)
    s.send(struct.pack("<III", 6, 5, 0))
    c.until("sent an invalid message")
    equal(c.end(), 125)
    check(c.text.count(reused) < 30, c.text.count(reused), "one a second")
    s.close()


# ---- its connections to sessions ------------------------------------------------------------------

LIST, ANSWER, REOPEN, SAVED, CHANNEL = 1, 2, 8, 10, 12
TERMINAL, FINAL = 1, 4
CLOSED = "closed"


class Answerer:
    """A client of a session's socket; final: as the launcher hands it to the server."""

    def __init__(self, env, q, final=True):
        self.pid, self.number = map(int, re.match(r"(\d+)-(\d+):", q["id"]).groups())
        self.digest = bytes.fromhex(q["sha256"])
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.settimeout(LONG)
        self.s.connect("%s/run/ask-%d" % (env["KENNEL_HOME"], self.pid))
        if final:
            self.s.send(struct.pack("<II", CHANNEL, FINAL))
        self.s.send(struct.pack("<II", CHANNEL, TERMINAL))

    def send(self, packet):
        """What the session made of it: an errno, or CLOSED."""
        self.s.send(packet)
        try:
            got = self.s.recv(16384)
        except ConnectionResetError:
            got = b""
        self.s.close()
        if got == b"":
            return CLOSED
        kind, error = struct.unpack("<II", got)
        equal(kind, 6)
        return error

    def answer(self, what):
        return self.send(struct.pack("<IIIII", ANSWER, self.number, what, 0, 32) + self.digest + b"\0")

    def named(self, kind, name):
        return self.send(struct.pack("<II", kind, len(name)) + name.encode() + b"\0")


def answered(env, *want):
    """These are the answers of clients in the audit log: their outcomes and channels."""
    got = []

    def look():
        got[:] = [(e["fields"]["outcome"], e["fields"].get("channel")) for e in audit(env=env)
                  if e["kind"] == "approve" and "approver" in e["fields"]]
        return len(got) >= len(want)

    wait_for(look, LONG)
    equal(got, list(want))


@test("another user gets sixteen of the page's connections at one time, and the person all others")
def strangers():
    if AS != "root" or not has_sock_diag():
        skip("root can be two users, and needs a kernel that says whose a connection is")
    c = Console().login()
    equal(as_stranger(c.port, "/", 70), ["200"] * 16 + [""] * 54)
    equal(c.request("GET", "/")[0], 200)


@test("on a connection of the console nothing is reported as saved, accepted, refused or changed, and nothing is reopened; it stays the "
      "console's", 120)
def final_connection():
    s = Session("secret %s {\n    description \"of the team\"\n}\n" % PATH, servers=[server("one", grants="    tool ask echo\n")])

    def provision():
        rid = s.h.structured("secrets_request_provision", path=PATH)["request_id"]
        return rid, s.question()

    rid, q = provision()
    for what in (6, 8, 9):
        equal(Answerer(s.env, q).answer(what), CLOSED, what)
    equal(Answerer(s.env, q).named(SAVED, PATH), CLOSED)
    equal([x["id"] for x in s.questions()], [q["id"]])
    equal(s.status(rid), "pending")
    answered(s.env)
    equal(Answerer(s.env, q).answer(7), 0)  # the page can close it
    s.settled(rid, "cancelled")
    # REOPEN: of what a person has refused
    call = s.h.post_call("one.echo", {"text": "x"})
    q = s.question()
    equal(Answerer(s.env, q).answer(3), 0)
    check(s.h.wait(call, LONG)["result"]["isError"])
    equal(Answerer(s.env, q).named(REOPEN, "echo"), CLOSED)
    check(s.h.wait(s.h.post_call("one.echo", {"text": "x"}), LONG)["result"]["isError"], "refused unasked")
    equal(s.questions(), [])
    page = [("cancelled", "console"), ("deny", "console")]
    answered(s.env, *page)
    # the controls: without the packet that restricts it, the session takes each of them
    equal(Answerer(s.env, q, False).named(REOPEN, "echo"), 0)
    call = s.h.post_call("one.echo", {"text": "x"})
    equal(Answerer(s.env, s.question()).answer(1), 0)  # a yes of the page is still one
    check(not s.h.wait(call, LONG)["result"].get("isError"))
    for what, named in ((6, "ok"), (8, "failed"), (SAVED, "ok")):
        rid, q = provision()
        c = Answerer(s.env, q, False)
        equal(c.named(SAVED, PATH) if what == SAVED else c.answer(what), 0)
        s.settled(rid, named)
    answered(s.env, *page, ("reopened", "terminal"), ("once", "console"), *((how, "terminal") for how in ("ok", "failed", "ok")))
    s.done()


# ---- requests that can be read in two ways ---------------------------------------------------

@test("request smuggling: a request whose body has two lengths, or that is malformed, ends its connection", 120)
def smuggling():
    c = Console().login()
    second = b"POST /api/logout HTTP/1.1\r\n" + heads(c) + b"Content-Length: 0\r\n\r\n"
    n = b"%d" % len(second)
    shapes = {
        b"Content-Length: 0\r\nContent-Length: " + n + b"\r\n\r\n": 400,
        b"Content-Length: " + n + b"\r\nContent-Length: 0\r\n\r\n": 400,
        b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n": 400,
        b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 400,
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n": 400,
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 400,
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n": 400,
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n": 400,
        b"Transfer-Encoding: identity\r\n\r\n": 400,
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n": 400,
        b"Content-Length : 0\r\n\r\n": 400,
        b"Content-Length: +0\r\n\r\n": 400,
        b"Content-Length: -1\r\n\r\n": 400,
        b"Content-Length: 0x0\r\n\r\n": 400,
        b"Content-Length: 0, 0\r\n\r\n": 400,
        b"Content-Length: 99999999999999999999999\r\n\r\n": 413,
        b"X(: a\r\nContent-Length: 0\r\n\r\n": 400,
        b"no colon\r\nContent-Length: 0\r\n\r\n": 400,
    }
    for shape, status in shapes.items():
        got = raw(c.port, b"POST /api/nothing HTTP/1.1\r\n" + heads(c) + shape + second)
        equal(set(got), {status}, (shape, got))
        equal(c.json("GET", "login")[0], 200, shape)  # the second request was not read
    # a second request is not read, wherever the first one ends: the controls are what each of them alone gets
    for shape in (b"Content-Length: 0\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"):
        equal(raw(c.port, b"POST /api/nothing HTTP/1.1\r\n" + heads(c) + shape + second), [404])
        equal(c.json("GET", "login")[0], 200, shape)
    equal(raw(c.port, second), [200])
    refused(c.json("GET", "login"), 401)


@test("a control byte in the request's line, in a name or in a value of a head is refused, however the head arrives", 240)
def control_bytes():
    c = Console().login()
    heads_with_control_bytes(c.port, b"GET /api/login HTTP/1.1", heads(c).split(b"\r\n")[:-1])


@test("targets: another form, a path that leaves, an escape or another method reach nothing", 120)
def targets():
    c = Console().login()
    close = heads(c) + b"Connection: close\r\n\r\n"
    host = c.host().encode()
    for target in (b"http://" + host + b"/api/login", b"http://evil.example/", b"//api/login", b"/api/./login",
                   b"/x/../api/login", b"/API/login", b"/api/login/", b"/api/login%00x", b"/api/log%69n", b"/%2e%2e/etc/passwd",
                   b"/../../../../etc/passwd", b"/..%2f..%2fetc/passwd", b"//etc/passwd", b"/pages/../../etc/passwd", b"/.",
                   b"/console.js/", b"/console.js%00.html", b"/\xff\xfe", b"/api/approvals/../login", b"*"):
        equal(raw(c.port, b"GET " + target + b" HTTP/1.1\r\n" + close), [404], target)
    for line, status in ((b"OPTIONS * HTTP/1.1", 405), (b"OPTIONS /api/login HTTP/1.1", 405), (b"TRACE /api/login HTTP/1.1", 405),
                         (b"HEAD /api/login HTTP/1.1", 405), (b"CONNECT localhost:22 HTTP/1.1", 405), (b"PRI * HTTP/2.0", 505),
                         (b"GET /api/login HTTP/2.0", 505), (b"GET /api/login", 400), (b"GET\t/api/login HTTP/1.1", 400),
                         (b"GET /api/login HTTP/1.1 x", 400), (b"get /api/login HTTP/1.1", 405)):
        equal(raw(c.port, line + b"\r\n" + close), [status], line)
    # a client that upgrades stays a client of HTTP
    equal(raw(c.port, b"GET /api/login HTTP/1.1\r\nUpgrade: h2c, websocket\r\n" + close), [200])
    equal(raw(c.port, b"GET /api/login HTTP/1.1\r\n" + close), [200], "the control")


@test("headers and targets of any length are refused, and the console goes on")
def long_ones():
    c = Console().login()
    close = heads(c) + b"Connection: close\r\n"
    for n in (1 << 15, 1 << 17, 1 << 20):
        for data in (b"GET /api/login HTTP/1.1\r\n" + close + b"X: " + b"a" * n + b"\r\n\r\n",
                     b"GET /" + b"a" * n + b" HTTP/1.1\r\n" + close + b"\r\n",
                     b"GET /api/login HTTP/1.1\r\n" + close + b"X: a\r\n" * (n // 2) + b"\r\n",
                     b"G" * n + b" / HTTP/1.1\r\n" + close + b"\r\n",
                     b"GET /api/login HTTP/1.1\r\nCookie: " + b"a=b; " * (n // 4) + b"\r\n" + close + b"\r\n"):
            try:
                got = raw(c.port, data)
            except (BrokenPipeError, ConnectionResetError):
                got = []  # closed while it was sent
            check(not got or set(got) <= {400, 405, 413, 414, 431}, data[:40], n, got)
    # the control: 1 KiB of each is read
    equal(raw(c.port, b"GET /api/login HTTP/1.1\r\n" + close + b"X: " + b"a" * 1024 + b"\r\n\r\n"), [200])


# ---- secrets that were stolen -----------------------------------------------------------------

@test("a stolen cookie without the key, a key without the cookie, both after the logout, and a tossed cookie are no login")
def stolen():
    c = Console().login()
    cookie, key = c.cookie, c.key

    def tried(cookies, page):
        return c.json("GET", "login", headers={"Cookie": cookies, "X-Kennel-Key": page})[0]

    mine = "kennel-%d=%s" % (c.port, cookie)
    equal(tried(mine, key), 200, "the control")
    equal(c.json("GET", "login", leave_out=("X-Kennel-Key",))[0], 401)
    equal(c.json("GET", "login", leave_out=("Cookie",))[0], 401)
    for wrong in ("", key[:-1], key + "0", cookie, "0" * 32, key.upper() if key.upper() != key else "x"):
        equal(tried(mine, wrong), 401, wrong)
    # a page on another port of localhost sets a cookie of the same name, that of a login of its own
    c.login(c.another_link())
    other = "kennel-%d=%s" % (c.port, c.cookie)
    equal(tried(other, c.key), 200)
    equal(tried(other + "; " + mine, key), 401)
    equal(tried(other, key), 401)
    c.cookie, c.key = cookie, key
    equal(c.json("POST", "logout")[0], 200)
    equal(tried(mine, key), 401)
    # a link is no login, nor is one that was used
    equal(tried("kennel-%d=%s" % (c.port, c.link), c.link), 401)
    refused(c.json("POST", "login", {"link": c.link}), 403)


@test("another user of the machine gets the static pages and no login, and reaches no socket of the user")
def second_user():
    if AS != "root":
        raise Skip("needs root to run as another user")
    c = Console().login()
    code = "import http.client, json, socket, sys\n" \
        "port = int(sys.argv[1])\n" \
        "def ask(method, path, body=None, **more):\n" \
        "    c = http.client.HTTPConnection('127.0.0.1', port, timeout=40)\n" \
        "    h = {'Host': 'localhost:%d' % port, 'Origin': 'http://localhost:%d' % port," \
        " 'Content-Type': 'application/json', **more}\n" \
        "    c.request(method, path, body, h)\n" \
        "    return c.getresponse().status\n" \
        "print(ask('GET', '/'), ask('GET', '/api/login'), ask('GET', '/api/approvals'), ask('GET', '/api/log')," \
        " ask('POST', '/api/login', '{\"link\":\"%032x\"}' % 1), ask('POST', '/api/logout', '{}'))\n" \
        "for path in sys.argv[2:]:\n" \
        "    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n" \
        "    try:\n        s.connect(path)\n        print('connected')\n" \
        "    except OSError as e:\n        print(type(e).__name__)\n"
    open_one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    at = TMP + "/anybody-s"
    open_one.bind(at)
    os.chmod(at, 0o666)
    open_one.listen()
    got = unconfined(["python3", "-c", code, str(c.port), glob.glob(RUN_DIR + "/console-*")[0], at])
    equal(got.stdout.split(), b"200 401 401 401 403 401 PermissionError connected".split(), got.stderr)
    open_one.close()
    os.unlink(at)
    equal(c.json("GET", "login")[0], 200, "the control: the person's login")


# ---- what the audit log has, and a console whose connections are full ---------------------------

def records(action=None):
    got = [e["fields"] for e in audit("--kind", "console")] if os.path.exists(HOME + "/audit/audit.db") else []
    return [g for g in got if action in (None, g["action"])]


@test("64 connections that never end a request are closed, and refused requests are recorded at once, then once a minute", 200)
def slow():
    c = Console().login()

    def mine(action=None):  # the end of another console may be recorded late
        return [r for r in records(action) if r["pid"] == c.p.pid]
    # another page asks
    for _ in range(7):
        refused(c.json("POST", "logout", headers={"Origin": "http://evil.example"}), 403)
    check(wait_for(lambda: len(mine("refused")) == 1, LONG), records())
    refused(c.json("GET", "login", headers={"Host": "evil.example"}), 421)
    refused(c.json("POST", "logout", headers={"Content-Type": "text/plain"}), 415)
    refused(c.json("POST", "login", {"link": "0" * 32}), 403)
    refused(c.json("GET", "nothing"), 404)  # no refusal
    full = [socket.create_connection(("127.0.0.1", c.port), timeout=LONG) for _ in range(CONNECTIONS)]
    for s in full:
        s.sendall(b"GET / HTTP/1.1\r\nHost: ")
    # its answer comes when they are closed, 30 s after their last byte
    equal(c.json("GET", "login")[0], 200)
    for s in full:
        check(b"200" not in s.recv(4096)[:12])
        s.close()
    check(wait_for(lambda: len(mine("refused")) == 2, 90), records())
    equal(c.interrupt(), 0)
    got = mine()
    equal([(r["action"], r.get("verdict"), r.get("count")) for r in got],
          [("start", None, None), ("login", "allow", None), ("refused", "deny", None), ("refused", "deny", 9),
           ("end", None, None)])
    equal({r["uid"] for r in got}, {os.getuid()})
    absent("evil", json.dumps(got))
    last = [e for e in audit("--kind", "console") if e["fields"].get("count") == 9][-1]
    within("console: refused, deny (count 9)", run([KENNEL, "audit", "why", str(last["idx"])]).stdout.decode())


@test("a link that is opened twice is recorded, and neither a start nor a login happens without its record")
def recorded():
    before = len(records())
    c = Console().login()
    refused(c.json("POST", "login", {"link": c.link}), 403, "was opened before")
    check(wait_for(lambda: len(records()) == before + 3, LONG))
    equal([r["action"] for r in records()[before:]], ["start", "login", "link-reused"])
    link = c.another_link()
    os.rename(HOME + "/audit", HOME + "/audit.away")
    open(HOME + "/audit", "w").close()
    try:
        refused(c.json("POST", "login", {"link": link}), 503, "unable to record the login")
        refused(c.json("POST", "login", {"link": link}), 403)
        equal(c.interrupt(), 0)
        t = Terminal([KENNEL, "console", "--no-open"])
        equal(t.end(), 125)
        within("unable to record the start of the console", t.text)
        absent("http://", t.text)
    finally:
        os.unlink(HOME + "/audit")
        os.rename(HOME + "/audit.away", HOME + "/audit")
    Console().login()  # the control
    # what kennel-console runs: events of a table, and nothing else
    n = len(records())
    for words_ in (["start", "x"], ["page", "start", "1"], ["page", "end", "1"], ["login"], ["page", "login"], ["page", "login", "0"],
                   ["page", "refused", "1x"], ["page", "refused", "-1"], ["page", "<b>", "1"], [], ["page", "refused", "9" * 30]):
        equal(run([KENNEL, "console", "record", *words_]).returncode, 64, words_)
    equal(len(records()), n)


if __name__ == "__main__":
    main()
