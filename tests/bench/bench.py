#!/usr/bin/env python3
"""make bench: what kennel costs, beside what it is compared with, in one run.

Absolute times drift with the machine; the ratios are what counts.  Writes
docs/BENCHMARKS.md.

    bench.py [--quick] [--print]    --print: do not write the page
"""
import itertools
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE + "/../lib")
sys.path.insert(0, HERE + "/..")
sys.path.insert(0, HERE)

QUICK = "--quick" in sys.argv
RUNS = 1 if QUICK else 3
rows = []


def median(xs):
    xs = sorted(x for x in xs if x > 0)
    return statistics.median(xs) if xs else float("nan")


def p99(xs):
    xs = sorted(xs)
    return xs[min(len(xs) - 1, int(len(xs) * 0.99))]


# ---- the outer half ------------------------------------------------------------------

def install_proxy():
    """A proxy of somebody else's from npm, as its lock names it.  Its folder, or None with why."""
    place, source = ROOT + "/build/bench-node", HERE + "/node"
    with open(source + "/package-lock.json") as f:
        wanted = f.read()
    done = place + "/installed"
    if not (os.path.exists(done) and open(done).read() == wanted):
        if shutil.which("npm") is None:
            return None, "npm is not here"
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(source + "/" + name, place)
        r = subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=place, capture_output=True, text=True)
        if r.returncode != 0:
            return None, "npm cannot install it: " + (r.stderr.strip().splitlines() or ["?"])[-1]
        with open(done, "w") as f:
            f.write(wanted)
    shutil.copy(source + "/proxy.mjs", place)
    return place, None


def of_runs(tables):
    """One page of several runs: a number that differs is followed by those of the other runs."""
    merged = []
    for lines in itertools.zip_longest(*(t.splitlines() for t in tables), fillvalue=""):
        parts = [re.split(r"((?<![\w-])(?:-?\d[\d.]*|nan\b))", x) for x in lines]
        if len({tuple(p[::2]) for p in parts}) > 1:  # such a line is shown once for each run
            merged += lines
            continue
        merged.append("".join(", ".join(dict.fromkeys(x) if len(set(x)) == 1 else x) for x in zip(*parts)))
    return "\n".join(merged) + "\n"


def outer():
    tables = []
    for _ in range(RUNS):
        table, status = one_run()
        print(table, end="", flush=True)
        if status != 0:
            return status
        tables.append(table)
    if "--print" not in sys.argv:
        write_page(of_runs(tables))
    return 0


def one_run():
    """The tables, and the exit status."""
    import kit
    import serve
    import run as runner
    kit.be_subreaper()
    user = runner.User()
    stage = runner.Stage(user)
    try:
        stage.fill()
        tmp = stage.folder("bench", user.uid, user.gid)
        proxy, why = install_proxy()
        if proxy:
            shutil.copytree(proxy, stage.path + "/proxy", symlinks=True)
        else:
            print("skipped: the Node proxy: %s" % why, file=sys.stderr)
        env = {"KT_STAGE": stage.path, "KT_TMP": tmp, "KT_AS": "user", "KT_UID": str(user.uid),
               "KENNEL_HOME": tmp + "/home", "HOME": tmp, "PATH": "/usr/local/bin:/usr/bin:/bin",
               "LANG": "C.UTF-8", "TMPDIR": tmp, "PYTHONDONTWRITEBYTECODE": "1"}
        # Memory is looked at from here: what forbids dumps shows it to root alone.
        asks, answers, asked = os.pipe(), os.pipe(), []
        if os.geteuid() == 0:
            env.update(KT_ASK=str(asks[1]), KT_ANSWER=str(answers[0]))
        else:
            print("skipped: memory: only root may look", file=sys.stderr)
        p = subprocess.Popen(user.prefix() + ["/usr/bin/python3", stage.path + "/tests/bench/bench.py", "--inner"] +
                             (["--quick"] if QUICK else []), env=env, cwd="/", stdout=subprocess.PIPE,
                             pass_fds=(asks[1], answers[0]))
        os.close(asks[1])
        looker = threading.Thread(target=memory_answers, args=(os.fdopen(asks[0]), answers[1], asked))
        looker.start()
        table = p.communicate()[0].decode()
        looker.join()
        if asked:
            of_serve = [a for a in asked if serve.SERVERS_WORD in a[0]]
            table += memory_table([a for a in asked if "connections" not in a[0] and a not in of_serve])
            table += net_memory_table([a for a in asked if "connections" in a[0]])
            table += serve.memory_table(of_serve)
        kit.wait_for(lambda: (kit.reap(), not kit.descendants(os.getpid()))[1], 12)
        return table, p.returncode
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
    """The tables anew; what people wrote below them stays."""
    mark = "## What is left, and why"
    with open(ROOT + "/docs/BENCHMARKS.md") as f:
        notes = "".join(f.read().partition(mark)[1:])
    with open(ROOT + "/docs/BENCHMARKS.md", "w") as f:
        f.write("# Benchmarks\n\n`make bench` writes this page. Each number is of one run, the next two in its place are of "
                "two more. Everything in one\nrun's table was measured together, as an ordinary user, alternating between "
                "what is compared. Times drift with the machine; the\nratios are what counts.\n\n%s; %s.\n\n%s" % (time.strftime("%Y-%m-%d"), machine(), table) + notes)


