"""Processes below kennel that a test stops, and lets go on."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403

be_subreaper()
SHORT = "    timeout start 2s\n    timeout call 1s\n    timeout ask 3s\n"
ASKS = "    tool ask echo\n    tool allow *\n"
stopped = []


def stop(pid):
    stopped.append(pid)
    os.kill(pid, signal.SIGSTOP)


def go_on():
    while stopped:
        try:
            os.kill(stopped.pop(), signal.SIGCONT)
        except ProcessLookupError:
            pass


def below(root):
    """comm -> pids of the descendants; `kennel` is the launcher or a session, and the shim's image has no name."""
    at, found = processes(), {}
    for pid, comm in descendants(root).items():
        if comm == "kennel" and pid in at:
            comm = "launcher" if at[pid][0] == root else "session"
        elif not comm.startswith(("kennel-", "python")):
            comm = "shim"
        found.setdefault(comm, []).append(pid)
    return found


def one_of(root, comm):
    found = []
    check(wait_for(lambda: found.extend(below(root).get(comm, [])) or found, LONG) is not None, "no " + comm)
    return found[0]


def error(h, rid, seconds, *parts):
    """The error of a call comes within this time, and names what kennel waited for."""
    t0 = time.time()
    m = h.wait(rid, seconds)
    text = m["error"]["message"] if "error" in m else m["result"]["content"][0]["text"] if m["result"].get("isError") else None
    check(text is not None, "not an error", m)
    for p in parts:
        within(p, text)
    print("# %.1f s: %s" % (time.time() - t0, text), flush=True)


def ours(comm):
    """Processes that have left what started them, and are ours because we are the subreaper."""
    return {p for p, c in descendants(os.getpid()).items() if c == comm}
