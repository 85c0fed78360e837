"""A server that does not start says why: to the agent, and on standard error."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
SECRET = "start-s3ntinel-%d-k3nn3l" % os.getpid()


def refused(script, more="", **how):
    """What the agent is told by a server that is this script, and kennel's own words."""
    s = kennel_run("    run %s\n    tool allow *\n%s" % (words("/bin/sh", "-c", script), more), **how)
    r = s.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                 "clientInfo": {"name": "kit", "version": "1"}})
    s.close()
    equal((r["error"]["code"], r["error"]["data"]["kennel"]["outcome"]), (-32000, "gone"))
    return r["error"]["message"], s.stderr()


@test("S2-30 how it ended, its last five lines, the command that shows the rest")
def status():
    told, said = refused("for i in 1 2 3 4 5 6 7; do echo line $i >&2; done; exit 3")
    check("it exited with status 3 before it answered" in told, told)
    check("line 3\n  line 4\n  line 5\n  line 6\n  line 7" in told and "line 2" not in told, told)
    check("see `kennel server log t`" in told, told)
    r = run([KENNEL, "server", "log", "nosuch"])
    equal(r.returncode, 65)
    check(b"no log of server nosuch in " in r.stderr and b"`kennel list` lists the servers" in r.stderr, r.stderr)
    check("t: it exited with status 3 before it answered\n" in said and "line 7\n" in said, said)
    told, _ = refused("i=0; while [ $i -lt 2000 ]; do echo long line $i >&2; i=$((i + 1)); done; exit 3")
    check("answered\n  long line 1995\n" in told and "  long line 1999\nsee" in told, told)
    told, _ = refused("printf '%05000d' 1 >&2; exit 3")
    check("0001" not in told and "answered\nsee" in told, told)
    told, _ = refused("kill -9 $$")
    check("it was killed by signal 9 (SIGKILL)" in told, told)


def granting(path):
    return "the server names %s, which is not granted; to grant it, add `read %s`" % (path, path)


@test("a path that it names, that is there, and that is not granted")
def missed():
    there, granted, private = TMP + "/modules", TMP + "/granted", TMP + "/.private"
    for d in there, granted, private:
        os.mkdir(d)
    told, said = refused("echo \"Unable to open '%s', %s/no, %s, %s.\" >&2; exit 1" % (there, TMP, granted, private),
                         "    read %s\n" % words(granted))
    check(granting(there) in told and "t: " + granting(there) in said, told, said)
    equal(told.count("to grant it"), 1)


@test("a module or library that it could not load")
def modules():
    script, package = TMP + "/app/build/index.js", TMP + "/app/node_modules/@scope/zod"
    os.makedirs(package)
    for text in "Error: Cannot find module '@scope/zod'\n- %s" % script, \
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@scope/zod' imported from %s" % script:
        told, _ = refused("echo %s >&2; exit 1" % words(text))
        check(granting(TMP + "/app/node_modules") in told, told)
    entry = package + "/cli.js"
    with open(entry, "w") as f:
        os.fchmod(f.fileno(), 0o755)
    told, _ = refused("echo \"Error: Cannot find module '%s'\" >&2; exit 1" % entry)
    check(granting(TMP + "/app/node_modules") in told and "exec allow" not in told, told)
    told, _ = refused("echo 'spawn %s EACCES' >&2; exit 1" % entry)
    check("add `exec allow %s **`" % entry in told, told)
    told, _ = refused("echo \"Cannot find module '@scope/../zod' from %s\" >&2; exit 1" % script)
    check("to grant it" not in told, told)
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)
        site = home + "/.local/lib/python3.11/site-packages"
        os.makedirs(site + "/mcp")
        told, _ = refused("echo \"ModuleNotFoundError: No module named 'mcp'\" >&2; exit 1", env={"HOME": home})
        check(granting(site) in told, told)
    library = next(p for p in sorted(os.listdir("/usr/lib/" + os.uname().machine + "-linux-gnu")) if p.startswith("libm.so."))
    told, _ = refused("echo \"Error: %s: cannot open shared object file\" >&2; exit 1" % library)
    check("/" + library + ", which is not granted" in told, told)


@test("a program that it was refused")
def program():
    told, _ = refused("/usr/bin/id; exit 1")
    check("the server names /usr/bin/id, which is not granted; to grant it, add `exec allow /usr/bin/id **`" in told, told)
    equal(told.count("to grant it"), 1)
    told, _ = refused("/usr/bin/id; exit 1", "    read /usr/bin\n")
    check("its exec of /usr/bin/id was refused; to grant it, add `exec allow /usr/bin/id **`" in told, told)
    told, _ = refused("/usr/bin/no-such-program; exit 1")
    check("its exec" not in told, told)


@test("a server that could not open a pseudo-terminal is named the line for it, `tty`")
def terminal():
    for text in ("OSError: out of pty devices: openpty", "forkpty(3) failed.", "open /dev/ptmx: no such file or directory"):
        told, _ = refused("echo '%s' >&2; exit 1" % text)
        check("the server names /dev/ptmx; to grant it pseudo-terminals of its own, add `tty`" in told, told)
        equal(told.count("to grant it"), 1)
        told, _ = refused("echo '%s' >&2; exit 1" % text, "    tty\n")
        check("to grant it" not in told, "control: it is granted", told)


