"""Programs that a policy asks about: the exec waits for a person, silence is no."""
import json
import os
import pwd
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

ECHO = os.path.realpath("/bin/echo")
ASKS = ("    run %s\n    tool allow *\n    exec allow /bin/sh **\n    exec allow /bin/true\n"
        '    exec ask /bin/echo ** because "it speaks" instead "say it yourself"\n' % words(TOY))
LONG = 45  # seconds until something that must come is given up: no measure of how fast it comes


def session(more="", **how):
    s = kennel_run(ASKS + more, **how)
    s.initialize()
    return s


def ask(s, *argv, tool="exec", meta=None, **arguments):
    """The call is on its way; its id."""
    s.n += 1
    params = {"name": tool, "arguments": dict(arguments, argv=list(argv))}
    if meta:
        params["_meta"] = meta
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": params})
    return s.n


def text(s, rid, seconds=LONG):
    return s.wait(rid, seconds)["result"]["content"][0]["text"]


def approve(*words_):
    r = run([KENNEL, "approve"] + list(words_))
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def questions(pid):
    status, out, err = approve("list", "--json")
    equal(status, 0, err)
    return [q for q in map(json.loads, out.splitlines()) if q["id"].startswith("%d-" % pid)]


def question(pid, n=1):
    got = []
    wait_for(lambda: got.clear() or got.extend(questions(pid)) or len(got) >= n, LONG)
    check(len(got) == n, "%d questions: %s" % (n, got))
    return got[0] if n == 1 else got


def gone(pid):
    check(wait_for(lambda: not questions(pid), LONG) is not None, "the questions are gone")


def said(s, method):
    """The next such message of kennel's."""
    while True:
        m = s.lines.pop(0) if s.lines else s.message(LONG)
        if m.get("method") == method:
            return m
        check("method" in m, "the call was answered: %s" % m)


def allow(q, *more):
    equal(approve("allow", q["id"], *more)[0], 0)


def deny(q):
    equal(approve("deny", q["id"])[0], 0)


def execs(digest):
    """What the leash has written down of this question."""
    return [e for e in audit() if e["kind"] == "exec" and digest in json.dumps(e)]


@test("S4-20 an asked program waits for a person who sees it; once is once; who, how long, and what stand in the log", 300)
def once():
    s = session()
    rid = ask(s, "/bin/echo", "a b", "\x1b[2J")
    q = question(s.p.pid)
    equal((q["server"], q["kind"], q["subject"], q["because"]), ("t", "program", "/bin/echo", "it speaks"))
    shown = json.loads(q["detail"])
    equal(shown["argv"], ["/bin/echo", "a b", "\x1b[2J"])
    check(shown["cwd"].startswith("/"), shown)
    check(q["whole"] and q["rule"].endswith(".kennel:7"), q)
    absent("\x1b", approve("list")[1], "inert")
    allow(q)
    equal(text(s, rid), "exit 0\na b \x1b[2J\n")
    rid = ask(s, "/bin/echo", "a b", "\x1b[2J")  # the same again
    q2 = question(s.p.pid)
    check(q2["id"] != q["id"])
    equal(q2["sha256"], q["sha256"], "the same question")
    deny(q2)
    equal(text(s, rid), "EACCES")
    s.close()
    check(wait_for(lambda: len(execs(q["sha256"])) == 4, LONG), execs(q["sha256"]))
    got = execs(q["sha256"])
    equal([e["fields"]["verdict"] for e in got], ["ask", "allow", "ask", "deny"])
    equal([e["fields"].get("outcome") for e in got], [None, "once", None, "deny"])
    within("uid", got[1]["fields"]["approver"])
    mine = [p.pw_name for p in pwd.getpwall() if p.pw_uid == os.getuid()]  # a number without a name does as well
    for person, rows in ([(mine[0], 2)] if mine else []) + [("uid %d" % os.getuid(), 2), ("nobody-of-this-name", 0)]:
        told = run([KENNEL, "audit", "who-approved", person, "--json", "--no-header"]).stdout.decode()
        equal(told.count(q["sha256"]), rows, person)
    check(got[1]["fields"]["duration_us"] > 0 and got[3]["fields"]["duration_us"] > 0, got)
    mine = [e for e in audit() if e["kind"] == "approve" and q["sha256"] in json.dumps(e)]
    equal([e["fields"]["verdict"] for e in mine], ["allow", "deny"])
    equal([e["fields"].get("user") for e in mine], [user_name()] * 2, "the user's name")
    equal([e["fields"].get("channel") for e in mine], ["command"] * 2, "without a terminal")


