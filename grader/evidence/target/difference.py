"""What a scheduled function lacks of a target: both side by side, and what to do next.

Names count for nothing. A block is known by what it does: it sets sums to a constant, it sums up,
or it does anything else. A loop around several blocks is one object in all of their facts, so it is
told from another one that looks like it.
"""

from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Literal, NamedTuple

from grader.ir.facts import Block, FunctionFacts, LoopKind
from grader.ir.vocabulary import shown
from grader.language import Text, in_a_row, say

Role = Literal["init", "sum", "other"]


class Level(NamedTuple):
    """A loop around a block: its iterations, the axes of what is stored that it goes along.

    A loop of the sum goes along none.
    """

    extent: int | None
    axes: tuple[int, ...]
    kind: LoopKind


class Nest(NamedTuple):
    """A block with the loops around it, outermost first.

    `shared` says how many of them it has in common with the function's first block that sums up, or
    with its first block where none does.
    """

    block: Block
    role: Role
    levels: tuple[Level, ...]
    shared: int

    @property
    def own(self) -> tuple[Level, ...]:
        """Return the loops that it does not have in common with that block."""
        return self.levels[self.shared :]


def read_nests(function: FunctionFacts) -> tuple[Nest, ...]:
    """Return the nests of all blocks that hold no other one, in the order of the program."""
    parents = {block.parent for block in function.blocks}
    innermost = [block for place, block in enumerate(function.blocks) if place not in parents]
    roles = [_role(block) for block in innermost]
    paths = [tuple(map(id, block.loops)) for block in innermost]
    first = roles.index("sum") if "sum" in roles else 0
    return tuple(
        Nest(block, role, _levels(block), _common(path, paths[first]))
        for block, role, path in zip(innermost, roles, paths, strict=True)
    )


def _role(block: Block) -> Role:
    if block.is_constant_store:
        return "init"
    adds = any(store.buffer in store.loads and () in store.axes for store in block.statements)
    return "sum" if adds else "other"


def _levels(block: Block) -> tuple[Level, ...]:
    """Return the loops of a block; one that its store does not depend on goes along no axis."""
    axes: dict[int, tuple[int, ...]] = {}
    for store in block.statements[:1]:
        axes = dict(zip(map(id, store.loops), store.axes, strict=False))
    return tuple(Level(loop.extent, axes.get(id(loop), ()), loop.kind) for loop in block.loops)


