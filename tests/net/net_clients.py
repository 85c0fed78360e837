"""Clients of other people against servers of other people: the granted name is reached
without a proxy variable, and the same client with another name is refused."""
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
import net_hosts  # noqa: E402
import world  # noqa: E402
from net_kit import NAMES, PYTHON, egress, recorded  # noqa: E402

PLACES = dict(NAMES, **{
    "www.test.example": ["9.8.7.16"], "git.test.example": ["9.8.7.17"], "pg.test.example": ["9.8.7.18"],
    "redis.test.example": ["9.8.7.19"], "ws.test.example": ["9.8.7.21"], "grpc.test.example": ["9.8.7.22"],
    "api.github.com": ["9.8.7.23"], "api.notion.com": ["9.8.7.24"], "context7.com": ["9.8.7.25"],
})
PACKAGES = STAGE + "/net/node_modules"
REFUSED = "no line grants it"


def wanted(*programs):
    left = net_hosts.missing(*programs)
    if left:
        raise Skip("not here: " + " ".join(left))


def cell(program, *argv, grants="", execs=(), env=(), timeout=60):
    """A program in a cell: (status, output)."""
    user = '    user "65534"\n' if os.geteuid() == 0 else ""
    body = user + "    run %s **\n    read %s\n%s%s%s\n" % (
        words(program), world.keys(), "".join("    exec allow %s\n" % x for x in (words(program) + " **",) + tuple(execs)),
        "".join("    env %s = %s\n" % (k, words(v)) for k, v in env), grants)
    r = kexec(body, [program] + list(argv), timeout=timeout)
    return r.returncode, (r.stdout + r.stderr).decode(errors="replace")


def both(program, works, refused, name, **how):
    """The same client with the granted name and with one that no line grants."""
    status, out = cell(program, *works[0], **how)
    check(works[1] in out and status == 0, status, out, egress()[-2:])
    status, out = cell(program, *refused, **how)
    check(status != 0, "reached what is not granted", out)
    recorded(verdict="deny", name=name, reason=REFUSED)


def node():
    """Node 22, its packages, and the CA."""
    return NODE, (("NODE_EXTRA_CA_CERTS", world.keys() + "/ca.pem"),), "    read %s\n" % words(MODULES, PACKAGES)


GIT_ENV = " ** with env GIT_EXEC_PATH GIT_PREFIX PATH"  # what git gives its helpers

# ---- HTTPS ---------------------------------------------------------------------------

_web = None


def web():
    """nginx at two names and at the stand-ins', with a repository below it."""
    global _web
    wanted("nginx")
    if _web is None:
        root = net_hosts.folder("web")
        net_hosts.write(root + "/index.txt", "the page of nginx\n")
        net_hosts.run_there(["sh", "-ec", """cd %s; git init -q -b main work; cd work; git config user.name t
            git config user.email t@t; echo text >file; git add file; git commit -q -m first
            git clone -q --bare . ../repo.git; cd ../repo.git; git update-server-info""" % root])
        os.chmod(root, 0o755)
        _web = net_hosts.nginx(["9.8.7.10", "9.8.7.16", "9.8.7.23", "9.8.7.24", "9.8.7.25"], root)
        _web.root = root
    return _web


@test("curl, HTTP/1.1 and HTTP/2 of nginx", 120)
def curl():
    wanted("curl")
    web()
    ca = world.keys() + "/ca.pem"
    for version, said in (("--http1.1", "HTTP/1.1 200"), ("--http2", "HTTP/2 200")):
        both("/usr/bin/curl", (("-sSi", version, "--cacert", ca, "https://api.test.example/index.txt"), said),
             ("-sSi", version, "--cacert", ca, "https://www.test.example/index.txt"), "www.test.example",
             grants="    net allow api.test.example:443\n")


