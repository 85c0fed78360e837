"""Row 14 and after: the host replaces or renames what a mount covers, while the server runs."""
import os
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

SECRET = "kept-from-it"
AS_USER = '    user "65534"\n' if os.geteuid() == 0 else ""
# Says "closed" or "open TEXT" of each path, and again whenever that changes.
LOOK = """
echo ready
while :; do
    now=
    for f in "$@"; do
        if { read -r l <"$f"; } 2>/dev/null; then now="$now open:$l"; else now="$now closed"; fi
    done
    [ "$now" = "$last" ] || echo "$now"
    last=$now
done
"""
KILLED_S = 2.0


def scene(name):
    """A project with a file and a directory to cover, both open to every user."""
    d = public_folder("cover-" + name)
    shutil.rmtree(d)
    for part in ("", "/in", "/in/conf", "/in/conf/hooks", "/out"):
        os.mkdir(d + part)
        os.chmod(d + part, 0o777)
    for f in ("/in/conf/config", "/in/plain", "/in/conf/hooks/one"):
        put(d + f, SECRET)
    return d


def put(path, text):
    with open(path, "w") as f:
        f.write(text + "\n")
    os.chmod(path, 0o666)


class Cell:
    """A server that looks at paths all the time."""

    def __init__(self, body, script, *paths, name="t", prefix=(), env=None):
        self.out = TMP + "/cover-out-%d" % id(self)
        cmd = [KENNEL, "exec", "--policy", policy(ATTACK + AS_USER + body, name), name, "--",
               "/bin/sh", "-c", script, "sh"] + list(paths)
        with open(self.out, "wb") as out:
            self.p = start(list(prefix) + cmd, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                           env=environment(env), cwd="/")
        check(wait_for(lambda: len(self.said()) > 1 or self.p.poll() is not None, 15) is not None, "no word")
        check(self.p.poll() is None, "it did not start:", self.p.stderr.read() if self.p.poll() is not None else "")

    def said(self):
        return reads(self.out).decode(errors="replace").splitlines()

    def alive(self):
        return self.p.poll() is None

    def killed(self, act, path, kept="hidden"):
        """The host acts: the cell is gone in time, and the cause is said and recorded."""
        t0 = time.time()
        act()
        check(wait_for(lambda: not self.alive(), 10) is not None, "the cell lives on: %s" % self.said())
        took = time.time() - t0
        check(took < KILLED_S, "it took %.3f s" % took)
        err = self.p.stderr.read().decode(errors="replace")
        within("unable to keep %s %s: another program replaced, removed or renamed it" % (path, kept), err)
        within("; stopped the program", err)
        print("# %.0f ms until kennel had ended" % (took * 1000), flush=True)


def recorded(path, env=None):
    def there():
        return any(e.get("kind") == "stop" and "cover-lost" in json.dumps(e) and path in json.dumps(e) for e in audit(env=env))
    check(wait_for(there, 5) is not None, "no record of it:", [e for e in audit(env=env) if e.get("kind") == "stop"][-3:])


def hide_body(d, *paths):
    return "    write %s\n    hide %s\n" % (words(d + "/in"), words(*[d + x for x in paths]))


CONFIG = "/in/conf/config"


def replaced(d):
    put(d + "/out/new", "new")
    os.rename(d + "/out/new", d + CONFIG)


def renamed_aside(d):
    os.rename(d + CONFIG, d + CONFIG + ".bak")
    put(d + CONFIG, "new")


def aside_and_back(d):
    os.rename(d + CONFIG, d + CONFIG + ".bak")
    put(d + CONFIG, "new")
    os.unlink(d + CONFIG)
    os.rename(d + CONFIG + ".bak", d + CONFIG)


def parent_and_back(d):
    parent_renamed(d)
    shutil.rmtree(d + "/in/conf")
    os.rename(d + "/in/conf2", d + "/in/conf")


def parent_renamed(d):
    os.rename(d + "/in/conf", d + "/in/conf2")
    os.mkdir(d + "/in/conf")
    put(d + CONFIG, "new")


def exchanged(d):
    put(d + "/in/conf/other", "new")
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.renameat2(-100, (d + "/in/conf/other").encode(), -100, (d + CONFIG).encode(), 2) == 0, ctypes.get_errno())


