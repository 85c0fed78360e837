"""Which servers there are: kennel list, the verbs of kennel server, mcp-servers.json, and their records."""
import hashlib
import json
import os
import sqlite3
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from console_kit import Terminal  # noqa: E402

KEYS = ("id name transport command args env url headers enabled scope source status discovery_status reason detail tools "
        "pinned policy protocol restarts created_gen updated_gen").split()
SECRET = "hunter2-is-no-secret-anywhere"


class Home:
    """A user's directories, and a project to stand in."""

    def __init__(self, name, **policies):
        self.home = "%s/%s" % (TMP, name)
        self.project = self.home + "-project"
        os.makedirs(self.home + "/policies", mode=0o700)
        os.mkdir(self.project)
        self.env = {"KENNEL_HOME": self.home}
        for file, text in policies.items():
            with open("%s/policies/%s.kennel" % (self.home, file), "w") as f:
                f.write(text)

    def __call__(self, *words, status=0):
        r = run([KENNEL] + list(words), env=self.env, cwd=self.project)
        equal(r.returncode, status, "%s: %s" % (words, r.stdout + r.stderr))
        self.err = r.stderr.decode()
        return r.stdout.decode()

    def rows(self, status=0):
        return {r["name"]: r for r in json.loads(self("server", "list", "--json", status=status))}

    def records(self):
        return [e.get("fields", e) for e in audit(env=self.env) if e["kind"] == "registry"]


def policy_of(name, command, more=""):
    return "server %s {\n    run %s\n%s}\n" % (name, command, more)


@test("S2-05 S2-38 S2-39 S2-09 S2-10 S2-11 S2-12 S2-13 S2-14 S2-17 S2-18 S2-22 S3-22 a server is added, listed with exactly these members, "
      "and replaced")
def added():
    h = Home("added")
    within("added files", h("server", "add", "files", "--env", "LOG=debug", "--env", "T=vault:team/x/token", "--note", "my files",
                            "--", "/bin/cat", "-u", "a b"))
    text = h("server", "list", "--json")
    equal(h("list", "--json"), text, "kennel list is kennel server list")
    row = json.loads(text)[0]
    equal(list(row), KEYS)
    equal({k: row[k] for k in KEYS[:12]}, {
        "id": "%d:files" % os.getuid(), "name": "files", "transport": "stdio", "command": "/bin/cat", "args": ["-u", "a b"],
        "env": {"LOG": "debug", "T": {"vault": "team/x/token"}}, "url": None, "headers": None, "enabled": True, "scope": "user",
        "source": "person", "status": "disconnected"})
    equal([row[k] for k in KEYS[12:]], ["pending", "no-policy", row["detail"], 0, False, None, None, 0, 1, 1])
    within("kennel init files", row["detail"])
    within("replaced files", h("server", "add", "files", "--", "/bin/cat"))
    row = h.rows()["files"]
    equal((row["args"], row["env"], row["created_gen"], row["updated_gen"]), ([], None, 1, 2))
    equal(json.loads(h("server", "show", "files", "--json"))["tool_list"], [])
    within("/bin/cat", h("server", "show", "files"))
    other = Home("added-other")
    equal(other("list", "--json").strip(), "[]", "another user has another registry")
    other("server", "add", "files", "--", "/bin/ls")
    equal([(n, r["command"]) for n, r in other.rows().items()], [("files", "/bin/ls")], "a name is unique for its user")
    equal([(n, r["command"]) for n, r in h.rows().items()], [("files", "/bin/cat")])


