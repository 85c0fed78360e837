"""The network of a cell: granted names by TCP, and nothing else."""
import json
import os
import shutil
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
import world  # noqa: E402
from net_kit import *  # noqa: E402,F403

# ---- what works -------------------------------------------------------------------

@test("a cell's own loopback is open without a grant, at 127.0.0.1, any address and ::1")
def own():
    got = probe("", ["own"], ["own", "0.0.0.0"], ["own", "::1"], ["udp", "127.0.0.1", 9, "x", 0.2])
    equal(got[:3], ["to myself"] * 3)
    check(not egress(address="127.0.0.1", verdict="deny"), "its own loopback is on record as refused")


@test("a granted name is reached by plain TCP, and its half-closed streams are whole")
def plain():
    world.Server("9.8.7.12", 5000, world.hello)
    got = probe("net allow db.test.example:5000 plain", ["tcp", "db.test.example", 5000, "what I sent"])
    equal(got, [[HELLO + "what I sent", "end"]])
    recorded(verdict="allow", action="open", name="db.test.example", port=5000)
    recorded(verdict="allow", action="close", name="db.test.example", address="9.8.7.12", bytes_out=11,
             bytes_in=len(HELLO) + 11)


@test("connections that are open when the server ends have their bytes on record")
def open_at_the_end():
    over = threading.Event()

    def far(s, _):  # its end takes longer than the session's
        s.sendall(b"hello" + s.recv(3))
        over.wait(60)
    world.Server("9.8.7.12", 5096, far)
    try:
        equal(probe("net allow db.test.example:5096 plain", ["left", "db.test.example", 5096, 40]), ["hello123"])
        opened, closed = (egress(action=a, name="db.test.example", port=5096) for a in ("open", "close"))
    finally:
        over.set()
    equal(sorted(e["request"] for e in closed), sorted(e["request"] for e in opened))
    equal([(e["bytes_out"], e["bytes_in"], e["verdict"]) for e in closed], [(3, 8, "allow")] * 40)


@test("audit egress: each connection is one row, with what became of it")
def outcomes():
    world.Server("9.8.7.12", 5095, world.hello)
    got = probe("net allow gone.test.example:5095 plain\n    net allow db.test.example:5095 plain",
                *[["tcp", name, 5095, "x"] for name in ("gone.test.example", "db.test.example", "no.test.example")])
    equal(got[1], [HELLO + "x", "end"])
    recorded(action="close", name="db.test.example", port=5095)
    r = run([KENNEL, "audit", "egress", "*.test.example", "--json", "--no-header"])
    rows = [x for x in map(json.loads, r.stdout.splitlines()) if x["port"] == 5095]
    (failed,) = [e["reason"] for e in egress(action="close", name="gone.test.example")]
    equal(sorted((x["name"], x["outcome"], x["verdict"]) for x in rows),
          [("db.test.example", "connected", "allow"), ("gone.test.example", failed, "allow")])
    (reached,) = [x for x in rows if x["outcome"] == "connected"]
    (lost,) = [x for x in rows if x["outcome"] == failed]
    for row, outcome in (reached, "connected"), (lost, failed):
        why = run([KENNEL, "audit", "why", str(row["idx"]), "--json", "--no-header"]).stdout
        equal([x["answer"] for x in map(json.loads, why.splitlines()) if x["about"] == "connection"], [outcome])
    start, end = [e for e in audit("--kind", "egress") if e["fields"].get("name") == ["db.test.example"]][-2:]
    equal((reached["idx"], reached["address"], reached["bytes_out"]), (start["idx"], "9.8.7.12", 1))
    equal(start["fields"]["request"], end["fields"]["request"])


