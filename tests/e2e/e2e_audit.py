"""K-10 S3-41: what an auditor finds in the log, and what nobody gets into it."""
import hashlib
import os
import resource
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
SECRET = "audit-s3ntinel-%d-k3nn3l" % os.getpid()
SHELL = "    run %s **\n    exec allow /bin/sh **\n    exec allow /bin/cat\n" % words(WITNESS)


def home(name):
    """A log of its own."""
    d = "%s/%s" % (TMP, name)
    os.makedirs(d, mode=0o700, exist_ok=True)
    return {"KENNEL_HOME": d}


def kinds(events):
    return [(e["writer"]["role"], e["kind"]) for e in events]


def only(events, kind, role=None):
    return [e for e in events if e["kind"] == kind and role in (None, e["writer"]["role"])]


def raw_log(env):
    d = env["KENNEL_HOME"] + "/audit"
    return b"".join(reads(d + "/" + f) for f in os.listdir(d))


def recorders():
    return {p for p, comm in descendants(os.getpid()).items() if comm.startswith("kennel-recorder")}


def new_recorder(before):
    new = recorders() - before
    equal(len(new), 1, "recorders")
    return new.pop()


@test("K-10 S2-49 S3-52 a session from its start to its end, each record linked to session, server and policy")
def whole():
    env = home("whole")
    s = kennel_run(toy_policy("    exec allow /bin/echo **\n    secret S from env AGENT_TOKEN\n    tool deny \"env\"\n"),
                   env={**env, "AGENT_TOKEN": SECRET})
    s.initialize()
    s.text("exec", argv=["/bin/echo", "x"])
    s.text("getenv", var="S")
    s.call("env")
    s.close()
    check(wait_for(lambda: len(only(audit(env=env), "stop")) == 2, 3), kinds(audit(env=env)))
    events = audit(env=env)
    for kind in ("policy.load", "start", "mounts", "secrets", "exec", "call", "refused", "scrub", "stop"):
        check(only(events, kind), "no " + kind)
    start = only(events, "start")[0]
    equal([e["kind"] for e in events[:2]], ["policy.load", "start"], "first")
    load = events[0]["fields"]
    equal((load["mode"], len(load["sha256"])), ("text", 64))
    check(load["name"][0].endswith(".kennel") and load["name"][0][0] == "/", load)
    equal(hashlib.sha256(reads(load["name"][0])).hexdigest(), load["sha256"], "the file that was read")
    equal(len({e["session"] for e in events}), 1, "sessions")
    for e in events:
        equal(e["fields"].get("policy"), start["fields"]["policy"], "policy of %s" % e["kind"])
        equal(e["fields"].get("server"), "t", "server of %s" % e["kind"])
    equal(only(events, "secrets")[0]["fields"]["name"], ["S"])
    run_ = [e["fields"] for e in only(events, "exec") if e["fields"]["program"] == "/bin/echo"][0]
    equal(run_["verdict"], "allow")
    check(matches(r"\.kennel:\d+$", run_["rule"]), run_)
    tools = [e["fields"] for e in only(events, "call") if e["fields"].get("action") == "mcp_tool_call"]
    equal({(f["method"], f["source"]) for f in tools}, {("tools/call", "mcp:t")})
    asked, told = [f for f in tools if f["name"] == ["exec"]]
    equal((asked["verdict"], asked["outcome"], told["outcome"]), ("allow", "forwarded", "ok"))
    equal(asked["request"], told["request"])
    for key in ("params_sha256", "params_bytes"):
        check(key in asked, key)
    for key in ("result_sha256", "result_bytes", "duration_us"):
        check(key in told, key)
    no = only(events, "refused")[0]["fields"]
    equal((no["verdict"], no["name"], no["action"]), ("deny", ["env"], "mcp_tool_call"))
    check("rule" in no, no)
    check(only(events, "scrub")[0]["fields"]["count"] >= 1)
    check("reason" in only(events, "stop", "supervisor")[0]["fields"], "why kennel ended")
    equal(audit_verify(env).returncode, 0)
    absent(SECRET.encode(), raw_log(env), "the log")


