"""Small edits of a TIR function's statements, each of which one wrong line may need.

Every edit is a whole function with one expression replaced, and what is told of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import combinations, islice, product, takewhile
from typing import NamedTuple

from msgspec.structs import replace

from grader.ir.facts import Block, Expression, FunctionFacts, Store
from grader.ir.vocabulary import is_name
from grader.report import MistakeKind

SIGNS: Mapping[str, str] = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "floormod": "%",
    "lshift": "<<",
    "shift_left": "<<",
    "rshift": ">>",
    "shift_right": ">>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}

_OTHERS: Mapping[str, tuple[str, ...]] = {
    "add": ("sub", "mul"),
    "sub": ("add", "mul"),
    "mul": ("add", "div", "sub"),
    "div": ("mul",),
    "max": ("min",),
    "min": ("max",),
    "floordiv": ("floormod", "mul"),
    "floormod": ("floordiv",),
    "lshift": ("rshift",),
    "rshift": ("lshift", "add"),
    "shift_left": ("shift_right",),
    "shift_right": ("shift_left", "add"),
    "lt": ("le", "gt", "ge"),
    "le": ("lt", "ge", "gt"),
    "gt": ("ge", "lt", "le"),
    "ge": ("gt", "le", "lt"),
    "eq": ("ne",),
    "ne": ("eq",),
}
"""Operations that are taken for one another."""

_ORDERED = frozenset(
    {"sub", "div", "floordiv", "floormod", "lshift", "rshift", "shift_left", "shift_right"}
)
_SUMS = frozenset({"add", "sub"})
_GROUPED = _ORDERED - {"floormod"} | {"add", "mul"}
"""Operations of which one may be done before another, or after it."""

_BINDING: Mapping[str, int] = {"+": 4, "-": 4, "*": 5, "/": 5, "//": 5, "%": 5, "<<": 3, ">>": 3}
"""How tightly a sign binds in Python; comparisons bind least."""

_LONGEST = 60
_LONGEST_PART = 24
_LEVELS = 2
_PARENTHESES = re.compile(r"(?<!\w)\(\.\.\.\)")
_BYTES = (-128, 127, 255)
"""Ends of the types of eight bits."""

_MOST_INDICES = 24
_MOST_SPOTS = 40
_MOST_NUMBERS = 6
"""Numbers, and loads, that are tried as the other operand of an operator that is left out."""

_WRAPPED = frozenset({"add", "sub", "mul", "lshift", "shift_left"})
_NARROW = frozenset({"int8", "uint8", "int16", "uint16"})
"""Operations, and types, of which a result may have no room in the type of its operands."""

_CUTS = frozenset({"max", "min", "cast"})
"""Operations that are written as calls; their arguments need no parentheses."""


class Edit(NamedTuple):
    """A function with one expression replaced: what it is called, and how both are spelled.

    `iterator` is the axis that it is about, where no expression is. `stage`: the larger, the more
    is changed. `where` is "everywhere" if it is in every statement, and "long" of an axis that
    leaves its buffer.
    """

    function: FunctionFacts
    kind: MistakeKind
    block: str
    found: str
    wanted: str
    iterator: str = ""
    stage: int = 0
    where: str = ""

    @property
    def is_solved(self) -> bool:
        """Say whether a number is one that follows from PyTorch's."""
        return self.stage == _SOLVED

    @property
    def told(self) -> dict[str, str]:
        """The facts of the mistake that it is."""
        facts = {"block": self.block, "found": self.found, "wanted": self.wanted}
        facts |= {"iterator": self.iterator} if self.iterator else {}
        return facts | ({"where": self.where} if self.where else {})


class Spot(NamedTuple):
    """A part of a stored value, no index: the argument at `place` of what is around it."""

    one: Expression
    outer: Spot | None = None
    place: int = 0

    def around(self, new: Expression) -> Expression:
        """Return what is around this part, with another part in its place."""
        assert self.outer is not None
        given = self.outer.one.arguments
        parts = (*given[: self.place], new, *given[self.place + 1 :])
        return replace(self.outer.one, arguments=parts)

    def holding(self, new: Expression) -> Expression:
        """Return the whole value with another part in place of this one."""
        return new if self.outer is None else self.outer.holding(self.around(new))

    @property
    def path(self) -> tuple[Spot, ...]:
        """The spots that lead from the whole value to this one, which is the last."""
        return (*(() if self.outer is None else self.outer.path), self)


class Made(NamedTuple):
    """What should stand at a spot. `names` are what is told where that is something else."""

    kind: MistakeKind
    spot: Spot
    other: Expression
    names: tuple[str, str] | None = None

    def told(self, counts: Mapping[str, int]) -> tuple[str, str]:
        """Return what stands there and what should, each as it is written.

        What is written in several places of the statement is told with what is around it: of
        `1 << shift - 1`, "2 in place of 1" does not say which. So is the -1 of a negation, which is
        written nowhere.
        """
        if self.names is not None:
            return self.names
        spot, other = self.spot, self.other
        while spot.outer is not None and (
            counts[_spelled(spot.one)] > 1 or _is_sign(spot.place, spot.outer.one)
        ):
            spot, other = spot.outer, spot.around(other)
        short = _cut_alike(spot.one, other) or (spelled(spot.one), spelled(other))
        # What differs may have been cut: "compute `...` in place of `...`" is told of nobody.
        return short if short[0] != short[1] else (_spelled(spot.one), _spelled(other))


