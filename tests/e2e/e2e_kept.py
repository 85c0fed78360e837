"""A log that was moved away, cut or put back: what the checkpoints that are kept beside it show."""
import os
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
SHELL = "    run %s **\n" % words(WITNESS)


def home(name, settings=None):
    """A log of its own, with one session in it."""
    d = "%s/%s" % (TMP, name)
    os.makedirs(d + "/audit", mode=0o700)
    if settings:
        open(d + "/audit/audit.conf", "w").write(settings)
    env = {"KENNEL_HOME": d}
    session(env)
    return env, d + "/audit"


def session(env):
    equal(kexec(SHELL, [WITNESS, "exit", "0"], env=env).returncode, 0)
    idle()


def recorders():
    return {p for p, comm in descendants(os.getpid()).items() if comm.startswith("kennel-recorder")}


def idle():
    check(wait_for(lambda: not recorders(), 10), "the recorder stays")


def verify(env, *args):
    r = run([KENNEL, "audit", "verify"] + list(args), env=environment(env))
    return r.returncode, r.stdout.decode() + r.stderr.decode()


def doctor(env):
    out = run([KENNEL, "doctor"], env=environment(env)).stdout.decode()
    idle()
    return [x for x in out.split("\n") if "audit-log" in x][0]


def own(log, kind):
    """The log's own records of this kind, with their fields."""
    events = audit("--all", "--log", log)
    return [e["fields"] for e in events if e["kind"] == kind]


def gaps(env):
    r = run([KENNEL, "audit", "gaps", "--json"], env=environment(env))
    equal(r.returncode, 0, r.stderr)
    return r.stdout.decode()


@test("a normal day: the checkpoint of the end is kept, 0600, and nothing is reported")
def normal():
    env, log = home("normal")
    session(env)
    names = os.listdir(log + ".kept")
    equal(len(names), 1, names)
    st = os.stat(log + ".kept/" + names[0])
    equal(oct(st.st_mode & 0o777), "0o600")
    equal(oct(os.stat(log + ".kept").st_mode & 0o777), "0o700")
    text = open(log + ".kept/" + names[0]).read().split("\n")
    equal(int(text[1]), audit("--all", "--log", log)[-1]["idx"] + 1, "its size is the log's")
    status, said = verify(env)
    equal(status, 0, said)
    check(not doctor(env).startswith("NO"), "doctor")
    for kind in ("genesis", "open"):
        check(all("reason" not in f for f in own(log, kind)), kind)
    absent("not continued", gaps(env))


@test("a log that was moved away: the next one, doctor and verify say where it stopped")
def moved():
    env, log = home("moved")
    before = audit("--all", "--log", log)
    origin = before[0]["fields"]["origin"]
    os.rename(log, log + ".old")
    # control: nothing has started since
    status, said = verify(env)
    check(status not in (0, 1), (status, said))
    within("in this place was the log %s, which had %d records" % (origin, len(before)), said)
    row = doctor(env)
    check(row.startswith("NO"), row)
    within(origin, row)
    session(env)
    f = own(log, "genesis")[0]
    equal((f["name"], f["size"]), ([origin], len(before)))
    equal(f["reason"], "another log was in this place")
    check(abs(f["before"] / 1e9 - time.time()) < 300, f)
    status, said = verify(env)
    equal(status, 2, said)
    within("another log was in this place: %s, which had %d records" % (origin, len(before)), said)
    within("not continued", gaps(env))
    check(doctor(env).startswith("NO"), "doctor")
    # the old log itself is intact, wherever it is
    status, said = verify(env, "--stopped", log + ".old")
    equal(status, 0, said)
    # a person accepts the new one; the record of it stays
    os.unlink("%s.kept/%s.checkpoint" % (log, origin[-12:]))
    status, said = verify(env)
    equal(status, 0, said)
    check(not doctor(env).startswith("NO"), "doctor")
    equal(len([f for f in own(log, "open") if "reason" in f]), 0, "reported once")


