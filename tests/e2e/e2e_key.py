"""PEOPLE 6 the second factor `with key`: what a security key signed confirms one approval, once; a program without it, none."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from ask_kit import ask  # noqa: E402
from key_kit import *  # noqa: E402,F403

ASKS = "    run %s\n    tool allow echo\n    tool ask line with key\n" % words(TOY)


# ---- sessions ---------------------------------------------------------------------

def approve(env, *words_):
    r = run([KENNEL, "approve"] + list(words_), env=env)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def question(env):
    got = []
    wait_for(lambda: got.clear() or got.extend(map(json.loads, approve(env, "list", "--json")[1].splitlines()))
             or len(got) == 1, LONG)
    equal(len(got), 1, got)
    return got[-1]


def answer(env, q, what=1):
    """An ANSWER as the console sends it, or any program of this user: what the session made of it."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    pid, number = re.match(r"(\d+)-(\d+):", q["id"]).groups()
    s.connect("%s/run/ask-%s" % (env["KENNEL_HOME"], pid))
    digest = bytes.fromhex(q["sha256"])
    s.send(struct.pack("<IIIII", 2, int(number), what, 0, len(digest)) + digest + b"\0")
    kind, error = struct.unpack("<II", s.recv(100))
    s.close()
    equal(kind, 6)
    return error


# ---- tests ------------------------------------------------------------------------

@test("a key is registered with the passphrase only; its signature confirms one approval, once", 120)
def registered():
    env = home()
    k, digest = Keeper(env), os.urandom(32)
    for n, key in enumerate((Key(), Key("eddsa"))):
        equal(k.add(key, label=b"key %d" % n)[:2], (5, n + 1))
        equal(k.confirm(key, digest)[:2], (5, 0), key.kind)
        equal((k.confirmed(digest), k.confirmed(digest)), (2, 0), "a key's, and once")
    equal([label for _, label in k.keys()], [b"key 0", b"key 1"])
    equal(k.say(36, ("I", 1), PASS.encode(), digest)[0], 5)
    equal(k.confirmed(digest), 1, "a passphrase is no key")
    third = Key()
    within("wrong passphrase", why(k.add(third, password="no")))
    equal(k.add(third)[0], 5, "the control")
    within("registered already", why(k.add(third)))
    r = run([KENNEL, "secret", "lock"], env=env)
    equal(r.returncode, 0, r.stderr)
    equal(k.say(50)[:2], (7, 3), "locked")
    equal(k.say(44, digest)[:2], (7, 3))
    k.s.close()
    check(wait_for(lambda: not keepers(), LONG) is not None, "keeper and child end")
    r = run([KENNEL, "secret", "unlock", "--stdin"], stdin=PASS.encode(), env=env)
    equal(r.returncode, 0, r.stderr)
    k = Keeper(env)
    equal(len(k.keys()), 3, "they are in the vault")
    equal(k.say(48, ("I", 1), PASS.encode(), third.id)[:2], (5, 2))
    within("not registered", why(k.confirm(third, digest)))
    equal(k.say(48, ("I", 1), PASS.encode(), third.id)[:2], (7, 6))
    k.s.close()


@test("what is not exactly this key's signature for this approval is refused, and says why", 120)
def refused():
    env = home()
    k, key, other, digest, another = Keeper(env), Key(), Key(), os.urandom(32), os.urandom(32)
    equal(k.add(key)[0], 5)
    late = "no challenge of this approval"
    for text, how in {
        "not of this key": {"spoil": True},
        "another purpose": {"kind": "webauthn.create"},
        "another challenge": {"said": os.urandom(32)},
        late: {"of": another},
        "another site": {"rp": b"example.com"},
        "was not touched": {"flags": UV},
        "did not verify its user": {"flags": UP},
        "inside another": {"topOrigin": "http://localhost:1"},
    }.items():
        within(text, why(k.confirm(key, digest, **how)), how)
    for origin in ("https://localhost", "http://localhost.example.com", "http://localhost:80x", "http://evil:8123",
                   "http://localhost:8123/", "http://localhost:123456", "null", "http://localhost@evil"):
        within("not one of http://localhost", why(k.confirm(key, digest, origin=origin)), origin)
    within("inside another", why(k.confirm(key, digest, crossOrigin=True)))
    within(late, why(k.confirm(key, digest, challenge=os.urandom(32))))
    within("not registered", why(k.confirm(other, digest)))
    other.id = key.id
    within("not of this key", why(k.confirm(other, digest)))
    used = k.challenge(digest)
    equal(k.confirm(key, digest, challenge=used)[0], 5)
    within(late, why(k.confirm(key, digest, challenge=used)), "used once")
    equal(k.confirmed(digest), 2)
    for _ in range(17):  # the 17th pushes out the first
        first = k.challenge(digest) if _ == 0 else first
        k.challenge(another)
    within(late, why(k.confirm(key, digest, challenge=first)))
    equal(k.confirmed(digest), 0, "nothing of that confirms")
    equal(k.confirm(key, digest)[0], 5, "the control")
    bad = Keeper(env)
    equal(bad.say(36, ("I", 4), b"\1", digest)[0], 0, "a broken material ends the connection")
    bad = Keeper(env)
    equal(bad.confirm(key, ZERO)[0], 0, "the digest of no approval")
    k.s.close()


