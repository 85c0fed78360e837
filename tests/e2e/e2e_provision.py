"""Provision, ok, retry from nothing: the person who types a value grants it in the same dialog, on each channel."""
import json
import os
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403
from console_kit import Console  # noqa: E402
from form_kit import Form  # noqa: E402

be_subreaper()
JIRA = "team/jira/api-key"
PASSPHRASE = "a passphrase of some length"
MANIFEST = "required %s\nsecret %s {\n    description \"of the team\"\n    retrieval-url \"https://example.invalid/tokens\"\n}\n" % (JIRA, JIRA)
NET = "    net allow jira.example.com:443\n"


def jira(more=NET, name="jira"):
    return server(name, more="    secret JIRA_TOKEN from vault %s\n%s" % (JIRA, more))


class Fresh(Session):
    """A user without vault, grant and value; the policies are installed, the project needs the secret."""

    def __init__(self, *servers, manifest=MANIFEST, file=False):
        homes[0] += 1
        self.dir = "%s/fresh-%d" % (TMP, homes[0])
        self.env = {"KENNEL_HOME": self.dir + "/home"}
        os.makedirs(self.dir + "/.kennel")
        os.makedirs(self.dir + "/home/policies", mode=0o700)
        os.chmod(self.dir + "/home", 0o700)
        self.write(manifest)
        self.servers = servers or (jira(),)
        if file:
            self.h = Hub(*self.servers, env=self.env, args=["--project", self.dir])
            return
        self.install(*self.servers)
        self.open()

    def install(self, *servers):
        for text in servers:
            name = text.split()[1]
            with open(self.dir + "/home/policies/%s.kennel" % name, "w") as f:
                f.write(text)
            os.chmod(f.name, 0o600)

    def open(self):
        self.h = Hub(env=self.env, command=[KENNEL, "serve", "--project", self.dir])

    def call(self, name="jira"):
        return self.h.do(name + ".echo", {"text": "10 issues"}, seconds=LONG)["result"]

    def lacks(self, why, action="secrets_request_provision", actor="agent"):
        r = self.call()
        equal(refused({"result": r}, "missing-secret", JIRA), "missing secret: JIRA_TOKEN (%s): %s" % (JIRA, why))
        m = r["structuredContent"]["remediation"]
        equal((m["actor"], m["action"], m["retryable"]), (actor, action, True))

    def asks(self):
        """The agent's part of source 1's scenario, up to pending: the id."""
        card = self.h.structured("secrets_describe", path=JIRA)
        equal((card["retrieval_url"], card["capabilities_hint"]), ("https://example.invalid/tokens", "read"))
        rid = self.h.structured("secrets_request_provision", path=JIRA)["request_id"]
        check(matches("^prov-[0-9a-f]{12}$", rid), rid)
        equal(self.status(rid), "pending")
        return rid

    def works(self, rid):
        self.settled(rid, "ok")
        equal(self.call()["content"][0]["text"], "jira: 10 issues", "no restart is seen")

    def policy_id(self, name="jira"):
        r = run([KENNEL, "policy", "compile", self.dir + "/home/policies/%s.kennel" % name, "-o", self.dir + "/x.sealed"], env=self.env)
        equal(r.returncode, 0, r.stderr)
        return json.loads(run([KENNEL, "policy", "show", "--json", self.dir + "/x.sealed"], env=self.env).stdout)["policy"]

    def grants(self):
        return json.loads(run([KENNEL, "secret", "grants", "--json"], env=self.env).stdout)


def shown(text, server_name="jira"):
    """What a person reads before a yes."""
    text = text.replace("\r", "")
    for part in ("| server: %s\n" % server_name, "| policy: ", "| file: /", "| network: net allow jira.example.com:443",
                 "this policy, and changed ones that allow nothing more"):
        within(part, text)


