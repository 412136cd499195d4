"""Which loop of a compiled function is hot, and what a round of it does."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from grader.hotloop.aarch64 import AArch64
from grader.hotloop.instructions import Effect, Function, Syntax, read_functions
from grader.hotloop.loops import find_loops
from grader.hotloop.x86 import X86
from grader.messages.timing import MOST_COUNTED, HotLoop

_IS_X86 = re.compile(r"[(\s]%[re][a-ds1]")
_IS_AARCH64 = re.compile(r"\[(?:x\d|sp)")

MOST_INSTRUCTIONS = 200_000
"""Longest function whose loops are searched for."""


def find_hot_loop(assembly: str) -> HotLoop | None:
    """Return what a round of the hot loop does: None where none is found that multiplies and adds,
    or the text is too long or of another architecture.

    It is the loop with multiply-adds of which a call does the most instructions, by an estimate
    from the text alone. The same text gives the same numbers.
    """
    syntax = _syntax(assembly)
    if syntax is None:
        return None
    found = [each for one in read_functions(assembly) for each in _candidates(one, syntax)]
    return max(found, key=lambda each: each.instructions, default=_NONE).loop


class _Candidate(NamedTuple):
    """A loop, and how many of its instructions a call does."""

    loop: HotLoop | None
    instructions: int


_NONE = _Candidate(None, 0)


def _syntax(assembly: str) -> Syntax | None:
    if _IS_X86.search(assembly):
        return X86()
    return AArch64() if _IS_AARCH64.search(assembly) else None


def _candidates(function: Function, syntax: Syntax) -> Iterator[_Candidate]:
    if len(function.instructions) > MOST_INSTRUCTIONS:
        return
    has_frame = any(map(syntax.sets_frame, function.instructions))
    for loop in find_loops(function, syntax):
        effects = [syntax.effect(each, has_frame) for each in loop.instructions]
        counted = _count(effects)
        if counted is not None:
            yield _Candidate(counted, len(loop.instructions) * loop.rounds)


def _count(effects: list[Effect]) -> HotLoop | None:
    """Add up what the instructions of a loop do; None where they multiply and add nothing."""
    lanes = [(each.fused, each.bits) for each in effects if each.fused]
    lanes += _pairs(effects)
    if not lanes:
        return None
    is_known = all(bits for _, bits in lanes)
    return HotLoop(
        multiply_adds=_bounded(len(lanes)),
        products=_bounded(sum(each for each, _ in lanes)) if is_known else 0,
        vector_bits=max(bits for _, bits in lanes) if is_known else 0,
        loads=_bounded(sum(each.loads for each in effects)),
        stores=_bounded(sum(each.stores for each in effects)),
        spills=_bounded(sum(each.spills for each in effects)),
        reloads=_bounded(sum(each.reloads for each in effects)),
    )


def _pairs(effects: list[Effect]) -> list[tuple[int, int]]:
    """Return products that have a sum of the same kind to go to: processors without an instruction
    for both take two."""
    sums: dict[str, int] = defaultdict(int)
    for each in effects:
        sums[each.kind] += bool(each.added)
    pairs = []
    for each in effects:
        if each.multiplied and sums[each.kind]:
            sums[each.kind] -= 1
            pairs.append((each.multiplied, each.bits))
    return pairs


def _bounded(count: int) -> int:
    return min(count, MOST_COUNTED)
