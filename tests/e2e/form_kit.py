"""A page of kennel-form, and a client of it that sends what it likes."""
import base64
import json
import re
import select
import subprocess

from kit import *  # noqa: F403
from console_kit import as_stranger, exchange, has_sock_diag, heads_with_control_bytes  # noqa: F401

LONG = 45  # seconds until something that must come is given up


def b64(data):
    return base64.urlsafe_b64encode(data.encode() if isinstance(data, str) else data).decode().rstrip("=")


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Form:
    """`kennel secret form ...`, or the page at an address that a console gave."""

    def __init__(self, *argv, env=None, url=None):
        self.p = None
        if url is None:
            self.p = start([KENNEL, "secret", "form", *argv], env=environment(env), stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            check(select.select([self.p.stdout], [], [], LONG)[0], "no address")
            url = self.p.stdout.readline().decode()
        m = re.fullmatch(r"http://localhost:(\d+)/([0-9a-f]{32})/\n?", url)
        check(m, url)
        self.port, self.token = int(m.group(1)), m.group(2)

    def host(self):
        return "localhost:%d" % self.port

    def request(self, method, path, body=b"", headers=None, leave_out=(), at="127.0.0.1"):
        """(status, headers, body): what the page would send, but for these headers."""
        send = {"Host": self.host()}
        if method == "POST":
            send.update({"Origin": "http://" + self.host(), "Content-Type": "application/octet-stream"})
        send.update(headers or {})
        return exchange(at, self.port, method, path, {k: v for k, v in send.items() if k not in leave_out},
                        body if method == "POST" else None)

    def get(self, path, **how):
        return self.request("GET", "/%s/%s" % (self.token, path), **how)

    def state(self):
        status, _, text = self.get("state")
        equal(status, 200, text)
        return json.loads(text)

    def post(self, path, *parts, **how):
        """(status, value)"""
        status, _, text = self.request("POST", "/%s/%s" % (self.token, path), "\n".join(map(b64, parts)).encode(), **how)
        return status, json.loads(text)

    def end(self):
        """Its exit status, and what it printed after its address."""
        out, err = self.p.communicate(timeout=LONG)
        return self.p.returncode, out.decode(), err.decode()
