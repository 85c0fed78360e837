"""K-10: an auditor asks a real session's log, reads its report, and takes it away."""
import hashlib
import fcntl
import os
import pty
import shutil
import socket
import struct
import sys
import termios
import threading
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
HOSTILE = "<img src=x onerror=alert(1)>\u202egnp.exe\x1b[2J"
ENV = {"KENNEL_HOME": TMP + "/query"}
SECRET = "query-s3ntinel-%d" % os.getpid()


def ask(*words, status=0, env=ENV):
    r = run([KENNEL, "audit"] + list(words), env=env, timeout=60)
    equal(r.returncode, status, "%s: %s" % (words, r.stderr))
    return r.stdout


def rows(*words, env=ENV):
    """The rows of an answer as JSON, its header left out."""
    return [json.loads(x) for x in ask(*words, "--json", "--no-header", env=env).splitlines()]


def real_session():
    """One, for all tests here."""
    if os.path.exists(ENV["KENNEL_HOME"]):
        return
    os.makedirs(ENV["KENNEL_HOME"], mode=0o700)
    s = kennel_run(toy_policy("    exec allow /bin/echo **\n    secret S from env AGENT_TOKEN\n"
                              "    tool deny \"env\"\n"), env={**ENV, "AGENT_TOKEN": SECRET})
    s.initialize()
    s.text("echo", text="one")
    s.text("exec", argv=["/bin/echo", "x"])
    s.call("exec", argv=["/bin/ls"])
    s.call("exec", argv=["/nope/tool"])
    s.text("getenv", var="S")
    s.call("env")
    s.call(HOSTILE)
    s.close()
    check(wait_for(lambda: len([e for e in rows("log", "--kind", "stop")]) == 2, 5), "no end")
    # its recorder writes that it ended, and nothing is added after that
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")


@test("log: --before, --after and --contains print a part of the log, also with --verified; a number that is none is refused")
def parts():
    real_session()
    for more in ((), ("--verified",)):
        every = rows("log", *more)
        idx = [r["idx"] for r in every]
        check(len(idx) > 8, idx)
        equal(rows("log", "--before", str(idx[4]), *more), every[:4])
        equal(rows("log", "--after", str(idx[4]), *more), every[5:])
        equal(rows("log", "--before", str(idx[6]), "--after=%d" % idx[2], "-n", "2", *more), every[4:6])
        equal(rows("log", "--contains", "/nope/tool", *more), [r for r in every if "/nope/tool" in json.dumps(r)])
        equal(rows("log", "--contains", "/nope/TOOL", *more), [])
        within(b"--contains x --after 3 --before 7", b" ".join(ask("log", "--contains", "x", "--before", "7", "--after", "3", *more).split()))
    for bad in ("--before=0", "--before=-1", "--after=x", "--contains="):
        ask("log", bad, status=64)
    ask("sessions", "--before", "3", status=64)


@test("K-10 a real session's log answers session, why, denials, tool, exec, secret, changes and gaps")
def real():
    real_session()
    (session,) = rows("sessions")
    equal((session["server"], session["ended"]), ("t", "cleanly"))
    # who: the agent's own name for itself, the user, the program that started kennel
    equal(session["client"], "kit 1")
    equal(session["user"], user_name() or "uid %d" % os.getuid())
    check(session["launcher"].startswith(os.readlink("/proc/self/exe")), session["launcher"])
    check(session["calls"] >= 6, session)
    story = rows("session", session["session"])
    equal(story[0]["after"], 0)
    check("was loaded" in story[0]["what"] and "is about to start" in story[1]["what"], story[:2])
    (exec_,) = rows("exec", "/bin/echo")
    equal((exec_["verdict"], exec_["program"]), ("allow", "/bin/echo"))
    check(exec_["caller"] and exec_["caller"].endswith("/toy"), "who started it: %r" % exec_["caller"])
    check(matches(r":\d+$", exec_["rule"]), exec_)
    check([e for e in rows("exec", "ls") if e["verdict"] == "deny"], "ls")
    (denied,) = [d for d in rows("denials") if d["object"] == "env"]
    equal(denied["count"], 1)
    why = {w["about"]: w["answer"] for w in rows("why", str(denied["last_idx"]))}
    equal((why["verdict"], why["rule"]), ("deny", denied["rule"]))
    within("gate", why["enforced by"])
    (echo,) = rows("tool", "echo")
    equal(echo["outcome"], "ok")
    check(echo["params_sha256"] and echo["result_sha256"] and echo["duration_us"] > 0, echo)
    equal({e["kind"] for e in rows("secret", "S")}, {"secrets", "scrub"})
    equal([c["what"] for c in rows("changes")], ["first"])
    equal(rows("gaps"), [])
    equal(rows("egress"), [])
    within(b"none recorded", ask("egress"))
    (now,) = rows("policy-at", "2099-01-01")
    equal((now["server"], now["state"], now["policy"]), ("t", "last used", rows("changes")[0]["policy"]))
    # which file that was, and that its text lies beside the log
    (load,) = [json.loads(x)["fields"] for x in ask("log", "--json", "--no-header", "--kind", "policy.load").splitlines()]
    equal((now["file"], now["sha256"], now["text"]), (load["name"][0], load["sha256"], "kept: policy-text, by its sha256"))


