#!/usr/bin/env python3
"""Runs the tests and says how they went.

    tests/run.py test|check|all [WORD...]     only what has WORD in its name

The last line is "N passed, N failed[, N skipped]", alone; the exit status is 1
when something failed.  Started as root, everything that starts a cell runs
twice: as root, and as a user that is made for this run and removed after it.
"""
import concurrent.futures
import glob
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT + "/tests/lib")
sys.dont_write_bytecode = True
import kit  # noqa: E402

BUILD = os.environ.get("KENNEL_BUILD", "build")  # the tree that is tested
JOB_SECONDS = int(os.environ.get("KENNEL_JOB_SECONDS", "400"))
LONGER = ("KENNEL_TEXTS", "KENNEL_CUTS", "SEED")  # how long a long target looks
counts = {"passed": 0, "failed": 0, "skipped": 0}
failures = []  # said again at the end: the middle of a long output is what readers lose
lock = threading.Lock()
ours, ours_lock = set(), threading.Lock()  # jobs, which their own thread waits for


def say(*text):
    print(*text, flush=True)


# ---- a user of our own ---------------------------------------------------------

class User:
    """An ordinary user: ourselves, or one made for this run."""

    def __init__(self):
        self.made = False
        self.uid, self.gid = os.getuid(), os.getgid()
        if self.uid != 0:
            return
        self.name = "kenneltest-%d" % os.getpid()
        r = subprocess.run(["useradd", "-M", "-U", "-K", "SUB_UID_COUNT=0", "-d", "/nonexistent",
                            "-s", "/bin/sh", self.name], capture_output=True) \
            if shutil.which("useradd") else None
        if r is not None and r.returncode == 0:
            import pwd
            self.made = True
            e = pwd.getpwnam(self.name)
            self.uid, self.gid = e.pw_uid, e.pw_gid
        else:  # no useradd: a number that nobody has does as well
            self.uid = self.gid = 61000 + os.getpid() % 4000

    def remove(self):
        if self.made:
            subprocess.run(["userdel", self.name], capture_output=True)

    def prefix(self):
        if os.getuid() != 0:
            return []
        return ["setpriv", "--reuid=%d" % self.uid, "--regid=%d" % self.gid,
                "--clear-groups", "--"]


# ---- where both users can read it ------------------------------------------------

