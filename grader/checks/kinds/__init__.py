"""The checks. Importing this package registers all of them."""

from grader.checks.kinds import (
    equivalence,
    externs,
    graph,
    python,
    rewriting,
    schedule,
    speed,
    tensorir,
)

__all__ = [
    "equivalence",
    "externs",
    "graph",
    "python",
    "rewriting",
    "schedule",
    "speed",
    "tensorir",
]
