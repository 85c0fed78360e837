"""kennel audit ship: a position moves on only when the collector has read, and only in one history."""
import os
import select
import shutil
import signal
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


def listen(way="tcp", name="collector"):
    """name: of a socket of this machine."""
    s = socket.socket(socket.AF_INET if way == "tcp" else socket.AF_UNIX)
    s.bind(("127.0.0.1", 0) if way == "tcp" else "%s/%s" % (TMP, name))
    s.listen(5)
    s.settimeout(25)
    return s, "tcp:127.0.0.1:%d" % s.getsockname()[1] if way == "tcp" else "unix-stream:%s/%s" % (TMP, name)


def far(sock):
    """What a stream's collector of a log has, each connection's bytes by itself; it ends none before the other
    side does, and never sends."""
    got, gone = [], threading.Event()

    def all_of():
        sock.settimeout(0.2)
        while not gone.is_set():
            try:
                c = sock.accept()[0]
            except OSError:
                continue
            got.append(b"")
            while not gone.is_set():
                if not select.select([c], [], [], 0.2)[0]:
                    continue
                d = c.recv(65536)
                if not d:
                    break
                got[-1] += d
            c.close()
    t = threading.Thread(target=all_of, daemon=True)
    t.start()

    def end():
        gone.set()
        t.join(5)
    return got, end


def ids(got):
    """The records that are whole in these bytes."""
    out, i = [], 0
    while i < len(got):
        m = re.match(rb"(\d+) ", got[i:i + 8])
        end = i + m.end() + int(m[1])
        if end > len(got):
            break
        idx = re.search(rb'idx="(\d+)"', got[i:end])
        out.append(int(idx[1]) if idx else got[i:end].decode())  # a notice of kennel's own
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
    r = run([KENNEL, "audit", "log", "--json", "--no-header", "--kind", "export", "-n", "1"], env=env)
    check(r.stdout, r.stderr, said(env))
    return json.loads(r.stdout)["fields"]["outcome"]


def follow(env, to, program=None):
    """The verb, or kennel-ship itself with a position of its own, until it ends."""
    home = env["KENNEL_HOME"]
    cmd = [KENNEL, "audit", "ship", to] if program is None else \
        [program, home + "/audit", home + "/position", to, "jsonl", "follow", "absent"]
    return start(cmd, env=environment(env), stdout=subprocess.DEVNULL, stderr=open(home + "/ship.err", "wb"))


def said(env):
    return reads(env["KENNEL_HOME"] + "/ship.err")


def position(env):
    """The next record, as it is on disk."""
    home = env["KENNEL_HOME"]
    text = reads(home + "/position") if os.path.exists(home + "/position") else \
        reads(home + "/audit.ship/" + os.listdir(home + "/audit.ship")[0])
    return int(text[47:67]) if text else 0


def written(name, n):
    """A log of n records of some 450 bytes."""
    env = {"KENNEL_HOME": TMP + "/" + name}
    os.makedirs(env["KENNEL_HOME"] + "/run", mode=0o700)
    os.mkdir(env["KENNEL_HOME"] + "/audit", 0o700)
    r = run([STAGE + "/bin/audit", "write", LIBEXEC + "/kennel-recorder", env["KENNEL_HOME"] + "/audit",
             env["KENNEL_HOME"] + "/run", str(n), "0"], env=env)
    equal(r.returncode, 0, r.stderr)
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    return env


def restarted(way):
    env = log_of("ship-restart-" + way, 12)
    sock, to = listen(way, "restarted")
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


@test("a collector that is restarted with records unread gets each of them", 90)
def restarted_tcp():
    restarted("tcp")


@test("a collector at a stream socket of this machine that is restarted with records unread gets each of them", 90)
def restarted_unix():
    restarted("unix")


def holds(way):
    env = log_of("ship-hold-" + way, 1)
    sock, to = listen(way, "holds")
    seen = []
    threading.Thread(target=lambda: serve(sock, seen, hold=True), daemon=True).start()
    r = ship(env, to)
    equal(r.returncode, 125)
    within(b"did not close the connection within 10 s", r.stderr)
    threading.Thread(target=lambda: serve(sock, seen), daemon=True).start()
    equal(ship(env, to).returncode, 0)
    equal(seen[1][0], 0, "not sent again")


@test("a collector that does not close after the end: the position stays, and the status says so", 90)
def holds_tcp():
    holds("tcp")


@test("a collector at a stream socket of this machine that does not close after the end: the same", 90)
def holds_unix():
    holds("unix")


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