@test("fetch of Node, undici with HTTP/2, and the resolver of c-ares", 120)
def node_clients():
    web()
    program, env, read = node()
    wanted(program, PACKAGES + "/undici")
    grants = read + "    net allow api.test.example:443\n"
    fetch = "fetch('https://%s/index.txt').then(r => r.text()).then(console.log, e => { console.log(String(e.cause)); process.exit(1); })"
    both(program, (("-e", fetch % "api.test.example"), "the page of nginx"), ("-e", fetch % "www.test.example"),
         "www.test.example", grants=grants, env=env)
    undici = "const {request, Agent} = require('%s/undici')" % PACKAGES + "; request('https://%s/index.txt', {dispatcher: new Agent({allowH2: true, " \
        "connect: {ca: require('fs').readFileSync(process.env.NODE_EXTRA_CA_CERTS)}})}).then(r => r.body.text())" \
        ".then(t => { console.log(t); process.exit(0); }, e => { console.log(String(e)); process.exit(1); })"
    both(program, (("-e", undici % "api.test.example"), "the page of nginx"), ("-e", undici % "www.test.example"),
         "www.test.example", grants=grants, env=env)
    ares = "require('dns').promises.resolve4('%s').then(a => console.log('at', a.length), e => { console.log(e.code); process.exit(1); })"
    both(program, (("-e", ares % "api.test.example"), "at 1"), ("-e", ares % "mail.test.example"), "mail.test.example",
         grants=grants, env=env)


@test("urllib of Python", 60)
def urllib():
    web()
    code = "import ssl, sys, urllib.request as u; print(u.urlopen('https://%%s/index.txt', context=ssl.create_default_context(" \
        "cafile='%s/ca.pem')).read().decode())" % world.keys()
    both(PYTHON, (("-c", code % "api.test.example"), "the page of nginx"), ("-c", code % "www.test.example"),
         "www.test.example", grants="    net allow api.test.example:443\n")


@test("git over https: its helper is a program of its own and reaches the granted name alone", 60)
def git_https():
    wanted("git")
    web()
    core = "/usr/lib/git-core"
    work = net_hosts.folder("clone")
    if os.geteuid() == 0:
        os.chown(work, 65534, 65534)
    execs = tuple(core + "/" + n + GIT_ENV for n in ("git", "git-remote-https"))
    with open(work + "/.gitconfig", "w") as f:
        f.write("[http]\n\tsslCAInfo = %s/ca.pem\n" % world.keys())
    grants = "    read %s\n    write %s\n    net allow api.test.example:443\n" % (words(core, "/usr/share/git-core"), words(work))
    how = {"grants": grants, "execs": execs, "env": (("HOME", work),)}
    both("/usr/bin/git", (("ls-remote", "https://api.test.example/repo.git"), "refs/heads/main"),
         ("ls-remote", "https://www.test.example/repo.git"), "www.test.example", **how)


GO = """package main
import ("crypto/tls"; "crypto/x509"; "fmt"; "io"; "net/http"; "os"; "time")
func main() {
	pem, _ := os.ReadFile(os.Args[1])
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	c := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	for i := 0; ; i++ {
		r, err := c.Get(os.Args[2])
		if err == nil {
			b, _ := io.ReadAll(r.Body)
			fmt.Print(r.Proto, " ", string(b))
			return
		}
		fmt.Println(err)
		if i == len(os.Args) - 3 { os.Exit(1) }
		time.Sleep(12 * time.Second)
	}
}
"""


def go_client():
    """A static program with Go's own resolver."""
    wanted("go")
    d = TMP + "/go"
    if not os.path.exists(d + "/client"):
        os.makedirs(d + "/cache")
        write = open(d + "/client.go", "w")
        write.write(GO)
        write.close()
        r = subprocess.run([net_hosts.find("go"), "build", "-o", d + "/client", d + "/client.go"], capture_output=True, cwd=d,
                           env=environment({"CGO_ENABLED": "0", "GOCACHE": d + "/cache", "GOFLAGS": "-mod=mod", "GO111MODULE": "off",
                                            "PATH": net_hosts.SBIN}))
        check(r.returncode == 0, r.stderr)
        os.chmod(d + "/client", 0o755)
    return d + "/client"


