#!/usr/bin/env python3
"""make soak: what must hold when anything dies, fills up or runs for long.

    soak.py [kills] [calls] [full] [starved] [disk] [memory] [clock]    only these

SOAK_KILLS (1000), SOAK_CALLS (1000000), SOAK_FAULTS (400 of a kind) and KT_SEED
are its knobs.  Every part
prints its figures and `ok` or `not ok`; the exit status is 1 when one fails.
"""
import collections
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE + "/../lib")
sys.path.insert(0, HERE + "/..")
sys.path.insert(0, HERE + "/../e2e")
sys.path.insert(0, HERE)
import faults  # noqa: E402

KILLS = int(os.environ.get("SOAK_KILLS", "") or 1000)
CALLS = int(os.environ.get("SOAK_CALLS", "") or 1000000)
SEED = int(os.environ.get("KT_SEED", "0") or 0) or int(time.time())
PARTS = ("kills", "calls", "full", "starved", "disk", "memory", "clock")
GROWTH = 1.10
FULL_SECONDS = 3.0
VERIFY_SECONDS = 15


def say(*text):
    print(*text, flush=True)


# ---- the outer half: a stage, a user, one process for each part -----------------------

def others(line, uid):
    """A file of another run at the same time: not of the user that is this run's."""
    try:
        return line.startswith("file ") and os.lstat(line[5:]).st_uid != uid
    except OSError:
        return True  # gone by now


def outer(wanted):
    import kit
    import run as runner
    kit.be_subreaper()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # clean up first
    before = runner.scene()
    user = runner.User()
    stage = runner.Stage(user)
    failed = []
    try:
        stage.fill()
        if set(wanted) & set(faults.PARTS):
            shutil.copytree(runner.ROOT + "/build/fault", stage.path + "/build/fault")
        for part in wanted:
            # Only root may read the PSS of what cannot be dumped.
            mine = part == "calls"
            uid, gid = (os.getuid(), os.getgid()) if mine else (user.uid, user.gid)
            tmp = stage.folder("soak-" + part, uid, gid)
            env = {"KT_STAGE": stage.path, "KT_TMP": tmp, "KT_AS": "root" if uid == 0 else "user",
                   "KT_UID": str(user.uid), "KENNEL_HOME": tmp + "/home", "HOME": tmp, "TMPDIR": tmp,
                   "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8",
                   "PYTHONDONTWRITEBYTECODE": "1", "SOAK_KILLS": str(KILLS),
                   "SOAK_CALLS": str(CALLS), "SOAK_FAULTS": os.environ.get("SOAK_FAULTS", ""), "KT_SEED": str(SEED)}
            cmd = ["/usr/bin/python3", stage.path + "/tests/soak/soak.py", "--inner", part]
            if subprocess.run(([] if mine else user.prefix()) + cmd, env=env, cwd="/").returncode:
                failed.append(part)
        left = [x for x in runner.left_behind(before, stage.path) if not others(x, user.uid)]
        for line in left:
            say("#   left:", line)
        failed += ["left behind"] if left else []
    finally:
        runner.stop_all()
        stage.remove()
        user.remove()
    say("soak: " + ("failed: " + ", ".join(failed) if failed else "all of %s held" % ", ".join(wanted)))
    return 1 if failed else 0


# ---- the parts ------------------------------------------------------------------------

class Part:
    """What one part found; the inner half's process ends with it."""

    def __init__(self, name):
        self.name, self.bad = name, 0

    def wrong(self, *what):
        self.bad += 1
        say("#   %s:" % self.name, *what)

    def end(self, *figures):
        say("%s %s: %s" % ("not ok" if self.bad else "ok", self.name, " ".join(str(f) for f in figures)))
        sys.exit(1 if self.bad else 0)


def intact(part, kit, when, *how):
    try:
        r = kit.run([kit.KENNEL, "audit", "verify", *how], timeout=VERIFY_SECONDS)
    except subprocess.TimeoutExpired:
        for pid, comm in kit.descendants(os.getpid()).items():
            if comm == "kennel-verify":
                os.kill(pid, signal.SIGKILL)
        part.wrong(when, "audit verify does not end")
        return 0
    if r.returncode != 0 or b"intact" not in r.stdout:
        part.wrong(when, "audit verify:", (r.stdout + r.stderr).decode(errors="replace")[-300:])
        return 0
    return 1


def left(death, before):
    """What of a session is still there: processes, mounts, files."""
    import run as runner
    death.reap()
    files, mounts, _ = runner.scene()  # a socket stays as long as its recorder
    mine = {f for f in files - before[0] if os.path.exists(f) and os.lstat(f).st_uid == os.getuid()}
    return [p for p in death.parts() if p != "recorder"] + sorted(mine) + sorted(mounts - before[1])


