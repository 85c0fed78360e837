#!/usr/bin/env python3
"""make bench: what kennel costs, beside what it is compared with, in one run.

Absolute times drift with the machine; the ratios are what counts.  Writes
docs/BENCHMARKS.md.

    bench.py [--quick] [--print]    --print: do not write the page
"""
import os
import platform
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE + "/../lib")
sys.path.insert(0, HERE + "/..")

QUICK = "--quick" in sys.argv
rows = []


def median(xs):
    xs = sorted(x for x in xs if x > 0)
    return statistics.median(xs) if xs else float("nan")


def p99(xs):
    xs = sorted(xs)
    return xs[min(len(xs) - 1, int(len(xs) * 0.99))]


# ---- the outer half ------------------------------------------------------------------

def outer():
    import kit
    import run as runner
    kit.be_subreaper()
    user = runner.User()
    stage = runner.Stage(user)
    try:
        stage.fill()
        tmp = stage.folder("bench", user.uid, user.gid)
        env = {"KT_STAGE": stage.path, "KT_TMP": tmp, "KT_AS": "user", "KT_UID": str(user.uid),
               "KENNEL_HOME": tmp + "/home", "HOME": tmp, "PATH": "/usr/local/bin:/usr/bin:/bin",
               "LANG": "C.UTF-8", "TMPDIR": tmp, "PYTHONDONTWRITEBYTECODE": "1"}
        r = subprocess.run(user.prefix() + ["/usr/bin/python3", stage.path + "/tests/bench/bench.py", "--inner"] +
                           (["--quick"] if QUICK else []), env=env, cwd="/", stdout=subprocess.PIPE)
        table = r.stdout.decode()
        print(table, end="")
        kit.wait_for(lambda: (kit.reap(), not kit.descendants(os.getpid()))[1], 12)
        if r.returncode == 0 and "--print" not in sys.argv:
            write_page(table)
        return r.returncode
    finally:
        stage.remove()
        user.remove()


def machine():
    cpu = "unknown processor"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    return "%s, %d cores, Linux %s" % (cpu, os.cpu_count(), platform.release().split("-")[0])


def write_page(table):
    with open(ROOT + "/docs/BENCHMARKS.md", "w") as f:
        f.write("# Benchmarks\n\n`make bench` writes this page. Everything in one table was measured in one run, as an "
                "ordinary user,\nalternating between what is compared. Times drift with the machine; the ratios are what "
                "counts.\n\n%s; %s.\n\n%s" % (time.strftime("%Y-%m-%d"), machine(), table))


# ---- spawn ----------------------------------------------------------------------------

def spawn_rows(kit):
    first = kit.STAGE + "/bin/spawn"
    p = kit.policy("    run %s **\n" % kit.words(first))
    sealed = p + ".sealed"
    kit.run([kit.KENNEL, "policy", "compile", p, "-o", sealed])
    bwrap = ["/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", first, "/first",
             "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "/first", "--first"]
    kinds = {"bare fork+exec": [first, "--first"], "bwrap, all namespaces": bwrap,
             "kennel exec": [kit.KENNEL, "exec", "--policy", sealed, "t", "--", first, "--first"]}
    times = {k: [] for k in kinds}
    # A recorder that is already there: the usual case.
    keeper = kit.Mcp([kit.KENNEL, "run", "t", "--policy", kit.policy(kit.toy_policy())])
    keeper.initialize()
    for _ in range(3 if QUICK else 15):
        for k, cmd in kinds.items():
            out = kit.run([first, "10"] + cmd, timeout=120).stdout
            times[k] += [int(x) for x in out.split()]
    keeper.close()
    print("## Spawn to first instruction\n\n| what | median | p99 | × bare | × bwrap |\n| --- | --- | --- | --- | --- |")
    base, other = median(times["bare fork+exec"]), median(times["bwrap, all namespaces"])
    for k, v in times.items():
        print("| %s | %.2f ms | %.2f ms | %.2f | %.2f |" % (k, median(v) / 1e6, p99(v) / 1e6, median(v) / base,
                                                           median(v) / other))
    print("\nGoal: kennel ≤ 0.5 × bwrap.\n")


# ---- round trips ------------------------------------------------------------------------

def round_trips(s, n, arguments):
    out = []
    for _ in range(n):
        t0 = time.perf_counter_ns()
        s.call("echo", **arguments)
        out.append(time.perf_counter_ns() - t0)
    return out


def big_rate(s, n, size):
    t0 = time.perf_counter()
    for _ in range(n):
        s.n += 1
        s.send_bytes(b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"big","arguments":{"n":%d}}}\n'
                     % (s.n, size))
        s.line(60)
    return n * size / (time.perf_counter() - t0) / 1e6


def sessions(kit):
    secrets = "".join("    secret S%d from env BENCH_S%d\n" % (i, i) for i in range(64))
    env = {"BENCH_S%d" % i: "bench-secret-%02d-%s" % (i, os.urandom(12).hex()) for i in range(64)}
    made = {"direct": kit.Mcp([kit.TOY]),
            "plain relay": kit.Mcp([kit.STAGE + "/bin/relay", kit.TOY]),
            "kennel run": kit.Mcp([kit.KENNEL, "run", "t", "--policy", kit.policy(kit.toy_policy())]),
            "kennel run, 64 secrets": kit.Mcp([kit.KENNEL, "run", "t", "--policy", kit.policy(kit.toy_policy(secrets))],
                                              env=env)}
    for s in made.values():
        s.initialize()
    return made


def call_rows(kit):
    made = sessions(kit)
    small = {k: [] for k in made}
    for k, s in made.items():
        round_trips(s, 50, {"text": "warm"})
    for _ in range(4 if QUICK else 20):
        for k, s in made.items():
            small[k] += round_trips(s, 100, {"text": "hello"})
    print("## Round trip of a small call\n\n| what | median | p99 | added to direct | × the relay's addition |\n"
          "| --- | --- | --- | --- | --- |")
    direct = median(small["direct"])
    relay = median(small["plain relay"]) - direct
    for k, v in small.items():
        added = median(v) - direct
        print("| %s | %.1f µs | %.1f µs | %.1f µs | %.2f |" % (k, median(v) / 1e3, p99(v) / 1e3, added / 1e3,
                                                             added / relay if relay > 0 else float("nan")))
    print("\nGoal: kennel adds ≤ 2 × what the relay adds.\n")
    rate = {k: [] for k in made}
    for _ in range(2 if QUICK else 5):
        for k, s in made.items():
            rate[k].append(big_rate(s, 10, 1 << 20))
    print("## Results of 1 MB\n\n| what | MB/s | × the relay |\n| --- | --- | --- |")
    for k, v in rate.items():
        print("| %s | %.0f | %.2f |" % (k, median(v), median(v) / median(rate["plain relay"])))
    print("\nGoal: kennel with 64 secrets ≥ 0.5 × the relay.\n")
    for s in made.values():
        s.close()


def inner():
    import kit
    os.makedirs(kit.HOME, mode=0o700, exist_ok=True)
    spawn_rows(kit)
    call_rows(kit)
    kit.end_all()
    return 0


if __name__ == "__main__":
    sys.exit(inner() if "--inner" in sys.argv else outer())
