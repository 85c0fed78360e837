"""kennel import on configurations as people have them: each one is listed, put under kennel, every server of the result is
run, and the file is restored byte for byte."""
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kit import *  # noqa: E402,F403
from import_kit import SERVER, TOKEN, Home, homes, policy, row, tell  # noqa: E402
from registry_kit import Package, Registry  # noqa: E402

PYTHON = '"command": "/usr/bin/python3", "args": ["-u", "DIR/code/server.py"]'


class Case:
    """DIR in a text is the home. A row: the server, and what its row of the table has. `runs`: the policies of the servers that
    are replaced, with lines that each has; None: it starts no server that a test can reach."""

    def __init__(self, title, path, text, rows, runs, status=0, errors=(), left=(), env=None, files=None, given=None):
        self.title, self.path, self.text, self.rows, self.runs = title, path, text, rows, runs
        self.status, self.errors, self.left, self.env, self.files = status, errors, left, env or {}, files or {}
        self.given = given or {}  # variables that the server has, under its policy's name


CASES = [
    Case("numbers, names of people and layouts of keyboards are no secrets, though parts of their names are", ".cursor/mcp.json",
         '''{"mcpServers": {
 "documents": {PYTHON, "env": {"DEFAULT_MINIMUM_TOKENS": "10000"}},
 "planner": {PYTHON, "env": {"PROVIDER_API_KEY": "YOUR_API_KEY_HERE", "MAX_TOKENS": 64000, "TEMPERATURE": 0.2}},
 "history": {PYTHON, "env": {"GIT_AUTHOR_NAME": "Ada Example", "GIT_AUTHOR_EMAIL": "ada@corp.example", "KEYBOARD_LAYOUT": "qwertz-de",
   "KEYCLOAK_URL": "https://sso.corp.example/realms/main", "SHOWN": "Author: Ada Example <ada@corp.example> qwertz-de"}}
}}''',
         [("documents", " - "), ("planner", " - "), ("planner", "PROVIDER_API_KEY has a placeholder"), ("history", " - ")],
         {"documents": ['env DEFAULT_MINIMUM_TOKENS = "10000"\n'],
          "planner": ['env MAX_TOKENS = "64000"\n', 'env TEMPERATURE = "0.2"\n', "secret PROVIDER_API_KEY from env PROVIDER_API_KEY\n"],
          "history": ['env GIT_AUTHOR_NAME = "Ada Example"\n', 'env KEYCLOAK_URL = "https://sso.corp.example/realms/main"\n']},
         env={"PROVIDER_API_KEY": "YOUR_API_KEY_HERE"},
         given={"documents": {"DEFAULT_MINIMUM_TOKENS": "10000"}, "history": {"GIT_AUTHOR_NAME": "AdaExample", "KEYBOARD_LAYOUT": "qwertz-de"}}),
    Case("OpenCode fills in {env:NAME} and {file:PATH}; `oauth` that is false is no login", ".config/opencode/opencode.json",
         '''{ "mcp": {
  "local1": { "type": "local", "command": ["/usr/bin/python3", "-u", "DIR/code/server.py"],
              "environment": {"KEY": "{env:MY_KEY}", "API_TOKEN": "{file:~/.secrets/k}"} },
  "remote1": { "type": "remote", "url": "https://r.example/mcp", "headers": {"Authorization": "Bearer TOKEN"}, "oauth": false } } }''',
         [("local1", " - "), ("remote1", " TOKEN ")],
         {"local1": ["secret KEY from env KEY\n", "secret API_TOKEN from env API_TOKEN\n"], "remote1": ["auth bearer TOKEN\n"]},
         env={"KEY": "abcdefgh1234", "API_TOKEN": "zq84mT0wLx5v"}, given={"local1": {"KEY": "abcdefgh1234", "API_TOKEN": "zq84mT0wLx5v"}}),
    Case("names of the registry and of other scripts become names that a policy can have", ".config/Code/User/mcp.json",
         '''{ "servers": {
  "io.github.acme/remote-server": { "type": "http", "url": "https://api.example/mcp/", "gallery": "https://api.mcp.example", "version": "0.13.0" },
  "io.github.acme/docs": { PYTHON },
  "my.server": { PYTHON },
  "日本語": { PYTHON } } }''',
         [("my.server", "no sandbox")],
         {"io-github-acme-remote-server": ['remote "https://api.example/mcp/"\n'], "io-github-acme-docs": [], "my-server": [], "server-1": []}),
    Case("what does not start under its draft is left, and the status says so; the others are replaced", ".cursor/mcp.json",
         '''{ "mcpServers": {
  "needs": { "command": "/usr/bin/python3", "args": ["-u", "DIR/code/needs.py"] },
  "login": { "command": "bash", "args": ["-lc", "exec /usr/bin/python3 -u DIR/code/server.py"] },
  "change": { "command": "/bin/sh", "args": ["-c", "cd DIR/code && python3 server.py"] },
  "nvm": { "command": "bash", "args": ["-c", "source ~/.nvm/nvm.sh && npx -y x"] },
  "gone": { "command": "DIR/code/nothing" },
  "good": { PYTHON },
} }''',
         [("needs", "no sandbox")], {"good": []}, status=65, left=["needs", "login", "change", "nvm", "gone"],
         errors=["the server `needs` of ", "DIR/code/nothing: program not found"]),
    Case("Codex's deadlines of the start and of calls are those of the policy", ".codex/config.toml",
         '''[mcp_servers.slow]
command = "/usr/bin/python3"
args = ["-u", "DIR/code/server.py"]
startup_timeout_sec = 90
tool_timeout_sec = 600.5
''', [("slow", "no sandbox")], {"slow": ["timeout  start 90s  call 601s\n"]}),
    Case("Gemini's deadline of calls is that of the policy", ".gemini/settings.json", '{"mcpServers":{"calls":{PYTHON,"timeout":600000}}}',
         [("calls", "no sandbox")], {"calls": ["timeout  call 600s\n"]}),
    Case("a reference to a secret manager stays, with the line for a policy, unless the entry runs that manager", ".cursor/mcp.json",
         '''{"mcpServers": {"asks": {PYTHON, "env": {"F_KEY": "op://Vault/item/field"}},
 "runs": {"command": "DIR/bin/op", "args": ["run", "--", "/usr/bin/python3", "-u", "DIR/code/server.py"], "env": {"F_KEY": "op://Vault/item/field"}},
 "marks": {PYTHON, "env": {"F_KEY": "<YOUR_KEY>"}}}}''',
         [("asks", " - "), ("runs", " - "), ("marks", "F_KEY has a placeholder")],
         {"runs": ['secret F_KEY from cmd DIR/bin/op "read" "op://Vault/item/field" { may network }\n'],
          "marks": ["secret F_KEY from env F_KEY\n"]}, status=65, left=["asks"], env={"F_KEY": "<YOUR_KEY>"},
         errors=["`asks` is left as it is: neither its client nor its command asks the secret manager (F_KEY); in a policy: "
                 "`secret F_KEY from cmd /usr/bin/op \"read\" \"op://Vault/item/field\" { may network }`"],
         files={"bin/op": "#!/bin/sh\n[ \"$1 $2\" = 'read op://Vault/item/field' ] && echo value-of-the-item\n"},
         given={"runs": {"F_KEY": "value-of-the-item"}}),
    Case("texts over lines in Goose's file hide no server, and its token is found", ".config/goose/config.yaml",
         '''GOOSE_MODEL: "a model
  of two lines"
extensions:
  http1:
    type: streamable_http
    uri: https://g.example/mcp
    headers: {Authorization: "Bearer
      TOKEN"}
    description: Two lines
      of text
  stdio1:
    type: stdio
    name: stdio1 # as its key
    description: 'Quoted,

      over lines'
    cmd: /usr/bin/python3
    args:
    - -u
    - |-
      DIR/code/server.py
    - plain text
      over lines
    - >-
      a folded
      text
    envs:
      API_TOKEN: >-
        TOKEN
      COLOUR: dark
        blue
    tools:
    - name: one
      text: |
        of a frontend
    timeout: 300
''', [("http1", " TOKEN "), ("stdio1", " API_TOKEN ")],
         {"http1": ["auth bearer TOKEN\n"], "stdio1": ['"plain text over lines"', '"a folded text"', 'env COLOUR = "dark blue"\n', "timeout  call 300s\n"]},
         given={"stdio1": {"COLOUR": "darkblue", "API_TOKEN": TOKEN}}),
    Case("what the client has switched off is listed as disabled, and left", ".codeium/windsurf/mcp_config.json",
         '{"mcpServers":{"off":{PYTHON,"disabled":true},"on":{PYTHON,"disabled":false}}}', [("off", "disabled; "), ("on", " no sandbox")], {"on": []},
         left=["off"], errors=["the server `off` is disabled in its client, and is left as it is: name it to import it"]),
]


