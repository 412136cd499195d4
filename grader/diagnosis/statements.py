"""What the statements of a TIR function compute at some places of a buffer, done again in NumPy.

An edit of a student's statement is tried here before it is advised. A statement that is too large,
or no plain loop nest, raises `UnknownValueError`, and then nothing is advised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from grader.ir.facts import Block, Expression, FunctionFacts, Store

Values = npt.NDArray[Any]

MOST_NUMBERS = 1 << 22
"""Numbers of one operand that are computed at a time."""

_MOST_ROUNDS = 128
"""Rounds of a sum that are done one after the other."""

_MOST_CALLS = 6
"""Buffers that are computed from one another."""


class UnknownValueError(ValueError):
    """Raised when a statement's facts do not show what it computes."""


class BeyondError(UnknownValueError):
    """Raised when a statement reads what its buffer does not have."""


def _divided(x: Values, y: Values) -> Values:
    if x.dtype.kind == "f" or y.dtype.kind == "f":
        return x / y
    return np.trunc(x / y).astype(np.int64)


def _shifted_left(x: Values, y: Values) -> Values:
    return np.asarray(np.left_shift(x, np.clip(y, 0, 62)))


def _shifted_right(x: Values, y: Values) -> Values:
    return np.asarray(np.right_shift(x, np.clip(y, 0, 62)))


OPERATIONS: Mapping[str, Callable[..., Values]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divided,
    "floordiv": np.floor_divide,
    "floormod": np.mod,
    "mod": np.fmod,
    "max": np.maximum,
    "min": np.minimum,
    "lshift": _shifted_left,
    "shift_left": _shifted_left,
    "rshift": _shifted_right,
    "shift_right": _shifted_right,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "cast": lambda x: x,
    "likely": lambda x: x,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "fabs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "pow": np.power,
}

_CHOICES = frozenset({"select", "if_then_else"})

_FOLDS: Mapping[str, Callable[[Values, Values], Values]] = {
    "add": lambda start, terms: start + terms.sum(-1),
    "sub": lambda start, terms: start - terms.sum(-1),
    "mul": lambda start, terms: start * terms.prod(-1),
    "max": lambda start, terms: np.maximum(start, terms.max(-1)),
    "min": lambda start, terms: np.minimum(start, terms.min(-1)),
}
"""What rounds of `total = total + term` give, by the operation, all at once."""


