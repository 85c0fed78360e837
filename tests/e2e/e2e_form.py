"""S1-51 kennel secret form: a value or a security key that is typed into a page of kennel-form, and into no other program."""
import json
import os
import re
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from key_kit import *  # noqa: E402,F403
from form_kit import *  # noqa: E402,F403

PATH = "team/github/token"
VALUE = "sentinel value %d" % os.getpid()


def versions(env, path=PATH):
    r = run([KENNEL, "secret", "versions", "--json", path], env=env)
    return len(json.loads(r.stdout)) if r.returncode == 0 else 0


@test("a value that is typed into the page is in the vault; the page ends, and nothing prints the value", 120)
def value():
    env = home()
    f = Form("value", PATH, env=env)
    equal(f.state(), {"what": "value", "path": PATH, "format": "", "vault": "open", "replaces": False})
    status, headers, page = f.get("")
    equal((status, headers["Content-Type"], headers["Cache-Control"]), (200, "text/html", "no-store"))
    base = "http://%s/%s/" % (f.host(), f.token)
    equal(headers["Content-Security-Policy"], "default-src 'none'; script-src %sform.js; style-src %sform.css; connect-src %s; "
          "form-action 'none'; frame-ancestors 'none'; base-uri 'none'" % (base, base, base))
    within(b'<input type="password" id="value" autocomplete="off"', page)
    within(b"navigator.credentials.create", f.get("form.js")[2])
    equal(f.get("form.css")[0], 200)
    status, got = f.post("save", "", "abc", "")
    equal(status, 400)
    within("at least four bytes", got["message"])
    status, got = f.post("save", "", "a\0bcd", "")
    equal(status, 400)
    equal(f.post("save", "", VALUE, "")[0], 200)
    status, out, err = f.end()
    equal((status, out), (0, ""), err)
    absent(VALUE, err)
    equal(versions(env), 1)
    # in its place: only with the box
    f = Form("value", PATH, env=env)
    equal(f.state()["replaces"], True)
    status, got = f.post("save", "", "another " + VALUE, "")
    equal((status, got["replaces"]), (409, True))
    equal(versions(env), 1)
    equal(f.post("save", "", "another " + VALUE, "1")[0], 200)
    equal(f.end()[0], 0)
    equal(versions(env), 2)
    log = run([KENNEL, "audit", "log", "--json"], env=env).stdout.decode()
    absent(VALUE, log)
    within('"action":"set"', log.replace(": ", ":"))
    for name in os.listdir(env["KENNEL_HOME"] + "/run"):
        check(not name.startswith("form"), name)


@test("a large value with several lines and any bytes but NUL fits; a larger one is refused and stores nothing", 120)
def large():
    env = home()
    big = bytes(range(1, 256)) * 257
    f = Form("value", PATH, env=env)
    status, got = f.post("save", "", big + b"xx", "")
    equal(status, 400, got)
    equal(f.post("save", "x" * 5000, big + b"x" * 8000, "")[0], 413)
    equal(versions(env), 0)
    equal(f.post("save", "", big, "")[0], 200)
    equal(f.end()[0], 0)
    equal(versions(env), 1)


@test("a locked vault is opened with the passphrase of the page; without a vault the page of a key names the command", 120)
def locked():
    env = home()
    f = Form("value", PATH, "--rotate", env=env)
    status, got = f.post("save", "", VALUE, "1")
    equal(status, 409)
    within("has no value to replace", got["message"])
    equal(f.post("cancel")[0], 200)
    f.end()
    equal(versions(env), 0)
    equal([e["fields"]["reason"] for e in audit(env=env) if e["kind"] == "vault" and e["fields"].get("outcome") == "failed"],
          ["nothing was saved: the page was closed, cancelled or too old"])
    equal(run([KENNEL, "secret", "set", PATH, "--stdin"], stdin=VALUE, env=env).returncode, 0)
    equal(run([KENNEL, "secret", "lock"], env=env).returncode, 0)
    f = Form("value", PATH, "--rotate", env=env)
    state = f.state()
    equal((state["vault"], state["replaces"]), ("locked", True))
    status, got = f.post("save", "", VALUE, "1")
    equal((status, got["vault"]), (400, "locked"))
    within("type its passphrase", got["message"])
    status, got = f.post("save", "wrong", VALUE, "1")
    equal((status, got["vault"]), (403, "locked"))
    within("wrong", got["message"])
    absent(VALUE, str(got))
    equal(f.post("save", PASS, VALUE, "1")[0], 200)
    equal(f.end()[0], 0)
    equal(versions(env), 2)
    none = {"KENNEL_HOME": TMP + "/form-no-vault"}
    r = run([KENNEL, "secret", "form", "key"], env=none)
    equal((r.returncode, r.stdout), (127, b""))
    within(b"kennel secret init", r.stderr)


