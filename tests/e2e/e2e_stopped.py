"""A process below a session is stopped, or the recorder, the keeper or a client: every call is answered at a deadline, and the error
says what kennel waited for."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from stopped_kit import *  # noqa: E402,F403


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
            error(h, rid, 15, "1000 ms")
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
    h = Hub(server("one", grants=ASKS, more=SHORT.replace("3s", "40s")), server("two"), env=env)
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
    error(s.h, s.h.post_call("one.echo"), 60, "one", "kennel-keeper does not answer", "kennel secret unlock")
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


if __name__ == "__main__":
    main()
