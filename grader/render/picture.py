"""A small grey picture on a terminal, in shades, two of its lines in one line of text."""

from __future__ import annotations

import base64
import binascii
import struct
import zlib

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

_SHADES, _ASCII_SHADES = " ░▒▓█", " .:*#"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY = struct.pack(">BBBBB", 8, 0, 0, 0, 0)
MOST_EXTENT = 64
"""Lines and columns of pixels that a picture has at most."""

Pixels = tuple[bytes, ...]


class Picture:
    """Draws the lines of pixels: 0 is a space, 255 the darkest shade."""

    def __init__(self, pixels: Pixels) -> None:
        self.pixels = pixels

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shades = _ASCII_SHADES if options.ascii_only else _SHADES
        for upper, lower in zip(self.pixels[::2], self.pixels[1::2], strict=False):
            means = ((one + other) // 2 for one, other in zip(upper, lower, strict=True))
            yield Text("".join(shades[(4 * mean + 200) // 255] for mean in means), no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(len(self.pixels[0]), len(self.pixels[0]))


def read_picture(image: str) -> Pixels | None:
    """Return the lines of a PNG in base64, None where it is not as this grader writes them.

    That is: eight bits of grey, not interlaced, no line filtered, at most `MOST_EXTENT` each way.
    """
    try:
        png = base64.b64decode(image, validate=True)
    except (binascii.Error, ValueError):
        return None
    if png[:8] != _SIGNATURE or png[12:16] != b"IHDR" or png[24:29] != _GREY:
        return None
    columns, lines = struct.unpack(">II", png[16:24])
    if not (2 <= columns <= MOST_EXTENT and 2 <= lines <= MOST_EXTENT):
        return None
    length = lines * (columns + 1)
    content = _inflated(png, length)
    starts = range(0, length, columns + 1)
    if len(content) != length or any(content[start] for start in starts):
        return None
    return tuple(content[start + 1 : start + 1 + columns] for start in starts)


def _inflated(png: bytes, length: int) -> bytes:
    """Return at most `length` bytes of the first chunk of pixels; none where it is damaged."""
    size = int.from_bytes(png[33:37], "big")
    if png[37:41] != b"IDAT":
        return b""
    try:
        return zlib.decompressobj().decompress(png[41 : 41 + size], length)
    except zlib.error:
        return b""
