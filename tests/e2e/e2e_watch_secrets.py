"""kennel approve watch: what an agent asks about secrets, on a person's screen: differences, a name to edit, a box to tick."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403
from screen import Screen  # noqa: E402

be_subreaper()
NEEDS = [server("one", more="    secret GH from vault %s\n" % PATH)]
MANIFEST = "secret %s {\n    description \"of the team\"\n    rotate-every 30d\n}\n" % PATH


def request(s, tool, **arguments):
    r = s.h.do(tool, arguments)["result"]
    check(not r.get("isError"), r)
    return r["structuredContent"]["request_id"]


def watch(s):
    w = Screen([KENNEL, "approve", "watch"], columns=100, TERM="vt100", **s.env)
    w.until("1 pending")
    w.key(b"\r")
    return w


def end(w):
    w.until("nothing is pending")
    w.key(b"q")
    check(wait_for(lambda: w.p.poll() is not None, LONG) is not None, w.text())
    equal(w.p.returncode, 0)


@test("S1-54 S1-56 S1-57 S1-58 S1-60 metadata: what is and what would be, one below the other; o writes it, d closes the request", 120)
def metadata():
    s = Session(MANIFEST, servers=NEEDS)
    for key, want in ((b"d", "cancelled"), (b"o", "ok")):
        rid = request(s, "secrets_propose_metadata", path=PATH, fields={
            "description": "of n\u043ebody, kind     tool", "rotate_every_days": 30, "expires_at": "2031-02-03"})
        w = watch(s)
        shown = w.until("o accept   d close")
        lines = [line.strip() for line in shown.splitlines()]
        for line in ("kind     metadata", "subject  " + PATH, "- description: \"of the team\"",
                     "+ description: \"of n\\u{43e}body, kind     tool\"", '+ expires_at: "2031-02-03"'):
            within(line, lines)
        check("rotate" not in shown, "unchanged", shown)
        equal(sum(line.startswith("kind ") for line in shown.splitlines()), 1, "no line of the agent's own")
        w.key(key)
        if key == b"o":
            w.until("Press Enter")
            w.key(b"\r")
        s.settled(rid, want)
        end(w)
    got = s.h.structured("secrets_describe", path=PATH)
    equal((got["expires_at"], got["description"]), ("2031-02-03", "of n\u043ebody, kind     tool"))


@test("S1-62 S1-63 S1-64 a new path: its name is edited on the screen, and checked; what is accepted has the person's name", 120)
def new_path():
    s = Session(MANIFEST, servers=NEEDS)
    rid = request(s, "secrets_propose_new_path", suggested_path="team/new/token", metadata={
        "description": "newly found", "pattern_id": "github-pat", "retrieval_url": "https://example.invalid/t",
        "rotate_every_days": 90, "expires_at": None})
    w = watch(s)
    w.until("o accept   n another name   d close")
    w.key(b"n" + b"\x7f" * 9)
    w.until("team/")
    w.key(b"OX;mine\r")  # two parts are no path: still typing
    w.until("team/mine")
    w.key(b"o")  # is a letter of the name
    w.until("team/mineo")
    w.key(b"\x7f/token\r")
    w.until("team/mine/token")
    w.key(b"o")
    w.until("Press Enter")
    w.key(b"\r")
    s.settled(rid, "ok")
    equal(s.poll(rid)["path"], "team/new/token", "the agent's word")
    end(w)
    paths = [row["path"] for row in json.loads(s.h.do("secrets_list", {})["result"]["content"][0]["text"])]
    equal(sorted(paths), sorted(["team/mine/token", PATH]))


@test("S1-50 S1-51 S1-52 a rotation: nothing is typed before the box is ticked, and the value is not on the screen", 120)
def rotation():
    s = Session(MANIFEST, servers=NEEDS, vault=True)
    rid = request(s, "secrets_request_rotation", path=PATH)
    w = watch(s)
    w.until("[ ] I understand this overwrites the current secret")
    w.key(b"o")
    w.until("press space to tick the box")
    w.key(b"  o")  # ticked, and not any more
    w.until("press space to tick the box")
    equal(s.status(rid), "pending")
    w.key(b" ")
    w.until("[x] I understand")
    w.key(b"o")
    w.until("(yes or no):")
    w.key(b"yes\r")
    w.until("The value (it is not shown): ")
    w.key((VALUE + "-2").encode() + b"\r")
    w.until("Press Enter")
    w.key(b"\r")
    s.settled(rid, "ok")
    end(w)
    absent(VALUE.encode(), w.raw)
    s.done()


if __name__ == "__main__":
    main()