def entries(case, text):
    """{server: the text of its entry}, as far as a test needs it."""
    if case.path.endswith(".json"):
        text = re.sub(r",(\s*[}\]])", r"\1", text)
        return list(json.loads(text).values())[0]
    return {}


def go(case, number):
    h = Home("case%d" % number)
    h.put("code/server.py", SERVER)
    h.put("code/needs.py", "import os\nopen(os.path.expanduser('~/.needs.json')).read()\n" + SERVER)
    h.put(".needs.json", "{}")
    for name, text in case.files.items():
        os.chmod(h.put(name, text), 0o755)

    def filled(text):
        return text.replace("PYTHON", PYTHON).replace("DIR", h.dir)
    text = filled(case.text).replace("Bearer TOKEN", "Bearer " + TOKEN).replace("\n      TOKEN\"", "\n      %s\"" % TOKEN).replace("        TOKEN\n", "        %s\n" % TOKEN)
    at = h.put(case.path, text)
    code, out, err = h.run("import")
    equal(code, 0, err)
    for name, part in case.rows:
        within(part, row(out, name))
    equal(reads(at).decode(), text, "nothing was asked to be changed")
    code, out, err = h.run("import", "--write", "--stdin")
    equal(code, case.status, out + err)
    for part in case.errors:
        within(filled(part), err)
    now = reads(at).decode()
    check(now != text)
    for name in case.left:
        equal(entries(case, now)[name], entries(case, text)[name])
    equal(set(re.findall(r'"run", "([^"]*)"', now)), set(case.runs))
    for name, lines in case.runs.items():
        has = policy(h, name)
        for line in lines:
            within(filled(line), has)
        if "remote " not in has:
            known, shown = tell(h, name, **case.env)
            equal({k: known.get(k) for k in case.given.get(name, {})}, case.given.get(name, {}))
            equal(shown, json.loads(text)["mcpServers"][name]["env"]["SHOWN"] if "SHOWN" in has else "")
    equal(h.run("import", "--undo")[0], 0)
    equal(reads(at).decode(), text)
    h.end()


