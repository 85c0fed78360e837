#!/usr/bin/env python3
"""What the log costs: beside a bare commit, beside bare SHA-256.

    audit.py [RECORDS]      by itself, on a log of so many (200,000); a long run
                            is `make audit-long`

One table in docs/BENCHMARKS.md comes from it (bench.py).
"""
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def paths():
    """Where the programs are: in the stage of a bench run, or in build/."""
    stage = os.environ.get("KT_STAGE")
    if stage:
        return stage + "/bin/audit", stage + "/usr/libexec/kennel/"
    return ROOT + "/build/tests/audit", ROOT + "/build/libexec/kennel/"


def out(*cmd, env=None, ok=(0,)):
    r = subprocess.run([str(c) for c in cmd], stdout=subprocess.PIPE, env=env)
    if r.returncode not in ok:
        raise SystemExit("%s: %d" % (cmd[0], r.returncode))
    return r.stdout.decode()


def quiet(log):
    for _ in range(400):
        if not os.path.exists(log + "/audit.db-wal"):
            return
        time.sleep(0.05)


def spent(*cmd):
    """Wall seconds, and the processor's."""
    a, t = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    out(*cmd)
    b = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - t, b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime


def body_bytes(log):
    total = count = 0
    for name in os.listdir(log):
        if name.startswith("audit") and name.endswith(".db"):
            c = sqlite3.connect("file:%s/%s?mode=ro" % (log, name), uri=True)
            n, b = c.execute("select count(*), sum(length(body)) from rec").fetchone()
            count, total = count + n, total + b
            c.close()
    return count, total


def first_row(kennel, log):
    """Milliseconds from the start of "kennel audit log --server --from", the middle of the log, to its first row; of nine."""
    names = sorted(n for n in os.listdir(log) if n.startswith("audit-") and n.endswith(".db")) + ["audit.db"]
    c = sqlite3.connect("file:%s/%s?mode=ro" % (log, names[len(names) // 2]), uri=True)
    ns = c.execute("select ts from rec where idx = (select (min(idx) + max(idx)) / 2 from rec)").fetchone()[0]
    c.close()
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ns // 10**9))
    took = []
    for _ in range(9):
        t = time.perf_counter()
        p = subprocess.Popen([kennel, "audit", "log", "--log", log, "--server", "search", "--from", since, "--csv", "--no-header"],
                             stdout=subprocess.PIPE)
        p.stdout.readline()  # the columns
        row = p.stdout.readline()
        took.append(time.perf_counter() - t)
        p.kill()
        p.stdout.close()
        p.wait()
        if b"search" not in row:
            raise SystemExit("no row came")
    return statistics.median(took) * 1e3


def table(records, tmp):
    writer, libexec = paths()
    kennel = os.path.normpath(libexec + "../../bin/kennel")
    log, run = tmp + "/audit", tmp + "/run"
    base = [libexec + "kennel-recorder", log, run]
    gate = [float(x) for x in out(writer, "gate", *base, tmp + "/bare.db", 500).split()]
    flow = [float(out(writer, "write", *base, records // 4, 0)) for _ in range(4)]
    quiet(log)
    count, size = body_bytes(log)
    sha = [[float(x) for x in out(writer, "sha", size, size // count).split()] for _ in range(3)]
    theirs, ours = (statistics.median(s[i] for s in sha) for i in (0, 1))
    # a large log takes longer than the two heartbeats after which an end looks stale
    one = min((spent(libexec + "kennel-verify", "--stopped", "--jobs", 1, log) for _ in range(3)), key=lambda t: t[1])
    two = min(spent(libexec + "kennel-verify", "--stopped", "--jobs", 2, log) for _ in range(3))
    prove = float(out(writer, "prove", log, 300))
    print("## The audit log, %d records\n\n| what | | beside |\n| --- | --- | --- |" % count)
    print("| a gate record, acknowledged | %.0f µs (p99 %.0f) | %.2f × one bare row committed, %.0f µs (p99 %.0f) |" %
          (gate[0], gate[1], gate[0] / gate[2], gate[2], gate[3]))
    print("| flow records, five indexes, until the last is on disk | %.0f a second | |" % statistics.median(flow))
    print("| verify, one thread (processor time) | %.0f records a second | %.2f × libsodium's SHA-256 of the same bytes, %.2f × the "
          "processor's |" % (count / one[1], theirs / one[1], ours / one[1]))
    print("| verify, two threads | %.0f records a second | %.2f × one |" % (count / two[0], one[0] / two[0]))
    print("| a proof | %.3f ms | |" % (prove / 1e3))
    print("| `log --server X --from T`, the first row, from the program's start | %.1f ms | |" % first_row(kennel, log))
    print("\nGoals: gate ≤ 1.3 × the bare commit; 100,000 flow records a second; verify ≥ 0.6 × SHA-256 on one core and "
          "1.7 × that on two; a proof ≤ 1 ms; the first row ≤ 50 ms (both of 10,000,000: `make audit-long`).\n")


def rows(records):
    tmp = tempfile.mkdtemp(prefix="kennel-audit-", dir=os.environ.get("KT_TMP", "/var/tmp"))
    try:
        table(records, tmp)
    finally:
        for _ in range(100):
            try:
                if not os.listdir(tmp + "/run"):
                    break
            except OSError:
                break
            time.sleep(0.05)
        shutil.rmtree(tmp, ignore_errors=True)


if __name__ == "__main__":
    rows(int(sys.argv[1]) if len(sys.argv) > 1 else 200000)
