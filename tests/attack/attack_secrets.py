"""Rows 77-79: secrets on the way."""
import os
import shutil
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

    def own():
        return {pid: comm for pid, comm in descendants(os.getpid()).items()
                if not inside(pid) and comm in ("kennel", "kennel-leash")}
    # a process that the leash has forked for the start has its name for a moment
    check(wait_for(lambda: sorted(own().values()) == ["kennel", "kennel-leash"], 20), own())
    for pid, comm in own().items():
        # Who may not be dumped belongs, in /proc, to root.
        equal(os.stat("/proc/%d/mem" % pid).st_uid, 0, comm)
        if comm == "kennel-leash":
            # Locked, or memory that the kernel itself cannot see and never swaps.
            locked = kb(pid, "VmLck") > 0 or b"secretmem" in reads("/proc/%d/maps" % pid)
            check(locked, "the leash's secrets are in ordinary memory")
    s.close()
    # Of an ordinary process it is its own user's.
    p = start((["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"]
               if os.geteuid() == 0 else []) + ["sleep", "30"])
    wait_for(lambda: reads("/proc/%d/cmdline" % p.pid).startswith(b"sleep"), 2)
    control({"mem": "ok" if os.stat("/proc/%d/mem" % p.pid).st_uid == UID else "root's"}, "mem")


# ---- what a value comes from ----------------------------------------------------

FOUND = "f0und-s3ntinel-%d-k3nn3l" % os.getpid()
OTHER = "0ther-s3ntinel-%d-k3nn3l" % os.getpid()
GRANTED = '    user "65534"\n' if os.geteuid() == 0 else ""


def source_scene(name):
    """A granted directory, and beside it one with a file and a command that give a value."""
    d = "%s/source-%s" % (TMP, name)
    for part in ("", "/granted", "/own", "/else"):
        os.makedirs(d + part, exist_ok=True)
        os.chmod(d + part, 0o777 if part == "/granted" else 0o755)
    for at, value in (("/own", FOUND), ("/else", OTHER)):
        put(d + at + "/token", value + "\n", 0o600)
        put(d + at + "/say", "#!/bin/sh\necho %s\n" % value, 0o755)
    return d


def put(path, text, mode):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def length_of(p):
    """How long the value was that the server got, and what kennel said."""
    r = run([KENNEL, "exec", "--policy", p, "t", "--", "/bin/sh", "-c", "echo got ${#T}"])
    for value in (FOUND, OTHER):
        absent(value.encode(), r.stdout + r.stderr)
    return r.stdout.decode().strip(), r.stderr.decode(errors="replace")


def compiled(body):
    p = policy(ATTACK + GRANTED + body)
    r = run([KENNEL, "policy", "compile", p, "-o", p + ".sealed"])
    return (p + ".sealed" if r.returncode == 0 else None), r.stderr.decode(errors="replace")


SOURCES = (("file %s", "/token"), ("cmd %s", "/say"), ("cmd /bin/cat %s", "/token"))


@test("attack_24_source_link: a directory on the way to a secret's file, command or argument becomes a link before the start", seconds=90)
def source_link():
    for n, (how, name) in enumerate(SOURCES):
        d = source_scene("link-%d" % n)
        p, err = compiled("    write %s\n    secret T from %s\n" % (words(d + "/granted"), how % words(d + "/own" + name)))
        check(p is not None, err)
        equal(length_of(p)[0], "got %d" % len(FOUND), "the control: " + how)
        os.rename(d + "/own", d + "/was")
        os.symlink(d + "/else", d + "/own")
        out, err = length_of(p)
        equal(out, "", how)
        within("is reached by the symbolic link %s/own" % d, err)
        within("write the real path %s/else%s" % (d, name), err)


@test("attack_24_source_link: that link leads into a directory that the server may write", seconds=90)
def source_granted():
    for n, (how, name) in enumerate(SOURCES):
        d = source_scene("granted-%d" % n)
        p, err = compiled("    write %s\n    secret T from %s\n" % (words(d + "/granted"), how % words(d + "/own" + name)))
        check(p is not None, err)
        os.rename(d + "/own", d + "/granted/own")
        os.symlink(d + "/granted/own", d + "/own")
        out, err = length_of(p)
        equal(out, "", how)
        check("symbolic link" in err or "is the source of a secret" in err or "is part of a command" in err, err)


