"""Approvals in the console: shown as kennel approve list does, and answered. S3-50"""
import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from console_kit import *  # noqa: E402,F403
from ask_kit import ask, refusal  # noqa: E402
from secrets_kit import PATH, Session, server  # noqa: E402

MARKUP = "<script>alert(1)</script>\u202e\u0007\"}],\\"


def session(name="t", more="    tool ask line because \"seen by a person\"\n"):
    s = kennel_run("    run %s\n    tool allow echo say\n%s" % (words(TOY), more), name=name)
    s.initialize()
    return s


def pending(c, n):
    """The approvals, once there are n."""
    got = []

    def look():
        status, value = c.json("GET", "approvals")
        equal((status, list(value)), (200, ["approvals"]), value)
        got[:] = value["approvals"]
        return len(got) == n

    check(wait_for(look, LONG), n, got)
    return got


def answer(c, a, how, **more):
    return c.json("POST", "approvals/" + a["id"], dict({"answer": how, "sha256": a["sha256"]}, **more))


def listed():
    out = run([KENNEL, "approve", "list", "--json"]).stdout.decode()
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


@test("S3-50 an approval is shown live and answered: once, for the session, denied; the log has the answer", 120)
def answers():
    c = Console().login()
    equal(pending(c, 0), [])
    a, b = session("alpha"), session("beta")
    first = ask(a, a=1, b=MARKUP)
    shown = pending(c, 1)[0]
    want = listed()[0]
    for key in ("id", "server", "kind", "method", "subject", "detail", "rule", "because", "whole", "sha256", "refusals"):
        equal(shown[key], want[key], key)
    equal((shown["server"], shown["kind"], shown["subject"]), ("alpha", "tool", "line"))
    equal(json.loads(shown["detail"])["arguments"], {"a": 1, "b": MARKUP})
    check(0 < shown["left_ms"] <= 300000 and shown["waits_ms"] >= 0, shown)
    second = ask(b, a=2)
    shown = {s["server"]: s for s in pending(c, 2)}
    equal(answer(c, shown["alpha"], "once"), (200, {}))
    check(refusal(a.wait(first, LONG)) is None, "allowed once")
    equal(answer(c, shown["beta"], "session"), (200, {}))
    check(refusal(b.wait(second, LONG)) is None, "allowed for the session")
    check(refusal(b.wait(ask(b, a=2), LONG)) is None, "the same is not asked about again")
    pending(c, 0)
    third = ask(a, a=3)
    equal(answer(c, pending(c, 1)[0], "deny"), (200, {}))
    equal(refusal(a.wait(third, LONG)), "denied by a person")
    a.close()
    b.close()
    pending(c, 0)
    records = [e["fields"] for e in audit() if e["kind"] == "approve"]
    equal([(e["name"], e["outcome"], e["channel"]) for e in records],
          [(["line"], how, "console") for how in ("once", "session", "deny")])


@test("an answer is for exactly what was shown: another digest, id or word, no login, and one that is over are refused",
      120)
def exact():
    c = Console().login()
    s = session()
    call = ask(s, a=1)
    a = pending(c, 1)[0]
    refused(answer(c, dict(a, sha256="0" * 64), "once"), 404, "no longer pending")
    refused(answer(c, dict(a, sha256=a["sha256"][:8]), "once"), 404)
    refused(answer(c, dict(a, id=a["id"].split(":")[0]), "once"), 404)
    for bad in ("1-1:00000000", "x", "", "../login", "%2e", "9" * 90):
        refused(answer(c, dict(a, id=bad), "once"), 404)
    for how in ("allow", "", "ONCE", 1, None):
        refused(answer(c, a, how), 400, "once, session or deny")
    refused(c.json("POST", "approvals/" + a["id"], {"answer": "once"}), 400)
    key, c.key = c.key, "0" * 32
    refused(answer(c, a, "once"), 401)
    refused(c.json("GET", "approvals"), 401)
    c.key = key
    refused(c.json(
        "POST", "approvals/" + a["id"], {"answer": "once", "sha256": a["sha256"]},
        headers={"Origin": "http://localhost:1"}), 403, "Origin")
    equal([x["id"] for x in pending(c, 1)], [a["id"]])
    equal(answer(c, a, "deny"), (200, {}))
    equal(refusal(s.wait(call, LONG)), "denied by a person")
    refused(answer(c, a, "once"), 404, "no longer pending")
    s.close()


@test("what is cut is allowed only if that is accepted; what needs a passphrase is refused here, and can be denied", 120)
def limits():
    c = Console().login()
    s = session(more="    tool ask line\n    tool ask publish with passphrase\n")
    call = ask(s, text="x" * 20000)
    a = pending(c, 1)[0]
    check(not a["whole"])
    refused(answer(c, a, "once"), 409, "a part of it is not shown")
    refused(answer(c, a, "once", unseen="yes"), 409)
    equal(answer(c, a, "once", unseen=True), (200, {}))
    check(refusal(s.wait(call, LONG)) is None)
    call = ask(s, "publish", a=1)
    a = pending(c, 1)[0]
    equal(a["factor"], "passphrase")
    for how in ("once", "session"):
        refused(answer(c, a, how, unseen=True), 409, "second factor", "kennel approve watch")
    equal(answer(c, a, "deny"), (200, {}))
    equal(refusal(s.wait(call, LONG)), "denied by a person")
    s.close()


