"""Prints each variable that it is given in every form that docs/TRUST.md claims, one in
a line, cut at many places (e2e_scrub.py).

    encoders.py CUTS VARIABLE...

A piece is written when the one before it has been read.
"""
import base64
import fcntl
import html
import json
import os
import quopri
import struct
import sys
import termios
import time
import urllib.parse


def hexes(between, form="%02x"):
    return lambda b: between.join(form % c for c in b).encode()


def wide(order, cut=False):
    def encode(b):
        w = b.decode().encode("utf-16-" + order)
        return w[:-1] if cut and w[-1:] == b"\0" else w
    return encode


def columns(b, line="\n"):
    t = base64.b64encode(b).decode()
    return line.join(t[i:i + 76] for i in range(0, len(t), 76)).encode()


def json_in(times):
    def encode(b):
        t = b.decode()
        for _ in range(times):
            t = json.dumps(t)[1:-1]
        return t.encode()
    return encode


def named(b):
    names = {ord(c): "&%s;" % n for n, c in (
        ("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", '"'), ("apos", "'"), ("num", "#"), ("excl", "!"),
        ("dollar", "$"), ("plus", "+"), ("equals", "="), ("commat", "@"), ("eacute", "\u00e9"),
        ("uuml", "\u00fc"), ("szlig", "\u00df"), ("euro", "\u20ac"), ("bsol", "\\"), ("NewLine", "\n"))}
    return b.decode().translate(names).encode()


FORMS = {
    "as it is": lambda b: b,
    "JSON": json_in(1), "JSON in JSON": json_in(2), "JSON in JSON in JSON": json_in(3),
    "units of JSON": lambda b: "".join("\\u%04x" % c for c in struct.unpack(
        "<%dH" % (len(b.decode().encode("utf-16-le")) // 2), b.decode().encode("utf-16-le"))).encode(),
    "base64": base64.b64encode, "base64, moved by one": lambda b: base64.b64encode(b"u" + b + b"xyz"),
    "base64, moved by two": lambda b: base64.b64encode(b"u:" + b + b"xyz"),
    "base64url": base64.urlsafe_b64encode, "base64 in columns": columns, "base32": base64.b32encode,
    "hex": hexes(""), "HEX": hexes("", "%02X"), "hex, colons": hexes(":"), "hex, blanks": hexes(" "),
    "hex in C": hexes(", ", "0x%02x"), "hex, semicolons": hexes(";"), "hex, bars": hexes("|"),
    "hex in strings": lambda b: json.dumps(["%02x" % c for c in b]).encode(),
    "hex in escapes": hexes("", "\\x%02x"),
    "percent": lambda b: urllib.parse.quote(b, safe="").encode(),
    "percent, all": hexes("", "%%%02X"),
    "percent twice": lambda b: urllib.parse.quote(urllib.parse.quote(b, safe=""), safe="").encode(),
    "entities": lambda b: html.escape(b.decode()).encode(),
    "entities, all": lambda b: "".join("&#%d;" % ord(c) for c in b.decode()).encode(),
    "entities of bytes": hexes("", "&#%d;"), "entities in hex of bytes": hexes("", "&#x%x;"),
    "entities, open": hexes("", "&#%d"), "entities by name": named,
    "quoted-printable": lambda b: quopri.encodestring(b, quotetabs=True).replace(b"\n\n", b"\n"),
    "UTF-16LE": wide("le"), "UTF-16BE": wide("be"), "UTF-16LE, cut": wide("le", True),
    "base64 of UTF-16LE": lambda b: base64.b64encode(wide("le")(b)),
    "base64 of UTF-16BE": lambda b: base64.b64encode(wide("be")(b)),
    "base64url of UTF-16LE": lambda b: base64.urlsafe_b64encode(wide("le")(b)),
    "base64url of UTF-16BE": lambda b: base64.urlsafe_b64encode(wide("be")(b)),
    "reversed": lambda b: b[::-1], "reversed by characters": lambda b: b.decode()[::-1].encode(),
}


DEEPEST = "JSON in JSON in JSON"


def read_by_now():
    """All that was written has been read; the control's reader may not be a pipe's."""
    end = time.time() + 5
    while struct.unpack("i", fcntl.ioctl(1, termios.FIONREAD, b"\0" * 4))[0] and time.time() < end:
        os.sched_yield()


def put(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view[:60000]):]


def lines(names):
    """What is printed: its name, and the bytes."""
    for var in names:
        value = os.environb[var.encode()]
        for form, encode in FORMS.items():
            said = encode(value)
            if b"\n" not in said:
                yield "%s %s" % (var, form), said
            if form == DEEPEST:
                continue
            try:  # as what MCP carries: a string of JSON
                yield "%s %s, in JSON" % (var, form), json.dumps(said.decode()).encode()
            except UnicodeDecodeError:
                pass


def main():
    for name, said in lines(sys.argv[2:]):
        whole = b"<" + said + b">\n"
        step = max(1, len(whole) // int(sys.argv[1]))
        for cut in range(1, len(whole), step):
            read_by_now()
            put(name.encode() + b"\t" + whole[:cut])
            read_by_now()
            put(whole[cut:])


if __name__ == "__main__":
    main()
