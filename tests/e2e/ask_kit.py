"""Calls that wait for a person."""


def ask(s, tool="line", **arguments):
    """The call is on its way; its id."""
    s.n += 1
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
    return s.n


def refusal(r):
    """Why kennel refused the call; None: it did not."""
    return r["result"]["_meta"]["kennel/refusal"]["outcome"] if r["result"].get("isError") else None
