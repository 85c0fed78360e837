"""Rows 84-95: kennel's own processes, their files, and what the kernel counts by user."""
import array
import ctypes
import os
import resource
import shutil
import signal
import socket
import stat
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
SECRET = b"kept from it"
AS_USER = '    user "65534"\n' if os.geteuid() == 0 else ""
CAT = ATTACK + "    exec allow /bin/cat **\n"


def session(body, **how):
    s = kennel_run(body, **how)
    s.initialize()
    return s


def leash_of(s):
    return [p for p, comm in descendants(s.p.pid).items() if comm == "kennel-leash"][0]


# ---- 84, 86: something fails on the way ---------------------------------------------

@test("attack_84_no_descriptor: a gate that can open nothing refuses what is granted (ESCAPES 84)")
def no_descriptor():
    s = session(toy_policy("    exec allow /bin/echo **\n"))
    equal(s.text("exec", argv=["/bin/echo", "a"]), "exit 0\na\n", "control")
    pid = leash_of(s)
    # As many as it has: it can wait for them, and open no other.
    n = 24
    while n > 3 and resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] > n:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (n, n))
        if "exit 0" not in s.call("exec", argv=["/bin/echo", "b"]).get(
                "result", {"content": [{"text": ""}]})["content"][0]["text"]:
            break
        n -= 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (n + 1, n + 1))
    for _ in range(3):
        r = json.dumps(s.call("exec", argv=["/bin/echo", "leaked"]))
        absent("leaked", r)
        if "error" in r:
            break  # it ended: that is a refusal too
    s.close()
    check(audited("exec", '"verdict": "deny"', "/bin/echo"), "no record of the refusal")


@test("attack_86_missing_helper: without one of its programs nothing is started (ESCAPES 86)")
def missing_helper():
    d = public_folder("copy")
    shutil.copytree(STAGE + "/usr/libexec", d + "/libexec", dirs_exist_ok=True)
    os.makedirs(d + "/bin", exist_ok=True)
    shutil.copy(KENNEL, d + "/bin/kennel")
    mark = public_folder("copy-mark")
    p = policy(ATTACK + AS_USER + "    write %s\n" % words(mark))

    def attempt(name):
        env = {"KENNEL_HOME": "%s/home-%s" % (TMP, name)}
        return run([d + "/bin/kennel", "exec", "--policy", p, "t", "--", "/bin/sh", "-c",
                    "echo > %s/%s" % (mark, name)], env=env)
    for name in ("kennel-leash", "kennel-shim", "kennel-recorder"):
        at = d + "/libexec/kennel/" + name
        os.rename(at, at + ".away")
        r = attempt(name)
        os.rename(at + ".away", at)
        equal(r.returncode, 125, r.stderr)
        check(not os.path.exists("%s/%s" % (mark, name)), name, "is missing, and it ran")
    equal(attempt("all").returncode, 0, "control")
    check(os.path.exists(mark + "/all"), "control")
    # Nor where the server could make its own.
    p = policy(ATTACK + AS_USER + "    write %s\n" % words(d))
    r = attempt("own")
    equal(r.returncode, 78, r.stderr)
    within(b"is a program of kennel, and", r.stderr)
    # Nor where it could write what its policy includes.
    for name, status in (("", 0), ("include", 65)):
        with open(mark + "/include.kennel", "w") as f:
            f.write("let unused = /\n")
        p = policy(ATTACK + AS_USER + "    write %s\n" % words(mark),
                   before='include "%s/include.kennel"\n' % mark if name else "")
        r = attempt("all")
        equal(r.returncode, status, r.stderr)
        within(b"is an included policy, and" if name else b"", r.stderr)


# ---- 90: what is counted by user --------------------------------------------------------

def all_of_it(path):
    return int(reads(path) or b"0")


@test("attack_90_hoard_sum: ten servers take what they can of inotify and queues; one with a cover starts, and its user "
      "gets an instance and a queue (ESCAPES 90)", seconds=120)