@test("a static Go program with its own resolver", 180)
def go():
    web()
    client = go_client()
    ca = world.keys() + "/ca.pem"
    both(client, ((ca, "https://api.test.example/index.txt"), "HTTP/2.0 the page of nginx"),
         (ca, "https://www.test.example/index.txt"), "www.test.example", grants="    net allow api.test.example:443\n")


# ---- SSH, databases ---------------------------------------------------------------------

@test("git over ssh to sshd, as a plain grant", 60)
def git_ssh():
    wanted("git", "ssh", "sshd")
    h = net_hosts.sshd("9.8.7.17")
    try:
        repo = web().root + "/repo.git"
        keys = net_hosts.folder("sshkeys")
        for n in ("client", "host.pub"):
            shutil.copy(h.folder + "/" + n, keys)
        user = pwd.getpwuid(UID).pw_name
        with open(keys + "/known_hosts", "w") as f:
            f.write("* " + open(keys + "/host.pub").read())
        os.chmod(keys + "/client", 0o600)
        if os.geteuid() == 0:
            for n in ("", "/client", "/known_hosts"):
                os.chown(keys + n, 65534, 65534)
        # ssh asks for the name of its uid: /etc/passwd of the cell has it
        with open(keys + "/.gitconfig", "w") as f:
            f.write("[core]\n\tsshCommand = ssh -F none -i %s/client -o UserKnownHostsFile=%s/known_hosts -o BatchMode=yes\n[protocol]\n\tversion = 0\n" % (keys, keys))
        how = {"grants": "    read %s\n    net allow git.test.example:22 plain\n" % words(keys, "/usr/lib/git-core"),
               "execs": ("/bin/sh" + GIT_ENV, "/usr/bin/ssh" + GIT_ENV), "env": (("HOME", keys),)}
        both("/usr/bin/git", (("ls-remote", "ssh://%s@git.test.example%s" % (user, repo)), "refs/heads/main"),
             ("ls-remote", "ssh://%s@www.test.example%s" % (user, repo)), "www.test.example", **how)
    finally:
        h.close()


@test("psql with verify-full by starttls; Ctrl-C cancels the query by a connection of its own", 90)
def psql():
    wanted("psql", "/usr/lib/postgresql")
    h = net_hosts.postgres("9.8.7.18")
    try:
        program = os.path.realpath("/usr/lib/postgresql/%s/bin/psql" % sorted(os.listdir("/usr/lib/postgresql"))[-1])
        to = "host=%%s user=test dbname=postgres sslmode=verify-full sslrootcert=%s/ca.pem" % world.keys()
        how = {"grants": "    net allow pg.test.example:5432 starttls postgres\n", "env": (("HOME", "/tmp"),)}
        both(program, ((to % "pg.test.example", "-Atc", "select 6 * 7"), "42"),
             (to % "www.test.example", "-Atc", "select 6 * 7"), "www.test.example", **how)
        user = '    user "65534"\n' if os.geteuid() == 0 else ""
        body = user + "    run %s **\n    exec allow %s **\n    read %s\n    env HOME = /tmp\n%s" % (
            program, program, world.keys(), how["grants"])
        p = start([KENNEL, "exec", "--policy", policy(body), "t", "--", program, to % "pg.test.example", "-c", "select pg_sleep(50)"],
                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())

        def sleeping():
            r = net_hosts.run_there([os.path.dirname(program) + "/psql", "-h", h.folder, "-U", "test", "-Atc",
                                     "select count(*) from pg_stat_activity where query like '%pg_sleep(50)' and state = 'active'",
                                     "postgres"], cwd="/")
            return r.stdout.strip() == b"1"
        check(wait_for(sleeping, 15) is not None, "the query does not run")
        inside = [pid for pid, comm in descendants(p.pid).items() if comm == "psql"]
        check(inside, "psql is not there", descendants(p.pid))
        os.kill(inside[-1], signal.SIGINT)
        out, err = p.communicate(timeout=20)
        within(b"canceling statement due to user request", err)
    finally:
        h.close()


