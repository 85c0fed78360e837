"""A person's no is remembered by the session of kennel serve, also where each call has a process of its own: a row each for
the ways in which an agent can call again."""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403

be_subreaper()
CALLS = 8
DENIED = "denied: a person refused %s in this session; only a person can reopen it: kennel approve reopen %s" % (PATH, PATH)
ASKS = "    tool allow echo\n    tool ask pid\n"


class Person:
    """Answers each question at once, and counts them."""

    def __init__(self, s, answer="deny"):
        self.s, self.answer, self.n, self.ends = s, answer, 0, False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ends:
            for line in self.s.approve("list", "--json")[1].splitlines():
                self.n += self.s.approve(self.answer, json.loads(line)["id"])[0] == 0
            time.sleep(0.05)

    def end(self):
        self.ends = True
        self.thread.join()
        return self.n


def calls(s, call):
    """The answers to the same call again and again, and the dialogs that a person saw."""
    person = Person(s)
    answers = [call() for _ in range(CALLS)]
    return answers, person.end()


def invoke(s, name, **arguments):
    return lambda: s.h.do("tool_invoke", {"name": name, "arguments": arguments}, LONG)["result"]


def query(s, tool):
    return lambda: s.h.do("mcp_query", {"server": "one", "tool": tool, "arguments": {}}, LONG)["result"]


def tool_row(more, call):
    s = Session("", servers=[server("one", ASKS, more)])
    equal(s.h.said("one.echo", seconds=LONG, text="x"), "one: x", "the control: a tool that asks nobody")
    answers, dialogs = calls(s, call(s))
    equal(dialogs, 1)
    for a in answers:
        check(a["isError"], a)
    within("a person denied this call", answers[0]["content"][0]["text"])
    within("a person has refused this a short while ago", answers[-1]["content"][0]["text"])
    equal(s.h.said("one.echo", seconds=LONG, text="y"), "one: y", "the control again")
    # a person at a channel of their own lifts it
    check(wait_for(lambda: s.approve("reopen", "pid")[0] == 0, LONG) is not None, "the last process is ending")
    equal(calls(s, call(s))[1], 1, "asked once more, and refused again")
    return s, answers


@test("S1-86 tool_invoke of a tool that asks, of a server with one process: the control, one dialog", 120)
def shared():
    tool_row("", lambda s: invoke(s, "one.pid"))


@test("S1-86 tool_invoke of a tool that asks, of a server with `oneshot`: one dialog", 120)
def oneshot():
    tool_row("    oneshot\n", lambda s: invoke(s, "one.pid"))


@test("S1-86 S4-62 mcp_query of a tool that asks: one dialog, and the state is denied", 120)
def queried():
    s, answers = tool_row("", lambda s: query(s, "pid"))
    equal({a["structuredContent"]["state"] for a in answers}, {"denied"})


def secret_row(rule, call, more=""):
    s = Session("secret %s {\n    approve %s\n}\n" % (PATH, rule), vault=True,
                servers=[server("one", more="    secret GH from vault %s { approve %s }\n" % (PATH, rule) + more), server("free")])
    person = Person(s)
    answers = [call(s)() for _ in range(CALLS)]
    equal(person.end(), 1)
    for a in answers[1:]:
        equal(a["content"][0]["text"], DENIED)
    equal(s.h.said("free.echo", seconds=LONG, text="x"), "free: x", "the control: another server")
    # C33: neither a request nor a start asks, until a person reopens the path
    r = s.h.do("secrets_request_use_approval", {"path": PATH, "reason": "x"})
    equal((r["result"]["isError"], r["result"]["content"][0]["text"]), (True, DENIED))
    equal(s.questions(), [])
    shown = s.h.structured("tool_describe", name="one")
    equal(shown["status"] in ("error", "disconnected"), True, shown)
    row = json.loads(run([KENNEL, "ps", "--json"], env=s.env).stdout)[0]["servers"][1]
    equal((row["name"], row["restarts"]), ("one", 0), "no crash")
    if call(s).__qualname__.startswith("invoke"):
        equal(row["discovery_status"], "error", row)
    check(wait_for(lambda: s.approve("reopen", PATH)[0] == 0, LONG) is not None, "the last process is ending")
    person = Person(s, "allow")
    within("one: x", s.h.said("one.echo", seconds=LONG, text="x"), "at once: nothing waits for a pause")
    equal(person.end(), 2 if rule == "per-call" else 1, "its tools were not listed yet")
    s.done()
    return s, answers


@test("S1-78 S1-86 tool_invoke, a secret that is approved for the session: one dialog, no crash and no pause", 120)
def for_session():
    secret_row("session", lambda s: invoke(s, "one.echo", text="x"))


@test("S1-78 S1-86 tool_invoke, a secret that is approved per call: one dialog", 120)
def per_call():
    secret_row("per-call", lambda s: invoke(s, "one.echo", text="x"))


@test("S1-78 S1-86 S4-62 mcp_query, a secret that is approved for the session: one dialog, and the state is denied", 120)
def query_session():
    _, answers = secret_row("session", lambda s: query(s, "echo"))
    equal({a["structuredContent"]["state"] for a in answers}, {"denied"})


@test("S1-78 S1-86 S4-62 mcp_query, a secret that is approved per call: one dialog, and the state is denied", 120)
def query_per_call():
    _, answers = secret_row("per-call", lambda s: query(s, "echo"))
    equal({a["structuredContent"]["state"] for a in answers}, {"denied"})


@test("other arguments are another question, and the third refusal of a tool closes it for all arguments", 120)
def other_arguments():
    s = Session("", servers=[server("one", "    tool ask echo\n", "    oneshot\n")])
    n = iter(range(100))
    answers, dialogs = calls(s, lambda: invoke(s, "one.echo", text=str(next(n)))())
    equal(dialogs, 3)
    within("a person has refused this a short while ago", answers[-1]["content"][0]["text"])


if __name__ == "__main__":
    main()
