"""S1-02 S4-29 S4-30: a secret is in its server and nowhere else."""
import base64
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
VALUES = {s: "%s-s3ntinel-%d-k3nn3l" % (s, os.getpid()) for s in ("env", "file", "cmd")}


def secret_session():
    path = TMP + "/sentinel"
    with open(path, "w") as f:
        f.write(VALUES["file"] + "\n")
    os.chmod(path, 0o600)
    cmd = TMP + "/sentinel-cmd"
    with open(cmd, "w") as f:
        f.write(VALUES["cmd"] + "\n")
    os.chmod(cmd, 0o600)
    s = kennel_run(toy_policy("    secret S_ENV from env AGENT_TOKEN\n    secret S_FILE from file %s\n"
                              "    secret S_CMD from cmd /bin/cat %s\n" % (words(path), words(cmd))),
                   env={"AGENT_TOKEN": VALUES["env"]})
    s.initialize()
    for var in ("S_ENV", "S_FILE", "S_CMD"):
        equal(s.text("getenv", var=var), "***")
        check("s3ntinel" in s.text("spell", var=var).replace("-", ""), var)
    return s


def is_server(pid):
    inner = [x.split()[1:] for x in reads("/proc/%d/status" % pid).decode(errors="replace").splitlines()
             if x.startswith("NSpid:")]
    return bool(inner) and len(inner[0]) > 1 and inner[0][-1] != "1"


@test("no environment and no command line of kennel's processes holds it")
def proc():
    s = secret_session()
    seen = 0
    for pid, comm in descendants(os.getpid()).items():
        env, cmd = reads("/proc/%d/environ" % pid), reads("/proc/%d/cmdline" % pid)
        for v in VALUES.values():
            absent(v.encode(), cmd, "command line of %s" % comm)
            if not is_server(pid):
                absent(v.encode(), env, "environment of %s" % comm)
        seen += 1
    check(seen >= 4, "only %d processes" % seen)
    s.close()


@test("the memory of the process that speaks to the agent holds no value")
def memory():
    if os.geteuid() != 0:
        skip("needs root to read another process's memory")
    s = secret_session()
    for pid, comm in descendants(os.getpid()).items():
        if comm not in ("kennel", "kennel-recorder"):
            continue
        for part in memory_of(pid):
            for source, v in VALUES.items():
                absent(v.encode(), part, "a value from %s in %s" % (source, comm))
    s.close()


@test("S4-30 no file, log, error or audit record holds it")
def files():
    s = secret_session()
    s.text("leak", var="S_FILE", mode="stderr")
    s.call("leak", var="S_CMD", mode="error")
    s.text("leak", var="S_ENV", mode="junk")
    s.close()
    wait_for(lambda: s.p.poll() is not None)
    n = 0
    for folder, _, names in os.walk(HOME):
        for name in names:
            data = reads(folder + "/" + name)
            n += 1
            for v in VALUES.values():
                absent(v.encode(), data, name)
                absent(v.encode().hex().encode(), data, name + " (hex)")
    check(n > 0, "no file in", HOME)
    for v in VALUES.values():
        absent(v, s.stderr(), "stderr")
        absent(v, json.dumps(audit()), "audit log")


@test("files of the log are 0600, folders 0700")
def modes():
    s = secret_session()
    s.close()
    for folder, dirs, names in os.walk(HOME):
        for name in names + dirs:
            st = os.lstat(folder + "/" + name)
            check(not st.st_mode & 0o077, name, oct(st.st_mode))


MODES = ("raw", "unicode", "split", "bytes", "error", "note", "key", "blob", "uri", "stderr", "junk")


def spellings(value):
    """What a value is recognised by, in whatever neighbourhood; all lower case."""
    raw = value.encode()
    found = {raw, raw[::-1], raw.hex().encode(), raw.decode().encode("utf-16-le"), raw.decode().encode("utf-16-be"),
             b"".join(b"\\u%04x" % c for c in raw), b"".join(b"%%%02x" % c for c in raw)}
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw + b"\0" * 3)
        first, end = (8 * before + 5) // 6, 8 * (before + len(raw)) // 6
        found |= {whole[first:end], whole[first:end].replace(b"+", b"-").replace(b"/", b"_")}
    return {f.lower() for f in found}


