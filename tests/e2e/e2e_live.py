"""S1-110: kennel secret validate --live queries the sources of a manifest, and no byte of a value comes out."""
import hashlib
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403

be_subreaper()
PASS = "correct horse battery %d" % os.getpid()
VALUES = {s: "%s-l1ve-s3ntinel-%d-k3nn3l" % (s, os.getpid()) for s in ("vault", "file", "env", "cmd", "plugin", "login")}
OK = {"live": "ok"}
projects = [0]


def hidden(data, what):
    for v in VALUES.values():
        absent(v.encode(), data, what)


class Project:
    """A manifest, and a home of its own with sources.kennel."""

    def __init__(self, *paths, sources="", manifest=""):
        projects[0] += 1
        self.dir = "%s/live-%d" % (TMP, projects[0])
        self.env = {"KENNEL_HOME": self.dir + "/home", "LIVE_TOKEN": VALUES["env"]}
        os.makedirs(self.dir + "/.kennel")
        os.makedirs(self.dir + "/home", mode=0o700)
        self.write(".kennel/secrets.kennel", manifest + "".join("secret %s {\n}\n" % p for p in paths))
        self.write("home/sources.kennel", sources)

    def write(self, name, text, mode=0o600):
        with open(self.dir + "/" + name, "w") as f:
            f.write(text)
        os.chmod(f.name, mode)
        return f.name

    def secret(self, *words_, stdin="", status=0):
        r = run([KENNEL, "secret"] + list(words_), stdin=stdin, env=self.env, timeout=60)
        equal(r.returncode, status, r.stderr)
        hidden(r.stdout + r.stderr, " ".join(words_))

    def lines(self, *options, status=0):
        """path -> what follows it"""
        r = run([KENNEL, "secret", "validate", "--live", "--project", self.dir] + list(options), env=self.env, timeout=60)
        hidden(r.stdout + r.stderr, "output")
        equal(r.returncode, status, (r.stdout, r.stderr))
        first, *rows = r.stdout.decode().splitlines()
        within(" secrets are declared here", first)
        return dict(row.split(": ", 1) for row in rows)

    def results(self, *options, status=0):
        r = run([KENNEL, "secret", "validate", "--live", "--json", "--project", self.dir] + list(options), env=self.env,
                timeout=60)
        hidden(r.stdout + r.stderr, "output")
        equal(r.returncode, status, (r.stdout, r.stderr))
        rows = json.loads(r.stdout)
        got = {row.pop("path"): row for row in rows}
        equal(list(got), sorted(got), "sorted, each once")
        equal(len(got), len(rows))
        return got

    def files(self):
        """No file that kennel keeps has a value."""
        n = 0
        for at, _, names in os.walk(self.dir + "/home"):
            for name in names:
                hidden(reads(at + "/" + name), name)
                n += 1
        check(n > 1, "control")

    def all_kinds(self):
        """A source of each kind that has a value; the paths."""
        file = self.write("token", VALUES["file"] + "\n")
        said = self.write("said", VALUES["cmd"] + "\n")
        self.plugin()
        self.write("home/sources.kennel",
                   "source files {\n\tfrom file $reference\n}\nsource vars {\n\tfrom env $reference\n}\n"
                   "source says {\n\tfrom cmd /bin/cat %s\n}\nsource work {\n\tfrom plugin %s/acme.plugin\n\tenv ACME_STORE %s/store\n"
                   "\tcredential ACME_TOKEN from file %s/login\n}\n"
                   "secret a/live/file files %s\nsecret a/live/env vars LIVE_TOKEN\nsecret a/live/also vars LIVE_TOKEN\n"
                   "secret a/live/plugin work team/github/token\nroute a/live/cmd says\n"
                   % (said, self.dir, self.dir, self.dir, file))
        self.secret("init", "--stdin", stdin=PASS)
        self.secret("set", "a/live/vault", "--stdin", stdin=VALUES["vault"])
        return ["a/live/" + x for x in ("vault", "file", "env", "also", "cmd", "plugin")]

    def plugin(self, token=VALUES["login"]):
        program = self.dir + "/acme"
        shutil.copy(STAGE + "/tests/plugin/acme.py", program)
        os.chmod(program, 0o700)
        self.write("login", token)
        self.write("store", json.dumps({"token": token, "values": {"team/github/token": VALUES["plugin"]}}))
        with open(program, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        self.write("acme.plugin", "plugin acme {\n\tversion 1.0\n\trun %s\n\tsha256 %s\n\tenv ACME_STORE\n}\n" % (program, digest))


def done():
    for pid, comm in descendants(os.getpid()).items():
        if comm == "kennel-keeper":
            os.kill(pid, signal.SIGTERM)


ALL = ["a/live/" + x for x in ("vault", "file", "env", "also", "cmd", "plugin")]


@test("S1-110 every kind of source that has a value is ok: vault, file, variable, command, plugin with its credential", seconds=90)
def ok():
    p = Project(*ALL)
    equal(sorted(p.all_kinds()), sorted(ALL))
    equal(p.results(), {path: OK for path in sorted(ALL)})
    equal(p.lines(), {path: "ok" for path in ALL})
    p.files()
    done()


@test("S1-110 missing, locked and the status of a program are told apart, each with a reason", seconds=90)
def wrong():
    names = ("vault", "file", "open", "env", "exit", "gone", "plugin", "reference", "other")
    p = Project(*["b/live/" + n for n in names])
    opened = p.write("open", VALUES["file"], 0o644)
    script = p.write("fails", "#!/bin/sh\necho %s\nexit 3\n" % VALUES["cmd"], 0o700)
    p.plugin()
    with open(p.dir + "/login", "w") as f:
        f.write("not-the-token-of-the-plugin")
    p.write("home/sources.kennel",
            "source files {\n\tfrom file $reference\n}\nsource vars {\n\tfrom env $reference\n}\nsource fails {\n\tfrom cmd %s\n}\n"
            "source gone {\n\tfrom cmd %s/gone\n}\nsource work {\n\tfrom plugin %s/acme.plugin\n\tenv ACME_STORE %s/store\n"
            "\tcredential ACME_TOKEN from file %s/login\n}\n"
            "secret b/live/file files %s/none\nsecret b/live/open files %s\nsecret b/live/env vars LIVE_NONE\n"
            "route b/live/exit fails\nroute b/live/gone gone\nsecret b/live/plugin work team/github/token\n"
            % (script, p.dir, p.dir, p.dir, p.dir, p.dir, opened))
    got = p.results(status=1)
    for n in ("vault", "file", "open", "env", "gone", "plugin", "reference", "other"):
        equal(got["b/live/" + n]["live"], "missing", got)
    for n, reason in (("vault", "no vault found: run kennel secret init"), ("file", "No such file"), ("open", "chmod 600"),
                      ("env", "LIVE_NONE is not set"), ("gone", p.dir + "/gone cannot be opened"), ("plugin", "needs-credential")):
        within(reason, got["b/live/" + n]["reason"])
    equal(got["b/live/exit"], {"live": "status", "exit_status": 3, "reason": "helper %s exited with status 3" % script})
    p.secret("init", "--stdin", stdin=PASS)
    p.secret("set", "b/live/vault", "--stdin", stdin=VALUES["vault"])
    got = p.lines(status=1)
    equal(got["b/live/vault"], "ok")
    equal(got["b/live/other"], "missing: it is not in the vault: run kennel secret set b/live/other")
    equal(got["b/live/exit"], "status 3: helper %s exited with status 3" % script)
    p.secret("lock")
    got = p.lines(status=1)
    for n in ("vault", "other"):
        equal(got["b/live/" + n], "locked: the vault is locked: run kennel secret unlock")
    p.files()


@test("S1-110 a credential in the vault is released to servers only: the check says so, and uses no grant")
def credential():
    p = Project("c/live/token")
    p.plugin()
    p.write("home/sources.kennel", "source work {\n\tfrom plugin %s/acme.plugin\n\tenv ACME_STORE %s/store\n"
            "\tcredential ACME_TOKEN from vault infra/acme/token\n}\nsecret c/live/token work team/github/token\n" % (p.dir, p.dir))
    p.secret("init", "--stdin", stdin=PASS)
    p.secret("set", "infra/acme/token", "--stdin", stdin=VALUES["login"])
    got = p.lines(status=1)
    within("missing: credential work__ACME_TOKEN of its source: the vault releases it to servers only", got["c/live/token"])
    done()


@test("S1-110 what needs an approval is skipped; with --ask a person decides, and a source is queried only after a yes", seconds=120)
def asks():
    p = Project("d/live/free", manifest="secret d/live/yes {\n    approve session\n}\nsecret d/live/no {\n    approve per-call\n}\n"
                "secret d/live/key {\n    approve session with key\n}\n")
    scripts = {}
    for n in ("yes", "no", "free", "key"):
        scripts[n] = p.write(n, "#!/bin/sh\n: >%s/queried-%s\necho %s\n" % (p.dir, n, VALUES["cmd"]), 0o700)
    p.write("home/sources.kennel", "".join("source %s {\n\tfrom cmd %s\n\tmay files\n}\nroute d/live/%s %s\n" % (n, at, n, n)
                                           for n, at in scripts.items()))

    def queried():
        return sorted(n for n in scripts if os.path.exists("%s/queried-%s" % (p.dir, n)))
    skipped = "asks: its use needs an approval; --ask requests it"
    key = "asks: its use needs a security key, which --live does not ask for"
    equal(p.lines(), {"d/live/free": "ok", "d/live/no": skipped, "d/live/yes": skipped, "d/live/key": key})
    equal(queried(), ["free"])
    checking = start([KENNEL, "secret", "validate", "--live", "--ask", "--json", "--project", p.dir], stdin=subprocess.DEVNULL,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(p.env), cwd="/")
    pending = []

    def two():
        r = run([KENNEL, "approve", "list", "--json"], env=p.env)
        pending[:] = [json.loads(line) for line in r.stdout.splitlines()]
        return len(pending) == 2
    check(wait_for(two, LONG) is not None, pending)
    equal(queried(), ["free"], "before an answer")
    equal({q["server"] for q in pending}, {"kennel-secret-validate"})
    for q in pending:
        answer = "allow" if q["subject"] == "d/live/yes" else "deny"
        equal(run([KENNEL, "approve", answer, q["id"]], env=p.env).returncode, 0)
    out, err = checking.communicate(timeout=LONG)
    hidden(out + err, "output")
    equal(checking.returncode, 0, (out, err))
    equal({row["path"][7:]: row["live"] for row in json.loads(out)}, {"free": "ok", "key": "asks", "no": "asks", "yes": "ok"})
    within("a person denied its use", out.decode())
    equal(queried(), ["free", "yes"])
    answers = sorted(e["fields"]["verdict"] for e in audit(env=p.env) if e["kind"] == "approve")
    equal(answers, ["allow", "deny"])
    p.files()


@test("S1-110 an approval with a passphrase needs it here, too; without it the source is not queried", seconds=120)
def factor():
    p = Project(manifest="secret d/live/gated {\n    approve session with passphrase\n}\n")
    said = p.write("said", "#!/bin/sh\n: >%s/queried\necho %s\n" % (p.dir, VALUES["cmd"]), 0o700)
    p.write("home/sources.kennel", "source says {\n\tfrom cmd %s\n\tmay files\n}\nroute d/live says\n" % said)
    p.secret("init", "--stdin", stdin=PASS)
    checking = start([KENNEL, "secret", "validate", "--live", "--ask", "--project", p.dir], stdin=subprocess.DEVNULL,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(p.env), cwd="/")
    got = []
    check(wait_for(lambda: got.clear() or got.extend(run([KENNEL, "approve", "list", "--json"], env=p.env).stdout.splitlines()) or
                   got, LONG) is not None, "no question")
    q = json.loads(got[0])
    equal(q["factor"], "passphrase")
    equal(run([KENNEL, "approve", "allow", q["id"]], env=p.env).returncode, 64, "without a terminal")
    check(not os.path.exists(p.dir + "/queried"), "queried without the passphrase")
    p.secret("confirm", q["sha256"], "--stdin", stdin=PASS)
    equal(run([KENNEL, "approve", "allow", q["id"]], env=p.env).returncode, 0)
    out, err = checking.communicate(timeout=LONG)
    equal(checking.returncode, 0, (out, err))
    within("d/live/gated: ok", out.decode())
    check(os.path.exists(p.dir + "/queried"), "control")
    done()


@test("S1-110 a manifest of 300 paths; a broken sources.kennel is named for each path that needs it", seconds=120)
def many():
    paths = ["f/live/t%03d" % n for n in range(300)]
    p = Project(*paths)
    for n in range(0, 300, 2):
        p.write("t%03d" % n, VALUES["file"])
    p.write("home/sources.kennel", "source files {\n\tfrom file %s/$reference\n}\n%s" % (
        p.dir, "".join("secret %s files t%03d\n" % (path, n) for n, path in enumerate(paths))))
    got = p.results(status=1)
    equal([got[path]["live"] for path in paths], ["ok", "missing"] * 150)
    p = Project("f/live/token")
    p.write("home/sources.kennel", "source files {\n\tfrom file /x\n\tpassword %s\n}\n" % VALUES["file"])
    within("sources.kennel:3:2: ", p.lines(status=1)["f/live/token"])


@test("S1-01 S1-02 S1-110 while it runs no process that can be read holds the values that were resolved before; afterwards none is "
      "left, and no file has one", seconds=120)
def sentinel():
    p = Project(*ALL, "z/live/slow")
    p.all_kinds()
    slow = p.write("slow", "#!/bin/sh\necho started >%s/slow-runs\nwhile [ ! -e %s/looked ]; do sleep 0.1; done\necho slow-enough-to-look\n" % (p.dir, p.dir), 0o700)
    with open(p.dir + "/home/sources.kennel", "a") as f:
        f.write("source slow {\n\tfrom cmd %s\n\tmay files\n}\nroute z/live/slow slow\n" % slow)
    before = set(descendants(os.getpid()))
    checking = start([KENNEL, "secret", "validate", "--live", "--project", p.dir], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, env=environment(p.env), cwd="/")
    check(wait_for(lambda: os.path.exists(p.dir + "/slow-runs"), LONG) is not None, "it does not start")
    seen = []
    for pid, comm in descendants(os.getpid()).items():
        if pid in before:
            continue
        seen.append(comm)
        hidden(reads("/proc/%d/cmdline" % pid), "command line of " + comm)
        if comm != "kennel-leash":  # its environment has the variable until it is read, which is last
            hidden(reads("/proc/%d/environ" % pid), "environment of " + comm)
        if os.geteuid() != 0 or not comm.startswith("kennel"):  # a plugin has its own value
            continue
        for part in memory_of(pid):
            for source, v in VALUES.items():
                if comm != "kennel-leash" or source not in ("env", "login"):
                    absent(v.encode(), part, "a value from %s in %s" % (source, comm))
    p.write("looked", "")
    for comm in ("kennel", "kennel-leash"):
        within(comm, seen)
    out, err = checking.communicate(timeout=LONG)
    hidden(out + err, "output")
    equal(checking.returncode, 0, (out, err))
    within("z/live/slow: ok", out.decode())
    check(wait_for(lambda: "kennel-leash" not in descendants(os.getpid()).values(), LONG) is not None, "a leash stays")
    p.files()
    log = [e for e in audit(env=p.env) if e["kind"] == "vault" and e["fields"].get("action") == "validate"]
    equal([e["fields"]["outcome"] for e in log], ["asked", "done"])
    hidden(json.dumps(audit(env=p.env)).encode(), "audit log")
    for form in ("jsonl", "csv", "ocsf", "cef"):
        r = run([KENNEL, "audit", "export", "--format", form], env=p.env, timeout=60)
        equal(r.returncode, 0, form)
        hidden(r.stdout + r.stderr, form)
    done()


@test("S1-26 S1-110 nothing of it reaches an agent: secrets_list and secrets_describe are the same before and after", seconds=90)
def no_reply():
    s = Session("secret %s {\n}\n" % PATH)
    before = [s.h.do("secrets_list", {}), s.h.do("secrets_describe", {"path": PATH})]
    r = run([KENNEL, "secret", "validate", "--live", "--project", s.dir], env=s.env)
    equal(r.returncode, 1, r.stderr)
    within("%s: missing: no vault found" % PATH, r.stdout.decode())
    after = [s.h.do("secrets_list", {}), s.h.do("secrets_describe", {"path": PATH})]
    equal([x["result"] for x in before], [x["result"] for x in after])
    s.done()


@test("S1-110 it ends on ^C, with its program; options, an empty project, a log that cannot be written", seconds=90)
def edges():
    p = Project("e/live/slow")
    slow = p.write("slow", "#!/bin/sh\necho $$ >%s/slow-runs\nexec sleep 60\n" % p.dir, 0o700)
    p.write("home/sources.kennel", "source slow {\n\tfrom cmd %s\n\tmay files\n}\nroute e/live/slow slow\n" % slow)
    checking = start([KENNEL, "secret", "validate", "--live", "--project", p.dir], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, env=environment(p.env), cwd="/")
    check(wait_for(lambda: reads(p.dir + "/slow-runs"), LONG) is not None, "control")
    checking.send_signal(signal.SIGINT)
    equal(checking.wait(LONG), -signal.SIGINT)
    check(wait_for(lambda: not alive(int(reads(p.dir + "/slow-runs"))), LONG) is not None, "its program stays")
    r = run([KENNEL, "secret", "validate", "--ask", "--project", p.dir], env=p.env)
    equal(r.returncode, 64)
    within(b"--ask needs --live", r.stderr)
    empty = Project()
    equal(empty.lines(), {})
    equal(empty.results(), {})
    full = Project("e/live/token")
    full.write("home/audit", "not a directory")
    r = run([KENNEL, "secret", "validate", "--live", "--project", full.dir], env=full.env)
    equal(r.returncode, 125)
    within(b"unable to write the audit log", r.stderr)
    within(b"nothing was done", r.stderr)
    absent(b"e/live/token:", r.stdout)


if __name__ == "__main__":
    main()
