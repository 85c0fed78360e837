#!/usr/bin/env python3
"""make coverage: which lines of policy/, leash/, shim/ and supervisor/mcp/ the tests
run, as tables in docs/COVERAGE.md; the notes below the last table are kept.

    coverage.py [--report] [WORD...]    WORD: only tests with it in their name;
                                        --report: from what was counted before
"""
import datetime
import glob
import json
import os
import shutil
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COV = ROOT + "/build/cov"
PAGE = ROOT + "/docs/COVERAGE.md"
FOLDERS = ("policy/", "leash/", "shim/", "supervisor/mcp/")
WANTED = 85.0
NOTES = "## Below %d %%, and why" % WANTED


def tool(name):
    for candidate in (name, name + "-14"):
        if shutil.which(candidate):
            return candidate
    sys.exit("%s is missing: apt-get install llvm" % name)


def run_tests(words):
    raw = COV + "/raw"
    shutil.rmtree(raw, ignore_errors=True)
    os.makedirs(raw)
    os.chmod(raw, 0o777)
    # Both users count in the same files, so these are for all: by the folder's default
    # ACL (acl(5): version, then tag, permissions, no id), since with an open umask the
    # tests' policies would be writable by others too, which is refused.
    everybody = b"".join(struct.pack("<HHI", tag, 7, 0xffffffff) for tag in (0x01, 0x04, 0x20))
    os.setxattr(raw, "system.posix_acl_default", struct.pack("<I", 2) + everybody)
    env = dict(os.environ, KENNEL_BUILD="build/cov", QUIET="1")
    return subprocess.run([sys.executable, ROOT + "/tests/run.py", "test"] + words, env=env).returncode


def counted():
    """{file: (lines, of them run)}"""
    raw, merged = glob.glob(COV + "/raw/*.profraw"), COV + "/merged"
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", "-o", merged] + raw, check=True)
    programs = [COV + "/bin/kennel"] + sorted(
        p for p in glob.glob(COV + "/libexec/kennel/*") + glob.glob(COV + "/unit/*")
        if os.access(p, os.X_OK) and not p.endswith(("kennel-shim", ".so")))
    cmd = [tool("llvm-cov"), "export", "-summary-only", "-instr-profile=" + merged, programs[0]]
    for p in programs[1:]:
        cmd += ["-object", p]
    out = subprocess.run(cmd, check=True, capture_output=True).stdout
    files = {}
    for f in json.loads(out)["data"][0]["files"]:
        name = os.path.relpath(os.path.join(ROOT, f["filename"]), ROOT)
        if name.startswith(FOLDERS) and name.endswith(".c"):
            files[name] = (f["summary"]["lines"]["count"], f["summary"]["lines"]["covered"])
    return files


def percent(n, of):
    return 100.0 * n / of if of else 100.0


def tables(files):
    text = ["| directory | lines | run | % |", "| --- | ---: | ---: | ---: |"]
    rooms = {}
    for name, (lines, run) in files.items():
        folder = [f for f in FOLDERS if name.startswith(f)][0]
        for key in {folder, os.path.dirname(name) + "/"}:
            n, r = rooms.get(key, (0, 0))
            rooms[key] = (n + lines, r + run)
    for key in sorted(rooms, key=lambda k: ([i for i, f in enumerate(FOLDERS) if k.startswith(f)], k)):
        n, r = rooms[key]
        mark = "**" if key in FOLDERS else ""
        text.append("| %s`%s`%s | %d | %d | %.1f |" % (mark, key, mark, n, r, percent(r, n)))
    text += ["", "| file | lines | run | % |", "| --- | ---: | ---: | ---: |"]
    for name in sorted(files):
        n, r = files[name]
        text.append("| `%s` | %d | %d | %.1f |" % (name, n, r, percent(r, n)))
    return text


HEAD = """# Coverage

How many lines of the code for secrets, the gate, policies and MCP the tests run.
`make coverage` made these tables on %s (%s, as %s).
"""


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    status = 0 if "--report" in sys.argv else run_tests(words)
    files = counted()
    notes = "\n" + NOTES + "\n"
    if os.path.exists(PAGE):
        with open(PAGE) as f:
            text = f.read()
        if NOTES in text:
            notes = "\n" + text[text.index(NOTES):]
    who = "root and an ordinary user" if os.getuid() == 0 else "an ordinary user"
    with open(PAGE, "w") as f:
        f.write(HEAD % (datetime.date.today().isoformat(), " ".join(words) or "all of it", who))
        f.write("\n" + "\n".join(tables(files)) + "\n" + notes)
    for name in sorted(files, key=lambda n: percent(files[n][1], files[n][0])):
        n, r = files[name]
        if percent(r, n) < WANTED:
            print("%5.1f %%  %s (%d of %d)" % (percent(r, n), name, r, n))
    for folder in FOLDERS:
        n = sum(v[0] for k, v in files.items() if k.startswith(folder))
        r = sum(v[1] for k, v in files.items() if k.startswith(folder))
        print("%5.1f %%  %s" % (percent(r, n), folder))
    sys.exit(1 if status else 0)


if __name__ == "__main__":
    main()
