"""The steps of a schedule, as they show in the resulting function.

Nothing is believed of a trace or of names: what counts are the loops that the stores of the
convolution depend on, in which order, of which kind, and where they store.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from grader.evidence.updates import (
    Update,
    all_updates,
    find_inits,
    find_padding,
    find_updates,
    shape_of,
)
from grader.ir.facts import Block, FunctionFacts, Loop, LoopKind

Step = Literal[
    "inline",
    "split",
    "reorder",
    "fuse",
    "reorganize",
    "decompose",
    "vectorize",
    "contiguous",
    "unroll",
    "parallel",
    "annotate",
]
"""`reorganize` is any change of the loops: split, reordered, fused. `contiguous`: vectorized, and
neighbouring lanes store side by side. `annotate` is any of vectorize, unroll and parallel, and also
those on the loops that initialise a decomposed sum."""

Steps = frozenset[Step]
"""The steps that were done on a convolution."""

NO_STEPS: Steps = frozenset()
_KINDS: dict[Step, LoopKind] = {
    "vectorize": "vectorized",
    "unroll": "unrolled",
    "parallel": "parallel",
}


def find_steps(
    function: FunctionFacts, base: FunctionFacts | None, weight: tuple[int, ...]
) -> Steps:
    """Read the steps off a scheduled convolution.

    `base` is the same function before scheduling, as the student's kernel says, or None. It is the
    student's word, so it can take a step away and never give one. Where several blocks do the
    convolution, a step must be seen on each. Loops of one iteration are none. A padding block that
    was never there need not be inlined, but that earns nothing where no other step was done.
    Without a weight the steps are those of the blocks that sum up, and no padding is looked for.
    """
    found = _steps_by_block(function, base, weight)
    if not found:
        return NO_STEPS
    # Every step on a small block beside the plain one earns nothing (cheat steps_on_a_bystander).
    steps = frozenset.intersection(*(steps for _, steps in found))
    had_padding = bool(weight) and base is not None and bool(find_padding(base, weight))
    # Who wrote the convolution without a padding has nothing to inline, and is asked for it all the
    # same.
    if not weight or find_padding(function, weight) or not (had_padding or steps):
        return steps
    return steps | {"inline"}


def blocks_without(
    step: Step, function: FunctionFacts, base: FunctionFacts | None, weight: tuple[int, ...]
) -> tuple[str, ...]:
    """Return the names of the blocks that lack a step which another block has."""
    found = _steps_by_block(function, base, weight)
    lacking = tuple(dict.fromkeys(block.name for block, steps in found if step not in steps))
    return lacking if any(step in steps for _, steps in found) else ()


def _steps_by_block(
    function: FunctionFacts, base: FunctionFacts | None, weight: tuple[int, ...]
) -> list[tuple[Block, Steps]]:
    """Return the blocks that are judged, and the steps that were done on each."""
    unscheduled = find_updates(base, weight) if base is not None else ()
    return [
        (each.block, _steps_of(function, each, unscheduled, weight))
        for each in find_updates(function, weight)
    ]


def is_unscheduled(function: FunctionFacts, weight: tuple[int, ...]) -> bool:
    """Say whether a convolution is as it is written: one loop for each axis, in their order.

    How many loops the sum has is up to who writes it: a weight of another shape may need one.
    Without a weight all blocks of the function must be so, with a loop for each iterator of a sum.
    """
    updates = find_updates(function, weight) if weight else all_updates(function)
    return all(_is_as_written(function, each, weight) for each in updates)


def _is_as_written(function: FunctionFacts, update: Update, weight: tuple[int, ...]) -> bool:
    nest = [axes for axes in _axes(update) if axes]
    order = _order(update)
    return (
        not _annotations(update.loops)
        and not _inits(function, update)
        and order == sorted(set(order))
        and sorted(axis for axes in nest for axis in axes) == sorted({axes[0] for axes in nest})
        and (bool(weight) or _axes(update).count(()) == _sums_as_written(update, weight))
    )


def _steps_of(
    function: FunctionFacts,
    update: Update,
    unscheduled: tuple[Update, ...],
    weight: tuple[int, ...],
) -> Steps:
    """Return the steps that were done on one block, but for the padding's."""
    inits = _inits(function, update)
    steps: set[Step] = _annotations(update.loops)
    if "vectorize" in steps and update.store.lane_stride == 1:
        steps.add("contiguous")
    around = [loop for block in inits for store in block.statements for loop in store.loops]
    if steps or _annotations(around):
        steps.add("annotate")
    if inits:
        steps.add("decompose")
    if _is_reorganized(function, update, unscheduled, weight):
        steps.add("reorganize")
        steps |= _tiling(function, update, weight).difference(
            *(_tiling(function, each, weight) for each in unscheduled)
        )
        if _is_reordered(update, unscheduled):
            steps.add("reorder")
    return frozenset(steps)


