"""A secret whose use is approved by a person: nothing is resolved before the yes, and silence is no."""
import json
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
LONG = 45  # seconds until something that must come is given up
VALUE = "use-s3ntinel-%d-k3nn3l" % os.getpid()
PATH = "team/use/token"
MARK = TMP + "/asked-for"  # a helper leaves it when it is run


def helper():
    """A program that prints the value, and leaves a mark that it ran."""
    for name, text in (("value", VALUE + "\n"), ("cmd.sh", "touch %s; exec cat %s/value\n" % (MARK, TMP))):
        with open("%s/%s" % (TMP, name), "w") as f:
            f.write(text)
        os.chmod("%s/%s" % (TMP, name), 0o600)
    if os.path.exists(MARK):
        os.unlink(MARK)
    return "    secret GH from cmd /bin/sh %s/cmd.sh { %%s may files }\n" % TMP


def approve(*given, env=None):
    r = run([KENNEL, "approve"] + list(given), env=env)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def questions(pid, env=None):
    status, out, err = approve("list", "--json", env=env)
    equal(status, 0, err)
    return [q for q in map(json.loads, out.splitlines()) if q["id"].startswith("%d-" % pid)]


def question(pid, n=1, env=None):
    got = []
    wait_for(lambda: got.clear() or got.extend(questions(pid, env)) or len(got) >= n, LONG)
    check(len(got) == n, "%d questions: %s" % (n, got))
    return got[0] if n == 1 else got


def begun(secret, more="", env=None, **how):
    """kennel run, and its agent's first request, which waits."""
    s = kennel_run(toy_policy(secret + more), env=env, **how)
    s.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "kit", "version": "1"}}})
    s.n = 1
    return s


def serves(s, value=VALUE, var="GH"):
    within("serverInfo", json.dumps(s.wait(1, LONG)), "initialize is answered")
    s.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    equal(s.text("getenv", var=var), "***")
    equal(s.text("spell", var=var)[::2], value, "the server has it")


def over(s):
    check(wait_for(lambda: s.p.poll() is not None, LONG) is not None, "kennel stays")
    return s.p.returncode


def approvals(sha, env=None):
    return [e for e in audit(env=env) if e["kind"] == "approve" and e.get("fields", {}).get("sha256") == sha]


@test("S1-66 S1-87 S1-90 S1-77 a person agrees to a secret's use before anything is resolved; who and how long are in the log")
def agreed():
    s = begun(helper() % "approve session")
    q = question(s.p.pid)
    check(not os.path.exists(MARK), "nothing was resolved yet")
    equal((q["server"], q["kind"], q["subject"], q["whole"]), ("t", "secret", "/bin/sh", True))
    detail = json.loads(q["detail"])
    equal((detail["variable"], detail["from"], detail["asked"], detail["signed_by"]),
          ("GH", "cmd", "once for this session", []))
    within("environment", detail["effect"])
    equal(len(detail["policy"]), 64)
    check(q["rule"].endswith(".kennel:5"), q["rule"])
    _, out, _ = approve("list")
    within("t asks for the secret", out.replace('"', ""))
    equal(approve("allow", q["id"], "--session")[0], 0)
    serves(s)
    check(os.path.exists(MARK), "the control: it was resolved")
    equal(questions(s.p.pid), [])
    s.close()
    within("answer with `kennel approve allow", s.stderr(), "who started it is told")
    got = [e for e in audit() if e["kind"] == "approve" and q["sha256"] in json.dumps(e)]
    equal(len(got), 1)
    text = json.dumps(got[0])
    for part in ('"secret"', '"allow"', '"session"', "pid", '"duration_us"'):
        within(part, text)
    mine = [e["kind"] for e in audit() if e["session"] == got[0]["session"]]
    check(mine.index("approve") < mine.index("secrets"), "the yes, then its use: %s" % mine)


