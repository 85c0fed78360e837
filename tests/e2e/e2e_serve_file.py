"""kennel serve asks a person about a project's mcp-servers.json that no person has approved."""
import errno
import hashlib
import json
import os
import socket
import sqlite3
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403

TEXT = {"mcpServers": {"mine": {"command": "/bin/cat", "args": ["-n", "a b"], "env": {"LEVEL": "low"}},
                       "far": {"url": "https://h.example/mcp", "enabled": False}}}
ROWS = [{"name": "far", "url": "https://h.example/mcp", "enabled": False},
        {"name": "mine", "argv": ["/bin/cat", "-n", "a b"], "env": {"LEVEL": "low"}}]
WITHIN = "import os,sys; os.chdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"
be_subreaper()


class Place:
    """A project with a file, a home, and sessions in it."""

    def __init__(self, name, text=None):
        self.dir = "%s/file-%s" % (TMP, name)
        self.file = self.dir + "/mcp-servers.json"
        self.env = {"KENNEL_HOME": self.dir + "/home"}
        os.makedirs(self.dir + "/home", mode=0o700)
        self.write(json.dumps(TEXT) if text is None else text)

    def write(self, text):
        with open(self.file, "w") as f:
            f.write(text)
        os.chmod(self.file, 0o644)

    def hub(self, *args):
        path = policies(server("one"))
        h = Hub(env=self.env, command=["/usr/bin/python3", "-c", WITHIN, self.dir, KENNEL, "serve", "--policy", path] + list(args))
        equal(h.query("one", "echo", arguments={"text": "x"})["state"], "ok")
        return h

    def approve(self, *words_):
        r = run([KENNEL, "approve"] + list(words_), env=self.env, cwd=self.dir)
        return r.returncode, r.stdout.decode(), r.stderr.decode()

    def questions(self):
        got = []
        check(wait_for(lambda: got.clear() or got.extend(self.approve("list", "--json")) or got[0] == 0, LONG) is not None, got)
        return [json.loads(line) for line in got[1].splitlines()]

    def question(self, n=1):
        got = []
        wait_for(lambda: got.clear() or got.extend(self.questions()) or len(got) == n, LONG)
        equal(len(got), n, got)
        return got[0] if n == 1 else got

    def trusted(self):
        try:
            with sqlite3.connect("file:%s/home/registry/registry.db?mode=ro" % self.dir, uri=True) as db:
                return [row[0] for row in db.execute("SELECT sha256 FROM trusted_files")]
        except sqlite3.OperationalError:
            return []

    def sha256(self):
        return hashlib.sha256(reads(self.file)).hexdigest()

    def records(self):
        return [e["fields"] for e in audit(env=self.env) if e["kind"] == "approve"]

    def outcomes(self, n):
        """Of all records, once there are so many."""
        wait_for(lambda: len(self.records()) >= n, LONG)
        return [(e["verdict"], e["outcome"], e.get("channel")) for e in self.records()]

    def trust(self, sha256):
        return run([KENNEL, "server", "trust", self.file, "--sha256", sha256], env=self.env)

    def say(self, h, packet):
        """Sends what a process of the same user may send to the session: the errno of TAKEN."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as c:
            c.settimeout(LONG)
            c.connect("%s/run/ask-%d" % (self.env["KENNEL_HOME"], h.p.pid))
            c.send(packet)
            taken, error = struct.unpack("<II", c.recv(100))
        equal(taken, 6)
        return error

    def saved(self, h, what):
        return self.say(h, struct.pack("<II", 10, len(what)) + what.encode() + b"\0")


def known(h, name):
    """The state of a call of this server: `error` if there is no such server, `denied` if no policy grants it."""
    return h.query(name, "echo")["state"]


@test("PEOPLE 5 HUB 5 S2-40 C34 a file that no person has approved is asked about: path, digest, servers and commands; "
      "accepting stores what `kennel server trust` does, and its servers are known without a restart", 120)
def accepted():
    p = Place("yes")
    h = p.hub()
    h.ask("tools/list")
    q = p.question()
    equal((q["kind"], q["subject"], q["server"], q["request"], q["factor"], q["whole"]),
          ("file", p.file, "kennel serve", None, None, True))
    check(290000 < q["left_ms"] <= 300000, q["left_ms"])
    # one advice about the file; a command that asks no person has the other
    said = [line for line in h.stderr().splitlines() if p.file in line]
    equal(len(said), 1, said)
    within("answer with `kennel approve allow %s`" % q["id"], said[0])
    listed = run(["/usr/bin/python3", "-c", WITHIN, p.dir, KENNEL, "server", "list"], env=p.env).stderr.decode()
    within("kennel server trust %s --sha256 %s" % (p.file, p.sha256()), listed)
    detail = json.loads(q["detail"])
    equal(list(detail), ["sha256", "changed", "effect", "servers"])
    equal((detail["sha256"], detail["changed"], detail["servers"]), (p.sha256(), False, ROWS))
    for name in ("mine", "far"):
        equal(h.query(name, "echo")["detail"], 'no registered MCP server named "%s"' % name, "it is not used before that")
    equal(p.trusted(), [])
    code, out, err = p.approve("allow", q["id"], "--session")
    equal(code, 64, err)
    r = run([KENNEL, "approve", "allow", "--stdin"], stdin=json.dumps(q), env=p.env, cwd=p.dir)
    equal((r.returncode, p.trusted()), (64, []), r.stderr)
    within("--stdin accepts only proposals for a manifest", r.stderr.decode())
    code, out, err = p.approve("allow", q["id"])
    equal((code, out.splitlines()), (0, ["approved %s with SHA-256 %s: 2 servers" % (p.file, p.sha256()), "  far", "  mine"]), err)
    equal(p.trusted(), [p.sha256()])
    h.until("notifications/tools/list_changed", LONG)
    h.ask("tools/list")
    equal((known(h, "mine"), known(h, "none")), ("denied", "error"), "a row gives no authority")
    live = {r["name"]: r for r in json.loads(run([KENNEL, "ps", "--json"], env=p.env).stdout)[0]["servers"]}
    equal((sorted(live), live["far"]["reason"]), (["far", "mine", "one"], "disabled"))
    equal(h.structured("tool_describe", name="mine")["reason"], "no-policy")
    equal(h.said("one.echo", text="y"), "one: y")
    equal(p.questions(), [])
    h.close()
    asked, reported, yes = p.records()
    equal((asked["verdict"], asked["outcome"], asked["method"], asked["name"]), ("ask", "asked", "file", [p.file]))
    equal((yes["verdict"], yes["outcome"], yes["method"], yes["name"], yes["channel"]), ("allow", "ok", "file", [p.file], "command"))
    within("uid %d" % os.geteuid(), yes["approver"])
    equal((reported["verdict"], reported["outcome"], reported["approver"]), ("ask", "reported", yes["approver"]))
    equal((asked["sha256"], asked["sha256"]), (reported["sha256"], yes["sha256"]))
    trust = [e["fields"] for e in audit(env=p.env) if e["kind"] == "registry"]
    equal([(e["action"], e["name"], e["outcome"], e["source"]) for e in trust],
          [("trust", [p.sha256()], how, "person") for how in ("asked", "done")], "as kennel server trust records it")
    h = p.hub()
    equal((known(h, "mine"), p.questions()), ("denied", []), "the next session does not ask")
    h.close()


@test("a file that is closed stays untrusted, and is not asked about again in this session; other contents are, as changed ones "
      "after an approval", 120)
def declined():
    p = Place("no")
    h = p.hub()
    q = p.question()
    equal(p.approve("deny", q["id"])[0], 0)
    equal((p.trusted(), known(h, "mine")), ([], "error"))
    equal(run([KENNEL, "server", "restart", "one"], env=p.env).returncode, 0)
    equal(h.said("one.echo", seconds=LONG, text="x"), "one: x")
    equal(p.questions(), [], "the same contents")
    p.write(json.dumps({"mcpServers": {"other": {"command": "/bin/true"}}}))
    equal(run([KENNEL, "server", "restart", "one"], env=p.env).returncode, 0)
    q = p.question()
    equal([s["name"] for s in json.loads(q["detail"])["servers"]], ["other"])
    equal(p.approve("allow", q["id"])[0], 0)
    check(wait_for(lambda: known(h, "other") == "denied", LONG) is not None)
    # a change of what was approved is asked about, and what was approved is not used any more
    p.write(json.dumps({"mcpServers": {"third": {"command": "/bin/true"}}}))
    equal(run([KENNEL, "server", "restart", "one"], env=p.env).returncode, 0)
    equal(json.loads(p.question()["detail"])["changed"], True)
    equal(known(h, "third"), "error")
    h.close()
    equal([(e["outcome"], e.get("channel")) for e in p.records()],
          [("asked", None), ("cancelled", "command"), ("asked", None), ("reported", "command"), ("ok", "command"), ("asked", None),
           ("withdrawn", None)])


@test("what is approved is what was shown: a file that changed since is asked about again; a false `ok` approves nothing; a link, "
      "an invalid and a cut file are not approved", 120)
def exact():
    p = Place("exact")
    h = p.hub()
    q = p.question()
    p.write(json.dumps({"mcpServers": {"evil": {"command": "/bin/true"}}}))
    code, out, err = p.approve("allow", q["id"])
    check(code not in (0, 64), code)
    within("the file has changed since " + q["id"], err)
    equal(p.trusted(), [])
    q2 = p.question()
    equal([s["name"] for s in json.loads(q2["detail"])["servers"]], ["evil"])
    # a process of the same user reports what it has not done
    number = int(q2["id"].split("-")[1].split(":")[0])
    equal(p.say(h, struct.pack("<IIIII", 2, number, 6, 0, 32) + bytes.fromhex(q2["sha256"]) + b"\0"), 0)
    equal(p.questions(), [])
    equal(p.outcomes(5)[2:], [("ask", "asked", None), ("ask", "reported", None), ("deny", "failed", None)], "nobody allowed it")
    h.ask("tools/list")
    equal((p.trusted(), known(h, "evil")), ([], "error"), "the registry decides")
    h.close()
    os.unlink(p.file)
    os.symlink("/etc/passwd", p.file)
    h = p.hub()
    equal(p.questions(), [])
    h.close()
    os.unlink(p.file)
    p.write("{")
    h = p.hub()
    equal(p.questions(), [])
    within("mcp-servers.json:1:", h.stderr())
    h.close()
    p.write(json.dumps({"mcpServers": {"s%03d" % i: {"command": "/bin/" + "x" * 900} for i in range(40)}}))
    h = p.hub()
    q = p.question()
    equal(q["whole"], False)
    for more in ([], ["--unseen"]):
        code, out, err = p.approve("allow", q["id"], *more)
        check(code not in (0, 64), code)
        within("kennel server trust %s --sha256 %s" % (p.file, p.sha256()), err)
    equal(p.trusted(), [])
    # the way that the message names: it ends the question, too
    equal(p.trust(p.sha256()).returncode, 0)
    check(wait_for(lambda: known(h, "s001") == "denied", LONG) is not None)
    equal(p.questions(), [])
    h.close()


@test("the log says that contents were allowed only if the registry has their approval: not after the file was swapped and others were "
      "approved, and not because a process says so; the control, the approval of those contents, is recorded", 120)
def recorded():
    p = Place("swapped")
    h = p.hub()
    q = p.question()
    reviewed, text = p.sha256(), reads(p.file).decode()
    p.write(json.dumps({"mcpServers": {"evil": {"command": "/bin/true"}}}))
    equal(p.trust(reviewed).returncode, 65, "what was reviewed is not there any more")
    equal(p.trust(p.sha256()).returncode, 0)
    equal((p.trusted(), p.question()["id"]), ([p.sha256()], q["id"]), "other contents than those of the question")
    equal((p.saved(h, p.file), p.saved(h, p.sha256())), (errno.ENOENT, errno.ENOENT))
    equal(p.outcomes(1), [("ask", "asked", None)])
    p.write(text)
    equal(p.trust(reviewed).returncode, 0)
    equal(p.outcomes(3)[1:], [("ask", "reported", "command"), ("allow", "ok", "command")])
    check(wait_for(lambda: known(h, "mine") == "denied", LONG) is not None)
    h.close()
    p = Place("said")
    h = p.hub()
    p.question()
    equal(p.saved(h, p.sha256()), 0)
    equal(p.outcomes(3)[1:], [("ask", "reported", None), ("deny", "failed", None)])
    equal((p.trusted(), p.questions(), known(h, "mine")), ([], [], "error"))
    within("an approval that the registry does not have", h.stderr())
    h.close()


@test("server trust on a terminal shows the servers, inert, and approves them after a yes", 90)
def typed():
    p = Place("typed", json.dumps({"mcpServers": {"x": {"command": "/bin/x\u001b[2J\u202e", "args": ["-n"]}}}))
    for answer, status in (("", 125), ("n", 125), ("y", 0)):
        equal(p.trusted(), [])
        t = Typist([KENNEL, "server", "trust", p.file], p.env)
        t.until("Approve these contents?")
        for text in (p.sha256(), p.file, '"name":"x"', "/bin/x", '"-n"'):
            within(text, t.out)
        absent("\x1b", t.out)
        absent("\u202e", t.out)
        os.write(t.master, answer.encode() + b"\n")
        equal(t.done(), status, t.out)
    equal(p.trusted(), [p.sha256()])


@test("text of the file is inert in every list, and a literal secret of it reaches neither a person's screen nor the log", 90)
def inert():
    p = Place("inert", json.dumps({"mcpServers": {
        "x": {"command": "/bin/x\u001b[2J\u202e", "args": ["--token", VALUE], "env": {"GITHUB_TOKEN": VALUE, "N": {"vault": "a/b/c"}}}}}))
    h = p.hub()
    q = p.question()
    shown = json.loads(q["detail"])["servers"][0]
    equal((shown["argv"], shown["env"], shown["enabled"], shown["reason"]),
          (["/bin/x\x1b[2J\u202e", "--token"], {"N": {"vault": "a/b/c"}}, False, "literal-secret"))
    listed = p.approve("list")[1]
    absent("\x1b", listed)
    absent("\u202e", listed)
    within("asks for the file " + p.file, listed)
    absent(VALUE, listed + q["detail"] + h.stderr())
    equal(p.approve("allow", q["id"])[0], 0)
    h.close()
    absent(VALUE, json.dumps(audit(env=p.env)))


@test("the full-screen list shows it, and `o` accepts it", 120)
def screen():
    p = Place("screen")
    h = p.hub()
    q = p.question()
    t = Typist([KENNEL, "approve", "watch"], dict(p.env, TERM="xterm", LINES="40", COLUMNS="220"))
    t.until(p.file)
    t.out = ""
    os.write(t.master, b"\r")
    t.until("accept")
    within("/bin/cat", t.out)
    within(p.sha256(), t.out)
    os.write(t.master, b"o")
    t.until("Press Enter to go back")
    os.write(t.master, b"\r")
    check(wait_for(lambda: known(h, "mine") == "denied", LONG) is not None)
    equal(p.trusted(), [p.sha256()])
    os.write(t.master, b"q")
    t.done()
    h.close()
    equal(p.outcomes(3), [("ask", "asked", None), ("ask", "reported", "terminal"), ("allow", "ok", "terminal")])


@test("one session after the other: each asks, also while the recorder of the last one ends", 120)
def in_a_row():
    p = Place("row")
    for i in range(16):
        p.write(json.dumps({"mcpServers": {"s%d" % i: {"command": "/bin/true"}}}))
        h = p.hub()
        equal([s["name"] for s in json.loads(p.question()["detail"])["servers"]], ["s%d" % i])
        h.close()


@test("kennel run --secrets-tools uses no such file, and asks about none; the control, kennel serve, asks", 90)
def single():
    p = Place("single")
    path = policies(server("one"))
    h = Hub(env=p.env, command=["/usr/bin/python3", "-c", WITHIN, p.dir, KENNEL, "run", path, "--secrets-tools"])
    h.ask("tools/list")
    equal(p.questions(), [])
    h.close()
    h = p.hub()
    p.question()
    h.close()


main()
