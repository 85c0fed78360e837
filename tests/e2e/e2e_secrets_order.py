"""What a person has approved counts for the next start, in whatever order the processes of kennel serve get to run."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403

be_subreaper()


def launcher(s):
    return [p for p, name in descendants(s.h.p.pid).items() if name == "kennel" and processes()[p][0] == s.h.p.pid][0]


def approved(s):
    """The launcher is stopped; a person has allowed a use for the session, and its agent has read so."""
    rid = s.ask()
    os.kill(launcher(s), signal.SIGSTOP)
    s.answer("allow", "--session")
    s.settled(rid, "session")
    return rid


@test("a person has allowed a use for the session, and the launcher is late: the start waits for it, and asks nobody")
def late_epoch():
    s = Session(vault=True)
    approved(s)
    rid = s.h.post_call("one.echo", {"text": "x"})
    s.h.ask("ping")  # the call is on its way
    time.sleep(0.3)
    os.kill(launcher(s), signal.SIGCONT)
    check(wait_for(lambda: s.h.processes(), LONG) is not None, "it does not start")
    equal(s.questions(), [])
    equal(s.h.wait(rid, LONG)["result"]["content"][0]["text"], "one: x")
    s.restart()
    s.works_unasked()
    s.done()


@test("the same with a vault that changes after the answer: the next start asks a person")
def changed_vault():
    s = Session(vault=True)
    approved(s)
    os.kill(launcher(s), signal.SIGCONT)
    s.works_unasked()  # control
    s.secret("rotate", PATH, "--stdin", stdin=VALUE + "-2")
    s.restart()
    within("one: x", json.dumps(s.asks("allow")))
    s.done()


@test("other servers start while one waits for a launcher that has not answered")
def beside():
    s = Session(vault=True, servers=[server("one", more="    secret GH from vault %s\n" % PATH), server("two")])
    approved(s)
    a = s.h.post_call("one.echo", {"text": "a"})
    b = s.h.post_call("two.echo", {"text": "b"})
    s.h.ask("ping")
    os.kill(launcher(s), signal.SIGCONT)
    for rid, want in ((b, "two: b"), (a, "one: a")):
        equal(s.h.wait(rid, LONG)["result"]["content"][0]["text"], want)
    equal(s.questions(), [])
    s.done()


if __name__ == "__main__":
    main()
