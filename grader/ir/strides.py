"""How far apart neighbouring rounds of a loop store: found by computing some of their indices.

Vector instructions want neighbours side by side. Whether they are is seen by evaluating the index
for the first rounds of the loop, with the other loops in their first rounds, in the middle one and
in the last: after `fuse` and `split` an index holds quotients and remainders, of which the pieces
need not be linear for the whole to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from grader.ir.expressions import Budget, constant
from grader.ir.graph import Graph

ROUNDS = 16
"""Most rounds of a loop that are looked at."""

FIRST_ROUNDS = (0, 1, 2, 3)
"""Rounds of the other loops that are looked at, beside the middle one and the last."""

NESTING_LIMIT = 64
"""Deepest index expression that is looked at."""

_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "prim.Add": lambda a, b: a + b,
    "prim.FloorDiv": lambda a, b: a // b,
    "prim.FloorMod": lambda a, b: a % b,
    "prim.Max": max,
    "prim.Min": min,
    "prim.Mul": lambda a, b: a * b,
    "prim.Sub": lambda a, b: a - b,
}
_DIVISIONS = ("prim.FloorDiv", "prim.FloorMod")
_LARGEST = 2**62
"""Numbers beyond are none that an index could be."""


class _UnknownError(Exception):
    """Raised where an index is not a number, given its loops."""


def find_stride(
    graph: Graph,
    access: tuple[int, list[int]],
    loop: int,
    extents: Mapping[int, int | None],
    values: Mapping[int, int],
    budget: Budget,
) -> int | None:
    """Return by how many elements an access moves from one round of a loop to the next.

    `access` is a buffer and the indices; `loop` is the loop's variable, and `extents` has all loops
    around by their variable; `values` has what other variables stand for. None where the distance
    varies or is not known.
    """
    buffer, indices = access
    scales = _scales(graph, buffer)
    if scales is None:
        return None
    strides: set[int] = set()
    try:
        for point in _points(extents):
            before: int | None = None
            for place in range(min(extents[loop] or ROUNDS, ROUNDS)):
                evaluate = _Evaluation(graph, {**point, loop: place}, values, budget).evaluate
                parts = (s * evaluate(i, 0) for i, s in zip(indices, scales, strict=True))
                flat = sum(parts)
                strides |= set() if before is None else {flat - before}
                before = flat
    except _UnknownError:
        return None
    return strides.pop() if len(strides) == 1 else None


def _points(extents: Mapping[int, int | None]) -> Iterator[dict[int, int]]:
    """Return where all loops may stand: each in the same round, as far as it has that many."""
    last = {variable: (extent or 1) - 1 for variable, extent in extents.items()}
    for number in FIRST_ROUNDS:
        yield {variable: min(number, most) for variable, most in last.items()}
    yield {variable: most // 2 for variable, most in last.items()}
    yield last


def _scales(graph: Graph, buffer: int) -> list[int] | None:
    """Return how many elements lie between neighbours along each axis, None where not known."""
    kind = graph.field(buffer, "ty")
    scales, scale = [], 1
    for item in reversed(graph.list(kind, "shape")):
        scales.append(scale)
        extent = constant(graph, item)
        if extent is None or graph.list(kind, "strides"):
            return None
        scale *= extent
    return scales[::-1]


class _Evaluation:
    """The value of expressions where all loops stand at one place."""

    def __init__(
        self, graph: Graph, place: Mapping[int, int], values: Mapping[int, int], budget: Budget
    ) -> None:
        self.graph = graph
        self.place = place
        self.values = values
        self.budget = budget
        self.known: dict[int, int] = {}

    def evaluate(self, index: int, depth: int) -> int:
        """Return the value of an expression. Raises _UnknownError."""
        if index not in self.known:
            self.budget.spend()
            if depth > NESTING_LIMIT:
                raise _UnknownError
            value = self.compute(index, depth + 1)
            if abs(value) > _LARGEST:
                raise _UnknownError
            self.known[index] = value
        return self.known[index]

    def compute(self, index: int, depth: int) -> int:
        """Return the value of an expression that has not been looked at yet."""
        graph = self.graph
        kind = graph.type_of(index)
        number = constant(graph, index)
        if number is not None:
            return number
        if index in self.place:
            return self.place[index]
        if index in self.values:
            return self.evaluate(self.values[index], depth)
        if kind not in _OPERATIONS:
            raise _UnknownError
        left = self.evaluate(graph.field(index, "a"), depth)
        right = self.evaluate(graph.field(index, "b"), depth)
        if kind in _DIVISIONS and right == 0:
            raise _UnknownError
        return _OPERATIONS[kind](left, right)
