"""kennel import: a home of its own with configurations of clients."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import KENNEL, TMP, Mcp, absent, equal, reads  # noqa: E402
from registry_kit import npm_path  # noqa: E402

TOKEN = "hunter2-hunter2"  # the secret of every fixture
PASSPHRASE = b"a long passphrase\n"
homes = []

# The description of its tool has its variables, spelled apart, so that no redaction meets them; and a text of a person.
SERVER = """
import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    text = json.dumps({k: " ".join(v) for k, v in os.environ.items()}) + "\\n" + os.environ.get("SHOWN", "")
    result = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
              "tools/list": {"tools": [{"name": "get_text", "description": text, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]},
              }.get(m["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"""


class Home:
    """A home of its own, with kennel's directories in it."""

    def __init__(self, name):
        self.dir = os.path.realpath(TMP) + "/import-" + name
        os.makedirs(self.dir + "/project", mode=0o700)
        self.kennel = self.dir + "/kennel"
        os.mkdir(self.kennel, 0o700)
        homes.append(self)

    def put(self, path, text):
        path = self.dir + "/" + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return path

    def env(self, registry="http://127.0.0.1:9/"):  # nothing listens
        return {"PATH": npm_path(), "HOME": self.dir, "KENNEL_HOME": self.kennel, "KT_REGISTRY": registry}

    def run(self, *words, stdin=PASSPHRASE, together=False, **env):
        """Without a controlling terminal."""
        r = subprocess.run([KENNEL] + list(words), cwd=self.dir + "/project", input=stdin, timeout=50, start_new_session=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT if together else subprocess.PIPE, env=self.env(**env))
        err = b"" if together else r.stderr
        absent(TOKEN, (r.stdout + err).decode(), "the secret in the output")
        return r.returncode, r.stdout.decode(), err.decode()

    def write(self, *words):
        return self.run("import", "--write", "--no-start", "--stdin", *words)

    def end(self):
        self.run("secret", "lock")


def tell(h, name, **env):
    """The variables of SERVER, and its text, under its policy."""
    s = Mcp([KENNEL, "run", name], env=dict(h.env(), **env))
    s.initialize()
    text = s.request("tools/list")["result"]["tools"][0]["description"]
    s.close()
    known, _, shown = text.partition("\n")
    return {k: v.replace(" ", "") for k, v in json.loads(known).items()}, shown


def policy(h, name):
    """The text of a policy that passes its check."""
    path = "%s/policies/%s.kennel" % (h.kennel, name)
    code, _, err = h.run("policy", "check", path)
    equal(code, 0, err)
    return reads(path).decode()


def row(out, name):
    """Its row in the table."""
    return [line for line in out.splitlines() if line.split()[1:2] == [name]][0]
