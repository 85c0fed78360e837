"""S2-30: whatever dies, nothing of a session is left, and the log is whole."""
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

STUBBORN = toy_policy("", "--ignore-term", "--stay", "--daemon")
be_subreaper()


def parts():
    """What runs below this test, by part: kennel leash shim server recorder."""
    out = {}
    mine = descendants(os.getpid())
    for pid, comm in mine.items():
        status = reads("/proc/%d/status" % pid).decode(errors="replace")
        inner = [line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:")]
        inner = inner[0] if inner else []
        if len(inner) > 1:
            part = "shim" if inner[-1] == "1" else "server"
        else:
            part = {"kennel": "kennel", "kennel-leash": "leash", "kennel-recorder": "recorder"}.get(comm, comm)
        out.setdefault(part, []).append(pid)
    return out


def gone(but=("recorder",)):
    reap()
    return [p for p in parts() if p not in but] == []


def all_gone(what, seconds=2.0):
    t = wait_for(gone, seconds)
    check(t is not None, what, "left after %ss:" % seconds, parts(), descendants(os.getpid()))
    return t


def session(body=STUBBORN, **how):
    s = kennel_run(body, **how)
    s.initialize()
    return s


def tree_is_whole():
    p = parts()
    for part in ("kennel", "leash", "shim", "server"):
        check(part in p, part + " is not there:", p)
    return p


@test("end of file: all gone within 2 s, also a server that ignores everything")
def eof():
    s = session()
    equal(s.text("daemon"), "left")
    check(wait_for(lambda: len(parts().get("server", [])) >= 3) is not None, "the daemons are not there:", parts())
    s.p.stdin.close()
    all_gone("after end of file")


@test("end of file on a socketpair: all gone within 2 s")
def eof_socket():
    s = session(socket_stdio=True)
    tree_is_whole()
    s.sock.close()
    s.sock = None
    all_gone("after the socket's end")


@test("kill -9 of kennel or of its leash while a secret's helper hangs", seconds=40)
def launching():
    body = ATTACK + "    secret T from cmd /bin/sleep 60\n"
    for part in ("kennel", "leash"):
        start([KENNEL, "exec", "--policy", policy(body), "t", "--", "/bin/sh", "-c", ":"],
              env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        check(wait_for(lambda: "sleep" in parts(), 5) is not None, "no helper:", parts())
        os.kill(parts()[part][0], signal.SIGKILL)
        all_gone("after the end of " + part)
        end_all()


def by_signal(number):
    s = session()
    equal(s.text("daemon"), "left")
    tree_is_whole()
    s.p.send_signal(number)
    all_gone("after signal %d" % number)


@test("SIGINT: all gone within 2 s")
def sigint():
    by_signal(signal.SIGINT)


@test("SIGTERM: all gone within 2 s")
def sigterm():
    by_signal(signal.SIGTERM)


@test("SIGHUP: all gone within 2 s")
def sighup():
    by_signal(signal.SIGHUP)


@test("SIGTERM while the agent does not read what is there for it")
def unread():
    s = session(toy_policy())
    s.send({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "big", "arguments": {"n": 4000000}}})
    time.sleep(0.3)
    s.p.send_signal(signal.SIGTERM)
    all_gone("SIGTERM, output unread")


@test("end of file while the agent does not read what is there for it")
def unread_eof():
    s = session(toy_policy())
    s.send({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "big", "arguments": {"n": 4000000}}})
    time.sleep(0.3)
    s.p.stdin.close()
    all_gone("end of file, output unread")


@test("a signal while the server is starting")
def early():
    for wait in (0.0, 0.005, 0.02, 0.05):
        s = kennel_run(toy_policy("", "--slow", "3000"))
        time.sleep(wait)
        s.p.send_signal(signal.SIGTERM)
        all_gone("SIGTERM after %s s" % wait)


@test("ESCAPES 6 what was left open by the agent is closed in every process of kennel")
def left_open():
    open_too = ["/bin/sh", "-c", 'exec 9</dev/zero; exec "$@"', "sh"]
    s = Mcp(open_too + [KENNEL, "run", "t", "--policy", policy(toy_policy(), "t", "")])
    s.initialize()
    for name, pids in parts().items():
        for pid in pids:
            try:  # what cannot be dumped shows its descriptors to root alone
                have = [os.readlink("/proc/%d/fd/%s" % (pid, n))
                        for n in os.listdir("/proc/%d/fd" % pid)]
            except PermissionError:
                check(os.getuid() != 0, "root may look")
                continue
            absent("/dev/zero", have, name)
    s.p.stdin.close()
    all_gone("after end of file")


