"""S1-123: catalogs by URL: each outcome of a fetch, and a control beside it."""
import hashlib
import http.server
import os
import ssl
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from certificates import certificate, expired  # noqa: E402
from screen import Screen  # noqa: E402

GOOD = b"token forge/deploy {\n\tdescription \"Deploy token of the forge\"\n\tpattern gitlab-pat\n}\n"
OTHER = GOOD.replace(b"Deploy", b"Other")


def digest(text):
    return hashlib.sha256(text).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a):
        pass

    def do_GET(self):
        site = self.server.site
        site.seen.append((self.path, dict(self.headers)))
        time.sleep(site.delay)
        self.send_response(site.status)
        for k, v in site.headers.items():
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(site.body) + site.missing))
        self.end_headers()
        try:
            self.wfile.write(site.body)
        except OSError:
            pass  # the client has what it wanted
        self.close_connection = True


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that does not trust us


class Site:
    """One file at https://localhost, with an authority of its own."""

    def __init__(self, body=GOOD, status=200, delay=0, tls=True, pair=None, **headers):
        self.body, self.status, self.delay, self.seen = body, status, delay, []
        self.missing = 0  # bytes that are announced and not sent
        self.headers = {k.replace("_", "-"): v for k, v in headers.items()} or {"Content-Type": "text/plain"}
        self.ca = certificate("ca-%d" % id(self))
        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.server.site = self
        self.port = self.server.server_address[1]
        if tls:
            key, crt = pair(self.ca) if pair else certificate("site-%d" % id(self), signer=self.ca)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(crt, key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, host="localhost", scheme="https"):
        return "%s://%s:%d/forge.kennel" % (scheme, host, self.port)

    def line(self, sha256=None, to=" to loopback", ca=True, **how):
        return "catalog \"%s\"%s%s%s\n" % (self.url(**how), to, " ca %s" % self.ca[1] if ca else "",
                                         " sha256 %s" % sha256 if sha256 else "")

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class User:
    """A user with a catalog.kennel of these lines, and perhaps one in a project."""
    number = 0

    def __init__(self, lines, project=None):
        User.number += 1
        self.home = "%s/u%d" % (TMP, User.number)
        self.config = self.home + "/catalog.kennel"
        self.dir = self.home + "-project"
        self.env = {"KENNEL_HOME": self.home}
        os.makedirs(self.dir + "/.kennel")
        os.mkdir(self.home, 0o711)
        for path, text in ((self.config, lines), (self.dir + "/.kennel/catalog.kennel", project)):
            if text is not None:
                with open(path, "w") as f:
                    f.write(text)

    def catalog(self, *words_, status=0):
        r = run([KENNEL, "secret", "catalog"] + list(words_), env=self.env, cwd=self.dir, timeout=60)
        equal(r.returncode, status, r.stderr)
        return (r.stdout + r.stderr).decode()

    def fetch(self, status=0):
        return self.catalog("fetch", status=status)

    def record(self):
        """The last record of a fetch."""
        return [e for e in audit("--kind", "catalog", env=self.env)][-1]["fields"]

    def stored(self):
        try:
            return sorted(os.listdir(self.home + "/catalogs"))
        except FileNotFoundError:
            return []

    def knows(self):
        return "forge/deploy" in self.catalog("list")


def works(site, user=None):
    """The control: this very site, with the right line, is fetched and used."""
    u = user or User(site.line(digest(site.body)))
    check(not u.knows(), "known before it was fetched")
    within("fetched", u.fetch())
    equal(u.record()["outcome"], "fetched")
    check(u.knows(), "fetched and not used")
    return u


def fails(outcome, line, *parts, site=None, project=None):
    """Nothing is stored or used, and the record has the outcome."""
    u = User(line, project)
    said = u.fetch(status=65)
    within(outcome, said)
    for p in parts:
        within(p, said)
    e = u.record()
    equal((e["outcome"], e["verdict"]), (outcome, "deny"), e)
    equal(u.stored(), [])
    if site is not None:
        site.close()
    return u


