"""Sentences of the report: what stands between backquotes is code."""

from __future__ import annotations

import re

_CODE = re.compile(r"`([^`\n]+)`")

MOST = 20
"""Pieces of code that are set as such in one text."""


def spans(text: str) -> list[tuple[bool, str]]:
    """Return the pieces of a text, and whether each of them is code."""
    pieces = _CODE.split(text, maxsplit=MOST)
    return [(place % 2 == 1, piece) for place, piece in enumerate(pieces) if piece]