@test("Claude Code's settings switch off servers of a project and have deadlines; a project's settings have none; each scope is in the table")
def claude_settings():
    h = Home("claude-settings")
    one = {"command": "/usr/bin/python3", "args": ["-u", h.put("code/server.py", SERVER)]}
    project = h.dir + "/project"
    user = h.put(".claude.json", json.dumps({"mcpServers": {"mine": dict(one, timeout=5000)},
                                             "projects": {project: {"mcpServers": {"here": one}, "disabledMcpjsonServers": ["off3"]}, "/x": {"disabledMcpjsonServers": ["on"]}}}))
    theirs = h.put("project/.mcp.json", json.dumps({"mcpServers": {"off1": one, "off2": one, "off3": one, "on": one}}))
    h.put(".claude/settings.json", json.dumps({"env": {"MCP_TIMEOUT": "45000", "MCP_TOOL_TIMEOUT": "90000"}, "disabledMcpjsonServers": ["off1", "mine"], "enabledMcpjsonServers": ["off1"]}))
    h.put("project/.claude/settings.json", json.dumps({"env": {"MCP_TIMEOUT": "1000000"}, "disabledMcpjsonServers": ["off2"]}))
    before = reads(user), reads(theirs)
    code, out, err = h.run("import")
    equal(code, 0, err)
    scopes = {"mine": "user", "here": "local", "off1": "project", "on": "project"}
    for name, scope in scopes.items():
        equal(row(out, name).split()[0], "claude-code/" + scope)
    equal({n for n in ("mine", "here", "off1", "off2", "off3", "on") if "disabled; " in row(out, n)}, {"off1", "off2", "off3"})
    code, out, err = h.run("import", "--write")
    equal(code, 0, out + err)
    for name in ("mine", "here", "on"):
        equal(row(out[out.index("UNDER KENNEL"):], name).split()[0], "claude-code/" + scopes[name])
        tell(h, name)
    within("timeout  start 45s  call 5s\n", policy(h, "mine"))
    within("timeout  start 45s  call 90s\n", policy(h, "on"))
    equal(sorted(os.listdir(h.kennel + "/policies")), ["here.kennel", "mine.kennel", "on.kennel"])
    equal(h.run("import", "--undo")[0], 0)
    equal((reads(user), reads(theirs)), before)


