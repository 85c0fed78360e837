"""Parts of soak.py that need calls to fail: the programs of build/fault, with orders
beside them (tests/fault/fault.c)."""
import collections
import errno
import json
import os
import shutil
import struct
import time

KINDS = ("memory", "write", "sync", "clock", "sleep", "crash")
PROGRAMS = {"kennel": "bin/kennel", "leash": "libexec/kennel/kennel-leash",
            "recorder": "libexec/kennel/kennel-recorder"}
MOST = int(os.environ.get("SOAK_FAULTS", "") or 400)  # of one kind and program; more are drawn


class Tree:
    """A copy of build/fault of this run's own, and what it is ordered to do."""

    def __init__(self, kit):
        self.kit, self.path = kit, kit.TMP + "/fault"
        shutil.copytree(kit.STAGE + "/build/fault", self.path)
        self.exe = {p: self.path + "/" + f for p, f in PROGRAMS.items()}
        kit.KENNEL = self.exe["kennel"]

    def order(self, program=None, kind="memory", first=0, count=1, value=0):
        """Nothing fails but this; all is counted from 0 again."""
        for p, exe in self.exe.items():
            with open(exe + ".fault", "w") as f:
                if program in (p, "all"):
                    f.write("%s %d %d %d\n" % (kind, first, count, value))
            flags = os.O_RDWR | os.O_CREAT
            fd = os.open(exe + ".count", flags, 0o600)
            os.pwrite(fd, bytes(8 * len(KINDS)), 0)
            os.close(fd)

    def counted(self, program):
        with open(self.exe[program] + ".count", "rb") as f:
            return dict(zip(KINDS, struct.unpack("%dQ" % len(KINDS), f.read(8 * len(KINDS)))))


def points(n, most, dice):
    """Every number up to n, or as many as are affordable."""
    if n <= most:
        return list(range(1, n + 1))
    head = most // 2  # starts are where most differs
    return list(range(1, head + 1)) + sorted(dice.sample(range(head + 1, n + 1), most - head))


POLICY = """
    secret T from file %s
    exec allow /bin/true
"""


class Rig:
    """Sessions with one secret, one granted program and a few calls."""

    def __init__(self, part, kit, death):
        self.part, self.kit, self.death = part, kit, death
        secret = kit.TMP + "/secret"
        with open(secret, "w") as f:
            f.write("the-value-of-T-0123456789\n")
        os.chmod(secret, 0o600)
        self.policy = kit.policy(kit.toy_policy(POLICY % secret))
        self.tree = Tree(kit)
        self.says = collections.Counter()

    def settle(self, seconds=6.0):
        """No process but a recorder; then no recorder either, so that the next
        session meets its own orders from the first call on."""
        kit, death = self.kit, self.death
        gone = kit.wait_for(lambda: (death.reap(), not [p for p in death.parts() if p != "recorder"])[1], seconds)
        left = death.parts()
        for pid in left.get("recorder", []):
            os.kill(pid, 15)
        kit.wait_for(lambda: (death.reap(), not death.parts())[1], 5)
        return None if gone is not None else left

    def session(self, calls=3, pause=0.0):
        """(answered, how it ended: "" when all went well).  It may end early,
        but not in silence and not by a signal."""
        s = self.kit.Mcp([self.kit.KENNEL, "run", "t", "--policy", self.policy])
        done, said = 0, ""
        try:
            r = s.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
            said = "" if "result" in r else "refused: " + str(r["error"].get("message"))
            for i in range(calls if not said else 0):
                if i == calls - 1:
                    r = s.call("exec", argv=["/bin/true"], seconds=8)
                else:
                    r = s.call("echo", text="call %d" % i, seconds=8)
                if "result" not in r:
                    said = "refused: " + str(r["error"].get("message"))
                    break
                done += 1
                time.sleep(pause)
        except (EOFError, BrokenPipeError) as e:
            said = "ended: " + type(e).__name__
        except TimeoutError:
            said = "no answer"
        if not s.p.stdin.closed:
            s.p.stdin.close()
        if self.kit.wait_for(lambda: s.p.poll() is not None, 6) is None:
            said = "does not end"
        text = s.stderr()
        self.status, self.text = s.p.poll(), text
        return done, said

    def judged(self, where, done, said):
        """What must hold whatever failed."""
        part = self.part
        if said in ("no answer", "does not end"):
            part.wrong(where, said, self.text[-300:])
        if self.status is not None and self.status < 0:
            part.wrong(where, "kennel died of signal %d" % -self.status, self.text[-300:])
        if said and not self.text.strip() and not said.startswith("refused"):
            part.wrong(where, "a silent end, status %s, after %d" % (self.status, done))
        if "bug at" in self.text or "AddressSanitizer" in self.text or "confine:" in self.text:
            part.wrong(where, self.text[-300:])
        left = self.settle()
        if left is not None:
            part.wrong(where, "left:", left)
        for p in PROGRAMS:
            if self.tree.counted(p)["crash"]:
                part.wrong(where, p, "crashed;", self.text[-300:])
        last = self.text.strip().splitlines()
        self.says["all well" if not said else (last[-1] if last else said)[:110]] += 1

    def told(self):
        """What the log tells of the last session that began: kinds and outcomes."""
        events = self.kit.audit()
        started = [e["session"] for e in events if e["kind"] == "start"]
        return collections.Counter(
            e["kind"] + ":" + e["fields"].get("outcome", "") for e in events
            if started and e["session"] == started[-1]), len(started)

    def end(self, *figures):
        for text, n in self.says.most_common(14):
            print("#   %d times: %s" % (n, text), flush=True)
        self.part.end(*figures)


