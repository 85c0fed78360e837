"""`auth oauth2`: tokens of an issuer, in place of a credential that never changes."""
import base64
import json
import os
import signal
import socket
import struct
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
import serve_kit  # noqa: E402
from oauth_issuer import CLIENT, SECRET, Guarded, Issuer  # noqa: E402
from remote_server import Remote  # noqa: E402

be_subreaper()
USER = "    user nobody\n" if os.geteuid() == 0 else ""
ENV = {"CLIENT_SECRET": SECRET}
PASS = "a passphrase of some length"
homes = [0]


def body(mcp, issuer, grant="client-credentials", more="", secret=True):
    return ("%s    remote %s to loopback\n    tool allow *\n%s    auth oauth2 client %s%s grant %s issuer localhost:%d%s\n" % (
        USER, mcp.url(), "    secret CLIENT_SECRET from env CLIENT_SECRET\n" if secret else "", CLIENT,
        " secret CLIENT_SECRET" if secret else "", grant, issuer.port, more))


def started(mcp, issuer, env=ENV, **how):
    return kennel_run(body(mcp, issuer, **how), name="far", env=env)


def greeted(s):
    """The answer to initialize; the session may not go on."""
    return s.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                    "clientInfo": {"name": "kit", "version": "1"}})


def works(mcp, issuer, **how):
    s = started(mcp, issuer, **how)
    s.initialize()
    equal(s.text("echo", text="in"), "in")
    s.close()


def close(*all_):
    for one in all_:
        one.close()


@test("client credentials: discovered from the 401, sent to the server only, for it alone, and redacted in every encoding")
def client_credentials():
    issuer = Issuer()
    mcp = Guarded(issuer)
    s = started(mcp, issuer, more=' scope "tools:read tools:write"')
    s.initialize()
    said = s.text("headers")
    token = list(issuer.tokens)[0]
    equal(json.loads(said.replace("***", "x"))["Authorization"].split()[0], "Bearer")
    for form in (token, base64.b64encode(token.encode()).decode(), token.encode().hex(), urllib.parse.quote(token)):
        absent(form[:-3], s.text("echo", text=form), "in a reply")
    equal(s.text("echo", text=token[:-1] + "~"), token[:-1] + "~", "another text is not")  # control
    forms = issuer.forms("client_credentials")
    equal(len(forms), 1, "one token for the session")
    equal((forms[0]["resource"], forms[0]["scope"]), (mcp.url(), "tools:read tools:write"))
    check("client_secret" not in forms[0], forms)
    equal([r for r in issuer.seen if "Mcp" in str(r)], [])
    check(wait_for(lambda: mcp.of("GET")[1:] and mcp.of("GET")[-1][2].get("Authorization") == "Bearer " + token) is not None,
          "the stream has no token")
    s.close()
    for text in (json.dumps(audit()), s.stderr()):
        for value in (token, SECRET):
            absent(value, text)
    close(mcp, issuer)


@test("an issuer with client_secret_post, with a path, with OpenID metadata; a server that names no metadata: all found")
def discovery():
    issuer = Issuer(methods=("client_secret_post",), document="openid-configuration")
    mcp = Guarded(issuer)
    mcp.points, mcp.document = False, "/.well-known/oauth-protected-resource"
    works(mcp, issuer)
    equal(issuer.forms("client_credentials")[0]["client_secret"], SECRET)
    close(mcp, issuer)
    issuer = Issuer(document="oauth-authorization-server/tenant")
    issuer.iss = issuer.url + "/tenant"
    mcp = Guarded(issuer)
    mcp.issuers = ["http://localhost:1/", issuer.iss]
    mcp.resource = "http://localhost:%d/" % mcp.port  # the whole host
    works(mcp, issuer)
    equal(issuer.forms("client_credentials")[0]["resource"], mcp.resource)
    close(mcp, issuer)


@test("an access token that has expired is replaced, once for all requests; the old one is still redacted")
def expired():
    issuer = Issuer()
    mcp = Guarded(issuer)
    s = started(mcp, issuer)
    s.initialize()
    equal(s.text("echo", text="in"), "in")
    old = list(issuer.tokens)[0]
    issuer.tokens.clear()
    ids = []
    for k in range(20):
        s.n += 1
        ids.append(s.n)
        s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "k"}}})
    while ids:
        m = s.message()
        if m.get("id") in ids:
            ids.remove(m["id"])
            check("result" in m, m)
            equal(m["result"]["content"][0]["text"], "k")
    equal(len(issuer.forms("client_credentials")), 2)
    new = list(issuer.tokens)[0]
    equal([s.text("echo", text=t) for t in (old, new)], ["***", "***"])
    s.close()
    close(mcp, issuer)


