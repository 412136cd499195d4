"""The blocks of a function that do the convolution: those that in truth multiply by its weight.

What a block declares to read counts for nothing, nor does a loop that its stores do not depend on.
"""

import math
from typing import NamedTuple

from grader.ir.facts import Block, BufferFacts, FunctionFacts, Loop, Shape, Store


class Update(NamedTuple):
    """A block that loads the weight and something else.

    `store` is the largest of its stores that do. `work` says how often the weight is used, None
    where the extent of a loop is not known.
    """

    block: Block
    store: Store
    work: int | None

    @property
    def buffer(self) -> str:
        """Return the name of the buffer that is stored to."""
        return self.store.buffer

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Return the loops that the store depends on, from the outside."""
        return self.store.loops

    @property
    def lanes(self) -> int:
        """Return how many items the store stores at once."""
        return _lanes(self.store)


def find_updates(function: FunctionFacts, weight: tuple[int, ...]) -> tuple[Update, ...]:
    """Return the blocks that do the convolution, none where together they do less than all of it.

    What is made of the weight alone, a copy in a cache for example, stands for the weight. Without
    a weight they are the stores that add to what they stored, or all where none does.
    """
    if not weight:
        every = all_updates(function)
        # A bias that is added in place, item by item, is no sum: beside it no step of the sum would
        # be seen.
        sums = (each for each in every if each.buffer in each.store.loads)
        return tuple(each for each in sums if () in each.store.axes) or every
    weights = _weights(function, weight)
    # A copy of the weight, in a cache or scaled, is the weight again: its loops earn nothing.
    blocks = (block for block in function.blocks if not weights >= set(block.stores))
    found = [update for block in blocks if (update := _update(block, weights))]
    works = [each.work for each in found if each.work is not None]
    # A decoy multiplies the weight with a corner of the images, in loops as they are asked for.
    # Tiles that do not divide do more than all of the work.
    is_whole = len(works) < len(found) or sum(works) >= _needed(function, weight)
    return tuple(found) if is_whole else ()


def all_updates(function: FunctionFacts) -> tuple[Update, ...]:
    """Return every store of every block, whatever it computes."""
    stores = ((block, store) for block in function.blocks for store in block.statements)
    return tuple(Update(block, store, None) for block, store in stores)


def find_padding(function: FunctionFacts, weight: tuple[int, ...]) -> tuple[Block, ...]:
    """Return the blocks that copy, with padding or without, what the convolution then loads.

    A copy with another number of axes packs the input for the loops that read it: that is no
    padding, but what it reads may have been padded.
    """
    shapes = shapes_of(function)
    weights = _weights(function, weight)
    updates = find_updates(function, weight)
    others = weights | {update.buffer for update in updates}
    names = {load for update in updates for load in update.block.loads} - others
    found: list[Block] = []
    for block in reversed(function.blocks):
        # From the convolution backwards, through copies of copies. Caches of the weight and of the
        # output are copies, too, and no padding.
        if block.is_copy and names & set(block.stores):
            names |= set(block.loads) - others
            if not _packs(block, shapes):
                found.append(block)
    return tuple(found)


def holds_weight(shape: tuple[int | str, ...] | None, weight: tuple[int, ...]) -> bool:
    """Say whether a tensor has as many elements as the weight, in whatever layout."""
    known = [extent for extent in shape or () if isinstance(extent, int)]
    is_known = shape is not None and len(known) == len(shape)
    return is_known and math.prod(known) == math.prod(weight)


def find_inits(function: FunctionFacts, update: Update) -> tuple[Block, ...]:
    """Return the blocks of their own that set the sums of an update to a constant.

    There may be several, each for a part of a loop. None where together they leave sums out.
    """
    sums = _elements(shapes_of(function).get(update.buffer))
    found: list[Block] = []
    left = sums
    for block in function.blocks:
        stores = [store for store in block.statements if store.buffer == update.buffer]
        if block.is_constant_store and stores:
            found.append(block)
            counts = [_product(store.loops) for store in stores]
            # A block of 2 by 2 that stores zeros initialises nothing. The parts of a divided loop
            # are decomposed one by one, and count together.
            left -= max(sums if count is None else count for count in counts)
    return tuple(found) if left <= 0 else ()


def shape_of(function: FunctionFacts, buffer: str) -> Shape:
    """Return the shape of one of a function's buffers, () where it is not known."""
    return shapes_of(function).get(buffer) or ()


def _update(block: Block, weights: set[str]) -> Update | None:
    # Nine products in one store are as much work as nine rounds of a loop; what a block only
    # declares to read is none (cheat steps_on_a_decoy).
    uses = [(store, sum(load in weights for load in store.loads)) for store in block.statements]
    uses = [(store, count) for store, count in uses if count]
    if not uses:
        return None
    works = [_product(store.loops, count * _lanes(store)) for store, count in uses]
    largest = max(zip(uses, works, strict=True), key=lambda each: each[1] or math.inf)[0][0]
    work = None if None in works else sum(each or 0 for each in works)
    return Update(block, largest, work)


def _weights(function: FunctionFacts, weight: tuple[int, ...]) -> set[str]:
    """Return the names of the buffers that hold the weight: the parameter, and what it becomes.

    Where no parameter has its shape, it is one of as many elements.
    """
    inputs = function.parameters[:-1]
    names = {each.name for each in inputs if each.tensor.shape == weight}
    # A weight that was reshaped before it is given, to rows for a product of matrices for instance.
    names = names or {each.name for each in inputs if holds_weight(each.tensor.shape, weight)}
    for block in function.blocks:
        loads = set(block.loads) - set(block.stores)
        if loads and names >= loads:
            names |= set(block.stores)
    return names


def _needed(function: FunctionFacts, weight: tuple[int, ...]) -> int:
    """Return how many multiplications make the function's output, as far as that is known."""
    outputs = [each.tensor.shape for each in function.parameters if each.tensor.shape]
    # Symbolic extents count as 1: they are trusted.
    return _elements(outputs[-1] if outputs else None) * math.prod(weight[1:])


def shapes_of(function: FunctionFacts) -> dict[str, Shape | None]:
    """Return the shapes of a function's buffers by their names."""
    buffers: tuple[BufferFacts, ...] = (*function.allocations, *function.parameters)
    return {buffer.name: buffer.tensor.shape for buffer in buffers}


def _lanes(store: Store) -> int:
    """Return how many items a store stores at once, 1 where that is no row of them.

    A vector whose lanes are all in one place is none.
    """
    index = (each.arguments[0] if each.kind == "bound" else each for each in store.index)
    ramps = (each for each in index if (each.kind, each.name) == ("operation", "ramp"))
    rows = (each for each in ramps if each.arguments[1].value not in (None, 0))
    return max((each.lanes for each in rows), default=1)


def _elements(shape: Shape | None) -> int:
    """Return the product of the extents that are known."""
    return math.prod(extent for extent in shape or () if isinstance(extent, int))


def _product(loops: tuple[Loop, ...], factor: int = 1) -> int | None:
    """Return how often something is done, None where it cannot be known."""
    for loop in loops:
        if loop.extent is None:
            return None
        factor *= loop.extent
    return factor


def _packs(block: Block, shapes: dict[str, Shape | None]) -> bool:
    known = [shapes.get(name) for name in (*block.loads, *block.stores)]
    return len({len(shape) for shape in known if shape is not None}) > 1