@test("a format that a manifest names is checked before anything is stored", 60)
def format_of():
    env = home()
    with open(env["KENNEL_HOME"] + "/secrets.kennel", "w") as file:
        file.write("secret %s { pattern github-pat }\n" % PATH)
    os.chmod(env["KENNEL_HOME"] + "/secrets.kennel", 0o600)
    f = Form("value", PATH, env=env)
    equal(f.state()["format"], "github-pat")
    status, got = f.post("save", "", "not a token of theirs", "")
    equal(status, 400)
    within("by its manifest", got["message"])
    equal(versions(env), 0)
    f.post("cancel")
    f.end()


@test("a security key is registered in the page: the passphrase, a name, and what the key made of the keeper's challenge", 120)
def key():
    env = home()
    new = Key()
    f = Form("key", env=env)
    equal(f.state()["what"], "key")
    status, asked = f.post("challenge", "")
    equal((status, asked["keys"], asked["rp_id"]), (200, [], "localhost"))
    challenge = unb64(asked["challenge"])
    client, auth = new.create(challenge)
    for label in ("", "x" * 65, "a\nb", "\x7f"):
        equal(f.post("save", PASS, challenge, client, auth, label)[0], 400, label)
    status, got = f.post("save", "wrong", challenge, client, auth, "blue")
    equal(status, 403)
    within("wrong passphrase", got["message"])
    status, got = f.post("save", PASS, os.urandom(32), client, auth, "blue")
    equal(status, 403)
    within("no challenge of a new key", got["message"])
    equal(f.post("save", PASS, challenge, b"x" * 1025, auth, "blue")[0], 403)
    equal(f.post("save", PASS, challenge, client, auth, "clé")[0], 200)
    equal(f.end()[0], 0)
    k = Keeper(env)
    equal([label.decode() for _, label in k.keys()], ["clé"])
    within('"key-add"', run([KENNEL, "audit", "log", "--json"], env=env).stdout.decode())
    k.s.close()
    # a locked vault is opened first, and known keys are named
    equal(run([KENNEL, "secret", "lock"], env=env).returncode, 0)
    check(wait_for(lambda: not keepers(), LONG) is not None)
    f = Form("key", env=env)
    equal(f.state()["vault"], "locked")
    equal(f.post("challenge", "")[0], 400)
    equal(f.post("challenge", "wrong")[0], 403)
    status, asked = f.post("challenge", PASS)
    equal((status, asked["keys"]), (200, [b64(new.id)]))
    f.post("cancel")
    equal(f.end()[0], 65)


