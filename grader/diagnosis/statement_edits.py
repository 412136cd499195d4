"""Small edits of a TIR function's statements, each of which one wrong line may need.

Every edit is a whole function with one expression replaced, and what is told of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice, product
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
_BINDING: Mapping[str, int] = {"+": 4, "-": 4, "*": 5, "/": 5, "//": 5, "%": 5, "<<": 3, ">>": 3}
"""How tightly a sign binds in Python; comparisons bind least."""

_LONGEST = 60
_LONGEST_PART = 24
_BYTES = (-128, 127, 255)
"""Ends of the types of eight bits."""

_MOST_INDICES = 24
_MOST_SPOTS = 40


class Edit(NamedTuple):
    """A function with one expression replaced: what it is called, and how both are spelled."""

    function: FunctionFacts
    kind: MistakeKind
    block: str
    found: str
    wanted: str


Rebuild = Callable[[Expression], Expression]


def edits(function: FunctionFacts) -> Iterator[Edit]:
    """Yield what a function may have to be, the smallest edits first.

    Functions with names that cannot be spelled are left alone.
    """
    if not all(map(_is_spelled, function.blocks)):
        return
    for make in (_indices, _operators, _starts, _operands, _swaps, _constants, _factors):
        for place, block in enumerate(function.blocks):
            for name in ("initial", "statements"):
                for at, store in enumerate(getattr(block, name)):
                    if store.value is None:
                        continue
                    for kind, found, wanted, value in make(function, block, store):
                        changed = replace(store, value=value)
                        yield Edit(
                            _with(function, place, name, at, changed),
                            kind,
                            block.name,
                            found,
                            wanted,
                        )


def own_edits(function: FunctionFacts) -> Iterator[Edit]:
    """Yield what a sum may have to be that is begun, read or stored at another index than its own.

    What such a function computes hangs on the order of its loops, and on what the memory held.
    """
    if not all(map(_is_spelled, function.blocks)):
        return
    yield from _too_early(function)
    for place, block in enumerate(function.blocks):
        for at, store in enumerate(block.statements):
            for index in (store.index, *_stored_at(store, block)):
                changed, found, wanted = _at_its_own(store, index)
                edited = _with(function, place, "statements", at, changed)
                if block.initial:
                    start = replace(block.initial[0], index=index)
                    if start != block.initial[0]:
                        found = found or spelled(_target(block.initial[0]))
                        edited = _with(edited, place, "initial", 0, start)
                if found:
                    yield Edit(edited, "wrong_index", block.name, found, wanted)


def _too_early(function: FunctionFacts) -> Iterator[Edit]:
    """Yield what may be read in place of a buffer that nothing has been stored in yet."""
    waiting = {store.buffer for store in function.stores}
    for place, block in enumerate(function.blocks):
        waiting -= {store.buffer for store in (*block.initial, *block.statements)}
        for at, store in enumerate(block.statements):
            for one, rebuild in _loads(store):
                for buffer in function.parameters if one.name in waiting else ():
                    if buffer.name not in waiting | {store.buffer}:
                        other = replace(one, name=buffer.name)
                        changed = replace(store, value=rebuild(other))
                        edited = _with(function, place, "statements", at, changed)
                        told = spelled(one), spelled(other)
                        yield Edit(edited, "wrong_operand", block.name, *told)


def _at_its_own(store: Store, index: tuple[Expression, ...]) -> tuple[Store, str, str]:
    """Return a store that reads and writes its buffer at one index, and what was elsewhere."""
    found = "" if index == store.index else spelled(_target(store))
    changed = replace(store, index=index)
    wanted = _target(changed)
    value = store.value
    for one, _ in [] if value is None else list(_spots(value)):
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


def _stored_at(store: Store, block: Block) -> Iterator[tuple[Expression, ...]]:
    """Yield other indices to store at: one iterator for each axis."""
    yield from (each for each in _exchanged(store.index) if _is_plain(each))
    yield from (each for each in _renamed(store.index, block) if _is_plain(each))


def _is_plain(index: tuple[Expression, ...]) -> bool:
    names = [each.name for each in index if each.kind == "variable"]
    return len(set(names)) == len(names)


Made = Iterator[tuple[MistakeKind, str, str, Expression]]


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


def _spots(
    value: Expression, rebuild: Rebuild = lambda new: new
) -> Iterator[tuple[Expression, Rebuild]]:
    """Yield each part of a value that is no index, with what puts another in its place."""
    yield value, rebuild
    if value.kind not in ("operation", "bound"):
        return
    for at, each in enumerate(value.arguments):

        def again(new: Expression, at: int = at) -> Expression:
            given = value.arguments
            return rebuild(replace(value, arguments=(*given[:at], new, *given[at + 1 :])))

        yield from _spots(each, again)


def _loads(store: Store) -> Iterator[tuple[Expression, Rebuild]]:
    """Yield what a store reads, but for the number that it writes over."""
    assert store.value is not None
    for one, rebuild in islice(_spots(store.value), _MOST_SPOTS):
        if one.kind == "load" and (one.name, one.arguments) != (store.buffer, store.index):
            yield one, rebuild


def _indices(_function: FunctionFacts, block: Block, store: Store) -> Made:
    """Read a buffer at another iterator, or with two indices exchanged."""
    for one, rebuild in _loads(store):
        for index in (*_renamed(one.arguments, block), *_exchanged(one.arguments)):
            other = replace(one, arguments=index)
            yield "wrong_index", spelled(one), spelled(other), rebuild(other)


def _renamed(index: tuple[Expression, ...], block: Block) -> Iterator[tuple[Expression, ...]]:
    for at, each in enumerate(index):
        for variable, rebuild in _spots(each):
            if variable.kind not in ("variable", "constant"):
                continue
            for name, _ in block.extents:
                if name != variable.name:
                    new = Expression("variable", name, dtype=variable.dtype)
                    yield (*index[:at], rebuild(new), *index[at + 1 :])
        for other in _longer_or_shorter(each, block):
            yield (*index[:at], other, *index[at + 1 :])


def _longer_or_shorter(one: Expression, block: Block) -> Iterator[Expression]:
    """Yield an index with one iterator of a sum added, or with one of its own summands alone."""
    kinds = {name: kind for (name, _), kind in zip(block.extents, block.iterators, strict=False)}
    for name, kind in kinds.items() if one.kind == "variable" else ():
        if {kind, kinds.get(one.name)} == {"S", "R"}:
            other = Expression("variable", name, dtype=one.dtype)
            pair = (other, one) if kind == "S" else (one, other)
            yield Expression("operation", "add", pair, dtype=one.dtype)
    if one.kind == "operation" and len(one.arguments) == 2:
        yield from one.arguments


def _exchanged(index: tuple[Expression, ...]) -> Iterator[tuple[Expression, ...]]:
    for one in range(len(index)):
        for other in range(one + 1, len(index)):
            if index[one] != index[other]:
                new = list(index)
                new[one], new[other] = new[other], new[one]
                yield tuple(new)


def _operators(_function: FunctionFacts, _block: Block, store: Store) -> Made:
    """Compute something else of the same two operands, or exchange them."""
    assert store.value is not None
    for one, rebuild in islice(_spots(store.value), _MOST_SPOTS):
        if one.kind != "operation" or len(one.arguments) != 2:
            continue
        others = [replace(one, name=name) for name in _OTHERS.get(one.name, ())]
        if one.name in _ORDERED:
            others.append(replace(one, arguments=one.arguments[::-1]))
        others += _grouped(one)
        for other in others:
            yield "wrong_operator", spelled(one), spelled(other), rebuild(other)


def _grouped(one: Expression) -> list[Expression]:
    """Return `x + a * b` for `x + a + b`, in which nobody meant to add `a` to `x` first."""
    first, last = one.arguments
    if first.kind != "operation" or len(first.arguments) != 2 or first.name not in _SUMS:
        return []
    start, middle = first.arguments
    return [
        replace(first, arguments=(start, replace(one, name=name, arguments=(middle, last))))
        for name in ("mul", "div")
        if name in _OTHERS.get(one.name, ()) or one.name in _SUMS
    ]


def _starts(_function: FunctionFacts, block: Block, store: Store) -> Made:
    """Begin a sum with 0."""
    value = store.value
    assert value is not None
    if value.kind == "constant" and value.value and store in block.initial:
        zero = replace(value, value=0.0 if isinstance(value.value, float) else 0)
        yield "sum_start", spelled(value), spelled(zero), zero


def _operands(function: FunctionFacts, block: Block, store: Store) -> Made:
    """Read another buffer than is read, or one in place of a number or a variable."""
    assert store.value is not None
    for one, rebuild in islice(_spots(store.value), _MOST_SPOTS):
        if one.kind == "load" and (one.name, one.arguments) == (store.buffer, store.index):
            continue
        if one.kind not in ("load", "constant", "variable"):
            continue
        for other in _readings(function, block, store, like=one):
            yield "wrong_operand", spelled(one), spelled(other), rebuild(other)


def _swaps(function: FunctionFacts, _block: Block, store: Store) -> Made:
    """Read two buffers of one shape for each other, as where a call's arguments are exchanged."""
    assert store.value is not None
    read = [each for each in function.parameters if each.name in store.value.loaded]
    for one, other in combinations(read, 2):
        if one.tensor == other.tensor and store.buffer not in (one.name, other.name):
            names = {one.name: other.name, other.name: one.name}
            yield "arguments_exchanged", one.name, other.name, _renamed_loads(store.value, names)


