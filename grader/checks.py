"""What a course's own `checks.py` is written with (docs/authoring.md).

from grader.checks import Case, Outcome, Table, check, failed, passed
"""

from grader.assignment import Table
from grader.referee.evidence import Case, Problem
from grader.referee.outcome import Outcome, failed, not_graded, partial, passed
from grader.referee.registry import NoOptions, check

__all__ = [
    "Case",
    "NoOptions",
    "Outcome",
    "Problem",
    "Table",
    "check",
    "failed",
    "not_graded",
    "partial",
    "passed",
]
