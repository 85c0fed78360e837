"""Chromium in a cell, without a proxy setting: it reaches the granted names and no other."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
import world  # noqa: E402
from net_kit import NAMES, recorded  # noqa: E402

PROGRAM = "/usr/lib/chromium/chromium"
PLACES = dict(NAMES, **{"www.test.example": ["9.8.7.16"]})
API = "api.test.example"
PAGE = """<title>page</title><p>the page of %s</p><script>
const said = t => { document.body.append(t); document.title = t; };
fetch('https://%s/data').then(r => r.text()).then(t => said('got ' + t), e => said('failed ' + e.name));
</script>"""


def wanted():
    if not os.path.exists(PROGRAM):
        skip("not here: " + PROGRAM)


def served(other):
    """A page of each request's host, whose script asks the other one for data."""
    def handler(c, server):
        while True:
            data = b""
            while b"\r\n\r\n" not in data:
                d = c.recv(65536)
                if not d:
                    return
                data += d
            path = data.split(b" ")[1].decode()
            server.requests.append(path)
            body, kind, more = PAGE % (path, other), "text/html", ""
            if path == "/data":
                body, kind = "data of the host", "text/plain"
            if path == "/away":
                more = "location: https://www.test.example/there\r\n"
            c.sendall(("HTTP/1.1 %s\r\ncontent-type: %s\r\naccess-control-allow-origin: *\r\ncontent-length: %d\r\n%s\r\n%s" % (
                "302 Found" if more else "200 OK", kind, len(body), more, body)).encode())
    s = world.Server("9.8.7.10", 443, handler, wrap=world.tls())
    s.requests = []
    return s


def fingerprint():
    """Of the test's key: the one certificate that the browser takes without a CA."""
    r = subprocess.run("openssl pkey -in key.pem -pubout -outform der | openssl dgst -sha256 -binary | base64", shell=True,
                       cwd=world.keys(), capture_output=True, text=True, env=environment())
    check(r.returncode == 0 and len(r.stdout) == 45, r.stderr)
    return r.stdout.strip()


def browse(url, grants, *flags):
    """The document that Chromium has in the end; what docs/SERVERS.md says that it needs."""
    user = '    user "65534"\n' if os.geteuid() == 0 else ""
    body = user + """
    run %s **
    exec allow %s **
    exec allow /usr/lib/chromium/chrome_crashpad_handler **
    env DBUS_SESSION_BUS_ADDRESS = disabled:
    env FC_FONTATIONS = "1"
    read /usr/lib/chromium /usr/share/fonts /etc/fonts
    tmp 256M
    limit processes 256
    %s
""" % (PROGRAM, PROGRAM, grants)
    r = kexec(body, [PROGRAM, "--headless", "--no-sandbox", "--no-zygote", "--browser-subprocess-path=" + PROGRAM,
                     "--disable-gpu", "--user-data-dir=/tmp/profile", "--virtual-time-budget=20000", "--timeout=25000",
                     "--ignore-certificate-errors-spki-list=" + fingerprint()] + list(flags) + ["--dump-dom", url], timeout=100)
    browse.said = r.stderr.decode(errors="replace")
    return r.stdout.decode(errors="replace")


@test("a page of a granted name is shown, and its script reaches the same name", seconds=120)
def granted():
    wanted()
    s = served(API)
    out = browse("https://%s/first" % API, "net allow api.test.example:443")
    within("the page of /first", out, browse.said[-1500:])
    within("got data of the host", out, browse.said[-1500:])
    check("/first" in s.requests and "/data" in s.requests, s.requests)
    recorded(verdict="allow", action="open", name=API, port=443)
    s.close()


@test("a script's request to another name fails, a redirect to it too, and both are on record", seconds=200)
def other():
    wanted()
    s = served("www.test.example")
    www = world.Server("9.8.7.16", 443, world.http, wrap=world.tls())
    out = browse("https://%s/first" % API, "net allow api.test.example:443")
    within("the page of /first", out, browse.said[-1500:])
    within("failed TypeError", out, browse.said[-1500:])
    recorded(verdict="deny", name="www.test.example", reason="no line grants it")
    absent("body of", browse("https://%s/away" % API, "net allow api.test.example:443"))
    check("/away" in s.requests, s.requests)
    equal(www.accepted, 0)
    # the control: with its grant the other name is reached
    within("body of GET /there", browse("https://%s/away" % API, "net allow api.test.example:443 www.test.example:443"))
    s.close()
    www.close()


@test("names that the command line maps elsewhere, and plain addresses, stay in the cell", seconds=120)
def elsewhere():
    wanted()
    www = world.Server("9.8.7.16", 443, world.http, wrap=world.tls())
    out = browse("https://%s/" % API, "net allow api.test.example:443",
                 "--host-resolver-rules=MAP api.test.example 9.8.7.16")
    absent("body of", out)
    equal(www.accepted, 0)
    recorded(verdict="deny", address="9.8.7.16", port=443)
    www.close()


if __name__ == "__main__":
    world.enter(PLACES)
    try:
        main()
    finally:
        world.leave()