def _renamed_loads(value: Expression, names: Mapping[str, str]) -> Expression:
    arguments = tuple(_renamed_loads(each, names) for each in value.arguments)
    name = names.get(value.name, value.name) if value.kind == "load" else value.name
    return replace(value, name=name, arguments=arguments)


def _constants(_function: FunctionFacts, _block: Block, store: Store) -> Made:
    """Compute with another number."""
    assert store.value is not None
    for one, rebuild in islice(_spots(store.value), _MOST_SPOTS):
        value = one.value
        if one.kind != "constant" or value is None or abs(value) > 1e9:
            continue
        near = (value + 1, value - 1, 2 * value, value / 2, -value, 0, 1, *_BYTES)
        for new in dict.fromkeys(near):
            if isinstance(value, int) and new != int(new):
                continue
            other = replace(one, value=type(value)(new))
            if new != value:
                yield "wrong_operand", spelled(one), spelled(other), rebuild(other)


def _factors(function: FunctionFacts, block: Block, store: Store) -> Made:
    """Take in a buffer of the function that is read nowhere."""
    assert store.value is not None
    read = {name for each in function.stores if each.value for name in each.value.loaded}
    stored = {each.buffer for each in function.stores}
    unread = [each.name for each in function.parameters if each.name not in read | stored]
    for one, rebuild in islice(_spots(store.value), _MOST_SPOTS):
        if (one.name, one.arguments) == (store.buffer, store.index) or one.kind == "constant":
            continue
        for other in _readings(function, block, store, only=unread):
            for name in ("mul", "add"):
                new = Expression("operation", name, (one, other), dtype=one.dtype)
                yield "operand_left_out", other.name, spelled(new), rebuild(new)


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
    text = _spelled(one)
    if len(text) <= _LONGEST:
        return text
    parts = [_spelled(each) for each in one.arguments]
    short = [each if len(each) <= _LONGEST_PART else "..." for each in parts]
    return _joined(one, short)


