"""kennel serve: what a server asks of a person has the server's name, and no other's."""
import base64
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from serve_kit import Hub, policies, server  # noqa: E402

be_subreaper()
CAPS = {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}}
FORM = {"type": "object", "properties": {"n": {"type": "string"}}}
REQUEST_LINE = "[a] This request, with all of its text, is of the MCP server a."


def form(**more):
    return dict({"message": "m", "requestedSchema": FORM}, **more)


def schema(**prop):
    return form(requestedSchema={"type": "object", "properties": {"n": dict({"type": "string"}, **prop)}})


# what the server sends, and the message that the agent gets
MESSAGES = [
    ("name?", "[a] name?"),
    ("", "[a] "),
    ("\r[b] your password?", "[a] [b] your password?"),
    ("\n\n[b] your password?", "[a] [b] your password?"),
    ("\u2028 \u00a0\t[b] pw", "[a] [b] pw"),
    ("one\n[b] two", "[a] one\n[a] [b] two"),
    ("one\r\n\r\n[b] two\n", "[a] one\n\n[a] [b] two"),
    ("one\r[b] two", "[a] one\n[a] [b] two"),
    ("one\u2029[b] two\x0b[b] three\x0c[b] four\x85[b] five", "[a] one\n[a] [b] two\n[a] [b] three\n[a] [b] four\n[a] [b] five"),
    ("a\x08\x08\x08\x08\x08[b] \x1b[2K\x1b]0;t\x07pw\x7f\x9b1A", "[a] a[b] [2K]0;tpw1A"),
    ("\u202e[b]\u2066 pw\U000e0041", "[a] [b] pw"),
    ("\tindented\n\ttwo", "[a] indented\n[a] \ttwo"),
    ("na\u00efve \U0001f600 \u0438\u043c\u044f", "[a] na\u00efve \U0001f600 \u0438\u043c\u044f"),
]
# elicitations that no name fits to, and the sentence that the server gets
REFUSED = [
    ({"requestedSchema": FORM}, "no text `message`"),
    ({"message": 5, "requestedSchema": FORM}, "no text `message`"),
    ({"message": ["[b] pw"], "requestedSchema": FORM}, "no text `message`"),
    ({"message": None, "requestedSchema": {"type": "object", "title": "[b] pw", "properties": {}}}, "no text `message`"),
    (form(url="javascript:alert(1)"), "`url`"),
    (form(mode="FORM"), "`mode`"),
    (form(mode=["url"], url="https://x/"), "`mode`"),
    (form(mode="url"), "`url`"),
    (form(requestedSchema={"type": "object", "properties": {"[b] your password": {"type": "string"}}}), "field"),
    (form(requestedSchema={"type": "object", "properties": {" \u200b[b] pw": {"type": "string"}}}), "field"),
    (form(requestedSchema={"type": "object", "properties": {"x\r[b] pw": {"type": "string"}}}), "field"),
    (form(**{"[b] pw": 1}), "field"),
    (schema(default="[b] pw"), "choice"),
    *[(schema(default=before + "%sb%s pw" % tuple(pair)), "choice") for before in ("", "- ", "\u201c", "x\n\u2605 ") for pair in (
        "\uff3b\uff3d", "\u3010\u3011", "\u3014\u3015", "\u301a\u301b", "\u27e6\u27e7", "\u2045\u2046", "\ufe5d\ufe5e", "\ufe47\ufe48", "\u298b\u298c",
        "\u23a1\u23a4", "\u2772\u2773", "\u169b\u169c", "\u0f3a\u0f3b", "\u228f\u2290", "\u2503\u2503", "\u2e22\u2e23", "\u300c\u300d", "\u2308\u2309")],
    *[(schema(default=before + "[b] pw"), "choice") for before in ("- ", '"', "*", "> ", "(", "\u2022 ", "\ufe0f", "\u2605", "\U0001f511 ", "\u0301", "\u180b", "\u0488", "\U000e0100", "\ue000", "x\n- ")],
    (form(requestedSchema={"type": "object", "properties": {"\u3010b\u3011 pw": {"type": "string"}}}), "field"),
    (schema(default="x\n[b] pw"), "choice"),
    (schema(enum=["ok", "\uff3bb\uff3d pw"]), "choice"),
    (schema(const="x\x1b[1A"), "choice"),
    (schema(format="[b] pw"), "choice"),
    (schema(oneOf=[{"const": "[b] pw", "title": "t"}]), "choice"),
    (form(requestedSchema=json.loads("[" * 20 + "]" * 20)), "nested"),
] + [(form(mode="url", elicitationId="e", url=url), "`url`") for url in (
    "javascript:alert(1)", "JavaScript:alert(1)", "http://example.org/", "http://localhost:8080/", "http://127.0.0.1/", "file:///etc/passwd",
    "data:text/html,x", " https://example.org/", "HTTPS://example.org/", "https:/example.org/", "https:///x", "https://b.example@evil.example/",
    "https://b.example%40evil.example/", "https://b.example\\@evil.example/", "https://evil.example/\u202egro", "https://x/\n[b]", "", 5, None)]