@test("S1-07 S1-47 S1-104 S1-105 source 1 from nothing, at the terminal: no vault, no grant, no value; the value and the grant are one dialog, "
      "the retry works", seconds=120)
def terminal():
    s = Fresh()
    s.lacks("no vault found")
    rid = s.asks()
    q = s.question()
    equal([x["server"] for x in json.loads(q["detail"])["servers"]], ["jira"])
    t = Typist([KENNEL, "approve", "allow", q["id"]], s.env)
    t.type("A passphrase for the vault: ", PASSPHRASE)
    t.type(": ", PASSPHRASE)
    t.until("Grant it to these servers, under these policies? (yes or no): ")
    shown(t.out)
    t.type("(yes or no): ", "yes")
    t.type("The value (it is not shown): ", VALUE)
    equal(t.done(), 0, t.out)
    within("%s: granted to server jira" % JIRA, t.out)
    absent(VALUE, t.out)
    s.works(rid)
    equal([(g["path"], g["server"], g["kind"]) for g in s.grants()], [(JIRA, "jira", "policy")])
    equal(s.questions(), [])
    mine = [e["fields"] for e in audit("--kind", "vault", env=s.env) if e["fields"]["action"] == "grant"]
    equal([(e["outcome"], e.get("channel")) for e in mine], [("asked", "terminal"), ("done", "terminal")], mine)
    s.done()


@test("a no to the grant stores the value, grants nothing, and says what is missing; the agent reads it too", seconds=120)
def refused_grant():
    s = Fresh()
    s.secret("init", "--stdin", stdin=PASSPHRASE)
    s.lacks("it is not in the vault")
    rid = s.asks()
    t = Typist([KENNEL, "approve", "allow", s.question()["id"]], s.env)
    t.type("(yes or no): ", "no")
    t.type("The value (it is not shown): ", VALUE)
    equal(t.done(), 0, t.out)
    within("is not granted to server jira, which does not start without it: run `kennel secret grant %s --server jira`" % JIRA, t.out)
    s.settled(rid, "ok")
    equal(s.grants(), [])
    s.lacks("not granted to this server", "kennel secret grant", "user")
    # the control: the command that was named
    s.secret("grant", JIRA, "--server", "jira")
    check(wait_for(lambda: not s.call().get("isError"), LONG) is not None, "the grant is enough")
    s.done()


@test("kennel secret set and rotate at a terminal ask for the grant while an agent waits for the value; a script is told what is missing; "
      "what is granted already is not asked", seconds=120)
def by_hand():
    s = Fresh()
    s.secret("init", "--stdin", stdin=PASSPHRASE)
    rid = s.asks()
    r = run([KENNEL, "secret", "set", JIRA, "--stdin"], stdin=VALUE, env=s.env)
    equal(r.returncode, 0, r.stderr)
    within("is not granted to server jira", r.stderr.decode())
    s.settled(rid, "ok")
    equal(s.grants(), [])
    rid = s.h.structured("secrets_request_rotation", path=JIRA)["request_id"]
    t = Typist([KENNEL, "secret", "rotate", JIRA], s.env)
    t.until("(yes or no): ")
    shown(t.out)
    t.type("(yes or no): ", "yes")
    t.type("The value (it is not shown): ", VALUE + "-2")
    equal(t.done(), 0, t.out)
    s.works(rid)
    rid = s.h.structured("secrets_request_rotation", path=JIRA)["request_id"]
    t = Typist([KENNEL, "secret", "rotate", JIRA], s.env)
    t.type("The value (it is not shown): ", VALUE + "-3")
    equal(t.done(), 0, t.out)
    absent("(yes or no)", t.out)
    s.settled(rid, "ok")
    # and without a request nothing is asked
    t = Typist([KENNEL, "secret", "rotate", JIRA], s.env)
    t.type("The value (it is not shown): ", VALUE + "-4")
    equal(t.done(), 0, t.out)
    equal(len(s.grants()), 1)
    s.done()