@test("S4-20 S4-31 a start that is refused is in the log, and why")
def refusals():
    env = home("refusals")

    def last(status, **want):
        f = audit("-n", "1", env=env)[0]
        equal(f["kind"], "refused")
        want.update(verdict="deny", status=status, mode="exec")
        for k, v in want.items():
            equal(f["fields"].get(k), v, k)
        return f["fields"]["reason"]

    equal(kexec(SHELL, ["/bin/ls"], env=env).returncode, 126)
    within("not granted", last(126, program="/bin/ls", server="t"))
    equal(kexec(SHELL, ["/bin/cat", "x"], env=env).returncode, 126)
    within("arguments", last(126, program="/bin/cat"))
    equal(kexec(SHELL, ["/nope"], env=env).returncode, 127)
    within("not found", last(127, program="/nope"))
    r = kexec("    run /bin/sh **\n", ["sh", "-c", "exit 0"], env=env)
    equal((r.returncode, b"sh: not found; the policy grants /bin/sh" in r.stderr), (127, True), r.stderr)
    body = SHELL + "    secret TOKEN from env NOT_THERE\n"
    equal(kexec(body, [WITNESS], env=env).returncode, 125)
    within("missing secret: TOKEN", last(125, server="t"))
    body = SHELL + "    secret TOKEN from cmd /bin/sh -c %s\n" % words("echo %s; exit 3" % SECRET)
    equal(kexec(body, [WITNESS], env=env).returncode, 125)
    within("TOKEN", last(125))
    p = policy("    nonsense here")
    equal(run([KENNEL, "exec", "--policy", p, "t", "--", WITNESS], env=environment(env)).returncode, 65)
    within("error", last(65, server="t"))
    equal(run([KENNEL, "exec", "--policy", TMP + "/none", "t", "--", WITNESS],
              env=environment(env)).returncode, 78)
    last(78, server="t")
    equal({e["fields"]["verdict"] for e in audit("--verdict", "deny", env=env)}, {"deny"})
    for e in audit("--verdict", "deny", env=env):
        absent(b"no line allows it", run([KENNEL, "audit", "why", str(e["idx"])], env=env).stdout, "a start has no rule")
    equal(len(audit("--verdict", "deny", env=env)), 8)
    equal(audit_verify(env).returncode, 0)
    absent(SECRET.encode(), raw_log(env), "the log")


@test("S4-30 ESCAPES 82: a program and an argv[0] named by a secret's value are scrubbed in the log")
def secret_names():
    env = home("names")
    body = SHELL + "    secret TOKEN from env AGENT_TOKEN\n    tmp /tmp\n"
    script = ('"/bin/$TOKEN"; cd /tmp; "./x-$TOKEN-y" a; "$TOKEN"; '
              'ln -s /bin/cat "/tmp/$TOKEN" 2>/dev/null; "/tmp/$TOKEN" </dev/null; exit 0')
    r = kexec(body.replace("    tmp /tmp\n", ""), ["/bin/sh", "-c", script],
              env={**env, "AGENT_TOKEN": SECRET})
    equal(r.returncode, 0, r.stderr)
    told = [e["fields"] for e in only(audit(env=env), "exec") if e["fields"]["verdict"] == "absent"]
    check(any(f["program"] == "/bin/***" for f in told), told)
    check(any("x-***-y" in f["program"] for f in told), told)
    absent(SECRET.encode(), raw_log(env), "the log")
    # argv[0] is the server's own word
    s = kennel_run(toy_policy("    secret TOKEN from env AGENT_TOKEN\n    exec allow /bin/sh **\n"),
                   env={**env, "AGENT_TOKEN": SECRET})
    s.initialize()
    s.call("exec", argv=["/bin/sh", "-c", 'exec "/bin/$TOKEN/../sh" -c true'])
    s.call("leak", mode="error", var="TOKEN")
    s.close()
    check(wait_for(lambda: len(only(audit(env=env), "stop", "supervisor")) == 1, 3), "no end")
    absent(SECRET.encode(), raw_log(env), "the log")


