"""The checks. Importing this package registers all of them."""

from grader.referee.checks import (
    equivalence,
    externs,
    graph,
    python,
    schedule,
    single,
    speed,
    structure,
    target,
    tensorir,
)

__all__ = [
    "equivalence",
    "externs",
    "graph",
    "python",
    "schedule",
    "single",
    "speed",
    "structure",
    "target",
    "tensorir",
]
