"""What runs or decides below a `write` grant: of the same server, of another one of the
same file, of another file; as text and sealed; and kennel's own files."""
import os
import shutil
import stat
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
import clients  # noqa: E402
from kit import *  # noqa: E402,F403

be_subreaper()
AS_USER = '    user "65534"\n' if os.geteuid() == 0 else ""
SUBUID = "" if os.geteuid() == 0 else "    require subuid\n"
PLANTED = "#!/bin/sh\necho planted\n"


def shared():
    """A directory of two servers, with what they run and what decides in it."""
    d = public_folder("shared")
    for name, text, mode in (("tool", "#!/bin/sh\necho its own\n", 0o755), ("token", "hunter22-k3nn3l-value\n", 0o644),
                             ("part.kennel", "let unused = /\n", 0o644), ("t.pins", "{}\n", 0o644)):
        with open(d + "/" + name, "w") as f:
            f.write(text)
        os.chmod(d + "/" + name, mode)
    os.makedirs(d + "/data", exist_ok=True)
    os.chmod(d + "/data", 0o777)
    return d


def both(d, b, before="", a=None, name="both"):
    """Server a may write the directory; b is what it is given."""
    body = "%sserver a {\n    run /bin/sh\n%s    write %s\n}\nserver b {\n%s%s}\n" % (
        before, AS_USER, words(a or d), AS_USER, b)
    p = TMP + "/%s.kennel" % name
    with open(p, "w") as f:
        f.write(body)
    return p


def verdicts(p):
    """What check, compile and a start of either server say."""
    got = [run([KENNEL, "policy", "check", p]), run([KENNEL, "policy", "compile", "-o", TMP + "/x.sealed", p])]
    got += [run([KENNEL, "exec", "--policy", p, name, "--", "/bin/sh", "-c", "echo ran"]) for name in ("a", "b")]
    return got


# ---- one file ---------------------------------------------------------------------------

USES = (
    ("    run %(d)s/tool\n", "", "/tool is the program of server `b`"),
    ("    run /bin/sh **\n    exec allow %(d)s/tool\n", "", "/tool is a program that `exec` grants to server `b`"),
    ("    run /bin/sh **\n    exec ask %(d)s/tool\n", "", "/tool is a program that `exec` grants to server `b`"),
    ("    run /bin/sh **\n    secret T from file %(d)s/token\n", "", "/token is the source of a secret of server `b`"),
    ("    run /bin/sh **\n    secret T from cmd %(d)s/tool\n", "", "/tool is part of a command for a secret of"),
    ("    run /bin/sh **\n    secret T from cmd /bin/cat %(d)s/token\n", "", "/token is part of a command for"),
    ("    run /bin/sh **\n    pins \"%(d)s/t.pins\"\n", "", "/t.pins is the pins of server `b`"),
    ("    run /bin/sh **\n", 'include "%(d)s/part.kennel"\n', "/part.kennel is an included policy"),
)


@test("attack_reach_one_file: what one server runs, and what decides, below what another one writes: no start of either", 240)
def one_file():
    d = shared()
    for grant in (d, d + "/tool", os.path.dirname(d)):
        for more in ("", SUBUID):
            p = both(d, "    run %s/tool\n%s" % (d, more), a=grant)
            for r in verdicts(p):
                equal(r.returncode, 65, r.stderr)
                within(b"%s/tool is the program of server `b`, and `write` on line " % d.encode(), r.stderr)
                within(b"lets server `a` replace it: move it, or grant less", r.stderr)
                within(b"both.kennel:", r.stderr)
    for b, before, why in USES:
        for r in verdicts(both(d, b % {"d": d}, before % {"d": d} if before else "")):
            equal(r.returncode, 65, "%s: %s" % (b, r.stderr))
            within(why, r.stderr.decode(), b)
            within("server `a` replace it", r.stderr.decode(), b)
            absent(b"hunter22", r.stderr)


@test("attack_reach_one_file: what is read, written, hidden or a working directory may be there: both start")
def one_file_control():
    d = shared()
    p = both(d, "    run /bin/sh **\n    read %s\n    write %s/data\n    hide %s/token\n    cwd %s/data\n" % (d, d, d, d))
    r = run([KENNEL, "policy", "check", p])
    equal(r.returncode, 0, r.stderr)
    r = run([KENNEL, "exec", "--policy", p, "b", "--", "/bin/sh", "-c", "pwd"])
    equal((r.returncode, r.stdout), (0, d.encode() + b"/data\n"), r.stderr)
    r = run([KENNEL, "exec", "--policy", p, "a", "--", "/bin/sh"])
    equal(r.returncode, 0, r.stderr)