@test("for the session: the same program with the same words, folder and environment is not asked about again", 300)
def for_session():
    s = session()
    rid = ask(s, "/bin/echo", "one")
    allow(question(s.p.pid), "--session")
    equal(text(s, rid), "exit 0\none\n")
    equal(text(s, ask(s, "/bin/echo", "one")), "exit 0\none\n")
    rid = ask(s, "/bin/echo", "two")  # another one
    deny(question(s.p.pid))
    equal(text(s, rid), "EACCES")
    rid = ask(s, "/bin/sh", "-c", "cd /usr && exec /bin/echo one")  # in another folder
    q = question(s.p.pid)
    equal(json.loads(q["detail"])["cwd"], "/usr")
    deny(q)
    within("exit 126", text(s, rid))
    s.close()


@test("silence is no, after timeout ask; the server's own time does not run meanwhile", 300)
def silence():
    s = session("    timeout ask 500ms\n")
    t = time.time()
    equal(text(s, ask(s, "/bin/echo", "x")), "EACCES")
    check(time.time() - t > 0.45, "asked for %s" % (time.time() - t))
    s.close()
    check(audited('"approve"', "nobody", seconds=LONG), "silence is in the log")
    s = session("    timeout call 4s\n")  # enough for the server alone, however busy the machine
    rid = ask(s, "/bin/echo", "x")
    q = question(s.p.pid)
    time.sleep(4.1)  # longer than `timeout call`
    allow(q)
    equal(text(s, rid), "exit 0\nx\n")
    s.close()


def asked_about(q):
    """The rows of who-approved about this question."""
    r = run([KENNEL, "audit", "who-approved", "--json", "--no-header"])
    return [x for x in map(json.loads, r.stdout.splitlines()) if x["sha256"] == q["sha256"]]


@test("whoever asked is killed: the question is withdrawn", 300)
def withdrawn():
    s = session()
    rid = ask(s, "/bin/sh", "-c", "/bin/echo x & wait $!; echo $?")
    q = question(s.p.pid)
    check(wait_for(lambda: execs(q["sha256"]), LONG), "recorded")
    os.kill(execs(q["sha256"])[0]["fields"]["pid"], signal.SIGKILL)
    gone(s.p.pid)
    within("137", text(s, rid))
    equal(approve("allow", q["id"])[0], 1)
    s.close()
    check(wait_for(lambda: any(e["fields"].get("outcome") == "withdrawn" for e in execs(q["sha256"])), LONG))
    (row,) = asked_about(q)
    equal((row["outcome"], row["approver"], row["name"]), ("withdrawn", None, "/bin/echo"))
    check(row["duration_us"] > 0, row)


@test("the session ends while a question is open: who-approved has it as withdrawn, before the session's end", 300)
def withdrawn_by_end():
    s = session()
    ask(s, "/bin/echo", "x")
    q = question(s.p.pid)
    s.close()
    check(wait_for(lambda: asked_about(q), LONG), "no record of it")
    (row,) = asked_about(q)
    equal((row["outcome"], row["verdict"]), ("withdrawn", "deny"))
    (end,) = [e for e in audit() if e["kind"] == "stop" and e["session"] == row["session"] and e["writer"]["role"] == "supervisor"]
    check(end["idx"] > row["idx"], (end, row))


