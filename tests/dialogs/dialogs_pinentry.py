"""kennel approve here with the pinentries of Debian: curses on a terminal, gtk under Xvfb, and notify-send."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../e2e")
sys.path.insert(0, HERE + "/../lib")
from secrets_kit import *  # noqa: E402,F403
from screen import Screen  # noqa: E402

be_subreaper()
CURSES, GTK, NOTIFY = "/usr/bin/pinentry-curses", "/usr/bin/pinentry-gtk-2", "/usr/bin/notify-send"
PASSPHRASE = "a passphrase of some length"
NEEDS = [server("one", more="    secret GH from vault %s\n" % PATH)]
PLAIN = "required %s\nsecret %s {\n    description \"of the team\"\n}\n" % (PATH, PATH)


def wanted(*programs):
    for p in programs:
        if shutil.which(p) is None:
            skip("not here: " + p)


def calls(env=None):
    s = kennel_run("    run %s\n    tool allow echo\n    tool ask line\n" % words(TOY), env=env)
    s.initialize()
    return s


def ask(s, **arguments):
    s.n += 1
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": "line", "arguments": arguments}})
    return s.n


def refusal(r):
    return r["result"]["_meta"]["kennel/refusal"]["outcome"] if r["result"].get("isError") else None


def pending(env=None):
    return [json.loads(line) for line in run([KENNEL, "approve", "list", "--json"], env=env).stdout.splitlines()]


class Display:
    """An X server of this test's own."""

    def __init__(self):
        r, w = os.pipe()
        self.p = subprocess.Popen(["Xvfb", "-displayfd", str(w), "-nolisten", "tcp", "-screen", "0", "800x600x24"], pass_fds=[w],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(w)
        number = b""
        while not number.endswith(b"\n"):
            d = os.read(r, 16)
            check(d, "Xvfb does not start")
            number += d
        os.close(r)
        self.env = {"DISPLAY": ":" + number.decode().strip()}

    def windows(self):
        r = run(["xdotool", "search", "--onlyvisible", "--name", "."], env=self.env)
        return r.stdout.decode().split()

    def window(self, other_than=()):
        got = []
        check(wait_for(lambda: got.clear() or got.extend(x for x in self.windows() if x not in other_than) or got, LONG) is not None,
              "no dialog")
        run(["xdotool", "windowfocus", "--sync", got[-1]], env=self.env)  # there is no window manager
        return got[-1]

    def keys(self, *keys):
        time.sleep(0.5)  # a window that was just mapped has no grab yet
        equal(run(["xdotool", "key", "--clearmodifiers"] + list(keys), env=self.env).returncode, 0)

    def type(self, text):
        time.sleep(0.5)
        equal(run(["xdotool", "type", "--delay", "20", text], env=self.env, timeout=60).returncode, 0)

    def end(self):
        self.p.terminate()
        self.p.wait(20)


@test("pinentry-curses: allow, once; its buttons, and the screen is given back when it is answered elsewhere", 120)
def curses():
    wanted(CURSES)
    s = calls()
    rid = ask(s, a=1)
    w = Screen([KENNEL, "approve", "here", "--pinentry", CURSES], TERM="vt100")
    if wait_for(lambda: "<Deny>" in w.text(), LONG) is None:
        raise AssertionError(w.text())
    shown = w.text()
    for part in ("server   t", "kind     tool", "subject  line", "|   a: 1", "<Allow>", "<Close>"):
        within(part, shown)
    w.key(b"\r")
    shown = w.until("<Once>")
    within("<Session>", shown)
    w.key(b"\r")
    check(refusal(s.wait(rid, LONG)) is None)
    rid = ask(s, a=2)
    w.until("<Allow>")
    w.key(b"\t\r")  # the second button
    equal(refusal(s.wait(rid, LONG)), "denied by a person")
    rid = ask(s, a=3)
    w.until("|   a: 3")
    equal(run([KENNEL, "approve", "allow", pending()[0]["id"]]).returncode, 0)
    check(refusal(s.wait(rid, LONG)) is None)
    check(wait_for(lambda: w.text(0.2) and b"\x1b[?1049l" in w.raw, LONG) is not None, "the screen")
    w.p.send_signal(signal.SIGTERM)
    check(wait_for(lambda: w.p.poll() is not None, LONG) is not None)
    s.close()


@test("pinentry-gtk-2 under Xvfb: three buttons, a vault, a value", 240)
def gtk():
    wanted(GTK, "Xvfb", "xdotool")
    x = Display()
    s = Session(PLAIN, servers=NEEDS)
    try:
        rid = s.h.structured("secrets_request_provision", path=PATH)["request_id"]
        p = start([KENNEL, "approve", "here", "--pinentry", GTK], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                  env=environment(dict(s.env, **x.env)), cwd="/")
        seen = [x.window()]
        x.keys("Tab", "Tab", "Return")  # Close has the focus, then Decline
        for text in (PASSPHRASE, PASSPHRASE, VALUE):
            seen.append(x.window(seen))
            x.type(text)
            x.keys("Return")
        s.settled(rid, "ok")
        # each request has a process of its own, whose windows may have the same numbers again
        check(wait_for(lambda: not x.windows(), LONG) is not None)
        rid = s.h.structured("secrets_request_rotation", path=PATH)["request_id"]
        x.window()
        x.keys("Escape")  # the window is closed
        s.settled(rid, "cancelled")
        check(wait_for(lambda: not x.windows(), LONG) is not None)
        rid = s.h.structured("secrets_request_rotation", path=PATH)["request_id"]
        x.window()
        x.keys("Tab", "Return")  # declined
        s.settled(rid, "cancelled")
        p.send_signal(signal.SIGTERM)
        out = p.communicate(timeout=LONG)[0].decode()
        absent(VALUE, out)
        absent(PASSPHRASE, out)
    finally:
        s.done()
        x.end()


@test("a notification names the server, the kind and the tool, without arguments or markup, and at most one comes in ten seconds", 120)
def notification():
    wanted("bwrap", NOTIFY)
    if os.geteuid() != 0:
        skip("needs root: in a namespace of a user, the pinentry would be nobody's")
    home = "%s/notify" % TMP
    os.makedirs(home, mode=0o755)
    script = home + "/notify-send"
    with open(script, "w") as f:
        f.write("#!/usr/bin/python3\nimport json, os, sys\nwith open(%r, 'a') as f:\n"
                "    f.write(json.dumps([sys.argv[1:], dict(os.environ)]) + '\\n')\n" % (home + "/got"))
    os.chmod(script, 0o755)
    os.makedirs(home + "/config", mode=0o700)
    s = kennel_run("    run %s\n    tool allow echo\n    tool ask *\n" % words(TOY))
    s.initialize()
    s.n += 1
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {
        "name": "<a href=x>line</a>", "arguments": {"a": "an argument", "reason": "urgent"}}})
    t = Typist(["bwrap", "--dev-bind", "/", "/", "--bind", script, NOTIFY, "--", KENNEL, "approve", "here", "--pinentry", CURSES],
               {"GTK_MODULES": "evil", "TERM": "vt100"})
    check(wait_for(lambda: os.path.exists(home + "/got"), LONG) is not None, "no notification")
    ask(s, b=2)
    check(wait_for(lambda: len(pending()) == 2, LONG) is not None)
    time.sleep(2)
    got = [json.loads(line) for line in reads(home + "/got").splitlines()]
    equal(len(got), 1, got)
    argv, env = got[0]
    equal(argv, ["--app-name=kennel", "--", "kennel: an approval is pending", "t: tool ?a href=x?line?/a?"])
    check("GTK_MODULES" not in env and "LD_PRELOAD" not in env, env)
    t.p.send_signal(signal.SIGTERM)
    os.kill(t.p.pid, signal.SIGTERM)
    for pid, comm in descendants(os.getpid()).items():
        if comm in ("bwrap", "kennel") and pid != os.getpid():
            os.kill(pid, signal.SIGTERM)
    s.p.wait(LONG)


if __name__ == "__main__":
    main()
