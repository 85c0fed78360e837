"""Paths that a server turned into links: what a policy names leads elsewhere at the next start.

The server has `write` on a directory and puts a link where another path of a policy is.
Text policies are compiled at each start, sealed ones were compiled before.  Each attempt
has a control: the link is there and an unconfined program follows it, or the same policy
without the link works.
"""
import os
import shutil
import struct
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

SECRET = b"not granted to it"
ROOT = os.geteuid() == 0
AS_USER = '    user "65534"\n' if ROOT else ""
TOOLS = "".join("    exec allow /bin/%s **\n" % x for x in ("cat", "ln", "mv", "mkdir", "rm"))
RUN = ATTACK + TOOLS + AS_USER
NOT_FOLLOWED = b"is not followed: others than root can change it"
SWAPPED = b"it now contains a symbolic link that was not there when the policy was compiled"


def scene(name):
    """proj is a server's; kept is nobody's."""
    d = public_folder(name)
    for part in ("proj", "proj/data", "proj/other", "kept"):
        os.makedirs(d + "/" + part, exist_ok=True)
        os.chmod(d + "/" + part, 0o777)
    for f, text in (("kept/secret", SECRET), ("proj/data/plain", b"plain"), ("proj/other/plain", b"other")):
        with open(d + "/" + f, "wb") as out:
            out.write(text)
        os.chmod(d + "/" + f, 0o666)
    return d


def start(p, *argv, env=None, how=()):
    return run(list(how) + [KENNEL, "exec", "--policy", p, "t", "--"] + list(argv), env=env)


def sealed(p):
    r = run([KENNEL, "policy", "compile", p, "-o", p + ".sealed"])
    equal(r.returncode, 0, r.stderr)
    return p + ".sealed"


def ended(r, *parts):
    """Not started, and told why; nothing came of it."""
    check(r.returncode not in (0, None), "status 0")
    absent(SECRET, r.stdout + r.stderr)
    for x in parts:
        within(x if isinstance(x, bytes) else x.encode(), r.stderr)


def leads(path):
    """The control: without kennel the link is followed."""
    equal(unconfined(["cat", path]).stdout, SECRET, "the control")


def turn(p, d, what="data"):
    """The server itself replaces a directory of its own by a link."""
    r = start(p, "/bin/sh", "-c", "/bin/mv %s/proj/%s %s/proj/was && /bin/ln -s %s/kept %s/proj/%s && echo turned" % (
        d, what, d, d, d, what))
    within(b"turned", r.stdout, "the server's own directory is its own")


@test("PATHS 1: `write W` and `read W/data`: the server makes data a link to what is not granted, and starts again", seconds=90)
def own_grant():
    for kind in ("read", "write"):
        d = scene("own-" + kind)
        p = policy(RUN + "    write %s\n    %s %s\n" % (words(d + "/proj"), kind, words(d + "/proj/data")))
        s = sealed(p)
        equal(start(p, "/bin/cat", d + "/proj/data/plain").stdout, b"plain", "before")
        turn(p, d)
        leads(d + "/proj/data/secret")
        ended(start(p, "/bin/cat", d + "/proj/data/secret"), NOT_FOLLOWED, p + ":", d + "/proj/data", "write " + d + "/kept")
        r = start(s, "/bin/cat", d + "/proj/data/secret")
        absent(SECRET, r.stdout, "sealed")
        check(r.returncode != 0, "sealed: status 0")


@test("PATHS 1: two servers share a directory: one turns what the other was granted into a link", seconds=90)
def two_servers():
    for kind in ("read", "write"):
        d = scene("two-" + kind)
        a = policy(RUN + "    write %s\n" % words(d + "/proj"))
        b = policy(RUN + "    %s %s\n" % (kind, words(d + "/proj/data")))
        s = sealed(b)
        equal(start(b, "/bin/cat", d + "/proj/data/plain").stdout, b"plain", "before")
        equal(start(s, "/bin/cat", d + "/proj/data/plain").stdout, b"plain", "before, sealed")
        turn(a, d)
        leads(d + "/proj/data/secret")
        ended(start(b, "/bin/cat", d + "/proj/data/secret"), NOT_FOLLOWED, d + "/kept")
        ended(start(s, "/bin/cat", d + "/proj/data/secret"), SWAPPED, d + "/proj/data")
        check(audited("it now contains a symbolic link", d + "/proj/data"), "no record of the refused start")
        # what a swapped name does reach: what the writer had
        os.unlink(d + "/proj/data")
        os.rename(d + "/proj/other", d + "/proj/data")
        for x in (b, s):
            equal(start(x, "/bin/cat", d + "/proj/data/plain").stdout, b"other", "the writer's own")


