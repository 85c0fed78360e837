"""The names of what is read and called, in the log, in its queries and in questions, whole."""
import hashlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from serve_kit import Hub, PYTHON, SERVER  # noqa: E402

ALIKE = "x:/" + 200 * "u"
PAIRS = [(ALIKE + "_read", ALIKE + "_delete"),
         ("x:/" + 2000 * "v" + "_read", "x:/" + 2000 * "v" + "_delete"),
         ("x:/" + 1000 * "\u00e9" + "_read", "x:/" + 1000 * "\u00e9" + "_delete"),
         ("x:/" + 1500 * "w" + "_read" + 1500 * "w", "x:/" + 1500 * "w" + "_kill" + 1500 * "w")]


def bodies(env, kind):
    out = run([KENNEL, "audit", "log", "--json", "--no-header", "--kind", kind], env=env).stdout
    return [json.loads(x) for x in out.splitlines()]


def shown(name):
    """What the log has of a name, and of what digest that is the head."""
    b = name.encode()
    if len(b) <= 1024:
        return name, None
    return b[:1024].decode(errors="ignore"), "name 0 " + hashlib.sha256(b).hexdigest()


def fits(record, name):
    f = record["fields"]
    head, digest = shown(name)
    return f.get("name") == [head] and f.get("cut_sha256") == ([digest] if digest else None) and f.get("cut") == (1 if digest else None)


def names():
    return [n for pair in PAIRS for n in pair]


def home(name):
    env = {"KENNEL_HOME": TMP + "/" + name}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    return env


def records_of(env, kind, name):
    return [r for r in bodies(env, kind) if fits(r, name)]


def ask(env, *words):
    r = run([KENNEL, "audit", *words], env=env)
    equal(r.returncode, 0, r.stderr)
    return r.stdout.decode()


def found_by_name(env, verb, name, n):
    """The queries find the call by its whole name, and by what they print of it."""
    got = [json.loads(x) for x in ask(env, *verb, name, "--json", "--no-header").splitlines()]
    equal(len(got), n, "%s %s" % (verb, name[:20]))
    for row in got:
        head, digest = shown(name)
        text = row["name"]
        check(text.startswith(head), text[-40:])
        if digest:
            within(digest.split()[-1], text)
            equal(len([1 for x in ask(env, *verb, text, "--json", "--no-header").splitlines()]), n, "by what it prints")
        else:
            equal(text, name)


@test("a name of any length is in both records of a call: whole, or its head and the digest of all")
def calls_run():
    env = home("names-run")
    s = kennel_run("    run %s\n    tool allow *\n    resource allow x:*\n" % words(TOY), env=env)
    s.initialize()
    for n in names():
        s.request("resources/read", {"uri": n})
        s.call(n)
    s.call("none", text="x")
    s.close()
    check(wait_for(lambda: len(bodies(env, "stop")) == 2, 5), "no end")
    for n in names():
        both = [r["fields"]["method"] for r in records_of(env, "call", n)]
        equal(sorted(both), ["resources/read"] * 2 + ["tools/call"] * 2, n[:9] + str(len(n)))
        found_by_name(env, ["tool"], n, 1)
        equal(len(ask(env, "log", "--tool", n, "--json", "--no-header").splitlines()), 2, "--tool")
    equal(len({tuple(r["fields"].get("cut_sha256", [])) + tuple(r["fields"]["name"])
               for r in bodies(env, "call") if "name" in r["fields"]}), len(names()) + 1, "two names are one")
    # one row for each tool, in each form
    for form in ("--json", "--csv"):
        lines = [x for x in ask(env, "tools", form, "--no-header").splitlines() if "x:/" in x]
        equal(len(lines), len(names()), form)
    for form in ("ocsf", "cef", "csv", "jsonl"):
        out = ask(env, "export", "--format", form)
        for n in names():
            head, digest = shown(n)
            within(digest.split()[-1] if digest else n, out, form)
    equal(run([KENNEL, "audit", "verify"], env=env).returncode, 0, "verify")
    idx = records_of(env, "call", PAIRS[1][1])[0]["idx"]
    within(hashlib.sha256(PAIRS[1][1].encode()).hexdigest(), ask(env, "why", str(idx), "--json"))