def propose(s, tool, **arguments):
    r = s.h.do(tool, arguments)["result"]
    check(not r.get("isError"), r)
    return r["structuredContent"]["request_id"]


def manifest(s):
    with open(s.dir + "/.kennel/secrets.kennel") as f:
        return f.read()


@test("S1-57 S1-58 S1-62 a proposal is accepted in the page as it was shown, under another name too; closed, it changes nothing", 180)
def proposals():
    s = Session("secret %s {\n    description \"of the team\"\n}\n" % PATH)
    c = Console(env=s.env).login()
    before = manifest(s)
    rid = propose(s, "secrets_propose_metadata", path=PATH, fields={"description": MARKUP[:25] + "\"\\", "rotate_every_days": 7})
    a = pending(c, 1)[0]
    detail = json.loads(a["detail"])
    equal((a["kind"], a["subject"], detail["current"]["description"], detail["proposed"]),
          ("metadata", PATH, "of the team", {"description": MARKUP[:25] + "\"\\", "rotate_every_days": 7}))
    refused(answer(c, a, "session"), 409, "once, or denied")
    refused(answer(c, a, "once", name="team/other/token"), 400, "--as is only for a path")
    refused(answer(c, a, "once", name=7), 400)
    equal(s.status(rid), "pending")
    equal(manifest(s), before)
    equal(answer(c, a, "deny"), (200, {}))
    s.settled(rid, "cancelled")
    equal(manifest(s), before)
    rid = propose(s, "secrets_propose_metadata", path=PATH, fields={"rotate_every_days": 7})
    equal(answer(c, pending(c, 1)[0], "once"), (200, {}))
    s.settled(rid, "ok")
    equal(manifest(s), before.replace("}", "    rotate-every 7d\n}"))
    # a new path, under the name that the person chose
    rid = propose(s, "secrets_propose_new_path", suggested_path="team/new/token", metadata={"description": "new", "expires_at": None})
    a = pending(c, 1)[0]
    for bad in ("two/parts", "a/b/../c", "-x/y/z", "x" * 300, "a/b/c\n"):
        check(answer(c, a, "once", name=bad)[0] == 400, bad)
    refused(answer(c, a, "once", name=PATH), 400, "declares")
    equal(answer(c, a, "once", name="team/mine/token"), (200, {}))
    s.settled(rid, "ok")
    within("team/mine/token", manifest(s))
    absent("team/new/token", manifest(s))
    # the file has changed since it was shown: nothing is written, and it is shown again
    rid = propose(s, "secrets_propose_metadata", path=PATH, fields={"rotate_every_days": 9})
    a = pending(c, 1)[0]
    s.write("# of a person\n" + manifest(s))
    changed = manifest(s)
    refused(answer(c, a, "once"), 400, "has changed since")
    equal(manifest(s), changed)
    check(wait_for(lambda: [x["id"] for x in pending(c, 1)] != [a["id"]], LONG), "asked again")
    refused(answer(c, a, "once"), 404)
    equal(answer(c, pending(c, 1)[0], "once"), (200, {}))
    s.settled(rid, "ok")
    within("rotate-every 9d", manifest(s))
    records = run([KENNEL, "audit", "log", "--json", "--kind", "approve", "--contains", '"channel":"console"'], env=s.env).stdout
    check(records.count(b'"outcome":"ok"') == 3, records)
    s.done()


@test("approve allow --stdin: exactly the line that was shown; another digest, detail or kind changes nothing", 120)
def shown():
    s = Session("secret %s {\n    description \"of the team\"\n}\n" % PATH)

    def allow(line, *more, status=0):
        r = run([KENNEL, "approve", "allow", "--stdin", *more], stdin=line if isinstance(line, str) else json.dumps(line), env=s.env)
        equal(r.returncode, status, r.stderr)
        return r.stderr.decode()

    rid = propose(s, "secrets_propose_metadata", path=PATH, fields={"rotate_every_days": 7})
    q = s.question()
    before = manifest(s)
    for wrong in ({"sha256": "0" * 64}, {"detail": q["detail"].replace(":7", ":8")}, {"subject": "team/x/y"}, {"kind": "new-path"}):
        within("is not what was shown", allow(dict(q, **wrong), status=1))
    for bad in ("", "{}", "x", json.dumps(dict(q, detail=None)), json.dumps(q)[:-1], "[" * 200000):
        within("expected a line of", allow(bad, status=64))
    within("an id, or --stdin", allow(q, q["id"], status=64))
    equal((manifest(s), s.status(rid)), (before, "pending"))
    allow(q)
    s.settled(rid, "ok")
    within("rotate-every 7d", manifest(s))
    allow(q, status=1)
    s.done()