@test("two secrets whose names differ in case only do not share a place in the vault: their server is left; others are no pair")
def one_path():
    h = Home("one-path")
    one = {"command": "/usr/bin/python3", "args": ["-u", h.put("code/server.py", SERVER)]}
    entries_ = {"pair": dict(one, env={"API_KEY": TOKEN + "1", "api_key": TOKEN + "2"}), "under": dict(one, env={"_API_KEY": TOKEN + "1", "V_API_KEY": TOKEN + "2"}),
                "two": dict(one, env={"VAPI_KEY": TOKEN + "1", "API_KEY": TOKEN + "2"})}
    at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": entries_}))
    code, out, err = h.run("import", "--write", "--stdin")
    equal(code, 65, out + err)
    within("`pair` is left as it is: two secrets would have one name in the vault", err)
    within("(api_key)", err)
    within("`under` is left as it is: two secrets would have one name in the vault", err)
    now = json.loads(reads(at))["mcpServers"]
    equal((now["pair"], now["under"]), (entries_["pair"], entries_["under"]))
    known = tell(h, "two")[0]
    equal((known["VAPI_KEY"], known["API_KEY"]), (TOKEN + "1", TOKEN + "2"))
    h.end()


@test("VS Code's settings.json has servers, too: of the user, a profile and a workspace; a settings.json without servers is not judged")
def vscode_settings():
    h = Home("vscode-settings")
    server = h.put("code/server.py", SERVER)
    entry = '{"command": "/usr/bin/python3", "args": ["-u", "%s"], "env": {"API_TOKEN": "%s"}}' % (server, TOKEN)
    files = [(".config/Code/User/settings.json", '{ // mine\n  "editor.x": 1,\n  "mcp": {"inputs": [], "servers": {"mine": %s,},},\n}\n' % entry, "user"),
             (".config/Code/User/profiles/a1/settings.json", '{"mcp.servers": {"profile": %s}}' % entry, "user"),
             ("project/.vscode/settings.json", '{"mcp": {"servers": {"space": %s}}, "mcp.servers": {}}' % entry, "workspace"),
             ("project/.vscode/mcp.json", '{"servers": {"new": %s}}' % entry, "workspace")]
    at = [h.put(path, text) for path, text, _ in files]
    h.put(".config/VSCodium/User/settings.json", '{"a": 1, "a": 2, "mcp": {"gallery": true}}')
    code, out, err = h.run("import")
    equal((code, err), (0, ""))
    for name, (_, _, scope) in zip(("mine", "profile", "space", "new"), files):
        equal(row(out, name).split()[0], "vscode/" + scope)
        within(" API_TOKEN ", row(out, name))
    code, out, err = h.run("import", "--write", "--stdin")
    equal(code, 0, out + err)
    for name in ("mine", "profile", "space", "new"):
        equal(tell(h, name)[0]["API_TOKEN"], TOKEN)
    equal(reads(at[0]).decode(), files[0][1].replace(entry, '{"command": "kennel", "args": ["run", "mine"], "env": {}}'))
    equal(h.run("import", "--undo")[0], 0)
    equal([reads(path).decode() for path in at], [text for _, text, _ in files])
    h.end()


