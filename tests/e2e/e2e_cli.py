"""What a person types: doctor, policy, audit."""
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403


@test("doctor says what this machine can enforce; --json parses; servers can be confined here")
def doctor():
    r = run([KENNEL, "doctor"])
    equal(r.returncode, 0, (r.stdout + r.stderr).decode(errors="replace")[-800:])
    check(r.stdout.strip(), "it says nothing")
    r = run([KENNEL, "doctor", "--json"])
    equal(r.returncode, 0)
    json.loads(r.stdout)


@test("explain: a hidden path is hidden by its line, also where a link leads to it, and the grant around it covers it")
def explain_hidden():
    home = TMP + "/explained"
    os.makedirs(home + "/.ssh")
    open(home + "/.ssh/id", "w").close()
    os.symlink(".ssh", home + "/link")
    os.symlink(".", home + "/here")
    path = policy("    run /bin/true\n    read %s\n    hide %s/.ssh\n" % (home, home))

    def explain(kind, name, status):
        r = run([KENNEL, "policy", "explain", path, "t", kind, home + name])
        equal(r.returncode, status, r.stdout)
        j = json.loads(run([KENNEL, "policy", "explain", "--json", path, "t", kind, home + name]).stdout)
        return r.stdout.decode(), j
    hidden = "hidden: covered by an empty, unreadable mount"
    text, j = explain("read", "/.ssh/id", 1)
    within("by: hide %s/.ssh" % home, text)
    within("enforced: " + hidden, text)
    within("the line that decides is closer to the path", text)
    check("leads_to" not in j, j)
    text, j = explain("read", "/link/id", 1)
    within("a link on this path leads to another file now, which decides:\ndeny: read %s/.ssh/id\nby: hide" % home, text)
    equal((j["verdict"], j["leads_to"]["verdict"], j["leads_to"]["enforced"]), ("allow", "deny", hidden))
    equal((j["leads_to"]["path"], j["leads_to"]["by"]["text"]), (home + "/.ssh/id", "hide %s/.ssh" % home))
    equal(explain("read", "/here/link", 1)[1]["leads_to"]["verdict"], "deny", "a link to a link")
    equal(explain("read", "/here", 0)[1]["leads_to"]["verdict"], "allow", "the control")
    check("leads_to" not in explain("read", "/new", 0)[1], "the control: no link")
    absent("to make it deny", text, "the first verdict is not the answer")
    os.symlink(home, TMP + "/beside")
    r = run([KENNEL, "policy", "explain", path, "t", "read", TMP + "/beside"])
    equal((r.returncode, b"a link" in r.stdout), (1, False), "what is not granted is no link in a cell")
    # the cell has its own /tmp and /proc
    os.symlink("/etc/hostname", "/tmp/explained-%s-%d" % (AS, os.getpid()))
    try:
        for kind, at in (("write", "/tmp/explained-%s-%d" % (AS, os.getpid())), ("read", "/proc/self/status")):
            r = run([KENNEL, "policy", "explain", path, "t", kind, at])
            equal((r.returncode, b"a link" in r.stdout), (0, False), r.stdout)
    finally:
        os.unlink("/tmp/explained-%s-%d" % (AS, os.getpid()))


@test("score: what is not known yet, such as hosts that are to be added, is said and gets no points")
def score_unknown():
    def score(body):
        path = policy("    run /bin/true\n    limit memory 64M cpu 50%\n" + body)
        s = json.loads(run([KENNEL, "policy", "score", "--json", path]).stdout)["servers"][0]
        return s["score"], s["unknown"], {i["rule"] for i in s["items"]}, run([KENNEL, "policy", "score", path]).stdout.decode()
    secret = "    secret TOKEN from env TOKEN%s\n"
    points, unknown, rules, text = score(secret % "")
    equal((points, unknown), (4, 2), "as in a preset without its hosts")
    equal(rules, {"secret", "secret-env", "hosts-unknown", "secret-unknown"})
    within("server t: 4, and 2 not known\n", text)
    within("    ? hosts-unknown   no `net` line: if it needs hosts, they are not in this score\n", text)
    equal(score(secret % " { hosts api.example.com }")[1], 1, "the secret is restricted already")
    points, unknown, rules, text = score(secret % "" + "    net allow api.example.com:443\n")
    equal((points, unknown), (11, 0), "the control")
    check("secret-anywhere" in rules, rules)
    within("server t: 11\n", text)