@test("approve allow --stdin accepts proposals for a manifest: neither a call nor a value", 120)
def shown_proposals_only():
    s = Session(servers=[server("one", grants="    tool ask echo\n")])

    def refuses(q):
        r = run([KENNEL, "approve", "allow", "--stdin"], stdin=json.dumps(q), env=s.env)
        equal(r.returncode, 64, r.stderr)
        within("--stdin accepts only proposals for a manifest", r.stderr.decode())
        equal([x["id"] for x in s.questions()], [q["id"]], "it is still pending")

    rid = propose(s, "secrets_request_provision", path=PATH)
    refuses(s.question())
    equal(s.status(rid), "pending")
    s.answer("deny")
    s.settled(rid, "cancelled")
    call = s.h.post_call("one.echo", {"text": "x"})
    q = s.question()
    equal((q["kind"], q["factor"]), ("tool", None))
    refuses(q)
    s.answer("allow")  # the control: by its id
    check(not s.h.wait(call, LONG)["result"].get("isError"))
    s.done()


class Stream:
    """GET /api/events, as far as it has come."""

    def __init__(self, c):
        self.s = socket.create_connection(("127.0.0.1", c.port), timeout=LONG)
        self.s.sendall(("GET /api/events HTTP/1.1\r\nHost: %s\r\nCookie: kennel-%d=%s\r\nX-Kennel-Key: %s\r\n"
                        "X-Kennel-Background: 1\r\n\r\n" % (c.host(), c.port, c.cookie, c.key)).encode())
        self.got = b""
        self.until(b"\r\n\r\n")
        self.status = int(self.got.split()[1])

    def more(self):
        part = self.s.recv(65536)
        self.got += part
        return part != b""

    def until(self, what):
        while what not in self.got:
            check(self.more(), "the stream has ended", self.got)
        self.got = self.got if what == b"\r\n\r\n" else self.got.split(what, 1)[1]

    def to_end(self):
        self.until(b"\r\n0\r\n\r\n")  # the last chunk
        self.s.close()


@test("S3-50 /api/events tells of approvals that come and go, to those who are logged in, until the login ends", 120)
def events():
    c = Console().login()
    s = session()
    stream = Stream(c)
    equal(stream.status, 200)
    within(b"Content-Type: text/event-stream", stream.got)
    within(b"Content-Security-Policy: default-src 'none'", stream.got)
    began = time.time()
    call = ask(s, a=1)
    stream.until(b"event: approvals\ndata: {}\n\n")
    check(time.time() - began < 5, time.time() - began)
    equal(answer(c, pending(c, 1)[0], "deny"), (200, {}))
    equal(refusal(s.wait(call, LONG)), "denied by a person")
    stream.until(b"event: approvals\ndata: {}\n\n")
    absent(b"line", stream.got)
    key, c.key = c.key, "0" * 32
    refused(c.json("GET", "events"), 401)
    c.key = key
    # 16 at one time; one that has left makes room
    more = [Stream(c) for _ in range(15)]
    equal({m.status for m in more}, {200})
    equal(Stream(c).status, 503)
    for m in more:
        m.s.close()
    check(wait_for(lambda: Stream(c).status == 200, LONG))
    equal(c.json("POST", "logout")[0], 200)
    stream.to_end()
    s.close()


@test("1,024 approvals of 16 sessions are shown, a 65th of one session is refused, and all are answered", 300)
def many():
    c = Console().login()
    sessions = [session("s%02d" % i) for i in range(16)]
    calls = [[ask(s, n=i) for i in range(64)] for s in sessions]
    shown = pending(c, 1024)
    times = [time.time()]
    ids = {a["id"] for a in listed()}
    times.append(time.time())
    equal({a["id"] for a in shown}, ids)
    pending(c, 1024)
    times.append(time.time())
    too_many = sessions[0].wait(ask(sessions[0], n=64), LONG)
    check("error" in too_many, "the 65th of one session", too_many)
    equal(len(pending(c, 1024)), 1024)
    for i, s in enumerate(sessions):
        mine = [a for a in shown if a["server"] == "s%02d" % i]
        equal([json.loads(a["detail"])["arguments"]["n"] for a in mine], list(range(64)))
        equal(answer(c, mine[i], "once"), (200, {}))
        check(refusal(s.wait(calls[i][i], LONG)) is None)
    left = pending(c, 1024 - 16)
    times.append(time.time())
    # the third refusal of a session's tool denies the rest of it
    taken = [answer(c, a, "deny")[0] for a in left]
    equal((taken.count(200), taken.count(404)), (3 * 16, len(left) - 3 * 16))
    times.append(time.time())
    pending(c, 0)
    for i, s in enumerate(sessions):
        for k, call in enumerate(calls[i]):
            if k != i:
                equal(refusal(s.wait(call, LONG)), "denied by a person")
    print("# 1,024 approvals: kennel approve list %.2f s, GET /api/approvals %.2f s, 1,008 answers %.2f s" %
          (times[1] - times[0], times[2] - times[1], times[4] - times[3]), flush=True)
    for s in sessions:
        s.close()
    pending(c, 0)


if __name__ == "__main__":
    main()
