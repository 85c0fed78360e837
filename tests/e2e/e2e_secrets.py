"""The secrets tools of kennel serve: what an agent may know about the secrets of its project, and may not."""
import datetime
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kit import *  # noqa: E402,F403
from serve_kit import *  # noqa: E402,F403

be_subreaper()
VALUE = "secrets-s3ntinel-%d-k3nn3l" % os.getpid()
LIST_KEYS = ["path", "status", "expires_at", "source_name", "capabilities_hint"]
CARD_KEYS = LIST_KEYS + ["description", "retrieval_url", "rotation_method", "last_rotated_at", "rotate_every_days",
                         "pattern_id"]
TOOLS = OWN_LISTED[:8]
READS = ["secrets_list", "secrets_describe", "secrets_request_use_approval"]
places = [0]


def day(n):
    return (datetime.date.today() + datetime.timedelta(days=n)).isoformat()


class Project:
    """A directory with a manifest, and a home with a personal index."""

    def __init__(self, manifest=None, index=None):
        places[0] += 1
        self.dir = "%s/project-%d" % (TMP, places[0])
        self.env = {"KENNEL_HOME": self.dir + "/home"}
        os.makedirs(self.dir + "/.kennel")
        os.makedirs(self.dir + "/home", mode=0o700)
        self.write(manifest)
        self.write(index, self.dir + "/home/secrets.kennel")

    def write(self, text, path=None):
        path = path or self.dir + "/.kennel/secrets.kennel"
        if text is None:
            return
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o600)

    def hub(self, *servers, **how):
        return Hub(*(servers or (server("one"),)), env=self.env, args=["--project", self.dir], **how)


def listed(h, /, **filters):
    """What secrets_list says; its text is the bare array."""
    r = h.do("secrets_list", filters)["result"]
    got = json.loads(r["content"][0]["text"])
    equal(r["structuredContent"], {"secrets": got})
    check("isError" not in r, r)
    return got


def paths(rows):
    return [r["path"] for r in rows]


def refused(answer, kind, path=None):
    """The text of an error of these tools; its structure is checked."""
    r = answer["result"]
    s = r["structuredContent"]
    equal((r["isError"], s["error"]["kind"], s["error"].get("path")), (True, kind, path), r)
    equal(list(s), ["error", "remediation"])
    equal(list(s["remediation"])[:4], ["actor", "action", "user_message", "retryable"])
    return r["content"][0]["text"]


def remedy(answer):
    m = answer["result"]["structuredContent"]["remediation"]
    return m["actor"], m["action"], m["retryable"]


FULL = """
required team/jira/api-key
optional team/github/token team/gitlab/token ops/aws/root
secret team/jira/api-key {
    description "API token of \\"Jira\\", <b>team</b>"
    retrieval-url "https://example.invalid/tokens"
    expires %s
    last-rotated 2026-04-15
    rotate-every 90d
    rotation provider-ui
    pattern github-pat-classic
    approve session
}
secret team/github/token {
    expires %s
    approve per-call
}
secret team/gitlab/token {
    approve never
}
secret ops/aws/root {
    expires %s
}
""" % (day(14), day(15), day(-1))


# ---- secrets_list ------------------------------------------------------------------------

@test("S1-09 S1-22 S1-23 S1-28 S1-30 S1-31 S1-32 S1-41 C10 secrets_list: an array of records, keys in order, sorted by path")
def list_all():
    p = Project(FULL)
    h = p.hub()
    got = listed(h)
    equal(paths(got), ["ops/aws/root", "team/github/token", "team/gitlab/token", "team/jira/api-key"])
    for r in got:
        equal(list(r), LIST_KEYS + (["approve_on_use"] if "approve_on_use" in r else []))
        equal(r["source_name"], None)
    equal([r.get("approve_on_use") for r in got], [None, "per-call", None, "session"])
    equal(h.do("secrets_list", {})["result"]["content"][0]["text"].count(" "), 0, "compact")
    equal(h.do("tool_invoke", {"name": "secrets_list"})["result"], h.do("secrets_list")["result"], "absent arguments")
    r = run([KENNEL, "secret", "list", "--json", "--project", p.dir], env=p.env)
    seen = json.loads(r.stdout)
    check(all("servers" in s for s in seen), seen)
    equal([{k: v for k, v in s.items() if k != "servers"} for s in seen], got, "a person sees the same, and the servers")