@test("attack_24_source_link: as root, root's own link into a granted directory, and out of one", seconds=90)
def source_root_link():
    if os.geteuid() != 0:
        skip("only root's links are followed")
    at = "/usr/local/kennel-attack-%d" % os.getpid()
    d = source_scene("root")
    os.mkdir(at)
    try:
        shutil.copy(d + "/own/say", at + "/say-real")
        os.symlink(at + "/say-real", at + "/say")
        p, err = compiled("    write %s\n    secret T from cmd %s\n" % (words(d + "/granted"), words(at + "/say")))
        check(p is not None, err)
        equal(length_of(p)[0], "got %d" % len(FOUND), "the control: root's link is followed")
        shutil.copy(d + "/else/say", d + "/granted/say")
        os.unlink(at + "/say")
        os.symlink(d + "/granted/say", at + "/say")
        out, err = length_of(p)
        equal(out, "")
        within("is part of a command for a secret of server `t`, and `write` on line", err)
    finally:
        shutil.rmtree(at)


@test("attack_24_source_descriptor: the interpreter of a command's script lies where the server may write")
def source_interpreter():
    d = source_scene("script")
    put(d + "/own/say", "#!/bin/sh\necho %s\n" % FOUND, 0o755)
    body = "    write %s\n    secret T from cmd %s\n" % (words(d + "/granted"), words(d + "/own/say"))
    p, err = compiled(body)
    check(p is not None, err)
    equal(length_of(p)[0], "got %d" % len(FOUND), "the control")
    shutil.copy("/bin/sh", d + "/granted/sh")
    put(d + "/own/say", "#!%s/granted/sh\necho %s\n" % (d, FOUND), 0o755)
    out, err = length_of(p)
    equal(out, "")
    within("%s/granted/sh is an interpreter for a secret of server `t`, and `write` on line" % d, err)


def helper_scene(name):
    """A command in own/, compiled while it is harmless; then its file is replaced."""
    d = source_scene(name)
    p, err = compiled("    write %s\n    secret T from cmd %s\n" % (words(d + "/granted"), words(d + "/own/say")))
    check(p is not None, err)
    equal(length_of(p)[0], "got %d" % len(FOUND), "the control")
    return d, p


def other_loader(program, loader, path):
    """A copy of an ELF program whose loader has this name, written at its end."""
    b = bytearray(open(program, "rb").read())
    check(b[:5] == b"\x7fELF\x02", program)
    at, n = int.from_bytes(b[32:40], "little"), int.from_bytes(b[56:58], "little")
    was = None
    for h in range(at, at + 56 * n, 56):
        if b[h:h + 4] == b"\x03\0\0\0":
            off, size = (int.from_bytes(b[h + k:h + k + 8], "little") for k in (8, 32))
            was = bytes(b[off:off + size - 1]).decode()
            name = loader.encode() + b"\0"
            b[h + 8:h + 16] = len(b).to_bytes(8, "little")
            b[h + 32:h + 48] = len(name).to_bytes(8, "little") * 2
            b += name
            break
    check(was is not None, "%s has no loader" % program)
    with open(path + ".new", "wb") as f:
        f.write(b)
    os.chmod(path + ".new", 0o755)
    os.rename(path + ".new", path)
    return was


def judged(err, path):
    """By kennel, which compares the grants of all servers, or by the leash."""
    check("%s is part of a command for a secret of server `t`" % path in err or
          "%s is an interpreter for a secret of server `t`" % path in err or
          "%s, which is decided by" % path in err, err)