@test("audit egress: a filter chooses connections: a row is the same with and without each filter", seconds=60)
def filters():
    def asked(*words):
        r = run([KENNEL, "audit", "egress", "--json", "--no-header", *words])
        equal(r.returncode, 0, r.stderr)
        return {x["idx"]: x for x in map(json.loads, r.stdout.splitlines())}

    def when(ts):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ts / 1e9))
    def slow(s, server):
        time.sleep(2.2)
        world.hello(s, server)
    world.Server("9.8.7.12", 5094, world.hello)
    world.Server("9.8.7.12", 5093, slow)
    world.Server("9.8.7.12", 443, world.hello)
    grants = "".join("net allow db.test.example:%s\n    " % x for x in ("5094 plain", "5093 plain", "443"))
    # the first of its name; one that passes a second; refused by name, and by what it sends
    probe(grants, ["tcp", "db.test.example", 5094, "x"])
    probe(grants, ["tcp", "db.test.example", 5093, "x"], ["tcp", "db.test.example", 5094, "x"],
          ["tcp", "no.test.example", 5094], ["tcp", "db.test.example", 443, "no TLS"])
    recorded(name="db.test.example", port=443, verdict="deny")
    every = asked()
    (held,) = [x for x in every.values() if x["port"] == 5093]
    check(held["duration_us"] > 2e6 and held["outcome"] == "connected", held)
    (ts,) = [e["ts"] for e in audit("--kind", "egress") if e["idx"] == held["idx"]]
    inside = when(ts + 1.2e9)
    some = [("--verdict", "deny"), ("--verdict", "allow"), ("--to", inside), ("--from", inside), ("--session", held["session"]),
            ("--session", held["session"][:8], "--verdict", "deny"), ("--server", "t"), ("--server", "none"), ("--rule", held["rule"])]
    for chosen in some:
        part = asked(*chosen)
        for idx, row in part.items():
            equal(row, every.get(idx), chosen)
        equal(len(part) < len(every) or chosen == ("--server", "t"), True, chosen)
    # control: what each is to choose
    check(held["idx"] in asked("--to", inside) and held["idx"] in asked("--from", inside), "the one at that time")
    equal({x["verdict"] for x in asked("--verdict", "deny").values()}, {"deny"})
    equal(set(asked("--verdict", "deny")) | set(asked("--verdict", "allow")), set(every))
    equal({x["session"] for x in asked("--session", held["session"]).values()}, {held["session"]})


@test("TLS 1.3 and 1.2 to a granted name, verified by the client, without a proxy variable")
def tls():
    s = world.Server("9.8.7.10", 443, world.hello, wrap=world.tls())
    got = probe("net allow api.test.example:443", ["tls", "api.test.example", 443, "api.test.example"],
                ["tls", "api.test.example", 443, "api.test.example", "", "1.2"])
    equal(got, [[HELLO, "TLSv1.3"], [HELLO, "TLSv1.2"]])
    equal(s.seen, ["api.test.example"] * 2)
    s.close()


@test("every name below a granted suffix is reached at its own address, and the suffix itself is not")
def suffix():
    a = world.Server("9.8.7.13", 443, world.hello, wrap=world.tls())
    b = world.Server("9.8.7.14", 443, world.hello, wrap=world.tls())
    got = probe("net allow *.cdn.test.example:443", ["tls", "a.cdn.test.example", 443, "a.cdn.test.example"],
                ["tls", "b.cdn.test.example", 443, "b.cdn.test.example"], ["lookup", "cdn.test.example"],
                ["lookup", "a.cdn.test.example"], ["lookup", "b.cdn.test.example"])
    equal([x[0] for x in got[:2]], [HELLO] * 2)
    equal(got[2], "error gaierror")
    check(got[3] != got[4], "two names, one address", got)
    equal((a.seen, b.seen), (["a.cdn.test.example"], ["b.cdn.test.example"]))
    a.close()
    b.close()