@test("a collector that restarts while it is followed gets what it had not confirmed, from the position on", 90)
def restarts_while_followed():
    env = log_of("ship-follow", 4)
    sock, to = listen()
    seen = []
    first = threading.Thread(target=lambda: serve(sock, seen, 2000), daemon=True)
    first.start()
    p = follow(env, to)
    first.join(20)
    before = size(env)
    got, end = far(sock)
    grow_beside(env, 3)
    check(wait_for(lambda: got and len(ids(got[-1])) >= before + 3, 30), len(got), before, said(env))
    equal(p.poll(), None, "it goes on")
    equal(ids(got[-1])[:before], list(range(before)), "from the position on, which is 0")
    equal(position(env), 0, "confirmed by nothing yet")
    p.send_signal(signal.SIGTERM)
    equal(p.wait(10), 143)
    end()
    equal(last_outcome(env), "ended")
    # the next one begins there again, and is confirmed
    threading.Thread(target=lambda: serve(listen_again(sock), seen), daemon=True).start()
    equal(ship(env, to).returncode, 0)
    equal(seen[-1][0], 0)
    equal(position(env), seen[-1][-1] + 1)


def listen_again(sock):
    sock.settimeout(25)
    return sock


def grow_beside(env, starts):
    """As grow, beside a program that stays."""
    for _ in range(starts):
        equal(kexec(BODY, [WITNESS, "exit", "0"], env=env).returncode, 0)


@test("every 60 seconds the stream ends, and the position moves when the collector has closed", 90)
def each_minute():
    env = log_of("ship-minute", 1)
    sock, to = listen()
    got, end = far(sock)
    from_s = time.monotonic()
    p = follow(env, to, STAGE + "/bin/ship_quick")  # the clock of this one runs 20 times as fast
    check(wait_for(lambda: got and len(ids(got[0])) > 3, 10), said(env))
    equal(position(env), 0, "before the collector has closed")
    equal(p.wait(20), 76, said(env))  # started again by the verb
    check(time.monotonic() - from_s > 2.9, "too early", time.monotonic() - from_s)
    equal(position(env), ids(got[0])[-1] + 1)
    # the control: in as many seconds kennel's own has not ended its stream
    p = follow(env, to, LIBEXEC + "/kennel-ship")
    time.sleep(5)
    equal(p.poll(), None)
    p.kill()
    end()


@test("a collector that has closed before the end, while nothing was sent, has confirmed nothing", 90)
def closed_early():
    env = log_of("ship-early", 1)
    sock, to = listen()
    p = follow(env, to, STAGE + "/bin/ship_quick")
    c = sock.accept()[0]
    c.settimeout(2)
    got = b""
    try:
        while True:
            got += c.recv(65536)
    except OSError:
        pass
    check(len(ids(got)) > 3, got)
    c.close()  # all read: no reset
    equal(p.wait(20), 75, said(env))
    within(b"lost the collector", said(env))
    equal(position(env), 0)


@test("after 4 MiB the stream ends, after a whole message, and the next one goes on", 90)
def each_four_mib():
    env = written("ship-long", 9000)
    sock, to = listen()
    got, end = far(sock)
    p = follow(env, to, LIBEXEC + "/kennel-ship")
    equal(p.wait(40), 76, said(env))
    check(4 << 20 <= len(got[0]) < (4 << 20) + (256 << 10), len(got[0]))
    first = ids(got[0])
    equal(first, list(range(len(first))))
    equal(position(env), len(first))
    p = follow(env, to)
    check(wait_for(lambda: len(got) > 2 and len(ids(got[2])) > 100, 30), [len(g) for g in got], said(env))
    p.send_signal(signal.SIGTERM)
    equal(p.wait(10), 143)
    end()
    equal(ids(got[1]), first, "the verb's own position: from the beginning")
    equal(ids(got[2])[0], len(first), "it went on at once")
    equal(position_of_verb(env), len(first))


def position_of_verb(env):
    home = env["KENNEL_HOME"]
    os.unlink(home + "/position")
    return position(env)


@test("a collector that never closes ends the following after 4 MiB and 10 seconds; the position stays", 90)
def holds_while_followed():
    env = written("ship-hold-long", 9000)
    sock, to = listen()

    def hold():
        c = sock.accept()[0]
        while c.recv(1 << 20):
            pass
        time.sleep(40)
    threading.Thread(target=hold, daemon=True).start()
    p = follow(env, to)
    from_s = time.monotonic()
    equal(p.wait(40), 125, said(env))
    check(9.5 < time.monotonic() - from_s < 30, time.monotonic() - from_s)
    within(b"did not close the connection within 10 s", said(env))
    equal(position(env), 0)


