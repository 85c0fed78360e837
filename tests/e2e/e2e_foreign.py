"""Text of the server leaves a cell by the scrubber alone: each way by which bytes of the
server reach an agent, a person or the log, tried with a value in every spelling that the
way lets through."""
import base64
import glob
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON, LEAKER = "/usr/bin/python3", HERE + "/leaker.py"
# of a value that is no secret, for the control: the same text, without the `secret` line
LEAK = "Q7w8E9r0_T1y2-U3i4.o5P6/a7S8"
SHORT = "Zx81Yw72Xv63Uu5"  # as long as an address
GRANTED = "granted.test.example"


def kept(text):
    return "".join(c for c in text.lower() if c.isalnum())


def traces(text):
    """Which spellings of the value are in a text, without regard to case and signs."""
    raw, text = LEAK.encode(), kept(text)
    forms = {"plain": LEAK, "hex": raw.hex(), "base32": base64.b32encode(raw).decode(), "reversed": LEAK[::-1],
             "base64": base64.urlsafe_b64encode(raw).decode(), "address": SHORT.encode().hex()}
    return sorted(n for n, f in forms.items() if kept(f) in text)


def variables(secret):
    if secret:
        return "secret LEAK from env LEAK\n    secret SHORT from env SHORT"
    return "env LEAK = %s\n    env SHORT = %s" % (json.dumps(LEAK), json.dumps(SHORT))


def body(secret, more=""):
    """The variable is a secret, or, for the control, an ordinary one."""
    return ("    run %s\n    read %s\n    tool allow *\n    exec allow /bin/true x\n    net allow %s:443\n"
            "    net ask *.ask.example:443\n    timeout ask 2s\n    %s\n%s\n" % (
                words(PYTHON, LEAKER, "/bin/true"), words(HERE), GRANTED,
                variables(secret), more))


def place(name):
    home = "%s/foreign-%s" % (TMP, name)
    os.makedirs(home, exist_ok=True)
    return {"KENNEL_HOME": home, "XDG_STATE_HOME": home + "/state", "LEAK": LEAK, "SHORT": SHORT}


def log_of(env):
    """Every record, as an auditor exports it, and the server's log file."""
    out = run([KENNEL, "audit", "log", "--json", "--no-header"], env=env).stdout.decode(errors="replace")
    return out + run([KENNEL, "audit", "denials"], env=env).stdout.decode(errors="replace") + server_log(env)


def server_log(env):
    """What the server wrote on its standard error, as kennel keeps it."""
    return "".join(open(p, encoding="utf-8", errors="replace").read()
                   for p in glob.glob(env["KENNEL_HOME"] + "/**/*.log*", recursive=True))


def questions(env, out, stop):
    while not stop.is_set():
        out.append(run([KENNEL, "approve", "list", "--json"], env=env).stdout.decode(errors="replace"))
        stop.wait(0.2)


def all_of(secret, calls):
    """(what the agent got, standard error, questions, log) of a session with these calls."""
    env, asked, stop = place("yes" if secret else "no"), [], threading.Event()
    s = kennel_run(body(secret), env=env)
    watch = threading.Thread(target=questions, args=(env, asked, stop), daemon=True)
    watch.start()
    got = [s.initialize(), s.request("tools/list")]
    for tool, arguments in calls:
        got.append(s.call(tool, seconds=40, **arguments))
    stop.set()
    watch.join(10)
    s.close()
    err = s.stderr()
    time.sleep(0.3)
    return json.dumps(got, ensure_ascii=False), err, "".join(asked), log_of(env)


NET = [("lookup", {}), ("address", {}), ("sni", {"host": GRANTED}), ("alpn", {"host": GRANTED}), ("ask", {"under": "ask.example"})]
LOCAL = [("exec", {}), ("file", {}), ("stderr", {}), ("die", {})]
WHERE = "the agent", "standard error", "a question", "the log"


@test("attack: names asked of DNS, addresses, SNI, ALPN and questions of the network hold no secret, in any spelling", seconds=120)
def network():
    clear, shown = all_of(False, NET), all_of(True, NET)
    for where, control, got in zip(WHERE, clear, shown):
        check("plain" in traces(control), "the control: nothing reaches %s: %s" % (where, control[-600:]))
        equal(traces(got), [], "%s: %s" % (where, got[-2500:]))
    everywhere = "".join(clear)
    equal(traces(everywhere), ["address", "base32", "base64", "hex", "plain", "reversed"], "the control has every spelling")
    within("***", shown[3])
    for part in ".n0.example", ".n9.example", ".sni.example", ".ask.example":
        within(part, "".join(shown), "the rest of a name stays")
    absent("net allow ***", "".join(shown), "no line is proposed for a redacted name")


@test("what was redacted in a name of the network is counted, and kennel audit find-secret finds it", seconds=60)
def counted():
    env = place("counted")
    s = kennel_run(body(True), env=env)
    s.initialize()
    s.send({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": "lookup", "arguments": {}}})
    s.wait(99)
    s.close()

    def total():
        return sum(e["fields"]["count"] for e in audit("--kind", "scrub", env=env) if "LEAK" in e["fields"]["name"])
    # two texts of the first answer, one of the second, and ten names
    check(wait_for(lambda: total() >= 13, 5) is not None, total())
    found = run([KENNEL, "audit", "find-secret", "--stdin"], env=env, stdin=LEAK.encode(), timeout=60).stdout.decode()
    within("LEAK", found)


@test("attack: programs, arguments, variables, files, standard error and last words hold no secret", seconds=60)
def local():
    clear, shown = all_of(False, LOCAL), all_of(True, LOCAL)
    for where, control, got in zip(WHERE, clear, shown):
        equal(traces(got), [], "%s: %s" % (where, got[-2500:]))
        check(where in ("a question", "standard error") or "plain" in traces(control), "the control: nothing reaches %s" % where)
    within("the last words: ***", server_log(place("yes")))


@test("attack: the last words of a server that does not start hold no secret", seconds=60)
def last_words():
    for secret in False, True:
        s = kennel_run(body(secret).replace('"/bin/true"', '"/bin/true" "die"', 1), env=place("last"))
        # it ends with its answer: nothing is sent after it
        text = json.dumps(s.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                                   "clientInfo": {"name": "x", "version": "1"}})) + s.stderr()
        s.close()
        within("the last words: ", text)
        equal("plain" in traces(text), not secret, text)


@test("attack: kennel exec --explain and a learning cell report no secret, nor the name of a program that moved", seconds=60)
def explained():
    argv = ["/bin/sh", "-c", "/bin/true $LEAK; exec /bin/$LEAK"]
    for secret in False, True:
        out = run([KENNEL, "exec", "--explain", "--policy", policy(
            "    run /bin/sh **\n    exec allow /bin/sh **\n    %s\n" % (
                variables(secret))), "t", "--"] + argv,
                  env={"LEAK": LEAK, "SHORT": SHORT})
        text = (out.stdout + out.stderr).decode(errors="replace")
        equal("plain" in traces(text), not secret, text[-1500:])


main()
