"""The unscheduled function as a submission: what a machine says of a ratio that is 1."""

from __future__ import annotations

import numpy as np

from grader.referee.bench import Bench, Version, measure
from grader.referee.evidence import Problem
from grader.report import Timing


def run_selftest(bench: Bench, generator: np.random.Generator) -> Timing | Problem:
    """Time the unscheduled function of an assignment in the place of a submission.

    The speed-up of the result should be 1; a Problem says why this machine cannot be believed at
    the moment.
    """
    version = Version(b"", "unscheduled", bench.subject.example(), guarded=False)
    measured = measure([version], bench, generator)
    return measured if isinstance(measured, Problem) else measured.timing