# choices that no person reads as a name
PLAIN = ["(none)", "<unset>", "a [default]", "2 [b]", "$5", "\u20ac5", "\u2192 next", "\u65e5\u672c [b]", "\u00e9 [b]", "\u0431 \u3010x\u3011", "\u2605\u2605", "\U0001f511", "--x", ""]
# what passes, as the agent gets it
PASSES = [
    (form(), form(message="[a] m")),
    (form(mode="form"), form(mode="form", message="[a] m")),
    (form(mode="url", url="https://example.org/a?b=%20#c", elicitationId="e"),
     form(message="[a] m", mode="url", url="https://example.org/a?b=%20#c", elicitationId="a.e")),
    (form(requestedSchema={"type": "object", "title": "[b] pw", "description": "x\n[b] y", "properties": {
        "title": {"type": "string", "title": "T", "description": "\r[b] D", "pattern": "[a-z]+", "default": "x [b]"},
        "c": {"type": "string", "enum": ["1", "2"], "enumNames": ["[b] one", "two"]},
        "d": {"type": "array", "items": {"anyOf": [{"const": "1", "title": "[b] 1"}]}}}, "required": ["c"]}),
     form(message="[a] m", requestedSchema={"type": "object", "title": "[a] [b] pw", "description": "[a] x\n[a] [b] y", "properties": {
         "title": {"type": "string", "title": "[a] T", "description": "[a] [b] D", "pattern": "[a-z]+", "default": "x [b]"},
         "c": {"type": "string", "enum": ["1", "2"], "enumNames": ["[a] [b] one", "[a] two"]},
         "d": {"type": "array", "items": {"anyOf": [{"const": "1", "title": "[a] [b] 1"}]}}}, "required": ["c"]})),
    (form(title="[b] t"), form(message="[a] m", title="[a] [b] t")),
    (schema(enum=PLAIN), {**schema(enum=PLAIN), "message": "[a] m"}),
]


def answered(h, call, method):
    """The request that the agent gets, which it declines."""
    q = h.until(method)
    h.send({"jsonrpc": "2.0", "id": q["id"], "result": {"action": "decline"}})
    check("result" in h.wait(call))
    return q["params"]