@test("mcp-remote connects to a URL: its entry is left, with the line for a policy, and no secret of the URL is printed")
def bridge():
    h = Home("bridge")
    npx = {"command": "npx", "args": ["-y", "mcp-remote@0.1.2", "https://r.example/mcp", "--header", "Authorization:${AUTH}"], "env": {"AUTH": "Bearer " + TOKEN}}
    entries_ = {"plain": npx, "query": dict(npx, args=["mcp-remote", "https://r.example/mcp?userToken=" + TOKEN]), "node": {"command": "mcp-remote", "args": ["http://localhost:9/x"]},
                "not": {"command": "/bin/cat", "args": ["mcp-remote", "none"]}}
    at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": entries_}))
    code, out, err = h.run("import")
    equal(code, 0, err)
    within("mcp-remote connects to a URL", row(out, "plain"))
    code, out, err = h.run("import", "--write", "--stdin", "--no-start")
    equal(code, 65, out + err)
    for name, url in (("plain", "https://r.example/mcp"), ("query", "https://r.example:443/..."), ("node", "http://localhost:9/x")):
        within("`%s` is left as it is: mcp-remote connects to a URL, which kennel does itself; in a policy: `remote \"%s\"` with `auth`" % (name, url), err)
    now = json.loads(reads(at))["mcpServers"]
    equal(now.pop("not")["command"], "kennel", "the control")
    entries_.pop("not")
    equal(now, entries_)
    h.end()


# client, file, the object of servers, more members of the entry, its variables, references that it fills in
HEADERS = [
    ("claude-code", ".claude.json", "mcpServers", {"type": "http"}, "env", ["${MY_KEY}"]),
    ("cursor", ".cursor/mcp.json", "mcpServers", {}, "env", ["${env:MY_KEY}"]),
    ("vscode", ".config/Code/User/mcp.json", "servers", {"type": "http"}, "env", ["${env:MY_KEY}", "${input:my-key}"]),
    ("gemini", ".gemini/settings.json", "mcpServers", {}, "env", ["$MY_KEY", "${MY_KEY}"]),
    ("windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers", {}, "env", ["${env:MY_KEY}", "${file:/k}"]),
    ("opencode", ".config/opencode/opencode.json", "mcp", {"type": "remote"}, "environment", ["{env:MY_KEY}", "{file:~/k}"]),
]


@test("a reference in a header moves to a variable of the entry, which its client fills in there; in a project's file it is only proposed")
def headers():
    for client, path, key, more, variables, references in HEADERS:
        h = Home("headers-" + client)
        entries_ = {}
        for n, text in enumerate(references):
            entries_["b%d" % n] = dict(more, url="https://r.example/mcp", headers={"Authorization": "Bearer " + text, "X-Team": "t"})
            entries_["k%d" % n] = dict(more, headers={"X-Api-Key": text}, url="https://k.example/mcp", timeout=9)
        text = json.dumps({key: entries_}, indent=None if client == "cursor" else 1)
        at = h.put(path, text)
        code, out, err = h.run("import")
        equal(code, 0, err)
        within("; TOKEN is filled in by", row(out, "b0"))
        within(" - ", row(out, "b0"), "no secret in clear text")
        code, out, err = h.run("import", "--write")
        equal(code, 0, client + out + err)
        now = json.loads(reads(at))[key]
        for n, value in enumerate(references):
            for name, variable in (("b%d" % n, "TOKEN"), ("k%d" % n, "API_KEY")):
                equal(now[name][variables], {variable: value})
                check("headers" not in now[name] and "url" not in now[name], now[name])
                equal(now[name]["command"], ["kennel", "run", name] if client == "opencode" else "kennel")
                within("secret %s from env %s\n" % (variable, variable), policy(h, name))
            within("auth bearer TOKEN\n", policy(h, "b%d" % n))
            within('auth api-key "X-Api-Key" API_KEY\n', policy(h, "k%d" % n))
        equal(h.run("import", "--undo")[0], 0)
        equal(reads(at).decode(), text)
        check(not os.path.exists(h.kennel + "/vault"), "a vault was made")
    h = Home("headers-goose")
    text = "extensions:\n  a:\n    type: streamable_http\n    uri: https://r.example/mcp\n    headers:\n      Authorization: Bearer ${K}\n    timeout: 9\n"
    at = h.put(".config/goose/config.yaml", text)
    equal(h.run("import", "--write")[0], 0)
    within('    cmd: "kennel"\n    args: ["run", "a"]\n    envs: {TOKEN: "${K}"}\n    timeout: 9\n', reads(at).decode())
    equal(h.run("import", "--undo")[0], 0)
    equal(reads(at).decode(), text)
    h = Home("headers-project")
    at = h.put("project/.mcp.json", json.dumps({"mcpServers": {"theirs": {"type": "http", "url": "https://r.example/mcp", "headers": {"Authorization": "Bearer ${MY_KEY}"}}}}))
    before = reads(at)
    code, out, err = h.run("import", "--write")
    within("`theirs` is left as it is: a project's file sends a value of yours to its URL: review it, and write a policy with `remote`", err)
    equal(reads(at), before)
    check(not os.path.exists(h.kennel + "/policies/theirs.kennel"))


