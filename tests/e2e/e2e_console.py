"""kennel console: who may use it, and from where."""
import glob
import os
import re
import socket
import stat
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from console_kit import *  # noqa: E402,F403

CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " \
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
PAGES = {"/": "text/html", "/console.css": "text/css",
         **{"/%s.js" % n: "text/javascript" for n in ("text", "console", "servers", "approvals", "secrets", "forms", "keys", "policies", "log", "start")}}
RUN_DIR = HOME + "/run"


def sockets():
    return glob.glob(RUN_DIR + "/console-*")


@test("a link opens a login; without a login the API answers nothing; Ctrl-C ends all of it")
def opens():
    c = Console()
    refused(c.json("GET", "login"), 401, "run `kennel console` in a terminal")
    c.login()
    status, value = c.json("GET", "login")
    equal(status, 200)
    check(0 < value["left_seconds"] <= 900, value)
    refused(c.json("GET", "nothing"), 404)
    equal(c.json("POST", "logout")[0], 200)
    refused(c.json("GET", "login"), 401)
    equal(len(sockets()), 1)
    server = int(sockets()[0].rsplit("-", 1)[1])
    equal(c.interrupt(), 0)
    check(wait_for(lambda: not alive(server)), "the server has ended")
    equal(sockets(), [])


@test("a link works once: opened again it ends the login that it opened; an unknown one opens none")
def links():
    c = Console().login()
    refused(c.json("POST", "login", {"link": c.link}), 403, "was opened before", "another user of this machine")
    refused(c.json("GET", "login"), 401)  # that login has ended
    c.until("a link was opened a second time")
    refused(c.json("POST", "login", {"link": c.link}), 403, "expected a link that was not used")
    for guess in ("0" * 32, "", c.link.upper(), c.link[:31], c.link + "0", "\u0000", 7, None):
        check(c.json("POST", "login", {"link": guess})[0] in (400, 403), guess)
    for body in (b"", b"[]", b"{", b'{"link":"' + c.link.encode(), b'{"link":1,"link":2}', b"\xff" * 9):
        refused(c.json("POST", "login", body), 400, "expected the member `link`")
    # another one, of the console that runs
    c.login(c.another_link())
    equal(c.json("GET", "login")[0], 200)


@test("a second start prints a link of the console that runs, also after one that was killed")
def second():
    os.makedirs(RUN_DIR, mode=0o700, exist_ok=True)
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stale = RUN_DIR + "/console-999999"
    dead.bind(stale)
    dead.close()
    c = Console()
    check(not os.path.exists(stale), "what a killed console left is removed")
    first, second = c.another_link(), c.another_link()
    check(len({first, second, c.link}) == 3)
    for link in (c.link, first, second):
        c.login(link)
    equal(len(sockets()), 1)
    # no packet of a stranger's shape is answered
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sockets()[0])
    s.settimeout(LONG)
    s.send(struct.pack("<II", 2, 99))
    equal(s.recv(100), b"")


@test("without a terminal the console does not start")
def terminal():
    before = sockets()
    for argv in ([], ["--no-open"]):
        r = run([KENNEL, "console", *argv])
        equal(r.returncode, 64)
        within("expected a terminal on standard input and output", r.stderr.decode())
        equal(r.stdout, b"")
    equal(sockets(), before)
    t = Terminal([KENNEL, "console", "--no-such"])
    equal(t.end(), 64)
    within("--no-such", t.text)
    t = Terminal([LIBEXEC + "/kennel-console", "x"])
    equal(t.end(), 64)


@test("it listens on loopback addresses only, confined, without dumps")
def confined():
    c = Console()
    server = int(sockets()[0].rsplit("-", 1)[1])
    with open("/proc/%d/status" % server) as f:
        text = f.read()
    within("Seccomp:\t2", text)
    within("NoNewPrivs:\t1", text)
    wanted = {"0100007F", "00000000000000000000000001000000"}
    found = set()
    for table in ("tcp", "tcp6"):
        with open("/proc/net/" + table) as f:
            for line in f.readlines()[1:]:
                address, port = line.split()[1].split(":")
                if int(port, 16) == c.port and line.split()[3] == "0A":
                    found.add(address)
    check(found and found <= wanted, found)
    if len(found) == 2:
        equal(c.request("GET", "/", at="::1")[0], 200)
    # the launcher does not hold the port
    os.kill(server, 9)
    equal(c.end(), 125)
    within("the console has ended", c.text)
    s = socket.socket()
    check(s.connect_ex(("127.0.0.1", c.port)) != 0)
    equal(sockets(), [])


