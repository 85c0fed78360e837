#!/usr/bin/env python3
"""make bench-growth: how what a user waits for grows with how much there is of it.

Writes docs/GROWTH.md: a table for each curve, and its exponent, the slope of the
last decade in a double logarithmic picture: 0 is constant, 1 linear, 2 quadratic.

    growth.py [--quick] [--print]    --print: do not write the page
"""
import math
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
for d in ("/../lib", "/..", ""):
    sys.path.insert(0, HERE + d)
import bench  # noqa: E402

QUICK = "--quick" in sys.argv
BAR = 40  # characters of the widest bar


def exponent(points):
    """The slope through the points of the last decade."""
    last = [(math.log(n), math.log(v)) for n, v in points if n * 10 >= points[-1][0] or (n, v) in points[-2:]]
    mx, my = (sum(p[i] for p in last) / len(last) for i in (0, 1))
    return sum((x - mx) * (y - my) for x, y in last) / sum((x - mx) ** 2 for x, _ in last)


def curve(title, of, unit, points, note=""):
    """points: (how many, value); drawn with bars as long as the value's logarithm."""
    low, high = (f(math.log(v) for _, v in points) for f in (min, max))
    print("## %s\n\n| %s | %s | |\n| ---: | ---: | --- |" % (title, of, unit))
    for n, v in points:
        bar = 1 + round((BAR - 1) * (math.log(v) - low) / max(high - low, math.log(10)))
        print("| {:,} | {:,.4g} | {} |".format(n, v, "▇" * bar))
    print("\nExponent over the last decade: %.2f.%s\n" % (exponent(points), " " + note if note else ""), flush=True)


# ---- as the user ------------------------------------------------------------------

def sealed(kit, body):
    """What one policy costs: seconds to compile it, and its sealed file."""
    p = kit.policy(body)
    t = time.perf_counter()
    r = kit.run([kit.KENNEL, "policy", "compile", p, "-o", p + ".sealed"], timeout=900)
    took = time.perf_counter() - t
    kit.equal(r.returncode, 0, r.stderr[-2000:])
    return took, p + ".sealed"


def starts(kit, first, file):
    out = kit.run([first, "5" if QUICK else "21", kit.KENNEL, "exec", "--policy", file, "t", "--", first, "--first"],
                  timeout=900).stdout
    return bench.median([int(x) for x in out.split()]) / 1e6


def start_curves(kit):
    first = kit.STAGE + "/bin/spawn"
    own = "    run %s **\n" % kit.words(first)
    log = kit.Mcp([kit.KENNEL, "run", "t", "--policy", kit.policy(kit.toy_policy())])
    log.initialize()  # a recorder that is already there
    folder = kit.TMP + "/files"
    os.makedirs(folder)
    kinds = (("tool", "lines `tool allow`", (10, 100, 1000, 10000, 100000), lambda i: "    tool allow tool_%d\n" % i),
             ("read", "lines `read`", (10, 100, 1000, 4000), lambda i: "    read %s/%d\n" % (folder, i)))
    for i in range(4000):
        open("%s/%d" % (folder, i), "w").close()
    for kind, of, sizes, line in kinds:
        compiled, started = [], []
        for n in sizes[:3] if QUICK else sizes:
            took, file = sealed(kit, own + "".join(map(line, range(n))))
            compiled.append((n, took * 1e3))
            started.append((n, starts(kit, first, file)))
        curve("Start: `kennel exec` of a compiled policy", of, "ms", started)
        curve("`kennel policy compile`", of, "ms", compiled)
    log.close()


def decision_curve(kit):
    rows = [dict(zip(x.split()[::2], map(float, x.split()[1::2])))
            for x in kit.run([kit.STAGE + "/bin/decide"], timeout=600).stdout.decode().splitlines()]
    for what, key in (("a call of a tool", "gate"), ("a start of a program", "exec")):
        curve("Decision: " + what, "rules", "ns", [(int(r["rules"]), r[key]) for r in rows],
              "A plain hash table of the C library (hsearch) takes %.0f to %.0f ns." % (rows[0]["plain"], rows[-1]["plain"]))
    curve("Loading a sealed policy", "rules", "ms", [(int(r["rules"]), r["load_us"] / 1e3) for r in rows])


def scrub_curves(kit):
    rows = [x.split() for x in kit.run([kit.STAGE + "/bin/scrub", "--growth"], timeout=900).stdout.decode().splitlines()]
    curve("Scrubbing 64 MB of JSON", "secrets", "ms", [(int(n), float(ms)) for n, ms, _ in rows])
    curve("Scrubbing: the tables, once for a session", "secrets", "ms", [(int(n), float(ms)) for n, _, ms in rows])