@test("doctor counts one error in the singular")
def doctor_counts():
    env = {"KENNEL_HOME": TMP + "/counts"}
    os.makedirs(TMP + "/counts/policies")
    for n, told in ((1, ", 1 error\n"), (2, ", 2 errors\n")):
        with open(TMP + "/counts/policies/p%d.kennel" % n, "w") as f:
            f.write("server p%d {\n    nonsense\n}\n" % n)
        within(told, run([KENNEL, "doctor"], env=environment(env)).stdout.decode())


@test("doctor names the fix and exits 1 where no server can be confined")
def doctor_bad():
    # One user namespace deeper, with none left to make.
    cmd = "echo 0 > /proc/sys/user/max_user_namespaces && exec %s doctor" % KENNEL
    r = unconfined(["unshare", "-Ur", "sh", "-c", cmd], env={"KENNEL_HOME": "/nonexistent/kennel"})
    equal(r.returncode, 1, (r.stdout + r.stderr).decode(errors="replace")[-800:])
    within(b"user namespace", r.stdout.lower().replace(b"_", b" ") + r.stderr.lower())
    within("fix: sysctl -w user.max_user_namespaces=15000; to keep it, write it to /etc/sysctl.d/60-kennel.conf",
           r.stdout.decode(), "the setting, and where it stays")


@test("K-07 K-08 policy check, compile, show")
def policy_verbs():
    p = policy(toy_policy("    secret T from env X\n    exec allow /bin/echo good **"))
    r = run([KENNEL, "policy", "check", p])
    equal((r.returncode, r.stderr), (0, b""))
    out = TMP + "/cli.sealed"
    equal(run([KENNEL, "policy", "compile", p, "-o", out]).returncode, 0)
    for f in (p, out):
        r = run([KENNEL, "policy", "show", f])
        equal(r.returncode, 0, r.stderr)
        for word in (b"/bin/echo", b"T", b"toy"):
            within(word, r.stdout, f)


@test("policy errors: file, line, column, caret; all of them in one run; 65")
def policy_errors():
    p = TMP + "/bad.kennel"
    with open(p, "w") as f:
        f.write("server t {\n    run /bin/sh\n    raed /tmp\n    limit memory 5Q\n    exec maybe /bin/ls\n}\n")
    r = run([KENNEL, "policy", "check", p])
    equal(r.returncode, 65)
    for line in (3, 4, 5):
        within(b"bad.kennel:%d:" % line, r.stderr)
    within(b"^", r.stderr)
    within(b"read", r.stderr, "a suggestion")


@test("a host with a scheme, and a question about a host without a port, are answered with the form that is expected")
def hosts():
    path = policy(toy_policy("    net allow https://api.example.com\n"))
    r = run([KENNEL, "policy", "check", path])
    equal(r.returncode, 65)
    within(b"error: expected HOST:PORT without a scheme, as in api.example.com:443\n", r.stderr)
    path = policy(toy_policy("    net allow api.example.com:443\n"))
    r = run([KENNEL, "policy", "query", path, "reach", "api.example.com"])
    equal(r.returncode, 64)
    within(b"reach takes HOST:PORT, as in api.example.com:443", r.stderr)
    r = run([KENNEL, "policy", "query", path, "reach", "api.example.com:443"])
    within(b"allow", r.stdout, "the control")


@test("S3-04 S4-45 servers by name: what a file adds can be run; without a place or a file, an error that says so")
def by_name():
    env = {"KENNEL_HOME": TMP + "/home-names"}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}
    for made in (False, True):
        if made:
            os.makedirs(env["KENNEL_HOME"] + "/policies", exist_ok=True)
        r = run([KENNEL, "run", "added"], stdin=json.dumps(hello) + "\n", env=env)
        equal(r.returncode, 78, r.stderr)
        m = json.loads(r.stdout)
        equal(m["id"], 1)
        within("no policy for server added", m["error"]["message"])
    with open(env["KENNEL_HOME"] + "/policies/any.kennel", "w") as f:
        f.write("server added {\n%s}\n" % toy_policy())
    s = Mcp([KENNEL, "run", "added"], env=env)
    s.initialize()
    within("echo", json.dumps(s.request("tools/list")))
    s.close()