# As SERVER, for node: the description of its tool is the path of the node that runs it.
NODE_SERVER = """#!/usr/bin/env %s
const out = (m, result) => console.log(JSON.stringify({jsonrpc: "2.0", id: m.id, result}));
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const m = JSON.parse(line);
  if (m.method === "initialize")
    out(m, {protocolVersion: m.params.protocolVersion, capabilities: {tools: {}}, serverInfo: {name: "n", version: "1"}});
  else if (m.method === "tools/list")
    out(m, {tools: [{name: "get_node", description: process.execPath + " " + process.execArgv, inputSchema: {type: "object"}, annotations: {readOnlyHint: true}}]});
});
"""
COUNTERFEIT = "#!/bin/sh\nexit 7\n"  # no npx or shim is started


def version(h, path):
    """A node of its own version: a copy, as the managers keep it."""
    at = h.put(path, "")
    shutil.copyfile(NODE, at)
    os.chmod(at, 0o755)
    return at


def program(h, path, link=None):
    if link is None:
        os.chmod(h.put(path, COUNTERFEIT), 0o755)
    else:
        os.makedirs(os.path.dirname(h.dir + "/" + path), exist_ok=True)
        os.symlink(link, h.dir + "/" + path)


# The manager, the program that the entry names, its node, and what else is there: paths, with what each is a link to.
MANAGERS = [
    ("nvm", ".nvm/versions/node/v22.13.1/bin/npx", ".nvm/versions/node/v22.13.1/bin/node", {}),
    ("fnm", ".local/share/fnm/aliases/default/bin/npx", ".local/share/fnm/node-versions/v22.13.1/installation/bin/node",
     {".local/share/fnm/aliases/default": "../node-versions/v22.13.1/installation"}),
    ("mise", ".local/share/mise/shims/npx", ".local/share/mise/installs/node/22.13.1/bin/node",
     {".local/share/mise/shims/npx": "../../../bin/mise", ".local/share/mise/shims/node": "../../../bin/mise", ".local/bin/mise": None,
      ".local/share/mise/installs/node/22": "22.13.1"}),
    ("asdf", ".asdf/shims/npx", ".asdf/installs/nodejs/22.13.1/bin/node", {".asdf/shims/npx": None, ".asdf/shims/node": None}),
    ("volta", ".volta/bin/npx", ".volta/tools/image/node/22.13.1/bin/node",
     {".volta/bin/volta-shim": None, ".volta/bin/npx": "volta-shim", ".volta/bin/node": "volta-shim"}),
]


def node_home(manager, test_):
    name, npx, node, more = manager
    h = Home(test_ + name)
    version(h, node)
    for path, link in more.items():
        program(h, path, link)
    if not os.path.lexists(h.dir + "/" + npx):
        program(h, npx)
    return h, h.dir + "/" + npx, h.dir + "/" + node


