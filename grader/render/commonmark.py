"""Foreign text in Markdown: it stays text, whatever characters it has.

Escapes are those of CommonMark 0.31, section 2.4: a backslash before ASCII punctuation. What GitHub
makes of text beyond that (mentions, references to issues, emoji, addresses without brackets) has no
escape; a space without width breaks it up.
"""

from __future__ import annotations

import re

from grader.language import Text
from grader.render.wording import one_line, plain

_MARKUP = re.compile(r"[\\`*_\[\]<>&|~$#]")
_AT_LINE_START = re.compile(r"^(?:[-+=]|\d+(?=[.)](?:\s|$)))")
_REFERENCE = re.compile(r"(?:(?<=[@#])|(?<=GH-))(?=\w)|(?<=www)(?=\.)|(?<=:)(?=//)", re.IGNORECASE)
_EMOJI = re.compile(r"(?<=:)(?=[\w+-]+:)")
_BACKTICKS = re.compile(r"`+")

_BREAK = "\u200b"
_NOTHING = "–"


def text(foreign: str | Text) -> str:
    """Return foreign text as Markdown for the same text, on one line; it may begin a line."""
    return _escape(one_line(foreign)) or _NOTHING


def lines(foreign: str | Text) -> str:
    """Return foreign text as a paragraph with the lines that it has."""
    rows = (_escape(row.strip()) for row in plain(foreign).split("\n"))
    return "\\\n".join(row for row in rows if row) or _NOTHING


def _escape(row: str) -> str:
    broken = _EMOJI.sub(_BREAK, _REFERENCE.sub(_BREAK, row))
    escaped = _MARKUP.sub(r"\\\g<0>", broken)
    return _AT_LINE_START.sub(lambda found: _escape_start(found.group()), escaped)


def _escape_start(found: str) -> str:
    """Escape what would begin a list or a heading: its sign, or what follows its number."""
    return found + "\\" if found.isdigit() else "\\" + found


def code(foreign: str) -> str:
    """Return foreign text as code within a line."""
    content = one_line(foreign)
    if not content:
        return _NOTHING
    fence = "`" * (_longest_run(content) + 1)
    return f"{fence} {content} {fence}" if "`" in content else f"{fence}{content}{fence}"


def block(foreign: str | Text, characters: int, rows: int) -> str:
    """Return foreign text as a block of code, at most so long."""
    content = plain(foreign, characters, rows)
    fence = "`" * max(3, _longest_run(content) + 1)
    return f"{fence}text\n{content}\n{fence}"


def indented(markdown: str, columns: int = 2) -> str:
    """Return Markdown as it stands in an item of a list."""
    return "\n".join(" " * columns + row if row else row for row in markdown.split("\n"))


def _longest_run(content: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(content)), default=0)