@test("the kept checkpoint was removed too: nothing shows it (TRUST), and a new log begins")
def removed_too():
    env, log = home("removed")
    shutil.rmtree(log)
    shutil.rmtree(log + ".kept")
    session(env)
    check("reason" not in own(log, "genesis")[0])
    status, said = verify(env)
    equal(status, 0, said)


@test("a log put back from a copy: before a recorder runs, after it, and when it has grown past the end")
def restored():
    env, log = home("restored")
    shutil.copytree(log, log + ".copy")
    session(env)
    size = len(audit("--all", "--log", log))
    equal(verify(env)[0], 0, "control")
    shutil.rmtree(log)
    shutil.copytree(log + ".copy", log)
    status, said = verify(env)
    equal(status, 1, said)
    within("which had %d records" % size, said)
    # control: kennel-verify alone has no checkpoint, and the copy is a genuine log
    equal(verify(env, log)[0], 0)
    session(env)
    f = [f for f in own(log, "open") if "reason" in f]
    equal([(x["reason"], x["size"]) for x in f], [("the log was longer", size)])
    for _ in range(3):
        session(env)
    check(len(audit("--all", "--log", log)) > size, "it has grown")
    status, said = verify(env)
    equal(status, 1, said)
    within("kept checkpoint", said)
    equal(len([f for f in own(log, "open") if "reason" in f]), 1, "reported once")
    check(doctor(env).startswith("NO"), "doctor")


@test("another log at the same place: its next recorder and verify name the one that was there")
def swapped():
    env, log = home("swapped")
    _, other = home("swapped-other")
    origin = own(log, "genesis")[0]["origin"]
    shutil.move(log, log + ".mine")
    shutil.move(other, log)
    status, said = verify(env)
    equal(status, 2, said)
    within(origin, said)
    session(env)
    f = [f for f in own(log, "open") if "reason" in f]
    equal([(x["reason"], x["name"]) for x in f], [("another log was in this place", [origin])])
    # the first one is put back: the same the other way round
    shutil.move(log, log + ".other")
    shutil.move(log + ".mine", log)
    session(env)
    check(any(x.get("reason") == "another log was in this place" for x in own(log, "open")))


@test("a damaged kept checkpoint: named by verify and doctor until a person removes it, recorded, and the log goes on")
def damaged():
    env, log = home("damaged")
    name = os.listdir(log + ".kept")[0]
    for text in ("", "x\n", open(log + ".kept/" + name).read()[:60]):
        open(log + ".kept/" + name, "w").write(text)
        status, said = verify(env)
        equal(status, 3, said)
        within(name, said)
        session(env)
        within("damaged", own(log, "open")[-1]["reason"])
        # it is not replaced: a next recorder would make the log intact
        session(env)
        status, said = verify(env)
        equal(status, 3, said)
        aside = name.replace(".", "-0.")
        within(aside, said)
        check(doctor(env).startswith("NO"), "doctor")
        os.unlink(log + ".kept/" + aside)
        status, said = verify(env)
        equal(status, 0, said)
        check(not doctor(env).startswith("NO"), "doctor")
    os.symlink("/etc/passwd", log + ".kept/000000000000.checkpoint")
    equal(verify(env)[0], 3)


@test("gaps: an idle end is none, kill -9 and a signal are")
def ends():
    env, log = home("ends", "heartbeat 1\n")
    equal([f.get("reason") for f in own(log, "end")], ["idle"])
    time.sleep(3)
    said = gaps(env)
    for what in ("no end", "unclean stop", "stopped"):
        absent(what, said)
    for sig, what in ((signal.SIGTERM, "stopped"), (signal.SIGKILL, "no end")):
        s = kennel_run(toy_policy(""), env=env)
        s.initialize()
        pid = list(recorders())[0]
        s.close()
        os.kill(pid, sig)
        idle()
        time.sleep(3)
        within(what, gaps(env))
    session(env)
    said = gaps(env)
    within("unclean stop", said)
    absent("no end", said)


main()