@test("an address that is granted as such, IPv4 and IPv6, needs no name")
def literal():
    four = world.Server("9.8.7.15", 7000, world.hello)
    six = world.Server("2a00:aa::11", 7000, world.hello)
    got = probe('net allow 9.8.7.15:7000 plain\nnet allow "[2a00:aa::/32]:7000-7001" plain',
                ["tcp", "9.8.7.15", 7000, "x"], ["tcp", "2a00:aa::11", 7000, "y"], ["tcp", "9.8.7.16", 7000],
                ["tcp", "2a00:ab::1", 7000])
    equal(got[:2], [[HELLO + "x", "end"], [HELLO + "y", "end"]])
    equal(got[2], "error ECONNREFUSED")
    check("ECONNRESET" in got[3], got[3])  # the block's listener takes it, and it is not in the block
    four.close()
    six.close()


@test("`localhost:PORT to loopback` works under that very name, and without the scope it does not")
def localhost():
    s = world.Server("127.0.0.1", 0, world.hello, there=False)
    line = "net allow localhost:%d%s plain"
    got = probe(line % (s.port, " to loopback"), ["tcp", "localhost", s.port, "x"], ["tcp", "127.0.0.1", s.port, "y"])
    equal(got, [[HELLO + "x", "end"], [HELLO + "y", "end"]])
    got = probe(line % (s.port, ""), ["tcp", "localhost", s.port, "x"])
    check(got[0] in (["", "ECONNRESET"], "error ECONNRESET"), got)  # before or after what it sends
    recorded(verdict="deny", name="localhost", port=s.port)
    s.close()


LASTS = """
import socket, sys, time
s = socket.create_connection(("localhost", int(sys.argv[1])), 10)
for i in range(3):
    try:
        s.sendall(b"%d" % i)
        print("sent", flush=True)
    except OSError:
        print("reset", flush=True)
    time.sleep(7 if i == 0 else 1)
"""


@test("a connection that is older than the last day of its line forwards nothing after that day", 120)
def last_day():
    def keep(c, s):
        data = c.recv(100)
        while data:
            s.seen.append(data)
            data = c.recv(100)
    there = TMP + "/next-day"
    shutil.copytree(STAGE + "/usr", there, symlinks=True)
    own = there + "/libexec/kennel/kennel-egress"
    for day in ("ends", "lasts"):  # the control: the same line under a clock whose day does not end
        s = world.Server("127.0.0.1", 0, keep, there=False)
        if day == "ends":
            os.chmod(os.path.dirname(own), 0o755)
            os.unlink(own)
            shutil.copy(STAGE + "/bin/egress_next_day", own)
        end = time.strftime("%Y-%m-%d", time.gmtime())
        body = base().replace("%s %s **\n" % (PYTHON, PROBE), "%s **\n" % PYTHON, 1) + (
            "    net allow localhost:%d to loopback plain owner a ticket b until %s\n" % (s.port, end))
        kennel = there + "/bin/kennel" if day == "ends" else KENNEL
        r = run([kennel, "exec", "--policy", policy(body), "t", "--", PYTHON, "-c", LASTS, str(s.port)], timeout=60)
        equal(r.returncode, 0, r.stderr)
        got = b"".join(s.seen)
        equal(got, b"0" if day == "ends" else b"012", (day, r.stdout, r.stderr))
        if day == "ends":
            recorded(verdict="deny", port=s.port, action="close",
                     reason="the exception of the line that grants it has expired")
            within(b"has expired", r.stderr)
        s.close()


@test("name services that kennel-dial does not use are left out, also when no other is named")
def services():
    s = world.Server("9.8.7.12", 5001, world.hello)
    try:
        for line in ("mdns4_minimal [NOTFOUND=return] files", "sss winbind"):
            world.services(line)
            got = probe("net allow db.test.example:5001 plain", ["tcp", "db.test.example", 5001, "x"])
            equal(got, [[HELLO + "x", "end"]])
            row = [r for r in json.loads(run([KENNEL, "doctor", "--json"]).stdout) if r["name"] == "name-services"]
            check(not row[0]["holds"] and line.split()[0] in row[0]["said"], row)
    finally:
        world.services("files dns")
        s.close()
    row = [r for r in json.loads(run([KENNEL, "doctor", "--json"]).stdout) if r["name"] == "name-services"]
    check(row[0]["holds"], row)


