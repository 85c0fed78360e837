#!/usr/bin/env python3
"""progress.py COMMAND...: runs a build and shows it as one line.

What is not a step of the build (a warning, an error) is printed as it comes.
"""
import re
import subprocess
import sys
import time

STEP = re.compile(r"  [A-Z]+ +\S")
SILENT = re.compile(r"make(\[\d+\])?: (Nothing to be done for|'.*' is up to date|Entering|Leaving)")


def main():
    began, steps, tty = time.monotonic(), 0, sys.stdout.isatty()

    def put(text):
        if tty:
            print("\r\033[K" + text, end="", flush=True)
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          close_fds=False, text=True, errors="replace") as p:
        for line in p.stdout:
            if STEP.match(line):
                steps += 1
                put("building kennel: %d steps" % steps)
            elif not SILENT.match(line):
                put("")
                print(line, end="", flush=True)
    put("")
    if p.returncode == 0 and steps > 0:
        print("kennel is built: %d steps in %d s" % (steps, time.monotonic() - began), flush=True)
    elif p.returncode == 0:
        print("kennel is built", flush=True)
    return p.returncode


if __name__ == "__main__":
    sys.exit(main())