def _inits(function: FunctionFacts, update: Update) -> list[Block]:
    """Return the blocks that initialise a reduction in its place, none if it does so itself."""
    # It initialises its sums itself: a parallel block that sets them once more is there for show.
    nest = _nest(function, update.block)
    if any(block.has_init for block in nest) or not any("R" in block.iterators for block in nest):
        return []
    return list(find_inits(function, update))


def _nest(function: FunctionFacts, block: Block) -> list[Block]:
    """Return a block and those around it, as `blockize` makes them."""
    nest = [block]
    while nest[-1].parent is not None:
        nest.append(function.blocks[nest[-1].parent])
    return nest


def _annotations(loops: Iterable[Loop]) -> set[Step]:
    """Return which of vectorize, unroll and parallel loops of more than one round have."""
    kinds = {loop.kind for loop in _real(loops)}
    return {step for step, kind in _KINDS.items() if kind in kinds}


def _real(loops: Iterable[Loop]) -> list[Loop]:
    # Loops of one round, split off and unrolled, do nothing (cheat steps_without_effect).
    return [loop for loop in loops if loop.extent != 1]


def _extents(update: Update) -> list[int | None]:
    return [loop.extent for loop in _real(update.loops)]


def _plain(function: FunctionFacts, update: Update, weight: tuple[int, ...]) -> list[int | None]:
    """Return the extents of the plain nest: over the output, and over the weight of a channel."""
    nest = [*shape_of(function, update.buffer), *weight[1:]]
    return [None if isinstance(extent, str) else extent for extent in nest if extent != 1]


def _is_reorganized(
    function: FunctionFacts,
    update: Update,
    unscheduled: tuple[Update, ...],
    weight: tuple[int, ...],
) -> bool:
    """Say whether the loops are neither the plain nest of a convolution nor those of the base."""
    if not weight:
        return bool(_tiling(function, update, weight)) or _is_reordered(update, unscheduled)
    extents, plain = _extents(update), _plain(function, update, weight)
    # Loops as they were in the base are the student's way to write it, however odd, and no step.
    if any(extents == _extents(each) for each in unscheduled):
        return False
    if not unscheduled:
        # Without a base, another order may be that of the beginning: a base that is made up, or
        # none, must not make a step of it.
        return not _are_permuted(extents, plain)
    return extents != plain


def _are_permuted(one: list[int | None], other: list[int | None]) -> bool:
    return sorted(map(str, one)) == sorted(map(str, other))


def _tiling(function: FunctionFacts, update: Update, weight: tuple[int, ...]) -> set[Step]:
    """Return whether an axis has several loops, or a loop several axes.

    The axes are those of what is stored, and those of the sum: the loops that no index depends on.
    """
    if weight and _are_permuted(_extents(update), _plain(function, update, weight)):
        return set()
    nest = _axes(update)
    loops_of = Counter(axis for axes in nest for axis in axes)
    sums, wanted = nest.count(()), _sums_as_written(update, weight)
    steps: set[Step] = set()
    if sums > wanted or any(count > 1 for count in loops_of.values()):
        steps.add("split")
    if sums < wanted or any(len(axes) > 1 for axes in nest):
        steps.add("fuse")
    return steps


def _sums_as_written(update: Update, weight: tuple[int, ...]) -> int:
    """Return how many loops of more than one iteration the sum was written with.

    Without a weight it is one for each iterator of the block that is no axis of what it stores, but
    for those of one place. Who declared that of a sum as spatial has done no step by that.
    """
    if weight:
        return sum(extent != 1 for extent in weight[1:])
    # In the block of a sum, another store may take what it has come to: a ReLU in every round.
    if update.buffer not in update.store.loads and () not in update.store.axes:
        return 0
    # Else an untouched product whose sum has one place would count as fused.
    pairs = zip(update.store.loops, update.store.axes, strict=False)
    single = sum(loop.extent == 1 and not axes for loop, axes in pairs)
    stored = {axis for axes in update.store.axes for axis in axes}
    summed = len(update.block.iterators) - len(stored)
    return max(0, max(update.block.iterators.count("R"), summed) - single)


def _axes(update: Update) -> list[tuple[int, ...]]:
    """Return, for each loop, the axes of what is stored that it goes along."""
    store = update.store
    pairs = zip(store.loops, store.axes, strict=False)
    return [axes for loop, axes in pairs if loop.extent != 1]


def _is_reordered(update: Update, unscheduled: tuple[Update, ...]) -> bool:
    """Say whether the loops go along the axes in another order than in memory and in the base."""
    order = _order(update)
    return order != sorted(set(order)) and all(order != _order(each) for each in unscheduled)


def _order(update: Update) -> list[int]:
    """Return the axes in the order of the loops, the sum as the last of them."""
    last = 1 + max((axis for axes in update.store.axes for axis in axes), default=0)
    ranks = [min(axes, default=last) for axes in _axes(update)]
    return [rank for at, rank in enumerate(ranks) if at == 0 or ranks[at - 1] != rank]
