"""Questions to the expressions of a checked graph: values, data types, what they use, strides.

Every reading of a module is within a budget of steps.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from grader.errors import IRError
from grader.ir.facts import Shape, TensorFacts
from grader.ir.graph import Graph
from grader.language import say

WORK_LIMIT = 2_000_000
"""Most steps of reading one module: as nodes may be shared, a small text can be a huge program."""

ARITHMETIC = frozenset(
    {
        "prim.Add",
        "prim.BitwiseAnd",
        "prim.BitwiseOr",
        "prim.BitwiseXor",
        "prim.Div",
        "prim.FloorDiv",
        "prim.FloorMod",
        "prim.LShift",
        "prim.Max",
        "prim.Min",
        "prim.Mod",
        "prim.Mul",
        "prim.RShift",
        "prim.Sub",
    }
)
"""Operations on two numbers of one type, which give one of that type."""


class Budget:
    """Counts steps. Raises IRError when a module asks for more than an honest one could."""

    def __init__(self, limit: int = WORK_LIMIT) -> None:
        self._left = limit

    def spend(self, steps: int = 1) -> None:
        """Count some steps. Raises IRError where there are none left."""
        self._left -= steps
        if self._left < 0:
            raise IRError(say("module-has-too-many-parts-read"), say("build-smaller-module"))

    def walk(
        self, roots: Iterable[int], following: Callable[[int], Sequence[int]]
    ) -> Iterator[int]:
        """Yield nodes depth first, in the order of the text: roots, and what follows each, once."""
        pending = [*roots][::-1]
        seen = set(pending)
        while pending:
            index = pending.pop()
            yield index
            children = following(index)
            self.spend(1 + len(children))
            for child in reversed(children):
                if child not in seen:
                    seen.add(child)
                    pending.append(child)


def constant(graph: Graph, index: int) -> int | None:
    """Return the value of an integer constant, or None for any other expression."""
    if graph.type_of(index) != "ir.IntImm":
        return None
    value: int = graph.values[graph.field(index, "value")]
    return value


def plain_integer(graph: Graph, index: int) -> int | None:
    """Return the value of an integer of an annotation, which is written in one of two ways."""
    if graph.type_of(index) == "int":
        value: int = graph.values[index]
        return value
    return constant(graph, index)


def extent(graph: Graph, index: int) -> int | str:
    """Return an extent: its value, the name of its variable, or "?" for a longer expression."""
    kind = graph.type_of(index)
    if kind == "ir.Var":
        return graph.name(index)
    value = constant(graph, index)
    return "?" if value is None else value


def data_type(graph: Graph, type_index: int | None) -> str:
    """Return the dtype that a PrimType stands for, empty where there is none."""
    if type_index is None or graph.type_of(type_index) != "ir.PrimType":
        return ""
    value: str = graph.values[type_index]["dtype"]
    return value


def tensor_facts(graph: Graph, type_index: int) -> TensorFacts | None:
    """Return shape and dtype of a tensor, a buffer or a scalar (shape ()), else None."""
    kind = graph.type_of(type_index)
    if kind == "ir.PrimType":
        return TensorFacts(shape=(), dtype=data_type(graph, type_index))
    if kind == "tirx.BufferType":
        shape = tuple(extent(graph, item) for item in graph.list(type_index, "shape"))
        return TensorFacts(shape=shape, dtype=data_type(graph, graph.field(type_index, "dtype")))
    if kind == "relax.TensorType":
        dtype = data_type(graph, graph.optional(type_index, "dtype"))
        return TensorFacts(shape=_tensor_shape(graph, type_index), dtype=dtype)
    return None


def _tensor_shape(graph: Graph, type_index: int) -> Shape | None:
    shape = graph.optional(type_index, "shape")
    if shape is None or graph.type_of(shape) != "relax.expr.ShapeExpr":
        return None
    return tuple(extent(graph, item) for item in graph.list(shape, "values"))


def is_buffer(graph: Graph, variable: int) -> bool:
    """Say whether a variable is a buffer."""
    return graph.type_of(graph.field(variable, "ty")) == "tirx.BufferType"


# --- data types -----------------------------------------------------------------------------------
# Data types of scalar expressions: what numbers an integer of one can be, and how many lanes.


_PARTS = re.compile(r"([a-wyz]+)([0-9]*)((?:_[a-wyz0-9]+)?)(?:x([0-9]+))?", re.ASCII)


class IntegerRange(NamedTuple):
    """All integers that an unknown may be, both ends included."""

    low: int
    high: int


class DataType(NamedTuple):
    """A data type: its kind ("int", "uint", "bool", "float", ...), bits of a lane, lanes.

    `scalar` is the type of one lane, as text.
    """

    kind: str
    bits: int
    lanes: int
    scalar: str

    @property
    def numbers(self) -> IntegerRange | None:
        """Return the integers that it holds, None where it is of something else."""
        if self.kind == "bool":
            return IntegerRange(0, 1)
        if self.kind == "uint":
            return IntegerRange(0, 2**self.bits - 1)
        if self.kind == "int" and self.bits:
            return IntegerRange(-(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1)
        return None

    @property
    def size(self) -> int:
        """Return how many bytes an item takes at most: TVM stores it as a wider one where there
        is no arithmetic for it, floats of 8 bits and bfloat16 as floats of 32."""
        # A buffer of half a GB in floats of 8 bits has two GB when they are made wider (cheat
        # wild_widened_items).
        widened = self.kind == "bfloat" or (self.kind == "float" and self.bits <= 8)
        return (4 if widened else (self.bits + 7) // 8) * self.lanes


@lru_cache(maxsize=256)
def parse(text: str) -> DataType:
    """Return a data type by its text; what has no bits of its own, as a handle, has 0."""
    match = _PARTS.fullmatch(text)
    if match is None:
        return DataType("", 0, 1, text)
    kind, bits, variant, lanes = match.groups()
    width = 8 if kind == "bool" else int(bits or 0)
    return DataType(kind, width, int(lanes or 1), kind + bits + variant)


def type_of(graph: Graph, index: int) -> DataType:
    """Return the data type that an expression says it has; without one its kind is empty."""
    value = graph.values[index]
    return parse(data_type(graph, value["ty"]) if isinstance(value, dict) and "ty" in value else "")


def item_type(graph: Graph, buffer: int) -> DataType:
    """Return the data type of a buffer's items."""
    return parse(data_type(graph, graph.field(graph.field(buffer, "ty"), "dtype")))


