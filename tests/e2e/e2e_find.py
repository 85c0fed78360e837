"""Which policy a server starts with: only the files that define it matter."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}) + "\n"


class Place:
    """A configuration directory of the test's own."""

    def __init__(self, name, **policies):
        self.home = "%s/%s" % (TMP, name)
        self.env = {"KENNEL_HOME": self.home}
        os.makedirs(self.home + "/policies", mode=0o700)
        for server, text in policies.items():
            self.write(server, text)

    def path(self, server):
        return "%s/policies/%s.kennel" % (self.home, server)

    def write(self, server, text):
        with open(self.path(server), "w") as f:
            f.write(text)
        os.chmod(self.path(server), 0o600)

    def works(self, server="own"):
        """Starts the server; what kennel prints."""
        s = Mcp([KENNEL, "run", server], env=self.env)
        s.initialize()
        within("echo", json.dumps(s.request("tools/list")))
        s.close()
        return s.stderr()

    def served(self, *words):
        """What kennel serve prints."""
        s = Mcp([KENNEL, "serve"] + list(words), env=self.env)
        s.initialize()
        s.request("tools/list")
        s.close()
        return s.stderr()

    def refused(self, status, server="own"):
        r = run([KENNEL, "run", server], stdin=HELLO, env=self.env)
        equal(r.returncode, status, r.stderr)
        return json.loads(r.stdout)["error"]["message"] + r.stderr.decode()


def server(name, more=""):
    return "server %s {\n%s%s}\n" % (name, toy_policy(), more)


@test("a file with errors or warnings does not concern the servers of other files")
def others():
    p = Place("others", own=server("own"), broken="server other {\n    run\n}\nlet = $$\nserver more {\n",
              noisy=server("noisy", "    read /no/such/directory\n"), empty="# nothing\n")
    equal(p.works(), "")
    within("noisy.kennel:5:10: warning: ", p.refused(125, "noisy"), "control: the warning of its own server")
    within("broken.kennel", p.refused(65, "other"), "control: the error of its own server")
    os.chmod(p.path("noisy"), 0o666)
    os.symlink("/nowhere", p.path("link"))
    equal(p.works(), "")
    within("world-writable", p.refused(78, "noisy"))


@test("two files that define a server are an error that names both, also if one has errors")
def two():
    p = Place("two", a=server("own"), b=server("own"))
    said = p.refused(78)
    for part in "a.kennel", "b.kennel", "both define server own":
        within(part, said)
    r = run([KENNEL, "policy", "check", p.path("a")], env=p.env)
    within("a.kennel:1: warning: %s:1 defines server `own` too, and `kennel run own` starts neither" %
           os.path.realpath(p.path("b")), r.stderr.decode())
    within("1 server, no errors, 1 warning\n", r.stdout.decode())
    with open(p.home + "/elsewhere.kennel", "w") as f:
        f.write(server("own"))
    r = run([KENNEL, "policy", "check", f.name], env=p.env)
    absent("too", r.stderr.decode(), "a file that no start by name finds")
    os.rename(p.path("b"), p.home + "/b")
    absent("too", run([KENNEL, "policy", "check", p.path("a")], env=p.env).stderr.decode(), "control: one file")
    p.write("b", "server own {\n    run\n")
    said = p.refused(65)
    for part in "a.kennel", "b.kennel has errors", "kennel policy check":
        within(part, said)
    # the name of another server that contains this one's, and a reference in a broken file
    p.write("b", "server own-er {\n    run\n")
    p.works()
    p.write("b", "server owner {\n    run\n}\nexpect own {\n")
    within("b.kennel has errors", p.refused(65))


