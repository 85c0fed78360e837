"""A process that is stopped: every call is answered all the same, at a deadline, and the error says what kennel waited for. And a
process that is only late: every call gets its answer."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403

be_subreaper()
SHORT = "    timeout start 2s\n    timeout call 2s\n    timeout ask 4s\n"
ASKS = "    tool ask echo\n    tool allow *\n"
stopped = []


def stop(pid):
    stopped.append(pid)
    os.kill(pid, signal.SIGSTOP)


def go_on():
    while stopped:
        try:
            os.kill(stopped.pop(), signal.SIGCONT)
        except ProcessLookupError:
            pass


def below(root):
    """comm -> pids of the descendants; `kennel` is the launcher or a session, and the shim's image has no name."""
    at, found = processes(), {}
    for pid, comm in descendants(root).items():
        if comm == "kennel" and pid in at:
            comm = "launcher" if at[pid][0] == root else "session"
        elif not comm.startswith(("kennel-", "python")):
            comm = "shim"
        found.setdefault(comm, []).append(pid)
    return found


def one_of(root, comm):
    check(wait_for(lambda: below(root).get(comm), LONG) is not None, "no " + comm)
    return below(root)[comm][0]


def error(h, rid, seconds, *parts):
    """The error of a call comes within this time, and names what kennel waited for."""
    t0 = time.time()
    m = h.wait(rid, seconds)
    text = m["error"]["message"] if "error" in m else m["result"]["content"][0]["text"] if m["result"].get("isError") else None
    check(text is not None, "not an error", m)
    for p in parts:
        within(p, text)
    print("# %.1f s: %s" % (time.time() - t0, text), flush=True)


def ours(comm):
    """Processes that have left what started them, and are ours because we are the subreaper."""
    return {p for p, c in descendants(os.getpid()).items() if c == comm}


# ---- longer than the deadline ------------------------------------------------------------