@test("attack_reach_need: the interpreter and the library of a granted program count as it does")
def needs():
    d = public_folder("needs")
    other = public_folder("needs-other")
    os.chmod(other, 0o755)
    os.makedirs(d + "/bin", exist_ok=True)
    shutil.copy("/bin/sh", d + "/bin/sh")
    with open(other + "/script", "w") as f:
        f.write("#!%s/bin/sh\necho its own\n" % d)
    os.chmod(other + "/script", 0o755)
    line = "    run %s/script\n" % other
    r = run([KENNEL, "policy", "compile", "-o", TMP + "/x.sealed", both(d, line)])
    equal(r.returncode, 65, r.stderr)
    within(b"%s/bin/sh is an interpreter of server `b`" % d.encode(), r.stderr)
    # what a first line starts is granted by a line of its own
    line += "    exec allow %s/bin/sh **\n" % d
    r = run([KENNEL, "policy", "compile", "-o", TMP + "/x.sealed", both(d, line)])
    equal(r.returncode, 65, r.stderr)
    within(b"server `a` replace it", r.stderr)
    r = run([KENNEL, "policy", "compile", "-o", TMP + "/x.sealed", both(d, line, a=d + "/data")])
    equal(r.returncode, 0, "control: %s" % r.stderr)


@test("attack_reach_helper: what a command for a secret runs, below what another policy's server writes: check --all and doctor", 120)
def helper():
    d = public_folder("helper")
    own_ = public_folder("helper-own")
    os.chmod(own_, 0o755)
    for at in (d, own_):
        shutil.copy("/bin/sh", at + "/sh")
        with open(at + "/outer", "w") as f:
            f.write("#!/bin/sh\necho planted-value\n")
        os.chmod(at + "/outer", 0o755)

    def script(name, line):
        with open(own_ + "/" + name, "w") as f:
            f.write(line + "\necho its-own-value\n")
        os.chmod(own_ + "/" + name, 0o755)
        return "%s/%s" % (own_, name)
    a = "server a {\n    run /bin/sh **\n%s    write %s\n}\n" % (AS_USER, words(d))
    started, word = "an interpreter", "part of a command"
    for k, (cmd, reached, kind) in enumerate((
            (lambda at: script("one", "#!%s/sh" % at), "/sh", started),
            (lambda at: script("two", "#!/usr/bin/env %s/outer" % at), "/outer", started),
            (lambda at: script("three", "#!" + script("inner", "#!%s/sh" % at)), "/sh", started),
            (lambda at: "/bin/cat " + script("four", "#!%s/sh" % at), "/sh", started),
            (lambda at: "/bin/dd if=%s/value" % at, "/value", word),
            (lambda at: "/bin/cat %s/sh" % at[1:], "/sh", word))):
        for at, status in ((own_, 0), (d, 65)):
            env = installed("helper-%d" % k, a=a, b="server b {\n    run /bin/sh\n    secret T from cmd %s\n}\n" % cmd(at))
            r = run([KENNEL, "policy", "check", "--all"], env=env)
            equal(r.returncode, status, r.stderr)
            if status:
                what = "%s%s is %s for a secret of server `b`, and `write` on" % (d, reached, kind)
                within(what, r.stderr.decode())
                equal(r.stderr.count(b"for a secret of server"), 1, r.stderr)
                within(what, run([KENNEL, "doctor"], env=env).stdout.decode())


@test("attack_reach_link: the real path counts, by whatever name the grant or the program is written")
def by_link():
    d = shared()
    away = public_folder("shared-link")
    link = away + "/link"
    if not os.path.islink(link):
        os.symlink(d, link)
    for grant, program in ((link, d + "/tool"), (d, link + "/tool")):
        r = run([KENNEL, "policy", "check", both(d, "    run %s\n" % program, a=grant)])
        check(r.returncode == 65, r.stderr)
    r = run([KENNEL, "policy", "check", both(d, "    run %s/tool\n" % link, a=away)])
    check(r.returncode == 65, "the link itself: %s" % r.stderr)