VICTIMS = ("kennel", "leash", "shim", "recorder", "server")
MOMENTS = ("start", "idle", "call", "big", "exec", "end")
PAIRS = 0.2  # how often a second one dies with the first


def to_moment(death, moment, dice):
    """A session, as far as the moment says."""
    flags = ["--ignore-term", "--stay"] if dice.random() < 0.5 else []
    s = death.kennel_run(death.toy_policy("    exec allow /bin/true\n", *flags))
    if moment == "start":
        time.sleep(dice.random() * 0.06)
        return s
    s.initialize()
    if moment == "call":
        for i in range(3):
            s.send({"jsonrpc": "2.0", "id": "s%d" % i, "method": "tools/call",
                    "params": {"name": "sleep", "arguments": {"n": 30}}})
    if moment == "big":
        s.send({"jsonrpc": "2.0", "id": "b", "method": "tools/call",
                "params": {"name": "big", "arguments": {"n": 3000000}}})
    if moment == "exec":
        for i in range(40):  # the gate is busy with one of them
            s.send({"jsonrpc": "2.0", "id": "x%d" % i, "method": "tools/call",
                    "params": {"name": "exec", "arguments": {"argv": ["/bin/true"]}}})
    if moment == "end":
        s.p.stdin.close()
    time.sleep(dice.random() * (0.02 if moment == "end" else 0.1))
    return s


def kill_all(death, victims, moment):
    """Who of them died of it."""
    for _ in range(20 if moment == "start" else 1):  # a very early moment: not there yet
        pids = [(v, p) for v in victims for p in death.parts().get(v, [])]
        if pids:
            break
        time.sleep(0.01)
    died = set()
    for victim, pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            died.add(victim)
        except ProcessLookupError:
            pass
    return died


def goes_on(s, calls):
    """After the recorder's end: every call is answered, from before it too."""
    for i in range(calls):
        r = s.call("echo", seconds=5, text="on %d" % i)
        if "result" not in r:
            raise AssertionError("without its recorder: %r" % r)


def kill_once(death, victims, moment, dice):
    """(who died of it, how many calls the log must tell of)"""
    s = to_moment(death, moment, dice)
    died, calls = kill_all(death, victims, moment), 0
    # Without a recorder a session goes on; one that never started waits for
    # a first request to answer: the agent leaves too.
    if died == {"recorder"} and moment in ("idle", "exec"):
        calls = 3
        goes_on(s, calls)
    if died <= {"recorder"} or moment == "start":
        time.sleep(dice.random() * 0.05)
        if not s.p.stdin.closed:
            s.p.stdin.close()
    return died, calls


def kills():
    import kit
    import run as runner
    import e2e_death as death
    part, dice = Part("kills"), random.Random(SEED)
    before, slowest, verified = runner.scene(), 0.0, 0
    hit, moments = collections.Counter(), collections.Counter()
    rounds, t0 = 0, time.time()
    say("# seed %d" % SEED)
    while sum(hit.values()) < KILLS and rounds < 3 * KILLS + 100:
        rounds += 1
        moment = dice.choice(MOMENTS)
        victims = dice.sample(VICTIMS, 2 if dice.random() < PAIRS else 1)
        here, died = "round %d, %s at %s:" % (rounds, " and ".join(victims), moment), set()
        told_before = told(kit) if victims == ["recorder"] else 0
        calls = 0
        try:
            died, calls = kill_once(death, victims, moment, dice)
        except (EOFError, TimeoutError, AssertionError, OSError) as e:
            part.wrong(here, repr(e)[:300])
        took = kit.wait_for(lambda: not left(death, before), 2.0)
        if took is None:
            part.wrong(here, "left after 2 s:", left(death, before), death.parts())
        slowest = max(slowest, took or 2.0)
        hit.update(died)
        moments[moment] += bool(died)
        kit.end_all()
        verified += intact(part, kit, here)
        if calls and told(kit) < told_before + calls:
            part.wrong(here, "%d calls answered, %d in the log" % (calls, told(kit) - told_before))
    if kit.wait_for(lambda: (death.reap(), not death.parts())[1], 15) is None:
        part.wrong("the last recorder stays:", death.parts())
    part.end("%d kills in %d sessions, %.0f s" % (sum(hit.values()), rounds, time.time() - t0),
             dict(sorted(hit.items())), dict(sorted(moments.items())),
             "slowest end %.2f s, log intact %d times" % (slowest, verified))


# ---- many calls -------------------------------------------------------------------------

def kilobytes(pid):
    """PSS; where it may not be read, RSS."""
    try:
        with open("/proc/%d/smaps_rollup" % pid) as f:
            return [int(x.split()[1]) for x in f if x.startswith("Pss:")][0]
    except (OSError, IndexError):
        with open("/proc/%d/statm" % pid) as f:
            return int(f.read().split()[1]) * 4


WINDOW = 64


