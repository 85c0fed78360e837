#!/usr/bin/env python3
"""kennel-policy(5) is the parser's specification.

    manual.py [POLICY_TEXT [KENNEL]]

Its grammar is read from the page; sentences are made of it until every
alternative and every option was taken, and the parser must accept each.  Every
example of the page is checked; the walk-through is compiled, and asked.
"""
import os, random, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
TEXT = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else TOP + "/build/tests/policy_text")
KENNEL = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else TOP + "/build/bin/kennel")
PAGE = open(TOP + "/docs/man/kennel-policy.5").read()
BASE = "let base = /srv\nblock b0 {\n\tread /srv\n}\n"

passed = failed = 0


def say(good, name, why=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(("ok - policy page " if good else "not ok - policy page ") + name)
    if not good:
        print(why)


def plain(text):
    """mdoc's escapes in a literal display."""
    return text.replace("\\e", "\\").replace("\\&", "").replace("\\-", "-")


# ---- the grammar ----------------------------------------------------------------

TOKEN = re.compile(r'"[^"]+"|[A-Za-z][A-Za-z-]*|[=|.()\[\]{}]')


class Grammar:
    def __init__(self, text):
        text = re.sub(r"\(\*.*?\*\)", "", text)
        self.toks, self.at, self.rules, self.points = TOKEN.findall(text), 0, {}, 0
        while self.at < len(self.toks):
            name = self.next()
            assert self.next() == "=", name
            self.rules[name] = self.either()
            assert self.next() == ".", name

    def next(self):
        self.at += 1
        return self.toks[self.at - 1]

    def point(self):
        self.points += 1
        return self.points - 1

    def either(self):
        all = [(self.point(), self.row())]
        while self.toks[self.at] == "|":
            self.next()
            all.append((self.point(), self.row()))
        return ("either", all)

    def row(self):
        out = []
        while self.toks[self.at] not in "|.)]}":
            t = self.next()
            if t in "([{":
                inner = self.either()
                assert self.next() == {"(": ")", "[": "]", "{": "}"}[t]
                out.append(inner if t == "(" else
                           ("maybe" if t == "[" else "many", self.point(), self.point(), inner))
            else:
                out.append(("text", t[1:-1]) if t[0] == '"' else ("name", t))
        return ("row", out)


class Writer:
    """Makes sentences; what was taken least is taken next."""

    def __init__(self, grammar, random):
        self.g, self.r, self.taken, self.n = grammar, random, [0] * grammar.points, 0

    def least(self, points):
        low = min(self.taken[p] for p in points)
        best = self.r.choice([i for i, p in enumerate(points) if self.taken[p] == low])
        self.taken[points[best]] += 1
        return best

    def fresh(self, prefix):
        self.n += 1
        return "%s%d" % (prefix, self.n)

    def word(self, name):
        pick = self.r.choice
        return {
            "NAME": lambda: self.fresh("n"), "BLOCK": lambda: self.fresh("b"),
            "SERVER": lambda: pick(["a", "web-1", "X_y"]), "USED": lambda: "b0",
            "SERVERS": lambda: pick(["a", "web-*", "*"]),
            "DIGEST": lambda: DIGEST, "SPATH": lambda: pick(["team/x/y", "a/b/c-d/e1"]),
            "SPATHS": lambda: pick(["team/*", "TOKEN"]),
            "ENTRY": lambda: pick(["jira/token", "op://a/b/c"]),
            "ADDRESS": lambda: "https://vault.example:8200",
            "URL": lambda: pick(["https://mcp.example.com/mcp", "https://a.example:8443/"]),
            "HEADER": lambda: pick(["X-Api-Key", "X-Team"]),
            "ID": lambda: pick(["kennel", "https://client.example/metadata.json"]),
            "SCOPES": lambda: pick(['"tools"', '"tools offline_access"']),
            "ISSUER": lambda: pick(["login.example.com", "login.example.com:8443"]),
            "QUOTED": lambda: '"inc/base.kennel"',
            "WORD": lambda: pick(["word", "--opt=1", "a,b", "x#y", "50%", "plain", "and"]),
            "LET": lambda: pick(["$scalar", "${scalar}"]), "LETLIST": lambda: "$many",
            "PROGRAM": lambda: pick(["/usr/bin/x", "git"]),
            "PATH": lambda: pick(["/srv", "/srv/a.b/c-d", "$scalar"]),
            "PATHS": lambda: pick(["/srv/**", "/home/*/.ssh", "/etc"]),
            "METHOD": lambda: pick(["skills/*", "logging/setLevel", '"a b"']),
            "URI": lambda: pick(["file:///srv/*", '"odd name"']),
            "USER": lambda: pick(["nobody", "1000"]), "SIZE": lambda: pick(["64M", "1T"]),
            "VARIABLE": lambda: pick(["A", "NODE_ENV"]),
            "NAMES": lambda: pick(["list_*", '"read"', "*", "x"]),
            "CALL": lambda: pick(["io_setup", "mlockall"]),
            "LIMIT": lambda: pick(["memory", "cpu"]), "VALUE": lambda: "64",
            "TIMEOUT": lambda: pick(["call", "ask", "start", "idle", "most"]),
            "RATE": lambda: pick(["30/1m", "1/90s"]), "CALLS": lambda: pick(["1", "100"]),
            "DURATION": lambda: "30s", "DAYS": lambda: "90d", "DATE": lambda: "2999-12-31",
            "NUMBER": lambda: pick(["0", "17", "-2.5e3"]),
            "GLOB": lambda: pick(["a*", "*.c"]), "CHOICE": lambda: "log|show",
            "SLOT": lambda: pick(["<number:1..50>", "--file=<path:/srv>", "<host>"]),
            "OPTIONS": lambda: "<-v,-n=<number>,--color=auto|never>",
            "HOSTPORT": lambda: pick(["a.example:443", '"[2001:db8::1]:1-9"']),
            "HOST": lambda: pick(["a.example", "10.0.0.0/8"]),
            "HOSTS": lambda: pick(["*.example:*", "10.0.0.0/8", "*"]),
            "CIDR": lambda: "10.0.0.0/8", "JSON": lambda: '{"a": [1, {"b": "}"}]}',
            "ARGS": lambda: pick(["args.a", "args", "args.a.b[0].c", 'args["k k"][1]']),
            "NEWLINE": lambda: pick(["\n", " # a comment\n", "\n\n"]),
        }[name]()

    def make(self, node, depth=0):
        kind = node[0]
        if kind == "text":
            return [node[1]]
        if kind == "name":
            rule = self.g.rules.get(node[1])
            return self.make(rule, depth + 1) if rule else [self.word(node[1])]
        if kind == "row":
            return [w for n in node[1] for w in self.make(n, depth)]
        if kind == "either":
            rows = node[1]
            if depth > 16:  # the last one does not go round again
                rows = rows[-1:]
            return self.make(rows[self.least([p for p, _ in rows])][1], depth)
        if kind == "maybe":
            return self.make(node[3], depth) if self.least([node[1], node[2]]) and depth < 16 else []
        out = []
        while len(out) < 60 and depth < 16 and self.least([node[1], node[2]]):
            out += self.make(node[3], depth)
            if self.r.random() < 0.5:
                break
        return out


def spell(words):
    text = " ".join(words)
    return re.sub(r" *\n ?", "\n", text.replace(" \\\n", " \\\n"))


def run(args, text, cwd):
    p = subprocess.run(args, input=text.encode(), stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, cwd=cwd)
    return p.returncode, p.stderr.decode(errors="replace")


def grammar_is_the_parsers(folder):
    global DIGEST
    import hashlib
    DIGEST = hashlib.sha256(BASE.encode()).hexdigest()
    m = re.search(r"\.Ss Grammar\n(?:\.\\\"[^\n]*\n)*\.Bd -literal -offset indent\n(.*?)\n\.Ed", PAGE, re.S)
    g = Grammar(plain(m.group(1)))
    used = {n for n in re.findall(r"[A-Za-z][A-Za-z-]*", re.sub(r'"[^"]+"|\(\*.*?\*\)', "", plain(m.group(1))))}
    say(not [n for n in g.rules if n not in used], "every production is used")
    head = 'include "inc/base.kennel"\nlet scalar = /srv\nlet many = ["a", 1]\n'
    w, bad = Writer(g, random.Random(7)), []
    count = 0
    while count < 120 or (min(w.taken) == 0 and count < 4000):
        text = head + spell(w.make(("name", "file")))
        text += "server last { run /x\n" + spell(w.make(("name", "grant"))) + "\n}\n"
        if text.count("args") > 60:
            continue  # a condition has at most 256 parts
        code, err = run([TEXT, "--parse", "-", "page"], text, folder)
        if code != 0:
            bad.append(text[len(head):] + "\n" + err)
        count += 1
    say(min(w.taken) > 0, "every alternative was taken in %d sentences" % count,
        "%d of %d were not" % (sum(1 for t in w.taken if t == 0), len(w.taken)))
    say(not bad, "the parser takes every sentence of the grammar", "\n".join(bad[:3]))
    # a control: with a word too many it does not
    text = head + "server a { run /x\n\troots allow allow\n}\n"
    say(run([TEXT, "--parse", "-", "page"], text, folder)[0] == 65, "and not any sentence")


# ---- the examples ---------------------------------------------------------------

WRAP = {
    "file": "%s", "walk": "%s", "top": "%s", "include": "%s",
    "grants": "server example {\n%s\n}\n",
    "expect": "server a {\n\trun /usr/bin/x\n}\n%s",
}


def examples():
    for m in re.finditer(r'\.\\" example (\w+)\n\.Bd -literal -offset indent\n(.*?)\n\.Ed', PAGE, re.S):
        yield m.group(1), plain(m.group(2)) + "\n"


def every_example(folder):
    n, bad = 0, []
    for kind, text in examples():
        whole = WRAP[kind] % text
        if kind == "grants" and not re.search(r"(?m)^\s*(run|remote) ", text):
            whole = whole.replace("{\n", "{\n\trun /usr/bin/x\n", 1)
        code, err = run([TEXT, "-", "page"], whole, folder)
        n += 1
        if code != 0 or ": error: " in err:
            bad.append(whole + err)
    say(n >= 25 and not bad, "%d examples are policies" % n, "\n".join(bad[:4]))
    shown = len(re.findall(r"\.Bd -literal -offset indent\n", PAGE))
    other = len(re.findall(r"\.Bd -literal -offset indent\n(?:\$ |PATH=|file      =|github.kennel:|source work|a library of )", PAGE))
    say(shown == n + other, "no other example is there", "%d shown, %d checked, %d no policy" % (shown, n, other))


def walk_through(folder):
    """The page's first policy, on folders of this machine: it holds what it says."""
    if not os.access(KENNEL, os.X_OK):
        print("skip - policy page: %s is not built" % KENNEL)
        return
    text = [t for k, t in examples() if k == "walk"][0]
    notes, server = folder + "/notes", folder + "/server"
    os.makedirs(notes)
    os.makedirs(server)
    text = text.replace("/home/joe/notes", notes).replace("/srv/mcp/filesystem", server)
    text = text.replace("/usr/bin/node", "/bin/cat").replace("server notes {", "server notes {\n    user nobody")
    p = subprocess.run([KENNEL, "policy", "compile", "-", "-o", folder + "/notes.sealed"],
                       input=text.encode(), stderr=subprocess.PIPE)
    say(p.returncode == 0, "the walk-through compiles, and answers as it says", p.stderr.decode())
    wrong = text.replace("-> deny", "-> allow", 1)
    p = subprocess.run([KENNEL, "policy", "compile", "-", "-o", folder + "/wrong.sealed"],
                       input=wrong.encode(), stderr=subprocess.PIPE)
    say(p.returncode == 65 and b"expected allow, got deny" in p.stderr
        and not os.path.exists(folder + "/wrong.sealed"),
        "and does not compile when it expects something else", p.stderr.decode())


def main():
    folder = tempfile.mkdtemp(dir="/var/tmp")
    os.chmod(folder, 0o755)
    try:
        for d, f in (("inc", "base.kennel"), ("common", "node.kennel")):
            os.makedirs(folder + "/" + d)
            with open("%s/%s/%s" % (folder, d, f), "w") as out:
                out.write(BASE)
        grammar_is_the_parsers(folder)
        every_example(folder)
        walk_through(folder)
    finally:
        shutil.rmtree(folder)
    print("policy page: %d passed, %d failed" % (passed, failed))
    sys.exit(failed != 0)


main()