@test("S1-24 S1-25 S1-26 S1-27 S1-29 status from the date alone: 14 days left is expiring, 15 is not, yesterday is expired")
def statuses():
    rows = {"expired": -1, "today": 0, "soon": 14, "later": 15}
    text = "".join("secret a/b/%s {\n    expires %s\n}\n" % (n, day(d)) for n, d in rows.items())
    text += "secret a/b/unset {\n    rotation provider-api\n}\n"
    got = {r["path"][4:]: r for r in listed(Project(text).hub())}
    equal({n: r["status"] for n, r in got.items()},
          {"expired": "expired", "today": "expiring", "soon": "expiring", "later": "registered", "unset": "registered"})
    equal({n: r["expires_at"] for n, r in got.items()}, dict({n: day(d) for n, d in rows.items()}, unset=None))
    equal((got["unset"]["capabilities_hint"], got["soon"]["capabilities_hint"]), ("read,rotate", "read"))


@test("S1-19 S1-20 S1-21 C1 filters must all match; kennel's own rows only with include_internal, and to no other tool")
def filters():
    h = Project(FULL).hub()
    for f, want in (({"path_contains": "git"}, ["team/github/token", "team/gitlab/token"]),
                    ({"scope": "ops"}, ["ops/aws/root"]), ({"scope": "op"}, []), ({"scope": "team/jira"}, ["team/jira/api-key"]),
                    ({"status": "expiring"}, ["team/jira/api-key"]), ({"status": "expired"}, ["ops/aws/root"]),
                    ({"scope": "team", "path_contains": "git", "status": "registered"},
                     ["team/github/token", "team/gitlab/token"]),
                    ({"scope": "ops", "path_contains": "git"}, []), ({"path_contains": None}, None)):
        equal(paths(listed(h, **f)), paths(listed(h)) if want is None else want, f)
    internal = [p for p in paths(listed(h, include_internal=True)) if p.startswith("__")]
    check("__sources/vault" in internal and "__sys/supervisor/log-key" in internal, internal)
    equal(paths(listed(h, include_internal=True, path_contains="log-key")), ["__sys/supervisor/log-key"])
    equal([p for p in paths(listed(h, include_internal=False)) if p.startswith("__")], [])
    for p in internal:
        within("invalid-path: ", refused(h.do("secrets_describe", {"path": p}), "invalid-path"), p)


@test("S1-18 S1-37 S1-40 C4 C27 only what the project's manifest declares is seen, never the rest of the personal index")
def gated():
    index = "secret team/known/token {\n    description \"of the index\"\n}\nsecret private/bank/pin {\n}\n"
    p = Project("required team/known/token\noverride team/known/token {\n    description \"of the project\"\n}\n", index)
    h = p.hub()
    equal(paths(listed(h)), ["team/known/token"])
    equal(h.structured("secrets_describe", path="team/known/token")["description"], "of the project")
    for path in ("private/bank/pin", "team/none/token"):
        r = h.do("secrets_describe", {"path": path})
        equal(refused(r, "not-found", path), "not-found: " + path)
        equal(remedy(r), ("agent", "secrets_propose_new_path", False))
    p.write("required private/bank/pin\n")
    equal(paths(listed(h)), ["private/bank/pin"], "the manifests are read again at each call")


@test("S1-120 S1-18 without a manifest the list is empty and no error; one that is made later in the project is read")
def empty():
    p = Project(None, "secret private/bank/pin {\n}\n")
    h = p.hub()
    equal(listed(h), [])
    equal(refused(h.do("secrets_describe", {"path": "private/bank/pin"}), "not-found", "private/bank/pin"),
          "not-found: private/bank/pin")
    p.write("")
    equal(listed(h), [])
    p.write("required private/bank/pin\n")
    equal(paths(listed(h)), ["private/bank/pin"])
    os.unlink(p.dir + "/.kennel/secrets.kennel")
    equal(listed(h), [])


@test("S1-18 the project is the nearest directory upwards with a manifest, fixed when kennel serve starts")
def nearest():
    p = Project("secret a/b/outer {\n}\n")
    below = p.dir + "/x/y"
    os.makedirs(below + "/z")
    path = policies(server("one"))

    class There(Mcp):
        def __init__(self, where):
            super().__init__(["/bin/sh", "-c", 'cd "$0" && exec "$@"', where, KENNEL, "serve", "--policy", path], env=p.env)
            self.initialize()

        def paths(self):
            return paths(json.loads(self.call("secrets_list")["result"]["content"][0]["text"]))

    h = There(below + "/z")
    equal(h.paths(), ["a/b/outer"])
    os.makedirs(below + "/.kennel")
    p.write("secret a/b/inner {\n}\n", below + "/.kennel/secrets.kennel")
    equal(h.paths(), ["a/b/outer"], "fixed")
    equal(There(below + "/z").paths(), ["a/b/inner"], "control: of a new session")


