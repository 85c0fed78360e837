"""Rows 60-65, 68, 69, 71, 73-76: ways around an exec grant (58, 59: attack_races.py)."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

# Programs are in the view (read) and not granted: only the gate refuses them.
BIN = ATTACK + "    read /usr/bin\n    exec allow /bin/echo good\n    exec allow /bin/true **\n"
ENV = "/usr/bin/env"  # in the view, not granted
# For the forms: /usr/bin/true does nothing whatever it is given.
FORMS = ATTACK + "    read /usr/bin\n"
TRUE = "/usr/bin/true"
DENIED = ("EACCES", "EPERM", "ENOENT", "ENOEXEC")


def forms(prog=TRUE):
    return witness("forms", prog, body=FORMS)


def outside_forms(prog=TRUE):
    d = public_folder("forms")
    return facts(unconfined([WITNESS, "forms", prog], env={"TMPDIR": d}).stdout)


@test("attack_60_memfd: code with no file")
def memfd():
    f = forms()
    refused(f, "memfd_execveat", "memfd_proc_fd", ways=DENIED)
    refused(witness("kernel"), "memfd_exec_flag", ways=("EPERM", "EACCES", "ENOSYS"))
    control(outside_forms(), "memfd_execveat", "memfd_proc_fd")
    check(audited("exec", "deny"), "no event")


@test("attack_61_loader: ld.so maps what exec would refuse")
def loader():
    f = forms()
    refused(f, "loader", ways=DENIED)
    r = kexec(BIN, ["/bin/sh", "-c", "/lib64/ld-linux-x86-64.so.2 /usr/bin/env; echo $?"])
    within(r.stdout.strip(), (b"126", b"127"), r.stderr)
    control(outside_forms(), "loader")
    check(audited("exec", "deny", "ld-linux"), "no event")


@test("attack_62_copy: the same bytes at a new path: copy, rename, hard link, mapping")
def copy():
    f = forms()
    refused(f, "copy_tmp", "copy_shm", ways=DENIED)
    refused(f, "hard_link", ways=DENIED + ("EXDEV", "EROFS"))
    refused(f, "map_file_exec", ways=("EPERM", "EACCES"))
    control(outside_forms(), "copy_tmp", "map_file_exec")


@test("attack_63_alias: symlink, /proc/self/root, .., relative, execveat")
def alias():
    f = forms()
    refused(f, "plain", "symlink", "proc_self_root", "dots", "relative", "execveat", ways=DENIED)
    control(outside_forms(), "plain", "symlink", "proc_self_root", "dots", "relative", "execveat")
    check(audited("exec", "deny", "/proc/self/root"), "no event")


@test("attack_64_hop, MCP-ATTACKS 23 24: through a shell, a script, a granted program")
def hop():
    for line in (ENV, "exec " + ENV, "( %s )" % ENV, "%s & wait $!" % ENV, "x=$(%s)" % ENV,
                 "%s | /bin/true" % ENV, ". /dev/null; command %s" % ENV):
        r = kexec(BIN, ["/bin/sh", "-c", line + "; echo st=$?"])
        absent(b"PATH=", r.stdout, line)
    f = forms()
    refused(f, "script", ways=DENIED)
    refused(f, "script_env", ways=DENIED)
    check(audited("exec", "deny", ENV), "no event")
    control(outside_forms(), "script")


@test("attack_65_loader_env, MCP-ATTACKS 53: LD_PRELOAD and its like at a later exec")
def loader_env():
    for var in ("LD_PRELOAD=/tmp/x.so", "NODE_OPTIONS=--require=/tmp/x", "BASH_ENV=/tmp/x", "PATH=/tmp"):
        r = kexec(BIN, ["/bin/sh", "-c", "%s /bin/echo good" % var])
        absent(b"good", r.stdout, var)
        control({var: "ok" if b"good" in unconfined(["/bin/sh", "-c", "%s /bin/echo good" % var]).stdout else "no"}, var)
    equal(kexec(BIN, ["/bin/sh", "-c", "LC_ALL=C TZ=UTC /bin/echo good"]).stdout, b"good\n", "the benign ones")


@test("attack_68_argv0: a granted program under another's name")
def argv0():
    refused(witness("forms", "/bin/true", body=BIN), "other_name", ways=DENIED)
    control(outside_forms("/bin/true"), "other_name")


@test("attack_69_no_argc: no argument at all")
def no_argc():
    refused(witness("forms", "/bin/true", body=BIN), "no_args", ways=DENIED)
    control(outside_forms("/bin/true"), "no_args")


@test("attack_73_x32: numbers with bit 30")
def x32():
    equal(witness("kernel").get("x32"), "killed SIGSYS")
    check(outside("kernel")["x32"] != "killed SIGSYS", "control")


@test("attack_74_int80: the 32-bit table")
def int80():
    bare = outside("kernel")
    # A kernel without a 32-bit entry answers with SIGSEGV before any filter.
    equal(witness("kernel").get("int80"),
          "killed SIGSEGV" if bare.get("int80") == "killed SIGSEGV" else "killed SIGSYS")
    control(bare, "int80")


@test("attack_75_lost_wrapper: what a granted program starts is under the same walls")
def wrapper():
    r = kexec(ATTACK, ["/bin/sh", "-c", "%s ids; %s ids" % (WITNESS, WITNESS)])
    f = facts(r.stdout)
    equal(f["Seccomp"], ["2", "2"])
    equal(f["NoNewPrivs"], ["1", "1"])
    direct = witness("ids")
    equal(direct["Seccomp_filters"], f["Seccomp_filters"][0])
    equal(set(int(x, 16) for x in f["CapEff"] + f["CapBnd"]), {0})
    equal(outside("ids")["Seccomp"], "0", "control")


@test("attack_76_daemon, MCP-ATTACKS 44: a daemonised child stays judged, and dies with the rest")
def daemon():
    s = kennel_run(toy_policy("    exec allow /bin/sh **\n    read /usr/bin\n"))
    s.initialize()
    equal(s.text("daemon"), "left")
    out = s.text("exec", argv=["/bin/sh", "-c", "( ( %s; echo st=$? ) & ) ; wait; read x < /dev/null; :" % ENV])
    absent("PATH=", out)
    s.close()
    check(wait_for(lambda: not [1 for c in descendants(os.getpid()).values() if c == "toy"]) is not None)


@test("attack_90_log_flood: refused execs as fast as they go", seconds=40)
def flood():
    f = witness("flood", "6", "/etc/passwd", timeout=30)
    n = int(f["flood"])
    check(100 < n < 5000, "refused and recorded: %d" % n)
    out = int(outside("flood", "1", "/etc/passwd")["flood"])
    control({"flood": "ok" if out > 10000 else "slow"}, "flood")
    equal(kexec(ATTACK, ["/bin/sh", "-c", "echo on"]).stdout, b"on\n")


@test("attack_90_log_flood: requests of the server that nothing grants")
def asked():
    body = """
    run /bin/sh -c %s
""" % words("""while :; do echo '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}'; done""")
    p = start([KENNEL, "run", "t", "--policy", policy(body)], env=environment(), stdin=subprocess.PIPE,
              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    p.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
                  b'"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}\n')
    p.stdin.flush()
    time.sleep(3)
    p.stdin.close()
    p.wait()
    check(audited("sampling/createMessage"), "not recorded at all")
    n = sum("sampling/createMessage" in json.dumps(e) for e in audit())
    check(n <= 600, "%d records" % n)
    check(audited("more lines of that kind"), "the rest is not counted")


if __name__ == "__main__":
    main()
