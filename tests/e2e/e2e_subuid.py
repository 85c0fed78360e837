"""Under a subordinate uid: what the plain user no longer reads, and what the owner of the namespace still does.

Root lends an ordinary user ids by /etc/subuid and /etc/subgid.  Here files of the
test's own stand over them in a mount namespace of its own, so the system's are not
touched; without root, the user must have been lent some.
"""
import os
import pwd
import shutil
import stat
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
VALUE = "subu1d-s3ntinel-%d-k3nn3l" % os.getpid()
ROOT = os.geteuid() == 0
SECRET = "    secret TOKEN from env AGENT_TOKEN\n"
SUBUID = "    require subuid\n"
FIRST, COUNT = 3000000000, 1000
state = {}


def last_lent(path):
    """As kennel takes it: the last of the user's first range."""
    names = (state["name"], str(UID if ROOT else os.getuid()))
    for line in reads(path).decode(errors="replace").splitlines():
        f = line.split(":")
        if len(f) == 3 and f[0] in names:
            return int(f[1]) + int(f[2]) - 1
    return None


def ready():
    """Once: who the user is, what is lent, where its kennel keeps its things."""
    if state:
        if "skip" in state:
            skip(state["skip"])
        return
    uid = UID if ROOT else os.getuid()
    try:
        state["name"] = pwd.getpwuid(uid).pw_name
    except KeyError:
        state["skip"] = "newuidmap knows users of /etc/passwd only, and %d is none" % uid
    for p in ("/usr/bin/newuidmap", "/usr/bin/newgidmap"):
        if "skip" not in state and not os.path.exists(p):
            state["skip"] = p + " is not here (uidmap)"
    if "skip" not in state and ROOT:
        for p in ("subuid", "subgid"):
            state[p] = TMP + "/" + p
            with open(state[p], "w") as f:
                f.write("else:1:1\n%s:%d:%d\n" % (state["name"], FIRST, COUNT))
            os.chmod(state[p], 0o644)
            if not os.path.exists("/etc/" + p):
                state["skip"] = "/etc/%s is not here" % p
        state["home"] = public_folder("lent-home")
        os.chown(state["home"], uid, uid)
        os.chmod(state["home"], 0o700)
        state["uid"] = FIRST + COUNT - 1
    elif "skip" not in state:
        state["home"], state["uid"] = HOME, last_lent("/etc/subuid")
        if state["uid"] is None or last_lent("/etc/subgid") is None:
            state["skip"] = "nobody has lent this user ids (/etc/subuid), and only root can"
    if "skip" in state:
        skip(state["skip"])


def lent(cmd, subuid=None, subgid=None):
    """cmd as the ordinary user, in a mount namespace with these files in place."""
    if not ROOT:
        return cmd
    return ["unshare", "-m", "--propagation", "private", "--", "/bin/sh", "-c",
            'mount --bind "$1" /etc/subuid && mount --bind "$2" /etc/subgid && shift 2 && exec "$@"', "sh",
            subuid or state["subuid"], subgid or state["subgid"]] + as_user(cmd)


def as_user(cmd):
    return ["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"] + cmd if ROOT else cmd


def env(more=None):
    e = {"KENNEL_HOME": state["home"], "HOME": state["home"], "AGENT_TOKEN": VALUE}
    e.update(more or {})
    return e


def lent_exec(body, argv, **files):
    r = run(lent([KENNEL, "exec", "--policy", policy(body), "t", "--"] + argv, **files), env=env())
    absent(VALUE.encode(), r.stdout + r.stderr)
    return r


def server_of(s):
    """The host's number of the process that the session's server is, and its uid."""
    for pid, comm in descendants(s.p.pid).items():
        status = reads("/proc/%d/status" % pid).decode(errors="replace")
        words_of = {x.split(":")[0]: x.split()[1:] for x in status.splitlines() if ":" in x}
        if len(words_of.get("NSpid", [])) > 1 and words_of["NSpid"][-1] != "1":
            return pid, int(words_of["Uid"][0])
    check(False, "no server among", descendants(s.p.pid))


