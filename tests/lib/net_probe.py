"""What the tests of the network do inside of a cell: one verb per line of argv[1:],
as JSON lists; one JSON line of answer each.  Knows no proxy and no kennel."""
import json
import os
import socket
import ssl
import struct
import sys
import time

CA = os.environ.get("PROBE_CA")


def words(e):
    if isinstance(e, ssl.SSLError) or isinstance(e, socket.gaierror):
        return type(e).__name__
    if isinstance(e, OSError) and e.errno:
        import errno
        return errno.errorcode.get(e.errno, str(e.errno))
    return type(e).__name__


def connect(host, port, timeout=10):
    return socket.create_connection((host, port), timeout)


def drain(s, limit=1 << 20):
    data = b""
    try:
        while len(data) < limit:
            d = s.recv(65536)
            if not d:
                return data, "end"
            data += d
    except OSError as e:
        return data, words(e)
    return data, "limit"


def v_lookup(name, family=0):
    return sorted({a[4][0] for a in socket.getaddrinfo(name, 443, family, socket.SOCK_STREAM)})


def v_tcp(host, port, send=None, timeout=10):
    """Connects, sends, half-closes, reads to the end."""
    s = connect(host, port, timeout)
    try:
        if send is not None:
            s.sendall(send.encode("latin-1"))
        s.shutdown(socket.SHUT_WR)
    except OSError as e:  # refused between the two
        return ["", words(e).replace("EPIPE", "ECONNRESET").replace("ENOTCONN", "ECONNRESET")]
    data, how = drain(s)
    return [data.decode("latin-1"), how]


def v_hold(host, port, send, timeout):
    """Connects, sends, and waits for one answer, with its own side open."""
    s = connect(host, port, timeout)
    s.sendall(send.encode("latin-1"))
    return s.recv(65536).decode("latin-1")


left = []


def v_left(host, port, n):
    """n connections that answer once, and are open when the program ends."""
    for _ in range(n):
        s = connect(host, port)
        s.sendall(b"123")
        check = s.recv(65536)
        left.append(s)
    return check.decode("latin-1")


def v_wait(path):
    """Until a file is there."""
    while not os.path.exists(path):
        time.sleep(0.05)
    return "it is there"


def v_pieces(host, port, pieces, pause):
    """Each piece in a packet of its own, then what comes back."""
    s = connect(host, port)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        for p in pieces:
            s.sendall(p.encode("latin-1"))
            time.sleep(pause)
    except OSError as e:
        return ["", words(e)]
    s.settimeout(3)
    data, how = drain(s)
    return [data.decode("latin-1"), how]


def context():
    c = ssl.create_default_context(cafile=CA)
    return c


def v_tls(host, port, name=None, send="", version=None, verify=True):
    c = context()
    if not verify:
        c.check_hostname = False
        c.verify_mode = ssl.CERT_NONE
    if version == "1.2":
        c.maximum_version = ssl.TLSVersion.TLSv1_2
    s = connect(host, port)
    s = c.wrap_socket(s, server_hostname=name)
    s.sendall(send.encode("latin-1"))
    data = s.recv(65536)
    return [data.decode("latin-1"), s.version()]


def v_hello(name, alpn=None):
    """A ClientHello's bytes, as OpenSSL makes it."""
    c = context()
    c.check_hostname = False
    c.verify_mode = ssl.CERT_NONE
    if alpn:
        c.set_alpn_protocols(alpn)
    out = ssl.MemoryBIO()
    o = c.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try:
        o.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read().decode("latin-1")


def v_own(address="127.0.0.1"):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    s = socket.create_server((address, 0), family=family)
    c = socket.create_connection((address.replace("0.0.0.0", "127.0.0.1"), s.getsockname()[1]), 3)
    k, _ = s.accept()
    c.sendall(b"to myself")
    return k.recv(100).decode()


def v_queue(wait=1.0):
    """How many bytes a connection to itself takes that nobody reads."""
    s = socket.create_server(("127.0.0.1", 0))
    c = socket.create_connection(s.getsockname(), 3)
    k, _ = s.accept()
    c.settimeout(wait)
    n = 0
    try:
        while n < 1 << 28:
            n += c.send(bytes(65536))
    except OSError:
        pass
    k.close()
    return n


def v_bind(address, port, reuse=False):
    s = socket.socket()
    if reuse:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind((address, port))
    s.listen(1)
    return "ok"


def v_udp(host, port, text="x", wait=1.0):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(wait)
    s.sendto(text.encode("latin-1"), (host, port))
    return s.recv(4096).decode("latin-1")


def v_dns(server, name, kind=1, edns=False, tcp=False, raw=None):
    q = raw.encode("latin-1") if raw is not None else None
    if q is None:
        q = struct.pack(">6H", 0x1234, 0x0100, 1, 0, 0, 1 if edns else 0)
        for label in name.split("."):
            q += bytes([len(label)]) + label.encode("latin-1")
        q += b"\0" + struct.pack(">2H", kind, 1)
        if edns:
            q += b"\0" + struct.pack(">HHIH", 41, 4096, 0, 0)
    if tcp:
        s = connect(server, 53, 3)
        s.sendall(struct.pack(">H", len(q)) + q)
        n = struct.unpack(">H", s.recv(2))[0]
        r = s.recv(n)
    else:
        s = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(2)
        s.connect((server, 53))
        s.send(q)
        r = s.recv(4096)
    end = 12 + sum(1 + len(x) for x in (name or "").split(".")) + 5
    return {"rcode": r[3] & 15, "answers": struct.unpack(">H", r[6:8])[0], "question": r[12:end] == q[12:end],
            "additional": struct.unpack(">H", r[10:12])[0], "address": socket.inet_ntoa(r[end + 12:end + 16]) if len(r) >= end + 16 else None}


