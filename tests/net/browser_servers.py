"""The pages MCP Servers and Policies in Chromium, by keyboard alone: S2-53 to S2-60."""
import json
import os
import shlex
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
import kit  # noqa: E402
from browser_console import MARKUP, PROGRAM, Page, card  # noqa: E402
from kit import *  # noqa: E402,F403
from console_kit import *  # noqa: E402,F403
from serve_kit import PYTHON, SERVER  # noqa: E402

kit.TESTS.clear()  # those of browser_console run there

USER = "    user nobody\n" if os.getuid() == 0 else ""
TAME = MARKUP.replace('"', "'")
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowUp": 38, "ArrowDown": 40}
FOCUSED = """(() => { let e = document.activeElement;
    return e ? (e.getAttribute("aria-label") || (e.labels && e.labels[0] || e).textContent).trim() : ""; })()"""


class Keyboard(Page):
    def press(self, key, shift=False):
        more = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": KEYS[key], "modifiers": 8 if shift else 0}
        if key in ("Enter", " "):
            more["text"] = "\r" if key == "Enter" else " "
        self.send("Input.dispatchKeyEvent", type="keyDown", **more)
        self.send("Input.dispatchKeyEvent", type="keyUp", **{k: v for k, v in more.items() if k != "text"})

    def tab(self, name):
        """Goes to what has this label with the tabulator, forwards."""
        seen = []
        for _ in range(80):
            seen.append(self.value(FOCUSED))
            if seen[-1] == name:
                return
            self.press("Tab")
        check(False, name, "is not reached:", seen)

    def do(self, name):
        self.tab(name)
        self.press("Enter")

    def fill(self, name, text):
        self.tab(name)
        self.value("document.activeElement.select()")
        self.send("Input.insertText", text=text)

    def is_true(self, script):
        check(wait_for(lambda: self.value(script), LONG), script, self.value("document.body.outerHTML"))
        equal(self.wrong, [])

    def error(self, field):
        """What is shown beside a field that is wrong; it has the focus and describes itself."""
        self.is_true("document.activeElement.id === %s && document.activeElement.getAttribute('aria-invalid') === 'true'" %
                     json.dumps("field-" + field))
        return self.value("document.activeElement.getAttribute('aria-describedby').split(' ')"
                          ".map((id) => document.getElementById(id).textContent).join(' | ')")


def wanted():
    if not os.path.exists(PROGRAM):
        skip("not here: " + PROGRAM)


def open_page():
    c = Console()
    page = Keyboard("http://localhost:%d/#%s" % (c.port, c.link))
    page.until("<h3>Your Servers</h3>")
    return page


def scripted(name, **config):
    """A server that may be started, and its argv."""
    os.makedirs(HOME + "/policies", exist_ok=True)
    path = "%s/%s.json" % (TMP, name)
    with open(path, "w") as f:
        json.dump(dict({"name": name}, **config), f)
    os.chmod(path, 0o644)
    argv = [PYTHON, SERVER, path]
    with open(HOME + "/policies/%s.kennel" % name, "w") as f:
        f.write("server %s {\n%s    run %s\n    read %s\n    read %s\n    tool allow *\n    tool ask line because %s\n}\n" % (
            name, USER, words(*argv), words(os.path.dirname(SERVER)), words(path), words(TAME[:60])))
    return argv


def rows():
    return {r["name"]: r for r in json.loads(run([KENNEL, "server", "list", "--json"]).stdout)}


@test("S2-53 S2-54 S2-55 S2-56 S2-57 S2-58 S2-59 S3-40 a server is added, connected, changed and removed by keyboard alone; "
      "errors are beside the fields", 240)
