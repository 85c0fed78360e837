"""secrets_request_use_approval and secrets_poll_status: an agent asks, a person answers, the next start uses the answer."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403

be_subreaper()
CLOCK = os.path.dirname(os.path.abspath(__file__)) + "/../lib/clock.py"


# ---- asking and answering ----------------------------------------------------------------

@test("S1-15 S1-16 S1-17 S1-45 S1-66 S1-68 S1-69 S1-70 S1-73 S1-74 S1-91 S1-92 S1-93 S1-94 S1-95 a request is pending until "
      "a person answers; the person sees path, reason and servers; the log has both")
def asked():
    s = Session(servers=[server("one", more="    secret GH from vault %s\n" % PATH), server("two")])
    reason = "push <b>image</b> \u202e*now*\u001b[31m"
    rid = s.ask(reason=reason)
    got = s.poll(rid)
    equal(list(got), ["request_id", "path", "kind", "status", "age_seconds"])
    equal((got["request_id"], got["path"], got["kind"], got["status"]), (rid, PATH, "use-approval", {"kind": "pending"}))
    check(got["age_seconds"] in range(0, 20), got)
    q = s.question()
    equal((q["server"], q["kind"], q["subject"], q["request"], q["whole"]), ("one", "secret", PATH, rid, True))
    detail = json.loads(q["detail"])
    equal((detail["description"], detail["reason"], detail["asked"]), ("of the team", reason, "once for this session"))
    equal([x["server"] for x in detail["servers"]], ["one"])
    check(matches("^[0-9a-f]{64}$", detail["servers"][0]["policy"]), detail)
    check(290000 < q["left_ms"] <= 300000, q["left_ms"])
    _, out, _ = s.approve("list")
    check("\u202e" not in out and "\x1b" not in out, "escaped")
    within("<b>image</b>", out, "verbatim")
    equal(s.approve("allow", q["id"])[0], 0)
    s.settled(rid, "once")
    equal(s.questions(), [])
    equal(s.approve("allow", q["id"])[0], 1, "it is over")
    s.h.close()
    mine = [e["fields"] for e in audit(env=s.env) if e["kind"] == "approve"]
    equal([(e["verdict"], e["outcome"], e["name"], e["request"]) for e in mine],
          [("ask", "asked", [PATH], rid), ("allow", "once", [PATH], rid)])
    within("uid %d" % os.geteuid(), mine[1]["approver"])
    equal(mine[1]["channel"], "command")
    equal(mine[1].get("user"), user_name())
    equal(mine[0]["sha256"], q["sha256"])


@test("S1-75 S1-76 S1-81 S1-90 C6 once: the next start uses it unasked, the one after asks again; polls consume nothing")
def once():
    s = Session(vault=True)
    rid = s.ask()
    s.answer("allow")
    s.settled(rid, "once")
    for _ in range(3):
        equal(s.status(rid), "once")
    s.works_unasked()
    s.h.said("one.echo", text="again")
    s.restart()
    within("one: x", json.dumps(s.asks("allow")))
    equal(s.status(rid), "once", "settled")
    used = [e["fields"] for e in audit(env=s.env) if e["kind"] == "approve" and e["fields"].get("approver") == "request " + rid]
    equal([(e["verdict"], e["outcome"]) for e in used], [("allow", "once")], "the start names the request")
    s.done()


@test("S1-77 S1-82 S1-88 session: every start is unasked, and a new request is settled without a dialog; a rotation and a lock end it")
def session():
    s = Session(vault=True)
    rid = s.ask()
    s.answer("allow", "--session")
    s.settled(rid, "session")
    for _ in range(2):
        s.works_unasked()
        s.restart()
    again = s.ask(reason="once more")
    equal(s.status(again), "session", "at once")
    equal(s.questions(), [])
    s.secret("rotate", PATH, "--stdin", stdin=VALUE + "-2")
    within("one: x", json.dumps(s.asks("allow")), "after a rotation a start asks")
    s.restart()
    third = s.ask()
    equal(s.status(third), "pending", "and so does a request")
    s.answer("allow", "--session")
    s.settled(third, "session")
    s.works_unasked()
    s.restart()
    s.secret("lock")
    sock = s.env["KENNEL_HOME"] + "/run/keeper.sock"
    check(wait_for(lambda: not os.path.exists(sock), LONG) is not None, "a locked keeper ends")
    s.secret("unlock", "--stdin", stdin="a passphrase of some length")
    within("one: x", json.dumps(s.asks("allow")), "after a lock a start asks")
    s.done()


def another(s):
    """One more session of the project, whose policy may have the value."""
    h = Hub(*s.servers, env=s.env, args=["--project", s.dir])
    s.secret("grant", PATH, "--server", "one", "--policy", h.path)
    return h


@test("S1-76 S1-77 the end of a session ends what a person approved in it, for the session or once; its ids are unknown to the next "
      "one, and another session of the same agent never had any of it", 150)
def ended():
    for how, want in (("--session", "session"), (None, "once")):
        s = Session(vault=True)
        beside = another(s)
        rid = s.ask()
        s.answer("allow", *([how] if how else []))
        s.settled(rid, want)
        first, s.h = s.h, beside
        within("one: x", json.dumps(s.asks("allow")), "the session beside it asks")
        refused(s.h.do("secrets_poll_status", {"request_id": rid}), "unknown-request")
        s.h.close()
        s.h = first
        if how:
            s.works_unasked()
        s.h.close()
        s.h = another(s)
        equal(refused(s.h.do("secrets_poll_status", {"request_id": rid}), "unknown-request"), "unknown request_id: " + rid)
        equal(s.status(s.ask()), "pending", "a new request is a new dialog")
        s.answer("deny")
        equal(s.approve("reopen", PATH)[0], 0)
        within("one: x", json.dumps(s.asks("allow")), "and the next session's start asks")
        s.done()


@test("an approval is for the servers that the person was shown, not for others of their policy", 150)
def per_server():
    secret = "    secret GH from vault %s\n" % PATH
    s = Session(vault=True, servers=[server("one", more=secret), server("two", more=secret)])
    s.secret("grant", PATH, "--server", "two", "--policy", s.h.path)
    os.mkdir(s.env["KENNEL_HOME"] + "/policies", 0o700)  # so that a person can name them
    with open(s.env["KENNEL_HOME"] + "/policies/both.kennel", "w") as f:
        f.write(reads(s.h.path).decode())
    os.chmod(f.name, 0o600)

    def two(verb):
        for words_ in ((verb, "two"), ("restart", "two")):
            r = run([KENNEL, "server"] + list(words_), env=s.env)
            equal(r.returncode, 0, r.stderr)
    two("disable")
    check(wait_for(lambda: s.h.do("two.echo", {"text": "x"})["result"].get("isError"), LONG) is not None)
    rid = s.ask()
    q = s.answer("allow", "--session")
    equal([x["server"] for x in json.loads(q["detail"])["servers"]], ["one"], "the policy has two")
    s.settled(rid, "session")
    s.works_unasked()
    two("enable")
    again = s.h.post_call("two.echo", {"text": "y"})
    q = s.answer("allow")
    equal((q["kind"], q["subject"], q["server"], q["request"]), ("secret", PATH, "two", None))
    within("two: y", json.dumps(s.h.wait(again, LONG)))
    s.restart()
    s.works_unasked()
    s.done()


@test("S1-78 S1-83 S1-84 S1-86 C33 denied: further requests fail at once, until a person reopens the path; no tool does")
def denied():
    s = Session()
    rid = s.ask()
    s.answer("deny")
    s.settled(rid, "denied")
    for _ in range(3):
        r = s.h.do("secrets_request_use_approval", {"path": PATH, "reason": "please", "ttl_seconds": 1})
        equal(refused(r, "denied", PATH), "denied: a person refused %s in this session; only a person can reopen it: "
              "kennel approve reopen %s" % (PATH, PATH))
        m = r["result"]["structuredContent"]["remediation"]
        equal((m["actor"], m["action"], m["retryable"]), ("user", "ask_in_chat", False))
    equal(s.questions(), [])
    equal(s.approve("reopen", "team/use/other")[0], 1)
    equal(s.approve("reopen")[0], 64)
    equal(s.approve("reopen", PATH)[0], 0)
    equal(s.approve("reopen", PATH)[0], 1, "it is open")
    again = s.ask()
    equal((s.status(again), s.status(rid)), ("pending", "denied"))
    other = Session()
    equal(other.status(other.ask()), "pending", "another session was not refused")
    s.h.close()
    mine = [e["fields"] for e in audit(env=s.env) if e["kind"] == "refused"]
    equal([(e["name"], e["reason"], e["verdict"]) for e in mine], [(["secrets_request_use_approval"], "denied", "deny")] * 3)
    back = [e["fields"] for e in audit(env=s.env) if e["kind"] == "approve" and e["fields"]["method"] == "reopen"]
    equal([(e["name"], e["verdict"], e["outcome"], e["channel"], e["server"]) for e in back],
          [([PATH], "allow", "reopened", "command", "kennel serve")], "once, and of the path that was refused")
    check(matches("^uid %d, pid [0-9]+$" % os.geteuid(), back[0]["approver"]), back)
    within("reopened", run([KENNEL, "audit", "who-approved", PATH], env=s.env).stdout.decode())


@test("S1-89 C5 per-call: three requests are three dialogs, and an answer for the session counts as once")
def per_call():
    s = Session("secret %s {\n    approve per-call\n}\n" % PATH)
    ids = []
    for _ in range(3):
        ids.append(s.ask())
        equal(json.loads(s.question()["detail"])["asked"], "for each use")
        s.answer("allow", "--session")
        s.settled(ids[-1], "once")
    equal(len(set(ids)), 3)


@test("per-call: a path that a person has refused is not asked about by a start either, until a person reopens it")
def per_call_closed():
    s = Session("secret %s {\n    approve per-call\n}\n" % PATH, servers=[
        server("one", more="    secret GH from vault %s\n" % PATH)])
    rid = s.ask()
    s.answer("deny")
    s.settled(rid, "denied")
    within("kennel approve reopen " + PATH, s.h.do("one.echo", {"text": "x"}, LONG)["result"]["content"][0]["text"])
    got = s.h.query("one", "echo")
    equal((got["state"], got["detail"]), ("denied", "denied: a person refused %s in this session; only a person can reopen it: "
                                         "kennel approve reopen %s" % (PATH, PATH)))
    equal(s.questions(), [])
    equal(s.approve("reopen", PATH)[0], 0)
    s.asks("deny")


@test("S1-67 S1-87 C4 what is used without asking needs no approval; the policy's own approve counts; unknown paths are not found")
def not_required():
    free = "secret %s {\n}\n" % PATH
    s = Session(free)
    r = s.h.do("secrets_request_use_approval", {"path": PATH, "reason": "x"})
    equal(refused(r, "approval-not-required", PATH), "approval-not-required: %s is used without asking" % PATH)
    equal(r["result"]["structuredContent"]["remediation"]["action"], "call_the_tool")
    r = s.h.do("secrets_request_use_approval", {"path": "team/use/none", "reason": "x"})
    equal(refused(r, "not-found", "team/use/none"), "not-found: team/use/none")
    p = Session(free, servers=[server("one", more="    secret GH from vault %s { approve per-call }\n    oneshot\n" % PATH)])
    equal(json.loads((p.ask(), p.question())[1]["detail"])["asked"], "for each use")


# ---- limits --------------------------------------------------------------------------------

@test("S1-71 S1-72 S1-79 S1-85 S1-99 C11 ttl_seconds only narrows: 1 expires, 99999 is 300 s, 0 and less are refused")
def ttl():
    s = Session()
    rid = s.ask(ttl_seconds=99999)
    check(290000 < s.question()["left_ms"] <= 300000, "capped")
    s.answer("deny")
    s.settled(rid, "denied")
    equal(s.approve("reopen", PATH)[0], 0)
    rid = s.ask(ttl_seconds=1)
    check(s.question()["left_ms"] <= 1000, "narrowed")
    s.settled(rid, "expired")
    equal(s.questions(), [], "its dialog is closed")
    for bad, text in ((0, "`ttl_seconds` must be 1 or more"), (-1, "`ttl_seconds` must be 1 or more"),
                      (-1e300, "`ttl_seconds` must be 1 or more"), ("60", "`ttl_seconds`: expected an integer, found a string"),
                      (1.5, "`ttl_seconds`: expected an integer, found a number"),
                      (True, "`ttl_seconds`: expected an integer, found a boolean")):
        r = s.h.do("secrets_request_use_approval", {"path": PATH, "reason": "x", "ttl_seconds": bad})
        equal(refused(r, "invalid-arguments"), "invalid arguments: " + text)
    equal(s.questions(), [])


class Moved(Session):
    """A session whose clocks are moved."""

    def __init__(self, **how):
        super().__init__(**how)
        self.h.close()
        self.offsets = self.dir + "/offsets"
        self.move()
        self.h = Hub(command=[sys.executable, CLOCK, self.offsets, KENNEL, "serve", "--policy", self.h.path, "--project", self.dir],
                     env=self.env)

    def move(self, wall=0, boot=0):
        with open(self.offsets + ".new", "w") as f:
            f.write("%d %d\n" % (wall, boot))
        os.rename(self.offsets + ".new", self.offsets)


@test("S1-71 S1-79 S1-99 a clock that is set back or forward changes no deadline and no age: those follow the time since boot", 120)
def clock():
    if os.uname().machine != "x86_64":
        skip("tests/lib/clock.py is for x86_64")
    dated = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86400 * 100))
    s = Moved(manifest="".join("secret %s%s {\n    approve session\n    expires %s\n}\n" % (PATH, n, dated) for n in ("", "-b")))
    rid = s.ask()
    for wall, seen in ((-86400 * 400, "registered"), (86400 * 400, "expired")):
        s.move(wall=wall)
        equal(s.h.structured("secrets_describe", path=PATH)["status"], seen, "control: its wall clock is moved")
        got = s.poll(rid)
        equal(got["status"], {"kind": "pending"}, wall)
        check(got["age_seconds"] in range(0, 40), got)
        check(250000 < s.question()["left_ms"] <= 300000, "its deadline stays")
    s.move(wall=-86400 * 400)
    short = s.ask(PATH + "-b", ttl_seconds=2)
    s.settled(short, "expired")
    equal(s.status(rid), "pending", "the longer one is not over")
    s.move(wall=-86400 * 400, boot=200)
    got = s.poll(rid)
    check(got["status"]["kind"] == "pending" and 200 <= got["age_seconds"] < 260, got)
    check(s.question()["left_ms"] <= 100000, "control: the time since boot counts")
    s.move(wall=-86400 * 400, boot=301)
    equal(s.status(rid), "expired")
    equal(s.questions(), [])


@test("S1-101 C7 an id is kept for an hour after it is settled, then swept: it is unknown, as one that never was", 120)
def swept():
    if os.uname().machine != "x86_64":
        skip("tests/lib/clock.py is for x86_64")
    s = Moved()
    rid = s.ask()
    s.answer("allow")
    s.settled(rid, "once")
    s.move(boot=3540)
    equal(s.status(rid), "once", "within the hour")
    s.move(boot=3700)
    r = s.h.do("secrets_poll_status", {"request_id": rid})
    equal(refused(r, "unknown-request"), "unknown request_id: " + rid)
    never = s.h.do("secrets_poll_status", {"request_id": "prov-000000000000"})["result"]
    equal(json.loads(json.dumps(r["result"]).replace(rid, "prov-000000000000")), never)
    s.move()
    equal(s.status(s.ask()), "pending", "control: a new one")


@test("S1-69 reason is needed: absent, blank, too long or no text is refused, and is never repeated")
def reasons():
    s = Session()
    blank = "`reason` must be a non-empty human-facing explanation"
    for bad, text in ((None, "invalid arguments: missing field `reason`"), ("", blank), (" \t\n", blank),
                      ("x" * 513, "invalid arguments: `reason` is longer than 512 bytes"),
                      (5, "invalid arguments: `reason`: expected a string, found a number")):
        r = s.h.do("secrets_request_use_approval", {"path": PATH, "reason": bad})
        equal(refused(r, "invalid-arguments"), text)
    r = s.h.do("secrets_request_use_approval", {"reason": "x"})
    equal(refused(r, "invalid-arguments"), "invalid arguments: missing field `path`")
    equal(s.questions(), [])
    equal(s.status(s.ask(reason="x" * 512, unknown=1)), "pending", "control")


@test("S1-46 S1-101 C7 forged, guessed and foreign ids are unknown, and are shown escaped and cut")
def unknown():
    s, other = Session(), Session()
    mine, theirs = s.ask(), other.ask()
    for rid, shown in (("prov-000000000000", None), (theirs, None), (mine[:-1], None), (mine + "0", None), (mine.upper(), None),
                       ("", None), ("x" * 100, "x" * 64), ("a\nb\u00e9", "a\\x0ab\\xc3\\xa9")):
        r = s.h.do("secrets_poll_status", {"request_id": rid})
        equal(refused(r, "unknown-request"), "unknown request_id: " + (rid if shown is None else shown))
        equal(r["result"]["structuredContent"]["remediation"]["action"], "request_again")
    for bad, text in (({}, "missing field `request_id`"), ({"request_id": 5}, "`request_id`: expected a string, found a number")):
        equal(refused(s.h.do("secrets_poll_status", bad), "invalid-arguments"), "invalid arguments: " + text)
    equal(s.status(mine), "pending", "control")


@test("S1-102 C8 a poll that comes early gets the same answer, and when to come again, as its last member")
def early():
    s = Session()
    rid = s.ask()
    check("retry_after_ms" not in s.poll(rid), "the first")
    got = s.poll(rid)
    equal(list(got)[-1], "retry_after_ms")
    check(0 < got["retry_after_ms"] <= 2000 and got["status"]["kind"] == "pending", got)


@test("six requests of one path are six ids and one dialog; all settle together")
def joined():
    s = Session()
    ids = [s.ask(reason="reason %d" % n) for n in range(6)]
    equal(len(set(ids)), 6)
    q = s.question()
    equal((q["request"], json.loads(q["detail"])["reason"]), (ids[0], "reason 0"))
    s.answer("allow")
    for rid in ids:
        s.settled(rid, "once")


@test("a request that joins a dialog keeps it open for its own time; one that has expired stays so")
def extended():
    s = Session()
    first, second = s.ask(ttl_seconds=1), s.ask(ttl_seconds=200)
    check(s.question()["left_ms"] > 100000, "extended")
    s.settled(first, "expired")
    s.answer("allow")
    s.settled(second, "once")
    equal(s.status(first), "expired")


@test("a flood: the ninth dialog in a minute and the 65th pending request are refused, with the time to wait")
def flood():
    paths = ["team/use/t%d" % n for n in range(9)]
    s = Session("".join("secret %s {\n    approve session\n}\n" % p for p in paths))
    for p in paths[:8]:
        s.ask(p)
    r = s.h.do("secrets_request_use_approval", {"path": paths[8], "reason": "x"})
    wait = r["result"]["structuredContent"]["remediation"]["retry_after_seconds"]
    check(0 < wait <= 60, wait)
    equal(refused(r, "too-many-requests"), "too-many-requests: try again in %d s" % wait)
    for _ in range(56):
        s.ask(paths[0])
    r = s.h.do("secrets_request_use_approval", {"path": paths[0], "reason": "x"})
    wait = r["result"]["structuredContent"]["remediation"]["retry_after_seconds"]
    equal(refused(r, "too-many-requests"), "too-many-requests: try again in %d s" % wait)
    check(200 < wait <= 301, wait)
    equal(len(s.questions()), 8)


@test("S1-80 S1-96 C3 without a place to ask or record, the request has an id and has failed, with the reason")
def failed():
    homes[0] += 1
    s = Session()
    s.h.close()
    for name in os.listdir(s.env["KENNEL_HOME"] + "/run"):
        os.unlink(s.env["KENNEL_HOME"] + "/run/" + name)
    os.rmdir(s.env["KENNEL_HOME"] + "/run")
    with open(s.env["KENNEL_HOME"] + "/run", "w") as f:
        f.write("not a directory")
    s.h = Hub(*s.servers, env=s.env, args=["--project", s.dir])
    rid = s.ask()
    got = s.poll(rid)
    equal(list(got["status"]), ["kind", "reason"])
    equal(got["status"], {"kind": "failed", "reason": "no approval channel is available"})
    equal(s.h.structured("secrets_describe", path=PATH)["path"], PATH, "control: reading goes on")


@test("the socket of kennel serve's questions goes with it, also when it was killed")
def gone():
    s = Session()
    at = "%s/run/ask-%d" % (s.env["KENNEL_HOME"], s.h.p.pid)
    s.ask()
    check(os.path.exists(at), "control")
    s.h.p.kill()
    check(wait_for(lambda: not os.path.exists(at), LONG) is not None, "the socket stays")


if __name__ == "__main__":
    main()
