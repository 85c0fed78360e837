"""Source 1 as one table: tool, arguments, what comes back; an agent that knows only the descriptions; floods; the sentinel."""
import json
import os
import re
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403
from screen import Screen  # noqa: E402

be_subreaper()
TOOLS = OWN_LISTED[:8]
FREE, GATED, EACH = "team/table/free", "team/table/gated", "team/table/each"
MANIFEST = ("required %s %s\noptional %s\n"
            "secret %s {\n    description \"API token used by team CI\"\n    retrieval-url \"https://example.invalid/tokens\"\n"
            "    rotate-every 90d\n    last-rotated 2026-04-15\n    expires 2020-01-01\n}\n"
            "secret %s {\n    approve session\n    rotation provider-ui\n}\n"
            "secret %s {\n    approve per-call\n}\n" % (FREE, GATED, EACH, FREE, GATED, EACH))
RID = re.compile("^prov-[0-9a-f]{12}$")
FREE_ROW = {"path": FREE, "status": "expired", "expires_at": "2020-01-01", "source_name": None, "capabilities_hint": "read"}
GATED_ROW = {"path": GATED, "status": "registered", "expires_at": None, "source_name": None, "capabilities_hint": "read,rotate",
             "approve_on_use": "session"}
EACH_ROW = dict(GATED_ROW, path=EACH, capabilities_hint="read", approve_on_use="per-call")
FREE_CARD = dict(FREE_ROW, description="API token used by team CI", retrieval_url="https://example.invalid/tokens",
                 rotation_method="manual", last_rotated_at="2026-04-15", rotate_every_days=90, pattern_id=None)


class Error:
    """An error: its kind, its text, and who does what about it."""

    def __init__(self, kind, text, actor="agent", action=None):
        self.kind, self.text, self.actor, self.action = kind, text, actor, action


def bad(text):
    return Error("invalid-arguments", "invalid arguments: " + text, action="fix_arguments")


def none(path):
    return Error("not-found", "not-found: " + path, action="secrets_propose_new_path")


