"""Rows 31-40: what listens on the host, other processes, the kernel's corners."""
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403


def listening(address, kind=socket.SOCK_STREAM):
    s = socket.socket(socket.AF_UNIX, kind)
    s.bind(address)
    if kind == socket.SOCK_STREAM:
        s.listen(64)
    if not address.startswith("\0"):
        os.chmod(address, 0o777)
    return s


@test("attack_31_abstract: the host's abstract sockets")
def abstract():
    name = "kennel-attack-31-%d" % os.getpid()
    a, b = listening("\0" + name), listening("\0" + name + "d", socket.SOCK_DGRAM)
    f = witness("abstract", name)
    refused(f, "abstract_stream", ways=("ECONNREFUSED", "EPERM", "EACCES"))
    refused(witness("abstract", name + "d"), "abstract_datagram", ways=("ECONNREFUSED", "EPERM", "EACCES"))
    control(outside("abstract", name), "abstract_stream")
    a.close()
    b.close()


@test("attack_32_path_socket, MCP-ATTACKS 22: D-Bus, docker and the like by path")
def path_socket():
    d = public_folder("sock")
    s = listening(d + "/bus")
    refused(witness("unix", d + "/bus"), "unix_stream")
    for p in ("/run/dbus/system_bus_socket", "/var/run/docker.sock", "/run/user/%d/bus" % os.getuid()):
        refused(witness("unix", p), "unix_stream")
    control(outside("unix", d + "/bus"), "unix_stream")
    s.close()


@test("attack_33_unix_datagram: send without connecting")
def datagram():
    d = public_folder("dgram")
    s = listening(d + "/log", socket.SOCK_DGRAM)
    refused(witness("unix", d + "/log"), "unix_datagram")
    refused(witness("unix", "/dev/log"), "unix_datagram")
    control(outside("unix", d + "/log"), "unix_datagram")
    s.close()


@test("attack_34_vsock: the hypervisor's services")
def vsock():
    refused(witness("sockets"), "vsock", ways=("EPERM", "EACCES", "EAFNOSUPPORT", "ENOSYS"))
    control(outside("sockets"), "vsock")


@test("attack_35_wsl: programs of the Windows beside it")
def wsl():
    paths = ("/init", "/run/WSL", "/mnt/c", "/proc/sys/fs/binfmt_misc/register")
    refused(witness("write", *paths), *["write " + p for p in paths])
    refused(witness("stat", *paths[:3]), *["stat " + p for p in paths[:3]])


@test("attack_36_keyrings: keys of the session")
def keyrings():
    refused(witness("kernel"), "keyctl", "add_key", "request_key", ways=("EPERM", "EACCES", "ENOSYS"))
    control(outside("kernel"), "keyctl", "add_key")


@test("attack_37_signals: a process of the same user outside")
def signals():
    victim = start((["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"]
                    if os.geteuid() == 0 else []) + ["sleep", "30"])
    time.sleep(0.2)
    for pid in (victim.pid, os.getpid(), os.getppid()):
        refused(witness("signal", str(pid)), "signal %d" % pid, ways=("ESRCH", "EPERM"))
    control(outside("signal", str(victim.pid)), "signal %d" % victim.pid)
    # Only where this shell is one of the first processes: in a cell.
    kexec(ATTACK, ["/bin/sh", "-c", "case $$ in ?|??) kill -9 -1;; esac"])
    check(victim.poll() is None, "it reached a process outside")


@test("attack_38_ptrace, MCP-ATTACKS 20: read or write another process")
def ptrace():
    refused(witness("tasks"), "seize_child", "traceme", "vm_readv_child", "vm_writev_child", "kcmp_child",
            "process_madvise_child", "attach", "child_mem_write")
    control(outside("tasks", "1"), "seize_child", "vm_readv_child", "vm_writev_child", "kcmp_child")
    a = kennel_run(toy_policy("    exec allow /bin/sh **"))
    a.initialize()
    out = a.text("exec", argv=["/bin/sh", "-c", "echo /proc/[0-9]*"])
    check(len(out.split()) < 8, "processes of others:", out)


@test("attack_39_userfaultfd: stall the kernel's copies")
def uffd():
    refused(witness("kernel"), "userfaultfd", "dev_userfaultfd", "dev_fuse")
    control(outside("kernel"), "userfaultfd")


@test("attack_40_families: netlink, packet, alg, bpf, perf, io_uring")
def families():
    f = witness("sockets")
    for n in ("unix", "inet_tcp", "inet_udp", "inet6_tcp"):
        equal(f[n], "ok", n)
    ways = ("EPERM", "EACCES", "EAFNOSUPPORT", "ENOSYS", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT")
    refused(f, "packet", "alg", "bluetooth", "can", "tipc", "rds", "xdp", "key", "qipcrtr", "smc",
            "inet_raw", "inet_sctp", "netlink_netfilter", "netlink_audit", ways=ways)
    # Whatever the host has: to ask for a protocol loads its module there.
    for n in ("inet_sctp", "inet_mptcp", "inet_icmp", "inet_dccp", "inet_l2tp"):
        check(f[n] in ("EPROTONOSUPPORT", "EPERM"), n, f[n])
    k = witness("kernel")
    refused(k, "bpf", "perf_event_open", "io_uring_setup", "fanotify_init", "quotactl", "lookup_dcookie",
            "finit_module", "kexec_load", "swapon", "syslog", "iopl", "sethostname",
            ways=("EPERM", "EACCES", "ENOSYS"))
    out = outside("kernel")
    control(out, "io_uring_setup", "perf_event_open", "fanotify_init")
    control(outside("sockets"), "netlink_netfilter", "netlink_audit", "inet_mptcp")


@test("MCP-ATTACKS 15 16: no address outside answers: loopback of its own and nothing else, names neither")
def network():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(4)
    port = str(s.getsockname()[1])
    refused(witness("tcp", "127.0.0.1", port), "tcp", ways=("ECONNREFUSED", "EPERM", "EACCES"))
    control(outside("tcp", "127.0.0.1", port), "tcp")
    refused(witness("tcp", "192.0.2.1", "80"), "tcp",
            ways=("ENETUNREACH", "EHOSTUNREACH", "ECONNREFUSED", "EPERM", "EACCES"))
    s.close()
    # A query of a name, to whoever listens for such on the host.
    d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    d.bind(("127.0.0.1", 0))
    d.settimeout(0.3)
    at = ["127.0.0.1", str(d.getsockname()[1])]
    witness("udp", *at)
    try:
        check(False, "it arrived:", d.recv(100))
    except socket.timeout:
        pass
    outside("udp", *at)
    try:
        control({"query": "ok" if d.recv(100) else "no"}, "query")
    except socket.timeout:
        control({"query": "lost"}, "query")
    d.close()
    within(b"nameserver 127.0.0.1\n", kexec(ATTACK + "    exec allow /bin/cat **\n",
                                            ["/bin/cat", "/etc/resolv.conf"]).stdout)


if __name__ == "__main__":
    main()