@test("a new key is refused without a touch, for another site, or with a kind of key that is not known", 120)
def bad_keys():
    env = home()
    k = Keeper(env)
    for text, how in {"was not touched": {"flags": UV | AT}, "did not verify": {"flags": UP | AT},
                      "sent no credential": {"flags": UP | UV}, "another site": {"rp": b"localhost:8123"},
                      "another purpose": {"kind": "webauthn.get"}}.items():
        within(text, why(k.add(Key(), **how)), how)
    within("no challenge of a new key", why(k.add(Key(), challenge=k.challenge(os.urandom(32)))))
    odd = Key()
    for cose in (odd.cose[:-1], b"", b"\xa5" * 40, odd.cose.replace(b"\x03\x26", b"\x03\x27", 1), odd.cose[:10] + bytes(67)):
        odd.cose = cose
        within("neither of ES256 nor of EdDSA", why(k.add(odd)), cose)
    for junk in (b"", b"[", b"[]", b"{}", b"{" * 900, b'{"type":"webauthn.create","type":"webauthn.create"}', b"\xff\xfe{}"):
        challenge = k.challenge()
        _, auth = odd.create(challenge)
        equal(k.say(46, ("I", 1), PASS.encode(), challenge, junk, auth, b"x")[0], 7, junk)
    equal(k.keys(), [])
    equal(k.add(Key())[0], 5, "the control")
    for n in range(15):
        equal(k.add(Key())[:2], (5, n + 2))
    within("16 keys already", why(k.add(Key())))
    k.s.close()


@test("a counter that does not rise is of a copy; keys that do not count are accepted", 120)
def counter():
    env = home()
    k, key, digest = Keeper(env), Key(), os.urandom(32)
    key.counter = 7
    equal(k.add(key)[0], 5)
    key.counter = 8
    equal(k.confirm(key, digest)[0], 5)
    for n in (8, 7, 0):
        key.counter = n
        within("did not rise", why(k.confirm(key, digest)), n)
    key.counter = 9
    equal(k.confirm(key, digest)[0], 5)
    k.s.close()
    r = run([KENNEL, "secret", "lock"], env=env)
    check(wait_for(lambda: not keepers(), LONG) is not None)
    r = run([KENNEL, "secret", "unlock", "--stdin"], stdin=PASS.encode(), env=env)
    equal(r.returncode, 0, r.stderr)
    k = Keeper(env)
    within("did not rise", why(k.confirm(key, digest)), "it is kept in the vault")
    k.s.close()


@test("the list of keys is no secret: no request reads, writes, grants or removes it, and no list shows it", 60)
def apart():
    env = home()
    k, path = Keeper(env), b"__sys/keys"
    equal(k.add(Key())[0], 5)
    before = k.keys()
    equal(k.say(14, path, ("B", 0), b"x" * 40)[:2], (7, 8), "PUT")
    equal(k.say(14, path, ("B", 1), b"x" * 40)[:2], (7, 8))
    equal(k.say(16, path)[:2], (7, 8), "REMOVE")
    equal(k.say(18, path, ("I", 1))[:2], (7, 8), "RESTORE")
    equal(k.say(24, path, b"t", ("I", 1), b"1" * 32)[:2], (7, 8), "GRANT")
    equal(k.say(32, path, b"t", b"1" * 32, b"", b"")[:2], (7, 10), "RELEASE")
    equal(k.say(40, path, b"t", b"1" * 32, b"", b"", ("B", 1), b"x" * 40)[:2], (7, 8), "STORE")
    absent(path, k.say(28, b"", ("I", 0))[2])
    absent(path, k.say(28, path, ("I", 0))[2])
    equal(k.keys(), before)
    r = run([KENNEL, "secret", "list"], env=env)
    absent(b"__sys", r.stdout + r.stderr)
    k.s.close()