@test("the next address is tried when the first does not answer, and IPv6 is used where it works")
def eyeballs():
    four = world.Server("9.8.7.10", 7001, world.hello)
    six = world.Server("2a00:aa::10", 7001, world.hello)
    got = probe("net allow two.test.example:7001 six.test.example:7001 plain",
                ["tcp", "two.test.example", 7001, "x"], ["tcp", "six.test.example", 7001, "x"])
    equal(got, [[HELLO + "x", "end"]] * 2)
    equal((four.accepted, six.accepted), (1, 1))
    recorded(name="six.test.example", action="close", address="2a00:aa::10")
    four.close()
    six.close()


@test("starttls postgres: TLS with the granted name after SSLRequest, GSS is declined, plain text and other names are not")
def postgres():
    def serve(c, server):
        first = c.recv(8)
        server.seen.append(first)
        if first != b"\0\0\0\x08\x04\xd2\x16\x2f":
            while True:
                more = c.recv(100)
                if not more:
                    return
                server.seen.append(more)
        c.sendall(b"S")
        world.tls()(c, server).sendall(b"a query's answer")
    s = world.Server("9.8.7.12", 5432, serve)
    got = probe("net allow db.test.example:5432 starttls postgres", ["pg", "db.test.example", 5432, "db.test.example"],
                ["pg", "db.test.example", 5432, "db.test.example", True],
                ["pg", "db.test.example", 5432, "evil.test.example"],
                ["pg", "db.test.example", 5432, "db.test.example", False, True],
                ["pg_cancel", "db.test.example", 5432, ""], ["pg_cancel", "db.test.example", 5432, "more"])
    equal(got[:2], ["a query's answer"] * 2)
    check(str(got[2]).startswith("error"), got)
    equal(got[3], "ECONNRESET")
    seen = b"|".join(x if isinstance(x, bytes) else x.encode() for x in s.seen)
    within(b"\x04\xd2\x16\x2e", seen, "the cancel request is passed on")
    absent(b"more", seen)
    absent(b"\0\x03\0\0", seen)
    absent(b"evil", seen)
    recorded(verdict="deny", name="db.test.example", reason="the client did not ask for TLS")
    s.close()


@test("DNS: granted names alone, A and no AAAA; EDNS, mixed case, TCP, a resolver of the client's own")
def dns():
    got = probe("net allow api.test.example:443",
                ["dns", "127.0.0.1", "api.test.example"], ["dns", "8.8.8.8", "API.Test.eXample", 1, True],
                ["dns", "127.0.0.1", "api.test.example", 28], ["dns", "127.0.0.1", "api.test.example", 65],
                ["dns", "127.0.0.1", "api.test.example", 1, True, True], ["dns", "127.0.0.1", "www.test.example"],
                ["dns", "::1", "api.test.example"])
    check(all(x["question"] for x in got), got)
    equal([(x["rcode"], x["answers"], x["additional"]) for x in got],
          [(0, 1, 0), (0, 1, 1), (0, 0, 0), (0, 0, 0), (0, 1, 1), (3, 0, 0), (0, 1, 0)])
    equal(got[0]["address"], got[6]["address"])
    recorded(verdict="deny", name="www.test.example", reason="no line grants it")


@test("as many at once as a browser wants, and a megabyte each way through a small pool of pipes")
def many():
    s = world.Server("9.8.7.12", 5001, world.echo)
    got = probe("net allow db.test.example:5001 plain\nlimit files 2000", ["many", "db.test.example", 5001, 200],
                ["stream", "db.test.example", 5001, 8])
    equal(got, [[200, {}], [8 << 20, True]])
    s.close()


