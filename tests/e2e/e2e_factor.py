"""PEOPLE 6 the second factor: what a policy or a manifest asks `with passphrase` needs the vault's passphrase, each time."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from screen import Screen  # noqa: E402
from ask_kit import ask, refusal  # noqa: E402

be_subreaper()
LONG = 45  # seconds until something that must come is given up
PASS = "correct horse battery %d" % os.getpid()
VALUE = "factor-s3ntinel-%d-k3nn3l" % os.getpid()
PATH = "team/github/token"
ASKS = "    run %s\n    tool allow echo getenv\n" % words(TOY)
homes = [0]


def keepers():
    return [p for p, comm in descendants(os.getpid()).items() if comm == "kennel-keeper"]


def end_keepers():
    for pid in keepers():
        os.kill(pid, signal.SIGKILL)
    check(wait_for(lambda: not keepers(), 20) is not None, "the keeper stays")


def home():
    """A home of this test's own, with an unlocked vault."""
    end_keepers()
    homes[0] += 1
    env = {"KENNEL_HOME": "%s/factor-%d" % (TMP, homes[0])}
    secret(env, "init", "--stdin", stdin=PASS)
    return env


def secret(env, *words_, stdin="", status=0):
    r = run([KENNEL, "secret"] + list(words_), stdin=stdin.encode(), env=env)
    check(status is None or r.returncode == status, " ".join(words_), r.returncode, r.stderr)
    absent(PASS.encode(), r.stdout + r.stderr)
    return r


def session(env, more, **how):
    s = kennel_run(ASKS + more, env=env, **how)
    s.initialize()
    return s


def approve(env, *words_):
    r = run([KENNEL, "approve"] + list(words_), env=env)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def question(env, n=1):
    got = []
    wait_for(lambda: got.clear() or got.extend(map(json.loads, approve(env, "list", "--json")[1].splitlines()))
             or len(got) == n, LONG)
    equal(len(got), n, got)
    return got[-1]


