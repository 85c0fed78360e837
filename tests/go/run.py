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
# A second number: by so many recorders, with keys and files that do not last.
SIZES = [1, 3, 252, 253, 254, 255, 509, 512, 700, 65533, 70000, (700, 3)]


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
    subprocess.run([go, "build", "-o", out, "check.go", "chain.go"], cwd=ROOT + "/tests/go", env=env, check=True)
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


def checkpoints(log, path, without=None):
    """Every one that was ever signed, of all the log's files, but for that of one size."""
    found = {}
    for name in os.listdir(log):
        if name.startswith("audit") and name.endswith(".db"):
            c = sqlite3.connect("file:%s/%s?mode=ro" % (log, name), uri=True)
            found.update(c.execute("select size, note from cp"))
            c.close()
    found.pop(without, None)
    with open(path, "wb") as f:
        for size in sorted(found):
            note = found[size]
            f.write((note.encode() if isinstance(note, str) else note) + b"\0")


def write(home, n, times):
    log = home + "/audit"
    if times > 1:
        os.mkdir(log, 0o700)
        with open(log + "/audit.conf", "w") as f:
            f.write("epoch 1\nsegment 256\n")
    for _ in range(times):
        subprocess.run([WRITER, "write", RECORDER, log, home + "/run", str(n // times), str(max(1, n // times // 7))],
                       check=True, stdout=subprocess.DEVNULL)
        quiet(log)


def quiet(log):
    """The recorder goes a second after its last writer."""
    for _ in range(200):
        if not os.path.exists(log + "/audit.db-wal"):
            return
        time.sleep(0.05)


def one(check, n):
    home = tempfile.mkdtemp(prefix="kennel-go-")
    n, times = n if isinstance(n, tuple) else (n, 1)
    try:
        log = home + "/audit"
        write(home, n, times)
        env = {"KENNEL_HOME": home, "PATH": "/usr/bin:/bin"}
        subprocess.run([KENNEL, "audit", "certify", "-o", home + "/certificate"], env=env, check=True)
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
        checkpoints(log, home + "/checkpoints")
        judge = [check, home + "/tiles", origin, epoch, home + "/checkpoints", home + "/certificate"]
        r = subprocess.run(judge + proofs, stdout=subprocess.PIPE)
        lines = r.stdout.decode().splitlines()
        if r.returncode != 0 or len(lines) != 7:
            print("\n".join(lines))
            print("not ok - a log of %d records" % size)
            return 1
        print("ok - a log of %d records: %s" % (size, "; ".join(x[5:] for x in lines)))
        # controls: the checkpoint under which the first key named the second is gone
        first = sorted(x for x in os.listdir(log) if x.startswith("audit") and x.endswith(".db"))[0]
        c = sqlite3.connect("file:%s/%s?mode=ro" % (log, first), uri=True)
        (ended,) = c.execute("select min(idx) from rec where kind in ('epoch', 'end')").fetchone()
        c.close()
        checkpoints(log, judge[4], without=ended + 1)
        r = subprocess.run(judge, stdout=subprocess.PIPE)
        if r.returncode == 0 or b"covers the key of the next" not in r.stdout:
            print("not ok - a key that nobody vouched for is taken")
            return 1
        # and a byte of a record turned over
        entries = home + "/tiles/tile/entries/"
        path = next(os.path.join(d, f) for d, _, fs in os.walk(entries) for f in fs)
        with open(path, "r+b") as f:
            f.seek(40)
            b = f.read(1)
            f.seek(40)
            f.write(bytes([b[0] ^ 1]))
        r = subprocess.run(judge, stdout=subprocess.PIPE)
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