def hoard_sum():
    folder = public_folder("covered")
    with open(folder + "/hidden", "w") as f:
        f.write("x")
    covered = ATTACK + "    read %s\n    hide %s\n" % (words(folder), words(folder + "/hidden"))
    libc = ctypes.CDLL(None, use_errno=True)
    taken, queues, servers = 0, 0, []
    p = policy(ATTACK)
    for _ in range(10):
        s = start([KENNEL, "exec", "--policy", p, "t", "--", WITNESS, "hoard", "60000"], env=environment(),
                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/")
        servers.append(s)
        got = dict(s.stdout.readline().decode().strip().split("=") for _ in range(4))
        taken += int(got["inotify"])
        queues += int(got["queues"])
    host = all_of_it("/proc/sys/fs/inotify/max_user_instances")
    check(16 <= taken <= host * 11 // 16, taken, host)
    r = kexec(covered, ["/bin/sh", "-c", "echo on"])
    equal(r.stdout, b"on\n", r.stderr)
    fds = [libc.inotify_init1(0)]
    check(fds[0] >= 0, "no inotify is left for its user")
    queue = libc.mq_open(b"/kennel-hoard-sum-%d" % os.getpid(), os.O_CREAT | os.O_RDWR, 0o600, None)
    check(queue >= 0, "no queue is left for its user", queues)
    libc.mq_unlink(b"/kennel-hoard-sum-%d" % os.getpid())
    os.close(queue)
    for s in servers:
        s.kill()
        s.wait()
    if os.geteuid() == 0:
        os.close(fds[0])
        return  # the control would take the instances of others who run as root
    while fds[-1] >= 0:
        fds.append(libc.inotify_init1(0))
    r = kexec(covered, ["/bin/sh", "-c", "echo on"])
    for fd in fds[:-1]:
        os.close(fd)
    control({"hoard_sum": "ok" if b"no inotify instance is left" in r.stderr else r.stderr[-300:]}, "hoard_sum")


@test("attack_90_hoard: inotify, timers, queues: a server leaves its user the rest (ESCAPES 90)")
def hoard():
    host = all_of_it("/proc/sys/fs/inotify/max_user_instances")
    # A little more than a server gets, by a user who has nothing else.
    alone = ["setpriv", "--reuid=%d" % (UID + 4001), "--clear-groups", "--"] if os.geteuid() == 0 else []
    free = {k: int(v) for k, v in facts(run(alone + [WITNESS, "hoard", "0", "2100"]).stdout).items()}
    p = policy(ATTACK)
    s = start([KENNEL, "exec", "--policy", p, "t", "--", WITNESS, "hoard", "2500"], env=environment(),
              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/")
    got = {}
    for _ in range(4):
        k, v = s.stdout.readline().decode().strip().split("=")
        got[k] = int(v)
    check(0 < got["inotify"] <= 16, got)
    check(0 < got["timers"] <= 2048, got)
    check(got["queues"] <= 2, got)
    check(got["flight"] < 2048, got)
    control({"hoard": "ok" if free["inotify"] > got["inotify"] and free["timers"] > got["timers"] and
             free["queues"] > got["queues"] and free["flight"] > got["flight"] else free}, "hoard")
    if os.geteuid() == 0:
        return  # the server's user has no other programs
    libc = ctypes.CDLL(None)
    fd = libc.inotify_init1(0)
    check(fd >= 0, "no inotify is left for its user")
    os.close(fd)
    r = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, r[1]))
    try:
        a, b = socket.socketpair()
        try:
            a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
            control({"flight": "it can be passed"}, "flight")
        except OSError:
            control({"flight": "ok"}, "flight")  # nothing can be passed on here
        a.close()
        b.close()
        r2 = kexec(ATTACK, ["/bin/sh", "-c", "echo on"])
        equal(r2.stdout, b"on\n", "another start meanwhile: %s" % r2.stderr)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, r)


@test("attack_90_first_process: limits, signals and stops for PID 1: the cell ends or goes on, no more")
def first_process():
    for line in (["/bin/sh", "-c", "kill -STOP 1; kill -TSTP 1; kill -CHLD 1; kill -9 1; echo alive"],
                 ["/usr/bin/prlimit", "--pid", "1", "--nofile=0:0"], ["/usr/bin/prlimit", "--pid", "1", "--cpu=0:0"]):
        s = session(toy_policy("    exec allow /bin/sh **\n    exec allow /usr/bin/prlimit **\n"))
        try:
            r = s.call("exec", argv=line)
            if line[0] == "/bin/sh":
                within("alive", json.dumps(r))
        except EOFError:
            pass
        check(s.close() is not None, "kennel did not end")
        check(wait_for(lambda: not [1 for c in descendants(os.getpid()).values() if c == "toy"]) is not None)


