"""The Inspector's command line, in both eras: it shows the same behind kennel as it does bare."""
import json
import os
import subprocess

import run

INSPECTOR = run.MODULES + "/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
ERAS = ["legacy", "modern"]
ASKS = [
    ["--method", "tools/list"],
    ["--method", "tools/call", "--tool-name", "test_simple_text"],
    ["--method", "tools/call", "--tool-name", "test_image_content"],
    ["--method", "tools/call", "--tool-name", "test_error_handling"],
    ["--method", "resources/list"],
    ["--method", "resources/templates/list"],
    ["--method", "resources/read", "--uri", "test://static-text"],
    ["--method", "prompts/list"],
    ["--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b"],
]


def ask(era, command, words, env):
    """(exit status, what it printed), or why there is none."""
    home = env["HOME"] + "/inspector"  # it keeps a file of servers there
    os.makedirs(home, exist_ok=True)
    r = subprocess.run([run.NODE, INSPECTOR, "--cli", "--protocol-era", era] + command.split() + words, env=dict(env, HOME=home),
                       capture_output=True, text=True, timeout=120, cwd=home)
    try:
        return r.returncode, json.loads(r.stdout)
    except ValueError:
        return r.returncode, (r.stdout + r.stderr)[-800:]


def compare(bare, behind, env, plain):
    """The number of answers that differ: behind(era) is the command."""
    bad = 0
    for era in ERAS:
        for words in ASKS:
            a, b = ask(era, bare, words, env), ask(era, behind(era), words, env)
            same = (a[0], plain(a[1])) == (b[0], plain(b[1])) and isinstance(a[1], dict)
            bad += not same
            print("%s - Inspector, %s: %s" % ("ok" if same else "not ok", era, " ".join(words[1:])))
            if not same:
                print("#   bare  %d %s\n#   serve %d %s" % (a[0], json.dumps(a[1])[:600], b[0], json.dumps(b[1])[:600]))
    return bad


def portable(command, env):
    """Do all of kennel's own tools have schemas that every client takes?  0 or 1."""
    status, said = ask("legacy", command, ["--method", "tools/list", "--strict"], env)
    good = status == 0 and isinstance(said, dict) and len(said["tools"]) > 0
    print("%s - Inspector: the schemas of kennel's own tools are portable" % ("ok" if good else "not ok"))
    if not good:
        print("#   %d %s" % (status, json.dumps(said)[:800]))
    return 0 if good else 1