def forged(env, q, answer=1):
    """An ANSWER as any program of this user can send it: what the session made of it."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    pid, number = re.match(r"(\d+)-(\d+):", q["id"]).groups()
    s.connect("%s/run/ask-%s" % (env["KENNEL_HOME"], pid))
    digest = bytes.fromhex(q["sha256"])
    s.send(struct.pack("<IIIII", 2, int(number), answer, 0, len(digest)) + digest + b"\0")
    kind, error = struct.unpack("<II", s.recv(100))
    s.close()
    equal(kind, 6)
    return error


@test("a yes without the passphrase allows nothing, whoever sends it; with it, one call; the next is asked again", 120)
def passphrase():
    env = home()
    s = session(env, "    tool ask line with passphrase because \"it publishes\"\n")
    rid = ask(s, a=1)
    q = question(env)
    equal((q["factor"], q["because"]), ("passphrase", "it publishes"))
    within("the passphrase is asked for", approve(env, "list")[1])
    equal(forged(env, q), 126, "ENOKEY")
    equal(forged(env, q, answer=2), 126)
    status, _, err = approve(env, "allow", q["id"])  # without a terminal
    equal(status, 64, err)
    within("no terminal", err)
    status, _, err = approve(env, "allow", q["id"], "--session")
    equal(status, 64)
    within("leave out --session", err)
    equal(question(env)["id"], q["id"], "it still waits")
    w = Screen([KENNEL, "approve", "allow", q["id"]], columns=200, TERM="dumb", **env)
    w.until("passphrase:")
    w.key(b"wrong one\r")
    w.until("wrong passphrase")
    check(wait_for(lambda: w.p.poll() is not None, LONG) is not None)
    check(w.p.returncode != 0)
    w = Screen([KENNEL, "approve", "allow", q["id"]], columns=200, TERM="dumb", **env)
    w.until("passphrase:")
    w.key(PASS.encode() + b"\r")
    w.until("allowed %s once" % q["id"])
    absent(PASS, w.text())
    check(refusal(s.wait(rid, LONG)) is None)
    rid = ask(s, a=1)  # the same again
    again = question(env)
    equal(forged(env, again), 126, "a confirmation is for one use")
    equal(approve(env, "deny", again["id"])[0], 0, "a no needs none")
    equal(refusal(s.wait(rid, LONG)), "denied by a person")
    s.close()


@test("confirm is for one digest and for one use; three wrong passphrases lock the vault", 120)
def confirm():
    env = home()
    s = session(env, "    tool ask line with passphrase\n")
    rid = ask(s, a=1)
    q = question(env)
    secret(env, "confirm", "0" * 64, "--stdin", stdin=PASS)
    equal(forged(env, q), 126, "another digest")
    secret(env, "confirm", q["sha256"], "--stdin", stdin=PASS)
    equal(approve(env, "allow", q["id"])[:2], (0, "allowed %s once\n" % q["id"]))
    check(refusal(s.wait(rid, LONG)) is None)
    rid = ask(s, a=1)
    q = question(env)
    for i in range(2):
        within(b"wrong passphrase", secret(env, "confirm", q["sha256"], "--stdin", stdin="no", status=126).stderr)
    secret(env, "confirm", q["sha256"], "--stdin", stdin=PASS)  # a right one ends the count
    for i in range(2):
        secret(env, "confirm", q["sha256"], "--stdin", stdin="no", status=126)
    within(b"the vault is locked now", secret(env, "confirm", q["sha256"], "--stdin", stdin="no", status=126).stderr)
    within(b"is locked", secret(env, "confirm", q["sha256"], "--stdin", stdin=PASS, status=126).stderr)
    equal(forged(env, q), 126, "a lock forgets what was confirmed")
    secret(env, "unlock", "--stdin", stdin=PASS)
    for bad in ("", "12", "g" * 64, "0" * 65):
        secret(env, "confirm", bad, "--stdin", stdin=PASS, status=64)
    s.close()


@test("of two lines that ask, the stricter factor counts; a deny and an allow go on as they are", 120)
def stricter():
    env = home()
    s = session(env, "    tool ask *\n    tool ask line with passphrase\n")
    ask(s, a=1)
    equal(question(env)["factor"], "passphrase")
    ask(s, "say", text="x")
    equal(sorted(str(json.loads(q)["factor"]) for q in approve(env, "list", "--json")[1].splitlines())
          if question(env, 2) else None, ["None", "passphrase"])
    s.close()


@test("a factor that no channel can give refuses the start, and names the line", 60)
def key():
    env = home()
    for line in ("tool ask push with key", "resource ask x with key", "prompt ask x with key",
                 "exec ask /usr/bin/true with key", "net ask example.com:443 with key",
                 "secret A from vault %s { approve per-call with key }" % PATH):
        p = policy(ASKS + "    " + line + "\n")
        r = run([KENNEL, "run", "t", "--policy", p], env=env)
        equal(r.returncode, 78, "%s: %s" % (line, r.stderr))
        within(b" at line 5 needs a key: register one with kennel console --keys", r.stderr)


@test("a secret `with passphrase`, by policy or by manifest: its server starts once it is confirmed", 120)
def of_secret():
    env = home()
    secret(env, "set", PATH, "--stdin", stdin=VALUE)
    for options, manifest in ((" { approve session with passphrase }", None), (" { approve session }", "session with passphrase"),
                              ("", "session with passphrase")):
        p = policy(ASKS + "    secret GH from vault %s%s\n" % (PATH, options))
        secret(env, "grant", PATH, "--server", "t", "--policy", p)
        cwd = public_folder("factor-%d" % len(options))
        os.makedirs(cwd + "/.kennel", exist_ok=True)
        if manifest:
            with open(cwd + "/.kennel/secrets.kennel", "w") as f:
                f.write("secret %s {\n    description \"x\"\n    approve %s\n}\nrequired %s\n" % (PATH, manifest, PATH))
        s = subprocess.Popen([KENNEL, "run", "t", "--policy", p], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=environment(env), cwd=cwd)
        q = question(env)
        equal((q["kind"], q["subject"], q["factor"]), ("secret", PATH, "passphrase"), (options, manifest))
        equal(forged(env, q), 126)
        secret(env, "confirm", q["sha256"], "--stdin", stdin=PASS)
        equal(approve(env, "allow", q["id"])[0], 0)
        s.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
                      b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n')
        s.stdin.flush()
        within(b'"id":1', s.stdout.readline())
        s.stdin.close()
        s.wait(LONG)


@test("a program `with passphrase` runs only once it is confirmed, and is asked about each time", 120)
def of_program():
    env = home()
    echo = os.path.realpath("/bin/echo")
    s = kennel_run("    run %s\n    tool allow \"exec\"\n    exec ask %s ** with passphrase\n" % (words(TOY), echo), env=env)
    s.initialize()
    rid = ask(s, "exec", argv=[echo, "hello"])
    q = question(env)
    equal((q["kind"], q["subject"], q["factor"]), ("program", echo, "passphrase"))
    equal(forged(env, q), 126)
    equal(forged(env, q, answer=2), 126)
    secret(env, "confirm", q["sha256"], "--stdin", stdin=PASS)
    equal(forged(env, q, answer=2), 0, "confirmed")
    within("hello", json.dumps(s.wait(rid, LONG)))
    rid = ask(s, "exec", argv=[echo, "hello"])
    again = question(env)
    equal(forged(env, again), 126, "not for the session")
    equal(approve(env, "deny", again["id"])[0], 0)
    absent("hello", s.wait(rid, LONG)["result"]["content"][0]["text"])
    s.close()


@test("PEOPLE 4: what a person has refused is refused unasked for a minute, and after three refusals all of its name; the count is shown", 120)
def refused():
    s = kennel_run("    run %s\n    tool allow echo\n    tool ask line say\n" % words(TOY))
    s.initialize()

    def no(**arguments):
        rid = ask(s, "line", **arguments)
        q = question({})
        equal(approve({}, "deny", q["id"])[0], 0)
        equal(refusal(s.wait(rid, LONG)), "denied by a person")
        return q["refusals"]

    def unasked(**arguments):
        r = s.wait(ask(s, "line", **arguments), LONG)
        equal(refusal(r), "denied by a person")
        within("is not asked again yet", r["result"]["content"][0]["text"])
        equal(approve({}, "list", "--json")[1], "")
    equal(no(a=1), 0)
    unasked(a=1)
    equal(no(a=2), 1)
    rid = ask(s, "line", a=3)
    q = question({})
    within("(refused 2 times in the last 10 min)", approve({}, "list")[1])
    equal(approve({}, "deny", q["id"])[0], 0)
    s.wait(rid, LONG)
    unasked(a=4)
    # a person lifts it, and what was refused for a minute with it
    equal(approve({}, "reopen", "say")[0], 1)
    unasked(a=4)
    equal(approve({}, "reopen", "line")[0], 0)
    equal(approve({}, "reopen", "line")[0], 1)
    equal(no(a=3), 0)
    equal(no(a=4), 1)
    unasked(a=4)
    rid = ask(s, "say", text="x")  # another tool is asked about
    equal(approve({}, "allow", question({})["id"])[0], 0)
    check(refusal(s.wait(rid, LONG)) is None)
    s.close()
    back = [e["fields"] for e in audit() if e["kind"] == "approve" and e["fields"]["method"] == "reopen"]
    equal([(e["name"], e["outcome"], e["channel"], e["server"]) for e in back], [(["line"], "reopened", "command", "t")])
    within("uid %d, pid " % os.geteuid(), back[0]["approver"])
    # no auditor takes it for an approval; the controls are a refusal and an approval
    lines = run([KENNEL, "audit", "who-approved", "line", "--json", "--no-header"]).stdout.splitlines()
    said = [(row["verdict"], row["outcome"], row["odd"]) for row in map(json.loads, lines)]
    equal([row for row in said if row[1] == "reopened"], [(None, "reopened", None)], said)
    check(("deny", "deny") in [row[:2] for row in said], said)
    within(b'"allow","outcome":"once"', run([KENNEL, "audit", "who-approved", "say", "--json"]).stdout)
    report = run([KENNEL, "audit", "report"]).stdout.decode()
    part = re.search(r"<h2[^>]*>Approvals</h2>.*?</table>", report, re.S).group(0)
    within(">reopened</td>", part)
    within("A reopening approves nothing.", part)


@test("kennel approve watch asks for the passphrase on its own terminal, and goes on", 120)
def on_screen():
    env = home()
    s = session(env, "    tool ask line with passphrase\n")
    rid = ask(s, a=1)
    w = Screen([KENNEL, "approve", "watch"], TERM="vt100", **env)
    w.until("line")
    w.key(b"\r")
    shown = w.until("o once, with the passphrase")
    within("factor   passphrase", shown)
    check("s session" not in shown, shown)
    w.key(b"o")
    w.until("passphrase:")
    w.key(PASS.encode() + b"\r")
    w.until("Press Enter")
    check(refusal(s.wait(rid, LONG)) is None)
    w.key(b"\r")
    w.until("nothing is pending")
    absent(PASS.encode(), w.raw)
    w.key(b"q")
    check(wait_for(lambda: w.p.poll() is not None, LONG) is not None)
    s.close()


if __name__ == "__main__":
    try:
        main()
    finally:
        end_keepers()