WAYS = [
    ("rename over it (mv, git config)", replaced),
    ("sed -i", lambda d: run(["sed", "-i", "s/kept/lost/", d + CONFIG])),
    ("unlink", lambda d: os.unlink(d + CONFIG)),
    ("rename aside, then a new one (sed -i.bak, vim)", renamed_aside),
    ("rename aside, a new one, and the old one back", aside_and_back),
    ("rename of the directory on the way", parent_renamed),
    ("rename of the directory on the way, a new one, and the old one back", parent_and_back),
    ("exchange", exchanged),
    ("rename out of the grant", lambda d: os.rename(d + CONFIG, d + "/out/config")),
    ("removal of the whole tree", lambda d: shutil.rmtree(d + "/in/conf")),
]


@test("attack_14_cover_replaced: the host replaces, removes or renames a hidden file; the cell dies, with the cause in the log", seconds=120)
def hidden_file():
    for what, act in WAYS:
        d = scene("file")
        c = Cell(hide_body(d, CONFIG), LOOK, d + CONFIG, d + "/in/plain")
        equal(c.said(), ["ready", " closed open:" + SECRET], "before: " + what)
        print("# " + what, flush=True)
        c.killed(lambda: act(d), d + CONFIG)
        recorded(d + CONFIG)


@test("attack_14_cover_replaced: a hidden file below a read-only grant, and one that is granted by name", seconds=60)
def read_only():
    for body, path in (("    read %s\n    hide %s\n", "/in"), ("    read %s\n    hide %s\n", CONFIG)):
        for act in (replaced, renamed_aside):
            if path == CONFIG and act is renamed_aside:
                continue  # the grant is the file that was renamed: nothing new is in the view
            d = scene("ro")
            c = Cell(body % (words(d + path), words(d + CONFIG)), LOOK, d + CONFIG)
            equal(c.said(), ["ready", " closed"])
            c.killed(lambda: act(d), d + CONFIG)


@test("attack_26_cover_replaced: a hidden directory is removed, renamed aside, made anew", seconds=60)
def hidden_directory():
    def anew(d):
        shutil.rmtree(d + "/in/conf/hooks")
        os.mkdir(d + "/in/conf/hooks")

    for act in (anew, lambda d: os.rename(d + "/in/conf/hooks", d + "/in/conf/hooks2"),
                lambda d: os.rename(d + "/in/conf", d + "/out/conf")):
        d = scene("dir")
        c = Cell(hide_body(d, "/in/conf/hooks"), LOOK, d + "/in/conf/hooks/one")
        equal(c.said(), ["ready", " closed"])
        c.killed(lambda: act(d), d + "/in/conf/hooks")
    recorded(d + "/in/conf/hooks")


@test("attack_14_cover_replaced: two servers share a directory, and one replaces what the other may not read", seconds=60)
def two_servers():
    d = scene("two")
    c = Cell(hide_body(d, CONFIG), LOOK, d + CONFIG)
    equal(c.said(), ["ready", " closed"])
    other = ATTACK + AS_USER + "    write %s\n    exec allow /bin/mv **\n" % words(d + "/in")
    r = kexec(other, ["/bin/sh", "-c", "echo new >%s/in/new && /bin/mv %s/in/new %s && echo moved" % (d, d, d + CONFIG)])
    equal(r.stdout, b"moved\n", r.stderr)
    c.killed(lambda: None, d + CONFIG)
    recorded(d + CONFIG)


@test("attack_14_cover_replaced: a configuration of an agent is read-only for the server; replaced or renamed, the cell dies", seconds=60)
def agent_configuration():
    at = "/in/.vscode/mcp.json"
    for act in (lambda: os.replace(d + "/out/new", d + at), lambda: os.rename(d + at, d + at + ".bak"),
                lambda: os.rename(d + "/in/.vscode", d + "/in/old")):
        d = scene("agent-file")
        os.mkdir(d + "/in/.vscode")
        os.chmod(d + "/in/.vscode", 0o777)
        put(d + at, SECRET)
        put(d + "/out/new", "new")
        script = '{ echo evil >"$1"; } 2>/dev/null && echo wrote; { echo x >"$1.other"; } && echo beside; echo ready; while :; do :; done'
        c = Cell("    write %s\n" % words(d + "/in"), script, d + at)
        equal(c.said(), ["beside", "ready"], "it is read-only, and what is beside it is not")
        c.killed(act, d + at, "read-only")
    recorded(d + at)


WRITES = '{ echo evil >"$1"; } 2>/dev/null && echo wrote; { echo x >"$1.other"; } && echo beside'


