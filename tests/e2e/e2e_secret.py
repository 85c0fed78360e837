"""S1-02 S4-29 S4-30: a secret is in its server and nowhere else."""
import base64
import os
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


@test("S4-36: what has the shape of a credential is taken out by its kind, and counted under it")
def shapes():
    body = "    run /bin/sh **\n"
    r = kexec(body, ["/bin/sh", "-c", "echo key=AKIAIOSFODNN7EXAMPLE."])
    equal(r.stdout, b"key=[REDACTED:aws-key-id].\n")
    check(audited("scrub", "shape:aws-key-id"), "not counted")


if __name__ == "__main__":
    main()
