#!/usr/bin/python3 -I
"""A plugin that answers for secrets out of a JSON file: docs/PROTOCOL.plugin, acted out.

    ACME_STORE    the file: {"token": what a client logs in with, or null,
                  "values": {reference: value}}
    ACME_FAULT    what it does wrong, for tests: exit, junk or hang, at the first `get`
"""
import json
import os
import sys

READ = 1  # capabilities_bits


class Refused(Exception):
    """Told to the client by its kind, one of those that the protocol has."""


def init(store, params):
    if params.get("protocol_version") != 1:
        raise Refused("other")
    if store["token"] is not None and params["credentials"].get("ACME_TOKEN") != store["token"]:
        raise Refused("needs-credential")
    return {"protocol_version": 1, "name": "acme", "version": "1.0", "capabilities_bits": READ}


def is_available(store, params):
    return {"available": True}


def get(store, params):
    fault = os.environ.get("ACME_FAULT")
    if fault == "exit":
        sys.exit(3)
    if fault == "junk":
        sys.stdout.write(store["values"][params["reference"]] + "\n")
        sys.stdout.flush()
    if fault:
        sys.stdin.read()
    if params["reference"] not in store["values"]:
        raise Refused("bad-reference")
    return {"value": store["values"][params["reference"]]}


METHODS = {"secret_source.init": init, "secret_source.is_available": is_available, "secret_source.get": get}


def main():
    try:
        with open(os.environ["ACME_STORE"]) as f:
            store = json.load(f)
    except (KeyError, OSError, ValueError):
        store = None
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            if store is None:
                raise Refused("unavailable")
            method = METHODS.get(request["method"])
            if method is None:
                raise Refused("unsupported-capability")
            answer["result"] = method(store, request["params"])
        except Refused as kind:
            # the message is for the author: kennel tells the kind alone
            answer["error"] = {"code": -32000, "message": "refused", "data": {"kind": str(kind)}}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
