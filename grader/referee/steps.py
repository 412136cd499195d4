"""The steps of a schedule, as they show in the resulting function."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from grader.ir.facts import Block, FunctionFacts, Loop
from grader.referee.updates import (
    Update,
    find_inits,
    find_padding,
    find_updates,
    output_shape,
)

ANNOTATED = frozenset({"parallel", "vectorized", "unrolled"})


class Steps(msgspec.Struct, frozen=True):
    """Which steps were done on a convolution."""

    inline: bool
    reorganize: bool
    decompose: bool
    annotate: bool

    def __and__(self, other: Steps) -> Steps:
        """Return the steps that were done on two."""
        return Steps(
            inline=self.inline and other.inline,
            reorganize=self.reorganize and other.reorganize,
            decompose=self.decompose and other.decompose,
            annotate=self.annotate and other.annotate,
        )


NO_STEPS = Steps(inline=False, reorganize=False, decompose=False, annotate=False)


def find_steps(
    function: FunctionFacts, base: FunctionFacts | None, weight: tuple[int, ...]
) -> Steps:
    """Read the steps off a scheduled convolution.

    `base` is the same function before scheduling, as the student's kernel says, or None. Where
    several blocks do the convolution, a step must be seen on each. Loops of one iteration are none.
    A padding block that was never there need not be inlined, but that earns nothing where no other
    step was done.
    """
    updates = find_updates(function, weight)
    if not updates:
        return NO_STEPS
    steps = Steps(
        inline=not find_padding(function, weight),
        reorganize=all(_is_reorganized(function, each, base, weight) for each in updates),
        decompose=all(_inits(function, each) for each in updates),
        annotate=all(_is_annotated(function, each) for each in updates),
    )
    had_padding = base is not None and bool(find_padding(base, weight))
    if had_padding or steps.reorganize or steps.decompose or steps.annotate:
        return steps
    return msgspec.structs.replace(steps, inline=False)


def _inits(function: FunctionFacts, update: Update) -> list[Block]:
    """Return the blocks that initialise a reduction in its place, none if it does so itself."""
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


def _is_annotated(function: FunctionFacts, update: Update) -> bool:
    inits = _inits(function, update)
    loops = [loop for block in inits for store in block.statements for loop in store.loops]
    return any(loop.kind in ANNOTATED for loop in _real([*update.loops, *loops]))


def _real(loops: Iterable[Loop]) -> list[Loop]:
    return [loop for loop in loops if loop.extent != 1]


def _extents(update: Update) -> list[int | None]:
    return [loop.extent for loop in _real(update.loops)]


def _is_reorganized(
    function: FunctionFacts, update: Update, base: FunctionFacts | None, weight: tuple[int, ...]
) -> bool:
    """Say whether the loops are neither the plain nest of a convolution nor those of the base.

    The base is the student's word, so it can take a step away and never give one.
    """
    extents = _extents(update)
    unscheduled = find_updates(base, weight) if base is not None else ()
    if any(extents == _extents(each) for each in unscheduled):
        return False
    nest = [*output_shape(function, update), *weight[1:]]
    plain = [None if isinstance(extent, str) else extent for extent in nest if extent != 1]
    if not unscheduled:
        return sorted(map(str, extents)) != sorted(map(str, plain))
    return extents != plain
