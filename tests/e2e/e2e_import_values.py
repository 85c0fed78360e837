"""kennel import: what it takes for a secret, for a reference, for a deadline, and what is switched off."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kit import *  # noqa: E402,F403
from import_kit import SERVER, TOKEN, Home, homes, policy, row, tell  # noqa: E402


def served(h, **entry):
    """An entry that starts the server."""
    return dict({"command": "/usr/bin/python3", "args": ["-u", h.put("server.py", SERVER)]}, **entry)


PLAIN = {"DEFAULT_MINIMUM_TOKENS": "12000", "MAX_TOKENS": 64000, "TEMPERATURE": 0.2, "GIT_AUTHOR_NAME": "Ada Example", "GIT_AUTHOR_EMAIL": "ada@corp.example",
         "KEYBOARD_LAYOUT": "qwertz-de", "KEYCLOAK_URL": "https://sso.corp.example/realms/main", "COMPASS_URL": "https://compass.example", "TOKENIZER": "cl100k_base",
         "PASSWORDLESS": "login-only", "OAUTH_CALLBACK_PORT": "8085", "KEY_FILE": "/etc/hostname", "AUTH": "false", "TOKEN_URL": "https://sso.corp.example/token"}


@test("a name that only contains the letters of a secret's, a number, a switch, a path and a plain URL are no secrets: their servers start, and nothing of them is redacted")
def plain_names():
    h = Home("plain-names")
    shown = "Author: Ada Example <ada@corp.example>, qwertz-de, https://sso.corp.example/realms/main"
    h.put(".cursor/mcp.json", json.dumps({"mcpServers": {"docs": served(h, env=dict(PLAIN, SHOWN=shown)), "real": served(h, env={"API_TOKEN": TOKEN, "SHOWN": TOKEN})}}))
    code, out, err = h.run("import")
    equal(code, 0, err)
    within(" - ", row(out, "docs"))
    within("API_TOKEN", row(out, "real"), "the control")
    code, out, err = h.write()
    equal(code, 0, out + err)
    text = policy(h, "docs")
    absent("secret ", text)
    for name, value in PLAIN.items():
        within('env %s = %s\n' % (name, value if str(value).startswith("/") else '"%s"' % value), text)
    known, said = tell(h, "docs")
    equal(said, shown)
    equal(known["MAX_TOKENS"], "64000")
    known, said = tell(h, "real")
    equal((known["API_TOKEN"], said), (TOKEN, "***"), "the control")
    h.end()


@test("a value is no secret by its form only if the name is not surely a secret's; a URL only without a user, a credential and a segment like a token")
def sure_names():
    h = Home("sure-names")
    secret = {"DB_PASSWORD": "20240817-1", "SIM_PIN": "1029384756", "CLIENT_SECRET": "/opt/" + TOKEN, "SENTRY_DSN": "https://a1b2c3d4@sentry.example/7",
              "HOOK_URL": "https://h.example/services/T1/aBcDeFgH1234IjKlMnOpQrSt", "KEY_URL": "https://h.example/?api_key=1234abcd"}
    h.put(".cursor/mcp.json", json.dumps({"mcpServers": {"srv": served(h, env=dict(secret, DB_PORT="5432"))}}))
    code, out, err = h.run("import")
    equal(code, 0, err)
    for name in list(secret)[:2]:  # the cell of the table is cut
        within(name, row(out, "srv"))
    code, out, err = h.write()
    equal(code, 0, out + err)
    text = policy(h, "srv")
    for name, value in secret.items():
        within("secret %s from vault mcp/srv/%s\n" % (name, name.lower().replace("_", "-")), text)
        absent(value, text)
    within('env DB_PORT = "5432"\n', text, "the control")
    h.end()


@test("a secret whose value a start would refuse as weak, or that is a short placeholder, leaves its server with the reason; a long placeholder is named, and its server starts")
def weak():
    h = Home("weak")
    entries = {"weak": served(h, env={"API_KEY": "abc"}), "common": served(h, env={"DB_PASSWORD": "changeme"}), "mark": served(h, env={"API_KEY": "<KEY>"}),
               "held": served(h, env={"PROVIDER_API_KEY": "YOUR_API_KEY_HERE"})}
    at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": entries}))
    code, out, err = h.run("import")
    within("PROVIDER_API_KEY has a placeholder", row(out, "held"))
    code, out, err = h.write()
    equal(code, 65, out + err)
    within("`weak` is left as it is: the value of a secret is too weak to be redacted", err)
    within("(API_KEY)", err)
    within("`common` is left as it is: a secret has a placeholder: write its value (DB_PASSWORD)", err)
    within("`mark` is left as it is: a secret has a placeholder: write its value (API_KEY)", err)
    now = json.loads(reads(at))["mcpServers"]
    equal({n: now[n] for n in ("weak", "common", "mark")}, {n: entries[n] for n in ("weak", "common", "mark")})
    equal((now["held"]["command"], now["held"]["env"]), ("kennel", {"PROVIDER_API_KEY": "YOUR_API_KEY_HERE"}))
    within("secret PROVIDER_API_KEY from env PROVIDER_API_KEY\n", policy(h, "held"))
    equal(tell(h, "held", PROVIDER_API_KEY="YOUR_API_KEY_HERE")[0]["PROVIDER_API_KEY"], "YOUR_API_KEY_HERE")
    equal(os.listdir(h.kennel + "/policies"), ["held.kennel"])
    h.end()


# client, file, key, the texts that it fills in, and one that only another client does
REFERENCES = [
    ("opencode", ".config/opencode/opencode.json", "mcp", ["{env:MY_KEY}", "{file:~/.secrets/k}"], "${input:my-key}"),
    ("vscode", ".config/Code/User/mcp.json", "servers", ["${env:MY_KEY}", "${input:my-key}"], "{{ secrets.KEY }}"),
    ("claude-code", ".claude.json", "mcpServers", ["${MY_KEY}", "${MY_KEY:-}"], "%MY_SECRET_KEY%"),
    ("gemini", ".gemini/settings.json", "mcpServers", ["$MY_KEY", "${MY_KEY}"], "%MY_SECRET_KEY%"),
    ("cursor", ".cursor/mcp.json", "mcpServers", ["${env:MY_KEY}"], "${MY_SECRET_KEY}"),
    ("crush", "project/crush.json", "mcp", ["$(cat k)", "$MY_KEY"], "{{ secrets.KEY }}"),
]


@test("what a client fills in stays in its configuration, and the server gets what the client gives; what another would fill in is passed on, and named")
def references():
    for client, path, key, own, other in REFERENCES:
        h = Home("references-" + client)
        env = {"KEY%d" % i: text for i, text in enumerate(own + [other])}
        entry = served(h)
        if client == "opencode":
            entry = {"type": "local", "command": [entry["command"]] + entry["args"], "environment": env}
        else:
            entry["env"] = env
        at = h.put(path, json.dumps({key: {"srv": entry}}))
        code, out, err = h.run("import")
        equal(code, 0, err)
        within(" - ", row(out, "srv"), "no secret in clear text")
        within("KEY%d is passed on as it is written" % len(own), row(out, "srv"))
        equal(row(out, "srv").count("passed on"), 1, client)
        code, out, err = h.write()
        equal(code, 0, out + err)
        now = json.loads(reads(at))[key]["srv"]
        equal(now["environment" if client == "opencode" else "env"], env)
        text = policy(h, "srv")
        for name in env:
            within("secret %s from env %s\n" % (name, name), text)
        given = {name: "given-to-%s" % name for name in env}
        equal({k: v for k, v in tell(h, "srv", **given)[0].items() if k in env}, given)
        equal(h.run("import", "--undo")[0], 0)
        equal(json.loads(reads(at))[key]["srv"], entry)
        h.end()


@test("a text like $NAME is a secret for a client that does not fill it in; a default with a secret, and a reference among the arguments, leave the server")
def unfilled():
    h = Home("unfilled")
    entries = {"dollar": served(h, env={"DB_PASSWORD": "$" + TOKEN.replace("-", "_")}), "default": served(h, env={"API_KEY": "${API_KEY:-%s}" % TOKEN})}
    for n, text in enumerate(("${HOME}/x", "{env:X}", "{file:/k}", "%APPDATA%", "{{ x }}", "op://Vault/item/field")):
        entries["arg%d" % n] = served(h)
        entries["arg%d" % n]["args"].append(text)
    at = h.put(".claude.json", json.dumps({"mcpServers": entries}))
    code, out, err = h.write()
    equal(code, 65, out + err)
    within("secret DB_PASSWORD from vault mcp/dollar/db-password\n", policy(h, "dollar"))
    within("`default` is left as it is: the default of a reference is a secret: give it in the variable itself (API_KEY)", err)
    for n in range(6):
        within("`arg%d` is left as it is: its client fills in a part of the command" % n, err)
    equal(os.listdir(h.kennel + "/policies"), ["dollar.kennel"])
    h.end()


OP = "#!/bin/sh\n[ \"$1 $2\" = 'read op://Vault/item/field' ] && echo value-of-the-item\n"


@test("a reference to a secret manager becomes `from cmd` only if the entry runs its manager, and in a project's file it is only proposed")
def managers():
    h = Home("managers")
    op = h.put("bin/op", OP)
    os.chmod(op, 0o755)
    env = {"F_KEY": "op://Vault/item/field"}
    plain = served(h)
    run = {"command": op, "args": ["run", "--no-masking", "--", plain["command"]] + plain["args"], "env": env}
    entries = {"bare": served(h, env=env), "op": run, "file": dict(run, args=["run", "--env-file", "x", "--", "cat"]), "bws": dict(run, command="bws"),
               "other": served(h, env={"F_KEY": "vault:secret/data/x#k"})}
    at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": entries}))
    project = h.put("project/.mcp.json", json.dumps({"mcpServers": {"theirs": run}}))
    code, out, err = h.run("import")
    for name in list(entries) + ["theirs"]:
        within(" - ", row(out, name), "no secret in clear text")
    code, out, err = h.write()
    equal(code, 65, out + err)
    proposed = "`secret F_KEY from cmd /usr/bin/op \"read\" \"op://Vault/item/field\" { may network }`"
    within("`bare` is left as it is: neither its client nor its command asks the secret manager (F_KEY); in a policy: " + proposed, err)
    within("`theirs` is left as it is: a project's file refers to your secret manager: review it (F_KEY); in a policy: " + proposed, err)
    within("`file` is left as it is: `op run` has options that kennel does not carry over", err)
    within("`bws` is left as it is: its variables come from another program", err)
    within("`other` is left as it is: neither its client nor its command asks the secret manager (F_KEY)", err)
    equal(json.loads(reads(project))["mcpServers"]["theirs"], run)
    now = json.loads(reads(at))["mcpServers"]
    (name,) = [f.partition(".")[0] for f in os.listdir(h.kennel + "/policies")]
    equal(now.pop("op"), {"command": "kennel", "args": ["run", name], "env": env})
    entries.pop("op")
    equal(now, entries)
    within("secret F_KEY from cmd %s \"read\" \"op://Vault/item/field\" { may network }\n" % op, policy(h, name))
    equal(tell(h, name)[0]["F_KEY"], "value-of-the-item")
    equal(h.run("import", "--undo")[0], 0)
    equal(json.loads(reads(at))["mcpServers"]["op"], run)
    h.end()


DEADLINES = [  # file, text, the line of the policy
    (".codex/config.toml", '[mcp_servers.srv]\ncommand = "/bin/cat"\nstartup_timeout_sec = 90\ntool_timeout_sec = 600.5\n', "timeout  start 90s  call 601s"),
    (".codex/config.toml", '[mcp_servers.srv]\ncommand = "/bin/cat"\nstartup_timeout_ms = 500\n', "timeout  start 500ms"),
    (".gemini/settings.json", '{"mcpServers": {"srv": {"command": "/bin/cat", "timeout": 600000}}}', "timeout  call 600s"),
    (".config/goose/config.yaml", "extensions:\n  srv:\n    type: stdio\n    cmd: /bin/cat\n    timeout: 300\n", "timeout  call 300s"),
    (".config/opencode/opencode.json", '{"mcp": {"srv": {"type": "local", "command": ["/bin/cat"], "timeout": 60000}}}', "timeout  start 60s  call 60s"),
    (".cursor/mcp.json", '{"mcpServers": {"srv": {"command": "/bin/cat", "timeout": 120}}}', "timeout  call 120s"),
    (".cursor/mcp.json", '{"mcpServers": {"srv": {"command": "/bin/cat", "timeout": 120000}}}', "timeout  call 120s"),
    (".cursor/mcp.json", '{"mcpServers": {"srv": {"command": "/bin/cat", "timeout": 1e99}}}', None),
    (".cursor/mcp.json", '{"mcpServers": {"srv": {"command": "/bin/cat", "timeout": -1}}}', None),
    (".cursor/mcp.json", '{"mcpServers": {"srv": {"command": "/bin/cat", "timeout": null}}}', None),
    (".cursor/mcp.json", '{"mcpServers": {"srv": {"url": "https://srv.example/mcp", "timeout": 90}}}', "timeout  call 90s"),
]


@test("the deadlines of a client are those of the policy, in its units; what is no time is left out")
def deadlines():
    for n, (path, text, line) in enumerate(DEADLINES):
        h = Home("deadlines%d" % n)
        h.put(path, text)
        code, out, err = h.write()
        equal(code, 0, text + out + err)
        lines = [one.strip() for one in policy(h, "srv").splitlines() if one.strip().startswith("timeout")]
        equal(lines, [] if line is None else [line], text)


@test("MCP_TIMEOUT and MCP_TOOL_TIMEOUT of Claude Code are carried over, and its own member counts before them")
def variables_of_client():
    for n, (path, wanted) in enumerate(((".claude.json", "timeout  start 45s  call 7s"), (".kiro/settings/mcp.json", "timeout  call 7s"))):
        h = Home("claude-timeout%d" % n)
        h.put(path, '{"mcpServers": {"srv": {"command": "/bin/cat", "timeout": 7000}}}')
        r = subprocess.run([KENNEL, "import", "--write", "--no-start"], cwd=h.dir, env=dict(h.env(), MCP_TIMEOUT="45000", MCP_TOOL_TIMEOUT="90000"),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=50)
        equal(r.returncode, 0, r.stdout.decode())
        within(wanted + "\n", policy(h, "srv"))


DISABLED = [
    (".codeium/windsurf/mcp_config.json", '{"mcpServers": {"off": {"command": "%s", "disabled": true}}}'),
    (".codex/config.toml", '[mcp_servers.off]\ncommand = "%s"\nenabled = false\n'),
    (".config/opencode/opencode.json", '{"mcp": {"off": {"type": "local", "command": ["%s"], "enabled": false}}}'),
    (".config/goose/config.yaml", "extensions:\n  off:\n    type: stdio\n    cmd: %s\n    enabled: false\n"),
    (".claude.json", '{"projects": {"/tmp": {"mcpServers": {"off": {"command": "%s"}}, "disabledMcpServers": ["off"]}}}'),
    (".gemini/settings.json", '{"mcpServers": {"off": {"command": "%s"}}, "mcp": {"excluded": ["off"]}}'),
    (".gemini/settings.json", '{"mcpServers": {"off": {"command": "%s"}}, "mcp": {"allowed": ["on"]}}'),
]


@test("a server that its client has switched off is listed as disabled, left unless it is named, and never started")
def disabled():
    for n, (path, text) in enumerate(DISABLED):
        h = Home("disabled%d" % n)
        program = h.put("bin/srv", "#!/bin/sh\ntouch %s/started\n" % h.dir)
        os.chmod(program, 0o755)
        at = h.put(path, text % program)
        code, out, err = h.run("import")
        equal(code, 0, err)
        within("disabled; ", row(out, "off"), text)
        code, out, err = h.run("import", "--write")
        equal(code, 0, text + out + err)
        within("the server `off` is disabled in its client, and is left as it is: name it to import it", err)
        equal(reads(at).decode(), text % program)
        check(not os.path.exists(h.kennel + "/policies/off.kennel"))
        code, out, err = h.run("import", "--write", "off")
        equal(code, 0, text + out + err)
        within("kennel", reads(at).decode())
        within("# The tools that it may use", policy(h, "off"), "it was not asked for them")
        check(not os.path.exists(h.dir + "/started"))
    h = Home("disabled-not")  # the control: the same members with other values
    at = h.put(".codeium/windsurf/mcp_config.json", '{"mcpServers": {"on": {"command": "/bin/cat", "disabled": false, "enabled": true}}, "mcp": {"allowed": ["on"]}}')
    within(" no sandbox", row(h.run("import")[1], "on"))
    equal(h.write()[0], 0)
    within("kennel", reads(at).decode())


@test("`oauth: false` is no login: the server at the URL keeps its credential; with a login it is left")
def no_login():
    h = Home("no-login")
    entry = {"type": "remote", "url": "https://r.example/mcp", "headers": {"Authorization": "Bearer " + TOKEN}}
    at = h.put(".config/opencode/opencode.json", json.dumps({"mcp": {"off": dict(entry, oauth=False), "null": dict(entry, oauth=None), "on": dict(entry, oauth={})}}))
    code, out, err = h.write()
    equal(code, 0, out + err)
    for name in ("off", "null"):
        within("auth bearer TOKEN\n", policy(h, name))
        equal(json.loads(reads(at))["mcp"][name]["command"], ["kennel", "run", name])
    within("`on` is left as it is: its client logs in (OAuth)", err)
    equal(json.loads(reads(at))["mcp"]["on"], dict(entry, oauth={}))
    h.end()


NAMES = {  # as a client has it, and its policy
    "io.github.acme/x": "io-github-acme-x", "my.server": "my-server", "a_b.c-d": "a_b-c-d", "@acme/x": "acme-x", "Context7 (local)": "context7-local",
    "Größe": "gr-e", "日本語": "server-1", "read": "read-1", "n" * 70 + "-one": "n" * 48, "n" * 70 + "-two": "n" * 48 + "-cursor", "Foo": "foo", "foo": "foo-cursor",
    "foo!": "foo-cursor-2", "__x": "x", "9": "9"}


@test("each name of a server becomes one that the language accepts; no two servers share one, and each runs by it")
def names():
    h = Home("names")
    entries = {name: served(h, env={"API_TOKEN": "%s-%d" % (TOKEN, n)}) for n, name in enumerate(NAMES)}
    at = h.put(".cursor/mcp.json", json.dumps({"mcpServers": entries}))
    code, out, err = h.write()
    equal(code, 0, out + err)
    now = json.loads(reads(at))["mcpServers"]
    equal({name: now[name]["args"] for name in NAMES}, {name: ["run", wanted] for name, wanted in NAMES.items()})
    equal(sorted(os.listdir(h.kennel + "/policies")), sorted(n + ".kennel" for n in NAMES.values()))
    for n, wanted in enumerate(NAMES.values()):
        within("server %s {\n" % wanted, policy(h, wanted))
        if wanted in ("io-github-acme-x", "server-1", "foo-cursor-2", "9"):
            equal(tell(h, wanted)[0]["API_TOKEN"], "%s-%d" % (TOKEN, n))
    equal(h.run("import", "--undo")[0], 0)
    equal(json.loads(reads(at))["mcpServers"], entries)
    h.end()


try:
    main()
finally:
    for h in homes:
        h.end()