def session(body):
    s = Mcp(lent([KENNEL, "run", "t", "--policy", policy(toy_policy(body))]), env=env())
    s.initialize()
    equal(s.text("getenv", var="TOKEN"), "***")
    return s


READ = """
import os, sys
at = "/proc/%s/" % sys.argv[1]
for way in (lambda: open(at + "environ", "rb").read(), lambda: open(at + "mem", "rb"), lambda: os.listdir(at + "fd")):
    try:
        print(way() and "read")
    except OSError as e:
        print(e.strerror)
"""

# What an owner of the namespace does: attach; and join, become the lent id, read.
OWNER = """
import ctypes, os, sys
pid, uid, value = int(sys.argv[1]), int(sys.argv[2]), sys.stdin.read().encode()
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
print("seized" if libc.ptrace(0x4206, pid, None, None) == 0 else os.strerror(ctypes.get_errno()))
if os.fork() == 0:
    ns = os.open("/proc/%d/ns/user" % pid, os.O_RDONLY)
    if libc.setns(ns, 0x10000000) or libc.setresuid(uid, uid, uid):
        print(os.strerror(ctypes.get_errno()))
    else:
        print("joined", value in open("/proc/%d/environ" % pid, "rb").read())
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


def by_user(script, *args, stdin=b""):
    return run(as_user([sys.executable, "-c", script] + [str(a) for a in args]), stdin=stdin).stdout.decode().split("\n")


@test("ESCAPES 78: another process of the user does not read the environment of a server under a subordinate uid; of another it does")
def plain_read():
    ready()
    s = session(SECRET)
    pid, uid = server_of(s)
    equal(uid, UID if ROOT else os.getuid())
    equal(by_user(READ, pid)[:3], ["read"] * 3, "the control: without `require subuid`")
    s.close()
    s = session(SECRET + SUBUID)
    pid, uid = server_of(s)
    equal(uid, state["uid"])
    equal(by_user(READ, pid)[:3], ["Permission denied"] * 3)
    status = reads("/proc/%d/status" % pid).decode()
    within("Groups:\t \n", status, "no group of the user's is left")
    uids = [e["fields"].get("uid") for e in audit(env={"KENNEL_HOME": state["home"]}) if "fields" in e]
    check(uid in uids, "the log says", uids)
    s.close()


@test("the documented limit: the owner of the user namespace attaches to that server, and enters its namespace and reads")
def owner_reads():
    ready()
    s = session(SECRET + SUBUID)
    pid, uid = server_of(s)
    said = by_user(OWNER, pid, uid, stdin=VALUE.encode())
    equal(said[:2], ["seized", "joined True"])
    s.close()


@test("such a server is a server: its programs are judged, its secrets scrubbed, its files its own")
def works():
    ready()
    body = ("    run /bin/sh **\n    exec allow /bin/cat **\n    tmp 1M\n" + SUBUID + SECRET +
            "    secret OTHER from env AGENT_TOKEN { as file }\n")
    r = lent_exec(body, ["/bin/sh", "-c", 'echo $TOKEN; cat $OTHER_FILE; echo; echo x >/tmp/f && cat /tmp/f; ls -d / || echo refused; echo named >/dev/stdout; exit 7'])
    equal(r.returncode, 7, r.stderr)
    equal(r.stdout.decode().split(), ["***", "***", "x", "refused", "named"], r.stderr)
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        return
    by_fd = "import os; fd = os.open('/bin/echo', os.O_RDONLY); os.execve(fd, ['/bin/echo', 'by descriptor'], os.environ)"
    body = "    run %s -c %s\n    exec allow /bin/echo **\n" % (words(python), words(by_fd))
    said = [lent_exec(body + more, [python, "-c", by_fd]) for more in ("", SUBUID)]
    equal([r.stdout for r in said], [b"by descriptor\n", b""], said[1].stderr)
    within(b"PermissionError", said[1].stderr)


@test("what others may not is refused at the start, by name; what they may works, and belongs to the lent uid")
def grants():
    ready()
    d = public_folder("lent-work")
    owner = UID if ROOT else os.getuid()
    for name, mode in (("shut", 0o600), ("open", 0o644)):
        with open(d + "/" + name, "w") as f:
            f.write("text")
        os.chown(d + "/" + name, owner, -1)
        os.chmod(d + "/" + name, mode)
    body = "    run /bin/sh **\n    exec allow /bin/cat **\n"
    cat = ["/bin/sh", "-c", "cat " + d + "/open " + d + "/shut; echo; echo x >" + d + "/made && echo made"]
    r = lent_exec(body + SUBUID + "    read %s\n" % words(d + "/shut"), cat)
    equal(r.returncode, 125)
    within(("unable to reach %s/shut: the server has another uid (require subuid)" % d).encode(), r.stderr)
    r = lent_exec(body + "    read %s\n" % words(d + "/shut"), ["/bin/sh", "-c", "cat " + d + "/shut"])
    equal(r.stdout, b"text", "the control: the user's own server reads it")
    r = lent_exec(body + SUBUID + "    write %s\n" % words(d), cat)
    equal(r.stdout.decode().split(), ["text", "made"], r.stderr)
    equal(os.stat(d + "/made").st_uid, state["uid"])
    os.chmod(d, 0o755)
    os.chown(d, owner, -1)
    r = lent_exec(body + SUBUID + "    write %s\n" % words(d), cat)
    equal(r.returncode, 125)
    within(("unable to reach %s: the server has another uid" % d).encode(), r.stderr)
    if ROOT:
        shutil.rmtree(d)


@test("attack_14_cover_replaced: a hidden file is replaced or renamed while such a server runs: its cell dies")
def covers():
    ready()
    d = public_folder("lent-covers")
    body = "    run /bin/sh **\n    write %s\n    hide %s\n" % (words(d), words(d + "/hidden"))
    script = 'while [ ! -e "$1/go" ]; do :; done; { read -r l <"$1/hidden"; } 2>/dev/null && echo "saw $l"; echo ready >"$1/ready"; while :; do :; done'
    for act in (lambda: os.replace(d + "/new", d + "/hidden"), lambda: os.rename(d + "/hidden", d + "/old")):
        for name in ("hidden", "new", "go"):
            with open(d + "/" + name, "w") as f:
                f.write("text\n")
            os.chmod(d + "/" + name, 0o644)
            os.chown(d + "/" + name, UID if ROOT else os.getuid(), -1)
        p = start(lent([KENNEL, "exec", "--policy", policy(body + SUBUID), "t", "--", "/bin/sh", "-c", script, "sh", d]),
                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(env()), cwd="/")
        check(wait_for(lambda: os.path.exists(d + "/ready"), 15) is not None, "not ready")
        time.sleep(0.2)
        check(p.poll() is None, "it ended by itself")
        act()
        check(wait_for(lambda: p.poll() is not None, 2) is not None, "the cell lives on")
        equal(p.stdout.read(), b"", "before, it saw the cover")
        within(b"unable to keep %s/hidden hidden" % d.encode(), p.stderr.read())
        for name in os.listdir(d):
            os.unlink(d + "/" + name)
    check(any("cover-lost" in json.dumps(e) for e in audit(env={"KENNEL_HOME": state["home"]})), "no record")


@test("PATHS 1: under `require subuid` too: a directory that another server turned into a link is not followed, text and sealed")
def paths():
    ready()
    owner = UID if ROOT else os.getuid()
    d = public_folder("lent-paths")
    for part in ("proj", "proj/data", "kept"):
        os.makedirs(d + "/" + part, exist_ok=True)
        os.chmod(d + "/" + part, 0o777)
    for name, text in (("proj/data/plain", "plain"), ("kept/plain", "kept")):
        with open(d + "/" + name, "w") as f:
            f.write(text)
        os.chown(d + "/" + name, owner, -1)
        os.chmod(d + "/" + name, 0o644)
    tools = "    run /bin/sh **\n" + "".join("    exec allow /bin/%s **\n" % x for x in ("cat", "ln", "mv"))
    b = policy(tools + SUBUID + "    read %s\n" % words(d + "/proj/data"))
    r = run(as_user([KENNEL, "policy", "compile", b, "-o", d + "/b.sealed"]), env=env())
    equal(r.returncode, 0, r.stderr)
    at = d + "/proj/data/plain"
    go = lambda p: run(lent([KENNEL, "exec", "--policy", p, "t", "--", "/bin/cat", at]), env=env())  # noqa: E731
    for p in (b, d + "/b.sealed"):
        equal(go(p).stdout, b"plain", "before")
    r = lent_exec(tools + SUBUID + "    write %s\n" % words(d + "/proj"),
                  ["/bin/sh", "-c", "mv %s/proj/data %s/proj/was && ln -s %s/kept %s/proj/data && echo turned" % (d, d, d, d)])
    equal(r.stdout, b"turned\n", r.stderr)
    equal(os.lstat(d + "/proj/data").st_uid, state["uid"], "made by the lent uid")
    equal(run(as_user(["cat", at])).stdout, b"kept", "the control: the link leads there")
    for p, why in ((b, b"is not followed: others than root can change it"), (d + "/b.sealed", b"it now contains a symbolic link")):
        r = go(p)
        check(r.returncode != 0, r.stdout)
        equal(r.stdout, b"")
        within(why, r.stderr)


@test("nothing is lent, or not to this user, or by half: the server is not started, and the message says what is missing")
def refusals():
    ready()
    body = "    run /bin/sh **\n" + SUBUID
    if not ROOT:
        skip("only root can put other files in place")
    none = TMP + "/lent-none"
    for text in ("", "else:3000000000:1000\n", "%s:0:10\n" % state["name"], "%s:%d:10\n" % (state["name"], UID - 1), "%s:x:y\n" % state["name"]):
        with open(none, "w") as f:
            f.write(text)
        os.chmod(none, 0o644)
        r = lent_exec(body, ["/bin/sh", "-c", "echo started"], subuid=none)
        equal(r.returncode, 125, text)
        within(b"unable to give the server a subordinate uid: no range of this user in /etc/subuid", r.stderr)
        absent(b"started", r.stdout)
        r = lent_exec(body, ["/bin/sh", "-c", "echo started"], subgid=none)
        within(b"no range of this user in /etc/subgid", r.stderr)
    r = kexec(body, ["/bin/sh", "-c", "echo started"])
    equal(r.returncode, 125)
    within(b"root has none; choose a uid of its own", r.stderr)
    cmd = lent([KENNEL, "exec", "--policy", policy(body), "t", "--", "/bin/sh", "-c", "echo started"])
    at = cmd.index("setpriv")
    r = run(cmd[:at + 1] + ["--no-new-privs"] + cmd[at + 1:], env=env())
    equal(r.returncode, 125)
    within(b"newuidmap did not map it", r.stderr)


@test("doctor tries it, and says what is kept out and what is not")
def doctor():
    ready()
    row = lambda cmd: [x for x in json.loads(run(cmd, env=env()).stdout) if x["name"] == "subordinate-uids"][0]  # noqa: E731
    got = row(lent([KENNEL, "doctor", "--json"]))
    check(got["holds"] and "uid %d" % state["uid"] in got["said"], got)
    within("do not read its /proc", got["said"])
    within("may attach to it and join it", got["said"])
    if not ROOT:
        return
    none = TMP + "/lent-none"
    with open(none, "w") as f:
        f.write("else:3000000000:1000\n")
    os.chmod(none, 0o644)
    got = row(lent([KENNEL, "doctor", "--json"], subuid=none))
    check(not got["holds"], got)
    within("no range of this user in /etc/subuid", got["said"])
    within("--add-subuids", got["fix"])
    cmd = lent([KENNEL, "doctor", "--json"])
    at = cmd.index("setpriv")
    check(not row(cmd[:at + 1] + ["--no-new-privs"] + cmd[at + 1:])["holds"], "without privileges for newuidmap")


if __name__ == "__main__":
    main()
