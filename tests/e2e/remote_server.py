"""An MCP server over Streamable HTTP for the tests of kennel-remote; the name of a tool is what it does."""
import base64
import http.server
import json
import queue
import re
import ssl
import threading
import time

META = "io.modelcontextprotocol/protocolVersion"
TOOLS = ("echo", "headers", "events", "cut", "resume", "endless", "oversize", "flood_head", "html", "status", "other_host",
         "moved", "forget", "push", "wrong_id", "held", "empty", "crlf", "twice", "ask", "größe", "large", "fill",
         "drop", "silent", "slow", "elsewhere", "leak", "lost")


MARKED = {"type": "object", "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"}, "n": {"type": "integer", "x-mcp-header": "Count"},
    "yes": {"type": "boolean", "x-mcp-header": "Yes"}, "none": {"type": "string", "x-mcp-header": "None"},
    "in": {"type": "object", "properties": {"deep": {"type": "string", "x-mcp-header": "Deep"}}},
    "bad": {"type": "string", "x-mcp-header": "A: b\r\nX-Evil"}, "plain": {"type": "string"}}}


def text(i, value):
    return {"jsonrpc": "2.0", "id": i, "result": {"content": [{"type": "text", "text": value}],
                                                  "resultType": "complete"}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm, wbufsize = True, 1 << 16

    def log_message(self, *a):
        pass

    # ---- answers ----

    def head(self, status, length=None, **headers):
        self.send_response(status)
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def json(self, m, status=200, **headers):
        body = json.dumps(m, indent=1).encode()
        self.head(status, len(body), Content_Type="application/json", **headers)
        self.wfile.write(body)

    def events(self, *parts, end=True):
        self.head(200, Content_Type="text/event-stream; charset=utf-8", Transfer_Encoding="chunked")
        for p in parts:
            self.chunk(p)
        if end:
            self.chunk(b"")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    @staticmethod
    def event(m, i=None, sep=b"\n"):
        lines = [b"id: " + i.encode()] if i else []
        return sep.join(lines + [b"data: " + json.dumps(m).encode(), b"", b""])

    # ---- requests ----

    def note(self, body=None):
        self.server.mcp.seen.append((self.command, self.path, dict(self.headers), body))

    def do_DELETE(self):
        self.note()
        self.server.mcp.sessions.discard(self.headers.get("Mcp-Session-Id"))
        self.head(200, 0)

    def do_GET(self):
        mcp = self.server.mcp
        self.note()
        last = self.headers.get("Last-Event-ID")
        if last in mcp.gone:
            self.head(404, 0)
            return
        if last in mcp.later:
            self.events(self.event(mcp.later.pop(last), "z"))
            return
        if not mcp.stream:
            self.head(405, 0)
            return
        self.head(200, Content_Type="text/event-stream", Transfer_Encoding="chunked")
        self.chunk(b": hello\n\n")
        while True:
            m = mcp.pushed.get()
            if m is None:
                self.chunk(b"")
                return
            self.chunk(self.event(m, "p%d" % mcp.pushed_n))
            mcp.pushed_n += 1

    def do_POST(self):
        mcp = self.server.mcp
        m = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.posts = getattr(self, "posts", 0) + 1  # over this connection
        self.note(m)
        if mcp.down:
            self.head(mcp.down, 0)
            return
        modern = META in m.get("params", {}).get("_meta", {})
        if mcp.refusal is not None and "id" in m:
            body = b'{"jsonrpc":"2.0","id":%s,"error":%s}' % (json.dumps(m["id"]).encode(), mcp.refusal)
            self.head(200, len(body), Content_Type="application/json")
            self.wfile.write(body)
            return
        if m.get("method") == "initialize":
            if mcp.modern:
                self.json({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32022, "message": "no", "data": {
                    "supported": ["2026-07-28"], "requested": "?"}}}, 400)
                return
            session = "s-%d" % len(mcp.seen)
            mcp.sessions.add(session)
            self.json({"jsonrpc": "2.0", "id": m["id"], "result": {
                "protocolVersion": m["params"]["protocolVersion"], "capabilities": mcp.capabilities,
                "serverInfo": {"name": "remote", "version": "1"}}}, Mcp_Session_Id=session)
            return
        if not modern and self.headers.get("Mcp-Session-Id") not in mcp.sessions:
            self.json({"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "no session"}}, 404)
            return
        if "id" not in m or "method" not in m:
            mcp.got.put(m)
            if mcp.hold_notes:
                self.tool_endless(None, {}, mcp)
            elif mcp.move_notes:
                self.head(307, 0, Location="/mcp")
            else:
                self.head(202, 0)
            return
        self.answer(m, mcp)

    def answer(self, m, mcp):
        i, method = m["id"], m["method"]
        if method == "tools/list":
            tools = [{"name": t, "description": t + mcp.about, "inputSchema": MARKED if t == "headers" else {"type": "object"}} for t in TOOLS]
            self.json({"jsonrpc": "2.0", "id": i, "result": {"tools": tools, "resultType": "complete", "ttlMs": 0,
                                                             "cacheScope": "private"}})
        elif method == "server/discover":
            self.json({"jsonrpc": "2.0", "id": i, "result": {
                "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete",
                "serverInfo": {"name": "remote", "version": "1"}, "ttlMs": 0, "cacheScope": "private"}})
        elif method == "tools/call":
            getattr(self, "tool_" + m["params"]["name"])(i, m["params"].get("arguments", {}), mcp)
        elif method == "ping":
            self.json({"jsonrpc": "2.0", "id": i, "result": {}})
        else:
            self.json({"jsonrpc": "2.0", "id": i, "error": {"code": -32601, "message": "no"}}, 404 if mcp.modern else 200)

    # ---- tools ----

    def tool_echo(self, i, a, mcp):
        self.json(text(i, a.get("text", "echo")))

    tool_größe = tool_echo

    def tool_headers(self, i, a, mcp):
        self.json(text(i, json.dumps(dict(self.headers))))

    def tool_events(self, i, a, mcp):
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "first"}}
        whole = b"\xef\xbb\xbf: comment\r\n\r\n" + self.event(note, "1", b"\r\n") + self.event(text(i, "second"), "2", b"\r")
        # every byte on its own
        self.events(*[whole[k:k + 1] for k in range(len(whole))])

    def tool_cut(self, i, a, mcp):
        self.head(200, Content_Type="text/event-stream", Transfer_Encoding="chunked")
        self.chunk(b"data: {\"jsonrpc\": \"2.0\", ")
        self.close_connection = True

    def tool_resume(self, i, a, mcp):
        mcp.later["r-1"] = text(i, "resumed")
        self.events(b"id: r-1\nretry: 100\ndata:\n\n")

    def tool_endless(self, i, a, mcp):
        self.head(200, Content_Type="text/event-stream", Transfer_Encoding="chunked")
        try:
            while True:
                self.chunk(b": more\n\n")
                time.sleep(0.05)
        except OSError:
            mcp.ended.set()

    def tool_oversize(self, i, a, mcp):
        self.head(200, Content_Type="text/event-stream", Transfer_Encoding="chunked")
        try:
            self.chunk(b"data: \"")
            for _ in range(64):
                self.chunk(b"x" * (1 << 20))
            self.chunk(b"\"\n\n")
            self.chunk(b"")
        except OSError:
            mcp.ended.set()
            self.close_connection = True

    def tool_flood_head(self, i, a, mcp):
        self.send_response(200)
        for k in range(80):
            self.send_header("X-%d" % k, "y" * 1000)
        self.end_headers()
        self.close_connection = True

    def tool_html(self, i, a, mcp):
        body = b"<html>\"}\n{\"jsonrpc\"</html>"
        self.head(200, len(body), Content_Type="text/html")
        self.wfile.write(body)

    def tool_status(self, i, a, mcp):
        self.head(a["status"], 0)

    def tool_other_host(self, i, a, mcp):
        self.head(a.get("status", 307), 0, Location=a["to"])

    def tool_moved(self, i, a, mcp):
        if self.path.endswith("/moved"):
            self.json(text(i, "at " + self.path))
        else:
            self.head(307, 0, Location="/elsewhere/moved")

    def tool_forget(self, i, a, mcp):
        mcp.sessions.clear()
        self.json(text(i, "forgotten"))

    def tool_push(self, i, a, mcp):
        mcp.pushed.put({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        self.json(text(i, "pushed"))

    def tool_large(self, i, a, mcp):
        """One event of this size, in pieces of 64 KiB."""
        whole = self.event(text(i, "x" * (a["megabytes"] * 1000000)))
        self.events(*[whole[k:k + (1 << 16)] for k in range(0, len(whole), 1 << 16)])

    def tool_fill(self, i, a, mcp):
        """A part of an event, and no more of it."""
        self.head(200, Content_Type="text/event-stream", Transfer_Encoding="chunked")
        try:
            for k in range(12):
                self.chunk(b"x" * (1 << 20))
            while True:
                time.sleep(0.05)
                self.chunk(b"x")
        except OSError:
            mcp.ended.set()

    def tool_drop(self, i, a, mcp):
        """The request has arrived, and the connection ends without a byte of an answer."""
        mcp.dropped.append(self.posts)
        self.close_connection = True

    def tool_silent(self, i, a, mcp):
        """Nothing, until the other side closes the connection."""
        self.connection.recv(1)
        mcp.ended.set()
        self.close_connection = True

    def tool_slow(self, i, a, mcp):
        self.head(200, Content_Type="text/event-stream", Transfer_Encoding="chunked")
        for part in re.findall(b"(?s).{1,16}", self.event(text(i, "slow"), "s")):
            time.sleep(0.02)
            self.chunk(part)
        self.chunk(b"")

    def tool_elsewhere(self, i, a, mcp):
        """The response comes in the stream of the session, and that of the call stays open."""
        self.head(200, Content_Type="text/event-stream", Transfer_Encoding="chunked")
        self.chunk(b": wait\n\n")
        mcp.pushed.put(text(i, "elsewhere"))
        self.connection.recv(1)
        mcp.ended.set()
        self.close_connection = True

    def tool_leak(self, i, a, mcp):
        """The credential, in another form each."""
        value = self.headers["Authorization"].split()[1]
        if a["how"] == "event":
            self.events(self.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": value}}) +
                        self.event(text(i, value), "id-" + value))
        elif a["how"] == "pieces":
            whole = self.event(text(i, base64.b64encode(value.encode()).decode()))
            self.events(*[whole[k:k + 5] for k in range(0, len(whole), 5)])
        elif a["how"] == "error":
            self.json({"jsonrpc": "2.0", "id": i, "error": {"code": -1, "message": value, "data": value}}, 400)
        elif a["how"] == "page":
            body = ("<html>" + value).encode()
            self.head(500, len(body), Content_Type="text/html", X_Token=value)
            self.wfile.write(body)
        else:
            mcp.pushed.put({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": value}})
            self.json(text(i, "pushed"))

    def tool_lost(self, i, a, mcp):
        """A stream that could be resumed, and cannot: the session has ended in between."""
        mcp.sessions.clear()
        mcp.gone.add("l-1")
        self.events(b"id: l-1\nretry: 100\ndata:\n\n")

    def tool_wrong_id(self, i, a, mcp):
        self.json(text("another", "wrong"))

    def tool_held(self, i, a, mcp):
        """The answer, and then a stream that stays open."""
        self.head(200, Content_Type="text/event-stream", Transfer_Encoding="chunked")
        self.chunk(self.event(text(i, "held")))
        try:
            while True:
                self.chunk(b": more\n\n")
                time.sleep(0.05)
        except OSError:
            mcp.ended.set()

    def tool_empty(self, i, a, mcp):
        self.head(202, 0)

    def tool_crlf(self, i, a, mcp):
        """A second message inside the lines of one."""
        body = b'{"jsonrpc": "2.0",\n"id": %s,\r\n"result": {"content": []}}\n{"jsonrpc": "2.0"}' % json.dumps(i).encode()
        self.head(200, len(body), Content_Type="application/json")
        self.wfile.write(body)

    def tool_twice(self, i, a, mcp):
        self.events(self.event(text(i, "one")) + self.event(text(i, "two")))

    def tool_ask(self, i, a, mcp):
        """Asks the agent for something, on the stream of the call."""
        self.head(200, Content_Type="text/event-stream", Transfer_Encoding="chunked")
        self.chunk(self.event({"jsonrpc": "2.0", "id": "q", "method": "roots/list"}))
        while True:
            m = mcp.got.get(timeout=20)
            if m.get("id") == "q":
                break
        self.chunk(self.event(text(i, json.dumps(m.get("result", m.get("error"))))))
        self.chunk(b"")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *a):
        pass  # clients that leave, on purpose


class Remote:
    """It listens on a port of 127.0.0.1; seen: (method, path, headers, message) of each request."""

    def __init__(self, tls=None, modern=False, stream=True, handler=Handler):
        self.seen, self.sessions, self.later = [], set(), {}
        self.pushed, self.got, self.pushed_n = queue.Queue(), queue.Queue(), 0
        self.hold_notes, self.move_notes, self.about = False, False, ""
        self.refusal = None  # bytes: the error of every request
        self.capabilities, self.dropped, self.gone = {"tools": {"listChanged": True}}, [], set()
        self.ended, self.down, self.modern, self.stream = threading.Event(), 0, modern, stream
        self.http = Server(("127.0.0.1", 0), handler)
        self.http.mcp = self
        self.port = self.http.server_address[1]
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def url(self, scheme="http", path="/mcp"):
        return "%s://localhost:%d%s" % (scheme, self.port, path)

    def of(self, method):
        """The requests with this method of HTTP or of MCP."""
        return [s for s in self.seen if s[0] == method or (s[3] or {}).get("method") == method]

    def close(self):
        self.pushed.put(None)
        self.http.shutdown()
        self.http.server_close()


if __name__ == "__main__":  # for measurements: a process of its own
    print(Remote().port, flush=True)
    threading.Event().wait()
