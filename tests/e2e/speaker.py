"""An MCP server that says what it is told to, in the pieces it is told (e2e_scrub.py).

    speaker.py [CORPUS]     a file that `texts` reads from
"""
import base64
import json
import os
import sys
import time


def raw(data, piece=0):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view[:piece or len(view)]):]


def say(i, result, ascii_only=True, piece=0):
    m = {"jsonrpc": "2.0", "id": i, "result": result}
    raw(json.dumps(m, ensure_ascii=ascii_only).encode() + b"\n", piece)


def content(texts):
    return {"content": [{"type": "text", "text": t} for t in texts]}


def t_say(i, a):
    """Pieces of raw bytes, a while between them; @ID@ is the id of the call."""
    for n, piece in enumerate(a["pieces"]):
        time.sleep(a.get("wait", 0) if n else 0)
        raw(base64.b64decode(piece).replace(b"@ID@", json.dumps(i).encode()))


def t_env(i, a):
    """Each variable."""
    say(i, content([os.environ[v] for v in a["names"]]))


def t_texts(i, a):
    """Parts of the corpus, each a text of the answer."""
    with open(sys.argv[1], "rb") as f:
        out = []
        for at, n in a["parts"]:
            f.seek(at)
            out.append(f.read(n).decode(errors="replace"))
    say(i, content(out), a["ascii"], a["piece"])


TOOLS = {n[2:]: f for n, f in globals().items() if n.startswith("t_")}


def main():
    for line in sys.stdin.buffer:
        m = json.loads(line)
        if m.get("method") == "initialize":
            say(m["id"], {"protocolVersion": m["params"]["protocolVersion"],
                          "capabilities": {"tools": {}},
                          "serverInfo": {"name": "speaker", "version": "1"}})
        elif m.get("method") == "tools/list":
            say(m["id"], {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in TOOLS]})
        elif m.get("method") == "tools/call":
            TOOLS[m["params"]["name"]](m["id"], m["params"].get("arguments", {}))
        elif "id" in m:
            say(m["id"], {})


main()
