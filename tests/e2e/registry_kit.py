"""A registry of npm packages on loopback, with packages made here; and a stand-in for npm
that installs from it as npm does, in a fraction of npm's time, and tries what a package's
file `attempts` lists while it installs."""
import base64
import hashlib
import http.server
import io
import json
import os
import shutil
import ssl
import sys
import tarfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

SERVER = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    result = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
              "tools/list": {"tools": TOOLS},
              "tools/call": {"content": [{"type": "text", "text": open(__file__.replace("server.py", "data.txt")).read()}]},
              }.get(m["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"""


def server(*tools):
    """A server in Python; a tool's name may have its description after a colon."""
    listed = [{"name": t.split(":")[0], "description": t.partition(":")[2], "inputSchema": {"type": "object"},
               "annotations": {"readOnlyHint": True}} for t in tools]
    return "#!/usr/bin/python3\nTOOLS = %r\n" % listed + SERVER


def digest(data):
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()


class Package:
    def __init__(self, name, version, files, bin_=None, scripts=None, needs=None, members=()):
        self.name, self.version, self.members, self.packed, self.url = name, version, list(members), None, None
        self.signs = None  # the bytes whose digest the registry signed, if they are others
        self.json = {"name": name, "version": version, "dependencies": needs or {}}
        if bin_ is not None:
            self.json["bin"] = bin_
        if scripts:
            self.json["scripts"] = scripts
        self.files = dict(files, **{"package.json": json.dumps(self.json)})

    def address(self):
        return "%s/-/%s-%s.tgz" % (self.name, self.name.rpartition("/")[2], self.version)

    def tarball(self):
        if self.packed is None:
            self.packed = self.pack()
        return self.packed

    def pack(self):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as tar:
            for path, text in self.files.items():
                m = tarfile.TarInfo("package/" + path)
                m.size, m.mode = len(text.encode()), 0o755 if path.endswith(".py") else 0o644
                tar.addfile(m, io.BytesIO(text.encode()))
            for m, text in self.members:
                m.size = len(text)
                tar.addfile(m, io.BytesIO(text))
        return out.getvalue()


class Registry:
    """Answers what npm asks; `asked` has the paths."""

    def __init__(self, *packages, tls=None):
        """tls: key and certificate for `localhost`."""
        self.packages, self.asked, self.keys = list(packages), [], None
        kit = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                kit.asked.append(self.path)
                body = kit.answer(self.path.replace("%2f", "/"))
                self.send_response(404 if body is None else 200)
                body = b"{}" if body is None else body
                self.send_header("content-length", str(len(body)))
                self.send_header("content-type", "application/json")
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass  # npm has ended

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/" % self.server.server_address[1]
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls[1], tls[0])
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.url = "https://localhost:%d/" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path):
        if path == "/-/npm/v1/said":
            return b'{"error": {"summary": "found no dependencies to audit that were installed from a supported registry"}}'
        if path == "/-/npm/v1/signed":
            return "".join("%s@%s:%s\n" % (p.name, p.version, digest(p.signs or p.tarball())) for p in self.packages).encode()
        if path.endswith(".files"):
            return next((json.dumps(p.files).encode() for p in self.packages if path == "/%s/-/%s.files" % (p.name, p.version)), None)
        if path.endswith(".tgz"):
            return next((p.tarball() for p in self.packages if path == "/" + p.address()), None)
        found = [p for p in self.packages if path == "/" + p.name]
        if not found:
            return None
        versions = {}
        for p in found:
            data = p.tarball()
            versions[p.version] = dict(p.json, dist={
                "tarball": p.url or self.url + p.address(), "shasum": hashlib.sha1(data).hexdigest(), "integrity": digest(data)})
            if "install" in p.json.get("scripts", {}):
                versions[p.version]["hasInstallScript"] = True
        return json.dumps({"name": found[0].name, "versions": versions, "dist-tags": {"latest": found[-1].version}}).encode()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


