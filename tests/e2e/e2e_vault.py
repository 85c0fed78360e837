"""S1-121 S1-47 S4-29: the whole life of a vault, of its keeper, and of a value in it."""
import base64
import os
import shutil
import pty
import random
import socket
import struct
import sys
import threading
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
PASS = "correct horse battery %d" % os.getpid()
VALUE = "vault-s3ntinel-%d-k3nn3l" % os.getpid()
OTHER = "other-s3ntinel-%d-k3nn3l" % os.getpid()
PATH = "team/github/token"
SECRET = "    secret GH from vault %s\n" % PATH
homes = [0]
said = []  # all that any command printed


def home():
    """A home of this test's own; a keeper that a failed test left is ended."""
    for pid in keepers():
        os.kill(pid, signal.SIGKILL)
    gone()
    homes[0] += 1
    return {"KENNEL_HOME": "%s/vault-%d" % (TMP, homes[0])}


def secret(env, *words, stdin=b"", status=0):
    r = run([KENNEL, "secret"] + list(words), stdin=stdin, env=env)
    said.append(r.stdout + r.stderr)
    check(status is None or r.returncode == status, " ".join(words), r.returncode, r.stderr)
    for v in (VALUE, OTHER, PASS):
        absent(v.encode(), r.stdout + r.stderr, "what %s says" % words[0])
    return r


def crc62(body):
    """body and its checksum, as GitHub's and npm's tokens have it."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    crc, tail = zlib.crc32(body.encode()), ""
    for _ in range(6):
        crc, d = divmod(crc, 62)
        tail = digits[d] + tail
    return body + tail


def keepers():
    return [p for p, comm in descendants(os.getpid()).items() if comm == "kennel-keeper"]


def keeper():
    got = keepers()
    equal(len(got), 1, "keepers")
    return got[0]


def gone():
    check(wait_for(lambda: not keepers(), 20) is not None, "the keeper stays")


def ended(env):
    """Ends what a test started."""
    for pid in keepers():
        os.kill(pid, signal.SIGTERM)
    gone()


def opened(env):
    secret(env, "init", "--stdin", stdin=PASS)
    secret(env, "set", PATH, "--stdin", stdin=VALUE + "\n")


def start(env, p, name="t"):
    """kennel run, its value by the toy; or what it said when it was refused."""
    r = run([KENNEL, "run", name] + (["--policy", p] if p else []), env=env, timeout=30)
    return r.stderr.decode(errors="replace")


def has(env, p, value):
    s = Mcp([KENNEL, "run", "t"] + (["--policy", p] if p else []), env=env)
    s.initialize()
    equal(s.text("getenv", var="GH"), "***")
    equal(s.text("spell", var="GH")[::2], value, "the server's value")
    s.p.stdin.close()
    check(wait_for(lambda: s.p.poll() is not None, 20) is not None, "kennel stays")
    absent(value.encode(), s.p.stderr.read(), "stderr")


# ---- the keeper's protocol, as anybody of this user can speak it ----------------------

def wstr(b):
    b = b.encode() if isinstance(b, str) else b
    return struct.pack("<I", len(b)) + b + b"\0"


def connect(env):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    here = os.open(env["KENNEL_HOME"] + "/run", os.O_PATH)
    try:
        s.connect("/proc/self/fd/%d/keeper.sock" % here)
    finally:
        os.close(here)
    return s


def say(s, kind, body=b""):
    s.send(struct.pack("<I", kind) + body)
    return s.recv(1 << 17)


def hello(env):
    """A greeted connection, and the vault's state: 0 none, 1 locked, 2 open."""
    s = connect(env)
    got = say(s, 2, struct.pack("<I", 1) + wstr("test") + struct.pack("<QQ", 0, 0))
    kind, state = struct.unpack("<II", got)
    equal(kind, 3, "welcome")
    return s, state


def state(env):
    s, now = hello(env)
    s.close()
    return now


def release(s, path, server, pid):
    return say(s, 32, wstr(path) + wstr(server) + wstr(pid) + wstr(b"") + wstr(b""))


# ---- tests ----------------------------------------------------------------------------------

@test("S1-121 S1-47 S3-38 C19 a value is kept, in no file as it is, granted, given to its server, rotated, brought back, removed", 120)
def life():
    env, p = home(), policy(toy_policy(SECRET))
    within("no vault found: run kennel secret init", start(env, p), "no keeper")
    secret(env, "set", PATH, "--stdin", stdin=VALUE, status=127)
    within(b"no vault found: create one with kennel secret init",
           secret(env, "grant", "--server", "t", "--policy", p, status=127).stderr)
    secret(env, "init", "--stdin", stdin=PASS)
    within(b"the vault already exists: open it with kennel secret unlock",
           secret(env, "init", "--stdin", stdin=PASS, status=65).stderr)
    secret(env, "grant", PATH, "--server", "t", "--policy", p)
    text = start(env, p)
    within("missing secret: GH (%s): it is not in the vault: run kennel secret set %s" % (PATH, PATH), text)
    secret(env, "set", PATH, "--stdin", stdin=VALUE + "\n")
    secret(env, "set", PATH, "--stdin", stdin=OTHER, status=65)
    has(env, p, VALUE)
    secret(env, "rotate", PATH, "--stdin", stdin=OTHER)
    has(env, p, OTHER)
    rows = json.loads(secret(env, "versions", PATH, "--json").stdout)
    equal([(r["version"], r["replaced"] is None) for r in rows], [(1, False), (2, True)])
    secret(env, "versions", PATH, "--restore", "1")
    has(env, p, VALUE)
    secret(env, "lock")
    within("missing secret: GH (%s): the vault is locked: run kennel secret unlock" % PATH, start(env, p))
    secret(env, "unlock", "--stdin", stdin="another passphrase", status=126)
    secret(env, "unlock", "--stdin", stdin=PASS)
    has(env, p, VALUE)
    secret(env, "remove", PATH)
    secret(env, "remove", PATH, status=127)
    equal(json.loads(secret(env, "grants", "--json").stdout), [])
    within("it is not in the vault", start(env, p))
    secret(env, "set", PATH, "--stdin", stdin=VALUE)
    within("it is not granted to this server", start(env, p))
    ended(env)
    for folder, dirs, names in os.walk(env["KENNEL_HOME"]):
        for name in names + dirs:
            data, st = reads(folder + "/" + name), os.lstat(folder + "/" + name)
            check(not st.st_mode & 0o077, name, oct(st.st_mode))
            for v in (VALUE, OTHER, PASS):
                absent(v.encode(), data, name)


@test("a grant of what is not in the vault says so", 120)
def granted_ahead():
    env, p = home(), policy(toy_policy(SECRET))
    secret(env, "init", "--stdin", stdin=PASS)
    secret(env, "unlock", "--stdin", stdin=PASS)
    within(b"%s is not in the vault yet: run `kennel secret set %s`" % (PATH.encode(), PATH.encode()),
           secret(env, "grant", PATH, "--server", "t", "--policy", p).stderr)
    secret(env, "set", PATH, "--stdin", stdin=VALUE)
    absent(b"not in the vault", secret(env, "grant", PATH, "--server", "t", "--policy", p).stderr)
    has(env, p, VALUE)
    ended(env)


