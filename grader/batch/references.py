"""The reference's speed-up: the same in all gradings of a batch, unless the machine is shared.

A program of another customer slowed the course's functions by different amounts for a minute, so
evenly that their times repeated: 3 of 75 measurements gave 5.5 of 15 points in place of 9.8, and
nothing in a measurement by itself said so.
"""

from __future__ import annotations

import math
from statistics import median

from grader.report import Report

FEWEST = 3
"""Gradings before the first that can stand out."""

APART = 0.04
"""Largest difference of the logarithm from the median of those before. On a core that nobody else
used it varied by 0.015."""


class References:
    """Speed-ups of the reference in one batch on one machine, by what was timed."""

    def __init__(self) -> None:
        self._seen: dict[tuple[object, ...], list[float]] = {}

    def stands_out(self, report: Report) -> bool:
        """Say whether the reference was another number of times as fast than in gradings before.

        The report is one of them afterwards.
        """
        timing = report.timing
        if timing is None:
            return False
        what = (report.assignment.slug, timing.part, timing.threads, len(timing.shapes))
        seen = self._seen.setdefault(what, [])
        found = math.log(timing.reference_speedup)
        is_apart = len(seen) >= FEWEST and abs(found - median(seen)) > APART
        seen.append(found)
        return is_apart
