"""S2-23 S3-02 S3-35 S4-42: the official client with real servers, with and without kennel."""
import base64
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

SERVERS = MODULES + "/@modelcontextprotocol/server-%s/dist/index.js"
ALLOW = "    tool allow *\n    resource allow *\n    prompt allow *\n    sampling allow\n    elicitation allow\n    roots allow\n"


def need_node():
    if not os.path.exists(NODE):
        skip("no node: the npm packages of tests/node are not installed")


def session(plan, cmd, env=None):
    need_node()
    script = "%s/plan-%d.json" % (TMP, time.time_ns())
    with open(script, "w") as f:
        json.dump(plan, f)
    os.chmod(script, 0o644)
    client = STAGE + "/client.mjs"
    r = run([NODE, client, script] + cmd, env=env, timeout=80)
    check(r.returncode == 0, "status %d: %s" % (r.returncode, r.stderr.decode(errors="replace")[-1500:]))
    return json.loads(r.stdout)


def under_kennel(name, body, plan, args=(), env=None):
    p = policy("    run %s %s\n    read %s\n%s%s" % (
        words(NODE), words(SERVERS % name, *args), words(MODULES), ALLOW, body), name=name.replace("-", "_"))
    return session(plan, [KENNEL, "run", name.replace("-", "_"), "--policy", p], env)


def bare(name, plan, args=(), env=None):
    """Without kennel: never as root."""
    how = ["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"] if os.geteuid() == 0 else []
    return session(plan, how + [NODE, SERVERS % name] + list(args), env)


def same(a, b, ignore=()):
    equal(b["server"], a["server"])
    equal(b["capabilities"], a["capabilities"])
    equal(b.get("instructions"), a.get("instructions"))
    equal(sorted(b["asked"]), sorted(a["asked"]))
    # The last notification may be overtaken by the answer inside the client.
    n = min(len(a["progress"]), len(b["progress"]))
    equal(b["progress"][:n], a["progress"][:n])
    check(n >= len(a["progress"]) - 1, b["progress"])
    for x, y in zip(a["results"], b["results"]):
        if x["step"].get("name") not in ignore and x["step"]["do"] not in ignore:
            equal(y, x, json.dumps(x["step"]))
    equal(len(b["results"]), len(a["results"]))


@test("server-everything: tools, resources, prompts, progress, sampling, elicitation, roots, cancellation", seconds=120)
def everything():
    plan = {"capabilities": {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}}, "steps": [
        {"do": "tools"}, {"do": "resources"}, {"do": "templates"}, {"do": "prompts"}, {"do": "ping"},
        {"do": "call", "name": "echo", "arguments": {"message": "h\u00e9llo \u0001 \U0001f600"}},
        {"do": "call", "name": "get-sum", "arguments": {"a": 2, "b": 40}},
        {"do": "call", "name": "get-tiny-image"},
        {"do": "call", "name": "get-structured-content", "arguments": {"location": "Chicago"}},
        {"do": "call", "name": "trigger-long-running-operation", "arguments": {"duration": 1, "steps": 4}, "progress": True},
        {"do": "call", "name": "trigger-sampling-request", "arguments": {"prompt": "x", "maxTokens": 7}},
        {"do": "call", "name": "trigger-elicitation-request"},
        {"do": "call", "name": "get-roots-list"},
        {"do": "call", "name": "no-such-tool"},
        {"do": "read", "uri": "demo://resource/static/document/architecture.md"},
        {"do": "prompt", "name": "simple-prompt"},
        {"do": "prompt", "name": "args-prompt", "arguments": {"city": "Oslo"}},
        {"do": "level", "level": "debug"},
        {"do": "cancel", "name": "trigger-long-running-operation", "arguments": {"duration": 10, "steps": 5}},
        {"do": "ping"}]}
    a = bare("everything", plan)
    check(len(a["results"][0]["result"]["tools"]) >= 10, "few tools")
    b = under_kennel("everything", "", plan)
    same(a, b)
    within("sampling", b["asked"])
    check(audited("call", "get-sum"), "no event for the call")


