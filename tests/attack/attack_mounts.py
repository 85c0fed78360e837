"""Rows 13-30: mounts and paths."""
import os
import shutil
import socket
import stat
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

SECRET = b"kept from it"


def scene(name):
    """A folder with a place to grant and one to keep."""
    d = public_folder(name)
    for part in ("work", "kept"):
        os.makedirs(d + "/" + part, exist_ok=True)
        os.chmod(d + "/" + part, 0o777)
    for f, text in (("kept/secret", SECRET), ("work/plain", b"plain")):
        with open(d + "/" + f, "wb") as out:
            out.write(text)
        os.chmod(d + "/" + f, 0o666)
    return d


def sealed(body):
    p = policy(body)
    r = run([KENNEL, "policy", "compile", p, "-o", p + ".sealed"])
    equal(r.returncode, 0, r.stderr)
    return p + ".sealed"


def exec_sealed(p, *argv):
    return run([KENNEL, "exec", "--policy", p, "t", "--"] + list(argv))


AS_USER = '    user "65534"\n' if os.geteuid() == 0 else ""
CAT = ATTACK + "    exec allow /bin/cat **\n"


@test("attack_13_symlink_swap: a granted path becomes a link before the start")
def swap():
    d = scene("swap")
    p = sealed(CAT + "    read %s\n" % words(d + "/work"))
    equal(exec_sealed(p, "/bin/cat", d + "/work/plain").stdout, b"plain")
    os.rename(d + "/work", d + "/work.real")
    os.symlink(d + "/kept", d + "/work")
    r = exec_sealed(p, "/bin/cat", d + "/work/secret")
    absent(SECRET, r.stdout, "through the planted link")
    check(r.returncode != 0, "status 0")


@test("attack_13_symlink_race: the link is swapped while kennel starts", seconds=90)
def swap_race():
    d = scene("race")
    p = sealed(CAT + "    read %s\n" % words(d + "/work"))
    os.symlink(d + "/kept", d + "/link")
    stop = threading.Event()

    def swapper():
        while not stop.is_set():
            try:
                os.rename(d + "/work", d + "/aside")
                os.rename(d + "/link", d + "/work")
                os.rename(d + "/work", d + "/link")
                os.rename(d + "/aside", d + "/work")
            except OSError:
                return
    t = threading.Thread(target=swapper)
    t.start()
    try:
        for _ in range(25):
            absent(SECRET, exec_sealed(p, "/bin/cat", d + "/work/secret").stdout)
    finally:
        stop.set()
        t.join()


@test("attack_14_masked_path: what hides a file is replaced by a link")
def masked():
    d = scene("masked")
    os.makedirs(d + "/all", exist_ok=True)
    shutil.copy(d + "/kept/secret", d + "/all/hidden")
    shutil.copy(d + "/work/plain", d + "/all/seen")
    p = sealed(CAT + "    read %s\n    hide %s\n" % (words(d + "/all"), words(d + "/all/hidden")))
    absent(SECRET, exec_sealed(p, "/bin/cat", d + "/all/hidden").stdout)
    os.rename(d + "/all/hidden", d + "/all/moved")
    os.symlink("seen", d + "/all/hidden")
    absent(b"plain", exec_sealed(p, "/bin/cat", d + "/all/hidden").stdout, "the link was followed")
    f = witness("stat", "/dev/null")
    check(f["stat /dev/null"].startswith("mode 20666"), f)


@test("attack_15_dev: /dev holds what is meant, each the device it is named for")
def dev():
    names = witness("list", "/dev")["name"]
    allowed = {"null", "zero", "full", "random", "urandom", "shm", "fd", "stdin", "stdout", "stderr"}
    check(set(names) <= allowed, sorted(set(names) - allowed))
    for n in ("null", "zero", "full", "random", "urandom"):
        mode = int(witness("stat", "/dev/" + n)["stat /dev/" + n].split()[1], 8)
        check(stat.S_ISCHR(mode), n, oct(mode))
    refused(witness("create", "/dev/new"), "create /dev/new")


@test("attack_16_procfs: writes through /proc go nowhere")
def procfs():
    f = witness("kernel")
    refused(f, "write_core_pattern", "write_sysrq")
    paths = ["/proc/self/oom_score_adj", "/proc/self/uid_map", "/proc/sys/kernel/hostname",
             "/proc/self/attr/exec", "/proc/self/mem", "/proc/sys/vm/drop_caches", "/proc/self/comm"]
    got = witness("write", *paths)
    refused(got, *["write " + x for x in paths])
    control(outside("write", "/proc/self/oom_score_adj"), "write /proc/self/oom_score_adj")
    m = witness("mounts")["mount"]
    proc = [x for x in m if x.startswith("/proc ")]
    check(proc and all(x.split()[1].startswith("ro") for x in proc), proc)


