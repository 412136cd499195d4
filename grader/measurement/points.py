"""From a measured speed to points: piecewise linear in the logarithm, without steps or cliffs.

The anchors are the assignment's, their times are measured live: the unscheduled function is worth
nothing, the reference schedule everything, and what is faster still a bonus.
"""

import math
from typing import Annotated

import msgspec
import numpy as np

from grader.assignment import Points, Positive, PositiveInt, Table
from grader.messages.timing import SHAPE_LIMIT
from grader.timing.estimate import HIGHEST_SHARE

NOTHING = 0.02
"""A smaller share of the scale is worth nothing: other spellings of the same loops differ by that.
So is a smaller gain of time, as of a second compilation: beside a reference of 1.26 times, that is
a tenth of the scale. It is made good within as much again, so there is no step."""


class Anchors(Table, frozen=True):
    """Where on the logarithmic scale from unscheduled (0) to reference (1) points begin and end.

    All points are earned from `full_at` on, and as far beyond the reference no bonus is: noise
    neither takes points from a schedule as fast as the reference nor gives it some. The bonus grows
    up to `stretch` times the reference's speed, where it is `bonus` of the check's points.
    """

    full_at: Positive = 0.95
    stretch: Positive = 1.25
    bonus: Points = 0.0


class SpeedOptions(Anchors, frozen=True, kw_only=True):
    """How speed becomes points.

    `weight` is the convolution's shape; beside the submission's own batch its schedule is timed at
    `batches`. Without it the function of the part's computation is timed, which does `operations`
    floating-point operations for each item of its output. Points are rounded to `grid` points or
    coarser. `threads` is how many a schedule may use. Blocks last `block_seconds`, and are measured
    until the points are certain to the grid, or for `budget_seconds` of the processor. A schedule
    more than `held_above` times as fast as the reference gets no points by itself: the instructor
    decides. `each_step` has the report say what each step of a proven schedule brought.
    """

    weight: Annotated[tuple[PositiveInt, ...], msgspec.Meta(max_length=8)] = ()
    operations: Annotated[int, msgspec.Meta(ge=0, le=10**9)] = 0
    batches: Annotated[tuple[PositiveInt, ...], msgspec.Meta(max_length=SHAPE_LIMIT - 1)] = ()
    held_above: Positive = 4.0
    grid: Positive = 0.1
    threads: PositiveInt = 1
    block_seconds: Positive = 0.00004
    budget_seconds: Positive = 1.5
    each_step: bool = True

    def __post_init__(self) -> None:
        if self.batches and not self.weight:
            raise ValueError("`batches` are for a convolution, which has a `weight`")
        if self.operations and self.weight:
            raise ValueError("the operations of a convolution follow from its `weight`")

    @property
    def operations_per_item(self) -> int:
        """Return the operations for each item of the output: a multiply-add counts two."""
        return 2 * math.prod(self.weight[1:]) if self.weight else self.operations

    def resolution(self, points: float) -> float:
        """Return how narrow the interval of the submission's share is to be for `points`."""
        return self.full_at * self.grid / max(points, self.grid)

    @property
    def full(self) -> tuple[float, float]:
        """Return from which share on all points are earned, and up to which there is no bonus."""
        full_at = min(1.0, self.full_at)
        return full_at, HIGHEST_SHARE if self.bonus == 0 else 2.0 - full_at


def speed_fraction(share: float, reference_speedup: float, anchors: Anchors) -> float:
    """Return the share of the check's points, above 1 for a bonus.

    `share` is the logarithm of the speed-up over that of the reference's `reference_speedup`.
    """
    full_at = min(1.0, anchors.full_at)
    plateau = 2.0 - full_at
    stretch = 1.0 + math.log(max(1.0, anchors.stretch)) / math.log(reference_speedup)
    nothing = min(max(NOTHING, math.log1p(NOTHING) / math.log(reference_speedup)), full_at / 4)
    places, values = [0.0, nothing, 2 * nothing], [0.0, 0.0, 2 * nothing / full_at]
    places += [full_at, plateau]
    values += [1.0, 1.0]
    if stretch > plateau:
        places.append(stretch)
        values.append(1.0 + anchors.bonus)
    return float(np.interp(share, places, values))
