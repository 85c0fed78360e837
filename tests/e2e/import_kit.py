"""kennel import: a home of its own with configurations of clients."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import KENNEL, TMP, absent  # noqa: E402
from registry_kit import npm_path  # noqa: E402

TOKEN = "hunter2-hunter2"  # the secret of every fixture
PASSPHRASE = b"a long passphrase\n"
homes = []


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
