"""Compiled modules of packages: the libraries that they need are in the cell."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

WHERE = os.path.realpath(TMP) + "/module-libs"


def library(path, source="", *words):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    r = subprocess.run(["gcc", "-x", "c", "-shared", "-fPIC", "-o", path, "-", "-Wl,--no-as-needed", *words],
                       input=source.encode(), capture_output=True)
    check(r.returncode == 0, r.stderr)


def runtime(name):
    path = "%s/bin/%s" % (WHERE, name)
    os.makedirs(WHERE + "/bin", exist_ok=True)
    if not os.path.exists(path):
        shutil.copy("/bin/true", path)
    return path


def shown(program, *granted):
    """The files that a server of this program sees."""
    path = TMP + "/module-libs.kennel"
    with open(path, "w") as f:
        f.write("server m {\n run %s\n%s tool allow *\n}\n" % (program, "".join(" read %s\n" % g for g in granted)))
    r = run([KENNEL, "policy", "show", path])
    equal(r.returncode, 0, r.stderr)
    return {line.split()[1] for line in r.stdout.decode().splitlines() if line.split()[:1] == ["preset"]}


def named(libs, name):
    return [lib for lib in libs if os.path.basename(lib).startswith(name)]


@test("the libraries of a package's add-on are granted with the runtime that loads it, and with no other program")
def addon():
    for runtime_name, package, module in (
            ("node", WHERE + "/a/node_modules", "p/build/Release/x.node"),
            ("python3", WHERE + "/b/lib/python3.11/site-packages", "p/_x.cpython-311-x86_64-linux-gnu.so")):
        library("%s/%s" % (package, module), "", "-lresolv")
        program = runtime(runtime_name)
        check(named(shown(program, package), "libresolv.so"), runtime_name)
        equal(named(shown(program), "libresolv.so"), [], "not granted")
        equal(named(shown(runtime("other"), package), "libresolv.so"), [], "a program that loads no such module")
        plain = os.path.dirname(os.path.dirname(package)) + "-plain/x"
        shutil.copytree(package, plain, dirs_exist_ok=True)
        equal(named(shown(program, plain), "libresolv.so"), [], "a directory that holds no packages")


@test("a package's add-on does not choose which files outside its package the server sees")
def chosen():
    package, outside = WHERE + "/c/node_modules", WHERE + "/outside"
    library(outside + "/libprivate.so", "int private_value = 7;", "-Wl,-soname,libprivate.so")
    library(outside + "/libwhole.so", "int whole_value = 7;", "-Wl,-soname," + outside + "/libwhole.so")
    library(package + "/p/x.node", "", "-L" + outside, "-lprivate", "-lwhole", "-lresolv", "-Wl,-rpath," + outside)
    library(package + "/q/x.node", "", "-L" + outside, "-lprivate", "-Wl,-rpath,$ORIGIN/../../../outside")
    program = runtime("node")
    seen = shown(program, package)
    check(named(seen, "libresolv.so"), "the control: a library of the system")
    equal(named(seen, "libprivate.so") + named(seen, "libwhole.so"), [], "files that the package named")


@test("an add-on for another machine, a missing library and a link that leads nowhere do not stop a policy")
def broken():
    package = WHERE + "/d/node_modules"
    library(package + "/lib/libgone.so", "int gone_value = 7;", "-Wl,-soname,libgone.so")
    library(package + "/p/x.node", "", "-L" + package + "/lib", "-lgone", "-lresolv")
    os.unlink(package + "/lib/libgone.so")
    with open(package + "/p/text.node", "w") as f:
        f.write("no ELF file\n")
    with open(package + "/p/x.node", "rb") as f:
        data = bytearray(f.read())
    data[18] ^= 0xff  # e_machine
    with open(package + "/p/other.node", "wb") as f:
        f.write(data)
    if not os.path.islink(package + "/p/link.node"):
        os.symlink("/nowhere", package + "/p/link.node")
        os.symlink("..", package + "/p/up")
    check(named(shown(runtime("node"), package), "libresolv.so"), "the one that can be loaded")


if __name__ == "__main__":
    main()