@test("S2-53 server add --json reads a server from standard input; --connect starts it once in its cell and lists its tools", 90)
def connected():
    h = Home("connected", far=policy_of("far", TOY, "    tool allow echo\n"), ends=policy_of("ends", "/bin/true"))

    def add(*words, stdin=b"", status=0):
        r = run([KENNEL, "server", "add", *words], env=h.env, cwd=h.project, stdin=stdin)
        equal(r.returncode, status, r.stdout + r.stderr)
        return r.stdout.decode() + r.stderr.decode()

    text = add("--connect", "far", "--", TOY)
    check(re.search("added far\nconnected: [1-9][0-9]* tools\n", text), text)
    tools = json.loads(h("server", "show", "far", "--json"))["tool_list"]
    equal((h.rows()["far"]["discovery_status"], [t["verdict"] for t in tools if t["name"] == "echo"]), ("connected", ["allow"]))
    within("unreachable: ", add("--connect", "ends", "--", "/bin/true", status=1))
    equal(h.rows()["ends"]["discovery_status"], "unreachable")
    within("it does not start yet: no policy", add("--connect", "none", "--", "/bin/true", status=1))
    within("added none2", add("none2", "--", "/bin/true"), "without --connect nothing is tried")
    got = json.loads(add("--json", stdin=json.dumps({"name": "j", "transport": "stdio", "command": "/bin/cat"})))
    equal((got["connection"], got["server"]["reason"], got["replaced"]), (None, "no-policy", False))
    within('"field":"command"', add("--json", stdin='{"name":"j","transport":"stdio"}', status=65))
    within("no other argument than --connect", add("--json", "name", "--", "/bin/cat", stdin="{}", status=64))
    within('"field":null', add("--json", stdin="[" * 70000, status=65), "too large")
    # what a word after -- looks like is the server's
    within("added j2", add("j2", "--", "/bin/cat", "--json", "--connect"))
    equal(h.rows()["j2"]["args"], ["--json", "--connect"])
    outcomes = [(r["action"], r.get("name"), r["outcome"]) for r in h.records()]
    check(("add", ["far"], "done") in outcomes and ("add", None, "refused") in outcomes, outcomes)


@test("S2-36 C34 what is stored of a server: these columns, lists as JSON, references in place of values", 60)
def columns():
    h = Home("columns")
    before = int(time.time())
    h("server", "add", "x", "--env", "T=vault:team/x/token", "--", "/bin/cat", "-u", "a b")
    h("server", "add", "far", "--url", "https://h/mcp", "--auth", "bearer", "--auth-ref", "vault:team/r/token")
    path = next(d + "/registry.db" for d, _, files in os.walk(h.home) if "registry.db" in files)
    db = sqlite3.connect(path)
    sql = "SELECT name, transport_type, command, args_json, env_json, url, headers_json, enabled FROM servers ORDER BY name DESC"
    x, far = db.execute(sql).fetchall()
    equal((x[:3], json.loads(x[3]), json.loads(x[4]), x[5:]),
          (("x", "stdio", "/bin/cat"), ["-u", "a b"], {"T": {"vault": "team/x/token"}}, (None, None, 1)))
    equal((far[:3], far[5], far[7]), (("far", "http", None), "https://h/mcp", 1))
    created, updated = db.execute("SELECT created_at, updated_at FROM servers WHERE name = 'x'").fetchone()
    check(before <= created <= updated <= time.time(), (created, updated))
    db.close()
    equal(h.rows()["x"]["id"], "%d:x" % os.getuid(), "the user, and the name")


@test("S2-15 S2-16 S3-19 S3-27 a remote server is an URL, headers and a reference to its credential")
def remote():
    h = Home("remote")
    h("server", "add", "r", "--url", "https://mcp.example/mcp", "--auth", "bearer", "--auth-ref", "vault:team/r/token")
    row = h.rows()["r"]
    equal((row["transport"], row["url"], row["command"]), ("http", "https://mcp.example/mcp", None))
    dump = json.loads(h("server", "export"))
    server = dump["mcp_servers"][0]
    equal((server["auth_type"], server["auth"]), ("bearer", {"vault": "team/r/token"}))
    server["headers"] = {"X-Org": "kennel"}
    with open(h.home + "/dump", "w") as f:
        json.dump(dump, f)
    h("server", "import", h.home + "/dump")
    equal(h.rows()["r"]["headers"], {"X-Org": "kennel"})
    for wrong in (("--auth", "basic", "--auth-ref", "vault:a/b/c"), ("--auth", "bearer"), ("--auth-ref", "vault:a/b/c"),
                  ("--auth", "bearer", "--auth-ref", "plain")):
        h("server", "add", "w", "--url", "https://h/", *wrong, status=65)
    equal(sorted(h.rows()), ["r"])