# ---- a sealed file ----------------------------------------------------------------------

@test("attack_reach_sealed: a sealed policy whose program was moved below a grant since: no start")
def sealed():
    d = shared()
    apart = public_folder("apart")
    shutil.copy(d + "/tool", apart + "/tool")
    link = apart + "/token"
    with open(link, "w") as f:
        f.write("hunter22-k3nn3l-value\n")
    os.chmod(link, 0o600)
    p = both(d, "    run /bin/sh **\n    secret T from file %s\n    secret U from cmd /bin/cat %s\n" % (link, link))
    out = TMP + "/both.sealed"
    equal(run([KENNEL, "policy", "compile", "-o", out, p]).returncode, 0)
    r = run([KENNEL, "exec", "--policy", out, "b", "--", "/bin/sh", "-c", "echo ran"])
    equal((r.returncode, r.stdout), (0, b"ran\n"), "control: %s" % r.stderr)
    os.rename(apart, d + "/apart")
    os.symlink(d + "/apart", apart)
    for name in ("a", "b"):
        r = run([KENNEL, "exec", "--policy", out, name, "--", "/bin/sh", "-c", "echo ran"])
        equal((r.returncode, r.stdout), (78, b""), r.stderr)
        within(b"%s/apart/token is the source of a secret of server `b`" % d.encode(), r.stderr)
        within(b"server `a` replace it", r.stderr)


@test("attack_reach_sealed: a sealed policy below what another server of it may write: no start of either", 120)
def sealed_file():
    d = public_folder("sealed-file")
    home = public_folder("sealed-home")
    kept = public_folder("sealed-kept")
    os.makedirs(home + "/sealed", exist_ok=True)
    for f, text in (("plain", b"plain"), ("secret", b"not granted to it")):
        with open(kept + "/" + f, "wb") as out:
            out.write(text)
        os.chmod(kept + "/" + f, 0o644)

    def make(to, what, grant):
        """t reads one file, u writes the grant."""
        with open(TMP + "/sf.kennel", "w") as f:
            f.write("server t {\n%s    exec allow /bin/cat **\n%s    read %s\n}\nserver u {\n    run /bin/sh **\n%s    write %s\n}\n" % (
                ATTACK, AS_USER, words(kept + "/" + what), AS_USER, words(grant)))
        # Compiled elsewhere, where these directories are not kennel's.
        r = run([KENNEL, "policy", "compile", "-o", to, TMP + "/sf.kennel"])
        equal(r.returncode, 0, r.stderr)
        os.unlink(TMP + "/sf.kennel")  # its change would be the reason to refuse
        writable(to)

    def ours(path):
        """The caller's own, and a server may write it by its group."""
        if os.geteuid() == 0:
            os.chown(path, 0, 65534)
        os.chmod(path, 0o664)

    def cat(what, *how, env=None, name="t"):
        return run([KENNEL, "exec"] + list(how) + [name, "--", "/bin/cat" if name == "t" else "/bin/sh"] + (
            [kept + "/" + what] if name == "t" else ["-c", "echo ran"]), env=env)
    p = d + "/p.sealed"
    os.makedirs(d + "-else", exist_ok=True)
    make(p, "plain", d + "-else")
    equal(cat("plain", "--policy", p).stdout, b"plain", "control: the grant is apart")
    # The attack: u, run under any policy, puts another sealed file here.
    make(TMP + "/evil.sealed", "secret", d)
    make(p, "plain", d)
    shutil.copy(TMP + "/evil.sealed", d + "/planted")
    r = kexec(ATTACK + AS_USER + "    exec allow /bin/cat **\n    write %s\n" % words(d), ["/bin/sh", "-c", "cat %s/planted > %s && echo wrote" % (d, p)])
    equal(r.stdout, b"wrote\n", r.stderr)
    equal(reads(p), reads(TMP + "/evil.sealed"), "control: it is the other policy now")
    r = cat("secret", "--policy", p)
    equal((r.returncode, r.stdout), (78, b""), r.stderr)
    within(b"is the policy itself, and `write` on ", r.stderr)
    # Before it was overwritten, neither.
    make(p, "plain", d)
    for name in ("t", "u"):
        r = cat("plain", "--policy", p, name=name)
        equal((r.returncode, r.stdout), (78, b""), r.stderr)
        within(b"lets server `u` replace it", r.stderr, name)
    # Where kennel finds it by its name.
    env = {"KENNEL_HOME": home}
    make(home + "/sealed/t.sealed", "plain", d)
    if os.geteuid() == 0:  # another user's file is not used, whatever it grants
        within(b"another user's", cat("plain", env=env).stderr)
        ours(home + "/sealed/t.sealed")
    equal(cat("plain", env=env).stdout, b"plain", "control")
    make(home + "/sealed/t.sealed", "plain", home)
    ours(home + "/sealed/t.sealed")
    r = cat("plain", env=env)
    equal((r.returncode, r.stdout), (78, b""), r.stderr)
    within(b"lets server `u` replace it", r.stderr)


