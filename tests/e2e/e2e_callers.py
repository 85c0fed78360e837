"""Execs by who asks, in which folder and of which bytes, and kennel exec --explain."""
import hashlib
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

TOKEN = "callers-s3ntinel-%d" % os.getpid()
SH = "    run /bin/sh **\n"
NOBODY = '    user "%d"\n' % UID if os.geteuid() == 0 else ""


def sh(body, script, *explain):
    return run([KENNEL, "exec", *explain, "--policy", policy(SH + body), "t", "--", "/bin/sh", "-c", script])


@test("S4-43 from: the one who asks, and nobody else")
def callers():
    body = "    exec allow /usr/bin/id -u from /usr/bin/env\n    exec allow /usr/bin/env id -u\n"
    equal(sh(body, "/usr/bin/env id -u").returncode, 0)
    r = sh(body, "/usr/bin/id -u")
    equal(r.returncode, 126, r.stderr)
    check(audited("the grant is for another caller", '"caller": "/usr/bin/dash"') or
          audited("the grant is for another caller", "/sh\""), "not in the log")
    # a denial for one caller is no denial for another, and holds for that one
    body = "    exec allow /usr/bin/id **\n    exec deny /usr/bin/id ** from /usr/bin/env\n    exec allow /usr/bin/env id -u\n"
    equal(sh(body, "/usr/bin/id -u").returncode, 0)
    equal(sh(body, "/usr/bin/env id -u").returncode, 126)


@test("S4-43 in: the folder that was granted, and below it")
def folders():
    d = public_folder("callers")
    below = os.path.join(d, "in", "below")
    shutil.rmtree(os.path.join(d, "in"), ignore_errors=True)
    os.makedirs(below)
    os.chmod(os.path.join(d, "in"), 0o777)
    body = NOBODY + "    write %s\n    exec allow /usr/bin/id -u in %s/in\n    exec allow /bin/mkdir **\n    exec allow /bin/mv **\n" % (d, d)
    equal(sh(body, "cd %s/in && exec /usr/bin/id -u" % d).returncode, 0)
    equal(sh(body, "cd %s && exec /usr/bin/id -u" % below).returncode, 0)
    equal(sh(body, "cd %s && exec /usr/bin/id -u" % d).returncode, 126)
    # another one under its name is not it
    r = sh(body, "cd %s && /bin/mv in old && /bin/mkdir in && cd in && exec /usr/bin/id -u" % d)
    equal(r.returncode, 126, r.stderr)
    check(audited("the grant is for another directory"), "not in the log")


@test("ESCAPES 63 a program's links to itself lead where they lead")
def own_links():
    body = "    exec allow /usr/bin/id -u\n"
    equal(sh(body, "exec /proc/self/exe -c /usr/bin/id").returncode, 126, "another name than sh")
    two = body + "    exec allow /bin/bash **\n"
    r = sh(two, "exec /bin/bash -c 'exec -a bash /proc/self/exe -c \"/usr/bin/id -u\"'")
    equal(r.returncode, 0, r.stderr)
    r = sh(two, "exec /bin/bash -c 'exec 5</usr/bin/id; exec -a id /proc/self/fd/5 -u'")
    equal(r.returncode, 0, r.stderr)
    r = sh(two, "exec /bin/bash -c 'exec 5</usr/bin/id; exec -a id /proc/self/fd/5 -g'")
    equal(r.returncode, 126, "arguments that nothing grants")
    r = sh(two, "exec /bin/bash -c 'exec -a id /proc/1/exe -u'")
    equal(r.returncode, 126, "somebody else's link")


@test("a program with a digest runs while its file has these bytes")
def digests():
    d = public_folder("digests")
    mine = d + "/id"
    shutil.copy("/usr/bin/id", mine)
    os.chmod(d, 0o755)
    os.chmod(mine, 0o755)
    text = hashlib.sha256(open(mine, "rb").read()).hexdigest()
    body = SH + "    exec allow %s -u\n    digest %s %s\n" % (mine, mine, text)
    source = policy(body)
    sealed = TMP + "/digest.sealed"
    equal(run([KENNEL, "policy", "compile", source, "-o", sealed]).returncode, 0)
    command = [KENNEL, "exec", "--policy", sealed, "t", "--", "/bin/sh", "-c", "exec %s -u" % mine]
    equal(run(command).returncode, 0)
    os.utime(mine)
    equal(run(command).returncode, 0, "touched")
    with open(mine, "ab") as f:
        f.write(b"x")
    equal(run(command).returncode, 126, "other bytes")
    check(audited("its file does not have the digest in the policy", text), "not in the log")
    r = run([KENNEL, "policy", "compile", source, "-o", sealed])
    equal(r.returncode, 65)
    within(b"the digest does not match", r.stderr)


