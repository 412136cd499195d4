"""Why a schedule is slow, in numbers of its hot loop's machine code beside another one's."""

from __future__ import annotations

from collections.abc import Iterator

from grader.language import Text, say
from grader.messages import HotLoop, HotLoops
from grader.report import Timing

NARROWER = 0.75
"""Fewer numbers for each instruction than so many times the other's explain a difference."""

MORE_ACCESSES = 1.3
LEAST_ACCESSES = 0.2
"""So many times the other's loads and stores, and so many more for each multiply-add, do."""

LEAST_MOVES = 0.1
"""So many more moves to and from the stack for each multiply-add do. The compiler keeps a number or
two there in many loops, at no cost that could be measured."""

_REFERENCE = say("the reference")
_UNSCHEDULED = say("the unscheduled function")


def explain(found: HotLoops, timing: Timing) -> tuple[Text, ...]:
    """Return what explains that a schedule is slower than another function: at most three
    sentences, each with its numbers.

    Beside a schedule that is slower than the unscheduled function stands that, beside one that is
    slower than the reference the reference. They are the same whenever the same module is graded on
    the same processor.
    """
    if found.submission is None:
        return ()
    if timing.ci_high < 1 and found.unscheduled is not None:
        return tuple(_differences(found.submission, found.unscheduled, _UNSCHEDULED))
    if timing.share_high < 1 and found.reference is not None:
        return tuple(_differences(found.submission, found.reference, _REFERENCE))
    return ()


def _differences(own: HotLoop, other: HotLoop, name: Text) -> Iterator[Text]:
    if own.products and _width(own) <= NARROWER * _width(other):
        yield _narrower(own, other, name)
    if _accesses(own) >= max(MORE_ACCESSES * _accesses(other), _accesses(other) + LEAST_ACCESSES):
        yield say(
            "The hot loop executes {loads:g} loads and {stores:g} stores for each multiply-add;"
            " that of {other} {other_loads:g} and {other_stores:g}.",
            loads=_for_each(own, own.loads),
            stores=_for_each(own, own.stores),
            other=name,
            other_loads=_for_each(other, other.loads),
            other_stores=_for_each(other, other.stores),
        )
    if _moves(own) / own.multiply_adds >= _moves(other) / other.multiply_adds + LEAST_MOVES:
        yield say(
            "The hot loop keeps values on the stack, not in registers: an iteration moves {moves}"
            " of them for {count} multiply-adds; that of {other} moves {other_moves} for"
            " {other_count}.",
            moves=_moves(own),
            count=own.multiply_adds,
            other=name,
            other_moves=_moves(other),
            other_count=other.multiply_adds,
        )


def _narrower(own: HotLoop, other: HotLoop, name: Text) -> Text:
    if own.products == own.multiply_adds:
        return say(
            "The hot loop multiplies one number per instruction, without vectors; that of {other}"
            " {width:g}, in vectors of {bits} bits.",
            other=name,
            width=round(_width(other), 1),
            bits=other.vector_bits,
        )
    return say(
        "The hot loop multiplies {own:g} numbers per instruction, in vectors of {own_bits} bits at"
        " most; that of {other} {width:g}, in vectors of {bits}.",
        own=round(_width(own), 1),
        own_bits=own.vector_bits,
        other=name,
        width=round(_width(other), 1),
        bits=other.vector_bits,
    )


def _width(loop: HotLoop) -> float:
    """Return how many numbers an instruction multiplies, on average."""
    return loop.products / loop.multiply_adds


def _accesses(loop: HotLoop) -> float:
    """Return how many loads and stores there are for each multiply-add."""
    return (loop.loads + loop.stores) / loop.multiply_adds


def _for_each(loop: HotLoop, count: int) -> float:
    return round(count / loop.multiply_adds, 2)


def _moves(loop: HotLoop) -> int:
    """Return how many values a round puts on the stack, or fetches from there."""
    return loop.spills + loop.reloads