# ---- two files --------------------------------------------------------------------------

def installed(name, **texts):
    """A KENNEL_HOME with these policies, in which `kennel run` finds them."""
    home = TMP + "/" + name
    os.makedirs(home + "/policies", mode=0o700, exist_ok=True)
    for file, text in texts.items():
        with open(home + "/policies/%s.kennel" % file, "w") as f:
            f.write(text)
    return {"KENNEL_HOME": home}


@test("attack_reach_two_files: a start of one policy does not know the other: check --all and doctor name both", 180)
def two_files():
    d = shared()
    os.chmod(d, 0o755)
    os.chmod(d + "/tool", 0o755)
    if os.geteuid() == 0:
        os.chown(d + "/tool", 65534, 65534)
    a = "server a {\n    run /bin/sh **\n%s    write %s\n}\n" % (AS_USER, words(d))
    b = "# the other one\nserver b {\n    run /bin/sh **\n%s    exec allow %s/tool\n}\n" % (AS_USER, d)
    env = installed("two", a=a, b=b)
    # The attack: a replaces what b starts, and either start is granted.
    r = run([KENNEL, "exec", "a", "--", "/bin/sh", "-c", "echo '#!/bin/sh\necho planted' > %s/tool" % d], env=env)
    equal(r.returncode, 0, r.stderr)
    r = run([KENNEL, "exec", "b", "--", d + "/tool"], env=env)
    equal(r.stdout, b"planted\n", "control: %s" % r.stderr)
    where = env["KENNEL_HOME"] + "/policies/"
    said = ("%sb.kennel:5: error: %s/tool is a program that `exec` grants to server `b`, and `write` on %sa.kennel:%d lets server "
            "`a` replace it" % (where, d, where, 4 if AS_USER else 3)).replace(":5:", ":5:" if AS_USER else ":4:")

    def both_say(n, what):
        r = run([KENNEL, "policy", "check", "--all"], env=env)
        equal(r.returncode, 65 if n else 0, r.stderr)
        within(what, r.stderr.decode())
        r = run([KENNEL, "doctor"], env=env)
        within(what, r.stdout.decode())
        rows = {x["name"]: x for x in json.loads(run([KENNEL, "doctor", "--json"], env=env).stdout)}
        equal(rows["policies"]["holds"], n == 0, rows["policies"])
        equal(len(rows["policies"]["findings"]), n, rows["policies"])
        within(what, "\n".join(rows["policies"]["findings"]))
    both_say(1, said)
    # The same where one of them is sealed.
    os.makedirs(env["KENNEL_HOME"] + "/sealed", exist_ok=True)
    r = run([KENNEL, "policy", "compile", "-o", env["KENNEL_HOME"] + "/sealed/a.sealed", where + "a.kennel"])
    equal(r.returncode, 0, r.stderr)
    os.unlink(where + "a.kennel")
    both_say(1, said)
    # A pins file, an included one and a policy are part of what b is.
    for text, what in (("server b {\n    run /bin/sh\n    secret T from file %s/token\n}\n" % d, "the source of a secret of"),
                       ('include "%s/part.kennel"\nserver b {\n    run /bin/sh\n}\n' % d, "/part.kennel is an included policy")):
        installed("two", b=text)
        r = run([KENNEL, "policy", "check", "--all"], env=env)
        equal(r.returncode, 65, r.stderr)
        within(what, r.stderr.decode())
        within("lets server `a` replace it", r.stderr.decode())
    # Apart, nothing is said.
    installed("two", b="server b {\n    run /bin/sh\n    write %s\n}\n" % words(d + "/data"))
    both_say(0, "")
    # A grant that reaches kennel's own.
    installed("two", b="server b {\n    run /bin/sh\n    read %s { optional }\n}\n" % words(env["KENNEL_HOME"] + "/run"))
    both_say(1, "the directory of kennel's sockets, and `read` on")
    # A file that does not compile is an error, and none at all are missing.
    installed("two", b="server b {\n")
    equal(run([KENNEL, "policy", "check", "--all"], env=env).returncode, 65)
    equal(run([KENNEL, "policy", "check", "--all"], env=installed("none")).returncode, 69)
    equal(run([KENNEL, "policy", "check", "--all", "x"], env=env).returncode, 64)