SHORT = Error("invalid-path", "invalid-path: 2 parts, at least 3 are needed (<scope>/<provider>/<purpose>)", action="fix_arguments")
INTERNAL = Error("invalid-path", "invalid-path: paths that start with `__` or `_test` are reserved for kennel")
ASKED = RID  # an id and nothing else
# ids, tool, arguments, what comes back
TABLE = [
    ("S1-09 S1-18 S1-22 S1-23 S1-24 S1-32", "secrets_list", {}, [EACH_ROW, FREE_ROW, GATED_ROW]),
    ("S1-19 S1-20", "secrets_list", {"path_contains": "gate", "scope": "team", "status": "registered"}, [GATED_ROW]),
    ("S1-19", "secrets_list", {"scope": "tea"}, []),
    ("S1-25 S1-26 S1-27", "secrets_list", {"status": "expired"}, [FREE_ROW]),
    ("S1-20", "secrets_list", {"status": "expired", "path_contains": "gated"}, []),
    ("S1-28 S1-29 S1-30 S1-31", "secrets_list", {"path_contains": "each", "include_internal": False}, [EACH_ROW]),
    ("S1-19", "secrets_list", {"filter": 1}, Error(
        "invalid-arguments", "invalid filter: unknown field, expected one of path_contains, scope, status, include_internal")),
    ("S1-24", "secrets_list", {"status": "lost"}, bad("`status`: expected registered, expiring or expired, found another string")),
    ("S1-10 S1-33 S1-34 S1-35 S1-36 S1-41", "secrets_describe", {"path": FREE}, FREE_CARD),
    ("S1-37 S1-40", "secrets_describe", {"path": "team/table/none"}, none("team/table/none")),
    ("S1-38", "secrets_describe", {"path": "a/b"}, SHORT),
    ("S1-33", "secrets_describe", {}, bad("missing field `path`")),
    ("S1-21", "secrets_describe", {"path": "__sys/supervisor/log-key"}, INTERNAL),
    ("S1-11 S1-42 S1-43 S1-45 S1-46", "secrets_request_provision", {"path": FREE}, ASKED),
    ("S1-43 S1-44", "secrets_request_provision", {"path": FREE, "mode": "rotation"}, ASKED),
    ("S1-43", "secrets_request_provision", {"path": FREE, "mode": "x"},
     bad("`mode`: expected provision or rotation, found another string")),
    ("S1-37", "secrets_request_provision", {"path": "team/table/none"}, none("team/table/none")),
    ("S1-107", "secrets_request_provision", {"path": FREE, "value": "x"}, ASKED),
    ("S1-12 S1-50 S1-52", "secrets_request_rotation", {"path": FREE}, ASKED),
    ("S1-38", "secrets_request_rotation", {"path": "a/b"}, SHORT),
    ("S1-13 S1-54 S1-55 S1-57", "secrets_propose_metadata", {"path": FREE, "fields": {"rotate_every_days": 60}}, ASKED),
    ("S1-55", "secrets_propose_metadata", {"path": FREE, "fields": {"value": "x"}},
     bad("`fields`: unknown field, expected one of description, retrieval_url, rotate_every_days, expires_at, pattern_id")),
    ("S1-56", "secrets_propose_metadata", {"path": FREE, "fields": {"rotate_every_days": 90}},
     bad("`fields` changes nothing: the manifest already contains it")),
    ("S1-14 S1-63 S1-64", "secrets_propose_new_path",
     {"suggested_path": "team/table/new", "metadata": {"description": "Newly discovered credential", "expires_at": None}}, ASKED),
    ("S1-63", "secrets_propose_new_path", {"suggested_path": "a/b", "metadata": {}}, SHORT),
    ("S1-15 S1-66 S1-68 S1-69 S1-73", "secrets_request_use_approval", {"path": GATED, "reason": "r", "ttl_seconds": 60}, ASKED),
    ("S1-71 S1-72 S1-85", "secrets_request_use_approval", {"path": EACH, "reason": "r", "ttl_seconds": 99999}, ASKED),
    ("S1-71", "secrets_request_use_approval", {"path": GATED, "reason": "r", "ttl_seconds": 0}, bad("`ttl_seconds` must be 1 or more")),
    ("S1-71", "secrets_request_use_approval", {"path": GATED, "reason": "r", "ttl_seconds": -1}, bad("`ttl_seconds` must be 1 or more")),
    ("S1-69", "secrets_request_use_approval", {"path": GATED, "reason": " "},
     Error("invalid-arguments", "`reason` must be a non-empty human-facing explanation")),
    ("S1-67 S1-87", "secrets_request_use_approval", {"path": FREE, "reason": "r"}, Error(
        "approval-not-required", "approval-not-required: %s is used without asking" % FREE, action="call_the_tool")),
    ("S1-16 S1-92", "secrets_poll_status", {}, bad("missing field `request_id`")),
    ("S1-101", "secrets_poll_status", {"request_id": "prov-000000000000"}, Error(
        "unknown-request", "unknown request_id: prov-000000000000", action="request_again")),
]
KINDS = {"secrets_request_provision": "provision", "secrets_request_rotation": "rotation",
         "secrets_propose_metadata": "metadata-proposal", "secrets_propose_new_path": "new-path-proposal",
         "secrets_request_use_approval": "use-approval"}


def judge(h, tool, arguments, expected):
    """One row; the id of a request."""
    result = h.do(tool, arguments)["result"]
    text, got = result["content"][0]["text"], result["structuredContent"]
    equal(len(result["content"]), 1)
    if isinstance(expected, Error):
        equal((result["isError"], got["error"]["kind"], text), (True, expected.kind, expected.text), tool)
        equal(list(got), ["error", "remediation"])
        equal(list(got["remediation"])[:4], ["actor", "action", "user_message", "retryable"])
        equal(got["remediation"]["actor"], expected.actor)
        check(expected.action in (None, got["remediation"]["action"]), got)
        return None
    check("isError" not in result, result)
    if isinstance(expected, list):
        equal((json.loads(text), got), (expected, {"secrets": expected}))
        equal([list(x) for x in got["secrets"]], [list(x) for x in expected], "the order of the keys")
        return None
    equal(json.loads(text), got)
    if isinstance(expected, dict):
        equal((got, list(got)), (expected, list(expected)), "the order of the keys")
        return None
    equal(list(got), ["request_id"])
    check(expected.match(got["request_id"]), got)
    return got["request_id"]


