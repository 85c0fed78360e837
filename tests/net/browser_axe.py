"""The console for everyone: axe-core, the keyboard alone, narrow and wide, light and dark, and texts that are meant to break it."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
from kit import *  # noqa: E402,F403
from console_kit import *  # noqa: E402,F403
from ask_kit import ask, refusal, shop  # noqa: E402
from chromium import AXE, PROGRAM, Page  # noqa: E402
from console_scene import MARKUP, TOKEN, Scene  # noqa: E402

# of each page, a text that is there once it is whole
PAGES = {"servers": "Global Servers", "approvals": "team/npm/read", "secrets": "team/npm/publish", "log": "Records, the newest first"}


def scene(hostile=False, seconds=LONG):
    if not os.path.exists(PROGRAM):
        skip("not here: " + PROGRAM)
    return Scene(hostile)


def names(page):
    """The pages in the navigation."""
    return page.value("[...document.querySelectorAll('nav a')].map((a) => a.hash.slice(1)).join()").split(",")


def show(page, name):
    page.go(name)
    page.until(PAGES.get(name, "<h2>"))
    check(wait_for(lambda: page.value("document.querySelector('nav a[aria-current]').hash") == "#" + name, LONG), name)


@test("axe-core finds no violation in any page, in light and dark, at 360 and 1,440 px; nothing scrolls sideways; each control has a name", 300)
def axe():
    if not os.path.exists(AXE):
        skip("not here: axe-core")
    s = scene()
    page = s.page()
    page.until("files</h4>")
    # the control: it finds what is wrong
    page.value("document.getElementById('content').append(Object.assign(document.createElement('img'), {src: '/x'}))")
    within("image-alt", json.dumps(page.violations()))
    page.value("document.querySelector('#content img').remove()")
    for name in names(page):
        show(page, name)
        page.value("for (const d of document.querySelectorAll('details')) d.open = true; 0")
        page.accessible(name)
    s.end()


def focused(page):
    """The name of what has the keyboard, if its focus can be seen."""
    return page.value("""(() => { const e = document.activeElement, s = getComputedStyle(e);
        if (e === document.body) return "";
        const seen = s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && e.getBoundingClientRect().width > 1;
        return (seen ? "" : "not seen: ") + (e.getAttribute("aria-label") || e.labels?.[0]?.textContent.trim() || e.textContent.trim()); })()""")


def tab_to(page, wanted, most=120):
    """Presses Tab until this has the keyboard; what had it on the way."""
    way = []
    for _ in range(most):
        page.key("Tab")
        way.append(focused(page))
        absent("not seen", way[-1])
        if wanted in way[-1]:
            return way
    check(False, wanted, way)


@test("the keyboard alone reaches and uses each page and control: Tab, Enter, Space; its focus is seen, and is not lost", 240)
def keyboard():
    s = scene()
    page = s.page()
    page.until("files</h4>")
    page.value("document.activeElement.blur()")
    equal(tab_to(page, "Skip to the content")[0], "Skip to the content")
    page.key("Enter")
    equal(page.value("document.activeElement.id"), "content")
    tab_to(page, "Disable files")
    page.key(" ")
    page.until("files is disabled.")
    equal(focused(page), "Enable files", "a change of the page keeps the focus")
    page.key("Enter")
    page.until("files is enabled.")
    # each control of each page
    for name in names(page):
        page.value("document.activeElement.blur()")
        tab_to(page, {"servers": "MCP Servers"}.get(name, name.capitalize()))
        page.key("Enter")
        page.until(PAGES.get(name, "<h2>"))
        equal(page.value("location.hash"), "#" + name)
        time.sleep(0.5)
        # all that are not disabled, in their order; a summary opens and closes
        want = page.value("""[...document.querySelectorAll("#content :is(a[href], button, input, select, textarea, summary, [tabindex='0'])")]
            .filter((e) => !e.disabled && e.checkVisibility()).length""")
        page.value("document.getElementById('content').focus()")
        got = 0
        for _ in range(want):
            page.key("Tab")
            absent("not seen", focused(page))
            got += page.value("document.getElementById('content').contains(document.activeElement)") is True
        equal(got, want, name)
    # a box, and an answer
    page.go("approvals")
    page.until("team/npm/read")
    time.sleep(1)  # a card that has just come takes no answer
    tab_to(page, "Enter the new value")
    page.key("Enter")
    page.until("Tick the box first")
    page.key("Tab", shift=True)
    within("overwrites the current secret", focused(page))
    page.key(" ")
    equal(page.value("document.activeElement.checked"), True)
    time.sleep(1)  # a card that has just come takes no answer
    tab_to(page, "Deny: files line")
    page.key(" ")
    page.until("Denied: files line")
    equal(page.value("document.activeElement.className"), "card over", "the focus stays at the card")
    equal(s.files.wait(s.call, LONG)["result"]["isError"], True)
    # Escape clears a search
    page.go("log")
    page.until("Records, the newest first")
    tab_to(page, "Contains")
    for c in "nothing":
        page.key(c)
    page.key("Enter")
    page.until("No records match.")
    page.key("Escape")
    page.key("Enter")
    page.until("Records 1")
    tab_to(page, "Verify the log")
    page.key("Enter")
    page.until("verified to record")
    page.looks("light", motion="reduce")
    equal(page.value("[...document.querySelectorAll('*')].some((e) => parseFloat(getComputedStyle(e).transitionDuration) > 0)"), False)
    check(page.value("document.querySelector('[role=status]').textContent"), "a live region says what has happened")
    s.end()


@test("S1-54 S1-57 S1-62 a proposal: what is and what would be; accepted as shown, under the name that a person types; a value needs a ticked box", 180)
def proposals():
    s = scene(hostile=True)
    page = s.page()
    page.until("files</h4>")
    show(page, "approvals")
    shown = json.loads(page.value("""JSON.stringify([...document.querySelectorAll(".card")].map((c) => [c.querySelector("h3").textContent.trim(),
        [...c.querySelectorAll(".diff > div")].map((d) => [...d.children].map((e) => e.textContent))]))"""))
    shown = {name.split()[-1]: rows for name, rows in shown}
    equal([r[0] for r in shown["metadata"]], ["description", "rotate every days"], "the same members are left out")
    equal(shown["metadata"][0][1], "Current of the team")
    within("Proposed <img src=x onerror=", shown["metadata"][0][2])
    equal(shown["metadata"][1][1:], ["Current not set", "Proposed 90"])
    equal([r[0] for r in shown["new-path"]], ["description", "retrieval url", "expires at"])
    beside = "[...document.querySelector('.diff > div').querySelectorAll('del, ins')].map((e) => e.getBoundingClientRect().top)"
    for width, rows in ((1440, 1), (360, 2)):
        page.size(width)
        equal(len(set(page.value("JSON.stringify(%s)" % beside)[1:-1].split(","))), rows, "side by side, or one below the other")
    page.size(1440)
    page.click("Accept: github " + TOKEN)
    page.until("Allowed: github " + TOKEN)
    s.s.settled(s.metadata, "ok")
    equal(s.s.h.structured("secrets_describe", path=TOKEN)["rotate_every_days"], 90)
    page.click("Accept: kennel serve team/npm/read")
    page.until("has changed since")  # by the one that was accepted; it is shown again
    page.until("It is no longer pending.")
    page.value("""(() => { const i = [...document.querySelectorAll(".card:not(.over) input:not([type])")].at(-1); i.value = "team/npm";
        i.dispatchEvent(new Event("input")); return i; })()""")
    equal(page.value("document.querySelectorAll('[aria-invalid=true]').length"), 1)
    page.click("Accept: kennel serve team/npm/read", last=True)
    page.until("parts")
    page.value("""(() => { const i = [...document.querySelectorAll(".card:not(.over) input:not([type])")].at(-1); i.value = "team/npm/mine";
        i.dispatchEvent(new Event("input")); })()""")
    page.click("Accept: kennel serve team/npm/read", last=True)
    page.until("Allowed: kennel serve team/npm/read")
    s.s.settled(s.new_path, "ok")
    with open(s.s.dir + "/.kennel/secrets.kennel") as f:
        text = f.read()
    within("team/npm/mine", text)
    absent("team/npm/read", text)
    page.click("Enter the new value: github " + TOKEN, last=True)
    page.until("Tick the box first")
    equal(s.s.status(s.rotation), "pending")
    s.end()


@test("PEOPLE 6 a tool that was reviewed as destructive is allowed with a ticked box, and denied without; another one needs none", 120)
def destructive():
    if not os.path.exists(PROGRAM):
        skip("not here: " + PROGRAM)
    s, t = shop(), Console("--no-open")
    page = Page("http://localhost:%d/#%s" % (t.port, t.link))
    page.until("<title>MCP Servers")  # the login is over
    call = ask(s, "pid", a=1)
    page.go("approvals")
    page.until("shop asks for the tool")
    equal([a["destructive"] for a in json.loads(page.value("api('GET', 'approvals').then(JSON.stringify)"))["approvals"]], [True])
    page.click("Allow once: shop pid")
    page.until("Tick the box first: I understand that this may destroy or overwrite something")
    page.value("document.querySelector('.card input[type=checkbox]').click()")
    page.click("Allow once: shop pid")
    check(refusal(s.wait(call, LONG)) is None, "allowed with the tick")
    check(wait_for(lambda: page.value("document.querySelectorAll('.card:not(.over)').length") == 0, LONG))
    call = ask(s, "pid", a=2)
    check(wait_for(lambda: page.value("document.querySelectorAll('.card:not(.over)').length") == 1, LONG))
    equal(page.value("document.querySelector('.card:not(.over) input').checked"), False, "each has a box of its own")
    page.click("Deny: shop pid", last=True)
    equal(refusal(s.wait(call, LONG)), "denied by a person")
    call = ask(s, "params", a=1)  # the control
    check(wait_for(lambda: page.value("document.querySelector('.card:not(.over) code').textContent") == "params", LONG))
    equal(page.value("document.querySelectorAll('.card:not(.over) input').length"), 0)
    page.click("Allow once: shop params")
    check(refusal(s.wait(call, LONG)) is None)
    equal(page.wrong, [])
    s.close()
    t.interrupt()


@test("what an agent, a server or a file writes is text in every page: markup, hidden characters, look-alikes", 180)
def hostile():
    s = scene(hostile=True)
    page = s.page()
    page.until("files</h4>")
    for name in names(page):
        show(page, name)
        page.value("for (const d of document.querySelectorAll('details')) d.open = true; 0")
        got = page.until(PAGES.get(name, "<h2>"))
        check(not re.search("[\u202e\u200b]|<img|<script>", got), name, got)
        # a path has no such characters; no key is there; policies: browser_servers.py
        if name not in ("secrets", "keys", "policies"):
            within("&lt;img src=x onerror=", got, name)
        equal(page.value("['\\u2800', '\\u2044', '\\u217d', '\\u2024', '\\u24d0', '\\u02bc'].filter((c) => inert(c) === c).length"), 0)
        equal(page.value("document.querySelectorAll('#content script, #content img, #content iframe, #content [onerror], #content style').length"), 0)
        for width in (360, 1440):
            page.size(width)
            check(page.value("document.documentElement.scrollWidth") <= width, name, width)
    page.value("""(() => { const i = document.querySelector("input[name=contains]"); if (!i) return; i.value = %s; i.dispatchEvent(new Event("change")); })()""" %
               json.dumps(MARKUP[:40]))
    page.until("titl")
    equal(page.wrong, [])
    s.end()


@test("the log: filters, pages of 500, new records as they come, and a mark that says what was verified and what came later", 240)
def log():
    s = scene()
    for i in range(300):
        s.files.call("echo", text="mark-%d." % i)
    page = s.page()
    page.until("files</h4>")
    show(page, "log")
    rows = "document.querySelectorAll('#log-rows tr').length"
    first = "+document.querySelector('#log-rows td').textContent.match(/\\d+/)[0]"
    equal(page.value(rows), 500)
    within("The rows are shown as they are in the file", page.until("not verified"))
    newest = page.value(first)
    page.click("Older records")
    check(wait_for(lambda: page.value(first) == newest - 500, LONG) is not None, page.value(first), newest)
    check(0 < page.value(rows) <= 500)
    page.click("Newest records")
    check(wait_for(lambda: page.value(first) >= newest, LONG) is not None)
    page.click("Verify the log")
    got = page.until("verified to record")
    within("found none altered", got)
    sure = int(re.search(r"verified to record (\d+)", got).group(1))
    check(sure >= newest, sure)
    s.files.call("echo", text="a later one")
    check(wait_for(lambda: page.value(first) > sure, LONG) is not None, "live")
    equal(page.value("[...document.querySelectorAll('#log-rows tr')].every((r) => (+r.firstChild.firstChild.textContent > %d) === /not verified/.test(r.textContent))" % sure), True)
    equal(page.value(rows), 500, "the oldest make room")

    def filtered(name, value):
        page.value("""(() => { const i = document.querySelector("input[name=%s]"); i.value = %s; i.dispatchEvent(new Event("change")); })()""" %
                   (name, json.dumps(value)))

    filtered("contains", '"say"')
    check(wait_for(lambda: 0 < page.value(rows) < 10, LONG) is not None, page.value(rows))
    equal(page.value("[...document.querySelectorAll('#log-rows tr')].every((r) => r.textContent.includes('\"say\"'))"), True)
    within("The rows are shown as they are in the file", page.until("not verified"), "another reading of the file")
    filtered("contains", "")
    filtered("verdict", "deny")
    check(wait_for(lambda: page.value("[...document.querySelectorAll('#log-rows tr')].every((r) => r.children[4].textContent === 'deny')"), LONG) is not None)
    filtered("kind", "nonsense")
    page.until("invalid filter")
    s.end()


if __name__ == "__main__":
    main()