@test("the node of the version that an entry names by its npx starts the server: nvm, fnm, mise, asdf and volta", seconds=110)
def other_node():
    registry = Registry(Package("ctx", "1.0.0", {"server.js": NODE_SERVER % "node"}, bin_="server.js"),
                        Package("opts", "1.0.0", {"server.js": NODE_SERVER % "-S node --no-warnings"}, bin_="server.js"))
    for manager in MANAGERS:
        h, npx, node = node_home(manager, "npx-")
        text = "".join('[mcp_servers.%s]\ncommand = "%s"\nargs = ["-y", "%s@1.0.0", "more"]\n' % (n, npx, n) for n in ("ctx", "opts"))
        at = h.put(".codex/config.toml", text)
        code, out, err = h.run("import", "--write", registry=registry.url)
        equal(code, 0, manager[0] + out + err)
        for name, option in (("ctx", ""), ("opts", "--no-warnings")):
            check(re.search(r"\n    run +%s( \\\n +)?" % re.escape(node), policy(h, name)), policy(h, name))
            s = Mcp([KENNEL, "run", name], env=h.env())
            s.initialize()
            equal(s.request("tools/list")["result"]["tools"][0]["description"], "%s %s" % (node, option))
            s.close()
        equal(h.run("import", "--undo")[0], 0)
        equal(reads(at).decode(), text)
        h.end()
    registry.close()


@test("a node that is named itself, or is a shim, starts the script of its entry; a shim that chooses among versions takes the default one, or the entry is left")
def node_of_script():
    h, _, node = node_home(MANAGERS[4], "node-")
    script = h.put("code/server.js", NODE_SERVER % "node")
    other = h.dir + "/.volta/tools/image/node/18.1.0/bin/node"

    def one(command, status, starts=None, path=""):
        at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": {"s": {"command": command, "args": [script]}}}))
        before = reads(at)
        code, out, err = h.run("import", "--write")
        equal(code, status, out + err)
        if starts is None:
            within("its node is chosen among several versions at each start: name the npx or the node in the directory of one version", err)
            equal(reads(at), before)
            return
        within(starts, policy(h, "s"))
        s = Mcp([KENNEL, "run", "s"], env=h.env())
        s.initialize()
        equal(s.request("tools/list")["result"]["tools"][0]["description"], starts + " ")
        s.close()
        equal(h.run("import", "--undo")[0], 0)
        equal(reads(at), before)
        os.unlink(h.kennel + "/policies/s.kennel")
    one(node, 0, node)
    one(h.dir + "/.volta/bin/node", 0, node)
    version(h, other[len(h.dir) + 1:])
    one(h.dir + "/.volta/bin/node", 65)
    one(node, 0, node)
    h.put(".volta/tools/user/platform.json", '{"node":{"runtime":"18.1.0","npm":null},"pnpm":null}')
    one(h.dir + "/.volta/bin/node", 0, other)
    h.end()


@test("an npx that does not exist leaves its entry; one without a node beside it takes that of PATH")
def no_node():
    registry = Registry(Package("ctx", "1.0.0", {"server.js": NODE_SERVER % "node"}, bin_="server.js"))
    h = Home("no-node")
    entry = {"command": h.dir + "/.nvm/versions/node/v20.1.0/bin/npx", "args": ["-y", "ctx"]}
    at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": {"ctx": entry}}))
    code, out, err = h.run("import", "--write", registry=registry.url)
    equal(code, 65, out + err)
    within("unable to install with %s: program not found" % entry["command"], err)
    equal(json.loads(reads(at))["mcpServers"]["ctx"], entry)
    program(h, ".nvm/versions/node/v20.1.0/bin/npx")
    code, out, err = h.run("import", "--write", "--no-start", registry=registry.url)
    equal(code, 0, out + err)
    check(re.search(r"\n    run +/usr/[a-z/]*node", policy(h, "ctx")), policy(h, "ctx"))
    registry.close()
    h.end()


for number_, case_ in enumerate(CASES):
    test(case_.title)(lambda case_=case_, number_=number_: go(case_, number_))

try:
    main()
finally:
    for home in homes:
        home.end()