def nowhere(value, data, where):
    data = (data if isinstance(data, bytes) else data.encode()).lower()
    for f in spellings(value):
        absent(f, data, where)


@test("ESCAPES 77 78 80 82, S4-28 S4-29 S4-30 S4-35: pumped through every tool and way out, it is in the server's environment and nowhere else")
def sentinel():
    s = secret_session()
    for mode in MODES:
        for var in ("S_ENV", "S_FILE", "S_CMD"):
            s.call("leak", var=var, mode=mode)
    servers = 0
    for pid, comm in descendants(os.getpid()).items():
        env = reads("/proc/%d/environ" % pid)
        if is_server(pid):
            servers += all(v.encode() in env for v in VALUES.values())
            continue
        for v in VALUES.values():
            nowhere(v, env + reads("/proc/%d/cmdline" % pid), "environment or command line of " + comm)
    check(servers == 1 or os.geteuid() != 0, "the server itself has it in", servers, "processes")
    said = s.stderr()
    s.close()
    wait_for(lambda: s.p.poll() is not None)
    for v in VALUES.values():
        nowhere(v, said, "kennel's own words")
    outputs = 0
    for verb in (["audit", "log"], ["audit", "log", "--json"], ["audit", "sessions"], ["audit", "secret", "S_FILE"],
                 ["audit", "export", "--format", "jsonl"], ["audit", "report"], ["server", "log", "t"], ["doctor"],
                 ["policy", "show", policy(toy_policy("    secret S_ENV from env AGENT_TOKEN"))]):
        r = run([KENNEL] + verb, timeout=60)
        outputs += len(r.stdout) > 0
        for v in VALUES.values():
            nowhere(v, r.stdout + r.stderr, " ".join(verb))
    check(outputs >= 4, "only", outputs, "verbs said something")
    for folder, _, names in os.walk(HOME):
        for name in names:
            for v in VALUES.values():
                nowhere(v, reads(folder + "/" + name), name)
    scrubs = [e for e in audit() if "scrub" in json.dumps(e)]
    check(scrubs, "nothing was counted")


FORMS = ["printf %s \"$S\"", "printf %s \"$S\" | base64 -w0", "printf x%s \"$S\" | base64 -w0", "printf xy%sz \"$S\" | base64",
         "printf %s \"$S$S\" | base64 -w 76", "printf %s \"$S\" | base32 -w0", "printf %s \"$S\" | od -An -tx1",
         "printf %s \"$S\" | od -An -v -tx1 -w999", "printf xyz%s \"$S\" | base64 -w 20"]


@test("ESCAPES 80, K-06: base64 at each offset and in columns, base32, dumps in hex: all of them are masks")
def encodings():
    value = "K9x+Zq/7-encoded-s3ntinel-%d" % os.getpid()
    body = "    run /bin/sh **\n    secret S from env AGENT_TOKEN\n" + "".join(
        "    exec allow /usr/bin/%s **\n" % p for p in ("base64", "base32", "od"))
    for form in FORMS:
        r = kexec(body, ["/bin/sh", "-c", form + "; " + form + " >&2"], env={"AGENT_TOKEN": value})
        equal(r.returncode, 0, form + repr(r.stderr[-300:]))
        for what in (r.stdout, r.stderr):
            check(b"***" in what, form, what[:200])
            plain = b"".join(what.split())
            nowhere(value, plain, form)
    r = kexec(body, ["/bin/sh", "-c", "printf %s no-value-of-ours | base64 -w0"], env={"AGENT_TOKEN": value})
    equal(r.stdout, base64.b64encode(b"no-value-of-ours"), "what is no secret passes")


@test("ESCAPES 83: what one server was given is nothing that another finds, under the same name or any")
def own_values():
    a = kennel_run(toy_policy("    secret TOKEN from env AGENT_TOKEN"), env={"AGENT_TOKEN": VALUES["env"]})
    a.initialize()
    equal(a.text("getenv", var="TOKEN"), "***")
    b = kennel_run(toy_policy("    secret TOKEN from env OTHER_TOKEN"), name="b",
                   env={"AGENT_TOKEN": VALUES["env"], "OTHER_TOKEN": "b-of-its-own-%d-val" % os.getpid()})
    b.initialize()
    spelt = b.text("spell", var="TOKEN")
    within("b", spelt)
    check("s3ntinel" not in spelt.replace("-", ""), "the value of another server")
    check("s3ntinel" not in b.text("spell", var="AGENT_TOKEN").replace("-", ""), "a value of the agent's environment")
    a.close()
    b.close()


