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
    for key in ("id", "server", "kind", "subject", "detail", "rule", "because", "whole", "sha256", "refusals"):
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


@test("1,024 approvals of 16 sessions are shown, and one of each session is answered", 180)
def many():
    c = Console().login()
    sessions = [session("s%02d" % i) for i in range(16)]
    calls = [[ask(s, n=i) for i in range(64)] for s in sessions]
    shown = pending(c, 1024)
    equal({a["id"] for a in shown}, {a["id"] for a in listed()})
    began = time.time()
    pending(c, 1024)
    check(time.time() - began < 1, time.time() - began)
    for i, s in enumerate(sessions):
        mine = [a for a in shown if a["server"] == "s%02d" % i]
        equal([json.loads(a["detail"])["arguments"]["n"] for a in mine], list(range(64)))
        equal(answer(c, mine[i], "once"), (200, {}))
        check(refusal(s.wait(calls[i][i], LONG)) is None)
    pending(c, 1024 - 16)
    for s in sessions:
        s.close()
    pending(c, 0)


if __name__ == "__main__":
    main()
