"""PEOPLE 6, 7 security keys in Chromium, with a virtual authenticator; and a value that is typed into the form."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
from kit import *  # noqa: E402,F403
from ask_kit import ask, refusal  # noqa: E402
from chromium import AXE, PROGRAM, Page  # noqa: E402
from form_kit import Form  # noqa: E402
from key_kit import *  # noqa: E402,F403
from console_kit import *  # noqa: E402,F403

ASKS = "    run %s\n    tool allow echo\n    tool ask line with key\n" % words(TOY)
SECRET = "team/github/token"
VALUE = "browser sentinel %d" % os.getpid()


class Authenticator:
    """A security key of Chromium's own, in this page."""

    def __init__(self, page):
        self.page = page
        page.send("WebAuthn.enable")
        self.id = page.send("WebAuthn.addVirtualAuthenticator", options={
            "protocol": "ctap2", "transport": "usb", "hasResidentKey": False, "hasUserVerification": True,
            "isUserVerified": True, "automaticPresenceSimulation": True})["authenticatorId"]

    def touches(self, on):
        self.page.send("WebAuthn.setAutomaticPresenceSimulation", authenticatorId=self.id, enabled=on)

    def verifies(self, on):
        self.page.send("WebAuthn.setUserVerified", authenticatorId=self.id, isUserVerified=on)

    def uses(self):
        """How often its keys have signed. A key whose registration was refused is there too."""
        got = self.page.send("WebAuthn.getCredentials", authenticatorId=self.id)["credentials"]
        return sum(key["signCount"] for key in got)


def fill(page, **fields):
    for name, value in fields.items():
        page.value("document.getElementById(%s).value = %s" % (json.dumps(name), json.dumps(value)))


def follow(page):
    """Opens the form to which the console shows a link, in the same page."""
    page.until("Open the form")
    url = page.value("[...document.querySelectorAll('a[target=_blank][rel=noopener]')].at(-1).href")
    page.send("Page.navigate", url=url)
    return url


def message(page, text):
    check(wait_for(lambda: text in (page.value("document.getElementById('message').textContent") or ""), LONG),
          text, page.value("document.body.innerText"))


def back(page, c, name):
    """The console again: this browser is logged in."""
    page.send("Page.navigate", url="http://localhost:%d/#%s" % (c.port, name))


@test("axe-core finds no violation in the form of a value and of a key, in light and dark, at 360 and 1,440 px", 240)
def axe():
    if not os.path.exists(PROGRAM):
        skip("not here: " + PROGRAM)
    if not os.path.exists(AXE):
        skip("not here: axe-core")
    env = home()
    k = Form("key", env=env)
    page = Page("http://localhost:%d/%s/" % (k.port, k.token))
    page.until("Register a security key")
    # the control: it finds what is wrong
    page.value("document.querySelector('label[for=label]').remove()")
    within('"label"', json.dumps(page.violations()))
    page.value("document.getElementById('part-label').prepend(Object.assign(document.createElement('label'),"
               " {htmlFor: 'label', textContent: 'Name of the key'}))")
    page.accessible("key")
    page.click("Save")
    message(page, "passphrase")
    page.accessible("key, refused")
    page.click("Cancel")
    equal(k.end()[0], 65)
    for words_, several in ((["set", SECRET], False), (["rotate", SECRET], True)):
        if several:  # a value to replace, in a vault that is locked
            equal(run([KENNEL, "secret", "set", SECRET, "--stdin"], stdin=VALUE.encode(), env=env).returncode, 0)
            equal(run([KENNEL, "secret", "lock"], env=env).returncode, 0)
        f = Form("value", *(["--rotate"] if several else []), SECRET, env=env)
        page.send("Page.navigate", url="http://localhost:%d/%s/" % (f.port, f.token))
        page.until("Value of " + SECRET)
        if several:
            page.value("document.getElementById('several').click()")
        page.accessible("value, %s" % words_[0])
        page.click("Save")
        page.accessible("value, %s, refused" % words_[0])
        page.click("Cancel")
        equal(f.end()[0], 65)
        page.accessible("value, %s, ended" % words_[0])
    equal(page.wrong, [])


