"""The only kind of image that a report holds: a PNG in base64, of bounded size."""

from __future__ import annotations

import base64
import binascii
import struct

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = struct.Struct(">8sI4sII")

MOST_PIXELS = 4_000_000
"""Pixels of an image: whoever looks at it needs a few bytes for each, however small the file is."""

MOST_EXTENT = 8192


def image_size(text: str) -> tuple[int, int] | None:
    """Return width and height in pixels of a PNG in base64; None for anything else.

    The base64 is read strictly: one line, padded, nothing but its alphabet. Nothing is decoded but
    the header, so the rest may be damaged; a program that shows it as an image shows none then.
    """
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(content) < _HEADER.size:
        return None
    signature, length, kind, width, height = _HEADER.unpack_from(content)
    if (signature, length, kind) != (_SIGNATURE, 13, b"IHDR"):
        return None
    is_bounded = 0 < width <= MOST_EXTENT and 0 < height <= MOST_EXTENT
    return (width, height) if is_bounded and width * height <= MOST_PIXELS else None