@test("S1-09 to S1-101: every row of the table, in kennel serve and beside one server", seconds=120)
def table():
    check(len(TABLE) > 30, "control")
    for single in (False, True):
        s = Session(MANIFEST)
        if single:
            s.h.close()
            s.h = Hub(env=s.env, command=[KENNEL, "run", "one", "--secrets-tools", "--policy", s.h.path, "--project", s.dir])
        for ids, tool, arguments, expected in TABLE:
            rid = judge(s.h, tool, arguments, expected)
            if rid is None:
                continue
            got = s.poll(rid)
            kind = "rotation" if arguments.get("mode") == "rotation" else KINDS[tool]
            equal((list(got)[:5], got["request_id"], got["kind"], got["status"]),
                  (["request_id", "path", "kind", "status", "age_seconds"], rid, kind, {"kind": "pending"}), ids)
            equal(got["path"], arguments.get("path", arguments.get("suggested_path")))
        s.h.close()


@test("S1-49 S1-102 S1-103 S1-119 the descriptions tell an agent what source 1 tells it: polling, a time-out of its own, each status")
def descriptions():
    tools = {t["name"]: t for t in Session(MANIFEST).h.ask("tools/list")["result"]["tools"]}
    for name in KINDS:
        within("poll it with secrets_poll_status every 2 to 5 seconds, with a time-out of your own", tools[name]["description"], name)
        equal(tools[name]["outputSchema"]["required"], ["request_id"])
    poll = tools["secrets_poll_status"]["description"]
    for words_ in ("every 2 to 5 seconds, not faster", "time-out of your own", "pending: wait", "ok: repeat the call",
                   "cancelled: ask the user", "expired: ", "failed: show reason", "once: call the tool", "session: ",
                   "denied: report it", "any other status as failed"):
        within(words_, poll)
    for name in TOOLS:
        check("title" in tools[name] and "outputSchema" in tools[name], name)
        equal(tools[name]["annotations"]["readOnlyHint"], name in ("secrets_list", "secrets_describe", "secrets_poll_status"))
        equal(tools[name]["annotations"]["destructiveHint"], False)
        absent("\"value\"", json.dumps([tools[name]["inputSchema"], tools[name]["outputSchema"]]), "a member for a value")


class Agent:
    """It knows the definitions: required arguments come from the schema, what to do from the status."""

    def __init__(self, s):
        self.s = s
        self.tools = {t["name"]: t for t in s.h.ask("tools/list")["result"]["tools"]}
        self.used = set()

    def call(self, tool, **arguments):
        schema = self.tools[tool]["inputSchema"]
        for need in schema.get("required", []):
            check(need in arguments, tool, need)
        for key in arguments:
            check(key in schema["properties"], tool, key)
        self.used.add(tool)
        r = self.s.h.do(tool, arguments)["result"]
        check("isError" not in r, r)
        out = self.tools[tool]["outputSchema"]
        for need in out.get("required", []):
            check(need in r["structuredContent"], tool, need)
        return r["structuredContent"]

    def await_person(self, rid):
        end = time.time() + LONG  # a time-out of its own
        while time.time() < end:
            got = self.call("secrets_poll_status", request_id=rid)
            if got["status"]["kind"] != "pending":
                return got["status"]["kind"]
            time.sleep(got.get("retry_after_ms", 200) / 1000)
        return "timed out"


