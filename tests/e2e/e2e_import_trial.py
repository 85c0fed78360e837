"""kennel import --write starts each server once under its policy, and leaves what does not start."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from import_kit import TOKEN, Home, homes  # noqa: E402
from kit import *  # noqa: E402,F403
from registry_kit import Package, Registry, server  # noqa: E402

PYTHON = "/usr/bin/python3"
# Works without kennel, and not under a draft: it reads a file of the home.
NEEDS = "import os\nopen(os.path.expanduser('~/.needs.json')).read()\n" + server("x")
# Checks what it logs in with before it answers.
LOGIN = "import os, sys\nif os.environ.get('API_TOKEN') != '%s':\n    sys.exit('401 wrong credentials')\n" % TOKEN + server("x")
SECRET = "import os\nassert len(os.environ['API_TOKEN']) == %d\n" % len(TOKEN) + server("x")


def place(name, **entries):
    """A home with servers in code/ and one configuration; DIR is code/."""
    h = Home(name)
    for file, text in (("ok.py", server("x")), ("needs.py", NEEDS), ("login.py", LOGIN), ("secret.py", SECRET),
                       ("reads.py", "import sys\nopen(sys.argv[1]).read()\n" + server("x"))):
        h.put("code/" + file, text)
    h.put(".needs.json", "{}")
    h.put("code/notes", "x")
    text = json.dumps({"mcpServers": entries}, indent=1).replace("DIR", h.dir + "/code")
    h.text, h.at = text.encode(), h.put(".cursor/mcp.json", text)
    return h


def table(out):
    """{server: what the table says of it}"""
    rows = out[out.index("UNDER KENNEL"):].split("\n\n")[0].splitlines()[1:]
    return {row.split()[1]: " ".join(row.split()[2:]) for row in rows if row.startswith("cursor/")}


def entries(h):
    return json.loads(reads(h.at))["mcpServers"]


def answers(h, name):
    s = Mcp([KENNEL, "run", name], env=h.env())
    s.initialize()
    within('"x"', json.dumps(s.request("tools/list")))
    s.close()


STARTS = {"needs": {"command": PYTHON, "args": ["-u", "DIR/needs.py"]},
          "bash": {"command": "bash", "args": ["-c", "source ~/.profile-of-nobody && exec python3 DIR/ok.py"]},
          "login-shell": {"command": "bash", "args": ["-lc", "exec %s -u DIR/ok.py" % PYTHON]},
          "change": {"command": "/bin/sh", "args": ["-c", "cd DIR && python3 ok.py"]},
          "false": {"command": "/usr/bin/false"},
          "logs-in": {"command": PYTHON, "args": ["DIR/login.py"], "env": {"API_TOKEN": TOKEN}}}


@test("a server that does not start under its draft is left byte for byte, in the table with its reason, and the status says so; one that starts is replaced")
def left():
    h = place("left-trial", good={"command": PYTHON, "args": ["DIR/ok.py"]}, **STARTS)
    code, out, err = h.run("import", "--write", "--stdin")
    equal(code, 65, out + err)
    said = table(out)
    equal(said.pop("good"), "started", out)
    for name, wanted in (("needs", "it exited with status 1 before it answered"), ("false", "it exited with status 1"),
                         ("login-shell", "it exited with status 127"), ("change", "it exited with status 2"), ("bash", "it exited with status 1"),
                         ("logs-in", "it exited with status 1")):
        check(said[name].startswith("not started: " + wanted), name, said)
        within("\n%s is left as it was: its server does not start under %s/policies/%s.kennel\n" % (name, h.kennel, name), out)
    equal(set(said), set(STARTS))
    now, before = entries(h), json.loads(h.text)["mcpServers"]
    equal(now.pop("good"), {"command": "kennel", "args": ["run", "good"]})
    equal(now, {k: v for k, v in before.items() if k != "good"})
    # the lines to add, after the table
    tail = out[out.index("UNDER KENNEL"):]
    for line in ("FileNotFoundError: [Errno 2] No such file or directory: '/tmp/.needs.json'", "add `exec allow %s **`" % PYTHON,
                 "add `read %s/code`" % h.dir, "401 wrong credentials"):
        within(line, tail)
    check(not os.path.exists(h.kennel + "/vault/secrets.vault") or b"mcp/logs-in" not in h.run("secret", "versions")[1].encode(),
          "the secret of a server that is left is not stored")
    answers(h, "good")
    equal(h.run("import", "--undo")[0], 0)
    equal(reads(h.at), h.text)
    h.end()


@test("a second import starts a server under the policy that it reuses: still left; after the lines are added it is replaced")
def again():
    h = place("again", change=STARTS["change"])
    for _ in range(2):
        code, out, err = h.run("import", "--write")
        equal(code, 65, out + err)
        within("not started: it exited with status 2", table(out)["change"])
        equal(reads(h.at), h.text)
    policy = h.kennel + "/policies/change.kennel"
    text = reads(policy).decode()
    more = "    read %s\n    limit processes" % (h.dir + "/code")
    with open(policy, "w") as f:
        f.write(text.replace("    limit processes", more))
    # the next thing that it lacks: a program that the shell does not find
    code, out, err = h.run("import", "--write")
    equal(code, 65, out + err)
    within("not started: it exited with status 127", table(out)["change"])
    found = re.search("add `(exec allow [^`]*)`", out)
    check(found is not None, out)
    with open(policy, "w") as f:
        f.write(text.replace("    limit processes", "    %s\n%s" % (found.group(1), more)))
    code, out, err = h.run("import", "--write")
    equal(code, 0, out + err)
    equal(table(out), {"change": "started"})
    equal(entries(h)["change"], {"command": "kennel", "args": ["run", "change"]})
    answers(h, "change")
    equal(h.run("import", "--undo")[0], 0)
    equal(reads(h.at), h.text)
    h.end()


@test("a server with a secret starts with a placeholder of its length, its tools are in the policy by name, and the secret is stored after that")
def placeholders():
    h = place("placeholders", s={"command": PYTHON, "args": ["DIR/secret.py"], "env": {"API_TOKEN": TOKEN}},
              plain={"command": PYTHON, "args": ["DIR/ok.py"], "env": {"COLOUR": "blue"}})
    # a placeholder of a secret that is not stored yet has 40 letters and digits
    h.put("code/secret.py", SECRET.replace("== %d" % len(TOKEN), "in (%d, 40)" % len(TOKEN)))
    code, out, err = h.run("import", "--write", "--stdin")
    equal(code, 0, out + err)
    equal(table(out), {"s": "started with placeholders", "plain": "started"})
    for name in ("s", "plain"):
        policy = reads(h.kennel + "/policies/%s.kennel" % name).decode()
        within('"x"\n', policy)
        absent("by-annotations", policy)
        answers(h, name)
    within("mcp/s/api-token", h.run("secret", "grants")[1])
    equal(h.run("import", "--undo")[0], 0)
    equal(reads(h.at), h.text)
    h.end()


@test("--no-start replaces without a trial, and the table says that nothing was tried; a policy that does not compile is left all the same")
def skipped():
    h = place("skipped", false=STARTS["false"], wrong={"command": PYTHON, "args": ["DIR/ok.py"], "env": {"LD_PRELOAD": "/x.so"}})
    code, out, err = h.run("import", "--write", "--no-start")
    equal(code, 65, out + err)
    said = table(out)
    equal(said["false"], "not tried: --no-start was given")
    check(said["wrong"].startswith("not started: "), out)
    within("error: LD_PRELOAD is not allowed", out)
    equal(entries(h), {"false": {"command": "kennel", "args": ["run", "false"]}, "wrong": json.loads(h.text)["mcpServers"]["wrong"]})
    equal(os.listdir(h.kennel + "/policies"), ["false.kennel"], "a policy that does not compile is not kept")
    h.end()


@test("attack: a server of a reused policy with a granted host connects to it in its trial, and reaches nothing")
def unreachable():
    import socket
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(3)
        port = listener.getsockname()[1]
        h = place("unreachable", far={"command": PYTHON, "args": ["DIR/net.py"]})
        h.put("code/net.py", "import socket\ntry:\n    socket.create_connection(('localhost', %d), 2).sendall(b'x')\n"
              "except OSError:\n    pass\n" % port + server("x"))
        code, out, err = h.run("import", "--write")
        equal(code, 0, out + err)
        equal(h.run("import", "--undo")[0], 0)
        policy = h.kennel + "/policies/far.kennel"
        text = reads(policy).decode()
        with open(policy, "w") as f:
            f.write(text.replace("    limit processes", "    net allow localhost:%d to loopback plain\n    limit processes" % port))
        code, out, err = h.run("import", "--write")
        equal((code, table(out)), (0, {"far": "started"}), out + err)
        try:
            listener.accept()
            check(False, "the trial reached a host")
        except TimeoutError:
            pass
        answers(h, "far")
        listener.accept()[0].close()  # the control
    h.end()


FILES = "@modelcontextprotocol/server-filesystem"


@test("without a terminal, a server for a person's files whose configuration names none is left, with the command; its cwd or --cwd names it; the home is not taken")
def files():
    registry = Registry(Package(FILES, "1.0.0", {"server.py": server("read_file"), "data.txt": "x"}, bin_="server.py"))
    for number, (more, options, wanted) in enumerate((({}, [], 65), ({"cwd": "HOME"}, [], 65), ({"cwd": "HOME/code"}, [], 0), ({}, ["--cwd", "code"], 0),
                                                      ({"args": ["-y", FILES, "HOME/code"]}, [], 0))):
        entry = json.loads(json.dumps({"command": "npx", "args": ["-y", FILES], **more}).replace("HOME", os.path.realpath(TMP) + "/import-files%d" % number))
        h = place("files%d" % number, s=entry)
        code, out, err = h.run("import", "--write", *[o.replace("code", h.dir + "/code") for o in options], registry=registry.url)
        equal(code, wanted, out + err)
        if wanted:
            within("s needs a directory with your files, and its configuration names none: `kennel import --write --cwd DIR s`", err)
            within("not started: the directory that it works in is not known", table(out)["s"])
            equal(reads(h.at), h.text)
        else:
            within("let files = %s/code\n" % h.dir, reads(h.kennel + "/policies/s.kennel").decode())
            equal(table(out), {"s": "started"})
            equal(h.run("import", "--undo")[0], 0)
            equal(reads(h.at), h.text)
        h.end()
    registry.close()


try:
    main()
finally:
    for home in homes:
        home.end()