@test("PATHS 1: the directory is swapped for the link and back while kennel starts", seconds=120)
def race():
    d = scene("race")
    p = policy(RUN + "    read %s\n" % words(d + "/proj/data"))
    s = sealed(p)
    os.symlink(d + "/kept", d + "/proj/link")
    stop = threading.Event()

    def swapper():
        while not stop.is_set():
            for a, b in (("data", "aside"), ("link", "data"), ("data", "link"), ("aside", "data")):
                try:
                    os.rename("%s/proj/%s" % (d, a), "%s/proj/%s" % (d, b))
                except OSError:
                    return
    t = threading.Thread(target=swapper)
    t.start()
    try:
        for _ in range(12):
            for x in (p, s):
                absent(SECRET, start(x, "/bin/cat", d + "/proj/data/secret").stdout)
    finally:
        stop.set()
        t.join()


# Lines with a path, LINK or the real one.
LINES = (
    ("read", "    read %s\n"),
    ("write", "    write %s\n"),
    ("hide", "    read TOP/proj\n    hide %s\n"),
    ("cwd", "    read TOP/real\n    cwd %s\n"),
    ("in", "    exec allow /bin/true ** in %s\n"),
)


@test("PATHS 1: every statement that names a path refuses a link of others, by line, with the real path", seconds=120)
def statements():
    d = scene("lines")
    os.makedirs(d + "/real", exist_ok=True)
    for x in ("/real", "/proj/real"):
        os.makedirs(d + x, exist_ok=True)
    os.symlink(d + "/real", d + "/link")
    os.symlink("real", d + "/proj/link")
    for name, line in LINES:
        at = d + ("/proj" if name == "hide" else "")
        line = line.replace("TOP", d)
        p = policy(RUN + line % words(at + "/link"))
        n = reads(p).decode().splitlines().index((line % words(at + "/link")).splitlines()[-1]) + 1
        # hide names link and target: a cover over the link would not cover the target
        says = ("is a symbolic link to `real`: hide `%s/real`" % at,) if name == "hide" else (NOT_FOLLOWED, "write %s/real" % at)
        ended(start(p, "/bin/sh", "-c", "echo started"), "%s:%d:" % (p, n), *says)
        r = start(policy(RUN + line % words(at + "/real")), "/bin/sh", "-c", "echo started")
        equal(r.stdout, b"started\n", "%s, the control: %s" % (name, r.stderr))


@test("PATHS 1: run, exec and the interpreter of a script through a link of others", seconds=120)
def programs():
    d = scene("programs")
    os.chmod(d, 0o755)
    os.makedirs(d + "/bin", exist_ok=True)
    shutil.copy("/bin/true", d + "/bin/tool")
    os.symlink("tool", d + "/bin/link")
    for name, to in (("script", "link"), ("good", "tool")):
        with open(d + "/bin/" + name, "w") as f:
            f.write("#!%s/bin/%s\n" % (d, to))
        os.chmod(d + "/bin/" + name, 0o755)
    user = AS_USER + "    exec allow %s **\n" % words(d + "/bin/tool")
    for bad, good in (("link", "tool"), ("script", "good")):
        for line in ("    run %s\n", "    run /bin/true\n    exec allow %s\n"):
            for x in (bad, good):
                p = policy(user + line % words(d + "/bin/" + x))
                r = start(p, d + "/bin/" + x)
                if x == bad:
                    ended(r, NOT_FOLLOWED, p + ":", "write %s/bin/tool" % d)
                else:
                    equal(r.returncode, 0, r.stderr)
    # sealed, and then a file of the way becomes a link
    p = sealed(policy(user + "    run %s\n" % words(d + "/bin/tool")))
    equal(start(p, d + "/bin/tool").returncode, 0)
    os.rename(d + "/bin/tool", d + "/bin/was")
    os.symlink("was", d + "/bin/tool")
    ended(start(p, d + "/bin/tool"), SWAPPED)


