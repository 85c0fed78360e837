"""The help: of every verb, in every form; and that it says what the verb accepts."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

FAMILIES = {"": "kennel", "policy": "kennel-policy", "audit": "kennel-audit",
            "secret": "kennel-secret", "server": "kennel", "approve": "kennel"}
BAD = "--zz-bad"
ENV = {"KENNEL_HOME": TMP + "/home-help"}


def kennel(*argv, ok=0):
    r = run([KENNEL, *argv], env=ENV)
    equal(r.returncode, ok, (argv, r.stdout + r.stderr))
    return (r.stdout if ok == 0 else r.stderr).decode()


def verbs():
    """(words of the command, name of the man page), for every verb."""
    for family, page in FAMILIES.items():
        words = [family] if family else []
        names = re.findall(r"^  ([a-z][a-z-]*)  ", kennel(*words, "help"), re.M)
        check(len(names) > 1, family, "lists", names)
        equal(len(names), len(set(names)), family + ": a verb twice")
        for name in names:
            if family or name not in FAMILIES:
                yield words + [name], page


def options(words):
    """The verb's options, and the name of the value of each, "" for a flag."""
    text = kennel(*words, "--help")
    part = text.split("\noptions:\n")[1].split("\nexample:")[0] if "\noptions:\n" in text else ""
    return dict(re.findall(r"^  (--?[a-z][a-z-]*) ?([^ \n]*)", part, re.M))


@test("kennel alone names the first five commands, and exits with 64")
def alone():
    r = run([KENNEL], env=ENV)
    equal((r.returncode, r.stdout), (64, b""))
    equal(re.findall(r"^  (kennel [a-z]+(?: [a-z]+)?)", r.stderr.decode(), re.M),
          ["kennel init", "kennel policy check", "kennel run", "kennel approve watch", "kennel audit denials"])
    within(b"kennel help", r.stderr)


@test("-h, --help and help print the same help of every verb, on standard output, with 0", 120)
def three_forms():
    for words, _ in verbs():
        if words == ["help"]:
            continue  # the list itself
        text = kennel("help", *words)
        within("usage: kennel " + " ".join(words), text)
        example = text.split("\nexample:\n")[1].splitlines()[0].strip()
        check(example.startswith("kennel " + " ".join(words)), words, example)
        for form in (["-h"], ["--help"], ["x", "--help"]):
            equal(kennel(*words, *form), text, (words, form))
        for line in text.splitlines():
            check(len(line) <= 80 or "|" in line or line.startswith("usage:") or "  kennel " in line, "too wide:", line)
    for family in filter(None, FAMILIES):
        for form in (["-h"], ["--help"], ["help"]):
            equal(kennel(family, *form), kennel("help", family), (family, form))
        for line in kennel("help", family).splitlines():
            check(len(line) <= 80, "too wide:", line)
    equal(kennel("--help"), kennel("help"))
    equal(kennel("-h"), kennel("help"))
    equal(kennel("audit", "help", "log"), kennel("audit", "log", "-h"))


def forms(words):
    """Of each form of a verb's usage: the operands that it must have, and whether they repeat."""
    usage = kennel(*words, "--help").split("\n\n")[0]
    for form in re.findall(r"kennel " + re.escape(" ".join(words)) + r"\b([^\n]*)", usage):
        form = form.replace("[OPTION...]", "")
        bare = re.sub(r"\[[^][]*\]", "", re.sub(r"\[[^][]*\]", "", form))
        bare = re.sub(r"--?[a-z][a-z-]*( [A-Z][A-Z-]*\b)?", "", bare)
        yield bare.split(), "..." in form or " -- " in form


