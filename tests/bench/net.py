"""The network of a cell, beside a plain relay and two other ways out of a namespace."""
import os
import shutil
import statistics
import subprocess
import sys
import time

import kit

MEGABYTES = 256


def median(xs):
    return statistics.median(xs) if xs else float("nan")


def p99(xs):
    return sorted(xs)[min(len(xs) - 1, int(len(xs) * 0.99))] if xs else float("nan")


class Load:
    """A net_load that listens."""

    def __init__(self, *words):
        self.p = subprocess.Popen([LOAD, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.port = self.p.stdout.readline().decode().strip()

    def close(self):
        self.p.kill()
        self.p.wait()


LOAD = kit.STAGE + "/bin/net_load"


def gateway():
    r = subprocess.run(["ip", "-4", "route", "show", "default"], capture_output=True, text=True).stdout.split()
    return r[r.index("via") + 1] if "via" in r else None


def ways(host, relay):
    """What is compared: (command before the client's, the host's name, its port)."""
    p = kit.policy("    run %s **\n    net allow localhost:%s to loopback plain\n" % (kit.words(LOAD), host.port))
    kit.run([kit.KENNEL, "policy", "compile", p, "-o", p + ".sealed"])
    found = {"direct": ([], "127.0.0.1", host.port),
             "plain relay (splice)": ([], "127.0.0.1", relay.port),
             "kennel": ([kit.KENNEL, "exec", "--policy", p + ".sealed", "t", "--"], "localhost", host.port)}
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        print("skipped: pasta and slirp4netns: /dev/net/tun is not open to this user (chmod 666)", file=sys.stderr)
        return found
    if shutil.which("pasta") and gateway():
        found["pasta"] = (["pasta", "--config-net", "-q", "--"], gateway(), host.port)
    else:
        print("skipped: pasta is not here, or this machine has no default route", file=sys.stderr)
    if shutil.which("slirp4netns"):
        found["slirp4netns"] = (["sh", "-c", SLIRP, "sh"], "10.0.2.2", host.port)
    else:
        print("skipped: slirp4netns is not here", file=sys.stderr)
    return found


# The namespace's first process waits until slirp4netns has made its interface.
SLIRP = """exec 3>&1
unshare -Urn sh -c 'until ip -4 addr show tap0 2>/dev/null | grep -q 10.0.2.100; do sleep 0.02; done; exec "$@" >&3' \
sh "$@" 3>&3 & child=$!
sleep 0.2
slirp4netns --configure --mtu=65520 "$child" tap0 >/dev/null 2>&1 & slirp=$!
wait $child; status=$?
kill $slirp; wait $slirp 2>/dev/null; exit $status
"""


def measured(way, verb, n):
    """Nanoseconds that the client prints; what cannot run here is said and left out."""
    before, host, port = way
    r = kit.run(before + [LOAD, verb, host, port, str(n)], timeout=300)
    return [int(x) for x in r.stdout.split() if x.isdigit()] if r.returncode == 0 else []


def compare(quick):
    host = Load("host")
    relay = Load("relay", host.port)
    times = {"get": {}, "connect": {}}
    try:
        all_ways = ways(host, relay)
        for _ in range(1 if quick else 5):
            for name, way in all_ways.items():
                times["get"].setdefault(name, []).extend(measured(way, "get", MEGABYTES))
                times["connect"].setdefault(name, []).extend(measured(way, "connect", 200))
    finally:
        relay.close()
        host.close()
    return times


def throughput_rows(times):
    rate = {k: MEGABYTES * 1048576 / median(v) if v else float("nan") for k, v in times.items()}
    print("## Network: %d MB through one connection\n\n| what | GB/s | × the relay | × direct |\n"
          "| --- | --- | --- | --- |" % MEGABYTES)
    for k, v in rate.items():
        print("| %s | %.2f | %.2f | %.2f |" % (k, v, v / rate["plain relay (splice)"], v / rate["direct"]))
    print("\nGoal: kennel ≥ 0.8 × the relay.\n")


def connect_rows(times):
    direct = median(times["direct"])
    print("## Network: connect to the first byte\n\n| what | median | p99 | × direct |\n| --- | --- | --- | --- |")
    for k, v in times.items():
        print("| %s | %.0f µs | %.0f µs | %.1f |" % (k, median(v) / 1e3, p99(v) / 1e3, median(v) / direct))
    print("\nEvery connection of kennel's is on disk in the log before it is made.\n")


def start_rows(quick):
    """The same start without a net line, and with one and with ten."""
    first = kit.STAGE + "/bin/spawn"
    kinds, times = {}, {}
    for what, n in (("no net line", 0), ("1 net line", 1), ("10 net lines", 10)):
        lines = "".join("    net allow n%d.example:443\n" % i for i in range(n))
        p = kit.policy("    run %s **\n%s" % (kit.words(first), lines))
        kit.run([kit.KENNEL, "policy", "compile", p, "-o", p + ".sealed"])
        kinds[what] = [kit.KENNEL, "exec", "--policy", p + ".sealed", "t", "--", first, "--first"]
    log = kit.Mcp([kit.KENNEL, "run", "t", "--policy", kit.policy(kit.toy_policy())])
    log.initialize()  # a recorder that is already there
    for _ in range(3 if quick else 15):
        for k, cmd in kinds.items():
            times.setdefault(k, []).extend(int(x) for x in kit.run([first, "10"] + cmd, timeout=120).stdout.split())
    log.close()
    base = median(times["no net line"])
    print("## Network: what it adds to a start\n\n| what | median | p99 | more |\n| --- | --- | --- | --- |")
    for k, v in times.items():
        print("| %s | %.2f ms | %.2f ms | %.2f ms |" % (k, median(v) / 1e6, p99(v) / 1e6, (median(v) - base) / 1e6))
    print("\nGoal: ≤ 2 ms more.\n")


def idle_pss(quick):
    """The outer half reads the memory of the relay and of the dialer."""
    ask, answer = int(os.environ["KT_ASK"]), int(os.environ["KT_ANSWER"])
    own = {"KENNEL_HOME": kit.TMP + "/idle"}
    os.makedirs(own["KENNEL_HOME"], mode=0o700, exist_ok=True)
    host = Load("host")
    p = kit.policy("    run %s **\n    net allow localhost:%s to loopback plain\n" % (kit.words(LOAD), host.port))
    try:
        for n in (1, 1000):
            c = kit.start([kit.KENNEL, "exec", "--policy", p, "t", "--", LOAD, "idle", "localhost", host.port, str(n)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=own)
            kit.check(c.stdout.readline() == b"open\n", "connections that stay open")
            time.sleep(0.5)
            os.write(ask, ("%d %d idle connections\n" % (c.pid, n)).encode())
            os.read(answer, 1)
            c.stdin.close()
            c.wait()
    finally:
        host.close()


def rows(quick):
    times = compare(quick)
    throughput_rows(times["get"])
    connect_rows(times["connect"])
    start_rows(quick)
    if "KT_ASK" in os.environ:
        idle_pss(quick)