# ---- secrets_describe ----------------------------------------------------------------------

@test("S1-10 S1-33 S1-34 S1-35 S1-36 S1-41 secrets_describe: the record and more, nulls written, approve_on_use last or absent")
def describe():
    h = Project(FULL).hub()
    got = h.structured("secrets_describe", path="team/jira/api-key")
    equal(list(got), CARD_KEYS + ["approve_on_use"])
    equal(got, {"path": "team/jira/api-key", "status": "expiring", "expires_at": day(14), "source_name": None,
                "capabilities_hint": "read,rotate", "description": 'API token of "Jira", <b>team</b>',
                "retrieval_url": "https://example.invalid/tokens", "rotation_method": "provider-ui",
                "last_rotated_at": "2026-04-15", "rotate_every_days": 90, "pattern_id": "github-pat-classic",
                "approve_on_use": "session"})
    got = h.structured("secrets_describe", path="team/gitlab/token", unknown="is ignored")
    equal(list(got), CARD_KEYS)
    equal([got[k] for k in CARD_KEYS[2:]], [None, None, "read", None, None, "manual", None, None, None])
    for row in listed(h):
        card = h.structured("secrets_describe", path=row["path"])
        equal({k: card[k] for k in row}, row, "a superset")


# ---- errors ----------------------------------------------------------------------------------

@test("S1-38 S1-39 C2 each error begins with its code and says who does what about it; no value of an argument is repeated")
def errors():
    h = Project(FULL).hub()
    unknown = "invalid filter: unknown field, expected one of path_contains, scope, status, include_internal"
    for tool, arguments, kind, text in (
            ("secrets_list", {VALUE: 1}, "invalid-arguments", unknown),
            ("secrets_list", {"Scope": "team"}, "invalid-arguments", unknown),
            ("secrets_list", {"scope": 5}, "invalid-arguments", "invalid arguments: `scope`: expected a string, found a number"),
            ("secrets_list", {"status": VALUE}, "invalid-arguments",
             "invalid arguments: `status`: expected registered, expiring or expired, found another string"),
            ("secrets_list", {"include_internal": VALUE}, "invalid-arguments",
             "invalid arguments: `include_internal`: expected a boolean, found a string"),
            ("secrets_list", [VALUE], "invalid-arguments", "invalid arguments: expected an object, found an array"),
            ("secrets_list", {"scope": VALUE * 20}, "invalid-arguments", "invalid arguments: `scope` is longer than 255 bytes"),
            ("secrets_list", {"scope": "a\0b"}, "invalid-arguments",
             "invalid arguments: `scope` has a character that is not text"),
            ("secrets_describe", {}, "invalid-arguments", "invalid arguments: missing field `path`"),
            ("secrets_describe", {"path": None}, "invalid-arguments", "invalid arguments: missing field `path`"),
            ("secrets_describe", {"path": {}}, "invalid-arguments",
             "invalid arguments: `path`: expected a string, found an object"),
            ("secrets_describe", {"path": VALUE}, "invalid-path",
             "invalid-path: 1 part, at least 3 are needed (<scope>/<provider>/<purpose>)"),
            ("secrets_describe", {"path": "a/" + VALUE}, "invalid-path",
             "invalid-path: 2 parts, at least 3 are needed (<scope>/<provider>/<purpose>)"),
            ("secrets_describe", {"path": ""}, "invalid-path",
             "invalid-path: 1 part, at least 3 are needed (<scope>/<provider>/<purpose>)"),
            ("secrets_describe", {"path": "a//b"}, "invalid-path", "invalid-path: the second part of the path is empty"),
            ("secrets_describe", {"path": "a/b/" + "x" * 300}, "invalid-path",
             "invalid-path: the path of the secret is longer than 255 bytes"),
            ("secrets_describe", {"path": "a/B/c"}, "invalid-path", None),
            ("secrets_describe", {"path": "a/b/" + VALUE.upper()}, "invalid-path", None)):
        r = h.do(tool, arguments) if isinstance(arguments, dict) else h.ask("tools/call", {"name": tool, "arguments": arguments})
        got = refused(r, kind)
        check(text is None or got == text, got, text)
        equal(remedy(r), ("agent", "fix_arguments", False))
        check(VALUE not in json.dumps(r), r)
    equal(refused(h.do("secrets_describe", {"path": "a/b/c-"}), "not-found", "a/b/c-"), "not-found: a/b/c-")
    h.send_bytes(b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"secrets_describe","arguments":'
           b'{"path":"team/jira/api-key","path":"ops/aws/root"}}}\n')
    equal(refused(h.wait(77), "invalid-arguments"), "invalid arguments: duplicate field `path`")


