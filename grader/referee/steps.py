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

    `base` is the same function before scheduling, as the student's kernel says, or None. A padding
    block that was never there need not be inlined, but that earns nothing where no other step was
    done.
    """
    update = update_block(function, weight)
    if update is None:
        return Steps(inline=False, reorganize=False, decompose=False, annotate=False)
    loops = [loop for block in _related(function, update) for loop in block.loops]
    steps = Steps(
        inline=not _has_padding(function),
        reorganize=_is_reorganized(function, update, base, weight),
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


def _is_reorganized(
    function: FunctionFacts, update: Block, base: FunctionFacts | None, weight: tuple[int, ...]
) -> bool:
    """Say whether the loops are neither the plain nest of a convolution nor those of the base.

    The base is the student's word, so it can take a step away and never give one.
    """
    extents = _extents(update)
    unscheduled = update_block(base, weight) if base is not None else None
    if unscheduled is not None and extents == _extents(unscheduled):
        return False
    plain = [*_output_extents(function, update), *weight[1:]]
    if unscheduled is None and len(extents) == len(plain):
        return sorted(map(str, extents)) != sorted(map(str, plain))
    return extents != plain


def _output_extents(function: FunctionFacts, update: Block) -> tuple[int | str, ...]:
    buffers = (*function.parameters, *function.allocations)
    written = (buffer for buffer in buffers if buffer.name in update.writes)
    return next((buffer.tensor.shape or () for buffer in written), ())