def edits(function: FunctionFacts) -> Iterator[Edit]:
    """Yield what a function may have to be, the smallest edits first.

    Functions with names that cannot be spelled are left alone.
    """
    if not all(map(_is_spelled, function.blocks)):
        return
    yield from _once(function)
    yield from _longer(function)
    for stage, make in enumerate(_MAKERS):
        for place, block in enumerate(function.blocks):
            counts = _counts(block)
            for name in ("initial", "statements"):
                for at, store in enumerate(getattr(block, name)):
                    for made in make(function, block, store) if store.value else ():
                        if (made.other.dtype == "bool") != (made.spot.one.dtype == "bool"):
                            continue  # nobody writes `x` for `x > 0` as a condition
                        changed = replace(store, value=made.spot.holding(made.other))
                        edited = _with(function, place, name, at, changed)
                        told = made.told(counts)
                        yield Edit(edited, made.kind, block.name, *told, stage=stage)
    yield from _everywhere(function)


def _once(function: FunctionFacts) -> Iterator[Edit]:
    """Yield what is done in every round of a sum, and may be meant to be done once, at its end.

    `C = max(C + a * b, 0)` cuts what the terms before have added up to.
    """
    for place, block in enumerate(function.blocks):
        for at, store in enumerate(block.statements):
            own = _target(store)
            path = _way_to_sum(store, own)
            if path is None:
                continue
            inner, end = path[-1].one, path[-1].holding(own)
            named = {part.name for part in end.walk() if part.kind == "variable"}
            if not named <= {part.name for each in store.index for part in each.walk()}:
                continue
            summed = _with(function, place, "statements", at, replace(store, value=inner))
            after = replace(store, value=end, loops=())
            last = Block(block.name, "S" * len(store.index), False, (), statements=(after,))
            blocks = (*summed.blocks[: place + 1], last, *summed.blocks[place + 1 :])
            is_relu = end.name == "max" and 0 in map(_number, end.arguments)
            kind: MistakeKind = "relu_in_every_round" if is_relu else "operation_in_every_round"
            told = spelled(inner), spelled(end)
            yield Edit(replace(summed, blocks=blocks), kind, block.name, *told, stage=_FIRST)


def _way_to_sum(store: Store, own: Expression) -> tuple[Spot, ...] | None:
    """Return the spots that lead to what adds to a buffer's own number, where something is done
    with that; None where nothing is."""
    spot = Spot(store.value) if store.value is not None else None
    while spot is not None and not _adds_to(spot.one, own):
        holders = [
            Spot(each, spot, at)
            for at, each in enumerate(spot.one.arguments)
            if own.name in each.loaded
        ]
        spot = holders[0] if len(holders) == 1 and spot.one.kind == "operation" else None
    return spot.path if spot is not None and spot.outer is not None else None


def _adds_to(one: Expression, own: Expression) -> bool:
    """Say whether an expression is the sum of a buffer's own number and something else."""
    if one.name not in _SUMS or len(one.arguments) != 2:
        return False
    return _takes(one, own)


def _longer(function: FunctionFacts) -> Iterator[Edit]:
    """Yield sums over all of an axis, where they end before what they read does, or behind it."""
    buffers = (*function.parameters, *function.allocations)
    shapes = {each.name: each.tensor.shape or () for each in buffers}
    for place, block in enumerate(function.blocks):
        extents = dict(block.extents)
        loads = [
            part
            for store in block.statements
            for part in (store.value.walk() if store.value else ())
            if part.kind == "load"
        ]
        read = dict.fromkeys(
            (index.name, wanted)
            for load in loads
            for index, wanted in zip(load.arguments, shapes.get(load.name, ()), strict=False)
            if index.kind == "variable" and isinstance(wanted, int)
        )
        for (name, _), letter in zip(block.extents, block.iterators, strict=False):
            found = extents[name]
            for wanted in (n for each, n in read if each == name and letter == "R"):
                if found is not None and found != wanted:
                    whole = tuple(
                        (each, wanted if each == name else n) for each, n in block.extents
                    )
                    blocks = list(function.blocks)
                    blocks[place] = replace(block, extents=whole)
                    edited = replace(function, blocks=tuple(blocks))
                    told = str(found), str(wanted)
                    where = "long" if found > wanted else ""
                    yield Edit(edited, "short_axis", block.name, *told, name, where=where)


def _everywhere(function: FunctionFacts) -> Iterator[Edit]:
    """Yield what a function may have to be that makes one mistake in several statements.

    One half of a rotation reads the sine for the cosine, the other half too.
    """
    makes = (*_swaps_of(function), *_indices_of(function))
    for kind, told, change in makes:
        blocks = tuple(_mapped(block, change) for block in function.blocks)
        changed = [
            one.name for one, other in zip(function.blocks, blocks, strict=True) if one != other
        ]
        if changed:
            edited = replace(function, blocks=blocks)
            yield Edit(edited, kind, changed[0], *told, stage=_SOLVED + 1, where="everywhere")


Everywhere = tuple[MistakeKind, tuple[str, str], Callable[[Expression], Expression]]