@test("a misspelt server, session or secret: the near name of the log is suggested, and only then")
def near_names():
    env = {"KENNEL_HOME": TMP + "/near"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    file = TMP + "/github.kennel"
    with open(file, "w") as f:
        f.write("server github {\n%s}\n" % toy_policy("    secret GH_TOKEN from env AGENT_TOKEN\n"))
    s = Mcp([KENNEL, "run", "--policy", file, "github"], env={**env, "AGENT_TOKEN": SECRET})
    s.initialize()
    s.close()
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    (session,) = [r["session"] for r in rows("sessions", env=env)]
    wrong = session[:5] + ("0" if session[5] != "0" else "1") + session[6:]

    def said(*words_):
        r = run([KENNEL, "audit"] + list(words_), env=env, timeout=60)
        return r.returncode, [line for line in r.stderr.decode().splitlines() if "did you mean" in line]

    def meant(verb, wanted, near):
        return ["kennel: audit %s: no record of `%s`: did you mean `%s`?" % (verb, wanted, near)]
    for verb in "denials", "log", "exec":
        equal(said(verb, "--server", "githb"), (0, meant(verb, "githb", "github")))
    equal(said("manifest", "githb"), (0, meant("manifest", "githb", "github")))
    equal(said("secret", "GH_TOKN"), (0, meant("secret", "GH_TOKN", "GH_TOKEN")))
    equal(said("session", wrong), (65, meant("session", wrong, session)))
    equal(said("log", "--session", wrong), (0, meant("log", wrong, session)))
    # the controls: a name that the log has, and one that is near none
    for words_ in (("egress", "--server", "github"), ("manifest", "github"), ("secret", "GH_TOKEN"),
                   ("egress", "--session", session), ("egress", "--session", session[:6]),
                   ("log", "--server", "zzzzzzzz"), ("secret", "zzzzzzzz")):
        equal(said(*words_), (0, []), words_)


def decided_session():
    """A call that a line grants, and two that none grants; its environment."""
    env = {"KENNEL_HOME": TMP + "/decided"}
    if not os.path.exists(env["KENNEL_HOME"]):
        os.makedirs(env["KENNEL_HOME"], mode=0o700)
        s = kennel_run("    run %s\n    tool allow echo\n" % words(TOY), env=env)
        s.initialize()
        s.text("echo", text="one")
        s.call("env")
        s.call("env")
        s.close()
        check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    return env


def explained(idx, env):
    return {w["about"]: w["answer"] for w in rows("why", str(idx), env=env)}


@test("a tool that no line grants: denials and why say so, and name the line that would")
def ungranted():
    env = decided_session()
    (denied,) = rows("denials", env=env)
    equal((denied["object"], denied["count"], denied["reason"]),
          ("env", 2, "no line grants it; to grant it: tool allow env"))
    why = explained(denied["last_idx"], env)
    equal((why["reason"], why["would allow it"]), ("no line grants it", "tool allow env"))


@test("an object that the log has not: only the error is printed, in each format; a letter suggests no other letter")
def no_such():
    env = decided_session()
    for query in ["session", "nosuch"], ["why", "999999"]:
        for form in [], ["--json"], ["--csv"]:
            equal(ask(*query, *form, status=65, env=env), b"", query + form)
    within(b"about", ask("why", "1", env=env), "the control")
    r = run([KENNEL, "audit", "export", "-n", "2"], env=env)
    equal(r.returncode, 64)
    within(b"unknown option `-n`", r.stderr)
    absent(b"did you mean", r.stderr)


@test("a line that denies, or whose condition does not hold, is named; no wider line is proposed")
def restricted():
    env = {"KENNEL_HOME": TMP + "/restricted"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    s = kennel_run("    run %s\n    exec allow /bin/echo a\n    exec deny /bin/echo b\n    tool allow echo when args.text == \"a\"\n"
                   "    tool allow \"exec\"\n    tool deny getenv\n" % words(TOY), env=env)
    s.initialize()
    equal(s.text("echo", text="a"), "a", "the control")
    r = s.call("echo", text="b")
    within("do not meet a condition of the policy", json.dumps(r))
    absent("the list shows", json.dumps(r))
    within('grants no tool named \\"env\\"; it was', json.dumps(s.call("env")))
    s.call("getenv", var="HOME")
    for argument in "b", "c":
        s.call("exec", argv=["/bin/echo", argument])
    s.close()
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    denied = {}
    for d in rows("denials", env=env):
        denied[(d["object"], (d["rule"] or "-").rsplit(":", 1)[-1] if d["object"] == "/bin/echo" else None)] = d
    for d in denied.values():
        why = explained(d["last_idx"], env)
        equal((d["object"], "would allow it" in why, "to grant it" in (d["reason"] or "")),
              (d["object"], d["object"] == "env", d["object"] == "env"), why)
    echo, getenv = denied[("echo", None)], denied[("getenv", None)]
    equal(echo["reason"], "the condition of the line that grants it does not hold")
    check(matches(r"\.kennel:\d+$", echo["rule"]) and int(getenv["rule"].rsplit(":", 1)[1]) == int(echo["rule"].rsplit(":", 1)[1]) + 2,
          (echo, getenv))
    within("denies it", explained(getenv["last_idx"], env)["explanation"])
    exec_ = [explained(d["last_idx"], env)["explanation"] for d in denied.values() if d["object"] == "/bin/echo"]
    equal(len(exec_), 2)
    within("denies it", " ".join(exec_))
    within("with other arguments", " ".join(exec_))
    lines = run([KENNEL, "learn", "--from-log"], env=env).stdout.decode()
    within("    tool allow env    # ", lines)
    for never in "tool allow echo", "tool allow getenv":
        absent(never, lines)
    equal(lines.count("/bin/echo"), 1, "the arguments that no line names, for a person: " + lines)


@test("audit tools counts the calls of each tool, and the page has the same numbers")
def counted():
    env = decided_session()
    got = [(t["server"], t["name"], t["calls"], t["refused"], t["errors"]) for t in rows("tools", env=env)]
    equal(got, [("t", "echo", 1, 0, 0), ("t", "env", 0, 2, 0)])
    equal([t["tool_errors"] for t in rows("tools", env=env)], [0, 0])
    equal([t["name"] for t in rows("tools", "env", env=env)], ["env"])
    page = re.search(r"<h2[^>]*>Tools</h2>.*?</table>", ask("report", env=env).decode(), re.S).group(0)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in page.split("<tr")[2:]]
    equal([tuple(re.sub("<.*?>", "", c) for c in row[1:5]) for row in cells],
          [("echo", "1", "0", "0"), ("env", "0", "2", "0")])


@test("a result that says that the tool failed is an outcome: tool, tools and OCSF have it")
def tool_errors():
    env = {"KENNEL_HOME": TMP + "/tool-errors"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    s = kennel_run(toy_policy("    exec allow /bin/echo **\n"), env=env)
    s.initialize()
    s.call("exec", argv=["/nope/tool"], fail=True)
    s.call("exec", argv=["/bin/echo", '{"isError":true}'])  # controls: only the member of the result counts
    s.text("echo", text='"isError":true')
    s.close()
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    equal([(t["name"], t["outcome"]) for t in rows("tool", env=env)], [("exec", "tool-error"), ("exec", "ok"), ("echo", "ok")])
    equal({t["name"]: (t["calls"], t["errors"], t["tool_errors"]) for t in rows("tools", env=env)}, {"exec": (2, 0, 1), "echo": (1, 0, 0)})
    ocsf = [json.loads(x) for x in ask("export", "--format", "ocsf", "--kind", "call", env=env).splitlines()]
    equal([e["status_id"] for e in ocsf if e["action_id"] == 3 and e.get("resources")], [2, 1, 1])


@test("an allowed call names the line that grants it: audit tool, why and --rule")
def granted():
    env = decided_session()
    (call,) = rows("tool", "echo", env=env)
    check(matches(r"\.kennel:\d+$", call["rule"] or ""), call)
    equal(explained(call["idx"], env)["rule"], call["rule"])
    equal([r["idx"] for r in rows("log", "--rule", call["rule"], env=env)], [call["idx"]])


@test("a time that is none: policy-at and --since name the forms; a time of day is today's")
def times():
    env = decided_session()
    for words_ in (["policy-at", "noon"], ["denials", "--since", "tomorrow"]):
        r = run([KENNEL, "audit"] + words_, env=env)
        equal(r.returncode, 64)
        within(b"2026-11-21T22:00, 22:00, yesterday, 2h, 3d", r.stderr)
    ask("policy-at", "23:59", env=env)


@test("an attempt to run a file that does not exist is absent: no denial, not on the page, and why names no grant")
def absent_file():
    real_session()
    (tried,) = rows("log", "--verdict", "absent")
    r = run([KENNEL, "audit", "log", "--verdict", "denied"], env=ENV)
    equal(r.returncode, 64)
    within(b"\"denied\" is not a verdict (allow, ask, deny, killed or absent)", r.stderr)
    equal(tried["fields"]["program"], "/nope/tool")
    objects = [d["object"] for d in rows("denials")]
    check("/nope/tool" not in objects and "/bin/ls" in objects, objects)
    within("/nope/tool", [d["object"] for d in rows("denials", "--absent")])
    within(b"shown with --absent: 1", ask("denials"))
    why = {w["about"]: w["answer"] for w in rows("why", str(tried["idx"]))}
    within("does not exist", why["explanation"])
    check("would allow it" not in why and "rule" not in why, why)
    why = {w["about"]: w["answer"] for w in rows("why", str([d for d in rows("denials") if d["object"] == "/bin/ls"][0]["last_idx"]))}
    equal((why["reason"], why["would allow it"]), ("no such file in the cell", "exec allow /bin/ls **"))
    size = str(tried["idx"] + 1)
    while b"no checkpoint" in run([KENNEL, "audit", "log", "--as-of", size], env=ENV).stderr:
        size = str(int(size) + 1)
    check(b"/nope/tool" not in ask("report", "--as-of", size), "on the page")
    within(b"/nope/tool", ask("report", "--as-of", size, "--absent"))
    refused = [int(re.search(br"<b>(\d+)</b><span>denials", ask("report", "--as-of", size, *more)).group(1))
               for more in ((), ("--absent",))]
    equal(refused[1], refused[0] + 1)


@test("the page and the verbs give the same answer: sessions, gaps, denials; starts that were refused are no gaps")
def page_agrees():
    env = {"KENNEL_HOME": TMP + "/agree"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    body = "    run %s **\n" % words(WITNESS)
    shell = body + "    exec allow /bin/sh **\n"
    equal(kexec(body, [WITNESS, "exit", "0"], env=env).returncode, 0)
    equal(kexec(shell, ["/bin/sh", "-c", "/bin/ls; /bin/ls; /nope/x; exit 0"], env=env).returncode, 0)
    for _ in range(2):
        check(kexec(body, ["/bin/ls"], env=env).returncode == 126, "not refused")
    kennel_run("    run /nonexistent/server\n", env=env).close()
    s = kennel_run(toy_policy(""), env=env)
    s.initialize()
    s.p.kill()
    s.p.wait(20)
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    report = ask("report", env=env).decode()
    size = str(int(re.search(r"Log of (\d+) records", report).group(1)))
    at = ["--as-of", size]

    def card(name):
        return int(re.search(r"<b>(\d+)</b><span>%s" % name, report).group(1))
    sessions, gaps = rows("sessions", *at, env=env), rows("gaps", *at, env=env)
    equal((card("sessions"), card("gaps")), (len(sessions), len(gaps)))
    equal(card("denials"), sum(d["count"] for d in rows("denials", *at, env=env)))
    equal(card("denials"), sum(x["denied"] for x in sessions))
    ended = [x["ended"] for x in sessions]
    equal([e for e in ended if e.startswith("never started")], ["never started: refused"] * 3, ended)
    equal(len([e for e in ended if "killed" in e or "lost" in e]), len(gaps), (ended, gaps))
    for g in gaps:
        within(g["detail"], report)
    (now,) = [p for p in rows("policy-at", "2099-01-01", env=env)]
    equal(now["state"], "last used", "nothing runs")


@test("what the agent calls itself is whole, escaped and forges nothing; without a name there is none")
def client_names():
    env = {"KENNEL_HOME": TMP + "/client"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    names = ({"name": HOSTILE, "version": "\n1"}, {"name": "x" * 500}, {"name": {"a": 1}, "version": 2}, "text", None)
    for info in names:
        s = kennel_run(toy_policy(""), env=env)
        params = {"protocolVersion": "2025-06-18", "capabilities": {}}
        s.request("initialize", {**params, "clientInfo": info} if info is not None else params)
        s.close()
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    got = [x["client"] for x in rows("sessions", env=env)]
    equal(got, [HOSTILE + " \n1", "x" * 500, None, None, None])
    check(b"\x1b" not in ask("sessions", env=env) and b"<img" not in ask("report", env=env), "as it came")
    refused = kexec("    run %s\n" % words(WITNESS), ["/bin/ls"], env=env)
    equal(refused.returncode, 126)
    last = rows("sessions", env=env)[-1]
    equal((last["ended"], last["user"]), ("never started: refused", user_name() or "uid %d" % os.getuid()))


@test("a policy is kept as it was: its text and what was enforced, each checked by the digest in the record; prune removes it")
def policy_text():
    env = {"KENNEL_HOME": TMP + "/kept"}
    body = "    run %s **\n" % words(WITNESS)

    def loads():
        got = ask("log", "--json", "--no-header", "--kind", "policy.load", env=env).splitlines()
        return [json.loads(x)["fields"] for x in got]
    path = policy(body)
    first = reads(path)
    for _ in range(2):  # the second finds it there
        equal(run([KENNEL, "exec", "--policy", path, "t", "--", WITNESS, "exit", "0"], env=env).returncode, 0)
    with open(path, "a") as f:
        f.write("# another text, the same policy\n")
    equal(run([KENNEL, "exec", "--policy", path, "t", "--", WITNESS, "exit", "0"], env=env).returncode, 0)
    sealed = TMP + "/kept.sealed"
    equal(run([KENNEL, "policy", "compile", path, "-o", sealed]).returncode, 0)
    equal(run([KENNEL, "exec", "--policy", sealed, "t", "--", WITNESS, "exit", "0"], env=env).returncode, 0)
    was = loads()
    equal([w["outcome"] for w in was], ["kept"] * 4)
    equal(len({w["policy"] for w in was}), 1, "what it means is the same")
    equal(was[0]["sha256"], hashlib.sha256(first).hexdigest())
    equal(ask("policy-text", was[0]["sha256"], env=env), first, "as it was, though the file is another by now")
    equal(ask("policy-text", was[2]["sha256"], env=env), reads(path))
    check("sha256" not in was[3], was[3])
    equal(rows("policy-at", "2099-01-01", env=env)[0]["text"], "kept: policy-text, sealed, by its id")
    # the text with the answer, for programs and for people
    equal(rows("policy-at", "--text", "2099-01-01", env=env)[0]["text"], "kept: policy-text, sealed, by its id")
    equal(run([KENNEL, "exec", "--policy", path, "t", "--", WITNESS, "exit", "0"], env=env).returncode, 0)
    equal(rows("policy-at", "--text", "2099-01-01", env=env)[0]["text"].encode(), reads(path))
    lines = ask("policy-at", "--text", "2099-01-01", env=env).decode().splitlines()
    within("    # another text, the same policy", lines)
    out = TMP + "/kept.out"
    ask("policy-text", "-o", out, was[0]["policy"], env=env)
    equal(hashlib.sha256(reads(out)).hexdigest(), was[0]["policy"], "the id is the digest of these bytes")
    within(was[0]["policy"].encode(), run([KENNEL, "policy", "show", out]).stdout, "and they are the policy")
    ask("policy-text", "-o", out, was[0]["policy"], status=125, env=env)  # nothing is overwritten
    ask("policy-text", "0" * 64, status=65, env=env)
    for wrong in "0" * 7, "0" * 65, "g" * 8, was[0]["policy"][:8].upper() + "F":
        ask("policy-text", wrong, status=64, env=env)
    # as many digits as a terminal shows; the control: two policies begin with them
    equal(ask("policy-text", was[0]["sha256"][:8], env=env), first)
    other = env["KENNEL_HOME"] + "/audit/policies/%s%s.kennel" % (was[0]["sha256"][:9], "0" * 55)
    shutil.copy(env["KENNEL_HOME"] + "/audit/policies/%s.kennel" % was[0]["sha256"], other)
    within(b"several kept policies", run([KENNEL, "audit", "policy-text", was[0]["sha256"][:8]], env=env).stderr)
    equal(ask("policy-text", was[0]["sha256"][:12], env=env), first)
    os.unlink(other)
    # another text in its place is not taken for it
    place = env["KENNEL_HOME"] + "/audit/policies/%s.kennel" % was[0]["sha256"]
    with open(place, "r+b") as f:
        f.write(b"#")
    ask("policy-text", was[0]["sha256"], status=1, env=env)
    within(b"0 policies", ask("prune-policies", "--to", "2001-01-01", env=env))
    within(b"3 policies", ask("prune-policies", "--to", "2099-01-01", env=env))
    ask("policy-text", was[2]["sha256"], status=65, env=env)
    equal(rows("policy-at", "--text", "2099-01-01", env=env)[0]["text"], "kept, and removed since")
    equal(run([KENNEL, "audit", "verify"], env=env).returncode, 0, "the log is as it was")
    # where it cannot be kept the log says so, and the start is as before
    os.rmdir(env["KENNEL_HOME"] + "/audit/policies")
    os.symlink("/nowhere", env["KENNEL_HOME"] + "/audit/policies")
    equal(run([KENNEL, "exec", "--policy", path, "t", "--", WITNESS, "exit", "0"], env=env).returncode, 0)
    equal(loads()[-1]["outcome"], "not kept")
    equal(rows("policy-at", "2099-01-01", env=env)[0]["text"], "not kept: by its sha256")


@test("changes --diff shows what the policy newly allows and denies, from the policies that were in force")
def changes_diff():
    env = {"KENNEL_HOME": TMP + "/changed"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    base = "    run %s **\n    exec allow /bin/echo a\n" % words(WITNESS)
    bodies = (base, base + "    tool allow read_*\n    exec allow /bin/cat\n", base)
    path = policy(base)
    for body in bodies:
        os.replace(policy(body), path)  # one file that is edited
        equal(run([KENNEL, "exec", "--policy", path, "t", "--", WITNESS, "exit", "0"], env=env).returncode, 0)
    plain = rows("changes", env=env)
    equal([c["what"] for c in plain], ["first", "new", "back"])
    equal([c["diff"] for c in plain], [None] * 3, "not asked for")
    first, new, back = rows("changes", "--diff", env=env)
    equal(first["diff"], None)
    within("newly allowed: tool: tool allow read_*", new["diff"])
    within("newly allowed: exec: exec allow", new["diff"])
    within("newly denied: tool: tool allow read_*", back["diff"])
    # the same as `policy diff` says of the kept files
    at = env["KENNEL_HOME"] + "/audit/policies/%s.sealed"
    said = run([KENNEL, "policy", "diff", at % new["before"], at % new["policy"]]).stdout.decode()
    equal(new["diff"], said)
    text = ask("changes", "--diff", env=env).decode()
    check(re.search(r"  wider\n {4}server t\n {6}\+ newly allowed: ", text), text)
    check(re.search(r"  not wider\n {4}server t\n {6}- newly denied: ", text), text)
    os.remove(at % new["policy"])
    first, new, back = rows("changes", "--diff", env=env)
    equal((new["diff"], back["diff"]), ("unknown: the policy is not kept", "unknown: the policy before is not kept"))
    place = at % new["before"]
    with open(place, "r+b") as f:
        f.write(b"x")
    equal(rows("changes", "--diff", env=env)[1]["diff"], "unknown: the kept policy before is damaged")
    ask("denials", "--diff", status=64, env=env)


@test("K-10 an answer names the log's size and root, is the same again, and can be had verified")
def sure():
    real_session()
    head = json.loads(ask("denials", "--json").splitlines()[0])
    check(matches("^[0-9a-f]{64}$", head["root"]), head)
    verify = json.loads(run([KENNEL, "audit", "verify", "--json"], env=ENV).stdout)
    equal((head["size"], head["root"]), (verify["records"], verify["root"]))
    # a report is itself recorded: the same again is one of the same checkpoint
    now = ["--as-of", str(head["size"])]
    for verb in (["denials"], ["tool"], ["anomalies"], ["sample", "--seed", "x"], ["report"] + now):
        equal(ask(*verb), ask(*verb), verb)
    equal(rows("tool"), rows("tool", "--verified"))
    within(b"verified", ask("tool", "--verified").splitlines()[1])
    ask("log", "--as-of", "%d:%s" % (head["size"], head["root"]))
    ask("log", "--as-of", "%d:%s" % (head["size"], "0" * 64), status=1)


def pixels(path):
    """How much of a PNG is not white: 0 to 1."""
    with open(path, "rb") as f:
        d = f.read()
    at, data = 8, b""
    while at < len(d):
        n, kind = struct.unpack(">I4s", d[at:at + 8])
        if kind == b"IHDR":
            w, h, _, colour = struct.unpack(">IIBB", d[at + 8:at + 18])
        if kind == b"IDAT":
            data += d[at + 8:at + 8 + n]
        at += 12 + n
    raw = zlib.decompress(data)
    size = w * {2: 3, 6: 4}[colour] + 1
    # filtered rows: a row of one colour is all zeroes behind its first pixel
    busy = sum(1 for y in range(h) if any(raw[y * size + 5:(y + 1) * size]))
    return busy / h


@test("MCP-ATTACKS 48: a report renders in a browser, asks for nothing, runs nothing; foreign words are text", seconds=120)
def page():
    real_session()
    html = ask("report").decode()
    for kind in ("integrity", "access", "changes", "controls", "retention", "exceptions", "inventory"):
        within("</html>", ask("report", "--kind", kind).decode(), kind)
    within("/bin/echo, started by toy", html, "the tree of programs")
    check(re.search(r"\d+ calls: median \d+ [um]?s, 95th percentile \d+ [um]?s, 99th percentile \d+ [um]?s", html), "latency")
    out = TMP + "/there.html"
    open(out, "w").close()
    r = run([KENNEL, "audit", "report", "-o", out], env=ENV)
    within("unable to create %s: File exists; name a new file with -o" % out, r.stderr.decode())
    within("onerror", ask("report", "--kind", "incident", rows("sessions")[0]["session"]).decode())
    within("&#60;img src=x onerror=alert(1)&#62;\\u{202e}gnp.exe", html)
    absent("<img", html)
    absent("\u202e", html)
    absent(SECRET, html)
    for way_out in ("<script", "<link", "<iframe", "src=\"", "url(", "@import", "https://"):
        absent(way_out, html, "a way out")
    equal(html.replace("http://www.w3.org/2000/svg", "").count("http://"), 0)
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        skip("no chromium: apt-get install chromium")
    if AS != "user":
        skip("the browser runs once, as the user")
    part, said, asked = look(browser, html)
    check(part > 0.3, "blank: %.2f of the rows show anything" % part)
    absent(b"CONSOLE", said, "the browser's console")
    equal(asked, set(), "asked for")
    # the control: a page that asks and speaks is caught at it
    wild = "<img src='http://127.0.0.1:9/x.png'><script>console.error('loud')</script>"
    part, said, asked = look(browser, wild)
    check(part < 0.3, "blank is not seen")
    within(b"loud", said)
    equal(asked, {"http://127.0.0.1:9/x.png"})


def look(browser, html):
    """What a browser shows of a page (part of the rows), says and asks for."""
    d = TMP + "/browser"
    os.makedirs(d)
    with open(d + "/r.html", "w", encoding="utf-8") as f:
        f.write(html)
    r = run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
             "--user-data-dir=" + d + "/profile", "--log-net-log=" + d + "/net.json", "--enable-logging=stderr",
             "--force-device-scale-factor=1", "--window-size=1100,2400", "--screenshot=" + d + "/r.png",
             "file://" + d + "/r.html"], env={**environment(), "HOME": d, "XDG_RUNTIME_DIR": d}, timeout=90)
    if not os.path.exists(d + "/r.png"):
        skip("chromium does not start here: %r" % r.stderr[-200:])
    part = pixels(d + "/r.png")
    net = reads(d + "/net.json").decode(errors="replace")
    shutil.rmtree(d, ignore_errors=True)
    # what the browser asks its maker for is not the page's
    asked = {u for u in re.findall(r'"url":"((?:https?|wss?|ftp)://[^"]*)"', net)
             if not re.match(r"https?://[a-z0-9.-]*\.(google|googleapis|gvt1)\.com/", u)}
    return part, r.stderr, asked


# What OCSF 1.5 requires of an event, and of the objects in it, for the classes used here.
OCSF_BASE = ("activity_id", "category_uid", "class_uid", "metadata", "severity_id", "time", "type_uid")
OCSF_CLASS = {1001: ("actor", "device", "file"), 1007: ("actor", "device", "process"), 1008: ("device",),
              2004: ("finding_info",), 4001: ("dst_endpoint",), 5019: ("device",), 6003: ("actor", "api", "src_endpoint")}
OCSF_OBJECT = {"metadata": ("product", "version"), "device": ("type_id",), "file": ("name", "type_id"),
               "api": ("operation",), "finding_info": ("title", "uid")}


def ocsf(e):
    for key in OCSF_BASE + OCSF_CLASS[e["class_uid"]]:
        check(key in e, key, "is required:", e)
    for name, keys in OCSF_OBJECT.items():
        for key in keys if name in e else ():
            check(key in e[name], "%s.%s is required: %s" % (name, key, e))
    equal((e["category_uid"], e["type_uid"]), (e["class_uid"] // 1000, e["class_uid"] * 100 + e["activity_id"]))
    for key in ("time", "severity_id", "activity_id"):
        check(isinstance(e[key], int), key)


@test("K-10 export: JSON lines are the bytes that were hashed; OCSF has what its classes require; CEF, CSV")
def export():
    import hashlib
    real_session()
    lines = ask("export").splitlines()
    events = [json.loads(x) for x in lines]
    equal([e["idx"] for e in events], list(range(len(events))))
    leaf = hashlib.sha256(b"\0" + lines[3]).hexdigest()
    sampled = {r["idx"]: r["leaf"] for r in rows("sample", "--control", "all", "--seed", "1", "-n", "999")}
    equal(sampled[3], leaf, "leaf")
    size = str(len(lines))
    for form in ("ocsf", "cef"):  # a collector needs no alarm for each directory of PATH
        less = ask("export", "--as-of", size, "--format", form).splitlines()
        equal(len(less), len(events) - 1, form)
        check(not any(b"/nope/tool" in x for x in less), form)
    mapped = [json.loads(x) for x in ask("export", "--absent", "--as-of", size, "--format", "ocsf").splitlines()]
    equal(len(mapped), len(events))
    for e in mapped:
        ocsf(e)
    by_kind = {e["kind"]: m["class_uid"] for e, m in zip(events, mapped)}
    equal({k: by_kind[k] for k in ("exec", "call", "mounts", "scrub", "genesis")},
          {"exec": 1007, "call": 6003, "mounts": 1001, "scrub": 2004, "genesis": 1008})
    for m in mapped:
        equal(m["unmapped"]["kennel"], events[m["metadata"]["sequence"]])
    cef = ask("export", "--absent", "--as-of", size, "--format", "cef").splitlines()
    equal(len(cef), len(events))
    check(all(x.startswith(b"CEF:0|kennel|kennel|") for x in cef), cef[0])
    equal(len(ask("export", "--as-of", size, "--format", "csv").splitlines()), len(events) + 1)
    out = TMP + "/export.jsonl"
    ask("export", "--as-of", size, "-o", out)
    equal(reads(out).splitlines(), lines)
    ask("export", "--as-of", size, "-o", out, status=125)  # nothing is overwritten
    ask("export", "--format", "tar", status=64)
    r = run([KENNEL, "audit", "touched"], env=ENV)
    equal(r.returncode, 64)
    within(b"kennel audit touched: wrong number or form of arguments\nusage: kennel audit touched ", r.stderr)


@test("K-10 S3-41: what of the log leaves is in the log before: what, to whom, which records; nothing leaves that cannot be")
def handouts():
    env = {"KENNEL_HOME": TMP + "/handout"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    body = "    run %s **\n" % words(WITNESS)
    equal(kexec(body, [WITNESS, "exit", "0"], env=env).returncode, 0)
    session = rows("sessions", env=env)[0]["session"]
    d = TMP + "/handout.out"
    os.makedirs(d)
    c = Collector("unix")

    def told():
        return [json.loads(x) for x in ask("log", "--json", "--no-header", "--kind", "export", env=env).splitlines()]
    for n, (words_, mode, to, form) in enumerate((
            (["export", "--format", "csv", "--server", "t"], "export", "standard output", "csv"),
            (["report", "--kind", "access", "-o", d + "/r.html"], "report", d + "/r.html", "access"),
            (["pack", "-o", d + "/p.tar", session], "pack", d + "/p.tar", "tar"),
            (["tiles", d + "/tiles"], "tiles", d + "/tiles", None),
            (["ship", "--once", c.to], "ship", c.to, "jsonl"))):
        before = json.loads(ask("verify", "--json", env=env))
        ask(*words_, env=env)
        new = told()
        equal(len(new), n + (2 if mode == "ship" else 1), mode)
        e = new[n]
        f = e["fields"]
        equal((e["writer"]["role"], f["mode"], f["name"], f["uid"], f.get("format")), ("auditor", mode, [to], os.getuid(), form))
        check(before["records"] <= f["size"] <= e["idx"], f, before)
        equal(f["first"], 0)
        check(len(f["root"]) == 44, f)
    first = told()[0]["fields"]
    equal(first["reason"], "server t")
    equal([e["fields"]["outcome"] for e in told() if e["fields"]["mode"] == "ship"], ["began", "ended"])
    within(session, told()[2]["fields"]["reason"])
    within(b"Exports", ask("report", "--kind", "retention", env=env))
    # a copy is not written to, and gives what it has
    copy = TMP + "/handout.copy"
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    shutil.copytree(env["KENNEL_HOME"] + "/audit", copy)
    size = len(ask("export", "--log", copy, env=env).splitlines())
    equal(len(ask("export", "--log", copy, env=env).splitlines()), size, "a copy has grown")
    # the log by another name is still the log
    n = len(told())
    os.symlink(env["KENNEL_HOME"] + "/audit", TMP + "/handout.link")
    ask("export", "--log", TMP + "/handout.link", env=env)
    equal(len(told()), n + 1, "by another name")
    # no record, nothing given
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    os.rename(env["KENNEL_HOME"] + "/audit/origin.key", copy + "/aside")
    r = run([KENNEL, "audit", "export"], env=env, timeout=60)
    equal((r.returncode, r.stdout), (125, b""))
    within(b"unable to record this export in the audit log", r.stderr)
    ask("report", "-o", d + "/no.html", status=125, env=env)
    ask("pack", "-o", d + "/no.tar", session, status=125, env=env)
    ask("tiles", d + "/no", status=125, env=env)
    got = len(c.got)
    ask("ship", "--once", c.to, status=125, env=env)
    equal(len(c.got), got, "shipped")
    equal([x for x in os.listdir(d) if x.startswith("no")], [], "given")
    # what a recorder without the log's key says, and that the log is none the worse
    within("origin.key is missing or is another log's; put it back", reads(env["KENNEL_HOME"] + "/audit/recorder.log").decode())
    equal(kexec(body, [WITNESS, "exit", "0"], env=env).returncode, 125, "started without a record")
    equal(run([KENNEL, "audit", "verify"], env=env).returncode, 0, "verify")
    with open(env["KENNEL_HOME"] + "/audit/origin.key", "wb") as f:
        f.write(bytes(64))
    equal(kexec(body, [WITNESS, "exit", "0"], env=env).returncode, 125, "another key")
    os.rename(copy + "/aside", env["KENNEL_HOME"] + "/audit/origin.key")
    equal(kexec(body, [WITNESS, "exit", "0"], env=env).returncode, 0, "put back")
    equal(run([KENNEL, "audit", "verify"], env=env).returncode, 0, "verify")


class Collector:
    """A syslog collector on loopback."""

    def __init__(self, way):
        self.way, self.got, self.sock = way, [], None
        if way == "tcp":
            self.sock = socket.socket()
            self.sock.bind(("127.0.0.1", 0))
            self.to = "tcp:127.0.0.1:%d" % self.sock.getsockname()[1]
        else:
            path = "%s/%s.sock" % (TMP, way)
            if os.path.exists(path):
                os.unlink(path)
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if way == "unix" else socket.SOCK_STREAM)
            self.sock.bind(path)
            self.to = way + ":" + path
        if way != "unix":
            self.sock.listen(4)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while self.way == "unix":
                self.got.append(self.sock.recv(1 << 20))
            while True:
                c = self.sock.accept()[0]
                f = c.makefile("rb")
                while True:
                    n = b""
                    while not n.endswith(b" "):
                        b = f.read(1)
                        if not b:
                            break
                        n += b
                    if not n:
                        break
                    self.got.append(f.read(int(n)))
                f.close()  # the descriptor is open as long as one of them is
                c.close()
        except (OSError, ValueError):
            pass

    def ids(self):
        return [int(re.search(rb' idx="(\d+)"', m).group(1)) for m in self.got]


@test("K-10 ship: RFC 5424 over a unix socket and TCP, each record once, on from where it was")
def ship():
    real_session()
    n = len(ask("export").splitlines())
    for way in ("unix", "unix-stream", "tcp"):
        c = Collector(way)
        ask("ship", "--once", c.to)
        # the record that it is shipped is shipped too
        check(wait_for(lambda: len(c.got) > n, 3), way, len(c.got), n)
        check(wait_for(lambda: c.ids() == list(range(len(c.got))), 3), way, c.ids())
        for m in c.got:
            check(re.match(rb"<1(0[4-9]|1[0-1])>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \S+ kennel \d+ \S+ \[kennel@32473 ", m), m[:200])
            check(all(31 < b < 127 for b in m), m)
        ask("ship", "--once", c.to)
        more = len(ask("export").splitlines()) - 1
        check(wait_for(lambda: more - 16 < len(c.got) <= more, 3), len(c.got), more)
        equal(c.ids(), list(range(len(c.got))), "sent twice")
    env = {"KENNEL_HOME": TMP + "/ship2"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    body = "    run %s **\n" % words(WITNESS)
    equal(kexec(body, [WITNESS, "exit", "0"], env=env).returncode, 0)
    c = Collector("tcp")
    p = start([KENNEL, "audit", "ship", c.to], env=environment(env), stderr=subprocess.DEVNULL)
    check(wait_for(lambda: len(c.got) > 3, 5), "nothing comes")
    equal(kexec(body, [WITNESS, "exit", "0"], env=env).returncode, 0)
    last = len(ask("export", env=env).splitlines())
    check(wait_for(lambda: len(c.got) >= last, 5), "what came later does not")
    equal(c.ids()[:last], list(range(last)))
    mine = [k for k, comm in descendants(p.pid).items() if comm.startswith("kennel-ship")]
    equal(len(mine), 1, "kennel-ship")
    p.terminate()
    equal(p.wait(), 128 + signal.SIGTERM)
    check(wait_for(lambda: not any(alive(k) for k in mine), 3), "kennel-ship stays")
    ends = [json.loads(x)["fields"] for x in ask("log", "--json", "--no-header", "--kind", "export", env=env).splitlines()]
    equal([f["outcome"] for f in ends if f["mode"] == "ship"], ["began", "ended"])
    # a place in another log is not this log's
    place = env["KENNEL_HOME"] + "/audit.ship"
    shutil.rmtree(env["KENNEL_HOME"] + "/audit")
    equal(kexec(body, [WITNESS, "exit", "0"], env=env).returncode, 0)
    check(os.listdir(place), "no place")
    ask("ship", "--once", c.to, status=125, env=env)
    ask("ship", "--once", "tcp:localhost:1", status=64, env=env)
    last_ = json.loads(ask("log", "--json", "--no-header", "--kind", "export", "-n", "1", env=env))["fields"]
    equal((last_["name"], last_["outcome"]), (["tcp:localhost:1"], "ended"))


@test("K-10 pack: a session as one file that proves itself, without the log")
def pack():
    import io
    import tarfile
    real_session()
    session = rows("sessions")[0]["session"]
    out = TMP + "/pack.tar"
    ask("pack", "-o", out, session)
    ask("pack", "-o", out, session, status=125)  # nothing is overwritten
    first = reads(out)
    # of a log that has not grown meanwhile, the same again
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    copy = TMP + "/pack.log"
    shutil.copytree(ENV["KENNEL_HOME"] + "/audit", copy)
    twice = []
    for _ in range(2):
        os.unlink(out)
        ask("pack", "--log", copy, "-o", out, session)
        twice.append(reads(out))
    equal(twice[0], twice[1], "the same again")
    d = TMP + "/pack"
    with tarfile.open(fileobj=io.BytesIO(first)) as t:
        names = t.getnames()
        for n in names:
            os.makedirs(os.path.dirname("%s/%s" % (d, n)), exist_ok=True)
            with open("%s/%s" % (d, n), "wb") as f:
                f.write(t.extractfile(n).read())
    records = reads(d + "/records.jsonl").splitlines()
    equal([n for n in names if n.startswith("proofs/")],
          ["proofs/%d.tlog-proof" % json.loads(x)["idx"] for x in records])
    key = reads(d + "/origin.vkey").decode().strip()

    def proved(n, record):
        with open(d + "/record", "wb") as f:
            f.write(record)
        return run([LIBEXEC + "/kennel-verify", "proof", "--key", key,
                    "%s/proofs/%d.tlog-proof" % (d, n), d + "/record"]).returncode
    for x in records[:4]:
        n = json.loads(x)["idx"]
        equal(proved(n, x), 0, x)
        check(proved(n, x.replace(b'"session"', b'"sessiom"')) != 0, "an altered record is proved")
    within(b"</html>", reads(d + "/report.html"))
    # the policy, named by the digests that a proved record has of it
    (load,) = [x["fields"] for x in map(json.loads, records) if x["kind"] == "policy.load"]
    equal(sorted(n for n in names if n.startswith("policies/")),
          sorted(["policies/%s.kennel" % load["sha256"], "policies/%s.sealed" % load["policy"]]))
    for n in names:
        if n.startswith("policies/"):
            equal(hashlib.sha256(reads(d + "/" + n)).hexdigest(), n[9:73], n)
    within(b"sha256sum policies/*", reads(d + "/README"))
    # one that is no longer what the record says does not go along
    kept = copy + "/policies/%s.kennel" % load["sha256"]
    with open(kept, "r+b") as f:
        f.write(b"#")
    os.unlink(out)
    ask("pack", "--log", copy, "-o", out, session)
    with tarfile.open(out) as t:
        equal([n for n in t.getnames() if n.startswith("policies/")], ["policies/%s.sealed" % load["policy"]])
    absent(SECRET.encode(), first)
    ask("pack", "-o", TMP + "/none.tar", "none", status=65)
    check(not os.path.exists(TMP + "/none.tar"), "half of a pack stays")


@test("K-10 certify: what was verified, signed by the log's key; another text, another key and a changed log give none")
def certify():
    real_session()  # its log has the other key
    env = {"KENNEL_HOME": TMP + "/certify"}
    d = env["KENNEL_HOME"] + "/audit"
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    body = "    run %s **\n" % words(WITNESS)
    equal(kexec(body, [WITNESS, "exit", "0"], env=env).returncode, 0)
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    told = json.loads(ask("verify", "--json", env=env))
    out = TMP + "/certificate"
    ask("certify", "-o", out, env=env)
    ask("certify", "-o", out, status=125, env=env)  # nothing is overwritten
    text = reads(out).decode()
    lines = text.split("\n")
    key = reads(d + "/origin.vkey").decode().strip()
    equal(lines[0], "kennel integrity certificate 1")
    equal(lines[1], "log " + key.split("+")[0])
    equal(lines[2], "records 0 to %d of %d" % (told["records"] - 1, told["records"]))
    import base64
    equal(lines[3], "root " + base64.b64encode(bytes.fromhex(told["root"])).decode())
    for said in ("end shown", "epochs %d" % told["epochs"], "lost events 0 times", "lost keys 0 times"):
        within(said, lines)
    proof = [LIBEXEC + "/kennel-verify", "proof", "--key"]
    equal(run(proof + [key, out]).returncode, 0)
    ask("verify-proof", "--key", key, out, env=env)
    bad = TMP + "/certificate.bad"
    for a, b in (("lost events 0", "lost events 1"), ("records 0", "records 1"), ("certificate 1\nlog", "certificate 1\nLog")):
        with open(bad, "w") as f:
            f.write(text.replace(a, b))
        equal(run(proof + [key, bad]).returncode, 1, a)
    equal(run(proof + [reads(ENV["KENNEL_HOME"] + "/audit/origin.vkey").decode().strip(), out]).returncode, 1, "another key")
    # a file in place of the key, whether or not it exists
    for word in ENV["KENNEL_HOME"] + "/audit/origin.vkey", "/no/such.vkey":
        for words_, option in (proof[:-1], "--key"), (proof[:1], "--key"), (proof[:1], "--witness"):
            r = run(words_ + [option, word, out])
            equal(r.returncode, 64, r.stderr)
            within("invalid key `%s` after %s: expected the text of a public key" % (word, option), r.stderr.decode())
            within('use %s "$(cat FILE)"' % option, r.stderr.decode())
    equal(rows("log", "--kind", "export", "--all", env=env)[0]["kind"], "export")
    ask("certify", "--server", "t", status=64, env=env)
    check(wait_for(lambda: not descendants(os.getpid()), 8), "the recorder stays")
    data = reads(d + "/audit.db")
    with open(d + "/audit.db", "wb") as f:
        f.write(data.replace(b'"kind":"start"', b'"kind":"stort"', 1))
    equal(run([KENNEL, "audit", "certify"], env=env).stdout, b"")
    ask("certify", status=1, env=env)
    # a log that cannot be read has no rows: that none is recorded would be false
    equal(len(rows("sessions", env=env)), 1, "the control")
    with open(d + "/audit.db", "wb") as f:
        f.write(data.replace(b'"kind":"start"', b'"kind"="start"', 1))
    equal(ask("sessions", status=125, env=env), b"")


@test("K-10 a log of many files is one log, also when the first were removed")
def segments():
    if AS != "user":
        skip("runs once, as the user")
    env = {"KENNEL_HOME": TMP + "/segments"}
    d = env["KENNEL_HOME"] + "/audit"
    os.makedirs(d, mode=0o700)
    with open(d + "/audit.conf", "w") as f:
        f.write("segment 256\nepoch 1\n")
    for _ in range(2):
        script = "i=0; while [ $i -lt 300 ]; do /no/$i; i=$((i+1)); done 2>/dev/null; /no/last; sleep 1.2; exit 0"
        kexec("    run /bin/sh **\n    exec allow /bin/sleep *\n", ["/bin/sh", "-c", script], env=env)
    check(wait_for(lambda: not descendants(os.getpid()), 5), "the recorder stays")
    files = sorted(f for f in os.listdir(d) if f.startswith("audit-") and f.endswith(".db"))
    check(len(files) >= 2, "one file:", os.listdir(d))
    whole = rows("log", "--all", env=env)
    equal([e["idx"] for e in whole], list(range(len(whole))))
    equal(rows("log", "--all", "--verified", env=env), whole)
    equal(rows("log", "-n", "400", "--all", env=env), whole[-400:])
    (denied,) = [r for r in rows("denials", "--absent", env=env) if r["object"] == "/no/last"]
    equal(denied["count"], 2)
    equal(ask("prune", str(int(files[1][6:26]) + 1), env=env) != b"", True)
    check(wait_for(lambda: not descendants(os.getpid()), 5), "the recorder stays")
    left = rows("log", "--all", env=env)
    first = int(files[1][6:26])
    equal([e["idx"] for e in left], list(range(first, len(left) + first)))
    equal(left[:len(whole) - first], whole[first:])
    equal(rows("log", "--all", "--verified", env=env), left)
    check([g for g in rows("gaps", env=env) if g["what"] == "records removed"], "no word of it")
    ask("why", str(first - 1), status=65, env=env)
    within(b"removed", ask("report", "--kind", "retention", env=env))


@test("K-10 rotate: the live file is closed on demand, by an auditor only, and the log is one log")
def rotate():
    env = {"KENNEL_HOME": TMP + "/rotate"}
    d = env["KENNEL_HOME"] + "/audit"
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    body = "    run /bin/sh **\n"
    script = "i=0; while [ $i -lt %d ]; do /no/$i; i=$((i+1)); done 2>/dev/null; exit 0"

    def closed():
        return sorted(f for f in os.listdir(d) if f.startswith("audit-") and f.endswith(".db"))
    ask("rotate", status=125, env=env)  # there is no log
    kexec(body, ["/bin/sh", "-c", script % 5], env=env)
    within(b"nothing to close", ask("rotate", env=env))
    equal(closed(), [])
    for n in (1, 2):
        kexec(body, ["/bin/sh", "-c", script % 300], env=env)
        within(b"audit-", ask("rotate", env=env))
        equal(len(closed()), n, "files")
    equal(json.loads(ask("verify", "--json", env=env))["status"], "intact")
    whole = rows("log", "--all", env=env)
    equal([e["idx"] for e in whole], list(range(len(whole))))
    asked = [e for e in rows("log", "--kind", "rotate", "--all", env=env)]
    equal(len(asked), 2)
    # each is the last word of its file, but for the end of its epoch
    check(0 < int(closed()[1][6:26]) - asked[0]["idx"] <= 3, asked, closed())
    ask("rotate", "now", status=64, env=env)


@test("unused names the grants that the log never saw used")
def unused():
    env = {"KENNEL_HOME": TMP + "/unused"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    body = "    run /bin/sh **\n    exec allow /bin/echo **\n    exec allow /bin/cat\n    tool allow read_*\n"
    file = policy(body)
    equal(run([KENNEL, "exec", "--policy", file, "t", "--", "/bin/sh", "-c", "/bin/echo x"], env=env).returncode, 0)
    found = rows("unused", "--policy", file, "t", env=env)
    equal([(r["kind"], r["grant"]) for r in found], [("exec", "/bin/cat"), ("tool", "read_*")])
    # the control: a year later nothing of it was used
    found = rows("unused", "--since", "2099-01-01", "--policy", file, "t", env=env)
    check(len(found) >= 4, found)
    ask("unused", status=64, env=env)


def on_terminal(columns, *words, env=None, typed=False):
    """What the command prints on a terminal of that width, and its exit status; typed: its input is the terminal."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    p = subprocess.Popen([KENNEL] + list(words), stdin=its if typed else subprocess.DEVNULL, stdout=its,
                         stderr=its,
                         env=environment({**ENV, "TERM": "xterm", "TZ": "XYZ-5:30", **(env or {})}))
    os.close(its)
    text = b""
    try:
        while True:
            text += os.read(ours, 65536)
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    return text.decode().replace("\r\n", "\n"), p.wait(60)


@test("on a terminal a query is read through a pager, which gets the same text", 120)
def paged():
    real_session()
    want, _ = on_terminal(80, "audit", "log")
    check("\x1b" in want, "the control: in colour")
    pager = TMP + "/pager"
    with open(pager, "w") as f:
        f.write("#!/bin/sh\necho \"$LESS $LESSSECURE $1\" >%s.said; cat >%s.got; echo read\n" % (pager, pager))
    os.chmod(pager, 0o755)
    text, status = on_terminal(80, "audit", "log", typed=True, env={"PAGER": pager + " -x"})
    equal((text, status, reads(pager + ".said"), reads(pager + ".got").decode()), ("read\n", 0, b"FRX 1 -x\n", want))
    os.unlink(pager + ".got")
    text, _ = on_terminal(80, "audit", "log", typed=True, env={"PAGER": "false", "KENNEL_PAGER": pager, "LESS": "S"})
    equal((text, reads(pager + ".said")), ("read\n", b"S 1 \n"))
    os.unlink(pager + ".got")
    for words_, env in ((("audit", "log"), {"PAGER": ""}), (("audit", "log"), {"KENNEL_PAGER": "cat", "PAGER": pager}),
                        (("--no-pager", "audit", "log"), {"PAGER": pager}),
                        (("audit", "log"), {"PAGER": "/no/such/pager -x"})):
        equal(on_terminal(80, *words_, typed=True, env=env), (want, 0), env)
    equal(on_terminal(80, "audit", "log", env={"PAGER": pager}), (want, 0), "its input is no terminal")
    check(not os.path.exists(pager + ".got"))
    # one that ends early, and a verb that fails
    _, status = on_terminal(80, "audit", "log", typed=True, env={"PAGER": "true"})
    check(status in (0, -13), status)
    text, status = on_terminal(80, "audit", "log", "--nonsense", typed=True, env={"PAGER": pager})
    check(status == 64 and "nonsense" in text, (status, text))


@test("on a terminal tables fit, nothing is cut, times are local; in a pipe nothing changes")
def terminal():
    real_session()
    for columns in (60, 80, 120, 200):
        for verb in ("log", "sessions", "denials", "tool", "exec"):
            text, status = on_terminal(columns, "audit", verb, env={"NO_COLOR": "1"})
            equal(status, 0)
            shown = [x for x in text.splitlines() if not x.startswith("# ")]
            check(len(shown) > 1 and all(len(x) <= columns for x in shown), (columns, verb, text))
            check("\x1b" not in text, text)
    ruled = [r["rule"] for r in rows("denials") if r["rule"]]
    text, _ = on_terminal(80, "audit", "denials", env={"NO_COLOR": "1"})
    check(ruled and all(r[:12] in text for r in ruled), "a rule is not cut into small pieces", ruled, text)
    last = rows("log", "--kind", "call")[-1]
    text, _ = on_terminal(80, "audit", "log", "--kind", "call", env={"NO_COLOR": "1"})
    packed = "".join(text.split())
    for field in ("params_sha256", "result_sha256"):
        check(field not in last or "%s=%s" % (field, last[field]) in packed, text)
    # five and a half hours east, without a Z
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(last["ts"] / 1e9 + 19800))
    check(when in text and "times are local" in text, (when, text))
    piped = ask("log", "--kind", "call").decode()
    check("times are local" not in piped and "\x1b" not in piped, piped)
    check(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(last["ts"] / 1e9)) in piped, piped)
    check(any(len(x) > 200 for x in piped.splitlines()), piped)


@test("verdicts and doctor have colours on a terminal, but for NO_COLOR and TERM=dumb")
def colours():
    real_session()
    for words, colour in ((("audit", "denials"), "\x1b[31mdeny\x1b[0m"), (("doctor",), "\x1b[32mok")):
        check(colour in on_terminal(120, *words)[0], words)
        for off in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            check("\x1b" not in on_terminal(120, *words, env=off)[0], (words, off))
        piped = run([KENNEL] + list(words), env=environment({**ENV, "TERM": "xterm"}))
        check(b"\x1b" not in piped.stdout, piped.stdout)


@test("the first digits of a session's id are enough, unless several sessions have them")
def short_ids():
    real_session()
    (session,) = rows("sessions")
    full = session["session"]
    text, _ = on_terminal(120, "audit", "sessions")
    check(full[:8] in text and full not in text, text)
    equal(rows("session", full[:8]), rows("session", full))
    equal(rows("log", "--session", full[:5]), rows("log", "--session", full))
    exported = ask("export", "--session", full[:8], "--kind", "call")
    equal(exported, ask("export", "--session", full, "--kind", "call"))
    page = ask("report", "--kind", "incident", full[:8])
    check(full.encode() in page, "the page has no id")
    ask("pack", "-o", TMP + "/short.tar", full[:8])
    ask("session", "zz", status=65)
    env = {"KENNEL_HOME": TMP + "/short"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    for _ in range(17):  # of 17 ids two begin alike
        equal(kexec("    run %s **\n" % words(WITNESS), [WITNESS, "exit", "0"], env=env).returncode, 0)
    ids = sorted({x["session"] for x in rows("sessions", env=env)})
    first, second = next((a, b) for a, b in zip(ids, ids[1:]) if a[0] == b[0])
    r = run([KENNEL, "audit", "session", first[0]], env=environment(env))
    equal(r.returncode, 65)
    check(b"give more digits" in r.stderr and first.encode() in r.stderr, r.stderr)
    equal(r.stdout.count(b"\n"), 0, r.stdout)


@test("-n prints the last rows of every query, and a time may be today or yesterday")
def last_rows():
    real_session()
    for verb in ("sessions", "tool", "exec", "secret", "gaps", "changes", "who-approved", "anomalies", "widened"):
        every = rows(verb)
        for n in (1, 2, len(every) + 5):
            equal(rows(verb, "-n", str(n)), every[-n:], verb)
    check(len(rows("exec")) > 2, "the control: too few rows")
    equal(len(ask("tool", "-n", "2", "--no-header").splitlines()), 2)
    ask("tool", "-n", "0", status=64)
    ask("report", "-n", "1", status=64)  # no rows of its own
    before, days = time.time(), {}
    for name, ago in (("yesterday", 86400), ("today", 0)):
        head = ask("log", "--since", name).decode().splitlines()[0]
        days[name] = time.strftime("%Y-%m-%dT00:00:00.000000000Z", time.gmtime(before - ago))
        after = time.strftime("%Y-%m-%dT00:00:00.000000000Z", time.gmtime(time.time() - ago))
        check(head.endswith(" --from " + days[name]) or head.endswith(" --from " + after), head)
    equal(rows("log", "--since", "yesterday"), rows("log"))
    equal(rows("log", "--to", "yesterday"), [])


@test("find-secret refuses a value that is an argument, and warns about the scheme of a header")
def find_warnings():
    real_session()
    r = run([KENNEL, "audit", "find-secret", SECRET], env=environment(ENV), timeout=60)
    equal(r.returncode, 64)
    check(b"--stdin" in r.stderr and b"process list" in r.stderr, r.stderr)
    check(SECRET.encode() not in r.stderr + r.stdout, "the value was printed")
    for text, warns in (("Bearer " + SECRET, True), (SECRET, False)):
        r = run([KENNEL, "audit", "find-secret", "--stdin"], env=environment(ENV), timeout=60, stdin=text.encode())
        equal(r.returncode, 65 if warns else 0, r.stderr)
        equal(b'begins with "Bearer "' in r.stderr, warns, r.stderr)
        check(SECRET.encode() not in r.stderr + r.stdout, "the value was printed")


@test("export --for-verify: a stranger verifies the copy; it has no private key; a changed byte is found")
def for_verify():
    real_session()
    log, to = ENV["KENNEL_HOME"] + "/audit", TMP + "/stranger"
    out = ask("export", "--for-verify", to).decode()
    equal([e["fields"]["name"] for e in audit("--kind", "export", env=ENV)][-1:], [[to]], "the record names the directory")
    equal(oct(os.stat(to).st_mode & 0o777), "0o700")
    command = shlex.split(next(x for x in out.splitlines() if x.startswith("    kennel-verify ")))
    equal(command[-1], to)
    within("kennel-verify is %s/kennel-verify; it runs without kennel" % LIBEXEC, out)
    away = TMP + "/away"
    shutil.copytree(to, away)
    shutil.rmtree(to)
    other = UID if os.geteuid() == 0 else os.geteuid()
    for at in [away] + [away + "/" + x for x in os.listdir(away)]:
        os.chown(at, other, -1)
    as_other = ["setpriv", "--reuid=%d" % UID, "--clear-groups", "--"] if os.geteuid() == 0 else []
    verify = as_other + [LIBEXEC + "/kennel-verify"] + command[1:-1] + [away]
    r = run(verify, timeout=60)
    equal(r.returncode, 0, r.stdout + r.stderr)
    check(r.stdout.startswith(b"intact"), r.stdout)
    seeds = []
    for key in ("audit.key", "origin.key"):  # slots of 64 bytes, which begin with a private key
        private = reads(log + "/" + key)
        seeds += [private[at:at + 32] for at in range(0, len(private), 64) if any(private[at:at + 32])]
    check(len(seeds) >= 2, "the control: no private keys")
    for name in os.listdir(away):
        body = reads(away + "/" + name)
        for seed in seeds:
            check(seed[:16] not in body and seed[16:] not in body, name + " has a private key")
    check(not [x for x in os.listdir(away) if x.endswith(".key") or "payload" in x], os.listdir(away))
    body = bytearray(reads(away + "/audit.db"))
    at = body.find(b'"kind"' if b'"kind"' in body else b"exec")
    body[at + 1] ^= 1
    with open(away + "/audit.db", "wb") as f:
        f.write(body)
    equal(run(verify, timeout=60).returncode, 1)
    os.mkdir(to)
    ask("export", "--for-verify", to, status=125)
    equal(os.listdir(to), [])
    ask("export", "--for-verify", to + "2", "--server", "t", status=64)


@test("tail -f shows what is written while it runs")
def tail():
    env = {"KENNEL_HOME": TMP + "/tail"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    body = "    run %s **\n" % words(WITNESS)
    equal(kexec(body, [WITNESS, "exit", "0"], env=env).returncode, 0)
    out = open(TMP + "/tail.out", "wb")
    p = start([KENNEL, "audit", "tail", "-f", "-n", "2"], env=environment(env), stdout=out)
    check(wait_for(lambda: len(reads(TMP + "/tail.out").splitlines()) == 5, 3), reads(TMP + "/tail.out"))
    equal(kexec(body, [WITNESS, "exit", "7"], env=env).returncode, 7)
    check(wait_for(lambda: b"ended with status 7" in reads(TMP + "/tail.out"), 5), reads(TMP + "/tail.out"))
    p.kill()
    out.close()


@test("tail -f: a log that is put back in its place, and has grown past what was shown, is not shown as its continuation", 90)
def tail_of_two():
    body = "    run %s **\n" % words(WITNESS)

    def idle():
        check(wait_for(lambda: not any(c.startswith("kennel-recorder") for c in descendants(os.getpid()).values()), 8))

    def of(name, starts):
        env = {"KENNEL_HOME": TMP + "/" + name}
        os.makedirs(env["KENNEL_HOME"], mode=0o700, exist_ok=True)
        for _ in range(starts):
            equal(kexec(body, [WITNESS, "exit", "0"], env=env).returncode, 0)
        idle()
        return env
    env = of("tail-two", 1)
    shutil.copytree(env["KENNEL_HOME"], TMP + "/tail-two-copy")
    of("tail-two", 2)
    other = of("tail-two-copy", 6)
    out, err = open(TMP + "/tail-two.out", "wb"), open(TMP + "/tail-two.err", "wb")
    p = start([KENNEL, "audit", "tail", "-f", "-n", "2", "--all"], env=environment(env), stdout=out, stderr=err)
    check(wait_for(lambda: reads(TMP + "/tail-two.out").count(b"\n") >= 3, 5))
    of("tail-two", 1)  # the control: the same log, longer
    check(wait_for(lambda: reads(TMP + "/tail-two.out").count(b"\n") > 6, 5), reads(TMP + "/tail-two.out"))
    equal(p.poll(), None)
    time.sleep(0.5)
    shown = reads(TMP + "/tail-two.out")
    check(len(audit("--all", env=other)) > len(audit("--all", env=env)), "not longer")
    os.rename(env["KENNEL_HOME"] + "/audit", TMP + "/tail-two.was")
    os.rename(other["KENNEL_HOME"] + "/audit", env["KENNEL_HOME"] + "/audit")
    equal(p.wait(10), 1)
    within(b"does not continue the one that was followed", reads(TMP + "/tail-two.err"))
    equal(reads(TMP + "/tail-two.out"), shown, "a record of the other log was shown")


@test("a witness signs one of many requests that come at once from the same state")
def witness_at_once():
    env = {"KENNEL_HOME": TMP + "/witness-once"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    where = env["KENNEL_HOME"] + "/"
    equal(kexec("    run %s **\n" % words(WITNESS), [WITNESS, "exit", "0"], env=env).returncode, 0)
    r = run([KENNEL, "audit", "witness", "key", "--key", where + "key", "--name", "example.com/w"], env=env)
    equal(r.returncode, 0, r.stderr)
    r = run([KENNEL, "audit", "witness", "request", "--old", "0"], env=env)
    equal(r.returncode, 0, r.stderr)
    with open(where + "request", "wb") as f:
        f.write(r.stdout)
    vkey = reads(where + "audit/origin.vkey").decode().strip()
    for n in range(4):
        sign = [KENNEL, "audit", "witness", "sign", "--key", where + "key", "--name", "example.com/w",
                "--state", where + "state-%d" % n, "--log", vkey]
        many = [start(sign, env=environment(env), stdin=open(where + "request", "rb"), stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE) for _ in range(12)]
        out = [(p.communicate(timeout=30), p.returncode)[::-1] for p in many]
        equal(sorted(status for status, _ in out), [0] + 11 * [1], [o[1][1] for o in out])
        equal(sum(len(o[1][0]) > 0 for o in out), 1, "more than one signature")


@test("tiles: a directory that has a checkpoint gets those of the log that continues it, and no other")
def tiles_of_two():
    def of(name, starts):
        env = {"KENNEL_HOME": TMP + "/" + name}
        os.makedirs(env["KENNEL_HOME"], mode=0o700, exist_ok=True)
        for _ in range(starts):
            equal(kexec("    run %s **\n" % words(WITNESS), [WITNESS, "exit", "0"], env=env).returncode, 0)
        check(wait_for(lambda: not any(c.startswith("kennel-recorder") for c in descendants(os.getpid()).values()), 8))
        return env

    def tiles(env):
        return run([KENNEL, "audit", "tiles", TMP + "/tiles-out"], env=env)
    env = of("tiles-two", 1)
    shutil.copytree(env["KENNEL_HOME"], TMP + "/tiles-copy")
    of("tiles-two", 2)
    equal(tiles(env).returncode, 0)
    of("tiles-two", 1)
    equal(tiles(env).returncode, 0, "the control: the same log, longer")
    before = reads(TMP + "/tiles-out/checkpoint")
    for other in of("tiles-copy", 0), of("tiles-copy", 8), of("tiles-other", 9):
        r = tiles(other)
        equal(r.returncode, 1, r.stderr)
        within(b"is not one that this log continues", r.stderr)
        equal(reads(TMP + "/tiles-out/checkpoint"), before)
    equal(tiles(env).returncode, 0, "the control: it still continues")


@test("touched: of the mounts above a path the deepest decides, and a hidden path could not be seen")
def touched():
    env, folder = {"KENNEL_HOME": TMP + "/touched-home"}, os.path.realpath(TMP) + "/touched"
    os.makedirs(folder + "/hidden", exist_ok=True)
    os.makedirs(folder + "/plain", exist_ok=True)
    os.chmod(folder, 0o755)
    s = kennel_run("    run %s\n    tool allow echo\n    read %s\n    hide %s\n" % (words(TOY), words(folder), words(folder + "/hidden")), env=env)
    s.initialize()
    s.close()

    def how(path):
        lines = run([KENNEL, "audit", "touched", path, "--json"], env=env).stdout.splitlines()
        return [r["how"] for r in map(json.loads, lines) if "how" in r]
    equal(how(folder + "/hidden/x"), ["could not see"])
    equal(how(folder + "/plain/x"), ["could read"], "the control")
    equal(sorted(how(folder)), ["could not see", "could read"])


@test("touched: the cell's own /etc has no file of this machine; /tmp and /etc/passwd are the server's own")
def touched_own():
    env = {"KENNEL_HOME": TMP + "/touched-own"}
    s = kennel_run("    run %s\n    tool allow echo\n    read /etc/ssl\n" % words(TOY), env=env)
    s.initialize()
    s.close()

    def how(path):
        return [(r["how"], r["path"]) for r in rows("touched", path, env=env)]
    for path in "/etc/shadow", "/etc/kennel/trust":
        equal(how(path), [], path)
    for path in "/etc/passwd", "/etc/hostname":
        equal(how(path), [("had its own", "/etc (base)")], path)
    within(("had its own", "/etc (base)"), how("/etc"))
    equal(how("/tmp/x"), [("had its own", "/tmp (base)")])
    # the control: what a line grants
    equal(how("/etc/ssl/x"), [("could read", "/etc/ssl (read)")])



def facts(verb, of, *filters):
    """The rows of a verb by what they are about, without the column that counts what was selected."""
    out = {}
    for r in rows(verb, *filters):
        r.pop("selected", None)
        check(of(r) not in out, verb, "two rows of", of(r))
        out[of(r)] = r
    return out


@test("a filter chooses rows: a row of each verb that has facts of more than a record is the same with and without each filter", 120)
def filters():
    real_session()
    time.sleep(1.1)  # options have whole seconds
    s = kennel_run(toy_policy("    exec allow /bin/echo **\n"), env=ENV)
    s.initialize()
    time.sleep(1.1)
    s.call("no-such-tool")
    s.call("exec", argv=["/bin/ls"])
    os.kill(s.p.pid, 9)  # its end is lost: a gap
    s.p.wait()
    check(wait_for(lambda: not descendants(os.getpid()), 12), "the recorder stays")
    def when(ts):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ts / 1e9))

    every = rows("log")
    middle = when(every[-1]["ts"] - 700 * 10**6)  # the whole second in which the second session was at work
    last = when([r for r in every if r["fields"].get("verdict") == "deny"][-1]["ts"])
    some = [("--server", "t"), ("--verdict", "deny"), ("--verdict", "allow"), ("--tool", "exec"), ("--tool", "no-such-tool"),
            ("--from", middle), ("--to", middle), ("--from", last), ("--to", last), ("--server", "t", "--verdict", "deny"),
            ("--session", every[-1].get("session") or [r["session"] for r in every if r.get("session")][-1])]
    verbs = {("sessions",): lambda r: r["session"], ("gaps",): lambda r: (r["idx"], r["what"]),
             ("policy-at", "2099-01-01"): lambda r: (r["server"], r["session"]),
             ("changes",): lambda r: r["idx"], ("anomalies",): lambda r: (r["idx"], r["what"]),
             ("widened",): lambda r: (r["server"], r["kind"], r["object"], r["policy"], r["rule"])}
    narrowed = 0
    for verb, of in verbs.items():
        whole = facts(*verb[:1], of, *verb[1:])
        check(len(whole) > 1 if verb[0] in ("sessions", "changes", "anomalies", "widened") else whole, verb, whole)
        for chosen in some:
            if verb[0] == "policy-at" and set(chosen[::2]) != {"--server"}:
                ask(*verb, *chosen, status=64)
                continue
            if verb[0] in ("widened", "anomalies") and set(chosen) & {"--from", "--to"}:
                continue  # they ask what is new in the range
            part = facts(*verb[:1], of, *verb[1:], *chosen)
            for what, row in part.items():
                equal(row, whole.get(what), "%s %s" % (verb, chosen))
            narrowed += 0 < len(part) < len(whole)
    check(narrowed > 3, "no filter chose")
    r = [x for x in rows("sessions", "--verdict", "deny")]
    check(all(0 < x["selected"] < x["records"] for x in r), r)
    equal([x["selected"] == x["records"] for x in rows("sessions")].count(False), 0)


UNTIL = " owner joe ticket T-1 until %s"
CHANGED = (  # server, its lines before and after, the answer, and a line of it
    ("scope", "net allow db.example.com:443 to private", "net allow db.example.com:443", "wider", "+ wider: net: "),
    ("until-later", "tool allow a" + UNTIL % "2031-01-02", "tool allow a" + UNTIL % "2032-01-02", "wider", "+ newly allowed from 2031-01-03: tool: "),
    ("read-more", "", "read %(dir)s", "wider", "+ newly allowed: read: "),
    ("hide-optional", "read %(dir)s\nhide %(dir)s/f", "read %(dir)s\nhide %(dir)s/f { optional }", "wider", "+ wider: hide "),
    ("less", "tool allow a b", "tool allow a", "not wider", "- newly denied: tool: "),
    ("shorter", "tool allow a" + UNTIL % "2032-01-02", "tool allow a" + UNTIL % "2031-01-02", "not wider", "- newly denied from 2031-01-03: tool: "),
    ("env-gone", 'env MODE = "1"', "", "not wider", "~ other: env "),
    ("same", 'about "one"', 'about "two"', "no difference", None),
    ("unkept", "tool allow a", "tool allow b", "unknown: the policy is not kept", None),
    ("kept-again", "tool allow a", "tool allow b", "unknown: the policy before is not kept", None),
)


@test("changes --diff says wider, not wider, no difference, or what is not kept, as JSON and as text", 120)
def changes_ways():
    env = {"KENNEL_HOME": TMP + "/ways"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)
    place, away = env["KENNEL_HOME"] + "/audit/policies", env["KENNEL_HOME"] + "/away"
    granted = {"dir": TMP + "/ways.d"}
    os.makedirs(granted["dir"] + "/f")

    def start(server, lines):
        path = TMP + "/ways-%s.kennel" % server  # one file that is edited
        os.replace(policy("    run %s **\n%s\n" % (words(WITNESS), lines % granted), server), path)
        equal(run([KENNEL, "exec", "--policy", path, server, "--", WITNESS, "exit", "0"], env=env).returncode, 0, server)
    for server, old, new, answer, _ in CHANGED:
        for lines, lost in (old, answer.endswith("before is not kept")), (new, answer.endswith("the policy is not kept")):
            if lost:  # never kept, which is not kept and removed
                os.rename(place, away)
                os.symlink("/nowhere", place)
            start(server, lines)
            if lost:
                os.unlink(place)
                os.rename(away, place)
        if not answer.startswith("unknown"):
            start(server, new + "\n# another text, the same policy")
    by_json = {r["server"]: r for r in rows("changes", "--diff", env=env) if r["what"] == "new"}
    equal(sorted(by_json), sorted(c[0] for c in CHANGED), "a text without a change of meaning has no row")
    text = ask("changes", "--diff", env=env).decode().splitlines()
    for server, _, _, answer, line in CHANGED:
        at = [i for i, x in enumerate(text) if re.search(r" new +%s " % server, x)]
        equal(len(at), 1, server)
        check(text[at[0]].endswith("  " + answer), server, text[at[0]])
        below = []
        for x in text[at[0] + 1:]:
            if re.match(r" *\d+  \d{4}-", x):
                break
            below.append(x)
        got = by_json[server]["diff"]
        if line is None:
            equal((got, below), (answer, []), server)
            continue
        equal(below[0], "    server " + server)
        check(below[1].startswith("      " + line), server, below)
        # the lines of `policy diff`, whose exit status is the answer
        kept = place + "/%s.sealed"
        p = run([KENNEL, "policy", "diff", kept % by_json[server]["before"], kept % by_json[server]["policy"]])
        equal((p.stdout.decode(), p.returncode), (got, int(answer == "wider")), server)
        within(line, got)


@test("sessions that kennel starts itself have a purpose, and every verb of servers leaves them out, except with --own", 120)
def purposes():
    if os.geteuid() == 0:
        skip("runs once, as the user")
    env = {"KENNEL_HOME": TMP + "/purpose"}
    os.makedirs(env["KENNEL_HOME"], mode=0o700)

    def kennel(*words_, status=0):
        r = run([KENNEL, *words_], env=env, timeout=60)
        equal(r.returncode, status, (words_, r.stdout, r.stderr))
        return r.stderr
    kennel("init", "t", "--", TOY)
    kennel("learn", "l", "--", TOY)
    kennel("server", "pin", "t", "-o", TMP + "/t.pins")
    s = Mcp([KENNEL, "run", "t"], env=env)
    s.initialize()
    s.call("no-such-tool")
    s.close()
    check(wait_for(lambda: not descendants(os.getpid()), 12), "the recorder stays")
    every = rows("sessions", "--own", env=env)
    equal({(r["server"], r["purpose"]) for r in every}, {("t", "init"), ("l", "learn"), ("t", "pin"), ("t", None)})
    mine, = [r["session"] for r in every if r["purpose"] is None]
    equal([r["session"] for r in rows("sessions", env=env)], [mine])
    for verb in (("sessions",), ("changes",), ("policy-at", "2099-01-01"), ("anomalies",), ("manifest",), ("denials",), ("tools",),
                 ("widened",), ("egress",)):
        def lines(*more):
            return [json.dumps(r) for r in rows(*verb, *more, env=env)]
        theirs, all_ = lines(), lines("--own")
        if verb[0] not in ("egress", "tools", "denials"):
            check(len(all_) > len(theirs), verb, all_)
        for more in (), ("--server", "t"):
            equal('"session": "' in "".join(x for x in lines(*more) if mine not in x), False, verb)
        if len(all_) > len(theirs):
            within("# records of sessions of kennel's own, shown with --own: ", ask(*verb, env=env).decode())
        check("shown with --own" not in ask(*verb, "--own", env=env).decode(), verb)
    equal([r["what"] for r in rows("changes", "--server", "t", env=env)], ["first"])
    # what asks for one session, or prints single records, has all
    for r in every:
        check(rows("session", r["session"], env=env), r)
    check({r["session"] for r in rows("log", env=env) if r.get("session")} >= {r["session"] for r in every}, "log")
    # the attack: an agent says that its session is kennel's own
    for word in "init", "learn", "pin":
        within("--for", kennel("run", "--for", word, "t", status=64).decode())
        within("--for", kennel("exec", "--for", word, "t", "--", TOY, status=64).decode())


if __name__ == "__main__":
    main()
