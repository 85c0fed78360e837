"""kennel import: from the configurations of MCP clients to `kennel run`, and back."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clients  # noqa: E402
from kit import *  # noqa: E402,F403
from import_kit import PASSPHRASE, TOKEN, Home, homes  # noqa: E402
from registry_kit import Package, Registry, server  # noqa: E402
from remote_server import Remote  # noqa: E402

# Where each client keeps its servers, as its own tools write it; @ is the command.
JSON = '{\n  "%s": {\n    "srv": {\n      @\n      "env": {\n        "LANG": "C",\n        "API_TOKEN": "%s"\n      }%s\n    }\n  }\n}\n'
JSON_IS = '{\n  "%s": {\n    "srv": {\n      @\n      "env": {\n        "LANG": "C"\n      }%s\n    }\n  }\n}\n'
WORDS = '"command": "/bin/cat",\n      "args": [\n        "-u"\n      ],'
WORDS_IS = '"command": "kennel",\n      "args": ["run", "srv"],'


def plain(key, more=""):
    return (JSON % (key, TOKEN, more)).replace("@", WORDS), (JSON_IS % (key, more)).replace("@", WORDS_IS)


OPENCODE = ('{ "mcp": {"srv": {"type": "local", "command": ["/bin/cat", "-u"], "environment": {"API_TOKEN": "%s", "LANG": "C"}, "enabled": true}} } // end\n' % TOKEN,
            '{ "mcp": {"srv": {"type": "local", "command": ["kennel", "run", "srv"], "environment": {"LANG": "C"}, "enabled": true}} } // end\n')
CODEX = ('model = "x" # the model\n\n[mcp_servers.srv]\ncommand = "/bin/cat"\nargs = ["-u"]\nstartup_timeout_sec = 20\n\n[mcp_servers.srv.env]\nLANG = "C"\nAPI_TOKEN = "%s"\n' % TOKEN,
         'model = "x" # the model\n\n[mcp_servers.srv]\ncommand = "kennel"\nargs = ["run", "srv"]\nstartup_timeout_sec = 20\n\n[mcp_servers.srv.env]\nLANG = "C"\n')
GOOSE = ('GOOSE_MODEL: x\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n  srv:\n    name: srv\n    type: stdio\n    cmd: /bin/cat\n    args:\n      - -u\n    envs:\n      LANG: C\n      API_TOKEN: %s\n    enabled: true\n' % TOKEN,
         'GOOSE_MODEL: x\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n  srv:\n    name: srv\n    type: stdio\n    cmd: "kennel"\n    args: ["run", "srv"]\n    envs:\n      LANG: C\n    enabled: true\n')
VSCODE = ("{\n  // servers\n" + plain("servers", ',\n      "type": "stdio",')[0][2:-2] + ',\n  "inputs": [{"id": "x", "type": "promptString", "password": true,}],\n}\n',
          "{\n  // servers\n" + plain("servers", ',\n      "type": "stdio",')[1][2:-2] + ',\n  "inputs": [{"id": "x", "type": "promptString", "password": true,}],\n}\n')
ZED = ('{\n  /* settings */ "theme": "One",\n  "context_servers": {"srv": {"source": "custom", "command": {"path": "/bin/cat", "args": ["-u"], "env": {"LANG": "C", "API_TOKEN": "%s"}}}},\n}\n' % TOKEN,
       '{\n  /* settings */ "theme": "One",\n  "context_servers": {"srv": {"source": "custom", "command": {"path": "kennel", "args": ["run", "srv"], "env": {"LANG": "C"}}}},\n}\n')
LOCAL = ('{"projects": {"/tmp": {"mcpServers": {"srv": {"type": "stdio", "command": "/bin/cat", "args": ["-u"], "env": {"LANG": "C", "API_TOKEN": "%s"}}}, "enabledMcpjsonServers": []}}}' % TOKEN,
         '{"projects": {"/tmp": {"mcpServers": {"srv": {"type": "stdio", "command": "kennel", "args": ["run", "srv"], "env": {"LANG": "C"}}}, "enabledMcpjsonServers": []}}}')

FILES = [
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", plain("mcpServers")),
    ("claude-code", ".claude.json", plain("mcpServers", ',\n      "type": "stdio"')),
    ("claude-code", ".claude.json", LOCAL),
    ("claude-code", "project/.mcp.json", plain("mcpServers")),
    ("cursor", ".cursor/mcp.json", plain("mcpServers")),
    ("vscode", ".config/Code/User/mcp.json", VSCODE),
    ("copilot", ".copilot/mcp-config.json", plain("mcpServers", ',\n      "tools": ["*"]')),
    ("windsurf", ".codeium/windsurf/mcp_config.json", plain("mcpServers")),
    ("zed", ".config/zed/settings.json", ZED),
    ("codex", ".codex/config.toml", CODEX),
    ("gemini", ".gemini/settings.json", plain("mcpServers", ',\n      "trust": false')),
    ("gemini", "project/.gemini/extensions/an extension/gemini-extension.json", plain("mcpServers")),
    ("vscode", ".config/Code - Insiders/User/profiles/-1a2b/mcp.json", VSCODE),
    ("vscode", ".vscode-server/data/User/mcp.json", VSCODE),
    ("cline", ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", plain("mcpServers", ',\n      "autoApprove": []')),
    ("goose", ".config/goose/config.yaml", GOOSE),
    ("opencode", ".config/opencode/opencode.jsonc", OPENCODE),
    ("kilo", ".config/kilo/kilo.json", OPENCODE),
    ("kiro", ".kiro/settings/mcp.json", plain("mcpServers")),
    ("antigravity", ".gemini/config/mcp_config.json", plain("mcpServers")),
    ("junie", ".junie/mcp/mcp.json", plain("mcpServers")),
    ("roo", "project/.roo/mcp.json", plain("mcpServers", ',\n      "alwaysAllow": []')),
    ("crush", "project/.crush.json", plain("mcp", ',\n      "type": "stdio"')),
]


def one(name, path, text, wanted, then=None, status=0):
    """Imports one file, and restores it."""
    h = Home(name)
    text = text if isinstance(text, bytes) else text.encode()
    wanted = wanted if isinstance(wanted, bytes) else wanted.encode()
    at = h.put(path, text)
    code, out, err = h.run("import")
    equal(code, 0, err)
    within("API_TOKEN", out, "the table")
    equal(reads(at), text, "a dry run")
    check(not os.path.exists(h.kennel + "/policies"), "a dry run makes no policy")
    code, out, err = h.write()
    equal(code, status, out + err)
    equal(reads(at), wanted, path)
    policy = reads(h.kennel + "/policies/srv.kennel").decode()
    within('run %s "-u"\n' % os.path.realpath("/bin/cat"), policy)
    within("secret API_TOKEN from vault mcp/srv/api-token\n", policy)
    within('env LANG = "C"\n', policy)
    code, _, err = h.run("policy", "check", h.kennel + "/policies/srv.kennel")
    equal(code, 0, err)
    if then is not None:
        then(h, at)
    code, out, err = h.write()
    equal(reads(at), wanted, "a second time")
    code, out, err = h.run("import", "--undo")
    equal(code, 0, out + err)
    equal(reads(at), text, "undone")
    h.end()


for number, (client_, path_, (before_, after_)) in enumerate(FILES):
    @test("%s: %s becomes kennel's and is restored to the byte" % (client_, path_))
    def form(name="form%d" % number, client=client_, path=path_, before=before_, after=after_):
        one(name, path, before, after)


@test("each file of the table that has servers is found, for the client of its row")
def table():
    h, wanted = Home("table"), []
    for n, row in enumerate(clients.rows()):
        if not row.key or row.scope == "managed":
            continue
        name = "srv%d" % n
        forms = {"toml": '[%s.%s]\ncommand = "/bin/cat"\n', "yaml": "%s:\n  %s:\n    type: stdio\n    cmd: /bin/cat\n"}
        form = forms.get(row.path.rpartition(".")[2], '{"%s": {"%s": {"command": "/bin/cat"}}}\n')
        # the name of a directory that may have any name may be `*`, too
        h.put(("project/" if row.scope == "project" else "") + row.path, form % (row.key, name))
        wanted.append([row.client, name])
    code, out, err = h.run("import")
    equal(code, 0, err)
    found = [line.split() for line in out.splitlines() if "/bin/cat" in line]
    equal(sorted([cells[0].partition("/")[0], cells[1]] for cells in found), sorted(wanted), "the table")
    h.end()


@test("in each dialect a byte order mark, CRLF and a last line without its end are kept; a file that a link leads to is changed, and the link stays")
def bytes_kept():
    dialects = ((".cursor/mcp.json", plain("mcpServers")), (".config/Code/User/mcp.json", VSCODE), (".codex/config.toml", CODEX),
                (".config/goose/config.yaml", GOOSE))
    for number, (path, texts) in enumerate(dialects):
        before, after = (b"\xef\xbb\xbf" + t.replace("\n", "\r\n").encode() for t in texts)
        one("bom%d" % number, path, before, after)
        before, after = (t[:-1] for t in texts)
        if texts is CODEX:  # its last line goes, and the one before it keeps its end
            after = texts[1]
        one("bare%d" % number, path, before, after)

    h = Home("link")
    target = h.put("dotfiles/mcp.json", plain("mcpServers")[0])
    os.chmod(target, 0o640)
    os.mkdir(h.dir + "/.cursor")
    link = h.dir + "/.cursor/mcp.json"
    os.symlink("../dotfiles/mcp.json", link)
    code, out, err = h.write()
    equal(code, 0, out + err)
    equal(os.readlink(link), "../dotfiles/mcp.json")
    equal(reads(target).decode(), plain("mcpServers")[1])
    equal(os.stat(target).st_mode & 0o7777, 0o640, "its mode")
    equal(os.listdir(h.dir + "/dotfiles"), ["mcp.json"], "no other file is left")
    equal(h.run("import", "--undo")[0], 0)
    equal(reads(link).decode(), plain("mcpServers")[0])
    h.end()


@test("a read-only file and one that is not understood are left as they are")
def left():
    h = Home("left")
    ro = h.put(".cursor/mcp.json", plain("mcpServers")[0])
    os.chmod(ro, 0o444)
    bad = h.put(".gemini/settings.json", plain("mcpServers")[0] + "}")
    code, out, err = h.write()
    equal(code, 65, err)
    within("it is read-only", err)
    within("settings.json: line 15: unexpected text after }", err)
    equal(reads(ro).decode(), plain("mcpServers")[0])
    equal(reads(bad).decode(), plain("mcpServers")[0] + "}")
    check(not os.path.exists(h.kennel + "/policies/srv.kennel"), "a policy was made")
    check(not os.path.exists(h.kennel + "/vault/secrets.vault"), "a vault was made")
    h.end()


@test("an import that changes no file does not end as one that did; a file that fails does not leave out the next one")
def unsuccessful():
    dotted = '[mcp_servers]\nd.command = "/bin/cat"\n'
    h = Home("dotted")
    at = h.put(".codex/config.toml", dotted)
    code, out, err = h.write()
    equal(code, 125, out + err)
    within("unable to edit `d` of %s: its command is a dotted key" % at, err)
    equal(reads(at).decode(), dotted)
    for text in ("Review the policies", "restart the clients", "backups"):
        absent(text, out + err)
    equal(os.listdir(h.kennel + "/policies"), [], "its policy is taken back")
    # The control: the file after it is changed, and this is what the last lines are about.
    later = h.put(".qwen/settings.json", '{"mcpServers": {"good": {"command": "/bin/cat"}}}\n')
    code, out, err = h.write()
    equal(code, 125, out + err)
    equal(reads(at).decode(), dotted)
    within('"kennel"', reads(later).decode())
    within("Review the policies", out)
    h.end()


TWICE = [  # file, text, the line of the duplicate, the servers with their command
    ("project/.mcp.json", '{"mcpServers": {},\n"mcpServers": {"evil": {"command": "/bin/cat", "env": {"API_TOKEN": "%s"}}}}\n' % TOKEN, 2, {"evil"}),
    ("project/.cursor/mcp.json", '{"mcpServers": {"evil": {"command": "/bin/cat"}},\n"mcp\\u0053ervers": {}}\n', 2, {"evil"}),
    ("project/.vscode/mcp.json", '{// one\n"servers": {"a": {"command": "kennel", "args": ["run", "a"]},\n"a": {"command": "/bin/cat"},},}\n', 3, {"a"}),
    ("project/opencode.json", '{"mcp": {"a": {"type": "local", "command": ["/bin/cat"],\n"command": ["/bin/sh"]}, "b": {"type": "local", "command": ["/bin/cat"]}}}\n', 2, {"a", "b"}),
    ("project/.mcp.json", '{"mcpServers": {"a": {"command": "/bin/cat", "envFile": "x",\n"envFile": "y"}}}\n', 2, {"a"}),
    (".claude.json", '{"projects": {"/tmp": {"mcpServers": {"a": {"command": "/bin/cat"}}}},\n"projects": {"/tmp": {}}}\n', 2, {"a"}),
    (".codex/config.toml", '[mcp_servers.a]\ncommand = "/bin/cat"\n[mcp_servers.b]\ncommand = "/bin/cat"\n[mcp_servers."\\u0061"]\nargs = ["-u"]\n', 5, {"a", "b"}),
    (".codex/config.toml", 'mcp_servers = {}\n[mcp_servers.a]\ncommand = "/bin/cat"\n', 2, {"a"}),
    ("project/crush.json", '{"mcp": {},\n"MCP": {"a": {"command": "/bin/cat"}}}\n', 2, {"a"}),
    ("project/.crush.json", '{"mcp": {"a": {"command": "/bin/true", "type": "stdio",\n"args": [], "ARG\\u017f": ["x"]}}}\n', 2, {"a"}),
    (".config/goose/config.yaml", 'extensions:\n  a:\n    type: stdio\n    cmd: /bin/cat\n"extensions": {}\n', 5, {"a"}),
    (".config/goose/config.yaml", 'x: 1\n"extensi\\u006fns": {a: {type: stdio, cmd: /bin/cat}}\nx: 2\n', 3, {"a"}),
]


@test("a duplicate key in a file: its servers are in the table, nothing of it is changed, and the exit status is 65")
def twice():
    for n, (path, text, line, names) in enumerate(TWICE):
        h = Home("twice%d" % n)
        at = h.put(path, text)
        other = h.put(".qwen/settings.json", '{"mcpServers": {"good": {"command": "/bin/cat"}}}\n')
        for words_ in (("import",), ("import", "--write", "--no-start", "--stdin")):
            code, out, err = h.run(*words_)
            equal(code, 65, text)
            within("invalid %s: duplicate key on line %d" % (at, line), err)
            equal({row.split()[1] for row in out.splitlines() if "duplicate key" in row}, names, text + out)
            absent("no servers found", out)
            equal(reads(at).decode(), text)
        within('"kennel"', reads(other).decode(), "the control: another file of the same import")
        equal(os.listdir(h.kennel + "/policies"), ["good.kennel"], "no policy of the refused ones")
        h.end()
    h = Home("twice-only")
    h.put("project/.mcp.json", '{"mcpServers": {"a\\ud800": {"command": "/bin/cat"}}}\n')
    code, out, err = h.run("import")
    equal(code, 65, err)
    within("invalid escape in a key", err)
    within("no servers found in the files that could be read", out)
    h.end()


@test("crush reads keys without regard to case, as kennel does for it: servers are found, and names of servers and variables are no duplicates")
def folded():
    h = Home("folded")
    h.put("project/crush.json", '{"MCP": {"one": {"Command": "/bin/cat", "ENV": {"http_proxy": "x", "HTTP_PROXY": "y"}}, "ONE": {"COMMAND": "/bin/cat"}, "u": {"URL": "https://a.example/mcp", "Type": "http"}}}\n')
    h.put("project/.roo/mcp.json", '{"MCPSERVERS": {"no": {"command": "/bin/cat"}}, "mcpServers": {"two": {"command": "/bin/cat"}}}\n')
    code, out, err = h.run("import")
    equal(code, 0, err)
    equal({tuple(row.split()[:3]) for row in out.splitlines() if "/project " in row},
          {("crush/project", "one", "/bin/cat"), ("crush/project", "ONE", "/bin/cat"), ("crush/project", "u", "remote"), ("roo/project", "two", "/bin/cat")}, out)
    h.end()


HIDDEN = [  # file, text, the line, what is said; the client's own reader may find a server there
    ("project/.mcp.json", '{\n"mcpServers": [{"command": "/bin/cat"}]}\n', 2, "expected the servers as an object"),
    ("project/.vscode/mcp.json", '{"servers": "%s"}\n' % TOKEN, 1, "expected the servers as an object"),
    (".claude.json", '{"projects": [{"mcpServers": {"a": {"command": "/bin/cat"}}}]}\n', 1, "expected the servers as an object"),
    (".claude.json", '{"projects": {"/tmp": [{"mcpServers": {}}]}}\n', 1, "expected the servers as an object"),
    (".codex/config.toml", 'x = 1\n[[mcp_servers]]\ncommand = "/bin/cat"\n', 2, "expected the servers as an object"),
    (".config/goose/config.yaml", 'x: 1\nextensions: [{cmd: /bin/cat}]\n', 2, "expected the servers as an object"),
    (".config/goose/config.yaml", 'x: &x\n  extensions:\n    a:\n      type: stdio\n      cmd: /bin/cat\n<<: *x\n', 6, "a merge key (<<) is not supported"),
    (".config/goose/config.yaml", 'x: 1\n"<<": {extensions: {a: {type: stdio, cmd: /bin/cat}}}\n', 2, "a merge key (<<) is not supported"),
]


@test("servers that are no object, or behind a merge key: the file is named and left, and the exit status is 65")
def hidden():
    for n, (path, text, line, what) in enumerate(HIDDEN):
        h = Home("hidden%d" % n)
        at = h.put(path, text)
        other = h.put(".qwen/settings.json", '{"mcpServers": {"good": {"command": "/bin/cat"}}}\n')
        code, out, err = h.run("import", "--write", "--no-start", "--stdin")
        equal(code, 65, text + out + err)
        within("%s: line %d: %s" % (at, line, what), err)
        equal(reads(at).decode(), text)
        within('"kennel"', reads(other).decode(), "the control: another file of the same import")
        h.end()
    for n, (path, text) in enumerate(((".claude.json", '{"mcpServers": null, "projects": {}}\n'), (".config/goose/config.yaml", "extensions:\nx: 1\n"),
                                   (".codex/config.toml", "[[x]]\na = 1\n[x.y]\nb = 1\n[[x]]\na = 1\n[x.y]\nb = 1\n[[x.z]]\nb = 1\n"))):
        h = Home("hidden-none%d" % n)
        h.put(path, text)
        code, out, err = h.run("import")
        equal(code, 0, text + err)
        within("no servers found in the configurations", out)
        h.end()


@test("servers at a URL that is not Streamable HTTP, packages that cannot be installed and secrets in arguments are left, the others of the file are not")
def mixed():
    h = Home("mixed")
    entry = {"url": {"type": "sse", "url": "https://example.com/mcp"}, "pkg": {"command": "npx", "args": ["-y", "a-server@1.0.0"]},
             "arg": {"command": "/bin/cat", "args": ["--token", TOKEN]}, "fills": {"command": "/bin/cat", "args": ["${HOME}"]},
             "srv": {"command": "/bin/cat"}}
    at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": entry}, indent=2))
    code, out, err = h.write()
    equal(code, 65, out + err)
    within("unable to install a-server@1.0.0", err)
    within("pkg: installing its package ...\n", out)
    within("srv: drafting its policy ...\n", out)
    within("the server `pkg`", err)
    within("`arg` is left as it is: an argument looks like a secret", err)
    within("`fills` is left as it is: its client fills in a part of the command", err)
    within("`url` is left as it is: its transport is HTTP+SSE of 2024-11-05", err)
    now = json.loads(reads(at))["mcpServers"]
    equal(now.pop("srv"), {"command": "kennel", "args": ["run", "srv"]})
    entry.pop("srv")
    equal(now, entry)
    equal(os.listdir(h.kennel + "/policies"), ["srv.kennel"])
    h.end()


@test("two clients share the policy of one server; another server of the name gets its own")
def shared():
    h = Home("shared")
    h.put(".cursor/mcp.json", plain("mcpServers")[0])
    h.put(".kiro/settings/mcp.json", plain("mcpServers")[0])
    h.put(".junie/mcp/mcp.json", plain("mcpServers")[0].replace('"-u"', '"-v"'))
    code, out, err = h.write()
    equal(code, 0, out + err)
    equal(sorted(os.listdir(h.kennel + "/policies")), ["srv-junie.kennel", "srv.kennel"])
    within('"run", "srv-junie"', reads(h.dir + "/.junie/mcp/mcp.json").decode())
    within('"run", "srv"', reads(h.dir + "/.kiro/settings/mcp.json").decode())
    # a client that comes later: the policy that exists is used if it starts the same
    h.put(".codeium/windsurf/mcp_config.json", plain("mcpServers")[0].replace(TOKEN, "another-value-1"))
    code, out, err = h.write()
    equal(code, 0, out + err)
    within("mcp/srv/api-token keeps the value that is stored", err)
    within('"run", "srv"', reads(h.dir + "/.codeium/windsurf/mcp_config.json").decode())
    equal(h.run("secret", "versions", "mcp/srv/api-token")[1].count("mcp/srv/api-token"), 1, "no new version")
    other = h.put(".gemini/settings.json", plain("mcpServers")[0].replace('"-u"', '"-e"'))
    code, out, err = h.write()
    equal(code, 65, out + err)
    within("srv.kennel exists and is for another server", err)
    within('"-e"', reads(other).decode())
    h.end()


@test("only the named servers and the named client are imported")
def named():
    h = Home("named")
    a = h.put(".cursor/mcp.json", '{"mcpServers": {"one": {"command": "/bin/cat"}, "two": {"command": "/bin/cat"}}}')
    b = h.put(".kiro/settings/mcp.json", '{"mcpServers": {"two": {"command": "/bin/cat"}}}')
    equal(h.write("--client", "cursor", "two")[0], 0)
    equal(reads(a).decode(), '{"mcpServers": {"one": {"command": "/bin/cat"}, "two": {"command": "kennel", "args": ["run", "two"]}}}')
    equal(reads(b).decode(), '{"mcpServers": {"two": {"command": "/bin/cat"}}}')
    code, out, err = h.write("--client", "cursor")
    within("one: drafting its policy ...\n", out)
    # a name that no configuration has
    before = reads(b)
    code, out, err = h.write("tow", "zebra")
    equal((code, out), (65, ""), err)
    within("no server tow found in the configurations of MCP clients: did you mean `two`?\n", err)
    within("no server zebra found in the configurations of MCP clients: `kennel import` lists them\n", err)
    equal(reads(b), before)
    within("`kennel import --write` puts them under kennel", h.run("import")[1])
    equal(h.write()[0], 0)
    for words in ([], ["--write"]):
        code, out, err = h.run("import", *words)
        equal(code, 0, err)
        absent("--write", out)
        within("\nNothing is left to import.\n", out)
    for words in (["--client", "nobody"], ["--bogus"], ["--client"], ["--undo", "x"]):
        equal(h.run("import", *words)[0], 64, words)
    h.end()


@test("a file that was changed after the import is not restored over; its backup is kept until it is forgotten")
def changed():
    h = Home("changed")
    at = h.put(".cursor/mcp.json", plain("mcpServers")[0])
    equal(h.write()[0], 0)
    backup = h.kennel + "/import/000001.backup"
    equal(os.stat(backup).st_mode & 0o7777, 0o600, "of the backup")
    with open(at, "a") as f:
        f.write(" ")
    code, out, err = h.run("import", "--undo")
    equal(code, 65, out + err)
    within("was changed after the import", err)
    equal(reads(at).decode(), plain("mcpServers")[1] + " ")
    within(TOKEN, reads(backup).decode(), "the original is kept")
    code, out, err = h.run("import", "--forget")
    equal(code, 0, out + err)
    check(not os.path.exists(backup), "it is forgotten")
    within("`kennel import --undo` has nothing to restore from now on.", out)
    within("`kennel secret rotate PATH`", out)
    for verb in ("--forget", "--undo"):
        code, out, err = h.run("import", verb)
        equal((code, out), (0, "no backups found in %s/import: `kennel import --write` makes them\n" % h.kennel), err)
    h.end()


@test("a wrong passphrase changes nothing: no file, no policy")
def locked():
    h = Home("locked")
    equal(h.run("secret", "init", "--stdin")[0], 0)
    equal(h.run("secret", "lock")[0], 0)
    at = h.put(".cursor/mcp.json", plain("mcpServers")[0])
    code, out, err = h.run("import", "--write", "--no-start", "--stdin", stdin=b"another passphrase\n")
    equal(code, 65, out + err)
    equal(reads(at).decode(), plain("mcpServers")[0])
    within("the vault was not opened; nothing was changed", err)
    check(not os.path.exists(h.kennel + "/policies"), "a policy was made")
    check(not os.path.exists(h.kennel + "/import"), "a backup was made")
    equal(h.write()[0], 0, "the control")
    equal(reads(at).decode(), plain("mcpServers")[1])
    h.end()


@test("another program's change between reading and writing is kept; the policy and the secret are removed again")
def concurrent():
    h = Home("concurrent")
    at = h.put(".cursor/mcp.json", plain("mcpServers")[0])
    p = start([KENNEL, "import", "--write", "--no-start", "--stdin"], cwd=h.dir + "/project", stdin=subprocess.PIPE,
              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
              env={"PATH": "/usr/bin:/bin", "HOME": h.dir, "KENNEL_HOME": h.kennel})
    within(b"CLIENT", p.stdout.readline(), "it has read the file and waits for the passphrase")
    with open(at, "a") as f:
        f.write("\n")
    out, err = p.communicate(PASSPHRASE, timeout=50)
    equal(p.returncode, 125, out + err)
    within(b"another program has changed it meanwhile", err)
    equal(reads(at).decode(), plain("mcpServers")[0] + "\n")
    equal(os.listdir(os.path.dirname(at)), ["mcp.json"], "no other file is left")
    equal(os.listdir(h.kennel + "/policies"), [])
    equal(os.listdir(h.kennel + "/import"), [], "no backup")
    absent("mcp/srv/api-token", h.run("secret", "versions")[1])
    h.end()


@test("what an interrupted import has left is removed by the next one if its bytes are elsewhere too, and is named if not")
def interrupted():
    before, after = plain("mcpServers")
    h = Home("interrupted")
    at = h.put(".cursor/mcp.json", before)
    new = at + ".kennel-new"
    # killed before the exchange: a part of the new file
    h.put(".cursor/mcp.json.kennel-new", after[:50])
    code, out, err = h.write()
    equal(code, 0, out + err)
    within("removed " + new, out)
    equal(reads(at).decode(), after)
    equal(os.listdir(os.path.dirname(at)), ["mcp.json"])
    # killed after it: the original, which the backup has too; nothing is left to edit
    h.put(".cursor/mcp.json.kennel-new", before)
    code, out, err = h.write()
    equal(code, 0, out + err)
    within("removed " + new, out)
    equal(os.listdir(os.path.dirname(at)), ["mcp.json"])
    # something else: kept and named, by each of the verbs
    h.put(".cursor/mcp.json.kennel-new", before + "// mine\n")
    code, out, err = h.write()
    equal(code, 65, out + err)
    within("has left %s, and it may be a change of another program" % new, err)
    code, out, err = h.run("import", "--undo")
    equal(code, 65, out + err)
    within(new + " may be a change of another program", err)
    equal(reads(at).decode(), after)
    os.rename(new, new + ".mine")
    equal(h.run("import", "--undo")[0], 0)
    equal(reads(at).decode(), before)
    os.rename(new + ".mine", new)
    code, out, err = h.write()
    equal(code, 125, out + err)
    within(new, err)
    equal(reads(at).decode(), before)
    equal(reads(new).decode(), before + "// mine\n")
    h.end()


@test("the passphrase is asked for before anything is installed, and only if a server that is imported has a secret in clear text")
def early():
    h = Home("early")
    entry = {"pkg": {"command": "npx", "args": ["-y", "a-server@1.0.0"], "env": {"API_TOKEN": TOKEN}}, "srv": {"command": "/bin/cat"}}
    at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": entry}))
    code, out, err = h.run("import", "--write", "--no-start", "--stdin", stdin=b"short\n")
    check(code != 0, out + err)
    within("the vault was not opened; nothing was changed", err)
    absent("unable to install", err)
    absent("installing", out)
    equal(json.loads(reads(at))["mcpServers"], entry)
    code, out, err = h.run("import", "--write", "--no-start", "--stdin", "srv", stdin=b"short\n")
    equal(code, 0, out + err)
    absent("the vault", out + err)
    check(not os.path.exists(h.kennel + "/vault/secrets.vault"), "a vault was made")
    equal(json.loads(reads(at))["mcpServers"]["srv"]["command"], "kennel", "the control")


@test("without a terminal, a vault that is open is used, and one that is locked ends the import before anything is installed")
def no_terminal():
    h = Home("no-terminal")
    entry = {"pkg": {"command": "npx", "args": ["-y", "a-server@1.0.0"]}, "srv": {"command": "/bin/cat", "env": {"API_TOKEN": TOKEN}}}
    at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": entry}))
    equal(h.run("secret", "init", "--stdin")[0], 0)
    equal(h.run("secret", "lock")[0], 0)
    code, out, err = h.run("import", "--write", "--no-start", stdin=b"")
    equal(code, 65, out + err)
    within("the vault was not opened; nothing was changed: run `kennel import --write` on a terminal, or with --key-file FILE, or with --stdin", err)
    absent("installing", out)
    equal(json.loads(reads(at))["mcpServers"], entry)
    equal(h.run("secret", "unlock", "--stdin")[0], 0)
    code, out, err = h.run("import", "--write", "--no-start", "srv", stdin=b"")
    equal(code, 0, out + err)
    absent("opened first", out)
    within("mcp/srv/api-token", h.run("secret", "grants")[1])
    equal(json.loads(reads(at))["mcpServers"]["srv"]["command"], "kennel")
    h.end()


@test("the progress of an installation comes before its error, and a registry whose address is refused is named once")
def refused_registry():
    h = Home("refused-registry")
    h.put(".cursor/mcp.json", '{"mcpServers": {"pkg": {"command": "npx", "args": ["-y", "a-server@1.0.0"]}}}')
    code, out, _ = h.run("import", "--write", together=True, registry="http://198.18.0.1:9/")
    equal(code, 65, out)
    lines = out[out.index("pkg: installing its package ..."):].splitlines()
    equal(lines[1:4], ["Installing a-server@1.0.0, in a cell that reaches 198.18.0.1:9 only ...",
                       "kennel: unable to install a-server@1.0.0: the address of 198.18.0.1:9 is not public: only "
                       "`--to 198.18.0.0/15` permits it; nothing was kept",
                       "kennel: the server `pkg` of %s/.cursor/mcp.json is left as it is" % h.dir])
    # a refusal that no option permits: kennel's own line, which has the reason, once for all attempts
    code, out, _ = h.run("import", "--write", together=True, registry="http://240.0.0.1:9/")
    equal((code, out.count("did not reach 240.0.0.1:9"), out[:out.index("UNDER KENNEL")].count("240.0.0.1:9 was not reached")), (65, 1, 1), out)
    check(out.index("Installing") < out.index("did not reach"), out)


MEMORY = "@modelcontextprotocol/server-memory"
STORES = server("read_graph").replace("import json, sys\n", "import json, os, sys\nopen(os.environ['MEMORY_FILE_PATH'], 'a').close()\n")


def memory(name, **more):
    """A home whose client has the server of a preset that works in a directory, and a registry with its package."""
    h, registry = Home(name), Registry(Package(MEMORY, "1.0.0", {"server.py": STORES, "data.txt": "x"}, bin_="server.py"))
    entry = dict({"command": "npx", "args": ["-y", MEMORY]}, **more)
    return h, registry, entry, h.put(".cursor/mcp.json", json.dumps({"mcpServers": {"memory": entry}}))


@test("without a terminal, a server that needs a directory gets one of kennel's own, named before the installation, and works there")
def own_directory():
    h, registry, entry, at = memory("own-directory")
    own = h.kennel + "/work/memory"
    code, out, err = h.run("import", "--write", registry="http://127.0.0.1:9/")
    equal(code, 65, out + err)
    check(not os.path.exists(own), "a server that is left as it is leaves no directory")
    code, out, _ = h.run("import", "--write", together=True, registry=registry.url)
    equal(code, 0, out)
    named = "memory works in %s, which is created" % own
    within(named, out)
    check(out.index(named) < out.index("installing its package"), out)
    text = reads(h.kennel + "/policies/memory.kennel").decode()
    within("let work = %s\n" % own, text)
    absent("/srv/", text)
    s = Mcp([KENNEL, "run", "memory"], env=h.env())
    s.initialize()
    within("read_graph", json.dumps(s.request("tools/list")))
    s.close()
    equal(os.listdir(own), ["memory.jsonl"])
    equal(os.stat(own).st_mode & 0o7777, 0o700)
    # imported again, its policy is used, and the directory with its files stays
    equal(h.run("import", "--undo")[0], 0)
    code, out, err = h.run("import", "--write", registry=registry.url)
    equal(code, 0, out + err)
    absent("works in", out)
    equal(os.listdir(own), ["memory.jsonl"])
    registry.close()


@test("on a terminal the directory is asked for before anything is installed; an empty answer is the one that the question shows")
def asked_directory():
    import pty
    for name, answer, wanted in ("asked-empty", b"\n", "%s/kennel/work/memory"), ("asked-named", b"~/none\n~/project\n", "%s/project"):
        h, registry, entry, at = memory(name)
        h.put(".kiro/settings/mcp.json", json.dumps({"mcpServers": {"memory": entry}}))  # asked for once
        master, slave = pty.openpty()
        os.write(master, answer)
        p = start([KENNEL, "import", "--write", "--no-start"], stdin=slave, stdout=slave, stderr=slave, cwd=h.dir + "/project",
                  env=h.env(registry.url))
        os.close(slave)
        said = b""
        try:
            while True:
                said += os.read(master, 4096)
        except OSError:
            pass  # it has ended
        os.close(master)
        said = said.decode().replace("\r\n", "\n")
        equal(p.wait(20), 0, said)
        question = "The directory that memory works in (empty: %s/kennel/work/memory, which is created): " % h.dir
        equal(said.count(question), answer.count(b"\n"), said)
        check(said.rindex(question) < said.index("installing"), said)
        within("let work = %s\n" % (wanted % h.dir), reads(h.kennel + "/policies/memory.kennel").decode())
        check(os.path.isdir(wanted % h.dir))
        registry.close()


@test("a directory that the configuration names and that does not exist is named before anything is installed, and its server is left")
def missing_directory():
    for name, more in (("missing-variable", {"env": {"MEMORY_FILE_PATH": "/nowhere/here/m.json"}}), ("missing-argument", {"args": ["-y", MEMORY, "/nowhere/here"]})):
        h, registry, entry, at = memory(name, **more)
        code, out, err = h.run("import", "--write", "--no-start", registry=registry.url)
        equal(code, 65, out + err)
        within("unable to use /nowhere/here as a directory: it does not exist; create it with `mkdir -p /nowhere/here`", err)
        within("the server `memory` of %s is left as it is" % at, err)
        equal(registry.asked, [], "nothing was installed")
        equal(json.loads(reads(at))["mcpServers"]["memory"], entry)
        equal(os.listdir(h.kennel + "/policies"), [])
        registry.close()


@test("a server whose preset has another path that does not exist is left as it is, and the path is named")
def missing_path():
    h, name = Home("missing-path"), "@chaindead/tooner_linux_amd64"
    registry = Registry(Package(name, "1.0.0", {"server.py": server("x")}, bin_="server.py"))
    entry = {"command": "npx", "args": ["-y", name]}
    at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": {"tooner": entry}}))
    code, out, err = h.run("import", "--write", "--no-start", registry=registry.url)
    equal(code, 65, out + err)
    within("the path in `let time = /usr/local/lib/node_modules/mcp-time-linux-x64/bin/mcp-time` of the preset for tooner does not exist", err)
    equal(json.loads(reads(at))["mcpServers"]["tooner"], entry)
    equal(os.listdir(h.kennel + "/policies"), [])
    registry.close()


@test("two imports do not change files at the same time")
def exclusive():
    h = Home("exclusive")
    at = h.put(".cursor/mcp.json", plain("mcpServers")[0])
    p = start([KENNEL, "import", "--write", "--no-start", "--stdin"], cwd=h.dir + "/project", stdin=subprocess.PIPE,
              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
              env={"PATH": "/usr/bin:/bin", "HOME": h.dir, "KENNEL_HOME": h.kennel})
    while b"opened first" not in p.stdout.readline():
        check(p.poll() is None, "it waits for the passphrase")  # and has the lock
    for words in (["--write"], ["--undo"], ["--forget"]):
        code, out, err = h.run("import", *words)
        equal(code, 78, out + err)
        within("another `kennel import` is changing files", err)
    out, err = p.communicate(PASSPHRASE, timeout=50)
    equal(p.returncode, 0, out + err)
    equal(reads(at).decode(), plain("mcpServers")[1])
    h.end()


@test("an imported server runs as the agent starts it, with its secret from the vault and the tools that it marks as reading")
def runs():
    h = Home("runs")
    entry = {"command": TOY, "args": ["--describe", "API_TOKEN"], "env": {"API_TOKEN": TOKEN}}
    at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": {"srv": entry}}))
    code, out, err = h.write()
    equal(code, 0, out + err)
    within("mcp/srv/api-token", h.run("secret", "grants")[1])
    now = json.loads(reads(at))["mcpServers"]["srv"]
    equal((now["command"], now["env"]), ("kennel", {}))
    s = Mcp([KENNEL] + now["args"], env={"HOME": h.dir, "KENNEL_HOME": h.kennel})
    s.initialize()
    text = json.dumps(s.request("tools/list"))
    within('"echo"', text)
    absent(TOKEN, text, "redacted")
    absent("(unset)", text, "the server has the variable")
    s.close()
    h.end()


# Servers at a URL: @ is it. A client's file before and after, and the path of its credential in the vault.
URLS = [
    ("claude-code", ".claude.json", "token",
     '{\n  "mcpServers": {\n    "far": {\n      "type": "http",\n      "url": "@",\n      "headers": {\n        "Authorization": "Bearer %s",\n        "X-Team": "the platform"\n      }\n    }\n  },\n  "other": {}\n}\n' % TOKEN,
     '{\n  "mcpServers": {\n    "far": {\n      "command": "kennel",\n      "args": ["run", "far"]\n    }\n  },\n  "other": {}\n}\n'),
    ("vscode", ".config/Code/User/mcp.json", "api-key",
     '{\n  // servers\n  "servers": {\n    "far": {"type": "http", "url": "@", /* u */ "headers": {"X-Team": "the platform", "X-Api-Key": "%s",}, "dev": {},},\n  },\n}\n' % TOKEN,
     '{\n  // servers\n  "servers": {\n    "far": {"command": "kennel", "args": ["run", "far"], /* u */ "dev": {},},\n  },\n}\n'),
    ("opencode", ".config/opencode/opencode.json", "token",
     '{"mcp": {"far": {"type": "remote", "url": "@", "headers": {"authorization": "bearer %s", "X-Team": "the platform"}, "enabled": true}}}' % TOKEN,
     '{"mcp": {"far": {"type": "local", "command": ["kennel", "run", "far"], "enabled": true}}}'),
    ("codex", ".codex/config.toml", "token",
     'model = "x" # the model\n\n[mcp_servers.far]\nurl = "@" # u\nhttp_headers = { "Authorization" = "Bearer %s", "X-Team" = "the platform" }\nenabled = true\n' % TOKEN,
     'model = "x" # the model\n\n[mcp_servers.far]\ncommand = "kennel"\nargs = ["run", "far"] # u\nenabled = true\n'),
    ("goose", ".config/goose/config.yaml", "api-key",
     'extensions:\n  far:\n    name: far\n    type: streamable_http\n    uri: @ # u\n    headers:\n      X-Team: the platform\n      X-Api-Key: %s\n    enabled: true\n' % TOKEN,
     'extensions:\n  far:\n    name: far\n    type: stdio\n    cmd: "kennel"\n    args: ["run", "far"] # u\n    enabled: true\n'),
]


def holders(h):
    """The files with the secret in clear text."""
    found = []
    for at, _, names in os.walk(h.dir):
        for n in names:
            path = os.path.join(at, n)
            if os.path.isfile(path) and TOKEN.encode() in reads(path):
                found.append(os.path.relpath(path, h.dir))
    return found


for number, row_ in enumerate(URLS):
    @test("%s: a server at a URL becomes kennel's, answers with its credential from the vault, and is restored to the byte" % row_[0])
    def at_url(name="url%d" % number, row=row_):
        client, path, credential, before, after = row
        mcp = Remote()
        h = Home(name)
        before = before.replace("@", mcp.url())
        at = h.put(path, before)
        code, out, err = h.run("import")
        equal(code, 0, err)
        within("remote http://localhost:%d " % mcp.port, out)
        within(" %s " % credential.upper().replace("-", "_"), out)
        within("its calls are not checked", out)
        within("`kennel import --write` puts them under kennel", out)
        equal(reads(at).decode(), before, "a dry run")
        equal(os.listdir(h.kennel), [], "a dry run makes nothing")
        code, out, err = h.write()
        equal(code, 0, out + err)
        within("far: drafting its policy ...\n", out)
        within("[secret]", out)
        equal(reads(at).decode(), after)
        equal(holders(h), ["kennel/import/000001.backup"])
        policy = h.kennel + "/policies/far.kennel"
        within('    remote "%s" to loopback\n' % mcp.url(), reads(policy).decode())
        within("from vault mcp/far/%s\n" % credential, reads(policy).decode())
        within('    header "X-Team" "the platform"\n', reads(policy).decode())
        equal(h.run("policy", "check", policy)[0], 0)
        # as the client starts it
        s = Mcp([KENNEL, "run", "far"], env={"HOME": h.dir, "KENNEL_HOME": h.kennel})
        s.initialize()
        check("result" in s.request("tools/list"))
        sent = mcp.of("tools/list")[0][2]
        equal(sent["Authorization" if credential == "token" else "X-Api-Key"], ("Bearer " if credential == "token" else "") + TOKEN)
        equal(sent["X-Team"], "the platform")
        s.close()
        absent(TOKEN, s.stderr())
        code, out, err = h.write()
        equal((code, reads(at).decode()), (0, after), "a second time")
        code, out, err = h.run("import", "--undo")
        equal(code, 0, out + err)
        equal(reads(at).decode(), before, "undone")
        # its policy and its credential are used again; those of another URL are not
        code, out, err = h.write()
        equal((code, reads(at).decode()), (0, after), out + err)
        within("mcp/far/%s keeps the value that is stored" % credential, err)
        equal(h.run("import", "--undo")[0], 0)
        written = reads(policy).decode()
        h.put("kennel/policies/far.kennel", written.replace('remote "%s"' % mcp.url(), "remote %s" % mcp.url()))
        equal(h.write()[0], 0, "a person wrote the URL without quotes")
        equal(h.run("import", "--undo")[0], 0)
        other = before.replace("/mcp", "/other")
        h.put(path, other)
        code, out, err = h.write()
        equal((code, reads(at).decode()), (65, other), out + err)
        within("far.kennel exists and is for another server", err)
        h.end()
        mcp.close()


@test("servers at a URL that a policy cannot have are left, and named with the reason; without a credential, no vault is opened")
def urls_left():
    h = Home("urls")
    url = "https://mcp.example.com/mcp"
    left = {
        "sse": ({"url": "https://mcp.example.com/sse"}, "HTTP+SSE of 2024-11-05, which kennel does not have: get the URL for Streamable HTTP"),
        "ws": ({"url": "ws://mcp.example.com/"}, "expected a URL that begins with https://"),
        "http": ({"url": "http://mcp.example.com/mcp"}, "which kennel uses to loopback only: use https://"),
        "query": ({"url": url + "?api_key=" + TOKEN}, "its URL has what looks like a secret"),
        "oauth": ({"url": url, "oauth": {"clientId": "x"}}, "`auth oauth2`, kennel-policy(5), then run `kennel server login`"),
        "accept": ({"url": url, "headers": {"Accept": "text/plain"}}, "this header is set by kennel"),
        "basic": ({"url": url, "headers": {"Authorization": "Basic " + TOKEN}}, "its credential has a space"),
        "fills": ({"url": url, "headers": {"Authorization": "Bearer x-${env:TOKEN}"}}, "its client fills in a header"),
        "other": ({"url": url, "headers": {"Authorization": "Bearer ${TOKEN}"}}, "a header has a reference that its client does not fill in"),
        "manager": ({"url": url, "headers": {"Authorization": "Bearer op://Vault/item/field"}}, "which its client does not ask"),
        "mark": ({"url": url, "headers": {"X-Api-Key": "<YOUR_KEY>"}}, "a header has a placeholder: write its value"),
        "team": ({"url": url, "headers": {"X-Team": "${env:TEAM}"}}, "its client fills in a header"),
        "env": ({"url": url, "headers": {"X-Api-Key": "${env:K}"}, "env": {}}, "it has a URL and variables"),
        "two": ({"url": url, "headers": {"Authorization": "Bearer " + TOKEN, "X-Api-Key": TOKEN}}, "it has two headers with credentials"),
    }
    entries = {name: e for name, (e, _) in left.items()}
    at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": dict(entries, plain={"url": url, "timeout": 3, "headers": {"from": "/a\"b\\c"}})}, indent=2))
    code, out, err = h.run("import")
    equal(code, 0, err)
    equal(out.count("(a URL)"), len(left))
    within("remote https://mcp.example.com:443 ", out)
    code, out, err = h.run("import", "--write", "--stdin", stdin=b"")
    equal(code, 0, out + err)
    for name, (_, why) in left.items():
        within("the server `%s` is left as it is: " % name, err)
        within(why, err, name)
    now = json.loads(reads(at))["mcpServers"]
    equal(now.pop("plain"), {"command": "kennel", "args": ["run", "plain"], "timeout": 3})
    equal(now, entries)
    equal(os.listdir(h.kennel + "/policies"), ["plain.kennel"])
    check(not os.path.exists(h.kennel + "/vault"), "a vault was made")
    policy = reads(h.kennel + "/policies/plain.kennel").decode()
    within('    remote "%s"\n' % url, policy)
    within("auth oauth2 client ID", policy)
    within('    header "from" "/a\\"b\\\\c"\n', policy, "a name that is a word of the language, and quotes")
    equal(h.run("policy", "check", h.kennel + "/policies/plain.kennel")[0], 0)
    equal(h.run("import", "--undo")[0], 0)
    equal(json.loads(reads(at))["mcpServers"].pop("plain")["url"], url)


try:
    main()
finally:
    for h in homes:  # the keeper of a test that failed
        h.end()
