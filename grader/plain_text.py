"""Scripts and Markdown as submissions: divided into cells, as a notebook is.

Nothing is parsed or executed here: a script may not be Python at all. All of it takes linear time.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import msgspec

SCRIPT, MARKDOWN = (".py",), (".md", ".markdown")
"""How the names of such files end."""

PIECES = 2001
"""Most cells that are told apart: a file with as many is not run."""

_MARK = re.compile(r"#\s?%%(?P<kind>.*)|# In\s?\[[\d ]{0,6}\]:\s*$")
"""What begins a cell: of an editor, of jupytext, and of a notebook that was saved as a script."""

_NO_CODE = re.compile(r"\[(?:markdown|md|raw)\]")
_FENCE = re.compile(r"(?P<indent>[ \t]{0,12})(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_PYTHON = re.compile(r"(?:^|[{.\s])(?:i?python3?|py|code-cell)\b", re.ASCII)
_CONTINUES = re.compile(r"(?:elif|else|except|finally)\b|[\s)\]}]|$")
"""What a paragraph of a script does not begin with: it belongs to the one before."""

_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"""(?:\\.|[^\\])*?(?:"""|\Z)' + r"|'''(?:\\.|[^\\])*?(?:'''|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?' + r"|'(?:\\.|[^'\\\n])*'?"  # one without an end ends its line
    r"|^[!%][^\n]*"
    r"|\\\n|[\[({]|[\])}]|\n",
    re.DOTALL | re.MULTILINE,
)


class Piece(msgspec.Struct, frozen=True):
    """A cell of code, and the line of the file on which it begins, from 1."""

    source: str
    line: int


def divide(text: str, suffix: str) -> list[Piece]:
    """Return the cells of a file, which is Markdown or else a script; those of blanks are left out.

    There are at most PIECES.

    A script has the cells that it marks; without marks a paragraph of statements is one. In
    Markdown a fenced block is one that says that it is Python, or any where none says so.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    pieces = iter(_blocks(lines)) if suffix in MARKDOWN else _of_script(lines)
    code = (piece for piece in pieces if _has_code(piece.source))
    return list(itertools.islice(code, PIECES))


def _of_script(lines: list[str]) -> Iterator[Piece]:
    """Return what stands between marks, but for text; paragraphs where there are no marks."""
    marks = [index for index, line in enumerate(lines) if _MARK.match(line)]
    return _marked(lines, marks) if marks else _paragraphs(lines)


def _has_code(source: str) -> bool:
    lines = (line.strip() for line in source.split("\n"))
    return any(line and not line.startswith("#") for line in lines)


def _marked(lines: list[str], marks: list[int]) -> Iterator[Piece]:
    yield Piece("\n".join(lines[: marks[0]]), 1)
    for start, end in zip(marks, [*marks[1:], len(lines)], strict=True):
        if _NO_CODE.search(lines[start]) is None:
            yield Piece("\n".join(lines[start + 1 : end]), start + 2)


def _paragraphs(lines: list[str]) -> Iterator[Piece]:
    """Divide where an empty line ends a statement at the margin and another one begins.

    Comments before a statement are a part of its paragraph, and so is a decorator.
    """
    within = _inside(lines)
    starts = [0]
    has_code, last = False, ""  # of the paragraph so far: whether it has any, its last line
    for index, line in enumerate(lines):
        begins = index > 0 and not lines[index - 1].strip() and index not in within
        if begins and has_code and not last.startswith("@") and not _CONTINUES.match(line):
            starts.append(index)
            has_code = False
        has_code = has_code or _has_code(line)
        last = line if line.strip() else last
    bounds = zip(starts, [*starts[1:], len(lines)], strict=True)
    return (Piece("\n".join(lines[start:end]), start + 1) for start, end in bounds)


def _inside(lines: list[str]) -> set[int]:
    """Return the lines, from 0, that begin within brackets or a text of several lines."""
    found: set[int] = set()
    line = depth = 0
    for token in _TOKEN.finditer("\n".join(lines)):
        text = token.group()
        if text in "([{":
            depth += 1
        elif text in ")]}":
            depth = max(depth - 1, 0)
        breaks = text.count("\n")
        if breaks > 1 or (breaks and text != "\n"):
            found.update(range(line + 1, line + breaks + 1))
        line += breaks
        if depth and breaks:
            found.add(line)
    return found


def _blocks(lines: list[str]) -> list[Piece]:
    """Return the fenced blocks of Python; all of them where none says what it is."""
    blocks: list[tuple[str, Piece]] = []
    index = 0
    while index < len(lines):
        opening = _FENCE.match(lines[index])
        index += 1
        if opening is None:
            continue
        end = index
        while end < len(lines) and not _closes(lines[end], opening.group("fence")):
            end += 1
        indent = len(opening.group("indent"))
        bare = [line[min(indent, len(line) - len(line.lstrip())) :] for line in lines[index:end]]
        options = _options(bare)
        blocks.append(
            (opening.group("info"), Piece("\n".join(bare[options:]), index + options + 1))
        )
        index = end + 1
    python = [piece for info, piece in blocks if _PYTHON.search(info)]
    return python or [piece for info, piece in blocks if not info.strip()]


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and not bare.strip(fence[0])


def _options(lines: list[str]) -> int:
    """Return how many lines at the top of a block are options of MyST: `:tags: [...]`."""
    count = 0
    while count < len(lines) and re.match(r":[\w-]+:", lines[count]):
        count += 1
    return count
