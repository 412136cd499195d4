"""Two scheduled functions side by side: their loops, what is written beside them, their blocks.

Names count for nothing. A block is known by what it does: it sets sums to a constant, it sums up,
or it does anything else. A loop around several blocks is one object in all of their facts, so it is
told from another one that looks like it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from grader.ir.facts import Block, FunctionFacts, LoopKind

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
    """Return how long the beginning is that two tuples have in common."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