@test("a changed policy asks again, and the command that is named mends it", 120)
def changed():
    env, p = home(), policy(toy_policy(SECRET))
    opened(env)
    text = start(env, p)
    within("it is not granted to this server: run kennel secret grant", text)
    command = text.split("run kennel ", 1)[1].split()
    within("t", command)
    equal(run([KENNEL] + command, env=env).returncode, 0, command)
    has(env, p, VALUE)
    with open(p, "a") as f:
        f.write("\n# nothing\nserver other {\n    run %s\n}\n" % words(TOY))
    has(env, p, VALUE)  # it allows this server nothing more
    # who may have what, and no more
    r = secret(env, "grant", PATH, "--server", "other", "--policy", p, status=65)
    within(b"the policy of server other does not name %s: add `secret NAME from vault %s` to it"
           % (PATH.encode(), PATH.encode()), r.stderr)
    r = secret(env, "grant", "--server", "other", "--policy", p, status=65)
    within(b"the policy of server other names no secret of the vault: add `secret NAME from vault PATH` to it", r.stderr)
    secret(env, "grant", "team/github/none", "--server", "t", "--policy", p, status=65)
    equal(len(json.loads(secret(env, "grants", "--json").stdout)), 2)
    secret(env, "revoke", PATH, "--server", "t")
    within("it is not granted to this server", start(env, p))
    ended(env)


@test("a grant survives edits that allow the server nothing more, judged by what the policy means; nothing else survives", 240)
def regranted():
    env, more = home(), "    read /usr/share/doc\n"
    p = policy(toy_policy(SECRET + more))
    body = reads(p).decode()
    kept = env["KENNEL_HOME"] + "/audit/policies/"

    def becomes(text):
        with open(p, "w") as f:
            f.write(text)

    def ids():
        return [r["id"] for r in json.loads(secret(env, "grants", "--json").stdout)]
    refusal = "the policy allows more than the one that it was granted to (kennel audit changes --diff shows what): run kennel secret grant"
    opened(env)
    secret(env, "grant", PATH, "--server", "t", "--policy", p)  # and never started under this policy
    becomes("# a comment\n" + body)
    secret(env, "lock")
    within("the vault is locked", start(env, p))
    secret(env, "unlock", "--stdin", stdin=PASS)
    has(env, p, VALUE)
    equal(len(ids()), 2)
    # the record tells a start's grant from a person's
    by = [(e["fields"]["source"], e["fields"].get("reason"), e["session"]) for e in audit("--kind", "vault", env=env)
          if e["fields"]["action"] == "grant" and e["fields"]["outcome"] == "done"]
    equal([x[:2] for x in by], [("person", None), ("start", "again, at a start: the policy allows nothing more")])
    check(by[0][2] == "" and len(by[1][2]) == 16, by)
    within("by start, uid %d, done: again, at a start" % os.getuid(),
           run([KENNEL, "audit", "session", by[1][2]], env=env).stdout.decode())
    # one session from the first attempt to the end, and no denial in it
    mine = [(e["kind"], e["writer"]["role"]) for e in audit("--session", by[1][2], env=env)]
    equal([k for k in mine if k[0] in ("refused", "start", "vault", "secrets")],
          [("start", "leash"), ("vault", "supervisor"), ("vault", "supervisor"), ("start", "leash"), ("secrets", "leash")])
    check("allows more" not in run([KENNEL, "audit", "denials"], env=env).stdout.decode(), "a denial was recorded")
    has(env, p, VALUE)
    equal(len(ids()), 2, "granted once")
    # by its path: what was done to it, and each start that was given it
    for word, kinds in (PATH, {"vault", "secrets", "scrub"}), ("GH", {"secrets", "scrub"}):
        out = run([KENNEL, "audit", "secret", word, "--json", "--no-header"], env=env).stdout
        got = [json.loads(line) for line in out.splitlines()]
        equal({r["kind"] for r in got}, kinds, word)
        equal([r["what"] for r in got if r["kind"] == "secrets"],
              ["it receives the secrets GH (in the vault: %s)" % PATH] * 2, word)
    becomes(body.replace(more, ""))
    has(env, p, VALUE)
    for wider in body + "# and back\n", body.replace(more, more + "    read /usr/include\n"), body.replace(more, more + "    env FOO = bar\n"), \
            body.replace(SECRET.strip(), SECRET.strip().replace("GH", "GITHUB")):
        n = len(ids())
        becomes(wider)
        if wider == body + "# and back\n":
            has(env, p, VALUE)  # the widest one that a person granted counts
            continue
        within(refusal, start(env, p))
        equal(len(ids()), n)
        last = audit("-n", "1", env=env)[0]
        equal((last["kind"], last["writer"]["role"], last["fields"]["verdict"]), ("refused", "supervisor", "deny"))
        within(refusal, last["fields"]["reason"])
    # an earlier policy counts only as what its digest says
    becomes(body.replace(more, more + "    read /usr/include\n"))
    wide = TMP + "/wide.sealed"
    equal(run([KENNEL, "policy", "compile", p, "-o", wide]).returncode, 0)
    for i in ids():
        if os.path.exists(kept + i + ".sealed"):
            shutil.copy(wide, kept + i + ".sealed")
    within(refusal, start(env, p))
    # one command for all that the policy names
    r = secret(env, "grant", "--server", "t", "--policy", p)
    within(PATH + ": granted to", r.stdout.decode() if isinstance(r.stdout, bytes) else r.stdout)
    has(env, p, VALUE)
    within(b"has changed", secret(env, "grant", PATH, "--server", "t", "--policy", p, "--only-id", "0" * 64, status=65).stderr)
    ended(env)