@test("`limit files 16` and ten grants: the listeners are not the server's descriptors")
def few_files():
    s = world.Server("9.8.7.12", 5002, world.hello)
    names = " ".join("n%d.test.example:5002" % i for i in range(10))
    got = probe("limit files 16\nnet allow %s db.test.example:5002 plain" % names,
                ["tcp", "db.test.example", 5002, "x"])
    equal(got, [[HELLO + "x", "end"]])
    s.close()


def client(program, *argv, grants="", env=""):
    """A program of other people's in a cell; what it printed."""
    user = '    user "65534"\n' if os.geteuid() == 0 else ""
    body = user + '    run %s **\n    exec allow %s ** because "the tests"\n    read %s\n%s\n' \
        '    net allow api.test.example:443\n%s\n' % (program, program, world.keys(), env, grants)
    r = kexec(body, [program] + list(argv), timeout=60)
    return r.stdout.decode(errors="replace") + r.stderr.decode(errors="replace")


@test("clients that know no proxy: curl, also where it offers HTTP/2, and fetch of node")
def clients():
    s = world.Server("9.8.7.10", 443, world.http, wrap=world.tls())
    ca = world.keys() + "/ca.pem"
    tried = []
    for program, argv, env in (
            ("/usr/bin/curl", ("-sS", "--cacert", ca, "--http1.1", "https://api.test.example/one"), ""),
            ("/usr/bin/curl", ("-sS", "--cacert", ca, "https://api.test.example/one"), ""),
            ("/usr/bin/node", ("-e", "fetch('https://api.test.example/one').then(r => r.text()).then(console.log, "
                               "e => console.log(String(e.cause)))"), "    env NODE_EXTRA_CA_CERTS = \"%s\"" % ca)):
        if not os.path.exists(program):
            print("# %s is not here" % program)
            continue
        tried.append(program)
        within("body of GET /one HTTP/1.1", client(program, *argv, env=env), program)
    check(tried, "none of them is here")
    equal(set(s.seen) & {"api.test.example"}, {"api.test.example"})
    s.close()


# ---- what a person decides ---------------------------------------------------------------

def pending(n=1):
    """Approvals that wait, as soon as there are n."""
    def these():
        out = run([KENNEL, "approve", "list", "--json"]).stdout.decode()
        return [json.loads(x) for x in out.splitlines()]
    wait_for(lambda: len(these()) == n, 20)
    got = these()
    equal(len(got), n, got)
    return got


def answer(q, verb, *options):
    r = run([KENNEL, "approve", verb, q["id"]] + list(options))
    equal(r.returncode, 0, r.stderr)


def asked(grants, *verbs, **how):
    """The probe in another thread; its answers, when it has ended."""
    got = []
    t = threading.Thread(target=lambda: got.append(probe(grants, *verbs, **how)), daemon=True)
    t.start()

    def wait():
        t.join(60)
        check(got, "the probe has not ended")
        return got[0]
    return wait


ASK = 'net ask db.test.example:5004 plain because "a person decides"'


def started(port):
    """A server that the next test's replaces, also where this one fails."""
    if started.last:
        started.last.close()
    started.last = world.Server("9.8.7.12", port, world.hello)
    return started.last


started.last = None


@test("net ask: nothing is dialled before a person agrees; for the session, the next connection goes by itself", seconds=90)
def ask_yes():
    s = started(5004)
    wait = asked(ASK, ["hold", "db.test.example", 5004, "x", 60], ["tcp", "db.test.example", 5004, "x"])
    q = pending()[0]
    equal((q["kind"], q["subject"], q["because"]), ("host", "db.test.example:5004", "a person decides"))
    equal(json.loads(q["detail"])["name"], "db.test.example")
    equal(s.accepted, 0, "dialled before the answer")
    answer(q, "allow", "--session")
    got = wait()
    check(got[0].startswith(HELLO), got)
    equal(got[1], [HELLO + "x", "end"])
    equal(s.accepted, 2)
    recorded(verdict="ask", action="open", name="db.test.example", port=5004)
    recorded(verdict="allow", action="open", outcome="session", name="db.test.example", port=5004)
    check(audited('"approve"', '"net"', "db.test.example:5004"), "the person's answer is on record")


