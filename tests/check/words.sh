#!/bin/sh
# Counts the words that docs/STYLE.md (PROSE) bans.  Messages and man pages have none;
# comments and documents together have no more than now.
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
cd "$(dirname "$0")/../.." || exit 1
exec python3 - <<'EOT'
import re
import subprocess
import sys

BANNED = re.compile(
    r"\b(behind|stands?|lies|whoever|whom|somebody|nobody|hung up|hangs up|told|tells|heard|so many|at hand|"
    r"is none|is (?:not )?understood|folders?|doors?|takes? (?:it |them )?out|words? of|says? that|"
    r"what is no|so that none|has run out|no longer there|in vain)\b", re.I)
STABLE = {'"nobody answered"'}  # an outcome in the log and for agents
LIMITS = {"message": 0, "man page": 0, "comment or document": 64}
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|/\*.*?\*/|//[^\n]*', re.S)


def pieces(name, text):
    """(kind, offset, text) of what people read in a file."""
    if name.endswith((".c", ".h")):
        for m in TOKEN.finditer(text):
            t = m.group()
            if t[0] == "/":
                yield "comment or document", m.start(), t
            elif t[0] == '"' and " " in t and t not in STABLE:  # a literal without a blank is an identifier
                yield "message", m.start(), t
    else:
        yield "man page" if name.startswith("docs/man/") else "comment or document", 0, text


def found(name, text):
    return [(kind, text.count("\n", 0, at + m.start()) + 1, m.group())
            for kind, at, t in pieces(name, text) for m in BANNED.finditer(t)]


def is_read(name):
    if name in ("docs/STYLE.md", "docs/LICENSE"):  # STYLE lists the words
        return False
    return name == "README.md" or re.match(r"docs/(man/|flows/)?[\w.-]+$", name) and not name.endswith(".png") \
        or re.match(r"(leash|policy|shim|supervisor)/.*\.[ch]$", name)


# The control: a planted word of each kind is counted.
planted = found("shim/x.c", '/* nobody */ x("it stands"); y("folder");') + found("docs/man/x.1", "a folder")
if [k for k, _, _ in planted] != ["comment or document", "message", "man page"]:
    sys.exit("not ok: planted words are not counted: %s" % planted)
count = dict.fromkeys(LIMITS, 0)
places = []
for name in subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n"):
    if is_read(name):
        try:
            with open(name, encoding="utf-8") as f:
                text = f.read()
        except FileNotFoundError:  # removed, not committed
            continue
        for kind, line, word in found(name, text):
            count[kind] += 1
            places.append((kind, "%s:%d: %s" % (name, line, word)))
failed = [k for k in LIMITS if count[k] > LIMITS[k]]
for kind, place in places:
    if kind in failed:
        print("%s: in a %s" % (place, kind))
for kind in LIMITS:
    print("%s: %d banned words in a %s, at most %d" % ("not ok" if kind in failed else "ok", count[kind], kind, LIMITS[kind]))
sys.exit(1 if failed else 0)
EOT
