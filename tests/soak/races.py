#!/usr/bin/env python3
"""make races: the races of tests/attack/attack_races.py and the storm of
attack_storm.py, for long.

    races.py [SHAPE...]         only these; the storm is one of them

RACES_TRIES (100000) tries of each shape and STORM_PROCESSES (20000) of six
threads, under the leash as it ships, as an ordinary user, two at a time; then
the rows of its table in docs/BENCHMARKS.md, and nothing else there (--print: not there).  Status 1: something that
was not granted has run, the control never won, or a process was hung.
"""
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE + "/../lib")
sys.path.insert(0, HERE + "/..")
import kit  # noqa: E402
import run as runner  # noqa: E402

TRIES = int(os.environ.get("RACES_TRIES", "") or 100000)
PROCESSES = int(os.environ.get("STORM_PROCESSES", "") or 20000)
STORM = "storm"
MARK = "## Races of an exec"
STORM_SAYS = r"\d+ processes of six threads[^:]*: none hung \([^)]*\)"
COLUMNS = ("tries", "ran", "won", "refused", "killed", "failed")


def shapes():
    with open(HERE + "/../attack/attack_races.py") as f:
        return [STORM] + re.findall(r"^@test\(\"attack_.*\(([a-z-]+)\)\"", f.read(), re.M)


def one(shape, stage, user):
    """Its figures, or None."""
    storm = shape == STORM
    tmp = stage.folder("races-" + shape, user.uid, user.gid)
    env = {"KT_STAGE": stage.path, "KT_TMP": tmp, "KT_AS": "user", "KT_UID": str(user.uid), "TMPDIR": tmp,
           "KENNEL_HOME": tmp + "/home", "HOME": tmp, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
           "PYTHONDONTWRITEBYTECODE": "1", "RACES_TRIES": str(TRIES), "RACES_BOTH": "no",
           "STORM_PROCESSES": str(PROCESSES)}
    t0 = time.time()
    r = subprocess.run(user.prefix() + [
        "/usr/bin/python3", stage.path + "/tests/attack/attack_%s.py" % (STORM if storm else "races"),
        "none hung" if storm else "(%s)" % shape], env=env, cwd="/", stdout=subprocess.PIPE)
    text = r.stdout.decode(errors="replace")
    print(text, end="", flush=True)
    got = re.search(r"^# %s: (.*); the control won (\d+) of (\d+);" % shape, text, re.M)
    for name in ("home", "home-storm"):
        shutil.rmtree("%s/%s" % (tmp, name), ignore_errors=True)  # a gigabyte of records else
    if storm:
        ended = re.search(r"^# finished (\d+) hung 0$", text, re.M)
        return None if r.returncode or not ended else \
            "%s processes of six threads that exec, fail to, exit, signal and are killed: none hung (%s, in %.0f s)" % (
                ended.group(1), commit(), time.time() - t0)
    if r.returncode or not got:
        return None
    counts = dict(re.findall(r"([a-z]+) (\d+)", got.group(1)))
    return [shape] + [counts[c] for c in COLUMNS] + ["%s of %s" % got.groups()[1:], "%.0f s" % (time.time() - t0),
                                                       commit()]


def commit():
    r = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return r.stdout.strip() or "no repository"


HEAD = """%s

`make races`, two cores shared with others: every try is one exec of a granted program under the leash as it ships,
while a peer changes what it is judged on. Won: the forbidden program said that it runs, by its status or its mark. Killed:
stopped at its exec stop, before its first instruction. The control is a gate that believes the notification.

""" % MARK


def cells(line):
    return [c.strip() for c in line.strip().strip("|").split("|")]


def table(rows, before=()):
    """Lines: what stood there, the new rows in their places, and the sums."""
    all_ = {r[0]: r for r in before if len(r) == len(COLUMNS) + 4 and r[0] not in ("shape", "---", "all")}
    all_.update((r[0], r) for r in rows)
    sums = [str(sum(int(r[i + 1]) for r in all_.values())) for i in range(len(COLUMNS))]
    out = [["shape"] + list(COLUMNS) + ["the control won", "took", "of"], ["---"] * (len(COLUMNS) + 4)]
    out += list(all_.values()) + [["all"] + sums + ["", "", ""]]
    return ["| %s |\n" % " | ".join(r) for r in out]


def merged(page, rows, storm):
    """The page with these figures in it; not a word beside them is touched."""
    if MARK not in page:
        page = page.rstrip("\n") + "\n\n" + HEAD + "|\n"
    head, mark, part = page.partition(MARK)
    part, behind, rest = part.partition("\n## ")
    lines = part.splitlines(True)
    at = [i for i, line in enumerate(lines) if line.startswith("|")]
    first, end = (at[0], at[-1] + 1) if at else (len(lines), len(lines))
    lines[first:end] = table(rows, [cells(line) for line in lines[first:end]])
    part = "".join(lines)
    if storm:
        part, n = re.subn(STORM_SAYS, storm, part)
        part += "" if n else "\n" + storm + ".\n"
    return head + mark + part + behind + rest


def words(page):
    """What is not ours to write."""
    return re.sub(STORM_SAYS, "", re.sub(r"^\|.*\n", "", page, flags=re.M))


def write_page(rows, storm):
    page = ROOT + "/docs/BENCHMARKS.md"
    with open(page) as f:
        old = f.read()
    text = merged(old, rows, storm)
    if MARK in old and words(old) != words(text):
        raise SystemExit("races: %s: what stands beside the table would be lost; not written" % page)
    with open(page, "w") as f:
        f.write(text)


def main():
    kit.be_subreaper()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # clean up first
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")] or shapes()
    user = runner.User()
    stage = runner.Stage(user)
    try:
        stage.fill()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            rows = list(pool.map(lambda s: one(s, stage, user), wanted))
    finally:
        runner.stop_all()
        stage.remove()
        user.remove()
    lost = [s for s, r in zip(wanted, rows) if r is None]
    storm = next((r for r in rows if isinstance(r, str)), "")
    rows = [r for r in rows if isinstance(r, list)]
    print("".join(table(rows)) + storm)
    if "--print" not in sys.argv and not lost:
        write_page(rows, storm)
    print("races: " + ("failed: " + " ".join(lost) if lost else "none of %d shapes was won" % len(wanted)))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
