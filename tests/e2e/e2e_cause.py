"""What ended a part of kennel is in the log: the leash, the cell's PID 1, the recorder; and text with many
hits ends none of them."""
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
HITS = 10000
VALUE = "s3ntinel-%d-value" % os.getpid()


def own_log(name):
    """A log of the test's own."""
    return {"KENNEL_HOME": "%s/%s" % (TMP, name)}


def part(name, root):
    """The pid of kennel's leash or of the cell's PID 1 below root."""
    found = []

    def there():
        found[:] = [pid for pid, comm in descendants(root).items() if comm == name]
        return found
    check(wait_for(there, 5) is not None, name, "is not there:", descendants(root))
    return found[0]


def records(kind, env, role=None):
    return [e for e in audit("--kind", kind, env=env) if role in (None, e["writer"]["role"])]


def gaps(env):
    r = run([KENNEL, "audit", "gaps", "--json", "--no-header"], env=env)
    equal(r.returncode, 0, r.stderr)
    return [json.loads(x) for x in r.stdout.splitlines()]


def stop_of(env, role):
    check(wait_for(lambda: records("stop", env, role), 5), "no stop by the", role, records("stop", env))
    return records("stop", env, role)[-1]["fields"]


def leash_killed(number, name):
    """kennel run and kennel exec, their leash killed by a signal."""
    cause = "kennel-leash was killed by signal %d (SIG%s" % (number, name)
    env = own_log("leash-%s" % name)
    s = kennel_run(toy_policy(), env=env)
    s.initialize()
    equal(s.text("echo", text="a"), "a", "control")
    os.kill(part("kennel-leash", s.p.pid), number)
    check(wait_for(lambda: s.p.poll() is not None, 8) is not None, "kennel stays")
    equal(s.p.returncode, 125)
    within(cause, s.stderr())
    f = stop_of(env, "supervisor")
    within(cause, f["reason"])
    equal((f["program"], f["signal"], f["status"]), ("kennel-leash", number, 125))
    (g,) = [g for g in gaps(env) if g["what"] == "killed"]
    within(cause, g["detail"])

    env = own_log("leash-exec-%s" % name)
    p = start([KENNEL, "exec", "--policy", policy(ATTACK), "t", "--", "/bin/sh", "-c", "echo up; read x"],
              env=environment(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/")
    equal(p.stdout.readline(), b"up\n")
    os.kill(part("kennel-leash", p.pid), number)
    _, err = p.communicate(timeout=10)
    equal(p.returncode, 125, err)
    within(cause.encode(), err)
    f = stop_of(env, "supervisor")
    within(cause, f["reason"])
    equal((f["program"], f["signal"]), ("kennel-leash", number))
    (g,) = [g for g in gaps(env) if g["what"] == "killed"]
    within(cause, g["detail"])
    (row,) = [json.loads(x) for x in run([KENNEL, "audit", "sessions", "--json", "--no-header"],
                                         env=env).stdout.splitlines()]
    equal(row["ended"], "kennel-leash was killed")


@test("a leash killed by SIGKILL, of kennel run and of kennel exec: the stop record and audit gaps name it")
def leash_kill():
    leash_killed(signal.SIGKILL, "KILL")


@test("a leash killed by SIGSYS, as by its own allow-list: the stop record and audit gaps name it")
def leash_sys():
    leash_killed(signal.SIGSYS, "SYS: a system call that is not on its allow-list")


@test("a leash killed while a helper prints a secret: the refused start names it")
def leash_at_start():
    env = own_log("leash-start")
    body = ATTACK + "    secret T from cmd /bin/sleep 60\n"
    p = start([KENNEL, "exec", "--policy", policy(body), "t", "--", "/bin/sh", "-c", ":"], env=environment(env),
              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/")
    check(wait_for(lambda: "sleep" in descendants(p.pid).values(), 8) is not None, "no helper")
    os.kill(part("kennel-leash", p.pid), signal.SIGKILL)
    _, err = p.communicate(timeout=10)
    within(b"kennel-leash was killed by signal 9 (SIGKILL)", err)
    within("kennel-leash was killed by signal 9 (SIGKILL)", records("refused", env, "supervisor")[-1]["fields"]["reason"])


@test("the cell's PID 1 killed by a signal: the leash's stop, kennel's stop and audit gaps name it")
def shim_killed():
    env = own_log("shim")
    s = kennel_run(toy_policy(), env=env)
    s.initialize()
    shim = part("memfd:kennel-sh", s.p.pid)  # it runs from a sealed copy
    os.kill(shim, signal.SIGKILL)
    check(wait_for(lambda: s.p.poll() is not None, 8) is not None, "kennel stays")
    cause = "kennel-shim was killed by signal 9 (SIGKILL)"
    f = stop_of(env, "leash")
    equal((f["program"], f["reason"]), ("kennel-shim", cause))
    equal(stop_of(env, "supervisor")["reason"], cause)
    within(cause, s.stderr())
    (g,) = [g for g in gaps(env) if g["what"] == "killed"]
    within(cause, g["detail"])


@test("a server that is killed, or that ends, is not mistaken for a part of kennel")
def server_killed():
    for how, field in (("kill -9 $$", ("signal", 9)), ("exit 3", ("status", 3))):
        env = own_log("server-" + field[0])
        r = kexec(ATTACK, ["/bin/sh", "-c", how], env=env)
        equal(r.returncode, {"signal": 137, "status": 3}[field[0]], r.stderr)
        f = stop_of(env, "leash")
        equal((f.get(field[0]), "program" in f, "reason" in f), (field[1], False, False), f)
        equal(gaps(env), [])


@test("a recorder killed by a signal: the next one's first record and audit gaps name it")
def recorder_killed():
    env = own_log("recorder")
    s = kennel_run(toy_policy(), env=env)
    s.initialize()
    recorders = [p for p, comm in descendants(os.getpid()).items() if comm == "kennel-recorder"]
    check(recorders, "no recorder")
    for pid in recorders:
        os.kill(pid, signal.SIGKILL)
    for i in range(3):
        equal(s.text("echo", text="after %d" % i), "after %d" % i)
    s.close()
    check(wait_for(lambda: len(records("stop", env)) == 2, 5), records("stop", env))
    equal([g["what"] for g in gaps(env)], ["unclean stop"])


@test("a session that kennel ends because its recorder hangs and is killed: it did not crash, and audit gaps names it", 60)
def recorder_hung():
    env = own_log("hung")
    s = kennel_run(toy_policy(), env=env)
    s.initialize()
    recorders = [p for p, comm in descendants(os.getpid()).items() if comm == "kennel-recorder"]
    check(recorders, "no recorder")
    for pid in recorders:
        os.kill(pid, signal.SIGSTOP)
    equal(s.text("echo", text="handed over"), "handed over")
    time.sleep(1.3)  # its record is late now
    for pid in recorders:
        os.kill(pid, signal.SIGKILL)
    check(wait_for(lambda: s.p.poll() is not None, 8) is not None, "kennel stays")
    within("lost the audit recorder", s.stderr())
    f = stop_of(env, "supervisor")
    equal((f["reason"], "outcome" in f), ("no recorder", False), f)
    r = run([KENNEL, "audit", "sessions", "--json", "--no-header"], env=env)
    equal([json.loads(x)["ended"] for x in r.stdout.splitlines()], ["kennel ended it: its recorder was lost"])
    equal([g["what"] for g in gaps(env)], ["unclean stop", "recorder lost"])


@test("10,000 hits in one write end no session: the confined leash redacts each, with a stop and a scrub record", 120)
def many_hits():
    path = TMP + "/many"
    with open(path, "w") as f:
        f.write("".join("%s\n" % VALUE for _ in range(HITS)))
    os.chmod(path, 0o644)
    body = ATTACK + "    exec allow /bin/cat **\n    read %s\n" % words(path)
    env = own_log("hits")
    plain = kexec(body, ["/bin/cat", path], env=own_log("hits-control"))
    equal((plain.returncode, plain.stdout.count(VALUE.encode())), (0, HITS), "control")
    r = kexec(body + "    secret T from env T\n", ["/bin/cat", path], env=dict(env, T=VALUE), timeout=90)
    equal(r.returncode, 0, r.stderr[-500:])
    absent(VALUE.encode(), r.stdout)
    equal(r.stdout.count(b"\n"), HITS, "lines")
    equal(stop_of(env, "leash").get("status"), 0)
    equal(sum(e["fields"]["count"] for e in records("scrub", env)), HITS)
    equal(gaps(env), [])

    # The same through a session: one answer of a tool.
    s = kennel_run(toy_policy("    exec allow /bin/cat **\n    read %s\n    secret T from env T\n" % words(path)),
                   env=dict(env, T=VALUE))
    s.initialize()
    text = s.text("exec", 60, argv=["/bin/cat", path])
    absent(VALUE, text)
    check(text.count("***") > 100, text[:200])
    equal(s.text("echo", text="goes on"), "goes on")
    s.close()
    check(wait_for(lambda: len(records("stop", env, "leash")) == 2, 5), records("stop", env))


if __name__ == "__main__":
    main()
