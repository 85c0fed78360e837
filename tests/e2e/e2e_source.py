"""S1-124 S4-30 S4-38 S4-49: which source answers for a secret, plugins, and what they need to log in."""
import hashlib
import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
VALUE = "plugin-s3ntinel-%d-k3nn3l" % os.getpid()
TOKEN = "login-s3ntinel-%d-k3nn3l" % os.getpid()
PASS = "correct horse battery %d" % os.getpid()
ACME = STAGE + "/tests/plugin/acme.py"
homes = [0]


class Home:
    """A home of this test's own, with a plugin that has one value."""

    def __init__(self, token=None, fault=None):
        homes[0] += 1
        self.at = "%s/source-%d" % (TMP, homes[0])
        os.makedirs(self.at + "/home", mode=0o700)
        self.env = {"KENNEL_HOME": self.at + "/home"}
        self.program = self.at + "/acme"
        shutil.copy(ACME, self.program)
        os.chmod(self.program, 0o700)
        self.write("store", json.dumps({"token": token, "values": {"team/github/token": VALUE, "kv/other": VALUE}}))
        self.sidecar()
        self.source = "source work {\n\tfrom plugin %s/acme.plugin\n\tenv ACME_STORE %s/store\n%s%%s}\n" % (
            self.at, self.at, "\tenv ACME_FAULT %s\n" % fault if fault else "")
        self.sources(self.source % "" + "route team work\n")

    def write(self, name, text, mode=0o600):
        with open(self.at + "/" + name, "w") as f:
            f.write(text)
        os.chmod(self.at + "/" + name, mode)
        return self.at + "/" + name

    def sources(self, text):
        self.write("home/sources.kennel", text)

    def sidecar(self):
        with open(self.program, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        self.write("acme.plugin", "# kept beside its program\nplugin acme {\n\tversion 1.0\n\trun %s\n\tsha256 %s\n"
                   "\tenv ACME_STORE ACME_FAULT\n}\n" % (self.program, digest))

    def kennel(self, *words, status=0, stdin=b""):
        r = run([KENNEL] + list(words), env=self.env, stdin=stdin)
        for v in (VALUE, TOKEN, PASS):
            absent(v.encode(), r.stdout + r.stderr, " ".join(words[:2]))
        check(status is None or r.returncode == status, " ".join(words), r.returncode, r.stderr)
        return (r.stdout + r.stderr).decode(errors="replace")

    def refused(self, p, *parts):
        """kennel run says why it does not start the server."""
        text = self.kennel("run", "t", "--policy", p, status=None)
        for part in parts:
            within(part, text)
        return text

    def session(self, p):
        s = Mcp([KENNEL, "run", "t", "--policy", p], env=self.env)
        s.initialize()
        return s

    def has(self, p, value, var="GH"):
        s = self.session(p)
        equal(s.text("getenv", var=var), "***")
        equal(s.text("spell", var=var)[::2], value, "the server's value")
        check(s.close() is not None, "kennel stays")
        absent(value, s.stderr(), "stderr")


def secret(path="team/github/token", var="GH"):
    return policy(toy_policy("    secret %s from source %s\n" % (var, path)))


def ended():
    for pid, comm in descendants(os.getpid()).items():
        if comm == "kennel-keeper":
            os.kill(pid, signal.SIGTERM)
    check(wait_for(lambda: "kennel-keeper" not in descendants(os.getpid()).values(), 20) is not None, "a keeper stays")


@test("S1-124 S4-30 a plugin's value is in its server and nowhere else, and the plugin is gone")
def plugin():
    h = Home()
    s = h.session(secret())
    equal(s.text("getenv", var="GH"), "***")
    equal(s.text("spell", var="GH")[::2], VALUE, "the server's value")
    there = descendants(os.getpid())
    # a shim is called by the copy that it runs from
    check({c for c in there.values() if not c.startswith("memfd:kennel-sh")} <=
          {"kennel", "kennel-leash", "kennel-recorder", "kennel-egress", "toy"}, there)
    for pid, comm in there.items():
        absent(VALUE.encode(), reads("/proc/%d/cmdline" % pid), "command line of " + comm)
        if comm != "toy":
            absent(VALUE.encode(), reads("/proc/%d/environ" % pid), "environment of " + comm)
    check(s.close() is not None, "kennel stays")
    absent(VALUE, s.stderr(), "stderr")
    n = 0
    for folder, _, names in os.walk(h.at + "/home"):
        for name in names:
            absent(VALUE.encode(), reads(folder + "/" + name), name)
            n += 1
    check(n > 1, "no file of a log")


@test("S1-124 what a plugin needs to log in comes from the vault, for a server that was granted it, and not into it")
def credential():
    h = Home(token=TOKEN)
    h.sources(h.source % "\tcredential ACME_TOKEN from vault infra/acme/token\n" + "route team work\n")
    p = secret()
    h.refused(p, "work__ACME_TOKEN", "no vault found: run kennel secret init")
    h.kennel("secret", "init", "--stdin", stdin=PASS)
    h.kennel("secret", "set", "infra/acme/token", "--stdin", stdin=TOKEN)
    text = h.refused(p, "missing secret: ", "work__ACME_TOKEN", "it is not granted to this server")
    within("kennel secret grant infra/acme/token --server t --policy " + p, text)
    h.kennel("secret", "grant", "infra/acme/token", "--server", "t", "--policy", p)
    s = h.session(p)
    equal(s.text("spell", var="GH")[::2], VALUE, "the server's value")
    for var in ("ACME_TOKEN", "work__ACME_TOKEN"):
        absent(TOKEN[::-1], s.text("spell", var=var)[::2][::-1], var)
        absent("***", s.text("getenv", var=var), var)
    servers = [reads("/proc/%d/environ" % pid) for pid, comm in descendants(os.getpid()).items() if comm == "toy"]
    check(servers, "no server")
    for environ in servers:
        absent(TOKEN.encode(), environ, "the server's environment")
    s.close()
    # another plugin under the same name is another policy: the grant is not for it
    with open(h.program, "a") as f:
        f.write("# changed\n")
    h.sidecar()
    h.refused(p, "the policy allows more than the one that it was granted to")
    ended()


@test("S1-124 a credential that the plugin does not take, and one that its source has not")
def login():
    h = Home(token=TOKEN)
    h.refused(secret(), "source work, plugin %s: secret_source.init: needs-credential" % h.program)
    wrong = h.write("wrong", "another-token\n")
    h.sources(h.source % ("\tcredential ACME_TOKEN from file %s\n" % wrong) + "route team work\n")
    h.refused(secret(), "secret_source.init: needs-credential")
    right = h.write("right", TOKEN + "\n")
    h.sources(h.source % ("\tcredential ACME_TOKEN from file %s\n" % right) + "route team work\n")
    h.has(secret(), VALUE)  # the control


@test("a program gets what it needs to log in, in its environment and not in its command line")
def command():
    h = Home()
    token = h.write("token", TOKEN + "\n")
    script = h.write("helper", "#!/bin/sh\n[ -n \"$X_TOKEN\" ] || exit 3\n"
                     "tr '\\0' ' ' </proc/$$/cmdline | grep -q \"$X_TOKEN\" && exit 4\n[ \"$X_TOKEN\" = '%s' ] && [ \"$1\" = kv/other ] && echo '%s' && exit 0\nexit 3\n" % (TOKEN, VALUE), 0o700)
    h.sources("source box {\n\tfrom cmd %s $reference\n\tcredential X_TOKEN from file %s\n}\n"
              "secret team/box/one box kv/other\n" % (script, token))
    h.has(secret("team/box/one"), VALUE)
    h.sources("source box {\n\tfrom cmd %s $reference\n}\nsecret team/box/one box kv/other\n" % script)
    h.refused(secret("team/box/one"), "exited with status 3")  # the control


@test("the longest prefix answers, part by part, whatever the order of lines; a path's own line before all")
def prefix():
    h = Home()
    lines = ["source %s {\n\tfrom cmd /bin/echo %s-value-$reference\n}\n" % (x, x) for x in ("one", "two", "three")]
    lines += ["route team one\n", "route team/github two\n", "secret team/github/own three there\n", "default three\n"]
    wanted = {"team/git/x": "one", "team/github/x": "two", "team/github/own": "three", "other/a/b": "three",
              "team/github/own/x": "two", "team/githubs/x": "one"}
    for text in ("".join(lines), "".join(reversed(lines))):
        h.sources(text)
        for path, source in wanted.items():
            got = json.loads(h.kennel("secret", "sources", "--json", path))
            equal(got["source"]["name"], source, path)
    equal(got["path"], path)
    h.has(secret("team/github/x"), "two-value-team/github/x")
    h.has(secret("team/github/own"), "three-value-there")
    h.sources("")  # no line at all: kennel's own vault
    equal(json.loads(h.kennel("secret", "sources", "--json", "team/github/x"))["source"]["name"], "vault")
    within("no vault found: run kennel secret init", h.kennel("run", "t", "--policy", secret(), status=None))


@test("a credential cycle is refused with its names, when a policy is checked and when sources are shown")
def cycle():
    h = Home()
    cred = "\tcredential T from source %s\n"
    box = "source %s {\n\tfrom cmd /bin/echo $reference\n%s}\n"
    for text, parts in (
            (box % ("a", cred % "team/a/token") + "route team a\n", ["a -> team/a/token -> a"]),
            (box % ("a", cred % "in/b/token") + box % ("b", cred % "team/a/token") + "route team a\nroute in b\n",
             ["a -> in/b/token -> b -> team/a/token -> a"]),
            (box % ("a", cred % "in/b/token") + box % ("b", "\tcredential T from file /run/t\n") + "route in b\n",
             ["the credential is nested too deep", "source b"]),
            (h.source % (cred % "team/x/y") + "route team work\n", ["work -> team/x/y -> work"])):
        h.sources(text)
        p = secret()
        for words in (["policy", "check", p], ["secret", "sources"], ["run", "t", "--policy", p]):
            said = h.kennel(*words, status=None)
            for part in parts:
                within(part, said, words)
    h.sources(box % ("a", cred % "in/b/token") + box % ("b", "") + "route team a\nroute in b\n")
    h.has(secret(), "team/github/token")  # the control: one step


@test("a sealed file that gives a credential a credential is refused by the leash, whoever made it")
def depth():
    h = Home()
    token = h.write("token", TOKEN + "\n")
    h.sources("source box {\n\tfrom cmd /bin/echo $reference\n\tcredential T from cmd /bin/cat %s\n}\nroute team box\n" % token)
    sealed = h.at + "/deep.sealed"
    h.kennel("policy", "compile", secret(), "-o", sealed)
    h.has(sealed, "team/github/token")  # the control
    data = bytearray(reads(sealed))
    # docs/FORMAT.sealed: 32 bytes, then 24 for each section; kind 5 is SECRETS, whose ref is at 8
    sections = [struct.unpack_from("<IIQQ", data, 32 + 24 * i) for i in range(struct.unpack_from("<I", data, 12)[0])]
    off = [x[2] for x in sections if x[0] == 5][0]
    rows = [struct.unpack_from("<II", data, off + 64 * i + 8) for i in range(2)]
    needs = [i for i in range(2) if rows[i][1] == 0][0]
    struct.pack_into("<II", data, off + 64 * needs + 8, *rows[1 - needs])
    (end,) = struct.unpack_from("<Q", data, 16)  # of the body; its last 32 bytes are its digest
    data[end - 32:end] = hashlib.sha256(data[:end - 32]).digest()
    with open(sealed, "wb") as f:
        f.write(data)
    h.refused(sealed, "credential box__T of its source: a credential cannot need a credential")


@test("S1-124 another program than the sealed policy's is not run, nor one that is not its sidecar's")
def changed():
    h = Home()
    p, sealed = secret(), h.at + "/p.sealed"
    h.kennel("policy", "compile", p, "-o", sealed)
    h.has(sealed, VALUE)  # the control
    within("(ok)", h.kennel("secret", "sources"))
    with open(h.program, "a") as f:
        f.write("# changed\n")
    h.refused(sealed, "source work, plugin %s: it does not have the digest in the policy" % h.program)
    within("its sha256 differs from the one in its sidecar", h.kennel("policy", "compile", p, "-o", sealed + "2", status=None))
    check(not os.path.exists(sealed + "2"), "compiled all the same")
    within("(changed)", h.kennel("secret", "sources"))
    h.sidecar()
    h.refused(sealed, "it does not have the digest in the policy")
    h.has(p, VALUE)
    os.chmod(h.program, 0o720)
    h.refused(p, "may write it")


@test("S4-38 S4-49 a plugin that fails is told by its source, its program and the request, and waits for its time")
def faults():
    h = Home(fault="junk")
    h.refused(secret(), "source work, plugin %s: secret_source.get: invalid JSON" % h.program)
    h = Home()
    h.refused(secret("team/github/nothing"), "secret_source.get: bad-reference")
    h.refused(secret("team/github/nothing"), "secret_source.get: bad-reference")  # no failure of the plugin's
    h = Home(fault="exit")
    said = ""
    for _ in range(8):
        said = h.refused(secret(), "source work, plugin %s: " % h.program)
        if "it failed too often; trying again in " in said:
            break
        within("secret_source.get: it ended", said)
    within("it failed too often", said)
    h.sources((h.source % "").replace("\tenv ACME_FAULT exit\n", "") + "route team work\n")
    os.unlink(h.at + "/home/run/plugin.work.crashes")  # as if its time were over
    h.has(secret(), VALUE)


@test("errors of sources.kennel name file and line, and never a word of it")
def errors():
    h = Home()
    for text, *parts in (("source work {\n\tfrom env X\n\tpassword %s\n}\n" % VALUE, ":3:2: ", "unknown field in a source"),
                       ("source work {\n\tfrom plugin %s/none\n}\n" % h.at, "unable to read this sidecar"),
                       ("route team %s\n" % VALUE, ":1:12: ", "unknown source"),
                       (VALUE + "\n", ":1:1: ", "expected source, route, secret or default"),
                       ("route team vault\nroute team vault\n", "duplicate route: first defined on line 1"),
                       ("source work {\n\tfrom env X\n\tmay network\n}\n", "only allowed for a program"),
                       ("source vault {\n\tfrom env X\n}\n", "is reserved")):
        h.sources(text)
        within(h.at + "/home/sources.kennel:", h.kennel("secret", "sources", status=78), text)
        for part in parts:
            within(part, h.kennel("secret", "sources", status=78), text)
            within(part, h.kennel("policy", "check", secret(), status=None), text)
    h.sources(h.source % "" + "route team work\n")
    os.chmod(h.at + "/home/sources.kennel", 0o606)
    within("unable to read the file", h.kennel("secret", "sources", status=78))


FAKES = {
    "pass": ('[ "$*" = "show work/github" ] && printf "%s\\nuser: joe\\n" "$VALUE"', 'from pass work/github', ""),
    "secret-tool": ('[ "$*" = "lookup service jira account joe" ] && printf %s "$VALUE"',
                    'from secret-tool service jira account joe', ""),
    "op": ('[ "$*" = "read --no-newline op://dev/github/token" ] && printf %s "$VALUE"',
           'from op op://dev/github/token', ""),
    "vault": ('[ "$*" = "kv get -address=https://vault.example:8200 -field=token secret/jira" ] && printf "%s\\n" "$VALUE"',
              'from hashicorp-vault https://vault.example:8200 secret/jira token', ""),
}


def with_fakes(folder, cmd):
    """cmd where /usr/local/bin is this folder: in a mount namespace of its own."""
    bind = ["sh", "-c", 'mount --bind "$0" /usr/local/bin && exec "$@"', folder]
    if os.geteuid() == 0:
        return ["unshare", "-m", "--propagation", "private", "--"] + bind + cmd
    return ["unshare", "--map-current-user", "--keep-caps", "-m", "--"] + bind + \
        ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--"] + cmd


@test("pass, secret-tool, op and hashicorp-vault are called as their own pages say, and what they print is the value")
def presets():
    if os.geteuid() != 0:
        skip("in a user namespace of one's own root is not mapped, so no link of root's is known there and none is followed")
    folder = TMP + "/fakes"
    os.makedirs(folder, exist_ok=True)
    for name, (script, _, _) in FAKES.items():
        with open(folder + "/" + name, "w") as f:
            # In a user namespace without root no link is root's: the real path of the shell.
            f.write("#!%s\nVALUE=%s-%s\n%s\n" % (os.path.realpath("/bin/sh"), name, VALUE, script))
        os.chmod(folder + "/" + name, 0o755)
    r = run(with_fakes(folder, ["/usr/local/bin/pass", "show", "work/github"]))
    if b"mount: " in r.stderr or r.returncode == 1 and b"unshare" in r.stderr:
        skip("no mount namespace of one's own: %s" % r.stderr.decode(errors="replace").strip()[:120])
    equal(r.stdout.decode().splitlines()[:1], ["pass-" + VALUE], "the control")
    for name, (_, line, _) in FAKES.items():
        p = policy("    run /usr/bin/env\n    secret GOT %s\n" % line)
        show = run(with_fakes(folder, [KENNEL, "policy", "show", p]))
        within(b"/usr/local/bin/" + name.encode(), show.stdout, "what is run for it")
        r = run(with_fakes(folder, [KENNEL, "exec", "--policy", p, "t", "--", "/usr/bin/env"]))
        within(b"GOT=***", r.stdout, "%s: %s" % (name, r.stderr))
        absent(VALUE.encode(), r.stdout + r.stderr, name)
        # the value, and nothing but it, is what the program printed
        q = policy('    run /bin/sh -c "[ \\"$GOT\\" = %s-%s ]"\n    secret GOT %s\n' % (name, VALUE, line))
        r = run(with_fakes(folder, [KENNEL, "exec", "--policy", q, "t", "--", "/bin/sh", "-c",
                                    '[ "$GOT" = %s-%s ]' % (name, VALUE)]))
        equal(r.returncode, 0, "%s: the value: %s" % (name, r.stderr))


main()