NPM = r'''#!/usr/bin/python3 -SE
"""As much of npm as kennel uses."""
import json, os, sys
words = sys.argv[1:]
if words[:2] == ["config", "get"]:
    print("registry=" + os.environ["KT_REGISTRY"])
    print("cafile=null")
    sys.exit(0)
def option(name):
    return words[words.index(name) + 1]
tree, registry = option("--prefix"), option("--registry")
modules = tree + "/node_modules"
def get(path):
    import socket
    host, port = registry[len("http://"):-1].split(":")
    for left in 2, 1, 0:  # npm tries again
        try:
            with socket.create_connection((host, int(port)), 20) as s:
                s.sendall(b"GET %s HTTP/1.0\r\n\r\n" % path.encode())
                data = b"".join(iter(lambda: s.recv(65536), b""))
            break
        except OSError as e:
            if left == 0:
                sys.exit("npm error code %s" % type(e).__name__)
    head, _, body = data.partition(b"\r\n\r\n")
    if path.startswith("/untrusted"):
        sys.exit("npm error code %s\nnpm error request failed" % path.partition("-")[2])
    if b" 200 " not in head:
        sys.exit("npm error code E404\nnpm error 404 " + path)
    return body
def attempt(line):
    """ok, or the error: what a hostile installer would try."""
    verb, arg = line.split(" ", 1)
    try:
        if verb == "read":
            open(arg, "rb").read()
        elif verb == "write":
            open(arg, "w").write("x")
        elif verb == "connect":
            import socket
            host, port = arg.split(":")
            s = socket.create_connection((host, int(port)), 10)
            s.sendall(b"GET /reached HTTP/1.0\r\n\r\n")
            if not s.recv(16):
                return "closed"
        elif verb == "env":
            return "ok" if arg in os.environ else "unset"
        elif verb == "exec":
            os.posix_spawn(arg, [arg], os.environ)
        elif verb == "link":
            os.symlink(arg, tree + "/node_modules/link")
        elif verb == "fifo":
            os.mkfifo(tree + "/node_modules/" + arg)
        return "ok"
    except OSError as e:
        return type(e).__name__
def fetch(name, version):
    d = json.loads(get("/" + name))
    version = version if version in d["versions"] else d["dist-tags"]["latest"]
    v = d["versions"][version]
    root = modules + "/" + name
    for path, text in json.loads(get("/%s/-/%s.files" % (name, version))).items():
        os.makedirs(os.path.dirname(root + "/" + path), exist_ok=True)
        with open(root + "/" + path, "w") as f:
            f.write(text)
        os.chmod(root + "/" + path, 0o755 if path.endswith(".py") else 0o644)
    locked["node_modules/" + name] = {"version": version, "resolved": v["dist"]["tarball"], "integrity": v["dist"]["integrity"], **v.get("lock", {})}
    if v.get("hasInstallScript"):
        locked["node_modules/" + name]["hasInstallScript"] = True
    for other in v.get("dependencies", {}):
        fetch(other, "")
    if os.path.exists(root + "/attempts"):
        with open(root + "/attempts") as f:
            said = {line: attempt(line) for line in f.read().splitlines()}
        with open(root + "/said.json", "w") as f:
            json.dump(said, f)
locked = {}
if words[0] == "install":
    os.makedirs(modules)
    if words[1].startswith("/"):
        with open(words[1] + "/package.json") as f:
            name = json.load(f)["name"]
        for base, _, files in os.walk(words[1]):
            for f in files:
                to = modules + "/" + name + base[len(words[1]):]
                os.makedirs(to, exist_ok=True)
                with open(base + "/" + f, "rb") as a, open(to + "/" + f, "wb") as b:
                    b.write(a.read())
        locked["node_modules/" + name] = {"version": "1.0.0"}
    else:
        name, _, version = words[1].rpartition("@") if "@" in words[1][1:] else (words[1], "", "")
        fetch(name, version)
    with open(tree + "/package.json", "w") as f:
        json.dump({"dependencies": {name: locked["node_modules/" + name]["version"]}}, f)
    with open(modules + "/.package-lock.json", "w") as f:
        json.dump({"packages": locked}, f)
elif words[0] == "view":
    name, _, version = words[1].rpartition("@")
    d = json.loads(get("/" + name))
    fields = {k: v for k, v in d["versions"][version].get("view", {}).items() if k in words}
    print(json.dumps(dict(fields, name=name, version=version)))
elif words[:2] == ["audit", "signatures"]:
    said = get("/-/npm/v1/said").decode()
    print(said)
    if said == "verified":
        signed = get("/-/npm/v1/signed")
        with open(os.environ["HOME"] + "/signed", "xb") as f:
            f.write(signed)
    sys.exit(said != "verified")
elif words[0] == "rebuild":
    with open(modules + "/.package-lock.json") as f:
        for path, p in json.load(f)["packages"].items():
            if p.get("hasInstallScript"):
                with open(tree + "/" + path + "/package.json") as j:
                    script = json.load(j)["scripts"]["install"]
                env = dict(os.environ, npm_lifecycle_event="install", INIT_CWD=tree)
                os.chdir(tree + "/" + path)
                if os.waitpid(os.posix_spawn("/bin/sh", ["/bin/sh", "-c", script], env), 0)[1]:
                    sys.exit(1)
'''


def npm_path():
    """A PATH whose npm is the stand-in."""
    d = os.path.realpath(TMP) + "/npm-stand-in"
    if not os.path.isdir(d):
        os.makedirs(d + "/bin")
        with open(d + "/npm-cli.js", "w") as f:
            f.write(NPM)
        os.chmod(d + "/npm-cli.js", 0o755)
        os.symlink("../npm-cli.js", d + "/bin/npm")
    return d + "/bin:/usr/bin:/bin"


def real_npm():
    """The PATH of a node with npm, or a skip."""
    node = shutil.which("node", path="/usr/local/bin:/usr/bin:/bin")
    npm = shutil.which("npm", path="/usr/local/bin:/usr/bin:/bin")
    if node is None or npm is None:
        skip("node with npm is not here")
    return "/usr/local/bin:/usr/bin:/bin"


SECRET = "hunter2-hunter2"


class Home:
    def __init__(self, name, registry, path=None):
        self.dir = os.path.realpath(TMP) + "/install-" + name
        self.kennel = self.dir + "/kennel"
        os.makedirs(self.kennel, mode=0o700)
        self.registry = registry
        self.path = path or npm_path()

    def env(self):
        return {"PATH": self.path, "HOME": self.dir, "KENNEL_HOME": self.kennel, "KT_REGISTRY": self.registry.url,
                "npm_config_registry": self.registry.url, "API_TOKEN": SECRET}

    def run(self, *words, stdin=b""):
        r = run([KENNEL] + list(words), env=self.env(), cwd=self.dir, timeout=250, stdin=stdin)
        return r.returncode, r.stdout.decode(), r.stderr.decode()

    def install(self, *words):
        return self.run("install", *words)

    def policy(self, name):
        return reads("%s/policies/%s.kennel" % (self.kennel, name)).decode()

    def store(self):
        d = self.kennel + "/store"
        return sorted(os.listdir(d)) if os.path.isdir(d) else []

    def installed(self, text):
        """The entry of the store that a policy starts from."""
        return self.kennel + "/store/" + text.split(self.kennel + "/store/", 1)[1][:64]

    def staging(self):
        return os.listdir(self.kennel + "/install")


def files(dir):
    for base, dirs, names in os.walk(dir):
        for n in dirs + names:
            yield os.path.join(base, n)