class Stage:
    def __init__(self, user):
        base = "/var/tmp" if os.access("/var/tmp", os.W_OK) else "/tmp"
        self.path = tempfile.mkdtemp(prefix="kennel-test.", dir=base)
        os.chmod(self.path, 0o755)
        self.user = user

    def fill(self, net=False):
        subprocess.run(["make", "-s", "install", "B=" + BUILD, "DESTDIR=" + self.path, "PREFIX=/usr"],
                       cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        os.mkdir(self.path + "/bin")
        for p in glob.glob("%s/%s/tests/*" % (ROOT, BUILD)):
            if os.path.isfile(p):
                shutil.copy(p, self.path + "/bin")
        shutil.copytree(ROOT + "/tests", self.path + "/tests", symlinks=True,
                        ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
        # Unit tests look for what they start under build/, where they stand.
        for kind in ("unit", "unit-san", "libexec", "bin", "attack", "tests"):
            if os.path.isdir("%s/%s/%s" % (ROOT, BUILD, kind)):
                shutil.copytree("%s/%s/%s" % (ROOT, BUILD, kind), "%s/build/%s" % (self.path, kind))
        modules = ROOT + "/build/node/node_modules"
        if os.path.isdir(modules):
            if subprocess.run(["cp", "-al", modules, self.path], capture_output=True).returncode:
                shutil.rmtree(self.path + "/node_modules", ignore_errors=True)
                subprocess.run(["cp", "-a", modules, self.path], check=True)
        if net and os.path.isdir(ROOT + "/build/net-node/node_modules"):
            os.mkdir(self.path + "/net")
            subprocess.run(["cp", "-a", ROOT + "/build/net-node/node_modules", self.path + "/net"], check=True)
        # Beside the modules, where the client's imports are found.
        shutil.copy(ROOT + "/tests/node/client.mjs", self.path)
        for page in ("man/kennel-policy.5", "COOKBOOK.md"):
            shutil.copy(ROOT + "/docs/" + page, self.path)
        os.makedirs(self.path + "/policy/clients")
        shutil.copy(ROOT + "/policy/clients/clients.c", self.path + "/policy/clients")
        subprocess.run(["chmod", "-R", "a+rX,go-w", self.path], check=True)

    def folder(self, job, uid, gid):
        d = "%s/run/%s" % (self.path, job)
        os.makedirs(d, exist_ok=True)
        os.chown(d, uid, gid)
        os.chmod(d, 0o711)
        return d

    def remove(self):
        def again(fn, path, _):
            try:
                os.chmod(os.path.dirname(path), stat.S_IRWXU)
                fn(path)
            except OSError:
                pass
        shutil.rmtree(self.path, onerror=again)


# ---- one job ---------------------------------------------------------------------

class Job:
    def __init__(self, name, cmd, env=None, cwd=ROOT, seconds=JOB_SECONDS, after=None):
        self.name, self.cmd, self.env = name, cmd, env or {}
        self.cwd, self.seconds, self.after = cwd, seconds, after

    def run(self):
        t0 = time.time()
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8",
               "HOME": os.environ.get("HOME", "/"), "CMOCKA_MESSAGE_OUTPUT": "TAP",
               "PYTHONDONTWRITEBYTECODE": "1"}
        env.update({k: os.environ[k] for k in LONGER if k in os.environ})
        env.update(self.env)
        with ours_lock:
            p = subprocess.Popen(self.cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, env=env, cwd=self.cwd,
                                 start_new_session=True)
            ours.add(p.pid)
        try:
            out = p.communicate(timeout=self.seconds)[0]
        except subprocess.TimeoutExpired:
            for pid in [p.pid] + list(kit.descendants(p.pid)):
                try:
                    os.kill(pid, 9)
                except OSError:
                    pass
            out = p.communicate()[0] + b"\nnot ok - took more than %d s\n" % self.seconds
        self.report(p.returncode, out.decode(errors="backslashreplace"), time.time() - t0)

    def report(self, status, text, seconds):
        shown, got = [], {"passed": 0, "failed": 0, "skipped": 0}
        for line in text.splitlines():
            low = line.upper()
            if "# SKIP" in low and line.startswith(("ok", "not ok")):
                got["skipped"] += 1  # cmocka says "not ok N # SKIP"
            elif line.startswith("not ok"):
                got["failed"] += 1
            elif line.startswith("ok"):
                got["passed"] += 1
            elif not line.startswith("#"):
                continue
            shown.append("  " + line)
        if not any(got.values()):  # not TAP: the exit status is the answer
            got["passed" if status == 0 else "skipped" if status == 77 else "failed"] += 1
            word = {0: "ok", 77: "ok # SKIP"}.get(status, "not ok")
            last = [line for line in text.splitlines() if line.strip()]
            if status == 77:
                word += " " + (last[-1] if last else "no reason given")
            shown = ["  " + word] if status == 0 or status == 77 else \
                ["  #   " + line for line in last[-40:]] + ["  not ok - exit status %d" % status]
        elif status != 0 and not got["failed"]:
            got["failed"] += 1
            shown += ["  #   " + line for line in text.splitlines()[-10:]]
            shown.append("  not ok - exit status %d" % status)
        with lock:
            for k in got:
                counts[k] += got[k]
            failures.extend(what_failed(self.name, shown))
            say("%s (%.1fs): %d passed, %d failed, %d skipped" %
                (self.name, seconds, got["passed"], got["failed"], got["skipped"])
                if sum(got.values()) > 1 else "%s (%.1fs)" % (self.name, seconds))
            for n, line in enumerate(shown):
                if n >= 400 and not line.startswith("  not ok"):
                    continue
                if not (line.startswith("  ok") and "# SKIP" not in line.upper()
                        and os.environ.get("QUIET")):
                    say(line)


def what_failed(name, shown):
    """Each line that failed, with the remarks around it."""
    def bad(line):
        return line.startswith("  not ok") and "# SKIP" not in line.upper()

    def told(step, n):  # a remark, and nothing but remarks up to the failed line
        seen = shown[n::step][:12]
        end = next((i for i, line in enumerate(seen) if not line.startswith("  #")), None)
        return end is not None and bad(seen[end])
    lines = [line for n, line in enumerate(shown) if told(1, n) or told(-1, n)]
    return [name] + lines if lines else []


# ---- what there is to run ---------------------------------------------------------

def unit_jobs(stage, user):
    env = {"TMPDIR": stage.folder("unit-user", user.uid, user.gid)}
    for kind in ("unit", "unit-san"):
        for p in sorted(glob.glob("%s/build/%s/*" % (stage.path, kind))):
            if p.endswith("/cell-witness"):
                continue  # what a unit test starts, not a test
            name = "%s/%s" % (kind, os.path.basename(p))
            # The staged program: what it starts as another user must be able to
            # reach it, also if the clone is in a directory of mode 0700.
            yield Job(name, [p], cwd=ROOT if BUILD == "build" else stage.path,
                      seconds=120 if kind == "unit" else 300)  # sanitizers: six times as long
            if os.getuid() == 0 and kind == "unit":
                yield Job(name + " as a user", user.prefix() + [p], env, cwd=stage.path, seconds=120)


def script_jobs(stage):
    # Of another tree: what finds its programs from where it stands.
    own = BUILD == "build"
    for room in ("policy", "compile_fail", "deb", "fuzz", "go", "schema") if own else ("policy",):
        p = "%s/tests/%s/run.sh" % (ROOT if own else stage.path, room)
        if os.path.exists(p):
            yield Job(room, ["sh", p], seconds=900)


def cell_jobs(stage, user, *patterns):
    """Each file that starts cells: as root and as the user."""
    files = sorted(f for p in patterns for f in glob.glob(ROOT + "/tests/" + p))
    for f in files:
        short = os.path.basename(f)[:-3]
        cmd = [sys.executable if not sys.executable.startswith("/root") else "/usr/bin/python3",
               "%s/%s" % (stage.path, os.path.relpath(f, ROOT))]
        for who in ("root", "user"):
            job = "%s-%s" % (short, who)
            uid, gid = (0, 0) if who == "root" else (user.uid, user.gid)
            if who == "root" and os.getuid() != 0:
                yield Job(short + " as root", ["sh", "-c", "echo needs root; exit 77"])
                continue
            tmp = stage.folder(job, uid, gid)
            env = {"KT_STAGE": stage.path, "KT_TMP": tmp, "KT_AS": who, "TMPDIR": tmp,
                   "KT_UID": str(user.uid), "KENNEL_HOME": tmp + "/home", "HOME": tmp,
                   "KT_SHARED": os.path.dirname(ROOT) + "/shared"}
            # A test of the network becomes the user itself (world.enter).
            prefix = user.prefix() if who == "user" and not in_world(f) else []
            yield Job("%s as %s" % (short, "root" if who == "root" else "a user"), prefix + cmd, env, cwd="/")


def in_world(path):
    with open(path) as f:
        return "world.enter(" in f.read()


def test_jobs(stage, user):
    yield from unit_jobs(stage, user)
    yield from script_jobs(stage)
    yield from cell_jobs(stage, user, "e2e/e2e_*.py", "attack/attack_*.py")


def net_jobs(stage, user):
    """With servers and clients that `make test` does without."""
    yield from cell_jobs(stage, user, "net/net_*.py")


def browser_jobs(stage, user):
    yield from cell_jobs(stage, user, "net/browser_*.py")


def screens_jobs(stage, user):
    """Pictures for the documents, of a console that runs as the caller."""
    home = "/tmp/joe"  # it is in the pictures; screens.py makes and removes it
    yield Job("screens", ["/usr/bin/python3", stage.path + "/tests/net/screens.py"],
              {"KT_STAGE": stage.path, "KT_TMP": home, "TMPDIR": home, "KT_AS": "user", "KT_UID": str(user.uid), "HOME": home,
               "KENNEL_HOME": home + "/.config/kennel", "KT_SCREENS": ROOT + "/docs/screens"}, cwd="/")


def dialogs_jobs(stage, user):
    """With the dialog programs of the distribution."""
    yield from cell_jobs(stage, user, "dialogs/dialogs_*.py")


def check_jobs():
    made = ("check-links", "check-libc", "check-accessor", "check-includes", "check-compile-fail", "check-programs")
    for target in made:
        yield Job(target, ["make", "-s", target])
    for p in sorted(glob.glob(ROOT + "/tests/check/[a-z]*.sh")):
        name = os.path.basename(p)[:-3]
        if ("check-" + name) not in made:
            yield Job("check " + name, ["sh", p], seconds=1500)


# ---- what may not stay ----------------------------------------------------------------

def scene():
    files = set()
    for d in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/user/%d" % os.getuid()):
        try:
            files |= {d + "/" + n for n in os.listdir(d)
                      if n.startswith(("kennel-", "kennel.", "witness-"))}
        except OSError:
            pass
    with open("/proc/self/mounts") as f:
        mounts = {m for m in f.read().splitlines() if "kennel" in m}
    with open("/proc/net/unix") as f:
        sockets = {s.split()[-1] for s in f if "kennel" in s}
    return files, mounts, sockets


def left_behind(before, stage):
    """A recorder goes when its last writer has gone: it gets a few seconds."""
    def quiet():
        kit.reap()
        return not kit.descendants(os.getpid())
    kit.wait_for(quiet, 12)
    left = []
    for pid, comm in kit.descendants(os.getpid()).items():
        cmd = kit.reads("/proc/%d/cmdline" % pid).replace(b"\0", b" ").decode(errors="replace")
        left.append("process %d %s: %s" % (pid, comm, cmd[:200]))
        try:
            os.kill(pid, 9)
        except OSError:
            pass
    kit.reap()
    after = scene()
    for what, was, now in zip(("file", "mount", "socket"), before, after):
        left += ["%s %s" % (what, x) for x in sorted(now - was)
                 if not (what == "file" and x.startswith(stage)) and not of_another(x, stage)]
    return left


def of_another(path, stage):
    """A run of somebody else at the same time has a stage of its own, and files of
    its own user."""
    if "/kennel-test." in path and stage not in path:
        return True
    try:
        return os.getuid() != 0 and os.lstat(path).st_uid != os.getuid()
    except OSError:
        return False


def reap_orphans(stop):
    """Orphans come to us (subreaper); a test that asks whether a process is
    gone must not see it as a zombie of ours."""
    me = os.getpid()
    while not stop.wait(0.05):
        with ours_lock:
            for pid, (ppid, state, _) in kit.processes().items():
                if ppid == me and state == "Z" and pid not in ours:
                    try:
                        os.waitpid(pid, os.WNOHANG)
                    except OSError:
                        pass


def stop_all():
    for pid in kit.descendants(os.getpid()):
        try:
            os.kill(pid, 9)
        except OSError:
            pass


def run_all(jobs, words):
    jobs = [j for j in jobs if not words or any(w in j.name for w in words)]
    stop = threading.Event()
    reaper = threading.Thread(target=reap_orphans, args=(stop,), daemon=True)
    reaper.start()
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for f in [pool.submit(j.run) for j in jobs]:
                f.result()
    finally:
        stop.set()
        reaper.join()


def run_tests(words, jobs_of=test_jobs):
    if not os.path.exists("%s/%s/tests/witness" % (ROOT, BUILD)):  # the demo does without
        sys.exit("there are no test programs: make tests-built makes them")
    before = scene()
    user = User()
    stage = Stage(user)
    try:
        stage.fill(net=jobs_of in (net_jobs, browser_jobs))
        run_all(list(jobs_of(stage, user)), words)
        left = left_behind(before, stage.path)
    finally:
        stop_all()
        if os.environ.get("KEEP"):
            say("kept:", stage.path)
        else:
            stage.remove()
        user.remove()
    with lock:
        counts["failed" if left else "passed"] += 1
        shown = ["  #   " + line for line in left] + ["  not ok" if left else "  ok"]
        failures.extend(what_failed("nothing is left behind", shown))
        say("\n".join(["nothing is left behind"] + shown))


def main():
    what, words = (sys.argv[1:2] or ["test"])[0], sys.argv[2:]
    kit.be_subreaper()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # clean up first
    if what in ("test", "all"):
        run_tests(words)
    if what == "net":
        run_tests(words, net_jobs)
    if what == "browser":
        run_tests(words, browser_jobs)
    if what == "screens":
        run_tests(words, screens_jobs)
    if what == "dialogs":
        run_tests(words, dialogs_jobs)
    if what in ("check", "all"):
        run_all(list(check_jobs()), words)
    say("\n".join(["", "what failed, again:"] + failures if failures else [""]))
    say("%d passed, %d failed%s" % (counts["passed"], counts["failed"],
        ", %d skipped" % counts["skipped"] if counts["skipped"] else ""))
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


if __name__ == "__main__":
    main()