@test("a server that ends by itself takes all with it")
def by_itself():
    s = session(toy_policy("", "--daemon"))
    try:
        s.call("exit", n=0)
    except EOFError:
        pass
    all_gone("after the server's end")


@test("a polite server is asked with end of file first")
def polite():
    s = session(toy_policy())
    t0 = time.time()
    s.p.stdin.close()
    all_gone("after end of file")
    check(time.time() - t0 < 1.0, "took %.2f s" % (time.time() - t0))
    equal(s.p.wait(), 0)


@test("kill -9 of supervisor, leash, shim, recorder at 20 random moments", seconds=240)
def killed():
    seed = int(os.environ.get("KT_SEED", "0") or 0) or int(time.time())
    print("# seed %d" % seed, flush=True)
    dice = random.Random(seed)
    mounts = reads("/proc/self/mounts")
    for i in range(20):
        victim = ("kennel", "leash", "shim", "recorder")[i % 4]
        s = kennel_run(toy_policy("", "--ignore-term", "--stay"))
        if i % 3:
            s.initialize()
            s.send({"jsonrpc": "2.0", "id": "x", "method": "tools/call",
                    "params": {"name": "big", "arguments": {"n": 2000000}}})
        time.sleep(dice.random() * 0.2)
        for _ in range(200):  # a very early moment: it is not there yet
            if parts().get(victim):
                break
            time.sleep(0.01)
        for pid in parts().get(victim, []):
            os.kill(pid, signal.SIGKILL)
        if victim == "recorder":
            time.sleep(dice.random() * 0.1)
            s.p.send_signal(signal.SIGTERM)
        if i % 3 == 0:  # a start that failed waits for a first request to answer
            s.p.stdin.close()
        all_gone("round %d, %s killed" % (i, victim))
        end_all()
    equal(reads("/proc/self/mounts"), mounts, "mounts")
    r = audit_verify()
    equal(r.returncode, 0, (r.stdout + r.stderr).decode(errors="replace")[-500:])
    within(b"intact", r.stdout)


@test("a recorder that is killed is replaced; the session goes on")
def recorder_replaced():
    s = session(toy_policy())
    for pid in parts().get("recorder", []):
        os.kill(pid, signal.SIGKILL)
    for i in range(3):
        equal(s.text("echo", text="after %d" % i), "after %d" % i)
    s.close()
    all_gone("at the end")
    equal(audit_verify().returncode, 0)


@test("a recorder that dies while the session ends: what was allowed is in the log")
def recorder_last():
    s = session(toy_policy("    exec allow /bin/true\n"))
    wait_for(lambda: audited('"mounts"'), 3)
    before = len(audit("--kind", "exec"))
    recorder, = parts()["recorder"]
    os.kill(recorder, signal.SIGSTOP)
    try:
        within("exit 0", s.text("exec", argv=["/bin/true"]))
        s.p.stdin.close()
        check(wait_for(lambda: "server" not in parts(), 2) is not None, "the server stays")
        time.sleep(0.1)  # the leash waits for its last record
    finally:
        os.kill(recorder, signal.SIGKILL)
    all_gone("at the end")
    check(len(audit("--kind", "exec")) > before, "the exec is not in the log:", s.stderr())
    within("stop", [e["kind"] for e in audit() if e["writer"]["role"] == "leash"][-1:])
    equal(audit_verify().returncode, 0)


@test("two sessions share one recorder and one log")
def shared():
    a, b = session(toy_policy()), session(toy_policy())
    equal(len(parts().get("recorder", [])), 1)
    equal((a.text("echo", text="a"), b.text("echo", text="b")), ("a", "b"))
    a.close()
    equal(b.text("echo", text="still"), "still")
    b.close()
    all_gone("at the end")
    equal(audit_verify().returncode, 0)


@test("the recorder leaves when nobody writes any more", seconds=40)
def recorder_leaves():
    s = session(toy_policy())
    s.close()
    check(wait_for(lambda: gone(but=()), 15) is not None, "still there:", parts())


if __name__ == "__main__":
    main()
