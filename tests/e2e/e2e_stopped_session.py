"""A session of kennel serve is stopped: every call is answered at a deadline, and the other servers go on."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from stopped_kit import *  # noqa: E402,F403


@test("a session is stopped, while its server starts or later: its open calls are answered, whatever their method; the other servers go on", seconds=150)
def session_stopped():
    starts = Hub(server("one", slow=1, more=SHORT))
    early = starts.post_call("one.echo")
    stop(one_of(starts.p.pid, "session"))
    t0 = time.time()
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
    os.kill(pid, signal.SIGCONT)
    time.sleep(1.1)
    equal(h.said("one.echo", seconds=LONG, text="x"), "one: x", "another process")
    h.close()
    starts.wait(early, 100)  # an error, or the answer of the next process
    check(time.time() - t0 > 30, "control: the session was stopped in time")
    go_on()
    starts.close()


if __name__ == "__main__":
    main()
