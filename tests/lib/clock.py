"""Runs a program whose clocks a test can move: clock.py OFFSETS PROGRAM ARGUMENT...

OFFSETS is a file with two numbers, seconds that are added to the wall clock and to the clock of the machine
(CLOCK_BOOTTIME); it is read anew each time. Only this program and its forks see them, not the programs that those start
and not the machine. Its calls of the vDSO become system calls, because the kernel's address of it is taken out of its auxiliary
vector, and clock_gettime and time are corrected when they return. x86_64 only.
"""
import ctypes
import os
import signal
import struct
import sys

TRACEME, PEEK, POKE, GETREGS, SETREGS, DETACH, SYSCALL, OPTIONS = 0, 2, 5, 12, 13, 17, 24, 0x4200
GOOD, FORK, EXEC, EXITKILL = 0x1, 0x2, 0x10, 0x100000
FORK_STOP, EXEC_STOP = 1, 4
CLOCK_GETTIME, TIME, PRCTL = 228, 201, 157
SET_DUMPABLE = 4
RAX, RSI, RDI, ORIG, RSP = 10, 13, 14, 15, 19
SYSINFO, IGNORE = 33, 1
ALL = 0x40000000  # __WALL
REALTIME, BOOTTIME = (0, 5), (7,)
REGISTERS = struct.Struct("27Q")

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(what, pid, address=0, data=0):
    ctypes.set_errno(0)
    got = libc.ptrace(what, pid, address, data)
    if ctypes.get_errno():
        raise OSError(ctypes.get_errno(), "ptrace %d" % what)
    return got & 0xffffffffffffffff


def registers(pid):
    raw = ctypes.create_string_buffer(REGISTERS.size)
    ptrace(GETREGS, pid, 0, ctypes.addressof(raw))
    return list(REGISTERS.unpack(raw.raw))


def put_registers(pid, r):
    raw = ctypes.create_string_buffer(REGISTERS.pack(*r))
    ptrace(SETREGS, pid, 0, ctypes.addressof(raw))


def hide_vdso(pid):
    """The stack of a new program: argc, argv, NULL, environment, NULL, then pairs of numbers."""
    at = registers(pid)[RSP]
    at += 8 * (ptrace(PEEK, pid, at) + 2)
    while ptrace(PEEK, pid, at) != 0:
        at += 8
    at += 8
    while ptrace(PEEK, pid, at) != 0:
        if ptrace(PEEK, pid, at) == SYSINFO:
            ptrace(POKE, pid, at, IGNORE)
        at += 16


def correct(pid, r, file):
    wall, boot = (int(n) for n in open(file).read().split())
    if r[ORIG] == TIME:
        r[RAX] += wall
        put_registers(pid, r)
        return
    move = wall if r[RDI] in REALTIME else boot if r[RDI] in BOOTTIME else 0
    if move:
        ptrace(POKE, pid, r[RSI], (ptrace(PEEK, pid, r[RSI]) + move) & 0xffffffffffffffff)


def stopped(pid, status, entering, file):
    new = pid not in entering  # a fork: it begins with a stop, in the middle of its call
    signal_n, event = os.WSTOPSIG(status), status >> 16
    if new:
        entering[pid] = True
    if event == EXEC_STOP:
        del entering[pid]
        ptrace(DETACH, pid)
        return
    if signal_n != signal.SIGTRAP | 0x80:
        ptrace(SYSCALL, pid, 0, 0 if new or event == FORK_STOP else signal_n)
        return
    r = registers(pid)
    if entering[pid] and r[ORIG] == PRCTL and r[RDI] == SET_DUMPABLE:
        r[RSI] = 1  # else its memory could not be written for an ordinary user
        put_registers(pid, r)
    elif not entering[pid] and r[ORIG] in (CLOCK_GETTIME, TIME):
        correct(pid, r, file)
    entering[pid] = not entering[pid]
    ptrace(SYSCALL, pid)


def main():
    file, cmd = sys.argv[1], sys.argv[2:]
    pid = os.fork()
    if pid == 0:
        libc.ptrace(TRACEME, 0, 0, 0)
        os.execv(cmd[0], cmd)
    os.waitpid(pid, 0)
    hide_vdso(pid)
    ptrace(OPTIONS, pid, 0, GOOD | FORK | EXEC | EXITKILL)
    for n in (0, 1):  # the program has them
        os.close(n)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
    entering = {pid: True}
    ptrace(SYSCALL, pid)
    while True:
        at, status = os.waitpid(-1, ALL)
        if not os.WIFSTOPPED(status):
            if at == pid:
                os._exit(os.waitstatus_to_exitcode(status) & 0xff)
            entering.pop(at, None)
            continue
        try:
            stopped(at, status, entering, file)
        except ProcessLookupError:  # it was killed meanwhile
            pass


if __name__ == "__main__":
    main()