@test("a program that is absent in the cell and present on the host has its line, whichever program missed it; one that is absent on both has none")
def absent_program():
    for name, line in (("id", True), ("no-such-program", False)):
        for script in ("%s; exit 1" % name,  # the shell's own words
                       "echo 'bash: line 1: %s: command not found' >&2; exit 127" % name,
                       "echo \"env: '%s': No such file or directory\" >&2; exit 127" % name,
                       "echo \"FileNotFoundError: [Errno 2] No such file or directory: '%s'\" >&2; exit 1" % name,
                       "echo 'Error: spawn %s ENOENT' >&2; exit 1" % name):
            told, said = refused(script, env={"PATH": "/usr/bin:/bin"})
            equal("to grant it, add `exec allow /usr/bin/id **`" in told + said, line, script + told)
    told, _ = refused("echo 'spawn id failed' >&2; exit 1", env={"PATH": "/usr/bin:/bin"})
    check("to grant it" not in told, told)


@test("attack: a server that gets placeholders connects to a granted host, and reaches none; the control reaches it")
def offline():
    import socket
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(3)
        code = ("import socket, sys; s = socket.create_connection(('localhost', %d), 5); s.sendall(b'out'); "
                "sys.stderr.write('it said ' + repr(s.recv(9)))" % listener.getsockname()[1])
        body = "    run %s\n    net allow localhost:%d to loopback plain\n    tool allow *\n" % (
            words("/usr/bin/python3", "-c", code), listener.getsockname()[1])
        for more in ([], ["--placeholders"]):
            s = Mcp([KENNEL, "run", "t", "--policy", policy(body), *more])
            s.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "kit", "version": "1"}}})
            try:
                peer = listener.accept()[0]
                equal((peer.recv(9), more), (b"out", []))
                peer.sendall(b"in")
                peer.close()
            except TimeoutError:
                equal(more, ["--placeholders"], s.stderr())
            said = json.loads(s.line(5))["error"]["message"]
            s.close()
            said += s.stderr()
            equal("it said b'in'" in said, not more, said)
            equal("a server that gets placeholders reaches no host" in said, bool(more), said)


@test("the lines of a Node.js trace that tell nothing are left out")
def trace():
    told, _ = refused("printf 'Error: it broke\\n\\n    at f (a.js:1)\\n    at g (a.js:2)\\n}\\n\\nNode.js v22\\n' >&2; exit 1")
    check("answered\n  Error: it broke\n  Node.js v22\nsee `" in told, told)


@test("S1-02 a secret in its last words is redacted, control bytes are text")
def redacted():
    told, said = refused("printf 'token %s\\033[2J\\n' \"$TOKEN\" >&2; exit 1",
                         "    secret TOKEN from env TOKEN\n", env={"TOKEN": SECRET})
    check("token ***\\x1b[2J" in told and SECRET not in told + said and "\033" not in told + said, told, said)


@test("a server that has answered only ends")
def answered():
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}})
    s = kennel_run("    run %s\n    tool allow *\n" % words(
        "/bin/sh", "-c", "read a; echo '%s'; read b; read c; echo bye >&2; exit 1" % hello))
    s.initialize()
    r = s.request("tools/list", {})
    check("error" in r and "bye" not in str(r) and "before it answered" not in str(r), r)
    s.close()


@test("audit sessions: a server that kennel ends has not crashed, and one that never answers has not ended cleanly")
def who_ended():
    def last():
        r = run([KENNEL, "audit", "sessions", "--json", "--no-header"])
        return [json.loads(x)["ended"] for x in r.stdout.splitlines()][-1]

    def ended(p):
        check(wait_for(lambda: p.p.poll() is not None, 8) is not None, "it stays")
        return p.stderr()
    ignores = "    run %s\n    tool allow *\n" % words("/bin/sh", "-c", "while :; do sleep 1; done")
    # the agent leaves before there is an answer, and kennel ends the server with SIGTERM
    s = kennel_run(ignores)
    s.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    time.sleep(0.5)
    s.p.send_signal(15)
    absent("before it answered", ended(s))
    equal(last(), "cleanly")
    # it never answers, and kennel ends it
    s = kennel_run(ignores + "    timeout start 1s\n")
    s.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    ended(s)
    check(wait_for(lambda: last() == "kennel ended it: the server was late", 5) is not None, last())


@test("audit sessions says that such a server crashed")
def sessions():
    def sessions():
        r = run([KENNEL, "audit", "sessions", "--json", "--no-header"])
        return [json.loads(x) for x in r.stdout.splitlines()]

    n = len(sessions())
    refused("exit 0")
    # control: the agent closes, and the server ends with an error of its own
    s = kennel_run("    run %s\n    tool allow *\n" % words("/bin/sh", "-c", "cat >&2; exit 1"))
    s.close()
    check(wait_for(lambda: len(audit("--kind", "stop")) >= 2 * (n + 2), 5), "no end")
    crashed, clean = sessions()[n:]
    equal((crashed["ended"], clean["ended"]), ("the server crashed", "cleanly"))
    (stop,) = [e["fields"] for e in audit("--kind", "stop")
               if e["session"] == crashed["session"] and e["writer"]["role"] == "supervisor"]
    equal((stop["outcome"], stop["reason"]), ("crashed", "it exited with status 0 before it answered"))


if __name__ == "__main__":
    main()
