"""What the scrubber promises, through a leash that is confined: keys and tokens in all
spellings, values in all their forms, and text that holds none of them."""
import base64
import gzip
import json
import mmap
import os
import random
import re
import select
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON, SPEAKER = "/usr/bin/python3", HERE + "/speaker.py"
BEGIN, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
LINES = [base64.b64encode(bytes((i * 48 + k * 7) % 251 for k in range(48))).decode() for i in range(20)]
KEY = "\n".join([BEGIN] + LINES + [END]) + "\n"
GITHUB = "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"


def b64(data):
    return base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()


def speaker(more="", env=None, argv=(), bare=False):
    """A session with the speaker; bare: without kennel, for the control."""
    if bare:
        s = Mcp([PYTHON, SPEAKER] + list(argv), env=env)
    else:
        s = kennel_run("    run %s\n    read %s\n    tool allow *\n    timeout call 20s\n%s\n" % (
            words(PYTHON, SPEAKER, *argv), words(HERE), more), env=env)
    check("result" in s.initialize(), s.stderr())
    return s


def answer(text, rid="@ID@"):
    return '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}\n' % (
        rid, json.dumps(text))


# ---- ends of messages ----------------------------------------------------------------

MENTIONS = [
    BEGIN,
    "the file begins with " + BEGIN + "\n",
    BEGIN + "\nMIIE\n",
    "grep -l '" + BEGIN + "' -r .",
    "\n".join([BEGIN] + LINES)[:700],  # one that is cut off
]


def mention(bare):
    """Two calls; the answer of the first and half of the other's come at once."""
    s = speaker(bare=bare)
    got = []
    for text in MENTIONS:
        first, other = answer(text), answer("the next one", s.n + 2)
        s.send({"jsonrpc": "2.0", "id": s.n + 1, "method": "tools/call", "params": {
            "name": "say", "arguments": {"wait": 1.2, "pieces": [
                b64(first + other[:40]), b64(other[40:])]}}})
        s.send({"jsonrpc": "2.0", "id": s.n + 2, "method": "tools/call", "params": {
            "name": "say", "arguments": {"pieces": []}}})
        t0 = time.time()
        one = s.wait(s.n + 1, 6)
        took = time.time() - t0
        two = s.wait(s.n + 2, 6)
        s.n += 2
        got.append((took, one["result"]["content"][0]["text"], two["result"]["content"][0]["text"]))
    s.close()
    return got


@test("attack: text that speaks of a private key stalls no answer and swallows none")
def mentions():
    for (took, one, two), (_, bare, bare_two) in zip(mention(False), mention(True)):
        check(took < 1, "the answer waited for the next one: %.1f s" % took)
        equal((two, bare_two), ("the next one", "the next one"))
        equal(one, "[REDACTED:private-key]" if LINES[2] in bare else bare)


@test("a private key is redacted, raw and escaped, however it is cut")
def keys():
    s = speaker()
    body = answer("a " + KEY + "b").encode()
    for cut in range(30, len(body) - 30, 61):
        r = s.call("say", pieces=[b64(body[:cut]), b64(body[cut:])])
        equal(r["result"]["content"][0]["text"], "a [REDACTED:private-key]\nb", "cut at %d" % cut)
    s.close()


def timed(argv, seconds, **how):
    """Bytes as they come, with the time of each read."""
    p = start([KENNEL, "exec", "--policy", policy(EXEC), "t", "--"] + argv, stdout=subprocess.PIPE,
              stderr=subprocess.PIPE, env=environment(how.get("env")), cwd="/")
    got, t0 = [], time.time()
    while time.time() - t0 < seconds:
        if select.select([p.stdout], [], [], 0.05)[0]:
            data = os.read(p.stdout.fileno(), 65536)
            if not data:
                break
            got.append((time.time() - t0, data))
    return got


EXEC = "    run %s **\n    exec allow /bin/sh **\n    exec allow /bin/sleep *\n" % words(WITNESS)