@test("S1-123 fetched: a catalog is got in a cell, has its digest, is stored and used; the log has all of it")
def fetched():
    site = Site()
    u = works(site)
    e = u.record()
    equal((e["name"], e["verdict"], e["sha256"], e["pinned"], e["bytes"], e["source"]),
          ([site.url()], "allow", digest(GOOD), digest(GOOD), len(GOOD), "person"), e)
    equal(u.stored(), [digest(GOOD) + ".kennel"])
    within("(fetched)", u.catalog("show", "forge/deploy"))
    equal([h for p, h in site.seen if {k.lower() for k in h} - {"host", "accept"}], [])
    check(audited("catalog-fetch", "kennel-remote", "start", env=u.env), "no cell")
    check(audited("catalog-fetch", "localhost", str(site.port), "open", env=u.env), "no record of the connection")
    site.close()


@test("the queries leave a fetch out, except with --own")
def left_out():
    site = Site()
    u = works(site)

    def asked(*words_):
        r = run([KENNEL, "audit"] + list(words_) + ["--json", "--no-header"], env=u.env, timeout=60)
        equal(r.returncode, 0, r.stderr)
        return {json.loads(line)["server"] for line in r.stdout.splitlines()}
    for verb in "changes", "widened", "egress":
        equal(asked(verb), set(), verb)
        equal(asked(verb, "--own"), {"catalog-fetch"}, verb)
        equal(asked(verb, "--own", "--server", "catalog-fetch"), {"catalog-fetch"}, verb)
        text = run([KENNEL, "audit", verb], env=u.env).stdout.decode()
        within("# records of sessions of kennel's own, shown with --own: ", text)
    site.close()


@test("S1-123 nothing but `fetch` reaches the host: not list, show, validate, nor a catalog that was never fetched")
def only_fetch():
    site = Site()
    u = User(site.line(digest(GOOD)))
    within("was not fetched yet", u.catalog("list"))
    u.catalog("validate")
    u.catalog("show", "github/classic")
    equal(site.seen, [])
    works(site, u)
    u.catalog("list")
    equal(len(site.seen), 1)
    site.close()


@test("S1-123 unchanged: what is stored already stays")
def unchanged():
    site = Site()
    u = works(site)
    before = os.stat(u.home + "/catalogs/" + u.stored()[0])
    within("unchanged", u.fetch())
    equal((u.record()["outcome"], u.record()["verdict"]), ("unchanged", "allow"))
    equal(os.stat(u.home + "/catalogs/" + u.stored()[0]).st_ino, before.st_ino)
    site.close()


@test("S1-123 digest-mismatch: another file than the pinned one is not used, and what was stored stays")
def mismatch():
    site = Site()
    u = works(site)
    site.body = OTHER
    within(digest(OTHER), u.fetch(status=65))
    e = u.record()
    equal((e["outcome"], e["sha256"], e["pinned"]), ("digest-mismatch", digest(OTHER), digest(GOOD)))
    equal(u.stored(), [digest(GOOD) + ".kennel"])
    within("Deploy token", u.catalog("show", "forge/deploy"))
    site.close()


@test("S1-123 a stored copy that was altered is not used; the next fetch stores it again")
def altered():
    site = Site()
    u = works(site)
    with open(u.home + "/catalogs/" + u.stored()[0], "ab") as f:
        f.write(b"token evil/token { }\n")
    within("was altered", u.catalog("list"))
    absent("evil", u.catalog("list"))
    check(not u.knows(), "an altered copy is used")
    works(site, u)
    site.close()


def answer(user, key, part):
    s = Screen([KENNEL, "secret", "catalog", "fetch", "--first", "--project", user.dir], columns=200, **user.env)
    shown = s.until("[y/N]")
    s.key(key)
    within(part, s.until(part))
    s.p.wait(timeout=20)
    return shown