def _mapped(block: Block, change: Callable[[Expression], Expression]) -> Block:
    """Return a block whose statements store something else."""
    stores = tuple(
        each if each.value is None else replace(each, value=change(each.value))
        for each in block.statements
    )
    return replace(block, statements=stores)


def _swaps_of(function: FunctionFacts) -> Iterator[Everywhere]:
    stored = {store.buffer for store in function.stores}
    given = [each for each in function.parameters if each.name not in stored]
    for one, other in combinations(given, 2):
        if one.tensor == other.tensor:
            names = {one.name: other.name, other.name: one.name}
            change = partial(_renamed_loads, names=names)
            yield "arguments_exchanged", (one.name, other.name), change


def _indices_of(function: FunctionFacts) -> Iterator[Everywhere]:
    """Yield another index in place of one at which buffers are read more than once."""
    stored = {store.buffer for store in function.stores}
    loads = [
        (part, block)
        for block in function.blocks
        for store in block.statements
        for part in (store.value.walk() if store.value else ())
        if part.kind == "load" and part.name not in stored
    ]
    counts = Counter(load.arguments for load, _ in loads)
    for load, block in {each.arguments: (each, block) for each, block in loads}.values():
        index = load.arguments
        for other in (*_renamed(index, block), *_exchanged(index)) if counts[index] > 1 else ():
            told = spelled(load), spelled(replace(load, arguments=other))
            yield "wrong_index", told, partial(_at_index, old=index, new=other, but=stored)


def _at_index(
    value: Expression,
    old: tuple[Expression, ...],
    new: tuple[Expression, ...],
    but: Set[str],
) -> Expression:
    """Return a value in which buffers are read at another index, but for some."""
    if value.kind == "load" and value.arguments == old and value.name not in but:
        return replace(value, arguments=new)
    arguments = tuple(_at_index(each, old, new, but) for each in value.arguments)
    return replace(value, arguments=arguments)


def solved_edits(function: FunctionFacts, factors: Sequence[float]) -> Iterator[Edit]:
    """Yield functions in which a number is by one of some factors larger or smaller.

    So often is what PyTorch gives larger than what the student's function does: 1/16 for 1/4.
    """
    if not all(map(_is_spelled, function.blocks)):
        return
    for place, block in enumerate(function.blocks):
        counts = _counts(block)
        for at, store in enumerate(block.statements):
            for spot in _parts(store) if store.value else ():
                value = _number(spot.one)
                others = [each for f in factors if value for each in (value * f, value / f)]
                for made in _numbers(spot, [float(f"{each:.6g}") for each in others]):
                    changed = replace(store, value=made.spot.holding(made.other))
                    edited = _with(function, place, "statements", at, changed)
                    yield Edit(edited, made.kind, block.name, *made.told(counts), stage=_SOLVED)


def own_edits(function: FunctionFacts) -> Iterator[Edit]:
    """Yield what a sum may have to be that is begun, read or stored at another index than its own.

    What such a function computes hangs on the order of its loops, and on what the memory held. To
    begin or read where the sum is stored is of an earlier stage than to store it elsewhere.
    """
    if not all(map(_is_spelled, function.blocks)):
        return
    yield from _too_early(function)
    for place, block in enumerate(function.blocks):
        for at, store in enumerate(block.statements):
            others = _stored_at(store, block) if _may_be_elsewhere(store, block) else ()
            for stage, index in enumerate((store.index, *others)):
                changed, found, wanted = _at_its_own(store, index)
                edited = _with(function, place, "statements", at, changed)
                if block.initial:
                    start = replace(block.initial[0], index=index)
                    if start != block.initial[0]:
                        found = found or spelled(_target(block.initial[0]))
                        edited = _with(edited, place, "initial", 0, start)
                if found:
                    told = found, wanted, "", min(stage, 1)
                    yield Edit(edited, "wrong_index", block.name, *told)


def _too_early(function: FunctionFacts) -> Iterator[Edit]:
    """Yield what may be read in place of a buffer that nothing has been stored in yet."""
    waiting = {store.buffer for store in function.stores}
    for place, block in enumerate(function.blocks):
        waiting -= {store.buffer for store in (*block.initial, *block.statements)}
        for at, store in enumerate(block.statements):
            for spot in _loads(store):
                one = spot.one
                for buffer in function.parameters if one.name in waiting else ():
                    if buffer.name not in waiting | {store.buffer}:
                        other = replace(one, name=buffer.name)
                        changed = replace(store, value=spot.holding(other))
                        edited = _with(function, place, "statements", at, changed)
                        told = spelled(one), spelled(other)
                        yield Edit(edited, "wrong_operand", block.name, *told)


def _at_its_own(store: Store, index: tuple[Expression, ...]) -> tuple[Store, str, str]:
    """Return a store that reads and writes its buffer at one index, and what was elsewhere."""
    found = "" if index == store.index else spelled(_target(store))
    changed = replace(store, index=index)
    wanted = _target(changed)
    value = store.value
    for spot in [] if value is None else list(_spots(Spot(value))):
        one = spot.one
        if one.kind == "load" and one.name == store.buffer and one.arguments != index:
            found = found or spelled(one)
            value = (
                None if value is None else _replaced(value, one, replace(wanted, dtype=one.dtype))
            )
    return replace(changed, value=value), found, spelled(wanted)