def other_issuer(mcp, issuer, other):
    mcp.issuers = [other.url]


def wrong_iss(mcp, issuer, other):
    issuer.iss = other.url


def slash(mcp, issuer, other):
    issuer.iss = issuer.url + "/"


def wrong_resource(mcp, issuer, other):
    mcp.resource = other.url


def below(mcp, issuer, other):
    mcp.resource = mcp.url() + "/below"


def beside(mcp, issuer, other):
    mcp.resource = mcp.url()[:-1]


def pointer(mcp, issuer, other):
    mcp.pointer = other.url + "/metadata"


def resource_moved(mcp, issuer, other):
    mcp.moved = other.url


def issuer_moved(mcp, issuer, other):
    issuer.moved = other.url


def token_elsewhere(mcp, issuer, other):
    issuer.token_url = other.url + "/token"


def token_moved(mcp, issuer, other):
    issuer.token_moved = other.url + "/token"


def audience(mcp, issuer, other):
    issuer.audience = other.url


def large_resource(mcp, issuer, other):
    mcp.large = 70000


def large_issuer(mcp, issuer, other):
    issuer.large = 70000


def weak(mcp, issuer, other):
    issuer.value = "tok"


def no_header(mcp, issuer, other):
    issuer.value = "at-1234567890abc\r\nX-Evil: 1"


def other_type(mcp, issuer, other):
    issuer.token_type = "mac"


HOSTILE = [(other_issuer, "as its issuer"), (wrong_iss, "another issuer"), (slash, "another issuer"),
           (wrong_resource, "another resource"), (below, "another resource"), (beside, "another resource"),
           (pointer, "at another host"), (resource_moved, "redirects"), (issuer_moved, "redirects"),
           (token_elsewhere, "at another host"), (token_moved, "redirects"), (audience, "refuses the token"),
           (large_resource, "64 KiB"), (large_issuer, "64 KiB"), (weak, "is not used"), (no_header, "no bearer token"),
           (other_type, "no bearer token")]


@test("hostile: another issuer, iss, resource, audience, endpoint or redirect, oversize metadata, bad tokens: refused in words")
def hostile():
    issuer, other = Issuer(), Issuer()
    mcp = Guarded(issuer)
    good = [(x, dict(vars(x))) for x in (mcp, issuer)]
    s = started(mcp, issuer)
    for change, part in HOSTILE:
        change(mcp, issuer, other)
        r = greeted(s)["error"]["message"]
        within(part, r, change.__name__)
        within("auth-", r, change.__name__)
        equal(other.seen, [], change.__name__)
        for one, before in good:
            vars(one).update(before)
        time.sleep(0.12)  # after a failure kennel-remote repeats its answer for 100 ms
    mcp.large = issuer.large = 50000
    check("result" in greeted(s), "the control: the same, without a change")
    s.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    equal(s.text("echo", text="in"), "in")
    s.close()
    close(mcp, issuer, other)


@test("a refusal of the issuer is reported in words of kennel; a wrong secret is named; the session goes on once it is right")
def refusals():
    issuer = Issuer()
    mcp = Guarded(issuer)
    s = started(mcp, issuer, env={"CLIENT_SECRET": "another-secret-5b1f40f3"})
    r = greeted(s)
    within("client id or secret is wrong", r["error"]["message"])
    s.close()
    s = started(mcp, issuer)
    s.initialize()
    issuer.tokens.clear()
    grant, issuer.grant_client_credentials = issuer.grant_client_credentials, None
    issuer.grant_client_credentials = lambda form: {}["no"]
    r = s.call("echo")
    within("refused a token", r["error"]["message"])
    absent("IGNORE", json.dumps(r))
    issuer.grant_client_credentials = grant
    check(wait_for(lambda: "result" in s.call("echo"), 10) is not None, "no token any more")
    s.close()
    close(mcp, issuer)


