"""The blocks of a function, and the loops around them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from tvm import tirx
from tvm.s_tir import SBlockRealize

from grader.inside.common.modules import nodes_of

_REDUCTION = 2


class BlockPlace(msgspec.Struct, frozen=True, eq=False):
    """A block within its loops."""

    realize: Any
    loops: tuple[Any, ...]

    @property
    def name(self) -> str:
        """Return what the block is called."""
        return str(self.realize.block.name_hint)

    def sums_over(self, loop: Any) -> bool:
        """Say whether a reduction of the block goes along a loop."""
        axes = zip(self.realize.block.iter_vars, self.realize.iter_values, strict=True)
        return any(
            axis.iter_type == _REDUCTION and _uses(value, loop.loop_var) for axis, value in axes
        )

    def takes_from(self, other: BlockPlace) -> bool:
        """Say whether a block reads what another one writes, and does not write it itself."""
        own = [each.source for each in self.realize.block.writes]
        given = [each.source for each in other.realize.block.writes]
        taken = [each.source for each in self.realize.block.reads]
        return any(
            any(each.same_as(one) for one in taken) and not any(each.same_as(one) for one in own)
            for each in given
        )


def block_places(body: Any, loops: tuple[Any, ...] = ()) -> Iterator[BlockPlace]:
    """Return the blocks of a statement that have axes, each with the loops around it."""
    if isinstance(body, tirx.SeqStmt):
        for each in body.seq:
            yield from block_places(each, loops)
    elif isinstance(body, tirx.For):
        yield from block_places(body.body, (*loops, body))
    elif isinstance(body, tirx.IfThenElse):
        yield from block_places(body.then_case, loops)
        if body.else_case is not None:
            yield from block_places(body.else_case, loops)
    elif isinstance(body, SBlockRealize):
        if body.block.iter_vars:
            yield BlockPlace(body, loops)
        yield from block_places(body.block.body, loops)


def _uses(value: Any, variable: Any) -> bool:
    return any(each.same_as(variable) for each in nodes_of(value, type(variable)))
