"""Turning the failure of a student's Python function into a sentence that names it."""

from __future__ import annotations

from grader.evidence.case import Problem
from grader.evidence.failures import explain_failure
from grader.language import say
from grader.messages import EXTERN_DIED, Capture, TaskFailure


def explain_python_failure(failure: TaskFailure, capture: Capture) -> Problem:
    """Return the reason and the next step for a function of NumPy arrays that gave no result."""
    name = capture.name
    if failure.raised is not None and failure.error_name == "NotImplementedError":
        return Problem(
            say("{name} (cell {cell}) is not solved yet.", name=name, cell=capture.cell),
            say("Replace the stub by your solution."),
            code="unsolved",
        )
    if failure.raised is None and failure.error_name == EXTERN_DIED:
        return Problem(
            say("{name} ended the process that called it.", name=name),
            say("It must return: it may neither exit nor write outside of its arrays."),
            code="extern_failed",
        )
    if failure.raised is None:
        return explain_failure(failure)
    message = failure.raised
    if not message:
        return Problem(
            say("{name} raised {error}.", name=name, error=failure.error_name),
            say("Call it in a cell of its own, on arrays of the shapes that are asked for."),
            code="raised",
        )
    return Problem(
        say(
            "{name} raised {error}: {message}", name=name, error=failure.error_name, message=message
        ),
        say("Call it in a cell of its own, on arrays of the shapes that are asked for."),
        code="raised",
    )
