#!/usr/bin/env python3
"""The servers of servers.py that work without a service, all behind one `kennel serve`, in
front of them hostile ones of our own: as an ordinary user, offline.

    tests/servers/serve.py [WORD...]

Each is found, described and called; the calls of all are under way at once while one server
floods, one hangs, one dies, one sends lines of 100 MB and one answers what nobody asked;
another is killed and comes back; two are reviewed, and one of these has drifted.
"""
import base64
import json
import os
import shutil
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE) + "/e2e"]
import servers  # noqa: E402

AT_LEAST = 12  # servers of other people, side by side
PINNED, DRIFTED = "everything", "filesystem"
DRIFT = "list_directory"  # the tool of DRIFTED whose review says something else
HOSTILE = ("flooding", "long", "hanging", "dying", "wrong")


def usable():
    for name, row in sorted(servers.CALLS.items()):
        if "call" in row and os.path.exists(row.get("needs", "/")):
            yield name


class Home:
    """A KENNEL_HOME in which every server's policy is sealed."""

    def __init__(self, kit, serve_kit):
        self.kit, self.path = kit, kit.TMP + "/home"
        self.presets = {name: servers.Preset(kit, name) for name in usable()}
        shutil.rmtree(self.path, ignore_errors=True)
        for d in ("policies", "sealed"):
            os.makedirs("%s/%s" % (self.path, d), mode=0o700)
        for name, p in self.presets.items():
            with open(p.path) as f:
                self.policy(name, f.read())
        for name in HOSTILE:
            more = "    limit output 16M\n" + ("    timeout call 2s\n" if name == "hanging" else "")
            self.policy(name, serve_kit.server(name, more=more))
        for name in (PINNED, DRIFTED):
            self.pin(name)
        for name in list(self.presets) + list(HOSTILE):
            self.say("policy", "compile", self.file(name), "-o", "%s/sealed/%s.sealed" % (self.path, name))

    def file(self, name):
        return "%s/policies/%s.kennel" % (self.path, name)

    def policy(self, name, text):
        with open(self.file(name), "w") as f:
            f.write(text)

    def say(self, *words):
        r = self.kit.run([self.kit.KENNEL] + list(words), timeout=60)
        self.kit.equal(r.returncode, 0, "%s: %s" % (words, r.stderr.decode()[-800:]))

    def pin(self, name):
        """Reviews the server; the review of DRIFT is not what the server says."""
        pins = self.file(name) + ".pins"
        self.say("server", "pin", name, "-o", pins)
        if name == DRIFTED:
            with open(pins) as f:
                lines = [json.loads(x) for x in f]
            for m in lines:
                if m.get("name") == DRIFT:
                    m["body"]["description"] += " As it was reviewed."
                    break
            else:
                self.kit.check(False, "no pin of " + DRIFT, lines[:2])
            with open(pins, "w") as f:
                f.writelines(json.dumps(m, ensure_ascii=False, separators=(",", ":")) + "\n" for m in lines)
        with open(self.file(name)) as f:
            text = f.read()
        end = text.rindex("}")
        if "pins" not in text[:end].split():
            self.policy(name, text[:end] + "\tpins \"%s\"\n" % pins + text[end:])

    def argument(self, name):
        tool, arguments, wanted = servers.CALLS[name]["call"]
        return tool, json.loads(json.dumps(arguments).replace("{work}", self.presets[name].work)), wanted


def fits(kit, name, answer, wanted):
    text = json.dumps(answer)
    kit.check("result" in answer, name, text[:800])
    kit.check(not wanted or not answer["result"].get("isError"), name, text[:800])
    kit.check(kit.matches(wanted, text), name, text[:800])


def found(h, words, server):
    """The names that a search of one server finds, while it may be starting."""
    return [t["name"] for t in h.structured("tool_search", query=words, server=server)["tools"]]


def call_all(kit, h, home):
    """Every server is called before the first answer is read."""
    ids = {}
    for name in home.presets:
        tool, arguments, wanted = home.argument(name)
        ids[h.post_call("%s.%s" % (name, tool), arguments)] = (name, wanted)
    return ids


def all_fit(kit, h, ids):
    for rid, (name, wanted) in ids.items():
        fits(kit, name, answer(h, rid), wanted)


def answer(h, rid):
    for i, m in enumerate(h.lines):
        if m.get("id") == rid and "method" not in m:
            return h.lines.pop(i)
    return h.wait(rid, servers.SLOW * 2)