# What a granted policy has, what the changed one has in its place, and which it may do.
EDITS = [
    ("net allow db.example.com:443 to private", "net allow db.example.com:443", "more"),
    ("net allow db.example.com:443 to loopback", "net allow db.example.com:443", "more"),
    ("net allow db.example.com:443 to 10.0.0.0/8", "net allow db.example.com:443", "more"),
    ("net allow *.example.com:443 to 10.0.0.0/8", "net allow *.example.com:443", "more"),
    ("net allow db.example.com:443 to 10.0.0.0/8", "net allow db.example.com:443 to 10.1.0.0/16", "less"),
    ("net allow db.example.com:443 to 10.1.0.0/16", "net allow db.example.com:443 to 10.0.0.0/8", "more"),
    ("net allow db.example.com:443 to 169.254.0.0/16", "net allow db.example.com:443 to 169.254.169.254", "more"),
    ("net allow db.example.com:5432", "net allow db.example.com:5432 starttls postgres", "more"),
    ("net allow db.example.com:5432 starttls postgres", "net allow db.example.com:5432", "less"),
    ("net allow db.example.com:443 plain", "net allow db.example.com:443", "less"),
    ("net allow db.example.com:443", "net ask db.example.com:443 to private", "more"),
    ("", "read %(host)s", "more"),
    ("", "write %(host)s", "more"),
    ("write %(host)s", "read %(host)s", "less"),
    ("tool allow x_* owner o ticket t until 2090-12-30", "tool allow x_* owner o ticket t until 2091-12-30", "more"),
    ("tool allow x_* owner o ticket t until 2090-12-30", "tool allow x_*", "more"),
    ("tool allow x_* owner o ticket t until 2091-12-30", "tool allow x_* owner o ticket t until 2090-12-30", "less"),
    ("tool allow x_*", "tool allow x_* owner o ticket t until 2090-12-30", "less"),
    ("net allow a.example.com:443 owner o ticket t until 2090-12-30", "net allow a.example.com:443", "more"),
    ("exec allow /usr/bin/env x owner o ticket t until 2090-12-30", "exec allow /usr/bin/env x", "more"),
    ("resource allow x:* owner o ticket t until 2090-12-30", "resource allow x:* owner o ticket t until 2090-12-31", "more"),
    ("sampling allow owner o ticket t until 2090-12-30", "sampling allow", "more"),
    ("tool deny x_* owner o ticket t until 2091-12-30", "tool deny x_* owner o ticket t until 2090-12-30", "more"),
    ("read %(host)s\n    hide %(host)s/f", "read %(host)s\n    hide %(host)s/f { optional }", "more"),
    ("read %(host)s\n    hide %(host)s/f { optional }", "read %(host)s\n    hide %(host)s/f", "less"),
    ("read %(host)s", "read %(host)s { optional }", "more"),
    ("exec allow /usr/bin/env x", "exec allow /usr/bin/env x\n    exec deny /usr/bin/env x", "less"),
    ("exec allow /usr/bin/env x **", "exec allow /usr/bin/env x y", "less"),
    ("exec allow /usr/bin/env x y", "exec allow /usr/bin/env x **", "more"),
    ("syscalls deny mlockall", "", "more"),
    ("", "syscalls deny mlockall", "less"),
    ("", "syscalls allow io_setup", "more"),
    ('env READ_ONLY = "1"', "", "other"),
    ('env READ_ONLY = "1"', 'env READ_ONLY = "0"', "more"),
    ("cwd /tmp", "cwd %(host)s\n    read %(host)s", "more"),
    ("secret OTHER from env OTHER", "secret OTHER from vault " + PATH, "more"),
]


@test("an edit that allows anything more, now, later or elsewhere, takes the grant away; one that allows less keeps it", 600)
def edits():
    env = home()
    host = public_folder("edits")
    with open(host + "/f", "w") as f:
        f.write("x")
    opened(env)
    base = "    read /usr/share/doc\n    read /usr/share/man\n"
    for old, new, allows in EDITS:
        old, new = old % {"host": host}, new % {"host": host}
        p = policy(toy_policy(SECRET + base + "    %s\n" % old).replace("tool allow *", "tool allow spell"))
        body = reads(p).decode()
        secret(env, "grant", "--server", "t", "--policy", p)
        before = TMP + "/before.kennel"
        with open(before, "w") as f:
            f.write(body)
        os.chmod(before, 0o600)
        # with a line less beside it: a narrower line does not make up for a wider one
        with open(p, "w") as f:
            f.write(body.replace("    %s\n" % old, "    %s\n" % new, 1).replace("    read /usr/share/man\n", "", 1))
        status = run([KENNEL, "policy", "diff", before, p], env=env).returncode
        equal(status, 1 if allows == "more" else 0, "policy diff %s -> %s" % (old, new))
        text = start(env, p)
        check(("granted again" in text) == (allows == "less"), old, "->", new, text)
        check(("it was granted to" in text) == (allows != "less"), old, "->", new, text)
        secret(env, "revoke", PATH)
    ended(env)


@test("a revoked grant is not granted again: not from an earlier policy, nor from a chain of them", 240)
def revoked():
    env, lines = home(), "    read /usr/share/doc\n    read /usr/share/man\n    read /usr/share/info\n"
    folder = env["KENNEL_HOME"] + "/policies"
    os.makedirs(folder, mode=0o700)
    p = folder + "/t.kennel"

    def becomes(n):
        body = toy_policy(SECRET + "".join(lines.splitlines(True)[:n]))
        with open(p, "w") as f:
            f.write("server t {\n%s}\n" % body)
        os.chmod(p, 0o600)

    def ids():
        return [r["id"] for r in json.loads(secret(env, "grants", "--json").stdout)]
    opened(env)
    becomes(3)
    secret(env, "grant", "--server", "t")
    first = ids()
    becomes(2)
    has(env, None, VALUE)
    two = ids()
    becomes(1)
    has(env, None, VALUE)  # the control: two grants follow from the first
    equal((len(first), len(two), len(ids())), (1, 2, 3))
    mine = [i for i in ids() if i not in two][0]
    r = secret(env, "revoke", PATH, "--server", "t", "--only-id", mine)
    within(b"from which the next start would grant it again", r.stdout)
    equal(ids(), [])
    within("it is not granted to this server", start(env, None))
    equal(ids(), [], "granted again")
    # of an earlier policy: the one in force keeps what a person granted to it
    becomes(3)
    secret(env, "grant", "--server", "t")
    wide = ids()
    becomes(2)
    has(env, None, VALUE)
    secret(env, "revoke", PATH, "--server", "t", "--only-id", wide[0])
    equal(len(ids()), 1)
    has(env, None, VALUE)
    # and a start that has seen the grant does not use it once it is revoked
    becomes(1)
    r = secret(env, "grant", PATH, "--server", "t", "--after", wide[0], status=None)
    check(r.returncode != 0, "granted after a revoked one")
    equal(len(ids()), 1)
    r = secret(env, "grant", PATH, "--server", "t", "--after", ids()[0])  # the control
    equal(len(ids()), 2)
    ended(env)


@test("a revoked grant is not granted again from an earlier policy whose copy was away", 240)
def revoked_without_a_copy():
    env = home()
    p = env["KENNEL_HOME"] + "/policies/t.kennel"
    os.makedirs(os.path.dirname(p), mode=0o700)
    lines = "    read /usr/share/doc\n    read /usr/share/man\n"

    def becomes(n):
        with open(p, "w") as f:
            f.write("server t {\n%s}\n" % toy_policy(SECRET + "".join(lines.splitlines(True)[:n])))
        os.chmod(p, 0o600)

    def ids():
        return [r["id"] for r in json.loads(secret(env, "grants", "--json").stdout)]
    opened(env)
    # the copy of the earlier policy; that of the revoked one, when another is in force; none, the control
    for away in ("earlier", "revoked", None):
        becomes(2)
        secret(env, "grant", "--server", "t")
        earlier = ids()
        becomes(1)
        has(env, None, VALUE)
        (revoked,) = [i for i in ids() if i not in earlier]
        if away == "revoked":
            becomes(0)
            has(env, None, VALUE)
        copy = "%s/audit/policies/%s.sealed" % (env["KENNEL_HOME"], revoked if away == "revoked" else earlier[0])
        if away:
            os.rename(copy, copy + ".away")
        r = secret(env, "revoke", PATH, "--server", "t", "--only-id", revoked)
        within(b"its text is not kept" if away else b"the next start would grant it again", r.stdout, away)
        equal(len(ids()), 1 if away == "revoked" else 0, "the policy in force keeps its own")
        if away:
            os.rename(copy + ".away", copy)
        becomes(1)
        absent("granted again", start(env, None))
        secret(env, "revoke", PATH, status=None)
    ended(env)