@test("S1-123 first-use: --first shows the digest, and writes it only after a person said yes", seconds=120)
def first_use():
    site = Site()
    before = "# mine\n%s# after\ntoken own/thing { }\n" % site.line()
    u = User(before)
    within("no `sha256`", u.fetch(status=65))
    equal(site.seen, [])
    r = run([KENNEL, "secret", "catalog", "fetch", "--first"], env=u.env, cwd=u.dir)
    equal((r.returncode, site.seen), (64, []), r.stderr)
    within(b"terminal", r.stderr)
    within(digest(GOOD), answer(u, b"n\r", "did not agree"))
    equal((open(u.config).read(), u.stored()), (before, []))
    equal((u.record()["outcome"], u.record()["verdict"]), ("first-use", "deny"))
    within(digest(GOOD), answer(u, b"y\r", "first-use"))
    equal(open(u.config).read(), before.replace(site.line(), site.line(digest(GOOD))))
    equal((u.record()["outcome"], u.record()["verdict"], u.record()["sha256"]), ("first-use", "allow", digest(GOOD)))
    check(u.knows(), "not used")
    within("unchanged", u.fetch())
    site.close()


@test("S1-123 first-use of two at once: each line gets its own digest")
def first_of_two():
    a, b = Site(), Site(body=GOOD.replace(b"forge/", b"other/"))
    u = User(a.line() + b.line())
    s = Screen([KENNEL, "secret", "catalog", "fetch", "--first", "--project", u.dir], columns=200, **u.env)
    s.until(digest(a.body))
    s.key(b"y\r")
    s.until(digest(b.body))
    s.key(b"y\r")
    s.p.wait(timeout=20)
    equal(open(u.config).read(), a.line(digest(a.body)) + b.line(digest(b.body)))
    a.close()
    b.close()


@test("S1-123 too-large: more than 256 KiB; 256 KiB are not")
def too_large():
    full = GOOD + b"#" * ((256 << 10) - len(GOOD))
    site = Site(body=full)
    works(site)
    site.body = full + b"#"
    fails("too-large", site.line(digest(site.body)), "256 KiB", site=site)


@test("S1-123 wrong-type: neither application/json nor text")
def wrong_type():
    site = Site(Content_Type="application/octet-stream")
    fails("wrong-type", site.line(digest(GOOD)))
    site.headers = {"X-None": "1"}
    fails("wrong-type", site.line(digest(GOOD)))
    site.headers = {"Content-Type": "application/json; charset=utf-8"}
    works(site)
    site.close()


@test("S1-123 not-https: http:// is not fetched, and no catalog with it is read")
def not_https():
    plain = Site(tls=False)
    u = fails("not-https", plain.line(digest(GOOD), scheme="http"))
    within("https://", u.catalog("list", status=65))
    equal(plain.seen, [])
    plain.close()
    works(Site())


@test("S1-123 private-address: a name or an address of this machine is not reached without `to`")
def private_address():
    site = Site()
    fails("private-address", site.line(digest(GOOD), to=""), "`to loopback`")
    fails("private-address", site.line(digest(GOOD), to="", host="127.0.0.1"))
    fails("private-address", site.line(digest(GOOD), to=" to private"))
    equal(site.seen, [])
    works(site)
    site.close()
    by_address = Site(pair=lambda ca: certificate("addr", host="127.0.0.1", signer=ca))
    works(by_address, User(by_address.line(digest(GOOD), host="127.0.0.1")))
    by_address.close()


@test("S1-123 redirect: not followed, not even to the same host")
def redirect():
    site = Site(status=302)
    site.headers = {"Location": "/forge.kennel", "Content-Type": "text/plain"}
    fails("redirect", site.line(digest(GOOD)), "status 302")
    equal(len(site.seen), 1)
    site.status = 200
    works(site)
    site.close()


@test("S1-123 http-error: another status than 200, and a head without an end")
def http_error():
    site = Site(status=404)
    u = fails("http-error", site.line(digest(GOOD)), "status 404")
    equal(u.record()["status"], 404)
    site.status, site.headers = 200, {"Content-Type": "text/plain", "X-Large": "x" * 60000, "X-More": "y" * 60000}
    fails("http-error", site.line(digest(GOOD)))
    site.headers = {"Content-Type": "text/plain"}
    works(site)
    site.close()