def with_loader(path, loader):
    """An ELF program of which the kernel reads only the loader's name."""
    with open("/bin/sh", "rb") as f:
        head = bytearray(f.read(64))
    struct.pack_into("<Q", head, 32, 64)  # e_phoff
    struct.pack_into("<HHHHH", head, 54, 56, 1, 64, 0, 0)  # one header, no sections
    name = loader.encode() + b"\0"
    with open(path, "wb") as f:
        f.write(bytes(head) + struct.pack("<IIQQQQQQ", 3, 4, 120, 0, 0, len(name), len(name), 1) + name)
    os.chmod(path, 0o755)


@test("attack_reach_command: what the kernel starts for a secret's command, below what another server writes, is named", 240)
def commands():
    d = shared()
    apart = public_folder("command")
    os.chmod(apart, 0o755)

    def put(path, text):
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o755)
        return path
    interp = put(d + "/interp", "#!/bin/sh\necho hunter22-k3nn3l-value\n")
    script = put(apart + "/script", "#!%s\n" % interp)
    put(apart + "/second", "#!%s\n" % script)
    put(apart + "/by-env", "#!/usr/bin/env %s\n" % interp)
    put(apart + "/by-split", "#!/usr/bin/env -S A=b %s -x\n" % interp)
    put(apart + "/argument", "#!/bin/sh %s\n" % interp)
    with_loader(apart + "/elf", d + "/loader")
    tool = d + "/tool"
    what = "an interpreter for a secret of server `b`"
    part = "part of a command for a secret of server `b`"
    tries = [(words(apart + "/" + x), interp, what) for x in ("script", "second", "by-env", "by-split", "argument")]
    tries += [(words(apart + "/elf"), d + "/loader", what), ("/usr/bin/env " + words(script), interp, what),
              ("/bin/cat " + words(apart + "/../shared/tool"), tool, part), ("/bin/cat " + words("/" + tool), tool, part),
              ("/bin/dd " + words("if=" + tool), tool, part), ("/bin/cat " + words(tool[1:]), tool, part)]
    a = "server a {\n    run /bin/sh **\n%s    write %s\n}\n" % (AS_USER, words(d))
    b = "server b {\n    run /bin/sh **\n%s    secret T from cmd %%s\n}\n" % AS_USER

    # The attack: a writes the interpreter of a script that is out of its reach, and b's next start takes its value.
    env = installed("commands", a=a, b=b % words(script))
    length = ["exec", "b", "--", "/bin/sh", "-c", "echo ${#T}"]
    r = run([KENNEL] + length, env=env)
    equal((r.returncode, r.stdout), (0, b"21\n"), "control: %s" % r.stderr)
    os.chmod(interp, 0o775)  # the server's, or its group's: world-writable would be refused
    if os.geteuid() == 0:
        os.chown(interp, -1, 65534)
    r = run([KENNEL, "exec", "a", "--", "/bin/sh", "-c", "printf '#!/bin/sh\\necho planted-instead\\n' > " + interp], env=env)
    equal(r.returncode, 0, r.stderr)
    equal(run([KENNEL] + length, env=env).stdout, b"15\n", "control: a start does not know the other file")
    # The kernel does start the loader that an ELF program names.
    execs = ["/usr/bin/python3", "-c", "import os, sys\ntry: os.execv(sys.argv[1], sys.argv[1:])\nexcept OSError as e: print(e.strerror)", apart + "/elf"]
    equal(unconfined(execs).stdout, b"No such file or directory\n", "control")
    put(d + "/loader", "not a loader\n" * 100)
    equal(unconfined(execs).stdout, b"Accessing a corrupted shared library\n", "control")

    for line, path, why in tries:
        installed("commands", b=b % line)
        r = run([KENNEL, "policy", "check", "--all"], env=env)
        equal(r.returncode, 65, "%s: %s" % (line, r.stderr))
        within("%s is %s, and `write` on " % (path, why), r.stderr.decode(), line)
        within("lets server `a` replace it", r.stderr.decode(), line)
        within(path, run([KENNEL, "doctor"], env=env).stdout.decode(), line)
        # One file: no start of either.
        with open(TMP + "/commands.kennel", "w") as f:
            f.write(a + b % line)
        for r in verdicts(TMP + "/commands.kennel"):
            equal(r.returncode, 65, "%s: %s" % (line, r.stderr))
            within("%s is %s" % (path, why), r.stderr.decode(), line)
        # Sealed: by its rows.
        out = env["KENNEL_HOME"] + "/sealed"
        os.makedirs(out, exist_ok=True)
        equal(run([KENNEL, "policy", "compile", "-o", out + "/b.sealed", env["KENNEL_HOME"] + "/policies/b.kennel"]).returncode, 0)
        os.unlink(env["KENNEL_HOME"] + "/policies/b.kennel")
        r = run([KENNEL, "policy", "check", "--all"], env=env)
        equal(r.returncode, 65, "sealed, %s: %s" % (line, r.stderr))
        within("%s is %s" % (path, why), r.stderr.decode(), "sealed " + line)
        os.unlink(out + "/b.sealed")

    # Nothing of it is below the grant; a word with a slash that is no file is text.
    put(apart + "/plain", "#!/usr/bin/env sh\necho fine\n")
    for line in (words(apart + "/plain"), "/bin/echo " + words(d[1:] + "/missing"), "/bin/echo -n a/b=c/d", "/bin/cat " + words(apart + "/plain")):
        installed("commands", b=b % line)
        r = run([KENNEL, "policy", "check", "--all"], env=env)
        equal(r.returncode, 0, "control: %s: %s" % (line, r.stderr))


