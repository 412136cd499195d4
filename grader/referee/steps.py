"""The steps of a schedule, as they show in the resulting function."""

from __future__ import annotations

import msgspec

from grader.ir.facts import Block, FunctionFacts
from grader.referee.convolution import update_block

ANNOTATED = frozenset({"parallel", "vectorized", "unrolled"})


class Steps(msgspec.Struct, frozen=True):
    """Which steps were done on a convolution."""

    inline: bool
    reorganize: bool
    decompose: bool
    annotate: bool


def find_steps(
    function: FunctionFacts, base: FunctionFacts | None, weight: tuple[int, ...]
) -> Steps:
    """Read the steps off a scheduled convolution.

    `base` is the same function before scheduling, where it is known. Without it a loop nest counts
    as untouched when it has one loop per block variable. A padding block that was never there need
    not be inlined, but that earns nothing where no other step was done.
    """
    update = update_block(function, weight)
    if update is None:
        return Steps(inline=False, reorganize=False, decompose=False, annotate=False)
    loops = [loop for block in _related(function, update) for loop in block.loops]
    steps = Steps(
        inline=not _has_padding(function),
        reorganize=_extents(update) != _plain_extents(update, base, weight),
        decompose=_is_decomposed(function, update),
        annotate=any(loop.kind in ANNOTATED for loop in loops),
    )
    had_padding = base is not None and _has_padding(base)
    if had_padding or steps.reorganize or steps.decompose or steps.annotate:
        return steps
    return msgspec.structs.replace(steps, inline=False)


def _is_decomposed(function: FunctionFacts, update: Block) -> bool:
    is_reduction = "R" in update.iterators
    return is_reduction and not update.has_init and _has_init_block(function, update)


def _related(function: FunctionFacts, update: Block) -> list[Block]:
    return [block for block in function.blocks if set(block.writes) & set(update.writes)]


def _has_padding(function: FunctionFacts) -> bool:
    return any(block.is_copy for block in function.blocks)


def _has_init_block(function: FunctionFacts, update: Block) -> bool:
    return any(
        block.is_constant_store and set(block.writes) & set(update.writes)
        for block in function.blocks
    )


def _extents(block: Block) -> list[int | None]:
    return [loop.extent for loop in block.loops]


def _plain_extents(
    update: Block, base: FunctionFacts | None, weight: tuple[int, ...]
) -> list[int | None] | None:
    unscheduled = update_block(base, weight) if base is not None else None
    if unscheduled is not None:
        return _extents(unscheduled)
    untouched = len(update.loops) == len(update.iterators)
    return _extents(update) if untouched else None
