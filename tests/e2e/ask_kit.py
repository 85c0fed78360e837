"""Calls that wait for a person."""
from kit import *  # noqa: F403
from serve_kit import policies, server

# what a server says of its tools, before and after a person has reviewed them
SHOP = [{"name": n, "description": n, "inputSchema": {"type": "object"}, "annotations": hints} for n, hints in (
    ("pid", {"readOnlyHint": False, "destructiveHint": True}), ("params", {"readOnlyHint": True}))]


def shop(env=None, reviewed=True):
    """A session in which each tool asks; with pins, one is reviewed as destructive, and the other is not."""
    path = policies(server("shop", "    tool ask *\n", tools=SHOP))
    if reviewed:
        r = run([KENNEL, "server", "pin", "shop", "--policy", path, "-o", path + ".pins"], env=env)
        equal(r.returncode, 0, r.stderr)
        os.chmod(path + ".pins", 0o644)
        path = policies(server("shop", "    pins \"%s.pins\"\n    tool ask *\n" % path, tools=SHOP))
    s = Mcp([KENNEL, "run", "shop", "--policy", path], env=env)
    s.initialize()
    s.request("tools/list")
    return s


def ask(s, tool="line", **arguments):
    """The call is on its way; its id."""
    s.n += 1
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
    return s.n


def refusal(r):
    """Why kennel refused the call; None: it did not."""
    return r["result"]["_meta"]["kennel/refusal"]["outcome"] if r["result"].get("isError") else None