# ---- configurations of agents -------------------------------------------------------------

IN_PROJECT = [row.file() for row in clients.rows() if row.scope == "project"]
AGENTS = IN_PROJECT + ["sub/" + name for name in IN_PROJECT] + ["sub/deep/.mcp.json"]


def put_agents(paths):
    for path in paths:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write("{}\n")
        os.chmod(path, 0o666)


def open_below(d):
    for at, dirs, _ in os.walk(d):
        for name in dirs:
            os.chmod(at + "/" + name, 0o777)


@test("attack_reach_agents: a server does not write what an agent starts, where it exists; where not, it is named", 120)
def agents():
    d = public_folder("project")
    put_agents(d + "/" + name for name in AGENTS)
    open_below(d)
    body = ATTACK + AS_USER + "    write %s\n    exec allow /usr/bin/mv **\n    exec allow /usr/bin/rm **\n" % words(d)
    tries = "".join("echo bad > %s && echo wrote %s\nrm -f %s && echo removed %s\nmv ok %s && echo replaced %s\n" % (
        (("%s/" % d) + n, n) * 3) for n in AGENTS)
    tries = tries.replace("mv ok", "mv %s/ok" % d)
    away = "".join("mv %s/%s %s/away && echo moved %s\n" % (d, n, d, n) for n in sorted({os.path.dirname(n) for n in AGENTS} - {""}))
    r = kexec(body, ["/bin/sh"], stdin=("echo x > %s/ok && echo control; %s%strue\n" % (d, tries, away)).encode(), timeout=60)
    equal(r.stdout, b"control\n", r.stderr[-1000:])
    for name in AGENTS:
        equal(reads(d + "/" + name), b"{}\n", name)
    # The host replaces one: its cover falls off, and the server ends with it.
    s = kennel_run(toy_policy(AS_USER + "    write %s\n" % words(d)))
    s.initialize()
    with open(d + "/new", "w") as f:
        f.write("{}\n")
    check(s.p.poll() is None, "control: it serves")
    os.rename(d + "/new", d + "/.mcp.json")
    os.chmod(d + "/.mcp.json", 0o666)
    check(wait_for(lambda: s.p.poll() is not None, 20), "it goes on without its cover")
    # Granted by name it is meant, and said.
    named = body + "    write %s\n" % words(d + "/.mcp.json")
    r = kexec(named, ["/bin/sh", "-c", "echo meant > %s/.mcp.json && echo wrote" % d])
    equal((r.stdout, reads(d + "/.mcp.json")), (b"wrote\n", b"meant\n"), r.stderr)
    within(b"may write this file, from which an agent reads which programs to start", r.stderr)
    # The control: without the cover each of them is an ordinary file.
    r = unconfined(["/bin/sh", "-c", "".join("echo bad > %s/%s\n" % (d, n) for n in AGENTS)])
    for name in AGENTS:
        equal(reads(d + "/" + name), b"bad\n", "control: " + name)
    r = run([KENNEL, "policy", "check", policy(body)])
    equal(r.returncode, 0, r.stderr)
    within(b"server `t` may write where an agent reads which programs to start: " + d.encode(), r.stderr)
    # One that does not exist yet.
    empty = public_folder("repository-of-joe")
    os.makedirs(empty + "/.git", exist_ok=True)
    text = "server t {\n    run /bin/sh\n%s    write %s\n}\n" % (AS_USER, words(empty))
    env = installed("agents", t=text)
    r = run([KENNEL, "policy", "check", "--all"], env=env)
    equal(r.returncode, 0, r.stderr)
    within("server `t` may create %s/.mcp.json" % empty, r.stderr.decode())
    within("server `t` may create %s/.mcp.json" % empty, run([KENNEL, "doctor"], env=env).stdout.decode())
    os.rmdir(empty + "/.git")
    r = run([KENNEL, "policy", "check", "--all"], env=env)
    absent(b".mcp.json", r.stderr)