def _target(store: Store) -> Expression:
    return Expression("load", store.buffer, store.index)


def _replaced(value: Expression, old: Expression, new: Expression) -> Expression:
    if value == old:
        return new
    return replace(value, arguments=tuple(_replaced(each, old, new) for each in value.arguments))


def _may_be_elsewhere(store: Store, block: Block) -> bool:
    """Say whether a sum is begun or read at another index than it is stored at, or an axis of the
    block that is no sum's is not in the index: what was stored is stored over.

    Nothing else says of one iterator for each axis that two of them are exchanged.
    """
    # Nobody means to store at an index with a summand: mostly it leaves the buffer.
    if not all(each.kind in ("variable", "constant") for each in store.index):
        return True
    stored = {part.name for each in store.index for part in each.walk()}
    letters = zip((name for name, _ in block.extents), block.iterators, strict=False)
    if any(letter == "S" and name not in stored for name, letter in letters):
        return True
    loads = [] if store.value is None else [each.one for each in _spots(Spot(store.value))]
    own = [each.arguments for each in loads if (each.kind, each.name) == ("load", store.buffer)]
    own += [each.index for each in block.initial]
    return any(each != store.index for each in own)


def _stored_at(store: Store, block: Block) -> Iterator[tuple[Expression, ...]]:
    """Yield other indices to store at: one iterator for each axis."""
    yield from (each for each in _exchanged(store.index) if _is_plain(each))
    yield from (each for each in _renamed(store.index, block) if _is_plain(each))


def _is_plain(index: tuple[Expression, ...]) -> bool:
    names = [each.name for each in index if each.kind == "variable"]
    return len(set(names)) == len(names)


def _with(function: FunctionFacts, place: int, name: str, at: int, store: Store) -> FunctionFacts:
    block = function.blocks[place]
    stores = getattr(block, name)
    changed = replace(block, **{name: (*stores[:at], store, *stores[at + 1 :])})
    blocks = (*function.blocks[:place], changed, *function.blocks[place + 1 :])
    return replace(function, blocks=blocks)


def _is_spelled(block: Block) -> bool:
    values = [store.value for store in (*block.initial, *block.statements) if store.value]
    names = [each.name for value in values for each in value.walk() if each.name]
    return all(map(is_name, (block.name, *names)))


def _counts(block: Block) -> Counter[str]:
    """Return how often each part of what a block stores is written in it, in an index too."""
    values = (store.value for store in (*block.initial, *block.statements))
    parts = (part for value in values if value is not None for part in value.walk())
    return Counter(_spelled(each) for each in parts if each.name != "cast")


def _spots(spot: Spot) -> Iterator[Spot]:
    """Yield a part of a value, and each part of it that is no index."""
    yield spot
    if spot.one.kind in ("operation", "bound"):
        for at, each in enumerate(spot.one.arguments):
            yield from _spots(Spot(each, spot, at))


def _parts(store: Store) -> Iterator[Spot]:
    """Yield what a store computes, but for the number that it writes over."""
    assert store.value is not None
    for spot in islice(_spots(Spot(store.value)), _MOST_SPOTS):
        if (spot.one.name, spot.one.arguments) != (store.buffer, store.index):
            yield spot


def _loads(store: Store) -> Iterator[Spot]:
    """Yield what a store reads, but for the number that it writes over."""
    return (each for each in _parts(store) if each.one.kind == "load")


def _indices(_function: FunctionFacts, block: Block, store: Store) -> Iterator[Made]:
    """Read a buffer at another iterator, or with two indices exchanged."""
    for spot in _loads(store):
        given = spot.one.arguments
        for index in (*_renamed(given, block), *_exchanged(given), *_turned(given)):
            yield Made("wrong_index", spot, replace(spot.one, arguments=index))


def _renamed(index: tuple[Expression, ...], block: Block) -> Iterator[tuple[Expression, ...]]:
    """Yield an index with another iterator, or with other summands.

    An iterator that is always 0 is no summand: `vy + vi + vn` was advised for `vy + vi + 1`. Those
    that the index has come last: `data[vn, vn, vy, vx]` was advised with `vc` over one channel.
    """
    used = {one.name for each in index for one in each.walk()}
    extents = sorted(block.extents, key=lambda each: each[0] in used)
    for at, each in enumerate(index):
        for spot in _spots(Spot(each)):
            if spot.one.kind not in ("variable", "constant"):
                continue
            is_summand = spot.one.kind == "constant" and spot.outer is not None
            for name, extent in extents:
                if name != spot.one.name and not (is_summand and extent == 1):
                    new = Expression("variable", name, dtype=spot.one.dtype)
                    yield (*index[:at], spot.holding(new), *index[at + 1 :])
        for other in (*_longer_or_shorter(each, block), *_moved_by_one(each)):
            yield (*index[:at], other, *index[at + 1 :])


def _longer_or_shorter(one: Expression, block: Block) -> Iterator[Expression]:
    """Yield an index with one iterator of a sum added, or an operand alone: `i` for `i * 2`."""
    kinds = {name: kind for (name, _), kind in zip(block.extents, block.iterators, strict=False)}
    for name, kind in kinds.items() if one.kind == "variable" else ():
        if {kind, kinds.get(one.name)} == {"S", "R"}:
            other = Expression("variable", name, dtype=one.dtype)
            pair = (other, one) if kind == "S" else (one, other)
            yield Expression("operation", "add", pair, dtype=one.dtype)
    for spot in _spots(Spot(one)):
        if spot.one.kind == "operation" and len(spot.one.arguments) == 2:
            yield from map(spot.holding, spot.one.arguments)