@test("secret list shows the servers that name each secret, and which are granted it; at most 80 columns", 120)
def listed():
    env = home()
    folder = env["KENNEL_HOME"] + "/policies"
    os.makedirs(folder, mode=0o700)

    def policy_of(name, lines):
        with open("%s/%s.kennel" % (folder, name), "w") as f:
            f.write("server %s {\n%s}\n" % (name, toy_policy(lines)))
        os.chmod("%s/%s.kennel" % (folder, name), 0o600)
    names = sorted("server-%02d" % i for i in range(6))
    for name in names:
        policy_of(name, SECRET)
    policy_of("other", "    secret A from vault team/other/token\n    secret B from vault team/other/token\n")
    policy_of("bad", "    nonsense\n")
    with open(env["KENNEL_HOME"] + "/secrets.kennel", "w") as f:
        f.write("secret %s { approve session }\n" % PATH)

    def rows(*words_):
        return {r["path"]: r for r in json.loads(secret(env, "list", "--json", "--all", *words_).stdout)}

    def state(path):
        return {s["name"]: s["granted"] for s in rows()[path]["servers"]}
    equal(state(PATH), dict.fromkeys(names, False), "no vault")
    secret(env, "init", "--stdin", stdin=PASS)
    secret(env, "grant", "--server", names[1])
    equal(state(PATH), dict(dict.fromkeys(names, False), **{names[1]: True}))
    got = rows()
    equal((got[PATH]["status"], got["team/other/token"]["status"]), ("registered", "undeclared"))
    equal(got["team/other/token"]["servers"], [{"name": "other", "granted": False}])
    equal(list(rows("--contains", "other")), ["team/other/token"])
    equal(list(rows("--status", "registered")), [PATH])
    text = secret(env, "list", "--all").stdout.decode()
    lines = text.splitlines()
    check(max(len(line) for line in lines) <= 80, text)
    equal(lines[0], "registered  -           %s  (approve session)" % PATH)
    equal(lines[1], " " * 24 + "server-00 (not granted), server-01 (granted),")
    within("undeclared  -           team/other/token\n%sother (not granted)\n" % (" " * 24), text)
    within("    kennel secret grant --server NAME   grants what its policy names\n", text)
    # without a project, what an import leaves is shown too
    equal([r["path"] for r in json.loads(secret(env, "list", "--json").stdout)], ["team/other/token"])
    # a path that only the vault has
    secret(env, "set", "team/alone/token", "--stdin", stdin=VALUE)
    got = rows()["team/alone/token"]
    equal((got["status"], got["servers"]), ("undeclared", []))
    within("undeclared  -           team/alone/token\n", secret(env, "list", "--all").stdout.decode())
    policy_of(names[1], SECRET + "    read /usr/share/doc\n")
    equal(state(PATH)[names[1]], False, "the policy allows more than was granted")
    secret(env, "lock")
    equal(set(state(PATH).values()), {None})
    r = secret(env, "list", "--all")
    within(b"server-00 (vault locked)", r.stdout)
    within(b"`kennel secret unlock` shows which servers are granted a secret", r.stderr)
    check("team/alone/token" not in rows(), "the vault is locked")
    within(b"`kennel secret unlock` shows the other paths in it", secret(env, "list", "--all", "--contains", "nothing").stderr)
    ended(env)


@test("secret grants says which grants are for a policy as it is now", 120)
def grant_states():
    env = home()
    opened(env)
    os.makedirs(env["KENNEL_HOME"] + "/policies", mode=0o700, exist_ok=True)
    p = env["KENNEL_HOME"] + "/policies/t.kennel"

    def becomes(more):
        with open(p, "w") as f:
            f.write("server t {\n%s%s}\n" % (toy_policy(SECRET), more))
        os.chmod(p, 0o600)

    def states():
        out = secret(env, "grants", PATH).stdout
        lines = (out.decode() if isinstance(out, bytes) else out).splitlines()
        rows = [line.split("  ")[-1] for line in lines if line.startswith(PATH)]
        old = [r for r in rows if r not in ("current", "stale: the next start grants it again") and "no such" not in r]
        equal([line.strip().split("   ")[0] for line in lines if line.startswith("    kennel")],
              ["kennel secret grant --server NAME", "kennel secret revoke --stale"] if old else [], lines)
        return rows
    becomes("    read /usr/share/doc\n")
    equal(states(), [])
    def doctor():
        rows = json.loads(run([KENNEL, "doctor", "--json"], env=env, timeout=60).stdout)
        rows = rows["rows"] if isinstance(rows, dict) else rows
        return [(r["holds"], r["said"], r.get("fix")) for r in rows if r["name"] == "vault"][0]
    note = b"the vault is locked: servers with secrets in it do not start before `kennel secret unlock`\n"
    absent(note, run([KENNEL, "list"], env=env).stdout)
    equal(doctor(), (True, "it is unlocked, without a security key: a server with a grant `with key` does not start", None))
    secret(env, "lock")
    within(note, run([KENNEL, "list"], env=env).stdout)
    equal(doctor(), (False, "it is locked: servers with secrets in it do not start, and what needs a security key is refused", "kennel secret unlock"))
    within(b"the vault is locked: open it with kennel secret unlock", secret(env, "grant", "--server", "t", status=126).stderr)
    secret(env, "unlock", "--stdin", stdin=PASS)
    secret(env, "grant", "--server", "t")
    equal(states(), ["current"])
    becomes("")
    equal(states(), ["stale: the next start grants it again"])
    secret(env, "grant", "--server", "t")
    equal(sorted(states()), ["current", "replaced by the current one"])
    within(b"revoked 1 grant\n", secret(env, "revoke", "--stale").stdout)
    equal(states(), ["current"], "only the replaced one is gone")
    equal(secret(env, "revoke", "--stale", PATH, "--server", "t").stdout, b"no stale grant\n")
    secret(env, "revoke", PATH, "--server", "t")
    becomes("    read /usr/share/doc\n")
    secret(env, "grant", "--server", "t")
    becomes("    read /usr/include\n")
    equal(states(), ["stale: the policy allows more now"])
    secret(env, "grant", "--server", "t")
    equal(sorted(states()), ["current", "replaced by the current one"])
    becomes("    read /usr/share/doc\n    read /usr/include\n    read /usr/share/man\n")
    for name in os.listdir(env["KENNEL_HOME"] + "/audit/policies"):
        os.unlink(env["KENNEL_HOME"] + "/audit/policies/" + name)
    equal(states(), ["stale: the policy has changed"] * 2)
    secret(env, "revoke", "--stale", "--server", "another")
    equal(len(states()), 2, "the control: of another server")
    secret(env, "revoke", "--stale", PATH, "--server", "t")
    equal(states(), [])
    secret(env, "grant", "--server", "t")
    os.unlink(p)
    equal(states(), ["no such server, or its policy has errors"])
    secret(env, "lock")
    ended(env)


@test("a policy of the same signer needs no new grant, one of another does", 120)
def signer():
    env, p = home(), policy(toy_policy(SECRET))
    d = env["KENNEL_HOME"] + "-keys"
    os.mkdir(d, 0o700)
    for key in ("a", "b"):
        equal(run([KENNEL, "policy", "key", "new", key], env=env, cwd=d).returncode, 0)

    def signed(name, key):
        for cmd in (["compile", p, "-o", d + "/" + name], ["sign", d + "/" + name, "--key", d + "/" + key]):
            r = run([KENNEL, "policy"] + cmd, env=env, cwd=d)
            equal(r.returncode, 0, r.stderr)
        return d + "/" + name
    opened(env)
    one = signed("one", "a")
    secret(env, "grant", PATH, "--server", "t", "--policy", one)
    equal(json.loads(secret(env, "grants", "--json").stdout)[0]["kind"], "signer")
    has(env, one, VALUE)
    with open(p, "a") as f:
        f.write("\nserver other {\n    run %s\n}\n" % words(TOY))
    has(env, signed("two", "a"), VALUE)
    within("allows more than the one that it was granted to", start(env, signed("three", "b")))
    within("allows more than the one that it was granted to", start(env, p))
    ended(env)