@test("a 403 with insufficient_scope names the scope that a person may add")
def step_up():
    issuer = Issuer()
    mcp = Guarded(issuer)
    s = started(mcp, issuer)
    s.initialize()
    mcp.scope = "tools:admin"
    said = s.call("echo")["error"]["message"]
    for part in ("auth-required", "tools:admin", "`auth oauth2"):
        within(part, said)
    mcp.scope = 'x\\" ignore\x01this'
    absent("ignore", s.call("echo")["error"]["message"])
    mcp.scope = None
    equal(s.text("echo", text="on"), "on")
    s.close()
    mcp.scope = "tools:admin"
    works(mcp, issuer, more=' scope "tools:read tools:admin"')  # control
    close(mcp, issuer)


# ---- logins ---------------------------------------------------------------------------

def keepers():
    return [p for p, comm in descendants(os.getpid()).items() if comm == "kennel-keeper"]


class Home:
    """A vault of its own, open."""

    def __init__(self):
        for pid in keepers():  # of a test that failed
            os.kill(pid, signal.SIGKILL)
        homes[0] += 1
        self.env = {"KENNEL_HOME": "%s/oauth-%d" % (TMP, homes[0])}
        self.secret("init", "--stdin", stdin=PASS)

    def secret(self, *words_, stdin="", status=0):
        r = run([KENNEL, "secret"] + list(words_), stdin=stdin.encode(), env=self.env)
        check(status is None or r.returncode == status, words_, r.stderr)
        return r.stdout.decode() + r.stderr.decode()

    def end(self):
        for pid in keepers():
            os.kill(pid, signal.SIGTERM)
        check(wait_for(lambda: not keepers(), 20) is not None, "the keeper stays")


def login(home, path, issuer, change=None):
    """kennel server login, by a person: exit status, what it printed."""
    p = Mcp([KENNEL, "server", "login", "far", "--policy", path], env=home.env)
    url, said = "", []
    try:
        while not url.startswith(issuer.url):
            url = p.line().decode().strip()
            said.append(url)
    except EOFError as e:
        said.append(str(e))
    if url.startswith(issuer.url):
        address = issuer.log_in(url)
        p.send_bytes((change(address) if change else address).encode() + b"\n")
    p.p.stdin.close()
    check(wait_for(lambda: p.p.poll() is not None, 30) is not None, "the login does not end")
    return p.p.returncode, "\n".join(said) + (p.p.stdout.read() or b"").decode() + (p.p.stderr.read() or b"").decode(), url


@test("login: a person's URL with PKCE and resource; the refresh token is in the vault, is rotated, and no agent sees either", seconds=120)
def logins():
    home, issuer = Home(), Issuer()
    mcp = Guarded(issuer)
    text = body(mcp, issuer, grant="code", secret=False, more=' scope "tools offline_access"')
    path = policy(text, "far")
    s = Mcp([KENNEL, "run", "far", "--policy", path], env=home.env)
    said = greeted(s)["error"]["message"]
    within("auth-required", said)
    within("kennel server login far", said)
    absent("/authorize", said)
    s.close()
    status, said, url = login(home, path, issuer)
    equal(status, 0, said)
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    equal((asked["client_id"], asked["resource"], asked["code_challenge_method"], asked["scope"]),
          (CLIENT, mcp.url(), "S256", "tools offline_access"))
    first = list(issuer.refresh)[0]
    within("__oauth/far/refresh", home.secret("versions"))
    s = Mcp([KENNEL, "run", "far", "--policy", path], env=home.env)
    s.initialize()
    second = list(issuer.refresh)[0]
    check(second != first, "not rotated")
    access = list(issuer.tokens)[-1]
    equal([s.text("echo", text=t) for t in (first, second, access, "plain")], ["***", "***", "***", "plain"])
    # a second session uses what the first one stored; and the first goes on with what the second stored
    t = Mcp([KENNEL, "run", "far", "--policy", path], env=home.env)
    t.initialize()
    issuer.tokens.clear()
    equal(s.text("echo", text="on"), "on")
    s.close()
    t.close()
    rows = [r["fields"] for r in audit("--kind", "vault", env=home.env) if r["fields"]["source"] == "server"]
    equal({(r["action"], r["outcome"]) for r in rows},
          {("release", "asked"), ("release", "done"), ("release", "failed"), ("store", "asked"), ("store", "done")})
    equal([r["name"] for r in rows if r["name"] != ["__oauth/far/refresh"]], [])
    for value in (first, second, access):
        absent(value, json.dumps(audit(env=home.env)) + s.stderr() + said)
    # pinned as any server: that is no login
    r = run([KENNEL, "server", "pin", "far", "--policy", path], env=home.env)
    equal((r.returncode, r.stdout.count(b'"echo"') > 0), (0, True), r.stderr)
    # another policy, and a secret of a policy
    s = Mcp([KENNEL, "run", "far", "--policy", policy(text + "    limit output 2M\n", "far")], env=home.env)
    within("the policy has changed", greeted(s)["error"]["message"])
    s.close()
    r = run([KENNEL, "policy", "check", policy("    run /bin/true\n    secret A from vault __oauth/far/refresh\n", "x")])
    equal(r.returncode, 65, r.stderr)
    # the issuer ends it
    issuer.refresh.clear()
    s = Mcp([KENNEL, "run", "far", "--policy", path], env=home.env)
    within("the login at localhost:%d is over" % issuer.port, greeted(s)["error"]["message"])
    s.close()
    home.end()
    close(mcp, issuer)