@test("K-10 MCP-ATTACKS 49 ESCAPES 4 names with control characters, JSON and great length are shown inertly and forge nothing")
def inert():
    env = home("inert")
    s = kennel_run(toy_policy(), env=env)
    s.initialize()
    bad = ['x"},"kind":"stop","fields":{"a":"', "a\x1b[2J\x07\r\nb", "\u202edeny\u200b", "n" * 5000,
           "\n       7  2026-01-01 00:00:00.000  stop      t"]
    for name in bad:
        s.call(name)
    s.send_bytes(b'{"jsonrpc":"2.0","id":"q\\u001b[31m","method":"tools/call","params":{"name":"echo"}}\n')
    s.wait("q\x1b[31m")
    s.request("no\x1b]0;x\x07such", {})
    s.close()
    check(wait_for(lambda: len(only(audit(env=env), "stop", "supervisor")) == 1, 3), "no end")
    events = audit(env=env)
    equal(len(only(events, "stop")), 2, "stops")
    text = run([KENNEL, "audit", "log", "--no-header"], env=environment(env))
    equal(text.returncode, 0, text.stderr)
    check(all(32 <= b < 127 or b == 10 for b in text.stdout), "a byte that is not plain")
    equal(len(text.stdout.splitlines()), len(events), "lines")
    raw = run([KENNEL, "audit", "log", "--json"], env=environment(env)).stdout
    check(all(b >= 32 and b != 127 or b == 10 for b in raw), "a control character")
    equal(audit_verify(env).returncode, 0)


@test("S4-20 MCP-ATTACKS 48 a flood of refused programs loses none and forges none", seconds=90)
def flood():
    env = home("flood")
    n = 3000
    r = kexec(SHELL, ["/bin/sh", "-c", "i=0; while [ $i -lt %d ]; do /no/$i; i=$((i+1)); done 2>/dev/null; exit 0" % n],
              env=env, timeout=80)
    equal(r.returncode, 0, r.stderr)
    check(wait_for(lambda: only(audit("-n", "1", env=env), "stop"), 5), "no end")
    asked = [e["fields"]["program"] for e in audit("--kind", "exec", "--verdict", "absent", env=env)]
    equal(asked, ["/no/%d" % i for i in range(n)])
    equal(only(audit(env=env), "gap"), [])


@test("filters, times and --json; exit statuses as documented")
def filters():
    env = home("filters")
    for _ in range(2):
        equal(kexec(SHELL, [WITNESS, "exit", "0"], env=env).returncode, 0)
    events = audit(env=env)
    sessions = sorted({e["session"] for e in events}, key=[e["session"] for e in events].index)
    equal(len(sessions), 2)
    equal({e["session"] for e in audit("--session", sessions[1], env=env)}, {sessions[1]})
    equal(audit("--server", "other", env=env), [])
    equal(audit("-n", "1", env=env), events[-1:])
    equal(audit("--since", "1h", env=env), events)
    equal(audit("--since", "2099-01-01", env=env), [])
    # numbered without a hole; record 0 is the log's own, which is not shown
    equal([e["idx"] for e in events], list(range(1, len(events) + 1)))
    now = time.time()
    check(all(abs(e["ts"] / 1e9 - now) < 60 for e in events), "times")
    for verb in (["log", "--since", "soon"], ["log", "-n", "0"], ["log", "--nope"], ["what"], []):
        equal(run([KENNEL, "audit"] + verb, env=environment(env)).returncode, 64, verb)
    equal(run([KENNEL, "audit", "log"], env=environment(home("none"))).returncode, 127)
    r = run([KENNEL, "audit", "verify", "--json"], env=environment(env))
    equal((r.returncode, json.loads(r.stdout)["status"]), (0, "intact"))
    # an option's value behind all other words is no log
    for last in (["--jobs", "1"], ["--json", "--max-age", "600"], ["--jobs=1"], ["--stopped"]):
        r = run([KENNEL, "audit", "verify"] + last, env=environment(env))
        equal(r.returncode, 0, "%s: %s" % (last, r.stderr))
    other = home("none-but-asked")["KENNEL_HOME"]
    for named in ([other], ["--log", other], ["--jobs", "1", other], [other, "--jobs", "1"]):
        equal(run([KENNEL, "audit", "verify"] + named, env=environment(env)).returncode, 3, str(named))
    equal(run([KENNEL, "audit", "verify", "--jobs"], env=environment(env)).returncode, 64)


