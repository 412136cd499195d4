"""What a course's own `checks.py` is written with (docs/authoring.md).

from grader.checks import Case, Outcome, Table, check, failed, passed
"""

from grader.assignment import Table
from grader.checks.registry import NoOptions, Outcome, check, failed, not_graded, partial, passed
from grader.evidence.case import Case, Problem

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