@test("attack_24_source_loader: the ELF loader of a command lies where the server may write; the next start would run it", seconds=90)
def source_loader():
    d = source_scene("loader")
    body = "    write %s\n    secret T from cmd %s %s\n" % (words(d + "/granted"), words(d + "/own/echo"), words(FOUND))
    shutil.copy("/bin/echo", d + "/own/echo")
    p, err = compiled(body)
    check(p is not None, err)
    for at, name in (("/own", d + "/own/ld.so"), ("/granted", d + "/granted/ld.so"), ("/granted", d[1:] + "/granted/ld.so")):
        shutil.copy(other_loader("/bin/echo", name, d + "/own/echo"), d + at + "/ld.so")
        os.chmod(d + at + "/ld.so", 0o755)
        out, err = length_of(p)
        if at == "/own":
            equal(out, "got %d" % len(FOUND), "the control: %s" % err)
            continue
        equal(out, "", name)
        judged(err, d + "/granted/ld.so")
        p2, err = compiled(body)
        check(p2 is None, "compiled")
        judged(err, d + "/granted/ld.so")


@test("attack_24_source_malformed: an ELF command whose loader cannot be determined is not run", seconds=90)
def source_malformed():
    d, p = helper_scene("malformed")
    other_loader("/bin/echo", "x" * 4096, d + "/own/say")
    out, err = length_of(p)
    equal(out, "")
    within("is an invalid ELF file", err)


LINES = ("#!/usr/bin/env %s/planted", "#!/usr/bin/env -S %s/planted", "#!/usr/bin/env -S%s/planted", "#!/bin/sh %s/planted",
         "#!/usr/bin/env -S /bin/sh '%s/planted'", "#!/usr/bin/env -S X=1 %s/planted", "#!/usr/bin/env %s/../else/outer",
         "#!/usr/bin/env -S /\\_%s/planted")


@test("attack_24_source_first_line: what the first line of a command gives to its interpreter lies where the server may write", seconds=120)
def source_first_line():
    d, p = helper_scene("line")
    ran = d + "/granted/ran"
    for at in ("/own", "/granted"):
        put(d + at + "/planted", "#!/bin/sh\n: > %s\necho %s\n" % (ran, FOUND), 0o755)
    put(d + "/else/outer", "#!%s/granted/planted\n" % d, 0o755)
    body = "    write %s\n    secret T from cmd %s { may files }\n" % (words(d + "/granted"), words(d + "/own/say"))
    for line in LINES[:6]:
        put(d + "/own/say", line % (d + "/own") + "\n", 0o755)
        out, err = length_of(policy(ATTACK + GRANTED + body))
        equal(out, "got %d" % len(FOUND), "the control: %s %s" % (line, err))
        check(os.path.exists(ran), "the control: " + line)
        os.unlink(ran)
    for line in LINES:
        put(d + "/own/say", "#!/bin/sh\necho %s\n" % FOUND, 0o755)
        p, err = compiled(body)
        check(p is not None, err)
        put(d + "/own/say", line % (d + "/granted") + "\n", 0o755)
        out, err = length_of(p)
        equal(out, "", line)
        check("for a secret of server `t`" in err or "is decided by" in err or "cannot be checked" in err, err)
        check(not os.path.exists(ran), line)
        p, err = compiled(body)
        if "\\" not in line:
            check(p is None, line)
            within("for a secret of server `t`", err)


@test("attack_24_source_word: an argument of a command names by part of it, or relative to /, what the server may write", seconds=120)
def source_word():
    d = source_scene("word")
    shutil.copy(d + "/own/token", d + "/granted/token")
    if os.geteuid() == 0:
        os.chown(d + "/granted/token", 65534, 65534)
    put(d + "/own/value", "#!%s/granted/sh\n" % d, 0o755)
    for how in ("/bin/dd if=%s/token status=none", "/bin/cat %s/token",
                "/usr/bin/env X=%s/token /bin/echo " + FOUND, "/bin/grep -f%s/token " + d + "/own/token"):
        for at, refused_ in (("/own", False), ("/granted", True)):
            for form in (d + at, (d + at)[1:]):
                cmd = how.replace("%s", form).split()
                body = "    write %s\n    secret T from cmd %s\n" % (words(d + "/granted"), words(*cmd))
                out, err = length_of(policy(ATTACK + GRANTED + body))
                equal(out, "" if refused_ else "got %d" % len(FOUND), "%s: %s" % (cmd, err))
                if refused_:
                    within("%s/granted/token is part of a command for a secret of server `t`" % d, err)
    # An argument that is a program counts with what it runs.
    shutil.copy("/bin/sh", d + "/granted/sh")
    body = "    write %s\n    secret T from cmd %s\n" % (words(d + "/granted"), words("/usr/bin/env", d + "/own/value"))
    out, err = length_of(policy(ATTACK + GRANTED + body))
    equal(out, "")
    judged(err, d + "/granted/sh")