@test("--explain: each exec as it is judged, inert and without secrets")
def explain():
    body = ("    secret TOKEN from file %s\n    exec allow /usr/bin/id -u\n    exec deny /bin/echo **\n    exec allow /bin/echo hello\n"
            % secret_file())
    # to a file, not through the program's own standard error
    r = sh(body, "/usr/bin/id -u; /bin/echo \"$TOKEN\" '\033[2J'; exec 2>/dev/null; /usr/bin/id \"\u202e\"; /nope/id; /bin/ls; true", "--explain")
    text = r.stderr.decode()
    within("kennel: allow: /usr/bin/id [ /usr/bin/id -u ] by /usr/bin/", text)
    within("kennel: deny: /bin/echo [", text)
    within("rule ", text)
    within("kennel: absent: /nope/id [", text)
    within("kennel: deny: /bin/ls [", text)
    absent(TOKEN, text, "what was told")
    absent("\033", text, "what was told")
    absent("\u202e", text, "what was told")
    within("no grant has these arguments", text)
    # nobody asked: nothing told
    absent("kennel: allow", sh(body, "/usr/bin/id -u").stderr.decode(), "standard error")


KIN = "    exec allow /bin/bash **\n    exec allow /usr/bin/env **\n    exec allow /usr/bin/id -u\n"


def chains(since, program="/id"):
    """Of each exec of the program: its record's pid, who asked, who was above."""
    return [(e["fields"]["pid"], e["fields"]["caller"], e["fields"].get("chain", []))
            for e in audit("--kind", "exec")[since:] if e["fields"]["program"].endswith(program)]


@test("who started whom: with program and pid, up to the server; a process that runs another program now")
def kin():
    since = len(audit("--kind", "exec"))
    r = sh(KIN, "/bin/bash -c '/usr/bin/env /usr/bin/id -u; /usr/bin/id -u; true'; exec /bin/bash -c '/usr/bin/id -u; true'",
           "--explain")
    equal(r.returncode, 0, r.stderr)
    (bash, _, above), = [c for c in chains(since, "/bash") if c[2]]
    top = above[0].split(" ")[0]
    dash = os.path.realpath("/bin/sh")
    equal(above, ["%s %s" % (top, dash)])
    got = chains(since)
    below = ["%d /usr/bin/bash" % bash, "%s %s" % (top, dash)]
    equal([c[1:] for c in got], [("/usr/bin/env", below), ("/usr/bin/bash", below),
                                 ("/usr/bin/bash", ["%s /usr/bin/bash" % top])])
    within(" by /usr/bin/env below %s < %s rule" % tuple(below), r.stderr.decode())
    idx = [e["idx"] for e in audit("--kind", "exec")[since:] if e["fields"]["program"].endswith("/id")][0]
    r = run([KENNEL, "audit", "why", str(idx)])
    for line in ("caller          /usr/bin/env", "started by      " + below[0], "                " + below[1]):
        within(line, r.stdout.decode())


@test("who started whom: more parents than are remembered, each its own; one whose parent has ended has none")
def many_kin():
    since = len(audit("--kind", "exec"))
    # a fork of its own for each, so that there is something above
    r = sh(KIN, "i=0; while [ $i -lt 80 ]; do /bin/bash -c '/usr/bin/id -u; true'; i=$((i+1)); done")
    equal(r.stdout.count(b"\n"), 80, r.stderr)
    parents = [pid for pid, _, above in chains(since, "/bash") if above]
    equal([c[2][0] for c in chains(since)], ["%d /usr/bin/bash" % p for p in parents])
    equal({c[2][1] for c in chains(since)}, {chains(since, "/bash")[0][2][0]}, "and the server above all of them")
    since = len(audit("--kind", "exec"))
    orphan = ("while p=; do while read k v; do [ \"$k\" = PPid: ] && p=$v; done </proc/$$/status; "
              "[ \"$p\" = 1 ] && break; done; /usr/bin/id -u; true")
    r = sh(KIN, "x=$( ( /bin/bash -c '%s' & ) ); echo $x" % orphan)
    equal(r.returncode, 0, r.stderr)
    (_, caller, above), = chains(since)
    equal((caller, len(above)), ("/usr/bin/bash", 1), above)
    within(" /usr/bin/bash", above[0], "its chain ends with itself")


@test("who started whom: sixteen levels, and that there are more")
def deep_kin():
    since = len(audit("--kind", "exec"))
    r = sh(KIN, "d() { if [ $1 -gt 0 ]; then ( d $(($1 - 1)); true ); else /usr/bin/id -u; fi; }; d 20")
    equal(r.returncode, 0, r.stderr)
    (_, _, above), = chains(since)
    equal((len(above), above[-1]), (17, "..."))


def secret_file():
    path = TMP + "/callers-secret"
    with open(path, "w") as f:
        f.write(TOKEN + "\n")
    os.chmod(path, 0o600)
    return path


if __name__ == "__main__":
    main()