@test("while a question is open other programs of the server go on, and so do other servers", 300)
def others_go_on():
    s, other = session(), session()
    rid = ask(s, "/bin/sh", "-c", "/bin/echo late & /bin/true && echo early; wait")
    q = question(s.p.pid)
    equal(text(other, ask(other, "/bin/sh", "-c", "/bin/true && echo yes")), "exit 0\nyes\n")
    rid2 = ask(other, "/bin/echo", "second")
    q2 = question(other.p.pid)
    allow(q2)
    equal(text(other, rid2), "exit 0\nsecond\n")
    allow(q)
    equal(text(s, rid), "exit 0\nearly\nlate\n")
    s.close()
    other.close()


@test("the agent's pings are answered, and who asked for progress hears that a person is asked", 300)
def stands_still():
    s = session()
    rid = ask(s, "/bin/echo", "x", meta={"progressToken": 7})
    q = question(s.p.pid)
    equal(s.request("ping")["result"], {})
    m = said(s, "notifications/progress")
    equal(m["params"]["progressToken"], 7)
    within("person", m["params"]["message"])
    equal(s.request("ping")["result"], {})
    allow(q)
    equal(text(s, rid), "exit 0\nx\n")
    equal(s.request("ping")["result"], {}, "the server's own again")
    s.close()


@test("kennel pings the agent itself while the server stands still, and keeps the answer; without a question it sends none", 300)
def pings():
    s = session()
    s.call("sleep", LONG, n=1500)
    equal(s.lines, [], "control: longer than until the first, and nobody is asked")
    rid = ask(s, "/bin/echo", "x")
    q = question(s.p.pid)
    m = said(s, "ping")
    check(isinstance(m["id"], str) and m["id"].startswith("kennel-") and "params" not in m, m)
    s.send({"jsonrpc": "2.0", "id": m["id"], "result": {}})
    allow(q)
    equal(text(s, rid), "exit 0\nx\n")
    s.close()
    check(audited('"kennel"', '"ping"', "1 of 1 answered", seconds=LONG), "written down")
    absent("nobody's answer", json.dumps([e for e in audit("--kind", "dropped")]))


@test("a version without pings is sent none while a person is asked: progress it hears of", 300)
def no_pings():
    s = kennel_run(ASKS)
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "kit", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}
    rid = ask(s, "/bin/echo", "x", meta=dict(meta, progressToken=1))
    q = question(s.p.pid)
    for _ in range(2):  # at once, and where a ping would have come with it
        m = said(s, "notifications/progress")
    allow(q)
    equal(text(s, rid), "exit 0\nx\n")
    equal([m for m in s.lines if m.get("method") == "ping"], [])
    s.close()


@test("MCP-ATTACKS 45 too many questions: the 65th program is refused, the others still wait; the end withdraws all", 300)
def flood():
    s = session("    limit processes 256\n")
    ask(s, "/bin/sh", "-c", "i=0; while [ $i -lt 65 ]; do i=$((i+1)); /bin/echo $i & done; wait")
    question(s.p.pid, 64)
    equal([m for m in s.lines if "result" in m], [], "it stands still")
    check(audited("too many pending approvals", seconds=LONG), "the next one")
    equal(len(questions(s.p.pid)), 64)
    pid = s.p.pid
    s.close()
    gone(pid)


@test("a supervisor that is gone is a no: nothing that waited has run", 300)
def supervisor_gone():
    s = session()
    ask(s, "/bin/sh", "-c", "/bin/echo x > /tmp/ran; sleep 60")
    q = question(s.p.pid)
    below = set(descendants(s.p.pid))
    os.kill(s.p.pid, signal.SIGKILL)
    check(wait_for(lambda: not any(alive(p) for p in below), LONG) is not None, "all of it is gone")
    s.p.wait()
    absent("allow", [e["fields"]["verdict"] for e in execs(q["sha256"])])


