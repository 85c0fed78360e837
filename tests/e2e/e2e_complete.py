"""Completion: what `kennel complete` offers, and that each shell shows it."""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

HOME = TMP + "/home-complete"
ENV = {"KENNEL_HOME": HOME, "PATH": STAGE + "/usr/bin:/usr/bin:/bin"}
SHARE = STAGE + "/usr/share/"


def prepare():
    for d in ("policies", "sealed"):
        os.makedirs(HOME + "/" + d, exist_ok=True)
    with open(HOME + "/policies/two.kennel", "w") as f:
        f.write("# server in-a-comment\nserver github {\n    run /bin/true\n}\n  server gitlab {\n}\nserver Big_1 {\n}\n")
    open(HOME + "/sealed/notes.sealed", "w").close()
    open(HOME + "/policies/not-a-policy.txt", "w").close()


def offers(*words):
    r = run([KENNEL, "complete", *words], env=ENV)
    equal((r.returncode, r.stderr), (0, b""), words)
    return r.stdout.decode().split()


@test("kennel complete: verbs, options, values, servers and files")
def offered():
    prepare()
    equal(offers("po"), ["policy"])
    equal(offers("pol", "ch"), [])
    equal(offers("policy", "ch"), ["check"])
    for verb in ("run", "audit", "secret", "init"):
        check(verb in offers(""), verb)
    absent("complete", offers(""))
    equal(sorted(offers("run", "")), ["Big_1", "github", "gitlab", "notes"])
    equal(offers("run", "gith"), ["github"])
    equal(sorted(offers("audit", "log", "--ver")), ["--verdict", "--verified"])
    equal(offers("audit", "log", "--verdict", "de"), ["deny"])
    equal(offers("audit", "log", "--server", "n"), ["notes"])
    equal(offers("audit", "export", "--format", "o"), ["ocsf"])
    equal(offers("audit", "report", "--kind", "ex"), ["exceptions"])
    equal(offers("policy", "check", ""), [":files"])
    equal(offers("policy", "check", "a", "b", ""), [":files"])
    equal(offers("policy", "show", "a", "git"), ["github", "gitlab"])
    equal(offers("policy", "show", "--json", "a", "not"), ["notes"])
    equal(offers("policy", "explain", "a", "github", "to"), ["tool"])
    equal(offers("run", "--policy", ""), [":files"])
    equal(offers("exec", "github", "--", ""), [":files"])
    equal(offers("secret", "catalog", "va"), ["validate"])
    equal(offers("help", "audit", "sess"), ["sessions", "session"])
    equal(offers("doctor", "-"), ["--json", "--help"])


def lines(what, argv):
    r = run(argv, env=ENV)
    equal(r.returncode, 0, (what, r.stderr))
    return sorted(set(r.stdout.decode().split()))


@test("bash shows what is offered, and names of files")
def bash():
    prepare()
    script = SHARE + "bash-completion/completions/kennel"

    def shown(*words):
        return lines(words, ["bash", "-c", 'source "$1"; shift; cd / || exit; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                             '_kennel; printf "%s\\n" "${COMPREPLY[@]}"', "-", script, "kennel", *words])

    equal(shown("pol"), ["policy"])
    equal(shown("run", "git"), ["github", "gitlab"])
    equal(shown("audit", "log", "--verdict", "k"), ["killed"])
    within("/etc/passwd", shown("policy", "check", "/etc/pass"))
    within("_kennel kennel", run(["bash", "-c", 'source "$1"; complete -p kennel', "-", script]).stdout.decode())


@test("zsh shows what is offered, and names of files")
def zsh():
    if not shutil.which("zsh", path=os.environ.get("PATH")):
        skip("zsh")
    prepare()
    script = SHARE + "zsh/site-functions/_kennel"

    def shown(*words):
        return lines(words, ["zsh", "-fc", 'script=$1; shift; words=("$@"); CURRENT=$#; _files() { print FILES }; '
                             'compadd() { print -l ${(P)2} }; source $script', "-", script, "kennel", *words])

    equal(shown("pol"), ["policy"])
    equal(shown("run", "git"), ["github", "gitlab"])
    equal(shown("policy", "check", ""), ["FILES"])


@test("fish shows what is offered, and names of files")
def fish():
    if not shutil.which("fish", path=os.environ.get("PATH")):
        skip("fish")
    prepare()
    script = SHARE + "fish/vendor_completions.d/kennel.fish"

    def shown(line):
        return lines(line, ["fish", "--no-config", "-c", "source %s; complete -C '%s'" % (script, line)])

    equal(shown("kennel pol"), ["policy"])
    equal(shown("kennel run git"), ["github", "gitlab"])
    within("/etc/passwd", shown("kennel policy check /etc/pass"))


if __name__ == "__main__":
    main()
