"""What a store's value and index are, as a small tree of a fixed size at most (`Expression`).

It is for checks to look at; nothing that protects the referee stands on it. So what is too deep or
too large to be shown is cut off, and no module is refused for it.
"""

from collections.abc import Callable, Mapping
from typing import Final

from grader.ir.expressions import data_type
from grader.ir.facts import Expression
from grader.ir.graph import Graph

MOST_NODES: Final = 512
"""Most nodes of one tree, those that are shared counted as often as they are met."""

MOST_DEPTH: Final = 48
MOST_IN_ALL: Final = 20_000
"""Most nodes of all trees of a function: where thousands of rounds are written out, the first."""

_OPERANDS: Final = {
    "prim.Broadcast": ("value",),
    "prim.Cast": ("value",),
    "prim.Let": ("value", "body"),
    "prim.Not": ("a",),
    "prim.BitwiseNot": ("a",),
    "prim.Select": ("condition", "true_value", "false_value"),
    "prim.Ramp": ("base", "stride"),
}
_OF_TWO: Final = ("a", "b")
_CUT: Final = Expression("other", "...")


class Formulas:
    """The trees of one function. `bound` has what names stand for that are no iterators."""

    def __init__(self, graph: Graph, label: Callable[[int], str], bound: Mapping[int, int]) -> None:
        self._graph = graph
        self._label = label
        self._bound = bound
        self._left = MOST_IN_ALL

    def of(self, index: int) -> Expression:
        """Return the tree of an expression."""
        room = [MOST_NODES]
        return self._tree(index, 0, room)

    def _tree(self, index: int, depth: int, room: list[int]) -> Expression:
        room[0] -= 1
        self._left -= 1
        if depth > MOST_DEPTH or room[0] < 0 or self._left < 0:
            return _CUT
        graph = self._graph
        kind = graph.type_of(index)
        if kind in ("ir.IntImm", "ir.FloatImm"):
            return Expression("constant", "", value=self._number(index), dtype=self._dtype(index))
        if kind == "ir.Var" and index not in self._bound:
            return Expression("variable", graph.name(index), dtype=self._dtype(index))
        name, operands = self._parts(index, kind)
        what = {"ir.Var": "bound", "ir.TensorLoad": "load"}.get(kind, "operation")
        arguments = tuple(self._tree(each, depth + 1, room) for each in operands)
        return Expression(
            "other" if not name else what,  # type: ignore[arg-type]
            name or kind.rpartition(".")[2],
            arguments,
            dtype=self._dtype(index),
        )

    def _parts(self, index: int, kind: str) -> tuple[str, list[int]]:
        """Return what a node is called and what it is made of; "" for what has no name."""
        graph = self._graph
        if kind == "ir.Var":
            return graph.name(index), [self._bound[index]]
        if kind == "ir.TensorLoad":
            return self._label(graph.field(index, "source")), graph.list(index, "indices")
        if kind == "ir.Call":
            operator = graph.field(index, "op")
            is_known = graph.type_of(operator) == "ir.Op"
            name = graph.text(operator).rpartition(".")[2] if is_known else ""
            scalars = [each for each in graph.list(index, "args") if graph.is_scalar_or_array(each)]
            return name, scalars
        fields = _OPERANDS.get(kind, _OF_TWO if kind.startswith("prim.") else ())
        if kind == "prim.Shuffle" or not fields:
            return "", []
        return kind.rpartition(".")[2].lower(), [graph.field(index, each) for each in fields]

    def _number(self, index: int) -> int | float | None:
        value: object = self._graph.field(index, "value")
        if self._graph.type_of(index) == "ir.IntImm":
            value = self._graph.values[self._graph.field(index, "value")]
        return value if isinstance(value, int | float) else None

    def _dtype(self, index: int) -> str:
        return data_type(self._graph, self._graph.optional(index, "ty"))
