"""kennel-egress, kennel-dial or the leash is stopped while a server connects: its connection ends, its other calls and the other
servers go on, and the call is answered at its deadline."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from stopped_kit import *  # noqa: E402,F403
import world  # noqa: E402
from net_kit import HELLO, NAMES, egress  # noqa: E402

MUTE = "kennel-egress does not answer and was killed: the server has no network until its next start"
PORT = [5200]
host = {}  # address: what stands for the host in the cell, so that no lookup is needed


def pid_of(h, comm):
    """The process that serves the one server with a network."""
    dials = []
    check(wait_for(lambda: dials.extend(below(h.p.pid).get("kennel-dial", [])) or dials, LONG) is not None, "no dialer")
    at = processes()  # a lookup is a child of the dialer, with its name
    leash = next(at[pid][0] for pid in dials if at[at[pid][0]][2] == "kennel-leash")
    if comm in ("kennel-leash", "session"):
        return leash if comm == "kennel-leash" else at[leash][0]
    return next(pid for pid, (parent, _, name) in at.items() if parent == leash and name == comm)


def of_the_net(timeout):
    """A server that may connect to a host, beside one that may not."""
    PORT[0] += 1
    world.Server("9.8.7.12", PORT[0], world.hello)
    net = "    net allow db.test.example:%d plain\n    timeout start 2s\n    timeout call %s\n" % (PORT[0], timeout)
    h = Hub(server("one", more=net), server("two"))
    host["at"] = "db.test.example"
    first = h.wait(post(h), LONG)["result"]["content"][0]["text"]
    host["at"] = first.split()[-1]
    ends(h)
    h.said("two.echo")
    return h


def post(h):
    return h.post_call("one.connect", {"host": host["at"], "port": PORT[0]})


def reached(h, rid=None):
    m = h.wait(post(h) if rid is None else rid, 120)
    return m["result"]["content"][0]["text"]


def ends(h, rid=None, what="control"):
    equal(reached(h, rid), "end: %sx %s" % (HELLO, host["at"]), what)


def connections_end(comm, bound):
    """Of a long call, and of a short one, which does not wait for that."""
    h = of_the_net("2m")
    stop(pid_of(h, comm))
    rid, t0 = post(h), time.time()
    equal(h.said("one.echo", text="x"), "one: x", "another call of the same server")
    equal(h.said("two.echo", text="x"), "two: x", "another server")
    said = reached(h, rid)
    print("# %s, %.1f s: %s" % (comm, time.time() - t0, said), flush=True)
    check(not said.startswith("end") and time.time() - t0 < bound, said)
    equal(h.said("one.echo", text="x"), "one: x", "and they still do")
    return h


def ends_at_deadline(comm):
    h = of_the_net("1s")
    stop(pid_of(h, comm))
    error(h, post(h), 15, "1000 ms")
    equal(h.said("two.echo", text="x"), "two: x")
    go_on()
    check(wait_for(lambda: reached(h).startswith("end"), LONG) is not None, "it does not go on")
    h.close()


@test("kennel-egress is stopped: the connection ends, it is recorded, and the next start has a network", seconds=120)
def relay_stopped():
    h = connections_end("kennel-egress", 40)
    check(wait_for(lambda: egress(reason=MUTE), 10) is not None, "no record")
    within(MUTE, h.stderr())
    go_on()
    equal(run([KENNEL, "server", "restart", "one"]).returncode, 0)
    time.sleep(1.1)
    check(wait_for(lambda: reached(h).startswith("end"), LONG) is not None, "no network after a restart")
    h.close()


@test("kennel-dial is stopped: the connection ends, and the network goes on with it", seconds=120)
def dialer_stopped():
    h = connections_end("kennel-dial", 60)
    go_on()
    ends(h)
    h.close()


@test("kennel-egress, kennel-dial or the leash is stopped: the call is answered at its deadline", seconds=120)
def deadlines():
    for comm in ("kennel-egress", "kennel-dial", "kennel-leash"):
        ends_at_deadline(comm)


@test("kennel-egress is stopped for less time than it may be silent, or its leash for longer: nothing is lost", seconds=120)
def late():
    h = of_the_net("2m")
    for comm, seconds in (("kennel-egress", 6), ("kennel-leash", 13)):
        stop(pid_of(h, comm))
        rid = post(h)
        time.sleep(seconds)
        go_on()
        ends(h, rid, comm)
    time.sleep(12)  # as long as a question whether it serves is open
    ends(h)
    h.close()


@test("each of the processes of a connection is late at several moments of it: the server gets its bytes", seconds=120)
def late_connection():
    h = of_the_net("2m")
    for comm in ("kennel-egress", "kennel-dial", "kennel-leash", "session"):
        for after in (0, 0.005, 0.02):
            rid = post(h)
            time.sleep(after)
            stop(pid_of(h, comm))
            time.sleep(0.6)
            go_on()
            ends(h, rid, "%s, after %s s" % (comm, after))
    h.close()


if __name__ == "__main__":
    world.enter(NAMES)
    try:
        main()
    finally:
        world.leave()
