"""kennel server pin: the pins file, and the line of the policy that names it."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()


class Place:
    def __init__(self, name, text):
        self.home = "%s/%s" % (TMP, name)
        self.env = {"KENNEL_HOME": self.home}
        self.path = self.home + "/policies/t.kennel"
        os.makedirs(self.home + "/policies", mode=0o700)
        self.write(text)

    def write(self, text, mode=0o600):
        with open(self.path, "w") as f:
            f.write(text)
        os.chmod(self.path, mode)

    def pin(self, *words, status=0):
        r = run([KENNEL, "server", "pin", "t"] + list(words), env=self.env)
        equal(r.returncode, status, r.stdout + r.stderr)
        return r.stderr.decode()

    def tools(self):
        s = Mcp([KENNEL, "run", "t"], env=self.env)
        s.initialize()
        names = [t["name"] for t in s.request("tools/list")["result"]["tools"]]
        s.close()
        return names


def server(more=""):
    return "# before\nserver t {\n%s%s}\n# after, without a newline" % (toy_policy(), more)


@test("a policy that names a missing pins file: the server is pinned, and starts then")
def missing():
    p = Place("missing", server("    pins \"t.pins\"\n"))
    r = run([KENNEL, "run", "t"], env=p.env, stdin="")
    equal(r.returncode, 65, r.stderr)
    within(b"t.pins", r.stderr)
    within(b"`kennel server pin NAME -o FILE` writes it", r.stderr)
    p.pin("--diff", status=65)
    said = p.pin("-o", p.home + "/policies/t.pins")
    check("does not use them" not in said, said)
    within("echo", p.tools())
    p.pin("--diff")
    equal([n for n in os.listdir(p.home + "/run") if n.startswith("pin-")], [])


@test("--add-line adds the line that names the pins, once, and changes nothing else")
def add_line():
    p = Place("add", server())
    p.write(server(), 0o640)
    within("run this again with --add-line", p.pin("-o", p.home + "/other.pins"))
    equal(reads(p.path).decode(), server())
    within("uses them now", p.pin("--add-line"))
    equal(reads(p.path).decode(), server().replace("server t {\n", "server t {\n    pins \"t.pins\"\n"))
    equal(os.stat(p.path).st_mode & 0o777, 0o640)
    within("echo", p.tools())
    check("uses them" not in p.pin("--add-line"), "a second line")
    equal(reads(p.path).count(b"pins"), 2)
    # the line is indented as the next one is
    p = Place("tabs", server().replace("    ", "\t"))
    p.pin("--add-line")
    equal(reads(p.path).decode(), server().replace("    ", "\t").replace("server t {\n", "server t {\n\tpins \"t.pins\"\n"))
    # pins elsewhere are named by their whole path
    p = Place("elsewhere", server())
    p.pin("--add-line", "-o", p.home + "/other.pins")
    within("    pins \"%s/other.pins\"\n" % os.path.realpath(p.home), reads(p.path).decode())
    within("echo", p.tools())


@test("a server without a policy: the message says so")
def unknown():
    p = Place("unknown", server())
    r = run([KENNEL, "server", "pin", "other"], env=p.env)
    equal(r.returncode, 78, r.stderr)
    within(b"unable to pin other: no policy for server other in ", r.stderr)
    within(b"`kennel init other -- COMMAND` drafts one", r.stderr)


@test("a policy that is sealed, another user's, or written in an unusual way is left alone")
def left():
    p = Place("left", server())
    equal(run([KENNEL, "policy", "compile", p.path], env=p.env).returncode, 0)
    within("it is sealed", p.pin("--add-line", status=65))
    os.unlink(p.home + "/sealed/t.sealed")
    odd = server().replace("server t {\n", "server t {    # a comment\n").replace("# before", "let name = t")
    p.write(odd)
    p.pin("--add-line")
    p.write(server().replace("server t {\n", "server t\n{\n"))
    r = run([KENNEL, "policy", "check", p.path], env=p.env)
    if r.returncode == 0:
        within("needs a person", p.pin("--add-line", status=65))
    p.write(server())
    if AS == "root":
        os.chown(p.path, UID, UID)
        within("another user's", p.pin("--add-line", status=65))
    equal(reads(p.path).decode(), server())


if __name__ == "__main__":
    main()
