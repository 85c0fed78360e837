"""kennel install with npm itself, from a registry on loopback. Nothing leaves the machine."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../lib")
sys.path.insert(0, HERE + "/../e2e")
from kit import *  # noqa: E402,F403
from certificates import certificate  # noqa: E402
from registry_kit import Home, Package, Registry, files, real_npm  # noqa: E402


def link(name, target):
    import tarfile
    m = tarfile.TarInfo("package/" + name)
    m.type, m.linkname = tarfile.SYMTYPE, target
    return m, b""


def member(name, text):
    import tarfile
    return tarfile.TarInfo(name), text


@test("npm itself: a package and what it depends on; scripts off; links, names with ../ and a program outside leave nothing", seconds=300)
def npm():
    path = real_npm()
    js = "#!/usr/bin/env node\nconsole.log(require('dep'))\n"
    home = os.path.realpath(TMP) + "/install-npm"
    registry = Registry(
        Package("good", "1.0.0", {"index.js": js}, bin_="index.js", needs={"dep": "2.0.0"}, scripts={"install": "echo x >left"}),
        Package("dep", "2.0.0", {"index.js": "module.exports = 42\n"}),
        Package("evil", "1.0.0", {"index.js": js}, bin_={"evil": "index.js", "../../../escaped": "index.js"},
                scripts={"preinstall": "echo x >%s/left" % home, "postinstall": "echo x >%s/left" % home},
                members=[link("passwd", "/etc/passwd"), link("up", "../../../.."), member("package/../../../escaped", b"x"),
                         member("/" + home + "/absolute", b"x")]))
    h = Home("npm", registry, path)
    code, out, err = h.install("good", "--no-start", "--", "npx", "-y", "good@1.0.0")
    equal(code, 0, out + err)
    at = h.installed(h.policy("good"))
    within("no signatures of ", err)
    within("Install scripts were not run: good\n", out)
    check(not os.path.exists(at + "/node_modules/good/left"))
    r = run([KENNEL, "exec", "--policy", h.kennel + "/policies/good.kennel", "good", "--", shutil_node(path),
             at + "/node_modules/good/index.js"], env=h.env())
    equal(r.stdout, b"42\n", r.stderr)
    code, out, err = h.install("evil", "--no-start", "--", "npx", "-y", "evil@1.0.0")
    equal(h.staging(), [])
    left = [p for p in files(h.dir) if os.path.basename(p) in ("left", "escaped", "absolute")]
    equal([p for p in left if "/store/" not in p], [], "outside of the store")
    if code == 0:
        evil = h.installed(h.policy("evil"))
        for p in files(evil):
            if os.path.islink(p):
                check(os.path.realpath(p).startswith(evil + "/"), p)
    registry.close()


@test("npm itself: a registry whose certificate is of an authority of its own, without and with npm's cafile", seconds=300)
def authority():
    path = real_npm()
    ca = certificate("install-ca")
    registry = Registry(Package("good", "1.0.0", {"index.js": "#!/usr/bin/env node\n"}, bin_="index.js"),
                        tls=certificate("install-leaf", signer=ca))
    h = Home("npm-ca", registry, path)
    words = "good", "--no-start", "--", "npx", "-y", "good@1.0.0"
    code, out, err = h.install(*words)
    equal(code, 65, out + err)
    within("unable to install good@1.0.0: npm does not know the authority that signed the certificate of localhost:", err)
    within("`npm config set cafile FILE`", err)
    with open(h.dir + "/.npmrc", "w") as f:
        f.write("cafile=%s\n" % ca[1])
    code, out, err = h.install(*words)
    equal(code, 0, out + err)
    within("/good/index.js", h.policy("good"))
    registry.close()


def shutil_node(path):
    import shutil
    return os.path.realpath(shutil.which("node", path=path))


main()