@test("attack_17_new_mount_api: fsopen, open_tree, move_mount, mount_setattr, fspick")
def new_api():
    refused(witness("space"), "fsopen", "open_tree", "move_mount", "mount_setattr", "fspick",
            ways=("EPERM", "EACCES", "ENOSYS"))
    control(outside("space", wrap=OWN_SPACE), "fsopen", "mount_setattr")


@test("attack_18_open_tree_attr: a number newer than the filter")
def new_number():
    f = witness("kernel")
    refused(f, "open_tree_attr", "unknown_511", ways=("ENOSYS", "EPERM"))
    got = outside("kernel").get("open_tree_attr")
    control({"open_tree_attr": "ok" if got != "ENOSYS" else got}, "open_tree_attr")


@test("attack_19_clone3: flags that a filter cannot see")
def clone3():
    refused(witness("space"), "clone3", "clone3_user", ways=("ENOSYS",))
    control(outside("space"), "clone3", "clone3_user")


@test("attack_20_nested_userns: a user namespace inside")
def userns():
    refused(witness("space"), "unshare_user", "unshare_mount", "unshare_net", "unshare_pid", "unshare_fs",
            "clone_user", "clone_all", "clone_fs", "setns", "setns_pidfd",
            ways=("EPERM", "EACCES", "ENOSYS", "EBADF", "EINVAL"))
    control(outside("space"), "unshare_user", "clone_all", "clone_fs")


@test("attack_21_umount: take the covering mount away, or cover another")
def umount():
    refused(witness("space"), "umount_tmp", "umount_proc", "mount_tmpfs", "remount", "bind", "pivot_root",
            ways=("EPERM", "EACCES", "ENOSYS"))
    refused(witness("kernel"), "chroot", ways=("EPERM", "EACCES", "ENOSYS"))
    control(outside("space", wrap=OWN_SPACE), "mount_tmpfs", "remount")


@test("attack_22_release_agent: a host command at a cgroup's end")
def release_agent():
    refused(witness("kernel"), "release_agent", "cgroupfs")
    control(outside("kernel"), "cgroupfs")


@test("attack_23_open_by_handle: file handles skip the view")
def handle():
    refused(witness("kernel"), "open_by_handle_at", "name_to_handle_at", ways=("EPERM", "EACCES", "ENOSYS"))
    control(outside("kernel"), "name_to_handle_at")


@test("attack_24_planted_link: kennel follows what a server planted", seconds=40)
def planted():
    d = scene("planted")
    os.chmod(d + "/kept/secret", 0o600)
    for kind in ("link", "fifo"):
        at = d + "/work/token-" + kind
        if kind == "link":
            os.symlink(d + "/kept/secret", at)
        else:
            os.mkfifo(at, 0o600)
        t0 = time.time()
        r = kexec(CAT + '    secret T from file %s\n' % words(at), ["/bin/sh", "-c", "echo got ${#T}"], timeout=20)
        check(time.time() - t0 < 8, kind, "held the start up")
        if kind == "fifo":
            check(r.returncode != 0, kind, r.stdout)
            absent(b"got", r.stdout)


@test("attack_25_not_there_yet: create what is hidden and does not exist")
def not_yet():
    d = scene("notyet")
    r = kexec(ATTACK + AS_USER + "    write %s\n    hide %s\n" % (words(d + "/work"), words(d + "/work/.mcp.json")),
              ["/bin/sh", "-c", "echo evil > %s/work/.mcp.json && echo made; echo fine > %s/work/ok" % (d, d)])
    p = d + "/work/.mcp.json"
    check(not os.path.exists(p) or b"evil" not in reads(p), "it was planted")
    absent(b"made", r.stdout)
    if r.returncode != 125:
        equal(reads(d + "/work/ok"), b"fine\n", "the control beside it")
    else:
        within(b".mcp.json", r.stderr)


@test("attack_26_hook_planting: a hidden hook folder gets a program")
def hooks():
    d = scene("hooks")
    os.makedirs(d + "/work/.git/hooks", exist_ok=True)
    for x in ("/work/.git", "/work/.git/hooks"):
        os.chmod(d + x, 0o777)
    body = ATTACK + AS_USER + "    write %s\n    hide %s\n    exec allow /bin/mv **\n    exec allow /bin/mkdir **\n" % (
        words(d + "/work"), words(d + "/work/.git/hooks"))
    g = d + "/work/.git"
    kexec(body, ["/bin/sh", "-c", "echo evil > %s/hooks/pre-commit" % g])
    check(not os.path.exists(g + "/hooks/pre-commit"), "planted directly")


@test("attack_26_hook_planting: the hidden folder's parent is moved away and made anew")
def hooks_moved():
    d = scene("moved")
    os.makedirs(d + "/work/.git/hooks", exist_ok=True)
    for x in ("/work/.git", "/work/.git/hooks"):
        os.chmod(d + x, 0o777)
    body = ATTACK + AS_USER + "    write %s\n    hide %s\n    exec allow /bin/mv **\n    exec allow /bin/mkdir **\n" % (
        words(d + "/work"), words(d + "/work/.git/hooks"))
    g = d + "/work/.git"
    kexec(body, ["/bin/sh", "-c", "/bin/mv %s %s2; /bin/mkdir -p %s/hooks; echo evil > %s/hooks/pre-commit" % (g, g, g, g)])
    check(not os.path.exists(g + "/hooks/pre-commit"), "planted by moving the parent away")


