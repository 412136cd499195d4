"""Codes: what came of a check, and what stopped a cell, apart from how that is worded."""

from __future__ import annotations

from typing import Literal

CheckCode = Literal[
    "passed",
    "incomplete",
    "unmet",
    "values",
    "shape",
    "dtype",
    "not_finite",
    "unwritten",
    "slower",
    "absent",
    "unsolved",
    "raised",
    "unfinished_cell",
    "needs_arguments",
    "not_captured",
    "given",
    "unreadable",
    "refused",
    "signature",
    "not_built",
    "run_failed",
    "extern_failed",
    "out_of_bounds",
    "not_deterministic",
    "changed_inputs",
    "disturbed",
    "other_computation",
    "time_limit",
    "crashed",
    "not_run",
    "untimed",
    "held",
    "waits",
    "withheld",
    "busy",
    "no_answer",
    "no_target",
    "undecided",
]
"""What came of a check, whatever its kind: docs/report.md says what each means."""

CellCode = Literal[
    "error",
    "memory",
    "disk",
    "file_size",
    "processes",
    "network",
    "descriptors",
    "missing_import",
    "loop_variable",
    "given_files",
]
"""What an error of a cell has to do with: a limit of the sandbox, a habit, or nothing known."""