@test("the keeper gives a value for a grant, and for nothing else that is said")
def protocol():
    env, p = home(), policy(toy_policy(SECRET))
    opened(env)
    secret(env, "grant", PATH, "--server", "t", "--policy", p)
    pid = bytes.fromhex(json.loads(secret(env, "grants", "--json").stdout)[0]["id"])
    s, now = hello(env)
    equal(now, 2)
    got = release(s, PATH, "t", pid)  # as TRUST.md says: whoever is this user can
    within(VALUE.encode(), got)
    for path, server, who in ((PATH, "t", bytes(32)), (PATH, "u", pid), ("team/github/other", "t", pid),
                              (PATH, "", pid), ("", "t", pid), ("x" * 200, "t", pid)):
        got = release(s, path, server, who)
        equal(struct.unpack("<I", got[:4])[0], 7, (path, server))
        absent(VALUE.encode(), got)
    s.close()
    for bad in (b"", b"\0", b"\2\0\0\0", struct.pack("<I", 32), struct.pack("<II", 2, 9) + wstr("x"),
                struct.pack("<I", 999), os.urandom(60000), struct.pack("<I", 14) + b"\xff" * 40):
        s = connect(env)
        if bad:
            s.send(bad)
            equal(s.recv(100), b"", "an answer to nonsense")
        s.close()
        s, now = hello(env)
        if len(bad) >= 4:
            s.send(bad if bad[0] != 2 else struct.pack("<I", 32) + bad)
            equal(s.recv(100), b"", "an answer to nonsense")
        s.close()
    equal(state(env), 2, "the keeper goes on")
    many = [connect(env) for _ in range(40)]  # more than there are places
    for s in many:
        s.close()
    equal(state(env), 2)
    # all places of one process, closed while the keeper is stopped: it sees their ends
    # and the connection that speaks in the same turn
    held = [hello(env)[0] for _ in range(8)]
    os.kill(keeper(), signal.SIGSTOP)
    for s in held:
        s.close()
    s = connect(env)
    s.send(struct.pack("<III", 2, 1, 4) + b"test\0" + bytes(16))
    os.kill(keeper(), signal.SIGCONT)
    equal(struct.unpack("<II", s.recv(100)), (3, 2), "heard")
    s.close()
    ended(env)


HOLD = """import os,socket,struct,sys,time
here = os.open(sys.argv[1], os.O_PATH)
held = []
for i in range(int(sys.argv[2])):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    s.connect('/proc/self/fd/%d/keeper.sock' % here)
    held.append(s)
print('held', flush=True)
time.sleep(20)
"""


@test("40 silent connections, of one process or of five, do not keep the keeper from who speaks", 120)
def silent():
    env = home()
    opened(env)
    at = env["KENNEL_HOME"] + "/run"
    log = env["KENNEL_HOME"] + "/vault/keeper.log"
    # one process: 8 places, the ninth is told why
    many = [connect(env) for _ in range(8)]
    ninth = connect(env)
    got = ninth.recv(300)
    equal(struct.unpack("<II", got[:8]), (7, 13), "refused: too many")
    within(b"too many connections", got)
    ninth.close()
    other = run(["/usr/bin/python3", "-c", HOLD.replace("time.sleep(20)", "held[0].send(struct.pack('<III', 2, 1, 4)"
                 " + b'test\\0' + bytes(16)); print(len(held[0].recv(100)))"), at, "1"])
    within(b"8", other.stdout, "the control: another process is heard meanwhile")
    began = time.monotonic()
    for s in many:
        equal(s.recv(100), b"", "closed without a HELLO")
        s.close()
    check(1 < time.monotonic() - began < 8, time.monotonic() - began)
    # five processes with eight each: all places, until 2 s have passed
    holders = [subprocess.Popen(["/usr/bin/python3", "-c", HOLD, at, "8"], stdout=subprocess.PIPE) for _ in range(5)]
    try:
        for h in holders[:4]:
            within(b"held", h.stdout.readline())
        began = time.monotonic()
        equal(state(env), 2, "the keeper answers")
        check(time.monotonic() - began < 8, "it took %f s" % (time.monotonic() - began))
    finally:
        for h in holders:
            h.kill()
            h.wait()
    within(b"sent no HELLO in 2 s", reads(log))
    # the control: one that said HELLO keeps its place
    s, now = hello(env)
    time.sleep(3)
    equal(struct.unpack("<I", say(s, 30, struct.pack("<I", 0))[:4])[0], 31, "it is still heard")
    s.close()
    ended(env)


@test("another user is refused, whatever the modes")
def another_user():
    if os.geteuid() != 0:
        skip("needs root to be two users")
    env = home()
    opened(env)
    at = env["KENNEL_HOME"] + "/run"
    code = ("import socket,struct\n"
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "s.settimeout(20)\n"
            "s.connect(%r)\n"
            "try:\n"
            "    s.send(struct.pack('<III', 2, 1, 4) + b'test\\0' + bytes(16))\n"
            "    print('got', len(s.recv(100)))\n"
            "except OSError as e: print('got', 0)\n" % (at + "/keeper.sock"))
    r = unconfined(["/usr/bin/python3", "-c", code])
    within(b"PermissionError", r.stderr, "the folder's mode")
    for f, mode in ((env["KENNEL_HOME"], 0o711), (at, 0o711), (at + "/keeper.sock", 0o666)):
        os.chmod(f, mode)
    equal(unconfined(["/usr/bin/python3", "-c", code]).stdout, b"got 0\n", "another user")
    equal(run(["/usr/bin/python3", "-c", code]).stdout, b"got 8\n", "the control")
    os.chmod(at, 0o700)
    within(b"refused a connection of user %d" % UID, reads(env["KENNEL_HOME"] + "/vault/keeper.log"))
    ended(env)


@test("a version or a grant that is missing is not reported as a missing path, nor as an empty line; the commands that list them are named")
def not_there():
    env, p = home(), policy(toy_policy(SECRET))
    opened(env)
    for words, of in ((), b""), ((PATH,), b" of " + PATH.encode()):
        r = secret(env, "grants", *words)
        equal(r.stdout, b"")
        within(b"no grants%s: `kennel secret grant --server NAME` grants what the policy of a server names" % of, r.stderr)
    equal(secret(env, "grants", "--json").stdout, b"[]\n")
    for option in ("--for", "--idle"):
        for value in ("99999", "0", "x"):
            within(b"expected a number of minutes from 1 to 1440", secret(env, "unlock", option, value, status=64).stderr)
    no_grant = b"no such grant: `kennel secret grants` with the path lists them"
    r = secret(env, "versions", PATH, "--restore", "9", status=127)
    within(b"%s: no such version: `kennel secret versions` with the path lists them" % PATH.encode(), r.stderr)
    within(b"it is not in the vault", secret(env, "versions", "team/no/path", "--restore", "9", status=127).stderr, "the control")
    within(no_grant, secret(env, "revoke", PATH, "--server", "nosuch", status=127).stderr)
    secret(env, "grant", PATH, "--server", "t", "--policy", p)
    within(no_grant, secret(env, "revoke", PATH, "--server", "nosuch", status=127).stderr)
    within(no_grant, secret(env, "revoke", PATH, "--server", "t", "--only-id", "0" * 64, status=127).stderr)
    equal(secret(env, "revoke", PATH, "--server", "t").stdout, b"%s: revoked 1 grant\n" % PATH.encode())
    ended(env)