@test("login: another state, another or no iss, a refusal, no refresh token, no PKCE, a closed vault: nothing is stored", seconds=120)
def bad_logins():
    home, issuer = Home(), Issuer()
    mcp = Guarded(issuer)
    path = policy(body(mcp, issuer, grant="code", secret=False), "far")

    def swap(name, value):
        def change(address):
            base, _, query = address.partition("?")
            pairs = dict(urllib.parse.parse_qsl(query))
            if value is None:
                del pairs[name]
            else:
                pairs[name] = value
            return base + "?" + urllib.parse.urlencode(pairs)
        return change

    for change, part in ((swap("state", "x" * 43), "`state`"), (swap("iss", "http://evil.example"), "`iss`"),
                         (swap("iss", None), "`iss`"), (swap("error", "access_denied"), "access denied"),
                         (swap("code", "another"), "the login is over"), (lambda a: "", "`state`")):
        status, said, _ = login(home, path, issuer, change)
        equal(status, 1, said)
        within(part, said)
    issuer.gives_refresh = False
    within("no refresh token", login(home, path, issuer)[1])
    issuer.gives_refresh, issuer.s256 = True, False
    within("PKCE", login(home, path, issuer)[1])
    issuer.s256 = True
    absent("__oauth", home.secret("versions"))
    equal(login(home, path, issuer)[0], 0)  # control
    within("__oauth/far/refresh", home.secret("versions"))
    home.secret("lock")
    status, said, _ = login(home, path, issuer)
    equal(status, 125, said)
    within("kennel secret unlock", said)
    s = Mcp([KENNEL, "run", "far", "--policy", path], env=home.env)
    within("the vault is locked", greeted(s)["error"]["message"])
    s.close()
    home.end()
    close(mcp, issuer)


def wire(*fields):
    return b"".join(struct.pack("<I", len(f)) + f + b"\0" if isinstance(f, bytes) else struct.pack("<%s" % f[0], f[1])
                    for f in fields)


class Keeper:
    """A connection to it, as any process of this user can have."""

    def __init__(self, home):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.settimeout(20)
        here = os.open(home.env["KENNEL_HOME"] + "/run", os.O_PATH)
        self.s.connect("/proc/self/fd/%d/keeper.sock" % here)
        os.close(here)
        equal(self.say(2, ("I", 1), b"test", ("Q", 0), ("Q", 0))[0], 3)

    def say(self, kind, *fields):
        """Type of the answer, its number, and what follows."""
        self.s.send(struct.pack("<I", kind) + wire(*fields))
        got = self.s.recv(1 << 17)
        return struct.unpack("<II", got[:8]) + (got[8:-1],) if got else (0, 0, b"")

    def release(self, path, server, pid):
        return self.say(32, path, server, pid, b"", b"")

    def store(self, path, server, pid, login, value):
        return self.say(40, path, server, pid, b"", b"", ("B", login), value)


