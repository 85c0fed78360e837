#!/bin/sh
# docs/MCP.md, "Many servers as one": each duty names a test.  *WORD* is an end-to-end test
# of kennel serve, `NAME` another file; the phrases after it are each in the name of a test
# of that file.
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
cd "$(dirname "$0")/../.." || exit 1
exec python3 - <<'EOT'
import os
import re
import sys

LITERAL = r'"((?:[^"\\]|\\.)*)"'


def names(path):
    """The names of the tests of a file."""
    text = open(path, encoding="utf-8").read()
    if path.endswith(".c"):
        return [n.replace("_", " ") for n in re.findall(r"cmocka_unit_test(?:_setup_teardown)?\((\w+)", text)]
    return ["".join(re.findall(LITERAL, m.group(1))) for m in re.finditer(r'@test\(((?:\s*"(?:[^"\\]|\\.)*")+)', text)]


def file_of(word):
    if word.startswith("*"):
        word = "e2e_serve%s.py" % ("" if word == "*serve*" else "_" + word.strip("*"))
    word = word.strip("`")
    return word if "/" in word else "tests/e2e/" + word


def wrong(cell):
    """What is wrong with the last cell of a row, or None."""
    entries = re.split(r"; (?=\*|`)", cell)
    for entry in entries:
        m = re.match(r"(\*\w+\*|`[\w./]+`): (.+)$", entry)
        if m is None:
            return "expected FILE: the names of tests, found %r" % entry
        path = file_of(m.group(1))
        if not os.path.exists(path):
            return "no file " + path
        known = names(path)
        for phrase in m.group(2).split(", "):
            if not any(phrase in n for n in known):
                return "no test of %s has %r in its name" % (path, phrase)
    return None


def rows(text):
    """(duty, last cell) of each row of the table."""
    table = text[text.index("\n| duty | what kennel does | test |"):].lstrip("\n").split("\n\n")[0].splitlines()
    return [(line.split(" | ")[0].strip("| "), line.rstrip("| ").split(" | ")[-1]) for line in table[2:]]


bad = 0
for n, (duty, cell) in enumerate(rows(open("docs/MCP.md", encoding="utf-8").read()), 1):
    why = wrong(cell)
    print("%sok %d - %s%s" % ("not " if why else "", n, duty, ": " + why if why else ""))
    bad |= why is not None
for cell in ("", "*serve*", "*serve*: no such test", "*serve*: batches, no such test", "`e2e_gone.py`: batches",
             "`tests/unit/test_health.c`: gone"):
    if wrong(cell) is None:
        print("not ok - the control: %r passes" % cell)
        bad = 1
sys.exit(bad)
EOT