def v_many(host, port, n, hold=0.0):
    """n connections at once, each with a word of its own echoed."""
    all_ = []
    for i in range(n):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((host, port))
        all_.append(s)
    ok, bad = 0, {}
    for i, s in enumerate(all_):
        try:
            s.settimeout(60)
            s.sendall(b"%08d" % i)
            got = b""
            while len(got) < 8:
                d = s.recv(8 - len(got))
                if not d:
                    raise ConnectionError("end")
                got += d
            ok += got == b"%08d" % i
        except OSError as e:
            bad[words(e)] = bad.get(words(e), 0) + 1
    time.sleep(hold)
    return [ok, bad]


def v_sequence(host, port, n):
    """n connections, one after the other, each with a word of its own echoed."""
    ok, bad = 0, {}
    for i in range(n):
        try:
            with connect(host, port, 30) as s:
                s.sendall(b"%08d" % i)
                ok += s.recv(8, socket.MSG_WAITALL) == b"%08d" % i
        except OSError as e:
            bad[words(e)] = bad.get(words(e), 0) + 1
    return [ok, bad]


def v_crowd(host, port, n):
    """n connections at once; each is closed as soon as its word has come back."""
    waiting = []
    for i in range(n):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((host, port))
        waiting.append(s)
    ok, bad = 0, {}
    for i, s in enumerate(waiting):
        try:
            s.settimeout(60)
            s.sendall(b"%08d" % i)
            ok += s.recv(8, socket.MSG_WAITALL) == b"%08d" % i
        except OSError as e:
            bad[words(e)] = bad.get(words(e), 0) + 1
        s.close()
    return [ok, bad]


def v_abort(host, port, n):
    """n connections that the client resets at once; it asks nothing of them."""
    for _ in range(n):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.connect((host, port))
        s.close()
    return n


def v_until(host, port):
    """Sends and reads until the stream breaks; how."""
    s = connect(host, port, 30)
    block = b"x" * 65536
    try:
        while True:
            s.sendall(block)
            if not s.recv(65536):
                return "end"
    except OSError as e:
        return words(e)


def v_stream(host, port, megabytes):
    """As much to an echo, both ways at once."""
    import hashlib
    import threading
    s = connect(host, port, 60)
    block = os.urandom(1 << 16)
    sent, got = hashlib.sha256(), hashlib.sha256()

    def send():
        for _ in range(megabytes * 16):
            s.sendall(block)
            sent.update(block)
        s.shutdown(socket.SHUT_WR)
    t = threading.Thread(target=send)
    t.start()
    n = 0
    while True:
        d = s.recv(1 << 16)
        if not d:
            break
        n += len(d)
        got.update(d)
    t.join()
    return [n, sent.hexdigest() == got.hexdigest()]


def v_sendfile(host, port, text, old, new):
    """Sends from a file by sendfile, which leaves its pages in the socket, and writes
    to the file at once."""
    with open("/tmp/pages", "wb+") as f:
        f.write(text.encode("latin-1"))
        f.flush()
        s = connect(host, port)
        n = os.sendfile(s.fileno(), f.fileno(), 0, len(text) - 1)
        at = text.encode("latin-1").find(old.encode())
        f.seek(at)
        f.write(new.encode().ljust(len(old))[:len(old)])
        f.flush()
        time.sleep(0.3)
        f.seek(0)
        f.write(text.encode("latin-1"))
        f.flush()
        s.sendall(text[n:].encode("latin-1"))
        f.seek(at)
        f.write(new.encode().ljust(len(old))[:len(old)])
        f.flush()
        time.sleep(1)
        return n


PG_SSL, PG_GSS, PG_CANCEL = 80877103, 80877104, 80877102


def v_pg(host, port, name, gss=False, plain=False):
    """As libpq begins: perhaps GSS, then TLS; or without."""
    s = connect(host, port)
    if plain:
        s.sendall(struct.pack(">II", 8, 196608))
        return drain(s)[1]
    if gss:
        s.sendall(struct.pack(">II", 8, PG_GSS))
        if s.recv(1) != b"N":
            return "GSS was not declined"
    s.sendall(struct.pack(">II", 8, PG_SSL))
    if s.recv(1) != b"S":
        return "no TLS"
    c = context()
    c.check_hostname = name == host
    if name != host:
        c.verify_mode = ssl.CERT_NONE
    s = c.wrap_socket(s, server_hostname=name)
    return s.recv(100).decode()


def v_pg_cancel(host, port, more):
    s = connect(host, port)
    s.sendall(struct.pack(">IIII", 16, PG_CANCEL, 7, 9) + more.encode())
    time.sleep(0.3)
    try:
        s.sendall(more.encode())
    except OSError:
        pass
    return drain(s)[1]


def v_exists(path):
    return os.path.exists(path)


def v_sleep(seconds):
    time.sleep(seconds)
    return "ok"


def main():
    for line in sys.argv[1:]:
        verb, *rest = json.loads(line)
        t = time.time()
        try:
            r = globals()["v_" + verb](*rest)
        except Exception as e:
            r = "error " + words(e)
        print(json.dumps({"verb": verb, "is": r, "ms": round((time.time() - t) * 1e3, 1)}), flush=True)


main()