@test("net ask: a no is a reset; the same is refused unasked for a minute, and another name is asked about", seconds=90)
def ask_no():
    s = started(5004)
    db = ["hold", "db.test.example", 5004, "x", 60]
    wait = asked(ASK + "\nnet ask api.test.example:5004 plain", db, db, ["hold", "api.test.example", 5004, "x", 60])
    answer(pending()[0], "deny")
    q = pending()[0]
    equal(q["subject"], "api.test.example:5004")
    answer(q, "deny")
    equal(wait(), ["error ECONNRESET"] * 3)
    equal(s.accepted, 0)
    recorded(verdict="deny", name="db.test.example", port=5004, reason="not approved")


@test("net ask with passphrase: nothing is dialled for a yes without it; with it the connection goes, once", seconds=120)
def ask_factor():
    s = started(5004)
    word = b"correct horse battery staple"
    equal(run([KENNEL, "secret", "init", "--stdin"], stdin=word).returncode, 0)
    try:
        wait = asked("net ask db.test.example:5004 plain with passphrase", ["hold", "db.test.example", 5004, "x", 60])
        q = pending()[0]
        equal((q["kind"], q["factor"]), ("host", "passphrase"))
        r = run([KENNEL, "approve", "allow", q["id"]])
        equal(r.returncode, 64, "no terminal to type it on")
        equal(s.accepted, 0)
        equal(run([KENNEL, "secret", "confirm", q["sha256"], "--stdin"], stdin=word).returncode, 0)
        answer(q, "allow")
        check(wait()[0].startswith(HELLO))
        equal(s.accepted, 1)
    finally:
        run([KENNEL, "secret", "lock"])  # a locked keeper that nobody needs ends


@test("net ask outlives its connection: the client gives up, a person agrees, its next try goes; once is for a minute", seconds=90)
def ask_late():
    s = started(5004)
    go = public_folder("late") + "/go"
    wait = asked(ASK + "\nread %s" % os.path.dirname(go), ["hold", "db.test.example", 5004, "x", 1],
                 ["wait", go], ["tcp", "db.test.example", 5004, "y"])
    q = pending()[0]
    recorded(seconds=15, verdict="deny", name="db.test.example", port=5004,
             reason="no answer yet: connect again when a person has agreed")
    equal(pending()[0]["id"], q["id"], "it is open still")
    answer(q, "allow")
    with open(go, "w"):
        pass
    got = wait()
    equal(got[0], "error TimeoutError")
    equal(got[2], [HELLO + "y", "end"])
    recorded(verdict="allow", action="open", outcome="once", name="db.test.example", port=5004)


@test("net ask: `timeout ask` is how long a connection waits; then it is reset, and the question stays open", seconds=90)
def ask_hold():
    s = started(5004)
    equal(probe(ASK + "\ntimeout ask 1s", ["hold", "db.test.example", 5004, "x", 60]), ["error ECONNRESET"])
    recorded(verdict="deny", name="db.test.example", port=5004,
             reason="no answer yet: connect again when a person has agreed")
    equal(s.accepted, 0)


@test("net ask: 500 connections that wait for one answer all go, more than a channel between processes takes", seconds=90)
def ask_many():
    s = world.Server("9.8.7.12", 5005, world.echo)
    wait = asked("net ask db.test.example:5005 plain\nlimit files 2000", ["many", "db.test.example", 5005, 500])
    q = pending()[0]
    time.sleep(2)  # all of them wait for it
    equal((len(pending()), s.accepted), (1, 0))
    answer(q, "allow", "--session")
    equal(wait(), [[500, {}]])
    s.close()


# ---- what does not ---------------------------------------------------------------------