@test("S1-39 C24 C26 C28 a broken manifest: file, line, column and field, never the line; every tool says so, and once mended it works")
def broken():
    p = Project("secret a/b/c {\n}\noverride a/b/c {\n}\n")
    h = p.hub()
    for text, want in (("secret a/b/c {\n}\noverride a/b/c {\n}\n",
                        "merge-failed: secrets.kennel:3:10: this path has both `secret` and `override` here: remove one"),
                       ("secret a/b/c {\n    value \"%s\"\n}\n" % VALUE, "merge-failed: secrets.kennel:2:5: "),
                       ("secret a/b/c {\n    %s \"x\"\n}\n" % VALUE, "merge-failed: secrets.kennel:2:"),
                       ("%s\n" % VALUE, "merge-failed: secrets.kennel:1:1: "),
                       ("secret a/b/c {\n    description \"%s\n}\n" % VALUE, "merge-failed: secrets.kennel:2:"),
                       ("secret a/b/c {\n    expires %s\n}\n" % VALUE, "merge-failed: secrets.kennel:2:"),
                       ("required %s\n" % VALUE, "merge-failed: secrets.kennel:1:"),
                       ("required a/b/none\n", "merge-failed: secrets.kennel:1:10: unknown path"),
                       ("secret a/b/c {\n}\nsecret a/b/c {\n}\n", "merge-failed: secrets.kennel:3:"),
                       ("\0", "merge-failed: secrets.kennel:")):
        p.write(text)
        for tool, arguments in (("secrets_list", {}), ("secrets_describe", {"path": "a/b/c"})):
            r = h.do(tool, arguments)
            got = refused(r, "merge-failed")
            check(got.startswith(want), got, want)
            equal(remedy(r), ("user", "kennel secret validate", True))
            absent(VALUE, json.dumps(r), text)
            absent(TMP, json.dumps(r), "no path of this machine")
    p.write("required a/b/c\noptional a/b/c\nsecret a/b/c {\n}\n")
    equal(paths(listed(h)), ["a/b/c"], "required and optional: taken as required (C26)")
    os.chmod(p.dir + "/.kennel/secrets.kennel", 0o666)
    got = refused(h.do("secrets_list"), "merge-failed")
    within("another user owns it or may write it", got)
    absent(TMP, got, "no path of this machine")
    os.chmod(p.dir + "/.kennel/secrets.kennel", 0o600)
    p.write("# " + "x" * (1 << 20) + "\n")
    equal(refused(h.do("secrets_list"), "merge-failed"), "merge-failed: secrets.kennel: it is larger than 1 MiB")
    p.write(FULL)
    equal(len(listed(h)), 4, "control")


# ---- versions --------------------------------------------------------------------------------

@test("S1-115 S1-116 S1-117 S1-118 S1-119 C9 version 1.0 of the protocol is announced; another major is refused, a minor is served")
def versions():
    p = Project(FULL)
    h = p.hub()
    equal(h.greeting["result"]["_meta"], {"kennel/secrets-protocol": "1.0"})
    for t in h.ask("tools/list")["result"]["tools"]:
        equal(t.get("_meta"), {"kennel/secrets-protocol": "1.0"} if t["name"].startswith("secrets_") else None)
    for version in ("1.0", "1", "1.7", "1.0.3"):
        r = h.do("secrets_list", meta={"kennel/secrets-protocol": version, "other": 1}, more="is ignored")
        check("isError" not in r["result"], r)
    for version in ("2.0", "0.9", "10.0"):
        r = h.do("secrets_list", meta={"kennel/secrets-protocol": version})
        equal(refused(r, "unsupported-version"), "unsupported secrets protocol %s: this server speaks 1.0" % version)
        equal(remedy(r)[0], "agent")
    for version in (VALUE, "", 1, None, {}, "1" * 40):
        r = h.do("secrets_list", meta={"kennel/secrets-protocol": version})
        equal(refused(r, "unsupported-version"), "unsupported secrets protocol: this server speaks 1.0")
        absent(VALUE, json.dumps(r), "the version")
    m = p.hub(modern=True)
    equal(m.ask("server/discover")["result"]["_meta"]["kennel/secrets-protocol"], "1.0")
    equal(len(listed(m)), 4)
    denied = Project(FULL)
    denied.write("facet deny secrets\n", denied.dir + "/home/settings.kennel")
    d = denied.hub()
    check("_meta" not in d.greeting["result"], d.greeting)
    equal(refusal(d.do("secrets_list")), "unknown tool: secrets_list")