@test("keeper: a refresh token is stored and released under the path of its own server, by its grant, up to 8 KiB")
def stored():
    home = Home()
    far, near, one, two = b"__oauth/far/refresh", b"__oauth/near/refresh", b"1" * 32, b"2" * 32
    k = Keeper(home)
    equal(k.store(far, b"far", one, 0, b"rt-first-5b1f40f3c6e8")[:2], (7, 10), "before a login")
    for path in (near, b"team/far/refresh", b"__oauth/../refresh", b"__oauth//refresh", b"__sys/keys"):
        equal(k.store(path, b"far", one, 1, b"rt-first-5b1f40f3c6e8")[:2], (7, 8), path)
    equal(k.store(far, b"far", one, 1, b"rt-first-5b1f40f3c6e8")[:2], (5, 1), "a login")
    equal(k.store(far, b"far", two, 0, b"rt-other-5b1f40f3c6e8")[:2], (7, 11), "another policy")
    equal(k.store(far, b"far", one, 0, b"r" * 8192)[:2], (5, 2))
    equal(k.release(far, b"far", one)[2], b"r" * 8192)
    equal(k.say(34, far, b"far", one, b"", b"", ("I", 1))[:2], (7, 6), "an old one is kept")
    equal(k.say(24, far, b"near", ("I", 1), one)[0], 5)
    equal(k.release(far, b"near", one)[:2], (7, 10), "granted to another server")
    equal(k.release(far, b"far", two)[:2], (7, 11))
    # the next login may be at another issuer: no earlier policy gets its token
    equal(k.store(far, b"far", two, 1, b"rt-third-5b1f40f3c6e8")[:2], (5, 3))
    equal(k.release(far, b"far", two)[2], b"rt-third-5b1f40f3c6e8")
    equal(k.release(far, b"far", one)[:2], (7, 11), "the login belongs to one policy")
    equal(Keeper(home).store(far, b"far", one, 0, b"r" * 8193)[0], 0, "too long")
    equal(Keeper(home).store(far, b"far", one, 2, b"rt-first-5b1f40f3c6e8")[0], 0)
    k = Keeper(home)
    home.secret("lock")
    equal(k.store(far, b"far", one, 0, b"rt-first-5b1f40f3c6e8")[:2], (7, 3))
    k.s.close()
    home.end()


class Stopping(list):
    """The requests that an issuer has seen; the first one stops these processes."""

    pids = ()

    def append(self, x):
        super().append(x)
        if len(self) == 1:
            for pid in self.pids:
                os.kill(pid, signal.SIGSTOP)


@test("the keeper is asked for a refresh token only when the record of that is on disk")
def recorded_first():
    home, issuer = "%s/oauth-record" % TMP, Issuer()
    mcp = Guarded(issuer)
    os.makedirs(home + "/run", mode=0o700)
    os.chmod(home, 0o700)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    here = os.getcwd()
    os.chdir(home + "/run")
    listener.bind("keeper.sock")
    os.chdir(here)
    listener.listen()
    listener.settimeout(20)
    before = {p for p, comm in descendants(os.getpid()).items() if comm == "kennel-recorder"}
    s = Mcp([KENNEL, "run", "far", "--policy", policy(body(mcp, issuer, grant="code", secret=False), "far")], env={"KENNEL_HOME": home})
    keeper = listener.accept()[0]
    keeper.settimeout(20)
    equal(struct.unpack("<I", keeper.recv(1 << 17)[:4])[0], 2)
    keeper.send(struct.pack("<II", 3, 2))  # the vault is open
    issuer.seen = Stopping()
    issuer.seen.pids = {p for p, comm in descendants(os.getpid()).items() if comm == "kennel-recorder"} - before
    equal(len(issuer.seen.pids), 1)
    s.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}})
    try:
        check(wait_for(lambda: len(issuer.seen), 20), "the issuer is not asked")
        keeper.settimeout(2)
        check(False, "asked before the record", keeper.recv(1 << 17))
    except socket.timeout:
        pass
    finally:
        for pid in issuer.seen.pids:
            os.kill(pid, signal.SIGCONT)
    keeper.settimeout(20)
    equal(struct.unpack("<I", keeper.recv(1 << 17)[:4])[0], 32)
    keeper.send(struct.pack("<II", 7, 6) + wire(b"not there"))
    within("kennel server login far", s.wait(1, 20)["error"]["message"])
    s.close()
    keeper.close()
    listener.close()
    close(mcp, issuer)


@test("kennel serve: a server with `auth oauth2` is found and called; a hostile issuer makes it fail in words, and others go on")
def served():
    issuer, bad = Issuer(), Issuer()
    mcp, far = Guarded(issuer), Guarded(bad)
    bad.iss = "http://localhost:1"
    h = serve_kit.Hub("server good {\n%s}\n" % body(mcp, issuer), "server bad {\n%s}\n" % body(far, bad), env=ENV)
    r = h.ask("tools/call", {"name": "good__headers", "arguments": {}})
    absent(list(issuer.tokens)[0], json.dumps(r))
    within("***", r["result"]["content"][0]["text"])
    r = h.ask("tools/call", {"name": "bad__echo", "arguments": {}})
    within("another issuer", json.dumps(r))
    h.close()
    close(mcp, far, issuer, bad)


if __name__ == "__main__":
    main()
