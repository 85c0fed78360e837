"""A network to test against, for one test process: two network namespaces.

The test (and kennel) is on a machine whose only way out is a router; behind it is
an internet, whose addresses look public and lead nowhere else.  Names come from an
/etc/hosts and a resolver of the test's own.

    enter({"api.test.example": ["9.8.7.10"]})     before anything else is started
    with internet(): s = socket.create_server(("9.8.7.10", 443))
    start_there(["nginx", ...])

Needs root to make them.  For a test as an ordinary user the process starts as root
and becomes that user in enter(); it keeps the two capabilities with which it moves
between the namespaces, and no program that it starts has them.
"""
import sys
import contextlib
import ctypes
import os
import pwd
import socket
import ssl
import struct
import subprocess
import threading

from kit import AS, TMP, UID, check, environment, start

libc = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWNET = 0x20000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
CAP_NET_ADMIN, CAP_SYS_ADMIN = 12, 21

NEAR4, ROUTER4 = "10.99.0.2", "10.99.0.1"
NEAR6, ROUTER6 = "2a00:99::2", "2a00:99::1"
NEIGHBOUR6 = "2a00:99::77"      # a public address in the machine's own network
ADDRESSES = ["9.8.7.%d" % i for i in range(10, 30)] + ["10.20.30.40", "169.254.169.254", "100.100.100.200"]
ADDRESSES6 = ["2a00:aa::10", "2a00:aa::11", "fd00:ec2::254", "2002:a14:1e28::1"]

_ours = _theirs = None
_holder = None


def _ok(r, what):
    if r != 0:
        e = ctypes.get_errno()
        raise OSError(e, "%s: %s" % (what, os.strerror(e)))


def _ambient(yes):
    """What ip(8) needs when an ordinary user starts it."""
    if os.geteuid() == 0:
        return
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    _ok(libc.capget(header, data), "capget")
    caps = (1 << CAP_NET_ADMIN | 1 << CAP_SYS_ADMIN) if yes else 0
    data[2] = caps
    _ok(libc.capset(header, data), "capset")
    for cap in (CAP_NET_ADMIN, CAP_SYS_ADMIN):
        if yes:
            _ok(libc.prctl(47, 2, cap, 0, 0), "PR_CAP_AMBIENT_RAISE")
    if not yes:
        _ok(libc.prctl(47, 4, 0, 0, 0), "PR_CAP_AMBIENT_CLEAR_ALL")


def _ip(*lines):
    text = "\n".join(x for x in lines if x) + "\n"
    r = subprocess.run(["ip", "-batch", "-"], input=text, capture_output=True, text=True,
                       env=environment())
    check(r.returncode == 0, "ip: %s%s" % (r.stdout, r.stderr))


