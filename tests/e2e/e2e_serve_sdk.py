"""S2-01 S2-26 S3-31 the official client (v1) with real servers behind kennel serve, and each of them alone."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

SERVERS = MODULES + "/@modelcontextprotocol/server-%s/dist/index.js"
GRANTS = ("    tool allow *\n    resource allow *\n    prompt allow *\n    sampling allow\n    elicitation allow\n"
          "    roots allow\n")


def session(plan, cmd):
    if not os.path.exists(NODE):
        skip("no node: the npm packages of tests/node are not installed")
    script = "%s/plan-%d.json" % (TMP, time.time_ns())
    with open(script, "w") as f:
        json.dump(plan, f)
    os.chmod(script, 0o644)
    r = run([NODE, STAGE + "/client.mjs", script] + cmd, timeout=80)
    check(r.returncode == 0, "status %d: %s" % (r.returncode, r.stderr.decode(errors="replace")[-1500:]))
    return json.loads(r.stdout)


def bare(name, plan):
    """Without kennel: never as root."""
    how = ["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"] if os.geteuid() == 0 else []
    return session(plan, how + [NODE, SERVERS % name])


def behind(plan):
    text = "".join("server %s {\n    run %s\n    read %s\n%s}\n" % (
        s.replace("-", ""), words(NODE, SERVERS % s), words(MODULES), GRANTS) for s in ("everything", "memory", "sequential-thinking"))
    path = "%s/serve-%d.kennel" % (TMP, time.time_ns())
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o644)
    return session(plan, [KENNEL, "serve", "--policy", path, "--expose", "everything.*", "--expose", "memory.*"])


@test("server-everything behind serve: tools, prompts, resources, progress, sampling, elicitation, roots, cancellation as alone", seconds=150)
def everything():
    def plan(prefix):
        return {"capabilities": {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}}, "steps": [
            {"do": "call", "name": prefix + "echo", "arguments": {"message": "h\u00e9llo \u0001 \U0001f600"}},
            {"do": "call", "name": prefix + "get-sum", "arguments": {"a": 2, "b": 40}},
            {"do": "call", "name": prefix + "get-tiny-image"},
            {"do": "call", "name": prefix + "get-structured-content", "arguments": {"location": "Chicago"}},
            {"do": "call", "name": prefix + "trigger-long-running-operation", "arguments": {"duration": 1, "steps": 4}, "progress": True},
            {"do": "call", "name": prefix + "trigger-sampling-request", "arguments": {"prompt": "x", "maxTokens": 7}},
            {"do": "call", "name": prefix + "trigger-elicitation-request"},
            {"do": "call", "name": prefix + "get-roots-list"},
            {"do": "read", "uri": "demo://resource/static/document/architecture.md"},
            {"do": "prompt", "name": prefix + "simple-prompt"},
            {"do": "prompt", "name": prefix + "args-prompt", "arguments": {"city": "Oslo"}},
            {"do": "ping"},
            {"do": "cancel", "name": prefix + "trigger-long-running-operation", "arguments": {"duration": 10, "steps": 5}},
            {"do": "level", "level": "debug"}, {"do": "ping"}]}
    a, b = bare("everything", plan("")), behind(plan("everything__"))
    equal(len(b["results"]), len(a["results"]))
    for x, y in zip(a["results"], b["results"]):
        equal({k: v for k, v in y.items() if k != "step"}, {k: v for k, v in x.items() if k != "step"}, json.dumps(y["step"]))
    equal(sorted(b["asked"]), sorted(a["asked"]))
    within("sampling", b["asked"])
    n = min(len(a["progress"]), len(b["progress"]))
    check(n >= len(a["progress"]) - 1, b["progress"])
    equal(b["progress"][:n], a["progress"][:n])


@test("tools of two servers in one list, a third found by search and invoked, as an agent does it", seconds=120)
def merged():
    b = behind({"steps": [
        {"do": "call", "name": "tool_describe", "arguments": {"name": "sequentialthinking.sequentialthinking"}},
        {"do": "call", "name": "tool_search", "arguments": {"query": "thought"}},
        {"do": "call", "name": "tool_invoke", "arguments": {"name": "sequentialthinking.sequentialthinking", "arguments": {
            "thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}}},
        {"do": "call", "name": "tool_describe", "arguments": {"name": "memory.read_graph"}},
        {"do": "call", "name": "tool_describe", "arguments": {"name": "everything.echo"}},
        {"do": "tools"},
        {"do": "call", "name": "mcp_query", "arguments": {"server": "everything", "tool": "echo", "arguments": {"message": "q"}}}]})
    described, found, invoked, _, _, tools, query = [r["result"] for r in b["results"]]
    equal(found["structuredContent"]["tools"][0]["name"], "sequentialthinking.sequentialthinking")
    within("thoughtNumber", list(described["structuredContent"]["inputSchema"]["properties"]))
    within("thoughtNumber", json.dumps(invoked))
    check(not invoked.get("isError"), invoked)
    names = [t["name"] for t in tools["tools"]]
    within("everything__echo", names)
    within("memory__read_graph", names)
    equal([n for n in names if n.startswith("sequential")], [])
    equal(query["structuredContent"]["state"], "ok")


if __name__ == "__main__":
    main()