def by_keyboard():
    wanted()
    argv = scripted("alpha", tools=[{"name": "echo", "description": "says <b>" + TAME, "inputSchema": {"type": "object"},
                                     "annotations": {"readOnlyHint": True}}])
    page = open_page()
    page.do("Add Server")
    page.is_true("document.activeElement.id === 'field-name'")
    check(page.value("document.querySelector('dialog').matches(':modal')"), "a modal dialog")
    page.do("Connect & Save")
    within("Up to 64 letters", page.error("name"))
    within("letters, digits", page.error("name").split(" | ")[1])
    page.fill("Name", "saved")
    page.do("Connect & Save")
    within("`command` is missing", page.error("command"))
    page.fill("Command", "/bin/" + TAME[:40])
    page.fill("Arguments", "-x, a\\,b, " + TAME[:40].replace("\\", "").replace(",", ""))
    page.fill("Environment", "nonsense")
    page.do("Connect & Save")
    within("NAME=REFERENCE in each line", page.error("env"))
    page.fill("Environment", "API_TOKEN=hunter2-hunter2")
    page.do("Connect & Save")
    within("looks like a secret", page.error("env"))
    absent("hunter2", page.value("document.getElementById('field-env-error').textContent"))
    # the switch: arrows of a group of radio buttons
    page.tab("stdio: a program on this machine")
    page.press("ArrowDown")
    page.is_true("document.getElementById('field-command').closest('.field').hidden && !document.getElementById('field-url').closest('.field').hidden")
    page.do("Connect & Save")
    within("`url`", page.error("url"))
    page.tab("http: a server at a URL")
    page.press("ArrowUp")
    page.fill("Environment", "API_TOKEN=vault:team/x/token\nLOG=debug")
    for width in (360, 1440):
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        check(page.value("document.documentElement.scrollWidth") <= width, "no page is wider than the window", width)
        check(page.value("document.querySelector('dialog').getBoundingClientRect().right") <= width, width)
    page.do("Connect & Save")
    got = page.until("saved</h4>")
    page.until("saved is saved: no policy for server saved")
    got = page.until("Edit saved")
    equal(card(got, "saved")[:2], (["stdio", "disconnected", "no policy"], "0 tools"))
    check(page.value(FOCUSED) == "Edit saved", page.value(FOCUSED))
    row = rows()["saved"]
    line = page.value("[...document.querySelectorAll('.card code')].find((e) => e.textContent.startsWith('kennel init')).textContent")
    equal(shlex.split(line), ["kennel", "init", "saved", "--", row["command"], *row["args"]], "to be pasted into a shell")
    equal((row["command"], row["args"][:2], row["env"]), ("/bin/" + TAME[:40], ["-x", "a,b"],
                                                         {"API_TOKEN": {"vault": "team/x/token"}, "LOG": "debug"}))
    # one that has a policy is connected
    page.do("Add Server")
    page.fill("Name", "alpha")
    page.fill("Command", argv[0])
    page.fill("Arguments", ", ".join(argv[1:]))
    page.do("Connect & Save")
    page.until("alpha is connected: 1 tool.")
    badges, count, tools = card(page.until("Edit alpha"), "alpha")
    equal((badges, count), (["stdio", "disconnected", "last check: connected"], "1 tool"))
    equal(tools["echo"][0], ["read-only", "allowed"])
    within("&lt;img src=x", tools["echo"][1][0])
    # a new one does not replace an own one unseen
    page.do("Add Server")
    page.fill("Name", "alpha")
    page.do("Connect & Save")
    within("alpha exists", page.error("name"))
    page.press("Escape")
    page.is_true("document.querySelector('dialog') === null")
    # an edit: what is not touched stays, also where a text does not show all of it
    before = rows()["saved"]
    page.do("Edit saved")
    page.is_true("document.querySelector('dialog h3').textContent === 'Edit saved'")
    check(page.value("document.getElementById('field-name').readOnly"))
    equal(page.value("document.getElementById('field-env').value"), "API_TOKEN=vault:team/x/token\nLOG=debug")
    page.fill("Command", "/bin/true")
    page.do("Connect & Save")
    page.until("saved is saved: no policy")
    after = rows()["saved"]
    equal((after["command"], after["args"], after["env"]), ("/bin/true", before["args"], before["env"]))
    # removal asks; Escape and Cancel keep it
    page.do("Remove saved")
    page.is_true("document.querySelector('dialog[role=alertdialog]') !== null")
    page.press("Escape")
    page.is_true("document.querySelector('dialog') === null")
    page.do("Remove saved")
    page.do("Cancel")
    page.is_true("document.querySelector('dialog') === null")
    check("saved" in rows())
    page.do("Remove saved")
    page.do("Remove saved now")
    page.until("saved is removed.")
    absent("saved</h4>", page.value("document.body.outerHTML"))
    check("saved" not in rows())
    equal(page.value(FOCUSED), "Add Server")