@test("S3-20 S3-39 every server can be disabled and enabled, one of a policy too; what a policy defines is not removed", 90)
def enabled():
    h = Home("enabled", p=policy_of("p", "/bin/cat"))
    h("server", "add", "mine", "--", "/bin/cat")
    for name in ("p", "mine"):
        equal(h.rows()[name]["enabled"], True)
        h("server", "disable", name)
        row = h.rows()[name]
        equal((row["enabled"], row["reason"]), (False, "disabled"))
    h("server", "add", "mine", "--", "/bin/cat", "-u")
    equal(h.rows()["mine"]["enabled"], False, "to replace it does not enable it")
    h("server", "enable", "p")
    equal((h.rows()["p"]["enabled"], h.rows()["p"]["reason"]), (True, None))
    h("server", "remove", "p", status=64)
    within(h.home + "/policies/p.kennel", h.err)
    h("server", "remove", "mine")
    equal(sorted(h.rows()), ["p"])
    h("server", "remove", "mine", status=65)
    h("server", "enable", "none", status=65)


@test("S4-21 a row widens nothing: a command that its policy does not grant is named, and the server starts as the policy says", 90)
def no_authority():
    h = Home("authority", x=policy_of("x", "/bin/cat", '    exec allow /bin/echo good **\n    exec ask /bin/ls **\n'))
    for argv, reason in ((["/usr/bin/id"], "argv-not-granted"), (["/bin/echo", "bad"], "argv-not-granted"),
                         (["/bin/echo", "good", "x"], None), (["/bin/ls", "/"], None), (["/bin/cat"], None)):
        h("server", "add", "x", "--", *argv)
        row = h.rows()["x"]
        equal((row["reason"], row["command"]), (reason, argv[0]))
    h("server", "add", "x", "--", "/usr/bin/id")
    equal(h.rows()["x"]["detail"], 'denied: exec of "/usr/bin/id" is not within the granted authority')
    within("x: argv-not-granted", h("server", "check", status=65))
    r = run([KENNEL, "exec", "x", "--", "/usr/bin/id"], env=h.env)
    equal((r.returncode, r.stdout), (126, b""), r.stderr)
    r = run([KENNEL, "exec", "x", "--", "/bin/echo", "good"], env=h.env)
    equal((r.returncode, r.stdout), (0, b"good\n"), "the control: %s" % r.stderr)


@test("S4-06 S4-07 export, import into an empty registry, export: equal bytes; a dump with anything unknown changes nothing", 90)
def dumped():
    h, other = Home("dump"), Home("dump-into")
    h("server", "add", "b", "--env", "A=env:B", "--", "/bin/b", "x y")
    h("server", "add", "a", "--url", "https://h/")
    h("server", "disable", "b")
    text = h("server", "export")
    with open(h.home + "/dump", "w") as f:
        f.write(text)
    other("server", "import", h.home + "/dump")
    equal(other("server", "export"), text)
    for old, new, line in (('"enabled":false', '"enabled":false,"password":"%s"' % SECRET, 3),
                           ('"kennel_registry":1', '"kennel_registry":2', 1), ('["x y"]', '["--token","%s"]' % SECRET, 3)):
        check(old in text, old, text)
        with open(h.home + "/bad", "w") as f:
            f.write(text.replace(old, new))
        other("server", "import", h.home + "/bad", status=65)
        within("%s/bad:%d: " % (h.home, line), other.err)
        absent(SECRET, other.err)
        equal(other("server", "export"), text)


