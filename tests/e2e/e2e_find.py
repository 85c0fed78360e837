"""kennel audit find-secret: where a value was, by a log that does not have it."""
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
VALUE = "find-s3ntinel-%d-k3nn3l" % os.getpid()
OTHER = "other-s3ntinel-%d-k3nn3l" % os.getpid()
KEY = HOME + "/vault/find.key"


def value_file(name, value):
    path = "%s/%s" % (TMP, name)
    with open(path, "w") as f:
        f.write(value + "\n")
    os.chmod(path, 0o600)
    return path


def session(*leaks):
    """A server with two secrets, that says some of them."""
    s = kennel_run(toy_policy("    secret FIND_A from file %s\n    secret FIND_B from file %s\n" % (
        value_file("find-a", VALUE), value_file("find-b", "b-" + VALUE))))
    s.initialize()
    for var in leaks:
        equal(s.text("getenv", var=var), "***")
    s.close()
    check(wait_for(lambda: s.p.poll() is not None, 20) is not None, "kennel stays")


def find(value, *words_, status=0, given="--stdin"):
    """What it says of this value; none of it is the value."""
    r = run([KENNEL, "audit", "find-secret"] + ([given] if given else []) + list(words_),
            stdin=value + "\n")
    check(r.returncode == status, r.returncode, r.stdout, r.stderr)
    absent(value.encode(), r.stdout + r.stderr, "what find-secret says")
    return r


def rows(value, *words_, status=0):
    return [json.loads(x) for x in find(value, "--json", "--no-header", *words_, status=status).stdout.splitlines()]


@test("a value that was given and taken out is found, with server, name and how often; another is not")
def found():
    session("FIND_A", "FIND_A")
    check(wait_for(lambda: any(r["how"] == "taken out" for r in rows(VALUE)), 20) is not None, "it was taken out")
    got = rows(VALUE)
    equal({(r["how"], r["name"], r["server"]) for r in got},
          {("given", "FIND_A", "t"), ("taken out", "FIND_A", "t")})
    equal(sum(r["count"] or 0 for r in got), 2)
    equal([(r["how"], r["name"]) for r in rows("b-" + VALUE)], [("given", "FIND_B")])
    equal(rows(VALUE, "--server", "u", status=65), [], "another server")
    within(b"not in the log", find(OTHER, status=65).stderr)
    within(b"given", find(VALUE).stdout, "for people")
    find("abc", status=65)  # too short to be a value
    find(VALUE, VALUE, status=64)  # as an argument: refused, and not shown
    find(VALUE, "--fd", "0", given=None)  # the same by its number


@test("the log has neither values nor hashes of them that can be made without the key; the key is not beside it")
def guess():
    session("FIND_A")
    text = json.dumps(audit())
    control_ = [e for e in audit() if e["kind"] == "secrets"]
    traces = {t for e in control_ for t in e.get("fields", e).get("trace", e.get("trace", []))}
    check(len(traces) >= 2, "the control: traces are there: %s" % control_[-1:])
    for v in (VALUE, "b-" + VALUE):
        absent(v, text, "the log")
        for made in (hashlib.sha256(v.encode()).hexdigest(), hashlib.md5(v.encode()).hexdigest(),
                     hashlib.blake2b(v.encode(), digest_size=16).hexdigest(),
                     hashlib.blake2b(b"kennel trace v1\0" + v.encode(), digest_size=16).hexdigest()):
            check(made[:32] not in traces and made[:32] not in text, "guessed without the key")
    with open(KEY, "rb") as f:
        key = f.read()
    equal((len(key), os.stat(KEY).st_mode & 0o777), (32, 0o600))
    equal({hashlib.blake2b(b"kennel trace v1\0" + VALUE.encode(), digest_size=16, key=key).hexdigest()} - traces,
          set(), "the control: with the key it is")
    for folder, _, names in os.walk(HOME):
        for name in names:
            at = os.path.join(folder, name)
            if at != KEY and os.path.isfile(at):
                with open(at, "rb") as f:
                    absent(key, f.read(), at)


@test("another key finds nothing; one that is open to others is refused, by who looks and by who starts")
def keys():
    session()
    equal(len({r["name"] for r in rows(VALUE)}), 1, "the control")
    os.rename(KEY, KEY + ".was")
    try:
        within(b"no fingerprint key", find(VALUE, status=127).stderr)
        with open(KEY, "wb") as f:
            f.write(os.urandom(32))
        os.chmod(KEY, 0o600)
        find(VALUE, status=65)
        session()
        check(rows(VALUE), "the control: what was given since is found")
        os.chmod(KEY, 0o640)
        within(b"open to others", find(VALUE, status=65).stderr)
        r = run([KENNEL, "run", "t", "--policy", policy(toy_policy(
            "    secret FIND_A from file %s\n" % value_file("find-a", VALUE)))])
        equal(r.returncode, 125)
        within(b"find.key", r.stderr)
        os.unlink(KEY)
        os.symlink(KEY + ".was", KEY)
        find(VALUE, status=65)
    finally:
        os.rename(KEY + ".was", KEY)
    check(rows(VALUE), "the first key finds what it found")


main()