@test("PATHS 4: --policy, include, pins, sources.kennel, a sidecar and a manifest through a link of others", seconds=120)
def texts():
    d = public_folder("texts")
    os.chmod(d, 0o755)
    home = d + "/home"
    os.makedirs(home, mode=0o700, exist_ok=True)
    env = {"KENNEL_HOME": home}
    shell = ["/bin/sh", "-c", "echo started"]

    def put(name, text):
        with open(d + "/" + name, "w") as f:
            f.write(text)
        os.chmod(d + "/" + name, 0o644)
        return d + "/" + name

    def both(real, at, go, where=()):
        """Works as a file, not as a link to the same file."""
        r = go()
        equal(r.stdout, b"started\n", "%s, the control: %s" % (at, r.stderr))
        os.rename(at, real)
        os.symlink(real, at)
        ended(go(), NOT_FOLLOWED, at, "write " + os.path.realpath(real), *where)
        os.unlink(at)

    body = "server t {\n%s%s\n%s}\n"
    p = put("a.kennel", body % (ATTACK, AS_USER, ""))
    both(d + "/a.real", p, lambda: start(p, *shell, env=env))
    p = put("a.kennel", body % (ATTACK, AS_USER, ""))
    equal(start(p, *shell, env=env).stdout, b"started\n", "the control")
    os.chmod(p, 0o646)
    ended(start(p, *shell, env=env), p, "world-writable", "chmod o-w")
    for verb in (["check", p], ["compile", p, "-o", d + "/sealed"]):
        r = run([KENNEL, "policy"] + verb, env=env)
        check(r.returncode != 0, verb)
        within(b"world-writable", r.stdout + r.stderr, verb)
    os.makedirs(home + "/policies")
    os.rename(p, home + "/policies/a.kennel")
    within(b"world-writable", run([KENNEL, "policy", "check", "--all"], env=env).stderr, "check --all")
    os.chmod(home + "/policies/a.kennel", 0o644)
    absent(b"world-writable", run([KENNEL, "policy", "check", "--all"], env=env).stderr, "the control")
    os.unlink(home + "/policies/a.kennel")
    put("rules.kennel", "let x = 1\n")
    q = put("b.kennel", 'include "rules.kennel"\n' + body % (ATTACK, AS_USER, ""))
    both(d + "/rules.real", d + "/rules.kennel", lambda: start(q, *shell, env=env), (q + ":1:9",))
    put("t.pins", '{"kennel-pins":1,"server":"t"}\n')
    q = put("c.kennel", body % (ATTACK, AS_USER, '    pins "t.pins"\n'))
    both(d + "/t.real", d + "/t.pins", lambda: start(q, *shell, env=env), (q + ":",))
    put("home/sources.kennel", "source files {\n    from file $reference\n}\ndefault files\n")
    put("value", "a-value-of-a-file-1")
    os.chmod(d + "/value", 0o600)
    q = put("d.kennel", body % (ATTACK, AS_USER, "    secret T from source x/y/z\n"))
    put("home/sources.kennel", "source files {\n    from file %s\n}\ndefault files\n" % words(d + "/value"))
    both(d + "/home/sources.real", home + "/sources.kennel", lambda: start(q, *shell, env=env))
    q = put("e.kennel", body % (ATTACK, AS_USER, "    secret T from file %s\n" % words(d + "/value")))
    put("home/secrets.kennel", "")
    both(d + "/home/secrets.real", home + "/secrets.kennel", lambda: run([KENNEL, "secret", "list"], env=env)
         if os.path.islink(home + "/secrets.kennel") else start(q, *shell, env=env))


