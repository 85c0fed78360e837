"""Rows 1-4: the terminal."""
import os
import pty
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403


def on_pty(cmd, seconds=10):
    """Run on a terminal of its own; everything that came out of it."""
    if os.geteuid() == 0 and cmd[0] != KENNEL:
        cmd = ["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"] + cmd
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir("/")
        os.execvpe(cmd[0], cmd, environment())
    out, end = b"", time.time() + seconds
    while time.time() < end:
        try:
            if select.select([fd], [], [], 0.2)[0]:
                out += os.read(fd, 65536)
            elif os.waitpid(pid, os.WNOHANG)[0]:
                pid = 0
                break
        except OSError:
            break
    if pid:
        try:
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                time.sleep(0.3)
                os.kill(pid, 9)
                os.waitpid(pid, 0)
        except OSError:
            pass
    os.close(fd)
    # The pushed "#" may be echoed in front of a line.
    return facts(out.replace(b"\r", b"").replace(b"#", b""))


def tty_facts():
    p = policy(ATTACK)
    return (on_pty([KENNEL, "exec", "--policy", p, "t", "--", WITNESS, "tty"]),
            on_pty([WITNESS, "tty"]))


@test("attack_01_tiocsti: push keystrokes into the parent's terminal")
def tiocsti():
    inside, outside = tty_facts()
    equal(inside.get("tiocsti"), "EPERM", inside)
    check(inside["isatty"] != "ok", "a terminal came in")
    check(inside["dev_tty"] != "ok" and inside["dev_ptmx"] != "ok", inside)
    control(outside, "tiocsti")


@test("attack_02_tiocsti_bit32: the same with bit 32 of the command set")
def tiocsti_high():
    inside, outside = tty_facts()
    equal(inside.get("tiocsti_bit32"), "EPERM", inside)
    control(outside, "tiocsti_bit32")


@test("attack_03_tioclinux: paste from the console's selection")
def tioclinux():
    inside, outside = tty_facts()
    equal((inside.get("tioclinux"), inside.get("tioclinux_bit32")), ("EPERM", "EPERM"), inside)
    check(outside["tioclinux"] != "EPERM", "control: it does not reach the kernel", outside["tioclinux"])


@test("attack_04_escape_sequences: repaint the terminal, forge a log line")
def escapes():
    s = kennel_run(toy_policy())
    s.initialize()
    s.call("no\x1b[2Jsuch\nforged line\x07\u202e")
    s.send({"jsonrpc": "2.0", "id": 99, "method": "x\x1b[2J\rforged line"})
    s.wait(99)
    s.text("junk")
    s.close()
    time.sleep(0.2)
    for what in (["audit", "log"], ["audit", "log", "--json"]):
        r = run([KENNEL] + what)
        equal(r.returncode, 0, what)
        for bad in (b"\x1b", b"\x07", b"\r", b"\xe2\x80\xae"):
            absent(bad, r.stdout if "--json" not in what or bad[0] < 0x80 else b"", what)
        check(not any(x.startswith(b"forged line") for x in r.stdout.splitlines()), "a forged line in", what)
    absent("\x1b", s.stderr(), "kennel's stderr")
    control({"raw": "ok" if b"\x1b" in unconfined(["printf", "\\033[2J"]).stdout else "no"}, "raw")


@test("attack_04_escape_sequences: a server's stderr does not repaint who reads its log")
def escapes_stderr():
    s = kennel_run(toy_policy(), name="esc")
    s.initialize()
    s.text("complain", text="\x1b[2Jred\x07")
    s.close()
    time.sleep(0.2)
    r = run([KENNEL, "server", "log", "esc"])
    within(b"red", r.stdout, r.stderr)
    absent(b"\x1b", r.stdout)


if __name__ == "__main__":
    main()