def _moved_by_one(one: Expression) -> Iterator[Expression]:
    """Yield an index whose number is one more, or one less: `x[i, j + 48]` for `x[i, j + 47]`."""
    for spot in _spots(Spot(one)):
        if spot.one.kind == "constant" and isinstance(spot.one.value, int):
            for value in (spot.one.value + 1, spot.one.value - 1):
                new = replace(spot.one, value=value)
                if spot.outer is None or not _does_nothing(spot.around(new)):
                    yield spot.holding(new)


def _exchanged(index: tuple[Expression, ...]) -> Iterator[tuple[Expression, ...]]:
    for one in range(len(index)):
        for other in range(one + 1, len(index)):
            if index[one] != index[other]:
                new = list(index)
                new[one], new[other] = new[other], new[one]
                yield tuple(new)


def _turned(index: tuple[Expression, ...]) -> Iterator[tuple[Expression, ...]]:
    """Yield an index with two iterators of one part exchanged: `x[vj % 2 * 2 + vi % 2]`."""
    for at, each in enumerate(index):
        names = dict.fromkeys(part.name for part in each.walk() if part.kind == "variable")
        for one, other in combinations(names, 2):
            turned = _renamed_variables(each, {one: other, other: one})
            yield (*index[:at], turned, *index[at + 1 :])


def _renamed_variables(value: Expression, names: Mapping[str, str]) -> Expression:
    arguments = tuple(_renamed_variables(each, names) for each in value.arguments)
    name = names.get(value.name, value.name) if value.kind == "variable" else value.name
    return replace(value, name=name, arguments=arguments)


def _operators(_function: FunctionFacts, _block: Block, store: Store) -> Iterator[Made]:
    """Compute something else of the same two operands, or exchange them."""
    for spot in _parts(store):
        one = spot.one
        if one.kind != "operation" or len(one.arguments) != 2:
            continue
        if _is_negation(one):
            yield Made("wrong_operator", spot, one.arguments[0])
            continue
        others = [replace(one, name=name) for name in _OTHERS.get(one.name, ())]
        if _is_truncated(one):
            others.append(replace(one, name="floordiv"))
        if one.name in _ORDERED:
            others.append(replace(one, arguments=one.arguments[::-1]))
        others += _grouped(one)
        others = [each for each in others if not (_does_nothing(each) or _is_product(each, store))]
        yield from (Made("wrong_operator", spot, other) for other in others)


def _is_negation(one: Expression) -> bool:
    """Say whether an expression is `-x`, of which TVM makes `x * -1`."""
    return one.name == "mul" and len(one.arguments) == 2 and _number(one.arguments[1]) == -1


def _is_sign(place: int, outer: Expression) -> bool:
    """Say whether the argument at a place is the -1 that TVM has for a sign."""
    return place == 1 and _is_negation(outer)


def _is_truncated(one: Expression) -> bool:
    """Say whether an expression is a quotient of integers that is rounded towards 0."""
    return one.name == "div" and _is_whole(one)


def _regrouped(_function: FunctionFacts, _block: Block, store: Store) -> Iterator[Made]:
    """Do one of two operations before the other: `(x >> s) + half` is `(x + half) >> s`."""
    for spot in _parts(store):
        one = spot.one
        if one.name not in _GROUPED or len(one.arguments) != 2:
            continue
        for place, inner in enumerate(one.arguments):
            if inner.name not in _GROUPED | {"max", "min"} or inner.name == one.name:
                continue
            for at, each in enumerate(inner.arguments):
                pair = list(one.arguments)
                pair[place] = each
                parts = list(inner.arguments)
                parts[at] = replace(one, arguments=tuple(pair))
                yield Made("wrong_operator", spot, replace(inner, arguments=tuple(parts)))


def _is_product(one: Expression, store: Store) -> bool:
    """Say whether a buffer's own number is multiplied: a sum that begins with 0 would stay 0."""
    return one.name in ("mul", "div") and _takes(one, _target(store))


def _takes(one: Expression, own: Expression) -> bool:
    """Say whether an operation takes a buffer's own number."""
    return any((each.name, each.arguments) == (own.name, own.arguments) for each in one.arguments)


def _widened(_function: FunctionFacts, _block: Block, store: Store) -> Iterator[Made]:
    """Make the operands wide, where only their product or sum is: it has wrapped round by then."""
    for spot in _parts(store):
        cast, inner = spot.one, (spot.one.arguments or (spot.one,))[0]
        if {cast.kind, inner.kind} != {"operation"} or cast.name != "cast":
            continue
        if inner.name not in _WRAPPED or inner.dtype not in _NARROW:
            continue
        if not all(map(_is_spelled_whole, inner.arguments)):
            continue
        wide = tuple(_as(each, cast.dtype) for each in inner.arguments)
        parts = [
            _spelled(each) if each.kind == "constant" else f"{cast.dtype}({_spelled(each)})"
            for each in inner.arguments
        ]
        joined = _joined(inner, parts)
        around = "cast" if spot.outer is None else spot.outer.one.name
        is_apart = around in _CUTS or (around == "add" and inner.name in ("add", "sub", "mul"))
        names = f"{cast.dtype}({_spelled(inner)})", joined if is_apart else f"({joined})"
        if max(map(len, names)) <= _LONGEST:
            other = replace(inner, arguments=wide, dtype=cast.dtype)
            yield Made("wrong_operator", spot, other, names)


