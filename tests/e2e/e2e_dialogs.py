"""kennel approve here: a pinentry shows what is pending, and a person answers it there."""
import fcntl
import json
import os
import shutil
import signal
import struct
import sys
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403
from ask_kit import ask, refusal, shop  # noqa: E402

be_subreaper()
TTY = "/usr/bin/pinentry-tty"
PASSPHRASE = "a passphrase of some length"
NEEDS = [server("one", more="    secret GH from vault %s\n" % PATH)]
PLAIN = "required %s\nsecret %s {\n    description \"of the team\"\n}\n" % (PATH, PATH)


def standin(home):
    """A copy that no other user may write."""
    path = home + "/pinentry"
    shutil.copyfile(os.path.dirname(os.path.abspath(__file__)) + "/dialog_standin.py", path)
    os.chmod(path, 0o755)
    return path


class Here:
    """kennel approve here on a terminal, with the stand-in and its answers."""

    def __init__(self, env, *answers, **more):
        self.home = "%s/here-%d" % (TMP, time.monotonic_ns())
        os.makedirs(self.home, mode=0o700)
        self.answers(*answers)
        self.t = Typist([KENNEL, "approve", "here", "--pinentry", standin(self.home)], dict(env, HOME=self.home, **more))
        self.out = ""
        self.until("approvals are shown here")

    def answers(self, *lines):
        with open(self.home + "/answers", "w") as f:
            f.write("".join(line + "\n" for line in lines))

    def asked(self, command=None):
        if not os.path.exists(self.home + "/asked"):
            return []
        return [x for x in map(json.loads, reads(self.home + "/asked").decode().splitlines())
                if command is None or x.get("command") == command]

    def until(self, text):
        """The next time that it says so."""
        self.t.until(text)
        self.out, self.t.out = self.out + self.t.out, ""

    def end(self):
        self.t.p.send_signal(signal.SIGTERM)
        end = time.time() + LONG
        while self.t.p.poll() is None and time.time() < end:
            self.t._read(0.1)
        os.close(self.t.master)
        check(self.t.p.poll() is not None, "it does not end")


def press(t, after, keys):
    t.until(after)
    t.out = ""
    os.write(t.master, keys.encode())


def calls(more):
    s = kennel_run("    run %s\n    tool allow echo\n%s" % (words(TOY), more))
    s.initialize()
    return s


def pending(env=None):
    r = run([KENNEL, "approve", "list", "--json"], env=env)
    return [json.loads(line) for line in r.stdout.splitlines()]


@test("PEOPLE 6 pinentry: once, session and deny are buttons; closing leaves the approval open; a long one is paged, one that is "
      "cut or too long is only denied", 120)