@test("S1-78 S1-79 S1-81 no, and silence, end the start; the agent is told why, and no helper ran")
def refused_():
    for answer, more, said in (("deny", "", "a person denied its use"),
                               (None, "    timeout ask 300ms\n", "approval of its use timed out")):
        s = begun(helper() % "approve session", more)
        if answer:
            equal(approve(answer, question(s.p.pid)["id"])[0], 0)
        r = s.wait(1, LONG)
        check("error" in r, r)
        within(said, json.dumps(r))
        equal(over(s), 126)
        check(not os.path.exists(MARK), "nothing was resolved")
        check(audited('"refused"', said), "it is in the log")
        check(audited('"approve"', '"secret"', '"deny"', answer or "nobody"), "and the answer")


@test("S1-76 S1-89 C32 C5 a secret that is asked for each time is for one run: kennel exec asks, and a yes holds once")
def per_call():
    secret = helper() % "approve per-call"
    s = begun(secret)
    within("kennel exec", json.dumps(s.wait(1, LONG)), "kennel run keeps its server")
    equal(over(s), 78)
    check(not os.path.exists(MARK))
    p = policy("    run %s\n%s    exec allow /usr/bin/printenv GH\n" % (words(TOY), secret))
    for given in ("allow", "deny"):
        x = start([KENNEL, "exec", "--policy", p, "t", "--", "/usr/bin/printenv", "GH"],
                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        q = question(x.pid)
        equal(json.loads(q["detail"])["asked"], "at each start")
        # "for this session" is not offered, and counts as once
        equal(approve(given, q["id"], *(["--session"] if given == "allow" else []))[0], 0)
        out, err = x.communicate(timeout=LONG)
        equal((x.returncode, out), (0, b"***\n") if given == "allow" else (126, b""), err)
        if given == "allow":
            got = [e for e in audit() if q["sha256"] in json.dumps(e)]
            within('"once"', json.dumps(got), "recorded as once")


@test("S1-67 a secret that nobody wants to be asked about is used silently; of two only the one that asks is shown")
def silent():
    s = begun(helper() % "" + "    secret NPM from file %s/value { approve session }\n" % TMP)
    q = question(s.p.pid)
    equal((q["subject"], json.loads(q["detail"])["variable"]), (TMP + "/value", "NPM"))
    check(not os.path.exists(MARK), "the one that is not asked about waits with it")
    equal(approve("allow", q["id"])[0], 0)
    serves(s)
    equal(s.text("getenv", var="NPM"), "***")
    s.close()
    s = begun(helper() % "")
    serves(s)
    equal(questions(s.p.pid), [])
    s.close()


@test("the agent's end and a signal end a start that waits; the question is gone, and nothing is left")
def ends():
    for how in ("agent", "half", "signal"):
        s = begun(helper() % "approve session", socket_stdio=how == "half")
        pid = s.p.pid
        q = question(pid)
        leash = [p for p, comm in descendants(pid).items() if comm == "kennel-leash"]
        equal(len(leash), 1, "the control: a leash waits")
        if how == "agent":
            s.p.stdin.close()
        elif how == "half":  # nothing more will come, but answers are read
            s.sock.shutdown(socket.SHUT_WR)
        else:
            os.kill(pid, signal.SIGTERM)
        check(wait_for(lambda: s.p.poll() is not None, LONG) is not None, "kennel stays after %s" % how)
        check(wait_for(lambda: not alive(leash[0]), LONG) is not None, "the leash stays")
        equal(approve("allow", q["id"])[0], 1, "it is gone")
        check(audited('"approve"', '"withdrawn"', q["sha256"], seconds=LONG), "who-approved has no row for it", how)
        check(not os.path.exists(MARK))


@test("a leash that is killed while it asks ends the start: no yes reaches anything")
def killed():
    s = begun(helper() % "approve session")
    question(s.p.pid)
    leash = [p for p, comm in descendants(s.p.pid).items() if comm == "kennel-leash"]
    os.kill(leash[0], signal.SIGKILL)
    check("error" in s.wait(1, LONG))
    equal(over(s), 125)
    check(not os.path.exists(MARK))


def manifest(folder, text):
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with open(folder + "/secrets.kennel", "w") as f:
        f.write(text)
    os.chmod(folder + "/secrets.kennel", 0o600)


def keepers():
    return [p for p, comm in descendants(os.getpid()).items() if comm == "kennel-keeper"]


@test("S1-88 of policy and manifest the stricter holds; the keeper is asked after the yes, and the signer is shown")
def manifests():
    try:
        stricter()
    finally:
        for pid in keepers():
            os.kill(pid, signal.SIGTERM)
    check(wait_for(lambda: not keepers(), LONG) is not None, "the keeper stays")


def stricter():
    env = {"KENNEL_HOME": TMP + "/use-home"}

    def secret(*given, stdin="", status=0):
        r = run([KENNEL, "secret"] + list(given), stdin=stdin, env=env)
        equal(r.returncode, status, r.stderr)

    secret("init", "--stdin", stdin="a passphrase of some length")
    secret("set", PATH, "--stdin", stdin=VALUE)
    line = "    secret GH from vault %s\n" % PATH
    text = policy(toy_policy(line))
    key, p = TMP + "/use.key", TMP + "/use.sealed"
    for name in (key, key + ".pub"):
        if os.path.exists(name):
            os.unlink(name)
    for cmd in (["key", "new", key], ["compile", text, "-o", p], ["sign", p, "--key", key]):
        r = run([KENNEL, "policy"] + cmd, env=env)
        equal(r.returncode, 0, "%s: %s" % (cmd, r.stderr))
    secret("grant", PATH, "--server", "t", "--policy", p)

    def session():
        s = Mcp([KENNEL, "run", "t", "--policy", p], env=env)
        s.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "k", "version": "1"}}})
        s.n = 1
        return s

    s = session()
    serves(s)
    s.close()
    log = env["KENNEL_HOME"] + "/vault/keeper.log"
    released = reads(log).count(b"released")
    equal(released, 1, "the control: the keeper tells of it")
    config = env["KENNEL_HOME"]
    manifest(config, "secret %s { approve session }\n" % PATH)
    s = session()
    q = question(s.p.pid, env=env)
    equal((q["subject"], json.loads(q["detail"])["from"]), (PATH, "vault"))
    equal(len(json.loads(q["detail"])["signed_by"]), 1)
    equal(reads(log).count(b"released"), released, "not before the yes")
    equal(approve("allow", q["id"], env=env)[0], 0)
    serves(s)
    s.close()
    equal(reads(log).count(b"released"), released + 1)
    manifest(config, "secret %s { approve per-call }\n" % PATH)
    s = session()
    within("per call", json.dumps(s.wait(1, LONG)))
    equal(over(s), 78)
    manifest(config, "secret %s { approve never, never }\n" % PATH)
    s = session()
    within("kennel secret validate", json.dumps(s.wait(1, LONG)), "what cannot be read might have asked")
    equal(over(s), 65)
    equal(reads(log).count(b"released"), released + 1)


