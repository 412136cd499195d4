"""Why there is no evidence, and what is wrong with outputs that differ, in sentences."""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from grader.assignment import Comparison, Computation
from grader.errors import ProtocolError
from grader.evidence.case import FloatArray, Outputs, Problem
from grader.execute.advice import REPLACE_STUB, advice_on_python
from grader.execute.known_errors import recognise
from grader.ir.facts import Finding
from grader.ir.vocabulary import shown
from grader.language import NOTHING, Text, ended, foreign, join, say
from grader.messages.kernel import Capture
from grader.messages.runner import (
    EXTERN_DIED,
    FailureCode,
    FromRunner,
    TaskFailure,
    Violation,
    ViolationKind,
)
from grader.report import CheckCode, Diagnosis

# --- failures of runners --------------------------------------------------------------------------
# Turning a runner's failure into a sentence for the student.


_REASONS = {
    "decode": say("module-could-not-transferred"),
    "load": say("tvm-could-not-load-module"),
    "build": say("tvm-could-not-build-module"),
    "externs": say("external-function-could-not-used"),
    "signature": say("module-does-not-have-required-form"),
    "run": say("module-failed-while-ran"),
    "time": say("schedule-could-not-timed"),
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
    "build": say("build-in-your-notebook-with-tvm-compile"),
    "externs": say("register-function-with-tvm-register-global-func"),
    "run": say("run-in-your-notebook-on-one-batch"),
    "signature": say("main-must-return-one-tensor"),
}

_VIOLATIONS: dict[ViolationKind, Text] = {
    "allocation": say("function-asks-for-impossible-size-buffer"),
    "assumption": say("function-assumes-something-that-false"),
    "conversion": say("function-casts-nan-or-out-range-float"),
    "division": say("function-divides-integer-by-zero"),
    "overflow": say("in-function-integer-overflows-type"),
    "unguarded": say("function-not-run-because-accesses-cannot-shown"),
}
_NO_ITEM = say("function-accesses-item-buffer-which-has-only")
_NO_ITEM_OF_SOME = say("function-accesses-item-buffer-which-does")
_WITHIN = say("compare-every-index-with-extents-buffer-also")
_UP_TO_SHAPE = say("length-of-buffer-is-a-variable")

TIME_LIMIT = Problem(
    say("module-ran-longer-than-time-limit"),
    say("look-for-loops-that-much-longer"),
    code="time_limit",
)

NO_MAIN = Problem(
    say("module-has-no-relax-function-called-main"),
    say("write-graph-as-function-main"),
    code="signature",
)

_SPECIAL: Mapping[FailureCode, Problem] = {
    "NotDeterministic": Problem(
        say("same-input-gave-two-different-outputs"),
        say("buffer-read-before-written-or-iterations-parallel"),
        code="not_deterministic",
    ),
    "InputChanged": Problem(
        say("function-wrote-into-inputs-while-timed"),
        say("write-only-output-and-functions-own-buffers"),
        code="changed_inputs",
    ),
    "Disturbed": Problem(
        say("function-damaged-measurement-skipped-calls-or-wrote"),
        say("keep-all-indices-within-their-buffers"),
        code="disturbed",
    ),
    "UnknownWorkload": Problem(
        say("scheduled-function-computes-something-else-than-unscheduled"),
        say("compute-layer-bias-and-relu-may-included"),
        code="other_computation",
    ),
    "TimeLimit": TIME_LIMIT,
    "Died": Problem(
        say("module-crashed-process-that-ran"),
        say("this-happens-when-loop-reads-or-writes"),
        code="crashed",
    ),
}


class Ended(TaskFailure, frozen=True):
    """A failure that no process told of, because it was ended: `why` says it in its place."""

    why: Text = NOTHING


def told_by(failure: TaskFailure) -> Text:
    """Return the name of a failure's error and what it says, as a sentence: others may follow."""
    if isinstance(failure, Ended):
        return join(foreign(f"{failure.error_name}:"), failure.why)
    return foreign(ended(f"{failure.error_name}: {failure.message}".strip(": ")))


FAULTS: Mapping[str, tuple[CheckCode, Text]] = {
    "out_of_bounds": ("out_of_bounds", say("end-each-loop-this-index-where-buffer")),
    "race": ("not_deterministic", say("make-loop-spatial-axis-parallel-instead-split")),
}
"""Of each fault of a module, the code of the checks that it fails, and what to do."""