@test("a key is registered in the form, and allows one approval for each touch; without a touch or a user it allows nothing", 240)
def keys():
    if not os.path.exists(PROGRAM):
        skip("not here: " + PROGRAM)
    env = home()
    r = run([KENNEL, "run", "t", "--policy", policy(ASKS)], env=env)
    equal(r.returncode, 78)
    within(b"tool ask line at line 5 needs a key: register one with kennel console --keys", r.stderr)
    t = Console("--no-open", env=env)
    page = Page("http://localhost:%d/#%s/keys" % (t.port, t.link))
    device = Authenticator(page)
    page.until("No key is registered.")
    page.click("Register a key")
    follow(page)
    page.until("Register a security key")
    fill(page, label="blue", passphrase="not the passphrase")
    page.click("Save")
    message(page, "wrong passphrase")
    fill(page, passphrase=PASS)
    device.verifies(False)
    page.click("Save")
    message(page, "The browser has no answer of a key")
    device.verifies(True)
    page.click("Save")
    message(page, "The key is registered.")
    equal(page.wrong, [])
    back(page, t, "keys")
    page.until("<td>blue</td>")

    s = kennel_run(ASKS, env=env)
    s.initialize()
    call = ask(s, a=1)
    page.go("approvals")
    page.until("t asks for the tool")
    device.verifies(False)
    page.click("Allow once: t line")
    message(page, "The browser has no answer of a key")
    device.verifies(True)
    for _ in range(2):  # each use needs a touch of its own
        used = device.uses()
        device.touches(False)
        page.click("Allow once: t line", last=True)
        message(page, "Touch the security key")
        time.sleep(2)
        equal(len(run([KENNEL, "approve", "list", "--json"], env=env).stdout.splitlines()), 1, "nothing without a touch")
        page.send("Page.reload")
        page.until("t asks for the tool")
        device.touches(True)
        page.click("Allow once: t line", last=True)
        check(refusal(s.wait(call, LONG)) is None, "allowed by the touch")
        message(page, "Allowed: t line")
        equal(device.uses(), used + 1)
        call = ask(s, a=1)
        check(wait_for(lambda: page.value("document.querySelectorAll('.card:not(.over)').length") == 1, LONG))
    page.click("Deny: t line", last=True)
    equal(refusal(s.wait(call, LONG)), "denied by a person")
    # a key that was removed allows nothing
    k = Keeper(env)
    for key_id, _ in k.keys():
        equal(run([KENNEL, "secret", "key", "remove", key_id.hex()[:16], "--stdin"], stdin=PASS.encode(), env=env).returncode, 0)
    k.s.close()
    ask(s, a=2)
    check(wait_for(lambda: page.value("document.querySelectorAll('.card:not(.over)').length") == 1, LONG))
    page.click("Allow once: t line", last=True)
    message(page, "no security key is registered")
    page.go("keys")
    page.until("No key is registered.")
    equal(page.wrong, [])
    s.close()
    t.interrupt()


@test("S1-51 a value that is typed into the form reaches the vault and the server; the console, the log and ps do not have it", 240)
def value():
    if not os.path.exists(PROGRAM):
        skip("not here: " + PROGRAM)
    env = home()
    f = Form("value", SECRET, env=env)
    page = Page("http://localhost:%d/%s/" % (f.port, f.token))
    page.until("Value of " + SECRET)
    equal(page.value("document.getElementById('value').type + document.getElementById('value').autocomplete"), "passwordoff")
    fill(page, value="abc")
    page.click("Save")
    message(page, "at least four bytes")
    fill(page, value=VALUE)
    page.click("Save")
    message(page, "The value is in the vault.")
    status, out, err = f.end()
    equal((status, out), (0, ""), err)
    given = policy("    run %s\n    tool allow getenv spell\n    secret GH from vault %s\n" % (words(TOY), SECRET))
    r = run([KENNEL, "secret", "grant", SECRET, "--server", "t", "--policy", given], env=env)
    equal(r.returncode, 0, r.stderr)
    s = Mcp([KENNEL, "run", "t", "--policy", given], env=env)
    s.initialize()
    equal(s.text("getenv", var="GH"), "***")
    equal(s.text("spell", var="GH")[::2], VALUE, "the server's value")
    s.close()
    # several lines, in the place of the first value
    f = Form("value", SECRET, env=env)
    page.send("Page.navigate", url="http://localhost:%d/%s/" % (f.port, f.token))
    page.until("This path has a value.")
    page.value("document.getElementById('several').click()")
    fill(page, lines="first " + VALUE + "\nsecond\n")
    page.click("Save")
    message(page, "confirm that it is replaced")
    page.value("document.getElementById('replace').click()")
    page.click("Save")
    message(page, "The value is in the vault.")
    equal(f.end()[0], 0)
    # the console shows both versions
    t = Console("--no-open", env=env)
    page.send("Page.navigate", url="http://localhost:%d/#%s" % (t.port, t.link))
    page.until("<title>MCP Servers")  # the login is over
    page.go("secrets")
    page.until("version 2, made ")
    shown = page.value("document.querySelector('td details').textContent")
    within(", current", shown)
    within("version 1, made ", shown)
    within(", replaced ", shown)
    t.interrupt()
    # closed without a save
    f = Form("value", SECRET, env=env)
    page.send("Page.navigate", url="http://localhost:%d/%s/" % (f.port, f.token))
    page.until("This path has a value.")
    page.send("Page.navigate", url="about:blank")
    equal(f.end()[0], 65)
    equal(page.wrong, [])
    seen = ""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            seen += open("/proc/%s/cmdline" % pid).read()
        except OSError:  # it has ended
            pass
    absent(VALUE, seen + run([KENNEL, "audit", "log", "--json"], env=env).stdout.decode())


if __name__ == "__main__":
    try:
        main()
    finally:
        end_keepers()