@test("refused names of any length are in the log, and denials keeps them apart")
def refused():
    env = home("names-refused")
    s = kennel_run("    run %s\n    resource allow y:*\n" % words(TOY), env=env)
    s.initialize()
    for n in names():
        s.request("resources/read", {"uri": n})
        s.call(n)
    s.close()
    check(wait_for(lambda: len(bodies(env, "stop")) == 2, 5), "no end")
    for n in names():
        equal(len(records_of(env, "refused", n)), 2, n[:9] + str(len(n)))
    rows = [json.loads(x) for x in ask(env, "denials", "--json", "--no-header", "-n", "100").splitlines()]
    equal(len({r["object"] for r in rows if r["object"].startswith("x:/")}), len(names()), "denials")


@test("kennel serve: the names of resources and tools are whole in the log, refused or not")
def calls_serve():
    env = home("names-serve")
    short = [n for n in names() if len(n) < 300]
    conf = public_folder("names") + "/serve.json"
    res = [{"uri": n, "name": "r%d" % i} for i, n in enumerate(names())]
    tools = [{"name": n, "inputSchema": {"type": "object"}} for n in ("t" * 200 + "_read", "t" * 200 + "_delete")]
    with open(conf, "w") as f:
        json.dump({"name": "a", "resources": res, "tools": tools}, f)
    os.chmod(conf, 0o644)
    h = Hub("server a {\n    run %s\n    read %s\n    read %s\n    tool allow t*_read\n    resource allow x:*\n}\n" %
            (words(PYTHON, SERVER, conf), words(os.path.dirname(SERVER)), words(conf)), env=env)
    for n in names():
        h.ask("resources/read", {"uri": n})
    h.call("a__" + tools[0]["name"])
    h.call("a__" + tools[1]["name"])
    h.call("a__" + "q" * 2000)
    h.close()
    check(wait_for(lambda: len(bodies(env, "stop")) >= 2, 5), "no end")
    check(short, "none")
    for n in names():
        equal(len(records_of(env, "call", n)), 2, n[:9] + str(len(n)))
    text = json.dumps(bodies(env, "refused"))
    within("q" * 1021, text, "a tool of no server")


@test("what a person approved has its whole name in the record; the question shows it, or its digest; a yes is for one")
def approved():
    env = home("names-approve")
    s = kennel_run("    run %s\n    tool ask *\n" % words(TOY), env=env)
    s.initialize()
    for n in (PAIRS[0][0], PAIRS[3][0]):
        s.n += 1
        s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": n, "arguments": {}}})

        def pending():
            return [json.loads(x) for x in run([KENNEL, "approve", "list", "--json"], env=env).stdout.splitlines()]
        check(wait_for(pending, 5), "no question")
        q = pending()[0]
        if len(n) < 2048:
            equal(q["subject"], n)
            r = run([KENNEL, "approve", "allow", "--session", q["id"]], env=env)
        else:
            within(hashlib.sha256(n.encode()).hexdigest(), q["subject"])
            within(hashlib.sha256(n.encode()).hexdigest().encode(), run([KENNEL, "approve", "list"], env=env).stdout)
            equal(run([KENNEL, "approve", "allow", q["id"]], env=env).returncode != 0, True, "without --unseen")
            r = run([KENNEL, "approve", "allow", "--session", "--unseen", q["id"]], env=env)
        equal(r.returncode, 0, r.stderr)
        s.wait(s.n)
        # its twin is asked about
        twin = dict(PAIRS)[n]
        s.n += 1
        s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": twin, "arguments": {}}})
        check(wait_for(pending, 5), "the twin was not asked about")
        check(pending()[0]["subject"] != q["subject"], "two names are shown as one")
        equal(run([KENNEL, "approve", "deny", pending()[0]["id"]], env=env).returncode, 0)
        s.wait(s.n)
        # and the first is not asked about again
        s.call(n)
        equal(pending(), [], "asked about again")
        check(wait_for(lambda: [r["fields"]["verdict"] for r in records_of(env, "approve", n)] == ["allow"], 5) is not None, n[:9])
        check(wait_for(lambda: [r["fields"]["verdict"] for r in records_of(env, "approve", twin)] == ["deny"], 5) is not None, n[:9])
        found = ask(env, "who-approved", n, "--json", "--no-header").splitlines()
        equal(len(found), 1, "who-approved by the whole name")
    s.close()


main()
