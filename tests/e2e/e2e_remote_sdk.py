"""S2-24 S3-05: the official client with an official server over HTTP, directly and through kennel."""
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
from e2e_sdk import ALLOW, SERVERS, need_node, same, session  # noqa: E402

TESTS.clear()  # those of e2e_sdk


def listening():
    """server-everything over HTTP, never as root: its URL."""
    need_node()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    how = ["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"] if os.geteuid() == 0 else []
    start(how + [NODE, SERVERS % "everything", "streamableHttp"], env=environment({"PORT": str(port)}), stdin=subprocess.DEVNULL,
          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")

    def there():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0
    check(wait_for(there, 20) is not None, "the server does not listen")
    return "http://localhost:%d/mcp" % port


@test("server-everything over HTTP: tools, resources, prompts, progress, sampling, elicitation, levels, as without kennel", seconds=120)
def everything():
    url = listening()
    plan = {"capabilities": {"sampling": {}, "elicitation": {}}, "steps": [
        {"do": "tools"}, {"do": "resources"}, {"do": "templates"}, {"do": "prompts"}, {"do": "ping"},
        {"do": "call", "name": "echo", "arguments": {"message": "x" * 20000 + "äöü \" \\ "}},
        {"do": "call", "name": "get-sum", "arguments": {"a": 2, "b": 3}},
        {"do": "call", "name": "get-tiny-image"},
        {"do": "call", "name": "get-structured-content", "arguments": {"location": "New York"}},
        {"do": "call", "name": "trigger-long-running-operation", "arguments": {"duration": 1, "steps": 4}, "progress": True},
        {"do": "call", "name": "trigger-sampling-request", "arguments": {"prompt": "p", "maxTokens": 7}},
        {"do": "call", "name": "trigger-elicitation-request"},
        {"do": "call", "name": "no-such-tool"},
        {"do": "prompt", "name": "simple-prompt"},
        {"do": "level", "level": "debug"}]}
    a = session(plan, [url])
    check(sum(1 for x in a["results"] if "error" not in x) > 10, a["results"])
    p = policy("    remote %s to loopback\n%s" % (url, ALLOW), name="everything")
    same(a, session(plan, [KENNEL, "run", "everything", "--policy", p]))


if __name__ == "__main__":
    main()
