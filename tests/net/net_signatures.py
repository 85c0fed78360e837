"""kennel install --require-signatures with npm itself, from a registry on loopback that signs
with a key of its own. npm's source of keys is replaced by one without any, so that npm asks
the registry for them. Nothing leaves the machine."""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../lib")
sys.path.insert(0, HERE + "/../e2e")
from kit import *  # noqa: E402,F403
from registry_kit import Home, Package, Registry, digest, real_npm  # noqa: E402

NO_KEYS = """exports.initTUF = async () => ({ getTarget: async () => {
  throw Object.assign(new Error('no such target'), { code: 'TUF_FIND_TARGET_ERROR' }) } })
"""
SIGN = """const c = require('crypto'), fs = require('fs')
const { publicKey, privateKey } = c.generateKeyPairSync('ec', { namedCurve: 'P-256' })
const texts = JSON.parse(fs.readFileSync(0))
console.log(JSON.stringify({ key: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  signatures: texts.map(t => c.createSign('SHA256').update(t).sign(privateKey, 'base64')) }))
"""
NEED = "--require-signatures", "--no-start", "--", "npx", "-y", "hello@1.0.0"


def npm_without_keys(path):
    """A PATH with a copy of npm that knows no registry's keys."""
    real = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("npm", path=path))))
    tuf = "/node_modules/@sigstore/tuf/dist/index.js"
    if not os.path.exists(real + tuf):
        skip("this npm does not have its modules beside it, or none that verifies")
    d = os.path.realpath(TMP) + "/npm-without-keys"
    if not os.path.isdir(d):
        shutil.copytree(real, d + "/npm", symlinks=True)
        with open(d + "/npm" + tuf, "w") as f:
            f.write(NO_KEYS)
        os.mkdir(d + "/bin")
        os.symlink("../npm/bin/npm-cli.js", d + "/bin/npm")
        os.symlink(os.path.realpath(shutil.which("node", path=path)), d + "/bin/node")
    return d + "/bin:" + path


class Signing:
    """Signs what the packages are now; `listing` may change what the registry says of them,
    and `bytes` what it sends from an address."""

    def __init__(self, path, *packages):
        self.registry = Registry(*packages)
        self.answer, self.registry.answer = self.registry.answer, self.changed
        self.listing, self.bytes, self.lists = lambda said, n: None, {}, {}
        texts = ["%s@%s:%s" % (p.name, p.version, digest(p.tarball())) for p in packages]
        r = run([shutil.which("node", path=path), "-e", SIGN], stdin=json.dumps(texts).encode())
        made = json.loads(r.stdout)
        self.key, self.signed = made["key"], dict(zip(texts, made["signatures"]))

    def dist(self, p):
        signature = self.signed["%s@%s:%s" % (p.name, p.version, digest(p.tarball()))]
        return {"tarball": self.registry.url + p.address(), "integrity": digest(p.tarball()),
                "signatures": [{"keyid": "SHA256:own", "sig": signature}]}

    def changed(self, path):
        if path == "/-/npm/v1/keys":
            return json.dumps({"keys": [{"keyid": "SHA256:own", "keytype": "ecdsa-sha2-nistp256", "scheme": "ecdsa-sha2-nistp256",
                                         "expires": None, "key": self.key}]}).encode()
        if path in self.bytes:
            return self.bytes[path]
        said = self.answer(path)
        if said is None or path.endswith(".tgz"):
            return said
        said = json.loads(said)
        for p in self.registry.packages:
            if p.name == said["name"]:
                said["versions"][p.version]["dist"] = self.dist(p)
        self.lists[said["name"]] = self.lists.get(said["name"], 0) + 1
        self.listing(said, self.lists[said["name"]])
        return json.dumps(said).encode()


def packages():
    js = {"index.js": "#!/usr/bin/env node\n"}
    absent = Package("absent", "1.0.0", {})
    absent.json["os"] = ["none"]
    absent.files["package.json"] = json.dumps(absent.json)
    hello = Package("hello", "1.0.0", js, bin_="index.js", needs={
        "dep": "^2.0.0", "@scope/dep": "1.0.0", "renamed": "npm:other@1.0.0", "bundles": "1.0.0"})
    hello.json["optionalDependencies"] = {"absent": "1.0.0"}
    hello.files["package.json"] = json.dumps(hello.json)
    inner = {"name": "inner", "version": "1.0.0"}
    bundles = Package("bundles", "1.0.0", {"node_modules/inner/package.json": json.dumps(inner)}, needs={"inner": "1.0.0"})
    bundles.json["bundleDependencies"] = ["inner"]
    bundles.files["package.json"] = json.dumps(bundles.json)
    return hello, Package("dep", "2.0.0", js), Package("@scope/dep", "1.0.0", js), Package("other", "1.0.0", js), bundles, absent, Package("inner", "1.0.0", {})  # npm asks for a bundled one, too