def the_plain_way(env):
    """What the fast paths of recorder and verifier made, without them: one thread
    finds what four do, and SQLite's own VFS and checks read what kennel's wrote."""
    one, four = (run([KENNEL, "audit", "verify", "--json", "--jobs", n], env=environment(env))
                 for n in ("1", "4"))
    equal((one.returncode, json.loads(one.stdout)), (four.returncode, json.loads(four.stdout)))
    c = sqlite3.connect("file:%s/audit/audit.db?mode=ro" % env["KENNEL_HOME"], uri=True)
    said = c.execute("PRAGMA integrity_check").fetchone()[0]
    c.close()
    return one.returncode, said


@test("K-10 verify while a recorder runs and after kill -9; an edit is named")
def verify():
    env = home("verify")
    before = recorders()
    s = kennel_run(toy_policy(), env=env)
    s.initialize()
    s.text("echo", text="1")
    equal(audit_verify(env).returncode, 0, "while it runs")
    os.kill(new_recorder(before), signal.SIGKILL)
    equal(audit_verify(env).returncode, 0, "after the kill")
    equal(s.text("echo", text="2"), "2", "a new recorder")
    s.close()
    check(wait_for(lambda: len(only(audit(env=env), "stop")) == 2, 5), kinds(audit(env=env)))
    equal(only(audit(env=env), "gap"), [])
    equal(audit_verify(env).returncode, 0, "at the end")
    check(wait_for(lambda: not recorders() - before, 5), "the recorder stays")
    equal(the_plain_way(env), (0, "ok"))
    db = env["KENNEL_HOME"] + "/audit/audit.db"
    data = reads(db)
    at = data.index(b'"tools/call"')
    with open(db, "r+b") as f:
        f.seek(at)
        f.write(b'"tools/kall"')
    r = run([KENNEL, "audit", "verify", "--json"], env=environment(env))
    said = json.loads(r.stdout)
    equal((r.returncode, said["status"]), (1, "tampered"))
    check("first_bad" in said, said)
    equal(the_plain_way(env), (1, "ok"), "SQLite has no opinion on bytes of a text")


@test("ESCAPES 86 a log that cannot be written: nothing is started, nothing goes on", seconds=90)
def unwritable():
    env = home("garbage")
    os.mkdir(env["KENNEL_HOME"] + "/audit", 0o700)
    with open(env["KENNEL_HOME"] + "/audit/audit.db", "wb") as f:
        f.write(b"no database" * 1000)
    mark = "%s/mark" % public_folder("marks")
    r = kexec(SHELL + "    write %s\n" % words(os.path.dirname(mark)), ["/bin/sh", "-c", "echo > " + mark],
              env=env, timeout=60)
    equal(r.returncode, 125, r.stderr)
    check(not os.path.exists(mark), "it ran")
    within(b"audit log", r.stderr)
    equal(run([KENNEL, "audit", "log"], env=environment(env)).returncode, 125)
    check(audit_verify(env).returncode in (1, 3), "verify")
    # a folder where the log should be made that is a file
    env = home("file")
    with open(env["KENNEL_HOME"] + "/audit", "w"):
        pass
    equal(kexec(SHELL, [WITNESS, "exit", "0"], env=env).returncode, 125)