@test("S1-123 tls: another authority, another name, an expired certificate, no TLS")
def tls():
    site = Site()
    fails("tls", site.line(digest(GOOD), ca=False))  # the system's
    fails("tls", site.line(digest(GOOD), host="127.0.0.1"))
    equal(site.seen, [])
    works(site)
    site.close()
    old = Site(pair=lambda ca: expired("old-%d" % User.number, ca))
    fails("tls", old.line(digest(GOOD)), site=old)
    plain = Site(tls=False)
    fails("tls", plain.line(digest(GOOD)), site=plain)


@test("S1-123 timeout: 10 s, and not less", seconds=90)
def timeout():
    site = Site(delay=4)
    works(site)
    site.delay = 40
    begin = time.monotonic()
    fails("timeout", site.line(digest(GOOD)), site=site)
    check(9 < time.monotonic() - begin < 35, time.monotonic() - begin)


@test("S1-123 unreachable: nothing listens; and a cut file")
def unreachable():
    site = Site()
    works(site)
    site.missing = 1
    fails("unreachable", site.line(digest(GOOD)))
    site.close()
    fails("unreachable", site.line(digest(GOOD)))


@test("S1-123 parse-error: what has the digest and is no catalog, or names another catalog, is not stored")
def parse_error():
    site = Site()
    for body in (b"<html>no</html>\n", b"secret a/b/c { }\n", GOOD + b"catalog \"https://other.example/x\"\n",
                 GOOD + b"token a/b { value sentinel-value }\n", b"\0" + GOOD):
        site.body = body
        u = fails("parse-error", site.line(digest(body)))
        absent("sentinel-value", json.dumps(audit(env=u.env)))
    site.body = GOOD
    works(site)
    site.close()


@test("S1-123 disabled: `catalog deny` in the settings; `catalog allow` and no line permit it")
def disabled():
    site = Site()
    u = User(site.line(digest(GOOD)))
    for text, status, outcome in (("catalog deny\n", 65, "disabled"), ("catalog allow\n", 0, "fetched")):
        with open(u.home + "/settings.kennel", "w") as f:
            f.write(text)
        within(outcome, u.fetch(status=status))
        equal(u.record()["outcome"], outcome)
        equal(len(site.seen), status == 0)
    site.close()


@test("S1-123 a project's catalog by URL: public hosts only, the user's line and the user's entries before it")
def of_project():
    site = Site()
    for more in (" to loopback", " ca %s" % site.ca[1]):
        u = User("", "catalog \"%s\"%s sha256 %s\n" % (site.url(), more, digest(GOOD)))
        within("only allowed in your own", u.fetch(status=65))
    fails("private-address", "", project="catalog \"%s\" sha256 %s\n" % (site.url(), digest(GOOD)))
    equal(site.seen, [])
    u = User(site.line(digest(GOOD)) + "token forge/deploy { description \"mine\" }\n",
             "catalog \"%s\" sha256 %s\n" % (site.url(), digest(OTHER)))
    u.fetch()
    within("mine", u.catalog("show", "forge/deploy"))
    equal(len(site.seen), 1)
    site.close()


@test("S1-123 the cell of a fetch has no secret, no file of the user's, no other host and no program")
def confined():
    site = Site()
    u = works(site)
    r = run([KENNEL, "audit", "log", "--json", "--no-header", "--kind", "policy.load"], env=u.env)
    shown = [json.loads(x) for x in r.stdout.splitlines()][-1]["fields"]["sha256"]
    text = run([KENNEL, "audit", "policy-text", shown], env=u.env).stdout.decode()
    lines = [x.split()[0] for x in text.splitlines()[1:-1] if x.strip()]
    equal(sorted(lines), sorted(["about", "run", "read", "net"] + (["user"] if os.geteuid() == 0 else [])), text)
    within("localhost:%d" % site.port, text)
    equal([x for x in u.stored() if x.startswith("fetch-")], [])
    site.close()


if __name__ == "__main__":
    main()