@test("kennel exec: a line's end flushes; the first line of a key waits a tenth of a second")
def lines():
    got = timed(["/bin/sh", "-c", "echo first; sleep 1; echo '%s'; sleep 2; echo last" % BEGIN], 8)
    whole = b"".join(d for _, d in got)
    equal(whole, ("first\n%s\nlast\n" % BEGIN).encode())
    at = {line: next(t for t, d in got if line in d) for line in (b"first", b"BEGIN", b"last")}
    check(0.6 < at[b"BEGIN"] - at[b"first"] < 1.8, at)
    check(0.6 < at[b"last"] - at[b"BEGIN"], at)
    # lines of one key, written one by one, are one key
    script = "echo '%s'; for l in %s; do printf '%%s\\n' $l; done; echo '%s'; echo after" % (
        BEGIN, " ".join(LINES), END)
    equal(b"".join(d for _, d in timed(["/bin/sh", "-c", script], 8)), b"[REDACTED:private-key]\nafter\n")


# ---- credentials by their shape ----------------------------------------------------------

WEARS = [  # before and after a token, as writers of JSON, URLs and terminals have it
    ("\\u0022", "\\u0022"), ("\\u003d", "\\u0026"), ("\\u003e", "\\u003c"), ("\\u000a", "\\u000a"),
    ("\\n", "\\n"), ("\\\\u0022", "\\\\u0022"), ("\\\\n", "\\\\n"), ("%3D", "%26"), ("%253D", "%2526"),
    ("\\\\x3d", "\\\\x20"), ("\\u001b[32m", "\\u001b[0m"), ("\\u001b[38;5;9m", "\\u001b[m"),
    ("\\\\u001b[1;31m", "\\\\u001b[0m"), ("&quot;", "&quot;"), ("&#34;", "&#34;"), ("&#x22", "&#x22"),
    ("=3D", "=20"), ("\\\\012", "\\\\012"),
]


@test("attack: a token behind an escape or a colour of the terminal")
def worn():
    s = speaker()
    bare = speaker(bare=True)
    for before, after in WEARS:
        said = '{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"type":"text","text":"a%s%s%sb"}]}}\n' % (
            before, GITHUB, after)
        within(GITHUB, json.dumps(bare.call("say", pieces=[b64(said)])), "without kennel")
        want = said.replace("@ID@", str(s.n + 1)).replace(GITHUB, "[REDACTED:github-token]")
        for cut in range(40, len(said) - 3, 9):
            want = json.loads(said.replace("@ID@", str(s.n + 1)).replace(GITHUB, "[REDACTED:github-token]"))
            equal(s.call("say", pieces=[b64(said[:cut]), b64(said[cut:])])["result"], want["result"],
                  "%s cut at %d" % (before, cut))
    for inside in ("\\u0041" + GITHUB, "%41" + GITHUB, "x" + GITHUB):  # a letter: no token
        said = answer("@").replace("@", inside, 1)
        said = '{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"type":"text","text":"%s"}]}}\n' % inside
        within(GITHUB, s.call("say", pieces=[b64(said)])["result"]["content"][0]["text"])
    s.close()
    bare.close()


# ---- what is learned of a value ---------------------------------------------------------

ACCOUNT = json.dumps({"type": "service_account", "private_key": KEY, "client_id": "11223344556677",
                      "token_uri": "https://oauth2.example.org/token"}, indent=2)


@test("attack: a value that the server trims, and a field of a structured one")
def learned():
    env = {"TRIMMED": " \ttr1mmed-value\r\n", "ACCOUNT": ACCOUNT}
    body = "    secret TRIMMED from env TRIMMED\n    secret ACCOUNT from env ACCOUNT\n"
    # the control: where nothing is learned of these, all of it is said
    bare = speaker(bare=True)
    said = ["tr1mmed-value", LINES[3], "https://oauth2.example.org/token", "11223344556677"]
    got = bare.call("say", pieces=[b64(answer(" ".join(said)))])
    equal(got["result"]["content"][0]["text"], " ".join(said))
    s = speaker(body, env=env)
    r = s.call("say", pieces=[b64(answer(" ".join(said)))])
    equal(r["result"]["content"][0]["text"], "*** *** " + " ".join(said[2:]))
    r = s.call("env", names=["TRIMMED", "ACCOUNT"])
    absent("tr1mmed", json.dumps(r))
    absent(LINES[3], json.dumps(r))
    s.close()
    within("secret `TRIMMED` begins or ends with white space", s.stderr())
    absent("secret `ACCOUNT` begins", s.stderr())


