"""The network under load: many connections in a row, at once and idle, few descriptors,
and a relay or dialer that ends in the middle of a stream."""
import json
import os
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
import world  # noqa: E402
from net_kit import LOST, NAMES, PROBE, PYTHON, base, egress, probe  # noqa: E402

DB = "db.test.example"
GRANT = "net allow db.test.example:%d plain\nlimit files 3000\n"
PIPE_BYTES = 65536   # of a pipe, while its user has few
BYSTANDER = """
import fcntl, os
pipes = [os.pipe() for _ in range(500)]
print(min(fcntl.fcntl(w, 1032) for _, w in pipes))      # F_GETPIPE_SZ
"""


class Cell:
    """The probe in a cell, while the test does something else."""

    def __init__(self, grants, *verbs):
        self.p = start([KENNEL, "exec", "--policy", policy(base() + grants), "t", "--", PYTHON, PROBE] +
                       [json.dumps(v) for v in verbs], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, env=environment(), cwd="/")

    def pid(self, program):
        """Its kennel-egress, kennel-leash or kennel-dial (which has workers of that name)."""
        every = processes()
        found = [p for p, comm in descendants(self.p.pid).items()
                 if comm == program[:15] and every.get(every[p][0], (0, "", ""))[2] != comm]
        equal(len(found), 1, program)
        return found[0]

    def answers(self, seconds):
        out, err = self.p.communicate(timeout=seconds)
        equal(self.p.returncode, 0, err[-1500:])
        self.said = err.decode(errors="replace")
        return [json.loads(x)["is"] for x in out.splitlines()]


def descriptors(pid):
    """How many a process has, or None: only root may look into kennel's processes."""
    try:
        return len(os.listdir("/proc/%d/fd" % pid))
    except PermissionError:
        return None


def pipes_of(pid):
    names = [os.readlink("/proc/%d/fd/%s" % (pid, n)) for n in os.listdir("/proc/%d/fd" % pid)]
    return len({n for n in names if n.startswith("pipe:")})


@test("10,000 connections in sequence: each is answered and recorded, and no descriptor is left over", seconds=300)
def sequence():
    s = world.Server("9.8.7.12", 5100, world.echo)
    d = public_folder("sequence")
    cell = Cell(GRANT % 5100 + "read %s" % d, ["sequence", DB, 5100, 20], ["wait", d + "/go"],
                ["sequence", DB, 5100, 10000], ["wait", d + "/end"])
    check(wait_for(lambda: s.accepted == 20, 20) is not None, "the first 20 did not come")
    time.sleep(0.5)
    pids = [cell.pid(p) for p in ("kennel-egress", "kennel-dial", "kennel-leash")]
    before = [descriptors(p) for p in pids]
    open(d + "/go", "w").close()
    check(wait_for(lambda: s.accepted >= 10020, 250) is not None, "only %d came" % s.accepted)
    time.sleep(1)
    equal([descriptors(p) for p in pids], before)
    open(d + "/end", "w").close()
    got = cell.answers(30)
    equal((got[0], got[2]), ([20, {}], [10000, {}]))
    s.close()
    for action in ("open", "close"):
        equal(len(egress(action=action, name=DB, port=5100)), 10020, "records: " + action)


@test("1,000 connections at once, each with its own answer", seconds=150)
def at_once():
    s = world.Server("9.8.7.12", 5101, world.echo)
    equal(probe(GRANT % 5101, ["many", DB, 5101, 1000], timeout=120), [[1000, {}]])
    equal(s.accepted, 1000)
    s.close()


@test("1,000 at once to a name without an address and to a host that refuses: each is reset, and the network stays", seconds=150)
def at_once_in_vain():
    s = world.Server("9.8.7.12", 5106, world.echo)
    got = probe(GRANT % 5106 + "net allow nowhere.test.example:5106 db.test.example:5107 plain",
                ["many", "nowhere.test.example", 5106, 1000], ["sleep", 2], ["many", DB, 5107, 500],
                ["many", DB, 5106, 10], timeout=120)
    equal((got[0], got[2], got[3]), ([0, {"ECONNRESET": 1000}], [0, {"ECONNRESET": 500}], [10, {}]))
    s.close()


@test("1,000 idle connections: another program of the same user has pipes of the full size", seconds=150)
def idle():
    s = world.Server("9.8.7.12", 5102, world.echo)
    cell = Cell(GRANT % 5102, ["many", DB, 5102, 1000, 6.0])
    check(wait_for(lambda: s.accepted == 1000, 90) is not None, "only %d came" % s.accepted)
    time.sleep(2)  # all have been echoed: they are idle
    equal(int(run([PYTHON, "-c", BYSTANDER]).stdout), PIPE_BYTES)
    if os.geteuid() == 0:  # whose pipes have no limit: their number shows it
        n = pipes_of(cell.pid("kennel-egress"))
        check(n <= 70, "%d pipes" % n)
    equal(cell.answers(60), [[1000, {}]])
    s.close()


@test("`ulimit -n 1024`: what is beyond the relay's descriptors waits, and is served in its turn", seconds=150)
def few_descriptors():
    s = world.Server("9.8.7.12", 5103, world.echo)
    path = policy(base() + "net allow db.test.example:5103 plain")
    line = "ulimit -n 1024; exec " + shell(KENNEL, "exec", "--policy", path, "t", "--", PYTHON, PROBE,
                                           json.dumps(["crowd", DB, 5103, 900]), json.dumps(["crowd", DB, 5103, 1]))
    r = run(["/bin/sh", "-c", line], timeout=120)
    equal(r.returncode, 0, r.stderr[-1500:])
    equal([json.loads(x)["is"] for x in r.stdout.splitlines()], [[900, {}], [1, {}]])
    equal(s.accepted, 901)
    s.close()


@test("a relay or dialer that ends in the middle of a stream: both ends see it, and it is recorded", seconds=90)
def in_mid_stream():
    for port, program in ((5104, "kennel-egress"), (5105, "kennel-dial")):
        broken = []

        def serve(c, server):
            try:
                world.echo(c, server)
            finally:
                broken.append(time.time())
        s = world.Server("9.8.7.12", port, serve)
        n = len(egress(reason=LOST))
        cell = Cell(GRANT % port, ["until", DB, port])
        check(wait_for(lambda: s.accepted == 1, 20) is not None, "no connection")
        time.sleep(0.5)
        t0 = time.time()
        os.kill(cell.pid(program), 9)
        got = cell.answers(20)
        check(got[0] in ("ECONNRESET", "EPIPE", "end"), program, got)
        check(time.time() - t0 < 5, "the client was left waiting")
        check(wait_for(lambda: broken, 5) is not None, program, "the host's side is open still")
        within("the server has lost its network", cell.said)
        check(wait_for(lambda: len(egress(reason=LOST)) == n + 1, 5) is not None, "it is not on record")
        s.close()


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    world.enter(NAMES)
    try:
        main()
    finally:
        world.leave()