@test("C13 a text that looks like a secret is refused everywhere, and is in no file, message or record", 120)
def secrets():
    h = Home("secrets")
    for words in (["--note", "token=" + SECRET, "--", "/bin/x"], ["--", "/bin/x", "--token", SECRET],
                  ["--", "/bin/x", "API_KEY=" + SECRET], ["--env", "API_KEY=" + SECRET, "--", "/bin/x"],
                  ["--url", "https://joe:%s@h/" % SECRET], ["--url", "https://h/?api_key=" + SECRET],
                  ["--", "/bin/x", "0123456789abcdef" * 2]):
        h("server", "add", "x", *words, status=65)
        within("looks like a secret", h.err)
        absent(SECRET, h.err)
    equal(h.rows(), {})
    h("server", "add", "x", "--env", "API_KEY=vault:team/x/key", "--", "/bin/x", "--port", "1")
    refused = [f for f in h.records() if f["outcome"] == "refused"]
    equal(len(refused), 7)
    for d, _, files in os.walk(h.home):
        for f in files:
            check(SECRET.encode() not in reads("%s/%s" % (d, f)), d, f)


@test("S2-06 S2-40 S2-41 S2-43 S2-44 mcp-servers.json: the user's; a project's only after its contents were approved", 90)
def files():
    h = Home("files")
    with open(h.home + "/mcp-servers.json", "w") as f:
        json.dump({"mcpServers": {"github": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"]},
                                  "remote": {"url": "https://h/mcp"}}}, f)
    rows = h.rows()
    equal({n: (r["id"], r["source"], r["scope"], r["transport"]) for n, r in rows.items()},
          {n: ("global:" + n, "file", "global", t) for n, t in (("github", "stdio"), ("remote", "http"))})
    own = h.project + "/mcp-servers.json"
    with open(own, "w") as f:
        f.write('{"mcpServers": {"mine": {"command": "/bin/cat"}}}')
    equal(sorted(h.rows()), ["github", "remote"])

    def sha256():
        return hashlib.sha256(reads(own)).hexdigest()
    within("kennel server trust %s --sha256 %s" % (own, sha256()), h.err)
    h("server", "trust", "./mcp-servers.json", status=64)
    within("--sha256", h.err)
    reviewed = sha256()
    with open(own, "a") as f:
        f.write(" ")
    h("server", "trust", "./mcp-servers.json", "--sha256", reviewed, status=65)
    within(sha256(), h.err, "what it found")
    equal(sorted(h.rows()), ["github", "remote"], "it is not what was reviewed")
    for wrong in ([], [reviewed[1:]], [reviewed.upper()]):
        h("server", "trust", "./mcp-servers.json", "--sha256", *wrong, status=64)
    equal([(f["action"], f["name"], f["outcome"]) for f in h.records()], [("trust", [sha256()], "refused")])
    within("mine", h("server", "trust", "--sha256", sha256(), "./mcp-servers.json"))
    equal(sorted(h.rows()), ["mine"])
    with open(own, "a") as f:
        f.write("\n")
    equal(sorted(h.rows()), ["github", "remote"], "it is not what was approved")
    h("server", "remove", "github", status=64)
    within(h.home + "/mcp-servers.json", h.err)
    h("server", "disable", "github")
    equal(h.rows()["github"]["enabled"], False)
    with open(h.home + "/mcp-servers.json", "w") as f:
        f.write('{"mcpServers": {\n  "x": {"command": "%s",}}}' % SECRET)
    equal(h.rows(status=65), {})
    within(h.home + "/mcp-servers.json:2:", h.err)
    absent(SECRET, h.err)
    with open(h.home + "/mcp-servers.json", "w") as f:
        json.dump({"mcpServers": {"x": {"command": "/bin/x", "env": {"GITHUB_TOKEN": SECRET}}, "y": {"type": "sse", "url": "https://h/"}}}, f)
    rows = h.rows()
    equal([(r["enabled"], r["reason"]) for r in (rows["x"], rows["y"])], [(False, "literal-secret"), (False, "transport-unsupported")])
    within("kennel secret set mcp/x/github-token", h.err)
    absent(SECRET, h.err + json.dumps(rows))
    h("server", "enable", "x", status=64)


@test("server check names the variables that a policy lacks, and what keeps servers from starting", 90)
def checked():
    h = Home("checked", a=policy_of("a", "/bin/cat", "    env LOG = debug\n"))
    within("no problem", h("server", "check"))
    h("server", "add", "a", "--env", "LOG=x", "--env", "MORE=y", "--", "/bin/cat")
    said = h("server", "check", "a", status=65)
    within("does not set the variable MORE", said)
    absent("LOG", said)
    h("server", "check", "none", status=65)


