"""kennel exec: one program under a policy, raw stdio, its status."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

TOKEN = "exec-s3ntinel-%d" % os.getpid()
BODY = '    run %s **\n    exec allow /bin/sh **\n    exec allow /bin/cat\n' % words(WITNESS)


@test("the loader's cache names the libraries of the view and nothing else of the host's")
def libcache():
    if not os.path.exists("/etc/ld.so.cache"):
        skip("the loader here has no cache")
    r = kexec("    run /bin/cat **\n", ["/bin/cat", "/etc/ld.so.cache"])
    equal(r.returncode, 0, r.stderr)
    data, names = r.stdout, set()
    check(data.startswith(b"glibc-ld.so.cache1.1"), data[:20])
    for i in range(int.from_bytes(data[20:24], sys.byteorder)):
        at = 48 + 24 * i
        name, path = (int.from_bytes(data[at + k:at + k + 4], sys.byteorder) for k in (4, 8))
        names.add(data[name:data.index(b"\0", name)].decode())
        check(os.path.exists(data[path:data.index(b"\0", path)]), "a path that is nowhere")
    check("libc.so.6" in names, names)
    check(len(names) <= 4, "more than cat needs: %s" % names)
    check(len(data) < 4096, "the host's own cache")


@test("the program's own status")
def status():
    for n in (0, 1, 7, 124, 125, 200):
        equal(kexec(BODY, [WITNESS, "exit", str(n)]).returncode, n)


@test("128+n by signal")
def by_signal():
    equal(kexec(BODY, [WITNESS, "exit", "signal", "15"]).returncode, 128 + 15)
    equal(kexec(BODY, ["/bin/sh", "-c", "kill -9 $$"]).returncode, 128 + 9)


@test("S4-22 S4-23 what run or exec grants starts; 126 what nothing grants, 127 what is not there")
def refused():
    r = kexec(BODY, ["/bin/ls"])
    equal(r.returncode, 126, r.stderr)
    r = kexec(BODY, ["/bin/cat", "/etc/passwd"])
    equal(r.returncode, 126, r.stderr)
    r = kexec(BODY, ["/nonexistent/program"])
    within(r.returncode, (126, 127), r.stderr)
    check(audited("deny", "/bin/ls"), "no event for the denied program")


@test("S4-22 the variable that refuses an exec is named in the log, its value is not")
def variable_named():
    body = BODY + "    exec allow /bin/true\n"
    equal(kexec(body, ["/bin/sh", "-c", "/bin/true"]).returncode, 0)
    equal(kexec(body, ["/bin/sh", "-c", "LC_ALL=C /bin/true"]).returncode, 0)
    equal(kexec(body, ["/bin/sh", "-c", "ODD_ONE=its-value /bin/true"]).returncode, 126)
    check(audited("environment differs from the launch: ODD_ONE"), "not in the log")
    # the one that is missing, not one that the grant names
    body = BODY + "    exec allow /bin/true with env GRANTED\n    exec allow /usr/bin/env **\n"
    both = ["/usr/bin/env", "GRANTED=1", "OTHER_ONE=its-value", "/bin/true"]
    equal(kexec(body, both[:2] + both[3:]).returncode, 0)
    equal(kexec(body, both).returncode, 126)
    check(audited("environment differs from the launch: OTHER_ONE"), "the one that nothing grants")
    long = "A" * 65
    equal(kexec(body, ["/bin/sh", "-c", long + "=1 /bin/true"]).returncode, 126)
    log = json.dumps(audit())
    absent("its-value", log, "the log")
    absent(long, log, "the log")


@test("64 usage, 65 bad input, 78 no such server")
def usage():
    equal(run([KENNEL, "exec"]).returncode, 64)
    equal(run([KENNEL, "nonsense"]).returncode, 64)
    p = TMP + "/broken.kennel"
    with open(p, "w") as f:
        f.write("server t {\n    run\n    nonsense here\n}\n")
    r = run([KENNEL, "exec", "--policy", p, "t", "--", "/bin/true"])
    equal(r.returncode, 65, r.stderr)
    within(b"broken.kennel:2:", r.stderr)
    within(b"broken.kennel:3:", r.stderr, "all errors in one run")
    r = run([KENNEL, "exec", "--policy", policy(BODY), "other", "--", WITNESS])
    within(r.returncode, (65, 78), r.stderr)


@test("stdin and stdout pass raw")
def raw():
    data = bytes(range(256)) * 4096
    r = kexec(BODY, ["/bin/cat"], stdin=data)
    equal(r.returncode, 0, r.stderr)
    check(r.stdout == data, "%d bytes came back" % len(r.stdout))


@test("K-06 stdout and stderr are scrubbed")
def scrubbed():
    body = BODY + "    secret TOKEN from env AGENT_TOKEN\n"
    r = kexec(body, ["/bin/sh", "-c", 'echo "o:$TOKEN"; echo "e:$TOKEN" >&2'], env={"AGENT_TOKEN": TOKEN})
    equal(r.stdout, b"o:***\n", r.stderr)
    within(b"e:***", r.stderr)
    absent(TOKEN.encode(), r.stderr)


@test("a compiled policy does the same as its text")
def sealed():
    p = policy(BODY)
    out = TMP + "/t.sealed"
    r = run([KENNEL, "policy", "compile", p, "-o", out])
    equal(r.returncode, 0, r.stderr)
    r = run([KENNEL, "exec", "--policy", out, "t", "--", WITNESS, "exit", "5"])
    equal(r.returncode, 5, r.stderr)
    with open(out, "r+b") as f:
        f.seek(200)
        b = f.read(1)
        f.seek(200)
        f.write(bytes([b[0] ^ 0x40]))
    r = run([KENNEL, "exec", "--policy", out, "t", "--", WITNESS, "exit", "5"])
    check(r.returncode in (65, 78), "a changed sealed file: %d" % r.returncode)


@test("what runs inside: no id, no capability, filter on, namespaces of its own")
def inside():
    f = witness("ids", body=BODY)
    check(f["uid"] != "0", f)
    for cap in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        equal(int(f[cap], 16), 0, cap)
    equal(f["NoNewPrivs"], "1")
    equal(f["Seccomp"], "2")
    for ns in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
        check(f["ns_" + ns] != os.readlink("/proc/self/ns/" + ns), ns)
    check(int(f["pid"]) < 10, f["pid"])


@test("as root: a folder below one that only the policy's user may enter")
def below_private():
    if os.geteuid() != 0:
        skip("an ordinary user has nothing that it may not enter")
    d = public_folder("private")
    os.makedirs(d + "/work", exist_ok=True)
    for x in (d + "/work", d):
        os.chown(x, UID, UID)
        os.chmod(x, 0o700)
    body = ATTACK + '    user "%d"\n    write %s\n' % (UID, words(d + "/work"))
    r = kexec(body, ["/bin/sh", "-c", "echo in > %s/work/f && echo out > %s/f" % (d, d)])
    equal(reads(d + "/work/f"), b"in\n", r.stderr)
    check(not os.path.exists(d + "/f"), "the folder above was written")


@test("no mount is both writable and executable; no descriptor but 0 1 2")
def mounts():
    f = witness("mounts", body=BODY)
    equal(f["writable_and_executable_n"], "0", f.get("writable_and_executable"))
    if os.geteuid() == 0:
        os.set_inheritable(os.open("/", os.O_RDONLY), True)
    f = witness("fds", body=BODY, close_fds=False)
    equal(sorted(k for k in f if k.startswith("fd_")), ["fd_0", "fd_1", "fd_2"])


@test("limits: no core, and those of the policy")
def limits():
    f = witness("limits", body=BODY + "    limit processes 40 files 100\n")
    check(int(f["core"].split()[1]) <= 1, f["core"])


@test("a server opens its streams by name, under whatever uid")
def streams():
    r = kexec("    run /bin/sh **\n", ["/bin/sh", "-c", "read -r x </dev/stdin; echo out $x >/dev/stdout; echo err >/dev/stderr"], stdin=b"in\n")
    equal((r.stdout, r.stderr), (b"out in\n", b"err\n"))


if __name__ == "__main__":
    main()