def side_by_side(kit, serve_kit, home):
    kit.check(len(home.presets) >= AT_LEAST, "only %d servers" % len(home.presets))
    t0 = time.time()
    h = Session(kit)
    for name in home.presets:
        tool, arguments, _ = home.argument(name)
        kit.check(kit.wait_for(lambda: "%s.%s" % (name, tool) in found(h, tool, name), servers.SLOW) is not None, name,
                  h.structured("tool_search", query="", server=name))
        kit.equal(h.structured("tool_describe", name="%s.%s" % (name, tool))["name"], "%s.%s" % (name, tool))
    listed = time.time() - t0
    bad = hostilities(h)
    ids = call_all(kit, h, home)
    all_fit(kit, h, ids)
    under = time.time() - t0 - listed
    refused(kit, h, bad)
    back(kit, h, home)
    drifted(kit, h, home)
    for rid, (name, _) in call_all(kit, h, home).items():  # the same once more, where that says the same or not
        fits(kit, name, answer(h, rid), "")
    h.lines = []
    kit.check(h.close() is not None, "it does not end")
    left = kit.wait_for(lambda: not servers.leftover(kit), 5)
    kit.check(left is not None, "left: %s" % servers.leftover(kit))
    print("# %d servers and %d hostile ones: all listed after %.1f s, all called in %.1f s more" % (
        len(home.presets), len(HOSTILE), listed, under), flush=True)


def hostilities(h):
    """Each is under way when the others are called."""
    for name in HOSTILE:
        h.said(name + ".echo", servers.SLOW)
    for line in ('{"jsonrpc":"2.0","id":1,"result":{}}', '{"jsonrpc":"2.0","id":"k1","result":{}}', "{", "[]",
                 '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'):
        h.post_call("wrong.raw", {"bytes": b64(line + '\n{"jsonrpc":"2.0","id":@ID@,"result":{"content":[]}}\n')})
    twice = '{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"type":"text","text":"%s"}]}}\n'
    return {"flooding": h.post_call("flooding.flood", {"line": b64("x\n"), "n": 50000}),
            "long": h.post_call("long.long", {"mib": 100}), "hanging": h.post_call("hanging.hang"),
            "dying": h.post_call("dying.kill"), "wrong": h.post_call("wrong.raw", {"bytes": b64(
                twice % "first" + twice % "second")})}


def refused(kit, h, bad):
    said = {name: answer(h, rid) for name, rid in bad.items()}
    kit.equal(said["flooding"]["result"]["content"][0]["text"], "flooded")
    kit.equal(said["long"]["error"]["code"], -32003)
    kit.equal(said["hanging"]["error"]["code"], -32001)
    kit.equal(said["dying"]["error"]["code"], -32000)
    kit.equal(said["wrong"]["result"]["content"][0]["text"], "first")


def back(kit, h, home):
    """A server that is killed is started again by the next call, after its backoff."""
    script = next(w for w in home.presets[PINNED].bare()[0] if PINNED in w)
    pids = [p for p in kit.descendants(h.p.pid) if script.encode() in kit.reads("/proc/%d/cmdline" % p)]
    kit.check(pids, "no process of " + PINNED)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    tool, arguments, wanted = home.argument(PINNED)
    name = "%s.%s" % (PINNED, tool)

    def works():
        return not h.do(name, arguments, servers.SLOW).get("result", {"isError": True}).get("isError")
    kit.check(kit.wait_for(works, 20) is not None, "it does not come back")
    fits(kit, PINNED, h.do(name, arguments, servers.SLOW), wanted)


def drifted(kit, h, home):
    """The tool that differs from its review is refused and found no more; its neighbours work."""
    name = "%s.%s" % (DRIFTED, DRIFT)
    said = json.dumps(h.do(name, {"path": home.presets[DRIFTED].work}))
    kit.check('"isError": true' in said, said)
    kit.check(name not in found(h, DRIFT, DRIFTED), name + " is found")


def Session(kit):
    import serve_kit

    class Of(serve_kit.Hub):
        def __init__(self):
            kit.Mcp.__init__(self, [kit.KENNEL, "serve"])
            self.modern, self.capabilities = False, {}
            self.initialize("2025-11-25", {})
    return Of()


def b64(text):
    return base64.b64encode(text.encode()).decode()


def judge(stage, tmp):
    kit = servers.begin(stage, tmp)
    import serve_kit

    def run():
        side_by_side(kit, serve_kit, Home(kit, serve_kit))
    kit.TESTS.append(("servers of other people side by side with hostile ones", run, 600))
    return servers.run_all(kit)


if __name__ == "__main__":
    sys.exit(servers.staged(judge))