@test("MCP-ATTACKS 46 a number that is used again names no other question: the digest's beginning goes with it", 300)
def digest():
    s = session()
    rid = ask(s, "/bin/echo", "x")
    q = question(s.p.pid)
    name, _, hexa = q["id"].partition(":")
    equal(hexa, q["sha256"][:8])
    wrong = "%08x" % (int(hexa, 16) ^ 1)
    equal(approve("allow", name + ":" + wrong)[0], 1)
    for bad in (":", ":zz", ":" + "0" * 65, ":" + hexa + "x", ":" + hexa.upper() + "G"):
        equal(approve("allow", name + bad)[0], 64, bad)
    equal(question(s.p.pid)["id"], q["id"], "it still waits")
    equal(approve("allow", name + ":" + q["sha256"])[0], 0, "all of it will do")
    equal(text(s, rid), "exit 0\nx\n")
    s.close()


@test("kennel exec asks at a socket of its own", 300)
def by_exec():
    p = start([KENNEL, "exec", "--policy", policy(ASKS), "t", "--", "/bin/echo", "hello"],
              stdout=subprocess.PIPE)
    q = question(p.pid)
    equal(json.loads(q["detail"])["argv"], ["/bin/echo", "hello"])
    allow(q)
    equal(p.communicate(timeout=LONG)[0], b"hello\n")
    equal(p.returncode, 0)
    p = start([KENNEL, "exec", "--policy", policy(ASKS), "t", "--", "/bin/echo", "hello"],
              stdout=subprocess.PIPE)
    deny(question(p.pid))
    equal(p.communicate(timeout=LONG)[0], b"")
    equal(p.returncode, 126)


@test("MCP-ATTACKS 27 a refused program is put together with the call, and its error says what to do instead", 300)
def refused_is_told():
    s = session('    exec deny /bin/sh -c evil because "no evil here" instead "be good"\n')
    r = s.wait(ask(s, "/bin/sh", "-c", "evil", fail=True), LONG)["result"]
    equal(r["isError"], True)
    equal(r["content"][0]["text"], "EACCES")
    within("no evil here", r["content"][1]["text"])
    within("Instead: be good", r["content"][1]["text"])
    within("/bin/sh", r["content"][1]["text"])
    # a result that is no error stays as it is; so does one of an earlier call
    equal(len(s.wait(ask(s, "/bin/sh", "-c", "evil"), LONG)["result"]["content"]), 1)
    equal(len(s.wait(ask(s, "/nope", fail=True), LONG)["result"]["content"]), 1)
    # what the policy has no words for is linked in the log, and no more
    r = s.wait(ask(s, "/bin/true", "with", "words", fail=True), LONG)["result"]
    equal(len(r["content"]), 1, r)
    rid = s.n
    s.close()
    check(audited('"refused"', "exec refused", '"request": "%d"' % rid, "/bin/true", seconds=LONG), "linked")


@test("MCP-ATTACKS 27 what is killed at its exec stop is put together with the call, in the policy's own words", 300)
def killed_is_told():
    d = public_folder("killed")
    os.chmod(d, 0o755)
    script = d + "/script"

    def write(first):
        with open(script, "w") as f:
            f.write(first + "\n")
        os.chmod(script, 0o755)
    write("#!/bin/sh")
    s = session('    exec allow /bin/cat\n    exec allow %s because "it is this script" instead "put it back"\n' % words(script))
    equal(text(s, ask(s, script, fail=True)), "exit 0\n", "control")
    # its owner, outside, gives it another interpreter: the kernel starts that one
    write("#!/bin/cat")
    r = s.wait(ask(s, script, fail=True), LONG)["result"]
    equal(r["content"][0]["text"], "signal", "killed")
    equal(len(r["content"]), 2, r)
    within("it is this script", r["content"][1]["text"])
    within("Instead: put it back", r["content"][1]["text"])
    s.close()
    check(audited('"killed"', "another program than the one checked", script, seconds=LONG), "written down")