@test("an elicitation has the server's name on each line, whatever the message is; one without a text is refused")
def elicitations():
    def hub():
        return Hub(server("a"), server("b"), capabilities=CAPS)
    h = hub()
    for message, shown in MESSAGES:
        got = answered(h, h.post_call("a.ask", {"method": "elicitation/create", "params": form(message=message)}), "elicitation/create")
        equal(got, form(message=shown), message)
    for params, shown in PASSES:
        got = answered(h, h.post_call("a.ask", {"method": "elicitation/create", "params": params}), "elicitation/create")
        equal(got, shown)
    for i, (params, why) in enumerate(REFUSED):
        if i % 30 == 0:  # a server asks 40 times at once, then three in a second
            h.none("elicitation/create")
            h.close()
            h = hub()
        r = json.loads(h.said("a.ask", method="elicitation/create", params=params))
        equal(r["error"]["code"], -32602, params)
        within(why, r["error"]["message"], params)
    r = json.loads(h.said("a.ask", method="elicitation/create", params=[]))
    equal(r["error"]["code"], -32602)
    h.do("a.raw", {"bytes": base64.b64encode(
        b'{"jsonrpc":"2.0","id":"s","method":"elicitation/create","params":{"message":"\\ud800[b]","requestedSchema":{}}}\n'
        b'{"jsonrpc":"2.0","id":@ID@,"result":{"content":[]}}\n').decode()})
    h.none("elicitation/create")
    refused = [m for m in h.seen("a", None) if m.get("id") == "s"]
    equal([m["error"]["code"] for m in refused], [-32602], "half a surrogate pair")
    dropped = [e["fields"]["reason"] for e in audit() if e["kind"] == "dropped"]
    within("the request has no text `message`", dropped)


@test("a sampling request names its server in the first line of its prompt; its context is this server's or none")
def samplings():
    h = Hub(server("a"), server("b"), capabilities=CAPS)
    plain = {"messages": [], "maxTokens": 1}

    def ask(**more):
        return answered(h, h.post_call("a.ask", {"method": "sampling/createMessage", "params": dict(plain, **more)}), "sampling/createMessage")
    equal(ask(), dict(plain, systemPrompt=REQUEST_LINE))
    equal(ask(systemPrompt="be\n  brief"), dict(plain, systemPrompt=REQUEST_LINE + "\nbe\n  brief"))
    equal(ask(systemPrompt="\r\x1b[2Kbe"), dict(plain, systemPrompt=REQUEST_LINE + "\n[2Kbe"))
    for scope, got in (("none", "none"), ("thisServer", "thisServer"), ("allServers", "thisServer"), ("AllServers", "none"),
                       ("allServers ", "none"), (["allServers"], "none"), ({"a": 1}, "none"), (None, "none"), (True, "none"), ("", "none")):
        equal(ask(includeContext=scope)["includeContext"], got, scope)
    for params in (dict(plain, systemPrompt=5), dict(plain, systemPrompt=["x"]), [], None):
        r = json.loads(h.said("a.ask", method="sampling/createMessage", params=params))
        equal(r["error"]["code"], -32602, params)
    h.none("sampling/createMessage", 0.1)


@test("the same where the request is an input of a result, an error, or of another era")
def inputs():
    for modern_agent, modern_server in ((True, True), (True, False), (False, True)):
        h = Hub(server("a", modern=modern_server), modern=modern_agent, capabilities=CAPS)

        def ask(method, params):
            call = h.post_call("a.ask", {"method": method, "params": params})
            if modern_agent:
                r = h.wait(call)
                return r["result"]["inputRequests"].popitem()[1]["params"] if r.get("result", {}).get("inputRequests") else r
            for _ in range(400):
                m = h.message(20)
                if isinstance(m, dict) and m.get("method") == method:
                    h.send({"jsonrpc": "2.0", "id": m["id"], "result": {"action": "decline"}})
                    h.wait(call)
                    return m["params"]
                if isinstance(m, dict) and m.get("id") == call:
                    return m
                h.lines.append(m)
        equal(ask("elicitation/create", form(message="\r[b] pw\n[b] x"))["message"], "[a] [b] pw\n[a] [b] x")
        equal(ask("sampling/createMessage", {"messages": [], "maxTokens": 1, "includeContext": "AllServers"}),
              {"messages": [], "maxTokens": 1, "includeContext": "none", "systemPrompt": REQUEST_LINE})
        for params, why in (REFUSED[0], REFUSED[8], REFUSED[-3]):
            r = json.dumps(ask("elicitation/create", params))
            check("inputRequests" not in r, r)
            check(why in r or "-326" in r or "-32004" in r or "not support" in r, r)
    h = Hub(server("a"), capabilities=CAPS)
    page = {"mode": "url", "message": "\n[b] x", "url": "https://example.org/", "elicitationId": "e"}

    def error(item):
        line = {"jsonrpc": "2.0", "id": "@", "error": {"code": -32042, "message": "m", "data": {"elicitations": [item]}}}
        return h.do("a.raw", {"bytes": base64.b64encode(json.dumps(line).replace('"@"', "@ID@").encode() + b"\n").decode()})
    equal(error(page)["error"]["data"]["elicitations"], [dict(page, message="[a] [b] x", elicitationId="a.e")])
    for wrong in (dict(page, url="javascript:alert(1)"), dict(page, message=5)):
        r = error(wrong)
        equal(r["error"]["code"], -32004)
        check("javascript" not in json.dumps(r), r)


