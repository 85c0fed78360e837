"""Rows 66, 67, 70, 72, 92: words that mean more than they look, files that are not what they were."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

MARK = STAGE + "/build/attack/exec_mark"


def user_line():
    return '    user "%d"\n' % UID if os.geteuid() == 0 else ""


def folder(name):
    """Of one's own: what is granted may not be written by all."""
    d = "%s/%s" % (TMP, name)
    os.makedirs(d, mode=0o755, exist_ok=True)
    return d


def tried(grants, lines, more=""):
    """The status of each line (a shell's), in one cell."""
    script = TMP + "/tried.sh"
    with open(script, "w") as f:
        f.write("\n".join("%s >/dev/null 2>&1 </dev/null; echo $?" % line for line in lines))
    os.chmod(script, 0o644)
    r = kexec("    run /bin/sh %s\n    read %s\n" % (words(script), words(script)) + grants + user_line() + more,
              ["/bin/sh", script])
    got = [int(x) for x in r.stdout.split()]
    equal(len(got), len(lines), r.stderr)
    return got


def judged(grants, good, evil, more=""):
    """Each of good is started, none of evil."""
    got = tried(grants, good + evil, more)
    for line, status in zip(good, got):
        equal(status, 0, "granted: " + line)
    for line, status in zip(evil, got[len(good):]):
        equal(status, 126, "not granted: " + line)


# ---- 66: an option that runs a command ---------------------------------------------------

@test("attack_66_flag_injection: what an option would run, in programs that were granted (ESCAPES 66)")
def injection():
    d = public_folder("inject")
    for n in ("tar", "ran"):
        if os.path.exists(d + "/" + n):
            os.unlink(d + "/" + n)
    with open(d + "/plain", "w") as f:
        f.write("text\n")
    run(["tar", "-cf", d + "/a.tar", "-C", d, "plain"])
    os.chmod(d + "/a.tar", 0o644)
    mark = "touch %s/ran" % d
    grants = """
    write %s
    exec allow /bin/tar <-t,-f=<path:%s>>
    exec allow /usr/bin/find %s -name -- <text>
    exec allow /bin/sed -e s/text/word/ -- <path:%s>
    exec allow /usr/bin/sort -- <text>
""" % (words(d), d, words(d), d)
    evil = ["/bin/tar -t -f %s/a.tar --to-command='%s'" % (d, mark),
            "/bin/tar -t -f %s/a.tar --use-compress-program='%s'" % (d, mark),
            "/bin/tar -tf %s/a.tar -I '%s'" % (d, mark),
            "/bin/tar -t -f %s/a.tar --checkpoint=1 --checkpoint-action=exec='%s'" % (d, mark),
            "/usr/bin/find %s -name x -exec %s ';'" % (d, mark),
            "/usr/bin/find %s -exec %s ';' -name -- x" % (d, mark),
            "/bin/sed -e '1e %s' -- %s/plain" % (mark, d),
            "/bin/sed -e s/text/word/ -e '1e %s' -- %s/plain" % (mark, d),
            "/bin/sed -i -e s/text/word/ -- %s/plain" % d,
            "/usr/bin/sort --compress-program='%s' -S 1k %s/plain" % (mark, d),
            "/usr/bin/sort -o %s/plain -- x" % d]
    judged(grants, ["/bin/tar -t -f %s/a.tar" % d, "/bin/tar -tf %s/a.tar" % d,
                    "/bin/sed -e s/text/word/ -- %s/plain" % d], evil)
    check(not os.path.exists(d + "/ran"), "it ran")
    equal(reads(d + "/plain"), b"text\n")
    check(audited("exec", "deny", "/bin/tar", "no grant has these arguments"), "no event")
    unconfined(["/bin/sh", "-c", "\n".join(evil)])
    control({"flag_injection": "ok" if os.path.exists(d + "/ran") else "not run"}, "flag_injection")


@test("attack_66_flag_injection: text that looks like an option stands behind -- only")
def behind_dashes():
    grants = "    exec allow /bin/echo -- <text>\n    exec allow /bin/printf %s <number:1..9>\n"
    judged(grants, ["/bin/echo -- --help", "/bin/echo -- '-e x'", "/bin/printf %s 7"],
           ["/bin/echo --help", "/bin/echo x -- y", "/bin/echo -e -- x", "/bin/echo -- x y",
            "/bin/printf %s 0", "/bin/printf %s 10", "/bin/printf %s 07", "/bin/printf %s -1", "/bin/printf %s 1e0",
            "/bin/printf %s ''", "/bin/printf %s '7 '"], "    read /usr/bin\n")
    p = policy("    run /bin/sh\n    exec allow /bin/echo <text>\n")
    equal(run([KENNEL, "policy", "check", p]).returncode, 65, "free text before --")