@test("redis-cli, plain and with TLS", 60)
def redis():
    wanted("redis-server", "redis-cli")
    h = net_hosts.redis("9.8.7.19")
    try:
        program = os.path.realpath("/usr/bin/redis-cli")
        both(program, (("-h", "redis.test.example", "set", "k", "v"), "OK"), ("-h", "www.test.example", "set", "k", "v"),
             "www.test.example", grants="    net allow redis.test.example:6379 plain\n")
        tls = ("--tls", "--cacert", world.keys() + "/ca.pem", "-p", "6380", "--sni")
        status, out = cell(program, *tls, "redis.test.example", "-h", "redis.test.example", "get", "k",
                           grants="    net allow redis.test.example:6380\n")
        equal((status, out.strip()), (0, "v"))
        before = len(egress(verdict="deny", name="redis.test.example"))
        status, out = cell(program, *tls, "www.test.example", "-h", "redis.test.example", "get", "k",
                           grants="    net allow redis.test.example:6380\n")
        check("v" not in out.split(), out)
        check(wait_for(lambda: len(egress(verdict="deny", name="redis.test.example")) > before, 3) is not None,
              "another name in the hello is not on record")
    finally:
        h.close()


# ---- streams ------------------------------------------------------------------------

STREAMS = """
const fs = require('fs'), https = require('https'), {WebSocketServer} = require('ws'), grpc = require('@grpc/grpc-js');
const [keys, ws, rpc] = process.argv.slice(2);
const key = fs.readFileSync(keys + '/key.pem'), cert = fs.readFileSync(keys + '/cert.pem');
const web = https.createServer({key, cert});
new WebSocketServer({server: web}).on('connection', c => c.on('message', m => c.send('echo ' + m)));
web.listen(443, ws);
const same = b => b;
const service = {Repeat: {path: '/t.T/Repeat', requestStream: true, responseStream: true, requestSerialize: same,
	requestDeserialize: same, responseSerialize: same, responseDeserialize: same}};
const s = new grpc.Server();
s.addService(service, {Repeat: c => { c.on('data', d => c.write(d)); c.on('end', () => c.end()); }});
s.bindAsync(rpc + ':443', grpc.ServerCredentials.createSsl(null, [{private_key: key, cert_chain: cert}]), e => { if (e) throw e; });
"""
WEBSOCKET = """
const s = new WebSocket('wss://%s/');
s.onopen = () => s.send('words');
s.onmessage = m => { console.log(m.data); s.close(); process.exit(0); };
s.onerror = e => { console.log('refused'); process.exit(1); };
"""
GRPC = """
const grpc = require('PACKAGES/@grpc/grpc-js'), same = b => b;
const c = new grpc.Client('%s:443', grpc.credentials.createSsl(require('fs').readFileSync(process.env.NODE_EXTRA_CA_CERTS)));
const call = c.makeBidiStreamRequest('/t.T/Repeat', same, same, {deadline: Date.now() + 8000});
let n = 0;
call.on('data', d => { if (++n == 100) { console.log('a hundred', String(d)); call.end(); process.exit(0); } });
call.on('error', e => { console.log(e.message); process.exit(1); });
for (let i = 0; i < 100; i++) call.write(Buffer.from('frame ' + i));
"""


@test("a websocket and a gRPC stream", 120)
def streams():
    program, env, read = node()
    wanted(program, PACKAGES + "/ws", PACKAGES + "/@grpc/grpc-js")
    d = net_hosts.folder("streams")
    net_hosts.write(d + "/server.js", STREAMS)
    shutil.copytree(world.keys(), TMP + "/streamkeys")
    os.chmod(TMP + "/streamkeys/key.pem", 0o644)
    h = net_hosts.Host("streams", ["env", "NODE_PATH=" + PACKAGES, program, d + "/server.js", TMP + "/streamkeys", "9.8.7.21",
                                   "9.8.7.22"], "9.8.7.22", 443)
    try:
        for code, name, said in ((WEBSOCKET, "ws.test.example", "echo words"), (GRPC.replace("PACKAGES", PACKAGES), "grpc.test.example", "a hundred frame 99")):
            both(program, (("-e", code % name), said), ("-e", code % "www.test.example"), "www.test.example", env=env,
                 grants=read + "    net allow %s:443\n" % name)
    finally:
        h.close()


