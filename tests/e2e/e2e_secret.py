"""S1-02 S4-29 S4-30: a secret is in its server and nowhere else."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
VALUES = {s: "%s-s3ntinel-%d-k3nn3l" % (s, os.getpid()) for s in ("env", "file", "cmd")}


def secret_session():
    path = TMP + "/sentinel"
    with open(path, "w") as f:
        f.write(VALUES["file"] + "\n")
    os.chmod(path, 0o600)
    cmd = TMP + "/sentinel-cmd"
    with open(cmd, "w") as f:
        f.write(VALUES["cmd"] + "\n")
    os.chmod(cmd, 0o600)
    s = kennel_run(toy_policy("    secret S_ENV from env AGENT_TOKEN\n    secret S_FILE from file %s\n"
                              "    secret S_CMD from cmd /bin/cat %s\n" % (words(path), words(cmd))),
                   env={"AGENT_TOKEN": VALUES["env"]})
    s.initialize()
    for var in ("S_ENV", "S_FILE", "S_CMD"):
        equal(s.text("getenv", var=var), "***")
        check("s3ntinel" in s.text("spell", var=var).replace("-", ""), var)
    return s


def is_server(pid):
    inner = [x.split()[1:] for x in reads("/proc/%d/status" % pid).decode(errors="replace").splitlines()
             if x.startswith("NSpid:")]
    return bool(inner) and len(inner[0]) > 1 and inner[0][-1] != "1"


@test("no environment and no command line of kennel's processes holds it")
def proc():
    s = secret_session()
    seen = 0
    for pid, comm in descendants(os.getpid()).items():
        env, cmd = reads("/proc/%d/environ" % pid), reads("/proc/%d/cmdline" % pid)
        for v in VALUES.values():
            absent(v.encode(), cmd, "command line of %s" % comm)
            if not is_server(pid):
                absent(v.encode(), env, "environment of %s" % comm)
        seen += 1
    check(seen >= 4, "only %d processes" % seen)
    s.close()


def memory_of(pid):
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as mem:
        for line in maps:
            span, perms = line.split()[:2]
            if "r" not in perms or "[v" in line:
                continue
            a, b = (int(x, 16) for x in span.split("-"))
            try:
                mem.seek(a)
                yield mem.read(b - a)
            except (OSError, OverflowError, ValueError):
                continue


@test("the memory of the process that speaks to the agent holds no value")
def memory():
    if os.geteuid() != 0:
        skip("needs root to read another process's memory")
    s = secret_session()
    for pid, comm in descendants(os.getpid()).items():
        if comm not in ("kennel", "kennel-recorder"):
            continue
        for part in memory_of(pid):
            for source, v in VALUES.items():
                absent(v.encode(), part, "a value from %s in %s" % (source, comm))
    s.close()


@test("S4-30 no file, log, error or audit record holds it")
def files():
    s = secret_session()
    s.text("leak", var="S_FILE", mode="stderr")
    s.call("leak", var="S_CMD", mode="error")
    s.text("leak", var="S_ENV", mode="junk")
    s.close()
    wait_for(lambda: s.p.poll() is not None)
    n = 0
    for folder, _, names in os.walk(HOME):
        for name in names:
            data = reads(folder + "/" + name)
            n += 1
            for v in VALUES.values():
                absent(v.encode(), data, name)
                absent(v.encode().hex().encode(), data, name + " (hex)")
    check(n > 0, "no file in", HOME)
    for v in VALUES.values():
        absent(v, s.stderr(), "stderr")
        absent(v, json.dumps(audit()), "audit log")


@test("files of the log are 0600, folders 0700")
def modes():
    s = secret_session()
    s.close()
    for folder, dirs, names in os.walk(HOME):
        for name in names + dirs:
            st = os.lstat(folder + "/" + name)
            check(not st.st_mode & 0o077, name, oct(st.st_mode))


if __name__ == "__main__":
    main()