def _is_spelled_whole(one: Expression) -> bool:
    """Say whether no cast is lost where an operand is spelled without any: of `int16(a * b)` and
    `int16(a) * int16(b)` both are `a * b`, which wraps round in int8. That of a narrow operand to a
    wider type is lost for one that is wider still.
    """
    if one.kind == "operation" and one.name == "cast" and len(one.arguments) == 1:
        (inner,) = one.arguments
        if inner.dtype not in _NARROW or one.dtype not in _NARROW:
            return False
        return "8" in inner.dtype and "16" in one.dtype and not inner.uses("cast")
    return not one.uses("cast")


def _grouped(one: Expression) -> list[Expression]:
    """Return `x + a * b` for `x + a + b`, in which nobody meant to add `a` to `x` first."""
    first, last = one.arguments
    if first.kind != "operation" or len(first.arguments) != 2 or first.name not in _SUMS:
        return []
    start, middle = first.arguments
    terms = [
        replace(one, name=name, arguments=(middle, last))
        for name in ("mul", "div")
        if name in _OTHERS.get(one.name, ()) or one.name in _SUMS
    ]
    return [replace(first, arguments=(start, each)) for each in terms if not _does_nothing(each)]


def _starts(_function: FunctionFacts, block: Block, store: Store) -> Iterator[Made]:
    """Begin a sum with 0: also one that begins with its first term, which is added once more."""
    value = store.value
    assert value is not None
    if store in block.initial and (value.kind != "constant" or value.value):
        zero = Expression("constant", "", value=_like(0, value), dtype=value.dtype)
        yield Made("sum_start", Spot(value), zero)


def _operands(function: FunctionFacts, block: Block, store: Store) -> Iterator[Made]:
    """Read another buffer than is read, or one in place of a number or a variable."""
    for spot in _parts(store):
        if spot.one.kind in ("load", "constant", "variable"):
            for other in _readings(function, block, store, like=spot.one):
                yield Made("wrong_operand", spot, other)


def _swaps(function: FunctionFacts, _block: Block, store: Store) -> Iterator[Made]:
    """Read two buffers of one shape for each other, as where a call's arguments are exchanged."""
    assert store.value is not None
    read = [each for each in function.parameters if each.name in store.value.loaded]
    for one, other in combinations(read, 2):
        if one.tensor == other.tensor and store.buffer not in (one.name, other.name):
            names = {one.name: other.name, other.name: one.name}
            value = _renamed_loads(store.value, names)
            yield Made("arguments_exchanged", Spot(store.value), value, (one.name, other.name))


def _renamed_loads(value: Expression, names: Mapping[str, str]) -> Expression:
    arguments = tuple(_renamed_loads(each, names) for each in value.arguments)
    name = names.get(value.name, value.name) if value.kind == "load" else value.name
    return replace(value, name=name, arguments=arguments)


def _constants(_function: FunctionFacts, _block: Block, store: Store) -> Iterator[Made]:
    """Compute with another number, or with two numbers exchanged."""
    spots = [each for each in _parts(store) if _number(each.one) is not None]
    for spot in spots:
        value = _number(spot.one)
        assert value is not None
        yield from _numbers(spot, (value + 1, value - 1, 2 * value, value / 2, -value, 0, 1))
    for one, other in combinations(spots, 2):
        if _number(one.one) != _number(other.one) and one.one.dtype == other.one.dtype:
            yield _exchanged_at(one, other)


def _ends(_function: FunctionFacts, _block: Block, store: Store) -> Iterator[Made]:
    """Compute with an end of a type in place of another number, however far away it is.

    A float's 0 is a ReLU's: `max(x, -128)` in its place would leave that out.
    """
    for spot in _parts(store):
        if _is_whole(spot.one) or _number(spot.one) != 0:
            yield from _numbers(spot, _BYTES)


def _numbers(spot: Spot, others: Iterable[float]) -> Iterator[Made]:
    value = _number(spot.one)
    for new in dict.fromkeys(others if value is not None else ()):
        if value is not None and new != value and not (isinstance(value, int) and new != int(new)):
            other = replace(spot.one, value=type(value)(new))
            if spot.outer is None or not _does_nothing(spot.around(other)):
                yield Made("wrong_operand", spot, other)


_NEUTRAL: Mapping[str, int] = {"add": 0, "sub": 0, "mul": 1, "div": 1}


def _does_nothing(one: Expression) -> bool:
    """Say whether an operation gives one of its operands: `n * 1` is advised as `n`."""
    if one.name not in _NEUTRAL or len(one.arguments) != 2:
        return False
    is_neutral = [_number(each) == _NEUTRAL[one.name] for each in one.arguments]
    return is_neutral[1] or (is_neutral[0] and one.name not in _ORDERED)


def _number(one: Expression) -> int | float | None:
    """Return the number that an expression is, None for another expression and an infinite one."""
    is_known = one.kind == "constant" and one.value is not None and abs(one.value) <= 1e9
    return one.value if is_known else None