@test("attack_reach_home: the files of a home far below a `write` are covered, also where a variable moves them", 120)
def home_far_below():
    top = public_folder("homes")
    home, moved = top + "/a/b/c/user", top + "/d/e/f"
    user = [row for row in clients.rows() if row.scope == "user"]
    files = [home + "/" + row.file() for row in user] + [home + "/" + name for name in IN_PROJECT]
    variables = {row.variable: moved + "/" + row.variable for row in user if row.variable}
    apart = ["%s/%s/%s" % (moved, row.variable, clients.one_of(row.moved)) for row in user if row.variable]
    put_agents(files + apart)
    open_below(top)
    tries = "".join("{ echo bad >'%s'; } 2>/dev/null && echo wrote '%s'\n" % (path, path[len(top):]) for path in files + apart)
    script = {"stdin": ("echo x >%s/ok && echo control\n%strue\n" % (home, tries)).encode(), "timeout": 60}
    body = ATTACK + AS_USER + "    write %s\n" % words(top)
    r = kexec(body, ["/bin/sh"], env={"HOME": home}, **script)
    wrote = {line[6:] for line in r.stdout.decode().splitlines() if line.startswith("wrote ")}
    equal(wrote, {path[len(top):] for path in apart}, "without the variables: " + r.stderr.decode()[-1000:])
    put_agents(apart)
    # What is at the usual place is covered too: another shell may not have the variable.
    r = kexec(body, ["/bin/sh"], env={"HOME": home, **variables}, **script)
    equal(r.stdout, b"control\n", r.stderr[-1000:])
    # The control: of another user's home, the grant covers what is two levels deep.
    r = kexec(body, ["/bin/sh"], env={"HOME": top + "/nobody"}, **script)
    within("wrote /a/b/c/user/.claude.json", r.stdout.decode())
    named = body + "    write %s\n" % words(apart[0])
    r = run([KENNEL, "policy", "check", policy(named)], env={"HOME": home, **variables})
    within(b"may write this file, from which an agent reads", r.stderr)


