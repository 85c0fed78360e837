"""kennel import on the configurations that add-mcp writes: many clients by another
program's idea of their formats. Nothing is fetched."""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

ADD = STAGE + "/net/node_modules/add-mcp"
CLIENTS = ("claude-code claude-desktop cursor vscode github-copilot-cli windsurf zed codex gemini-cli cline goose "
           "opencode kiro antigravity").split()
TOKEN = "hunter2-hunter2"


def files(home):
    return {os.path.join(d, f): reads(os.path.join(d, f)) for d, _, fs in os.walk(home) for f in fs}


@test("what add-mcp writes for fourteen clients becomes kennel's, without the secret, and is restored to the byte", seconds=300)
def add_mcp():
    node = shutil.which("node")
    if node is None or not os.path.exists(ADD):
        skip("node or add-mcp is not here")
    home, kennel, project = (os.path.realpath(TMP) + "/import-" + d for d in ("home", "kennel", "project"))
    for d in (home, kennel, project):
        os.mkdir(d, 0o700)
    env = {"HOME": home, "KENNEL_HOME": kennel, "PATH": "/usr/local/bin:/usr/bin:/bin"}
    with open(ADD + "/package.json") as f:
        program = ADD + "/" + json.load(f)["bin"]["add-mcp"]
    for client in CLIENTS:
        r = subprocess.run([node, program, "/bin/cat", "-g", "-a", client, "-n", "srv", "--env", "API_TOKEN=" + TOKEN,
                            "--env", "LANG=C", "-y"], cwd=project, env=env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        equal(r.returncode, 0, (client, r.stdout))
    before = {p: t for p, t in files(home).items() if TOKEN.encode() in t}
    equal(len(before), len(CLIENTS), sorted(before))

    def run_kennel(*words):
        r = subprocess.run([KENNEL] + list(words), cwd=project, env=env, input=b"a long passphrase\n", timeout=120,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        equal(r.returncode, 0, r.stdout)
        absent(TOKEN, r.stdout.decode(), "the output")

    run_kennel("import", "--write", "--no-start", "--stdin")
    for path in before:
        text = reads(path)
        absent(TOKEN.encode(), text, path)
        within(b'"kennel"', text, path)
        within(b"LANG", text, path)
    run_kennel("import", "--undo")
    for path, text in before.items():
        equal(reads(path), text, path)
    run_kennel("secret", "lock")


main()
