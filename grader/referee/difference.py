"""What a scheduled function lacks of a target: which thirds of it are there, what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Literal, NamedTuple

from grader.ir.facts import FunctionFacts, LoopKind
from grader.ir.names import shown
from grader.referee.nests import Level, Nest, read_nests

Third = Literal["loops", "annotations", "places"]
"""`loops`: those of the sum have the right extents, in the right order. `annotations`: the right
loops are parallel, vectorized, unrolled. `places`: the sum is initialised where it should be, and
the other blocks are inside the right loops of it, with the right loops of their own."""

THIRDS: tuple[Third, ...] = ("loops", "annotations", "places")

_KINDS: dict[LoopKind, tuple[str, str]] = {
    "serial": ("serial", "Leave that loop as it is."),
    "parallel": ("parallel", "Call `parallel` on it."),
    "vectorized": ("vectorized", "Call `vectorize` on it, before you decompose the reduction."),
    "unrolled": ("unrolled", "Call `unroll` on it."),
    "thread_binding": ("bound to a thread", "Call `bind` on it."),
}
"""What a loop of a kind is called, and how it becomes one."""

_AS_LAST = "as the last step: TVM does not annotate the loops of a sum that was taken apart"


class Difference(NamedTuple):
    """One thing that is other than in the target, in a sentence, and the next step."""

    reason: str
    hint: str


class Likeness(NamedTuple):
    """The thirds of a target that a function has, and the first thing that it lacks."""

    right: tuple[Third, ...]
    first: Difference | None


def compare_functions(wanted: FunctionFacts, found: FunctionFacts) -> Likeness:
    """Compare a function with the target.

    What the target itself does not have earns something only along with its loops: otherwise a
    function that nobody has scheduled would have it.
    """
    one, other = read_nests(wanted), read_nests(found)
    loops = list(_loops(one, other))
    places = list(_places(one, other))
    of_sums, of_others = list(_sum_annotations(one, other)), list(_other_annotations(one, other))
    is_right: dict[Third, bool] = {
        "loops": not loops,
        "annotations": not (of_sums or of_others) and (not loops or _is_annotated(one)),
        "places": not places and (not loops or _is_placed(one)),
    }
    first = next(chain(loops, of_sums, places, of_others), None)
    return Likeness(tuple(each for each in THIRDS if is_right[each]), first)


def _is_annotated(nests: tuple[Nest, ...]) -> bool:
    return any(level.kind != "serial" for nest in nests for level in nest.levels)


def _is_placed(nests: tuple[Nest, ...]) -> bool:
    return any(nest.shared or nest.role == "init" for nest in _others(nests))


def _sums(nests: tuple[Nest, ...]) -> list[Nest]:
    """Return the blocks that sum up; where none does, the first one."""
    return [nest for nest in nests if nest.role == "sum"] or list(nests[:1])


def _others(nests: tuple[Nest, ...]) -> list[Nest]:
    """Return the blocks beside the sums, initialisations first."""
    sums = _sums(nests)
    beside = [nest for nest in nests if all(nest is not each for each in sums)]
    return sorted(beside, key=lambda nest: nest.role != "init")


def _pairs(wanted: tuple[Nest, ...], found: tuple[Nest, ...]) -> Iterator[tuple[Nest, Nest]]:
    """Yield blocks beside the sums that stand for each other: of one role, in their order."""
    for role in ("init", "other"):
        yield from zip(
            (nest for nest in _others(wanted) if nest.role == role),
            (nest for nest in _others(found) if nest.role == role),
            strict=False,
        )


def _loops(wanted: tuple[Nest, ...], found: tuple[Nest, ...]) -> Iterator[Difference]:
    """Yield how the sums' loops differ in extents and order."""
    one, other = _sums(wanted), _sums(found)
    if len(one) != len(other):
        yield Difference(
            f"The sum is done by {_count(len(other), 'block')}, in the target by {len(one)}.",
            "Start from the function as it was given, and schedule that.",
        )
    for left, right in zip(one, other, strict=False):
        yield from _nest_differences(left.levels, right.levels, _name(right))


def _nest_differences(
    wanted: tuple[Level, ...], found: tuple[Level, ...], name: str
) -> Iterator[Difference]:
    """Yield how the loops around a block differ: in their extents first, then in their order."""
    for axes in dict.fromkeys(level.axes for level in (*wanted, *found)):
        left, right = _extents(wanted, axes), _extents(found, axes)
        if left != right:
            yield Difference(
                f"Around {name}, {_along(axes)} should have {_loops_of(left)} and has"
                f" {_loops_of(right)}.",
                f"`split` it into {list(left)}." if len(left) > 1 else "Do not `split` it.",
            )
    for number, (one, other) in enumerate(zip(wanted, found, strict=False), 1):
        if (one.extent, one.axes) != (other.extent, other.axes):
            yield Difference(
                f"Loop {number} around {name} should be {_spell(one)} and is {_spell(other)}.",
                "`reorder` the loops.",
            )


