"""A page of headless Chromium, driven through a pair of pipes."""
import base64
import json
import os
import subprocess
import time

from kit import *  # noqa: F403
from console_kit import LONG

PROGRAM = "/usr/lib/chromium/chromium"
AXE = STAGE + "/net/node_modules/axe-core/axe.min.js"
# it asks no host but the console
ALONE = ("--disable-background-networking", "--disable-component-update", "--no-first-run",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost")


class Page:
    """A page of Chromium, driven through a pair of pipes (--remote-debugging-pipe)."""

    def __init__(self, url, width=1440):
        down, self.into = os.pipe()
        self.out, up = os.pipe()
        self.n, self.rest, self.wrong = 0, b"", []

        def descriptors():
            a, b = os.dup(down), os.dup(up)  # neither is 3 or 4 now
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.p = start([PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *ALONE,
                        "--user-data-dir=" + TMP + "/chromium", "--window-size=%d,900" % width, "--remote-debugging-pipe"],
                       env=environment({"HOME": TMP}), cwd="/", preexec_fn=descriptors, close_fds=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(down)
        os.close(up)
        self.session = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.send("Runtime.enable")
        self.send("Page.enable")
        self.send("Page.navigate", url=url)

    def send(self, method, **params):
        self.n += 1
        m = {"id": self.n, "method": method, "params": params}
        if self.session:
            m["sessionId"] = self.session
        os.write(self.into, json.dumps(m).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = os.read(self.out, 65536)
                check(part, "Chromium has ended")
                self.rest += part
            line, self.rest = self.rest.split(b"\0", 1)
            got = json.loads(line)
            if got.get("method") in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
                self.wrong.append(got)
            if got.get("id") == self.n:
                check("result" in got, method, got)
                return got["result"]

    def value(self, script):
        return self.send("Runtime.evaluate", expression=script, awaitPromise=True)["result"].get("value")

    def until(self, text):
        """The document, once this is in it; no script of it has failed."""
        seen = []
        check(wait_for(lambda: seen.append(self.value("document.documentElement.outerHTML") or "") or text in seen[-1], LONG),
              text, seen[-1:])
        equal(self.wrong, [])
        absent("<title>broken", seen[-1])
        return seen[-1]

    def go(self, name):
        self.value("location.hash = '#%s'" % name)

    def size(self, width, height=900):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def looks(self, scheme, motion="no-preference"):
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                          {"name": "prefers-reduced-motion", "value": motion}])

    def violations(self):
        """What axe-core finds in the page as it is now."""
        if not self.value("typeof axe === 'object'"):
            with open(AXE) as f:
                self.value(f.read() + ";0")
        return json.loads(self.value("""axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) =>
            [v.id, v.help, v.nodes.map((n) => n.html.slice(0, 200) + " " + n.failureSummary.slice(0, 300))])))"""))

    def accessible(self, name):
        """No violation in light and dark, at 360 and 1,440 px, and nothing scrolls sideways."""
        for scheme in ("light", "dark"):
            self.looks(scheme)
            for width in (360, 1440):
                self.size(width)
                equal((name, scheme, width, self.violations()), (name, scheme, width, []))
                wide = self.value("document.documentElement.scrollWidth")
                check(wide <= width, name, width, wide, self.value(
                    "[...document.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1)"
                    ".map((e) => e.outerHTML.slice(0, 150)).join()"))

    def key(self, name, shift=False):
        """A key of the keyboard, as a person presses it."""
        code, text = {"Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, ""), " ": (32, " ")}.get(name) or (ord(name.upper()), name)
        how = {"key": name, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **({"text": text} if text else {}), **how)
        self.send("Input.dispatchKeyEvent", type="keyUp", **how)

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def click(self, label, last=False):
        """Clicks the first button with this name, or the last, that is not over."""
        time.sleep(1)  # a card that has just come takes no answer
        check(self.value("""(() => { const b = [...document.querySelectorAll("button")]
            .filter((e) => (e.getAttribute("aria-label") || e.textContent) === %s).at(%d); if (b) b.click(); return !!b; })()""" %
                         (json.dumps(label), -1 if last else 0)), label)
