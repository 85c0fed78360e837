"""Real servers on the test's internet, each as the ordinary user and in a folder of its own."""
import os
import pwd
import shutil
import subprocess

import world
from kit import TMP, UID, check, environment, wait_for

SBIN = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


def find(program):
    return shutil.which(program, path=SBIN)


def missing(*programs):
    """What of these is not here, for the text of a skip."""
    return [p for p in programs if not (os.path.exists(p) if p[0] == "/" else find(p))]


def _as_user():
    if os.geteuid() == 0:
        gid = pwd.getpwuid(UID).pw_gid
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(UID, UID, UID)


def folder(name):
    d, n = TMP + "/" + name, 1
    while os.path.exists(d):  # an earlier test's
        d, n = "%s/%s%d" % (TMP, name, n), n + 1
    os.makedirs(d)
    if os.geteuid() == 0:
        os.chown(d, UID, -1)
    os.chmod(d, 0o700)
    return d


def run_there(cmd, **how):
    """Runs it on the internet's side, as the ordinary user."""
    fd = world._theirs
    return subprocess.run(cmd, preexec_fn=lambda: (world.libc.setns(fd, world.NEWNET), _as_user()), capture_output=True,
                          env=environment({"PATH": SBIN}), **how)


class Host:
    """A server program there; it is up when something listens at the address."""

    def __init__(self, name, cmd, address, port, family="tcp"):
        self.log = open("%s/%s.log" % (TMP, name), "wb")
        fd = world._theirs
        self.p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True,
                                  env=environment({"PATH": SBIN}),
                                  preexec_fn=lambda: (world.libc.setns(fd, world.NEWNET), _as_user()))
        listening = "%s:%d" % (address, port)

        def up():
            option = "-ltn" if family == "tcp" else "-lun"
            with world.internet():
                return listening in subprocess.run(["ss", option], capture_output=True, text=True).stdout
        ok = wait_for(up, 20)
        check(ok is not None, name, "did not start:", open(self.log.name, "rb").read()[-800:])

    def close(self):
        self.p.terminate()
        try:
            self.p.wait(5)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
        self.log.close()


def write(path, text, mode=0o644):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    if os.geteuid() == 0:
        os.chown(path, UID, -1)


def key_of_user(d):
    """A copy of the test's key that its user may read alone, as PostgreSQL wants it."""
    write(d + "/key.pem", open(world.keys() + "/key.pem").read(), 0o600)
    return d + "/key.pem"


def nginx(addresses, root):
    """HTTPS at port 443 of each address, HTTP/1.1 and HTTP/2; its files are in root."""
    d = folder("nginx")
    listen = "".join("listen %s:443 ssl http2;" % a for a in addresses)
    write(d + "/nginx.conf", """
daemon off; master_process off; pid %s/pid; error_log stderr;
events { worker_connections 512; }
http {
    access_log %s/access.log; client_body_temp_path %s/b; proxy_temp_path %s/p;
    fastcgi_temp_path %s/f; uwsgi_temp_path %s/u; scgi_temp_path %s/s;
    server {
        %s
        ssl_certificate %s/cert.pem; ssl_certificate_key %s;
        root %s; autoindex on;
        location /json { default_type application/json; return 200 '{"stand-in": "$host"}'; }
        location / { try_files $uri $uri/ /json; }
    }
}
""" % (d, d, d, d, d, d, d, listen, world.keys(), key_of_user(d), root))
    return Host("nginx", [find("nginx"), "-p", d, "-c", d + "/nginx.conf"], addresses[0], 443)


def dnsmasq(lines):
    """The machine's resolver, by dnsmasq; lines of its configuration."""
    d = folder("dnsmasq")
    write(d + "/conf", "no-resolv\nno-hosts\nno-daemon\nlisten-address=%s\nbind-interfaces\nuser=\ngroup=\npid-file=\n%s\n" % (
        world.ROUTER4, lines))
    return Host("dnsmasq", [find("dnsmasq"), "-C", d + "/conf"], world.ROUTER4, 53, "udp")


def postgres(address):
    d = folder("postgres")
    bin_ = sorted(p for p in os.listdir("/usr/lib/postgresql"))[-1]
    bin_ = "/usr/lib/postgresql/%s/bin" % bin_
    r = run_there([bin_ + "/initdb", "-D", d + "/data", "-U", "test", "-A", "trust", "--no-sync"], cwd="/")
    check(r.returncode == 0, r.stderr)
    with open(d + "/data/pg_hba.conf", "w") as f:
        f.write("local all all trust\nhostssl all all 0.0.0.0/0 trust\n")
    key_of_user(d)
    h = Host("postgres", [bin_ + "/postgres", "-D", d + "/data", "-h", address, "-k", d, "-c", "ssl=on",
                             "-c", "ssl_cert_file=%s/cert.pem" % world.keys(), "-c", "ssl_key_file=%s/key.pem" % d,
                             "-c", "fsync=off"], address, 5432)
    h.folder = d
    return h


def redis(address):
    d = folder("redis")
    return Host("redis", [find("redis-server"), "--bind", address, "--port", "6379", "--save", "", "--protected-mode", "no",
                          "--tls-port", "6380", "--tls-cert-file", world.keys() + "/cert.pem", "--tls-key-file", key_of_user(d),
                          "--tls-auth-clients", "no", "--tls-ca-cert-file", world.keys() + "/ca.pem", "--dir", d],
                address, 6380)


def sshd(address):
    """Takes one key; its folder has the host's key and the client's."""
    d = folder("sshd")
    for k in ("host", "client"):
        r = run_there(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", d + "/" + k])
        check(r.returncode == 0, r.stderr)
    write(d + "/sshd_config", """
ListenAddress %s:22
HostKey %s/host
AuthorizedKeysFile %s/client.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PubkeyAuthentication yes
""" % (address, d, d))
    h = Host("sshd", [find("sshd"), "-D", "-e", "-f", d + "/sshd_config"], address, 22)
    h.folder = d
    return h