@test("a value of more than 64 lines is refused by its name")
def many():
    body = "    secret MANY from env MANY\n"
    lines = ["l1ne-%d-of-many" % (i * 7919) for i in range(70)]
    r = kexec(EXEC + body, ["/bin/sh", "-c", "echo on"], env={"MANY": "\n".join(lines[:63])})
    equal((r.returncode, r.stdout), (0, b"on\n"), r.stderr)
    r = kexec(EXEC + body, ["/bin/sh", "-c", "echo on"], env={"MANY": "\n".join(lines)})
    check(r.returncode != 0 and not r.stdout, r)
    within(b"secret `MANY` has more than 64 lines", r.stderr)
    within(b".kennel:", r.stderr)
    absent(b"l1ne", r.stderr)


@test("a value that is a number in JSON loses no answer")
def number():
    s = speaker("    secret PIN from env PIN\n", env={"PIN": "4815162342"})
    said = '{"jsonrpc":"2.0","id":@ID@,"result":{"n":4815162342,"f":-4815162342.5,"s":"4815162342"}}\n'
    for cut in range(40, len(said) - 4, 3):
        r = s.call("say", pieces=[b64(said[:cut]), b64(said[cut:])])
        equal(r["result"], {"n": 1, "f": -1.5, "s": "***"}, "cut at %d" % cut)
    s.close()


# ---- every claim of docs/TRUST.md ---------------------------------------------------------

VALUES = {
    "QUOTED": "q\"uo'ted\\\\v4lue{of}ours",
    "LETTERS": "gr\u00fc\u00dfe-\u00e9t\u00e9-\u20ac-\u0436-\U0001f600-17",
    "LINED": "f1rst line of it\nsec0nd-line-of-it",
    "DIGITS": "48151623420918273645",
    "SIGNED": "s1gns!#$+=@and-more",
}
CUTS = int(os.environ.get("KENNEL_CUTS", "12"))


def spelled(values, cuts, bare=False):
    """The lines of encoders.py: each name and what it said, as often as it was cut."""
    argv = [PYTHON, HERE + "/encoders.py", str(cuts)] + list(values)
    body = "    run %s **\n    read %s\n" % (words(PYTHON), words(HERE))
    body += "".join("    secret %s from env %s\n" % (v, v) for v in values)
    r = run(argv, env=values, timeout=240) if bare else kexec(body, argv, env=values, timeout=240)
    equal(r.returncode, 0, r.stderr[-500:])
    return [line.split(b"\t", 1) for line in r.stdout.split(b"\n") if line]


