"""Changes to a text by places in it, and where each line of the result comes from."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable

import msgspec


class Edit(msgspec.Struct, frozen=True, order=True):
    """Replace what stands from `start` to `end` (offsets in characters) by `text`."""

    start: int
    end: int
    order: int
    text: str
    row: str


class Offsets:
    """From lines (from 1) and columns (from 0, in characters) to offsets in a text."""

    def __init__(self, source: str) -> None:
        self._length = len(source)
        lengths = (len(line) + 1 for line in source.split("\n"))
        self._starts = [0, *itertools.accumulate(lengths)][:-1]

    def at(self, line: int, column: int) -> int:
        """Return the offset of a place; the end of the text for a line below its last one."""
        if line > len(self._starts):
            return self._length
        return self._starts[line - 1] + column

    def line(self, offset: int) -> int:
        """Return the line, from 1, that an offset lies in."""
        return bisect.bisect_right(self._starts, offset)


def without_overlaps(edits: Iterable[Edit]) -> list[Edit]:
    """Return the edits in their order; of two that overlap, the one that begins first.

    An edit within a larger one is lost: what it would change is no longer there.
    """
    kept: list[Edit] = []
    for edit in sorted(set(edits), key=lambda each: (each.start, each.order, -each.end)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return kept


class _Piece(msgspec.Struct, frozen=True):
    """Part of a result: where it begins there, and from where to where its source goes."""

    begin: int
    start: int
    end: int
    kept: bool


def apply(source: str, edits: list[Edit]) -> tuple[str, tuple[int, ...]]:
    """Apply edits that do not overlap. Returns the text and, for each of its lines, the old one's.

    Line n of the result begins with what was on line `lines[n - 1]` of the source.
    """
    texts: list[str] = []
    pieces: list[_Piece] = []
    length = end = 0
    for edit in [*edits, Edit(len(source), len(source), 0, "", "")]:
        for text, piece in (
            (source[end : edit.start], _Piece(length, end, edit.start, kept=True)),
            (edit.text, _Piece(length + edit.start - end, edit.start, edit.end, kept=False)),
        ):
            if text:
                texts.append(text)
                pieces.append(piece)
        length += edit.start - end + len(edit.text)
        end = edit.end
    result = "".join(texts)
    return result, _origins(result, pieces or [_Piece(0, 0, 0, kept=True)], Offsets(source))


def _origins(result: str, pieces: list[_Piece], offsets: Offsets) -> tuple[int, ...]:
    """Go once through the pieces and the lines that begin in each: a cell may have a million."""
    lines: list[int] = []
    start = 0  # of the line that comes next
    for piece, after in itertools.pairwise([*pieces, None]):
        assert piece is not None
        end = len(result) + 1 if after is None else after.begin
        line = offsets.line(piece.start) + result.count("\n", piece.begin, min(start, end))
        last = None if piece.kept else offsets.line(piece.end)
        while start < end:
            lines.append(line if last is None else min(line, last))
            found = result.find("\n", start)
            start = len(result) + 1 if found < 0 else found + 1
            line += 1
    return tuple(lines)
