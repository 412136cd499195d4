"""The check that matters most: does the module compute what PyTorch computes?"""

from __future__ import annotations

import numpy as np

from grader.assignment import Comparison
from grader.referee.evidence import Case, Outputs, Problem
from grader.referee.mismatch import WRITE_THE_BUFFER, explain
from grader.referee.outcome import Outcome, failed, not_graded, passed
from grader.referee.registry import NoOptions, check


@check("equivalence", options=NoOptions, needs=("outputs",))
def equivalence(case: Case, _options: NoOptions) -> Outcome:
    """The outputs equal PyTorch's.

    They do on the whole test set and on hidden inputs. Shape, dtype and finiteness are looked at
    first, then every value within the assignment's tolerance.
    """
    outputs = case.evidence.outputs
    if isinstance(outputs, Problem) or outputs is None:
        return not_graded(outputs or Problem("The module was not run."))
    problem = _form_problem(outputs, case.comparison)
    if problem is not None:
        return failed(problem.reason, problem.hint)
    wrong = wrong_samples(outputs, case.comparison)
    if wrong.any():
        reason, hint = explain(outputs, wrong, case.comparison)
        return failed(reason, hint)
    images = int(outputs.from_test_set.sum())
    hidden = f"{len(wrong) - images} hidden inputs agree with PyTorch."
    return passed(f"All {images} test images and {hidden}" if images else f"All {hidden}")


def wrong_samples(outputs: Outputs, comparison: Comparison) -> np.ndarray:
    """Return a mask over the samples: True where any value is outside the tolerance."""
    close = np.isclose(outputs.actual, outputs.desired, rtol=comparison.rtol, atol=comparison.atol)
    return np.asarray(~close.reshape(len(close), -1).all(axis=1))


def _form_problem(outputs: Outputs, comparison: Comparison) -> Problem | None:
    actual = outputs.actual
    if actual.shape != outputs.desired.shape:
        got, wanted = actual.shape[1:], tuple(comparison.output_shape)
        return Problem(
            f"One sample's output has the shape {got}, it should be {wanted}.",
            "Check the last layers, and which variable goes into bb.emit_output(...).",
        )
    if str(actual.dtype) != comparison.dtype:
        return Problem(
            f"The output's dtype is {actual.dtype}, it should be {comparison.dtype}.",
            f'Use "{comparison.dtype}" for the input, the constants and every layer.',
        )
    if not np.isfinite(actual).all():
        share = float((~np.isfinite(actual)).reshape(len(actual), -1).any(axis=1).mean())
        return _not_finite(share, outputs.unwritten)
    return None


def _not_finite(share: float, unwritten: tuple[str, ...]) -> Problem:
    reason = f"The output is NaN or infinite for {share:.0%} of the samples."
    if unwritten:
        return Problem(
            f"{reason} `{unwritten[0]}` never wrote to its output buffer.", WRITE_THE_BUFFER
        )
    return Problem(
        reason,
        "A value is used before it is written: a sum without T.init() or an output that is only"
        " partly filled. Buffers do not start as zeros.",
    )
