"""What an agent asks a person to type or to accept: values, rotations, metadata, new paths."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from secrets_kit import *  # noqa: E402,F403

be_subreaper()
NEEDS = [server("one", more="    secret GH from vault %s\n" % PATH)]
PLAIN = "required %s\nsecret %s {\n    description \"of the team\"  # a note\n}\n" % (PATH, PATH)
PASSPHRASE = "a passphrase of some length"


def request(s, tool, **arguments):
    got = s.h.structured(tool, **arguments)
    equal(list(got), ["request_id"])
    check(matches("^prov-[0-9a-f]{12}$", got["request_id"]), got)
    return got["request_id"]


def wrong(s, tool, arguments, text, kind="invalid-arguments", path=None):
    equal(refused(s.h.do(tool, arguments), kind, path), text)


def vaulted(manifest=PLAIN, servers=NEEDS, value=False):
    """A session whose vault is there, with or without a value."""
    s = Session(manifest, servers=servers)
    s.secret("init", "--stdin", stdin=PASSPHRASE)
    if value:
        s.secret("set", PATH, "--stdin", stdin=VALUE)
    return s


def listed(s):
    return [x["path"] for x in s.h.do("secrets_list", {})["result"]["structuredContent"]["secrets"]]


def manifest(s):
    return reads(s.dir + "/.kennel/secrets.kennel").decode()


# ---- values -------------------------------------------------------------------------------

@test("S1-11 S1-42 S1-43 S1-45 S1-46 S1-47 S1-97 S1-105 provision: a person types the value at the terminal, the keeper "
      "has it, the agent gets one word", seconds=120)
def provision():
    s = vaulted()
    rid = request(s, "secrets_request_provision", path=PATH)
    q = s.question()
    equal((q["kind"], q["subject"], q["server"], q["request"], q["whole"]), ("provision", PATH, "one", rid, True))
    detail = json.loads(q["detail"])
    equal(list(detail), ["current", "proposed", "reason", "servers", "project", "manifests"])
    equal(list(detail["current"]), ["description", "retrieval_url", "rotate_every_days", "expires_at", "pattern_id"])
    equal((detail["current"]["description"], detail["proposed"], [x["server"] for x in detail["servers"]]), ("of the team", None, ["one"]))
    check(290000 < q["left_ms"] <= 300000, q["left_ms"])
    equal(s.poll(rid)["kind"], "provision")
    equal(s.approve("allow", q["id"], "--session")[0], 64, "a value is not for a session")
    t = Typist([KENNEL, "approve", "allow", q["id"]], s.env)
    t.type("The value (it is not shown): ", VALUE)
    equal(t.done(), 0, t.out)
    absent(VALUE, t.out)
    s.settled(rid, "ok")
    equal(s.questions(), [])
    s.secret("grant", PATH, "--server", "one", "--policy", s.h.path)
    equal(s.h.said("one.echo", seconds=LONG, text="x"), "one: x")
    s.h.close()
    mine = [e["fields"] for e in audit(env=s.env) if e["kind"] == "approve"]
    equal([(e["verdict"], e["outcome"], e["method"], e["name"], e["request"]) for e in mine],
          [("ask", "asked", "provision", [PATH], rid), ("allow", "ok", "provision", [PATH], rid)])
    within("uid %d" % os.geteuid(), mine[1]["approver"])
    equal([e.get("channel") for e in mine], [None, "terminal"], "where the value was typed")
    s.done()


@test("S1-08 S1-17 kennel secret set by hand settles what is pending for the path, after the keeper has the value; "
      "without a terminal allow says what to run")
def by_hand():
    s = vaulted()
    rid = request(s, "secrets_request_provision", path=PATH, mode="provision", unknown=1)
    q = s.question()
    code, out, err = s.approve("allow", q["id"])
    equal(code, 64, err)
    within("kennel secret set " + PATH, err)
    s.secret("set", PATH, "--stdin", stdin="abc", status=65)
    s.secret("set", "team/use/other", "--stdin", stdin=VALUE)
    equal(s.status(rid), "pending", "nothing was stored for it")
    s.secret("set", PATH, "--stdin", stdin=VALUE)
    s.settled(rid, "ok")
    equal(s.questions(), [])
    s.done()


@test("S1-121 the vault is created and unlocked first, and a value that is there is overwritten only after a yes",
      seconds=120)
def vault_first():
    s = Session(PLAIN, servers=NEEDS)
    rid = request(s, "secrets_request_provision", path=PATH)
    t = Typist([KENNEL, "approve", "allow", s.question()["id"]], s.env)
    t.type("A passphrase for the vault: ", PASSPHRASE)
    t.type(": ", PASSPHRASE)
    t.type("The value (it is not shown): ", VALUE)
    equal(t.done(), 0, t.out)
    s.settled(rid, "ok")
    s.secret("lock")
    sock = s.env["KENNEL_HOME"] + "/run/keeper.sock"
    check(wait_for(lambda: not os.path.exists(sock), LONG) is not None, "a locked keeper ends")
    rid = request(s, "secrets_request_provision", path=PATH)
    for answer, status in (("no", 125), ("yes", 0)):
        t = Typist([KENNEL, "approve", "allow", s.question()["id"]], s.env)
        if answer == "no":
            t.type("The vault's passphrase: ", PASSPHRASE)
        t.type("I understand this overwrites the current secret", answer)
        if status == 0:
            t.type("The value (it is not shown): ", VALUE + "-2")
        equal(t.done(), status, t.out)
        s.settled(rid, "ok") if status == 0 else equal(s.status(rid), "pending")
    s.done()


@test("S1-12 S1-44 S1-50 S1-51 S1-52 rotation, by its own tool or by mode: destructive, and clears the approvals of the session",
      seconds=120)
def rotation():
    gated = "secret %s {\n    approve session\n}\n" % PATH
    s = Session(gated, vault=True)
    used = s.ask()
    s.answer("allow", "--session")
    s.settled(used, "session")
    s.works_unasked()
    s.restart()
    first = request(s, "secrets_request_rotation", path=PATH)
    second = request(s, "secrets_request_provision", path=PATH, mode="rotation")
    q = s.question()
    equal((q["kind"], q["request"]), ("rotation", first))
    t = Typist([KENNEL, "approve", "allow", q["id"]], s.env)
    t.type("I understand this overwrites the current secret", "yes")
    t.type("The value (it is not shown): ", VALUE + "-2")
    equal(t.done(), 0, t.out)
    for rid in (first, second):
        s.settled(rid, "ok")
        equal(s.poll(rid)["kind"], "rotation")
    within("one: x", json.dumps(s.asks("allow")), "after the rotation a start asks")
    equal(s.status(s.ask()), "pending", "and so does a request")
    s.done()


@test("six rotations of one path are six ids and one dialog; closing it cancels them all")
def coalesced():
    s = vaulted(value=True)
    ids = [request(s, "secrets_request_rotation", path=PATH) for _ in range(6)]
    equal(len(set(ids)), 6)
    other = request(s, "secrets_request_provision", path=PATH)
    equal([q["kind"] for q in s.questions()], ["rotation", "provision"])
    equal(s.approve("deny", s.questions()[0]["id"])[0], 0)
    for rid in ids:
        s.settled(rid, "cancelled")
    equal(s.status(other), "pending", "another kind")
    equal(s.status(request(s, "secrets_request_rotation", path=PATH)), "pending", "a closed dialog refuses nothing")
    s.done()


@test("S1-104 a server with a process for each call says which secret it lacks, too", seconds=90)
def oneshot():
    s = vaulted(servers=[server("one", more="    secret GH from vault %s\n    oneshot\n" % PATH)], value=True)
    s.secret("grant", PATH, "--server", "one", "--policy", s.h.path)
    equal(s.h.said("one.echo", seconds=LONG, text="x"), "one: x")
    s.secret("lock")
    sock = s.env["KENNEL_HOME"] + "/run/keeper.sock"
    check(wait_for(lambda: not os.path.exists(sock), LONG) is not None, "a locked keeper ends")
    for tool, arguments in (("one.echo", {"text": "x"}), ("tool_invoke", {"name": "one.echo", "arguments": {}})):
        r = s.h.do(tool, arguments)
        equal(refused(r, "vault-locked", PATH), "vault-locked: a person unlocks it: kennel secret unlock")
    s.secret("unlock", "--stdin", stdin=PASSPHRASE)
    # a failed start is tried again after half a second
    check(wait_for(lambda: "isError" not in s.h.do("one.echo", {"text": "x"})["result"], LONG) is not None, "it starts again")
    s.done()


@test("a process of the same user can report a value that was not stored: the agent gets a word, and the server no value; junk "
      "packets end the connection")
def false_report():
    import socket
    import struct

    def packet(s, data):
        c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        c.settimeout(LONG)
        c.connect("%s/run/ask-%d" % (s.env["KENNEL_HOME"], s.h.p.pid))
        c.send(data)
        got = c.recv(100)
        c.close()
        return got

    def text(t):
        return struct.pack("<I", len(t)) + t.encode() + b"\0"

    s = vaulted()
    s.secret("grant", PATH, "--server", "one", "--policy", s.h.path)
    rid = request(s, "secrets_request_provision", path=PATH)
    for junk in (struct.pack("<I", 12), struct.pack("<III", 12, 1, 1), struct.pack("<I", 10), struct.pack("<I", 10) + text(PATH) + b"x", struct.pack("<I", 7) + text(PATH),
                 struct.pack("<I", 10) + text("x" * 600)):
        equal(packet(s, junk), b"", "closed")
    equal(packet(s, struct.pack("<I", 10) + text("team/use/other")), struct.pack("<II", 6, 2), "no such question")
    equal(s.status(rid), "pending")
    equal(packet(s, struct.pack("<I", 10) + text(PATH)), struct.pack("<II", 6, 0))
    s.settled(rid, "ok")
    r = s.h.do("one.echo", {"text": "x"})
    equal(refused(r, "missing-secret", PATH), "missing secret: GH (%s): it is not in the vault" % PATH)
    s.done()


@test("S1-80 S1-96 S1-124 a path whose value comes from another source than the vault: the request fails with the reason")
def elsewhere():
    s = Session(PLAIN + "secret team/env/token {\n}\nsecret team/env/kept {\n}\n")
    with open(s.env["KENNEL_HOME"] + "/sources.kennel", "w") as f:
        f.write("source ci {\n    from env $reference\n}\nroute team/env ci\nsecret team/env/kept vault\n")
    os.chmod(s.env["KENNEL_HOME"] + "/sources.kennel", 0o600)
    for tool in ("secrets_request_provision", "secrets_request_rotation"):
        rid = request(s, tool, path="team/env/token")
        equal(s.poll(rid)["status"], {"kind": "failed", "reason": "values of this path are not kept in kennel's vault"})
    equal(s.questions(), [])
    for path in ("team/env/kept", PATH):
        equal(s.status(request(s, "secrets_request_provision", path=path)), "pending", path)
    s.h.close()
    with open(s.env["KENNEL_HOME"] + "/sources.kennel", "a") as f:
        f.write("default ci\n")
    s.h = Hub(server("two"), env=s.env, args=["--project", s.dir])
    equal(s.status(request(s, "secrets_request_provision", path=PATH)), "failed", "by the default")
    equal(s.status(request(s, "secrets_request_provision", path="team/env/kept")), "pending")
    s.h.close()
    s.h = Hub(*NEEDS, env=s.env, args=["--project", s.dir])
    equal(s.status(request(s, "secrets_request_provision", path=PATH)), "pending", "a policy reads it from the vault")


@test("S1-37 S1-38 S1-39 C4 C24 arguments of provision and rotation: paths, modes, manifests; nothing is echoed")
def value_arguments():
    s = Session(PLAIN, servers=NEEDS)
    pasted = "ghp_" + "a" * 36
    for tool in ("secrets_request_provision", "secrets_request_rotation"):
        wrong(s, tool, {}, "invalid arguments: missing field `path`")
        wrong(s, tool, {"path": 5}, "invalid arguments: `path`: expected a string, found a number")
        wrong(s, tool, {"path": pasted}, "invalid-path: 1 part, at least 3 are needed (<scope>/<provider>/<purpose>)",
              "invalid-path")
        wrong(s, tool, {"path": "__sys/supervisor/log-key"},
              "invalid-path: paths that start with `__` or `_test` are reserved for kennel", "invalid-path")
        r = s.h.do(tool, {"path": "team/use/none"})
        equal(refused(r, "not-found", "team/use/none"), "not-found: team/use/none")
        equal(r["result"]["structuredContent"]["remediation"]["action"], "secrets_propose_new_path")
    for mode in ("", "rotate", "Rotation"):
        wrong(s, "secrets_request_provision", {"path": PATH, "mode": mode},
              "invalid arguments: `mode`: expected provision or rotation, found another string")
    wrong(s, "secrets_request_provision", {"path": PATH, "mode": True},
          "invalid arguments: `mode`: expected a string, found a boolean")
    s.write("secret %s {\n    description\n}\n" % PATH)
    within("merge-failed: secrets.kennel:2:5: ", refused(s.h.do("secrets_request_rotation", {"path": PATH}), "merge-failed"))
    equal(s.questions(), [])


@test("S1-07 S1-103 S1-104 the scenario of source 1: a call lacks a secret, the agent asks, a person types it, the call "
      "succeeds in the same session", seconds=120)
def scenario():
    s = vaulted("required %s\nsecret %s {\n    retrieval-url \"https://example.invalid/tokens\"\n}\n" % (PATH, PATH))
    s.secret("grant", PATH, "--server", "one", "--policy", s.h.path)
    for call in (lambda: s.h.do("one.echo", {"text": "x"}),
                 lambda: s.h.do("tool_invoke", {"name": "one.echo", "arguments": {"text": "x"}})):
        r = call()
        equal(refused(r, "missing-secret", PATH), "missing secret: GH (%s): it is not in the vault" % PATH)
        m = r["result"]["structuredContent"]["remediation"]
        equal((m["actor"], m["action"], m["retryable"]), ("agent", "secrets_request_provision", True))
        equal(r["result"]["_meta"]["kennel/refusal"]["outcome"], "not ready")
    card = s.h.structured("secrets_describe", path=PATH)
    equal((card["retrieval_url"], card["capabilities_hint"]), ("https://example.invalid/tokens", "read"))
    rid = request(s, "secrets_request_provision", path=PATH)
    equal(s.status(rid), "pending")
    t = Typist([KENNEL, "approve", "allow", s.question()["id"]], s.env)
    t.type("The value (it is not shown): ", VALUE)
    equal(t.done(), 0, t.out)
    s.settled(rid, "ok")
    equal(s.h.said("one.echo", seconds=LONG, text="x"), "one: x", "no restart is seen")
    s.restart()
    s.secret("lock")
    sock = s.env["KENNEL_HOME"] + "/run/keeper.sock"
    check(wait_for(lambda: not os.path.exists(sock), LONG) is not None, "a locked keeper ends")
    r = s.h.do("one.echo", {"text": "x"})
    equal(refused(r, "vault-locked", PATH), "vault-locked: a person unlocks it: kennel secret unlock")
    equal(r["result"]["structuredContent"]["remediation"]["actor"], "user")
    s.done()


# ---- metadata -----------------------------------------------------------------------------

@test("S1-13 S1-53 S1-54 S1-55 S1-56 S1-57 S1-58 S1-60 metadata: current from the manifest, proposed from the agent; accepting "
      "changes only those lines", seconds=90)
def metadata():
    s = Session(PLAIN, servers=NEEDS)
    fields = {"description": "Updated \u00fc \"x\"", "retrieval_url": "https://example.invalid/new-url", "rotate_every_days": 60,
              "expires_at": "2037-01-01", "pattern_id": "github-pat"}
    rid = request(s, "secrets_propose_metadata", path=PATH, fields=fields)
    q = s.question()
    equal((q["kind"], q["subject"], q["request"]), ("metadata", PATH, rid))
    detail = json.loads(q["detail"])
    equal(detail["current"], {"description": "of the team", "retrieval_url": None, "rotate_every_days": None,
                              "expires_at": None, "pattern_id": None})
    equal((detail["proposed"], detail["project"]), (fields, s.dir))
    equal(s.poll(rid)["kind"], "metadata-proposal")
    equal(s.approve("allow", q["id"], "--as", "team/use/other")[0], 64)
    equal(s.approve("allow", q["id"])[0], 0)
    s.settled(rid, "ok")
    equal(manifest(s), "required %s\nsecret %s {\n    description \"Updated \u00fc \\\"x\\\"\"  # a note\n"
          "    retrieval-url \"https://example.invalid/new-url\"\n    pattern github-pat\n    rotate-every 60d\n"
          "    expires 2037-01-01\n}\n" % (PATH, PATH))
    card = s.h.structured("secrets_describe", path=PATH)
    equal({k: card[k] for k in fields}, fields, "the next call reads it")
    wrong(s, "secrets_propose_metadata", {"path": PATH, "fields": fields},
          "invalid arguments: `fields` changes nothing: the manifest already contains it")
    rid = request(s, "secrets_propose_metadata", path=PATH, fields={"expires_at": None})
    equal(json.loads(s.question()["detail"])["proposed"], {"expires_at": None})
    s.answer("allow")
    s.settled(rid, "ok")
    absent("expires", manifest(s))
    rid = request(s, "secrets_propose_metadata", path=PATH, fields={"description": "no"})
    s.answer("deny")
    s.settled(rid, "cancelled")
    absent("\"no\"", manifest(s))


@test("S1-59 S1-60 S1-61 two proposals for one path are two dialogs, equal ones are one; text that pretends to be another "
      "field stays data")
def pretending():
    s = Session(PLAIN, servers=NEEDS)
    trick = "x\" } secret team/use/evil { approve never } # \\"
    ids = [request(s, "secrets_propose_metadata", path=PATH, fields={"description": d}) for d in (trick, "b", trick)]
    qs = s.questions()
    equal([json.loads(q["detail"])["proposed"]["description"] for q in qs], [trick, "b"])
    equal([q["subject"] for q in qs], [PATH, PATH])
    equal(s.approve("allow", qs[0]["id"])[0], 0)
    s.settled(ids[0], "ok")
    s.settled(ids[2], "ok")
    equal(s.status(ids[1]), "pending")
    equal(s.h.structured("secrets_describe", path=PATH)["description"], trick)
    equal(listed(s), [PATH], "no other path")


@test("a manifest that has changed since it was shown: nothing is written, and the question is shown again", seconds=90)
def changed():
    s = Session(PLAIN, servers=NEEDS)
    rid = request(s, "secrets_propose_metadata", path=PATH, fields={"description": "new"})
    q = s.question()
    s.write(PLAIN.replace("of the team", "of another team"))
    code, _, err = s.approve("allow", q["id"])
    equal(code, 125, err)
    within("has changed since", err)
    within("of another team", manifest(s))
    check(wait_for(lambda: [x["id"] for x in s.questions()] not in ([], [q["id"]]), LONG) is not None, "it is asked again")
    again = s.question()
    equal(json.loads(again["detail"])["current"]["description"], "of another team")
    equal((again["request"], s.status(rid)), (rid, "pending"))
    equal(s.approve("allow", q["id"])[0], 1, "the old one is over")
    equal(s.approve("allow", again["id"])[0], 0)
    s.settled(rid, "ok")
    within("description \"new\"", manifest(s))
    # a path that is gone cannot be changed
    rid = request(s, "secrets_propose_metadata", path=PATH, fields={"description": "newer"})
    q = s.question()
    s.write("")
    equal(s.approve("allow", q["id"])[0], 125)
    s.settled(rid, "failed")
    equal(s.poll(rid)["status"]["reason"], "the project does not declare it any more")


@test("links, foreign owners and other names of the manifest are refused, and the request stays open", seconds=90)
def links():
    s = Session(PLAIN, servers=NEEDS)
    at, aside = s.dir + "/.kennel/secrets.kennel", s.dir + "/aside"
    rid = request(s, "secrets_propose_metadata", path=PATH, fields={"description": "new"})
    os.rename(at, aside)
    os.symlink(aside, at)
    code, _, err = s.approve("allow", s.question()["id"])
    equal((code, "link" in err), (125, True), err)
    os.unlink(at)
    os.link(aside, at)
    code, _, err = s.approve("allow", s.question()["id"])
    equal((code, "is a link" in err), (125, True), err)
    os.unlink(at)
    os.rename(aside, at)
    if os.geteuid() == 0:
        os.chown(s.dir + "/.kennel", 61998, 61998)
        equal(s.approve("allow", s.question()["id"])[0], 125)
        os.chown(s.dir + "/.kennel", 0, 0)
    equal((reads(at).decode(), s.status(rid)), (PLAIN, "pending"))
    equal(s.approve("allow", s.question()["id"])[0], 0, "control")
    s.settled(rid, "ok")


@test("of a secret of the index, each value is changed where it comes from")
def index():
    s = Session("required %s\noverride %s {\n    rotate-every 9d\n}\n" % (PATH, PATH), servers=NEEDS)
    personal = s.env["KENNEL_HOME"] + "/secrets.kennel"
    with open(personal, "w") as f:
        f.write("secret %s {\n    description \"mine\"\n}\n" % PATH)
    os.chmod(personal, 0o600)
    rid = request(s, "secrets_propose_metadata", path=PATH, fields={"description": "ours", "rotate_every_days": 8})
    s.answer("allow")
    s.settled(rid, "ok")
    equal(manifest(s), "required %s\noverride %s {\n    rotate-every 8d\n}\n" % (PATH, PATH))
    equal(reads(personal).decode(), "secret %s {\n    description \"ours\"\n}\n" % PATH)
    equal(os.stat(personal).st_mode & 0o777, 0o600)


# ---- new paths ----------------------------------------------------------------------------

@test("S1-14 S1-62 S1-63 S1-64 S1-65 a new path: the person may choose the name; the manifest is made if there is none",
      seconds=90)
def new_path():
    s = Session(PLAIN, servers=NEEDS)
    os.unlink(s.dir + "/.kennel/secrets.kennel")
    os.rmdir(s.dir + "/.kennel")
    equal(listed(s), [])
    fields = {"description": "Newly discovered", "pattern_id": "github-pat", "retrieval_url": "https://example.invalid/t",
              "rotate_every_days": 90, "expires_at": None}
    rid = request(s, "secrets_propose_new_path", suggested_path="team/new/token", metadata=fields)
    q = s.question()
    equal((q["kind"], q["subject"], q["server"]), ("new-path", "team/new/token", "kennel serve"))
    detail = json.loads(q["detail"])
    equal((detail["current"], detail["proposed"], detail["servers"]), (None, fields, []))
    for bad in ("team/new", "team/New/token", "__sys/a/b"):
        equal(s.approve("allow", q["id"], "--as", bad)[0], 64, bad)
    equal(s.approve("allow", q["id"], "--as", "team/mine/token")[0], 0)
    s.settled(rid, "ok")
    equal((s.poll(rid)["path"], s.poll(rid)["kind"]), ("team/new/token", "new-path-proposal"), "as it was asked")
    equal(listed(s), ["team/mine/token"])
    card = s.h.structured("secrets_describe", path="team/mine/token")
    equal({k: card[k] for k in fields}, fields)
    equal(manifest(s), "required team/mine/token\nsecret team/mine/token {\n    description \"Newly discovered\"\n"
          "    retrieval-url \"https://example.invalid/t\"\n    pattern github-pat\n    rotate-every 90d\n}\n")


@test("a new path that exists is shown with its current metadata, and accepting changes those; a chosen name that exists is "
      "refused")
def new_path_exists():
    s = Session(PLAIN + "secret team/use/other {\n}\n", servers=NEEDS)
    rid = request(s, "secrets_propose_new_path", suggested_path=PATH, metadata={"description": "new"})
    q = s.question()
    equal(json.loads(q["detail"])["current"]["description"], "of the team")
    equal(s.approve("allow", q["id"], "--as", "team/use/third")[0], 64)
    equal(s.approve("allow", q["id"])[0], 0)
    s.settled(rid, "ok")
    equal(manifest(s), PLAIN.replace("of the team", "new") + "secret team/use/other {\n}\n")
    rid = request(s, "secrets_propose_new_path", suggested_path="team/use/new", metadata={})
    code, _, err = s.approve("allow", s.question()["id"], "--as", "team/use/other")
    equal((code, "declares team/use/other already" in err), (125, True), err)
    s.answer("deny")
    s.settled(rid, "cancelled")


@test("S1-55 S1-63 arguments of proposals: each field by its rule, unknown ones refused, no value echoed")
def proposal_arguments():
    s = Session(PLAIN, servers=NEEDS)
    bad = "invalid arguments: "
    for tool, base, name in (("secrets_propose_metadata", {"path": PATH}, "fields"),
                             ("secrets_propose_new_path", {"suggested_path": "team/use/new"}, "metadata")):
        wrong(s, tool, base, bad + "missing field `%s`" % name)
        wrong(s, tool, dict(base, **{name: []}), bad + "`%s`: expected an object, found an array" % name)
        wrong(s, tool, dict(base, **{name: {"value": "x"}}),
              bad + "`%s`: unknown field, expected one of description, retrieval_url, rotate_every_days, expires_at, "
              "pattern_id" % name)
        for fields, text in (
                ({"description": 5}, "`description`: expected a string, found a number"),
                ({"description": None}, "`description`: expected a string, found null"),
                ({"description": "x" * 513}, "`description` is longer than 512 bytes"),
                ({"description": ""}, "`description` is empty"),
                ({"description": "a\u202eb"}, "`description` has a control character, or one that is not seen"),
                ({"description": "a\nb"}, "`description` has a control character, or one that is not seen"),
                ({"retrieval_url": "http://x.example"}, "`retrieval_url`: expected an https:// URL without a user name"),
                ({"retrieval_url": "https://u:p@x.example"}, "`retrieval_url`: expected an https:// URL without a user name"),
                ({"rotate_every_days": 0}, "`rotate_every_days` must be 1 or more"),
                ({"rotate_every_days": 3651}, "`rotate_every_days`: expected a number from 1 to 3650"),
                ({"rotate_every_days": "60"}, "`rotate_every_days`: expected an integer, found a string"),
                ({"rotate_every_days": None}, "`rotate_every_days`: expected an integer, found null"),
                ({"expires_at": "tomorrow"}, "`expires_at`: expected a date, YYYY-MM-DD, or null"),
                ({"expires_at": "2037-02-29"}, "`expires_at`: expected a date, YYYY-MM-DD, or null"),
                ({"pattern_id": "none"}, "`pattern_id`: expected the name of a known token format")):
            wrong(s, tool, dict(base, **{name: fields}), bad + text)
    wrong(s, "secrets_propose_metadata", {"path": PATH, "fields": {}},
          bad + "`fields` changes nothing: the manifest already contains it")
    wrong(s, "secrets_propose_metadata", {"path": "team/use/none", "fields": {"description": "x"}},
          "not-found: team/use/none", "not-found", "team/use/none")
    wrong(s, "secrets_propose_new_path", {"suggested_path": "a/b", "metadata": {}},
          "invalid-path: 2 parts, at least 3 are needed (<scope>/<provider>/<purpose>)", "invalid-path")
    equal(s.questions(), [])


if __name__ == "__main__":
    main()
