"""kennel approve watch: a person at a terminal sees what is pending in all sessions, and answers it."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from screen import Screen  # noqa: E402
from ask_kit import ask, refusal, shop  # noqa: E402

LONG = 45  # seconds until something that must come is given up


def session(name="t", more="    tool ask line because \"seen by a person\"\n"):
    s = kennel_run("    run %s\n    tool allow echo say\n%s" % (words(TOY), more), name=name)
    s.initialize()
    return s


def watch(**env):
    return Screen([KENNEL, "approve", "watch"], **dict({"TERM": "vt100"}, **env))


def end(w):
    w.key(b"q")
    check(wait_for(lambda: w.p.poll() is not None, LONG) is not None, w.text())
    equal(w.p.returncode, 0)


@test("watch lists what is pending in all sessions, live; once, session and deny are keys", 120)
def keys():
    w = watch()
    w.until("nothing is pending")
    a, b = session("alpha"), session("beta")
    first, second = ask(a, a=1, b="x"), None
    shown = w.until("alpha ")
    within("1 pending, 2 sessions", shown)
    second = ask(b, a=2)
    shown = w.until("beta ")
    within("2 pending", shown)
    rows = [line.split() for line in shown.splitlines()[2:4]]
    equal([r[2:] for r in rows], [["alpha", "tools/call", "line", '{"arguments":{"a":1,"b":"x"}}'],
                              ["beta", "tools/call", "line", '{"arguments":{"a":2}}']])
    w.key(b"o")  # in the list nothing is allowed
    check("2 pending" in w.text())
    w.key(b"\r")
    shown = w.until("because  seen by a person")
    for line in ("server   alpha", "kind     tool", "method   tools/call", "subject  line", "  arguments:", '    a: 1', '    b: "x"'):
        check(line in shown.splitlines(), line, shown)
    w.key(b"o")
    w.until("once")
    check(refusal(a.wait(first, LONG)) is None, "allowed once")
    w.until("1 pending")
    w.key(b"\rs")
    check(refusal(b.wait(second, LONG)) is None, "allowed for the session")
    w.until("nothing is pending")
    check(refusal(b.wait(ask(b, a=2), LONG)) is None, "the same is not asked about again")
    third = ask(a, a=3)
    w.until("1 pending")
    w.key(b"d")
    equal(refusal(a.wait(third, LONG)), "denied by a person")
    b.close()
    w.until("1 sessions")
    a.close()
    w.until("0 sessions")
    end(w)


@test("what is shown when it ends is closed, and a new arrival does not take its place", 120)
def ends():
    s = session()
    first = ask(s, a="first")
    w = watch()
    w.until("line")
    w.key(b"\r")
    w.until('a: "first"')
    second = ask(s, a="second")
    status = run([KENNEL, "approve", "deny", re.search(r"^(\S+)  \d+ s left", w.text(), re.M).group(1)])
    equal(status.returncode, 0, status.stderr)
    equal(refusal(s.wait(first, LONG)), "denied by a person")
    w.until("is no longer pending: deny")
    w.key(b"o")  # meant for the first: the second is in the list only
    check("1 pending" in w.until("1 pending"))
    w.key(b"\r")
    w.until('a: "second"')
    w.key(b"o")
    check(refusal(s.wait(second, LONG)) is None)
    end(w)
    s.close()


@test("PEOPLE 6 inert text: no control, bidi, zero-width or look-alike character, and no line of an agent's own", 120)
def inert():
    s = session(more="    tool ask *\n")
    s.send_bytes(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "evil\x1b[2J\nserver   trusted", "current": {"a": 1}, "proposed": {"effect": "nothing"},
        "arguments": {"/home/u/project/src/components/../../../../.ssh/authorized_keys": 1, "text": "\u202egnp", "p\u0430y": "\u200b\U000e0041", "long": "x" * 200 + "\nrule     x"}}},
        ensure_ascii=False).encode() + b"\n")
    w = watch()
    w.until("evil\\u{1b}[2J\\u{a}server")
    w.key(b"\r")
    shown = w.until("long:")
    for part in ("subject  evil\\u{1b}[2J\\u{a}server", '    text: "\\u{202e}gnp"', '    p\\u{430}y: "\\u{200b}\\u{e0041}"'):
        within(part, shown)
    within("/home/u/project/src/components/../../../../.ssh/authorized_keys", shown.replace("\n  | ", ""))
    check("what would change" not in shown, "kennel's own words above an agent's text")
    equal([line for line in shown.splitlines() if line.startswith("server")], ["server   t"])
    check(any(line.startswith("  | xxx") for line in shown.splitlines()), shown.splitlines())
    check("\u202e" not in w.raw.decode() and "\u0430" not in w.raw.decode())
    w.key(b"q")  # back to the list
    end(w)
    s.close()


@test("nothing is allowed before its last line was on the screen; a part that is not shown needs a tick", 120)
def seen():
    s = session()
    rid = ask(s, **{"k%03d" % i: i for i in range(60)})
    w = watch()
    w.until("line")
    w.key(b"\r")
    w.until("lines 1 to")
    w.key(b"o")
    w.until("scroll to the last line")
    w.key(b"\x1bOo")  # a key that kennel does not know: not Escape, and then o
    check("lines 1 to" in w.text())
    w.key(b"\x1bOB" * 60)
    w.until("k059: 59")
    w.key(b"o")
    check(refusal(s.wait(rid, LONG)) is None)
    rid = ask(s, pad="x" * 30000, tail="y" * 30000)
    w.until("1 pending")
    w.key(b"\r")
    w.until("[ ] allow it although a part is not shown")
    w.key(b"\x1bOB" * 300)
    w.until("a part of it is not shown")
    w.key(b"o")
    w.until("press space to tick")
    w.key(b" ")
    w.until("[x] allow it")
    w.key(b"o")
    check(refusal(s.wait(rid, LONG)) is None)
    end(w)
    s.close()


@test("PEOPLE 6 a tool that was reviewed as destructive is allowed with a tick; what a server claims without a review marks nothing", 120)
def destructive():
    s, free = shop(), shop(reviewed=False)
    rid = ask(s, "pid", a=1)
    check(wait_for(lambda: b"tool pid" in run([KENNEL, "approve", "list"]).stdout, LONG))
    r = run([KENNEL, "approve", "list", "--json"])
    equal([json.loads(line)["destructive"] for line in r.stdout.splitlines()], [True])
    within("its reviewed definition is marked: it may destroy or overwrite something", run([KENNEL, "approve", "list"]).stdout.decode())
    w = watch()
    w.until("1 pending")
    w.key(b"\r")
    w.until("[ ] I understand this may destroy or overwrite something")
    within("its reviewed definition is marked: it may destroy", w.text())
    w.key(b"o")
    w.until("press space to tick the box")
    w.key(b" ")
    w.until("[x] I understand this may destroy")
    w.key(b"o")
    check(refusal(s.wait(rid, LONG)) is None, "allowed once")
    w.until("nothing is pending")
    for session_, tool in ((s, "params"), (free, "pid")):  # the controls
        rid = ask(session_, tool, a=1)
        w.until("1 pending")
        w.key(b"\r")
        w.until("lines 1 to")
        absent("[ ]", w.text(), tool)
        w.key(b"o")
        check(refusal(session_.wait(rid, LONG)) is None, tool)
        w.until("nothing is pending")
    end(w)
    s.close()
    free.close()


@test("a narrow terminal, a resized one: every line fits", 120)
def narrow():
    s = session()
    rid = ask(s, a="w" * 120)
    w = watch()
    w.until("line")
    w.key(b"\r")
    w.until("  | www")
    end_of = w.text(0)
    check(all(len(line) <= 80 for line in end_of.splitlines()), end_of)
    w.key(b"dq")
    equal(refusal(s.wait(rid, LONG)), "denied by a person")
    check(wait_for(lambda: w.p.poll() is not None, LONG) is not None)
    s.close()


@test("without a terminal, or with one that has no live view, watch prints lines; there, answers are typed", 120)
def lines():
    s = session()
    p = start([KENNEL, "approve", "watch"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment(), cwd="/")
    rid = ask(s, a=1)
    shown = b""
    while b"another" not in shown:
        shown += os.read(p.stdout.fileno(), 4096)
    within(b"t asks for the tool line", shown)
    check(matches(r"\n    asked \d+ s ago, can be answered for another (29\d|300)", shown.decode()), shown)
    w = Screen([KENNEL, "approve", "watch"], columns=200, TERM="dumb")
    shown = w.until("asks for the tool line")
    within("has no live view", shown)
    absent(b"\x1b", w.raw)
    for wrong in (b"alow 1-1:00000000", b"allow", b"deny 1-1:00000000 --session", b"yes\x02"):
        w.key(wrong + b"\n")
        w.until("found `%s`" % wrong.decode().replace("\x02", "\\x02"))
    within("expected `allow ID`, `session ID` or `deny ID`", w.text().replace("\n", ""))
    w.key(b"session %s\n" % re.search(r"(\S+)  t asks", shown).group(1).encode())
    check(refusal(s.wait(rid, LONG)) is None)
    w.until("for the session")
    gone = b""
    while b"  session\n" not in gone:
        gone += os.read(p.stdout.fileno(), 4096)
    s.close()
    p.kill()


@test("PEOPLE 6 kennel secret ui shows the inventory by expiry, inert; without a terminal it prints lines", 120)
def inventory():
    at = TMP + "/inventory"
    os.makedirs(at + "/.kennel")
    with open(at + "/.kennel/secrets.kennel", "w") as f:
        for path, more in (("team/github/late", "expires 2999-12-31"), ("team/github/none", "approve per-call with passphrase"),
                           ("team/github/old", "expires 2020-01-31\n    description \"a\u0430\\u202eb\"")):
            f.write("secret %s {\n    %s\n}\nrequired %s\n" % (path, more, path))
    w = Screen([KENNEL, "secret", "ui", "--project", at], TERM="vt100")
    shown = w.until("team/github/none").splitlines()
    equal([line.split()[-1] for line in shown[2:5]], ["team/github/old", "team/github/late", "team/github/none"])
    equal(shown[2].split()[:3], ["2020-01-31", "expired", "never"])
    w.key(b"\r")
    within("a\\u{430}\\xe2\\x80\\xaeb", w.until("description"))
    check("\u202e" not in w.raw.decode() and "\u0430" not in w.raw.decode())
    w.key(b"q\x1bOB\x1bOB\r")
    within("passphrase", w.until("per-call"))
    w.key(b"q")
    end(w)
    r = run([KENNEL, "secret", "ui", "--project", at])
    equal((r.returncode, r.stdout), (0, run([KENNEL, "secret", "list", "--project", at]).stdout))
    within(b"team/github/old", r.stdout)


@test("kennel secret ui shows the paths that kennel secret list shows, also those without a manifest", 120)
def undeclared():
    home = TMP + "/undeclared"
    os.makedirs(home + "/policies", mode=0o700)
    with open(home + "/policies/t.kennel", "w") as f:
        f.write("server t {\n%s}\n" % toy_policy("    secret A from vault team/github/one\n    secret B from vault team/github/two\n"))
    os.chmod(f.name, 0o600)
    env = {"KENNEL_HOME": home}
    at = TMP + "/no-project"
    os.makedirs(at)
    listed = run([KENNEL, "secret", "list"], env=env, cwd=at).stdout
    within(b"undeclared  -           team/github/one", listed)
    w = Screen(["/bin/sh", "-c", "cd %s && exec %s secret ui" % (at, KENNEL)], TERM="vt100", **env)
    shown = w.until("team/github/two").splitlines()
    equal([line.split() for line in shown[2:4]],
          [["-", "undeclared", "-", "team/github/one"], ["-", "undeclared", "-", "team/github/two"]])
    w.key(b"\r")
    within("no manifest has it", w.until("team/github/one"))
    w.key(b"q")
    end(w)
    w = Screen(["/bin/sh", "-c", "cd %s && exec %s secret ui --status expired" % (at, KENNEL)], TERM="vt100", **env)
    absent("team/github", w.until("no secrets found: --all adds"), "the control: a filter that they do not pass")
    end(w)


if __name__ == "__main__":
    main()