@test("an agent that knows only the descriptions takes all eight ways", seconds=120)
def agent():
    s = Session("", servers=[server("one", more="    secret GH from vault %s\n" % PATH)])
    s.secret("init", "--stdin", stdin="a passphrase of some length")
    s.secret("grant", PATH, "--server", "one", "--policy", s.h.path)
    a = Agent(s)

    def person(*answer):
        def go():
            q = s.question()
            if answer == ("value",):
                verb = "rotate" if q["kind"] == "rotation" else "set"
                s.secret(verb, q["subject"], "--stdin", stdin=VALUE + verb)
            else:
                equal(s.approve("allow", q["id"], *answer)[0], 0)
        t = threading.Thread(target=go)
        t.start()
        return t

    def ask(tool, how, **arguments):
        rid = a.call(tool, **arguments)["request_id"]
        t = person(*how)
        got = a.await_person(rid)
        t.join(LONG)
        return got

    equal(a.call("secrets_list")["secrets"], [])
    equal(ask("secrets_propose_new_path", (), suggested_path=PATH, metadata={"description": "for one"}), "ok")
    equal([x["path"] for x in a.call("secrets_list")["secrets"]], [PATH])
    equal(a.call("secrets_describe", path=PATH)["description"], "for one")
    within("missing secret", s.h.do("one.echo", {"text": "x"})["result"]["content"][0]["text"])
    equal(ask("secrets_request_provision", ("value",), path=PATH), "ok")
    equal(s.h.said("one.echo", seconds=LONG, text="x"), "one: x")
    equal(ask("secrets_propose_metadata", (), path=PATH, fields={"rotate_every_days": 60}), "ok")
    equal(a.call("secrets_describe", path=PATH)["rotate_every_days"], 60)
    equal(ask("secrets_request_rotation", ("value",), path=PATH), "ok")
    s.write(reads(s.dir + "/.kennel/secrets.kennel").decode().replace("rotate-every", "approve session\n    rotate-every"))
    equal(ask("secrets_request_use_approval", ("--session",), path=PATH, reason="to push an image"), "session")
    equal(a.used, set(TOOLS))
    s.done()


@test("1,000 requests over 16 sessions: each is answered in its own session, and the 65th of one is refused", seconds=240)
def crowd():
    homes[0] += 1
    env = {"KENNEL_HOME": "%s/crowd-%d/home" % (TMP, homes[0])}
    paths = ["team/crowd/t%d" % n for n in range(8)]
    sessions = []
    for n in range(16):
        d = "%s/crowd-%d/p%d" % (TMP, homes[0], n)
        os.makedirs(d + "/.kennel")
        os.makedirs(env["KENNEL_HOME"], mode=0o700, exist_ok=True)
        with open(d + "/.kennel/secrets.kennel", "w") as f:
            f.write("".join("secret %s {\n}\n" % p for p in paths))
        os.chmod(d + "/.kennel/secrets.kennel", 0o600)
        sessions.append(Hub(server("one"), env=env, args=["--project", d]))
    ids = [[h.structured("secrets_request_rotation", path=paths[k % 8])["request_id"] for k in range(64)] for h in sessions]
    equal(len({i for some in ids for i in some}), 1024, "all ids differ")
    for h in sessions:
        r = h.do("secrets_request_rotation", {"path": paths[0]})
        within("too-many-requests: try again in ", refused(r, "too-many-requests"))
    r = sessions[1].do("secrets_poll_status", {"request_id": ids[0][0]})
    equal(refused(r, "unknown-request"), "unknown request_id: " + ids[0][0], "another session's")
    r = run([KENNEL, "approve", "list", "--json"], env=env, timeout=60)
    questions = [json.loads(line) for line in r.stdout.splitlines()]
    equal((r.returncode, len(questions)), (0, 128))
    mine = [q for q in questions if q["id"].startswith("%d-" % sessions[3].p.pid)]
    equal(sorted(q["subject"] for q in mine), paths)
    for q in mine:
        equal(run([KENNEL, "approve", "deny", q["id"]], env=env).returncode, 0)
    for k, h in enumerate(sessions):
        got = {h.structured("secrets_poll_status", request_id=i)["status"]["kind"] for i in ids[k]}
        equal(got, {"cancelled"} if k == 3 else {"pending"})
    for h in sessions:
        h.close()


@test("S1-01 S1-05 S1-08 S1-105 a value that a person types is in no reply, no log, no export, no question, no file and no process "
      "list", seconds=120)