def explain_fault(fault: Finding) -> Problem:
    """Return why the numbers of a function with a fault are worth nothing, whatever they are."""
    code, hint = FAULTS[fault.code]
    return Problem(fault.message, hint, code=code)


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
    # Only of a buffer of any size is the extent not known: its loop has a number for the variable.
    is_of_any_size = violation.kind == "index" and not violation.size and violation.value > 0
    hint = say(_UP_TO_SHAPE, subject=shown(violation.subject)) if is_of_any_size else _WITHIN
    return Problem(reason, hint, code="out_of_bounds")


def explain_failure(failure: FromRunner) -> Problem:
    """Return the reason and the next step for a task that a runner could not do.

    Raises ProtocolError for a result of another task: no runner of ours sends one.
    """
    if not isinstance(failure, TaskFailure):
        raise ProtocolError(say("runner-answered-different-question"), say("report-this"))
    if failure.violation is not None:
        return explain_violation(failure.violation)
    if failure.code in _SPECIAL:
        return _SPECIAL[failure.code]
    if failure.code == EXTERN_DIED:
        why = failure.why if isinstance(failure, Ended) else foreign(failure.message)
        return Problem(
            join(say("external-function-ended-process-that-called"), why),
            say("function-must-return-may-neither-exit-nor"),
            code="extern_failed",
        )
    reason = say(_REASONS[failure.stage], detail=told_by(failure))
    cause = advice_on_python(recognise(failure.error_name, failure.message))
    hint = cause or _HINTS.get(failure.stage, NOTHING)
    return Problem(reason, hint, quotes=True, code=_CODES[failure.stage])


# --- failures of Python functions -----------------------------------------------------------------
# Turning the failure of a student's Python function into a sentence that names it.


def explain_python_failure(failure: TaskFailure, capture: Capture, arguments: Text) -> Problem:
    """Return the reason and the next step for a function of NumPy arrays that gave no result.

    `arguments` are those that it was called with, by names, dtypes and shapes.
    """
    calls = say("is-called-with", arguments=arguments)
    name = capture.name
    stub = None if failure.raised is None else recognise(failure.error, failure.raised).kind
    if stub == "not_implemented":
        return Problem(
            say("cell-not-solved-yet", name=name, cell=capture.cell),
            REPLACE_STUB,
            code="unsolved",
        )
    if failure.code == EXTERN_DIED:
        return Problem(
            say("ended-process-that-called", name=name),
            say("must-return-may-neither-exit-nor-write"),
            code="extern_failed",
        )
    if failure.raised is None:
        return explain_failure(failure)
    message = failure.raised
    if not message:
        return Problem(
            say("raised", name=name, error=failure.error),
            calls,
            code="raised",
        )
    return Problem(
        say("name-raised-error-message", name=name, error=failure.error, message=message),
        advice_on_python(recognise(failure.error, message)) or calls,
        code="raised",
    )


# --- outputs that differ --------------------------------------------------------------------------
# Saying what is wrong with outputs that differ: what the numbers show, and what a diagnosis does.
#
# Without a diagnosis, where the module cannot be run step by step, only the outputs speak.


WRITE_THE_BUFFER = say("write-result-into-last-argument-out-result")

WRITE_THE_OUTPUT = say("assign-every-result-item-that-buffer-new")
"""The same for a function that need not be an extern, as one of TensorIR."""

NOT_FINITE = say("nan-and-infinity-come-memory-that-read")
"""All that it may be. What it is is told where it was tried."""

_TELLING = 0.1
"""Fewer right elements have nothing in common: they are right by chance."""

Mask = npt.NDArray[np.bool_]


def wrong_samples(outputs: Outputs, comparison: Comparison) -> Mask:
    """Return a mask over the samples: True where any value is outside the tolerance.

    Where shape or dtype are other ones than PyTorch's, all samples are wrong.
    """
    if not _has_form(outputs, comparison):
        return np.ones(len(outputs.desired), np.bool_)
    close = is_close(outputs.actual, outputs.desired, comparison.rtol, comparison.atol)
    return np.asarray(~close.reshape(len(close), -1).all(axis=1))


def is_close(actual: FloatArray, desired: FloatArray, rtol: float, atol: float) -> Mask:
    """Say of each item whether it is finite and within a tolerance.

    Integers that have none are equal or not: as float64, large ones would be equal to others.
    """
    if not rtol and not atol and actual.dtype.kind in "biu" and desired.dtype.kind in "biu":
        return np.asarray(actual == desired)
    # What `np.isclose` says, without its copies: it was a twentieth of a grading. What was never
    # written is a signalling NaN.
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.subtract(actual, desired, dtype=np.float64)
        np.abs(error, out=error)
        limit = np.abs(desired, dtype=np.float64)
        limit *= rtol
        limit += atol
        close = error <= limit
        close &= error < np.inf
    return np.asarray(close)