@test("a wrong passphrase leaves an open vault open; the third in a row locks it, and says so")
def wrong_while_open():
    env = home()
    opened(env)
    key = TMP + "/wrong.key"
    with open(key, "wb") as f:
        f.write(os.urandom(64))
    os.chmod(key, 0o600)

    def wrong(*words, then=b"; the vault stays unlocked"):
        stdin = () if "--key-file" in words else ("--stdin",)
        r = secret(env, *words, *stdin, stdin="another passphrase\nanother passphrase", status=126)
        within(then, r.stderr)
        equal(state(env), 1 if b"locked now" in then else 2)
    wrong("unlock", "--key-file", key, then=b"the vault has no key file")
    for _ in range(2):
        wrong("unlock")
    secret(env, "unlock", "--stdin", stdin=PASS)  # a right one ends the count
    wrong("recover", then=b"the vault has no recovery phrase")
    for _ in range(2):
        wrong("unlock")
    secret(env, "versions")
    wrong("unlock", then=b"wrong for the third time: the vault is locked now")
    r = secret(env, "unlock", "--stdin", stdin="another passphrase", status=126)
    absent(b"stays", r.stderr, "the control: a locked vault")
    secret(env, "unlock", "--stdin", stdin=PASS)
    ended(env)


@test("what is not used is locked, and what is used is locked in the end")
def idle():
    env = home()
    opened(env)
    for idle_s, cap_s, why in ((1, 1000, b"locked: idle"), (1000, 1, b"locked: maximum time reached")):
        s, _ = hello(env)
        got = say(s, 10, struct.pack("<III", idle_s, cap_s, 1) + wstr(PASS))
        equal(struct.unpack("<I", got[:4])[0], 5)
        s.close()
        locked = []

        def look():
            if cap_s == 1 and not locked:  # used again and again: no matter
                s, _ = hello(env)
                say(s, 30, struct.pack("<I", 0))
                s.close()
            locked[:] = [1] if why in reads(env["KENNEL_HOME"] + "/vault/keeper.log") else []
            return locked
        check(wait_for(look, 30) is not None, why)
    if keepers():
        equal(state(env), 1)
    secret(env, "versions", status=126)
    ended(env)


@test("no memory of the keeper that can be read holds a value or a passphrase; locked, none does")
def memory():
    if os.geteuid() != 0:
        skip("needs root to read another process's memory")
    env, p = home(), policy(toy_policy(SECRET))
    opened(env)
    secret(env, "grant", PATH, "--server", "t", "--policy", p)
    has(env, p, VALUE)

    def look():
        found = False
        for part in memory_of(keeper()):
            found = found or PATH.encode() in part
            for v in (VALUE, PASS):
                absent(v.encode(), part, "the keeper's memory")
        return found
    check(look(), "the control: a path is there while it is open")
    secret(env, "lock")
    s, _ = hello(env)  # it stays for us
    look()
    s.close()
    gone()


@test("TERM ends the keeper, with nothing open and no socket left")
def term():
    env = home()
    opened(env)
    pid = keeper()
    status = reads("/proc/%d/status" % pid).decode()
    check(matches(r"Seccomp:\s+2", status) and matches(r"NoNewPrivs:\s+1", status), status)
    equal(reads("/proc/%d/environ" % pid), b"", "its environment")
    equal(reads("/proc/%d/cmdline" % pid), b"kennel-keeper\0")
    s, _ = hello(env)
    os.kill(pid, signal.SIGTERM)
    equal(s.recv(100), b"", "it hangs up")
    s.close()
    gone()
    check(not os.path.exists(env["KENNEL_HOME"] + "/run/keeper.sock"), "a socket is left")
    within(b"locked: the keeper is exiting", reads(env["KENNEL_HOME"] + "/vault/keeper.log"))
    secret(env, "versions", status=126)
    ended(env)


@test("a keeper that is killed while it writes leaves a vault that opens", 120)
def killed():
    env = home()
    opened(env)
    values, rng = {VALUE}, random.Random(7)
    for i in range(6):
        new = "value-%d-%s" % (i, VALUE)
        pid = keeper()
        t = threading.Timer(rng.random() * 0.03, lambda p=pid: os.kill(p, 9))
        t.start()
        secret(env, "rotate", PATH, "--stdin", stdin=new, status=None)
        t.join()
        gone()
        values.add(new)
        secret(env, "unlock", "--stdin", stdin=PASS)
        rows = json.loads(secret(env, "versions", PATH, "--json").stdout)
        equal(sum(r["replaced"] is None for r in rows), 1)
    ended(env)
    equal(sorted(os.listdir(env["KENNEL_HOME"] + "/vault"))[0], "keeper.log")


