"""What a file says about itself is no grant: loaders, libraries, search paths, first lines, environments.

The author of a package writes its files, and wants files of the user's in the view of the
server, or started.  Each attempt has a control: the same policy shows the file, or starts it,
with the line that the error names.
"""
import glob
import os
import shutil
import stat
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from elf_kit import elf, put  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
AS_USER = '    user "65534"\n' if os.geteuid() == 0 else ""
KEY = b"-----BEGIN OPENSSH PRIVATE KEY-----\nnot for a server\n"
LOADER = os.path.realpath(glob.glob("/lib64/ld-linux-x86-64.so.2")[0] if glob.glob("/lib64/ld-linux-x86-64.so.2") else "/lib/ld-linux-aarch64.so.1")


def scene(name):
    """pkg is the attacker's; home is the user's, and nothing in it is granted."""
    d = os.path.realpath(public_folder(name))
    os.chmod(d, 0o755)
    put(d + "/home/.ssh/id_rsa", KEY, 0o644)
    put(d + "/home/data/own.so", elf(), 0o644)
    put(d + "/home/data/ld.so", elf(), 0o644)
    put(d + "/home/data/tool", elf())
    os.makedirs(d + "/pkg", exist_ok=True)
    return d


def body(d, *lines):
    return AS_USER + "    run /bin/cat **\n    read %s/pkg\n" % d + "".join("    %s\n" % x for x in lines)


def show(text):
    return run([KENNEL, "policy", "show", "--json", policy(text)])


def files(text):
    r = show(text)
    equal(r.returncode, 0, r.stderr)
    return json.loads(r.stdout)["servers"][0]["files"]


def refused_for(text, *parts, checks=True):
    """No view at all, at the line that grants the program, and the line to add.  A check is for
    other machines, too, where a link may be none."""
    p = policy(text)
    for how in (["policy", "check", p], ["policy", "compile", p, "-o", p + ".out"], ["exec", "--policy", p, "t", "--", "/bin/cat", "/dev/null"])[0 if checks else 1:]:
        r = run([KENNEL] + how)
        check(r.returncode != 0, how[1], "was accepted")
        for x in parts:
            within(x.encode(), r.stderr + r.stdout, how)
        within((p + ":").encode(), r.stderr + r.stdout, "a line is named")
        absent(KEY, r.stdout + r.stderr)
    check(not os.path.exists(p + ".out"))


def reads_file(text, path, wanted):
    r = run([KENNEL, "exec", "--policy", policy(text), "t", "--", "/bin/cat", path])
    equal(r.stdout == reads(path) and r.returncode == 0, wanted, (path, r.stderr))


@test("a program's loader adds no file of the user's: not a key, an ELF file, a hidden file or a spelling of one", seconds=120)
def loader():
    d = scene("content-loader")
    key, own = d + "/home/.ssh/id_rsa", d + "/home/data/ld.so"
    grant = "exec allow %s/pkg/helper **" % d
    for path, named in ((key, key), (own, own), (d + "/pkg/../home/.ssh/id_rsa", key), ("/etc/passwd", "/etc/passwd"),
                        ("/etc/shadow", "/etc/shadow"), ("/proc/self/environ", "/proc"), (d + "/pkg/link", "link")):
        if not os.path.lexists(d + "/pkg/link"):
            os.symlink(key, d + "/pkg/link")
        put(d + "/pkg/helper", elf(interp=path))
        refused_for(body(d, grant), named, checks=named not in ("/proc", "link"))
    # what is in the directories that every cell has is not granted either
    private = put(os.path.realpath("/tmp") + "/kennel-content-%d/key" % os.getpid(), elf())
    try:
        put(d + "/pkg/helper", elf(interp=private))
        refused_for(body(d, grant), "its dynamic loader %s is not granted: add `read %s`" % (private, private))
    finally:
        shutil.rmtree(os.path.dirname(private))
    # granted, it must be a loader
    put(d + "/pkg/helper", elf(interp=key))
    refused_for(body(d, grant, "read " + key), "is no loader")
    for data in (elf(interp="/lib/ld.so"), elf(kind=2), elf(machine=3), b"\x7fELF"):
        put(d + "/pkg/ld", data)
        put(d + "/pkg/helper", elf(interp=d + "/pkg/ld"))
        refused_for(body(d, grant), "is no loader")
    # and not hidden
    put(d + "/pkg/helper", elf(interp=own))
    refused_for(body(d, grant, "read %s/home/data" % d, "hide " + own), "is hidden")
    # controls: the same line with a loader of root's, and with the `read` that the error names
    reads_file(body(d), key, False)
    reads_file(body(d, "read " + key), key, True)
    put(d + "/pkg/helper", elf(interp=LOADER))
    reads_file(body(d, grant), key, False)
    put(d + "/pkg/helper", elf(interp=own))
    reads_file(body(d, grant, "read " + own), own, True)


