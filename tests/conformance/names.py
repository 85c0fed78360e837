#!/usr/bin/env python3
"""Between a client that calls one server's tools by their names, and kennel serve: adds
the server's name on the way in, and takes it off on the way out.

    names.py SERVER COMMAND ARG...
"""
import json
import os
import subprocess
import sys
import threading

PREFIX = sys.argv[1] + "__"


def way_in(m):
    p = m.get("params")
    if not isinstance(p, dict):
        return
    if m.get("method") in ("tools/call", "prompts/get") and isinstance(p.get("name"), str):
        p["name"] = PREFIX + p["name"]
    ref = p.get("ref")
    if isinstance(ref, dict) and isinstance(ref.get("name"), str):
        ref["name"] = PREFIX + ref["name"]


def way_out(m):
    r = m.get("result")
    for key in ("tools", "prompts"):
        if isinstance(r, dict) and isinstance(r.get(key), list):
            r[key] = [dict(x, name=x["name"][len(PREFIX):]) for x in r[key] if x["name"].startswith(PREFIX)]


def warm(meta):
    """Asks for a tool, which waits until its server has listed them."""
    params = {"name": "tool_describe", "arguments": {"name": PREFIX.replace("__", ".") + "none"}}
    return json.dumps({"jsonrpc": "2.0", "id": "warm", "method": "tools/call",
                       "params": dict(params, _meta=meta) if meta else params}).encode() + b"\n"


def warmed(sink):
    """The first list is asked for when it is complete; lines that come meanwhile wait."""
    ready, seen = threading.Event(), []

    def way_in(lines):
        for line in lines:
            m = json.loads(line) if line.strip().startswith(b"{") else {}
            if not seen and m.get("method", "").endswith("/list"):
                seen.append(m)
                sink.write(warm(m.get("params", {}).get("_meta")))
                sink.flush()
                ready.wait(60)
            yield line

    def way_out(lines):
        for line in lines:
            if b'"id":"warm"' in line:
                ready.set()
            else:
                yield line
    return way_in, way_out


def pump(source, sink, change):
    for line in source:
        try:
            m = json.loads(line)
            for x in m if isinstance(m, list) else [m]:
                change(x)
            line = json.dumps(m, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        except (ValueError, AttributeError, TypeError):
            pass
        sink.write(line)
        sink.flush()
    sink.close()


def main():
    p = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    first_in, first_out = warmed(p.stdin)
    threading.Thread(target=pump, args=(first_in(sys.stdin.buffer), p.stdin, way_in), daemon=True).start()
    try:
        pump(first_out(p.stdout), sys.stdout.buffer, way_out)
    except OSError:
        pass
    os._exit(p.wait())


main()
