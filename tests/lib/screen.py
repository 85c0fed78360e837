"""A program on a terminal, and what the terminal shows."""
import fcntl
import os
import re
import select
import struct
import termios
import time

from kit import *  # noqa: F403

LONG = 45  # seconds until something that must come is given up


class Screen:
    """A program on a terminal of 24 lines and 80 columns, and what the terminal shows."""

    def __init__(self, argv, columns=80, **env):
        self.lines, self.columns = 24, columns
        self.cells = [[" "] * columns for _ in range(self.lines)]
        self.y = self.x = 0
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", self.lines, columns, 0, 0))
        self.p = start(argv, stdin=slave, stdout=slave, stderr=slave, env=environment(env), cwd="/",
                       start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.raw, self.rest = b"", ""

    def csi(self, args, what):
        n = [int(a) if a.isdigit() else 0 for a in args.split(";")]
        one = max(1, n[0])
        if what in "Hf":
            self.y, self.x = one - 1, max(1, n[1] if len(n) > 1 else 1) - 1
        elif what in "ABCD":
            self.y += {"A": -one, "B": one}.get(what, 0)
            self.x += {"C": one, "D": -one}.get(what, 0)
        elif what == "d":
            self.y = one - 1
        elif what == "G":
            self.x = one - 1
        elif what == "b":
            self.feed(self.cells[self.y][self.x - 1] * one)
        elif what in "JKX":
            for y in range(self.lines if what == "J" else 0):
                if y > self.y or n[0] == 2:
                    self.cells[y] = [" "] * self.columns
            first, last = self.x, self.x + one if what == "X" else self.columns
            if what == "K" and n[0] == 1:
                first, last = 0, self.x + 1
            for x in range(first, min(last, self.columns)):
                self.cells[self.y][x] = " "
        else:
            check(what in "mhlrt", "an unknown sequence", args, what)

    def feed(self, text):
        at = 0
        for m in re.finditer(r"\x1b\[([?>]?[0-9;]*)([a-zA-Z])|\x1b[()][A-Z0-9]|\x1b[=>78M]|[^\x1b]", text):
            check(m.start() == at, "an unknown sequence", text[at:at + 20])
            at = m.end()
            if m.group(2):
                self.csi(m.group(1).lstrip("?>"), m.group(2))
            elif m.group(0) == "\r":
                self.x = 0
            elif m.group(0) == "\n":
                self.y = min(self.y + 1, self.lines - 1)
            elif m.group(0) == "\b":
                self.x = max(0, self.x - 1)
            elif m.group(0) >= " ":
                check(self.x <= self.columns and self.y < self.lines, "outside", self.x, self.y)
                if self.x == self.columns:  # the last column wraps with the next character
                    self.x, self.y = 0, min(self.y + 1, self.lines - 1)
                self.cells[self.y][self.x] = m.group(0)
                self.x += 1
        return text[at:]

    def text(self, seconds=0.3):
        """The screen after what comes in this time."""
        end = time.time() + seconds
        while select.select([self.master], [], [], max(0, end - time.time()))[0]:
            try:
                d = os.read(self.master, 1 << 16)
            except OSError:  # its end
                break
            self.raw += d
            self.rest += d.decode()
            cut = self.rest.rfind("\x1b")  # a sequence may be cut
            self.rest = self.feed(self.rest[:cut] if cut > 0 and len(self.rest) - cut < 12 else self.rest) + \
                (self.rest[cut:] if cut > 0 and len(self.rest) - cut < 12 else "")
        return "\n".join("".join(line).rstrip() for line in self.cells)

    def until(self, part, seconds=LONG):
        shown = wait_for(lambda: part in self.text(), seconds)
        check(shown is not None, part, [line for line in self.text().splitlines() if line])
        return self.text(0)

    def key(self, keys):
        os.write(self.master, keys)
