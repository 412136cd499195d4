"""The text of code that a notebook showed coloured: what `mod.show()` and `sch.show()` display.

TVM colours it by Pygments, and displays the HTML of that alone. It came from a student's process
and may be any HTML. So it is read by a grammar with nothing in it but what Pygments writes: of
anything else there is no text. No tag of it gets any further.
"""

from __future__ import annotations

import html
import re
from typing import Final

LONGEST_MARKUP: Final = 400_000
"""Longest HTML that is read, in characters: of 10,000 characters of code TVM makes 60,000."""

_STYLE = r'(?: style="[^"<>&]{0,200}")?'
_HEAD = re.compile(rf'\s{{0,9}}<div class="highlight"{_STYLE}><pre{_STYLE}>')
_END = re.compile(r"</pre></div>\s{0,9}\Z")
_TOKEN = re.compile(rf"(?P<open><span{_STYLE}>)|(?P<close></span>)|[^<&]+|&(?:amp|lt|gt|quot|#39);")


def listed_code(markup: object) -> str | None:
    """Return the code in HTML as Pygments writes it with styles of its own, None for other HTML."""
    if not isinstance(markup, str) or len(markup) > LONGEST_MARKUP:
        return None
    head, end = _HEAD.match(markup), _END.search(markup, max(0, len(markup) - 21))
    if head is None or end is None:
        return None
    return _text(markup, head.end(), end.start())


def _text(markup: str, place: int, end: int) -> str | None:
    """Return the text between two places, None where there is anything but it and its colours."""
    pieces, is_open = [], False
    while place < end:
        token = _TOKEN.match(markup, place, end)
        if token is None or (token["open"] and is_open) or (token["close"] and not is_open):
            return None  # Pygments never nests its colours
        if token.lastgroup is None:
            pieces.append(token[0])
        else:
            is_open = token.lastgroup == "open"
        place = token.end()
    return None if is_open else html.unescape("".join(pieces)).rstrip("\n")