def buttons():
    s = calls("    tool ask line because \"it is sent\"\n")
    first = ask(s, a="100%")
    h = Here({}, "ok", "ok", LD_PRELOAD="/nonexistent/x.so", GTK_MODULES="evil", DISPLAY=":99",
             DBUS_SESSION_BUS_ADDRESS="unix:path=/nonexistent")
    check(refusal(s.wait(first, LONG)) is None)
    start, whole, how_long = h.asked()[:3]
    equal((start["argv"], start["fds"]), ([], [0, 1, 2]), "neither an argument nor a descriptor of kennel's")
    equal(sorted(set(start["env"]) - {"LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "USER", "XDG_RUNTIME_DIR", "TERM"}),
          ["DISPLAY", "HOME", "PATH"])
    equal([o.split("=")[0] for o in whole["options"]], ["ttyname", "ttytype"], "no passphrase is cached")
    equal((whole["texts"]["SETOK"], whole["texts"]["SETNOTOK"], whole["texts"]["SETCANCEL"]), ("Allow", "Deny", "Close"))
    equal((how_long["texts"]["SETOK"], how_long["texts"]["SETNOTOK"]), ("Once", "Session"))
    lines = whole["texts"]["SETDESC"].splitlines()
    equal(lines[:6], ["A pending approval", "", "server   t", "kind     tool", "method   tools/call", "subject  line"])
    within('|   a: "100%"', lines)
    h.answers("ok", "notok")
    rid = ask(s, a=2)
    check(refusal(s.wait(rid, LONG)) is None)
    check(refusal(s.wait(ask(s, a=2), LONG)) is None, "for the session")
    h.answers("notok")
    equal(refusal(s.wait(ask(s, a=3), LONG)), "denied by a person")
    h.answers("cancel")
    ask(s, a=4)
    h.until("left open")
    h.answers("ok", "cancel")  # not once, and not for the session
    ask(s, a=5)
    h.until("left open")
    check(wait_for(lambda: len(pending()) == 2, LONG) is not None, "closing is no answer")
    n = len(h.asked("CONFIRM"))
    h.answers("ok", "ok", "ok", "ok", "ok")
    rid = ask(s, **{"k%02d" % i: "v%d" % i for i in range(30)})
    check(refusal(s.wait(rid, LONG)) is None)
    pages = h.asked("CONFIRM")[n:]
    check(matches("^A pending approval, part 1 of [34]\n", pages[0]["texts"]["SETDESC"]), pages[0])
    equal([p["texts"]["SETOK"] for p in pages], ["Next"] * (len(pages) - 2) + ["Allow", "Once"])
    within("k29", pages[-2]["texts"]["SETDESC"])
    n = len(h.asked("CONFIRM"))
    h.answers(*["ok"] * 16)
    ask(s, **{"k%03d" % i: "v%d" % i for i in range(150)})
    h.until("left open")
    pages = h.asked("CONFIRM")[n:]
    equal(pages[-1]["texts"]["SETOK"], "Leave it open")
    within("To allow it: kennel approve watch", pages[-1]["texts"]["SETDESC"])
    equal(len(pending()), 3)
    h.end()
    s.close()
    said = [e["fields"].get("channel") for e in audit() if e["kind"] == "approve" and e["fields"]["outcome"] != "withdrawn"]
    equal(said, ["pinentry"] * 4, "the log has where a person answered")


@test("PEOPLE 6 a tool that was reviewed as destructive has two steps in a dialog; one that was not has one", 120)
def destructive():
    s = shop()
    h = Here({}, "ok", "ok", "ok")
    check(refusal(s.wait(ask(s, "pid", a=1), LONG)) is None)
    texts = [a["texts"] for a in h.asked("CONFIRM")]
    equal([t["SETOK"] for t in texts], ["Allow", "Allow it", "Once"])
    within("I understand this may destroy or overwrite something", texts[1]["SETDESC"])
    within("pid", texts[1]["SETDESC"])
    h.answers("ok", "notok")
    equal(refusal(s.wait(ask(s, "pid", a=2), LONG)), "denied by a person", "in the second step")
    h.answers("ok", "cancel")
    ask(s, "pid", a=3)
    h.until("left open")
    before = len(h.asked("CONFIRM"))
    h.answers("ok", "ok")
    check(refusal(s.wait(ask(s, "params", a=1), LONG)) is None, "the control")
    equal([a["texts"]["SETOK"] for a in h.asked("CONFIRM")[before:]], ["Allow", "Once"])
    h.end()
    s.close()


@test("an approval that is answered elsewhere closes its dialog; a dialog that dies allows nothing; text of an agent is inert", 120)
def ends():
    s = calls("    tool ask *\n")
    h = Here({}, "wait", "die")
    s.send_bytes(json.dumps({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {
        "name": "evil\x1b[2J\nkind     program", "arguments": {"t": "\u202ex%0Akind     x", "<b>": "\u0430"}}},
        ensure_ascii=False).encode() + b"\n")
    check(wait_for(lambda: h.asked("CONFIRM"), LONG) is not None)
    text = h.asked("CONFIRM")[0]["texts"]["SETDESC"]
    check(all(" " <= c <= "~" or c == "\n" for c in text), text)
    equal([line for line in text.splitlines() if line.startswith("kind")], ["kind     tool"])
    within("\\u{202e}x%0Akind", text)
    standins = [p for p, comm in descendants(h.t.p.pid).items() if comm == "pinentry"]
    equal(len(standins), 1)
    equal(run([KENNEL, "approve", "deny", pending()[0]["id"]]).returncode, 0)
    equal(refusal(s.wait(77, LONG)), "denied by a person")
    check(wait_for(lambda: not [p for p, c in descendants(h.t.p.pid).items() if c == "pinentry"], LONG) is not None, "the dialog is still there")
    ask(s, "say", text="x")
    h.until("left open")
    equal(len(pending()), 1, "a dialog that died is no answer")
    h.end()
    s.close()


def columns(h, n):
    fcntl.ioctl(h.t.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, n, 0, 0))


@test("no line of a dialog is wider than its terminal, so that a pinentry breaks none; a terminal that is too narrow shows nothing", 120)
def narrow():
    s = calls("    tool ask line\n")
    h = Here({})
    for n in (30, 50, 76, 77, 100):
        columns(h, n)
        h.answers(*["ok"] * 16)
        before = len(h.asked("CONFIRM"))
        rid = ask(s, a="%s kind     program%s" % ("x" * (n % 60), " y" * 90), n=n)
        check(refusal(s.wait(rid, LONG)) is None, n)
        text = "\n".join(c["texts"]["SETDESC"] for c in h.asked("CONFIRM")[before:])
        lines = [line for line in text.splitlines() if "part" not in line and "exactly the same" not in line]
        # but for the frame, and no wider than before
        equal(max(map(len, lines)), min(n - 5, 72), n)
        equal({line for line in lines if line.startswith("kind")}, {"kind     tool"}, n)
    h.answers("ok", "ok")
    columns(h, 20)
    ask(s, a=1)
    h.until("the terminal has 20 columns, and this approval needs 25")
    equal(len(pending()), 1, "it stays open")
    h.end()
    s.close()


@test("a project's mcp-servers.json in a dialog: its servers and commands are shown, closing and declining leave it untrusted, "
      "accepting stores the approval", 120)
def file():
    home = "%s/dialog-file" % TMP
    os.makedirs(home + "/home", mode=0o700)
    env = {"KENNEL_HOME": home + "/home"}
    with open(home + "/mcp-servers.json", "w") as f:
        f.write('{"mcpServers": {"mine": {"command": "/bin/cat", "args": ["-n"]}}}')
    os.chmod(home + "/mcp-servers.json", 0o644)

    def hub():
        h = Hub(env=env, command=["/usr/bin/python3", "-c", "import os,sys; os.chdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])",
                                  home, KENNEL, "serve", "--policy", policies(server("one"))])
        h.ask("tools/list")
        return h

    def says(h):
        return h.query("mine", "echo")["state"]
    d = Here(env)
    for answers in (["cancel"], ["notok"]):
        d.answers(*answers)
        h = hub()
        d.until("deny")
        equal(says(h), "error")
        h.close()
    d.answers("ok", "ok", "ok")
    n = len(d.asked("CONFIRM"))
    h = hub()
    check(wait_for(lambda: says(h) == "denied", LONG) is not None, "a row without a policy is known, and denied")
    d.end()
    parts = [c["texts"] for c in d.asked("CONFIRM")[n:]]
    equal((parts[-1]["SETOK"], parts[-1]["SETNOTOK"], parts[-1]["SETCANCEL"]), ("Accept", "Decline", "Close"))
    lines = "\n".join(c["SETDESC"] for c in parts).splitlines()
    for line in ("kind     file", '|     name: "mine"', "|     argv: ", '|       - "/bin/cat"', '|       - "-n"'):
        within(line, lines)
    h.close()
    said = [(e["fields"]["outcome"], e["fields"].get("channel")) for e in audit(env=env) if e["kind"] == "approve"]
    equal(said, [("asked", None), ("cancelled", "pinentry")] * 2 + [("asked", None), ("reported", "pinentry"), ("ok", "pinentry")])


@test("a second factor in a dialog: the passphrase, more than one try, and the vault is unlocked by it first", 120)
def factor():
    env = {"KENNEL_HOME": "%s/dialog-factor" % TMP}
    for words_ in (["init", "--stdin"], ["lock"]):
        equal(run([KENNEL, "secret"] + words_, stdin=PASSPHRASE.encode(), env=env).returncode, 0)
    s = kennel_run("    run %s\n    tool allow echo\n    tool ask line with passphrase\n" % words(TOY), env=env)
    s.initialize()
    h = Here(env, "ok", "pin wrong one", "pin " + PASSPHRASE, "pin wrong two", "pin " + PASSPHRASE)
    check(refusal(s.wait(ask(s, a=1), LONG)) is None)
    asked = h.asked("GETPIN")
    equal([x["texts"].get("SETERROR") for x in asked], [None, "wrong passphrase", None, "wrong passphrase"])
    equal(h.asked("CONFIRM")[0]["texts"]["SETOK"], "Once, with the passphrase")
    for x in asked:
        within("subject  line", x["texts"]["SETDESC"])
    absent(PASSPHRASE, h.out + h.t.out)
    h.end()
    s.close()


@test("a value in a dialog: the vault is made, the format is checked, what is there is overwritten in two steps; closing cancels, "
      "a dialog that dies has failed; the value is in no reply, log or process", 120)
def value():
    s = Session(PLAIN, servers=NEEDS)
    rid = s.h.structured("secrets_request_provision", path=PATH)["request_id"]
    h = Here(s.env, "ok", "pin short", "pin " + PASSPHRASE, "pin another one", "pin " + PASSPHRASE, "pin " + PASSPHRASE, "pin abc",
             "pin " + VALUE)
    s.settled(rid, "ok")
    equal([x["texts"].get("SETERROR") for x in h.asked("GETPIN")],
          [None, "a passphrase needs at least eight characters", None, "the two entries differ", None, None,
           "a value needs at least four bytes"])
    equal(h.asked("CONFIRM")[0]["texts"]["SETOK"], "Enter a value")
    h.until("stored")
    s.secret("grant", PATH, "--server", "one", "--policy", s.h.path)
    equal(s.h.said("one.echo", seconds=LONG, text="x"), "one: x")
    n = len(h.asked("CONFIRM"))
    h.answers("ok", "notok")  # the second step is declined
    rid = s.h.structured("secrets_request_rotation", path=PATH)["request_id"]
    s.settled(rid, "cancelled")
    within("I understand this overwrites the current secret", h.asked("CONFIRM")[n + 1]["texts"]["SETDESC"])
    h.answers("cancel")
    rid = s.h.structured("secrets_request_rotation", path=PATH)["request_id"]
    s.settled(rid, "cancelled")
    h.answers("ok", "ok", "die")
    rid = s.h.structured("secrets_request_rotation", path=PATH)["request_id"]
    s.settled(rid, "failed")
    s.secret("lock")
    h.answers("ok", "pin " + PASSPHRASE, "ok", "pages", "pin new-" + VALUE)  # while it is locked, the grant is not known
    rid = s.h.structured("secrets_request_rotation", path=PATH)["request_id"]
    s.settled(rid, "ok")
    h.answers("ok", "ok")
    rid = s.h.structured("secrets_propose_metadata", path=PATH, fields={"description": "another"})["request_id"]
    s.settled(rid, "ok")
    equal(h.asked("CONFIRM")[-1]["texts"]["SETOK"], "Accept")
    within('+ description: "another"', "".join(x["texts"]["SETDESC"] for x in h.asked("CONFIRM")[-2:]))
    within(b'description "another"', reads(s.dir + "/.kennel/secrets.kennel"))
    # in one process, a proposal begins with nothing of the last one
    for expires, there in (("2031-02-03", True), (None, False)):
        h.answers("ok", "ok")
        rid = s.h.structured("secrets_propose_metadata", path=PATH, fields={"expires_at": expires})["request_id"]
        s.settled(rid, "ok")
        equal(b"2031-02-03" in reads(s.dir + "/.kennel/secrets.kennel"), there)
    absent(VALUE, h.out + h.t.out)
    h.end()
    s.h.close()
    log = run([KENNEL, "audit", "export"], env=s.env).stdout
    absent(VALUE.encode(), log)
    done = [(e["fields"]["action"], e["fields"]["outcome"]) for e in audit(env=s.env) if e["kind"] == "vault"]
    for step in ("init", "set", "unlock", "rotate"):
        check((step, "done") in done, step, done)
    s.done()


@test("with the real pinentry-tty: once, a passphrase, a value; typing is not shown", 120)
def real():
    if not os.path.exists(TTY):
        skip("not here: " + TTY)
    s = Session(PLAIN, servers=NEEDS)
    rid = s.h.structured("secrets_request_provision", path=PATH)["request_id"]
    t = Typist([KENNEL, "approve", "here", "--pinentry", TTY], s.env)
    press(t, "[ecd]?", "e")
    press(t, "Passphrase:", PASSPHRASE + "\n")
    press(t, "Passphrase:", PASSPHRASE + "\n")
    press(t, "Value:", VALUE + "\n")
    s.settled(rid, "ok")
    t.until("stored")
    rid = s.h.structured("secrets_request_rotation", path=PATH)["request_id"]
    press(t, "[ecd]?", "d")
    s.settled(rid, "cancelled")
    rid = s.h.structured("secrets_request_rotation", path=PATH)["request_id"]
    press(t, "[ecd]?", "e")
    press(t, "overwrites the current secret", "c")
    s.settled(rid, "cancelled")
    absent(VALUE, t.out)
    absent(PASSPHRASE, t.out)
    t.p.send_signal(signal.SIGTERM)
    t.done()
    s.done()


@test("it needs a terminal or a display, a pinentry that no other user may write, and a channel", 60)
def refuses():
    env = {"KENNEL_HOME": "%s/dialog-refuses" % TMP}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    r = run([KENNEL, "approve", "here"], env=env)
    equal(r.returncode, 64)
    within(b"no terminal and no display", r.stderr)
    bad = env["KENNEL_HOME"] + "/pinentry"
    shutil.copyfile("/bin/true", bad)
    os.chmod(bad, 0o775)
    for name, why in ((bad, "another user may write it"), ("pinentry", "it is no absolute path"), ("/etc/passwd", "it is no program")):
        r = run([KENNEL, "approve", "here", "--pinentry", name], env=dict(env, DISPLAY=":99"))
        equal(r.returncode, 78, r.stderr)
        within(why.encode(), r.stderr)
    os.chmod(bad, 0o755)
    s = calls("    tool ask line\n")
    ask(s, a=1)
    r = run([KENNEL, "approve", "here", "--pinentry", bad], env=dict(DISPLAY=":99"))
    equal(r.returncode, 78, r.stderr)
    within(b"the pinentry does not start", r.stderr)
    equal(len(pending()), 1, "the question stays open for other channels")
    s.close()


if __name__ == "__main__":
    main()
