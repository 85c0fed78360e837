"""An agent with a shell of the same user, against what people decide: each try, and what docs/TRUST.md says of it."""
import json
import os
import re
import signal
import socket
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
from secrets_kit import *  # noqa: E402,F403

be_subreaper()
PASS = "a passphrase of some length"
SECRET = "    secret GH from vault %s%%s\n" % PATH
ONE = [server("one", more=SECRET % "")]
RELEASE, VERSIONS, CONFIRM, VALUE_IS, REFUSED = 32, 28, 36, 33, 7


def shell(s, *cmd, stdin=""):
    """A command of the agent's, outside of any cell."""
    r = run(list(cmd), stdin=stdin, env=s.env, timeout=60)
    return r.returncode, (r.stdout + r.stderr).decode(errors="replace")


def text(t):
    t = t if isinstance(t, bytes) else t.encode()
    return struct.pack("<I", len(t)) + t + b"\0"


class Keeper:
    """The keeper's protocol, spoken by the agent: docs/PROTOCOL.keeper."""

    def __init__(self, s):
        self.c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.c.settimeout(LONG)
        self.c.connect(s.env["KENNEL_HOME"] + "/run/keeper.sock")
        self.ask(struct.pack("<II", 2, 1) + text("kennel-leash one") + struct.pack("<QQ", 0, 0))

    def ask(self, packet):
        self.c.send(packet)
        got = self.c.recv(1 << 17)
        return struct.unpack("<I", got[:4])[0], got[4:]

    def release(self, policy_id, server_="one"):
        return self.ask(struct.pack("<I", RELEASE) + text(PATH) + text(server_) + text(bytes.fromhex(policy_id)) + text(b"") + text(b""))


def granted_id(s):
    """Of the policy that may have the value: anybody of this user can list it."""
    status, out = shell(s, KENNEL, "secret", "grants", "--json")
    equal(status, 0, out)
    return re.search("[0-9a-f]{64}", out).group(0)


def locked(s):
    s.secret("lock")
    check(wait_for(lambda: not os.path.exists(s.env["KENNEL_HOME"] + "/run/keeper.sock"), LONG) is not None, "the keeper stays")


@test("attack_people_locked: while the vault is locked, no command and no file gives a value, a grant or a version", 120)
def vault_locked():
    s = Session("secret %s {\n}\n" % PATH, vault=True)
    policy_id = granted_id(s)
    locked(s)
    for cmd in (["grant", PATH, "--server", "two", "--policy", s.h.path], ["versions"], ["grants"], ["set", PATH, "--stdin"],
                ["rotate", PATH, "--stdin"], ["remove", PATH], ["unlock", "--stdin"], ["export-recovery", "--stdin"],
                ["recover", "--stdin"], ["confirm", "00" * 32, "--stdin"]):
        status, out = shell(s, KENNEL, "secret", *cmd, stdin="not the passphrase\n")
        check(status != 0, cmd, out)
        absent(VALUE, out, cmd[0])
    status, out = shell(s, KENNEL, "secret", "validate", "--live", "--project", s.dir)
    equal(status, 1)
    within("%s: locked" % PATH, out)
    for at, _, names in os.walk(s.env["KENNEL_HOME"]):
        for name in names:
            absent(VALUE.encode(), reads(at + "/" + name), name)
    if os.path.exists(s.env["KENNEL_HOME"] + "/run/keeper.sock"):  # of the tries above
        kind, body = Keeper(s).release(policy_id)
        equal(kind, REFUSED)
        absent(VALUE.encode(), body)
    s.secret("unlock", "--stdin", stdin=PASS)
    kind, body = Keeper(s).release(policy_id)
    equal(kind, VALUE_IS, "control: an open vault releases it")
    s.done()


@test("attack_people_keeper: an open vault releases a value by the id of a granted policy, as TRUST.md says, and by no other; a grant "
      "of the shell's own is in the log", 120)
def keeper_open():
    s = Session(vault=True)
    k = Keeper(s)
    kind, body = k.release(granted_id(s))
    equal((kind, VALUE.encode() in body), (VALUE_IS, True), "does not hold: the keeper cannot know who asks")
    for policy_id, name in (("00" * 32, "one"), (granted_id(s), "two")):
        kind, body = k.release(policy_id, name)
        equal(kind, REFUSED)
        absent(VALUE.encode(), body)
    status, out = shell(s, KENNEL, "secret", "grant", PATH, "--server", "one", "--policy", s.h.path)
    equal(status, 0, "does not hold: " + out)
    s.h.close()
    within("grant", json.dumps([e["fields"].get("action") for e in audit(env=s.env) if e["kind"] == "vault"]), "it is recorded")
    s.done()


