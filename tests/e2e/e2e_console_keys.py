"""PEOPLE 6, 7 security keys and forms in the console: what a key signed is passed on, and a value is typed into another page."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from ask_kit import ask, refusal  # noqa: E402
from console_kit import *  # noqa: E402,F403
from form_kit import *  # noqa: E402,F403
from key_kit import *  # noqa: E402,F403
from console_kit import refused  # noqa: E402
from secrets_kit import PATH, Session, server  # noqa: E402

ASKS = "    run %s\n    tool allow echo\n    tool ask line with key\n    tool ask say\n" % words(TOY)
VALUE = "typed sentinel %d" % os.getpid()


def pending(c):
    got = []

    def look():
        status, value = c.json("GET", "approvals")
        equal(status, 200, value)
        got[:] = value["approvals"]
        return len(got) == 1

    check(wait_for(look, LONG), got)
    return got[0]


def signed(c, key, sha256, of=None, **how):
    """What the page gets from the browser. of: the approval whose challenge is signed."""
    status, asked = c.json("POST", "keys/challenge", {"sha256": of or sha256})
    equal(status, 200, asked)
    client, auth, signature = key.get(unb64(asked["challenge"]), **how)
    return {"challenge": asked["challenge"], "id": b64(key.id), "client_data": b64(client),
            "authenticator_data": b64(auth), "signature": b64(signature)}


def answer(c, a, how="once", **more):
    return c.json("POST", "approvals/" + a["id"], dict({"answer": how, "sha256": a["sha256"]}, **more))


def with_key():
    """A console and a session of one home, whose vault has a key."""
    env = home()
    k, key = Keeper(env), Key()
    equal(k.add(key, label=b"blue")[0], 5)
    k.s.close()
    s = kennel_run(ASKS, env=env)
    s.initialize()
    return env, key, s, Console(env=env).login()


@test("an approval with key is allowed by a signature for exactly it; each use needs another one", 120)
def once():
    env, key, s, c = with_key()
    status, got = c.json("GET", "keys")
    equal((status, [k["label"] for k in got["keys"]], got["locked"]), (200, ["blue"], False))
    call = ask(s, a=1)
    a = pending(c)
    equal(a["factor"], "key")
    refused(answer(c, a), 409, "assertion")
    refused(answer(c, a, "session"), 409, "for each use")
    assertion = signed(c, key, a["sha256"])
    equal(answer(c, a, assertion=assertion), (200, {}))
    check(refusal(s.wait(call, LONG)) is None)
    call = ask(s, a=1)
    a = pending(c)
    refused(answer(c, a, assertion=assertion), 409, "no challenge of this approval")
    equal(pending(c)["id"], a["id"], "it stays pending")
    equal(answer(c, a, assertion=signed(c, key, a["sha256"])), (200, {}))
    check(refusal(s.wait(call, LONG)) is None)
    call = ask(s, a=2)
    equal(answer(c, pending(c), "deny"), (200, {}))
    equal(refusal(s.wait(call, LONG)), "denied by a person")
    s.close()
    c.interrupt()


@test("a console that lies gains nothing: another digest, another key, no user, a changed signature, half an assertion", 120)
def lies():
    env, key, s, c = with_key()
    call = ask(s, a=1)
    a = pending(c)
    other = os.urandom(32).hex()
    refused(answer(c, a, assertion=signed(c, key, a["sha256"], of=other)), 409, "no challenge of this approval")
    refused(answer(c, a, assertion=signed(c, Key(), a["sha256"])), 409, "not registered")
    refused(answer(c, a, assertion=signed(c, key, a["sha256"], flags=UP)), 409, "did not verify its user")
    refused(answer(c, a, assertion=signed(c, key, a["sha256"], flags=UV)), 409, "was not touched")
    refused(answer(c, a, assertion=signed(c, key, a["sha256"], spoil=True)), 409, "not of this key")
    refused(answer(c, a, assertion=signed(c, key, a["sha256"], rp=b"evil.example")), 409, "another site")
    refused(answer(c, a, assertion=signed(c, key, a["sha256"], origin="http://evil.example")), 409, "not one of http://localhost")
    whole = signed(c, key, a["sha256"])
    for name in whole:
        check(answer(c, a, assertion={k: v for k, v in whole.items() if k != name})[0] == 400, name)
        refused(answer(c, a, assertion=dict(whole, **{name: "!"})), 409, "expected five lines of base64url")
        refused(answer(c, a, assertion=dict(whole, **{name: whole[name] + "\nAA"})), 409, "expected five lines of base64url")
    for odd in (None, "", [], 1, {}, {"challenge": 1}):
        check(answer(c, a, assertion=odd)[0] in (400, 409), odd)
    for digest in ("", "00", "x" * 64, "--json", a["sha256"] + "0"):
        check(c.json("POST", "keys/challenge", {"sha256": digest})[0] in (400, 409), digest)
    equal(pending(c)["id"], a["id"])
    # confirmed for another approval: the session asks for its own
    run([KENNEL, "secret", "key", "list"], env=env)
    equal(answer(c, a, assertion=whole), (200, {}), "the control")
    check(refusal(s.wait(call, LONG)) is None)
    call = ask(s, "say", text="x")
    a = pending(c)
    equal(answer(c, a, assertion="ignored"), (200, {}), "without a factor none is asked for")
    check(refusal(s.wait(call, LONG)) is None)
    s.close()
    c.interrupt()


@test("a locked vault, a missing one and one without keys: the page says so, and no challenge is drawn", 120)
def none():
    env = {"KENNEL_HOME": TMP + "/keys-none"}
    c = Console(env=env).login()
    equal(c.json("GET", "keys"), (200, {"keys": [], "locked": False, "vault": "none"}))
    refused(c.json("POST", "keys/challenge", {"sha256": "0" * 64}), 409, "kennel secret init")
    equal(run([KENNEL, "secret", "init", "--stdin"], stdin=PASS.encode(), env=env).returncode, 0)
    equal(c.json("GET", "keys")[1]["vault"], "open")
    refused(c.json("POST", "keys/challenge", {"sha256": "0" * 63 + "1"}), 409, "kennel console --keys")
    equal(run([KENNEL, "secret", "lock"], env=env).returncode, 0)
    equal(c.json("GET", "keys"), (200, {"keys": [], "locked": True, "vault": "locked"}))
    refused(c.json("POST", "keys/challenge", {"sha256": "0" * 64}), 409, "kennel secret unlock")
    c.interrupt()


@test("kennel console --keys: the link leads to the page Keys, also of a console that runs", 60)
def link():
    t = Terminal([KENNEL, "console", "--keys", "--no-open"])
    t.until(r"http://localhost:(\d+)/#([0-9a-f]{32})/keys\n(.*\n)*.*Ctrl-C")
    again = Terminal([KENNEL, "console", "--keys"])
    again.until(r"http://localhost:(\d+)/#([0-9a-f]{32})/keys\n")
    equal(again.end(), 0)
    os.write(t.master, b"\x03")
    t.end()
    equal(run([KENNEL, "console", "--key"]).returncode, 64)


@test("S1-51 the console opens a form for a value: the value reaches the vault, and is in no reply, log or argument", 120)
def form():
    env = home()
    c = Console(env=env).login()
    replies = []

    def api(method, path, body=None):
        got = c.json(method, path, body)
        replies.append(str(got))
        return got

    status, got = api("POST", "form", {"what": "value", "path": PATH, "mode": "set"})
    equal((status, list(got)), (200, ["url"]), got)
    f = Form(url=got["url"])
    equal(f.state()["path"], PATH)
    equal(f.post("save", "", VALUE, "")[0], 200)

    def versions():
        return json.loads(run([KENNEL, "secret", "versions", "--json"], env=env).stdout)
    check(wait_for(lambda: len(versions()) == 1, LONG), "it is in the vault")
    status, got = api("POST", "form", {"what": "value", "path": PATH, "mode": "rotate"})
    f = Form(url=got["url"])
    equal(f.state()["replaces"], True)
    seen = "".join(open("/proc/%s/cmdline" % p).read() for p in os.listdir("/proc") if p.isdigit() and os.path.exists("/proc/%s/cmdline" % p))
    absent(f.token, seen)
    equal(f.post("save", "", VALUE + " 2", "1")[0], 200)
    for bad in ({}, {"what": "value"}, {"what": "x"}, {"what": "value", "path": PATH, "mode": "x"}, {"what": "value", "path": "--json"},
                {"what": "value", "path": ""}, {"what": "value", "path": 1}):
        check(api("POST", "form", bad)[0] == 400, bad)
    status, got = api("POST", "form", {"what": "value", "path": "a/b", "mode": "set"})
    equal(status, 409)
    within("a path has three or more names", got["error"]["message"])
    status, got = api("POST", "form", {"what": "key"})
    equal(status, 200)
    f = Form(url=got["url"])
    equal(f.state()["what"], "key")
    equal(f.post("cancel")[0], 200)
    api("GET", "log")
    absent(VALUE, "".join(replies) + c.text + run([KENNEL, "audit", "log", "--json"], env=env).stdout.decode() + seen)
    # at most three at a time, and a fourth when one has ended
    urls = [api("POST", "form", {"what": "key"})[1]["url"] for _ in range(3)]
    equal(api("POST", "form", {"what": "key"})[0], 503)
    equal(api("GET", "keys")[0], 200, "commands still run")
    Form(url=urls[0]).post("cancel")
    check(wait_for(lambda: api("POST", "form", {"what": "key"})[0] == 200, LONG), "room again")
    c.interrupt()
    check(wait_for(lambda: "kennel-form" not in descendants(os.getpid()).values(), LONG), "the forms end with the console")
    equal(unfinished(env), 0)


def unfinished(env):
    """How many changes of the vault were asked, and have no end in the log."""
    got = [e["fields"]["outcome"] for e in audit(env=env) if e["kind"] == "vault"]
    return 2 * got.count("asked") - len(got)


@test("S1-51 forms that are open when the console is ended, or killed, have their end in the log", 120)
def forms_end():
    env = home()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        c = Console(env=env).login()
        for _ in range(2):
            equal(c.json("POST", "form", {"what": "value", "path": PATH, "mode": "set"})[0], 200)
        equal(unfinished(env), 2, "the control: they are open")
        os.kill(c.p.pid, number)
        c.end()
        check(wait_for(lambda: unfinished(env) == 0, LONG), number)
        check(wait_for(lambda: "kennel-form" not in descendants(os.getpid()).values(), LONG), number)


@test("S1-51 what an agent asks a person to type is typed into a form, and stays pending until it is saved", 120)
def provision():
    s = Session("required %s\nsecret %s {\n    description \"of the team\"\n}\n" % (PATH, PATH), servers=[server("one", more="    secret GH from vault %s\n" % PATH)])
    s.secret("init", "--stdin", stdin=PASS)
    c = Console(env=s.env).login()
    rid = s.h.structured("secrets_request_provision", path=PATH)["request_id"]
    a = pending(c)
    equal(a["kind"], "provision")
    # the format is that of the agent's project, wherever the console was started
    s.write("required %s\nsecret %s {\n    pattern github-pat\n}\n" % (PATH, PATH))
    f = Form(url=answer(c, a)[1]["url"])
    within("github-pat", json.dumps(f.post("save", "", VALUE, "")[1]))
    equal(f.post("cancel")[0], 200)
    s.write("required %s\nsecret %s {\n    description \"of the team\"\n}\n" % (PATH, PATH))
    refused(answer(c, a, "session"), 409, "once")
    status, got = answer(c, a)
    equal((status, list(got)), (200, ["url"]), got)
    equal(s.status(rid), "pending")
    f = Form(url=got["url"])
    equal(f.post("cancel")[0], 200)
    equal((s.status(rid), pending(c)["id"]), ("pending", a["id"]), "closed: nothing is settled")
    f = Form(url=answer(c, a)[1]["url"])
    equal(f.post("save", "", VALUE, "")[0], 200)
    s.settled(rid, "ok")
    equal(c.json("GET", "approvals")[1]["approvals"], [])
    ended = [e["fields"] for e in map(json.loads, run([KENNEL, "audit", "log", "--json"], env=s.env).stdout.splitlines()[1:])
             if e["kind"] == "approve" and e["fields"].get("outcome") == "ok"]
    equal([e.get("channel") for e in ended], ["console"])
    s.done()
    c.interrupt()


if __name__ == "__main__":
    try:
        main()
    finally:
        end_keepers()