@test("two files that define a server: check --all, doctor and serve name file and line of both, and which one holds")
def both_places():
    p = Place("places", a="# one\n" + server("own"), b=server("other") + server("own"))
    n = open(p.path("b")).read().split("\n").index("server own {") + 1
    neither = "%s:%d: error: duplicate server `own`; first defined at %s:2, and a start uses neither: remove one of them\n" \
        % (p.path("b"), n, p.path("a"))
    said = kennel(p, "policy", "check", "--all", status=65)
    within(neither, said)
    within("2 policies checked, 1 error, 0 warnings\n", said)
    within(neither.strip(), kennel(p, "doctor", status=None))
    within(neither.replace(": error: ", ": ").strip(), p.served())
    absent("duplicate", p.served("other"), "of another server")
    # a text that is not what the sealed file was compiled from, nor beside it
    os.rename(p.path("a"), p.home + "/a.kennel")
    kennel(p, "policy", "compile", p.home + "/a.kennel")
    sealed = p.home + "/sealed/own.sealed"
    os.rename(p.path("b"), p.path("x"))
    holds = "%s:%d: warning: duplicate server `own`; first defined at %s, which holds: remove one of them\n" % (p.path("x"), n, sealed)
    said = kennel(p, "policy", "check", "--all")
    within(holds, said)
    within("0 errors, 1 warning\n", said)
    within(holds.replace(": warning: ", ": ").strip(), p.served())
    p.works()
    # the text that it was compiled from is no duplicate, under whichever name
    p.write("x", server("other"))
    os.rename(p.home + "/a.kennel", p.path("y"))
    kennel(p, "policy", "compile", p.path("y"))
    absent("duplicate", kennel(p, "policy", "check", "--all") + p.served(), "the control")
    # of files that were given the first holds; the line is that of the include
    p.write("c", "# three\n\ninclude \"%s\"\n" % p.path("x"))
    within("%s:3: duplicate server `other`; first defined at %s:1, which holds: remove one of them" % (p.path("c"), p.path("x")),
           p.served("--policy", p.path("x"), "--policy", p.path("c")))
    absent("duplicate", p.served("--policy", p.path("x"), "--policy", p.path("x")), "the same file")


@test("a policy whose program is missing has no score, and that is not a success")
def absent_program():
    p = Place("absent", a=server("own"))
    within(" own ", kennel(p, "policy", "score", "--all"))  # the control
    p.write("b", "server gone {\n    run /opt/no-such-program\n}\n")
    said = kennel(p, "policy", "score", "--all", status=65)
    within("b.kennel: it cannot be used: `kennel policy check` says why", said)
    within(" own ", said)
    kennel(p, "list", status=65)
    # what others include defines no server, so nothing is missing
    p.write("b", "block shared {\n    read /usr/share\n}\n")
    kennel(p, "policy", "score", "--all")
    kennel(p, "list")


@test("a server that an included file defines counts")
def included():
    p = Place("included", a="include \"lib/own.txt\"\n", b=server("own"))
    os.mkdir(p.home + "/policies/lib", 0o700)
    with open(p.home + "/policies/lib/own.txt", "w") as f:
        f.write(server("own"))
    os.chmod(f.name, 0o600)
    within("both define server own", p.refused(78))
    os.unlink(p.path("b"))
    p.works()


@test("policies that others may write, or own, are not used: neither a file nor their directory")
def others_may_write():
    p = Place("writable", own=server("own"))
    p.works()
    os.chmod(p.home + "/policies", 0o777)
    for said in (p.refused(78), kennel(p, "policy", "check", "--all", status=65)):
        within("chmod o-w", said)
    os.chmod(p.home + "/policies", 0o700)
    p.works()
    if AS != "root":
        skip("another user's file needs root")
    for path in (p.path("own"), p.home + "/policies"):
        os.chown(path, UID, UID)
        within("another user's", p.refused(78))
        within("another user's", kennel(p, "policy", "check", "--all", status=65))
        os.chown(path, 0, 0)
    p.works()
    os.chown(p.path("own"), UID, UID)
    s = Mcp([KENNEL, "run", "own", "--policy", p.path("own")], env=p.env)
    s.initialize()  # the caller names it
    s.close()


@test("a misspelt server: the one that is meant is named, in run and in serve")
def misspelt():
    p = Place("misspelt", files=server("files"))
    within("did you mean `files`? `kennel list` shows all", p.refused(78, "filse"))
    for words in (["filse"], ["files", "filse"]):
        s = Mcp([KENNEL, "serve"] + words, env=p.env)
        within("did you mean `files`?", s.request("initialize")["error"]["message"], words)
        equal(s.p.wait(20), 78, words)
        within("did you mean `files`? `kennel list` shows all", s.stderr())
        within("no server is served: correct or remove the argument `filse`", s.stderr())
    s = Mcp([KENNEL, "serve", "files"], env=p.env)
    s.initialize()
    s.request("tools/list")
    s.close()
    equal(s.stderr(), "", "the control")