@test("a request that is not of the page is refused: Host, Origin, site, type, method, token, repeated headers, size", 120)
def foreign():
    env = home()
    f = Form("value", PATH, env=env)
    save = lambda **how: f.post("save", "", VALUE, "", **how)[0]
    equal(save(headers={"Host": "evil.example:%d" % f.port}), 421)
    equal(save(headers={"Host": "127.0.0.1:%d" % f.port}), 421)
    equal(save(leave_out=("Origin",)), 403)
    for origin in ("http://localhost", "http://localhost:1", "null", "https://" + f.host(), "http://evil.example"):
        equal(save(headers={"Origin": origin}), 403, origin)
    for site in ("cross-site", "same-site", "none"):
        equal(save(headers={"Sec-Fetch-Site": site}), 403, site)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json"):
        equal(save(headers={"Content-Type": kind}), 415, kind)
    equal(save(headers={"Origin": ["http://" + f.host()] * 2}), 400)
    equal(f.get("", headers={"Host": "evil.example"})[0], 421)
    equal(f.get("", headers={"Sec-Fetch-Site": "cross-site"})[0], 403)
    equal(f.get("", headers={"Origin": "http://localhost:1"})[0], 403)
    for path in ("/", "/" + f.token, "/%s/" % ("0" * 32), "//" + f.token + "/", "/%s/../state" % f.token, "/%s/x" % f.token,
                 "/%s/state/" % f.token.upper() if f.token.upper() != f.token else "/x", "/api/login", "/state"):
        equal(f.request("GET", path)[0], 404, path)
    equal(f.get("save")[0], 405)
    equal(f.get("cancel")[0], 405)
    equal(f.request("POST", "/%s/" % f.token)[0], 405)
    equal(f.request("PUT", "/%s/save" % f.token)[0], 405)
    for body in (b"", b"{}", b"AA", b"AA\nAA", b"AA\nAA\nAA\nAA", b"==\n\n"):
        equal(f.request("POST", "/%s/save" % f.token, body)[0], 400, body)
    equal(versions(env), 0)
    for site in ("cross-site", "same-site", "none"):
        equal(f.get("state", headers={"Sec-Fetch-Site": site})[0], 403, site)
    for site in ("same-site", "none"):  # a link of the console, and an address that was typed
        equal(f.get("", headers={"Sec-Fetch-Site": site})[0], 200, site)
    equal(f.request("GET", "/%s/state" % f.token, at="::1")[0] if socket.has_ipv6 and os.path.exists("/proc/net/if_inet6") else 200, 200)
    equal(save(headers={"Sec-Fetch-Site": "same-origin"}), 200, "the control")
    equal(f.end()[0], 0)
    equal(versions(env), 1)


@test("one save: after it the port is closed, and a body that waits keeps no other out for good", 120)
def once():
    env = home()
    f = Form("value", PATH, env=env)
    half = socket.create_connection(("127.0.0.1", f.port), timeout=LONG)
    half.sendall(("POST /%s/save HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/octet-stream\r\n"
                  "Content-Length: 100\r\n\r\nAAAA" % (f.token, f.host(), f.host())).encode())
    check(wait_for(lambda: f.post("save", "", VALUE, "")[0] == 503, LONG), "one body at a time")
    equal(f.get("state")[0], 200)  # a request without a body neither reads nor wipes another one's
    equal(f.request("POST", "/%s/save" % f.token, b"")[0], 400)
    equal(f.post("save", "", VALUE, "")[0], 503, "the first body is still there")
    half.close()
    check(wait_for(lambda: f.post("save", "", VALUE, "")[0] == 200, LONG), "its end makes room")
    equal(f.end()[0], 0)
    try:
        socket.create_connection(("127.0.0.1", f.port), timeout=5).close()
        check(False, "the port is open")
    except OSError:
        pass
    equal(versions(env), 1)


def outcomes(env):
    got = audit(env=env)
    return [(e["fields"]["action"], e["fields"]["outcome"], e["fields"].get("reason", "")) for e in got if e["kind"] == "vault"]


@test("a form that a signal ends, and any verb, has its end in the log; one that saved before is done", 120)
def signalled():
    env = home()
    before = len(outcomes(env))
    closed = "nothing was saved: the page was closed, cancelled or too old"
    wanted = [("set", "asked", ""), ("set", "failed", closed)]
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # a background job of a shell ignores it, and so what it starts
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        f = Form("value", PATH, env=env)
        os.kill(f.p.pid, number)
        status, _, err = f.end()
        equal(status, 65, err)
        within("ended by a signal; nothing was saved", err)
        equal(outcomes(env)[before:], wanted, number)
        before += 2
        check("kennel-form" not in descendants(os.getpid()).values(), "it has stayed")
    # the controls: a page that was closed, and one that saved
    f = Form("value", PATH, env=env)
    f.post("cancel")
    equal(f.end()[0], 65)
    f = Form("value", PATH, env=env)
    equal(f.post("save", "", VALUE, "")[0], 200)
    os.kill(f.p.pid, signal.SIGTERM)
    equal(f.end()[0], 0)
    equal(outcomes(env)[before:], wanted + [("set", "asked", ""), ("set", "done", "")])
    equal(versions(env), 1)
    # a verb that waits for its standard input
    p = start([KENNEL, "secret", "set", PATH, "--stdin"], env=environment(env), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
              stderr=subprocess.DEVNULL)
    check(wait_for(lambda: "kennel-secret" in descendants(p.pid).values(), LONG))
    os.kill(p.pid, signal.SIGTERM)
    equal(p.wait(LONG), 143)
    equal([e["fields"]["channel"] for e in audit(env=env) if e["kind"] == "vault"][-4:], ["console"] * 2 + ["command"] * 2)
    equal(outcomes(env)[before + 4:], [("set", "asked", ""), ("set", "unknown", "a signal ended it; the vault shows whether it was done")])


