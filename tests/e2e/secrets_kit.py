"""A session of kennel serve in a project with secrets, and the person who answers its agent."""
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kit import *  # noqa: E402,F403
from serve_kit import *  # noqa: E402,F403

LONG = 45
VALUE = "use-approval-s3ntinel-%d-k3nn3l" % os.getpid()
PATH = "team/use/token"
homes = [0]


class Session:
    """kennel serve in a project, with a vault if a server needs its value."""

    def __init__(self, manifest="secret %s {\n    description \"of the team\"\n    approve session\n}\n" % PATH,
                 servers=None, vault=False):
        homes[0] += 1
        self.dir = "%s/use-%d" % (TMP, homes[0])
        self.env = {"KENNEL_HOME": self.dir + "/home"}
        os.makedirs(self.dir + "/.kennel")
        os.makedirs(self.dir + "/home", mode=0o700)
        self.write(manifest)
        if vault:
            self.secret("init", "--stdin", stdin="a passphrase of some length")
            self.secret("set", PATH, "--stdin", stdin=VALUE)
        self.servers = servers or [server("one", more="    secret GH from vault %s\n" % PATH)]
        self.h = Hub(*self.servers, env=self.env, args=["--project", self.dir])
        if vault:
            self.secret("grant", PATH, "--server", "one", "--policy", self.h.path)

    def write(self, text):
        with open(self.dir + "/.kennel/secrets.kennel", "w") as f:
            f.write(text)
        os.chmod(self.dir + "/.kennel/secrets.kennel", 0o600)

    def secret(self, *words_, stdin="", status=0):
        r = run([KENNEL, "secret"] + list(words_), stdin=stdin, env=self.env, timeout=60)
        equal(r.returncode, status, r.stderr)

    def ask(self, path=PATH, reason="to push an image", **more):
        """The id of a new request."""
        got = self.h.structured("secrets_request_use_approval", path=path, reason=reason, **more)
        equal(list(got), ["request_id"])
        check(matches("^prov-[0-9a-f]{12}$", got["request_id"]), got)
        return got["request_id"]

    def poll(self, rid):
        return self.h.structured("secrets_poll_status", request_id=rid)

    def status(self, rid):
        return self.poll(rid)["status"]["kind"]

    def settled(self, rid, want):
        check(wait_for(lambda: self.status(rid) != "pending", LONG) is not None, "still pending")
        equal(self.status(rid), want)

    def approve(self, *words_):
        r = run([KENNEL, "approve"] + list(words_), env=self.env)
        return r.returncode, r.stdout.decode(), r.stderr.decode()

    def questions(self):
        got = []
        # a session that ends while it is asked is named, and is gone the next time
        check(wait_for(lambda: got.clear() or got.extend(self.approve("list", "--json")) or got[0] == 0, LONG) is not None, got)
        return [json.loads(line) for line in got[1].splitlines()]

    def question(self):
        got = []
        wait_for(lambda: got.clear() or got.extend(self.questions()) or got, LONG)
        equal(len(got), 1, got)
        return got[0]

    def answer(self, *words_):
        """A person answers the one question that is pending."""
        q = self.question()
        equal(self.approve(words_[0], q["id"], *words_[1:])[0], 0)
        return q

    def restart(self):
        equal(run([KENNEL, "server", "restart", "one"], env=self.env).returncode, 0)

    def works_unasked(self):
        """The server starts and answers, and no person was asked."""
        equal(self.h.said("one.echo", seconds=LONG, text="x"), "one: x")
        equal(self.questions(), [])

    def asks(self, *answer):
        """The next start asks a person."""
        rid = self.h.post_call("one.echo", {"text": "x"})
        q = self.answer(*answer)
        equal((q["kind"], q["subject"], q["request"]), ("secret", PATH, None))
        return self.h.wait(rid, LONG)

    def done(self):
        self.h.close()
        for pid, comm in descendants(os.getpid()).items():
            if comm == "kennel-keeper":
                os.kill(pid, signal.SIGTERM)


def refused(answer, kind, path=None):
    r = answer["result"]
    s = r["structuredContent"]
    equal((r.get("isError"), s.get("error", {}).get("kind"), s.get("error", {}).get("path")), (True, kind, path), r)
    return r["content"][0]["text"]


class Typist:
    """A command on a terminal of its own, in a session of its own: a person types."""

    def __init__(self, cmd, env):
        self.master, slave = pty.openpty()
        self.out = ""
        self.p = start(["setsid", "--ctty", "--wait"] + cmd, stdin=slave, stdout=slave, stderr=slave,
                       env=environment(env), cwd="/")
        os.close(slave)

    def _read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.out += os.read(self.master, 65536).decode(errors="replace")
                return True
            except OSError:
                pass
        return False

    def until(self, text, seconds=LONG):
        end = time.time() + seconds
        while text not in self.out:
            check(time.time() < end and (self._read(1) or self.p.poll() is None), "no %r in" % text, self.out)

    def type(self, after, line):
        self.until(after)
        self.out = ""
        os.write(self.master, line.encode() + b"\n")

    def done(self):
        end = time.time() + LONG
        while self.p.poll() is None and time.time() < end:
            self._read(0.2)
        while self._read(0):
            pass
        os.close(self.master)
        return self.p.wait(1)
