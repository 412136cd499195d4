"""What is said of a Python function that gave no result names that function."""

from __future__ import annotations

import pytest

from grader.messages import EXTERN_DIED, PYTHON_FUNCTION, Capture, TaskFailure
from grader.referee.python_failure import explain_python_failure

CAPTURE = Capture("low", "lnumpy_mlp", 4, True, b"", externs={PYTHON_FUNCTION: b""})


@pytest.mark.parametrize(
    ("error", "message", "told"),
    [
        ("NotImplementedError", "", "lnumpy_mlp (cell 4) is not solved yet."),
        ("IndexError", "index 5: out", "lnumpy_mlp raised IndexError: index 5: out"),
        (EXTERN_DIED, "the extern's process ended", "lnumpy_mlp ended the process"),
    ],
)
def test_it_is_named(error: str, message: str, told: str) -> None:
    failure = TaskFailure("run", error, f"{PYTHON_FUNCTION} raised {error}: {message}")
    problem = explain_python_failure(failure, CAPTURE)
    assert told in problem.reason
    assert PYTHON_FUNCTION not in problem.reason + problem.hint


def test_what_is_not_its_fault_is_told_as_of_a_module() -> None:
    failure = TaskFailure("run", "TimeLimit", "It ran too long.")
    assert "time limit" in explain_python_failure(failure, CAPTURE).reason