# ---- the disk under the log -------------------------------------------------------------

def disk(part, kit, death, intact, dice):
    """EIO and ENOSPC at each write and each sync of the recorder, once and for ever."""
    rig, tries, t0 = Rig(part, kit, death), 0, time.time()
    rig.tree.order()
    rig.session(), rig.settle()  # a log to ask
    rig.tree.order()
    rig.session(), rig.settle()
    most = rig.tree.counted("recorder")
    for kind, error in (("write", errno.ENOSPC), ("write", errno.EIO), ("sync", errno.EIO), ("sync", errno.ENOSPC)):
        for count in (1, 0):
            for n in points(most[kind], MOST if count else MOST // 8, dice):
                where = "%s %d %s %s:" % (kind, n, errno.errorcode[error], "once" if count else "from then on")
                starts = rig.told()[1]
                rig.tree.order("recorder", kind, n, count, error)
                done, said = rig.session()
                rig.judged(where, done, said)
                text = rig.text[-300:]
                rig.tree.order()
                intact(part, kit, where)
                told, started = rig.told()
                # Once initialize was answered the server had run: its gate records are durable.
                if done and (started <= starts or not told["mounts:"] or not told["secrets:"]):
                    part.wrong(where, "%d calls answered; the log tells of" % done, dict(told), text)
                if done and not said and "unable to record" not in text and \
                        (told["call:ok"] < done + 1 or not told["exec:"]):
                    part.wrong(where, "%d calls answered; the log tells of" % done, dict(told), text)
                if said == "" and count == 0 and n <= 3:
                    part.wrong(where, "nothing was noticed")
                tries += 1
    rig.tree.order()
    if rig.session()[1]:
        part.wrong("no session after all that:", rig.text)
    rig.settle()
    rig.end("%d faults (of %d writes and %d syncs of a session), %.0f s" %
            (tries, most["write"], most["sync"], time.time() - t0))


# ---- no memory ----------------------------------------------------------------------------

def memory(part, kit, death, intact, dice):
    """Each allocation of each program fails, once."""
    rig, figures, t0 = Rig(part, kit, death), [], time.time()
    rig.tree.order()
    rig.session(), rig.settle()
    rig.tree.order()
    rig.session(), rig.settle()
    most = {p: rig.tree.counted(p)["memory"] for p in PROGRAMS}
    for program, n_all in most.items():
        well = tries = 0
        for n in points(n_all, MOST, dice):
            where = "%s, allocation %d:" % (program, n)
            rig.tree.order(program, "memory", n, 1)
            done, said = rig.session()
            rig.judged(where, done, said)
            well += not said
            tries += 1
            if tries % 25 == 0:
                rig.tree.order()
                intact(part, kit, where)
        figures.append("%s %d of %d (%d went on)" % (program, tries, n_all, well))
    rig.tree.order()
    intact(part, kit, "at the end")
    rig.end(", ".join(figures), "%.0f s" % (time.time() - t0))


# ---- a clock that jumps ---------------------------------------------------------------------

YEAR = 366 * 86400


def clock(part, kit, death, intact, dice):
    """CLOCK_REALTIME jumps at any moment of a session, for good or for a moment:
    nothing but the stamps of the log sees it.  And the machine sleeps: deadlines
    pass, the log stays whole."""
    rig, seen, t0 = Rig(part, kit, death), 0, time.time()
    rig.tree.order()
    rig.session(), rig.settle()
    began = time.time()
    rig.session(), rig.settle()
    lasts = min(0.4, time.time() - began)
    for i in range(MOST):
        kind = "clock" if i < MOST * 3 // 4 else "sleep"
        by = dice.choice((-3600, 3600, -YEAR, 10 * YEAR, -55 * YEAR)) if kind == "clock" else 7200
        count = dice.choice((0, 0, 20, 100)) if kind == "clock" else 0
        where = "%d, %s %+d s for %s ms:" % (i, kind, by, count or "all")
        home = kit.HOME
        if kind == "sleep":  # nobody wakes before they slept: a log of its own
            kit.HOME = "%s/slept-%d" % (kit.TMP, i)
            os.mkdir(kit.HOME, 0o700)
        rig.tree.order("all", kind, int((time.monotonic() + dice.random() * lasts) * 1000), count, by)
        done, said = rig.session(5, 0.02)
        rig.judged(where, done, said)
        seen += any(rig.tree.counted(p)[kind] for p in PROGRAMS)
        if said and kind == "clock":
            part.wrong(where, said, rig.text[-300:])
        rig.tree.order()
        intact(part, kit, where, "--stopped")  # an hour ago, says the clock now
        kit.HOME = home
    events = [e for e in kit.audit() if "idx" in e]
    events.sort(key=lambda e: e["idx"])
    jumps = sum(1 for a, b in zip(events, events[1:]) if b["ts"] < a["ts"])
    if not jumps or not seen:
        part.wrong("no jump has reached the log: nothing was shown")
    rig.end("%d of %d jumps were seen, %d of them back in the log, %.0f s" %
            (seen, MOST, jumps, time.time() - t0))


PARTS = {"disk": disk, "memory": memory, "clock": clock}
