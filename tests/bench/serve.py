"""kennel serve: how long its first answer takes, what a call costs, what a server takes of memory."""
import json
import os
import socket
import statistics
import subprocess
import time

SERVERS, TEN = 50, 10
HOME = "/serve-home"


def median(xs):
    return statistics.median(sorted(xs))


def p99(xs):
    xs = sorted(xs)
    return xs[min(len(xs) - 1, int(len(xs) * 0.99))]


def make_home(kit):
    """Fifty reviewed servers, sealed: the toy under other names."""
    home = kit.TMP + HOME
    env = {"KENNEL_HOME": home}
    for d in ("policies", "sealed"):
        os.makedirs("%s/%s" % (home, d), mode=0o700, exist_ok=True)
    pins = None
    for i in range(SERVERS):
        name = "s%02d" % i
        text = "server %s {\n    about \"Toy number %d\"\n%s%s}\n"
        path = "%s/policies/%s.kennel" % (home, name)
        if pins is None:
            with open(path, "w") as f:
                f.write(text % (name, i, kit.toy_policy(), ""))
            made = kit.run([kit.KENNEL, "server", "pin", name, "-o", path + ".pins"], env=env)
            kit.equal(made.returncode, 0, made.stderr)
            with open(path + ".pins") as f:
                pins = f.read().split("\n", 1)[1]
        with open(path + ".pins", "w") as f:
            f.write('{"kennel-pins":1,"server":"%s"}\n%s' % (name, pins))
        with open(path, "w") as f:
            f.write(text % (name, i, kit.toy_policy(), "    pins \"%s.pins\"\n" % path))
        made = kit.run([kit.KENNEL, "policy", "compile", path, "-o", "%s/sealed/%s.sealed" % (home, name)],
                       env=env)
        kit.equal(made.returncode, 0, made.stderr)
        os.unlink(path)
    return env


def first_answer(kit, env, *asked):
    """From the spawn to the last answer, in ns; asked: lines, each with what its answer has in it, one after the other."""
    ours = os.pipe(), os.pipe()
    t0 = time.perf_counter_ns()
    pid = os.posix_spawn(kit.KENNEL, [kit.KENNEL, "serve"], kit.environment(env), file_actions=[
        (os.POSIX_SPAWN_DUP2, ours[0][0], 0), (os.POSIX_SPAWN_DUP2, ours[1][1], 1),
        (os.POSIX_SPAWN_CLOSE, ours[0][1]), (os.POSIX_SPAWN_CLOSE, ours[1][0])])
    os.close(ours[0][0])
    os.close(ours[1][1])
    for lines, wanted in asked:
        os.write(ours[0][1], lines)
        got = b""
        while wanted not in got:
            more = os.read(ours[1][0], 1 << 16)
            kit.check(more, "kennel serve ended")
            got += more
    took = time.perf_counter_ns() - t0
    os.close(ours[0][1])
    os.waitpid(pid, 0)
    os.close(ours[1][0])
    return took


def bare_spawn():
    t0 = time.perf_counter_ns()
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    return time.perf_counter_ns() - t0


def line(method, rid=None, **params):
    m = {"jsonrpc": "2.0", "method": method}
    if rid is not None:
        m["id"] = rid
    if params:
        m["params"] = params
    return json.dumps(m).encode() + b"\n"


def start_rows(kit, env, n):
    hello = line("initialize", 1, protocolVersion="2025-11-25", capabilities={},
                 clientInfo={"name": "bench", "version": "1"})
    lists = line("notifications/initialized") + line("tools/list", 2)
    times = {"fork, exec and wait for /bin/true": [], "to the answer of tools/list alone": [],
             "to the answer of initialize": [], "to initialize, then tools/list": []}
    for _ in range(n):
        for what, ns in (("fork, exec and wait for /bin/true", bare_spawn()),
                         ("to the answer of tools/list alone", first_answer(kit, env, (line("tools/list", 2), b'"id":2'))),
                         ("to the answer of initialize", first_answer(kit, env, (hello, b'"id":1'))),
                         ("to initialize, then tools/list", first_answer(kit, env, (hello, b'"id":1'), (lists, b'"id":2')))):
            times[what].append(ns)
    bare = median(times["fork, exec and wait for /bin/true"])
    print("## kennel serve with %d reviewed servers: start\n\n| what | median | p99 | × the bare spawn |\n"
          "| --- | --- | --- | --- |" % SERVERS)
    for k, v in times.items():
        print("| %s | %.2f ms | %.2f ms | %.2f |" % (k, median(v) / 1e6, p99(v) / 1e6, median(v) / bare))
    print("\nNo server was started. Goal: ≤ 3 × the bare spawn.\n")


def one_call(s, name):
    t0 = time.perf_counter_ns()
    s.call(name, text="hello")
    return time.perf_counter_ns() - t0


