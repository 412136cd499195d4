"""Barriers that no two statements need: each is left out on trial, and the rest looked at anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from grader.evidence.gpu.inside.execution import Execution, Program
from grader.evidence.gpu.inside.failure import NotSimulatedError
from grader.evidence.gpu.inside.kernels import tell_barrier
from grader.evidence.gpu.messages import Finding

MOST_TRIALS = 8
"""Most barriers that are tried, the first ones."""

MOST_STEPS = 2 * 10**7
"""Longest execution, in statements times threads, that is done again for each barrier."""


def find_needless(
    program: Program,
    execution: Execution,
    arguments: Sequence[npt.NDArray[Any]],
    outputs: list[int],
) -> tuple[Finding, ...]:
    """Return a finding for each barrier without which no threads meet that did not before.

    Of two barriers beside each other one is needless, not both: what was left out stays out.
    """
    if execution.findings or execution.notes.spent > MOST_STEPS:
        return ()
    found: list[Finding] = []
    skipped: dict[int, frozenset[int]] = {}
    tried = 0
    for number, (kernel, _) in enumerate(execution.launches):
        for barrier in range(len(kernel.barriers)):
            tried += 1
            if tried > MOST_TRIALS:
                return tuple(found)
            trial = {**skipped, number: skipped.get(number, frozenset()) | {barrier}}
            try:
                faults = program.execute(arguments, outputs, trial).findings
            except NotSimulatedError:
                return tuple(found)
            if not faults:
                skipped = trial
                following = kernel.barriers[barrier]
                found.append(tell_barrier("needless_barrier", number, kernel.sites, following))
    return tuple(found)