def claims(values, cuts):
    got, said = spelled(values, cuts), spelled(values, cuts, bare=True)
    equal([name for name, _ in got], [name for name, _ in said])
    for (name, out), (_, text) in zip(got, said):
        n = len(text)
        check(b"***" in out and len(out) < n // 2 + 12, "%s: %s" % (name, out[:300]))
        absent(text[n // 2 - 5:n // 2 + 5], out, name.decode())
    return len(got)


@test("K-06 ESCAPES 80 every form that TRUST.md claims, of values of all kinds, cut at many places", seconds=400)
def claimed():
    print("# %d texts" % claims(VALUES, CUTS), flush=True)


@test("the same of a value of 64 KiB", seconds=300)
def large():
    value = "".join(chr(33 + (i * i + i // 7) % 90) for i in range(65536))
    argv = [PYTHON, "-c", "import os,base64,json; v=os.environ['LARGE'].encode();"
            "o=os.fdopen(1,'wb'); [o.write(b'<'+t+b'>') for t in (v, base64.b64encode(b'u'+v), v.hex().encode(),"
            "json.dumps(v.decode()).encode(), base64.b32encode(v), v[::-1], b'%'+v.hex('%').encode())]"]
    body = "    run %s **\n    secret LARGE from env LARGE\n" % words(PYTHON)
    r = kexec(body, argv, env={"LARGE": value}, timeout=120)
    equal(r.returncode, 0, r.stderr)
    check(len(r.stdout) < 120 and r.stdout.count(b"***") == 7, r.stdout[:300])


# ---- text that holds none -----------------------------------------------------------------------

TEXTS = int(os.environ.get("KENNEL_TEXTS", "20000"))
TOKENS = re.compile(
    r"gh[pousr]_[0-9A-Za-z]{36}|github_pat_\w{82}|npm_[0-9A-Za-z]{36}|glpat-[\w-]{20}|sk-ant-[\w-]{80}|"
    r"sk-proj-[\w-]{40}|xox[bpa]-[\w-]{24}|xapp-[\w-]{24}|[sr]k_live_[0-9A-Za-z]{24}|AIza[\w-]{35}|"
    r"A[KS]IA[0-9A-Z]{16}|pypi-AgEI[\w-]{80}|dop_v1_[0-9a-f]{64}|shpat_[0-9a-f]{32}|hf_[0-9A-Za-z]{34}|"
    r"hvs\.[\w-]{90}|SG\.[\w-]{22}|AGE-SECRET-KEY-1[0-9A-Z]{58}|eyJ[\w-]+\.eyJ[\w-]+\.[\w-]{3}|"
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
ROOTS = ["/usr/share/doc", "/usr/share/man", "/usr/share/perl", "/usr/lib/python3", "/usr/include", "/usr/share/nodejs",
         "/usr/share/i18n/charmaps", "/etc", MODULES, "/var/log"]


def corpus(limit):
    """Texts of this machine in one file: code, manuals, logs, whatever is readable."""
    folder = public_folder("corpus")
    per_root = limit // len(ROOTS)
    with open(folder + "/texts", "wb") as out:
        for root in ROOTS:
            left = per_root
            for base, dirs, names in os.walk(root):
                dirs.sort()
                for name in sorted(names):
                    path = base + "/" + name
                    try:
                        if left <= 0 or not os.path.isfile(path) or os.path.islink(path):
                            continue
                        with (gzip.open if name.endswith(".gz") else open)(path, "rb") as f:
                            data = f.read(min(left, 200000))
                    except (OSError, EOFError, zlib.error):
                        continue
                    left -= out.write(data)
        size = out.tell()
    os.chmod(folder + "/texts", 0o644)
    return folder + "/texts", size


def batch(rng, size):
    n = rng.choice([1, 1, 3, 20, 200, 1500])
    return {"parts": [[rng.randrange(size), min(rng.randrange(1, 60) ** 2, 2500)] for _ in range(n)],
            "ascii": rng.random() < 0.5, "piece": rng.choice([0, 0, 65536, 65535, 4096, 1000, 333])}


@test("real texts pass as they are: no stall, no lost answer, no false redaction",
      seconds=60 + TEXTS // 200)
def innocent():
    path, size = corpus(8 << 20 if TEXTS <= 50000 else 200 << 20)
    env = {"TOKEN": "t0ken-%d-of-nobody-in-these-texts" % os.getpid(), "PIN": "918273645501",
           "LINES": "a l1ne of nobody\nan0ther line of nobody"}
    s = speaker("    read %s\n%s" % (words(os.path.dirname(path)), "".join(
        "    secret %s from env %s\n" % (v, v) for v in env)), env=env, argv=[path])
    rng, done, tokens, slowest = random.Random(int(os.environ.get("SEED", "17"))), 0, 0, 0
    with open(path, "rb") as f:
        data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    while done < TEXTS:
        a = batch(rng, size)
        t0 = time.time()
        r = s.call("texts", 20, **a)
        slowest = max(slowest, time.time() - t0)
        got = [c["text"] for c in r["result"]["content"]]
        equal(len(got), len(a["parts"]))
        for (at, n), text in zip(a["parts"], got):
            want = data[at:at + n].decode(errors="replace")
            if text != want and TOKENS.search(want):
                tokens += 1
            elif text != want:
                check(False, "at %d, %d bytes: %r became %r" % (at, n, want, text))
        done += len(got)
    s.close()
    print("# %d texts of %d MB, %d with a token, the slowest answer took %.2f s" % (
        done, size >> 20, tokens, slowest), flush=True)


if __name__ == "__main__":
    main()
