#!/bin/sh
# What each program consists of: objects, lines of C, the system calls that it keeps once it
# is confined, libraries. docs/ARCHITECTURE.md has the table; a figure may fall, and rises
# only with the table.
#
# From the Makefile: GEN PROGRAMS, and for each program OBJECTS_x and LIBRARIES_x.
# UPDATE=1 writes the table.
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
cd "$(dirname "$0")/../.." || exit 1
exec python3 - <<'EOT'
import os
import re
import sys

PAGE = "docs/ARCHITECTURE.md"
HEAD = "| program | objects | lines of C | system calls | libraries |\n| --- | ---: | ---: | ---: | --- |\n"
NONE = "–"


def lines(source):
    with open(source, "rb") as f:
        return f.read().count(b"\n")


def measured(name):
    objects = sorted(set(os.environ["OBJECTS_" + name].split()))
    calls = os.environ["GEN"] + "/%s_syscalls.h" % name
    n = NONE
    if os.path.exists(calls):
        with open(calls) as f:
            n = str(len(re.findall(r"^\tSYS_", f.read(), re.M)))
    return [str(len(objects)), str(sum(lines(o[:-2] + ".c") for o in objects)), n,
            ", ".join(sorted(os.environ["LIBRARIES_" + name].split())) or NONE]


def table_of(text):
    at = text.find(HEAD)
    if at < 0:
        return {}
    rows = text[at + len(HEAD):].split("\n\n", 1)[0].splitlines()
    return {r.split("|")[1].strip(): [c.strip() for c in r.split("|")[2:6]] for r in rows}


def wrong(name, is_, said):
    """What has risen, or None."""
    if said is None:
        return "%s is not in the table" % name
    for what, a, b in zip(("objects", "lines", "system calls"), is_, said):
        if (a == NONE) != (b == NONE) or (a != NONE and int(a) > int(b)):
            return "%s has %s %s, and the table %s" % (name, a, what, b)
    return None if is_[3] == said[3] else "%s has the libraries %s, and the table %s" % (name, is_[3], said[3])


with open(PAGE, encoding="utf-8") as f:
    text = f.read()
found = {("kennel" if n == "kennel" else "kennel-" + n): measured(n) for n in os.environ["PROGRAMS"].split()}
for name, row in found.items():
    print("# %-16s %4s objects %7s lines %4s calls  %s" % (name, *row))
if os.environ.get("UPDATE"):
    at, old = text.find(HEAD), table_of(text)
    end = at + len(HEAD) + len(text[at + len(HEAD):].split("\n\n", 1)[0])
    rows = "\n".join("| %s | %s |" % (n, " | ".join(r)) for n, r in found.items())
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(text[:at] + HEAD + rows + text[end:])
    sys.exit(0)
table = table_of(text)
bad = [w for w in (wrong(n, r, table.get(n)) for n, r in found.items()) if w] + ["%s is no program" % n for n in table if n not in found]
for w in bad:
    print("not ok: " + w + ": write the table anew with `make programs`, and say why in the commit")
# planted: one line more, one call more, a library more
planted = [(["1", "11", "5", "a"], ["1", "10", "5", "a"]), (["1", "10", "6", "a"], ["1", "10", "5", "a"]),
           (["1", "10", "5", "a, b"], ["1", "10", "5", "a"])]
if any(wrong("x", a, b) is None for a, b in planted) or wrong("x", planted[0][1], planted[0][0]) is not None:
    bad.append("planted")
    print("not ok: a figure that rises is found, and one that falls is not")
else:
    print("ok: a figure that rises is found, and one that falls is not")
if not bad:
    print("ok: no program has grown beyond the table of %s" % PAGE)
sys.exit(1 if bad else 0)
EOT