@test("a misspelt server or file, in the commands that take one: each names the one that is meant")
def misspelt_elsewhere():
    p = Place("misspelt-all", files=server("files"))
    path, wrong = p.path("files"), p.path("filse")
    for words, status, told in (
            (["policy", "explain", path, "filse", "read", "/etc/hosts"], 69, "no server `filse`: did you mean `files`?"),
            (["policy", "explain", wrong, "files", "read", "/etc/hosts"], 69, "did you mean `%s`?" % path),
            (["policy", "show", path, "filse"], 69, "no server `filse`: did you mean `files`?"),
            (["policy", "score", "filse"], 69, "did you mean `%s`?" % path),
            (["policy", "show", "files"], 69, "did you mean `%s`?" % path),
            (["run", "filse", "--policy", path], 78, "the policy %s defines no server filse: did you mean `files`?" % path),
            (["serve", "filse", "--policy", path], 78, "defines no server filse: did you mean `files`?"),
            (["server", "login", "filse"], 78, "unable to log in to filse: no policy for server filse"),
            (["learn", "filse"], 78, "did you mean `files`?")):
        within(told, kennel(p, *words, status=status), words)
    said = kennel(p, "policy", "show", path, "zebra", status=69)
    within("`kennel policy show %s` lists its servers" % path, said)
    equal("did you mean" in said, False, "nothing is near")
    equal("did you mean" in kennel(p, "policy", "show", "zebra", status=69), False, "nothing is near")
    p.works("files")
    within("no record of `flies`: did you mean `files`?", kennel(p, "learn", "--from-log", "flies"))
    equal("did you mean" in kennel(p, "learn", "--from-log", "files"), False, "the control")


@test("on a terminal, run and serve say who is expected there, and nothing elsewhere")
def by_hand():
    import pty
    p = Place("hand", own=server("own"))
    for words in (["run", "own"], ["serve"]):
        master, slave = pty.openpty()
        q = start([KENNEL] + words, stdin=slave, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(p.env))
        os.close(slave)
        within(b"this speaks MCP (JSON-RPC) with an agent", q.stderr.readline())
        os.close(master)
        q.wait(20)
        q.stderr.close()
    equal(p.works(), "")


@test("a server without a policy: the error says how to draft one")
def missing():
    p = Place("missing", own=server("own"))
    within("no policy for server nowhere in", p.refused(78, "nowhere"))
    within("`kennel init nowhere", p.refused(78, "nowhere"))


def kennel(p, *words, status=0, cwd=None, **more):
    r = run([KENNEL] + list(words), env={**p.env, **more}, cwd=cwd)
    if status is not None:
        equal(r.returncode, status, r.stdout + r.stderr)
    return r.stdout.decode() + r.stderr.decode()


STALE = ("not compiled from what ", " contains now: run `kennel policy compile ")


def stale(p, path):
    """A start, check --all and doctor say that this file has changed."""
    for said in (p.refused(78), kennel(p, "policy", "check", "--all", status=65), kennel(p, "doctor", status=None)):
        for part in STALE[0] + path + STALE[1] + p.path("own"), "sealed/own.sealed":
            within(part, said)


def current(p):
    p.works()
    check(STALE[0] not in kennel(p, "policy", "check", "--all") + kennel(p, "doctor", status=None))


@test("a sealed file whose text has changed is refused, with the command that compiles it; nothing is compiled for that")
def changed():
    p = Place("changed", own=server("own"))
    kennel(p, "policy", "compile", "own.kennel", cwd=p.home + "/policies")
    current(p)
    check("sealed" not in kennel(p, "policy", "check", p.path("own")))
    p.write("own", server("own", "    tool deny other\n"))
    stale(p, p.path("own"))
    within("`kennel run own` uses %s/sealed/own.sealed, which was not compiled from this text" % p.home,
           kennel(p, "policy", "check", p.path("own")))
    kennel(p, "policy", "compile", p.path("own"))
    current(p)
    # an error in the text: the sealed file is not what the text says now, and the text is not compiled
    p.write("own", "server own {\n")
    stale(p, p.path("own"))
    os.unlink(p.path("own"))
    current(p)


