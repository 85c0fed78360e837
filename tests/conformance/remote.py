#!/usr/bin/env python3
"""Is kennel transparent in front of a server at a URL?  The official suite judges our fixture over HTTP
twice, directly and behind `kennel run` of a policy with `remote`; every check must end the same way.

    suite -- HTTP --> supergateway -- stdio --> fixture
    suite -- HTTP --> supergateway -- stdio --> kennel run, kennel-remote -- HTTP --> supergateway -- stdio --> fixture

    tests/conformance/remote.py [VERSION...]     default: the versions with sessions
"""
import os
import shutil
import subprocess
import sys
import tempfile

import run

POLICY = """
server fixture {
    remote http://localhost:%d/mcp to loopback
    tool allow *
    resource allow *
    prompt allow *
    sampling allow
    elicitation allow
    roots allow
    timeout start 30s
}
"""


def main():
    versions = sys.argv[1:] or ["2025-03-26", "2025-06-18", "2025-11-25"]
    why = run.install()
    if why is not None:
        print("ok - conformance of remote servers # SKIP " + why)
        return 0
    place = tempfile.mkdtemp(prefix="kennel-conformance.")
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": place, "LANG": "C.UTF-8",
           "KENNEL_HOME": place + "/home"}
    bare = "%s %s" % (run.NODE, run.FIXTURE)
    differ = 0
    try:
        for version in versions:
            far = run.Gateway(bare, env)
            policy = "%s/fixture-%s.kennel" % (place, version)
            with open(policy, "w") as f:
                f.write(POLICY % far.port)
            # sealed: the suite gives a call 600 ms, and a text is compiled at each start
            subprocess.run([run.KENNEL, "policy", "compile", policy, "-o", policy + ".sealed"], env=env, check=True)
            verdicts = []
            try:
                for name, command in (("bare", bare), ("remote", "%s run fixture --policy %s.sealed" % (run.KENNEL, policy))):
                    out = "%s/%s-%s" % (place, version, name)
                    os.mkdir(out)
                    verdicts.append(run.judge(command, env, version, out))
            finally:
                far.close()
            differ += run.compare(version, *verdicts)
    finally:
        if os.environ.get("KEEP"):
            print("# kept: " + place)
        else:
            shutil.rmtree(place, ignore_errors=True)
    print("%d differ" % differ)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