def told(value, words_, where, **how):
    """What kennel says of these words: the value is not in it, however it is spelt."""
    r = run([KENNEL] + words_, timeout=60, **how)
    nowhere(value, r.stdout + r.stderr, where)
    return r


@test("S4-30 C24: a value in a malformed line of a manifest, a catalog or a policy is not in what is said about that line")
def malformed():
    value = VALUES["file"]
    env = {"KENNEL_HOME": TMP + "/malformed"}
    project = TMP + "/malformed-project"
    lines = ["secret %s { description x }", "secret team/a/b { value %s }", "secret team/a/b { description %s }",
             "secret team/a/b { expires %s }", "secret team/a/b { approve %s }", "secret team/a/b { pattern %s }",
             "%s", "secret team/a/b %s", "secret team/a/b { \"%s", "token %s { pattern github-pat }",
             "override %s { approve session }", "required %s", "let x = %s", "include \"%s\"", "secret team/%s { }",
             "secret team/a/b { hosts %s }", "secret team/a/b { rotation %s rotate-every %s }"]
    odd = 0
    for line in lines:
        text = line.replace("%s", value) + "\n"
        for folder, name in ((env["KENNEL_HOME"], "secrets.kennel"), (env["KENNEL_HOME"], "catalog.kennel"),
                             (project + "/.kennel", "secrets.kennel"), (project + "/.kennel", "catalog.kennel")):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            at = folder + "/" + name
            with open(at, "w") as f:
                f.write(text)
            os.chmod(at, 0o600)
            for verb in (["validate"], ["list"], ["show", "team/a/b"], ["catalog", "validate"], ["catalog", "list"]):
                # what parses is said: a description is text for people
                if "description" in line and "{ description %s }" not in line:
                    continue
                r = run([KENNEL, "secret"] + verb, env=env, cwd=project, timeout=60)
                if r.returncode:
                    odd += 1
                    nowhere(value, r.stdout + r.stderr, "%s of %s" % (verb, line))
            os.unlink(at)
    check(odd > len(lines), "the control: %d were refused" % odd)
    for body in ("    run /bin/true\n    secret X from env %s\n", "    run /bin/true\n    env X=%s %s\n",
                 "    run /bin/true\n    secret X from cmd %s\n", "    run /bin/true\n    secret %s from env X\n",
                 "    run /bin/true\n    secret X from vault %s\n"):
        p = policy(body.replace("%s", value))
        r = run([KENNEL, "run", "t", "--policy", p], timeout=60)
        check(r.returncode != 0, body)


@test("S4-30: a value in the wrong place of a command line is not said back, nor kept in the log")
def wrong_place():
    value = VALUES["cmd"]
    env = {"KENNEL_HOME": TMP + "/wrong-place"}
    for verb in ("init", "set", "rotate", "remove", "versions", "revoke", "grants", "unlock", "lock", "recover",
                 "export-recovery", "show", "list", "validate", "catalog", "trace", value):
        told(value, ["secret", verb, value], verb, env=env)
        told(value, ["secret", verb, "--fd", value], verb, env=env)
        told(value, ["secret", verb, "--" + value], verb, env=env)
    told(value, ["secret", "grant", value, "--server", "t"], "grant", env=env)
    told(value, ["secret", "revoke", "team/a/b", "--server", value + "/"], "revoke", env=env)
    told(value, ["audit", "find-secret", value], "find-secret", env=env)
    told(value, ["approve", "allow", value], "allow", env=env)
    for folder, _, names in os.walk(env["KENNEL_HOME"]):
        for name in names:
            nowhere(value, reads(folder + "/" + name), name)


