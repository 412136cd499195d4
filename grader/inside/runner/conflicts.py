"""Blocks of a scheduled program that stand where what they take is not ready: seen in its loops."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
import tvm
import tvm_ffi
from tvm import tirx
from tvm.s_tir import SBlockRealize

from grader.messages.replay import Within

_REDUCTION = 2

BLOCKS = 64
"""Most blocks of a function that are looked at, each beside each other one."""

Conflict = tuple[Within, str, str, str]
"""What is wrong, the block that takes something, the one that gives it, the loop around both."""


def conflicts(module: tvm.IRModule) -> Iterator[Conflict]:
    """Return blocks that stand in a loop in which what they take is not complete, or not apart."""
    for function in module.functions.values():
        if isinstance(function, tirx.PrimFunc):
            places = list(islice(_places(function.body, ()), BLOCKS + 1))
            if len(places) > BLOCKS:
                continue
            for reader in places:
                for writer in places:
                    if reader is not writer and reader.takes_from(writer):
                        yield from _between(reader, writer)


class _Place(msgspec.Struct, frozen=True, eq=False):
    """A block within its loops."""

    realize: Any
    loops: tuple[Any, ...]

    @property
    def name(self) -> str:
        return str(self.realize.block.name_hint)

    def sums_over(self, loop: Any) -> bool:
        """Say whether a reduction of the block goes along a loop."""
        axes = zip(self.realize.block.iter_vars, self.realize.iter_values, strict=True)
        return any(
            axis.iter_type == _REDUCTION and _uses(value, loop.loop_var) for axis, value in axes
        )

    def takes_from(self, other: _Place) -> bool:
        """Say whether a block reads what another one writes, and does not write it itself."""
        own = [each.source for each in self.realize.block.writes]
        given = [each.source for each in other.realize.block.writes]
        taken = [each.source for each in self.realize.block.reads]
        return any(
            any(each.same_as(one) for one in taken) and not any(each.same_as(one) for one in own)
            for each in given
        )


def _between(reader: _Place, writer: _Place) -> Iterator[Conflict]:
    for loop in reader.loops:
        if not any(loop.same_as(each) for each in writer.loops):
            continue
        name = str(loop.loop_var.name)
        if writer.sums_over(loop):
            yield "sum", reader.name, writer.name, name
        elif loop.kind == tirx.ForKind.VECTORIZED:
            yield "lanes", reader.name, writer.name, name


def _places(body: Any, loops: tuple[Any, ...]) -> Iterator[_Place]:
    if isinstance(body, tirx.SeqStmt):
        for each in body.seq:
            yield from _places(each, loops)
    elif isinstance(body, tirx.For):
        yield from _places(body.body, (*loops, body))
    elif isinstance(body, tirx.IfThenElse):
        yield from _places(body.then_case, loops)
        if body.else_case is not None:
            yield from _places(body.else_case, loops)
    elif isinstance(body, SBlockRealize):
        if body.block.iter_vars:
            yield _Place(body, loops)
        yield from _places(body.block.body, loops)


def _uses(value: Any, variable: Any) -> bool:
    found: list[Any] = []
    tvm_ffi.structural_walk(value, ((type(variable), found.append),), order="pre")
    return any(each.same_as(variable) for each in found)
