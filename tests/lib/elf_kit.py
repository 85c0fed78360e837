"""ELF files with nothing but what a compiler of policies reads: a loader, libraries, a search path."""
import os
import platform
import struct

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_RPATH, DT_RUNPATH = 1, 5, 10, 15, 29
BASE = 0x1000


def elf(interp=None, needed=(), rpath=None, runpath=None, machine=None, kind=3):
    text = b"\0"

    def put(s):
        nonlocal text
        at = len(text)
        text += os.fsencode(s) + b"\0"
        return at

    dyn = [(DT_NEEDED, put(n)) for n in needed]
    dyn += [(DT_RPATH, put(rpath))] if rpath else []
    dyn += [(DT_RUNPATH, put(runpath))] if runpath else []
    at_interp = put(interp) if interp else 0
    head, ph_n = 64 + 3 * 56, 3 if interp else 2
    at_text = head + 16 * (len(dyn) + 3)
    dyn += [(DT_STRTAB, BASE + at_text), (DT_STRSZ, len(text)), (0, 0)]
    size = at_text + len(text)

    def ph(kind, off, length):
        return struct.pack("<IIQQQQQQ", kind, 5, off, BASE + off, BASE + off, length, length, 8)

    machine = machine or {"x86_64": 62, "aarch64": 183}[platform.machine()]
    out = b"\x7fELF\x02\x01\x01" + bytes(9)
    out += struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 64, 0, 0, 64, 56, ph_n, 0, 0, 0)
    out += ph(PT_LOAD, 0, size) + ph(PT_DYNAMIC, head, 16 * len(dyn))
    out += ph(PT_INTERP, at_text + at_interp, len(interp) + 1) if interp else bytes(56)
    return out + b"".join(struct.pack("<QQ", *d) for d in dyn) + text


def put(path, data, mode=0o755):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    os.chmod(path, mode)
    return path