@test("a refusal names the line that would grant it, on standard error and in the log, also without a net line")
def hint():
    got = probe("", ["lookup", "files.test.example"], ["tcp", "9.9.9.9", 8443])
    equal(got, ["error gaierror", "error ECONNREFUSED"])
    within("to grant it: net allow files.test.example:443", probe.stderr)
    within("to grant it: net allow 9.9.9.9:8443 plain", probe.stderr)
    recorded(verdict="deny", name="files.test.example")
    recorded(verdict="deny", address="9.9.9.9", port=8443)
    r = run([KENNEL, "audit", "denials"])
    within(b"net allow files.test.example:443", r.stdout)
    within(b"net allow 9.9.9.9:8443 plain", r.stdout)


@test("the reason and the way out that a policy gives reach the agent when a call fails")
def because():
    a = kennel_run(toy_policy("    net deny old.test.example:* because \"it moved\" instead \"api.test.example\"\n"
                              "    exec allow /bin/sh ** because \"tests\"\n"
                              "    exec allow /usr/bin/getent ** because \"tests\""))
    a.initialize()
    text = json.dumps(a.call("exec", argv=["/bin/sh", "-c", "getent hosts old.test.example; kill -9 $$"], fail=True))
    within("it moved", text)
    within("Instead: api.test.example", text)
    a.close()


@test("why a granted host was not reached is said to the agent when a call fails, and no refusal is counted")
def not_there():
    a = kennel_run(base("t").replace("    run ", "    exec allow ", 1).replace(" **\n", " ** because \"the tests\"\n", 1)
                   + toy_policy("    net allow gone.test.example:443 plain\n    net allow db.test.example:5097 plain\n"
                                "    exec allow /bin/sh ** because \"tests\""))
    a.initialize()
    for name, port in ("gone.test.example", 443), ("db.test.example", 5097):
        visit = shell(PYTHON, PROBE, '["tcp", "%s", %d, "x"]' % (name, port))
        text = json.dumps(a.call("exec", argv=["/bin/sh", "-c", visit + "; kill -9 $$"], fail=True))
        closed = []  # its record may come after the answer
        wait_for(lambda: closed.extend(egress(action="close", name=name, port=port)) or closed, 30)
        (why,) = [e["reason"] for e in closed]
        within("this server did not reach %s:%d: %s (" % (name, port, why), text)
    fine = json.dumps(a.call("exec", argv=["/bin/sh", "-c", "exit 0"]))
    absent("did not reach", fine, "the control: a call that does not fail")
    a.close()
    err = a.stderr()
    within("no connection to db.test.example:5097: connection refused by the host (", err)
    absent("to grant it", err)


@test("they reach the agent also when the leash learns of the refusal and of the answer at once", seconds=60)
def because_at_once():
    a = kennel_run(base("t").replace("    run ", "    exec allow ", 1).replace(" **\n", " ** because \"the tests\"\n", 1)
                   + toy_policy("    net deny old.test.example:* because \"it moved\" instead \"api.test.example\"\n"
                                "    exec allow /bin/sh ** because \"tests\""))
    a.initialize()
    lookup = shell(PYTHON, PROBE, '["sleep", 1]', '["lookup", "old.test.example"]')
    before = set(descendants(os.getpid()))
    a.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "exec", "arguments": {"argv": ["/bin/sh", "-c", lookup + "; kill -9 $$"], "fail": True}}})

    def probes():
        return [p for p, comm in descendants(os.getpid()).items() if p not in before and comm.startswith("python")]
    check(wait_for(probes, 5) is not None, "no probe")
    leash = [p for p, comm in descendants(os.getpid()).items() if comm == "kennel-leash"]
    time.sleep(0.3)  # it has passed the gate
    for pid in leash:
        os.kill(pid, signal.SIGSTOP)
    check(wait_for(lambda: not probes(), 10) is not None, "the probe waits for the leash")
    time.sleep(0.3)  # the answer is in its pipe
    for pid in leash:
        os.kill(pid, signal.SIGCONT)
    text = json.dumps(a.wait(7))
    within("it moved", text)
    a.close()