def call_rows(kit, env, rounds):
    made = {"direct": (kit.Mcp([kit.TOY]), "echo"),
            "kennel run": (kit.Mcp([kit.KENNEL, "run", "t", "--policy", kit.policy(kit.toy_policy())]), "echo"),
            "kennel serve": (kit.Mcp([kit.KENNEL, "serve"], env=env), "s00__echo")}
    times = {k: [] for k in made}
    for s, name in made.values():
        s.initialize()
        for _ in range(50):
            one_call(s, name)
    for _ in range(rounds):
        for k, (s, name) in made.items():
            times[k] += [one_call(s, name) for _ in range(100)]
    direct = median(times["direct"])
    print("## kennel serve: round trip of a small call\n\n| what | median | p99 | added to direct |\n| --- | --- | --- | --- |")
    for k, v in times.items():
        print("| %s | %.1f µs | %.1f µs | %.1f µs |" % (k, median(v) / 1e3, p99(v) / 1e3, (median(v) - direct) / 1e3))
    print()
    for s, _ in made.values():
        s.close()


class Aggregator:
    """mcp-hub from npm in front of ten servers without kennel, and mcp-remote, as an agent on stdio uses it."""

    def __init__(self, kit, node, place):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = str(s.getsockname()[1])
        config = kit.TMP + "/mcp-hub.json"
        with open(config, "w") as f:
            json.dump({"mcpServers": {"s%02d" % i: {"command": kit.TOY, "args": []} for i in range(TEN)}}, f)
        self.hub = kit.start([node, place + "/node_modules/mcp-hub/dist/cli.js", "--port", port, "--config", config],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        kit.check(kit.wait_for(lambda: self.listens(int(port)), 30) is not None, "mcp-hub does not listen")
        self.session = kit.Mcp([node, place + "/node_modules/mcp-remote/dist/proxy.js", "http://127.0.0.1:%s/mcp" % port,
                                "--allow-http"], stderr=subprocess.DEVNULL)

    @staticmethod
    def listens(port):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    def close(self):
        self.session.close()
        self.hub.terminate()
        self.hub.wait()


def rate_of(s, n):
    """Calls a second over ten servers, ten calls of each in flight."""
    for i in range(TEN):
        s.call("s%02d__echo" % i, seconds=30, text="warm")
    t0 = time.perf_counter()
    for i in range(n):
        for k in range(100):
            s.n += 1
            s.send_bytes(b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"s%02d__echo",'
                         b'"arguments":{"text":"x"}}}\n' % (s.n, k % TEN))
        for k in range(100):
            s.line(30)
    return n * 100 / (time.perf_counter() - t0)


def rate_rows(kit, env, n, node, place):
    rates = {}
    s = kit.Mcp([kit.KENNEL, "serve"], env=env)
    s.initialize()
    rates["kennel serve"] = rate_of(s, n)
    s.close()
    if place is not None:
        other = Aggregator(kit, node, place)
        other.session.initialize()
        rates["mcp-hub and mcp-remote (npm), no sandbox"] = rate_of(other.session, max(1, n // 10))
        other.close()
    print("## kennel serve: calls over ten servers, 100 in flight\n\n| what | calls a second |\n| --- | --- |")
    for what, rate in rates.items():
        print("| %s | %.0f |" % (what, rate))
    print()


ROLES = (("kennel", "kennel (hub, launcher, sessions)"), ("kennel-leash", "kennel-leash"), ("kennel-egress", "kennel-egress"))
SERVERS_WORD = "servers behind serve"  # in what the outer half is asked


def private_of(kit, root):
    """name of a program -> kB that root and the processes below it wrote, and share with nobody"""
    found = {}
    for pid in [root] + list(kit.descendants(root)):
        try:
            kb, writable = 0, False
            with open("/proc/%d/smaps" % pid) as f:
                for x in map(str.split, f):
                    if not x[0].endswith(":"):
                        writable = "w" in x[1]
                    elif writable and x[0].startswith("Private_"):  # else pages of a file, which go when they are needed
                        kb += int(x[1])
            comm = kit.reads("/proc/%d/comm" % pid).decode().strip()
            found[comm] = found.get(comm, 0) + kb
        except OSError:
            continue
    return found


def memory_asks(kit, env):
    """What one server takes, and what eleven take: read by the outer half, as in bench.py."""
    ask, answer = int(os.environ["KT_ASK"]), int(os.environ["KT_ANSWER"])
    s = kit.Mcp([kit.KENNEL, "serve"], env=env)
    s.initialize()
    for n in (1, 11):
        for i in range(n):
            s.call("s%02d__echo" % i, text="warm")
        time.sleep(1)  # a session gives back what only its start used (drop_start.c)
        os.write(ask, ("%d %d %s\n" % (s.p.pid, n, SERVERS_WORD)).encode())
        os.read(answer, 1)
    s.close()


def memory_table(asked):
    one, eleven = (sizes for _, sizes in asked)
    table = "## kennel serve: memory of a further server, written and not shared\n\n| process | first | each further |\n| --- | --- | --- |\n"
    for comm, what in ROLES:
        table += "| %s | %d kB | %.0f kB |\n" % (what, one.get(comm, 0), (eleven.get(comm, 0) - one.get(comm, 0)) / 10)
    return table + "\nGoal: in kennel itself < 300 kB.\n\n"


def rows(quick, node=None, place=None):
    import kit
    env = make_home(kit)
    start_rows(kit, env, 10 if quick else 50)
    call_rows(kit, env, 4 if quick else 20)
    rate_rows(kit, env, 10 if quick else 100, node, place)
    if "KT_ASK" in os.environ:
        memory_asks(kit, env)


if __name__ == "__main__":
    rows("--quick" in __import__("sys").argv)
