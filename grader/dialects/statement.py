"""A statement under rewriting: its tree, the places of its nodes, the edits of its text so far."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import libcst
import msgspec
from libcst.metadata import CodeRange, MetadataWrapper, WhitespaceInclusivePositionProvider

from grader.dialects.names import ImportedNames
from grader.dialects.table import DialectRow
from grader.language import Text, say

# Changes to a text by places in it, and where each line of the result comes from.


class Edit(msgspec.Struct, frozen=True, order=True):
    """Replace what stands from `start` to `end` (offsets in characters) by `text`."""

    start: int
    end: int
    order: int
    text: str
    row: str

    def moved(self, by: int) -> Edit:
        """Return the edit for a text that begins so many characters later."""
        return msgspec.structs.replace(self, start=self.start + by, end=self.end + by)


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


def not_reached(name: str) -> Text:
    """Say why a name stays: nothing that the notebook imports leads to the one of today."""
    return say("no-import-notebook-reaches", name=name)


class Scope:
    """What a node stands in: the innermost TVMScript class and function around it.

    `module` is the name of the class, `siblings` its functions; `kind` is the function's, `near`
    its decorator as written, `blocked` whether a TIR function has blocks, `own` its parameters.
    """

    def __init__(self, module: str = "", siblings: frozenset[str] = frozenset()) -> None:
        self.module = module
        self.siblings = siblings
        self.kind = ""
        self.near = ""
        self.blocked = False
        self.own: frozenset[str] = frozenset()


class Program(NamedTuple):
    """A program in a text: its line, and where it begins; None where escapes put places wrong."""

    start: int | None
    line: int
    text: str


class Rewriting:
    """Where the rules write down what they change.

    Nodes are asked for by place: with the parentheses around them, and without spaces.
    """

    def __init__(
        self, tree: libcst.Module, source: str, offsets: Offsets, first: int, names: ImportedNames
    ) -> None:
        wrapper = MetadataWrapper(tree, unsafe_skip_copy=True)
        self.tree = wrapper.module
        self._places: Mapping[libcst.CSTNode, CodeRange] = wrapper.resolve(
            WhitespaceInclusivePositionProvider
        )
        self.source = source
        self._offsets = offsets
        self._lines_before = first - 1
        self.names = names
        self.edits: list[Edit] = []
        self.left: list[tuple[int, Text, Text]] = []
        self.handled: set[libcst.CSTNode] = set()
        self.programs: list[Program] = []

    def start(self, node: libcst.CSTNode) -> int:
        """Return the offset in the cell at which a node begins."""
        place = self._places[node].start
        return self._offsets.at(place.line + self._lines_before, place.column)

    def end(self, node: libcst.CSTNode) -> int:
        """Return the offset in the cell after a node."""
        place = self._places[node].end
        return self._offsets.at(place.line + self._lines_before, place.column)

    def start_of_arguments(self, call: libcst.Call) -> int:
        """Return the offset after a call's opening parenthesis."""
        return self.source.index("(", self.end(call.func)) + 1

    def text(self, node: libcst.CSTNode) -> str:
        """Return a node as it is written."""
        return self.source[self.start(node) : self.end(node)]

    def replace(self, start: int, end: int, text: str, row: DialectRow) -> None:
        """Write down an edit, whose lines must be as many as before."""
        if self.source.count("\n", start, end) != text.count("\n"):
            # A removed piece keeps the ends of its lines.
            text += "\n" * (self.source.count("\n", start, end) - text.count("\n"))
        self.edits.append(Edit(start, end, len(self.edits), text, row.id))

    def insert(self, place: int, text: str, row: DialectRow) -> None:
        """Write down an insertion."""
        self.edits.append(Edit(place, place, len(self.edits), text, row.id))

    def read(self, node: libcst.SimpleString) -> None:
        """Write down that a text is a program of TVMScript."""
        start = self.start(node) + len(node.prefix) + len(node.quote)
        line = self._offsets.line(start)
        value = node.evaluated_value
        if value == node.raw_value:
            self.programs.append(Program(start, line, value))
        elif isinstance(value, str):
            self.programs.append(Program(None, line, value))

    def leave(self, node: libcst.CSTNode, what: Text, why: Text) -> None:
        """Write down what stays as it is, although today's TVM has no such thing."""
        self.left.append((self._offsets.line(self.start(node)), what, why))


def dotted(node: libcst.BaseExpression) -> str:
    """Return a name with its attributes, "" for any other expression."""
    parts: list[str] = []
    while isinstance(node, libcst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, libcst.Name):
        return ""
    return ".".join([node.value, *reversed(parts)])


def attributes(node: libcst.BaseExpression) -> list[libcst.Name]:
    """Return the names of a dotted name, the first one first."""
    parts: list[libcst.Name] = []
    while isinstance(node, libcst.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, libcst.Name):
        parts.append(node)
    return parts[::-1]