@test("the launcher is stopped: initialize, calls that need a policy and calls that need a process are answered", seconds=200)
def launcher_stopped():
    new = Hub(server("one"), greet=False)
    new.ask("ping")
    greeted = Hub(server("one", more=SHORT))
    running = Hub(server("one"), server("two", more=SHORT))
    running.said("one.echo")
    for h in (new, greeted, running):
        stop(one_of(h.p.pid, "launcher"))
    a = new.post("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "k", "version": "1"}})
    b = greeted.post_call("one.echo")
    c = greeted.post_call("tool_describe", {"name": "one.echo"})
    d = running.post_call("two.echo")
    equal(running.said("one.echo", text="x"), "one: x", "control: what runs does not need it")
    error(running, d, 40, "two", "the launcher")
    error(new, a, 70, "the launcher of kennel serve")
    error(greeted, b, 20, "the launcher of kennel serve")
    error(greeted, c, 20, "the launcher of kennel serve")
    go_on()
    equal(greeted.said("one.echo", text="x"), "one: x", "and it goes on")
    time.sleep(1.1)
    equal(running.said("two.echo", text="x"), "two: x")
    for h in (new, greeted, running):
        h.close()


@test("a session is stopped: its open calls are answered, whatever their method; the other servers go on", seconds=150)
def session_stopped():
    h = Hub(server("one", more=SHORT), server("two"))
    h.said("one.echo")
    pid = one_of(h.p.pid, "session")
    h.said("two.echo")
    stop(pid)
    a, b = h.post_call("one.echo"), h.post("resources/subscribe", {"uri": "kennel://one/r"})
    c = h.post("prompts/get", {"name": "one__none"})
    equal(h.said("two.echo", text="x"), "two: x")
    error(h, a, 60, "one", "its session")
    for rid in (b, c):
        check(h.wait(rid, 10), "answered")
    equal(h.said("two.echo", text="x"), "two: x")
    go_on()
    time.sleep(1.1)
    equal(h.said("one.echo", seconds=LONG, text="x"), "one: x", "another process")
    h.close()


@test("a session is stopped while its server starts: the call is answered, with an error or by the next process", seconds=150)
def session_stopped_at_start():
    h = Hub(server("one", slow=1, more=SHORT))
    rid = h.post_call("one.echo")
    stop(one_of(h.p.pid, "session"))
    t0 = time.time()
    h.wait(rid, 100)
    check(time.time() - t0 > 30, "control: the session was stopped in time")
    go_on()
    h.close()


@test("the leash, the shim or the server is stopped: calls are answered at their deadline, and the next process serves", seconds=200)
def below_the_session():
    for comm in ("kennel-leash", "shim", "python3"):
        h = Hub(server("one", more=SHORT), server("two"))
        h.said("one.echo")
        stop(one_of(h.p.pid, comm))
        rid = h.post_call("one.echo")
        if comm == "shim":  # it has nothing to do with a call
            equal(h.wait(rid)["result"]["content"][0]["text"], "one: ")
        else:
            error(h, rid, 15, "2000 ms")
        equal(h.said("two.echo", text="x"), "two: x")
        go_on()
        check(wait_for(lambda: "result" in h.do("one.echo", seconds=LONG) and not h.do("one.echo").get("result", {}).get("isError"),
                       LONG) is not None, comm)
        h.close()


@test("the leash is stopped while it starts a server, whether a person is asked or not: the call is answered", seconds=150)
def leash_at_start():
    more = SHORT + "    secret GH from vault %s\n" % PATH
    for manifest in ("secret %s {\n    approve session\n}\n" % PATH, "secret %s {\n}\n" % PATH):
        before = ours("kennel-keeper")
        s = Session(manifest, vault=True, servers=[server("one", more=more)])
        keeper = min(ours("kennel-keeper") - before)
        stop(keeper)  # so that the start takes its time
        rid = s.h.post_call("one.echo")
        stop(one_of(s.h.p.pid, "kennel-leash"))
        os.kill(keeper, signal.SIGCONT)
        error(s.h, rid, 60, "kennel-leash", "one")
        go_on()
        s.done()


@test("the recorder is stopped: approved calls, other calls, starts and a flood of calls are answered", seconds=200)
def recorder_stopped():
    env = {"KENNEL_HOME": TMP + "/stopped-log"}
    before = ours("kennel-recorder")
    h = Hub(server("one", grants=ASKS, more=SHORT.replace("4s", "40s")), server("two"), env=env)
    h.said("two.echo")
    mine = ours("kennel-recorder") - before
    equal(len(mine), 1, mine)
    h.said("one.pid")
    rid = h.post_call("one.echo", {"text": "x"})
    asked = []
    check(wait_for(lambda: asked.clear() or asked.extend(run([KENNEL, "approve", "list", "--json"], env=env).stdout.splitlines())
                   or asked, LONG) is not None, "not asked")
    stop(mine.pop())
    equal(run([KENNEL, "approve", "allow", json.loads(asked[0])["id"]], env=env).returncode, 0)
    error(h, rid, 20, "the audit recorder")
    got = []
    check(wait_for(lambda: got.clear() or got.append(h.do("two.echo")) or "error" in got[0], 20) is not None, "calls without a record")
    within("audit log", got[0]["error"]["message"])
    rids = [h.post_call("two.echo") for _ in range(6000)]
    for r in rids:
        h.wait(r, 30)
    h.p.kill()
    h.p.wait()
    new = Hub(server("one", more=SHORT), env=env)
    error(new, new.post_call("one.echo"), 60, "one", "audit")
    go_on()
    new.close()


@test("the keeper is stopped: a start that needs its value is answered", seconds=150)
def keeper_stopped():
    before = ours("kennel-keeper")
    s = Session("secret %s {\n}\n" % PATH, vault=True, servers=[server("one", more=SHORT + "    secret GH from vault %s\n" % PATH)])
    s.works_unasked()
    s.restart()
    stop(min(ours("kennel-keeper") - before))
    error(s.h, s.h.post_call("one.echo"), 60, "one")
    go_on()
    time.sleep(2)
    check(wait_for(lambda: "isError" not in s.h.do("one.echo", seconds=LONG).get("result", {"isError": True}), LONG) is not None)
    s.done()


@test("a person's client is stopped: the call is answered when its approval ends", seconds=90)
def client_stopped():
    h = Hub(server("one", grants=ASKS, more=SHORT))
    watch = start([KENNEL, "approve", "watch"], env=environment(None), stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    h.said("one.pid")
    stop(watch.pid)
    error(h, h.post_call("one.echo"), 20, "kennel: ")
    go_on()
    watch.kill()
    watch.wait()
    h.close()


@test("a server reads nothing: calls that do not fit into its pipe any more are answered too, also by kennel run", seconds=150)
def unread():
    for hub in (True, False):
        h = Hub(server("one", more=SHORT), command=None if hub else [KENNEL, "run", "one", "--policy",
                                                                     policies(server("one", more=SHORT))])
        tool = "one.echo" if hub else "echo"
        h.said(tool)
        stop(one_of(h.p.pid, "python3"))
        rids = [h.post_call(tool, {"text": "x" * 60000}) for _ in range(30)]
        for r in rids:
            m = h.wait(r, 60)
            check("error" in m or m["result"].get("isError"), m)
        go_on()
        h.close()


@test("the starter of kennel run is stopped: the call that needs another process is answered", seconds=150)
def starter_stopped():
    h = Hub(command=[KENNEL, "run", "one", "--policy", policies(server("one", more=SHORT))])
    h.said("echo")
    os.kill(max(h.processes()), signal.SIGKILL)
    time.sleep(0.5)
    stop(one_of(h.p.pid, "launcher"))
    error(h, h.post_call("echo"), 60, "kennel")
    go_on()
    h.close()


# ---- only late ---------------------------------------------------------------------------

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


if __name__ == "__main__":
    main()
