"""A picture with a palette: a PNG of 8 bits a pixel in place of one of 24 or 32."""
import collections
import struct
import zlib

MAGIC = b"\x89PNG\r\n\x1a\n"


def chunks(data):
    at = len(MAGIC)
    while at < len(data):
        n, = struct.unpack(">I", data[at:at + 4])
        yield data[at + 4:at + 8], data[at + 8:at + 8 + n]
        at += 12 + n


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def rows(data, width, size):
    """Each row of pixels, without its filter (PNG, section 9)."""
    stride, last = width * size, bytes(width * size)
    for at in range(0, len(data), stride + 1):
        kind, row = data[at], bytearray(data[at + 1:at + 1 + stride])
        if kind == 1:
            for i in range(size, stride):
                row[i] = (row[i] + row[i - size]) & 255
        elif kind == 2:
            row = bytearray((a + b) & 255 for a, b in zip(row, last))
        elif kind == 3:
            for i in range(stride):
                row[i] = (row[i] + (((row[i - size] if i >= size else 0) + last[i]) >> 1)) & 255
        elif kind == 4:
            for i in range(stride):
                a, c = (row[i - size], last[i - size]) if i >= size else (0, 0)
                row[i] = (row[i] + paeth(a, last[i], c)) & 255
        last = bytes(row)
        yield last


def colours(counts):
    """The 256 most frequent colours, and for each colour the place of the nearest of them."""
    palette = [c for c, _ in counts.most_common(256)]
    place = {c: i for i, c in enumerate(palette)}
    for c in counts:
        if c not in place:
            place[c] = min(range(len(palette)), key=lambda i: sum((x - y) ** 2 for x, y in zip(palette[i], c)))
    return palette, place


def with_palette(data):
    head, body = None, b""
    for kind, content in chunks(data):
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", content)
        elif kind == b"IDAT":
            body += content
    width, height, depth, colour, _, _, interlace = head
    size = {2: 3, 6: 4}[colour]
    assert (depth, interlace) == (8, 0)
    pixels = [list(zip(r[0::size], r[1::size], r[2::size])) for r in rows(zlib.decompress(body), width, size)]
    counts = collections.Counter()
    for row in pixels:
        counts.update(row)
    palette, place = colours(counts)
    out = b"".join(b"\0" + bytes(map(place.__getitem__, row)) for row in pixels)
    return MAGIC + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(
        b"PLTE", b"".join(bytes(c) for c in palette)) + chunk(b"IDAT", zlib.compress(out, 9)) + chunk(b"IEND", b"")