@test("S4-30 ESCAPES 82: exports in every format, an incident pack, tiles, a proof and a sample hold no value")
def given_away():
    s = secret_session()
    for mode in MODES:
        s.call("leak", var="S_FILE", mode=mode)
    s.close()
    wait_for(lambda: s.p.poll() is not None)
    mine = [e for e in audit() if e["kind"] == "secrets"][-1]
    out = TMP + "/given-away"
    os.makedirs(out, exist_ok=True)
    n = 0
    for words_ in ([["export", "--format", f] for f in ("jsonl", "csv", "ocsf", "cef")] +
                   [["pack", "-o", out + "/pack", mine["session"]], ["tiles", out + "/tiles"],
                    ["report", "-o", out + "/report.html"], ["prove", "-o", out + "/proof", str(mine["idx"])],
                    ["certify", "-o", out + "/certificate"], ["why", str(mine["idx"])], ["sample", "--all"],
                    ["session", mine["session"]], ["calls"], ["secret"], ["anomalies"], ["gaps"]]):
        r = run([KENNEL, "audit"] + words_, timeout=60)
        n += r.returncode == 0
        for v in VALUES.values():
            nowhere(v, r.stdout + r.stderr, " ".join(words_))
    check(n >= 12, "the control: %d of them were answered" % n)
    files = [os.path.join(f, x) for f, _, names in os.walk(out) for x in names]
    check(len(files) >= 5, "the control: %s" % files)
    for f in files:
        for v in VALUES.values():
            nowhere(v, reads(f), f)


@test("S4-30: who dies of a fault leaves no dump, neither kennel's processes nor one with the value in it")
def crash_dumps():
    import resource
    import signal as signals
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hard == 0:
        skip("no dumps are allowed here")
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    here = TMP + "/dumps"
    os.makedirs(here, exist_ok=True)
    os.chmod(here, 0o777)
    try:
        # the control: another process leaves one
        p = subprocess.Popen(["/bin/sh", "-c", "kill -SEGV $$"], cwd=here)
        dumps = os.WCOREDUMP(os.waitpid(p.pid, 0)[1])
        for comm in ("kennel-leash", "kennel"):
            s = secret_session()
            pids = [p for p, c in descendants(os.getpid()).items() if c == comm]
            for pid in pids:
                os.kill(pid, signals.SIGSEGV)
            check(wait_for(lambda: s.p.poll() is not None, 30) is not None, "kennel stays")
            if comm == "kennel":
                equal(s.p.returncode, -signals.SIGSEGV)
            wait_for(lambda: not [p for p in pids if alive(p)], 30)
        for folder in {here, "/", "/tmp", "/var/tmp", TMP, HOME}:
            for name in os.listdir(folder):
                if name.startswith("core") and os.path.isfile(folder + "/" + name):
                    for v in VALUES.values():
                        nowhere(v, reads(folder + "/" + name), folder + "/" + name)
        if not dumps:
            skip("the kernel makes no dumps here (core_pattern), and none was made")
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
        shutil.rmtree(here, ignore_errors=True)


@test("ESCAPES 79: a secret that is for one host is not given to a server that reaches another")
def one_host():
    secret = "    secret S from env AGENT_TOKEN { hosts api.example.com }\n"
    for net, status in (("    net allow api.example.com:443\n", 0), ("    net allow *.example.com:443\n", 65),
                        ("    net allow other.example.com:443\n", 65), ("    net allow 198.51.100.7:443 no-sni\n", 65)):
        r = run([KENNEL, "policy", "check", policy("    run /bin/true\n" + secret + net)])
        check((r.returncode == 0) == (status == 0), net, r.returncode, r.stderr)
        if status:
            r = run([KENNEL, "run", "t", "--policy", policy("    run /bin/true\n" + secret + net)],
                    env={"AGENT_TOKEN": VALUES["env"]})
            check(r.returncode != 0, "it is started all the same")


@test("S4-36: what has the shape of a credential is taken out by its kind, and counted under it")
def shapes():
    body = "    run /bin/sh **\n"
    r = kexec(body, ["/bin/sh", "-c", "echo key=AKIAIOSFODNN7EXAMPLE."])
    equal(r.stdout, b"key=[REDACTED:aws-key-id].\n")
    check(audited("scrub", "shape:aws-key-id"), "not counted")


if __name__ == "__main__":
    main()