@test("a vault that was altered, or is open to others, is not opened")
def altered():
    env = home()
    opened(env)
    file = env["KENNEL_HOME"] + "/vault/secrets.vault"
    whole = reads(file)
    with open(file + ".copy", "wb") as f:
        f.write(whole)
    os.chmod(file + ".copy", 0o600)
    os.rename(file + ".copy", file)  # another file in its place, while it is open
    r = secret(env, "set", "team/x/y", "--stdin", stdin=OTHER, status=125)
    backup = b"restore a backup (kennel-secret(1), Backups)"
    within(b"the vault file was replaced, and the vault is locked: unlock it if this is your file, else " + backup, r.stderr)
    equal(reads(file), whole)
    secret(env, "unlock", "--stdin", stdin=PASS)
    secret(env, "lock")
    for at in (10, 70, 120, 300, len(whole) - 1):
        with open(file, "r+b") as f:
            f.write(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        r = secret(env, "unlock", "--stdin", stdin=PASS, status=None)
        check(r.returncode in (125, 126), at, r.returncode)
        check(r.returncode == 126 or backup in r.stderr, at, r.stderr)
    with open(file, "r+b") as f:
        f.write(whole + b"x")
    within(b"its length does not match its header: " + backup, secret(env, "unlock", "--stdin", stdin=PASS, status=125).stderr)
    os.truncate(file, len(whole))
    with open(file, "r+b") as f:
        f.write(whole)
    os.chmod(file, 0o640)
    within(b"chmod 600", secret(env, "unlock", "--stdin", stdin=PASS, status=125).stderr)
    os.chmod(file, 0o600)
    secret(env, "unlock", "--stdin", stdin=PASS)
    ended(env)


def at_terminal(env, answers, *words):
    """The verb at a terminal of its own: what stood there, and its status."""
    pid, tty = pty.fork()
    if pid == 0:
        try:
            os.execve(KENNEL, [KENNEL, "secret"] + list(words), environment(env))
        finally:
            os._exit(99)
    text = b""
    try:
        for prompt, answer in answers:
            while prompt not in text.rsplit(b"\n", 1)[-1]:
                text += os.read(tty, 4096)
            os.write(tty, answer + b"\n")
            text += b"\n"
        while True:
            text += os.read(tty, 4096)
    except OSError:  # the other side is closed
        pass
    os.close(tty)
    return text, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@test("S1-111 at a terminal nothing that is typed is seen, and a recovery phrase once", 120)
def terminal():
    env = home()
    new = "a new passphrase " + VALUE
    seen, status = at_terminal(env, [(b"passphrase for", b"short")], "init")
    equal(status, 65, seen)
    within(b"a passphrase needs at least eight characters; enter a longer one", seen)
    absent(b"again", seen, "it is refused after the first entry")
    seen, status = at_terminal(env, [(b"passphrase for", PASS.encode()), (b"again", PASS.encode())], "init")
    equal(status, 0, seen)
    absent(PASS.encode(), seen)
    seen, status = at_terminal(env, [(b"value", VALUE.encode())], "set", PATH)
    equal(status, 0, seen)
    absent(VALUE.encode(), seen)
    seen, status = at_terminal(env, [(b"value", OTHER.encode())], "rotate", PATH)
    equal(status, 0, seen)
    absent(OTHER.encode(), seen)
    within(b"version 2", seen)
    seen, status = at_terminal(env, [(b"passphrase", PASS.encode())], "export-recovery")
    equal(status, 0, seen)
    absent(PASS.encode(), seen)
    words_ = re.search(rb"((?:[a-z]{5} ){8}[a-z]{5})", seen)
    check(words_, seen)
    phrase = words_.group(1)
    secret(env, "lock")
    seen, status = at_terminal(env, [(b"recovery phrase", b"babab " + phrase[6:]), (b"passphrase", new.encode()),
                                     (b"again", new.encode())], "recover")
    equal(status, 126, seen)
    seen, status = at_terminal(env, [(b"recovery phrase", phrase.upper()), (b"passphrase", new.encode()),
                                     (b"again", new.encode())], "recover")
    equal(status, 0, seen)
    absent(phrase, seen.lower())
    secret(env, "unlock", "--stdin", stdin=PASS, status=126)
    secret(env, "unlock", "--stdin", stdin=new)
    seen, status = at_terminal(env, [(b"passphrase", b"\x03")], "unlock")
    equal(status, 65, seen)
    # without a terminal nothing is asked, and no phrase is shown
    r = run(["setsid", KENNEL, "secret", "export-recovery", "--stdin"], stdin=new, env=environment(env))
    equal(r.returncode, 64)
    equal(r.stdout, b"")
    ended(env)


@test("a value must have the shape that its manifest names; a wrong checksum is seen, and no byte shown")
def shapes():
    good = "ghp_" + crc62("A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5")
    wrong = good[:10] + ("x" if good[10] != "x" else "y") + good[11:]
    env = home()
    secret(env, "init", "--stdin", stdin=PASS)
    with open(env["KENNEL_HOME"] + "/secrets.kennel", "w") as f:
        f.write("secret %s { pattern github-pat }\n" % PATH)
    os.chmod(env["KENNEL_HOME"] + "/secrets.kennel", 0o600)
    for value, why in ((wrong, b"checksum"), (good[:-1], b"length is wrong"), (good[:-1] + "-", b"invalid in a token"),
                       (VALUE, b"does not start like")):
        r = secret(env, "set", PATH, "--stdin", stdin=value, status=65)
        within(b"github-pat", r.stderr)
        within(why, r.stderr)
        absent(value.encode(), r.stdout + r.stderr)
    equal(json.loads(secret(env, "versions", "--json").stdout), [], "nothing was kept")
    secret(env, "set", PATH, "--stdin", stdin=good)  # the control
    secret(env, "rotate", PATH, "--stdin", stdin=wrong, status=65)
    secret(env, "rotate", PATH, "--stdin", "--any-shape", stdin=wrong)
    # the manifest of another project
    other = TMP + "/other-project"
    os.makedirs(other + "/.kennel")
    with open(other + "/.kennel/secrets.kennel", "w") as f:
        f.write("secret team/elsewhere/token { pattern github-pat }\n")
    os.chmod(other + "/.kennel/secrets.kennel", 0o600)
    for words_ in (["--project", other], ["--project=" + other]):
        within(b"checksum", secret(env, "set", "team/elsewhere/token", "--stdin", *words_, stdin=wrong, status=65).stderr)
        within(b"checksum", secret(env, "set", *words_, "team/elsewhere/token", "--stdin", stdin=wrong, status=65).stderr)
    r = secret(env, "set", "team/elsewhere/token", "--stdin", "--project", other + "x", stdin=wrong, status=65)
    within(b"no such directory", r.stderr)
    secret(env, "set", "team/elsewhere/token", "--stdin", stdin="another value of some length")  # the control
    # a path of which no manifest says anything
    within(b"its checksum is wrong", secret(env, "set", "team/other/token", "--stdin", stdin=wrong).stderr)
    absent(b"it starts like", secret(env, "set", "team/third/token", "--stdin", stdin=good).stderr)
    equal(secret(env, "set", "team/fourth/token", "--stdin", stdin=VALUE).stderr, b"", "nothing known")
    for number, (value, kind) in enumerate(((good[:20], "github-pat"), ("sk-ant-short", "anthropic-api"), ("glpat-tiny", "gitlab-pat"))):
        path = "team/short%d/token" % number
        r = secret(env, "set", path, "--stdin", stdin=value)
        within("it starts like a %s, but its length is wrong for a token of this kind; it is stored as it is, and "
               "`kennel secret rotate %s` replaces it" % (kind, path), r.stderr.decode())
        absent(value.encode(), r.stdout + r.stderr)
        within(path, secret(env, "versions").stdout.decode(), "stored")
    # S1-26 what a list says does not tell what the value looks like
    before = secret(env, "list", "--all", "--json").stdout
    secret(env, "rotate", PATH, "--stdin", stdin=good)
    equal(secret(env, "list", "--all", "--json").stdout, before)
    ended(env)


def release_old(s, path, server, pid, which):
    return say(s, 34, wstr(path) + wstr(server) + wstr(pid) + wstr(b"") + wstr(b"") + struct.pack("<I", which))


@test("a value that was rotated is taken out of what later servers say, while it is kept, and is given to none of them")
def rotated():
    env, p = home(), policy(toy_policy(SECRET))
    opened(env)
    secret(env, "grant", PATH, "--server", "t", "--policy", p)

    def says(text):
        s = Mcp([KENNEL, "run", "t", "--policy", p], env=env)
        s.initialize()
        got = s.text("echo", text=text), s.text("spell", var="GH")[::2]
        s.p.stdin.close()
        check(wait_for(lambda: s.p.poll() is not None, 20) is not None, "kennel stays")
        return got

    third = "third-" + OTHER
    # the server that runs keeps what it has
    running = Mcp([KENNEL, "run", "t", "--policy", p], env=env)
    running.initialize()
    equal(says("<%s>" % OTHER), ("<%s>" % OTHER, VALUE), "the control: a value that is not yet one")
    secret(env, "rotate", PATH, "--stdin", stdin=OTHER)
    equal(running.text("spell", var="GH")[::2], VALUE)
    equal(running.text("echo", text=VALUE), "***")
    running.close()
    equal(says("<%s> <%s>" % (VALUE, OTHER)), ("<***> <***>", OTHER))
    secret(env, "rotate", PATH, "--stdin", stdin=third)
    wide = base64.b64encode(("x" + VALUE).encode()).decode()
    text, value = says("<%s> <%s> <%s> %s" % (VALUE, OTHER, third, wide))
    equal((text[:17], value), ("<***> <***> <***>", third))
    absent(wide[4:-8], text, "an old one, encoded")
    # the keeper gives it for the grant, and for no other
    pid = bytes.fromhex(json.loads(secret(env, "grants", "--json").stdout)[0]["id"])
    s, _ = hello(env)
    for which, value in ((1, OTHER), (2, VALUE)):
        within(value.encode(), release_old(s, PATH, "t", pid, which), "the control")
    equal(struct.unpack("<II", release_old(s, PATH, "t", pid, 3)[:8]), (7, 6), "behind the oldest")
    equal(struct.unpack("<II", release_old(s, PATH, "u", pid, 1)[:8]), (7, 10), "another server")
    equal(struct.unpack("<II", release_old(s, PATH, "t", b"\1" * 32, 1)[:8]), (7, 11), "another policy")
    equal(release_old(s, PATH, "t", pid, 0), b"", "none is the one that counts")
    s.close()
    # what is removed is forgotten
    secret(env, "remove", PATH)
    secret(env, "set", PATH, "--stdin", stdin=OTHER)
    secret(env, "grant", PATH, "--server", "t", "--policy", p)
    equal(says("<%s>" % VALUE), ("<%s>" % VALUE, OTHER))
    ended(env)


@test("what people do to the vault is in the audit log: before it is done where it gives power; never a value")
def recorded():
    env, p = home(), policy(toy_policy(SECRET))
    opened(env)
    secret(env, "grant", PATH, "--server", "t", "--policy", p)
    secret(env, "rotate", "--stdin", PATH, stdin=OTHER)  # a flag has no value
    secret(env, "versions", "--restore", "1", PATH)
    secret(env, "versions", PATH)  # asks, and changes nothing
    secret(env, "revoke", PATH, "--server", "t")
    secret(env, "set", OTHER, "--stdin", stdin=VALUE, status=65)  # a value in the place of a path
    secret(env, "lock")
    secret(env, "unlock", "--stdin", stdin="another passphrase", status=126)
    secret(env, "unlock", "--stdin", stdin=PASS)
    secret(env, "remove", PATH)
    got = [e for e in audit(env=env) if e["kind"] == "vault"]
    field = [e.get("fields", e) for e in got]
    says = [(f["action"], f["outcome"], f.get("verdict"), (f.get("name") or [None])[0], f.get("server"))
            for f in field]
    wanted = []
    for verb, status, name, server in (
            ("init", 0, None, None), ("set", 0, PATH, None), ("grant", 0, PATH, "t"), ("rotate", 0, PATH, None),
            ("restore", 0, PATH, None), ("revoke", 0, PATH, "t"), ("set", 65, None, None), ("lock", 0, None, None),
            ("unlock", 126, None, None), ("unlock", 0, None, None), ("remove", 0, PATH, None)):
        if verb not in ("revoke", "lock", "remove"):
            wanted.append((verb, "asked", None, name, server))
        wanted.append((verb, "done" if status == 0 else "failed", {0: "allow", 126: "deny"}.get(status), name, server))
    equal(says, wanted)
    for v in (VALUE, OTHER, PASS):
        absent(v, json.dumps(audit(env=env)), "the audit log")
    told = run([KENNEL, "audit", "secret", PATH], env=env).stdout.decode()
    within("vault: grant %s for t" % PATH, told)
    denied = run([KENNEL, "audit", "denials"], env=env).stdout.decode()
    check(matches(r"vault +deny +unlock +.*the vault is locked or could not be unlocked", denied), denied)
    check(not matches(r"vault +deny +set", denied), "a command that failed is no denial")
    (failed,) = [f for f in field if f["action"] == "set" and f["outcome"] == "failed"]
    equal(failed["status"], 65)
    within("is unsuitable", failed["reason"])
    told = run([KENNEL, "audit", "secret"], env=env).stdout.decode()
    within("vault: init by person via command, uid %d, done" % os.getuid(), told)
    within("vault: set by person via command, uid %d, failed with status 65: an argument" % os.getuid(), told)
    # a log that cannot be written: nothing that gives power, and all that takes it away
    log = env["KENNEL_HOME"] + "/audit"
    wait_for(lambda: "kennel-recorder" not in descendants(os.getpid()).values(), 30)
    os.rename(log, log + ".was")
    with open(log, "w"):
        pass
    try:
        within(b"nothing was done", secret(env, "set", PATH, "--stdin", stdin=VALUE, status=125).stderr)
        within(b"unable to record it in the audit log", secret(env, "lock").stderr)
        equal(state(env) if keepers() else 1, 1, "it is locked")
        secret(env, "unlock", "--stdin", stdin=PASS, status=125)
    finally:
        os.unlink(log)
        os.rename(log + ".was", log)
    ended(env)


@test("a key file opens it, if it is nobody else's; values come from descriptors, never from words")
def inputs():
    env = home()
    key = env["KENNEL_HOME"] + ".key"
    with open(key, "w") as f:
        f.write(os.urandom(32).hex() + "\n")
    os.chmod(key, 0o644)
    within(b"(chmod 600)", secret(env, "init", "--key-file", key, status=65).stderr)
    within(b"to create one: (umask 077; head -c 64 /dev/urandom >FILE)",
           secret(env, "init", "--key-file", key + ".none", status=65).stderr)
    within(b"name one after --key-file", secret(env, "init", "--key-file", TMP, status=65).stderr)
    within(b"enter a longer one", secret(env, "init", "--stdin", stdin="short", status=65).stderr)
    os.chmod(key, 0o600)
    # a verb that has changed something says so
    equal(secret(env, "init", "--key-file", key).stdout, b"the vault is created and unlocked\n")
    equal(secret(env, "lock").stdout, b"the vault is locked\n")
    equal(secret(env, "unlock", "--stdin", stdin=PASS, status=126).stdout, b"")
    equal(secret(env, "unlock", "--key-file", key).stdout, b"the vault is unlocked\n")
    secret(env, "set", PATH, VALUE, status=64)
    r, w = os.pipe()
    os.write(w, OTHER.encode() + b"\n")
    os.close(w)
    got = run([KENNEL, "secret", "set", PATH, "--fd", str(r)], env=env, pass_fds=[r])
    os.close(r)
    equal(got.returncode, 0, got.stderr)
    for bad in (b"", b"abc", b"a\0bcd", b"x" * 70000):
        secret(env, "rotate", PATH, "--stdin", stdin=bad, status=65)
    for path in ("a", "a/b", "A/b/c", "../b/c", "a//c", "__sys/a/b"):
        secret(env, "set", path, "--stdin", stdin=VALUE, status=65)
    ended(env)


@test("a server reaches neither the vault nor its keeper")
def apart():
    env = home()
    opened(env)
    for grant in ("read %s/vault", "write %s/vault", "read %s"):
        p = policy(toy_policy(SECRET + "    " + grant % env["KENNEL_HOME"]))
        within("is kennel's vault" if "%s/" in grant else "lets server", start(env, p), grant)
    ended(env)


if __name__ == "__main__":
    main()