@test("attack_90_first_process: a limit of PID 1 would end the cell with a status of the server's choosing: refused")
def first_limit():
    f = witness("set_limits", "1")
    equal((f["other_read"], f["other_cpu"]), ("EPERM", "EPERM"))
    p = start((["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"]
               if os.geteuid() == 0 else []) + ["sleep", "30"])
    wait_for(lambda: reads("/proc/%d/cmdline" % p.pid).startswith(b"sleep"), 2)
    control(outside("set_limits", str(p.pid)), "other_read", "other_cpu")
    # The session goes on, and ends as its server does.
    s = session(toy_policy("    exec allow /usr/bin/prlimit **\n"))
    for limit in ("--nofile=0:0", "--cpu=0:0"):
        r = s.text("exec", argv=["/usr/bin/prlimit", "--pid", "1", limit])
        absent("exit 0", r)
    equal(s.text("echo", text="on"), "on")
    check(s.close() is not None, "kennel did not end")
    equal(s.p.returncode, 0)


# ---- 91, 93: policies ---------------------------------------------------------------------

@test("attack_91_policy_in_reach: policies, log and socket in a granted folder: no start (ESCAPES 91)")
def in_reach():
    home = public_folder("home-of-joe")
    kennel = home + "/.config/kennel"
    os.makedirs(kennel, exist_ok=True)
    env = {"KENNEL_HOME": kennel}
    work = home + "/work"
    os.makedirs(work, exist_ok=True)
    for x in (home, work, home + "/.config", kennel):
        os.chmod(x, 0o777)

    def attempt(grant, at=None, more=""):
        text = ATTACK + AS_USER + "    " + grant + "\n" + more
        p = policy(text)
        if at:
            shutil.copy(p, at)
            writable(at)
        return run([KENNEL, "exec", "--policy", at or p, "t", "--", "/bin/sh", "-c",
                    "echo > %s/planted; echo ran" % work], env=env)
    # A folder that is not there yet could be made by the server.
    r = attempt("write %s" % words(home))
    equal((r.returncode, r.stdout), (65, b""), r.stderr)
    within(b"policies", r.stderr)
    # The policy itself in the folder that it grants.
    r = attempt("write %s" % words(work), work + "/t.kennel")
    equal((r.returncode, r.stdout), (65, b""), r.stderr)
    within(b"is the policy itself", r.stderr)
    # The vault and the sockets: to read is enough.
    for grant, what in ((home, b"is kennel's vault"), (kennel + "/vault", b"is kennel's vault"),
                        (kennel + "/run", b"is the directory of kennel's sockets")):
        r = attempt("read %s { optional }" % words(grant))
        check(r.returncode in (65, 78) and r.stdout == b"", r.stderr)
        within(what, r.stderr)
    check(not os.path.exists(work + "/planted"), "it ran")
    check(any(e["kind"] == "refused" and e["fields"]["status"] == 78 for e in audit(env=env)), "not in the log")
    r = attempt("write %s" % words(work))
    equal(r.stdout, b"ran\n", r.stderr)
    # A cover falls off when the host replaces what it covers: it protects nothing.
    for hide in (kennel + "/policies", kennel, home + "/.config"):
        r = attempt("write %s" % words(home), None, "    hide %s { optional }\n" % words(hide))
        equal((r.returncode, r.stdout), (65, b""), "a cover: %s" % r.stderr)


@test("attack_91_policy_in_reach: what the server would have done with them")
def in_reach_control():
    d = public_folder("reach-own")
    p = d + "/t.kennel"
    with open(p, "w") as f:
        f.write("server t {\n%s}\n" % ATTACK)
    writable(p)
    unconfined(["/bin/sh", "-c", "echo 'server t { run /bin/sh ** read / }' > %s" % p])
    control({"policy": "ok" if b"read /" in reads(p) else "not written"}, "policy")