def ends(words, argv, env):
    """The exit status; None of what runs until somebody stops it."""
    p = subprocess.Popen([KENNEL, *words, *argv], env=environment(env), stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    try:
        said = p.communicate(timeout=20)[1]
    except subprocess.TimeoutExpired:
        p.terminate()
        p.communicate()
        return None, b""
    return p.returncode, said


@test("each verb with no, one and thirty words: a missing or extra one is a wrong usage, and nothing ends by a signal", 600)
def counted():
    env = {"KENNEL_HOME": TMP + "/home-words"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    s = kennel_run(toy_policy(""), env=env)  # what asks a log has one
    s.initialize()
    s.close()
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    waits = {"console", "serve", "top", "watch"}  # they run until they are stopped
    seen, bad = set(), []
    for words, _ in verbs():
        of = list(forms(words))
        for argv in ([], ["zz"], ["zz"] * 30):
            if words[-1] in waits and not argv:
                continue
            status, said = ends(words, argv, env)
            check(status is not None, words, len(argv), "does not end")
            check(0 <= status < 128, words, len(argv), "ends with", status, said[-300:])
            lacks = not argv and of and all(need for need, _ in of)
            extra = len(argv) == 30 and of and not any(more for _, more in of)
            if lacks or extra:
                if status != 64:
                    bad.append((words, len(argv), status, said[-200:]))
                seen.add("lacks" if lacks else "extra")
    equal((bad, seen), ([], {"lacks", "extra"}))


@test("--help after -- belongs to the program, and after a request to the request")
def not_ours():
    r = run([KENNEL, "exec", "no-such-server", "--", "/bin/ls", "--help"], env=ENV)
    check(r.returncode != 0, r.stdout)
    p = policy("    run /bin/sh\n    exec allow /bin/sh --help\n", name="t")
    r = run([KENNEL, "policy", "explain", p, "t", "exec", "/bin/sh", "--help"], env=ENV)
    equal(r.returncode, 0, r.stderr)
    absent(b"usage:", r.stdout)


@test("every option that the help of a verb names is accepted, and no other one", 300)
def accepted():
    known = {words[0] if len(words) > 1 else "": {} for words, _ in verbs()}
    rows = [(words, options(words)) for words, _ in verbs()]
    for words, has in rows:
        known[words[0] if len(words) > 1 else ""].update(has)

    def at_fault(words, *argv):
        """The argument that the verb reports as unknown."""
        r = run([KENNEL, *words, *argv], env=ENV)
        text = r.stderr.decode()
        if len(argv) > 1 and not words[-1].startswith("verify"):
            absent("missing", text, (words, argv))
        number = re.search(r"argument (\d+): unknown option", text)
        if number:
            return ([words[-1]] + list(argv))[int(number.group(1))]
        found = re.search(r"unknown option `([^`]*)`", text)
        if found is None:
            check(r.returncode in (3, 64, 65, 69, 78), words, argv, "did something:", r.stdout + r.stderr)
        return found and found.group(1)

    for words, has in rows:
        if words in (["version"], ["help"]):
            continue
        equal(at_fault(words, BAD), BAD, words)
        for name, value in has.items():
            got = at_fault(words, name, *(["V1" if value in ("VARIABLE", "NAME") else "1"] if value else []), BAD)
            check(got in (None, BAD), words, "refuses its own", name)
        for name in known[words[0] if len(words) > 1 else ""]:
            if name not in has and words != ["audit", "verify"]:
                equal(at_fault(words, name, BAD), name, words)


@test("a typing error in a verb or an option is answered with the right one")
def near():
    for argv, wanted in ((["polcy"], "kennel: unknown command `polcy`: did you mean `policy`?"),
                         (["policy", "chekc"], "kennel policy: unknown command `chekc`: did you mean `check`?"),
                         (["audit", "sesions"], "kennel audit: unknown command `sesions`: did you mean `sessions`?"),
                         (["approve", "alow"], "kennel approve: unknown command `alow`: did you mean `allow`?"),
                         (["server", "pni"], "kennel server: unknown command `pni`: did you mean `pin`?"),
                         (["denials"], "kennel: unknown command `denials`: did you mean `audit denials`?"),
                         (["show"], "kennel: unknown command `show`: did you mean `policy show` or `secret show` or `server show`?"),
                         (["help", "rnu"], "kennel: unknown command `rnu`: did you mean `run`?"),
                         (["run", "--polcy", "x"], "kennel run: unknown option `--polcy`: did you mean `--policy`?"),
                         (["audit", "log", "--jso"], "kennel audit log: unknown option `--jso`: did you mean `--json`?"),
                         (["audit", "verify", "--jsn"], "unknown option `--jsn`: did you mean `--json`?")):
        within(wanted, kennel(*argv, ok=64))
    text = kennel("secret", "sett", ok=64)
    within("kennel secret: unknown command: did you mean `set`?", text)
    absent("sett", text, "it may be a value")
    text = kennel("secret", "get", "a/b/c", ok=64)
    within("no command prints a value: `kennel secret show` with the path prints its metadata", text)
    absent("did you mean", text)
    absent("s3cr3t", kennel("secret", "list", "--s3cr3t", ok=64), "it may be a value")
    absent("did you mean", kennel("zzzzzz", ok=64))


@test("the man page of a family names every verb and option of its help")
def in_the_man_page():
    pages = STAGE + "/usr/share/man/man1/"
    if not shutil.which("mandoc"):
        skip("mandoc")
    text, lacks = {}, []
    for words, page in verbs():
        if page not in text:
            out = run(["mandoc", "-T", "utf8", pages + page + ".1"]).stdout.decode()
            text[page] = re.sub(r".\x08", "", out)
            if page == "kennel":
                text[page] += re.sub(r".\x08", "", run(["mandoc", "-T", "utf8", pages + "kennel-exec.1"]).stdout.decode())
        for name in [words[-1], *options(words)]:
            if not re.search(r"(?<![\w-])" + name + r"(?![\w-])", text[page]):
                lacks.append((page, words, name))
    equal(lacks, [])


@test("kennel-verify: the help of both its forms")
def verify():
    for argv, wanted in ((["-h"], b"--anchor FILE"), (["--help"], b"--anchor FILE"),
                         (["proof", "-h"], b"usage: kennel-verify proof"), (["proof", "--help"], b"--witness VKEY")):
        r = run([LIBEXEC + "/kennel-verify", *argv])
        equal((r.returncode, r.stderr), (0, b""), argv)
        within(wanted, r.stdout)
    r = run([LIBEXEC + "/kennel-verify", "--jsn"])
    equal(r.returncode, 64)
    within(b"kennel-verify: unknown option `--jsn`: did you mean `--json`?", r.stderr)


if __name__ == "__main__":
    main()
