#!/usr/bin/env python3
"""Is kennel transparent in front of a server at a URL?  The official suite judges our fixture over HTTP
twice, directly and behind `kennel run` of a policy with `remote`; every check must end the same way.

    suite -- HTTP --> supergateway -- stdio --> fixture
    suite -- HTTP --> supergateway -- stdio --> kennel run, kennel-remote -- HTTP --> supergateway -- stdio --> fixture

2026-07-28 has no sessions, so supergateway starts its command for each request: kennel and then the far fixture, where the
suite waits 500 ms for the first event (server-stateless: no-log-without-loglevel, no-independent-requests-on-stream).  The
fixture alone fails the same checks if its start takes 450 ms more.  So the far side of that version is far.mjs, whose
processes are started before; the start of kennel remains, which a busy machine can still stretch beyond 500 ms.

Then a server of the official SDK over HTTP, with its client in every mode: directly and behind `kennel run`, the same session.

    tests/conformance/remote.py [VERSION...]     default: every one that the suite knows
"""
import json
import subprocess
import sys

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


class Far(run.Gateway):
    def argv(self, command):
        return [run.NODE, run.HERE + "/far.mjs", command, str(self.port)]


def session(place, mode, *to):
    r = subprocess.run([run.NODE, run.PLACE + "/sdk_client.mjs", mode, *to], capture_output=True, text=True, timeout=120,
                       cwd=run.PLACE, env=place.env)
    return json.loads(r.stdout) if r.returncode == 0 else {"failed": r.stderr[-500:]}


def sdk(place):
    """How many modes of the client differ, or have no session at all."""
    server = subprocess.Popen([run.NODE, run.PLACE + "/sdk_server.mjs"], stdout=subprocess.PIPE, text=True, cwd=run.PLACE)
    bad = 0
    try:
        port = int(server.stdout.readline())
        policy = place.seal("sdk", POLICY % port)
        for mode in ("legacy", "auto", "2026-07-28"):
            a = session(place, mode, "http://127.0.0.1:%d/mcp" % port)
            b = session(place, mode, run.KENNEL, "run", "fixture", "--policy", policy)
            same = a == b and len(a.get("results", [])) == 16 and sum("error" not in x for x in a["results"]) > 10
            bad += not same
            print("%s - SDK server 2.4.0 over HTTP, client %s: %s" % ("ok" if same else "not ok", mode, a.get("version", a)))
            if not same:
                print("#   directly %s\n#   kennel %s" % (json.dumps(a)[:600], json.dumps(b)[:600]))
    finally:
        server.kill()
        server.wait()
    return bad


def body(place):
    if not sys.argv[1:]:
        place.differ += sdk(place)
    bare = "%s %s" % (run.NODE, run.FIXTURE)
    for version in sys.argv[1:] or run.VERSIONS:
        far = Far(run.FIXTURE, place.env) if version == "2026-07-28" else run.Gateway(bare, place.env)
        try:
            policy = place.seal("fixture-" + version, POLICY % far.port)
            place.differ += run.compare(version, *place.judge(
                version, bare=bare, remote="%s run fixture --policy %s" % (run.KENNEL, policy)))
        finally:
            far.close()


if __name__ == "__main__":
    sys.exit(run.compared("conformance of remote servers", body))
