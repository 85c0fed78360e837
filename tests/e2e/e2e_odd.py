"""Servers that are odd and work with other clients: ids in another spelling, byte order marks, text on standard output."""
import base64
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from odd_kit import *  # noqa: E402,F403
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403


def ask(s, rid, method, params="{}"):
    """The line that answers this id, which is sent as it is."""
    s.send_bytes(('{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n' % (rid, method, params)).encode())
    while True:
        line = s.line(10)
        if b'"method"' not in line:
            return line.decode()


GREETING = '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}'


@test("an id that the server writes as 1.0, \"1\" or \"1.0\" is answered with the agent's bytes, in run")
def ids_run():
    for how in (None, "float", "string", "text"):
        s = raw_session(ids=how)
        for rid, method, params in (("0", "initialize", GREETING), ("1", "tools/list", "{}"), ("2.0", "ping", "{}"),
                                    ("9007199254740993", "ping", "{}") if how != "float" and how != "text" else ("3", "ping", "{}")):
            line = ask(s, rid, method, params)
            check('"id": %s,' % rid in line or '"id":%s,' % rid in line, how, rid, line)
            check('"result"' in line, how, line)
        s.close()


@test("an id and a progress token in another spelling: a call through serve has its result and its own token")
def ids_serve():
    for how in (None, "float", "string", "text"):
        h = served("odd", ids=how, token=how)
        rid = h.post("tools/call", {"name": "odd.a", "arguments": {}}, meta={"progressToken": 77})
        m = h.wait(rid, 15)
        check("result" in m and not m["result"].get("isError"), how, m)
        equal([x["params"]["progressToken"] for x in h.lines if x.get("method") == "notifications/progress"], [77], how)
        h.close()


@test("progress with a token in another spelling has the agent's bytes, in run")
def tokens_run():
    s = raw_session(token="float")
    s.initialize()
    s.send_bytes(b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":7}}}\n')
    line = s.line(10)
    check(b'"progressToken": 7,' in line, line)
    s.wait(5)
    s.close()


@test("a client of kennel's own takes such ids, too: server pin")
def ids_pin():
    for how in ("float", "string"):
        path = policy(body(ids=how), "odd")
        r = run([KENNEL, "server", "pin", "odd", "--policy", path, "-o", path + ".pins", "--yes"], timeout=40)
        equal(r.returncode, 0, r.stderr.decode()[-400:])


@test("a server that answers each request with id 0: the timeout names what was dropped; the control names nothing")
def wrong_id():
    s = raw_session("    timeout call 2s\n", ids="zero", greets=False)
    s.initialize()
    r = s.request("tools/list", {})
    equal(r["error"]["code"], -32001)
    within("1 answer with an unknown id (0)", r["error"]["message"])
    s.close()
    s = raw_session("    timeout call 2s\n", deaf=True)
    s.initialize()
    r = s.call("a")
    equal(r["error"]["code"], -32001)
    absent("dropped", r["error"]["message"])
    s.close()


@test("a server that never answers initialize: the timeout names the dropped answer, and the session ends")
def wrong_first_id():
    s = raw_session("    timeout call 2s start 2s\n", ids="zero")
    s.send_bytes(('{"jsonrpc":"2.0","id":7,"method":"initialize","params":%s}\n' % GREETING).encode())
    m = s.message(10)
    equal((m["id"], m["error"]["code"]), (7, -32001), m)
    within("with an unknown id (0)", m["error"]["message"])
    check(wait_for(lambda: s.p.poll() is not None, 10) is not None, "the session goes on")


@test("text on standard output: the message of a call that fails quotes how the line begins, as printable characters")
def banners():
    s = raw_session(banner="Listening on \x1b\u65e5 port 3000 ")
    s.initialize()
    r = s.call("a")
    equal(r["error"]["code"], -32004)
    within("it begins with `Listening on \\x1b\\xe6\\x97\\xa5 port 3000", r["error"]["message"])
    s.close()
    s = raw_session("    timeout call 2s\n", deaf=True, lines=["debug: one", "{", "debug: two " + "x" * 100])
    s.initialize()
    r = s.call("a")
    within("kennel dropped 3 lines of the server that are not JSON and begin with `debug: two xxx", r["error"]["message"])
    within("x...`", r["error"]["message"])
    s.close()


@test("a secret at the beginning of such a line is redacted")
def banner_secret():
    s = kennel_run(body("    secret TOKEN from env TOKEN\n", banner="token hunter2-correct-horse "), env={"TOKEN": "hunter2-correct-horse"})
    s.initialize()
    r = s.call("a")
    within("it begins with `token ***", r["error"]["message"])
    absent("hunter2", json.dumps(r))
    s.close()


MARK = b"\xef\xbb\xbf"


@test("a byte order mark before a first line is left out, from the agent and from the server; inside a line it is an error with its bytes")
def marks():
    for first in (b"", MARK):
        for sent in (b"", MARK):
            s = raw_session(first=base64.b64encode(first).decode())
            s.send_bytes(sent + ('{"jsonrpc":"2.0","id":0,"method":"initialize","params":%s}\r\n' % GREETING).encode())
            line = s.line(10)
            check(line.startswith(b"{"), line)
            check("result" in json.loads(line), line)
            s.close()
    h = served("odd", first=base64.b64encode(MARK).decode())
    check("lists" in h.said("odd.a"), "a server with a mark")
    h.send_bytes(MARK + b'{"jsonrpc":"2.0","id":"m","method":"ping"}\n')
    check("result" in h.wait("m"), "an agent with a mark")
    h.close()
    s = raw_session()
    s.send_bytes(b" " + MARK + b'{"jsonrpc":"2.0","id":0,"method":"ping"}\n')
    m = s.message(10)
    equal((m["id"], m["error"]["code"]), (None, -32700))
    within("it begins with ` \\xef\\xbb\\xbf{", m["error"]["message"])
    s.close()


main()
