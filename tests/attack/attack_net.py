"""Rows 41-57: the network.  Each attempt in a cell, with a control that shows what it
would have reached.  The world of these tests is two network namespaces (world.py)."""
import json
import os
import socket
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
import world  # noqa: E402
from net_kit import HELLO, NAMES, PROBE, egress, probe, recorded  # noqa: E402

RESET = (["", "ECONNRESET"], "error ECONNRESET")
API = "net allow api.test.example:443"


def from_here(host, port):
    """The control: the machine itself, without kennel, reaches it."""
    s = socket.create_connection((host, port), 5)
    s.shutdown(socket.SHUT_WR)
    data = s.recv(4096)
    s.close()
    return data


def hello_of(name):
    return probe("", ["hello", name])[0]


# ---- names ---------------------------------------------------------------------------

@test("attack_41_nul_in_name: a byte 0, a dot inside a label, another case never match a grant")
def nul():
    q = lambda label: ("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + label + "\x00\x00\x01\x00\x01")
    good = q("\x03api\x04test\x07example")
    got = probe(API, ["dns", "127.0.0.1", None, 1, False, False, good],
                ["dns", "127.0.0.1", None, 1, False, False, q("\x04api\x00\x04test\x07example")],
                ["dns", "127.0.0.1", None, 1, False, False, q("\x08api.test\x07example")],
                ["dns", "127.0.0.1", None, 1, False, False, q("\x03api\x04test\x07example\x04evil")])
    equal([x["rcode"] for x in got], [0, 3, 3, 3])  # the first is the control


@test("attack_42_no_lines: no net line, and a net line that denies, reach nothing")
def empty():
    s = world.Server("9.8.7.10", 443, world.hello)
    equal(from_here("9.8.7.10", 443), HELLO.encode())
    for line in ("", "net deny api.test.example:443"):
        got = probe(line, ["tcp", "9.8.7.10", 443], ["lookup", "api.test.example"])
        equal(got, ["error ECONNREFUSED", "error gaierror"])
    equal(s.accepted, 1)
    s.close()


@test("attack_43_44_45_proxy: CONNECT and absolute-form requests to a granted port go to the granted host alone")
def proxies():
    s = world.Server("9.8.7.12", 80, world.http)
    evil = world.Server("9.8.7.16", 80, world.http)
    got = probe("net allow db.test.example:80 plain",
                ["tcp", "db.test.example", 80, "CONNECT 9.8.7.16:80 HTTP/1.1\r\n\r\n"],
                ["tcp", "db.test.example", 80, "GET http://9.8.7.16/ HTTP/1.1\r\n\r\n"])
    check(all("body of" in x[0] for x in got), got)
    equal((s.accepted, evil.accepted), (2, 0))
    equal(from_here("9.8.7.16", 80), b"")  # the control: it is there
    s.close()
    evil.close()


@test("attack_46_other_sni: the granted address with another name, or with none, is reset and recorded")
def sni():
    s = world.Server("9.8.7.10", 443, world.hello, wrap=world.tls())
    got = probe(API, ["tls", "api.test.example", 443, "evil.test.example", "", None, False],
                ["tls", "api.test.example", 443, None, "", None, False],
                ["tls", "api.test.example", 443, "api.test.example"])
    check(got[0] in RESET and got[1] in RESET, got)
    equal(got[2][0], HELLO)  # the control
    equal(s.seen, ["api.test.example"])
    recorded(verdict="deny", name="api.test.example", reason="the ClientHello names another server: evil.test.example")
    recorded(verdict="deny", name="api.test.example",
             reason="no server name in the ClientHello: the grant needs `no-sni`")
    got = probe(API + " no-sni", ["tls", "api.test.example", 443, None, "", None, False],
                ["tls", "api.test.example", 443, "evil.test.example", "", None, False])
    equal(got[0][0], HELLO)
    check(got[1] in RESET, got)
    s.close()


@test("attack_47_host: another Host header behind the granted name is not refused, as docs/TRUST.md says")
def other_host():
    s = world.Server("9.8.7.10", 443, world.http, wrap=world.tls())
    got = probe(API, ["tls", "api.test.example", 443, "api.test.example", "GET / HTTP/1.1\r\nHost: evil.test.example\r\n\r\n"])
    within("body of GET /", got[0][0])
    check(any(b"evil.test.example" in x for x in s.seen if isinstance(x, bytes)), s.seen)
    s.close()


@test("attack_48_hello: cut into bytes and records, and with a second name, it is read whole", seconds=90)
def hellos():
    h = hello_of("api.test.example")
    evil = hello_of("evil.test.example")
    s = world.Server("9.8.7.10", 443, world.keep)
    body = h[5:]
    records = "".join("\x16\x03\x01\x00\x28" + body[i:i + 40] if len(body) - i >= 40 else
                      "\x16\x03\x01\x00" + chr(len(body) - i) + body[i:] for i in range(0, len(body), 40))
    two_messages = h[:3] + struct.pack(">H", len(h) - 5 + 4).decode("latin-1") + h[5:] + "\x0e\0\0\0"
    probe(API, ["pieces", "api.test.example", 443, list(h), 0.0005], ["pieces", "api.test.example", 443, [records], 0.3])
    check(wait_for(lambda: len(s.seen) == 2 and all(s.seen), 3) is not None, "control: good hellos did not arrive", s.seen)
    equal(s.seen[0], h.encode("latin-1"))
    bad = [evil, two_messages, "GET / HTTP/1.1\r\nhost: api.test.example\r\n\r\n",
           "\x14\x03\x03\x00\x01\x01" + h, h[:5] + "\x02" + h[6:]]
    got = probe(API, *[["pieces", "api.test.example", 443, [b], 0.2] for b in bad])
    check(all(x in RESET or x == ["", "EPIPE"] for x in got), got)
    equal(len([x for x in s.seen if x]), 2)
    s.close()


@test("attack_48_second_hello: after a HelloRetryRequest the second ClientHello is judged as well", seconds=90)
def second():
    import hashlib
    h = hello_of("api.test.example").encode("latin-1")
    evil = hello_of("evil.test.example").encode("latin-1")
    retry = hashlib.sha256(b"HelloRetryRequest").digest()
    message = b"\x02\x00\x00\x38\x03\x03" + retry + b"\0" * 22
    answer = b"\x16\x03\x03" + struct.pack(">H", len(message)) + message
    got = []

    def serve(c, server):
        data = b""
        while len(data) < len(h):
            data += c.recv(4096)
        c.sendall(answer)
        c.settimeout(2)
        more = b""
        try:
            while True:
                d = c.recv(4096)
                if not d:
                    break
                more += d
        except OSError:
            pass
        got.append(more)
    s = world.Server("9.8.7.10", 443, serve)
    change = b"\x14\x03\x03\x00\x01\x01"
    for second_, arrives in ((h, True), (evil, False), (change + h, True), (change + evil, False)):
        pieces = [x.decode("latin-1") for x in (h, second_)]
        probe(API, ["pieces", "api.test.example", 443, pieces, 0.4])
        check(wait_for(lambda: got, 5) is not None)
        more = got.pop()
        equal((second_ in more, evil in more), (arrives, False))
    # both at once: the second waits until the host has asked for it
    probe(API, ["pieces", "api.test.example", 443, [(h + evil).decode("latin-1")], 1.0])
    check(wait_for(lambda: got, 5) is not None)
    absent(evil[5:], got.pop())
    recorded(verdict="deny", reason="the second ClientHello names another server: evil.test.example")
    s.close()


@test("attack_48_sendfile: a hello whose pages the client changes after it was sent is not sent changed")
def changed_pages():
    # The control: between a look at what waits in a socket and taking it, it changes.
    a, b = socket.create_server(("127.0.0.1", 0)), socket.socket()
    b.connect(a.getsockname())
    k, _ = a.accept()
    with open(TMP + "/pages", "wb+") as f:
        f.write(b"good" * 1024)
        f.flush()
        os.sendfile(b.fileno(), f.fileno(), 0, 4096)
        looked = k.recv(4096, socket.MSG_PEEK)
        f.seek(0)
        f.write(b"evil" * 1024)
        f.flush()
        control({"pages": "ok" if k.recv(4096) != looked else "the same"}, "pages")
    h = hello_of("api.test.example")
    s = world.Server("9.8.7.10", 443, world.keep)
    probe(API, *[["sendfile", "api.test.example", 443, h, "api.test.example", "bad.test.example"]] * 5)
    absent(b"bad.test.example", b"".join(s.seen))
    s.close()


# ---- addresses -----------------------------------------------------------------------

@test("attack_49_internal: a granted name that leads inside is not dialled: loopback, own, on-link, private, metadata")
def internal():
    servers = [world.Server("127.0.0.1", 7443, world.hello, there=False),
               world.Server(world.NEAR4, 7443, world.hello, there=False)]
    for a in ("10.20.30.40", "169.254.169.254", "100.100.100.200", world.NEIGHBOUR6, "2002:a14:1e28::1"):
        servers.append(world.Server(a, 7443, world.hello))
    for a in ("127.0.0.1", world.NEAR4, "10.20.30.40", world.NEIGHBOUR6):
        equal(from_here(a, 7443), HELLO.encode(), "control: " + a)
    names = {n + ".test.example": None for n in ("evil", "self", "near", "private", "meta", "ali", "sixtofour",
                                                 "mapped", "nat64", "synthetic")}
    got = probe("net allow %s plain" % " ".join(n + ":7443" for n in names),
                *[["tcp", n, 7443, "x"] for n in names], timeout=120)
    check(all(x in RESET for x in got), list(zip(names, got)))
    for n in ("evil", "self", "near", "private", "meta"):
        recorded(verdict="deny", name=n + ".test.example", port=7443)
    # what the scope says is reached, and metadata by none but its own address
    got = probe("net allow private.test.example:7443 meta.test.example:7443 near.test.example:7443 to private plain\n"
                "net allow evil.test.example:7443 self.test.example:7443 to loopback plain",
                *[["tcp", n + ".test.example", 7443, "x"] for n in ("private", "near", "evil", "self", "meta")],
                timeout=120)
    equal(got[:4], [[HELLO + "x", "end"]] * 4)
    check(got[4] in RESET, got[4])
    got = probe("net allow meta.test.example:7443 to 169.254.169.254/32 plain", ["tcp", "meta.test.example", 7443, "x"])
    equal(got, [[HELLO + "x", "end"]])
    for s in servers:
        s.close()


@test("attack_49_rebinding: a resolver that changes its answer: the address that was judged is the one that is dialled")
def rebinding():
    inside = world.Server("127.0.0.1", 7444, world.hello, there=False)
    out = world.Server("9.8.7.10", 7444, world.hello)
    r = world.Resolver({"rebind.test.example": lambda n: ["9.8.7.10"] if n <= 2 else ["127.0.0.1"]})
    got = probe("net allow rebind.test.example:7444 plain", *[["tcp", "rebind.test.example", 7444, "x"]] * 2,
                ["sleep", 10.5], ["tcp", "rebind.test.example", 7444, "x"])
    equal(got[:2], [[HELLO + "x", "end"]] * 2)
    check(got[3] in RESET, got)
    equal((inside.accepted, out.accepted), (0, 2))
    r.close()
    for s in (inside, out):
        s.close()


@test("attack_50_other_port: another port of a granted host is refused and recorded")
def other_port():
    s = world.Server("9.8.7.12", 8080, world.hello)
    equal(from_here("9.8.7.12", 8080), HELLO.encode())
    got = probe("net allow db.test.example:80 plain", ["tcp", "db.test.example", 8080], ["tcp", "9.8.7.12", 80],
                ["tcp", "9.8.7.12", 8080])
    equal(got, ["error ECONNREFUSED"] * 3)
    recorded(verdict="deny", name="db.test.example", port=8080, reason="no line grants this port")
    equal(s.accepted, 1)
    s.close()


# ---- other ways out --------------------------------------------------------------------

@test("attack_51_labels: what is looked up leaves the cell only as a record, granted suffix or not")
def labels():
    r = world.Resolver({"x.test.example": ["9.8.7.10"]})
    secret = "c2VjcmV0".lower()
    probe("net allow *.cdn.test.example:443", ["lookup", secret + ".evil.example"], ["lookup", secret + ".cdn.test.example"],
          ["dns", "9.8.7.10", secret + ".evil.example"], ["dns", world.ROUTER4, secret + ".evil.example"])
    absent(secret, " ".join(r.asked))
    socket.getaddrinfo("x.test.example", 1)  # the control: the machine's resolver does ask
    within("x.test.example", r.asked)
    r.close()


@test("attack_52_datagrams: UDP, QUIC and raw packets go nowhere, and are recorded")
def datagrams():
    seen = []
    with world.internet():
        d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        d.bind(("9.8.7.10", 443))
    d.settimeout(0.5)
    got = probe(API, ["udp", "9.8.7.10", 443, "quic", 0.5], ["udp", "api.test.example", 443, "quic", 0.5])
    check(all(str(x).startswith("error") for x in got), got)
    try:
        seen.append(d.recv(100))
    except OSError:
        pass
    equal(seen, [])
    recorded(verdict="deny", address="9.8.7.10", port=443, reason="only TCP connections can be granted")
    c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    c.sendto(b"control", ("9.8.7.10", 443))
    equal(d.recv(100), b"control")
    d.close()


@test("attack_53_host_loopback: no address of the cell is the machine's loopback")
def host_loopback():
    s = world.Server("127.0.0.1", 7445, world.hello, there=False)
    s2 = world.Server("0.0.0.0", 7446, world.hello, there=False)
    equal(from_here("127.0.0.1", 7445), HELLO.encode())
    got = probe("net allow 9.8.7.0/24:7445-7446 plain",
                *[["tcp", a, p] for a in ("10.0.2.2", "127.0.0.1", "29.31.196.1", world.NEAR4, "0.0.0.0", "::1",
                                          "::ffff:127.0.0.1") for p in (7445, 7446)])
    check(all(x in RESET or str(x).startswith("error ") for x in got), got)
    equal((s.accepted, s2.accepted), (1, 0))
    s.close()
    s2.close()


@test("attack_55_listeners: the server cannot take kennel's addresses and ports away, with any option")
def steal():
    s = world.Server("9.8.7.12", 5005, world.hello)
    got = probe("net allow db.test.example:5005 plain\nnet allow 9.8.7.0/24:5006 plain",
                ["bind", "29.31.196.2", 5005], ["bind", "29.31.196.2", 5005, True], ["bind", "0.0.0.0", 5005, True],
                ["bind", "127.0.0.1", 5006, True], ["bind", "0.0.0.0", 53, True], ["bind", "127.0.0.1", 53],
                ["bind", "127.0.0.1", 5007], ["tcp", "db.test.example", 5005, "x"])
    check(all(x == "error EADDRINUSE" or x == "error EACCES" for x in got[:6]), got)
    equal(got[6:], ["ok", [HELLO + "x", "end"]])
    s.close()


@test("attack_56_57: no control socket is in the cell, and a whole top-level domain is no grant")
def control_and_domains():
    check(os.path.exists(HOME + "/run"), "control: no run directory")
    equal(probe("", ["exists", HOME + "/run"], ["exists", HOME], ["exists", "/proc/self/fd/3"]), [False] * 3)
    for line, word in (("net allow *.com:443", b"top-level"), ("net allow *:443", b"every host")):
        r = run([KENNEL, "policy", "check", policy("    run /bin/true\n    " + line)])
        check(r.returncode != 0, line, "is taken")
        within(word, r.stdout + r.stderr)


@test("attack: a connection that nobody reads holds less than the machine's limits let it hold outside")
def buffers():
    (inside,) = probe("", ["queue"])
    (outside,) = [json.loads(x)["is"] for x in unconfined([sys.executable, PROBE, '["queue"]']).stdout.splitlines()]
    check(100_000 < inside < 1_000_000, inside)
    control({"buffers": "ok" if outside > 2 * inside else "%d outside, %d inside" % (outside, inside)}, "buffers")


@test("a flood of names does not fill the log: 256 a minute, the rest as a sum")
def flood():
    before = len(egress(verdict="deny"))
    probe("", *[["dns", "127.0.0.1", "n%d.evil.example" % i] for i in range(400)])
    n = len(egress(verdict="deny")) - before
    check(200 <= n <= 260, n, "records")
    check(egress(reason="too many names to record each one"), "no sum")


if __name__ == "__main__":
    world.enter(NAMES)
    try:
        main()
    finally:
        world.leave()