# ---- guards ---------------------------------------------------------------------------

@test("guards against internal addresses take the cell's addresses for public ones", 90)
def guards():
    web()
    program, env, read = node()
    wanted(program, PACKAGES + "/request-filtering-agent", PACKAGES + "/ssrf-req-filter")
    get = "const https = require('https'); https.get('https://%s/index.txt', {agent: %s}, r => r.pipe(process.stdout))" \
        ".on('error', e => { console.log(e.message); process.exit(1); })"
    for agent in ("request-filtering-agent').useAgent('https://%s/')", "ssrf-req-filter')('https://%s/')"):
        def code(name):
            return get % (name, "require('%s/" % PACKAGES + agent % name)
        both(program, (("-e", code("api.test.example")), "the page of nginx"), ("-e", code("www.test.example")),
             "www.test.example", env=env, grants=read + "    net allow api.test.example:443\n")
    status, out = cell(PYTHON, "-c", "import ipaddress, socket; print(ipaddress.ip_address(socket.gethostbyname("
                       "'api.test.example')).is_global)", grants="    net allow api.test.example:443\n")
    check(status == 0 and out.startswith("True"), out)


# ---- resolvers -------------------------------------------------------------------------

@test("dnsmasq as the machine's resolver: aliases, a search list, and addresses that only it knows", 60)
def resolvers():
    wanted("dnsmasq")
    web()
    h = net_hosts.dnsmasq("host-record=far.test.example,9.8.7.10\ncname=alias.test.example,far.test.example\n"
                          "address=/inner.test.example/10.20.30.40")
    ca = world.keys() + "/ca.pem"
    try:
        with open(TMP + "/world.resolv.conf", "w") as f:
            f.write("search test.example corp.example\nnameserver %s\noptions timeout:1 attempts:1\n" % world.ROUTER4)
        for name in ("far.test.example", "alias.test.example"):
            both("/usr/bin/curl", (("-sS", "--cacert", ca, "https://%s/index.txt" % name), "the page of nginx"),
                 ("-sS", "--cacert", ca, "https://other.test.example/index.txt"), "other.test.example",
                 grants="    net allow %s:443\n" % name)
        # the machine's search list is not the cell's: a short name is a name of its own
        status, out = cell("/usr/bin/curl", "-sS", "--cacert", ca, "https://far/index.txt",
                           grants="    net allow far.test.example:443\n")
        check(status != 0, out)
        # a name of the granted kind that leads inside is not dialled
        status, out = cell("/usr/bin/curl", "-sS", "--cacert", ca, "https://inner.test.example/", grants="    net allow *.test.example:443\n")
        check(status != 0, out)
        recorded(verdict="deny", name="inner.test.example")
    finally:
        h.close()
        with open(TMP + "/world.resolv.conf", "w") as f:
            f.write("nameserver %s\noptions timeout:1 attempts:1\n" % world.ROUTER4)


# ---- a person who takes twelve seconds ----------------------------------------------------

@test("Go and fetch give up before a person agrees after 12 s; their next try goes", 120)
def ask():
    web()
    client, (program, env, read) = go_client(), node()
    wanted(program)
    ca = world.keys() + "/ca.pem"
    fetch = "const go = n => fetch('https://api.test.example/index.txt', {signal: AbortSignal.timeout(10000)}).then(r => r.text())" \
        ".then(t => console.log('try', n, t), e => n == 2 ? process.exit(1) : setTimeout(go, 5000, n + 1)); go(1)"
    for who, argv, how in ((client, (ca, "https://api.test.example/index.txt", "again"), {}),
                           (program, ("-e", fetch), {"env": env, "read": read})):
        user = '    user "65534"\n' if os.geteuid() == 0 else ""
        body = user + "    run %s **\n    exec allow %s **\n    read %s\n%s%s    net ask api.test.example:443\n" % (
            words(who), words(who), world.keys(), how.get("read", ""),
            "".join("    env %s = %s\n" % (k, words(v)) for k, v in how.get("env", ())))
        p = start([KENNEL, "exec", "--policy", policy(body), "t", "--", who] + list(argv), stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE, env=environment())

        def pending():
            out = run([KENNEL, "approve", "list", "--json"]).stdout.decode()
            return [json.loads(x)["id"] for x in out.splitlines()]
        check(wait_for(pending, 20) is not None, "nothing waits for a person")
        time.sleep(12)
        r = run([KENNEL, "approve", "allow", pending()[0], "--session"])
        equal(r.returncode, 0, r.stderr)
        out, err = p.communicate(timeout=60)
        within(b"the page of nginx", out, err)


