"""Pages of a server's lists: one rule for all that reads them."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from odd_kit import *  # noqa: E402,F403
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403

# what the list has, and with how many requests at most
RULES = {
    "three": ("abc", 3),
    "empty": ("ab", 2),
    "empty end": ("a", 2),
    "empty refused": ("a", 2),
    "stuck": ("ab", 2),
    "circle": ("ab", 3),
    "same": ("a", 2),
}
EARLY = ("stuck", "circle", "same")  # recorded, and said to the person


def lists_of(text):
    return int(re.search(r"lists (\d+)", text).group(1))


@test("kennel serve reads each page once, in both eras; a cursor that does not advance ends the list with a record", seconds=180)
def served_pages():
    for modern in (False, True):
        for how, (tools, most) in RULES.items():
            name = "p%s%s" % ("m" if modern else "l", how.replace(" ", ""))
            h = served(name, pages=how, modern=modern)
            r = h.do("tool_search", {"query": name, "server": name})["result"]["structuredContent"]
            equal(sorted(t["name"].split(".")[1] for t in r["tools"]), sorted(tools), how)
            n = lists_of(h.said(name + ".a"))
            # prompts, resources and templates have a request each
            check(n <= most + 3, how, n)
            h.close()
            early = wait_for(lambda: [e for e in audit() if e["fields"].get("server") == name and "does not advance" in e["fields"].get("reason", "")], 2)
            equal(bool(early), how in EARLY, how)
            if how in EARLY:
                within("%s: the list tools/list ends early: its cursor does not advance" % name, h.stderr())


@test("a server whose cursor stands still and whose pages are slow is usable")
def slow():
    h = served("slow", pages="stuck", slow=0.1)
    began = time.time()
    lists_of(h.said("slow.a"))
    check(time.time() - began < 10, time.time() - began)
    h.close()


@test("server pin has each definition once", seconds=120)
def pinned():
    for modern in (False, True):
        for how, (tools, _) in RULES.items():
            path = policy(body(pages=how, modern=modern), "pin")
            r = run([KENNEL, "server", "pin", "pin", "--policy", path, "-o", path + ".pins", "--yes"], timeout=40)
            equal(r.returncode, 0, (how, r.stderr.decode()[-400:]))
            with open(path + ".pins") as f:
                rows = [json.loads(line) for line in f]
            equal([x["name"] for x in rows if x.get("kind") == "tool"], sorted(tools), how)
            equal("ends early: its cursor does not advance" in r.stderr.decode(), how in EARLY, how)


@test("a draft has each tool once: kennel init starts the server and reads the same pages", seconds=120)
def drafted():
    for how, (tools, _) in RULES.items():
        draft = "%s/drafted-%s.kennel" % (TMP, how.replace(" ", "-"))
        r = run([KENNEL, "init", "drafted", "-o", draft, "--"] + command(pages=how), timeout=40)
        equal(r.returncode, 0, r.stderr.decode())
        with open(draft) as f:
            line = re.findall(r"^\s*tool +(?:allow|ask) +(.*)", f.read(), re.M)
        check(line, how, r.stdout.decode(), r.stderr.decode())
        equal(sorted(" ".join(line).replace('"', "").split()), sorted(tools), how)


@test("kennel run: after the last page a person is not asked about a tool that does not exist", seconds=120)
def asked():
    for how in RULES:
        s = raw_session(tools="tool ask *", pages=how)
        s.initialize("2025-06-18")
        cursor, n = None, 0
        while n < 5:  # as the official client does: an empty cursor ends the list
            r = s.request("tools/list", {"cursor": cursor} if cursor else {})["result"]
            n += 1
            if not r.get("nextCursor") or r["nextCursor"] == cursor or how in ("circle", "same") and n == 3:
                break
            cursor = r["nextCursor"]
        if how in ("circle", "same"):  # the client alone can end it: see the next test
            s.close()
            continue
        r = s.request("tools/call", {"name": "nonesuch", "arguments": {}}, 5)
        equal(r["error"]["code"], -32602, how)
        s.close()


@test("the control: before the last page a person is asked")
def not_listed():
    s = raw_session("    timeout ask 1s\n", tools="tool ask *", pages="three")
    s.initialize("2025-06-18")
    s.request("tools/list", {})
    r = s.request("tools/call", {"name": "nonesuch", "arguments": {}}, 10)
    check("kennel/refusal" in r["result"]["_meta"], r)
    s.close()


main()
