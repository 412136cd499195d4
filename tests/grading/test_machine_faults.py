"""A grading that lost points because the machine lacks a compiler is refused."""

from __future__ import annotations

import msgspec
import nbformat
import pytest

from grader.errors import MachineError
from grader.execute.result import Execution
from grader.grading.machine_faults import refuse_missing_compiler
from grader.messages.kernel import CaptureFailure
from grader.report import CellProblem, Report
from tests.sample_reports import typical

WORDS = "TVM found no C compiler: g++, gcc and clang are not in PATH."
CELL = CellProblem(cell=1, error="FileNotFoundError", message=WORDS, code="no_compiler")
ENTRY = CaptureFailure("model", "create_model", 1, "raised", "FileNotFoundError", WORDS)


def missing(program: str) -> None:
    """Find no program."""


def report(*problems: CellProblem, lost: float = 1.0) -> Report:
    graded = typical()
    return msgspec.structs.replace(graded, problems=problems, score=graded.max_score - lost)


def execution(*failures: CaptureFailure) -> Execution:
    return Execution(nbformat.v4.new_notebook(), (), 1, 0, failures, ())


@pytest.mark.parametrize(
    ("problems", "failures"), [((CELL,), ()), ((), (ENTRY,))], ids=["cell", "entry point"]
)
def test_points_lost_for_want_of_a_compiler_are_refused(
    problems: tuple[CellProblem, ...], failures: tuple[CaptureFailure, ...]
) -> None:
    with pytest.raises(MachineError, match="this machine has none") as caught:
        refuse_missing_compiler(report(*problems), execution(*failures), missing)
    assert "gcc" in caught.value.hint.english


def test_full_points_are_kept() -> None:
    refuse_missing_compiler(report(CELL, lost=0.0), execution(), missing)


def test_other_errors_cost_what_they_cost() -> None:
    other = CellProblem(cell=1, error="NameError", message="name 'x' is not defined")
    refuse_missing_compiler(report(other), execution(), missing)


def test_the_words_alone_refuse_nothing_where_there_is_a_compiler() -> None:
    """A student who raises such an error must not escape a grade."""

    def find(program: str) -> str | None:
        return "/usr/bin/clang" if program == "clang" else None

    refuse_missing_compiler(report(CELL), execution(ENTRY), find)


def test_a_file_that_cannot_be_read_was_not_run() -> None:
    refuse_missing_compiler(report(CELL), None, missing)