HOLD = """
import os, socket, sys, time
os.setgroups([]); os.setgid(%d); os.setuid(%d)
held = []
while True:
    held.append(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
    if len(held) == 60:
        print("held", flush=True)
    if len(held) >= 60:
        time.sleep(0.05)
        held.pop(0).close()
"""


@test("a control byte in the request's line, in a name or in a value of a head is refused, however the head arrives", 240)
def control_bytes():
    f = Form("value", PATH, env=home())
    host = f.host().encode()
    heads_with_control_bytes(f.port, b"GET /%s/state HTTP/1.1" % f.token.encode(),
                             [b"Host: " + host, b"Origin: http://" + host, b"Sec-Fetch-Site: same-origin",
                              b"Content-Type: application/octet-stream"])
    f.post("cancel")
    f.end()


@test("other users who hold as many connections as the form takes, and renew them, do not keep the person out", 120)
def strangers():
    if AS != "root" or not has_sock_diag():
        skip("root can be two users, and needs a kernel that says whose a connection is")
    env = home()
    f = Form("value", PATH, env=env)
    # as many users as one may be, by subordinate ids
    others = [start(["/usr/bin/python3", "-c", HOLD % (uid, uid), str(f.port)], stdout=subprocess.PIPE)
              for uid in range(61999, 62003)]
    for p in others:
        equal(p.stdout.readline(), b"held\n")
    for _ in range(20):
        equal(f.get("")[0], 200)
    equal(f.post("save", "", VALUE, "")[0], 200)
    equal(f.end()[0], 0)
    for p in others:
        p.kill()
        p.wait()
    equal(versions(env), 1)


@test("a person with another uid than the form's gets eight connections at one time, which a browser needs", 60)
def share():
    if AS != "root" or not has_sock_diag():
        skip("root can be two users, and needs a kernel that says whose a connection is")
    f = Form("value", PATH, env=home())
    equal(as_stranger(f.port, "/%s/" % f.token, 10), ["200"] * 8 + [""] * 2)
    f.post("cancel")
    f.end()


@test("kennel-form is confined: it is not traced, and has no file and no socket but its own", 60)
def process():
    env = home()
    f = Form("value", PATH, env=env)
    pid = [p for p, comm in descendants(f.p.pid).items() if comm == "kennel-form"]
    equal(len(pid), 1)
    status = open("/proc/%d/status" % pid[0]).read()
    within("Seccomp:\t2", status)
    within("NoNewPrivs:\t1", status)
    equal(int(re.search("CapEff:\t([0-9a-f]+)", status).group(1), 16) >> 12 & 1, 0, "CAP_NET_ADMIN")
    if AS == "root":
        fds = [os.readlink("/proc/%d/fd/%s" % (pid[0], n)) for n in os.listdir("/proc/%d/fd" % pid[0])]
        check(all(re.match(r"socket:|pipe:|/dev/null|/dev/tty|anon_inode:", x) for x in fds), fds)
    else:
        try:
            os.listdir("/proc/%d/fd" % pid[0])
            check(False, "it can be traced")
        except PermissionError:
            pass
    absent(f.token, open("/proc/%d/cmdline" % pid[0]).read())
    os.kill(f.p.pid, signal.SIGKILL)  # kennel's end is the form's
    f.p.wait()
    check(wait_for(lambda: pid[0] not in [p for p, comm in descendants(os.getpid()).items() if comm == "kennel-form"], LONG),
          "it has stayed")
    equal(versions(env), 0)


if __name__ == "__main__":
    try:
        main()
    finally:
        end_keepers()
