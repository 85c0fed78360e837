"""An MCP server that means harm (e2e_hostile.py): the tool's name is the trick.

Raw bytes travel as base64, so that what is said is exactly what was meant.
"""
import base64
import json
import os
import resource
import signal
import sys
import time


def raw(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view[:1 << 20]):]


def say(**m):
    raw(json.dumps(dict(m, jsonrpc="2.0")).encode() + b"\n")


def text(i, t):
    say(id=i, result={"content": [{"type": "text", "text": str(t)}]})


def forever():
    while True:
        time.sleep(1000)


# ---- words ----------------------------------------------------------------------

def t_echo(i, a):
    text(i, a.get("text", ""))


def t_raw(i, a):
    """These bytes; @ID@ is the id of the call."""
    raw(base64.b64decode(a["bytes"]).replace(b"@ID@", json.dumps(i).encode()))


def t_raw_then(i, a):
    t_raw(i, a)
    text(i, "true")


def t_hang(i, a):
    pass


def t_flood(i, a):
    line = base64.b64decode(a["line"])
    raw(line * int(a["n"]))
    text(i, "flooded")


def t_long(i, a):
    """One line of n bytes, its id behind them."""
    raw(b'{"jsonrpc":"2.0","result":{"a":"')
    for _ in range(int(a["n"]) >> 20):
        raw(b"x" * (1 << 20))
    raw(b'"},"id":%s}\n' % json.dumps(i).encode())


def t_endless(i, a):
    raw(b'{"jsonrpc":"2.0","id":%s,"result":"' % json.dumps(i).encode())
    while True:
        raw(b"x" * (1 << 16))


def t_slow(i, a):
    for c in b'{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\n' % json.dumps(i).encode():
        raw(bytes([c]))
        time.sleep(0.05)


def t_late(i, a):
    time.sleep(float(a["after"]))
    text(i, "late")


def t_ask_flood(i, a):
    for n in range(int(a["n"])):
        say(id="q%d" % n, method="roots/list")
    text(i, "asked")


# ---- ends -----------------------------------------------------------------------

def t_exit(i, a):
    os._exit(3)


def t_crash(i, a):
    os.kill(os.getpid(), signal.SIGSEGV)


def t_stop(i, a):
    os.kill(os.getpid(), signal.SIGSTOP)


def t_stop_all(i, a):
    for _ in range(3):
        if os.fork() == 0:
            forever()
    os.kill(-1, signal.SIGSTOP)  # all but the one who says it
    os.kill(os.getpid(), signal.SIGSTOP)


def t_close_out(i, a):
    os.close(1)
    forever()


def t_close_in(i, a):
    text(i, "closed")
    os.close(0)
    forever()


def t_deaf(i, a):
    text(i, "deaf")
    forever()


def t_kill_shim(i, a):
    for s in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(1, s)
        except OSError:
            pass
    text(i, "still here")


# ---- resources --------------------------------------------------------------------

def ignore_all():
    for s in range(1, 65):
        try:
            signal.signal(s, signal.SIG_IGN)
        except (OSError, ValueError):
            pass


def t_bomb(i, a):
    n = 0
    while n < 300:
        try:
            if os.fork() == 0:
                ignore_all()
                forever()
        except OSError:
            break
        n += 1
    text(i, n)


def t_daemon(i, a):
    """Leaves parent, session and group; holds our output open."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            ignore_all()
            while True:
                time.sleep(0.05)
                if os.getppid() == 1:
                    try:
                        os.write(1, b"noise\n")
                    except OSError:
                        pass
        os._exit(0)
    os.wait()
    text(i, "left")


def t_disk(i, a):
    n = 0
    block = b"x" * (1 << 20)
    for d in ("/tmp", "/dev/shm"):
        try:
            with open(d + "/fill", "wb", buffering=0) as f:
                while n < 4 << 30:
                    n += f.write(block)
        except OSError as e:
            last = e.errno
    files = 0
    try:
        while files < 1000000:
            os.close(os.open("/tmp/f%d" % files, os.O_CREAT | os.O_WRONLY))
            files += 1
    except OSError as e:
        last = e.errno
    text(i, "%d %d %d" % (n, files, last))


def t_files(i, a):
    n = 0
    kept = []
    try:
        while n < 1000000:
            kept.append(os.open("/dev/null", os.O_RDONLY))
            n += 1
    except OSError:
        pass
    for fd in kept:
        os.close(fd)
    text(i, n)


def t_memory(i, a):
    kept = []
    try:
        while len(kept) < 4096:
            kept.append(bytearray(b"x" * (1 << 20)))
    except MemoryError:
        pass
    n = len(kept)
    kept.clear()
    text(i, n)


def t_limits(i, a):
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))
        text(i, "raised")
    except (OSError, ValueError):
        text(i, "refused")


def t_stderr(i, a):
    for _ in range(int(a["n"]) >> 20):
        os.write(2, b"y" * ((1 << 20) - 1) + b"\n")
    text(i, "told")


streams = []


def m_listen(i, a):
    """A stream: acknowledged, and open until somebody ends it."""
    streams.append(i)
    say(method="notifications/subscriptions/acknowledged",
        params={"notifications": a.get("notifications", {}), "_meta": {SUBSCRIPTION: i}})


def m_task_result(i, a):
    streams.append(i)


def t_streams(i, a):
    """What came of each stream, its end, then the answer."""
    for n in streams:
        say(method="notifications/tools/list_changed", params={"_meta": {SUBSCRIPTION: n}})
        say(id=n, result={"resultType": "complete", "_meta": {SUBSCRIPTION: n}})
    text(i, len(streams))


SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
METHODS = {"subscriptions/listen": m_listen, "tasks/result": m_task_result}


def initialize(i, a):
    say(id=i, result={"protocolVersion": a.get("protocolVersion", "2025-11-25"),
                      "capabilities": {"tools": {}}, "serverInfo": {"name": "bad", "version": "1"}})


def main():
    for word in sys.argv[1:]:
        raw(base64.b64decode(word))
    for line in sys.stdin.buffer:
        m = json.loads(line)
        i, method, params = m.get("id"), m.get("method"), m.get("params") or {}
        if method == "initialize":
            initialize(i, params)
        elif method == "tools/call":
            globals()["t_" + params["name"]](i, params.get("arguments") or {})
        elif method in METHODS:
            METHODS[method](i, params)
        elif method is not None and i is not None:
            # what it was, byte for byte
            text(i, base64.b64encode(line.rstrip(b"\n")).decode())


main()