# ---- MCP servers that want a host --------------------------------------------------------

def mcp_server(script, tool, arguments, name, said, more="", **env):
    program, base, read = node()
    path = PACKAGES + "/" + script
    wanted(program, path)
    user = '    user "65534"\n' if os.geteuid() == 0 else ""
    body = user + "    run %s %s\n%s    tool allow *\n%s%s" % (
        words(program), words(path), read, more,
        "".join("    env %s = %s\n" % (k, words(v)) for k, v in list(base) + list(env.items())))
    for grant in ("    net allow %s\n" % name, ""):
        s = kennel_run(body + "    read %s\n" % world.keys() + grant, env={"TOKEN": "a-token-of-the-test-0123456789"})
        s.initialize()
        answer = json.dumps(s.call(tool, 40, **arguments))
        s.close()
        if grant:
            check(said in answer, answer)
        else:
            recorded(verdict="deny", name=name.split(":")[0])


@test("MCP servers that want a host reach a stand-in for it with their grant, and without it do not", 300)
def servers():
    web()
    log = TMP + "/nginx/access.log"
    mcp_server("@modelcontextprotocol/server-github/dist/index.js", "search_repositories", {"query": "kennel"},
               "api.github.com:443", "items", more="    secret GITHUB_PERSONAL_ACCESS_TOKEN from env TOKEN\n")
    check("/search/repositories?q=kennel" in open(log).read(), "nginx did not see github's request")
    mcp_server("@notionhq/notion-mcp-server/bin/cli.mjs", "API-get-self", {}, "api.notion.com:443", "stand-in",
               more="    secret NOTION_TOKEN from env TOKEN\n")
    check("/v1/users/me" in open(log).read(), "nginx did not see notion's request")
    mcp_server("@upstash/context7-mcp/dist/index.js", "resolve-library-id", {"libraryName": "kennel", "query": "kennel"},
               "context7.com:443", '"result"')
    check("libraryName=kennel" in open(log).read(), "nginx did not see context7's request")


@test("the PostgreSQL and redis servers of MCP work with their grants", 120)
def database_servers():
    program, env, read = node()
    wanted(program, "/usr/lib/postgresql", "redis-server")
    user = '    user "65534"\n' if os.geteuid() == 0 else ""
    h = net_hosts.redis("9.8.7.19")
    try:
        body = user + "    run %s %s redis://redis.test.example:6379\n%s    tool allow *\n    net allow redis.test.example:6379 plain\n" % (
            words(program), words(PACKAGES + "/@modelcontextprotocol/server-redis/dist/index.js"), read)
        s = kennel_run(body)
        s.initialize()
        within("Successfully set", s.text("set", 20, key="a", value="b"))
        within("b", s.text("get", 20, key="a"))
        s.close()
    finally:
        h.close()
    h = net_hosts.postgres("9.8.7.18")
    try:
        body = user + "    run %s %s %s\n%s    read %s\n%s    tool allow query\n    net allow pg.test.example:5432 starttls postgres\n" % (
            words(program), words(PACKAGES + "/@modelcontextprotocol/server-postgres/dist/index.js"),
            words("postgresql://test@pg.test.example/postgres?sslmode=verify-full"), read, world.keys(),
            "".join("    env %s = %s\n" % (k, words(v)) for k, v in env))
        s = kennel_run(body)
        s.initialize()
        within("42", s.text("query", 20, sql="select 6 * 7 as answer"))
        s.close()
    finally:
        h.close()


if __name__ == "__main__":
    world.enter(PLACES)
    try:
        main()
    finally:
        if _web:
            _web.close()
        world.leave()
