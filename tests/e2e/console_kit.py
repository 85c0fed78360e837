"""A console on a terminal, and a client of it that sends what it likes."""
import fcntl
import http.client
import json
import os
import re
import select
import socket
import struct
import termios

from kit import *  # noqa: F403

LONG = 45  # seconds until something that must come is given up


class Terminal:
    """A program on a terminal; what it has printed."""

    def __init__(self, argv, env=None):
        self.master, slave = os.openpty()
        self.p = start(argv, stdin=slave, stdout=slave, stderr=slave, env=environment(env), cwd="/",
                       start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.text = ""

    def read(self, seconds=0.1):
        """False: nothing more will come."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            more = os.read(self.master, 65536)
        except OSError:  # its other end is closed
            return False
        self.text += more.decode().replace("\r", "")
        return more != b""

    def until(self, pattern):
        found = []

        def look():
            self.read()
            found[:] = [re.search(pattern, self.text)]
            return found[0]

        check(wait_for(look, LONG), pattern, self.text)
        return found[0]

    def end(self):
        """What it printed after its end, and its status."""
        def ended():
            self.read()
            return self.p.poll() is not None

        check(wait_for(ended, LONG), self.text)
        while self.read():
            pass
        os.close(self.master)
        return self.p.returncode


def exchange(at, port, method, path, send, data=None):
    """(status, headers, body) for a request with just these headers, and a length if there is data; a list is a header
    that comes more than once."""
    c = http.client.HTTPConnection(at, port, timeout=LONG)
    c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in send.items():
        for one in value if isinstance(value, list) else [value]:
            c.putheader(name, one)
    if data is not None:
        c.putheader("Content-Length", str(len(data)))
    c.endheaders(data or None)
    r = c.getresponse()
    got = r.status, r.headers, r.read()
    c.close()
    return got


def raw(port, data, piece=0):
    """The statuses of all replies to these bytes, until the other end closes; piece: bytes sent at once."""
    s = socket.create_connection(("127.0.0.1", port), timeout=LONG)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    got = b""
    try:
        for i in range(0, len(data), piece or len(data)):
            s.sendall(data[i:i + (piece or len(data))])
        while part := s.recv(65536):
            got += part
    except (ConnectionResetError, BrokenPipeError):
        pass
    s.close()
    return [int(n) for n in re.findall(rb"HTTP/1\.1 (\d{3}) ", got)]


def with_control_bytes(line, heads):
    """(what it is, the head with one control byte) for each place: the request's line, and each header's name and value."""
    lines = [line, *heads]
    for i, one in enumerate(lines):
        name, colon, value = one.partition(b": ") if i else (b"", b"", one)
        for bad in (b"\0", b"\r", b"\n", b"\x01", b"\x7f", b"\0\n"):
            at = {"end": one + bad, "middle": name + colon + value[:5] + bad + value[5:],
                  "begin": name + colon + bad + value, "name": name[:2] + bad + name[2:] + colon + value if i else bad + one}
            for place, text in at.items():
                if bad == b"\r" and place == "end":
                    text += b" "  # else the rest of the line's end would be in it
                yield (i, place, bad), b"\r\n".join([*lines[:i], text, *lines[i + 1:]]) + b"\r\n\r\n"


def heads_with_control_bytes(port, line, heads, body=b""):
    """None is answered but with 400, in one piece or in many; the clean one is, and has no second request behind it."""
    clean = b"\r\n".join([line, *heads]) + b"\r\n\r\n"
    equal(raw(port, clean + body), [200], "the control")
    equal(raw(port, clean + body, 1), [200], "the control, byte by byte")
    for what, bad in with_control_bytes(line, heads):
        equal(raw(port, bad + body), [400], what)
        if what[1:] == ("end", b"\0"):
            # what is sent after the refusal is discarded: the connection is not reset before the reply was read
            equal(raw(port, bad + body, 1), [400], (what, "byte by byte"))
            equal(raw(port, clean + body + bad + body), [200], (what, "behind a clean one"))
    equal(raw(port, clean + body + clean + body), [200], "one request a connection")
    equal(raw(port, b"\r\n" + clean + body), [400], "an empty line before it")
    equal(raw(port, clean + body), [200], "the control, at the end")


def has_sock_diag():
    """Does the kernel say whose a TCP socket is? A dump of them is no error then."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as s:
        s.send(struct.pack("=IHHII", 72, 20, 0x301, 1, 0) + struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xffffffff) + bytes(48))
        return struct.unpack_from("=IH", s.recv(65536))[1] != 2