@test("MCP-ATTACKS 27 in a batch each failed element says what to do instead, and each call is linked in the log", 300)
def refused_in_a_batch():
    more = '    exec deny /bin/sh -c evil because "no evil here" instead "be good"\n'
    s = kennel_run(ASKS + more)
    s.initialize("2025-03-26")

    def call(rid, *argv):
        return {"jsonrpc": "2.0", "id": rid, "method": "tools/call",
                "params": {"name": "exec", "arguments": {"argv": list(argv), "fail": True}}}

    def batch(*calls):
        s.send(list(calls))
        got = s.message(LONG)
        check(isinstance(got, list), "an array is answered by an array: %s" % got)
        return {m["id"]: [c["text"] for c in m["result"]["content"]] for m in got}
    got = batch(call(71, "/bin/true"), call(72, "/nope"))
    equal(got, {71: ["exit 0\n"], 72: ["ENOENT"]}, "control: nothing that the policy has words for")
    got = batch(call(73, "/bin/sh", "-c", "evil"), call(74, "/bin/true"), call(75, "/bin/sh", "-c", "evil"))
    equal(got[74], ["exit 0\n"])
    for rid in (73, 75):
        equal((got[rid][0], len(got[rid])), ("EACCES", 2), got)
        within("no evil here", got[rid][1])
        within("Instead: be good", got[rid][1])
    s.close()
    for rid in (73, 75):
        check(audited('"refused"', "exec refused", '"request": "%d"' % rid, "/bin/sh", seconds=LONG), "linked")
    absent('"request": "72"', json.dumps([e for e in audit("--kind", "refused") if "/bin/sh" in json.dumps(e)]))


@test("MCP-ATTACKS 46 the socket is not in the server's reach; whoever answers is written down", 300)
def out_of_reach():
    s = session()
    rid = ask(s, "/bin/echo", "x")
    q = question(s.p.pid)
    path = os.path.join(HOME, "run", "ask-%d" % s.p.pid)
    check(os.path.exists(path), path)
    p = subprocess.Popen([KENNEL, "approve", "allow", q["id"]])
    equal(p.wait(), 0)
    equal(text(s, rid), "exit 0\nx\n")
    s.n += 1
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call",
            "params": {"name": "open", "arguments": {"path": path}}})
    equal(text(s, s.n), "ENOENT", "in the cell there is no such path")
    s.close()
    check(audited('"approve"', "uid %d, pid %d" % (os.getuid(), p.pid), seconds=LONG), "who")


@test("MCP-ATTACKS 27 an option where a word was granted is refused before it runs", 300)
def option_injected():
    s = session("    exec allow /usr/bin/printf %s -- <text>\n")
    equal(text(s, ask(s, "/usr/bin/printf", "%s", "--", "-x --output=/etc/passwd")),
          "exit 0\n---x --output=/etc/passwd", "control: behind -- it is a word")
    equal(text(s, ask(s, "/usr/bin/printf", "--output=/etc/passwd", "--", "x")), "EACCES")
    equal(text(s, ask(s, "/usr/bin/printf", "%s", "--output", "--", "x")), "EACCES")
    s.close()


@test("MCP-ATTACKS 54 a program of the same name in a writable folder, early on PATH, is not run", 300)
def early_on_path():
    s = session("    exec allow /bin/uname\n    exec allow /bin/chmod **\n")
    evil = "printf '#!/bin/sh\\necho evil\\n' > /tmp/uname; /bin/chmod +x /tmp/uname; "
    equal(text(s, ask(s, "/bin/sh", "-c", evil + "uname")), "exit 0\nLinux\n", "control")
    equal(text(s, ask(s, "/bin/sh", "-c", evil + ". /tmp/uname")), "exit 0\nevil\n", "control: it is there")
    absent("evil", text(s, ask(s, "/bin/sh", "-c", evil + "PATH=/tmp:$PATH; uname")))
    absent("evil", text(s, ask(s, "/bin/sh", "-c", evil + "/tmp/uname")))
    s.close()
    check(audited('"deny"', "/tmp/uname", seconds=LONG), "refused, and written down")


if __name__ == "__main__":
    main()
