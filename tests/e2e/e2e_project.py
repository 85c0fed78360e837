"""Drafts of commands that run a project: its directory, its modules, and what a draft never grants."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from import_kit import Home, homes  # noqa: E402
from kit import *  # noqa: E402,F403
from registry_kit import server  # noqa: E402

PYTHON = "/usr/bin/python3"
# Needs a file of its own, which it finds from the directory that it is started in, and a module beside it.
LOCAL = "import helper, json, os\nassert json.load(open('settings.json')) == {'a': 1}\n" + server("x")
# A stand-in of tsx: starts a native program of a module that it depends on, then its interpreter again for the script.
TSX = "#!/usr/bin/python3\nimport os, subprocess, sys\nroot = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))\n" \
      "subprocess.run([root + '/@esbuild/linux-x64/bin/esbuild', '--version'], check=True, stdout=2)\n" \
      "sys.exit(subprocess.run([sys.executable, '-u'] + sys.argv[1:]).returncode)\n"


def project(h, where="app"):
    """A project with a server, and tsx among its modules."""
    at = h.dir + "/" + where
    for file, text in (("settings.json", '{"a": 1}'), ("helper.py", ""), ("server.ts", LOCAL), ("package.json", '{"name": "app", "version": "1.0.0"}'),
                       ("node_modules/tsx/package.json", '{"name": "tsx", "version": "4.0.0", "bin": "./cli.py", "dependencies": {"esbuild": "1"}}'),
                       ("node_modules/tsx/cli.py", TSX), ("yours/__init__.py", ""), ("yours/__main__.py", LOCAL)):
        h.put(where + "/" + file, text)
    for name in ("@esbuild/linux-x64", "other"):
        os.makedirs(at + "/node_modules/%s/bin" % name)
        shutil.copy("/usr/bin/uname", at + "/node_modules/%s/bin/%s" % (name, "esbuild" if name[0] == "@" else "other"))
    os.makedirs(at + "/node_modules/.bin")
    os.chmod(at + "/node_modules/tsx/cli.py", 0o755)
    os.symlink("../tsx/cli.py", at + "/node_modules/.bin/tsx")
    return at


def imported(h, **entries):
    """The table of import --write, and the policies."""
    h.text = json.dumps({"mcpServers": entries}, indent=1).encode()
    h.at = h.put(h.where, h.text)
    code, out, err = h.run("import", "--write")
    rows = out[out.index("UNDER KENNEL"):].split("\n\n")[0].splitlines()[1:]
    policies = {}
    for name in entries:
        path = h.kennel + "/policies/%s.kennel" % name
        policies[name] = reads(path).decode() if os.path.exists(path) else ""
    return code, {r.split()[1]: " ".join(r.split()[2:]) for r in rows if "/" in r.split()[0]}, policies, out + err


def home(name, where=".cursor/mcp.json"):
    h = Home(name)
    h.where = where
    return h


def answers(h, name):
    s = Mcp([KENNEL, "run", name], env=h.env())
    s.initialize()
    within('"x"', json.dumps(s.request("tools/list")))
    s.close()


@test("python3 -m with PYTHONPATH, npx tsx with the entry's cwd, tsx with an absolute script: each starts, in the directory of its project, and is undone byte for byte")
def projects():
    h = home("projects")
    at = project(h)
    code, said, policy, out = imported(
        h, module={"command": "python3", "args": ["-m", "yours"], "env": {"PYTHONPATH": at}},
        npx={"command": "npx", "args": ["-y", "tsx", "server.ts"], "cwd": at},
        own={"command": at + "/node_modules/.bin/tsx", "args": [at + "/server.ts"]},
        relative={"command": "./node_modules/.bin/tsx", "args": ["server.ts"], "cwd": at})
    equal((code, said), (0, dict.fromkeys(said, "started")), out)
    for name, text in policy.items():
        within("    cwd %s\n" % at, text)
        within("    read %s\n" % at, text)
        absent("PYTHONPATH", text)
        if name != "module":
            within("    exec allow %s/node_modules/@esbuild/linux-x64/bin/esbuild **\n" % at, text)
            within("# a program of a dependency:  exec allow %s/node_modules/other/bin/other" % at, text)
        answers(h, name)
    within("PYTHONPATH of module is left out: `cwd %s` replaces it" % at, h.run("init", "again", "--env", "PYTHONPATH=" + at, "-o", "-", "--", "python3", "-m", "yours")[2] + out)
    equal(h.run("import", "--undo")[0], 0)
    equal(reads(h.at), h.text)


@test("bash -c with cd and exec is left, with the lines that it lacks one after the other; with them it starts")
def shell():
    h = home("shell")
    at = project(h)
    entry = {"command": "bash", "args": ["-c", "cd %s && exec python3 -m yours" % at]}
    code, said, policy, out = imported(h, b=entry)
    lines = []
    while code == 65 and len(lines) < 4:
        check(said["b"].startswith("not started: "), said)
        equal(reads(h.at), h.text)
        found = re.search("add `((?:read|exec allow) [^`]*)`", out)
        check(found is not None and found.group(1) not in lines, out)
        lines.append(found.group(1))
        with open(h.kennel + "/policies/b.kennel", "w") as f:
            f.write(policy["b"].replace("    limit processes", "".join("    %s\n" % x for x in lines) + "    limit processes"))
        code, said, _, out = imported(h, b=entry)
    equal((code, said, lines), (0, {"b": "started"}, ["read " + at, "exec allow /usr/bin/python3 **"]), out)
    answers(h, "b")


@test("attack: an entry names the root, the home, a hidden directory of it or kennel's own as argument, value or cwd, and no draft grants one; files, and directories of the project, are granted")
def never():
    h = home("never")
    at = project(h)
    for d in (".ssh", ".config/app", "docs"):
        os.makedirs(h.dir + "/" + d, exist_ok=True)
    key = h.put(".config/app/settings.json", "{}")
    code = h.put("app/plain.py", server("x"))
    for path in ("/", h.dir, os.path.dirname(h.dir), h.dir + "/.ssh", h.dir + "/.config/app", h.kennel, h.kennel + "/policies"):
        for n, more in enumerate(({"args": [code, path]}, {"args": [code], "env": {"WHERE": path}}, {"args": [code], "cwd": path})):
            shutil.rmtree(h.kennel + "/policies", ignore_errors=True)
            os.makedirs(h.kennel + "/policies")
            _, said, policy, out = imported(h, s={"command": PYTHON, **more})
            equal(said["s"], "started", out)
            for line in policy["s"].splitlines():
                check(line.split()[:1] not in (["read"], ["write"], ["cwd"]) or line.split()[-1] not in (path, '"%s"' % path), path, policy["s"])
            within("# not granted, because it ", policy["s"])
            h.run("import", "--undo")
    # the control: what a draft may grant
    for path in (key, h.dir + "/docs", at):
        shutil.rmtree(h.kennel + "/policies", ignore_errors=True)
        os.makedirs(h.kennel + "/policies")
        _, said, policy, out = imported(h, s={"command": PYTHON, "args": [code, path]})
        within("    read %s\n" % path, policy["s"])
        h.run("import", "--undo")


@test("attack: the configuration of a project names a directory outside of it; a configuration of the user may")
def outside():
    for where, wanted in (("project/.mcp.json", False), (".cursor/mcp.json", True)):
        h = home("outside-%d" % wanted, where)
        os.makedirs(h.dir + "/docs")
        os.makedirs(h.dir + "/project/inside")
        code = h.put("project/plain.py", server("x"))
        _, said, policy, out = imported(h, s={"command": PYTHON, "args": [code, h.dir + "/docs", h.dir + "/project/inside"]},
                                        c={"command": PYTHON, "args": [code], "cwd": h.dir + "/docs"})
        equal("\n    read %s/docs\n" % h.dir in policy["s"], wanted, policy["s"])
        equal("\n    cwd %s/docs\n" % h.dir in policy["c"], wanted, policy["c"])
        within("    read %s/project/inside\n" % h.dir, policy["s"])
        if not wanted:
            within("# not granted, because it is outside the project of its configuration:  read %s/docs\n" % h.dir, policy["s"])


@test("--cwd of init, learn and import is the directory of the server: relative arguments are found there, and the policy has cwd and read")
def option():
    h = home("option")
    at = project(h)
    h.put("app/main.py", LOCAL)
    for verb in ("init", "learn"):
        code, out, err = h.run(verb, verb + "-it", "--cwd", at, "--", PYTHON, "main.py")
        equal(code, 0, out + err)
        text = reads(h.kennel + "/policies/%s-it.kennel" % verb).decode()
        within("    run %s %s/main.py\n    cwd %s\n" % (PYTHON, at, at), text)
        answers(h, verb + "-it")
    h.put(h.where, json.dumps({"mcpServers": {"s": {"command": PYTHON, "args": ["main.py"]}}}))
    equal(h.run("import", "--write", "--cwd", at)[0], 0)
    answers(h, "s")
    equal(h.run("init", "no", "--cwd", at + "/nowhere", "--", PYTHON, "main.py")[0], 65)


try:
    main()
finally:
    for one in homes:
        one.end()
