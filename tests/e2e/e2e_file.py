"""A secret as a file: read by its server and what that starts, in no environment, and nobody changes it."""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

be_subreaper()
VALUE = "f1le-s3ntinel-%d-k3nn3l" % os.getpid()
OTHER = "0ther-s3ntinel-%d-k3nn3l" % os.getpid()
LEN = str(len(VALUE))
GRANT = "    secret TOKEN from env AGENT_TOKEN { as file }\n"
SH = "    run /bin/sh **\n    exec allow /bin/cat **\n    exec allow /usr/bin/wc **\n    exec allow /bin/sh **\n"


def fds_of(pid):
    out = []
    try:
        for fd in os.listdir("/proc/%d/fd" % pid):
            out.append(os.readlink("/proc/%d/fd/%s" % (pid, fd)))
    except OSError:
        pass  # of another user, or gone
    return out


def sh(script, more="", grant=GRANT):
    r = kexec(SH + grant + more, ["/bin/sh", "-c", script], env={"AGENT_TOKEN": VALUE, "OTHER_TOKEN": OTHER})
    absent(VALUE.encode(), r.stdout + r.stderr)
    return r


@test("S4-28 ESCAPES 78: the server reads it as often as it likes, each time from its beginning; it has no variable for it")
def read_again():
    r = sh('cat "$TOKEN_FILE"; echo; cat /dev/fd/100; echo; read -r v <"$TOKEN_FILE"; echo ${#v}; wc -c <"$TOKEN_FILE"; '
           'echo $TOKEN_FILE "<$TOKEN>"; set | cat')
    said = r.stdout.decode().splitlines()
    equal(said[:2], ["***", "***"], r.stderr)
    equal(said[2:5], [LEN, LEN, "/dev/fd/100 <>"], r.stderr)
    absent(b"s3ntinel", r.stdout)


@test("nobody writes it, makes it longer or shorter, or puts another in its place")
def sealed():
    if not os.path.exists("/bin/bash"):
        skip("bash is not here: other shells know no descriptor above 9")
    r = kexec("    run /bin/bash **\n" + GRANT,
              ["/bin/bash", "-c", '(: >$TOKEN_FILE); (echo x >>$TOKEN_FILE) && echo written; (echo x 1<>$TOKEN_FILE) && echo written; '
               '(echo x >&100) && echo written; read -r v <$TOKEN_FILE; echo ${#v}; (echo x >&1) && echo control'],
              env={"AGENT_TOKEN": VALUE})
    equal(r.stdout.decode().split(), [LEN, "x", "control"], r.stderr)


@test("what the server starts has it too, and theirs; a descriptor that is not its own is none")
def grandchildren():
    r = sh('sh -c "sh -c \'cat \\$TOKEN_FILE; echo; wc -c <\\$OTHER_FILE; sh -c \\"ls\\" 2>/dev/null; test -e /dev/fd/102 || echo none\'"',
           grant=GRANT + "    secret OTHER from env OTHER_TOKEN { as file }\n")
    said = r.stdout.decode().split()
    equal(said, ["***", str(len(OTHER)), "none"], r.stdout + r.stderr)


@test("node, and the node that it starts, read it")
def node():
    node = shutil.which("node", path="/usr/bin:/usr/local/bin")
    if node is None:
        skip("node is not here")
    d = public_folder("secret-file")
    script = d + "/read.js"
    with open(script, "w") as f:
        f.write("const fs = require('fs');\n"
                "console.log(process.argv[2], fs.readFileSync(process.env.TOKEN_FILE).length, 'TOKEN' in process.env);\n"
                "const next = { one: 'two', two: 'three' }[process.argv[2]];\n"
                "if (next) require('child_process').execFileSync(process.execPath, [__filename, next], { stdio: 'inherit' });\n")
    os.chmod(script, 0o644)
    body = "    run %s %s one\n    exec allow %s %s *\n    read %s\n" % (words(node), words(script), words(node), words(script), words(script))
    r = kexec(body + GRANT, [node, script, "one"], env={"AGENT_TOKEN": VALUE})
    equal(r.stdout.decode().split("\n")[:3], ["%s %s false" % (n, LEN) for n in ("one", "two", "three")], r.stderr)


