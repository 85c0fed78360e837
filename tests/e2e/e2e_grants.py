"""Programs of other people under fine grants: what they are for works, and the ways round it do not.

The policies are tests/grants/*.kennel, as one would write them; each runs what is
beside it.  The same without kennel, as an ordinary user, says the same and goes
the ways round it too.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

GRANTS = os.path.realpath(os.path.dirname(os.path.abspath(__file__)) + "/../grants")
SYSTEM = "/usr/bin:/bin"  # as Debian has them, not what a user put before them
NOBODY = '    user "%d"\n' % UID if os.geteuid() == 0 else ""


def needs(*programs):
    for p in programs:
        if not os.path.exists(p):
            skip("%s is not here" % p)


def work(name):
    d = public_folder("grants-" + name)
    for n in os.listdir(d):
        at = d + "/" + n
        shutil.rmtree(at) if os.path.isdir(at) and not os.path.islink(at) else os.unlink(at)
    return d


def given(name, script, d, **lets):
    """The example with this machine's paths in place of its own."""
    lets.update(work=d, script=script)
    with open("%s/%s.kennel" % (GRANTS, name)) as f:
        lines = f.read().splitlines(True)
    for i, line in enumerate(lines):
        word = line.split()
        if word[:1] == ["let"] and word[1] in lets:
            lines[i] = "let %s = %s\n" % (word[1], lets[word[1]])
        if word[:1] == ["server"]:
            lines[i] += NOBODY
    p = "%s/grants-%s.kennel" % (TMP, name)
    with open(p, "w") as f:
        f.writelines(lines)
    return p


def inside(name, script, cmd, d, **lets):
    p = given(name, script, d, **lets)
    return run([KENNEL, "exec", "--policy", p, name, "--"] + cmd, env={"PATH": SYSTEM}, timeout=120)


def outside(cmd, d, **env):
    env.update(PATH=SYSTEM, HOME=d)
    return unconfined(["env", "-C", d] + cmd, env=env, timeout=120)


def statuses(out, *names):
    """`name: STATUS` lines, of those whose name begins so."""
    got = {}
    for line in out.decode().splitlines():
        if ": " in line and line.rsplit(": ", 1)[1].isdigit():
            got[line.rsplit(": ", 1)[0]] = int(line.rsplit(": ", 1)[1])
    check(got, out)
    return got


def plain(out):
    """Without the lines that tell of refusals."""
    return [x for x in out.decode().splitlines() if not (": " in x and x.rsplit(": ", 1)[1].isdigit())]


@test("S4-24 git: a repository's own work, no option that runs something else", seconds=120)
def git():
    needs("/usr/bin/git")
    script = GRANTS + "/git.sh"
    d = work("git")
    r = inside("git", script, ["/bin/sh", script], d)
    d = work("git")
    free = outside(["/bin/sh", script], d)
    equal(plain(r.stdout), plain(free.stdout), r.stderr)
    check(len(plain(r.stdout)) > 5, r.stdout, r.stderr)
    for what, status in statuses(r.stdout).items():
        equal(status, 126, "git " + what)
    got = statuses(free.stdout)
    equal([got[x] for x in ("-c core.pager=/bin/sh log", "clone . ../copy")], [0, 0], free.stderr)
    check(audited("exec", "deny", "/usr/bin/git"), "no event")


@test("S4-24 ripgrep: searches, no option that starts a program", seconds=120)
def ripgrep():
    needs("/usr/bin/rg")
    script = GRANTS + "/rg.sh"
    d = work("rg")
    for name, text in (("n.txt", "needle\n"), ("h.txt", "hay\n")):
        with open(d + "/" + name, "w") as f:
            f.write(text)
    r = inside("rg", script, ["/bin/sh", script], d)
    free = outside(["/bin/sh", script], d)
    equal([x for x in plain(r.stdout)], [x for x in plain(free.stdout)], r.stderr)
    within(b"needle", r.stdout)
    got, control = statuses(r.stdout), statuses(free.stdout)
    for way in got:
        equal(got[way], 1 if way == "absent" else 126, way)
        equal(control[way], 1 if way == "absent" else 0, way)


@test("S4-24 python3: subprocess, posix_spawn, pipelines, a module, a pool; nothing that has no name", seconds=120)
def python():
    needs("/usr/bin/python3")
    script = GRANTS + "/python.py"
    d = work("python")
    r = inside("python", script, ["/usr/bin/python3", script], d)
    equal(r.returncode, 0, r.stderr)
    within(b"Ran 7 tests", r.stderr)
    free = outside(["/usr/bin/python3", script, "bare"], d)
    equal(free.returncode, 0, free.stderr)


def node_of():
    return NODE if os.path.exists(NODE) else "/usr/bin/node"


@test("S4-24 node: every way of child_process; nothing that has no name", seconds=120)
def node():
    needs(node_of())
    script = GRANTS + "/node.mjs"
    d = work("node")
    r = inside("node", script, [node_of(), script], d, node=node_of())
    equal(r.returncode, 0, r.stdout + r.stderr)
    free = outside([node_of(), script, "bare"], d)
    equal(plain(r.stdout), plain(free.stdout) + ["passed refused"], r.stderr)


@test("S4-24 a shell script: as a program, its pipes, find, xargs; no program that they were not given", seconds=120)
def shell():
    script = TMP + "/shell.sh"
    shutil.copy(GRANTS + "/shell.sh", script)
    os.chmod(script, 0o755)
    d = work("shell")
    r = inside("shell", script, ["/bin/sh", "-c", script + " now"], d)
    d = work("shell")
    free = outside(["/bin/sh", "-c", script + " now"], d)
    equal(plain(r.stdout), plain(free.stdout), r.stderr)
    within("two", plain(r.stdout))
    for way, status in statuses(r.stdout).items():
        equal(status, 126, way)
    equal(statuses(free.stdout)["find . -delete"], 0)


@test("S4-24 npm: a package's scripts by what they say, and none else", seconds=240)
def npm():
    at = os.path.realpath("/usr/bin/npm")
    needs("/usr/bin/npm", "/usr/bin/node", at)
    package = os.path.dirname(os.path.dirname(at))
    if at != package + "/bin/npm-cli.js":
        skip("npm lies elsewhere: " + at)
    script = TMP + "/npm.sh"
    with open(GRANTS + "/npm.sh") as f, open(script, "w") as g:
        g.write(f.read().replace("npm=/usr/lib/node_modules/npm", "npm=" + package))
    d = work("npm")
    with open(d + "/package.json", "w") as f:
        json.dump({"name": "own", "version": "1.0.0", "scripts": {
            "test": "node test.js", "hello": "echo hello", "other": "echo other"}}, f)
    with open(d + "/test.js", "w") as f:
        f.write("console.log('tested')\n")
    r = inside("npm", script, ["/bin/sh", script], d, npm=package)
    free = outside(["/bin/sh", script], d)
    for line in (b"tested", b"hello", b'"own"'):
        within(line, r.stdout, r.stderr)
        within(line, free.stdout, free.stderr)
    for way, status in statuses(r.stdout).items():
        check(status != 0, way)
    equal(statuses(free.stdout)["other"], 0)


if __name__ == "__main__":
    main()