def answers(s, upto, got):
    """Read until `upto` answers are there, each once and in its own words."""
    while got < upto:
        if not select.select([s.r], [], [], 30)[0]:
            raise TimeoutError("no answer for 30 s")
        s._more()
        *lines, s.buf = s.buf.split(b"\n")
        for line in lines:
            got += 1
            if b'"call %d."' % got not in line or b'"id":%d,' % got not in line.replace(b'"id": ', b'"id":') + b",":
                raise AssertionError("answer %d is %r" % (got, line[:200]))
    return got


def calls():
    import kit
    import e2e_death as death
    part = Part("calls")
    s = kit.kennel_run(kit.toy_policy())
    s.initialize()
    who = {p: death.parts()[p][0] for p in ("kennel", "leash", "shim", "recorder")}
    seen = {p: [] for p in who}
    sent = got = 0
    t0 = time.time()
    try:
        while got < CALLS:
            n = min(WINDOW, CALLS - sent)
            s.send_bytes(b"".join(
                b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo",'
                b'"arguments":{"text":"call %d."}}}\n' % (i, i) for i in range(sent + 1, sent + n + 1)))
            sent += n
            got = answers(s, sent, got)
            if got >= CALLS // 300 * len(seen["leash"]):
                for p, pid in who.items():
                    seen[p].append(kilobytes(pid))
    except (EOFError, TimeoutError, AssertionError, OSError, ValueError) as e:
        part.wrong("after %d answers:" % got, repr(e)[:400])
    took = time.time() - t0
    figures = []
    for p, kb in seen.items():
        kb = kb[len(kb) // 50:]  # the first calls bring the pages in
        third = max(1, len(kb) // 3)
        first, last = sum(kb[:third]) / third, sum(kb[-third:]) / third
        figures.append("%s %.0f -> %.0f KB" % (p, first, last))
        if last > first * GROWTH:
            part.wrong("%s grew from %.0f to %.0f KB" % (p, first, last))
    s.p.stdin.close()
    if kit.wait_for(lambda: (death.reap(), not [p for p in death.parts() if p != "recorder"])[1], 5) is None:
        part.wrong("left:", death.parts())
    kit.end_all()
    intact(part, kit, "at the end")
    part.end("%d calls in %.0f s," % (got, took), ", ".join(figures))


# ---- a full disk under the log -------------------------------------------------------------

def full():
    """A small tmpfs in a namespace of our own, then the same ids as outside."""
    home = os.environ["KENNEL_HOME"]
    os.makedirs(home, mode=0o700, exist_ok=True)
    script = ('mount -t tmpfs -o size=8m,mode=700 none "$1" && exec unshare -U --map-user=%d --map-group=%d -- '
              '/usr/bin/python3 "$2" --inner full-inside' % (os.getuid(), os.getgid()))
    r = subprocess.run(["unshare", "-Urm", "--", "sh", "-c", script, "sh", home, os.path.abspath(__file__)])
    if r.returncode not in (0, 1):
        say("ok full # SKIP no namespace with a small tmpfs: exit status %d" % r.returncode)
        sys.exit(0)
    sys.exit(r.returncode)


def fill(path):
    with open(path, "wb", buffering=0) as f:
        for size in (65536, 4096, 1):
            try:
                while True:
                    f.write(b"x" * size)
            except OSError:
                pass


def call_until(kit, s, most):
    """(answered with a result, how it ended)"""
    for done in range(most):
        try:
            r = s.call("echo", seconds=20, text="at %d" % done)
        except EOFError:
            time.sleep(0.1)  # its last words
            said = s.stderr().strip().splitlines()
            return done, "end of the session: " + (said[-1][:160] if said else "in silence")
        if "result" not in r:
            return done, str(r.get("error", r))[:160]
    return most, "nothing"


def told(kit):
    """How many calls of the tool the log tells of, by how they ended."""
    return sum(1 for e in kit.audit("--kind", "call") if '"echo"' in json.dumps(e["fields"])
               and e["fields"].get("outcome") == "ok")


def full_once(part, kit, round_, home):
    """(calls answered while there was no room, how that ended)"""
    s = kit.kennel_run(kit.toy_policy())
    before = told(kit)
    try:
        if round_ % 3 != 2:
            s.initialize()
            call_until(kit, s, 5)
            time.sleep(0.3)  # what was answered is durable within 50 ms
        if round_ % 3 != 2 and told(kit) < before + 5:
            part.wrong("round %d: 5 answered, %d in the log" % (round_, told(kit) - before))
        fill(home + "/filler")
        t0 = time.time()
        if round_ % 3 == 2:
            s.initialize()
        more, how = call_until(kit, s, 1000000)
        if how == "nothing" or time.time() - t0 > FULL_SECONDS:
            part.wrong("round %d: a full disk was noticed after %.1f s" % (round_, time.time() - t0))
        return more, how
    except EOFError as e:
        return 0, "no start: " + str(e).strip().splitlines()[-1][:160]
    except (TimeoutError, AssertionError, OSError) as e:
        part.wrong("round %d:" % round_, repr(e)[:300])
        return 0, "wrong"
    finally:
        if s.p.poll() is None and not s.p.stdin.closed:
            s.p.stdin.close()


def full_inside():
    """What was durable stays; with no room nothing more is done once an event is
    late (leash/audit/writer.h: REPORT_LATE_MS), and it is said why."""
    import kit
    import e2e_death as death
    part, home = Part("full"), os.environ["KENNEL_HOME"]
    ends = collections.Counter()
    intact_n, most = 0, 0
    kit.kennel_run(kit.toy_policy()).initialize()  # a log to ask
    kit.end_all()
    for round_ in range(6):
        more, how = full_once(part, kit, round_, home)
        most = max(most, more)
        ends[how] += 1
        if kit.wait_for(lambda: (death.reap(), not [p for p in death.parts() if p != "recorder"])[1], 5) is None:
            part.wrong("round %d: left:" % round_, death.parts())
        kit.end_all()
        if os.path.exists(home + "/filler"):
            os.unlink(home + "/filler")
        intact_n += intact(part, kit, "round %d" % round_)
    s = kit.kennel_run(kit.toy_policy())
    s.initialize()
    if s.text("echo", text="again") != "again":
        part.wrong("no session after there is room again")
    s.close()
    kit.wait_for(lambda: (death.reap(), not death.parts())[1], 15)
    for how, n in sorted(ends.items()):
        say("#   full: %d times: %s" % (n, how))
    part.end("%d times, at most %d calls before it was noticed, log intact %d times" % (sum(ends.values()), most, intact_n))


# ---- no descriptors, no memory ---------------------------------------------------------------

def starve(part, death, kit, limit, value):
    """One session under a limit: it works, or says why it does not."""
    cmd = ["sh", "-c", "%s %d; exec \"$@\"" % (limit, value), "sh",
           kit.KENNEL, "run", "t", "--policy", starve.policy]
    s, works = kit.Mcp(cmd), False
    try:
        r = s.initialize()
        works = "result" in r and s.text("echo", text="here") == "here"
        if not works and not str(r.get("error", "")):
            part.wrong("%s %d: neither works nor says why:" % (limit, value), r)
    except (EOFError, OSError, AssertionError) as e:
        status = kit.wait_for(lambda: s.p.poll() is not None, 3)
        if status is None or s.p.returncode == 0:
            part.wrong("%s %d: no exit with an error:" % (limit, value), repr(e)[:200])
        elif not (s.stderr() or str(e)).strip():
            part.wrong("%s %d: silent end, status %s" % (limit, value, s.p.returncode))
    except TimeoutError:
        part.wrong("%s %d: no answer" % (limit, value))
    if not s.p.stdin.closed:
        try:
            s.p.stdin.close()
        except OSError:
            pass
    if kit.wait_for(lambda: (death.reap(), not [p for p in death.parts() if p != "recorder"])[1], 3) is None:
        part.wrong("%s %d: left:" % (limit, value), death.parts())
    kit.end_all()
    return works


def starved():
    import kit
    import e2e_death as death
    part, works = Part("starved"), collections.Counter()
    starve.policy = kit.policy(kit.toy_policy())
    files = list(range(3, 41))
    memory = [2000, 4000, 6000, 8000, 12000, 16000, 24000, 32000, 64000, 128000]
    for n in files:
        works["files"] += starve(part, death, kit, "ulimit -n", n)
    for n in memory:
        works["memory"] += starve(part, death, kit, "ulimit -v", n)
    if not starve(part, death, kit, "ulimit -n", 256):
        part.wrong("256 descriptors are not enough")
    intact(part, kit, "at the end")
    kit.wait_for(lambda: (death.reap(), not death.parts())[1], 15)
    part.end("%d limits on descriptors (worked %d), %d on memory (worked %d)" %
             (len(files), works["files"], len(memory), works["memory"]))


def faulty(name):
    def run():
        import kit
        import e2e_death as death
        say("# seed %d" % SEED)
        faults.PARTS[name](Part(name), kit, death, intact, random.Random(SEED))
    return run


INNER = {"kills": kills, "calls": calls, "full": full, "full-inside": full_inside, "starved": starved}
INNER.update({name: faulty(name) for name in faults.PARTS})

if __name__ == "__main__":
    if sys.argv[1:2] == ["--inner"]:
        INNER[sys.argv[2]]()
    for word in sys.argv[1:]:
        if word not in PARTS:
            sys.exit("soak.py: %s: one of %s" % (word, " ".join(PARTS)))
    sys.exit(outer(sys.argv[1:] or PARTS))