# ---- spawn ----------------------------------------------------------------------------

def spawn_rows(kit):
    first = kit.STAGE + "/bin/spawn"
    p = kit.policy("    run %s **\n" % kit.words(first))
    sealed = p + ".sealed"
    kit.run([kit.KENNEL, "policy", "compile", p, "-o", sealed])
    bwrap = ["/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", first, "/first",
             "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "/first", "--first"]
    # What none of them can do without: tests/bench/floor.c.
    floor = [kit.STAGE + "/bin/floor", kit.TMP + "/floor.record", first, "--first"]
    kinds = {"bare fork+exec": [first, "--first"], "the same kernel work by a program that does nothing else": floor,
             "bwrap, all namespaces": bwrap,
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


def vault_rows(kit):
    """The same start with ten secrets from an unlocked vault, and with none."""
    first = kit.STAGE + "/bin/spawn"
    paths = ["bench/vault/secret-%s" % c for c in "abcdefghij"]
    grants = "".join("    secret V%d from vault %s\n" % (i, path) for i, path in enumerate(paths))
    kinds = {}

    def told(*words, stdin=""):
        r = kit.run([kit.KENNEL, "secret"] + list(words), stdin=stdin)
        kit.check(r.returncode == 0, words, r.stderr)
    told("init", "--stdin", stdin="a passphrase of the bench")
    for what, more in (("no secret", ""), ("10 vault secrets", grants)):
        p = kit.policy("    run %s **\n%s" % (kit.words(first), more))
        kit.run([kit.KENNEL, "policy", "compile", p, "-o", p + ".sealed"])
        kinds[what] = [kit.KENNEL, "exec", "--policy", p + ".sealed", "t", "--", first, "--first"]
    for path in paths:
        told("set", path, "--stdin", stdin="bench-vault-" + os.urandom(12).hex())
        told("grant", path, "--server", "t", "--policy", p + ".sealed")
    times = {k: [] for k in kinds}
    log = kit.Mcp([kit.KENNEL, "run", "t", "--policy", kit.policy(kit.toy_policy())])
    log.initialize()  # a recorder that is already there
    for _ in range(3 if QUICK else 15):
        for k, cmd in kinds.items():
            times[k] += [int(x) for x in kit.run([first, "10"] + cmd, timeout=120).stdout.split()]
    log.close()
    told("lock")
    print("## Spawn with secrets from the vault\n\n| what | median | p99 |\n| --- | --- | --- |")
    for k, v in times.items():
        print("| %s | %.2f ms | %.2f ms |" % (k, median(v) / 1e6, p99(v) / 1e6))
    more = (median(times["10 vault secrets"]) - median(times["no secret"])) / 1e6
    print("\n%.2f ms more. Goal: ≤ 1 ms more.\n" % more)


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


def node_proxy(kit):
    """The command of the Node proxy, or None where it is not there."""
    node = kit.NODE if os.path.exists(kit.NODE) else shutil.which("node")
    script = kit.STAGE + "/proxy/proxy.mjs"
    return [node, script] if node and os.path.exists(script) else None


def sessions(kit):
    secrets = "".join("    secret S%d from env BENCH_S%d\n" % (i, i) for i in range(64))
    env = {"BENCH_S%d" % i: "bench-secret-%02d-%s" % (i, os.urandom(12).hex()) for i in range(64)}
    made = {"direct": kit.Mcp([kit.TOY]),
            "plain relay": kit.Mcp([kit.STAGE + "/bin/relay", kit.TOY]),
            "kennel run": kit.Mcp([kit.KENNEL, "run", "t", "--policy", kit.policy(kit.toy_policy())]),
            "kennel run, 64 secrets": kit.Mcp([kit.KENNEL, "run", "t", "--policy", kit.policy(kit.toy_policy(secrets))],
                                              env=env)}
    if node_proxy(kit):
        made["Node proxy (npm)"] = kit.Mcp(node_proxy(kit) + [kit.TOY], stderr=subprocess.DEVNULL)
    for s in made.values():
        s.initialize()
    return made


def small_rows(made):
    small = {k: [] for k in made}
    for k, s in made.items():
        round_trips(s, 50, {"text": "warm"})
    for _ in range(4 if QUICK else 20):
        for k, s in made.items():
            small[k] += round_trips(s, 100, {"text": "hello"})
    print("## Round trip of a small call\n\n| what | median | p99 | added to direct | p99 added | × the relay's addition |\n"
          "| --- | --- | --- | --- | --- | --- |")
    direct = median(small["direct"])
    relay = median(small["plain relay"]) - direct
    for k, v in small.items():
        added = median(v) - direct
        print("| %s | %.1f µs | %.1f µs | %.1f µs | %.1f µs | %.2f |" % (
            k, median(v) / 1e3, p99(v) / 1e3, added / 1e3, (p99(v) - p99(small["direct"])) / 1e3,
            added / relay if relay > 0 else float("nan")))
    print("\nGoal: kennel adds ≤ 2 × what the relay adds.\n")


def big_rows(made):
    rate = {k: [] for k in made}
    for _ in range(2 if QUICK else 5):
        for k, s in made.items():
            rate[k].append(big_rate(s, 10, 1 << 20))
    print("## Results of 1 MB\n\n| what | MB/s | × the relay |\n| --- | --- | --- |")
    for k, v in rate.items():
        print("| %s | %.0f | %.2f |" % (k, median(v), median(v) / median(rate["plain relay"])))
    print("\nGoal: kennel with 64 secrets ≥ 0.5 × the relay.\n")


# ---- memory -----------------------------------------------------------------------------

def pss_of(pid):
    with open("/proc/%d/smaps_rollup" % pid) as f:
        for line in f:
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def pss_rows(kit):
    """Read by the outer half: an ordinary user may not look into what forbids dumps."""
    ask, answer = int(os.environ["KT_ASK"]), int(os.environ["KT_ANSWER"])
    own = {"KENNEL_HOME": kit.TMP + "/memory"}
    os.makedirs(own["KENNEL_HOME"], mode=0o700, exist_ok=True)
    s = kit.Mcp([kit.KENNEL, "run", "t", "--policy", kit.policy(kit.toy_policy())], env=own)
    s.initialize()
    for what in ("idle", "after 2,000 calls"):
        time.sleep(0.5)
        os.write(ask, ("%d %s\n" % (s.p.pid, what)).encode())
        os.read(answer, 1)
        if what == "idle":
            round_trips(s, 2000, {"text": "hello"})
    s.close()


ROLES = (("supervisor", "kennel"), ("leash", "kennel-leash"), ("shim", "kennel-shim"), ("recorder", "kennel-recorder"))
NET_ROLES = (("relay", "kennel-egress"), ("dialer", "kennel-dial"))  # the dialer with its workers


def parent_of(pid):
    with open("/proc/%d/stat" % pid) as f:
        return int(f.read().rsplit(")", 1)[1].split()[1])


def net_sizes(leash):
    """kB of each of the two, with their children."""
    sizes = {}
    for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc")))):
        try:
            with open("/proc/%d/cmdline" % pid) as f:
                name = os.path.basename(f.read().split("\0")[0])
            for role, program in NET_ROLES:
                if name == program and leash in (parent_of(pid), parent_of(parent_of(pid))):
                    sizes[role] = sizes.get(role, 0) + pss_of(pid)
        except OSError:
            continue
    return sizes


def net_memory_table(asked):
    table = "## Network: memory (PSS)\n\n| when | %s | together |\n| --- | --- | --- | --- |\n" % " | ".join(
        r for r, _ in NET_ROLES)
    for what, sizes in asked:
        table += "| %s | %s | %.1f MB |\n" % (what, " | ".join("%.2f MB" % (sizes.get(r, 0) / 1024) for r, _ in NET_ROLES),
                                             sum(sizes.get(r, 0) for r, _ in NET_ROLES) / 1024)
    return table + "\nGoal: with 1,000 idle connections ≤ 10 MB.\n\n"


def roles_of(root):
    """The processes of one session: kennel's tree, and the recorder that serves its home."""
    home = None
    with open("/proc/%d/environ" % root, "rb") as f:
        for word in f.read().split(b"\0"):
            if word.startswith(b"KENNEL_HOME="):
                home = word.split(b"=", 1)[1].decode()
    found = {}
    for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc")))):
        try:
            with open("/proc/%d/cmdline" % pid) as f:
                name = os.path.basename(f.read().split("\0")[0])
            parent = parent_of(pid)
            if name == "kennel-recorder" and home:
                links = [os.readlink("/proc/%d/fd/%s" % (pid, n)) for n in os.listdir("/proc/%d/fd" % pid)]
                if any(link.startswith(home + "/") for link in links):
                    found["recorder"] = pid
        except OSError:
            continue
        if pid == root:
            found["supervisor"] = pid
        elif name == "kennel-leash" and parent == root:
            found["leash"] = pid
        elif name == "kennel-shim" and parent == found.get("leash"):
            found["shim"] = pid
    return found


def memory_table(asked):
    table = "## Memory (PSS)\n\n| when | %s | together |\n| --- |%s --- |\n" % (
        " | ".join(r for r, _ in ROLES), " --- |" * len(ROLES))
    for what, sizes in asked:
        table += "| %s | %s | %.1f MB |\n" % (what, " | ".join(
            "%.2f MB" % (sizes[r] / 1024) if r in sizes else "-" for r, _ in ROLES), sum(sizes.values()) / 1024)
    return table + "\nGoal: all four ≤ 4 MB.\n\n"


def memory_answers(ask, answer, asked):
    import kit
    import serve
    for line in ask:
        pid, what = line.rstrip("\n").split(" ", 1)
        if serve.SERVERS_WORD in what:
            asked.append((what, serve.private_of(kit, int(pid))))
            os.write(answer, b"\n")
            continue
        roles = roles_of(int(pid))
        sizes = {role: pss_of(p) for role, p in roles.items()}
        asked.append((what, sizes | net_sizes(roles["leash"]) if "connections" in what else sizes))
        os.write(answer, b"\n")


def scrub_rows(kit):
    """The scrubber alone, with what it is compared with in the same process."""
    r = kit.run([kit.STAGE + "/bin/scrub", "64" if QUICK else "256"], timeout=300)
    sys.stdout.write(r.stdout if isinstance(r.stdout, str) else r.stdout.decode())


def inner():
    import kit
    os.makedirs(kit.HOME, mode=0o700, exist_ok=True)
    spawn_rows(kit)
    vault_rows(kit)
    scrub_rows(kit)
    made = sessions(kit)
    small_rows(made)
    big_rows(made)
    for s in made.values():
        s.close()
    if "KT_ASK" in os.environ:
        pss_rows(kit)
    import net
    net.rows(QUICK)
    import remote
    remote.rows(QUICK)
    kit.end_all()
    import serve
    node = node_proxy(kit)
    serve.rows(QUICK, node and node[0], node and kit.STAGE + "/proxy")
    kit.end_all()
    import execs
    execs.rows(QUICK)
    import audit
    audit.rows(40000 if QUICK else 400000)
    return 0


if __name__ == "__main__":
    sys.exit(inner() if "--inner" in sys.argv else outer())