STRANGER = """
import os, socket, sys
os.setgroups([]); os.setgid(61999); os.setuid(61999)
port, path, n = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
held = [socket.create_connection(("127.0.0.1", port)) for _ in range(n)]
for s in held:
    try:
        s.sendall(b"GET %s HTTP/1.1\\r\\nHost: localhost:%d\\r\\n\\r\\n" % (path.encode(), port))
        print(s.recv(12)[-3:].decode())
    except OSError:
        print()
"""


def as_stranger(port, path, n):
    """The statuses that another user gets on n connections that are open at one time; "": it was closed. For root."""
    r = run(["/usr/bin/python3", "-c", STRANGER, str(port), path, str(n)])
    equal(r.returncode, 0, r.stderr)
    return r.stdout.decode().splitlines()


class Console(Terminal):
    """kennel console, and a browser without a browser's rules."""

    def __init__(self, *argv, env=None):
        super().__init__([KENNEL, "console", *(argv or ("--no-open",))], env)
        m = self.until(r"http://localhost:(\d+)/#([0-9a-f]{32})\n(.*\n)*.*Ctrl-C")
        self.port, self.link = int(m.group(1)), m.group(2)
        self.cookie = self.key = None

    def host(self):
        return "localhost:%d" % self.port

    def request(self, method, path, body=None, headers=None, leave_out=(), at="127.0.0.1"):
        """(status, headers, body): what a page of the console would send, but for these headers."""
        send = {"Host": self.host()}
        if method in ("POST", "DELETE"):
            send["Origin"] = "http://" + self.host()
        if method == "POST":
            send["Content-Type"] = "application/json"
        if self.cookie:
            send["Cookie"] = "kennel-%d=%s" % (self.port, self.cookie)
        if self.key:
            send["X-Kennel-Key"] = self.key
        send.update(headers or {})
        data = body if isinstance(body, bytes) else None
        if method == "POST" and data is None:
            data = json.dumps(body or {}).encode()
        return exchange(at, self.port, method, path, {k: v for k, v in send.items() if k not in leave_out}, data)

    def json(self, method, path, body=None, **how):
        """(status, value)"""
        status, headers, text = self.request(method, "/api/" + path, body, **how)
        equal(headers["Content-Type"], "application/json")
        return status, json.loads(text)

    def login(self, link=None):
        status, headers, text = self.request("POST", "/api/login", {"link": link or self.link})
        equal(status, 200, text)
        m = re.fullmatch(r"kennel-(\d+)=([0-9a-f]{32}); (.*)", headers["Set-Cookie"])
        equal((int(m.group(1)), m.group(3)), (self.port, "Path=/; Max-Age=28800; HttpOnly; SameSite=Strict"))
        self.cookie, self.key = m.group(2), json.loads(text)["key"]
        return self

    def another_link(self):
        t = Terminal([KENNEL, "console"])
        m = t.until(r"http://localhost:%d/#([0-9a-f]{32})\n" % self.port)
        equal(t.end(), 0)
        return m.group(1)

    def interrupt(self):
        os.write(self.master, b"\x03")
        return self.end()


def refused(got, status, *parts):
    equal(got[0], status, got)
    for part in parts:
        within(part, got[1]["error"]["message"])