@test("attack_reach_agents: a symbolic link takes no cover away: one in the name refuses the start, a directory of any name is followed", 60)
def agent_links():
    d = public_folder("linked-agents") + "/with-a-name-that-no-message-of-eighty-characters-can-hold/and-another-one-below-it"
    put_agents([d + "/" + name for name in ("kept/mcp.json", "kept/skill/SKILL.md", "kept/skill/OTHER.md", ".claude/skills/own/SKILL.md", ".claude/skills/own/OTHER.md")])
    open_below(public_folder("linked-agents"))
    os.symlink("../../kept/skill", d + "/.claude/skills/linked")
    os.symlink("/nowhere", d + "/.claude/skills/nothing")
    tries = [".claude/skills/own/SKILL.md", ".claude/skills/own/OTHER.md", "kept/skill/SKILL.md", "kept/skill/OTHER.md", ".claude/skills/linked/SKILL.md"]
    script = ["/bin/sh", "-c", "".join("{ echo bad >%s/%s; } 2>/dev/null && echo %s\n" % (d, n, n) for n in tries) + "true"]
    body = ATTACK + AS_USER + "    write %s\n" % words(d)
    r = kexec(body, script)
    equal(r.stdout.decode().split(), [".claude/skills/own/OTHER.md", "kept/skill/OTHER.md"], r.stderr)
    # The name of the directory is fixed: the server can turn the link.
    os.symlink("kept", d + "/.vscode")
    for at, r in (("check", run([KENNEL, "policy", "check", policy(body)])), ("start", kexec(body, script))):
        check(r.returncode != 0, at)
        within("unable to keep %s/.vscode/mcp.json read-only" % d, r.stderr.decode(), at)
        within("%s/.vscode is a symbolic link; replace it by a directory, or grant" % d, r.stderr.decode(), at)
    os.unlink(d + "/.vscode")
    # The control: without its name no file is covered.
    os.rename(d + "/.claude", d + "/claude")
    equal(kexec(body, script[:2] + [script[2].replace("/.claude/", "/claude/")]).stdout.decode().split(), tries)


# ---- kennel's own -----------------------------------------------------------------------

@test("attack_reach_own: a sealed policy that reaches kennel's own files is not started, hidden or not", 120)
def own():
    top = public_folder("own-files")
    home = top + "/kennel"
    os.makedirs(home, exist_ok=True)
    env = {"KENNEL_HOME": home}

    def attempt(grant, hide=""):
        body = ATTACK + AS_USER + "    %s { optional }\n" % grant + ("    hide %s { optional }\n" % words(hide) if hide else "")
        with open(TMP + "/own.kennel", "w") as f:
            f.write("server t {\n%s}\n" % body)
        # Compiled elsewhere, where these directories are not kennel's.
        r = run([KENNEL, "policy", "compile", "-o", TMP + "/own.sealed", TMP + "/own.kennel"])
        equal(r.returncode, 0, r.stderr)
        return run([KENNEL, "exec", "--policy", TMP + "/own.sealed", "t", "--", "/bin/sh", "-c", "echo ran"], env=env)
    control = attempt("write %s" % words(top + "/else"))
    equal((control.returncode, control.stdout), (0, b"ran\n"), control.stderr)
    for right, below, what in (("write", "policies", "kennel's policies"), ("write", "policies/x.kennel", "kennel's policies"),
                               ("write", "sealed", "kennel's sealed policies"), ("write", "trust", "kennel's trust keys"),
                               ("write", "sources.kennel", "the routes of secrets"),
                               ("write", "secrets.kennel", "the index of secrets"),
                               ("write", "settings.kennel", "kennel's settings"),
                               ("write", "catalog.kennel", "the catalog of tokens"),
                               ("write", "catalogs", "the fetched catalogs"),
                               ("write", "mcp-servers.json", "the file of servers"),
                               ("write", "registry", "the registry of servers"),
                               ("write", "audit", "the audit log"), ("read", "audit/audit.key", "a key of the audit log"),
                               ("read", "audit", "a key of the audit log"), ("write", "log", "the log of the servers"),
                               ("read", "run", "the directory of kennel's sockets"), ("read", "vault", "kennel's vault"),
                               ("read", "vault/secrets.vault", "kennel's vault"), ("write", "", "kennel's configuration")):
        path = (home + "/" + below).rstrip("/")
        for hide in ("", home):
            r = attempt("%s %s" % (right, words(path)), hide)
            equal((r.returncode, r.stdout), (78, b""), "%s %s: %s" % (right, below, r.stderr))
            within(what.encode(), r.stderr, below)
            within(b"own.kennel:", r.stderr, below)
    r = attempt("read %s" % words(home + "/policies"))
    equal((r.returncode, r.stdout), (0, b"ran\n"), "to read a policy is no harm: %s" % r.stderr)


if __name__ == "__main__":
    main()
