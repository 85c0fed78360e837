"""A sealed file whose bits flipped is refused, and a refused kennel exec says by which line."""
import hashlib
import json
import os
import random
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
ROUNDS = 40


def sealed(name, body):
    path = "%s/%s.sealed" % (TMP, name)
    r = run([KENNEL, "policy", "compile", policy(body), "-o", path])
    equal(r.returncode, 0, r.stderr)
    return path


def loads(data, name):
    path = "%s/%s.changed" % (TMP, name)
    with open(path, "wb") as f:
        f.write(data)
    return (run([KENNEL, "policy", "show", path]),
            run([KENNEL, "exec", "--policy", path, "t", "--", "/bin/sh", "-c", "echo ran"]))


@test("an unsigned sealed file with flipped bits is refused: a limit, a path, a variable, any byte of the body")
def flipped():
    folder = public_folder("granted-aaaa")
    good = reads(sealed("flip", ATTACK + "    read %s\n    limit memory 512M\n    env GREETING = \"hello\"\n" % words(folder)))
    show, ran = loads(good, "good")
    equal((show.returncode, ran.stdout), (0, b"ran\n"), "control: %s %s" % (show.stderr, ran.stderr))
    was = {"limit": struct.pack("<Q", 512 << 20), "path": b"granted-aaaa\0", "variable": b"hello\0"}
    now = {"limit": struct.pack("<Q", 256 << 30), "path": b"granted-aaab\0", "variable": b"hellp\0"}
    for what in was:
        check(was[what] in good, what, "is not in the file")
        show, ran = loads(good.replace(was[what], now[what]), what)
        equal((show.returncode, ran.returncode, ran.stdout), (65, 65, b""), what)
        within(b"damaged", show.stderr)
        within(b"damaged", ran.stderr)
    dice, body = random.Random(7), struct.unpack_from("<Q", good, 16)[0]  # the list of source files comes after it
    for _ in range(ROUNDS):
        data = bytearray(good)
        data[dice.randrange(body)] ^= 1 << dice.randrange(8)
        path = TMP + "/one.changed"
        with open(path, "wb") as f:
            f.write(data)
        r = run([KENNEL, "policy", "show", path])
        check(r.returncode != 0, "a flipped bit is shown as a policy")


@test("a sealed file that names the filter of another version is refused with 78; one that carries its filter is not")
def other_filter():
    def own_filters(data):
        """Where the rows of FILTERS begin."""
        kind, count, offset, length = struct.unpack_from("<IIQQ", data, 32 + 12 * 24)
        equal((kind, count, length), (13, 2, 112))
        return offset
    good = bytearray(reads(sealed("named", ATTACK)))
    at = own_filters(good)
    check(len(good) < 8192, "the file carries its filters: %d bytes" % len(good))
    body = struct.unpack_from("<Q", good, 16)[0]

    def signed(data):
        data[body - 32:body] = hashlib.sha256(data[:body - 32]).digest()
        return bytes(data)
    show, ran = loads(signed(bytearray(good)), "same")
    equal((show.returncode, ran.stdout), (0, b"ran\n"), "control: %s %s" % (show.stderr, ran.stderr))
    other = bytearray(good)
    other[at + 16] ^= 1
    show, ran = loads(signed(other), "other")
    equal((ran.returncode, ran.stdout), (78, b""), ran.stderr)
    within(b"compile again with this version", ran.stderr)
    check(show.returncode != 0, "it is shown as a policy")
    none = bytearray(good)
    none[at + 16:at + 48] = bytes(32)
    show, ran = loads(signed(none), "none")
    equal((show.returncode, ran.returncode, ran.stdout), (65, 65, b""), ran.stderr)
    own = reads(sealed("own", ATTACK + "    syscalls deny getcpu\n"))
    equal(own[own_filters(own) + 16:own_filters(own) + 48], bytes(32))
    show, ran = loads(own, "own")
    equal((show.returncode, ran.stdout), (0, b"ran\n"), ran.stderr)


def last_refused(env):
    return [e["fields"] for e in audit("--kind", "refused", env=env)][-1]


@test("kennel exec refused before its first program: the message and the record have the deny line, because and argv")
def refused_exec():
    env = {"KENNEL_HOME": TMP + "/refused"}
    token = "tok-%d-e7f1c9" % os.getpid()
    body = ('    run "%s" **\n    exec allow /bin/echo **\n'
            '    exec deny /bin/echo danger ** because "it is dangerous" instead "echo safe"\n'
            '    exec allow /bin/cat plain\n    secret T from env T\n' % WITNESS)
    path = policy(body)
    line = 2 + [n for n, text in enumerate(body.split("\n")) if "deny" in text][0] + 1

    def attempt(*argv):
        return run([KENNEL, "exec", "--policy", path, "t", "--"] + list(argv), env=dict(env, T=token))
    r = attempt("/bin/echo", "fine")
    equal((r.returncode, r.stdout), (0, b"fine\n"), "control")
    r = attempt("/bin/echo", "danger", "a b", "x" + token, "ghp_" + "1234567890" * 3 + "123456")
    equal((r.returncode, r.stdout), (126, b""), r.stderr)
    where = "%s:%d" % (path, line)
    for part in ("/bin/echo: denied by " + where, "it is dangerous", "instead: echo safe"):
        within(part.encode(), r.stderr)
    f = last_refused(env)
    equal(f["rule"], where)
    within("it is dangerous", f["reason"])
    equal((f["argv"][:3], f["count"], f["verdict"], f["status"]), (["/bin/echo", "danger", "a b"], 5, "deny", 126))
    absent(token, json.dumps(f))
    equal(f["argv"][3], "***")
    r = attempt("/bin/cat", "other")
    equal(r.returncode, 126)
    within(("/bin/cat: not granted with these arguments; see %s:" % path).encode(), r.stderr)
    equal(last_refused(env)["argv"], ["/bin/cat", "other"])
    r = attempt("/bin/nothing-there", "z")
    equal(r.returncode, 127)
    equal(last_refused(env)["argv"], ["/bin/nothing-there", "z"])
    # Refused before there is a leash: the program is named.
    with open(path, "a") as broken:
        broken.write("server {\n")
    check(attempt("/bin/echo", "fine").returncode != 0, "a broken policy is taken")
    equal(last_refused(env)["program"], "/bin/echo")


if __name__ == "__main__":
    main()
