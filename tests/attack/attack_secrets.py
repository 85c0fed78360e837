"""Rows 77-79: secrets on the way."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
TOKEN = "attack-s3ntinel-%d" % os.getpid()


def session():
    s = kennel_run(toy_policy("    secret TOKEN from env AGENT_TOKEN"), env={"AGENT_TOKEN": TOKEN})
    s.initialize()
    return s


def inside(pid):
    for line in reads("/proc/%d/status" % pid).decode(errors="replace").splitlines():
        if line.startswith("NSpid:"):
            return len(line.split()) > 2
    return False


@test("attack_77_argv: the launcher's command line, read by anybody")
def argv():
    s = session()
    for pid, comm in descendants(os.getpid()).items():
        cmd = unconfined(["cat", "/proc/%d/cmdline" % pid]).stdout
        absent(TOKEN.encode(), cmd, comm)
    s.close()
    p = start(["/bin/sh", "-c", "sleep 5; : %s" % TOKEN])
    control({"argv": "ok" if TOKEN.encode() in unconfined(["cat", "/proc/%d/cmdline" % p.pid]).stdout else "hidepid"},
            "argv")


@test("attack_78_environ: another user reads the server's environment")
def environ():
    if os.geteuid() != 0:
        skip("rootless: a process of the same user may read it (docs/TRUST.md); the root half shows the rest")
    s = session()
    n = 0
    for pid, comm in descendants(os.getpid()).items():
        out = unconfined(["cat", "/proc/%d/environ" % pid]).stdout
        absent(TOKEN.encode(), out, comm)
        n += inside(pid)
    check(n >= 1, "no server seen")
    s.close()


@test("attack_78_environ: no process of kennel's own can be read, not even by its user")
def own_processes():
    s = session()
    for pid, comm in descendants(os.getpid()).items():
        if inside(pid) or comm not in ("kennel", "kennel-leash"):
            continue
        r = unconfined(["cat", "/proc/%d/environ" % pid])
        absent(TOKEN.encode(), r.stdout, comm)
        check(r.returncode != 0, comm, "is readable by its user")
    s.close()


if __name__ == "__main__":
    main()