def _is_finite(values: FloatArray) -> Mask:
    with np.errstate(invalid="ignore"):  # bfloat16 tells of signalling NaN here, too
        return np.asarray(np.isfinite(values))


def explain(
    outputs: Outputs, wrong: Mask, comparison: Comparison, told: Diagnosis | Problem | None
) -> Problem:
    """Return the reason and the next step for outputs that are not right.

    `wrong` is a mask over the samples with at least one True.
    """
    seen = _seen(outputs, wrong, comparison)
    if outputs.extents:
        seen = join(say("where-title", extents=outputs.extents), seen)
    # The cause comes first: how many samples differ mends nothing.
    if isinstance(told, Problem):
        return Problem(join(told.reason, seen), told.hint, code=told.code)
    if told is not None:
        return Problem(join(told.message, seen), told.advice, code=_code(outputs, comparison))
    if outputs.unwritten:
        unwritten = say("never-wrote-output-buffer", name=outputs.unwritten[0])
        return Problem(join(unwritten, seen), WRITE_THE_OUTPUT, code="unwritten")
    return Problem(seen, _hint(outputs, wrong, comparison), code=_code(outputs, comparison))


def _has_form(outputs: Outputs, comparison: Comparison) -> bool:
    actual = outputs.actual
    return actual.shape == outputs.desired.shape and str(actual.dtype) == comparison.dtype


def _code(outputs: Outputs, comparison: Comparison) -> CheckCode:
    actual = outputs.actual
    if actual.shape != outputs.desired.shape:
        return "shape"
    if str(actual.dtype) != comparison.dtype:
        return "dtype"
    return "values" if _is_finite(actual).all() else "not_finite"


def _seen(outputs: Outputs, wrong: Mask, comparison: Comparison) -> Text:
    actual = outputs.actual
    if actual.shape != outputs.desired.shape:
        return say(
            "one-samples-output-has-shape-should",
            got=str(actual.shape[1:]),
            wanted=str(outputs.desired.shape[1:]),
        )
    if str(actual.dtype) != comparison.dtype:
        return say("outputs-dtype-should", got=str(actual.dtype), wanted=comparison.dtype)
    finite = _is_finite(actual)
    if not finite.all():
        share = float((~finite).reshape(len(actual), -1).any(axis=1).mean())
        return say("output-nan-or-infinite-for-samples", share=share)
    return say(
        "samples-differ-from-right-outputs-by-up",
        wrong=int(wrong.sum()),
        samples=len(wrong),
        worst=float(np.abs(actual.astype(np.float64) - outputs.desired).max()),
    )


def _hint(outputs: Outputs, wrong: Mask, comparison: Comparison) -> Text:
    """Return the next step for outputs that differ as `_seen` says it."""
    actual = outputs.actual
    if actual.shape != outputs.desired.shape:
        return say("check-last-steps-and-which-them-returned")
    if str(actual.dtype) != comparison.dtype and _is_mixed(comparison):
        return say("compute-output-in-and-cast-what-computed", wanted=comparison.dtype)
    if str(actual.dtype) != comparison.dtype:
        return say("use-for-input-constants-and-every-layer", wanted=comparison.dtype)
    if not _is_finite(actual).all():
        return NOT_FINITE
    return _hint_for_values(actual[wrong], outputs.desired[wrong], comparison)


def _is_mixed(comparison: Comparison) -> bool:
    return isinstance(comparison, Computation) and any(
        each.dtype != comparison.dtype for each in comparison.arguments
    )


def _hint_for_values(actual: FloatArray, desired: FloatArray, comparison: Comparison) -> Text:
    """Say what outputs look like beside the right ones."""
    if np.allclose(actual.astype(np.float64), float(actual.flat[0])):
        return say("output-same-everywhere-check-that-depends")
    share = float(is_close(actual, desired, comparison.rtol, comparison.atol).mean())
    if share >= _TELLING:
        share = math.floor(100 * share) / 100  # never "100% are right"
        return say("elements-these-samples-right-find-what-others", share=share)
    if share > 0:
        return say("few-elements-these-samples-right-compare")
    return say("no-element-these-samples-right-compare")
