"""Which rounds count, and why the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypeVar

from grader.messages import Block, ControlRound, TimingRound

LEAST_SHARE = 0.97
MOST_SHARE = 1.03
"""Between these shares of a block's wall time its calling thread has a processor, if nothing comes
in between; the clocks themselves disagree by less than one per cent of five milliseconds."""

Disturbance = Literal["scheduler", "processor", "steal"]
"""What disturbed a round: a thread had to leave its processor, the calling thread was not on one
for a time although nobody said so (it slept, or the whole machine did), or the hypervisor was busy
with others."""

Round = TypeVar("Round", TimingRound, ControlRound)


def split_rounds(
    rounds: Iterable[Round],
) -> tuple[tuple[Round, ...], dict[Disturbance, int]]:
    """Return the undisturbed rounds, and how many were dropped for what, the first cause each."""
    kept: list[Round] = []
    dropped: Counter[Disturbance] = Counter()
    for each in rounds:
        cause = find_disturbance(each)
        if cause is None:
            kept.append(each)
        else:
            dropped[cause] += 1
    return tuple(kept), dict(dropped)


def find_disturbance(taken: TimingRound | ControlRound) -> Disturbance | None:
    """Return what disturbed a round, None if nothing did."""
    blocks = _blocks(taken)
    if any(block.switches for block in blocks):
        return "scheduler"
    if not all(LEAST_SHARE <= block.share <= MOST_SHARE for block in blocks):
        return "processor"
    return "steal" if taken.steal else None


def _blocks(taken: TimingRound | ControlRound) -> Sequence[Block]:
    if isinstance(taken, ControlRound):
        return (taken.one, taken.other)
    return [
        block
        for group in taken.groups
        for block in (group.baseline, group.submission, group.reference)
    ]