@test("ESCAPES 86 a disk that is full or stuck: what is granted is refused, the server ends", seconds=90)
def full():
    env = home("full")
    size = 3 << 20  # below what the log's write-ahead file may reach
    loop = "while :; do /bin/cat </dev/null && echo ok || echo no; done"
    t0 = time.time()
    r = kexec(SHELL, ["/bin/sh", "-c", loop], env=env, timeout=60,
              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    check(r.returncode != 0, r.returncode, r.stderr[-500:])
    check(time.time() - t0 < 40, "it went on for %ds" % (time.time() - t0))
    ran = r.stdout.split().count(b"ok")
    kept = len([e for e in audit("--kind", "exec", env=env) if e["fields"]["program"] == "/bin/cat"])
    print("# %d ran, %d of them are on disk" % (ran, kept), flush=True)
    check(kept > 0, "nothing was recorded at all")
    equal(audit_verify(env).returncode, 0)
    # stuck: the recorder is there and does nothing
    env = home("stuck")
    before = recorders()
    s = kennel_run(toy_policy("    exec allow /bin/true\n"), env=env)
    s.initialize()
    pid = new_recorder(before)
    os.kill(pid, signal.SIGSTOP)
    try:
        s.text("echo", text="1")
        time.sleep(1.3)
        r = s.call("echo", text="2")
        within("audit log", json.dumps(r), "a call without a record")
    finally:
        os.kill(pid, signal.SIGCONT)
    check(wait_for(lambda: "result" in s.call("echo", text="3"), 3), "it does not go on")
    s.close()


FILL = r"""
mount -t tmpfs -o size=1500k,mode=700 none "$1" || exit 77
exec sh -c '
    $K doctor | grep -A1 audit-log
    head -c 8m /dev/zero >"$KENNEL_HOME/fill" 2>/dev/null
    flock -w 5 "$KENNEL_HOME/audit/audit.lock" true
    echo == doctor; $K doctor | grep -A1 audit-log
    echo == run; echo "$HELLO" | $K run t --policy "$P" 2>&1
    echo == keeper; $K secret unlock 2>&1
    truncate -s -700k "$KENNEL_HOME/fill"
    echo == later; sleep 4 | $K exec --policy "$P" t -- $SH -c "while $TRUE; do :; done; read x" 2>&1
    echo == room; $K doctor | grep -A1 audit-log
    truncate -s 0 "$KENNEL_HOME/fill"
    echo == again; $K doctor | grep -A1 audit-log' sh
"""


@test("a full disk is named with its file system and the bytes free: by doctor, at a start and when a session loses its log", seconds=90)
def full_disk_named():
    if os.getuid() != 0:
        skip("only root mounts a small file system that a policy's paths are trusted in")
    d = TMP + "/full-disk"
    os.makedirs(d, mode=0o700)
    at = {name: os.path.realpath("/bin/" + name) for name in ("sh", "true")}
    p = policy("    run %(sh)s **\n    exec allow %(true)s\n" % at)
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    r = run(["unshare", "-m", "--", "sh", "-c", FILL, "sh", d], timeout=80,
            env=environment({"KENNEL_HOME": d, "K": KENNEL, "P": p, "HELLO": hello, "SH": at["sh"], "TRUE": at["true"]}))
    out = r.stdout.decode()
    part = dict(zip(["ok"] + re.findall(r"^== (\w+)$", out, re.M), re.split(r"^== \w+\n", out, flags=re.M)))
    check(part["ok"].startswith("ok"), out, r.stderr)
    named = "No space left on device: the file system at %s has " % d
    for name in ("doctor", "run", "room"):
        within(named, part[name], name)
        check(matches(r"has \d+ bytes free", part[name]), part[name])
    check(part["doctor"].startswith("NO") and "fix: free space" in part["doctor"], part["doctor"])
    within('"error"', part["run"], "the agent's answer")
    within("nothing was started", part["run"])
    within("lost the audit recorder: " + named, part["later"])
    check("Broken pipe" not in out, out)
    check(part["again"].startswith("ok"), part["again"])


@test("a log that outgrows a limit of file sizes: doctor and a start name the reason, not a broken pipe")
def limited():
    env = home("limited")
    size = 200 << 10  # less than the reserve
    how = {"env": environment(env), "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}
    r = run([KENNEL, "doctor"], **how)
    row = [x for x in r.stdout.decode().split("\n") if "audit-log" in x][0]
    check(row.startswith("NO"), row)
    within("File too large: the file system at ", row)
    check(matches(r"has \d+ bytes free, and 327680 must be written", row), row)
    within(b"ulimit -f", r.stdout)
    equal(r.returncode, 1)
    r = run([KENNEL, "exec", "--policy", policy(SHELL), "t", "--", WITNESS, "exit", "0"], **how)
    equal(r.returncode, 125, r.stderr)
    within(b"unable to write the audit log in ", r.stderr)
    within(b"File too large: ", r.stderr)
    within(b"(to correct it: ulimit -f unlimited); nothing was started", r.stderr)
    absent(b"Broken pipe", r.stderr)
    row = [x for x in run([KENNEL, "doctor"], env=environment(env)).stdout.decode().split("\n") if "audit-log" in x][0]
    check(row.startswith("ok"), row)


@test("doctor tells that the log's directory may not be written, and no bytes of a disk")
def not_writable():
    if os.getuid() == 0:
        skip("root may write everywhere")
    env = home("not-writable")
    os.makedirs(env["KENNEL_HOME"] + "/audit", mode=0o700)
    os.chmod(env["KENNEL_HOME"] + "/audit", 0o500)
    out = run([KENNEL, "doctor"], env=environment(env)).stdout.decode()
    row = out[out.index("audit-log"):]
    within("Permission denied", row)
    within("make the directory writable for this user", row)
    absent("bytes free", row)
    r = kexec(SHELL, [WITNESS, "exit", "0"], env=env)
    equal(r.returncode, 125)
    within(b"Permission denied (to correct it: make the directory writable for this user", r.stderr)


@test("doctor tells that a log that is there takes no records: its key is gone")
def no_key():
    env = home("no-key")
    equal(kexec(SHELL, [WITNESS, "exit", "0"], env=env).returncode, 0)
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    os.rename(env["KENNEL_HOME"] + "/audit/origin.key", TMP + "/origin.key")
    row = [x for x in run([KENNEL, "doctor"], env=environment(env)).stdout.decode().split("\n") if "audit-log" in x][0]
    check(row.startswith("NO"), row)
    within("kennel-recorder: ", row)
    r = kexec(SHELL, [WITNESS, "exit", "0"], env=env)
    equal(r.returncode, 125)
    within(b"kennel-recorder: ", r.stderr)


@test("ESCAPES 86 a recorder that is starved for a while: what is granted waits for it, and goes on", seconds=90)
def starved():
    env = home("starved")
    before = recorders()
    p = start([KENNEL, "exec", "--policy", policy(SHELL), "t", "--", "/bin/sh", "-c",
               "while read x; do /bin/cat </dev/null && echo ok || echo no; done"],
              stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(env))

    def ask():
        p.stdin.write(b"x\n")
        p.stdin.flush()
    ask()
    equal(p.stdout.readline(), b"ok\n", "control")
    pid = new_recorder(before)
    os.kill(pid, signal.SIGSTOP)
    try:
        ask()
        equal(p.stdout.readline(), b"ok\n", "handed to the log, which is not late yet")
        time.sleep(1.3)
        t0 = time.time()
        ask()
        said = select.select([p.stdout], [], [], 0.5)[0]
        check(not said or time.time() - t0 > 4, "it did not wait")
    finally:
        os.kill(pid, signal.SIGCONT)
    if not said:
        equal(p.stdout.readline(), b"ok\n", "it goes on")
    p.stdin.close()
    equal(p.wait(), 0)
    equal(audit_verify(env).returncode, 0)


@test("two homes are two logs; a link or another's folder is no place for one")
def places():
    a, b = home("one"), home("two")
    equal(kexec(SHELL, [WITNESS, "exit", "0"], env=a).returncode, 0)
    equal(kexec(SHELL, [WITNESS, "exit", "0"], env=b).returncode, 0)
    check({e["session"] for e in audit(env=a)}.isdisjoint({e["session"] for e in audit(env=b)}))
    for d, mode in (("audit", 0o700), ("run", 0o700)):
        equal(os.stat("%s/%s" % (a["KENNEL_HOME"], d)).st_mode & 0o777, mode, d)
    for f in os.listdir(a["KENNEL_HOME"] + "/audit"):
        equal(os.stat(a["KENNEL_HOME"] + "/audit/" + f).st_mode & 0o077, 0, f)
    if os.geteuid() != 0:
        return
    c = home("theirs")
    os.mkdir(c["KENNEL_HOME"] + "/audit", 0o700)
    os.chown(c["KENNEL_HOME"] + "/audit", UID, UID)
    r = kexec(SHELL, [WITNESS, "exit", "0"], env=c)
    equal(r.returncode, 125, "another user's folder: %s" % r.stderr)


if __name__ == "__main__":
    main()