def _exchanged_at(one: Spot, other: Spot) -> Made:
    """Exchange what stands at two spots, of which neither is a part of the other."""
    pairs = zip(one.path[1:], other.path[1:], strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0].place == pair[1].place, pairs))
    around = one.path[shared]
    new = _put(around.one, one.path[shared + 1 :], other.one)
    return Made("wrong_operator", around, _put(new, other.path[shared + 1 :], one.one))


def _put(value: Expression, path: Sequence[Spot], new: Expression) -> Expression:
    """Return a value with another part where a path leads to."""
    if not path:
        return new
    at, given = path[0].place, value.arguments
    part = _put(given[at], path[1:], new)
    return replace(value, arguments=(*given[:at], part, *given[at + 1 :]))


def _cuts(_function: FunctionFacts, _block: Block, store: Store) -> Iterator[Made]:
    """Cut what is stored at an end of a type that is missing, or at 0.

    TVM makes `max(x, 127)` of `max(max(x, 127), -128)`: the end that stands there may be cut at
    from the other side.
    """
    for spot in _parts(store):
        one = spot.one
        if any(each.one.name not in _CUTS for each in spot.path[:-1]) or one.kind == "constant":
            continue
        inner = [one]
        if one.name in ("max", "min") and len(one.arguments) == 2:
            inner.append(replace(one, name="min" if one.name == "max" else "max"))
        for each in inner:
            for name in ("max", "min"):
                for end in (0, *_BYTES):
                    number = Expression("constant", "", value=_like(end, one), dtype=one.dtype)
                    other = Expression("operation", name, (each, number), dtype=one.dtype)
                    yield Made("wrong_operator", spot, other)


def _less(_function: FunctionFacts, _block: Block, store: Store) -> Iterator[Made]:
    """Do one operation less: leave out one of two operands."""
    for spot in _parts(store):
        if spot.one.kind == "operation" and len(spot.one.arguments) == 2:
            yield from (Made("wrong_operator", spot, each) for each in spot.one.arguments)


def _outer(function: FunctionFacts, block: Block, store: Store) -> Iterator[Made]:
    """Do one operation more, with what the function computes with elsewhere: `1 << x` for `x`."""
    for spot in _parts(store):
        one = spot.one
        if one.kind == "constant" or one.lanes > 1 or one.name == "cast" or one.dtype == "bool":
            continue
        names = ("add", "sub", "mul", *(("lshift", "rshift") if _is_whole(one) else ("div",)))
        for other in _others(function, block, store, like=one):
            pairs = [(name, (one, other)) for name in names]
            pairs += [(name, (other, one)) for name in names if name in _ORDERED]
            for name, pair in pairs:
                new = Expression("operation", name, pair, dtype=one.dtype)
                yield Made("wrong_operator", spot, new)


def _others(
    function: FunctionFacts, block: Block, store: Store, *, like: Expression
) -> Iterator[Expression]:
    """Yield numbers and loads of a function's statements, as numbers of an expression's type."""
    values = [each.value for each in function.stores if each.value is not None]
    parts = [part for value in values for part in value.walk()]
    numbers = dict.fromkeys((1, 2, *(each for each in map(_number, parts) if each)))
    for each in islice(numbers, _MOST_NUMBERS):
        yield Expression("constant", "", value=_like(each, like), dtype=like.dtype)
    names = {name for name, _ in block.extents}
    loads = dict.fromkeys(each for each in parts if each.kind == "load")
    for load in islice(loads, _MOST_NUMBERS):
        used = {each.name for each in load.walk() if each.kind == "variable"}
        if load.name != store.buffer and used <= names and load != like:
            yield _as(load, like.dtype)


def _is_whole(one: Expression) -> bool:
    return one.dtype.startswith(("int", "uint"))


def _like(number: float, one: Expression) -> int | float:
    """Return a number as one of an expression's type."""
    return int(number) if _is_whole(one) else float(number)


def _factors(function: FunctionFacts, block: Block, store: Store) -> Iterator[Made]:
    """Take in a buffer of the function that is read nowhere."""
    read = {name for each in function.stores if each.value for name in each.value.loaded}
    stored = {each.buffer for each in function.stores}
    unread = [each.name for each in function.parameters if each.name not in read | stored]
    for spot in _parts(store):
        one = spot.one
        if one.kind == "constant":
            continue
        for other in _readings(function, block, store, only=unread):
            for name in ("mul", "add", "sub", "rshift" if _is_whole(one) else "div"):
                new = Expression("operation", name, (one, other), dtype=one.dtype)
                yield Made("operand_left_out", spot, new, (other.name, spelled(new)))


_MAKERS = (
    *(
        _indices,
        _operators,
        _widened,
        _starts,
        _operands,
        _swaps,
        _constants,
        _ends,
        _cuts,
        _less,
        _factors,
        _regrouped,
    ),
    _outer,
)
"""What makes the edits, the smallest first."""

_FIRST = -1
_SOLVED = len(_MAKERS)


