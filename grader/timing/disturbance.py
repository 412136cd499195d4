"""Which rounds count, and why the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypeVar

from grader.messages import Block, ControlRound, TimingRound
from grader.timing.pace import is_held_back

LEAST_SHARE = 0.97
MOST_SHARE = 1.03
"""Between these shares of a block's wall time its calling thread has a processor, if nothing comes
in between; the clocks themselves disagree by less than one per cent of five milliseconds."""

Disturbance = Literal["scheduler", "processor", "steal", "neighbour"]
"""What disturbed a round: a thread had to leave its processor, the calling thread was not on one
for a time although nobody said so (it slept, or the whole machine did), the hypervisor was busy
with others, or something that shares the core held it back."""

Round = TypeVar("Round", TimingRound, ControlRound)


def split_rounds(
    rounds: Iterable[Round], pace: float
) -> tuple[tuple[Round, ...], dict[Disturbance, int]]:
    """Return the undisturbed rounds, and how many were dropped for what, the first cause each.

    `pace` is what a probe takes on this machine when nothing holds it back, 0 for unknown.
    """
    kept: list[Round] = []
    dropped: Counter[Disturbance] = Counter()
    for each in rounds:
        cause = find_disturbance(each, pace)
        if cause is None:
            kept.append(each)
        else:
            dropped[cause] += 1
    return tuple(kept), dict(dropped)


def find_disturbance(taken: TimingRound | ControlRound, pace: float) -> Disturbance | None:
    """Return what disturbed a round, None if nothing did."""
    blocks = _blocks(taken)
    if any(block.switches for block in blocks):
        return "scheduler"
    if not all(LEAST_SHARE <= block.share <= MOST_SHARE for block in blocks):
        return "processor"
    if taken.moment.steal:
        return "steal"
    return "neighbour" if is_held_back(taken.moment.probe, pace) else None


def _blocks(taken: TimingRound | ControlRound) -> Sequence[Block]:
    if isinstance(taken, ControlRound):
        return (taken.one, taken.other)
    return [
        block
        for group in taken.groups
        for block in (group.baseline, group.submission, group.reference)
    ]