# --- what is used ---------------------------------------------------------------------------------
# What an expression uses in the end: block iterators and bound names are followed to loops.


class Uses(NamedTuple):
    """The buffers that are loaded, once for each load, and the variables that nothing binds."""

    loads: list[int]
    variables: set[int]


class Names(NamedTuple):
    """What names stand for: variables for a value, buffers for a part of another one.

    `wholes` has the buffer that a buffer is a part of, `places` the expressions for where it
    begins.
    """

    values: dict[int, int]
    wholes: dict[int, int]
    places: dict[int, list[int]]

    def whole(self, buffer: int) -> int:
        """Return the buffer that a buffer is a part of, often itself."""
        return self.wholes.get(buffer, buffer)

    def match(self, buffer: int, source: int, place: list[int]) -> None:
        """Take down that a buffer is a part of another, which may be a part itself."""
        self.wholes[buffer] = self.whole(source)
        self.places[buffer] = [*place, *self.places.get(source, ())]


def find_uses(graph: Graph, values: list[int], names: Names, budget: Budget) -> Uses:
    """Return what expressions use, names followed to what they stand for."""
    result = Uses([], set())

    def following(index: int) -> list[int]:
        kind = graph.type_of(index)
        if kind == "ir.Var":
            # A block's iterator is another name of the loops in its binding: only these are done
            # again.
            return [names.values[index]] if index in names.values else []
        if kind == "ir.TensorLoad":
            # Where a part of a buffer begins may depend on a loop that no index names.
            source = graph.field(index, "source")
            return [*graph.list(index, "indices"), *names.places.get(source, ())]
        return [each for each in graph.children[index] if graph.is_scalar_or_array(each)]

    for index in budget.walk(values, following):
        kind = graph.type_of(index)
        if kind == "ir.Var" and index not in names.values:
            result.variables.add(index)
        elif kind == "ir.TensorLoad":
            result.loads.append(names.whole(graph.field(index, "source")))
    return result


# --- strides --------------------------------------------------------------------------------------
# How far apart neighbouring rounds of a loop store: found by computing some of their indices.
#
# Vector instructions want neighbours side by side. Whether they are is seen by evaluating the index
# for the first rounds of the loop, with the other loops in their first rounds, in the middle one
# and in the last: after `fuse` and `split` an index holds quotients and remainders, of which the
# pieces need not be linear for the whole to be.


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
        # Lanes of fused axes lie side by side at first and jump at the end of a row: the first
        # rounds alone do not show it.
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
        # Beside an axis of unknown length, or in rows that are longer than their items, no distance
        # is known.
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
