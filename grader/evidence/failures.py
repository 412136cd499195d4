"""Turning a runner's failure into a sentence for the student."""

from __future__ import annotations

from grader.errors import ProtocolError
from grader.evidence.case import Problem
from grader.ir.names import shown
from grader.language import NOTHING, Text, foreign, join, say
from grader.messages import EXTERN_DIED, FromRunner, TaskFailure, Violation, ViolationKind
from grader.report import CheckCode

_REASONS = {
    "decode": say("The module could not be taken over: {detail}"),
    "load": say("TVM could not load the module: {detail}"),
    "build": say("TVM could not build the module: {detail}"),
    "externs": say("An external function could not be used: {detail}"),
    "signature": say("The module does not have the form that is asked for: {detail}"),
    "run": say("The module failed while it ran: {detail}"),
    "time": say("The schedule could not be timed: {detail}"),
}

_CODES: dict[str, CheckCode] = {
    "decode": "not_captured",
    "load": "not_built",
    "build": "not_built",
    "externs": "extern_failed",
    "signature": "signature",
    "run": "run_failed",
    "time": "untimed",
}

_HINTS = {
    "build": say(
        'Build it in your notebook with tvm.compile(mod, "llvm") and read the first error.'
    ),
    "externs": say(
        "Register the function with tvm.register_global_func in the notebook, and let it use"
        " only NumPy, PyTorch and names of the notebook."
    ),
    "run": say("Run it in your notebook on one batch of the test set."),
    "signature": say("`main` must return one tensor."),
}

_VIOLATIONS: dict[ViolationKind, Text] = {
    "allocation": say(
        "The function {function} asks for a buffer {subject} of a size that cannot be."
    ),
    "assumption": say("The function {function} assumes something that is not so."),
    "conversion": say(
        "The function {function} makes an integer of a number that has none: it is too large, or"
        " not a number."
    ),
    "division": say("The function {function} divides an integer by zero."),
    "overflow": say(
        "In the function {function}, an integer becomes larger or smaller than its type can hold."
    ),
    "unguarded": say(
        "The function {function} was not run, because it cannot be seen that it stays within its"
        " buffers."
    ),
}
_NO_ITEM = say(
    "The function {function} would have used item {value} of the buffer {subject}, but it has only"
    " the items 0 to {most}."
)
_NO_ITEM_OF_SOME = say(
    "The function {function} would have used item {value} of the buffer {subject}, which it does"
    " not have."
)
_WITHIN = say(
    "Compare every index with the extents of its buffer, also where the loop does not divide the"
    " extent, or at the border of a window. Items are counted through all axes."
)

TIME_LIMIT = Problem(
    say("The module ran longer than the time limit and was stopped."),
    say("Look for loops that are much longer than the layer needs."),
    code="time_limit",
)

_SPECIAL = {
    "NotDeterministic": Problem(
        say("The same input gave two different outputs."),
        say(
            "An output or intermediate buffer is read before it is written, or parallel"
            " loops overlap."
        ),
        code="not_deterministic",
    ),
    "InputChanged": Problem(
        say("The function wrote into its inputs while it was timed."),
        say("Write to the output and to buffers of the function's own only."),
        code="changed_inputs",
    ),
    "Disturbed": Problem(
        say(
            "The function changed what it was measured with: calls are missing, or memory beside"
            " its arrays was written."
        ),
        say("Keep all indices within the extents of their buffers."),
        code="disturbed",
    ),
    "UnknownWorkload": Problem(
        say(
            "The scheduled function computes something else than the unscheduled one that it would"
            " be compared with, so its speed says nothing."
        ),
        say(
            "Let it compute the layer (its bias and its ReLU may be in it) and nothing else: keep"
            " pooling and other layers in functions of their own."
        ),
        code="other_computation",
    ),
    "TimeLimit": TIME_LIMIT,
    "Died": Problem(
        say("The module crashed the process that ran it."),
        say(
            "This happens when a loop reads or writes outside its buffers: check extents"
            " and indices."
        ),
        code="crashed",
    ),
}


class Ended(TaskFailure, frozen=True):
    """A failure that no process told of, because it was ended: `why` says it in its place."""

    why: Text = NOTHING


def told_by(failure: TaskFailure) -> Text:
    """Return the name of a failure's error and what it says."""
    if isinstance(failure, Ended):
        return join(foreign(f"{failure.error_name}:"), failure.why)
    return foreign(f"{failure.error_name}: {failure.message}".strip(": "))


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
    return Problem(reason, _WITHIN, code="out_of_bounds")


def explain_failure(failure: FromRunner) -> Problem:
    """Return the reason and the next step for a task that a runner could not do.

    Raises ProtocolError for a result of another task: no runner of ours sends one.
    """
    if not isinstance(failure, TaskFailure):
        raise ProtocolError("A runner answered another question than it was asked.", "Report this.")
    if failure.violation is not None:
        return explain_violation(failure.violation)
    is_ours = failure.raised is None
    if is_ours and failure.error_name in _SPECIAL:
        return _SPECIAL[failure.error_name]
    if is_ours and failure.error_name == EXTERN_DIED:
        return Problem(
            join(say("An external function ended the process that called it."), _ending(failure)),
            say("A function must return: it may neither exit nor write outside of its arrays."),
            code="extern_failed",
        )
    reason = say(_REASONS[failure.stage], detail=told_by(failure))
    return Problem(
        reason, _HINTS.get(failure.stage, NOTHING), quotes=True, code=_CODES[failure.stage]
    )


def _ending(failure: TaskFailure) -> Text:
    return failure.why if isinstance(failure, Ended) else foreign(failure.message)
