"""Accesses that must leave their buffer: in some iteration, whatever the buffers hold.

An access is looked at where its loops surely run, and where all that it depends on is known. What
is not known is not reported: a guard sees it while the function runs.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from grader.ir.accesses import (
    Access,
    Accesses,
    Iterations,
    Loop,
    UnknownError,
    find_in_each,
)
from grader.ir.expressions import constant
from grader.ir.facts import Finding
from grader.ir.graph import Graph
from grader.ir.vocabulary import shown
from grader.language import Text, join, say

POINTS = 2**18
"""Most iterations that an access is looked at in."""

WORK = 2**24
"""Most indices that are computed for one module; what comes later is not looked at."""

_EACH = 2**12
"""What an access costs in indices beside those that are computed."""

_LINEAR = frozenset({"ir.IntImm", "ir.Var", "prim.Add", "prim.Mul", "prim.Sub"})


class _Outside(NamedTuple):
    """An index that leaves its buffer, counted from 1: its range, and the last one inside."""

    axis: int
    low: int
    high: int
    most: int

    def told(self) -> dict[str, int | Text]:
        """Return what is said of it. Of one value nobody says "from 1 to 1"."""
        low, high = self.low, self.high
        found = say("index-is", low=low) if low == high else say("index-runs", low=low, high=high)
        allowed = say("index-must-stay", most=self.most) if self.most else say("index-must-be-0")
        return {"axis": self.axis, "found": found, "allowed": allowed}


def find_out_of_bounds(graph: Graph, functions: dict[str, int]) -> tuple[Finding, ...]:
    """Return a finding for each buffer that is certainly left, function by function."""
    return find_in_each(graph, functions, WORK, _leaving)


def _leaving(name: str, accesses: Accesses) -> Iterator[Finding]:
    """Yield a finding for each buffer. Raises IRError where the budget is spent."""
    graph, found = accesses.graph, set[int]()
    known: dict[tuple[int, tuple[Loop, ...]], Iterations] = {}
    for access in accesses.all:
        accesses.budget.spend(_EACH)
        # The part of a buffer that a block matches has extents of its own.
        if access.buffer in found or access.starts:
            continue
        loops = accesses.loops_of(access)
        with suppress(UnknownError):
            key = accesses.lanes(access), loops
            if key not in known:
                known[key] = Iterations(accesses, loops, POINTS // key[0])
            outside = [*_outside(access, accesses, known[key])]
            if outside:
                found.add(access.buffer)
                yield _finding(name, graph.name(access.buffer), outside)


def _outside(access: Access, accesses: Accesses, iterations: Iterations) -> Iterator[_Outside]:
    """Yield the indices of an access that leave the buffer for certain."""
    shape = accesses.graph.list(accesses.graph.field(access.buffer, "ty"), "shape")
    for axis, (index, item) in enumerate(zip(access.indices, shape, strict=True), start=1):
        extent = constant(accesses.graph, item)
        # Of the first and the last iterations alone, the ends of `min(i, 1023 - i)` are not known.
        if extent is None or not (
            iterations.is_complete or (iterations.has_ends and _is_linear(accesses, index))
        ):
            continue
        with suppress(UnknownError, ValueError):  # vectors of different lengths
            ends = iterations.ends(index, access.conditions)
            if ends is not None and not 0 <= ends[0] <= ends[1] < extent:
                yield _Outside(axis, *ends, extent - 1)


def _is_linear(accesses: Accesses, index: int) -> bool:
    """Say whether an index is a sum of multiples of loops that are linear themselves."""
    graph, pending = accesses.graph, [index]
    while pending:
        accesses.budget.spend()
        each = pending.pop()
        if graph.type_of(each) not in _LINEAR:
            return False
        value = accesses.values.get(each)
        pending.extend([value] if value is not None else [])
        for loop in accesses.loops.get(each, ()):
            pending.extend((loop.low, loop.extent))
        if graph.type_of(each).startswith("prim."):
            pending.extend(graph.field(each, name) for name in "ab")
    return True


def _finding(function: str, buffer: str, outside: list[_Outside]) -> Finding:
    """Return what is found: whoever is told of one index alone meets the next one then."""
    first, *others = (each.told() for each in outside)
    text = say(
        "in-function-index-buffer-runs", function=shown(function), buffer=shown(buffer), **first
    )
    message = join(text, *(say("so-does-index-runs", **each) for each in others))
    return Finding(code="out_of_bounds", subject=buffer, where=function, message=message)
