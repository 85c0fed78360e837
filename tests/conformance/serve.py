#!/usr/bin/env python3
"""Is kennel serve, with several servers, what each of them is alone?  As run.py, but

    suite -- HTTP --> supergateway -- stdio --> names.py --> kennel serve --> fixture
                                                                         \\--> other, third

Then the official client in its modes and the Inspector's command line.  names.py adds and
removes `fixture__`.  A check may end better behind kennel, which answers for what a server
lacks, never worse; a step of a client differs only as `plain` says.

    tests/conformance/serve.py [VERSION...]     default: 2025-11-25 and 2026-07-28
"""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clients as sdk  # noqa: E402
import inspector  # noqa: E402
import run  # noqa: E402

GRANTS = """    tool allow *
    resource allow *
    prompt allow *
    sampling allow
    elicitation allow
    roots allow
    timeout start 30s
"""


def server(name, version):
    """An agent of 2026-07-28 goes on in another process: nothing may be held in the first."""
    era = "--modern" if version in ("auto", "modern", "2026-07-28") else ""
    return "server %s {\n    run %s %s %s\n    read %s\n%s}\n" % (name, run.NODE, run.FIXTURE, era, run.PLACE, GRANTS)


def clients(bare, behind):
    """The official client in each of its modes: the same results, questions and progress."""
    bad = 0
    for mode in sdk.MODES:
        a, b = sdk.session(mode, bare), sdk.session(mode, behind(mode))
        rows = list(zip(a.get("results", []), b.get("results", [])))
        differ = [(x, y) for x, y in rows if plain(x) != plain(y)]
        same = rows and not differ and len(a["results"]) == len(b["results"]) and a["asked"] == b["asked"]
        bad += not same
        print("%s - serve, client 2.4.0, %s: %s, %d steps" % (
            "ok" if same else "not ok", mode, b.get("version", b.get("failed")), len(b.get("results", []))))
        for x, y in differ:
            print("#   bare  %s\n#   serve %s" % (json.dumps(plain(x))[:400], json.dumps(plain(y))[:400]))
        if a.get("asked") != b.get("asked"):
            print("#   asked: bare %s, serve %s" % (a.get("asked"), b.get("asked")))
    return bad


def plain(result):
    """Without what says who answered, in which order lists are, and how long they may be kept."""
    if isinstance(result, list):
        items = [plain(x) for x in result]
        return sorted(items, key=lambda x: json.dumps(x, sort_keys=True)) if all(isinstance(x, dict) for x in items) else items
    if isinstance(result, dict):
        if result.get("step") == "none":  # an unknown tool is a result that the model reads
            return {"step": "none", "failed": "error" in result or result["result"].get("isError", False)}
        if result.get("step") == "missing":  # kennel answers, in words of its own
            return {"step": "missing", "code": result.get("error", {}).get("code")}
        return {k: plain(v) for k, v in result.items() if k not in ("_meta", "ttlMs", "cacheScope")}
    return result


def body(place):
    bare = "%s %s" % (run.NODE, run.FIXTURE)

    def behind(version):
        policy = place.seal("three-" + version, "\n".join(server(n, version) for n in ("fixture", "other", "third")))
        return "python3 %s/names.py fixture %s serve --policy %s --expose fixture.*" % (run.HERE, run.KENNEL, policy)
    for version in sys.argv[1:] or run.FROZEN:
        place.differ += run.compare(version, *place.judge(version, bare=bare, serve=behind(version)), better=True)
    place.differ += clients(bare, behind)
    place.differ += inspector.compare(bare, behind, place.env, plain)
    place.differ += inspector.portable("%s serve" % run.KENNEL, place.env)


if __name__ == "__main__":
    sys.exit(run.compared("conformance of serve", body))
