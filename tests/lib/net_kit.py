"""What the tests of the network share: names, a probe in a cell, records."""
import json
import os

import world
from kit import audit, check, kexec, wait_for

PYTHON = "/usr/bin/python3"
PROBE = os.path.dirname(os.path.realpath(__file__)) + "/net_probe.py"
LOST = "kennel-egress and kennel-dial ended: the server has lost its network"
HELLO = "hello from the internet\n"
NAMES = {
    "api.test.example": ["9.8.7.10"],
    "db.test.example": ["9.8.7.12"],
    "a.cdn.test.example": ["9.8.7.13"],
    "b.cdn.test.example": ["9.8.7.14"],
    "two.test.example": ["9.8.7.20", "9.8.7.10"],      # the first does not answer
    "six.test.example": ["2a00:aa::10", "9.8.7.10"],
    "private.test.example": ["10.20.30.40"],
    "evil.test.example": ["127.0.0.1"],
    "self.test.example": [world.NEAR4],
    "near.test.example": [world.NEIGHBOUR6],
    "meta.test.example": ["169.254.169.254"],
    "ali.test.example": ["100.100.100.200"],
    "sixtofour.test.example": ["2002:a14:1e28::1"],
    "mapped.test.example": ["::ffff:10.20.30.40"],
    "nat64.test.example": ["64:ff9b::a14:1e28"],
    "synthetic.test.example": ["29.31.196.2"],
    "nobody.test.example": ["9.8.7.29"],
}


def base(name="t"):
    """What the probe needs in a cell."""
    user = '    user "65534"\n' if os.geteuid() == 0 else ""
    return user + """
    run %s %s **
    exec allow %s %s ** because "the tests"
    read %s
    env PROBE_CA = "%s/ca.pem"
    read %s
    """ % (PYTHON, PROBE, PYTHON, PROBE, PROBE, world.keys(), world.keys())


def probe(grants, *verbs, status=0, timeout=90, body=None, **how):
    """Each verb's answer, by net_probe.py in a cell with these grants."""
    r = kexec((body or base()) + grants, [PYTHON, PROBE] + [json.dumps(v) for v in verbs], timeout=timeout, **how)
    check(r.returncode == status, "status %d: %s %s" % (r.returncode, r.stdout[-500:], r.stderr[-1500:]))
    probe.stderr = r.stderr.decode(errors="replace")
    return [json.loads(x)["is"] for x in r.stdout.splitlines()]


def egress(**want):
    """Records of connections that have all of this."""
    def has(fields, k, v):
        return v in fields.get(k, []) if isinstance(fields.get(k), list) else fields.get(k) == v
    return [e["fields"] for e in audit("--kind", "egress") if all(has(e["fields"], k, v) for k, v in want.items())]


def recorded(seconds=3, **want):
    found = wait_for(lambda: egress(**want), seconds) is not None
    check(found, "no record with", want, "; the last:", [e["fields"] for e in audit("--kind", "egress")[-6:]])
