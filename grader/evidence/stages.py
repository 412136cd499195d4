"""Steps of a schedule that change blocks, or are about several: caches, rfactor, intrinsics.

They are read off the resulting function, as those of `steps.py` are: a trace gives none.
"""

import math
from typing import Literal

from grader.evidence.updates import Update, find_updates, shape_of
from grader.ir.facts import Block, FunctionFacts

Stage = Literal[
    "rfactor",
    "cache_read",
    "cache_write",
    "compute_at",
    "tensorize",
    "pipeline",
    "vectorize_epilogue",
]
"""An epilogue is what is done to each number that a sum has made: a bias, ReLU."""


def find_stages(
    function: FunctionFacts, base: FunctionFacts | None, weight: tuple[int, ...]
) -> frozenset[Stage]:
    """Return which of these steps were done around the block that does most of the work.

    `base` is the same function before scheduling, as the student's kernel says, or None: it can
    take a step away and never give one.
    """
    before = _stages(base, weight) if base is not None else frozenset()
    return _stages(function, weight) - before


def _stages(function: FunctionFacts, weight: tuple[int, ...]) -> frozenset[Stage]:
    updates = find_updates(function, weight)
    if not updates:
        return frozenset()
    # The largest one: a decoy with a cache would have to do as much as the sum itself.
    main = max(updates, key=_work)
    seen: dict[Stage, bool] = {
        "rfactor": any(_is_factored(function, main, other) for other in updates),
        "cache_read": any(_is_read_through(function, main, each) for each in function.blocks),
        "cache_write": any(_is_written_through(function, main, each) for each in function.blocks),
        "compute_at": any(_is_moved(function, main.block, each) for each in function.blocks),
        "tensorize": _is_tensorized(main),
        "pipeline": _is_pipelined(function, main),
        "vectorize_epilogue": _has_vectorized_epilogue(function, main),
    }
    return frozenset(name for name, is_done in seen.items() if is_done)


def _work(update: Update) -> float:
    extents = [loop.extent for loop in update.loops]
    return update.lanes * math.prod(extent for extent in extents if extent is not None)


def _is_factored(function: FunctionFacts, main: Update, other: Update) -> bool:
    """Say whether the sums of a block are summed up once more, along an axis of their own."""
    one, rest = shape_of(function, main.buffer), shape_of(function, other.buffer)
    is_next = main.buffer in other.store.loads and main.buffer != other.buffer
    return is_next and len(one) == len(rest) + 1


def _is_read_through(function: FunctionFacts, main: Update, block: Block) -> bool:
    """Say whether a block copies what the sum then loads, in its own shape.

    A padding has another shape than what is padded, and a layout other axes: these are no caches.
    """
    return set(block.stores) <= set(main.store.loads) and _is_cache(function, block)


def _is_written_through(function: FunctionFacts, main: Update, block: Block) -> bool:
    """Say whether a block copies what the sum has stored."""
    return main.buffer in block.loads and _is_cache(function, block)


def _is_cache(function: FunctionFacts, block: Block) -> bool:
    shapes = {shape_of(function, name) for name in (*block.loads, *block.stores)}
    is_whole = _covers(function, block, set(block.stores))
    return block.is_copy and bool(block.loads) and len(shapes) == 1 and is_whole


def _covers(function: FunctionFacts, block: Block, buffers: set[str]) -> bool:
    """Say whether a block is run often enough for all items of some buffers.

    A block that copies one item beside the sum, to where nobody looks, is there for show.
    """
    rounds = math.prod(loop.extent for loop in block.loops if loop.extent is not None)
    shapes = (shape_of(function, name) for name in buffers)
    return all(rounds >= math.prod(e for e in shape if isinstance(e, int)) for shape in shapes)


def _is_moved(function: FunctionFacts, main: Block, other: Block) -> bool:
    """Say whether a block that makes or takes what another one does is in a loop of it."""
    if set(main.stores) & set(other.stores):  # the initialisation of a sum, where it is decomposed
        return False
    related = set(main.stores) & set(other.loads) or set(other.stores) & set(main.loads)
    shared = (one for one in main.loops if any(one is loop for loop in other.loops))
    is_inside = any(loop.extent != 1 for loop in shared)
    return bool(related) and is_inside and _covers(function, other, related)


def _is_tensorized(main: Update) -> bool:
    """Say whether a block computes several terms of its sums at once, on parts of its buffers.

    That is what an intrinsic leaves behind, whose body has names of its own for what it is given.
    """
    # An intrinsic of one product does what was there before.
    within = [loop for loop in main.loops if all(loop is not each for each in main.block.loops)]
    rounds = math.prod(loop.extent or 1 for loop in within)
    return {main.buffer} < set(main.block.parts) and rounds * main.lanes > 1


def _is_pipelined(function: FunctionFacts, main: Update) -> bool:
    """Say whether a loop of the sum makes, in an earlier stage, what a later one of it uses."""
    makers = [block for block in function.blocks if set(block.stores) & set(main.store.loads)]
    makers = [block for block in makers if main.buffer not in block.stores]
    return any(
        loop.extent != 1
        and len(set(loop.stages)) > 1
        and any(loop is each for block in makers for each in block.loops)
        for loop in main.loops
    )


def _has_vectorized_epilogue(function: FunctionFacts, main: Update) -> bool:
    """Say whether all that is done item by item with what the sum stored is done in vectors."""
    made, epilogue = {main.buffer}, list[Block]()
    for block in function.blocks:
        # What copies sums out of a cache computes nothing; what sums them up is another sum.
        if made & set(block.loads) and not made & set(block.stores) and "R" not in block.iterators:
            made |= set(block.stores)
            epilogue += [] if block.is_copy else [block]
    strides = [store.lane_stride for block in epilogue for store in block.statements]
    return bool(strides) and all(stride == 1 for stride in strides)
