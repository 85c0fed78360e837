#!/usr/bin/env python3
"""Is kennel transparent in front of a server at a URL?  The official suite judges our fixture over HTTP
twice, directly and behind `kennel run` of a policy with `remote`; every check must end the same way.

    suite -- HTTP --> supergateway -- stdio --> fixture
    suite -- HTTP --> supergateway -- stdio --> kennel run, kennel-remote -- HTTP --> supergateway -- stdio --> fixture

2026-07-28 has no sessions, so supergateway starts its command for each request: kennel and then the far fixture, where the
suite waits 500 ms for the first event (server-stateless: no-log-without-loglevel, no-independent-requests-on-stream).  The
fixture alone fails the same checks if its start takes 450 ms more.  So the far side of that version is far.mjs, whose
processes are started before; the start of kennel remains, which a busy machine can still stretch beyond 500 ms.

    tests/conformance/remote.py [VERSION...]     default: every one that the suite knows
"""
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


def body(place):
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
