"""The console in Chromium: its pages, with texts that are meant to break them."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
from kit import *  # noqa: E402,F403
from console_kit import *  # noqa: E402,F403
from chromium import ALONE, PROGRAM, Page  # noqa: E402

MARKUP = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>\u202e\u200b"
INERT = "&lt;img src=x onerror="


PINNED = [
    ("read_it", "reads <b onclick=x>", {"idempotentHint": True, "readOnlyHint": True}),
    ("remove_it", "removes", {"destructiveHint": True, "openWorldHint": True}),
    ("plain", "", {}),
]



def pinned_server(name):
    """A policy whose pins have these tools; nothing is started."""
    os.makedirs(HOME + "/policies", exist_ok=True)
    with open(HOME + "/policies/%s.pins" % name, "w") as f:
        f.write('{"kennel-pins":1,"server":"%s"}\n' % name)
        for tool, about, hints in sorted(PINNED):
            body = {"annotations": hints, "description": about, "inputSchema": {"type": "object"}, "name": tool}
            f.write(json.dumps({"body": body, "kind": "tool", "name": tool, "variant": ""}, separators=(",", ":"), sort_keys=True) + "\n")
    with open(HOME + "/policies/%s.kennel" % name, "w") as f:
        f.write('server %s {\n    pins "%s.pins"\n    run %s\n    tool by-annotations\n    tool deny plain\n}\n' % (name, name, words(TOY)))


def card(dom, server):
    """The texts of the badges of a server, and of each tool."""
    found = [c for c in re.findall(r'<article class="card">(.*?)</article>', dom, re.S) if "<h4>%s</h4>" % server in c]
    equal(len(found), 1, server)
    head, tools = found[0].split("<details", 1)
    badges = re.compile(r'<span class="badge \w+">([^<]*)</span>')
    return badges.findall(head), re.search(r"<summary>([^<]*)</summary>", tools).group(1), {
        re.search(r"<code>([^<]*)</code>", t).group(1): (badges.findall(t), re.findall(r"<p>([^<]*)</p>", t))
        for t in re.findall(r"<li>(.*?)</li>", tools, re.S)}


@test("S2-55 S2-56 S2-57 S2-59 S2-60 S3-40 a card has name, transport, status and tool count; its tools have descriptions and badges; "
      "a button enables and disables it",
      120)
def cards():
    if not os.path.exists(PROGRAM):
        skip("not here: " + PROGRAM)
    pinned_server("pinned")
    equal(run([KENNEL, "server", "disable", "pinned"]).returncode, 0)
    c = Console()
    page = Page("http://localhost:%d/#%s" % (c.port, c.link))
    got = page.until("pinned</h4>")
    within("<h2>MCP Servers</h2><p>The servers that agents", got)
    check(re.search("<h3>Your Servers</h3>.*<h3>Global Servers</h3>", got, re.S), got)
    badges, count, tools = card(got, "pinned")
    equal((badges, count), (["stdio", "disabled", "pinned"], "3 tools"))
    equal(tools, {"read_it": (["read-only", "idempotent", "allowed"], ["reads &lt;b onclick=x&gt;"]),
                  "remove_it": (["destructive", "open-world", "asks"], ["removes"]), "plain": (["denied"], [])})
    # changed after the page was drawn: nothing is enabled, and the page is drawn again
    equal([run([KENNEL, "server", verb, "pinned"]).returncode for verb in ("enable", "disable")], [0, 0])
    page.click("Enable pinned")
    page.until("is not of generation")
    equal(json.loads(run([KENNEL, "server", "show", "pinned", "--json"]).stdout)["enabled"], False)
    page.click("Enable pinned")
    page.until("pinned is enabled.")
    equal(card(page.until("Disable pinned"), "pinned")[0], ["stdio", "disconnected", "pinned"])
    page.click("Disable pinned")
    page.until("pinned is disabled.")


@test("S3-50 a link logs Chromium in; no text becomes an element or runs; approvals appear and are answered", 180)
def pages():
    if not os.path.exists(PROGRAM):
        skip("not here: " + PROGRAM)
    os.makedirs(HOME + "/policies", exist_ok=True)
    with open(HOME + "/policies/alpha.kennel", "w") as f:
        f.write("server alpha {\n    run %s\n    tool allow echo\n    tool ask line because %s\n}\n" %
                (words(TOY), json.dumps(MARKUP[:60].replace('"', "'"))))
    with open(HOME + "/mcp-servers.json", "w") as f:
        json.dump({"mcpServers": {"everywhere": {"command": "/bin/" + MARKUP.replace('"', "")}}}, f)
    s = Mcp([KENNEL, "run", "alpha"])
    s.initialize()
    s.call(MARKUP)  # refused, and in the log
    s.n += 1
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": "line", "arguments": {"b": MARKUP}}})
    c = Console()
    page = Page("http://localhost:%d/#%s" % (c.port, c.link))
    got = page.until("alpha</h4>")
    within("<title>MCP Servers - kennel console</title>", got)
    within("Global Servers", got)
    absent(c.link, got)
    equal(page.value("location.href"), "http://localhost:%d/" % c.port)
    for width in (360, 1440):
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        for name, text in (("approvals", "alpha asks for the tool"), ("log", INERT), ("servers", "alpha</h4>")):
            page.go(name)
            got = page.until(text)
            check(not re.search("[\u202e\u200b]|<img|<script>", got), "inert", got)
            check(page.value("document.documentElement.scrollWidth") <= width, name, width)
            if name == "approvals":
                within(INERT, got)
                within("\\u202e", got, "as it was sent")
    page.go("secrets")
    page.until("No secrets are declared")
    # S3-50: live, and answered by a button
    page.go("approvals")
    page.until("alpha asks for the tool")
    s.n += 1
    s.send({"jsonrpc": "2.0", "id": s.n, "method": "tools/call", "params": {"name": "line", "arguments": {"b": "second"}}})
    page.until("second")
    page.click("Deny: alpha line")
    equal(s.wait(s.n - 1, LONG)["result"]["isError"], True)
    page.until("Denied: alpha line")
    page.click("Allow once: alpha line")
    check(not s.wait(s.n, LONG)["result"].get("isError"), "allowed once")
    equal(page.value("document.querySelectorAll('.card').length"), 2, "each card stays where it was")
    equal(page.value("[...document.querySelectorAll('.answers')].map((e) => e.textContent).join()"), "Denied.,Allowed.")
    page.go("log")
    page.until(INERT)
    page.go("approvals")
    page.until("Nothing is pending")
    page.click("Log out")
    page.until("Logged out.")
    # the control: what is escaped would run
    with open(TMP + "/control.html", "w") as f:
        f.write("<title>x</title>" + MARKUP)
    r = subprocess.run([PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *ALONE,
                        "--user-data-dir=" + TMP + "/control", "--virtual-time-budget=2000", "--dump-dom",
                        "file://" + TMP + "/control.html"], capture_output=True, timeout=LONG,
                       env=environment({"HOME": TMP}), text=True)
    within("<title>broken", r.stdout)
    s.close()


if __name__ == "__main__":
    main()
