"""What is said of a Python function that gave no result names that function."""

from __future__ import annotations

import pytest

from grader.evidence.python_failure import explain_python_failure
from grader.messages import EXTERN_DIED, PYTHON_FUNCTION, Capture, TaskFailure

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
    raised = None if error == EXTERN_DIED else message
    text = f"{PYTHON_FUNCTION} raised {error}: {message}"
    failure = TaskFailure("run", error, text, raised=raised)
    problem = explain_python_failure(failure, CAPTURE)
    assert told in problem.reason.english
    assert PYTHON_FUNCTION not in problem.reason.english + problem.hint.english


def test_what_is_not_its_fault_is_told_as_of_a_module() -> None:
    failure = TaskFailure("run", "TimeLimit", "It ran too long.")
    assert "time limit" in explain_python_failure(failure, CAPTURE).reason.english


@pytest.mark.parametrize("name", [EXTERN_DIED, "Died", "TimeLimit"])
def test_an_error_of_its_own_with_a_name_of_ours_is_its_own(name: str) -> None:
    failure = TaskFailure("run", name, f"{PYTHON_FUNCTION} raised {name}: no", raised="no")
    problem = explain_python_failure(failure, CAPTURE)
    assert (f"lnumpy_mlp raised {name}: no", "raised") == (problem.reason.english, problem.code)