def _become_user():
    """The ordinary user from here on, with what internet() and alter() need."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    caps = 1 << CAP_NET_ADMIN | 1 << CAP_SYS_ADMIN
    _ok(libc.prctl(8, 1, 0, 0, 0), "PR_SET_KEEPCAPS")
    os.setgroups([])
    gid = pwd.getpwuid(UID).pw_gid
    os.setresgid(gid, gid, gid)
    os.setresuid(UID, UID, UID)
    _ok(libc.capset(header, (ctypes.c_uint32 * 6)(caps, caps, 0, 0, 0, 0)), "capset")
    _ok(libc.prctl(4, 1, 0, 0, 0), "PR_SET_DUMPABLE")


def _own_namespaces():
    _ok(libc.unshare(NEWNS | NEWNET), "unshare")
    _ok(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount private")


def _bind(name, text):
    path = "%s/world.%s" % (TMP, name)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o644)
    if AS == "user":
        os.chown(path, UID, -1)
    target = os.path.realpath("/etc/" + name)
    _ok(libc.mount(path.encode(), target.encode(), None, MS_BIND, None), "bind " + target)


def services(line):
    """How the machine looks up host names, from now on."""
    with open(TMP + "/world.nsswitch.conf", "w") as f:  # the file that is bound: not replaced
        f.write("passwd: files\ngroup: files\nhosts: %s\n" % line)


def hosts(names):
    """Which names the machine knows, from now on."""
    with open(TMP + "/world.hosts", "w") as f:  # the file that is bound: not replaced
        f.write("127.0.0.1 localhost\n::1 localhost\n")
        for name, addresses in names.items():
            for a in addresses:
                f.write("%s %s\n" % (a, name))


def enter(names, six=True):
    if os.geteuid() != 0:
        # In a user namespace with one id root's own links look like anybody's, and
        # kennel follows none of them: /lib64 and with it no program starts.
        print("needs root, for two network namespaces (in a user namespace no link of root's is followed)")
        sys.exit(77)
    global _ours, _theirs, _holder
    _own_namespaces()
    _ours = os.open("/proc/self/ns/net", os.O_RDONLY)
    _ok(libc.unshare(NEWNET), "unshare")
    _theirs = os.open("/proc/self/ns/net", os.O_RDONLY)
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w") as f:
        f.write("0")  # there an ordinary user is a web server too
    _ambient(True)
    _ip("link set lo up", *["addr add %s/32 dev lo" % a for a in ADDRESSES],
        *["addr add %s/128 dev lo nodad" % a for a in ADDRESSES6 if six])
    _ok(libc.setns(_ours, NEWNET), "setns")
    _holder = subprocess.Popen(["sleep", "1000000"], stdin=subprocess.DEVNULL, preexec_fn=_hold)
    _ip("link set lo up", "link add kt0 type veth peer name kt1 netns %d" % _holder.pid,
        "link set kt0 up", "addr add %s/24 dev kt0" % NEAR4)
    with internet():
        _ip("link set kt1 up", "addr add %s/24 dev kt1" % ROUTER4,
            "addr add %s/64 dev kt1 nodad" % ROUTER6 if six else "",
            "addr add %s/64 dev kt1 nodad" % NEIGHBOUR6 if six else "")
    _ip("route add default via " + ROUTER4, "addr add %s/64 dev kt0 nodad" % NEAR6 if six else "",
        "route add default via " + ROUTER6 if six else "")
    _ambient(False)
    _bind("hosts", "")
    _bind("nsswitch.conf", "")
    services("files dns")
    if AS == "user":
        _become_user()
    _bind("resolv.conf", "nameserver %s\noptions timeout:1 attempts:1\n" % ROUTER4)
    hosts(names)


def _hold():
    """What keeps their namespace while we live: of the user who is to end it."""
    libc.setns(_theirs, NEWNET)
    if AS == "user":
        os.setresuid(UID, UID, UID)
    libc.prctl(1, 9)  # PR_SET_PDEATHSIG


def leave():
    if _holder is not None:
        _holder.kill()
        _holder.wait()


@contextlib.contextmanager
def internet():
    """Sockets that are made in here are the internet's."""
    _ok(libc.setns(_theirs, NEWNET), "setns")
    try:
        yield
    finally:
        _ok(libc.setns(_ours, NEWNET), "setns")


def start_there(cmd, **how):
    fd = _theirs
    return start(cmd, preexec_fn=lambda: libc.setns(fd, NEWNET), **how)


def alter(*lines, there=False):
    """ip(8) on the machine, or there."""
    _ambient(True)
    try:
        if there:
            with internet():
                _ip(*lines)
        else:
            _ip(*lines)
    finally:
        _ambient(False)


# ---- servers ---------------------------------------------------------------------