@test("connections that the client resets while the log is slow do not cost the server its network", seconds=60)
def aborts():
    s = world.Server("9.8.7.12", 5006, world.hello)
    be_subreaper()  # its recorder is ours, and no other test's
    own = {"KENNEL_HOME": TMP + "/slow"}
    os.makedirs(own["KENNEL_HOME"], mode=0o700)
    p = start([KENNEL, "exec", "--policy", policy(base() + "net allow db.test.example:5006 plain\n"), "t", "--", PYTHON,
               PROBE] + [json.dumps(v) for v in (["tcp", "db.test.example", 5006, "a"], ["abort", "db.test.example", 5006, 1300],
                                                 ["sleep", 3], ["tcp", "db.test.example", 5006, "b"])],
              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(own), cwd="/")
    equal(json.loads(p.stdout.readline())["is"], [HELLO + "a", "end"])
    recorders = [pid for pid, comm in descendants(os.getpid()).items() if comm == "kennel-recorder"]
    for pid in recorders:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(0.9)
    for pid in recorders:
        os.kill(pid, signal.SIGCONT)
    out, err = p.communicate(timeout=40)
    check(recorders, "no recorder")
    equal(json.loads(out.splitlines()[-1])["is"], [HELLO + "b", "end"], err[-500:])
    s.close()


@test("a dead relay: listeners close, it is recorded, and a failing call says so", seconds=60)
def relay_dies():
    s = world.Server("9.8.7.12", 5003, world.echo)
    n = len(egress(reason=LOST)) if os.path.exists(HOME + "/audit/audit.db") else 0
    for who in ("kennel-egress", "kennel-dial"):
        a = kennel_run(toy_policy("    net allow db.test.example:5003 plain"))
        a.initialize()

        def pids():  # the server can be faster than they are
            return [p for p, comm in descendants(os.getpid()).items() if comm == who[:15]]
        check(wait_for(lambda: len(pids()) == 1, 5) is not None, "one %s" % who, pids())
        os.kill(pids()[0], 9)
        n += 1
        check(wait_for(lambda: len(egress(reason=LOST)) == n, 5) is not None,
              audit("--kind", "egress")[-3:])
        text = a.stderr()
        within("the server has lost its network", text)
        check(wait_for(lambda: not [p for p, comm in descendants(os.getpid()).items()
                                    if comm in ("kennel-egress", "kennel-dial")], 5) is not None)
        a.close()
    s.close()


@test("a relay has its pool of pipes only where a `net` line allows: pipes count against the user's limit")
def pipes():
    if os.geteuid() != 0:
        skip("only root may look into a process that forbids dumps")

    def held(more):
        a = kennel_run(toy_policy(more))
        a.initialize()
        pid, = [p for p, comm in descendants(os.getpid()).items() if comm == "kennel-egress"]

        def filtered():  # the relay's last step; the server starts beside it
            with open("/proc/%d/status" % pid) as f:
                return "Seccomp:\t2" in f.read()
        check(wait_for(filtered, 5), "a relay without a filter")
        links = [os.readlink("/proc/%d/fd/%s" % (pid, n)) for n in os.listdir("/proc/%d/fd" % pid)]
        a.close()
        check(wait_for(lambda: pid not in descendants(os.getpid()), 5) is not None, "a relay stays")
        return sum(link.startswith("pipe:") for link in links)
    base = held("    net deny db.test.example:5003 plain")
    check(base <= 2, "a relay without connections holds %d ends of pipes" % base)  # standard error may be one
    equal(held("    net allow db.test.example:5003 plain"), base + 128)


@test("starttls of another kind than postgres refuses to start, and says what to do")
def starttls():
    r = kexec(base() + "net allow mail.test.example:143 starttls imap", [PYTHON, PROBE])
    check(r.returncode != 0, "it started")
    within(b"postgres", r.stderr)


if __name__ == "__main__":
    world.enter(NAMES)
    try:
        main()
    finally:
        world.leave()
