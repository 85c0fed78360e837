"""docs/COOKBOOK.md: each policy compiles, and gives the verdicts that the page shows."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

PAGE = STAGE + "/COOKBOOK.md"
WORLD = os.path.realpath(TMP) + "/cookbook"
PATH = re.compile(r"(?<![\w$.:/])(/(?:home/joe|srv/mcp|usr/bin)/[\w./@+-]+)")
ROOTS = ("/home/joe", "/srv/mcp")


def recipes():
    """(title, policy) of each block of the page."""
    if not os.path.exists(PAGE):
        skip("tests/run.py stages docs/COOKBOOK.md: %s is not here" % PAGE)
    title = None
    found = []
    block = None
    for line in reads(PAGE).decode().splitlines(keepends=True):
        if line.startswith("## "):
            title = line[3:].strip()
        elif line.startswith("```"):
            if block is not None:
                found.append((title, block))
            block = "" if block is None and line.strip() == "```kennel" else None
        elif block is not None:
            block += line
    return found


def here(text):
    """The policy with the paths of a world that exists: programs and files of the page."""
    lets = dict(re.findall(r"^let (\w+) = (\S+)$", text, re.M))
    whole = text
    for _ in range(2):
        for name, value in lets.items():
            whole = whole.replace("$" + name, value)
    grants = whole.split("\nexpect ")[0]
    for path in sorted(set(PATH.findall(grants))):
        if path.startswith("/usr/bin/") and os.path.realpath(path) == path and os.path.exists(path):
            continue
        make(WORLD + path, program=path.startswith("/usr/bin/") or "/bin/" in path)
    return PATH.sub(lambda m: WORLD + m.group(1) if needs_world(m.group(1)) else m.group(1), text)


def needs_world(path):
    return path.startswith(ROOTS) or os.path.exists(WORLD + path)


def make(path, program):
    if os.path.lexists(path):
        return
    if os.path.splitext(path)[1] in (".js", ".py", ".sqlite") or program:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if program:
            shutil.copy(os.path.realpath("/bin/true"), path)
        else:
            with open(path, "w") as f:
                f.write("")
    elif not path.endswith(".jsonl"):
        os.makedirs(path, exist_ok=True)


@test("the page has twelve recipes, each with an expectation that allows and one that refuses")
def page():
    found = recipes()
    equal(len(found), 12)
    for title, text in found:
        verdicts = re.findall(r"-> (allow|ask|deny)$", text, re.M)
        check(len(verdicts) >= 4 and "allow" in verdicts and "deny" in verdicts, title, verdicts)


@test("each recipe compiles without a warning and gives the verdicts that the page shows")
def verdicts():
    os.makedirs(WORLD + "/home/joe", exist_ok=True)
    for title, text in recipes():
        path = TMP + "/cookbook.kennel"
        with open(path, "w") as f:
            f.write(here(text))
        r = run([KENNEL, "policy", "check", path])
        equal((r.returncode, r.stderr), (0, b""), title)
        r = run([KENNEL, "policy", "test", path])
        equal(r.returncode, 0, (title, r.stdout, r.stderr))
        equal(r.stdout.count(b"\nok ") + r.stdout.startswith(b"ok "), len(re.findall(r" -> ", text)), (title, r.stdout))


@test("a verdict that is not the page's is reported: the control")
def wrong():
    os.makedirs(WORLD + "/home/joe", exist_ok=True)
    for title, text in recipes():
        path = TMP + "/cookbook-wrong.kennel"
        with open(path, "w") as f:
            f.write(here(text).replace("-> deny", "-> allow", 1))
        equal(run([KENNEL, "policy", "test", path]).returncode, 1, title)


main()