def _spelled(one: Expression) -> str:
    if one.kind == "constant":
        return "..." if one.value is None else str(one.value)
    if one.kind in ("variable", "bound"):
        return one.name
    if one.kind == "operation" and one.name == "cast" and one.arguments:
        return _spelled(one.arguments[0])
    parts = [_inner(each, one, at) for at, each in enumerate(one.arguments)]
    return _joined(one, parts)


def _inner(part: Expression, whole: Expression, place: int) -> str:
    """Return an operand as it is written in an operation, in parentheses where it needs them."""
    text = _spelled(part)
    while part.kind == "operation" and part.name == "cast" and part.arguments:
        part = part.arguments[0]
    sign, around = SIGNS.get(part.name), SIGNS.get(whole.name)
    if part.kind != "operation" or sign is None or around is None:
        return text
    inner, outer = _BINDING.get(sign, 0), _BINDING.get(around, 0)
    return text if inner > outer or (inner == outer and place == 0) else f"({text})"


def _joined(one: Expression, parts: Sequence[str]) -> str:
    if one.kind == "load":
        return f"{one.name}[{', '.join(parts)}]"
    if one.name in SIGNS and len(parts) == 2:
        return f"{parts[0]} {SIGNS[one.name]} {parts[1]}"
    return f"{one.name}({', '.join(parts)})"