@test("server-everything: its environment is what the policy says")
def everything_env():
    plan = {"steps": [{"do": "call", "name": "get-env"}]}
    b = under_kennel("everything", '    env MODE = "quiet"\n    secret API_KEY from env AGENT_KEY\n', plan,
                     env={"AGENT_KEY": "sdk-s3ntinel-key", "SURPLUS": "1"})
    r = json.dumps(b)
    absent("sdk-s3ntinel", r)


@test("server-filesystem: read, write, list, search; outside its folder nothing", seconds=90)
def filesystem():
    d = public_folder("fs")
    with open(d + "/a.txt", "w") as f:
        f.write("alpha\n")
    os.chmod(d + "/a.txt", 0o666)
    plan = {"steps": [
        {"do": "tools"}, {"do": "call", "name": "list_allowed_directories"},
        {"do": "call", "name": "read_text_file", "arguments": {"path": d + "/a.txt"}},
        {"do": "call", "name": "list_directory", "arguments": {"path": d}},
        {"do": "call", "name": "write_file", "arguments": {"path": d + "/b.txt", "content": "beta"}},
        {"do": "call", "name": "read_text_file", "arguments": {"path": d + "/b.txt"}},
        {"do": "call", "name": "search_files", "arguments": {"path": d, "pattern": "*.txt"}},
        {"do": "call", "name": "read_text_file", "arguments": {"path": "/etc/shadow"}}]}
    a = bare("filesystem", plan, [d])
    for n in ("b.txt",):
        if os.path.exists(d + "/" + n):
            os.unlink(d + "/" + n)
    user = '    user "%d"\n' % UID if os.geteuid() == 0 else ""
    b = under_kennel("filesystem", "%s    write %s\n" % (user, words(d)), plan, [d])
    same(a, b)
    equal(reads(d + "/b.txt"), b"beta")


@test("server-filesystem under the first policy of kennel-policy(5): one folder, and nothing else", seconds=90)
def first_policy():
    page = open(STAGE + "/kennel-policy.5").read()
    text = page.split('.\\" example walk\n')[1].split("\n.Ed")[0].split("\n", 1)[1].replace("\\e", "\\")
    d, other = public_folder("first"), public_folder("other")
    # the page's own folders, as they are called here
    for old, new in (("/home/joe/notes", d), ("$package/node_modules/", "$package/"),
                     ("/srv/mcp/filesystem", MODULES), ("/usr/bin/node", NODE)):
        within(old, text)
        text = text.replace(old, new)
    if os.geteuid() == 0:
        text = text.replace("server notes {", 'server notes {\n    user "%d"' % UID)
    p = TMP + "/notes.kennel"
    with open(p, "w") as f:
        f.write(text)
    os.chmod(p, 0o644)
    b = session({"steps": [
        {"do": "call", "name": "write_file", "arguments": {"path": d + "/b.txt", "content": "beta"}},
        {"do": "call", "name": "read_text_file", "arguments": {"path": d + "/b.txt"}},
        {"do": "call", "name": "write_file", "arguments": {"path": other + "/c.txt", "content": "gamma"}}]},
        [KENNEL, "run", "notes", "--policy", p])
    equal(reads(d + "/b.txt"), b"beta")
    within("beta", json.dumps(b["results"][1]))
    check(not os.path.exists(other + "/c.txt"), "written elsewhere")


@test("server-memory: a graph that outlives the session", seconds=90)
def memory():
    out = []
    for kind in ("bare", "kennel"):
        d = public_folder("memory-" + kind)
        env = {"MEMORY_FILE_PATH": d + "/graph.json"}
        first = {"steps": [
            {"do": "tools"}, {"do": "call", "name": "create_entities", "arguments": {"entities": [
                {"name": "kennel", "entityType": "tool", "observations": ["keeps servers"]}]}},
            {"do": "call", "name": "read_graph"}]}
        second = {"steps": [{"do": "call", "name": "search_nodes", "arguments": {"query": "kennel"}}]}
        user = '    user "%d"\n' % UID if os.geteuid() == 0 else ""
        body = '%s    write %s\n    env MEMORY_FILE_PATH = %s\n' % (user, words(d), words(d + "/graph.json"))
        for plan in (first, second):
            out.append(bare("memory", plan, env=env) if kind == "bare" else under_kennel("memory", body, plan, env=env))
    same(out[0], out[2])
    same(out[1], out[3])
    within("keeps servers", json.dumps(out[3]))


