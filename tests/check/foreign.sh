#!/bin/sh
# Text of the server reaches an event, a question, a message or a log line of the leash
# only as struct foreign, which the scrubber alone makes (leash/scrub/foreign.h).
#
# Each text that is written must be a constant, come from the policy or from
# foreign_str(), or be listed in foreign.known with where it comes from.
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
cd "$(dirname "$0")/../.." || exit 1
exec python3 - <<'EOT'
import glob
import re
import sys

HOME = "leash/scrub/foreign.c"
ROOMS = ("leash/*.c", "leash/exec/*.c", "leash/audit/*.c")
# name: which arguments are text (None: all from this one on)
WRITERS = {"event_text": (2, 3), "event_put_text": (2, 3), "event_short": (2, 3), "event_sentence": (2, 3), "event_bytes": (2, 3), "wire_put_str": (1, 2), "wire_put_bytes": (1, 2),
           "put_strings": (2, 3), "dispatch_ends": (1, 3), "log_error": (1, None), "log_warn": (1, None),
           "log_info": (1, None), "log_debug": (1, None)}
# members of messages that are text of the policy or kennel's
MEMBERS = "rule|because|instead|caller|reason|chain|verdict"
CAST = r"\(\s*(?:const )?struct foreign \*\s*(?:const\s*)?\)\s*[\w(&*]"
CONSTANT = r'(?:"(?:[^"\\]|\\.)*"\s*)+|[A-Z][A-Z0-9_]*|NULL'
SAFE = re.compile(r'(?:%s|policy_(?:str|at|source_name)\(.*\)|foreign_(?:list_)?str\(.*\)|\w+_name\([^()]*\)|'
                  r'strerror\(.*\)|\w+\.n|[^?]*\? (?:%s) : (?:%s))\s*' % (CONSTANT, CONSTANT, CONSTANT))


def bare(text):
    """Without comments; lines stay where they are."""
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def split(text, at, ends):
    """The expressions from text[at] to an unbalanced one of ends, cut at commas."""
    depth, out, cur = 0, [], ""
    while at < len(text):
        c = text[at]
        if c in "\"'":
            end = at + 1
            while text[end] != c:
                end += 2 if text[end] == "\\" else 1
            cur += text[at:end + 1]
            at = end + 1
            continue
        if depth == 0 and c in ends:
            break
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            out.append(cur)
            cur = ""
        else:
            cur += c
        at += 1
    return [" ".join(x.split()) for x in out + [cur]]


def texts(text):
    """(line, expression) of each text that is written; a writer that is not called is itself one."""
    for m in re.finditer(r"\b(%s)\b(\s*\()?" % "|".join(WRITERS), text):
        line = text.count("\n", 0, m.start()) + 1
        if m.group(2) is None:
            yield line, "a mention of " + m.group(1)
            continue
        args = split(text, m.end(), ")")
        if re.match(r"(?:struct|enum|const|int|void) ", args[0]):
            continue  # its declaration
        first, end = WRITERS[m.group(1)]
        for a in args[first:end]:
            yield line, a
    for m in re.finditer(r"(?<!enum )(?:\.|->)(%s) =(?!=)" % MEMBERS, text):
        yield text.count("\n", 0, m.start()) + 1, split(text, m.end(), ",;}")[0]
    for m in re.finditer(r"%s|\bbytes\.(?:data|len) [-+|]?=(?!=)" % CAST, text):
        yield text.count("\n", 0, m.start()) + 1, "a cast to struct foreign, or a write to a list of it"


# of members with the same name that are no text of a message
OTHER = re.compile(r"(?:VERDICT_\w+|best\.verdict|c->caller|f->caller|caller_image\(.*\)|reason_of\(.*\)|s->reason|foreign_\w+\(.*\))$")


def wrong(name, text, known, used):
    found = []
    for line, x in texts(bare(text)):
        if x == "" or SAFE.fullmatch(x) or OTHER.match(x):
            continue
        if (name, x) in known:
            used.add((name, x))
            continue
        found.append("%s:%d: %s" % (name, line, x))
    return found


def say(good, text):
    global bad
    print(("ok: " if good else "not ok: ") + text)
    bad |= not good


bad = False
known = set()
for row in open("tests/check/foreign.known", encoding="utf-8"):
    row = row.split("\t#")[0].strip()
    if row and row[0] != "#":
        known.add(tuple(row.split(" ", 1)))
used, files = set(), {}
for name in sorted(n for room in ROOMS for n in glob.glob(room)):
    files[name] = open(name, encoding="utf-8").read()
found = [w for name, text in files.items() for w in wrong(name, text, known, used)]
for w in found:
    say(False, w + ": is it text of the server?  Make it a struct foreign, or list it in tests/check/foreign.known")
for name, x in sorted(known - used):
    say(False, "tests/check/foreign.known: %s %s excuses nothing" % (name, x))
makers = [n for n in glob.glob("leash/**/*.[ch]", recursive=True) + glob.glob("supervisor/**/*.[ch]", recursive=True)
          if n != HOME and re.search(CAST, bare(open(n, encoding="utf-8").read()))]
say(not makers, "only %s makes a struct foreign%s" % (HOME, "".join(", but " + n for n in makers)))
say(not found, "%d files: text of the server is redacted before it is written" % len(files))

for name, plant in (
        ("leash/network.c", "void p(struct event *o, struct egress_report *e) { event_text(o, KEY_ALPN, e->alpn); }"),
        ("leash/network.c", "void p(struct egress_report *e) { log_warn(\"%s: refused\", e->name); }"),
        ("leash/channel_reports.c", "void p(struct wire_out *o, struct network_ask *a) { wire_put_str(o, a->name); }"),
        ("leash/exec/decide.c", "void p(struct gate *g, struct call *c) { event_bytes(&g->event, KEY_ARGV, c->argv[1], 9); }"),
        ("leash/exec/notify.c", "void p(struct gate_refusal *r, struct call *c) { r->because = c->path; }"),
        ("leash/network_ask.c", "struct dispatch_ask_net q = {.rule = e->name};"),
        ("leash/drain.c", "void (*p)(struct event *, enum event_key, const char *) = event_text;"),
        ("leash/channel.c", "const struct foreign *p(char *t) { return (const struct foreign *)t; }"),
        ("leash/exec/explain.c", "void p(struct foreign_list *l, uint8_t *t) { l->bytes.data = t; }")):
    say(len(wrong(name, files[name] + "\n" + plant, known, set())) > len(wrong(name, files[name], known, set())),
        "planted in %s: %s" % (name, plant))
sys.exit(bad)
EOT
