#!/usr/bin/env python3
"""Types into an interactive shell and presses TAB: complete.py bash|zsh|fish.

The shell starts as on a terminal, with what the package installed; it is asked until it
shows the word, and fails after a minute.
"""
import os
import pty
import select
import sys
import tempfile
import time

SHELLS = {
    "bash": (["bash", "--norc", "-i"], ". /usr/share/bash-completion/bash_completion\n"),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u -D\n"),
    "fish": (["fish", "-i"], ""),
}


def main(shell):
    argv, first = SHELLS[shell]
    home = tempfile.mkdtemp()
    env = {"PATH": "/usr/bin:/bin", "HOME": home, "TERM": "dumb" if shell != "fish" else "xterm", "PS1": "ready> ",
           "KENNEL_HOME": home, "LC_ALL": "C.UTF-8"}
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(argv[0], argv, env)
    seen, end = b"", time.time() + 60

    def read(seconds):
        nonlocal seen
        if select.select([fd], [], [], seconds)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                pass

    def until(text):
        while text not in seen and time.time() < end:
            read(1)
        if text not in seen:
            sys.exit("%s did not show %r: %r" % (shell, text, seen[-600:]))

    os.write(fd, first.encode() + b"echo rea''dy-1\n")
    until(b"ready-1\r")
    # a verb, and the value of an option: each the only one that begins so
    for typed, whole in ((b"kennel poli\t", b"policy"), (b"kennel audit log --verdict kil\t", b"killed")):
        seen = b""
        os.write(fd, typed)
        until(whole)
        os.write(fd, b"\x15")  # the line is dropped
    os.write(fd, b"exit\n")
    while time.time() < end and os.waitpid(pid, os.WNOHANG) == (0, 0):
        read(0.1)


if __name__ == "__main__":
    main(sys.argv[1])