def agent_scene(at=".mcp.json"):
    """A project with the configuration of an agent."""
    d = scene("agent") + "/in"
    put_deep(d, at)
    return d


def put_deep(d, at):
    parts = at.split("/")[:-1]
    for n in range(len(parts)):
        part = d + "/" + "/".join(parts[:n + 1])
        if not os.path.isdir(part):
            os.mkdir(part)
            os.chmod(part, 0o777)
    put(d + "/" + at, SECRET)


def agent_writes(body, path):
    r = kexec(ATTACK + AS_USER + body, ["/bin/sh", "-c", WRITES, "sh", path])
    return r.stdout.decode().split()


@test("attack_b1_agent_files: a `read` of the file below `write` of its directory leaves it read-only", seconds=60)
def agent_read_by_name():
    for at in (".mcp.json", ".vscode/mcp.json"):
        for row in ("    read %s\n", "    read %s { optional }\n"):
            for order in (1, -1):
                d = agent_scene(at)
                body = "".join(["    write %s\n" % words(d), row % words(d + "/" + at)][::order])
                equal(agent_writes(body, d + "/" + at), ["beside"], body)
                equal(reads(d + "/" + at).decode(), SECRET + "\n", body)
    d = agent_scene()
    block = "block b {\n    read %s\n}\n" % words(d + "/.mcp.json")
    p = policy(ATTACK + AS_USER + "    write %s\n    use b\n" % words(d), before=block)
    r = run([KENNEL, "exec", "--policy", p, "t", "--", "/bin/sh", "-c", WRITES, "sh", d + "/.mcp.json"])
    equal(r.stdout, b"beside\n", r.stderr)
    body = "    write %s\n    write %s\n" % (words(d), words(d + "/.mcp.json"))
    equal(agent_writes(body, d + "/.mcp.json"), ["wrote", "beside"], "the control: `write` of the file is meant")


LATER = 'chmod 755 "$2" 2>/dev/null; { echo evil >"$1"; } 2>/dev/null && echo wrote; echo started'


@test("attack_b1_agent_files: the server takes away access to a directory; the next start is refused, not without the cover", seconds=120)
def agent_unsearchable():
    """As root nothing is inaccessible to the compiler: the file stays covered, or its mount fails."""
    tools = "    exec allow /bin/chmod **\n"
    for at, part, mode in ((".mcp.json", "", "0"), (".vscode/mcp.json", "/.vscode", "0"), (".kiro/settings/mcp.json", "/.kiro", "0"),
                           ("sub/.mcp.json", "", "0311"), ("sub/deep/.mcp.json", "/sub", "0311"), ("sub/.mcp.json", "/sub", "0")):
        d = agent_scene(at)
        body = ATTACK + AS_USER + tools + "    write %s\n" % words(d)
        path, shut = d + "/" + at, d + part
        if os.geteuid() == 0:
            os.chown(shut, 65534, 65534)
        later = ["/bin/sh", "-c", LATER, "sh", path, shut]
        equal(kexec(body, later).stdout, b"started\n", "the control: it is covered")
        r = kexec(body, ["/bin/sh", "-c", '/bin/chmod "$1" "$2"; echo did', "sh", mode, shut])
        equal(r.stdout, b"did\n", r.stderr)
        equal(os.stat(shut).st_mode & 0o777, int(mode, 8), "the attack is possible")
        check_ = run([KENNEL, "policy", "check", policy(body)])
        r = kexec(body, later)
        absent(b"wrote", r.stdout, at)
        if os.geteuid() != 0:
            equal(r.stdout, b"", at)
            for said in (r.stderr, check_.stderr):
                within("unable to search %s for configurations of agents: Permission denied" % shut, said.decode())
                within("run `chmod u+rwx` on it", said.decode())
            check(check_.returncode != 0, check_.stdout)
        os.chmod(shut, 0o777)
        equal(reads(path).decode(), SECRET + "\n", at)
        equal(kexec(body, later).stdout, b"started\n", "the control: it starts again")