@test("S1-88 a manifest also holds for a path that sources.kennel routes away from the vault; without one nobody is asked")
def routed():
    env = {"KENNEL_HOME": TMP + "/routed-home"}
    config = env["KENNEL_HOME"]
    line = "    secret GH from source %s\n" % PATH
    helper()
    os.makedirs(config, mode=0o700, exist_ok=True)
    with open(config + "/sources.kennel", "w") as f:
        f.write("source own {\n\tfrom cmd /bin/sh %s/cmd.sh\n\tmay files\n}\nroute %s own\n" % (TMP, PATH))
    os.chmod(config + "/sources.kennel", 0o600)
    s = begun(line, env=env)
    serves(s)  # the control
    s.close()
    os.unlink(MARK)
    manifest(config, "secret %s { approve session }\n" % PATH)
    s = begun(line, env=env)
    q = question(s.p.pid, env=env)
    equal((q["subject"], json.loads(q["detail"])["from"]), (PATH, "cmd"))
    check(not os.path.exists(MARK), "nothing was resolved yet")
    equal(approve("deny", q["id"], env=env)[0], 0)
    within("a person denied its use", json.dumps(s.wait(1, LONG)))
    equal(over(s), 126)
    check(not os.path.exists(MARK))
    s = begun(line, env=env)
    equal(approve("allow", question(s.p.pid, env=env)["id"], env=env)[0], 0)
    serves(s)
    s.close()
    manifest(config, "secret team/use/other { approve session }\n")
    s = begun(line, env=env)
    serves(s)  # of another path
    s.close()


main()