@test("S2-56 servers of a policy and of mcp-servers.json have no button to edit or remove; a failed check is shown", 120)
def read_only():
    wanted()
    scripted("beta")
    with open(HOME + "/mcp-servers.json", "w") as f:
        json.dump({"mcpServers": {"everywhere": {"command": "/bin/" + TAME}}}, f)
    argv = scripted("gamma", exit=3)
    equal(run([KENNEL, "server", "add", "--connect", "gamma", "--", *argv]).returncode, 1)
    page = open_page()
    got = page.until("everywhere</h4>")
    for name in ("beta", "everywhere"):
        within("Disable " + name, got)
        absent("Edit " + name, got)
        absent("Remove " + name, got)
    within("Defined by its policy", got)
    within("Defined by mcp-servers.json", got)
    equal(card(got, "gamma")[0], ["stdio", "disconnected", "last check: unreachable"])
    within("Edit gamma", got, "the control")


@test("policies: scores with reasons, findings, and explain in a form by keyboard alone; no text becomes an element", 180)
def policies():
    wanted()
    scripted("delta")
    with open(HOME + "/policies/broken.kennel", "w") as f:
        f.write("server broken {\n    nonsense\n}\n")
    page = open_page()
    page.do("Policies")
    got = page.until("Explain a request")
    within("<title>Policies - kennel console</title>", got)
    within("no score", got)
    within("unknown keyword", got)
    scores = json.loads(run([KENNEL, "policy", "score", "--all", "--json"]).stdout)
    delta = next(s for s in scores["servers"] if s["server"] == "delta")
    within("score %d" % delta["score"], got)
    within(delta["items"][0]["why"], got)
    page.value("document.querySelector('select').focus()")
    page.tab("Server")
    page.value("document.activeElement.value = 'delta'")
    page.tab("Tool")
    page.do("Explain")
    within("tool takes a name", page.error("words"))
    page.fill("Tool", "line")
    page.do("Explain")
    page.until('<span class="badge wait">ask</span>')
    within("&lt;img src=x", page.value("document.getElementById('explained').innerHTML"))
    page.fill("Tool", TAME)
    page.do("Explain")
    page.until('<span class="badge good">allow</span>')
    for kind, label, text, verdict in (("net", "HOST:PORT", "example.org:443", "deny"), ("exec", "Program", "/bin/ls", "deny"),
                                       ("roots", None, None, "deny"), ("read", "Path", TMP + "/delta.json", "allow")):
        page.value("(() => { const k = document.getElementById('field-kind'); k.value = %s; k.dispatchEvent(new Event('change')); k.focus(); })()" %
                   json.dumps(kind))
        if label:
            page.fill(label, text)
        page.do("Explain")
        page.is_true("document.querySelector('#explained p').textContent.startsWith(%s)" %
                     json.dumps(" ".join([verdict, kind] + ([text] if text else []))))
    for width in (360, 1440):
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        check(page.value("document.documentElement.scrollWidth") <= width, width)
    page.until("Explain a request")
    os.unlink(HOME + "/policies/broken.kennel")


if __name__ == "__main__":
    main()
