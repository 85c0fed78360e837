"""Storms of execs: nobody is hung, and nobody waits longer than its turn (ESCAPES 85, 88, 90).

    STORM_PROCESSES     of six threads each that exec, fail, exit, signal and are
                        killed (`make races`: 20000)
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

PROCESSES = int(os.environ.get("STORM_PROCESSES", "") or 600)
SECONDS = max(120, PROCESSES // 5)
BOUND_US = 10 * 1000 * 1000  # not a measure of speed: a wait that ends
BUILT = STAGE + "/build/attack/"


def scene():
    d = TMP + "/storm"
    os.makedirs(d, mode=0o755, exist_ok=True)
    for name, program in (("crowd", "exec_crowd"), ("many", "exec_many"), ("mark1", "exec_mark"),
                          ("goal", "exec_goal"), ("dud", "exec_mark")):
        at = d + "/" + name
        if not os.path.exists(at):
            shutil.copy(BUILT + program, at)
            os.chmod(at, 0o755)
    with open(d + "/dud", "r+b") as f:  # granted; without a segment: its exec fails in the kernel
        f.seek(56)
        f.write(b"\0\0")
    return d


def body(d, more=""):
    return """
    run /bin/sh -c **
    read %s
    exec allow %s **
    exec allow %s **
    exec allow %s quiet
    exec allow %s quiet
    exec allow %s good
    limit processes 3000
%s%s""" % (words(d), words(d + "/crowd"), words(d + "/many"), words(d + "/mark1"), words(d + "/dud"),
           words(d + "/goal"), more, '    user "%d"\n' % UID if os.geteuid() == 0 else "")


def shell_in(d, line, seconds=100, env=None):
    return kexec(body(d), ["/bin/sh", "-c", line], timeout=seconds, env=env)


def crowd(d, verb, n, *argv, seconds=100):
    r = shell_in(d, "exec %s/crowd %s %d %s" % (d, verb, n, shell(*argv)), seconds)
    f = facts(r.stdout)
    check("good" in f, r.returncode, r.stdout[-300:], r.stderr[-500:])
    return {k: int(v) for k, v in f.items()}


@test("S4-43 attack_85_storm: processes of six threads exec, fail, exit, signal and are killed: none hung",
      seconds=SECONDS)
def many():
    d = scene()
    # Its own log: each of them is a record or more.
    r = shell_in(d, "exec 9>&1; exec %s/many %d 6 %s/mark1" % (d, PROCESSES, d), SECONDS,
                 env={"KENNEL_HOME": TMP + "/home-storm"})
    print("# " + r.stdout.decode(errors="replace").strip(), flush=True)
    equal(r.stdout, b"finished %d hung 0\n" % PROCESSES, r.stderr[-500:])
    equal(r.returncode, 0, r.stderr)


@test("attack_85_storm: a thousand at one moment, all of them granted", seconds=120)
def thousand():
    got = crowd(scene(), "crowd", 1000, scene() + "/goal", "good")
    print("# a thousand in %.2f s" % (got["all_us"] / 1e6), flush=True)
    equal((got["good"], got["other"]), (1000, 0), got)


@test("attack_85_storm: a thousand at one moment, none of them", seconds=120)
def thousand_refused():
    d = scene()
    got = crowd(d, "crowd", 1000, d + "/goal", "evil")
    equal((got["good"], got["other"]), (0, 1000), got)
    out = facts(unconfined([d + "/crowd", "crowd", "100", d + "/goal", "good"]).stdout)
    control({"crowd": "ok" if out.get("good") == "100" else out}, "crowd")


@test("attack_88_thread: posix_spawn, vfork, a thread that is not the leader, one that is dying", seconds=120)
def kinds():
    d = scene()
    for verb in ("spawn", "vfork", "threads"):
        got = crowd(d, verb, 100, d + "/goal", "good")
        equal((got["good"], got["other"]), (100, 0), verb)
        got = crowd(d, verb, 20, d + "/goal", "evil")
        equal((got["good"], got["other"]), (0, 20), verb)
    got = crowd(d, "dying", 300, d + "/goal", "good")
    equal(got["good"] + got["other"], 300)
    check(got["other"] > 0, "nobody was killed in time", got)
    got = crowd(d, "vfork", 20, d + "/dud", "quiet")
    equal((got["good"], got["other"]), (0, 20), "what fails in the kernel")


def flooded(d, what):
    """A session in which eight processes storm; its own leash."""
    p = start([KENNEL, "exec", "--policy", policy(body(d)), "t", "--", "/bin/sh", "-c",
               "exec %s/crowd flood 8 %s" % (d, what)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
              stderr=subprocess.DEVNULL, env=environment({"KENNEL_HOME": TMP + "/home-flood"}), cwd="/")
    within(b"flooding", p.stdout.readline())
    return p


@test("attack_90_flood: another server's storm, and one's own, hold an exec up for a bounded time", seconds=120)
def latency():
    d = scene()
    alone = crowd(d, "vfork", 100, d + "/goal", "good")
    told = ["alone: median %d us, longest %d us" % (alone["median_us"], alone["max_us"])]
    for what in ("%s/goal evil" % d, "/nope/nope"):
        p = flooded(d, what)
        got = crowd(d, "vfork", 100, d + "/goal", "good")
        p.kill()
        p.wait()
        equal((got["good"], got["other"]), (100, 0), got)
        check(got["max_us"] < BOUND_US, got)
        told.append("beside a server of eight that try %s: median %d us, longest %d us" % (
            os.path.basename(what), got["median_us"], got["max_us"]))
    # In one's own server what is refused is paid for by all of it.
    r = shell_in(d, "%s/crowd flood 8 %s/goal evil & read x < /dev/null; %s/crowd vfork 40 %s/goal good; kill $!" % (
        d, d, d, d))
    got = {k: int(v) for k, v in facts(r.stdout).items()}
    equal((got["good"], got["other"]), (40, 0), r.stderr)
    check(got["max_us"] < BOUND_US, got)
    told.append("eight in its own server: median %d us, longest %d us" % (got["median_us"], got["max_us"]))
    for line in told:
        print("# " + line, flush=True)


if __name__ == "__main__":
    main()
