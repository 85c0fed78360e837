"""A process that is only late: every call gets its answer, whichever process is late at whichever moment."""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from stopped_kit import *  # noqa: E402,F403


@test("each process in turn is late while a call starts its server: the call gets its answer", seconds=300)
def late():
    """At several moments of a start: when the call is sent, when the process appears, and a little later."""
    before = {comm: ours(comm) for comm in ("kennel-keeper", "kennel-recorder")}
    s = Session(vault=True)
    rid = s.ask()
    s.answer("allow", "--session")
    s.settled(rid, "session")
    s.works_unasked()
    for comm in ("hub", "launcher", "session", "kennel-leash", "shim", "kennel-egress", "python3", "kennel-keeper",
                 "kennel-recorder"):
        for after in (0, 0.03, 0.1):
            s.restart()
            rid = s.h.post_call("one.echo", {"text": "x"})
            time.sleep(after)
            if comm == "hub":
                pid = s.h.p.pid
            elif comm in before:
                pid = min(ours(comm) - before[comm])
            else:
                pid = one_of(s.h.p.pid, comm)
            try:
                stop(pid)
            except ProcessLookupError:  # that of the process before
                pass
            time.sleep(0.6)
            go_on()
            equal(s.h.wait(rid, LONG)["result"]["content"][0]["text"], "one: x", "%s, after %s s" % (comm, after))
            equal(s.questions(), [], comm)
    s.done()


def moments(comms, begin, want):
    """Each process in turn is late for 0.6 s at several moments of a call; its answer comes all the same. begin() gives the session,
    the call's id, and what happens while the process is late."""
    for comm in comms:
        for after in (0, 0.03, 0.1):
            h, rid, meanwhile = begin()
            time.sleep(after)
            try:
                stop(h.p.pid if comm == "kennel" else one_of(h.p.pid, comm))
            except ProcessLookupError:  # that of the process before
                pass
            meanwhile()
            time.sleep(0.6)
            go_on()
            m = h.wait(rid, LONG)
            check("result" in m and not m["result"].get("isError"), comm, after, m)
            equal(m["result"]["content"][0]["text"], want, "%s, after %s s" % (comm, after))
            h.close()


def pending():
    return run([KENNEL, "approve", "list", "--json"]).stdout.splitlines()


def answer():
    """A person allows what is asked, once it is."""
    wait_for(pending, LONG)
    for line in pending():
        run([KENNEL, "approve", "allow", json.loads(line)["id"]])


@test("kennel, the leash or the shim is late while a person is asked about an exec: the program runs", seconds=200)
def late_exec_approval():
    def begin():
        h = Hub(command=[KENNEL, "run", "t", "--policy", policies(
            "server t {\n    run %s\n    tool allow *\n    exec ask /bin/echo **\n}\n" % words(TOY))])
        return h, h.post_call("exec", {"argv": ["/bin/echo", "late"]}), threading.Thread(target=answer).start

    moments(("kennel", "kennel-leash", "shim"), begin, "exit 0\nlate\n")


@test("the starter, the leash, the shim or the server is late while kennel run starts its server again: the call gets its answer",
      seconds=200)
def late_restart():
    def begin():
        h = Hub(command=[KENNEL, "run", "one", "--policy", policies(server("one"))])
        h.said("echo", text="x")
        os.kill(max(h.processes()), signal.SIGKILL)
        check(wait_for(lambda: not h.processes(), LONG) is not None, "the server has not ended")
        time.sleep(1.1)  # a start that follows at once is refused
        return h, h.post_call("echo", {"text": "x"}), lambda: None

    moments(("launcher", "kennel-leash", "shim", "python3"), begin, "one: x")


if __name__ == "__main__":
    main()