def _readings(
    function: FunctionFacts,
    block: Block,
    store: Store,
    *,
    like: Expression | None = None,
    only: Sequence[str] | None = None,
) -> Iterator[Expression]:
    """Yield loads of other buffers, at the iterators that go along their axes."""
    for buffer in function.parameters:
        if buffer.name == store.buffer or (only is not None and buffer.name not in only):
            continue
        if like is not None and like.name == buffer.name:
            continue
        shape = buffer.tensor.shape or ()
        dtype = buffer.tensor.dtype
        if like is not None and like.kind == "load" and len(like.arguments) == len(shape):
            yield _as(replace(like, name=buffer.name, dtype=dtype), like.dtype)
        choices = [list(_along(each, block)) for each in shape]
        for index in islice(product(*choices), _MOST_INDICES):
            one = Expression("load", buffer.name, index, dtype=dtype)
            yield _as(one, dtype if like is None else like.dtype)


def _along(extent: int | str, block: Block) -> Iterator[Expression]:
    """Yield what may go along an axis: an iterator of its extent, or two that make a window."""
    named = [(name, n) for name, n in block.extents if n is not None]
    alike = [Expression("variable", name, dtype="int32") for name, n in named if n == extent]
    if extent == 1:
        yield next(iter(alike), Expression("constant", "", value=0, dtype="int32"))
        return
    yield from alike
    pairs = [
        (one, other)
        for (one, n), kind in zip(block.extents, block.iterators, strict=False)
        for (other, m), other_kind in zip(block.extents, block.iterators, strict=False)
        if kind + other_kind == "SR" and n is not None and m is not None and n + m - 1 == extent
    ]
    for pair in pairs if not alike else ():
        first, second = (Expression("variable", name, dtype="int32") for name in pair)
        yield Expression("operation", "add", (first, second), dtype="int32")


def _as(one: Expression, dtype: str) -> Expression:
    """Return an expression as a number of a type."""
    if one.dtype == dtype:
        return one
    return Expression("operation", "cast", (one,), dtype=dtype)


# --- spelling -------------------------------------------------------------------------------------


def spelled(one: Expression) -> str:
    """Return an expression as it is written, without casts; what is long is cut."""
    return _cut(one, _LONGEST, _LEVELS)


def _cut_alike(one: Expression, other: Expression) -> tuple[str, str] | None:
    """Return two expressions of which the longest part that both have is cut, None where that is
    not enough.

    `max(... >> shift, 127)` and `max(min(..., 127), -128)` are not told: it is not the same `...`.
    """
    texts = _spelled(one), _spelled(other)
    if max(map(len, texts)) <= _LONGEST:
        return texts
    # An edit keeps the parts that it does not change: they are the same objects.
    theirs = {id(each) for each in other.walk()}
    longest = max(map(_spelled, _shared(one, theirs)), key=len, default="")
    if len(longest) < _LONGEST_PART:
        return None
    found, wanted = (_PARENTHESES.sub("...", each.replace(longest, "...")) for each in texts)
    return (found, wanted) if len(found) <= _LONGEST >= len(wanted) else None


def _shared(one: Expression, theirs: Set[int]) -> Iterator[Expression]:
    """Yield the largest parts of an expression, but for itself, that are among others, by id."""
    for each in one.arguments:
        if id(each) in theirs:
            yield each
        else:
            yield from _shared(each, theirs)


def _cut(one: Expression, longest: int, levels: int) -> str:
    text = _spelled(one)
    if len(text) <= longest:
        return text
    one = _uncast(one)
    if not levels or one.kind not in ("operation", "load"):
        return "..."
    parts = [
        _inner(_cut(each, _LONGEST_PART, levels - 1), each, one, at)
        for at, each in enumerate(one.arguments)
    ]
    return _joined(one, parts)


def _uncast(one: Expression) -> Expression:
    while one.kind == "operation" and one.name == "cast" and one.arguments:
        one = one.arguments[0]
    return one


def _spelled(one: Expression) -> str:
    one = _uncast(one)
    if one.kind == "constant":
        return "..." if one.value is None else str(one.value)
    if one.kind in ("variable", "bound"):
        return one.name
    parts = [_inner(_spelled(each), each, one, at) for at, each in enumerate(one.arguments)]
    return _joined(one, parts)


def _inner(text: str, part: Expression, whole: Expression, place: int) -> str:
    """Return an operand as it is written in an operation, in parentheses where it needs them.

    Few know that `a + b >> s` needs none: what is shifted has them.
    """
    part = _uncast(part)
    sign, around = _sign(part), _sign(whole)
    if part.kind != "operation" or sign is None or around is None or text == "...":
        return text
    inner, outer = _BINDING.get(sign, 0), _BINDING.get(around, 0)
    if around in ("<<", ">>") and place == 0:
        return f"({text})"
    return text if inner > outer or (inner == outer and place == 0) else f"({text})"


def _joined(one: Expression, parts: Sequence[str]) -> str:
    if one.kind == "load":
        return f"{one.name}[{', '.join(parts)}]"
    if _is_negation(one):
        return f"-{parts[0]}"
    sign = _sign(one)
    if sign is not None and len(parts) == 2:
        return f"{parts[0]} {sign} {parts[1]}"
    name = "truncdiv" if _is_truncated(one) else one.name
    return f"{name}({', '.join(parts)})"


def _sign(one: Expression) -> str | None:
    """Return the sign of an operation that has one; TVM has none for what `truncdiv` does."""
    return None if _is_truncated(one) else SIGNS.get(one.name)