@test("`with key`: no start without a key; with one, a call passes after its signature, and after nothing else", 120)
def calls():
    env = home()
    r = run([KENNEL, "run", "t", "--policy", policy(ASKS)], env=env)
    equal(r.returncode, 78, r.stderr)
    within(b"tool ask line at line 5 needs a key: register one with kennel console --keys", r.stderr)
    k, key = Keeper(env), Key()
    equal(k.add(key)[0], 5)
    s = kennel_run(ASKS, env=env)
    s.initialize()
    rid = ask(s, a=1)
    q = question(env)
    equal(q["factor"], "key")
    digest = bytes.fromhex(q["sha256"])
    equal(answer(env, q), 126, "without")
    equal(k.say(36, ("I", 1), PASS.encode(), digest)[0], 5)
    equal(answer(env, q), 126, "a passphrase is not enough")
    equal(k.confirm(key, os.urandom(32))[0], 5)
    equal(answer(env, q), 126, "a signature for something else")
    equal(approve(env, "allow", q["id"])[0] != 0, True)
    equal(k.confirm(key, digest)[0], 5)
    equal(answer(env, q), 0)
    check(s.wait(rid, LONG)["result"].get("isError") is not True)
    rid = ask(s, a=1)
    q = question(env)
    equal(answer(env, q), 126, "it was for one use")
    equal(answer(env, q, 3), 0, "a no needs none")
    s.wait(rid, LONG)
    s.close()
    k.s.close()
    r = run([KENNEL, "secret", "lock"], env=env)
    s = kennel_run(ASKS, env=env)  # a locked vault does not tell whether there is a key
    s.initialize()
    s.close()


@test("TRUST: rootless, what takes the keeper's place can say that a key was shown; the keeper itself would not have", 120)
def impostor():
    env = home()
    k, key = Keeper(env), Key()
    equal(k.add(key)[0], 5)
    s = kennel_run(ASKS, env=env)
    s.initialize()
    rid = ask(s, a=1)
    q = question(env)
    equal(answer(env, q), 126, "the control")
    end_keepers()
    here = os.getcwd()
    os.chdir(env["KENNEL_HOME"] + "/run")
    try:
        os.unlink("keeper.sock")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind("keeper.sock")
    finally:
        os.chdir(here)
    listener.listen()
    listener.settimeout(20)

    def confirms():
        peer = listener.accept()[0]
        peer.recv(4096)
        peer.send(struct.pack("<II", 3, 2))
        equal(struct.unpack("<I", peer.recv(4096)[:4])[0], 38)
        peer.send(struct.pack("<II", 5, 2))
    liar = threading.Thread(target=confirms)
    liar.start()
    equal(answer(env, q), 0)
    liar.join()
    check(s.wait(rid, LONG)["result"].get("isError") is not True)
    s.close()
    listener.close()
    os.unlink(env["KENNEL_HOME"] + "/run/keeper.sock")


@test("kennel-fido: no key of the vault, no file, no socket; a broken one fails one answer", 60)
def process():
    env = home()
    k, key, digest = Keeper(env), Key(), os.urandom(32)
    equal(k.add(key)[0], 5)
    child = [p for p, comm in descendants(os.getpid()).items() if comm == "kennel-fido"]
    equal(len(child), 1)
    fds = [os.readlink("/proc/%d/fd/%s" % (child[0], n)) for n in os.listdir("/proc/%d/fd" % child[0])] \
        if AS == "root" else []
    check(all(re.match(r"socket:|.*/keeper\.log|/dev/null", f) for f in fds), fds)
    r = subprocess.run([LIBEXEC + "/kennel-fido"], capture_output=True, stdin=subprocess.DEVNULL)
    check(r.returncode != 0)
    within(b"kennel-keeper starts this program", r.stderr)
    os.kill(child[0], signal.SIGKILL)
    within("no answer of kennel-fido", why(k.confirm(key, digest)))
    equal(k.confirmed(digest), 0)
    equal(len(k.keys()), 1, "the keeper goes on")
    k.s.close()


try:
    main()
finally:
    end_keepers()
