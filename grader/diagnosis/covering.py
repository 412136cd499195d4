"""An axis of a block that does not go over all of its buffer, or over more than there is, or whose
loop is too short for it.

The statement is right then, and no edit of it helps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from grader.ir.facts import Block, FunctionFacts
from grader.ir.vocabulary import is_name


class ShortAxis(NamedTuple):
    """An axis of a block, over how many items it goes, and over how many it should."""

    block: str
    iterator: str
    found: int
    wanted: int


def short_axis(function: FunctionFacts, blocks: Iterable[Block]) -> ShortAxis | None:
    """Return the first axis of some blocks that is too short or too long, None without any."""
    found = (each for block in blocks for each in (*_stored(function, block), *_looped(block)))
    named = (each for each in found if is_name(each.block) and is_name(each.iterator))
    return next(named, None)


def _stored(function: FunctionFacts, block: Block) -> Iterator[ShortAxis]:
    """Yield axes by which a block stores, and which are shorter or longer than the buffer."""
    buffers = (*function.parameters, *function.allocations)
    shapes = {each.name: each.tensor.shape or () for each in buffers}
    extents = dict(block.extents)
    spare = Counter(each.extent for each in block.loops) - Counter(extents.values())
    for store in (*block.initial, *block.statements):
        for index, wanted in zip(store.index, shapes.get(store.buffer, ()), strict=False):
            found = extents.get(index.name) if index.kind == "variable" else None
            # A loop of that length that no axis has: the axis is bound to another one.
            if wanted in spare:
                continue
            if found is not None and isinstance(wanted, int) and found != wanted:
                yield ShortAxis(block.name, index.name, found, wanted)


def _looped(block: Block) -> Iterator[ShortAxis]:
    """Yield the axis that is longer than its loop, where each axis has one loop of its extent."""
    loops = Counter(each.extent for each in block.loops)
    axes = Counter(extent for _, extent in block.extents)
    short, long = [*(loops - axes).elements()], [*(axes - loops).elements()]
    if len(short) != 1 or len(long) != 1:
        return
    names = [name for name, extent in block.extents if extent == long[0]]
    if len(names) == 1 and short[0] is not None and long[0] is not None and short[0] < long[0]:
        yield ShortAxis(block.name, names[0], short[0], long[0])
