"""kennel audit ship: a position moves on only when the collector has read, and only in one history."""
import os
import shutil
import socket
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

BODY = "    run %s **\n" % words(WITNESS)
be_subreaper()


def log_of(name, starts):
    env = {"KENNEL_HOME": TMP + "/" + name}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    grow(env, starts)
    return env


def grow(env, starts):
    for _ in range(starts):
        equal(kexec(BODY, [WITNESS, "exit", "0"], env=env).returncode, 0)
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")


def size(env):
    return len(run([KENNEL, "audit", "export"], env=env).stdout.splitlines())


def listen():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(5)
    s.settimeout(25)
    return s, "tcp:127.0.0.1:%d" % s.getsockname()[1]


def ids(got):
    """The records that are whole in these bytes."""
    out, i = [], 0
    while i < len(got):
        m = re.match(rb"(\d+) ", got[i:i + 8])
        end = i + m.end() + int(m[1])
        if end > len(got):
            break
        out.append(int(re.search(rb'idx="(\d+)"', got[i:end])[1]))
        i = end
    return out


def serve(sock, seen, stop_at=None, hold=False):
    """Reads one connection: to its end, or to stop_at bytes, and is gone with the rest unread."""
    c = sock.accept()[0]
    c.settimeout(20)
    got = b""
    while stop_at is None or len(got) < stop_at:
        d = c.recv(4096)
        if not d:
            break
        got += d
    seen.append(ids(got))
    time.sleep(1.5 if stop_at else 0)
    if hold:
        time.sleep(14)
    c.close()


def ship(env, to, *more):
    return run([KENNEL, "audit", "ship", "--once", *more, to], env=env, timeout=40)


def last_outcome(env):
    out = run([KENNEL, "audit", "log", "--json", "--no-header", "--kind", "export", "-n", "1"], env=env).stdout
    return json.loads(out)["fields"]["outcome"]


@test("a collector that is restarted with records unread gets each of them", 90)
def restarted():
    env = log_of("ship-restart", 12)
    sock, to = listen()
    seen = []
    t = threading.Thread(target=lambda: (serve(sock, seen, 8000), serve(sock, seen)), daemon=True)
    t.start()
    r = ship(env, to)
    equal(r.returncode, 125, "a collector that read a part: %s" % r.stderr)
    equal(ship(env, to).returncode, 0)
    t.join(20)
    got = set(seen[0]) | set(seen[1])
    equal(sorted(got), list(range(max(got) + 1)), "records are missing")
    check(max(got) + 2 >= size(env) - 2, max(got), size(env))


@test("a collector that does not close after the end: the position stays, and the status says so", 90)
def holds():
    env = log_of("ship-hold", 1)
    sock, to = listen()
    seen = []
    threading.Thread(target=lambda: serve(sock, seen, hold=True), daemon=True).start()
    r = ship(env, to)
    equal(r.returncode, 125)
    within(b"did not close the connection within 10 s", r.stderr)
    threading.Thread(target=lambda: serve(sock, seen), daemon=True).start()
    equal(ship(env, to).returncode, 0)
    equal(seen[1][0], 0, "not sent again")


@test("a log that was restored and has grown past the position is refused, and the record says why", 90)
def two_histories():
    env = log_of("ship-two", 2)
    audit_dir = env["KENNEL_HOME"] + "/audit"
    shutil.copytree(audit_dir, TMP + "/ship-two.copy")
    grow(env, 2)
    sock, to = listen()
    seen = []
    threading.Thread(target=lambda: serve(sock, seen), daemon=True).start()
    equal(ship(env, to).returncode, 0)
    # the control: the same log, longer, goes on
    grow(env, 1)
    threading.Thread(target=lambda: serve(sock, seen), daemon=True).start()
    equal(ship(env, to).returncode, 0)
    equal(seen[1][0], seen[0][-1] + 1, "goes on")
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    shutil.rmtree(audit_dir)
    shutil.copytree(TMP + "/ship-two.copy", audit_dir)
    grow(env, 12)
    check(size(env) > seen[1][-1] + 2, "shorter than the position")
    r = ship(env, to)
    equal(r.returncode, 1, r.stderr)
    within(b"is not the one of which", r.stderr)
    equal(last_outcome(env), "refused: two histories")


@test("a position of the version before is read; a damaged one is refused by name", 90)
def positions():
    env = log_of("ship-place", 1)
    sock, to = listen()
    seen = []
    threading.Thread(target=lambda: serve(sock, seen), daemon=True).start()
    equal(ship(env, to).returncode, 0)
    (name,) = os.listdir(env["KENNEL_HOME"] + "/audit.ship")
    path = env["KENNEL_HOME"] + "/audit.ship/" + name
    text = reads(path)
    check(text.startswith(b"kennel-ship 2 "), text)
    old = b"kennel-ship 1 " + text[14:67] + b"\n"
    with open(path, "wb") as f:
        f.write(old)
    threading.Thread(target=lambda: serve(sock, seen), daemon=True).start()
    equal(ship(env, to).returncode, 0)
    equal(seen[1][0], seen[0][-1] + 1, "of version 1")
    text = reads(path)
    for bad in (text[:-2], text + b"x", text[:14] + b"0" * 32 + text[46:], text[:90] + b"g" + text[91:], b"x" * 200):
        with open(path, "wb") as f:
            f.write(bad)
        r = ship(env, to)
        equal(r.returncode, 125, bad)
        within(b"is damaged, or the position in another log", r.stderr)


main()
