"""Why a schedule is slow, in numbers of its hot loop's machine code beside another one's."""

from collections.abc import Iterator

from grader.language import Text, say
from grader.messages.timing import HotLoop, HotLoops
from grader.report import Timing

NARROWER = 0.75
"""Fewer numbers for each instruction than so many times the other's explain a difference."""

MORE_ACCESSES = 1.3
LEAST_ACCESSES = 0.2
"""So many times the other's loads and stores, and so many more for each multiply-add, do."""

LEAST_SHARE = 0.25
"""So much of all loads, stores and moves to and from the stack, for what the moves add, does, where
all of these are more by as much as above. A vector fetched from the stack in place of one that the
other loads from memory costs nothing."""

_REFERENCE = say("the-reference-schedule")
_UNSCHEDULED = say("unscheduled-function")


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
    if _is_more(_accesses(own), _accesses(other)):
        yield say(
            "hot-loop-executes-loads-and-stores",
            loads=_for_each(own, own.loads),
            stores=_for_each(own, own.stores),
            other=name,
            other_loads=_for_each(other, other.loads),
            other_stores=_for_each(other, other.stores),
        )
    if _moves_explain(own, other):
        yield say(
            "hot-loop-keeps-values-on-stack",
            moves=_moves(own),
            count=own.multiply_adds,
            other=name,
            other_moves=_moves(other),
            other_count=other.multiply_adds,
        )


def _narrower(own: HotLoop, other: HotLoop, name: Text) -> Text:
    if own.products == own.multiply_adds:
        return say(
            "hot-loop-multiplies-one-number-per-instruction",
            other=name,
            width=round(_width(other), 1),
            bits=other.vector_bits,
        )
    return say(
        "hot-loop-multiplies-numbers-per-instruction",
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


def _moves_explain(own: HotLoop, other: HotLoop) -> bool:
    """Say whether what is moved to and from the stack explains a difference."""
    moved, moved_there = (_for_each(each, _moves(each)) for each in (own, other))
    total, total_there = _accesses(own) + moved, _accesses(other) + moved_there
    return _is_more(total, total_there) and moved - moved_there >= LEAST_SHARE * total


def _is_more(own: float, other: float) -> bool:
    return own >= max(MORE_ACCESSES * other, other + LEAST_ACCESSES)


def _for_each(loop: HotLoop, count: int) -> float:
    return count / loop.multiply_adds


def _moves(loop: HotLoop) -> int:
    """Return how many values a round puts on the stack, or fetches from there."""
    return loop.spills + loop.reloads
