"""Sessions of odd_server.py for the tests."""
import base64
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import serve_kit  # noqa: E402
from serve_kit import PYTHON  # noqa: E402,F401
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import kennel_run, words  # noqa: E402

ODD = os.path.dirname(os.path.abspath(__file__)) + "/odd_server.py"


def command(**config):
    return [PYTHON, "-u", ODD, base64.b64encode(json.dumps(config).encode()).decode()]


def body(more="", tools="tool allow *", **config):
    return "    run %s\n    read %s\n    %s\n%s" % (words(*command(**config)), words(os.path.dirname(ODD)), tools, more)


def served(name, more="", how=None, **config):
    """kennel serve of one such server; how: of the client."""
    return serve_kit.Hub("server %s {\n%s}\n" % (name, body(more, **config)), **(how or {}))


def raw_session(more="", tools="tool allow *", **config):
    return kennel_run(body(more, tools, **config))