@test("S1-104 the page of a form, from nothing: it makes the vault, shows server, policy and hosts, and grants with its box alone", seconds=120)
def form():
    s = Fresh()
    s.lacks("no vault found")
    rid = s.asks()
    f = Form("value", JIRA, env=s.env)
    got = f.state()
    equal(got["vault"], "none")
    one = got["grants"]["servers"]
    equal(len(one), 1)
    equal((one[0]["server"], one[0]["policy"], one[0]["network"]), ("jira", s.policy_id(), ["net allow jira.example.com:443"]))
    within("/policies/jira.kennel", one[0]["file"])
    for parts, why in ((("short", VALUE, "", "1", "short"), "eight characters"), ((PASSPHRASE, VALUE, "", "1", PASSPHRASE + "x"), "differ"),
                       ((PASSPHRASE, VALUE, "", "1"), "no vault found"), ((PASSPHRASE, VALUE, "", "1", "", ""), "three to five lines")):
        status, text = f.post("save", *parts)
        check(status in (400, 409), parts, text)
        within(why, text["message"])
    equal(f.post("save", PASSPHRASE, VALUE, "", "1", PASSPHRASE)[0], 200)
    equal(f.end()[0], 0)
    s.works(rid)
    equal(sorted(x["fields"]["action"] for x in audit("--kind", "vault", env=s.env) if x["fields"]["outcome"] == "done"),
          ["grant", "init", "set"])
    # without the box
    run([KENNEL, "secret", "revoke", JIRA, "--server", "jira"], env=s.env)
    rid = s.h.structured("secrets_request_rotation", path=JIRA)["request_id"]
    f = Form("value", JIRA, "--rotate", env=s.env)
    equal(len(f.state()["grants"]["servers"]), 1)
    equal(f.post("save", "", VALUE + "-2", "1")[0], 200)
    code, _, err = f.end()
    equal(code, 0)
    within("is not granted to server jira", err)
    s.settled(rid, "ok")
    equal(s.grants(), [])
    s.done()


@test("S1-104 the console, from nothing: its button opens the form, whose box grants", seconds=120)
def console():
    s = Fresh()
    s.lacks("no vault found")
    rid = s.asks()
    c = Console(env=s.env).login()
    got = []
    check(wait_for(lambda: got.clear() or got.extend(c.json("GET", "approvals")[1]["approvals"]) or got, LONG), "no approval")
    a = got[0]
    equal([x["server"] for x in json.loads(a["detail"])["servers"]], ["jira"])
    status, opened = c.json("POST", "approvals/" + a["id"], {"answer": "once", "sha256": a["sha256"]})
    equal(status, 200, opened)
    f = Form(url=opened["url"])
    shown_there = f.state()
    equal([x["server"] for x in shown_there["grants"]["servers"]], ["jira"])
    equal(f.post("save", PASSPHRASE, VALUE, "", "1", PASSPHRASE)[0], 200)
    s.works(rid)
    equal([e["fields"].get("channel") for e in audit("--kind", "vault", env=s.env) if e["fields"]["action"] == "grant"], ["console"] * 2)
    c.p.send_signal(signal.SIGINT)
    c.end()
    s.done()


