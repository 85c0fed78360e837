"""What a console has to show: servers, approvals of each kind, secrets, a log. For the tests in a browser, and for pictures."""
import datetime
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from console_kit import *  # noqa: E402,F403
from secrets_kit import Session, server  # noqa: E402
from ask_kit import ask  # noqa: E402

MARKUP = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>\u202e\u200b"
PLAIN_MARKUP = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"  # where no hidden one may be
TOKEN = "team/github/token"
TOOLS = [("create_issue", "Creates an issue in a repository.", {"openWorldHint": True}),
         ("delete_branch", "Deletes a branch. It cannot be taken back.", {"destructiveHint": True, "openWorldHint": True}),
         ("list_issues", "Lists the issues of a repository.", {"readOnlyHint": True, "idempotentHint": True}),
         ("search_code", "Searches code.", {"readOnlyHint": True})]


def day(n):
    return (datetime.date.today() + datetime.timedelta(days=n)).isoformat()


class Scene:
    """hostile: what an agent, a server or a file writes is meant to break the page."""

    def __init__(self, hostile=False):
        text = (lambda plain, wild=MARKUP: wild if hostile else plain)
        self.text = text
        manifest = "secret %s {\n    description \"of the team\"\n    expires %s\n    approve session\n}\n" % (TOKEN, day(40))
        self.s = Session(manifest, servers=[server("github", more="    secret GH from vault %s\n" % TOKEN)])
        self.env = self.s.env
        self.home = self.env["KENNEL_HOME"]
        self.policies(text)
        with open(self.home + "/secrets.kennel", "w") as f:
            for path, days, more in ((TOKEN, 40, "approve session"), ("team/npm/publish", -3, "approve per-call"),
                                     ("team/slack/bot", 5, "rotate-every 90d")):
                f.write("secret %s {\n    description %s\n    expires %s\n    %s\n}\n" %
                        (path, json.dumps(text("of the team", PLAIN_MARKUP).replace('"', "'")), day(days), more))
        os.chmod(self.home + "/secrets.kennel", 0o600)
        self.calls(text)
        self.propose(text)
        self.console = Console(env=self.env)

    def policies(self, text):
        os.makedirs(self.home + "/policies", exist_ok=True)
        pins = [{"body": {"annotations": hints, "description": text(about, about + MARKUP[:100]), "inputSchema": {"type": "object"}, "name": name},
                 "kind": "tool", "name": name, "variant": ""} for name, about, hints in TOOLS]
        self.write("policies/github.pins", '{"kennel-pins":1,"server":"github"}\n' + "".join(
            json.dumps(p, separators=(",", ":"), sort_keys=True) + "\n" for p in pins))
        self.write("policies/github.kennel", 'server github {\n    pins "github.pins"\n    run %s\n    tool by-annotations\n'
                   '    secret GH from vault %s\n}\n' % (words(TOY), TOKEN))
        self.write("policies/files.kennel", "server files {\n    run %s\n    read /usr/share\n    tool allow echo\n}\n" % words(TOY))
        self.write("mcp-servers.json", json.dumps({"mcpServers": {"everything": {
            "command": "/usr/bin/npx", "args": ["-y", text("@modelcontextprotocol/server-everything")]}}}))

    def write(self, name, text):
        with open(self.home + "/" + name, "w") as f:
            f.write(text)
        os.chmod(self.home + "/" + name, 0o600)

    def calls(self, text):
        self.files = kennel_run("    run %s\n    read /usr/share\n    tool allow echo say\n    tool ask line because %s\n" % (
            words(TOY), json.dumps(text("it publishes what it is given", MARKUP[:60].replace('"', "'")))), name="files", env=self.env)
        self.files.initialize()
        self.files.call("echo", text="notes.txt")
        self.files.call(text("delete_everything"))
        self.files.call("say", text=text("hello"))
        self.call = ask(self.files, repo="joe/notes", title=text("A new issue"), labels=["bug", "p1"])

    def propose(self, text):
        def request(tool, **arguments):
            r = self.s.h.do(tool, arguments)["result"]
            check(not r.get("isError"), r)
            return r["structuredContent"]["request_id"]

        self.metadata = request("secrets_propose_metadata", path=TOKEN, fields={
            "description": text("of the team; creates issues", PLAIN_MARKUP), "rotate_every_days": 90})
        self.new_path = request("secrets_propose_new_path", suggested_path="team/npm/read", metadata={
            "description": text("to install packages", PLAIN_MARKUP), "retrieval_url": "https://example.com/tokens", "expires_at": day(90)})
        self.rotation = request("secrets_request_rotation", path=TOKEN)

    def page(self, width=1440):
        from chromium import Page
        return Page("http://localhost:%d/#%s" % (self.console.port, self.console.link), width)

    def end(self):
        self.files.close()
        self.s.done()