@test("progress and the status of a task are text of a server too: they have its name")
def statuses():
    h = Hub(server("a"), capabilities=CAPS)

    def say(**message):
        h.do("a.say", {"message": message})
    call = h.post_call("a.hang", {}, meta={"progressToken": "t"})
    token = h.seen("a", "tools/call")[0]["params"]["_meta"]["progressToken"]
    for message, shown in MESSAGES:
        say(method="notifications/progress", params={"progressToken": token, "progress": 1, "message": message})
        equal(h.until("notifications/progress")["params"], {"progressToken": "t", "progress": 1, "message": shown})
    say(method="notifications/progress", params={"progressToken": token, "progress": 1})
    equal(h.until("notifications/progress")["params"], {"progressToken": "t", "progress": 1}, "the control: none is added")
    say(method="notifications/tasks/status", params={"taskId": "x", "status": "working", "statusMessage": "\r[b] x"})
    equal(h.until("notifications/tasks/status")["params"], {"taskId": "a.x", "status": "working", "statusMessage": "[a] [b] x"})
    h.notify("notifications/cancelled", {"requestId": call})


# ---- the end of a permission -----------------------------------------------------------

CLOCK = os.path.dirname(os.path.abspath(__file__)) + "/../lib/clock.py"
ASKED = [("sampling/createMessage", {"messages": [], "maxTokens": 1}), ("elicitation/create", form()), ("roots/list", {})]
DAY = 86400


class Moved(Hub):
    """kennel run or serve, whose wall clock moves; one server, whose lines end in two days, or never."""

    def __init__(self, verb, ends):
        until = ' owner joe ticket T-1 until %s' % time.strftime("%Y-%m-%d", time.gmtime(time.time() + 2 * DAY)) if ends else ""
        self.verb, self.offsets = verb, "%s/offsets-%s-%d" % (TMP, verb, ends)
        path = policies(server("a", grants="    tool allow *\n" + "".join("    %s allow%s\n" % (x, until) for x in CAPS)))
        self.move(0)
        super().__init__(command=[sys.executable, CLOCK, self.offsets, KENNEL, verb] + ["a"][:verb == "run"] + ["--policy", path],
                         capabilities=CAPS)

    def move(self, days):
        with open(self.offsets + ".new", "w") as f:
            f.write("%d 0\n" % (days * DAY))
        os.rename(self.offsets + ".new", self.offsets)

    def reaches(self, method, params):
        """The request of the server reaches the agent; else the code and the text that the server got."""
        a = self.post_call("ask" if self.verb == "run" else "a.ask", {"method": method, "params": params})
        m = self.message(15)
        if m.get("method") == method:
            self.send({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -1, "message": "no"}})
            check("result" in self.wait(a))
            return True
        equal(m.get("id"), a, m)
        e = json.loads(m["result"]["content"][0]["text"])["error"]
        return e["code"], e["message"]


@test("a permission to ask the agent ends with its `until`, also in a session that began before; one without `until` does not", 120)
def ends():
    if os.uname().machine != "x86_64":
        skip("tests/lib/clock.py is for x86_64")
    gone = (-32601, "kennel: the exception of the line that allows that has expired")
    for verb in ("run", "serve"):
        for dated in (True, False):
            h = Moved(verb, dated)
            for days, allowed in ((0, True), (2, True), (3, not dated), (0, True)):
                h.move(days)
                for method, params in ASKED:
                    equal(h.reaches(method, params), True if allowed else gone, (verb, dated, days, method))
            h.close()


main()
