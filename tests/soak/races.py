#!/usr/bin/env python3
"""make races: the races of tests/attack/attack_races.py and the storm of
attack_storm.py, for long.

    races.py [SHAPE...]         only these; the storm is one of them

RACES_TRIES (100000) tries of each shape and STORM_PROCESSES (20000) of six
threads, under the leash as it ships, as an ordinary user, two at a time; then
its table in docs/BENCHMARKS.md (--print: not there).  Status 1: something that
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
            "%s processes of six threads that exec, fail to, exit, signal and are killed: none hung, in %.0f s.\n" % (
                ended.group(1), time.time() - t0)
    if r.returncode or not got:
        return None
    counts = dict(re.findall(r"([a-z]+) (\d+)", got.group(1)))
    return [shape] + [counts[c] for c in COLUMNS] + ["%s of %s" % got.groups()[1:], "%.0f s" % (time.time() - t0)]


def commit():
    r = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return r.stdout.strip() or "no repository"


def table(rows):
    out = "%s\n\n`make races`, %s, %s, %d cores shared with others: every try is one exec of a granted program under " \
          "the leash\nas it ships, while a peer changes what it is judged on. Won: the forbidden program said that it " \
          "runs. Killed: stopped\nat its exec stop, before its first instruction. The control is a gate that believes " \
          "the notification.\n\n" % (MARK, time.strftime("%Y-%m-%d"), commit(), os.cpu_count())
    out += "| shape | %s | the control won | took |\n|%s\n" % (" | ".join(COLUMNS), " --- |" * (len(COLUMNS) + 3))
    out += "".join("| %s |\n" % " | ".join(r) for r in rows if not isinstance(r, str))
    return out + "".join("\n" + r for r in rows if isinstance(r, str))


def write_page(text):
    """The page's last part."""
    page = ROOT + "/docs/BENCHMARKS.md"
    with open(page) as f:
        before = f.read().partition(MARK)[0].rstrip("\n")
    with open(page, "w") as f:
        f.write(before + "\n\n" + text)


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
    text = table([r for r in rows if r])
    print(text, end="")
    if "--print" not in sys.argv and not lost:
        write_page(text)
    print("races: " + ("failed: " + " ".join(lost) if lost else "none of %d shapes was won" % len(rows)))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