@test("attack_26_hidden_next_start: what is hidden moves away for the next start to read")
def hidden_next():
    d = scene("next")
    g = d + "/work/.git"
    os.makedirs(g, exist_ok=True)
    os.chmod(g, 0o777)
    with open(g + "/config", "wb") as f:
        f.write(SECRET)
    os.chmod(g + "/config", 0o666)
    p = sealed(CAT + AS_USER + "    write %s\n    hide %s\n    exec allow /bin/mv **\n    exec allow /bin/mkdir **\n" % (
        words(d + "/work"), words(g + "/config")))
    exec_sealed(p, "/bin/sh", "-c", "/bin/mv %s %s2; /bin/mkdir %s; echo > %s/config" % (g, g, g, g))
    for at in (g, g + "2"):
        absent(SECRET, exec_sealed(p, "/bin/cat", at + "/config").stdout, at)
    r = exec_sealed(p, "/bin/sh", "-c", "echo a > %s/a && /bin/mv %s/a %s/b && echo moved" % (g, g, g))
    equal(r.stdout, b"moved\n", "beside what is hidden")


@test("attack_27_shared_tmp: /tmp and /dev/shm as a dead drop between servers")
def shared_tmp():
    name = "drop-%d" % os.getpid()
    for d in ("/tmp", "/dev/shm"):
        f = witness("create", "%s/%s" % (d, name))
        equal(f["create %s/%s" % (d, name)], "ok", "its own " + d)
        check(not os.path.exists("%s/%s" % (d, name)), "it shows outside")
        equal(witness("create", "%s/%s" % (d, name))["create %s/%s" % (d, name)], "ok", "it shows in another")
    host = "/tmp/kennel-attack-27-%d" % os.getpid()
    with open(host, "w") as f:
        f.write("x")
    try:
        refused(witness("read", host), "read " + host)
        control(outside("read", host), "read " + host)
    finally:
        os.unlink(host)


@test("attack_28_setuid: regain what was given up")
def setuid():
    f = witness("mounts")
    bad = f.get("suid_or_dev", [])
    bad = [bad] if isinstance(bad, str) else bad
    check(not any("nosuid" not in x for x in bad), "mounts that honour setuid:", bad)
    equal(witness("ids")["NoNewPrivs"], "1")
    equal(outside("ids")["NoNewPrivs"], "0", "control")
    refused(witness("kernel"), "mknod")


@test("attack_28_setuid: a set-user-id program is left in a folder for others to start")
def setuid_left():
    d = scene("suid")
    p = d + "/work/tool"
    body = ATTACK + AS_USER + "    write %s\n    exec allow /bin/chmod **\n" % words(d + "/work")
    r = kexec(body, ["/bin/sh", "-c", "echo x > %s; /bin/chmod 755 %s && echo plain; /bin/chmod 4755 %s && echo left" % (p, p, p)])
    equal(r.stdout, b"plain\n", r.stderr)
    equal(stat.S_IMODE(os.stat(p).st_mode), 0o755)
    own = public_folder("suid-own")
    unconfined(["/bin/sh", "-c", "echo x > %s/f; chmod 4755 %s/f" % (own, own)])
    control({"setuid": "ok" if os.stat(own + "/f").st_mode & stat.S_ISUID else "refused"}, "setuid")


@test("attack_29_landlock_gaps: chmod, truncate, rename, link, utimes, a lease on what is read-only")
def gaps():
    d = scene("gaps")
    p = d + "/work/plain"
    f = witness("change", p, body=ATTACK + "    read %s\n" % words(d + "/work"))
    refused(f, "lease", "chmod", "truncate", "utimes", "link", "unlink", "rename")
    equal(f["lease"], "EPERM", "whosever file it is")
    equal(reads(p), b"plain")
    own = public_folder("gaps-own")
    unconfined(["/bin/sh", "-c", "echo x > %s/f" % own])
    control(outside("change", own + "/f"), "lease", "chmod", "truncate", "utimes", "link", "unlink")


@test("attack_30_continue: a judged path that the kernel reads again", seconds=90)
def again():
    body = ATTACK + "    exec allow /bin/true **\n    read /usr/bin\n"
    f = witness("race", "path", "200", "/bin/true", "/usr/bin/false", body=body, timeout=80)
    equal(f.get("race_evil"), "0", f)
    out = outside("race", "path", "200", "/bin/true", "/usr/bin/false")
    control({"race": "ok" if int(out["race_evil"]) else "never won"}, "race")


if __name__ == "__main__":
    main()
