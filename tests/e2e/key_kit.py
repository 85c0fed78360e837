"""A vault of a test's own, a connection to its keeper, and a security key of software."""
import base64
import hashlib
import json
import os
import signal
import socket
import struct
import subprocess

from kit import *  # noqa: F403

be_subreaper()
LONG = 45  # seconds until something that must come is given up
PASS = "correct horse battery %d" % os.getpid()
ZERO = bytes(32)  # the digest of a new key
UP, UV, AT = 1, 4, 64
homes = [0]


def keepers():
    return [p for p, comm in descendants(os.getpid()).items() if comm in ("kennel-keeper", "kennel-fido")]


def end_keepers():
    for pid in keepers():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:  # a child that ended with its keeper
            pass
    check(wait_for(lambda: not keepers(), 20) is not None, "the keeper stays")


def home():
    """A home of this test's own, with an unlocked vault."""
    end_keepers()
    homes[0] += 1
    env = {"KENNEL_HOME": "%s/key-%d" % (TMP, homes[0])}
    r = run([KENNEL, "secret", "init", "--stdin"], stdin=PASS.encode(), env=env)
    equal(r.returncode, 0, r.stderr)
    return env


# ---- a connection to the keeper, as any program of this user can have -----------

def field(f):
    if isinstance(f, bytes):
        return struct.pack("<I", len(f)) + f + b"\0"
    return struct.pack("<%s" % f[0], f[1])


class Keeper:
    def __init__(self, env):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.settimeout(20)
        here = os.open(env["KENNEL_HOME"] + "/run", os.O_PATH)
        self.s.connect("/proc/self/fd/%d/keeper.sock" % here)
        os.close(here)
        equal(self.say(2, ("I", 1), b"test", ("Q", 0), ("Q", 0))[0], 3)

    def say(self, kind, *fields):
        """Type of the answer, its number, and what follows."""
        self.s.send(struct.pack("<I", kind) + b"".join(map(field, fields)))
        got = self.s.recv(1 << 17)
        return struct.unpack("<II", got[:8]) + (got[8:],) if got else (0, 0, b"")

    def challenge(self, digest=ZERO):
        kind, n, rest = self.say(44, digest)
        equal((kind, n), (45, 32), rest)
        return rest[:32]

    def keys(self):
        kind, n, rest = self.say(50)
        equal(kind, 51)
        ids = []
        for _ in range(n):
            got = []
            for _ in range(2):
                size = struct.unpack("<I", rest[:4])[0]
                got.append(rest[4:4 + size])
                rest = rest[5 + size:]
            rest = rest[8:]
            ids.append(tuple(got))
        return ids

    def add(self, key, challenge=None, password=PASS, label=b"blue", **how):
        challenge = challenge or self.challenge()
        client, auth = key.create(challenge, **how)
        return self.say(46, ("I", 1), password.encode(), challenge, client, auth, label)

    def confirm(self, key, digest, challenge=None, of=None, **how):
        """of: the digest whose challenge is drawn, if not this one."""
        challenge = challenge or self.challenge(of or digest)
        said = how.pop("said", challenge)
        client, auth, signature = key.get(said, **how)
        material = b"".join(map(field, (challenge, key.id, client, auth, signature)))
        return self.say(36, ("I", 4), material, digest)

    def confirmed(self, digest):
        return self.say(38, digest)[1]


def why(answer):
    """The text of a refusal."""
    equal(answer[0], 7, answer)
    return answer[2][4:-1].decode()


# ---- a key of software: what an authenticator does, with openssl's signatures ----

class Key:
    def __init__(self, kind="es256"):
        self.kind, self.id, self.counter = kind, os.urandom(48), 0
        self.file = "%s/key-%s.pem" % (TMP, self.id[:8].hex())
        make = ["ecparam", "-name", "prime256v1", "-genkey", "-noout"] if kind == "es256" else \
            ["genpkey", "-algorithm", "ed25519"]
        self.openssl(*make, "-out", self.file)
        public = self.openssl("pkey", "-in", self.file, "-pubout", "-outform", "DER")
        if kind == "es256":
            x, y = public[-64:-32], public[-32:]
            self.cose = bytes.fromhex("a5010203262001215820") + x + bytes.fromhex("225820") + y
        else:
            self.cose = bytes.fromhex("a4010103272006215820") + public[-32:]

    @staticmethod
    def openssl(*words_, **how):
        return subprocess.run(["openssl"] + list(words_), check=True, capture_output=True, **how).stdout

    def auth(self, flags, rp, more=b""):
        return hashlib.sha256(rp).digest() + struct.pack(">BI", flags, self.counter) + more

    @staticmethod
    def client(kind, challenge, origin="http://localhost:8123", **more):
        return json.dumps({"type": kind, "challenge": base64.urlsafe_b64encode(challenge).decode().rstrip("="),
                           "origin": origin, "crossOrigin": False, **more}).encode()

    def create(self, challenge, flags=UP | UV | AT, rp=b"localhost", kind="webauthn.create", **client):
        cred = bytes(16) + struct.pack(">H", len(self.id)) + self.id + self.cose
        return self.client(kind, challenge, **client), self.auth(flags, rp, cred if flags & AT else b"")

    def get(self, challenge, flags=UP | UV, rp=b"localhost", kind="webauthn.get", spoil=False, **client):
        said, auth = self.client(kind, challenge, **client), self.auth(flags, rp)
        message = self.file + ".msg"
        with open(message, "wb") as f:
            f.write(auth + hashlib.sha256(said).digest())
        signature = self.openssl("pkeyutl", "-sign", "-inkey", self.file, "-rawin", "-in", message,
                                 *(["-digest", "sha256"] if self.kind == "es256" else []))
        if spoil:
            signature = signature[:-1] + bytes([signature[-1] ^ 1])
        return said, auth, signature