@test("S1-104 a pinentry, from nothing: a step of the dialog shows server, policy and hosts; Only store it grants nothing", seconds=120)
def pinentry():
    for agreed in (True, False):
        s = Fresh()
        s.lacks("no vault found")
        rid = s.asks()
        home = s.dir + "/person"
        os.makedirs(home, mode=0o700)
        shutil.copyfile(os.path.dirname(os.path.abspath(__file__)) + "/dialog_standin.py", home + "/pinentry")
        os.chmod(home + "/pinentry", 0o755)
        answers = ["pages"] + ["pin " + PASSPHRASE] * 2 + ["pages" if agreed else "notok", "pin " + VALUE]
        with open(home + "/answers", "w") as f:
            f.write("\n".join(answers) + "\n")
        t = Typist([KENNEL, "approve", "here", "--pinentry", home + "/pinentry"], dict(s.env, HOME=home))
        t.until("stored")
        asked = [x for x in map(json.loads, reads(home + "/asked").decode().splitlines()) if "command" in x]
        texts = [x["texts"] for x in asked]
        grant = [x for x in texts if "Also grant it" in x.get("SETDESC", "")]
        check(grant, texts)
        pages = "".join(x["SETDESC"].split("\n\n", 1)[1] for x in grant).replace("\n  | ", "")
        shown(pages)
        equal((grant[-1]["SETOK"], grant[-1]["SETNOTOK"], grant[-1]["SETCANCEL"]), ("Grant it", "Only store it", "Close"))
        if agreed:
            t.until("granted to server jira")
            s.works(rid)
        else:
            t.until("is not granted to server jira")
            s.settled(rid, "ok")
            equal(s.grants(), [])
        t.p.send_signal(signal.SIGTERM)
        end = time.time() + LONG
        while t.p.poll() is None and time.time() < end:
            t._read(0.1)
        os.close(t.master)
        s.done()


@test("a policy that is only named on the command line of serve: the copy that is kept of it is shown and granted", seconds=120)
def of_a_file():
    s = Fresh(jira(), file=True)
    s.lacks("no vault found")  # and the start has kept the policy
    rid = s.asks()
    t = Typist([KENNEL, "approve", "allow", s.question()["id"]], s.env)
    t.type("A passphrase for the vault: ", PASSPHRASE)
    t.type(": ", PASSPHRASE)
    t.until("(yes or no): ")
    within("not the policy that a start by this name finds", t.out.replace("\r\n  | ", ""))
    within("net allow jira.example.com:443", t.out)
    t.type("(yes or no): ", "yes")
    t.type("The value (it is not shown): ", VALUE)
    equal(t.done(), 0, t.out)
    s.works(rid)
    s.done()


@test("the id that the agent was given names its request for kennel approve allow and deny; a proposal is allowed only by the id of the list", seconds=120)
def by_request():
    s = Fresh()
    s.secret("init", "--stdin", stdin=PASSPHRASE)
    rid = s.asks()
    t = Typist([KENNEL, "approve", "allow", rid], s.env)
    t.type("(yes or no): ", "yes")
    t.type("The value (it is not shown): ", VALUE)
    equal(t.done(), 0, t.out)
    s.works(rid)
    code, _, err = s.approve("allow", rid)
    equal(code, 1, err)
    within("no pending approval with id " + rid, err)
    for bad in ("prov-", "prov-0123456789", "prov-0123456789ag", "prov-0123456789abc"):
        equal(s.approve("deny", bad)[0], 64, bad)
    rid = s.h.structured("secrets_propose_metadata", path=JIRA, fields={"description": "another", "pattern_id": ""})["request_id"]
    equal(json.loads(s.question()["detail"])["proposed"], {"description": "another"}, "an empty pattern_id proposes none")
    code, _, err = s.approve("allow", rid)
    equal((code, s.status(rid)), (64, "pending"), err)
    within("kennel approve list", err)
    equal(s.approve("deny", rid)[0], 0)
    s.settled(rid, "cancelled")
    s.done()


@test("C5 approve allow --session of what is asked for each use says that it counts once; the control is allowed for the session", seconds=120)
def per_use():
    for rule, said in (("per-call", "once: it is asked for each use, not for a session"), ("session", "for the session")):
        s = Session("secret %s {\n    approve %s\n}\n" % (PATH, rule), vault=True)
        rid = s.ask()
        q = s.question()
        code, out, err = s.approve("allow", q["id"], "--session")
        equal((code, out), (0, "allowed %s %s\n" % (q["id"], said)), err)
        s.settled(rid, "once" if rule == "per-call" else "session")
        s.done()


if __name__ == "__main__":
    main()
