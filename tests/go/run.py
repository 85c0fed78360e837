#!/usr/bin/env python3
"""The log read by somebody else's code: logs of many sizes are written, exported
as tiles, and judged by tests/go/check.go, which knows nothing of kennel.

No network: Go builds from Debian's golang-golang-x-mod-dev.  Without Go or that
package the test is skipped, and says so.
"""
import concurrent.futures
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KENNEL = ROOT + "/build/bin/kennel"
RECORDER = ROOT + "/build/libexec/kennel/kennel-recorder"
WRITER = ROOT + "/build/tests/audit"
MODULES = "/usr/share/gocode"
# Records beside the log's own two or three: around the widths of tiles.
SIZES = [1, 3, 252, 253, 254, 255, 509, 512, 700, 65533, 70000]


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def build():
    go = shutil.which("go")
    if go is None:
        skip("there is no go (golang-go)")
    if not os.path.isdir(MODULES + "/src/golang.org/x/mod/sumdb/tlog"):
        skip("golang-golang-x-mod-dev is not installed")
    out = ROOT + "/build/tests/go-check"
    env = {"PATH": os.environ["PATH"], "HOME": ROOT + "/build", "GOPATH": MODULES, "GO111MODULE": "off",
           "GOPROXY": "off", "GOFLAGS": "-mod=mod", "GOCACHE": ROOT + "/build/go", "GOTOOLCHAIN": "local",
           "CGO_ENABLED": "0"}
    subprocess.run([go, "build", "-o", out, "check.go"], cwd=ROOT + "/tests/go", env=env, check=True)
    return out


def epoch_key(db, name):
    """The vkey of the epoch that signed the checkpoint: from the log, since a
    reader would have it from there too."""
    c = sqlite3.connect("file:%s?mode=ro" % db, uri=True)
    for (body,) in c.execute("select body from rec where kind in ('genesis', 'epoch', 'end')"):
        text = body.decode()
        at = text.find(name + "+")
        if at >= 0:
            return text[at:text.index('"', at)]
    raise SystemExit("not ok - no key of " + name)


def quiet(log):
    """The recorder goes a second after its last writer."""
    for _ in range(200):
        if not os.path.exists(log + "/audit.db-wal"):
            return
        time.sleep(0.05)


def one(check, n):
    home = tempfile.mkdtemp(prefix="kennel-go-")
    try:
        log = home + "/audit"
        subprocess.run([WRITER, "write", RECORDER, log, home + "/run", str(n), str(max(1, n // 7))], check=True,
                       stdout=subprocess.DEVNULL)
        quiet(log)
        env = {"KENNEL_HOME": home, "PATH": "/usr/bin:/bin"}
        subprocess.run([KENNEL, "audit", "tiles", home + "/tiles"], env=env, check=True, stdout=subprocess.DEVNULL)
        with open(home + "/tiles/checkpoint") as f:
            text = f.read()
        size = int(text.split("\n")[1])
        proofs = []
        for i in sorted({0, 1, size // 2, size - 1}):
            proofs.append("%s/%d.tlog-proof" % (home, i))
            subprocess.run([KENNEL, "audit", "prove", "--size", str(size), str(i), "-o", proofs[-1]], env=env, check=True)
        with open(log + "/origin.vkey") as f:
            origin = f.read().strip()
        epoch = epoch_key(log + "/audit.db", text.rstrip().split("\n")[-1].split(" ")[1])
        r = subprocess.run([check, home + "/tiles", origin, epoch] + proofs, stdout=subprocess.PIPE)
        lines = r.stdout.decode().splitlines()
        if r.returncode != 0 or len(lines) != 5:
            print("\n".join(lines))
            print("not ok - a log of %d records" % size)
            return 1
        print("ok - a log of %d records: %s" % (size, "; ".join(x[5:] for x in lines)))
        # the control: a byte of a record turned over
        entries = home + "/tiles/tile/entries/"
        path = next(os.path.join(d, f) for d, _, fs in os.walk(entries) for f in fs)
        with open(path, "r+b") as f:
            f.seek(40)
            b = f.read(1)
            f.seek(40)
            f.write(bytes([b[0] ^ 1]))
        r = subprocess.run([check, home + "/tiles", origin, epoch], stdout=subprocess.PIPE)
        if r.returncode == 0:
            print("not ok - a changed record of %d is taken" % size)
            return 1
        return 0
    finally:
        for _ in range(100):  # until nobody holds the log any more
            try:
                if not os.listdir(home + "/run"):
                    break
            except OSError:
                break
            time.sleep(0.05)
        shutil.rmtree(home, ignore_errors=True)


def main():
    check = build()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they wait, mostly
        sys.exit(max(pool.map(lambda n: one(check, n), SIZES)))


if __name__ == "__main__":
    main()
