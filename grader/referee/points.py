"""From a measured speed to points: piecewise linear in the logarithm, without steps or cliffs.

The anchors are the assignment's, their times are measured live: the unscheduled function is worth
nothing, the reference schedule everything, and what is faster still a bonus.
"""

from __future__ import annotations

import math

import numpy as np

from grader.assignment import Points, Positive, Table

NOTHING = 0.02
"""A smaller share of the scale is worth nothing: other spellings of the same loops differ by that.
It is made good within as much again, so there is no step."""


class Anchors(Table, frozen=True):
    """Where on the logarithmic scale from unscheduled (0) to reference (1) points begin and end.

    All points are earned from `full_at` on, and as far beyond the reference no bonus is: noise
    neither takes points from a schedule as fast as the reference nor gives it some. The bonus grows
    up to `stretch` times the reference's speed, where it is `bonus` of the check's points.
    """

    full_at: Positive = 0.95
    stretch: Positive = 1.25
    bonus: Points = 0.0


def speed_fraction(share: float, reference_speedup: float, anchors: Anchors) -> float:
    """Return the share of the check's points, above 1 for a bonus.

    `share` is the logarithm of the speed-up over that of the reference's `reference_speedup`.
    """
    full_at = min(1.0, anchors.full_at)
    plateau = 2.0 - full_at
    stretch = 1.0 + math.log(max(1.0, anchors.stretch)) / math.log(reference_speedup)
    nothing = min(NOTHING, full_at / 4)
    places, values = [0.0, nothing, 2 * nothing], [0.0, 0.0, 2 * nothing / full_at]
    places += [full_at, plateau]
    values += [1.0, 1.0]
    if stretch > plateau:
        places.append(stretch)
        values.append(1.0 + anchors.bonus)
    return float(np.interp(share, places, values))