def _places(wanted: tuple[Nest, ...], found: tuple[Nest, ...]) -> Iterator[Difference]:
    """Yield how initialisations and other blocks are elsewhere than in the target."""
    one, other = _others(wanted), _others(found)
    for left, right in _pairs(wanted, found):
        if left.role == "other":
            yield from _place(left, right, found)
    inits = [[nest for nest in each if nest.role == "init"] for each in (one, other)]
    for init, own in zip_longest(*inits):
        yield from _initialisation(init, own, found)
    if len(one) - len(inits[0]) != len(other) - len(inits[1]):
        yield Difference(
            f"Beside the sum there {_are(len(other) - len(inits[1]))}, in the target"
            f" {len(one) - len(inits[0])}.",
            "Leave out what caches or inlines a block, or put it in, as in the target.",
        )


def _place(wanted: Nest, found: Nest, nests: tuple[Nest, ...]) -> Iterator[Difference]:
    name, total = _name(found), _name(_sums(nests)[0])
    if wanted.shared != found.shared:
        is_after = nests.index(found) > nests.index(_sums(nests)[0])
        primitive = "reverse_compute_at" if is_after else "compute_at"
        yield Difference(
            f"{name} should be inside of {_first(wanted.shared)} around {total} and is inside of"
            f" {_first(found.shared)}.",
            f"Call `{primitive}` for {name}, with loop {wanted.shared} around {total}."
            if wanted.shared
            else f"Leave {name} where it was.",
        )
        return
    yield from _nest_differences(_own(wanted), _own(found), name)


def _initialisation(
    wanted: Nest | None, found: Nest | None, nests: tuple[Nest, ...]
) -> Iterator[Difference]:
    """Yield what is to be said of a sum's initialisation; None is one in the sum's own block."""
    total = _name(_sums(nests)[0])
    if wanted is None:
        yield Difference(
            "The sum is initialised in a block of its own; in the target it is not.",
            "Leave out `decompose_reduction`.",
        )
    elif found is None:
        yield Difference(
            f"The sum is initialised within {total}; in the target it has a block of its own.",
            f"Call `decompose_reduction` for {total} with loop {wanted.shared + 1}, {_AS_LAST}.",
        )
    elif wanted.shared != found.shared:
        yield Difference(
            f"The sum should be initialised inside of {_first(wanted.shared)} around {total} and"
            f" is inside of {_first(found.shared)}.",
            f"Call `decompose_reduction` with loop {wanted.shared + 1}, {_AS_LAST}.",
        )
    else:
        yield from _nest_differences(_own(wanted), _own(found), _name(found))


def _sum_annotations(wanted: tuple[Nest, ...], found: tuple[Nest, ...]) -> Iterator[Difference]:
    """Yield which of the sums' loops should be of another kind."""
    for left, right in zip(_sums(wanted), _sums(found), strict=False):
        yield from _kinds(left.levels, right.levels, _name(right))


def _other_annotations(wanted: tuple[Nest, ...], found: tuple[Nest, ...]) -> Iterator[Difference]:
    """Yield which of the other blocks' own loops should be of another kind."""
    for left, right in _pairs(wanted, found):
        yield from _kinds(_own(left), _own(right), _name(right))


def _kinds(wanted: tuple[Level, ...], found: tuple[Level, ...], name: str) -> Iterator[Difference]:
    if [level[:2] for level in wanted] == [level[:2] for level in found]:
        for number, (one, other) in enumerate(zip(wanted, found, strict=True), 1):
            if one.kind != other.kind:
                kind, hint = _KINDS[one.kind]
                yield Difference(
                    f"The loop of {_spell(other)} ({number} of {len(found)}) around {name} should"
                    f" be {kind} and is {_KINDS[other.kind][0]}.",
                    hint,
                )
        return
    left = [level for level in found if level.kind != "serial"]
    for level in (each for each in wanted if each.kind != "serial"):
        if level in left:
            left.remove(level)
            continue
        kind, hint = _KINDS[level.kind]
        yield Difference(f"{name} should have {_spell(level)} that is {kind}.", hint)
    for level in left:
        kind = _KINDS[level.kind][0]
        reason = f"{name} has {_spell(level)} that is {kind}; the target has none."
        yield Difference(reason, "Leave that loop as it is.")


def _own(nest: Nest) -> tuple[Level, ...]:
    """Return the loops that a block does not have in common with the sum."""
    return nest.levels[nest.shared :]


def _extents(levels: tuple[Level, ...], axes: tuple[int, ...]) -> tuple[int | None, ...]:
    return tuple(level.extent for level in levels if level.axes == axes)


def _name(nest: Nest) -> str:
    return shown(nest.block.name)


def _along(axes: tuple[int, ...]) -> str:
    if not axes:
        return "the sum"
    return f"{'axes' if len(axes) > 1 else 'axis'} {' and '.join(map(str, axes))} of the output"


def _spell(level: Level) -> str:
    where = "over the sum" if not level.axes else f"along {_along(level.axes)}"
    return f"one of {level.extent} iterations {where}"


def _loops_of(extents: tuple[int | None, ...]) -> str:
    if len(extents) == 1:
        return f"one loop of {extents[0]}"
    return f"loops of {' and '.join(map(str, extents))}" if extents else "none"


def _first(count: int) -> str:
    """Name the outer loops."""
    return {0: "no loop", 1: "the first loop"}.get(count, f"the first {count} loops")


def _count(count: int, noun: str) -> str:
    return f"one {noun}" if count == 1 else f"{count} {noun}s"


def _are(count: int) -> str:
    return "is one other block" if count == 1 else f"are {count} other blocks"
