"""Turning a runner's failure into a sentence for the student."""

from __future__ import annotations

from grader.errors import ProtocolError
from grader.ir.names import shown
from grader.language import Marked, join, later, mark, say
from grader.messages import EXTERN_DIED, FromRunner, TaskFailure, Violation, ViolationKind
from grader.referee.evidence import Problem

_REASONS = {
    "decode": mark("The module could not be taken over: {detail}"),
    "load": mark("TVM could not load the module: {detail}"),
    "build": mark("TVM could not build the module: {detail}"),
    "externs": mark("An external function could not be used: {detail}"),
    "signature": mark("The module does not have the form that is asked for: {detail}"),
    "run": mark("The module failed while it ran: {detail}"),
    "time": mark("The schedule could not be timed: {detail}"),
}

_HINTS = {
    "build": mark(
        'Build it in your notebook with tvm.compile(mod, "llvm") and read the first error.'
    ),
    "externs": mark(
        "Register the function with tvm.register_global_func in the notebook, and let it use"
        " only NumPy, PyTorch and names of the notebook."
    ),
    "run": mark("Run it in your notebook on one batch of the test set."),
    "signature": mark("`main` must return one tensor."),
}

_VIOLATIONS: dict[ViolationKind, Marked] = {
    "allocation": mark(
        "The function {function} asks for a buffer {subject} of a size that cannot be."
    ),
    "assumption": mark("The function {function} assumes something that is not so."),
    "conversion": mark(
        "The function {function} makes an integer of a number that has none: it is too large, or"
        " not a number."
    ),
    "division": mark("The function {function} divides an integer by zero."),
    "overflow": mark(
        "In the function {function}, an integer becomes larger or smaller than its type can hold."
    ),
    "unguarded": mark(
        "The function {function} was not run, because it cannot be seen that it stays within its"
        " buffers."
    ),
}
_NO_ITEM = mark(
    "The function {function} would have used item {value} of the buffer {subject}, but it has only"
    " the items 0 to {most}."
)
_NO_ITEM_OF_SOME = mark(
    "The function {function} would have used item {value} of the buffer {subject}, which it does"
    " not have."
)
_WITHIN = mark(
    "Compare every index with the extents of its buffer, also where the loop does not divide the"
    " extent, or at the border of a window. Items are counted through all axes."
)

TIME_LIMIT = Problem(
    later("The module ran longer than the time limit and was stopped."),
    later("Look for loops that are much longer than the layer needs."),
)

_SPECIAL = {
    "NotDeterministic": Problem(
        later("The same input gave two different outputs."),
        later(
            "An output or intermediate buffer is read before it is written, or parallel"
            " loops overlap."
        ),
    ),
    "InputChanged": Problem(
        later("The function wrote into its inputs while it was timed."),
        later("Write to the output and to buffers of the function's own only."),
    ),
    "Disturbed": Problem(
        later(
            "The function changed what it was measured with: calls are missing, or memory beside"
            " its arrays was written."
        ),
        later("Keep all indices within the extents of their buffers."),
    ),
    "UnknownWorkload": Problem(
        later(
            "The scheduled function computes something else than the unscheduled one that it would"
            " be compared with, so its speed says nothing."
        ),
        later(
            "Let it compute the layer (its bias and its ReLU may be in it) and nothing else: keep"
            " pooling and other layers in functions of their own."
        ),
    ),
    "TimeLimit": TIME_LIMIT,
    "Died": Problem(
        later("The module crashed the process that ran it."),
        later(
            "This happens when a loop reads or writes outside its buffers: check extents"
            " and indices."
        ),
    ),
}


def explain_violation(violation: Violation) -> Problem:
    """Return what a function would have done if its guards had not ended it."""
    sentence = _VIOLATIONS.get(violation.kind, _NO_ITEM if violation.size else _NO_ITEM_OF_SOME)
    reason = say(
        sentence,
        function=shown(violation.function),
        subject=shown(violation.subject),
        value=violation.value,
        most=violation.size - 1,
    )
    return Problem(reason, say(_WITHIN))


def explain_failure(failure: FromRunner) -> Problem:
    """Return the reason and the next step for a task that a runner could not do.

    Raises ProtocolError for a result of another task: no runner of ours sends one.
    """
    if not isinstance(failure, TaskFailure):
        raise ProtocolError("A runner answered another question than it was asked.", "Report this.")
    if failure.violation is not None:
        return explain_violation(failure.violation)
    if failure.error_name in _SPECIAL:
        return _SPECIAL[failure.error_name]
    if failure.error_name == EXTERN_DIED:
        return Problem(
            join(say("An external function ended the process that called it."), failure.message),
            say("A function must return: it may neither exit nor write outside of its arrays."),
        )
    detail = f"{failure.error_name}: {failure.message}".strip(": ")
    hint = _HINTS.get(failure.stage)
    return Problem(say(_REASONS[failure.stage], detail=detail), "" if hint is None else say(hint))