def sentinel():
    s = Session("secret %s {\n}\n" % PATH, servers=[server("one", more="    secret GH from vault %s\n" % PATH)])
    s.secret("init", "--stdin", stdin="a passphrase of some length")
    said = [s.h.do(t, a) for t, a in (("secrets_request_provision", {"path": PATH}), ("secrets_request_rotation", {"path": PATH}))]
    q = [x for x in s.questions() if x["kind"] == "provision"][0]
    t = Typist([KENNEL, "approve", "allow", q["id"]], s.env)
    t.type("The value (it is not shown): ", VALUE)
    for pid in descendants(os.getpid()):
        absent(VALUE.encode(), reads("/proc/%d/cmdline" % pid), "a command line")
        absent(VALUE.encode(), reads("/proc/%d/environ" % pid), "an environment")
    equal(t.done(), 0, t.out)
    absent(VALUE, t.out, "the terminal")
    for tool in TOOLS:
        for arguments in ({"path": PATH}, {"request_id": said[0]["result"]["structuredContent"]["request_id"]},
                          {"path": PATH, "fields": {"description": "x"}, "reason": "r"}, {"path": VALUE}):
            said.append(s.h.do(tool, arguments))
    absent(VALUE, json.dumps(said + s.h.lines), "a reply")
    absent(VALUE, json.dumps(s.approve("list")) + json.dumps(s.questions()), "a question")
    s.h.close()
    absent(VALUE, s.h.stderr(), "standard error")
    for form in ("jsonl", "csv", "ocsf", "cef"):
        r = run([KENNEL, "audit", "export", "--format", form], env=s.env, timeout=60)
        equal(r.returncode, 0, form)
        within(PATH.encode(), r.stdout, form)
        absent(VALUE.encode(), r.stdout + r.stderr, form)
    for at, _, files in os.walk(s.dir):
        for name in files:
            absent(VALUE.encode(), reads(os.path.join(at, name)), name)
    check(any(e["kind"] == "approve" for e in audit(env=s.env)), "control")
    s.done()


@test("S1-01 S1-05 S1-105 what is typed at a shell's prompt, in kennel's screens and below them is in no history and in no file below HOME",
      seconds=180)
def history():
    passphrase = "typed passphrase %d" % os.getpid()
    s = Session("secret %s {\n}\n" % PATH, servers=[server("one", more="    secret GH from vault %s\n" % PATH)])
    home = s.dir + "/person"
    os.mkdir(home, 0o700)
    env = dict(s.env, HOME=home, TERM="vt100", HISTFILE=home + "/.bash_history", PS1="ready> ", INPUTRC="/dev/null",
               PATH=os.path.dirname(KENNEL) + ":/usr/bin:/bin")
    t = Typist(["bash", "--norc", "--noprofile", "-i"], env)
    t.type("ready> ", "kennel secret init")
    t.type("passphrase", passphrase)
    t.type("again", passphrase)
    t.type("ready> ", "kennel secret set " + PATH)
    t.type("not shown", VALUE)
    t.type("ready> ", "kennel secret rotate " + PATH)
    t.type("not shown", VALUE + "-2")
    t.until("ready> ")
    s.h.do("secrets_request_rotation", {"path": PATH})
    q = s.question()
    t.type("ready> ", "kennel approve allow " + q["id"])
    t.type("verwrite", "yes")
    t.type("not shown", VALUE + "-3")
    t.type("ready> ", "kennel secret list --project " + s.dir)
    t.until("ready> ")
    within(PATH, t.out)
    t.type("ready> ", "exit")
    t.done()
    kept = reads(home + "/.bash_history").decode()
    within("kennel secret set " + PATH, kept, "control: the shell keeps a history")
    within("kennel approve allow " + q["id"], kept)
    w = Screen([KENNEL, "secret", "ui", "--project", s.dir], **env)
    w.until(PATH)
    w.key(b"\r")
    w.until("approve")
    w.key(b"q")
    w.key(b"q")
    wait_for(lambda: w.p.poll() is not None, LONG)
    s.h.do("secrets_request_provision", {"path": PATH})
    w = Screen([KENNEL, "approve", "watch"], **env)
    w.until("1 pending")
    w.key(b"\r")
    w.until("provision")
    w.key(b"q")
    w.key(b"q")
    wait_for(lambda: w.p.poll() is not None, LONG)
    n = 0
    for at, _, files in os.walk(s.dir):
        for name in files:
            for secret in (VALUE, passphrase):
                absent(secret.encode(), reads(os.path.join(at, name)), name)
            n += 1
    check(n > 3, "control")
    absent(VALUE.encode(), w.raw)
    s.done()


if __name__ == "__main__":
    main()