def query_curves(kit):
    """One log that grows: each question is asked of it at every size."""
    from audit import out, quiet
    writer, libexec = kit.STAGE + "/bin/audit", kit.STAGE + "/usr/libexec/kennel/"
    log, run = kit.TMP + "/growing", kit.TMP + "/growing-run"
    asked = {"`kennel audit log -n 20`": ["log", "-n", "20"],
             "`kennel audit log --server search -n 20`": ["log", "--server", "search", "-n", "20"],
             "`kennel audit denials -n 20`": ["denials", "-n", "20"],
             "`kennel audit sessions`": ["sessions"],
             "`kennel audit tools`": ["tools"],
             "`kennel audit verify`": ["verify"]}
    times, there = {k: [] for k in asked}, 0
    for n in (10**4, 10**5) if QUICK else (10**4, 10**5, 10**6, 10**7):
        if shutil.disk_usage(kit.TMP).free < n * 1200:
            print("skipped: %d records: too little room in %s" % (n, kit.TMP), file=sys.stderr)
            break
        out(writer, "write", libexec + "kennel-recorder", log, run, n - there, 0, "growth-%d" % n)
        quiet(log)
        there = n
        for what, words in asked.items():
            best = []
            for _ in range(3):
                t = time.perf_counter()
                r = kit.run([kit.KENNEL, "audit"] + words[:1] + ["--log", log] + words[1:], timeout=1800)
                best.append(time.perf_counter() - t)
                kit.check(r.returncode in (0, 1), words, r.stderr[-500:])
            times[what].append((n, min(best) * 1e3))
    for what, points in times.items():
        curve("Log: " + what, "records", "ms", points)


def inner():
    import kit
    os.makedirs(kit.HOME, mode=0o700, exist_ok=True)
    try:
        start_curves(kit)
        decision_curve(kit)
        scrub_curves(kit)
        query_curves(kit)
    finally:
        kit.end_all()


# ---- memory: only root may look into what forbids dumps ---------------------------------

def memory_curve(kit, prefix, env):
    """Sessions of one user, each of its own policy's server; without the servers themselves."""
    policy, points, made = env["KT_TMP"] + "/memory.kennel", [], []
    with open(policy, "w") as f:
        f.write("server t {\n%s}\n" % kit.toy_policy())
    subprocess.run(["chown", env["KT_UID"], policy], check=True)
    ours = {"kennel", "kennel-leash", "kennel-shim", "kennel-recorder"}
    try:
        for n in (1, 2, 5, 10) if QUICK else (1, 2, 5, 10, 20, 50, 100, 200):
            while len(made) < n:
                s = kit.Mcp(prefix + [kit.KENNEL, "run", "t", "--policy", policy], env=env)
                s.initialize()
                made.append(s)
            time.sleep(1)
            kb = sum(bench.pss_of(p) for p in kit.descendants(os.getpid()) if name_of(p) in ours)
            points.append((n, kb / 1024))
    finally:
        for s in made:
            s.close()
    curve("Memory (PSS) of kennel's own processes", "sessions", "MB", points,
          "Each further session: %.2f MB." % ((points[-1][1] - points[0][1]) / (points[-1][0] - 1)))


def name_of(pid):
    try:
        with open("/proc/%d/cmdline" % pid) as f:
            return os.path.basename(f.read().split("\0")[0])
    except OSError:
        return ""


def outer():
    import contextlib
    import io
    import kit
    import run as runner
    kit.be_subreaper()
    user = runner.User()
    stage = runner.Stage(user)
    try:
        stage.fill()
        tmp = stage.folder("growth", user.uid, user.gid)
        env = {"KT_STAGE": stage.path, "KT_TMP": tmp, "KT_AS": "user", "KT_UID": str(user.uid),
               "KENNEL_HOME": tmp + "/home", "HOME": tmp, "PATH": "/usr/local/bin:/usr/bin:/bin",
               "LANG": "C.UTF-8", "TMPDIR": tmp, "PYTHONDONTWRITEBYTECODE": "1"}
        p = subprocess.run(user.prefix() + ["/usr/bin/python3", stage.path + "/tests/bench/growth.py", "--inner"] +
                           (["--quick"] if QUICK else []), env=env, cwd="/", stdout=subprocess.PIPE)
        page = io.StringIO(p.stdout.decode())
        page.seek(0, 2)
        if os.geteuid() == 0 and p.returncode == 0:
            kit.STAGE, kit.TMP = stage.path, tmp
            kit.KENNEL, kit.TOY = stage.path + "/usr/bin/kennel", stage.path + "/bin/toy"
            with contextlib.redirect_stdout(page):
                memory_curve(kit, user.prefix(), env)
        elif p.returncode == 0:
            print("skipped: memory: only root may look", file=sys.stderr)
        print(page.getvalue(), end="")
        kit.wait_for(lambda: (kit.reap(), not kit.descendants(os.getpid()))[1], 12)
        if p.returncode == 0 and "--print" not in sys.argv:
            write_page(page.getvalue())
        return p.returncode
    finally:
        stage.remove()
        user.remove()


def write_page(curves):
    """The curves anew; what people wrote below them stays."""
    mark, path = "## What grows, and why", ROOT + "/docs/GROWTH.md"
    notes = ""
    if os.path.exists(path):
        with open(path) as f:
            notes = "".join(f.read().partition(mark)[1:])
    with open(path, "w") as f:
        f.write("# Growth\n\n`make bench-growth` writes this page. A bar is as long as the logarithm of its value; the "
                "exponent is the slope of\nthe last decade in a double logarithmic picture: 0 is constant, 1 linear, 2 "
                "quadratic.\n\n%s; %s.\n\n%s" % (time.strftime("%Y-%m-%d"), bench.machine(), curves) + notes)


if __name__ == "__main__":
    sys.exit(inner() if "--inner" in sys.argv else outer())