@test("attack_b1_agent_files: the server fills its directory with files or directories; none takes a cover away", seconds=120)
def agent_crowd():
    d = agent_scene("zsub/.mcp.json")
    path = d + "/zsub/.mcp.json"
    body = "    write %s\n" % words(d)
    equal(agent_writes(body, path), ["beside"], "the control: before")
    for n in range(4000):
        open(d + "/%d" % n, "w").close()
    for n in range(300):
        os.mkdir(d + "/d%d" % n)
    equal(agent_writes(body, path), ["beside"], "4,000 files and 300 directories")
    for n in range(8200):
        os.mkdir(d + "/e%d" % n)
    equal(agent_writes(body, path), [], "too many directories: no start")
    status, said = checked(body)
    check(status != 0, said)
    within("unable to search %s for configurations of agents: expected at most 8192 directories" % d, said)
    equal(reads(path).decode(), SECRET + "\n")
    for n in range(8200):
        os.rmdir(d + "/e%d" % n)
    equal(agent_writes(body, path), ["beside"], "the control: it starts again")


@test("attack_b1_agent_files: a directory of another user is not searched, one of one's own must be accessible", seconds=60)
def agent_others():
    if os.geteuid() != 0:
        skip("needs root: a directory of another user")
    uid = os.environ["KT_UID"]
    d = public_folder("agent-others")
    with open(d + "/t.kennel", "w") as f:
        f.write("server t {\n    run /bin/true\n    write %s\n}\n" % words(d + "/in"))
    os.chmod(d + "/t.kennel", 0o644)
    os.makedirs(d + "/in/data", exist_ok=True)
    for owner, status in ((0, 0), (int(uid), 65)):
        os.chmod(d + "/in/data", 0o700 if owner == 0 else 0)
        os.chown(d + "/in/data", owner, -1)
        r = run(["setpriv", "--reuid=" + uid, "--regid=" + uid, "--clear-groups", KENNEL, "policy", "check", d + "/t.kennel"])
        equal(r.returncode, status, r.stderr)


@test("attack_b1_agent_files: a project in a hidden directory is covered; node_modules is not searched", seconds=60)
def agent_hidden_project():
    for at, got in ((".worktrees/one/.mcp.json", ["beside"]), ("a/.b/.vscode/mcp.json", ["beside"]),
                    ("node_modules/one/.mcp.json", ["wrote", "beside"]), ("a/b/c/.mcp.json", ["wrote", "beside"])):
        d = agent_scene(at)
        equal(agent_writes("    write %s\n" % words(d), d + "/" + at), got, at)


@test("attack_b1_agent_files: a grant of the directory that contains the file leaves it read-only, and check warns", seconds=120)
def agent_directory():
    for at, grant in ((".vscode/mcp.json", ".vscode"), (".claude/settings.json", ".claude"), (".kiro/settings/mcp.json", ".kiro"),
                      (".kiro/settings/mcp.json", ".kiro/settings"), (".config/Claude/claude_desktop_config.json", ".config"),
                      (".config/Code/User/mcp.json", ".config/Code"), (".config/Code/User/mcp.json", ".config/Code/User")):
        d = agent_scene(at)
        body = "    write %s\n" % words(d + "/" + grant)
        equal(agent_writes(body, d + "/" + at), ["beside"], grant)
        within("is read-only for the server", checked(body)[1])
        os.unlink(d + "/" + at)
        within("server `t` may create %s" % d, checked(body)[1])
    d = agent_scene("vscode/mcp.json")
    body = "    write %s\n" % words(d + "/vscode")
    equal(agent_writes(body, d + "/vscode/mcp.json"), ["wrote", "beside"], "the control: another name")
    absent("an agent reads", checked(body)[1])


@test("attack_14_cover_replaced: a hidden file that its own user may not read is watched by its directory", seconds=60)
def unreadable():
    d = scene("shut")
    os.chmod(d + CONFIG, 0)
    c = Cell(hide_body(d, CONFIG), LOOK, d + CONFIG, d + "/in/plain")
    equal(c.said(), ["ready", " closed open:" + SECRET])
    put(d + "/in/conf/a", "x")
    os.rename(d + "/in/conf/a", d + "/in/conf/b")
    time.sleep(0.1)
    check(c.alive(), "another name in that directory")
    c.killed(lambda: os.rename(d + CONFIG, d + "/in/conf/old"), d + CONFIG)


@test("attack_14_cover_replaced: paths with blanks, line ends and backslashes are compared as they are", seconds=60)
def strange_names():
    for name in ("a b", "a\\040b", "tab\tline", "ümlaut #1", "x" * 200):
        d = scene("odd")
        at = d + "/in/" + name
        put(at, SECRET)
        c = Cell(hide_body(d, "/in/" + name), LOOK, at)
        equal(c.said(), ["ready", " closed"], name)
        os.rename(d + "/in/plain", d + "/in/conf/plain")
        time.sleep(0.05)
        check(c.alive(), name)
        t0 = time.time()
        os.rename(at, at + "2")
        check(wait_for(lambda: not c.alive(), KILLED_S) is not None, name, time.time() - t0)