@test("attack_24_source_unreadable: an interpreter whose own first line cannot be read runs what the server may write", seconds=90)
def source_unreadable():
    d, p = helper_scene("unreadable")
    put(d + "/granted/interp", "#!/bin/sh\necho %s\n" % FOUND, 0o755)
    put(d + "/own/by", "#!%s/granted/interp\n" % d, 0o111)
    put(d + "/own/say", "#!%s/own/by\n" % d, 0o755)
    control({"run": "ok" if FOUND.encode() in unconfined([d + "/own/say"]).stdout else "refused"}, "run")
    out, err = length_of(p)
    equal(out, "")
    # root reads every file, and so judges its first line
    if os.geteuid() == 0:
        judged(err, d + "/granted/interp")
    else:
        within("is a script of %s/own/by, which " % d, err)
        within("cannot be read, so what it runs cannot be checked; make it readable", err)


@test("a command is run by its descriptor: scripts of sh, Python and perl; a program that may be run but not read is refused")
def source_runs():
    d = source_scene("runs")
    scripts = ["#!/bin/sh\necho %s\n", "#!/usr/bin/env python3\nprint('%s')\n", "#!/usr/bin/perl\nprint '%s';\n"]
    for text in scripts:
        if not os.path.exists(text[2:].split()[-1] if "env" not in text else "/usr/bin/python3") and "perl" in text:
            continue
        put(d + "/own/say", text % FOUND, 0o755)
        p, err = compiled("    secret T from cmd %s\n" % words(d + "/own/say"))
        check(p is not None, err)
        out, err = length_of(p)
        equal(out, "got %d" % len(FOUND), text.split("\n")[0] + " " + err)
    shutil.copy("/bin/echo", d + "/own/echo")
    os.chmod(d + "/own/echo", 0o111)
    p, err = compiled("    secret T from cmd %s %s\n" % (words(d + "/own/echo"), words(FOUND)))
    check(p is not None, err)
    out, err = length_of(p)
    if os.geteuid() == 0:
        equal(out, "got %d" % len(FOUND), err)  # root may read it
    else:
        equal(out, "")
        within("own/echo cannot be read, so what it runs cannot be checked; make it readable (chmod a+r)", err)
    os.chmod(d + "/own/echo", 0o755)
    equal(length_of(p)[0], "got %d" % len(FOUND), "the control")


@test("attack_24_source_owner: a command, or the interpreter of it, that another user can change is not run")
def source_owner():
    d = source_scene("owner")
    shutil.copy("/bin/sh", d + "/own/sh")
    put(d + "/own/by", "#!%s/own/sh\necho %s\n" % (d, FOUND), 0o755)
    p, err = compiled("    secret T from cmd %s\n" % words(d + "/own/by"))
    check(p is not None, err)
    for name, relation in (("/own/by", d + "/own/by "), ("/own/sh", "is a script of %s/own/sh, which " % d)):
        equal(length_of(p)[0], "got %d" % len(FOUND), "the control")
        os.chmod(d + name, 0o757)
        out, err = length_of(p)
        equal(out, "")
        within(relation, err)
        within("is world-writable: run `chmod o-w` on it", err)
        os.chmod(d + name, 0o755)
        if os.geteuid() == 0:
            os.chown(d + name, 65534, -1)
            out, err = length_of(p)
            equal(out, "")
            within(relation, err)
            within("belongs to another user; use a program of root or of your own", err)
            os.chown(d + name, 0, -1)
    equal(length_of(p)[0], "got %d" % len(FOUND), "the control")


if __name__ == "__main__":
    main()