@test("a program's libraries and search paths add no file of the user's", seconds=120)
def libraries():
    d = scene("content-libs")
    own, at = d + "/home/data/own.so", d + "/home/data"
    grant = "exec allow %s/pkg/helper **" % d
    put(d + "/pkg/libmid.so", elf(needed=["own.so"], runpath=at), 0o644)
    for data in (elf(needed=[own]), elf(needed=["own.so"], rpath=at), elf(needed=["own.so"], runpath=at),
                 elf(needed=["own.so"], runpath="$ORIGIN/../home/data"), elf(needed=["own.so"], rpath="/nowhere:${ORIGIN}/../home/data"),
                 elf(needed=["libmid.so"], runpath="$ORIGIN"), elf(needed=[d + "/pkg/../home/data/own.so"])):
        put(d + "/pkg/helper", data)
        refused_for(body(d, grant), "%s is not granted: add `read %s`" % (own, own))
        refused_for(body(d, grant, "read " + at, "hide " + own), "is hidden")
        reads_file(body(d, grant, "read " + own), own, True)
    os.symlink(own, d + "/pkg/liblink.so")
    put(d + "/pkg/helper", elf(needed=["liblink.so"], runpath="$ORIGIN"))
    refused_for(body(d, grant), "liblink.so", checks=False)
    # what another server of the file is granted is no grant of this one
    put(d + "/pkg/helper", elf(needed=[own]))
    two = "server a {\n%s}\n" % body(d, grant, "read " + own)
    r = run([KENNEL, "policy", "check", policy(body(d, grant), before=two)])
    within(b"is not granted: add `read " + own.encode(), r.stdout + r.stderr)
    r = run([KENNEL, "policy", "check", policy(body(d, grant, "read " + own), before=two)])
    equal(r.returncode, 0, r.stderr)


@test("a first line starts no program of the user's, and its argument is judged", seconds=120)
def first_lines():
    d = scene("content-line")
    tool = d + "/home/data/tool"
    script = d + "/pkg/script"
    grant = "exec allow %s **" % script
    put(script, "#!%s --steal\n" % tool)
    refused_for(body(d, grant), "its interpreter %s is not granted" % tool, 'add `exec allow %s "--steal" %s **`' % (tool, script))
    refused_for(body(d, grant, "read " + tool), "is not granted")
    refused_for(body(d, grant, "exec allow %s --safe **" % tool), "is not granted with the argument")
    refused_for(body(d, grant, "exec allow %s <-x,--steal=<number>>" % tool), "is not granted with the argument")
    refused_for(body(d, grant, "exec allow %s ** except --steal **" % tool), "is not granted with the argument")
    refused_for(body(d, grant, "exec allow %s ** from /bin/cat" % tool), "is not granted")
    refused_for(body(d, grant, "exec allow %s --steal %s" % (tool, script)), "is not granted with the argument")
    refused_for(body(d, grant, "exec ask %s **" % tool), "asks for")
    refused_for(body(d, grant, "exec allow %s **" % tool, "exec deny %s --steal **" % tool), "denies")
    for line in ('exec allow %s "--steal" %s **' % (tool, script), "exec allow %s **" % tool, "exec allow %s * %s **" % (tool, script)):
        check([x for x in files(body(d, grant, line)) if x["target"] == tool and x["start"]], "the control: " + line)
    put(script, "#!%s\n" % tool)
    refused_for(body(d, grant), "add `exec allow %s %s **`" % (tool, script))
    check(files(body(d, grant, "exec allow %s --other" % tool)), "the control: it is named")
    # root's, with an argument that a line denies
    put(script, "#!/bin/sh -e\n")
    refused_for(body(d, grant, "exec deny /bin/sh -e **"), "denies")
    check(files(body(d, grant, "exec deny /bin/sh -c **")), "the control: another argument")
    # a program called env is not the system's
    put(d + "/home/data/env", elf())
    put(script, "#!%s/home/data/env sh\n" % d)
    refused_for(body(d, grant), "home/data/env is not granted")