def outcome(h):
    fields = audit("--kind", "install", env=h.env())[-1]["fields"]
    return fields["outcome"], fields["verdict"]


@test("npm itself: a package, its dependencies, a scoped one, an alias, a bundled and an absent one are verified; one byte unsigned is not", seconds=300)
def verified():
    path = npm_without_keys(real_npm())
    s = Signing(path, *packages())
    h = Home("signed", s.registry, path)
    code, out, err = h.install("hello", *NEED)
    equal(code, 0, out + err)
    within("The registry's signatures of the packages are verified.", out)
    equal(outcome(h), ("verified", "allow"))
    at = h.installed(h.policy("hello")) + "/node_modules/"
    check(os.path.exists(at + "renamed/index.js") and os.path.exists(at + "@scope/dep/index.js"))
    check(os.path.exists(at + "bundles/node_modules/inner/package.json") and not os.path.exists(at + "absent"))
    s.key = s.key[:-8] + "AAAAAAA="
    equal(h.install("other", *NEED)[0], 65, "another key")
    s.registry.close()


@test("npm itself: what npm's success does not cover is named and refused: a dependency by URL, other bytes at the own address, two answers, another package", seconds=600)
def attacks():
    path = npm_without_keys(real_npm())
    s = Signing(path, *packages())
    h = Home("unsigned", s.registry, path)
    evil = Package("dep", "2.0.0", {"index.js": "evil\n"})
    own = "/" + evil.address()
    other = s.registry.packages[3]

    def by_url(url):
        def listing(said, n):
            if said["name"] == "hello":
                said["versions"]["1.0.0"]["dependencies"]["dep"] = url
        return listing

    def twice(said, n):
        if said["name"] == "dep" and n == 1:
            said["versions"]["2.0.0"]["dist"] = {"tarball": s.registry.url + own[1:], "integrity": digest(evil.tarball())}
            s.bytes[own] = evil.tarball()

    def replaced(said, n):
        if said["name"] == "dep":
            said["versions"] = {"1.0.0": {"name": "other", "version": "1.0.0", "dist": s.dist(other)}}
            said["dist-tags"] = {"latest": "1.0.0"}
        elif said["name"] == "hello":
            said["versions"]["1.0.0"]["dependencies"]["dep"] = "1.0.0"
    cases = (
        ("a dependency by URL", by_url(s.registry.url + "payload.tgz"), {"/payload.tgz": evil.tarball()},
         "dep 2.0.0 has no signature: it is not from the registry's own address"),
        ("other bytes at the own address", by_url(s.registry.url + own[1:]), {own: evil.tarball()},
         "dep 2.0.0 has no signature: npm found no signature of its name, version and digest"),
        ("two answers", twice, {}, "dep 2.0.0 has no signature: npm found no signature of its name, version and digest"),
        ("another package under its name", replaced, {}, "dep 1.0.0 has no signature: it is another package"),
        ("an alias in the listing", by_url("npm:other@1.0.0"), {}, "dep 1.0.0 has no signature: it is another package"),
    )
    for n, (what, listing, sent, why) in enumerate(cases):
        s.listing, s.bytes, s.lists = listing, dict(sent), {}
        code, out, err = h.install("a%d" % n, *NEED)
        equal(code, 69, (what, out + err))
        within(why, err, what)
        equal(outcome(h), ("unverified", "deny"), what)
        equal((h.store(), h.staging()), ([], []), what)
        s.lists = {}
        s.bytes = dict(sent)
        code, out, err = h.install("b%d" % n, *NEED[1:])
        equal((code, outcome(h)), (0, ("unverified", "allow")), (what + ": the control, it would be kept", out + err))
        forget(h)
    s.listing, s.bytes = lambda said, n: None, {}
    equal(h.install("last", *NEED)[0], 0, "the control: nothing is changed")
    s.registry.close()


def forget(h):
    """Forgets what was kept."""
    for name in os.listdir(h.kennel + "/policies"):
        os.unlink(h.kennel + "/policies/" + name)
    for base, dirs, _ in os.walk(h.kennel + "/store"):
        for d in dirs:
            os.chmod(base + "/" + d, 0o700)
    for name in h.store():
        shutil.rmtree(h.kennel + "/store/" + name)


main()