@test("... also a file that it includes, its pins, and a text that another sealed file hides")
def parts():
    p = Place("parts", own="include \"more.txt\"\n" + server("own"))
    more, pins = p.home + "/policies/more.txt", p.home + "/own.pins"
    with open(more, "w") as f:
        f.write("let a = /usr/lib\n")
    os.chmod(more, 0o600)
    kennel(p, "policy", "compile", p.path("own"))
    current(p)
    with open(more, "a") as f:
        f.write("# changed\n")
    stale(p, more)
    kennel(p, "policy", "compile", p.path("own"))
    kennel(p, "server", "pin", "own", "-o", pins)
    p.write("own", server("own", "    pins \"%s\"\n" % pins))
    kennel(p, "policy", "compile", p.path("own"))
    current(p)
    with open(pins, "a") as f:
        f.write("\n")
    stale(p, pins)

    p = Place("hides")
    with open(p.home + "/draft.kennel", "w") as f:
        f.write(server("own"))
    os.chmod(f.name, 0o600)
    kennel(p, "policy", "compile", f.name)
    current(p)
    p.write("own", server("other"))
    current(p)
    p.write("own", server("own", "    tool deny other\n"))
    within(STALE[0] + p.path("own"), p.refused(78))
    p.write("own", server("own"))
    current(p)


@test("a sealed file of another user is in force whatever a text contains: a warning")
def others_file():
    if AS != "root":
        skip("another user's file needs root")
    p = Place("theirs", own=server("own"))
    kennel(p, "policy", "compile", p.path("own"))
    sealed = p.home + "/sealed/own.sealed"
    p.write("own", server("own", "    tool deny other\n"))
    p.refused(78)
    os.chown(sealed, 0, 0)
    os.chown(p.path("own"), UID, UID)
    said = p.works()
    within(STALE[0] + p.path("own"), said)
    within("warning: " + STALE[0], kennel(p, "policy", "check", "--all", status=65))


@test("kennel list has each server with the policy that it starts with, also where files have errors")
def listed():
    p = Place("listed", own=server("own", "    secret A from env A\n    secret B from env B\n"), two=server("one") + server("two"),
              bad="server bad {\n    reed x\n}\n", worse="}{\n", missing="server missing {\n    run /no/program\n}\n")

    def rows(status):
        return {r["name"]: r for r in json.loads(run_list(status, "--json"))}

    def run_list(status, *more):
        r = run([KENNEL, "list"] + list(more), env=p.env)
        equal(r.returncode, status, r.stderr)
        return r.stdout.decode()
    got = rows(65)
    equal(sorted(got), ["bad", "missing", "one", "own", "two"])
    own = got["own"]
    equal((own["source"], own["pinned"], own["status"], own["reason"], len(own["policy"])), ("policy", False, "disconnected", None, 64))
    equal((got["bad"]["status"], got["bad"]["reason"], got["missing"]["reason"]), ("error", "policy-error", "policy-error"))
    within("1 warning: `kennel policy check %s`" % p.path("missing"), got["missing"]["detail"])
    text = run_list(65)
    within("2 (env)", text)
    within("kennel policy check %s" % p.path("bad"), text)
    within("kennel policy check %s" % p.path("worse"), text)
    for name in "bad", "worse", "missing":
        os.unlink(p.path(name))
    kennel(p, "policy", "compile", p.path("own"))
    equal(rows(0)["own"]["reason"], None)
    text = run_list(0)
    within("not used: the policy above is", text)
    equal([line.split()[2] for line in text.splitlines() if line.startswith("own ")], ["sealed", "text"])
    p.write("own", server("own", "    tool deny x\n"))
    equal(rows(0)["own"]["reason"], "policy-error")
    within("stale", run_list(0))
    p.write("copy", server("one"))
    got = rows(65)
    equal((sorted(got), got["one"]["status"], got["one"]["reason"]), (["one", "own", "two"], "error", "policy-error"))
    text = run_list(65)
    equal((text.count("error: a policy above defines the server too"), text.count("not used")), (1, 1), text)
    empty = Place("listed-none")
    within("`kennel init NAME", kennel(empty, "list"))
    equal(kennel(empty, "list", "--json").strip(), "[]")


if __name__ == "__main__":
    main()
