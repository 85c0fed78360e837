"""A session of kennel serve for the tests: several scripted servers (hub_server.py)."""
import base64
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
import kit  # noqa: E402

PYTHON = "/usr/bin/python3"
SERVER = os.path.dirname(os.path.abspath(__file__)) + "/hub_server.py"
ALL = ("    tool allow *\n    resource allow *\n    prompt allow *\n"
       "    sampling allow\n    elicitation allow\n    roots allow\n")
MODERN = "2026-07-28"
OWN_LISTED = ["secrets_list", "secrets_describe", "secrets_request_provision", "secrets_request_rotation",
              "secrets_propose_metadata", "secrets_propose_new_path", "secrets_request_use_approval", "secrets_poll_status",
              "tool_search", "tool_describe", "tool_invoke", "mcp_query"]
META = "io.modelcontextprotocol/"


def config_of(name, **config):
    return base64.b64encode(json.dumps(dict(config, name=name)).encode()).decode()


def run_line(name, **config):
    return "    run %s\n    read %s\n" % (kit.words(PYTHON, SERVER, config_of(name, **config)),
                                         kit.words(os.path.dirname(SERVER)))


def server(name, grants=ALL, more="", **config):
    """A server of a policy file."""
    return "server %s {\n%s%s%s}\n" % (name, run_line(name, **config), grants, more)


def policies(*servers):
    kit._policies += 1
    path = "%s/serve-%d.kennel" % (kit.TMP, kit._policies)
    with open(path, "w") as f:
        f.write("\n".join(servers))
    os.chmod(path, 0o644)
    return path


class Hub(kit.Mcp):
    """kennel serve of these servers, with a client of either era."""

    def __init__(self, *servers, args=(), modern=False, capabilities=None, greet=True, version="2025-11-25",
                 env=None, command=None, **how):
        if command is None:
            self.path = policies(*servers)
            command = [kit.KENNEL, "serve", "--policy", self.path] + list(args)
        super().__init__(command, env=env, **how)
        self.modern = modern
        self.capabilities = capabilities or {}
        if not modern and greet:
            self.greeting = self.initialize(version, self.capabilities)

    def meta(self, **more):
        m = {META + "protocolVersion": MODERN, META + "clientCapabilities": self.capabilities,
             META + "clientInfo": {"name": "kit", "version": "1"}} if self.modern else {}
        m.update(more)
        return m

    def post(self, method, params=None, meta=None, rid=None):
        """Sends a request; its id."""
        if rid is None:
            self.n += 1
            rid = self.n
        params = dict(params or {})
        m = self.meta(**(meta or {}))
        if m:
            params["_meta"] = m
        self.send({"jsonrpc": "2.0", "id": rid, "method": method, "params": params})
        return rid

    def ask(self, method, params=None, seconds=20.0, meta=None):
        return self.wait(self.post(method, params, meta), seconds)

    def wait(self, rid, seconds=15.0):
        """The answer to rid, also one that came while another was waited for."""
        for i, m in enumerate(self.lines):
            if isinstance(m, dict) and "method" not in m and type(m.get("id")) is type(rid) and m["id"] == rid:
                return self.lines.pop(i)
        return super().wait(rid, seconds)

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def post_call(self, tool, arguments=None, meta=None, **more):
        return self.post("tools/call", dict(more, name=tool, arguments=arguments or {}), meta)

    def do(self, tool, arguments=None, seconds=20.0, meta=None, **more):
        """The whole answer of a call."""
        return self.wait(self.post_call(tool, arguments, meta, **more), seconds)

    def said(self, tool, seconds=20.0, **arguments):
        """The text of a result."""
        r = self.do(tool, arguments, seconds)
        kit.check("result" in r, tool, r)
        return r["result"]["content"][0]["text"]

    def structured(self, tool, /, **arguments):
        r = self.do(tool, arguments)
        kit.check("result" in r and "structuredContent" in r["result"], tool, r)
        kit.equal(json.loads(r["result"]["content"][0]["text"]), r["result"]["structuredContent"], tool)
        return r["result"]["structuredContent"]

    def query(self, server, name, /, **more):
        """What mcp_query says; its text is checked against it."""
        r = self.do("mcp_query", dict(more, server=server, tool=name))["result"]
        got, text = r["structuredContent"], r["content"][0]["text"]
        if got["state"] == "ok":
            kit.equal(list(got), ["server", "tool", "state", "result"])
            kit.equal(text, "\n".join(c["text"] for c in got["result"]["content"]))
            kit.equal(bool(r.get("isError")), bool(got["result"].get("isError")))
        else:
            kit.equal(list(got), ["server", "tool", "state", "detail"])
            kit.equal((text, r["isError"]), (got["detail"], True))
        kit.equal((got["server"], got["tool"]), (server, name))
        return got

    def seen(self, name, method):
        return json.loads(self.said(name + ".seen", method=method))

    def until(self, method, seconds=10.0):
        """The next message of this method, of those that came already or come now."""
        for i, m in enumerate(self.lines):
            if isinstance(m, dict) and m.get("method") == method:
                return self.lines.pop(i)
        end = kit.time.time() + seconds
        while True:
            m = self.message(max(0.01, end - kit.time.time()))
            if isinstance(m, dict) and m.get("method") == method:
                return m
            self.lines.append(m)

    def none(self, method, seconds=0.3):
        """No message of this method has come, nor comes in this time."""
        try:
            m = self.until(method, seconds)
        except TimeoutError:
            return
        kit.check(False, "unexpected", m)

    def processes(self, word="hub_server"):
        """The server processes below this session: pids."""
        found = []
        for pid in kit.descendants(self.p.pid):
            if word.encode() in kit.reads("/proc/%d/cmdline" % pid):
                found.append(pid)
        return found


def refusal(answer):
    """The text of a refusal, which is a result that the model reads."""
    kit.check("result" in answer and answer["result"].get("isError") is True, "not a refusal", answer)
    kit.check("kennel/refusal" in answer["result"].get("_meta", {}), "no kennel/refusal", answer)
    return answer["result"]["content"][0]["text"]