class Server:
    """Accepts at an address of the internet; handler(connection, self) in threads."""

    def __init__(self, address, port, handler, there=True, wrap=None):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with internet() if there else contextlib.nullcontext():
            self.sock = socket.create_server((address, port), family=family, backlog=2048)
        self.port = self.sock.getsockname()[1]
        self.handler, self.wrap = handler, wrap
        self.seen, self.accepted = [], 0
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self):
        while True:
            try:
                c, _ = self.sock.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._serve, args=(c,), daemon=True).start()

    def _serve(self, c):
        try:
            if self.wrap:
                c = self.wrap(c, self)
            self.handler(c, self)
        except (OSError, ssl.SSLError, ValueError):
            pass
        finally:
            try:
                c.close()
            except OSError:
                pass

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()


def hello(c, server):
    """Says who it is, then echoes."""
    c.sendall(b"hello from the internet\n")
    echo(c, server)


def echo(c, server):
    while True:
        d = c.recv(65536)
        if not d:
            break
        c.sendall(d)


def keep(c, server):
    """Keeps what comes, for a test to look at."""
    data = b""
    server.seen.append(data)
    i = len(server.seen) - 1
    while True:
        d = c.recv(65536)
        if not d:
            break
        server.seen[i] += d


def http(c, server):
    data = b""
    while b"\r\n\r\n" not in data:
        d = c.recv(65536)
        if not d:
            return
        data += d
    server.seen.append(data)
    body = b"body of " + data.split(b"\r\n")[0]
    c.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (len(body), body))


def keys():
    """A certificate for the names of the tests; the folder it is in."""
    d = TMP + "/keys"
    if os.path.isdir(d):
        return d
    os.makedirs(d)
    os.chmod(d, 0o755)
    script = """
    cd %s
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 30 \
        -subj /CN=test-ca -addext basicConstraints=critical,CA:TRUE
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out c.csr -subj /CN=test
    printf 'subjectAltName=DNS:*.test.example,DNS:*.cdn.test.example,DNS:localhost,DNS:api.github.com,DNS:api.notion.com,DNS:context7.com,IP:9.8.7.10\n' > ext
    openssl x509 -req -in c.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile ext -out cert.pem
    chmod 644 *
    """ % d
    r = subprocess.run(["sh", "-ec", script], capture_output=True, env=environment())
    check(r.returncode == 0, r.stderr)
    return d


def tls(extra=None):
    """A wrap for Server: TLS, and the name that the client gave."""
    def wrap(c, server):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(keys() + "/cert.pem", keys() + "/key.pem")
        context.sni_callback = lambda s, name, ctx: server.seen.append(name)
        if extra:
            extra(context)
        return context.wrap_socket(c, server_side=True)
    return wrap


# ---- a resolver ------------------------------------------------------------------

class Resolver:
    """Answers A and AAAA from a table (a list, or a function of how often it was
    asked); a name that is not in it does not exist; None: no answer at all."""

    def __init__(self, table):
        self.table, self.asked = table, []
        with internet():
            self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.sock.bind((ROUTER4, 53))
        self.sock.settimeout(0.1)
        self.open = True
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while self.open:
            try:
                q, peer = self.sock.recvfrom(4096)
            except socket.timeout:
                continue
            except OSError:
                return
            p, labels = 12, []
            while q[p]:
                labels.append(q[p + 1:p + 1 + q[p]].decode("latin-1"))
                p += 1 + q[p]
            name = ".".join(labels).lower()
            kind = struct.unpack(">H", q[p + 1:p + 3])[0]
            self.asked.append(name)
            found = self.table.get(name)
            if callable(found):
                found = found(self.asked.count(name))
            if name in self.table and found is None:
                continue
            family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
            answers = [a for a in found or [] if family is not None and
                       (":" in a) == (family == socket.AF_INET6)]
            out = q[:2] + struct.pack(">5H", 0x8180 | (0 if name in self.table else 3), 1, len(answers), 0, 0)
            out += q[12:p + 5]
            for a in answers:
                raw = socket.inet_pton(family, a)
                out += struct.pack(">HHHIH", 0xC00C, kind, 1, 0, len(raw)) + raw
            self.sock.sendto(out, peer)

    def close(self):
        self.open = False
        self.thread.join()
        self.sock.close()