def instead(here, other):
    os.rename(here, here + ".was")
    os.rename(other, here)


def within_it(here, other):
    """As a backup is put back: the directory stays."""
    for f in os.listdir(here):
        (os.unlink if os.path.isfile(here + "/" + f) else shutil.rmtree)(here + "/" + f)
    for f in sorted(os.listdir(other)):
        os.rename(other + "/" + f, here + "/" + f)


def swapped(name, by, place=within_it):
    """Ships a log, and puts another one in its place while it is followed."""
    env = log_of(name, 2)
    home = env["KENNEL_HOME"]
    other = {"KENNEL_HOME": home + ".other"}
    os.makedirs(other["KENNEL_HOME"], mode=0o700)
    shutil.copytree(home + "/audit", other["KENNEL_HOME"] + "/audit")
    grow(env, 2)
    by(other)
    sock, to = listen()
    got, end = far(sock)
    p = follow(env, to)
    shipped = len(records(env))
    check(wait_for(lambda: got and len(ids(got[0])) >= shipped, 20), said(env))
    check(wait_for(lambda: recorders() == 0, 8), "the recorder stays")
    shipped = len(records(env))  # with what it wrote at its end
    place(home + "/audit", other["KENNEL_HOME"] + "/audit")
    return env, p, got, end, shipped


def records(env):
    """All, without a record of the reading."""
    return audit("--all", env=env)


def recorders():
    return sum(comm.startswith("kennel-recorder") for comm in descendants(os.getpid()).values())


def grown_past(name, place):
    env, p, got, end, shipped = swapped(name, lambda other: grow(other, 12), place)
    check(len(records(env)) > shipped + 2, "shorter than what was sent")
    equal(p.wait(30), 1, said(env))
    within(b"is not the one of which", said(env))
    end()
    check(all(ids(g)[-1] < shipped for g in got if g), "records of both", [ids(g)[-1:] for g in got], shipped)
    equal(last_outcome(env), "refused: two histories")


@test("a log that is put back while it is followed, and has grown past what was sent, is refused", 90)
def swapped_longer():
    grown_past("ship-swap", within_it)


@test("a directory that is put in the place of the log's while it is followed, with a longer log, is refused", 90)
def swapped_directory():
    grown_past("ship-swap-dir", instead)


@test("a log that is put back while it is followed, and is shorter than what was sent, is refused at once", 90)
def swapped_shorter():
    for place in (within_it, instead):
        env, p, got, end, shipped = swapped("ship-short-" + place.__name__, lambda other: None, place)
        equal(p.wait(30), 1, said(env))
        end()
        equal(last_outcome(env), "refused: two histories")


@test("a new log in the place of the one that is followed is refused", 90)
def swapped_other():
    def new(other):
        shutil.rmtree(other["KENNEL_HOME"] + "/audit")
        grow(other, 12)
    env, p, got, end, shipped = swapped("ship-swap-other", new, instead)
    equal(p.wait(30), 125, said(env))  # it has another name: the position is in no log that is here
    within(b"the position in another log", said(env))
    end()
    check(ids(got[0])[-1] < shipped, "records of both")


@test("a log that is closed and pruned while it is followed goes on, and its position lasts", 90)
def pruned_while_followed():
    env = written("ship-prune", 600)
    sock, to = listen()
    got, end = far(sock)
    p = follow(env, to)
    check(wait_for(lambda: got and len(ids(got[0])) >= 600, 20), said(env))
    equal(run([KENNEL, "audit", "rotate"], env=env).returncode, 0)
    grow_beside(env, 1)
    # what was not sent yet is pruned with a notice to the collector
    check(wait_for(lambda: ids(got[0])[-1] >= records(env)[-1]["idx"], 20), said(env))
    r = run([KENNEL, "audit", "prune", str(records(env)[-1]["idx"])], env=env)
    equal(r.returncode, 0, r.stderr)
    within(b"removed records 0 to", r.stdout)
    check(wait_for(lambda: records(env)[0]["idx"] >= 600, 5), "nothing was pruned")
    grow_beside(env, 1)
    check(wait_for(lambda: ids(got[0])[-1] >= records(env)[-1]["idx"], 20), said(env))
    equal(p.poll(), None)
    seen = ids(got[0])
    equal([x for x in enumerate(seen) if x[0] != x[1]][:3], [], "records in order, each once, and no notice")
    p.send_signal(signal.SIGTERM)
    equal(p.wait(10), 143)
    end()


main()
