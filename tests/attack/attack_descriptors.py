"""Rows 5-12: kennel's own binaries, descriptors and memory."""
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403


@test("attack_05_self_exe: overwrite a program of the host through /proc")
def self_exe():
    f = witness("tasks")
    # The kernel asks first whether the file is running, then whether the mount
    # may be written: where the file is the user's own the first answer is busy.
    refused(f, "self_exe_write", "exe_write", ways=("EROFS", "EACCES", "EPERM", "ENOENT", "ETXTBSY"))
    r = kexec(ATTACK, ["/bin/sh", "-c", "exec 3>>%s && echo opened" % WITNESS])
    absent(b"opened", r.stdout)
    refused(f, "exe_read")
    r = kexec(ATTACK, ["/bin/sh", "-c", "exec 3>>/proc/self/exe && echo opened"])
    absent(b"opened", r.stdout)
    # Without kennel the kernel only objects that the file is busy right now.
    d = public_folder("own-exe")
    unconfined(["cp", WITNESS, d + "/w"])
    got = facts(unconfined([d + "/w", "tasks", "1"]).stdout)
    control({"self_exe": "ok" if got["self_exe_write"] == "ETXTBSY" else got["self_exe_write"]}, "self_exe")


@test("attack_06_leaked_fd: a folder's descriptor, high and low, and the working directory")
def leaked():
    d = public_folder("leak")
    fds = []
    for n in (7, 10, 251):
        f = os.open(d, os.O_RDONLY | os.O_DIRECTORY)
        os.dup2(f, n)
        os.close(f)
        fds.append(n)
    try:
        f = witness("fds", pass_fds=fds)
        equal(f["fds_n"], "3", f)
        ids = witness("ids", pass_fds=fds, cwd=d)
        check(ids["cwd"].startswith("/") and not ids["cwd"].startswith(d), ids["cwd"])
        out = outside("fds", pass_fds=fds)
        control({"leak": "ok" if int(out["fds_n"]) > 3 else "no"}, "leak")
    finally:
        for n in fds:
            os.close(n)


@test("attack_07_notify_fd: answer one's own notifications")
def notify_fd():
    f = witness("fds")
    check(not any("seccomp" in str(v) for v in f.values()), f)
    refused(witness("tasks"), "fd_dir")
    r = kexec(ATTACK, ["/bin/sh", "-c", "ls() { for i in /proc/*/fd/*; do echo $i; done; }; ls"])
    check(b"/proc/1/fd/3" not in r.stdout, r.stdout)


@test("attack_08_nested_listener: a listener of one's own")
def nested():
    refused(witness("kernel"), "new_listener", ways=("EPERM", "EACCES", "ENOSYS", "EBUSY"))
    control(outside("kernel"), "new_listener")


@test("attack_09_scm_rights: a helper outside passes a descriptor in")
def scm_rights():
    a, b = socket.socketpair()
    folder = os.open(TMP, os.O_RDONLY | os.O_DIRECTORY)
    socket.send_fds(a, [b"x"], [folder])
    p = policy(ATTACK)
    r = subprocess.run([KENNEL, "exec", "--policy", p, "t", "--", WITNESS, "fds"], stdin=b,
                       capture_output=True, env=environment(), cwd="/", timeout=20)
    f = facts(r.stdout)
    check("fd_0" in f, r.stderr)
    check("socket" not in f["fd_0"], "the agent's own socket came in:", f["fd_0"])
    for x in (a, b):
        x.close()
    os.close(folder)


@test("attack_10_pidfd_getfd: take a descriptor out of another process")
def getfd():
    refused(witness("tasks"), "pidfd_getfd_child")
    control(outside("tasks", "1"), "pidfd_getfd_child")


@test("attack_11_init_memory: PID 1's memory, environment, root")
def init():
    f = witness("tasks", "1")
    refused(f, "mem_write", "mem_read", "environ", "maps", "fd_dir", "root", "cwd", "attach",
            ways=REFUSED + ("ENODATA",))
    refused(f, "self_mem_write", "child_mem_write")
    got = facts(unconfined(list(OWN_PIDS) + ["/bin/sh", "-c", "%s tasks 1; :" % WITNESS]).stdout)
    control(got, "mem_write", "environ")


@test("attack_12_core_dump: secrets through the host's core handler")
def core():
    equal(witness("core").get("dumped"), "0")
    d = public_folder("core")
    got = outside("core", d)
    control({"core": "ok" if got.get("dumped") == "1" else "no core here"}, "core")
    for n in os.listdir(d):
        os.unlink(d + "/" + n)


@test("attack_12_core_limit: RLIMIT_CORE below 1 has a core handler behind a pipe dump the server: only read")
def core_limit():
    f = witness("set_limits")
    equal(f["core"], "1", "what a cell sets")
    equal([f[k] for k in ("core_setrlimit", "core_prlimit", "core_prlimit_same", "core_prlimit_bit32")], ["EPERM"] * 4)
    equal((f["core_read"], f["files_prlimit"]), ("ok", "ok"), "reading it, and another limit")
    control(outside("set_limits"), "core_setrlimit", "core_prlimit", "core_prlimit_bit32")


if __name__ == "__main__":
    main()
