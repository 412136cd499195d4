"""The checks. Importing this package registers all of them."""

from grader.checks.kinds import graph, measured, python, rewriting, schedule, tensorir

__all__ = [
    "graph",
    "measured",
    "python",
    "rewriting",
    "schedule",
    "tensorir",
]
