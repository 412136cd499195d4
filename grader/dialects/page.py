"""A statement under rewriting: its tree, the places of its nodes, and the edits so far."""

from __future__ import annotations

from collections.abc import Mapping

import libcst
from libcst.metadata import CodeRange, MetadataWrapper, WhitespaceInclusivePositionProvider

from grader.dialects.edits import Edit, Offsets
from grader.dialects.names import Names
from grader.dialects.table import Row
from grader.language import Text, say


def not_reached(name: str) -> Text:
    """Say why a name stays: nothing that the notebook imports leads to the one of today."""
    return say("no import of the notebook reaches {name}", name=name)


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


class Page:
    """Where the rules write down what they change.

    Nodes are asked for by place: with the parentheses around them, and without spaces.
    """

    def __init__(
        self, tree: libcst.Module, source: str, offsets: Offsets, first: int, names: Names
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

    def replace(self, start: int, end: int, text: str, row: Row) -> None:
        """Write down an edit, whose lines must be as many as before."""
        if self.source.count("\n", start, end) != text.count("\n"):
            # A removed piece keeps the ends of its lines.
            text += "\n" * (self.source.count("\n", start, end) - text.count("\n"))
        self.edits.append(Edit(start, end, len(self.edits), text, row.id))

    def insert(self, place: int, text: str, row: Row) -> None:
        """Write down an insertion."""
        self.edits.append(Edit(place, place, len(self.edits), text, row.id))

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