@test("PATHS 1: KENNEL_HOME, HOME and XDG_* through a link of others: nothing starts, and the variable is named", seconds=60)
def homes():
    d = public_folder("homes")
    os.chmod(d, 0o755)
    for x in ("real", "real/policies", "user", "elsewhere"):
        os.makedirs(d + "/" + x, mode=0o700, exist_ok=True)
    with open(d + "/real/policies/t.kennel", "w") as f:
        f.write("server t {\n%s%s\n}\n" % (ATTACK, AS_USER))
    os.symlink("real", d + "/link")
    argv = [KENNEL, "exec", "t", "--", "/bin/sh", "-c", "echo started"]
    r = run(argv, env={"KENNEL_HOME": d + "/real"})
    equal(r.stdout, b"started\n", r.stderr)
    r = run(argv, env={"KENNEL_HOME": d + "/link"})
    ended(r, NOT_FOLLOWED, "(KENNEL_HOME)", "write " + os.path.realpath(d) + "/real")
    equal(r.returncode, 78)
    os.symlink(d + "/elsewhere", d + "/user/.config")
    for env, name in (({"KENNEL_HOME": "", "HOME": d + "/user"}, "(HOME)"),
                      ({"KENNEL_HOME": "", "HOME": d, "XDG_CONFIG_HOME": d + "/link"}, "(XDG_CONFIG_HOME)"),
                      ({"KENNEL_HOME": "", "HOME": d, "XDG_STATE_HOME": d + "/link"}, "(XDG_STATE_HOME)"),
                      ({"KENNEL_HOME": "", "HOME": d, "XDG_DATA_HOME": d + "/link"}, "(XDG_DATA_HOME)"),
                      ({"KENNEL_HOME": "", "HOME": d, "XDG_RUNTIME_DIR": d + "/link"}, "(XDG_RUNTIME_DIR)")):
        ended(run(argv, env=env), NOT_FOLLOWED, name)
        ended(run([KENNEL, "secret", "list"], env=env), NOT_FOLLOWED, name)


@test("PATHS 1: a link of /proc is never followed")
def proc():
    d = scene("proc")
    with open(d + "/t.kennel", "w") as f:
        f.write("server t {\n%s%s\n}\n" % (ATTACK, AS_USER))
    fd = os.open(d + "/t.kennel", os.O_RDONLY)
    os.set_inheritable(fd, True)
    r = run([KENNEL, "policy", "check", "/proc/%d/fd/%d" % (os.getpid(), fd)])
    os.close(fd)
    check(r.returncode != 0, "status 0")
    within(b"it is one of /proc", r.stderr)
    for line in ("    run /proc/self/exe\n", "    run /proc/self/root/bin/sh\n"):
        ended(start(policy(AS_USER + line), "/bin/sh", "-c", "echo started"))
    equal(run([KENNEL, "policy", "check", d + "/t.kennel"]).returncode, 0, "the control")


@test("PATHS 1: a link of root's in a directory that others can write is not followed; in root's own it is")
def roots():
    d = scene("roots")
    # the control: /bin or the like
    link = next((x for x in ("/bin", "/lib", "/usr/bin/awk", "/usr/bin/python3") if os.path.islink(x)), None)
    if link:
        p = policy(RUN + "    read %s\n" % words(link))
        r = run([KENNEL, "policy", "show", "--json", p])
        equal(r.returncode, 0, r.stderr)
        within(os.path.realpath(link).encode(), r.stdout)
    else:
        print("# no link of root's was found here", flush=True)
    if not ROOT:
        skip("only root makes links of root")
    os.symlink(d + "/kept", d + "/proj/roots")
    equal(os.lstat(d + "/proj/roots").st_uid, 0)
    leads(d + "/proj/roots/secret")
    ended(start(policy(RUN + "    read %s\n" % words(d + "/proj/roots")), "/bin/cat", d + "/proj/roots/secret"), NOT_FOLLOWED)


def acl_write(path, *uids):
    """user:UID:rwx for each, as setfacl -m does; acl(5), and linux/posix_acl_xattr.h for the bytes."""
    rows = [(1, 7, -1)] + [(2, 7, u) for u in sorted(uids)] + [(4, 5, -1), (0x10, 7, -1), (0x20, 5, -1)]
    text = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *r) for r in rows)
    try:
        os.setxattr(path, "system.posix_acl_access", text)
    except OSError as e:
        skip("no POSIX ACL on %s: %s" % (path, e.strerror))