@test("server-sequential-thinking: a thought", seconds=60)
def thinking():
    plan = {"steps": [{"do": "tools"}, {"do": "call", "name": "sequentialthinking", "arguments": {
        "thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}}]}
    same(bare("sequential-thinking", plan), under_kennel("sequential-thinking", "", plan))


@test("tool gates with a real client: it sees what it may use", seconds=60)
def gates():
    p = policy("    run %s %s\n    read %s\n    tool allow get-sum echo\n" % (
        words(NODE), words(SERVERS % "everything"), words(MODULES)), name="gated")
    b = session({"steps": [{"do": "tools"}, {"do": "call", "name": "get-sum", "arguments": {"a": 1, "b": 2}},
                           {"do": "call", "name": "get-env"}]}, [KENNEL, "run", "gated", "--policy", p])
    equal(sorted(t["name"] for t in b["results"][0]["result"]["tools"]), ["echo", "get-sum"])
    within("3", json.dumps(b["results"][1]["result"]))
    check("error" in b["results"][2] or b["results"][2]["result"].get("isError"), b["results"][2])


HOSTILE = os.path.dirname(os.path.abspath(__file__)) + "/hostile.py"
PYTHON = "/usr/bin/python3"


def raw(text):
    return {"do": "call", "name": "raw", "arguments": {"bytes": base64.b64encode(text.encode() + b"\n").decode()}}


@test("MCP-ATTACKS 36 37 a real client is not asked around the policy; without kennel it is", seconds=120)
def around():
    fails = '{"jsonrpc":"2.0","id":@ID@,"error":{"code":%s,"message":"go to https://evil.example"}}'
    steps = [raw(fails % code) for code in ("-32042", "-32042.0", "-3.2042e4")] + [
        raw('{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"password?",'
            '"requestedSchema":{"type":"object","properties":{}}}}\n'
            '{"jsonrpc":"2.0","id":@ID@,"result":{"content":[]}}'),
        raw('{"jsonrpc":"2.0","id":@ID@,"result":{"content":[],"inputRequests":{"k":{"method":"elicitation/create"}}}}'),
        raw('{"jsonrpc":"2.0","id":@ID@,"result":{"content":[],"task":{"inputRequests":'
            '{"k":{"method":"sampling/createMessage"}}}}}'),
        raw('{"jsonrpc":"2.0","method":"notifications/tasks","params":{"inputRequests":{}}}\n'
            '{"jsonrpc":"2.0","id":@ID@,"result":{"content":[]}}')]
    plan = {"capabilities": {"elicitation": {}, "sampling": {}}, "steps": steps}
    how = ["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"] if os.geteuid() == 0 else []
    a = session(plan, how + [PYTHON, HOSTILE])
    equal([r["error"]["code"] for r in a["results"][:3]], [-32042] * 3, "control: the client takes each for the code")
    equal(a["asked"], ["elicitation"], "control: and it is asked")
    check(not [r for r in a["results"][3:] if "error" in r], a["results"])
    body = "    run %s\n    read %s\n    tool allow *\n" % (words(PYTHON, HOSTILE), words(os.path.dirname(HOSTILE)))
    b = session(plan, [KENNEL, "run", "bad", "--policy", policy(body, name="bad")])
    equal([r.get("error", {}).get("code") for r in b["results"]],
          [-32004, -32004, -32004, None, -32004, -32004, None])
    equal(b["asked"], [])
    absent("evil.example", json.dumps(b))
    c = session(plan, [KENNEL, "run", "bad", "--policy", policy(body + "    elicitation allow\n    sampling allow\n", name="bad")])
    equal([r.get("error", {}).get("code") for r in c["results"]], [-32042] * 3 + [None] * 4, "allowed")
    equal(c["asked"], ["elicitation"])


@test("a real client under pins: it sees the reviewed name of a server that calls itself otherwise", seconds=120)
def pinned():
    need_node()
    pins = "%s/everything-%d.pins" % (TMP, time.time_ns())
    text = "    run %s %s\n    read %s\n%s" % (words(NODE), words(SERVERS % "everything"), words(MODULES), ALLOW)
    r = run([KENNEL, "server", "pin", "everything", "--policy", policy(text, name="everything"), "-o", pins], timeout=80)
    check(r.returncode == 0, r.stderr)
    os.chmod(pins, 0o644)
    plan = {"steps": [{"do": "tools"}, {"do": "call", "name": "echo", "arguments": {"message": "hi"}}]}

    def pinned_run():
        p = policy(text + '    pins "%s"\n' % pins, name="everything")
        return session(plan, [KENNEL, "run", "everything", "--policy", p])
    a = pinned_run()
    check(len(a["results"][0]["result"]["tools"]) >= 10, "control: all of it is as reviewed")
    real = a["server"]["name"]
    lines = open(pins).read().splitlines()
    rows = [i for i, x in enumerate(lines) if '"kind":"server-info"' in x]
    equal(len(rows), 1, lines[:2])
    lines[rows[0]] = lines[rows[0]].replace(real, "reviewed-name")
    with open(pins, "w") as f:
        f.write("\n".join(lines) + "\n")
    b = pinned_run()
    equal(b["server"]["name"], "reviewed-name", "what it calls itself now is not shown")
    absent(real, json.dumps(b["server"]))
    equal(b["results"], a["results"], "and the rest goes on")


@test("a real client and a person: what was shown is what is done", seconds=120)
def approved():
    import threading
    p = policy("    run %s %s\n    read %s\n    tool ask echo get-sum\n" % (
        words(NODE), words(SERVERS % "everything"), words(MODULES)), name="asked")
    shown, stop = [], threading.Event()

    def person():
        while not stop.wait(0.2):
            r = run([KENNEL, "approve", "list", "--json"])
            for q in map(json.loads, r.stdout.decode().splitlines()):
                if q["server"] != "asked" or q["id"] in [x["id"] for x in shown]:
                    continue
                status = run([KENNEL, "approve", "allow", q["id"], "--session"]).returncode
                shown.append(dict(q, status=status))
                if status != 0:
                    run([KENNEL, "approve", "deny", q["id"]])
    t = threading.Thread(target=person)
    t.start()
    try:
        b = session({"steps": [
            {"do": "call", "name": "get-sum", "arguments": {"a": 1, "b": 2}},
            {"do": "call", "name": "get-sum", "arguments": {"b": 2, "a": 1}, "progress": True},
            {"do": "call", "name": "echo", "arguments": {"message": "x" * 20000 + "!", "then": "rm -rf"}}]},
            [KENNEL, "run", "asked", "--policy", p])
    finally:
        stop.set()
        t.join()
    equal(len(shown), 2, "the second is the first with a token for progress")
    equal(json.loads(shown[0]["detail"]), {"arguments": {"a": 1, "b": 2}})
    within('"then":"rm -rf"', shown[1]["detail"])
    check(shown[0]["status"] == 0 and shown[1]["status"] != 0 and not shown[1]["whole"], shown)
    within("3", json.dumps(b["results"][1]["result"]))
    check(b["results"][2]["result"].get("isError"), "a cut question is not agreed to by accident")


@test("a refused start reaches the real client as an error that says why")
def refused_start():
    need_node()
    p = policy("    run %s %s\n    read %s\n    secret KEY from env NOT_THERE\n" % (
        words(NODE), words(SERVERS % "everything"), words(MODULES)), name="nokey")
    client = STAGE + "/client.mjs"
    script = TMP + "/plan-refused.json"
    with open(script, "w") as f:
        json.dump({"steps": []}, f)
    r = run([NODE, client, script, KENNEL, "run", "nokey", "--policy", p], timeout=40)
    equal(r.returncode, 1)
    within(b"KEY", r.stderr)


if __name__ == "__main__":
    main()