@test("attack_66_flag_injection: a path in a slot stays below its folder")
def paths():
    d = public_folder("slot")
    judged("    write %s\n    exec allow /bin/true -- <path:%s>\n" % (words(d), d),
           ["/bin/true -- %s" % d, "/bin/true -- %s/not/there" % d],
           ["/bin/true -- %s/../x" % d, "/bin/true -- %sx/y" % d, "/bin/true -- %s//x" % d, "/bin/true -- ./x",
            "/bin/true -- %s/./x" % d, "/bin/true -- %s/" % d, "/bin/true -- /", "/bin/true -- ''"])


# ---- 67: the same option, written otherwise ------------------------------------------------

@test("attack_67_spellings: --flag=v, --flag v, -fv, -xfv: what is granted in each, what is not in none (ESCAPES 67)")
def spellings():
    grants = "    exec allow /bin/true <-p,-n=<number:1..9>,--depth=<number:1..9>,--color=always|never>\n"
    judged(grants,
           ["/bin/true " + x for x in ("--depth=5", "--depth 5", "-n 5", "-n5", "-pn5", "-pn 5", "-p -n 5 --depth=2",
                                       "--color=never -p", "--color always", "")],
           ["/bin/true " + x for x in ("--depth=50", "--depth 50", "--depth", "--dep=5", "--depth=", "-n50", "-pn",
                                       "-n=5", "-np5", "-x", "-px", "--color", "--color=auto", "-p x", "-- -p",
                                       "--depth=5 5", "--depth5", "-p=1", "- p")])


@test("attack_67_spellings: an exception holds in the spelling that it has, and the log says which line")
def exceptions():
    grants = "    exec allow /bin/true ** except -x ** except --run=* **\n"
    judged(grants, ["/bin/true a b"], ["/bin/true -x", "/bin/true -x a", "/bin/true --run=a", "/bin/true --run= b"])


# ---- 70: another file, the same name ---------------------------------------------------------

@test("attack_70_swapped: a program that keeps its bytes, changed before the start and after (ESCAPES 70)")
def swapped():
    d = folder("digest")
    at = d + "/goal"
    if os.path.exists(at):
        os.unlink(at)
    shutil.copy(MARK, at)
    os.chmod(at, 0o755)
    body = "    run /bin/sh -c **\n    read %s\n    exec allow %s quiet\n    digest %s\n%s" % (
        words(d), words(at), words(at), user_line())
    p = policy(body)
    out = p + ".sealed"
    equal(run([KENNEL, "policy", "compile", p, "-o", out]).returncode, 0)

    def start_it(line):
        return run([KENNEL, "exec", "--policy", out, "t", "--", "/bin/sh", "-c", line])
    r = start_it("%s quiet" % at)
    equal(r.returncode, 0, "control: the bytes that were meant: %s" % r.stderr)
    # While it stands open: the same file, other bytes, then the old size and times.
    r = start([KENNEL, "exec", "--policy", out, "t", "--", "/bin/sh", "-c",
               "%s quiet; echo $?; read x; %s quiet; echo $?" % (at, at)], stdin=subprocess.PIPE,
              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd="/")
    equal(r.stdout.readline(), b"0\n")
    st = os.stat(at)
    data = bytearray(reads(at))
    data[-1] ^= 1
    with open(at, "r+b") as f:
        f.write(data)
    os.utime(at, ns=(st.st_atime_ns, st.st_mtime_ns))
    r.stdin.write(b"\n")
    r.stdin.close()
    equal(r.stdout.readline(), b"126\n", "the file that was changed while the server runs")
    r.wait()
    check(start_it("%s quiet" % at).returncode != 0, "the file that was changed before the start")
    equal(unconfined([at, "quiet"]).returncode, 0, "control: it would have run")
    check(audited("exec", "deny", at), "no event")
    # Another file by the same name: what stands there now is not the one that was opened.
    shutil.copy(MARK, at + ".new")
    os.chmod(at + ".new", 0o755)
    os.rename(at + ".new", at)
    equal(start_it("%s quiet" % at).returncode, 0, "the same bytes in another file are meant too")


