"""What kennel sets in a cell is there: the locale, the directories of the base environment, the files of
the C library; and pseudo-terminals, only where the policy has `tty`."""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
DIR = public_folder("base")
os.chmod(DIR, 0o755)
C = r"""
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) { wchar_t w[20]; const char *l = setlocale(LC_ALL, "");
	printf("%s %s %d", l ? l : "none", nl_langinfo(CODESET), (int)mbstowcs(w, "Gr\xc3\xb6\xc3\x9f""e", 20)); }
"""
CPP = '#include <iostream>\n#include <locale>\nint main() { std::locale::global(std::locale("")); std::cout << std::locale().name(); }\n'


def cell(argv, more="", code=0):
    """What this prints in a cell whose policy also has these lines."""
    body = "    run %s\n    exec allow %s **\n    read %s\n%s\n" % (words(argv[0], "x"), words(argv[0]), words(DIR), more)
    r = kexec(body, argv)
    equal(r.returncode, code, b"%s %s" % (r.stdout, r.stderr))
    return (r.stdout if code == 0 else r.stderr).decode()


def built(name, text, compiler):
    path = os.path.join(DIR, name)
    with open(path + (".cpp" if compiler == "c++" else ".c"), "w") as f:
        f.write(text)
    r = run([compiler, "-o", path, f.name])
    equal(r.returncode, 0, r.stderr)
    os.chmod(path, 0o755)
    return path


def python(text, more="", code=0):
    return cell([PYTHON, "-c", text], more, code)


@test("C, C++, Perl and Python find the locale that LANG names")
def locale():
    if not os.path.isdir("/usr/lib/locale/C.utf8"):
        skip("the C library has C.UTF-8 built in")
    equal(cell([built("c", C, "cc")]), "C.UTF-8 UTF-8 5")
    if shutil.which("c++"):
        equal(cell([built("cpp", CPP, "c++")]), "C.UTF-8")
    equal(python("import locale; print(locale.setlocale(locale.LC_ALL, ''))").strip(), "C.UTF-8")
    equal(cell(["/usr/bin/perl", "-e", "print 'quiet'"]), "quiet")


@test("a locale that the policy sets and the host has not is no error of the start")
def other_locale():
    within("unsupported", python("import locale; locale.setlocale(locale.LC_ALL, '')", "    env LANG = xx_XX.UTF-8\n", code=1))


@test("each variable of the base environment names what exists, and XDG_RUNTIME_DIR is private")
def variables():
    out = python("import os, stat\n"
                 "for n in ('HOME', 'TMPDIR', 'XDG_RUNTIME_DIR'):\n"
                 "    open(os.environ[n] + '/made', 'w').close()\n"
                 "s = os.stat(os.environ['XDG_RUNTIME_DIR'])\n"
                 "import pwd\n"
                 "print(oct(s.st_mode), s.st_uid == os.getuid(), pwd.getpwuid(os.getuid()).pw_name == os.environ['USER'],\n"
                 "      pwd.getpwuid(os.getuid()).pw_dir == os.environ['HOME'])")
    equal(out.strip(), "0o40700 True True True")


@test("the small files of the C library are there, read-only, and `policy show` lists them")
def files():
    names = [n for n in ("localtime", "mime.types", "os-release", "protocols", "services") if os.path.exists("/etc/" + n)]
    check(names, "the host has none of them")
    out = python("import sys\n"
                 "for n in sys.argv[1:]:\n"
                 "    print(len(open('/etc/' + n, 'rb').read()))\n"
                 "    try: open('/etc/' + n, 'wb'); print('written')\n"
                 "    except OSError as e: print('refused')\n".replace("sys.argv[1:]", repr(names)))
    equal(out.split(), [x for n in names for x in (str(os.path.getsize("/etc/" + n)), "refused")])
    r = run([KENNEL, "policy", "show", policy("    run %s\n" % words(PYTHON, "x"))])
    for path in [os.path.realpath("/etc/" + n) for n in names] + ["/tmp/.runtime", "XDG_RUNTIME_DIR"]:
        within(path, r.stdout.decode())


PTY = ("import os, pty\n"
       "try:\n"
       "    a, b = os.openpty(); print('open', os.ttyname(b), len(os.listdir('/dev/pts')))\n"
       "except OSError as e: print('refused', e.errno)\n")


@test("without `tty` there is no pseudo-terminal, and the messages name the line")
def no_pty():
    within("refused 2", python(PTY))
    for path in ("/dev/ptmx", "/dev/pts"):
        r = run([KENNEL, "policy", "check", policy("    run %s\n    write %s\n" % (words(PYTHON, "x"), path))])
        within("`tty`", r.stderr.decode() + r.stdout.decode())


@test("with `tty` the cell has terminals of its own, and a program in one works")
def pty():
    within("open /dev/pts/0 2", python(PTY, "    tty\n"))
    out = python("import os, pty\n"
                 "pid, fd = pty.fork()\n"
                 "if pid == 0: print('in', os.isatty(0), os.ttyname(0), flush=True); os._exit(0)\n"
                 "print(os.read(fd, 100).decode())", "    tty\n")
    within("in True /dev/pts/0", out)


@test("attack: nothing of the host's terminals is there, and no byte is pushed into a terminal")
def attack():
    import pty as host_pty
    ours, theirs = host_pty.openpty()
    name = os.ttyname(theirs)
    os.chmod(name, 0o666)
    code = ("import fcntl, os, sys, termios\n"
            "print('host', os.path.exists(%r) and os.stat(%r).st_ino)\n"
            "a, b = os.openpty()\n"
            "print('pts', sorted(os.listdir('/dev/pts')))\n"
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    os.setsid(); fcntl.ioctl(b, termios.TIOCSCTTY, 0)\n"
            "    for name, number in (('sti', 0x5412), ('linux', 0x541c)):\n"
            "        try: fcntl.ioctl(b, number, b'x'); print(name, 'pushed', flush=True)\n"
            "        except OSError as e: print(name, e.errno, flush=True)\n"
            "    os._exit(0)\n"
            "os.waitpid(pid, 0)\n" % (name, name))
    out = python(code, "    tty\n")
    within("host False", out) if int(name.rsplit("/", 1)[1]) > 0 else None
    within("pts ['0', 'ptmx']", out)
    within("sti 1", out)
    within("linux 1", out)
    r = unconfined([PYTHON, "-c", "import os, sys; print(os.path.exists(sys.argv[1]))", name])
    within(b"True", r.stdout, "control: the host has it")
    os.close(ours)
    os.close(theirs)


@test("`tty` is a wider policy, and shown")
def language():
    plain, more = policy("    run %s\n" % words(PYTHON, "x")), policy("    run %s\n    tty\n" % words(PYTHON, "x"))
    r = run([KENNEL, "policy", "diff", plain, more])
    equal(r.returncode, 1, r.stderr)
    within("tty", r.stdout.decode())
    equal(run([KENNEL, "policy", "diff", more, plain]).returncode, 0)
    within("pseudo-terminals", run([KENNEL, "policy", "show", more]).stdout.decode())
    absent("pseudo-terminals", run([KENNEL, "policy", "show", plain]).stdout.decode())
    within("tty", run([KENNEL, "policy", "check", policy("    run %s\n    tyt\n" % words(PYTHON, "x"))]).stderr.decode())


main()