@test("3,000 calls at once are answered, each with a manifest that was read after it came")
def many():
    h = Project(FULL).hub()
    n = 3000
    lines = b"".join(json.dumps({"jsonrpc": "2.0", "id": 1000 + i, "method": "tools/call", "params": {
        "name": "secrets_list", "arguments": {"scope": "ops"}}}).encode() + b"\n" for i in range(n))
    h.send_bytes(lines)  # reads while it writes; two readers would mix up what they get
    got = {}
    while len(got) < n:
        m = h.message(30)
        got[m["id"]] = m
    for m in got.values():
        equal(paths(m["result"]["structuredContent"]["secrets"]), ["ops/aws/root"])


# ---- what does not exist, and what never comes out ---------------------------------------------

@test("S1-06 S1-07 S1-08 S1-84 S1-106 S1-107 S1-108 S1-109 S1-110 S1-111 S1-112 S1-113 S1-114 no tool that gets, sets, "
      "exports or approves exists, in any spelling")
def absent_tools():
    h = Project(FULL).hub()
    verbs = ("get", "put", "set", "export", "dump", "validate", "rotate", "ui", "catalog", "grant", "unlock", "approve",
             "reopen", "read", "resolve")
    names = ["%s%s%s" % (s, sep, v) for s in ("secrets", "secret") for v in verbs for sep in ("_", ".", "-", "__", "/")]
    names += ["%s%s" % (s, v.capitalize()) for s in ("secrets", "secret") for v in verbs]
    for name in names:
        equal(refusal(h.do(name, {"path": "team/jira/api-key"})), "unknown tool: " + name)
        equal(refusal(h.do("tool_invoke", {"name": name, "arguments": {"path": "a/b/c"}})), "unknown tool: " + name)
        equal(refusal(h.do("tool_describe", {"name": name})), "unknown tool: " + name)
        q = h.do("mcp_query", {"server": name.split(".")[0], "tool": name.split(".")[-1]})["result"]["structuredContent"]
        check(q["state"] != "ok", name, q)
    found = [t["name"] for t in h.structured("tool_search", query="", server="kennel", limit=100)["tools"]]
    equal(sorted(n for n in found if n.startswith("secret")), sorted(TOOLS))


def vault(env):
    """An unlocked vault with the sentinel."""
    for words_, stdin in ((["init", "--stdin"], "passphrase-%d" % os.getpid()), (["set", "team/jira/api-key", "--stdin"], VALUE)):
        r = run([KENNEL, "secret"] + words_, stdin=stdin, env=env, timeout=60)
        equal(r.returncode, 0, r.stderr)


@test("S1-01 S1-02 S1-05 a value goes through every secrets tool, as argument, manifest line and vault entry, and never comes out")
def sentinel():
    p = Project(FULL)
    vault(p.env)
    h = p.hub()
    said = []
    everywhere = {"path": VALUE, "path_contains": VALUE, "scope": VALUE, "status": VALUE, "include_internal": VALUE,
                  "mode": VALUE, "reason": VALUE, "ttl_seconds": VALUE, VALUE: VALUE}
    for name in TOOLS:
        said.append(h.do(name, {}))
        said.append(h.do(name, {"path": "team/jira/api-key"}))
        for key in everywhere:
            said.append(h.do(name, {key: everywhere[key]}))
            said.append(h.do(name, dict({"path": "team/jira/api-key"}, **{key: everywhere[key]})))
        said.append(h.do(name, everywhere))
        said.append(h.do(name, {"path": "team/jira/api-key"}, meta={"kennel/secrets-protocol": VALUE}))
    p.write(FULL + "secret a/b/c {\n    value \"%s\"\n}\n" % VALUE)
    said += [h.do(name, {"path": "team/jira/api-key", "reason": "x"}) for name in TOOLS]
    check(any("jira" in json.dumps(s) for s in said) and any("merge-failed" in json.dumps(s) for s in said), "control")
    for s in said:
        absent(VALUE, json.dumps(s), "a reply")
    h.close()
    absent(VALUE, h.stderr(), "standard error")
    equal(run([KENNEL, "secret", "lock"], env=p.env).returncode, 0)


if __name__ == "__main__":
    main()