@test("each change and refusal has a record; without a log nothing is changed", 120)
def recorded():
    h = Home("recorded", p=policy_of("p", "/bin/cat"))
    h("server", "add", "x", "--", "/bin/x")
    h("server", "disable", "x")
    h("server", "enable", "x")
    h("server", "remove", "p", status=64)
    h("server", "remove", "x")
    h("server", "add", "bad name", "--", "/bin/x", status=65)
    got = [(f["action"], (f.get("name") or [None])[0], f["outcome"], f.get("verdict"), f["uid"], f["source"]) for f in h.records()]
    wanted = []
    for action, name, outcome in (("add", "x", "done"), ("disable", "x", "done"), ("enable", "x", "done"), ("remove", "p", "refused"),
                                  ("remove", "x", "done"), ("add", None, "refused")):
        if outcome == "done":
            wanted.append((action, name, "asked", None, os.getuid(), "person"))
        wanted.append((action, name, outcome, "allow" if outcome == "done" else "deny", os.getuid(), "person"))
    equal(got, wanted)
    equal({f["channel"] for f in h.records()}, {"command"}, "without a terminal")
    t = Terminal([KENNEL, "server", "disable", "p"], env=h.env)
    equal(t.end(), 0, t.text)
    h("server", "enable", "p")
    equal([f["channel"] for f in h.records()][-4:], ["terminal"] * 2 + ["command"] * 2)
    equal(audit_verify(env=h.env).returncode, 0)
    lost = Home("recorded-lost", p=policy_of("p", "/bin/cat"))
    with open(lost.home + "/audit", "w") as f:
        f.write("no directory")
    for words in (("add", "x", "--", "/bin/x"), ("disable", "p")):
        lost("server", *words, status=125)
        within("nothing was changed", lost.err)
    equal([(r["name"], r["enabled"]) for r in lost.rows().values()], [("p", True)])


@test("the record of an addition and a removal has the digest of the row, as export prints it: two additions of one name differ", 90)
def recorded_rows():
    h = Home("rows", p=policy_of("p", "/bin/cat"))
    wanted = []

    def digest():
        line = [x for x in h("server", "export").splitlines() if x.startswith('{"name"')][0].rstrip(",")
        return hashlib.sha256(re.sub(r',"created_gen":[0-9]+}$', "}", line).encode()).hexdigest()

    for command in ("/bin/x", "/bin/y"):
        h("server", "add", "x", "--env", "T=vault:a/b/c", "--", command, "-n")
        wanted.append(("add", digest()))
    h("server", "disable", "p")
    wanted.append(("disable", None))
    h("server", "remove", "x")
    wanted.append(("remove", wanted[1][1]))
    check(wanted[0][1] != wanted[1][1])
    equal([(f["action"], f.get("sha256")) for f in h.records()], [w for w in wanted for _ in ("asked", "done")])


@test("a damaged registry is moved aside and named, and an export restores it", 90)
def damaged():
    h = Home("damaged")
    h("server", "add", "x", "--", "/bin/x")
    text = h("server", "export")
    at = h.home + "/registry/registry.db"
    equal((os.stat(at).st_mode & 0o777, os.stat(os.path.dirname(at)).st_mode & 0o777), (0o600, 0o700))
    db = sqlite3.connect(at)
    db.execute("CREATE TRIGGER t AFTER INSERT ON servers BEGIN DELETE FROM trusted_files; END")
    db.commit()
    db.close()
    equal(h.rows(), {})
    within(at + ".damaged-1", h.err)
    check(os.path.exists(at + ".damaged-1"))
    equal(h.rows(), {})
    equal(h.err, "", "it is reported once")
    with open(h.home + "/dump", "w") as f:
        f.write(text)
    h("server", "import", h.home + "/dump")
    equal(h("server", "export"), text)


if __name__ == "__main__":
    main()