@test("K-10 audit log: for people and as JSON lines; verify says intact")
def audit_verbs():
    s = kennel_run(toy_policy())
    s.initialize()
    s.text("echo", text="for the auditor")
    s.close()
    events = audit()
    kinds = {json.dumps(e) for e in events}
    check(len(events) >= 4, kinds)
    for word in ("start", "call", "echo", "stop"):
        check(any(word in k for k in kinds), word, kinds)
    check(not any("for the auditor" in k for k in kinds), "arguments stand in the log")
    r = run([KENNEL, "audit", "log"])
    equal(r.returncode, 0, r.stderr)
    within(b"echo", r.stdout)
    r = audit_verify()
    equal(r.returncode, 0, r.stdout + r.stderr)
    within(b"intact", r.stdout)


@test("audit verify names a record that was changed, removed or added")
def tampered():
    s = kennel_run(toy_policy())
    s.initialize()
    s.text("echo", text="x")
    s.close()
    db = [d + "/" + f for d, _, fs in os.walk(HOME) for f in fs if f == "audit.db"]
    check(db, "no audit.db under", HOME)
    wait_for(lambda: not descendants(os.getpid()), 15)
    original = {f: reads(db[0] + f) for f in ("", "-wal", "-shm")}
    c = sqlite3.connect(db[0])
    tables = [t[0] for t in c.execute("select name from sqlite_master where type='table'")]
    triggers = [t[0] for t in c.execute("select name from sqlite_master where type='trigger'")]
    check(triggers, "no append-only triggers")
    done = 0
    for t in tables:
        columns = c.execute("pragma table_info(%s)" % t).fetchall()
        blobs = [x[1] for x in columns if x[2].upper() == "BLOB"]
        if not blobs or c.execute("select count(*) from %s" % t).fetchone()[0] < 3:
            continue
        for x in (blobs[0],):
            try:
                c.execute("update %s set %s = zeroblob(10)" % (t, x))
                check(False, "the trigger let an update of %s through" % t)
            except sqlite3.DatabaseError:
                done += 1
    check(done, "nothing to change in", tables)
    for name in triggers:
        c.execute("drop trigger %s" % name)
    for t in tables:
        info = c.execute("pragma table_info(%s)" % t).fetchall()
        key = info[0][1]
        columns = [x[1] for x in info if x[2].upper() == "BLOB"]
        for x in columns[:1]:
            c.execute("update %s set %s = cast(substr(%s, 1, length(%s) - 2) || '}}' as blob) where %s = 2" % (t, x, x, x, key))
    c.commit()
    c.close()
    r = audit_verify()
    for f, data in original.items():
        if data:
            with open(db[0] + f, "wb") as out:
                out.write(data)
        elif os.path.exists(db[0] + f):
            os.unlink(db[0] + f)
    check(r.returncode in (1, 2), "status %d" % r.returncode, r.stdout + r.stderr)
    equal(audit_verify().returncode, 0, "the log as it was")


@test("a user without a line in /etc/passwd: no name service module is loaded, HOME or an error decides")
def no_passwd_line():
    if os.geteuid() != 0:
        skip("needs root")
    uid = next(u for u in range(23456, 24456) if not any(
        line.split(":")[2] == str(u) for line in open("/etc/passwd")))
    other = ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups", "--"]
    for env in ({}, {"HOME": "/nonexistent"}):
        r = run(["env", "-i"] + ["%s=%s" % e for e in env.items()] + other + [KENNEL, "audit", "sessions"])
        check(r.returncode in (125, 127), "ended by %d" % r.returncode)
        within(b"log" if env else b"set HOME or KENNEL_HOME", r.stderr)
    # control: one who has a line is found by it, without HOME
    line = next(f for f in (x.split(":") for x in open("/etc/passwd")) if f[0] == "nobody")
    nobody = ["setpriv", "--reuid=%s" % line[2], "--regid=%s" % line[3], "--clear-groups", "--"]
    r = run(["env", "-i"] + nobody + [KENNEL, "audit", "sessions"])
    within(line[5].encode(), r.stderr)


@test("version and help")
def help_():
    r = run([KENNEL, "--help"])
    equal(r.returncode, 0)
    within(b"\n  run ", r.stdout)


if __name__ == "__main__":
    main()