@test("PATHS 1: a server exchanges links of root's in a directory that an ACL lets it write", seconds=60)
def roots_by_acl():
    if not ROOT:
        skip("only root makes links of root")
    top = tempfile.mkdtemp(prefix="kennel-acl.", dir="/run")  # every directory on the way is root's
    try:
        for part in ("", "/d", "/plain", "/kept"):
            os.makedirs(top + part, exist_ok=True)
            os.chmod(top + part, 0o755)
        for f, text in (("/plain/f", b"plain"), ("/kept/f", SECRET)):
            with open(top + f, "wb") as out:
                out.write(text)
            os.chmod(top + f, 0o644)
        os.symlink(top + "/plain", top + "/d/at")
        os.symlink(top + "/kept", top + "/d/other")
        a = policy(RUN + "    write %s\n" % words(top + "/d"))
        b = policy(RUN + "    read %s\n" % words(top + "/d/at"))
        equal(start(b, "/bin/cat", top + "/d/at/f").stdout, b"plain", "the control: without an ACL it is followed")
        acl_write(top + "/d", 65534, UID)
        st = os.stat(top + "/d")
        equal((st.st_mode & 0o777, st.st_uid, st.st_gid), (0o775, 0, 0), "it looks like root's")
        r = start(a, "/bin/sh", "-c", "cd %s/d && /bin/mv at was && /bin/mv other at && echo turned" % top)
        within(b"turned", r.stdout, r.stderr)
        leads(top + "/d/at/f")
        ended(start(b, "/bin/cat", top + "/d/at/f"), NOT_FOLLOWED, top + "/d/at", top + "/kept")
        os.chmod(top + "/d", 0o755)  # the mask: the ACL grants nothing now
        equal(start(b, "/bin/cat", top + "/d/at/f").stdout, SECRET, "the control: root's again")
    finally:
        shutil.rmtree(top)


# ---- Python's virtual environments -------------------------------------------------

PYTHON = "/usr/bin/python3"
PREFIX = "import sys; print(sys.prefix)"


def environment_of(name):
    d = public_folder(name)
    os.chmod(d, 0o755)
    os.makedirs(d + "/venv/bin", exist_ok=True)
    with open(d + "/venv/pyvenv.cfg", "w") as f:
        f.write("home = /usr/bin\ninclude-system-site-packages = false\n")
    os.symlink(PYTHON, d + "/venv/bin/python3")
    os.symlink("python3", d + "/venv/bin/python")
    return d, d + "/venv/bin/python"


@test("PATHS 1: a virtual environment is known by its link, whose ways are read-only and compared at the start", seconds=120)
def venv():
    if not os.path.exists(PYTHON):
        skip("no " + PYTHON)
    d, python = environment_of("venv")
    grants = AS_USER + "    read %s %s\n" % (words(d + "/venv/bin"), words(d + "/venv/pyvenv.cfg"))
    p = policy(grants + "    run %s **\n" % words(python))
    s = sealed(p)
    for x in (p, s):
        equal(start(x, python, "-c", PREFIX).stdout.decode().strip(), d + "/venv", "its prefix")
    os.chmod(d + "/venv/pyvenv.cfg", 0o666)
    write = "import sys\nfor n in sys.argv[1:]:\n try: open(n, 'a'); print('written')\n except OSError as e: print(e.strerror)\n"
    r = start(p, python, "-c", write, d + "/venv/pyvenv.cfg")
    within(b"Read-only file system", r.stdout, r.stderr)
    # who may write there decides what it starts
    for line in ("    write %s\n" % words(d + "/venv"), "    write %s\n" % words(d)):
        both = "server u {\n    run /bin/true\n%s}\n" % (AS_USER + line)
        r = start(policy(grants + "    run %s **\n" % words(python), before=both), python, "-c", PREFIX)
        check(r.returncode != 0, "another server may write the environment")
        within(b"server `u`", r.stderr)
    # without pyvenv.cfg it is a link like any other, and so is what is no python
    os.rename(d + "/venv/pyvenv.cfg", d + "/venv/was")
    ended(start(p, python, "-c", PREFIX), NOT_FOLLOWED)
    os.rename(d + "/venv/was", d + "/venv/pyvenv.cfg")
    os.symlink("/bin/sh", d + "/venv/bin/tool")
    ended(start(policy(AS_USER + "    run %s **\n" % words(d + "/venv/bin/tool")), d + "/venv/bin/tool"), NOT_FOLLOWED)
    # the link leads elsewhere now: the sealed policy has the file that it led to
    q = sealed(policy(AS_USER + "    run %s **\n    read %s /usr/bin\n" % (words(python), words(d + "/venv"))))
    equal(start(q, python, "-c", PREFIX).stdout.decode().strip(), d + "/venv", "in a tree")
    os.unlink(d + "/venv/bin/python3")
    os.symlink("/usr/bin/env", d + "/venv/bin/python3")
    ended(start(q, python, "-c", PREFIX), "it is not the file that it was when the policy was compiled")


if __name__ == "__main__":
    main()
