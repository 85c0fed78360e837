"""Rows 58, 59, 62, 63, 65, 70, 87, 92: what an exec is judged on changes while it is judged.

Each shape is tried by one program (exec_swap.c) inside a cell of kennel's; and, as
an ordinary user, under a gate that believes the notification (exec_control.c).  A
win is what the forbidden program itself says, by its status and by a mark.

    RACES_TRIES     tries of each shape, half of them in the run as root, half
                    in the one as a user
    RACES_CHUNK     tries of one session
    RACES_HELD      tries of each that a person is asked about
"""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

TRIES = int(os.environ.get("RACES_TRIES", "") or 3000)
CHUNK = int(os.environ.get("RACES_CHUNK", "") or 5000)
ATTACK_BIN = STAGE + "/build/attack/"
SWAP = ATTACK_BIN + "exec_swap"
COUNTS = ("tries", "ran", "won", "marks", "refused", "killed", "failed")
SECONDS = max(300, TRIES // 10)
BOTH = os.environ.get("RACES_BOTH", "yes") == "yes"  # the other half is somebody else's


def scene():
    """The folder of a race: a/goal and b/goal, s/ for who swaps from outside, w/."""
    d = TMP + "/race"
    for part in ("a", "b", "s"):
        os.makedirs(d + "/" + part, mode=0o755, exist_ok=True)
    public_folder("race/w")
    for part, program in (("a", "goal"), ("b", "won")):
        at = "%s/%s/goal" % (d, part)
        if not os.path.exists(at):
            shutil.copy(ATTACK_BIN + "exec_" + program, at)
            os.chmod(at, 0o755)
    for name, part in (("goal", "a"), ("other", "b")):
        at = "%s/s/%s" % (d, name)
        if os.path.exists(at):
            os.unlink(at)
        os.link("%s/%s/goal" % (d, part), at)
    return d


def grants(d, more=""):
    """Both files may be started; what separates them is the gate alone."""
    user = '    user "%d"\n' % UID if os.geteuid() == 0 else ""
    return user + """
    run %s **
    read %s
    write %s
    exec allow %s good
    exec allow %s otherwise
%s""" % (words(SWAP), words(d), words(d + "/w"), words(d + "/a/goal"), words(d + "/b/goal"), more)


def outside_swapper(d):
    """Somebody outside, whose folder it is, swaps the file itself."""
    return start([SWAP, "outside", "0", d, d + "/w"], stdin=subprocess.PIPE, cwd="/", env=environment())


def stop_swapper(p):
    if p:
        p.stdin.close()
        p.wait()


def counted(out, err):
    f = facts(out)
    check("tries" in f, out[-300:], err[-500:])
    got = {k: int(f[k]) for k in COUNTS}
    got["means"] = f["means"]
    return got


def inside(shape, tries, d, more="", env=None):
    total = dict.fromkeys(COUNTS, 0)
    while total["tries"] < tries:
        n = min(CHUNK, tries - total["tries"])
        swapper = outside_swapper(scene()) if shape == "file" else None
        r = kexec(grants(d, more), [SWAP, shape, str(n), d, d + "/w"], timeout=600, env=env)
        got = counted(r.stdout, r.stderr)
        stop_swapper(swapper)
        for k in COUNTS:
            total[k] += got[k]
        total["means"] = got["means"]
    return total


def believing(shape, tries, d):
    """The control."""
    swapper = outside_swapper(scene()) if shape == "file" else None
    r = unconfined([ATTACK_BIN + "exec_control", d, SWAP, shape, str(tries), d, d + "/w"], timeout=120)
    stop_swapper(swapper)
    return counted(r.stdout, r.stderr)


def figures(got):
    return " ".join("%s %d" % (k, got[k]) for k in COUNTS) + \
        (" means %s" % got["means"] if got["means"] != "none" else "")


def race(shape, refusals=(), winnable=True, more="", env=None):
    d = scene()
    mine = TRIES // 2 if BOTH else TRIES
    t0 = time.time()
    got = inside(shape, mine, d, more, env)
    t1 = time.time()
    wins, tried = 0, 0
    for _ in range(8):  # it needs to win once only
        if wins or not winnable:
            break
        c = believing(shape, 300, d)
        wins, tried = wins + c["won"], tried + c["tries"]
    print("# %s: %s; the control won %d of %d; in %.1f s" % (
        shape, figures(got), wins, tried, t1 - t0), flush=True)
    equal((got["won"], got["marks"]), (0, 0), shape)
    equal(got["tries"], mine, "tries")
    equal(sum(got[k] for k in ("ran", "refused", "killed", "failed")), mine, "every try came to an end")
    check(got["ran"] > 0, "nothing ran at all", figures(got))
    check(wins or not winnable, "the control never won")
    return got


@test("attack_58_swap: a sibling thread rewrites the path (thread-path)", seconds=SECONDS)
def thread_path():
    race("thread-path")


@test("attack_58_swap: a sibling thread rewrites an argument (thread-argv)", seconds=SECONDS)
def thread_argument():
    race("thread-argv")


@test("attack_58_swap: a sibling thread rewrites the list of arguments (pointers)", seconds=SECONDS)
def pointers():
    race("pointers")


@test("attack_59_peer: a CLONE_VM process rewrites the path (vm)", seconds=SECONDS)
def vm():
    race("vm")


@test("attack_59_peer: another process rewrites an argument in a MAP_SHARED page (shared)", seconds=SECONDS)
def shared():
    race("shared")


@test("attack_59_peer: another process writes to the memfd that the path lies in (memfd)", seconds=SECONDS)
def memfd():
    race("memfd")


@test("attack_59_peer, attack_38: a helper writes with process_vm_writev (writev)", seconds=SECONDS)
def writev():
    got = race("writev")
    within(got["means"], REFUSED, "the call that writes into others")


@test("attack_39_stall, attack_87: a page that makes who reads it wait (stall)", seconds=SECONDS)
def stall():
    got = race("stall")
    for way in got["means"].split(","):
        check(not way.endswith(":ok"), "inside:", way)
    print("# outside: %s" % believing("stall", 1, scene())["means"], flush=True)


@test("attack_63_alias, attack_70: a symbolic link changes its target (symlink)", seconds=SECONDS)
def symlink():
    race("symlink")


@test("attack_62_copy: the name is a copy's by now (copy)", seconds=SECONDS)
def copied():
    race("copy")


@test("attack_62_copy, attack_70: somebody outside swaps the file for a hard link of another (file)", seconds=SECONDS)
def file():
    race("file", more="    exec allow %s good\n" % words(scene() + "/s/goal"))


@test("attack_58_swap: a peer moves the working folder of a relative path (cwd)", seconds=SECONDS)
def cwd():
    got = race("cwd")
    within(got["means"], REFUSED, "a process with the same working folder")


@test("attack_58_swap: a peer moves the working folder that a grant is for (cwd-in)", seconds=SECONDS)
def cwd_in():
    d = TMP + "/race"
    race("cwd-in", more="    exec allow %s here in %s\n" % (words(d + "/a/goal"), words(d + "/a")))


@test("attack_58_swap: a thread puts another file at the descriptor (descriptor)", seconds=SECONDS)
def descriptor():
    race("descriptor")


@test("attack_63_alias: a thread puts another file behind /proc/self/fd (proc-fd)", seconds=SECONDS)
def proc_fd():
    race("proc-fd")


@test("attack_65_loader_env: the environment is rewritten (env)", seconds=SECONDS)
def env():
    race("env")


# ---- what a person agreed to ---------------------------------------------------------

HELD = int(os.environ.get("RACES_HELD", "") or 12)  # tries; each waits for an answer
EACH = 3  # of one session: after three refusals of a program, its further ones are refused unasked


def person(p, good):
    """Answers what the server below p asks, one question at a time."""
    agreed = 0
    while p.poll() is None:
        r = run([KENNEL, "approve", "list", "--json"])
        for line in r.stdout.decode().splitlines():
            q = json.loads(line)
            if not q["id"].startswith("%d-" % p.pid):
                continue
            yes = good(json.loads(q["detail"]))
            r = run([KENNEL, "approve", "allow" if yes else "deny", q["id"]])
            agreed += yes and r.returncode == 0
    return agreed


def held(shape, lines, good):
    """All of it is rewritten without a break: before the question, while it is open, after the yes,
    up to the exec stop.  What the policy would ask about anyway is not what the person agreed to."""
    d = scene()
    # what root's run left, and the other way round
    user = '    user "%d"\n' % UID if os.geteuid() == 0 else ""
    body = user + "    run %s **\n    read %s\n    write %s\n%s" % (words(SWAP), words(d), words(d + "/w"), lines)
    total, agreed = dict.fromkeys(COUNTS, 0), 0
    for i in range(4 * HELD // EACH):  # it needs to stand still once only
        p = start([KENNEL, "exec", "--policy", policy(body), "t", "--", SWAP, shape, str(EACH), d, d + "/w", "evenly"],
                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd="/")
        agreed += person(p, good)
        got = counted(*p.communicate())
        for k in COUNTS:
            total[k] += got[k]
        total["means"] = got["means"]
        if total["ran"] > 0 and (i + 1) * EACH >= HELD:
            break
    wins = tried = 0
    for _ in range(8):
        if wins == 0:
            c = believing(shape, 300, d)
            wins, tried = wins + c["won"], tried + c["tries"]
    print("# held, %s: agreed to %d of %s; the control won %d of %d" % (shape, agreed, figures(total), wins, tried), flush=True)
    equal((total["won"], total["marks"]), (0, 0), shape)
    check(0 < total["ran"] <= agreed, "what ran was agreed to", figures(total))
    check(wins, "the control never won")


@test("attack_58_swap: what a person agreed to is rewritten while it is held, after the yes, at the stop: arguments", seconds=SECONDS)
def held_arguments():
    held("thread-argv", "    exec ask %s *\n" % words(TMP + "/race/a/goal"), lambda q: q["argv"][1:] == ["good"])


@test("attack_65_loader_env: the same: environment", seconds=SECONDS)
def held_environment():
    held("env", "    exec ask %s good with env EZ\n" % words(TMP + "/race/a/goal"), lambda q: "changed" not in q)


@test("attack_58_swap: the same: working folder", seconds=SECONDS)
def held_folder():
    held("cwd-in", "    exec ask %s here\n" % words(TMP + "/race/a/goal"), lambda q: q["cwd"].endswith("/race/a"))


if __name__ == "__main__":
    main()