def _common(one: tuple[object, ...], other: tuple[object, ...]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


Third = Literal["loops", "annotations", "places"]
"""`loops`: those of the sum have the right extents, in the right order. `annotations`: the right
loops are parallel, vectorized, unrolled. `places`: the sum is initialised where it should be, and
the other blocks are inside the right loops of it, with the right loops of their own."""

THIRDS: tuple[Third, ...] = ("loops", "annotations", "places")

_KINDS: dict[LoopKind, tuple[Text, Text]] = {
    "serial": (say("serial"), say("leave-that-loop-unchanged")),
    "parallel": (say("parallel"), say("call-parallel-on")),
    "vectorized": (
        say("vectorized"),
        say("call-vectorize-on-before-you-decompose-reduction"),
    ),
    "unrolled": (say("unrolled"), say("call-unroll-on")),
    "thread_binding": (say("bound-thread"), say("call-bind-on")),
}
"""What a loop of a kind is called, and how it becomes one."""


class Difference(NamedTuple):
    """One thing that is other than in the target, in a sentence, and the next step."""

    reason: Text
    hint: Text


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
    if not other:
        reason = say("function-has-no-blocks")
        return Likeness((), Difference(reason, say("schedule-function-as-given")))
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
    sums = _sums(nests)
    return [nest for nest in nests if all(nest is not each for each in sums)]


def _of(role: Literal["init", "other"], nests: tuple[Nest, ...]) -> list[Nest]:
    """Return the initialisations beside the sums, or all that is neither."""
    return [nest for nest in _others(nests) if (nest.role == "init") == (role == "init")]


def _loops(wanted: tuple[Nest, ...], found: tuple[Nest, ...]) -> Iterator[Difference]:
    """Yield how the sums' loops differ in extents and order."""
    one, other = _sums(wanted), _sums(found)
    if len(one) != len(other):
        reason = say("blocks-that-do-sum-in-target", found=len(other), wanted=len(one))
        hint = say("start-from-given-function-and-schedule")
        yield Difference(reason, hint)
    for left, right in zip(one, other, strict=False):
        yield from _nest_differences(left.levels, right.levels, _name(right))


def _nest_differences(
    wanted: tuple[Level, ...], found: tuple[Level, ...], name: str
) -> Iterator[Difference]:
    """Yield how the loops around a block differ: in their extents first, then in their order.

    A loop along two axes has the extents of neither; no `split` gives it those of the target.
    """
    for level in found:
        if len(level.axes) > 1 and all(level.axes != each.axes for each in wanted):
            several = in_a_row(map(str, level.axes))
            reason = say("loop-around-goes-along-several-axes", name=name, axes=several)
            yield Difference(reason, say("do-not-fuse-these-loops"))
    for axes in dict.fromkeys(level.axes for level in (*wanted, *found)):
        left, right = _extents(wanted, axes), _extents(found, axes)
        if sorted(map(str, left)) != sorted(map(str, right)):
            reason = say(
                "around-loops-should-have-extents-and-have",
                name=name,
                along=_along(axes),
                wanted=_list(left),
                found=_list(right),
            )
            yield Difference(reason, _split_hint(left))
    for number, (one, other) in enumerate(zip(wanted, found, strict=False), 1):
        if (one.extent, one.axes) != (other.extent, other.axes):
            reason = say(
                "loop-around-should-that-iterations",
                number=number,
                name=name,
                wanted=str(one.extent),
                along=_along(one.axes),
                found=str(other.extent),
                instead=_along(other.axes),
            )
            yield Difference(reason, _order_hint(wanted, found))


def _order_hint(wanted: tuple[Level, ...], found: tuple[Level, ...]) -> Text:
    """Say what to do about loops in another order.

    The pieces of one loop may be the wrong way round: split by [8, 16] where [16, 8] is asked for,
    which no `reorder` mends.
    """
    for axes in dict.fromkeys(level.axes for level in wanted):
        left, right = _extents(wanted, axes), _extents(found, axes)
        if left != right:
            return say(
                "loops-should-have-extents-outermost-first-give",
                along=_along(axes),
                wanted=_list(left),
            )
    return say("reorder-loops")


def _split_hint(extents: tuple[int | None, ...]) -> Text:
    if len(extents) > 1:
        return say("split-that-loop-with-factors", factors=_list(extents))
    return say("do-not-split-that-loop")


def _places(wanted: tuple[Nest, ...], found: tuple[Nest, ...]) -> Iterator[Difference]:
    """Yield how other blocks and initialisations are elsewhere than in the target."""
    one, other = _of("other", wanted), _of("other", found)
    for left, right in zip(one, other, strict=False) if len(one) == len(other) else ():
        yield from _place(left, right, found)
    for init, own in zip_longest(_of("init", wanted), _of("init", found)):
        yield from _initialisation(init, own, found)
    if len(one) != len(other):
        reason = say("blocks-beside-sum-in-target", found=len(other), wanted=len(one))
        hint = say("cache-and-inline-what-cached-and-inlined")
        if len(other) < len(one):
            hint = say("write-what-follows-sum-in-block-own")
        yield Difference(reason, hint)


def _place(wanted: Nest, found: Nest, nests: tuple[Nest, ...]) -> Iterator[Difference]:
    """Yield how a block is elsewhere beside the sum, or has other loops of its own there."""
    total = _sums(nests)[0]
    if wanted.shared == found.shared:
        yield from _nest_differences(wanted.own, found.own, _name(found))
        return
    reason = say(
        "inside-first-loops-in-target-inside-first",
        name=_name(found),
        total=_name(total),
        found=found.shared,
        wanted=wanted.shared,
    )
    if not found.shared:
        names = {"name": _name(found), "total": _name(total)}
        reason = say("outside-all-loops-in-target-inside-first", **names, wanted=wanted.shared)
    is_after = nests.index(found) > nests.index(total)
    hint = say("leave-where")
    if wanted.shared:
        hint = say(
            "call-for-with-loop-around",
            primitive="reverse_compute_at" if is_after else "compute_at",
            number=wanted.shared,
            total=_name(total),
        )
    yield Difference(reason, hint)


def _initialisation(
    wanted: Nest | None, found: Nest | None, nests: tuple[Nest, ...]
) -> Iterator[Difference]:
    """Yield what is other in how a sum is initialised; None is within the sum's own block."""
    total = _name(_sums(nests)[0])
    if wanted is None:
        yield Difference(
            say("sum-initialised-in-block-own-in-target"), say("leave-out-decompose-reduction")
        )
        return
    hint = say("call-decompose-reduction-for-with-loop", number=wanted.shared + 1)
    if found is None:
        reason = say("sum-initialised-within-in-target-has-block", total=total)
        yield Difference(reason, hint)
    elif wanted.shared != found.shared:
        reason = say(
            "sum-initialised-inside-first-loops-in-target",
            found=found.shared,
            total=total,
            wanted=wanted.shared,
        )
        yield Difference(reason, hint)
    else:
        # An initialisation has a loop of the sum only where that is not declared as such.
        spatial = any(level.axes == () and level.extent != 1 for level in found.own)
        for each in _nest_differences(wanted.own, found.own, _name(found)):
            declared = say("declare-axes-of-sum-as-reduction-in-function")
            yield each._replace(hint=declared) if spatial else each


def _sum_annotations(wanted: tuple[Nest, ...], found: tuple[Nest, ...]) -> Iterator[Difference]:
    """Yield which of the sums' loops should be of another kind."""
    for left, right in zip(_sums(wanted), _sums(found), strict=False):
        yield from _kinds(left.levels, right.levels, _name(right))


def _other_annotations(wanted: tuple[Nest, ...], found: tuple[Nest, ...]) -> Iterator[Difference]:
    """Yield which of the other blocks' own loops should be of another kind."""
    for role in ("init", "other"):
        for left, right in zip(_of(role, wanted), _of(role, found), strict=False):
            yield from _kinds(left.own, right.own, _name(right))


def _kinds(wanted: tuple[Level, ...], found: tuple[Level, ...], name: str) -> Iterator[Difference]:
    """Yield which loops around a block should be of another kind.

    Where the loops are others, what is missing is told by extent and axis.
    """
    if [level[:2] for level in wanted] == [level[:2] for level in found]:
        for number, (one, other) in enumerate(zip(wanted, found, strict=True), 1):
            if one.kind != other.kind:
                yield _kind(one, other.kind, say("loop-title", number=number), name)
        return
    left = [level for level in found if level.kind != "serial"]
    for level in (each for each in wanted if each.kind != "serial"):
        if level in left:
            left.remove(level)
        else:
            yield _kind(level, "serial", say("a-loop"), name)
    for level in left:
        yield _kind(level._replace(kind="serial"), level.kind, say("a-loop"), name)


def _kind(wanted: Level, found: LoopKind, loop: Text, name: str) -> Difference:
    reason = say(
        "iterations-around-should",
        loop=loop,
        extent=str(wanted.extent),
        along=_along(wanted.axes),
        name=name,
        wanted=_KINDS[wanted.kind][0],
        found=_KINDS[found][0],
    )
    return Difference(reason, _KINDS[wanted.kind][1])


def _extents(levels: tuple[Level, ...], axes: tuple[int, ...]) -> tuple[int | None, ...]:
    return tuple(level.extent for level in levels if level.axes == axes)


def _name(nest: Nest) -> str:
    return shown(nest.block.name)


def _along(axes: tuple[int, ...]) -> Text:
    if not axes:
        return say("over-sum")
    return say("along-axis", axes=", ".join(map(str, axes)))


def _list(extents: tuple[int | None, ...]) -> str:
    return str([extent for extent in extents if extent is not None])
