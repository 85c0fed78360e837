"""PEOPLE 6 kennel secret key: lists, challenges, confirmations and removals, as the console gives and gets them."""
import base64
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from key_kit import *  # noqa: E402,F403


def b64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def secret(env, *argv, stdin=b""):
    r = run([KENNEL, "secret", *argv], stdin=stdin, env=env)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def lines(key, challenge, **how):
    client, auth, signature = key.get(challenge, **how)
    return "\n".join(map(b64, (challenge, key.id, client, auth, signature))).encode()


@test("a key is listed, its challenge is signed and confirms one approval, and the passphrase removes it", 120)
def whole():
    env = home()
    k, key, digest = Keeper(env), Key(), os.urandom(32)
    within("no security key is registered", secret(env, "key", "list")[1])
    status, out, err = secret(env, "key", "challenge", digest.hex())
    equal((status, out), (127, ""))
    within("kennel console --keys", err)
    equal(k.add(key, label="clé \"1\"\x1b".encode())[0], 5)
    listed = json.loads(secret(env, "key", "list", "--json")[1])
    equal((listed["locked"], listed["vault"]), (False, "open"))
    equal([(x["id"], x["label"]) for x in listed["keys"]], [(key.id.hex(), "clé \"1\"\x1b")])
    check(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", listed["keys"][0]["added"]))
    text = secret(env, "key", "list")[1]
    within(key.id[:8].hex(), text)
    absent("\x1b", text)
    status, out, err = secret(env, "key", "challenge", digest.hex())
    equal(status, 0, err)
    asked = json.loads(out)
    equal((asked["keys"], asked["rp_id"], asked["timeout_ms"]), ([b64(key.id)], "localhost", 60000))
    signed = lines(key, unb64(asked["challenge"]))
    status, out, err = secret(env, "key", "confirm", digest.hex(), stdin=signed)
    equal((status, out), (0, "confirmed for 60 s\n"), err)
    equal((k.confirmed(digest), k.confirmed(digest)), (2, 0))
    status, out, err = secret(env, "key", "confirm", digest.hex(), stdin=signed)
    equal(status, 126)
    within("no challenge of this approval", err)
    equal(k.confirmed(digest), 0)
    for idle in ("0" * 8, key.id.hex()[:7], key.id.hex() + "00", "x" * 8, ""):
        check(secret(env, "key", "remove", idle, "--stdin", stdin=PASS.encode())[0] in (64, 65, 127), idle)
    status, out, err = secret(env, "key", "remove", key.id.hex()[:8], "--stdin", stdin=b"wrong one")
    equal(status, 126)
    within("wrong passphrase", err)
    equal(len(k.keys()), 1)
    equal(secret(env, "key", "remove", key.id.hex()[:8], "--stdin", stdin=PASS.encode())[:2], (0, "the key is removed\n"))
    equal(k.keys(), [])
    within("key-remove", run([KENNEL, "audit", "log", "--json"], env=env).stdout.decode())
    k.s.close()


@test("what is no assertion is refused before the keeper sees it, and confirms nothing", 120)
def refused():
    env = home()
    k, key, digest = Keeper(env), Key(), os.urandom(32)
    equal(k.add(key)[0], 5)
    good = lines(key, k.challenge(digest)).decode().split("\n")
    for bad in (b"", b"{}", "\n".join(good[:4]).encode(), "\n".join(good + ["AA"]).encode(), "\n".join(g + "=" for g in good).encode(),
                "\n".join(good).replace("\n", "\r\n").encode(), b"A" * 9000, "\n".join(good[:4] + ["A" * 8000]).encode()):
        status, out, err = secret(env, "key", "confirm", digest.hex(), stdin=bad)
        equal((status, out), (65, ""), (bad, err))
    status, out, err = secret(env, "key", "confirm", digest.hex(), stdin="\n".join(good[:4] + ["A" * 5000]).encode())
    equal(status, 65, err)
    for word in ("", "00", "g" * 64, digest.hex() + "0"):
        equal(secret(env, "key", "confirm", word, stdin=b"")[0], 64)
        equal(secret(env, "key", "challenge", word)[0], 64)
    for verb in ("add", "", "lists"):
        equal(secret(env, "key", verb)[0], 64)
    equal(k.confirmed(digest), 0)
    equal(secret(env, "key", "confirm", digest.hex(), stdin="\n".join(good).encode() + b"\n")[0], 0, "the control")
    equal(k.confirmed(digest), 2)
    k.s.close()


@test("a locked vault and a missing one: the list says which, and no challenge is drawn", 60)
def locked():
    env = home()
    equal(secret(env, "lock")[0], 0)
    equal(json.loads(secret(env, "key", "list", "--json")[1]), {"keys": [], "locked": True, "vault": "locked"})
    for argv in (("key", "list"), ("key", "challenge", "0" * 64), ("key", "confirm", "0" * 63 + "1"), ("key", "remove", "0" * 8, "--stdin")):
        status, out, err = secret(env, *argv, stdin=b"AA\nAA\nAA\nAA\nAA")
        equal((status, out), (126, ""), argv)
        within("kennel secret unlock", err)
    none = {"KENNEL_HOME": TMP + "/no-vault"}
    equal(json.loads(secret(none, "key", "list", "--json")[1]), {"keys": [], "locked": False, "vault": "none"})
    status, out, err = secret(none, "key", "challenge", "0" * 64)
    equal(status, 127)
    within("kennel secret init", err)


if __name__ == "__main__":
    try:
        main()
    finally:
        end_keepers()