@test("attack_people_memory: no process of kennel's is read or traced by its own user's shell", 120)
def memory():
    s = Session(vault=True)
    rid = s.ask()
    s.answer("allow", "--session")
    s.settled(rid, "session")
    s.works_unasked()
    tried = set()
    for pid, comm in descendants(os.getpid()).items():
        if comm not in ("kennel", "kennel-leash", "kennel-keeper"):
            continue
        tried.add(comm)
        for what in ("environ", "mem", "maps", "auxv"):
            r = unconfined(["head", "-c1", "/proc/%d/%s" % (pid, what)])
            check(r.returncode != 0, what, comm, "is readable by its user")
        check(unconfined(["ls", "/proc/%d/fd" % pid]).returncode != 0, "descriptors of " + comm)
        attach = ("import ctypes, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                  "sys.exit(0 if libc.ptrace(0x4206, %d, 0, 0) == 0 else 9)\n" % pid)
        equal(unconfined([sys.executable, "-c", attach]).returncode, 9, "traced " + comm)
    equal(tried, {"kennel", "kennel-leash", "kennel-keeper"})
    if os.geteuid() != 0:  # a process of root's is not the unprivileged user's
        own = start(["sleep", "30"])
        equal(unconfined(["head", "-c1", "/proc/%d/environ" % own.pid]).returncode, 0, "control: one that protects nothing")
        own.kill()
    s.done()


@test("attack_people_answer: the shell can answer and reopen without a factor, as TRUST.md says, and the log names it; with a "
      "factor it cannot", 120)
def answer():
    s = Session()
    rid = s.ask()
    equal(shell(s, KENNEL, "approve", "deny", s.question()["id"])[0], 0)
    s.settled(rid, "denied")
    equal(shell(s, KENNEL, "approve", "reopen", PATH)[0], 0, "does not hold: any process of the user can reopen")
    rid = s.ask()
    equal(shell(s, KENNEL, "approve", "allow", s.question()["id"])[0], 0, "does not hold: any process of the user can answer")
    s.settled(rid, "once")
    s.h.close()
    said = [e["fields"].get("approver", "") for e in audit(env=s.env) if e["kind"] == "approve" and e["fields"].get("outcome") == "once"]
    check(said and re.match("uid %d, pid [0-9]+" % os.geteuid(), said[0]), said)
    s = Session(vault=True, servers=[server("one", more=SECRET % " { approve session with passphrase }")])
    call = s.h.post_call("one.echo", {"text": "x"})
    q = s.question()
    equal(q["factor"], "passphrase")
    check(shell(s, KENNEL, "approve", "allow", q["id"])[0] != 0, "allowed without the factor")
    c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    c.settimeout(LONG)
    pid, number = q["id"].split(":")[0].split("-")
    c.connect("%s/run/ask-%s" % (s.env["KENNEL_HOME"], pid))
    c.send(struct.pack("<IIII", 2, int(number), 1, 1) + text(bytes.fromhex(q["sha256"])))
    equal(struct.unpack("<II", c.recv(100)), (6, 126), "by its own packet")
    equal(shell(s, KENNEL, "secret", "confirm", q["sha256"], "--stdin", stdin="guessed passphrase\n")[0], 126)
    equal([x["id"] for x in s.questions()], [q["id"]], "it is pending")
    s.secret("confirm", q["sha256"], "--stdin", stdin=PASS)
    equal(s.approve("allow", q["id"])[0], 0, "control: with the passphrase")
    within("one: x", json.dumps(s.h.wait(call, LONG)))
    s.done()


@test("attack_people_manifest: the shell can take an approval out of a manifest that it may write, as TRUST.md says; that of the "
      "policy holds", 120)
def manifest():
    gate = "secret %s {\n    approve session\n}\n" % PATH
    for policy_approve in ("", " { approve session }"):
        s = Session(gate, vault=True, servers=[server("one", more=SECRET % policy_approve)])
        within("one: x", json.dumps(s.asks("allow")), "control")
        s.write("secret %s {\n}\n" % PATH)
        s.restart()
        if policy_approve:
            within("one: x", json.dumps(s.asks("allow")), "the policy's approve is not the manifest's to end")
        else:
            s.works_unasked()  # does not hold: a manifest belongs to the repository
        s.done()


@test("attack_people_socket: who takes the place of a session's socket gets no answer of its own accepted; nothing is allowed", 120)
def sockets():
    s = Session(vault=True)
    rid = s.ask(ttl_seconds=3)
    at = "%s/run/ask-%d" % (s.env["KENNEL_HOME"], s.h.p.pid)
    asks = [n for n in os.listdir(os.path.dirname(at)) if n.startswith("ask-")]
    for name in asks:
        os.unlink(os.path.dirname(at) + "/" + name)
    place = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    place.bind(at)
    place.listen(8)
    s.settled(rid, "expired")
    equal(s.status(rid), "expired", "a person who cannot be asked has not agreed")
    place.close()
    s.h.close()
    check(not [e for e in audit(env=s.env) if e["kind"] == "approve" and e["fields"].get("verdict") == "allow"], "allowed")
    s.done()


if __name__ == "__main__":
    main()