def every(c):
    """Requests that a page of the console sends."""
    return [("GET", "/"), ("GET", "/console.js"), ("GET", "/api/login"), ("POST", "/api/login"), ("POST", "/api/logout")]


@test("DNS rebinding: a request that names another host gets nothing")
def rebinding():
    c = Console().login()
    for method, path in every(c):
        for host in ("evil.example", "evil.example:%d" % c.port, "127.0.0.1:%d" % c.port, "[::1]:%d" % c.port,
                     "localhost", "localhost:%d" % (c.port + 1), "localhost.:%d" % c.port, "LOCALHOST:%d" % c.port,
                     "localhost:%d.evil.example" % c.port, "x@localhost:%d" % c.port, ""):
            status, _, body = c.request(method, path, {"link": "0" * 32}, headers={"Host": host})
            check(status in (400, 421), host, path, status, body)
        check(c.request(method, path, leave_out=("Host",))[0] in (400, 421))
        equal(c.request(method, path, headers={"Host": [c.host(), c.host()]})[0], 400)
    equal(c.json("GET", "login")[0], 200)  # the control


@test("CSRF: a request of another page changes nothing")
def csrf():
    c = Console().login()
    for origin in ("http://evil.example", "http://localhost", "http://localhost:1", "https://" + c.host(),
                   "http://127.0.0.1:%d" % c.port, "null", "", "http://%s.evil.example" % c.host()):
        refused(c.json("POST", "logout", headers={"Origin": origin}), 403, "Origin")
        refused(c.json("GET", "login", headers={"Origin": origin}), 403, "Origin")
    refused(c.json("POST", "logout", leave_out=("Origin",)), 403, "Origin")
    for site in ("cross-site", "same-site", "none", "x"):
        refused(c.json("GET", "login", headers={"Sec-Fetch-Site": site}), 403, "another page")
        refused(c.json("POST", "logout", headers={"Sec-Fetch-Site": site}), 403, "another page")
    # what an HTML form can send
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "",
                 "application/json; charset=utf-8"):
        refused(c.json("POST", "logout", headers={"Content-Type": kind}), 415, "application/json")
    refused(c.json("DELETE", "mcp/x", leave_out=("Origin",)), 403, "Origin")
    refused(c.json("DELETE", "mcp/x", headers={"Origin": "http://evil.example"}), 403, "Origin")
    refused(c.json("DELETE", "mcp/x"), 404, "no server `x`")
    for method in ("PUT", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get"):
        status, headers, _ = c.request(method, "/api/login")
        check(status in (400, 405), method, status)
        check(not [h for h in headers if h.lower().startswith("access-control")], "no page may ask from elsewhere")
    for method in ("POST", "DELETE"):
        equal(c.request(method, "/")[0], 405)
    equal(c.json("GET", "login", headers={"Sec-Fetch-Site": "same-origin", "Origin": "http://" + c.host()})[0], 200)
    equal(c.json("POST", "logout")[0], 200)


@test("a login needs the cookie and the key of the page: neither is enough, nor are those of two logins")
def two_secrets():
    a = Console().login()
    cookie, key = a.cookie, a.key
    refused(a.json("GET", "login", leave_out=("Cookie",)), 401)
    refused(a.json("GET", "login", leave_out=("X-Kennel-Key",)), 401)
    refused(a.json("GET", "login", headers={"X-Kennel-Key": a.cookie}), 401)
    refused(a.json("GET", "login", headers={"Cookie": "kennel=%s" % a.cookie}), 401)
    a.login(a.another_link())
    refused(a.json("GET", "login", headers={"X-Kennel-Key": key}), 401)
    refused(a.json("GET", "login", headers={"Cookie": "kennel-%d=%s" % (a.port, cookie)}), 401)
    refused(a.json("GET", "login", headers={"X-Kennel-Key": [a.key, key]}), 400, "repeated")
    equal(a.json("POST", "logout")[0], 200)
    # the other login is not ended
    a.cookie, a.key = cookie, key
    equal(a.json("GET", "login")[0], 200)


@test("every reply has the headers that confine a page, also a refusal; the pages name nothing from elsewhere")
def headers():
    c = Console().login()
    total = 0
    asked = [(p, {}) for p in PAGES] + [("/none", {}), ("/api/none", {}), ("/api/login", {}), ("/", {"Host": "x"}),
                                        ("/api/login", {"Origin": "x"})]
    for path, more in asked:
        status, got, body = c.request("GET", path, headers=more)
        for name, value in {"Content-Security-Policy": CSP, "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
                            "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
                            "Cross-Origin-Opener-Policy": "same-origin",
                            "Cross-Origin-Resource-Policy": "same-origin"}.items():
            equal(got.get_all(name), [value], (path, name))
        check(not [n for n in got if n.lower().startswith("access-control")], got)
        if not more and path in PAGES:
            equal((status, got["Content-Type"]), (200, PAGES[path] + "; charset=utf-8"))
            total += len(body)
            text = body.decode()
            absent("innerHTML", text)
            absent("://", text)
            if path == "/":
                equal(set(re.findall(r'(?:src|href)="(/[^"]*)"', text)), set(PAGES) - {"/"})
                check(not re.search(r"<script(?![^>]* src=\"/)|<style|style=|\son\w+=", text), "nothing inline")
    check(total < 100000, total)


@test("a body that is too large or never ends is refused, and the console goes on")
def bodies():
    c = Console().login()
    refused(c.json("POST", "logout", b"x" * 8193), 413, "too large")
    equal(c.request("POST", "/api/logout", b"x" * (1 << 20))[0], 413)
    open_ones = [socket.create_connection(("127.0.0.1", c.port)) for _ in range(100)]
    for s in open_ones[:30]:
        s.sendall(b"GET / HTTP/1.1\r\nHost: ")
    for s in open_ones:
        s.close()
    s = socket.create_connection(("127.0.0.1", c.port))
    s.sendall(b"\x16\x03\x01\x00\x00garbage\r\n\r\n")
    equal(s.recv(100)[:12], b"HTTP/1.1 400")
    equal(c.json("GET", "login")[0], 200)


@test("a second user on the machine: no socket, no link in an argument or a file that is readable")
def second_user():
    tools = TMP + "/tools"
    os.makedirs(tools, exist_ok=True)
    with open(tools + "/xdg-open", "w") as f:
        f.write("#!/bin/sh\nprintf '%%s\\n' \"$@\" >%s/opened.new && mv %s/opened.new %s/opened\n" % (TMP, TMP, TMP))
    os.chmod(tools + "/xdg-open", 0o755)
    t = Terminal([KENNEL, "console"], env={"PATH": tools + ":/usr/bin:/bin", "DISPLAY": ":9"})
    m = t.until(r"http://localhost:(\d+)/#([0-9a-f]{32})\n")
    port, link = m.group(1), m.group(2)
    check(wait_for(lambda: os.path.exists(TMP + "/opened"), LONG))
    with open(TMP + "/opened") as f:
        page = f.read().rstrip("\n")
    absent(link, page)
    within('content="0;url=http://localhost:%s/#%s"' % (port, link), open(page).read())
    equal(stat.S_IMODE(os.stat(page).st_mode), 0o600)
    equal(stat.S_IMODE(os.stat(RUN_DIR).st_mode), 0o700)
    path = sockets()[0]
    for pid in processes():
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                absent(link.encode(), f.read())
        except OSError:
            continue
    if AS == "root":
        code = "import os, socket, sys\n" \
            "for path in sys.argv[1:3]:\n" \
            "    try:\n        open(path)\n        print('read', path)\n" \
            "    except OSError:\n        pass\n" \
            "    try:\n        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(path)\n" \
            "        print('connected', path)\n    except OSError:\n        pass\n" \
            "print('done')\n"
        open_file = TMP + "/anybody"
        with open(open_file, "w"):
            pass
        os.chmod(open_file, 0o644)
        equal(unconfined(["python3", "-c", code, open_file, path]).stdout, b"read %s\ndone\n" % open_file.encode(), "the control")
        equal(unconfined(["python3", "-c", code, page, path]).stdout, b"done\n")
    os.write(t.master, b"\x03")
    equal(t.end(), 0)
    check(not os.path.exists(page), "the page of the link is removed")


if __name__ == "__main__":
    main()