@test("an environment and a prefix of Python lead to no directory and no program of the user's", seconds=120)
def environments():
    d = scene("content-venv")
    private, python = d + "/home/data/python3", d + "/pkg/bin/python3"
    put(private, elf())
    put(d + "/pkg/pyvenv.cfg", "home = %s/home/.ssh\n" % d, 0o644)
    os.makedirs(d + "/pkg/bin", exist_ok=True)
    os.symlink(private, python)
    grant = "exec allow %s" % python
    refused_for(body(d, grant), "%s of %s is not granted: add `exec allow %s`" % (private, python, private))
    refused_for(body(d, grant, "read " + private), "is not granted")
    check([x for x in files(body(d, grant, "exec allow " + private)) if x["target"] == private], "the control")
    put(d + "/pkg/script", "#!%s\n" % python)
    refused_for(body(d, "exec allow %s/pkg/script **" % d), "is not granted")
    # pyvenv.cfg is read because a line says so
    text = AS_USER + "    run %s\n" % python
    refused_for(text + "    exec allow %s\n" % private, "pyvenv.cfg is not granted: add `read %s/pkg/pyvenv.cfg`" % d)
    # the standard library of a python3.X is where its file is
    put(d + "/home/bin/python3.99", elf())
    put(d + "/home/lib/python3.99/secret", KEY, 0o644)
    refused_for(body(d, "exec allow %s/home/bin/python3.99" % d), "its standard library %s/home/lib/python3.99 is not granted" % d)
    granted = body(d, "exec allow %s/home/bin/python3.99" % d, "read %s/home/lib/python3.99" % d)
    reads_file(granted, d + "/home/lib/python3.99/secret", True)


# ---- every row --------------------------------------------------------------------

CONTENT = ("loader", "library", "script", "preset", "link")


def system_dirs():
    """The table, as `policy show` prints it."""
    r = run([KENNEL, "policy", "show", policy(AS_USER + "    run /bin/cat **\n")])
    lines = r.stdout.decode().splitlines()
    at = [i for i, x in enumerate(lines) if "files name" in x]
    check(len(at) == 1, r.stdout)
    dirs = lines[at[0] + 1].split()
    check("/usr/lib" in dirs and "/home" not in dirs and "/etc" not in dirs and "/tmp" not in dirs, dirs)
    return dirs


def roots(path, dirs):
    """Root's, on a way that root controls, for every user to read, in one of the directories."""
    if not any(path == x or path.startswith(x + "/") for x in dirs):
        return False
    while True:
        st = os.lstat(path)
        every = stat.S_IXOTH if stat.S_ISDIR(st.st_mode) else stat.S_IROTH
        if st.st_uid != 0 or (not stat.S_ISLNK(st.st_mode) and (st.st_mode & 0o022 or not st.st_mode & every)):
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)


def granted(row, rows, text):
    """In a tree of a `read` or `write`, or named by a line."""
    for x in rows:
        if x["kind"] == "tree" and x["why"] in ("read", "write") and (row["target"] + "/").startswith(x["target"] + "/"):
            return True
    return any(w in (row["target"], row.get("source")) for line in text.splitlines() for w in line.replace('"', " ").split()[1:])


def judge(path, dirs):
    r = run([KENNEL, "policy", "show", "--json", path])
    if r.returncode != 0:
        return None
    with open(path) as f:
        text = f.read()
    n = 0
    for server in json.loads(r.stdout)["servers"]:
        for row in server["files"]:
            if row["why"] not in CONTENT:
                continue
            n += 1
            check(roots(row["target"], dirs) or granted(row, server["files"], text), path, row)
    return n


@test("every row of a view whose reason is no line is root's in the system's directories, or granted", seconds=300)
def rows():
    dirs, d = system_dirs(), scene("content-rows")
    put(d + "/pkg/lib/libx.so", elf(), 0o644)
    put(d + "/pkg/helper", elf(interp=d + "/pkg/lib/ld.so", needed=["libx.so", "libc.so.6"], runpath="$ORIGIN/lib"))
    put(d + "/pkg/lib/ld.so", elf())
    put(d + "/pkg/script", "#!%s/home/data/tool\n" % d)
    made = [policy(body(d, "exec allow %s/pkg/helper" % d, "exec allow %s/pkg/script" % d, "exec allow %s/home/data/tool" % d))]
    for program in ("/bin/sh", "/usr/bin/env", "/usr/bin/python3", "/usr/bin/node", "/usr/bin/git", "/usr/bin/perl", "/usr/bin/npm", "/usr/bin/gcc"):
        if os.path.exists(program):
            made.append(policy(AS_USER + "    run %s **\n" % program))
    r = [judge(p, dirs) for p in made]
    check(None not in r, r)
    check(sum(r) > 20, r)
    others = sorted(glob.glob(HERE + "/../policy/*.kennel") + glob.glob(HERE + "/../grants/*.kennel") + glob.glob(HERE + "/../../policy/presets/*.kennel"))
    for n in [judge(p, dirs) for p in others]:
        r += [n] if n is not None else []
    check(len(r) > len(made) + 3, "policies that compile here", len(r))


if __name__ == "__main__":
    main()
