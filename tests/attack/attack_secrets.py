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


@test("attack_78_environ, MCP-ATTACKS 20: no process of kennel's own can be read, not even by its user")
def own_processes():
    s = session()
    for pid, comm in descendants(os.getpid()).items():
        if inside(pid) or comm not in ("kennel", "kennel-leash"):
            continue
        r = unconfined(["cat", "/proc/%d/environ" % pid])
        absent(TOKEN.encode(), r.stdout, comm)
        check(r.returncode != 0, comm, "is readable by its user")
    s.close()


def kb(pid, key):
    for line in reads("/proc/%d/status" % pid).decode(errors="replace").splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    return None


@test("MCP-ATTACKS 21 a core or the swap of kennel's own processes: none is written, the secret's pages are locked")
def no_core():
    s = session()
    seen = 0
    for pid, comm in descendants(os.getpid()).items():
        if inside(pid) or comm not in ("kennel", "kennel-leash"):
            continue
        seen += 1
        # Who may not be dumped belongs, in /proc, to root.
        equal(os.stat("/proc/%d/mem" % pid).st_uid, 0, comm)
        if comm == "kennel-leash":
            # Locked, or memory that the kernel itself cannot see and never swaps.
            locked = kb(pid, "VmLck") > 0 or b"secretmem" in reads("/proc/%d/maps" % pid)
            check(locked, "the leash's secrets are in ordinary memory")
    check(seen == 2, seen)
    s.close()
    # Of an ordinary process it is its own user's.
    p = start((["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"]
               if os.geteuid() == 0 else []) + ["sleep", "30"])
    wait_for(lambda: reads("/proc/%d/cmdline" % p.pid).startswith(b"sleep"), 2)
    control({"mem": "ok" if os.stat("/proc/%d/mem" % p.pid).st_uid == UID else "root's"}, "mem")


if __name__ == "__main__":
    main()
