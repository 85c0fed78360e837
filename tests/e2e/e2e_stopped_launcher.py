"""The launcher of kennel serve, the starter of kennel run, or the recorder is stopped: every call is answered at a deadline."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from stopped_kit import *  # noqa: E402,F403


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


@test("the recorder is stopped before kennel serve connects to it: the hub answers meanwhile, and goes on", seconds=120)
def hub_recorder_stopped():
    env = {"KENNEL_HOME": TMP + "/stopped-hub-log"}
    before = ours("kennel-recorder")
    first = Hub(server("one"), env=env)
    first.said("one.echo")
    mine = ours("kennel-recorder") - before
    equal(len(mine), 1, mine)
    stop(mine.pop())
    h = Hub(server("one"), env=env)
    h.post("tools/list")  # it needs the policies, and with them the recorder
    late = 0
    for _ in range(24):
        t0 = time.time()
        h.ask("ping")
        late = max(late, time.time() - t0)
        time.sleep(0.25)
    check(late < 3, "the hub waited for the recorder", late)
    go_on()
    equal(h.said("one.echo", seconds=LONG, text="x"), "one: x", "and it goes on")
    h.close()
    first.close()


@test("the recorder is stopped while mcp_register waits for its record: other calls are answered meanwhile, the registration at its time",
      seconds=120)
def register_recorder_stopped():
    def register(name):
        return h.post_call("tool_invoke", {"name": "mcp_register", "arguments": {"action": "add", "name": name, "command": "/bin/true"}})

    def text(m):
        return m["result"]["content"][0]["text"]
    env = {"KENNEL_HOME": TMP + "/stopped-register-log"}
    before = ours("kennel-recorder")
    h = Hub(server("one"), env=env)
    h.said("one.echo")
    mine = ours("kennel-recorder") - before
    equal(len(mine), 1, mine)
    control = h.wait(register("first"), LONG)
    check(not control["result"].get("isError"), control)
    recorder = mine.pop()
    stop(recorder)
    t0, rid, late = time.time(), register("second"), 0
    for _ in range(12):
        t1 = time.time()
        h.ask("ping")
        h.structured("tool_search", query="echo")
        late = max(late, time.time() - t1)
        time.sleep(0.25)
    check(late < 2, "the hub waited for the recorder", late)
    error(h, rid, 20, "mcp_register", "nothing was changed")
    check(time.time() - t0 > 4, "control: the registration waited")
    go_on()
    time.sleep(1.5)
    listed = h.wait(h.post_call("tool_invoke", {"name": "mcp_register", "arguments": {"action": "list"}}), LONG)
    within("first", json.dumps(listed))
    absent("second", json.dumps(listed))
    stop(recorder)
    rid = register("third")
    h.ask("ping")
    time.sleep(0.5)
    go_on()
    m = h.wait(rid, LONG)
    check(not m["result"].get("isError"), "it was only late", m)
    h.close()


if __name__ == "__main__":
    main()
