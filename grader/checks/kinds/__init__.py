"""The checks. Importing this package registers all of them."""

from grader.checks.kinds import graph, measured, python, rewriting, schedule, tensorir
from grader.evidence.plug import load_checks

__all__ = [
    "graph",
    "measured",
    "python",
    "rewriting",
    "schedule",
    "tensorir",
]

load_checks()  # those of kinds of evidence that have folders of their own