class Statements:
    """The statements of one function, and the values of buffers that are known.

    `symbols` are the extents of what is of any size. `computed` counts the terms of sums, for those
    who want to know when to stop.
    """

    def __init__(
        self,
        function: FunctionFacts,
        given: Mapping[str, Values],
        symbols: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._function = function
        self._given = given
        self._symbols = symbols
        self._shapes = shapes_of(function, symbols) | {name: x.shape for name, x in given.items()}
        self._open = 0
        self.computed = 0

    def at(self, buffer: str, index: tuple[Values, ...]) -> Values:
        """Return the numbers of a buffer at some places, one array of indices for each axis.

        Raises UnknownValueError.
        """
        known, shape = self._given.get(buffer), self._shapes.get(buffer)
        if shape is not None and len(index) != len(shape):
            raise UnknownValueError("as many indices as the buffer has axes")
        if any(
            np.any((each < 0) | (each >= n)) for each, n in zip(index, shape or (), strict=False)
        ):
            raise BeyondError("an index beyond the buffer")
        if known is None:
            return self._computed(buffer, index)
        places = np.broadcast_arrays(*index) if index else []
        return np.asarray(known[tuple(places)])

    def _computed(self, buffer: str, index: tuple[Values, ...]) -> Values:
        self._open += 1
        try:
            if self._open > _MOST_CALLS:
                raise UnknownValueError("too many buffers")
            with np.errstate(all="ignore"):
                pieces = self._pieces(buffer)
                if pieces:
                    return self._pieced(pieces, index)
                stores = self._stores(buffer)
                ends = self._ends(stores)
                value = self._run(*_written(stores[: len(stores) - len(ends)]), index)
                for store in ends:
                    value = self._ended(store, value, index)
                return value
        finally:
            self._open -= 1

    def _pieces(self, buffer: str) -> list[tuple[Block, Store]]:
        """Return the stores to a buffer that write parts of it, as one half at `vj + 8`; none where
        it is one store, or a sum."""
        found = [
            (block, store)
            for block in self._function.blocks
            for store in block.statements
            if store.buffer == buffer and not block.initial
        ]
        is_plain = all(each.kind == "variable" for _, store in found for each in store.index)
        reads = {name for _, store in found if store.value for name in store.value.loaded}
        if is_plain or buffer in reads or any(b.predicated or b.parts for b, _ in found):
            return []
        return found

    def _pieced(self, pieces: list[tuple[Block, Store]], index: tuple[Values, ...]) -> Values:
        """Return what several stores write, each where its axes lead; the last one counts."""
        places = [np.asarray(each) for each in np.broadcast_arrays(*index)]
        total = np.full(places[0].shape, np.nan)
        is_written = np.zeros(places[0].shape, np.bool_)
        for block, store in pieces:
            names, inside = _reached(block, store, places)
            if store.value is None or _rounds(block, names):
                raise UnknownValueError("a part that is stored to more than once")
            here = {name: each[inside] for name, each in names.items()}
            self.computed += int(inside.sum())
            total[inside] = self._value(store.value, here, None) if inside.any() else 0
            is_written |= inside
        if not is_written.all():
            raise UnknownValueError("a place that nothing is stored at")
        return total

    def _stores(self, buffer: str) -> list[_Written]:
        """Return what writes a buffer, in the order of the text."""
        found = [
            (block, store, is_start)
            for block in self._function.blocks
            for stores, is_start in ((block.initial, True), (block.statements, False))
            for store in stores
            if store.buffer == buffer
        ]
        if any(block.predicated or block.parts for block, _, _ in found):
            raise UnknownValueError("a block with a condition")
        return found

    def _ends(self, stores: list[_Written]) -> list[Store]:
        """Return what changes each number of a complete sum once, in place: `C = max(C, 0)`.

        What stands in a loop of the sum changes it in every round.
        """
        if not any(is_start or _rounds_of(block, store) for block, store, is_start in stores):
            return []
        first = len(stores)
        while first > 1 and not stores[first - 1][2] and _is_end(*stores[first - 1][:2]):
            first -= 1
        return [store for _, store, _ in stores[first:]]

    def _ended(self, store: Store, value: Values, index: tuple[Values, ...]) -> Values:
        """Return the numbers of a buffer after a store that changes each once."""
        assert store.value is not None
        own = Expression("load", store.buffer, store.index, dtype=store.value.dtype)
        names = _bound(store, index)
        self.computed += max((each.size for each in index), default=1)
        return self._value(store.value, names, (own, value))

    def _run(
        self, block: Block, store: Store, start: Store | None, index: tuple[Values, ...]
    ) -> Values:
        names = _bound(store, index)
        rounds = _rounds(block, names)
        total = math.prod(rounds.values())
        # Not the size of the largest: a product of products was taken for as many terms as one.
        count = math.prod(np.broadcast_shapes(*(each.shape for each in index)))
        value = store.value
        if value is None or total * count > MOST_NUMBERS:
            raise UnknownValueError("a store that is too large")
        self.computed += total * count
        if store.buffer not in value.loaded:
            last = {name: np.asarray(extent - 1) for name, extent in rounds.items()}
            return self._value(value, {**names, **last}, None)
        begin = self._start(start, index)
        own = Expression("load", store.buffer, store.index, dtype=value.dtype)
        fold, term = _term(value, own)
        if fold is None or term is None:
            return self._one_by_one(value, own, begin, names, rounds)
        spread = {name: each[..., None] for name, each in names.items()}
        terms = self._value(term, {**spread, **_grid(rounds)}, None)
        shape = (*np.shape(begin), total)
        return _stored(fold(begin, np.broadcast_to(terms, shape)), value.dtype)

    def _start(self, start: Store | None, index: tuple[Values, ...]) -> Values:
        if start is None or start.value is None or start.value.loaded & {start.buffer}:
            raise UnknownValueError("a sum that nothing begins")
        begin = self._value(start.value, _bound(start, index), None)
        return np.broadcast_to(begin, np.broadcast_shapes(*(each.shape for each in index)))

    def _one_by_one(
        self,
        value: Expression,
        own: Expression,
        total: Values,
        names: Mapping[str, Values],
        rounds: Mapping[str, int],
    ) -> Values:
        if math.prod(rounds.values()) > _MOST_ROUNDS:
            raise UnknownValueError("too many rounds")
        grid = _grid(rounds)
        for one in range(math.prod(rounds.values())):
            at = {name: each[one] for name, each in grid.items()}
            total = self._value(value, {**names, **at}, (own, total))
        return total

    def _value(
        self,
        one: Expression,
        names: Mapping[str, Values],
        own: tuple[Expression, Values] | None,
        *,
        is_chosen: bool = False,
    ) -> Values:
        """Return what an expression is. `own` is the buffer's own number before the store."""
        if own is not None and _is(one, own[0]):
            return own[1]
        if one.kind == "constant" and one.value is not None:
            return np.asarray(one.value)
        if one.kind == "variable" and one.name in names:
            return names[one.name]
        if one.kind == "variable" and one.name in self._symbols:
            return np.asarray(self._symbols[one.name])
        operands = [
            self._value(each, names, own, is_chosen=is_chosen or one.name in _CHOICES)
            for each in one.arguments
        ]
        if one.kind == "bound":
            return operands[0]
        if one.kind == "load":
            return self.at(one.name, self._within(one.name, operands, is_chosen=is_chosen))
        if one.kind != "operation":
            raise UnknownValueError(one.name)
        return _stored(_operated(one, operands), one.dtype)

    def _within(self, buffer: str, index: list[Values], *, is_chosen: bool) -> tuple[Values, ...]:
        """Return an index, cut to the buffer where the number that is read may not be chosen."""
        shape = self._shapes.get(buffer)
        if not is_chosen or shape is None or len(shape) != len(index):
            return tuple(index)
        return tuple(np.clip(x, 0, n - 1) for x, n in zip(index, shape, strict=True))


def shapes_of(function: FunctionFacts, symbols: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a function's buffers, but for those of any size."""
    buffers = (*function.parameters, *function.allocations)
    return {
        each.name: tuple(n if isinstance(n, int) else symbols[n] for n in each.tensor.shape)
        for each in buffers
        if each.tensor.shape is not None
        and all(isinstance(n, int) or n in symbols for n in each.tensor.shape)
    }


def solve(function: FunctionFacts, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return the extents of a function's symbols, by the shapes of buffers that it is given."""
    symbols: dict[str, int] = {}
    for buffer in function.parameters:
        pairs = zip(buffer.tensor.shape or (), shapes.get(buffer.name, ()), strict=False)
        symbols |= {name: extent for name, extent in pairs if isinstance(name, str)}
    return symbols


def sized(function: FunctionFacts, symbols: Mapping[str, int]) -> FunctionFacts:
    """Return a function in whose blocks iterators along axes of any size have these extents.

    An iterator is as long as the first axis that it goes along by itself.
    """
    if not symbols:
        return function
    buffers = (*function.parameters, *function.allocations)
    shapes = {each.name: each.tensor.shape or () for each in buffers}

    def found(block: Block) -> Iterator[tuple[str, int]]:
        for store in (*block.statements, *block.initial):
            target = Expression("load", store.buffer, store.index)
            parts = () if store.value is None else tuple(store.value.walk())
            for load in (target, *(each for each in parts if each.kind == "load")):
                for index, extent in zip(load.arguments, shapes.get(load.name, ()), strict=False):
                    if index.kind == "variable" and extent in symbols:
                        yield index.name, symbols[str(extent)]

    def filled(block: Block) -> Block:
        known = dict(reversed(list(found(block))))
        extents = tuple((name, known.get(name) if n is None else n) for name, n in block.extents)
        return replace(block, extents=extents)

    return replace(function, blocks=tuple(map(filled, function.blocks)))


_Written = tuple[Block, Store, bool]
"""A store and its block; whether it begins a sum in T.init()."""


def _written(found: list[_Written]) -> tuple[Block, Store, Store | None]:
    """Return what writes a buffer: a block, its one store, and what the sum begins with."""
    match found:
        case [(block, store, False)]:
            return block, store, None
        # The first stands in T.init(), or in its own block, as after decompose_reduction.
        case [(_, start, _), (block, store, False)]:
            return block, store, start
    raise UnknownValueError("a buffer that is stored to in several ways")


def _rounds_of(block: Block, store: Store) -> list[str]:
    """Return the iterators of a block that are in no index of a store."""
    stored = {part.name for each in store.index for part in each.walk()}
    return [name for name, _ in block.extents if name not in stored]


def _is_end(block: Block, store: Store) -> bool:
    """Say whether a store changes each number of its buffer once, whatever the others are."""
    if store.value is None or _rounds_of(block, store):
        return False
    if any(loop.extent != 1 and loop not in store.loops for loop in block.loops):
        return False
    loads = [each for each in store.value.walk() if each.name == store.buffer]
    return bool(loads) and all(each.arguments == store.index for each in loads)


def _operated(one: Expression, operands: list[Values]) -> Values:
    if one.name in _CHOICES and len(operands) == 3:
        return np.where(*operands)
    function = OPERATIONS.get(one.name)
    if function is None:
        raise UnknownValueError(one.name)
    try:
        return np.asarray(function(*operands))
    except (TypeError, ZeroDivisionError) as error:
        raise UnknownValueError(one.name) from error


def _stored(value: Values, dtype: str) -> Values:
    """Return numbers as a type holds them: integers that have no room wrap round, and a quotient of
    integers that were cast to floats is none of integers."""
    if dtype.startswith("float") and value.dtype.kind in "iu":
        return value.astype(np.float64)
    if not dtype.startswith(("int", "uint")) or "x" in dtype:
        return value
    try:
        return (
            np.asarray(value).astype(np.int64, copy=False).astype(np.dtype(dtype)).astype(np.int64)
        )
    except TypeError as error:
        raise UnknownValueError(dtype) from error


def _bound(store: Store, index: tuple[Values, ...]) -> dict[str, Values]:
    """Return what the iterators of a store's own index are where it stores at some places."""
    names: dict[str, Values] = {}
    if len(store.index) != len(index):
        raise UnknownValueError("a store along other axes")
    for each, given in zip(store.index, index, strict=True):
        if each.kind == "variable" and each.name not in names:
            names[each.name] = given
        elif each.kind != "constant":
            raise UnknownValueError("a store at an index that is computed")
    return names


def _reached(
    block: Block, store: Store, places: list[Values]
) -> tuple[dict[str, Values], npt.NDArray[np.bool_]]:
    """Return what the iterators of a store's index are where it stores at some places, and which of
    the places it reaches."""
    if len(store.index) != len(places):
        raise UnknownValueError("a store along other axes")
    names: dict[str, Values] = {}
    inside = np.ones(places[0].shape, np.bool_)
    extents = dict(block.extents)
    for each, given in zip(store.index, places, strict=True):
        name, times, plus = _linear(each)
        if not name:
            inside &= given == plus
            continue
        extent = extents.get(name)
        if extent is None or name in names:
            raise UnknownValueError("an extent that is not known")
        names[name] = np.floor_divide(given - plus, times)
        inside &= (given - plus) % times == 0
        inside &= (names[name] >= 0) & (names[name] < extent)
    return names, inside


def _linear(one: Expression) -> tuple[str, int, int]:
    """Return the iterator of an index, what it is multiplied by, and what is added to that."""
    if one.kind == "variable":
        return one.name, 1, 0
    if one.kind == "constant" and isinstance(one.value, int):
        return "", 1, one.value
    if one.kind == "operation" and one.name in ("add", "mul") and len(one.arguments) == 2:
        first, second = map(_linear, one.arguments)
        (name, times, plus), (other, _, amount) = (first, second) if first[0] else (second, first)
        if not other and one.name == "add":
            return name, times, plus + amount
        if not other and amount > 0:
            return name, times * amount, plus * amount
    raise UnknownValueError("a store at an index that is computed")


def _rounds(block: Block, names: Mapping[str, Values]) -> dict[str, int]:
    """Return the extents of the iterators that a store goes round over."""
    rounds: dict[str, int] = {}
    for name, extent in block.extents:
        if name not in names:
            if extent is None or extent < 1:
                raise UnknownValueError("an extent that is not known")
            rounds[name] = extent
    return rounds


def _grid(rounds: Mapping[str, int]) -> dict[str, Values]:
    """Return the iterators' values in all rounds, one array of them for each."""
    places = np.indices(tuple(rounds.values())).reshape(len(rounds), -1)
    return dict(zip(rounds, places, strict=True))


def _term(
    value: Expression, own: Expression
) -> tuple[Callable[[Values, Values], Values] | None, Expression | None]:
    """Return how a round changes a total, and by what; None where it is no such round."""
    term = _added(value, own)
    if term is not None:
        return _FOLDS["add"], term
    fold = _FOLDS.get(value.name) if value.kind == "operation" else None
    if fold is None or len(value.arguments) != 2:
        return None, None
    first, second = value.arguments
    for total, other in ((first, second), (second, first)):
        is_first = total is first
        if _is(total, own) and own.name not in other.loaded and (value.name != "sub" or is_first):
            return fold, other
    return None, None


def _added(value: Expression, own: Expression) -> Expression | None:
    """Return what a round adds to a total, as `a + b` of `(total + a) + b`; None for another one.

    A round that takes something from it, or multiplies it, is another one.
    """
    if value.kind != "operation" or value.name not in ("add", "sub") or len(value.arguments) != 2:
        return None
    first, second = value.arguments
    if value.name == "add" and _is(second, own):
        first, second = second, first
    if own.name in second.loaded:
        return None
    if _is(first, own):
        return second if value.name == "add" else None
    before = _added(first, own)
    return None if before is None else replace(value, arguments=(before, second))


def _is(one: Expression, own: Expression) -> bool:
    return (one.kind, one.name, one.arguments) == ("load", own.name, own.arguments)
