"""Which policy a server starts with: only the files that define it matter."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}) + "\n"


class Place:
    """A configuration directory of the test's own."""

    def __init__(self, name, **policies):
        self.home = "%s/%s" % (TMP, name)
        self.env = {"KENNEL_HOME": self.home}
        os.makedirs(self.home + "/policies", mode=0o700)
        for server, text in policies.items():
            self.write(server, text)

    def path(self, server):
        return "%s/policies/%s.kennel" % (self.home, server)

    def write(self, server, text):
        with open(self.path(server), "w") as f:
            f.write(text)
        os.chmod(self.path(server), 0o600)

    def works(self, server="own"):
        """Starts the server; what kennel prints."""
        s = Mcp([KENNEL, "run", server], env=self.env)
        s.initialize()
        within("echo", json.dumps(s.request("tools/list")))
        s.close()
        return s.stderr()

    def refused(self, status, server="own"):
        r = run([KENNEL, "run", server], stdin=HELLO, env=self.env)
        equal(r.returncode, status, r.stderr)
        return json.loads(r.stdout)["error"]["message"] + r.stderr.decode()


def server(name, more=""):
    return "server %s {\n%s%s}\n" % (name, toy_policy(), more)


@test("a file with errors or warnings does not concern the servers of other files")
def others():
    p = Place("others", own=server("own"), broken="server other {\n    run\n}\nlet = $$\nserver more {\n",
              noisy=server("noisy", "    read /no/such/directory\n"), empty="# nothing\n")
    equal(p.works(), "")
    within("noisy.kennel:5:10: warning: ", p.refused(125, "noisy"), "control: the warning of its own server")
    within("broken.kennel", p.refused(65, "other"), "control: the error of its own server")
    os.chmod(p.path("noisy"), 0o666)
    os.symlink("/nowhere", p.path("link"))
    equal(p.works(), "")
    within("world-writable", p.refused(78, "noisy"))


@test("two files that define a server are an error that names both, also if one has errors")
def two():
    p = Place("two", a=server("own"), b=server("own"))
    said = p.refused(78)
    for part in "a.kennel", "b.kennel", "both define server own":
        within(part, said)
    p.write("b", "server own {\n    run\n")
    said = p.refused(65)
    for part in "a.kennel", "b.kennel has errors", "kennel policy check":
        within(part, said)
    # the name of another server that contains this one's, and a reference in a broken file
    p.write("b", "server own-er {\n    run\n")
    p.works()
    p.write("b", "server owner {\n    run\n}\nexpect own {\n")
    within("b.kennel has errors", p.refused(65))


@test("a server that an included file defines counts")
def included():
    p = Place("included", a="include \"lib/own.txt\"\n", b=server("own"))
    os.mkdir(p.home + "/policies/lib", 0o700)
    with open(p.home + "/policies/lib/own.txt", "w") as f:
        f.write(server("own"))
    os.chmod(f.name, 0o600)
    within("both define server own", p.refused(78))
    os.unlink(p.path("b"))
    p.works()


@test("a server without a policy: the error says how to draft one")
def missing():
    p = Place("missing", own=server("own"))
    within("no policy for server nowhere in", p.refused(78, "nowhere"))
    within("`kennel init nowhere", p.refused(78, "nowhere"))


if __name__ == "__main__":
    main()