@test("S4-29 S4-30 ESCAPES 77 78: of all processes' environments none holds it, the server's own included; a variable's is in its own")
def nowhere():
    for as_file in (True, False):
        s = kennel_run(toy_policy(GRANT if as_file else GRANT.replace(" { as file }", "")), env={"AGENT_TOKEN": VALUE})
        s.initialize()
        name = "TOKEN_FILE" if as_file else "TOKEN"
        equal(s.text("getenv", var=name), "/dev/fd/100" if as_file else "***")
        found, read, held = 0, 0, []
        for pid, comm in descendants(os.getpid()).items():
            env = reads("/proc/%d/environ" % pid)
            read += any(v.startswith(name.encode() + b"=") for v in env.split(b"\0"))
            found += VALUE.encode() in env
            absent(VALUE.encode(), reads("/proc/%d/cmdline" % pid), comm)
            held += [comm for fd in fds_of(pid) if "memfd:secret" in fd]
        equal(read, 1, "the server's environment was read")
        equal(found, 0 if as_file else 1, "environments with the value")
        equal(held, ["toy"] if as_file else [], "who has the descriptor")
        s.close()


@test("show says how it is given, and diff that it changed")
def shown():
    plain, as_file = (policy(SH + g) for g in (GRANT.replace(" { as file }", ""), GRANT))
    r = run([KENNEL, "policy", "show", as_file])
    within(b"{ as file }", r.stdout)
    r = run([KENNEL, "policy", "show", "--json", as_file])
    within(b'"as_file":true', r.stdout.replace(b" ", b""))
    r = run([KENNEL, "policy", "diff", plain, as_file])
    equal(r.returncode, 1, r.stderr)
    within(b"as file", r.stdout)


@test("a program cannot be started with another path in its place, nor with the value as a variable")
def gate():
    r = sh('TOKEN_FILE=/dev/fd/101 cat /dev/null && echo other; TOKEN=x cat /dev/null && echo variable; cat /dev/null && echo same')
    equal(r.stdout.decode().split(), ["same"], r.stderr)


@test("S4-36: what cannot be told from ordinary text is refused, with the name and without the value, until the line lets it in")
def weak():
    weak = ("changeme", "zq7-k", "aaaaaaaabbbb", "12345678", "abcd1234")
    for value in weak:
        for opt in ("", " { as file }"):
            r = kexec("    run /bin/sh **\n    secret S from env AGENT_TOKEN%s\n" % opt, ["/bin/sh", "-c", "echo started"],
                      env={"AGENT_TOKEN": value})
            equal(r.returncode, 125, r.stderr)
            within(b"the value of S is too weak: it ", r.stderr)
            within(b"`{ weak allowed }`", r.stderr)
            absent(value.encode(), r.stdout + r.stderr)
            absent(b"started", r.stdout)
        r = kexec("    run /bin/sh **\n    secret S from env AGENT_TOKEN { weak allowed }\n", ["/bin/sh", "-c", "echo $S started"],
                  env={"AGENT_TOKEN": value})
        equal(r.stdout, b"*** started\n", r.stderr)
        within(b"S is redacted everywhere, also in ordinary text: it ", r.stderr)
        absent(value.encode(), r.stderr)
    r = kexec("    run /bin/sh **\n    secret S from env AGENT_TOKEN\n", ["/bin/sh", "-c", "echo $S started"],
              env={"AGENT_TOKEN": "Wm4-kz81-Tq"})
    equal(r.stdout, b"*** started\n", r.stderr)
    absent(b"ordinary text", r.stderr)


if __name__ == "__main__":
    main()