@test("the control: without a replacement the cell lives through a second of everything else", seconds=60)
def lives():
    d = scene("lives")
    os.link(d + CONFIG, d + "/in/conf/second-name")
    c = Cell(hide_body(d, CONFIG, "/in/conf/hooks") + "    read %s\n" % words(d + "/in/plain"), LOOK, d + CONFIG, d + "/in/conf/hooks/one")
    n, end = 0, time.time() + 1.5
    while time.time() < end:
        n += 1
        put(d + "/in/conf/a", "x")
        os.rename(d + "/in/conf/a", d + "/in/conf/b")
        put(d + "/in/conf/a", "x")
        os.rename(d + "/in/conf/a", d + "/in/conf/b")
        os.rename(d + "/in/conf/second-name", d + "/in/conf/third-name")
        os.rename(d + "/in/conf/third-name", d + "/in/conf/second-name")
        os.mkdir(d + "/in/sub")
        os.rename(d + "/in/sub", d + "/in/conf/sub")
        os.rmdir(d + "/in/conf/sub")
        os.unlink(d + "/in/conf/b")
        put(d + CONFIG, SECRET + str(n))
        put(d + "/in/conf/hooks/two", "x")
        os.rename(d + "/in/conf/hooks/two", d + "/in/conf/hooks/one")
        os.chmod(d + CONFIG, 0o644)
        os.chmod(d + CONFIG, 0o666)
        os.utime(d + "/in/conf")
    os.rename(d + "/in", d + "/in2")
    os.rename(d + "/in2", d + "/in")
    check(n > 50, n)
    time.sleep(0.2)
    check(c.alive(), c.p.stderr.read() if not c.alive() else "")
    equal(c.said(), ["ready", " closed closed"], "and it saw nothing")
    c.killed(lambda: replaced(d), d + CONFIG)


@test("the control: the server's own work in the granted directory ends nothing", seconds=60)
def own_work():
    d = scene("own")
    body = hide_body(d, CONFIG) + "    exec allow /bin/mv **\n    exec allow /bin/rm **\n    exec allow /bin/ln **\n"
    script = """cd "$1" || exit 3
        i=0; while [ $i -lt 60 ]; do i=$((i+1))
        echo x >a; /bin/mv a b; echo y >conf/a; /bin/mv conf/a conf/b; /bin/ln -f conf/b conf/c; /bin/rm conf/b conf/c
        /bin/mv conf/config gone 2>/dev/null && echo moved; /bin/rm -f conf/config 2>/dev/null && echo removed
        /bin/mv b conf/config 2>/dev/null && echo replaced; /bin/mv conf conf2 2>/dev/null && echo renamed
        done; { read -r l <conf/config; } 2>/dev/null && echo "$l"; echo done"""
    r = kexec(ATTACK + AS_USER + body, ["/bin/sh", "-c", script, "sh", d + "/in"], timeout=50)
    equal((r.returncode, r.stdout), (0, b"done\n"), r.stderr)
    equal(reads(d + CONFIG).decode(), SECRET + "\n")


@test("a flood of renames of a second name of a hidden file holds nothing up, and the kill comes through it", seconds=60)
def flood():
    d = scene("flood")
    os.link(d + CONFIG, d + "/out/n0")
    c = Cell(hide_body(d, CONFIG), LOOK, d + CONFIG)
    stop = threading.Event()

    def renames():
        a, b = d + "/out/n0", d + "/out/n1"
        while not stop.is_set():
            os.rename(a, b)
            os.rename(b, a)
    threads = [threading.Thread(target=renames)]
    for t in threads:
        t.start()
    try:
        time.sleep(1)
        check(c.alive(), "it ended by the flood")
        c.killed(lambda: replaced(d), d + CONFIG)
    finally:
        stop.set()
        for t in threads:
            t.join()


