"""The network of a cell on machines of other kinds: without IPv6, with public
addresses of their own, with a search list."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../lib")
from kit import *  # noqa: E402,F403
import world  # noqa: E402
from net_kit import HELLO, NAMES, probe, recorded  # noqa: E402

OWN4 = "9.8.6.5"     # a public address of the machine itself
PLACES = dict(NAMES, **{
    "own4.test.example": [OWN4], "own6.test.example": [world.NEAR6], "only6.test.example": ["2a00:aa::10"],
})
RESET = (["", "ECONNRESET"], "error ECONNRESET")


def tcp(name, port):
    return ["tcp", name + ".test.example", port, "x"]


@test("IPv6 disabled: a name with both kinds of address is reached by IPv4 at once, one with IPv6 alone is refused")
def disabled():
    four = world.Server("9.8.7.10", 7100, world.hello)
    near = world.Server("127.0.0.1", 0, world.hello, there=False)
    off = "/proc/sys/net/ipv6/conf/all/disable_ipv6"
    try:
        with open(off, "w") as f:
            f.write("1")
        t0 = time.time()
        got = probe("net allow six.test.example:7100 plain", tcp("six", 7100), ["own", "::1"])
        check(time.time() - t0 < 5, "it waited for an address that cannot be reached")
        equal(got, [[HELLO + "x", "end"], "to myself"])
        got = probe("net allow only6.test.example:7100 plain\nnet allow localhost:%d to loopback plain" % near.port,
                    tcp("only6", 7100), ["tcp", "localhost", near.port, "x"])
        check(got[0] in RESET, got)
        equal(got[1], [HELLO + "x", "end"])
        recorded(action="close", name="six.test.example", address="9.8.7.10")
    finally:
        with open(off, "w") as f:
            f.write("0")
        world.alter("addr replace %s/64 dev kt0 nodad" % world.NEAR6, "addr replace ::1/128 dev lo",
                    "route replace default via " + world.ROUTER6)
        four.close()
        near.close()


@test("a machine's own public addresses, IPv4 and IPv6, are not dialled; `to` with the address opens one")
def own_public():
    world.alter("addr add %s/32 dev kt0" % OWN4)
    servers = [world.Server(a, 7101, world.hello, there=False) for a in (OWN4, world.NEAR6)]
    try:
        names = ("own4", "own6")
        got = probe("net allow own4.test.example:7101 own6.test.example:7101 plain", *[tcp(n, 7101) for n in names])
        check(all(x in RESET for x in got), got)
        for n in names:
            recorded(verdict="deny", name=n + ".test.example", port=7101)
        equal([s.accepted for s in servers], [0, 0])
        got = probe("net allow own4.test.example:7101 to %s/32 plain" % OWN4, tcp("own4", 7101))
        equal(got, [[HELLO + "x", "end"]])  # the control: it can be reached
    finally:
        world.alter("addr del %s/32 dev kt0" % OWN4)
        for s in servers:
            s.close()


@test("a search list: a granted name that does not exist is not looked for below another domain")
def search():
    s = world.Server("9.8.7.12", 7102, world.hello)
    r = world.Resolver({"there.example": ["9.8.7.12"], "there.example.corp.example": ["9.8.7.12"],
                        "gone.example.corp.example": ["9.8.7.12"]})
    path = TMP + "/world.resolv.conf"
    with open(path) as f:
        before = f.read()
    try:
        with open(path, "w") as f:
            f.write("search corp.example\noptions ndots:3\n" + before)
        got = probe("net allow there.example:7102 gone.example:7102 plain",
                    ["tcp", "there.example", 7102, "x"], ["tcp", "gone.example", 7102, "x"])
        equal(got[0], [HELLO + "x", "end"])
        check(got[1] in RESET, got)
        equal({n for n in r.asked if n.endswith("corp.example")}, set())
        equal(s.accepted, 1)
    finally:
        with open(path, "w") as f:
            f.write(before)
        r.close()
        s.close()


if __name__ == "__main__":
    world.enter(PLACES)
    try:
        main()
    finally:
        world.leave()