# ---- 71: an interpreter that is looked for ----------------------------------------------------

@test("attack_71_env_script: #!/usr/bin/env means what it meant to the policy, whatever PATH says (ESCAPES 71)")
def env_script():
    d, work = folder("script"), public_folder("script-work")
    for name in ("one", "two"):
        with open("%s/%s" % (d, name), "w") as f:
            f.write("#!/usr/bin/env sh\nexit 0\n")
        os.chmod("%s/%s" % (d, name), 0o755)
    shutil.copy("/bin/sh", work + "/sh")
    os.chmod(work + "/sh", 0o755)
    grants = "    read %s\n    write %s\n    exec allow %s now\n" % (words(d), words(work), words(d + "/one"))
    evil = ["%s/one other" % d, "%s/two now" % d, "PATH=%s:/usr/bin:/bin %s/one now" % (work, d),
            "/usr/bin/env sh %s/two now" % d, "/bin/sh %s/two now" % d]
    got = tried(grants, ["%s/one now" % d] + evil)
    equal(got[0], 0, "granted")
    for line, status in zip(evil, got[1:]):
        within(status, (126, 127), line)
    for line in evil:
        equal(unconfined(["/bin/sh", "-c", line]).returncode, 0, "control: " + line)


# ---- 72: text that a shell would take apart ----------------------------------------------------

@test("attack_72_shell_text: no text is taken apart: one string more is another argument (ESCAPES 72)")
def shell_text():
    grants = '    exec allow /bin/sh -c "/bin/echo good"\n    exec allow /bin/echo good\n'
    evil = ["/bin/echo good & /bin/ls", "/bin/echo good; /bin/ls", "/bin/echo good\n/bin/ls", "/bin/echo good && /bin/ls",
            "/bin/echo good | /bin/ls", "/bin/echo good $(/bin/ls)", "/bin/echo good `/bin/ls`", "/bin/echo  good",
            "/bin/echo good ", " /bin/echo good", "/bin/echo 'good'", "; ".join(["/bin/echo good"] * 60)]
    judged(grants, ["/bin/sh -c '/bin/echo good'"], ["/bin/sh -c " + shell(x) for x in evil])
    judged("    exec allow /bin/echo ;|&|a\n", ["/bin/echo ';'", "/bin/echo '&'"], ["/bin/echo ';' a", "/bin/echo 'a;'"])
    free = unconfined(["/bin/sh", "-c", evil[0]])
    control({"shell_text": "ok" if len(free.stdout.split()) > 1 else "no"}, "shell_text")


# ---- 92: what was seen is not what decides --------------------------------------------------------

@test("attack_92_hint: what the caller says it is decides nothing: argv[0], its name, its folder's name (ESCAPES 92)")
def hint():
    d = folder("hint")
    for name in ("caller", "other"):
        shutil.copy(STAGE + "/build/attack/exec_crowd", d + "/" + name)
        os.chmod(d + "/" + name, 0o755)
    work = public_folder("hint-work")
    grants = """
    read %s
    write %s
    exec allow %s **
    exec allow %s **
    exec allow /bin/true from %s
    exec allow /bin/false in %s
""" % (words(d), words(work), words(d + "/caller"), words(d + "/other"), words(d + "/caller"), words(d))

    def crowd(r):
        return facts(r.stdout).get("good"), facts(r.stdout).get("other")
    body = "    run /bin/sh -c **\n" + grants + user_line()
    r = kexec(body, ["/bin/sh", "-c", "%s/caller vfork 3 /bin/true" % d])
    equal(crowd(r), ("3", "0"), r.stderr)
    for line in ("%s/other vfork 3 /bin/true" % d, "cp %s/caller %s/caller; %s/caller vfork 3 /bin/true" % (d, work, work)):
        r = kexec(body, ["/bin/sh", "-c", line])
        check(crowd(r)[0] in ("0", None), line, r.stdout)
    got = tried(grants, ["cd %s && /bin/false" % d, "cd %s && /bin/false" % work, "/bin/false",
                         "mkdir -p %s/x && cd %s/x && /bin/false" % (work, work)])
    equal(got[0], 1, "in its folder")
    for status in got[1:]:
        check(status != 1, "outside of its folder", got)


if __name__ == "__main__":
    main()