@test("the agent gets the true cause, in answer to the call that is open; both ends of the session record it", seconds=60)
def agent():
    d = scene("agent")
    body = '    run "%s"\n    tool allow *\n%s%s' % (TOY, AS_USER, hide_body(d, CONFIG))
    s = kennel_run(body)
    s.initialize()
    said = s.text("open", path=d + CONFIG)
    absent(SECRET, said, "before")
    within(SECRET, s.text("open", path=d + "/in/plain"), "the control: what is not hidden is read")
    s.n += 1
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": "hang", "arguments": {}}})
    time.sleep(0.2)
    replaced(d)
    r = s.wait(s.n, 5)
    within("unable to keep %s hidden" % (d + CONFIG), r["error"]["message"])
    within("stopped the server", r["error"]["message"])
    check(wait_for(lambda: s.p.poll() is not None, 5) is not None, "kennel lives on")
    within("unable to keep %s hidden" % (d + CONFIG), s.stderr())
    recorded(d + CONFIG)
    stops = [e for e in audit() if e.get("kind") == "stop"][-2:]
    equal([e["fields"].get("reason") for e in stops], ["cover-lost"] * 2, stops)


# ---- what a policy's author is told ---------------------------------------------

def checked(body):
    r = run([KENNEL, "policy", "check", policy(ATTACK + AS_USER + body)])
    return r.returncode, (r.stdout + r.stderr).decode(errors="replace")


REPLACED = "programs replace this file when they save it"


@test("check warns of a hidden file that programs replace, and proposes its directory; of nothing else")
def warned():
    d = scene("warned")
    status, said = checked(hide_body(d, CONFIG))
    equal(status, 0, said)
    within(REPLACED, said)
    within("hide its directory `%s/in/conf` instead" % d, said)
    status, said = checked(hide_body(d, "/in/plain"))
    within("move it to a directory of its own and hide that", said)
    for body in (hide_body(d, "/in/conf/hooks"), hide_body(d, "/in/conf"),
                 "    read %s\n    hide %s\n" % (words(d + "/in"), words(d + CONFIG))):
        status, said = checked(body)
        equal(status, 0, said)
        absent(REPLACED, said, body)


@test("hide over a link is an error that names link and target: at check, and at the start of a sealed policy")
def linked():
    d = scene("linked")
    os.symlink("conf/config", d + "/in/link")
    status, said = checked(hide_body(d, "/in/link"))
    check(status != 0, said)
    within("%s/in/link" % d, said)
    within("%s/in/conf/config" % d, said)
    r = kexec(ATTACK + AS_USER + hide_body(d, "/in/link"), ["/bin/sh", "-c", "echo started"])
    equal((r.stdout, r.returncode != 0), (b"", True))
    p = policy(ATTACK + AS_USER + hide_body(d, "/in/plain"))
    equal(run([KENNEL, "policy", "compile", p, "-o", p + ".sealed"]).returncode, 0)
    r = run([KENNEL, "exec", "--policy", p + ".sealed", "t", "--", "/bin/sh", "-c", "echo started"])
    equal(r.stdout, b"started\n", "the control: %s" % r.stderr)
    os.unlink(d + "/in/plain")
    os.symlink("conf/config", d + "/in/plain")
    r = run([KENNEL, "exec", "--policy", p + ".sealed", "t", "--", "/bin/sh", "-c", "echo started"])
    equal(r.stdout, b"")
    within(b"unable to mount %s/in/plain: it is a symbolic link; hide its target conf/config" % d.encode(), r.stderr)


@test("hide { optional } of a missing name warns, at check and at each start; and it is not covered when it comes")
def optional():
    d = scene("optional")
    body = "    write %s\n    hide %s { optional }\n" % (words(d + "/in"), words(d + "/in/later"))
    told = "%s/in/later is not there: nothing covers it if another program creates it" % d
    status, said = checked(body)
    equal(status, 0, said)
    within("%s/in/later does not exist: it is not hidden if another program creates it" % d, said)
    p = policy(ATTACK + AS_USER + body)
    equal(run([KENNEL, "policy", "compile", p, "-o", p + ".sealed"]).returncode, 0)
    r = run([KENNEL, "exec", "--policy", p + ".sealed", "t", "--", "/bin/sh", "-c", "echo started"])
    equal(r.stdout, b"started\n", r.stderr)
    within(told.encode(), r.stderr)
    put(d + "/in/later", SECRET)
    r = run([KENNEL, "exec", "--policy", p + ".sealed", "t", "--", "/bin/sh", "-c", "cat <%s/in/later; echo started" % d])
    equal(r.stdout, b"started\n", r.stderr)
    absent(told.encode(), r.stderr, "the control: it is there and covered")


if __name__ == "__main__":
    main()