@test("attack_93_brought_along: a repository brings no policy and no server (ESCAPES 93)")
def brought():
    d = public_folder("repository")
    text = "server mine {\n%s}\n" % ATTACK.replace("**", "exit 7", 1)
    for at in ("mine.kennel", "policies/mine.kennel", ".kennel/policies/mine.kennel", "sealed/mine.sealed"):
        os.makedirs(os.path.dirname(d + "/" + at), exist_ok=True)
        with open(d + "/" + at, "w") as f:
            f.write(text)
    for at in (".mcp.json", "mcp-servers.json", ".kennel/mcp-servers.json"):
        with open(d + "/" + at, "w") as f:
            json.dump({"mcpServers": {"mine": {"command": WITNESS, "args": ["exit", "7"]}}}, f)
    env = {"KENNEL_HOME": TMP + "/home-93"}
    r = run([KENNEL, "run", "mine"], env=env, cwd=d)
    equal(r.returncode, 78, r.stderr)
    os.makedirs(TMP + "/home-93/policies", exist_ok=True)
    shutil.copy(d + "/mine.kennel", TMP + "/home-93/policies")
    equal(run([KENNEL, "run", "mine"], env=env, cwd=d).returncode, 7, "control")


# ---- 89, 94, 95 ------------------------------------------------------------------------------

@test("attack_94_prefix: a name that begins like a granted one, a link out of it, dots (ESCAPES 94, MCP-ATTACKS 26)")
def prefix():
    d = public_folder("prefix")
    for part in ("allowed", "allowed_x"):
        os.makedirs(d + "/" + part, exist_ok=True)
        os.chmod(d + "/" + part, 0o777)
        with open("%s/%s/file" % (d, part), "wb") as f:
            f.write(SECRET if part == "allowed_x" else b"plain")
        os.chmod("%s/%s/file" % (d, part), 0o666)
    os.symlink(d + "/allowed_x", d + "/allowed/link")
    os.symlink("../allowed_x/file", d + "/allowed/file-link")
    body = CAT + AS_USER + "    write %s\n" % words(d + "/allowed")
    ways = ("allowed_x/file", "allowed/link/file", "allowed/file-link", "allowed/../allowed_x/file",
            "allowed/made/file")
    r = kexec(body, ["/bin/sh", "-c", "ln() { :; }; for f in %s; do /bin/cat %s/$f; done; /bin/cat %s/allowed/file" % (
        " ".join(ways), d, d)])
    equal(r.stdout, b"plain", "the control beside it")
    for way in ways[:4]:
        control({way: "ok" if unconfined(["cat", d + "/" + way]).stdout == SECRET else "no"}, way)


@test("attack_95_tail: everything of a session is killed: what was refused is in the log (ESCAPES 95)")
def tail():
    env = {"KENNEL_HOME": TMP + "/home-95"}
    s = kennel_run(toy_policy("    tool deny \"env\"\n    exec allow /bin/true\n"), env=env)
    s.initialize()
    s.call("env")
    s.text("exec", argv=["/bin/ls"])
    time.sleep(0.1)  # an event of a flow is on disk within 50 ms
    everybody = [s.p.pid] + list(descendants(os.getpid()))
    for pid in everybody:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    check(wait_for(lambda: not [p for p in everybody if alive(p) and p != s.p.pid]) is not None, "left")
    s.p.wait()
    r = audit_verify(env)
    equal(r.returncode, 0, r.stdout + r.stderr)
    told = [(e["kind"], e["fields"].get("verdict")) for e in audit(env=env)]
    for wanted in (("start", None), ("refused", "deny"), ("exec", "deny")):
        check(any(k == wanted[0] and wanted[1] in (None, v) for k, v in told), wanted, told)


# ---- the host's files ---------------------------------------------------------------------------

@test("attack_04_escape_sequences: characters of a terminal, of text that turns round, bytes that are none")
def log_characters():
    s = session(toy_policy("    exec allow /bin/sh **\n"), name="mark")
    bad = ["\u009b2J", "\u0085", "\u202eevil", "\u200b", "\u2066", "\ufeff", "\u2028"]
    s.text("complain", text="begin \u00e9\u20ac\U0001f600 " + " ".join(bad) + " end")
    s.close()

    def there():
        return b" end" in run([KENNEL, "server", "log", "mark"]).stdout
    check(wait_for(there, 3) is not None, "not logged")
    out = run([KENNEL, "server", "log", "mark"]).stdout
    text = out.decode("utf-8", "replace")
    within("begin \u00e9\u20ac\U0001f600 ", text)
    for c in bad:
        absent(c[0].encode(), out, "U+%04X" % ord(c[0]))
    check(not any(unicode_control(c) for c in text), ascii(text))


def unicode_control(c):
    n = ord(c)
    return (n < 32 and c not in "\n\t") or 0x7f <= n < 0xa0


if __name__ == "__main__":
    main()
