"""The check that matters most: does the module compute what PyTorch computes?"""

from __future__ import annotations

import numpy as np

from grader.assignment import Comparison
from grader.language import join, say
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
        return not_graded(outputs or Problem(say("The module was not run.")))
    problem = _form_problem(outputs, case.comparison)
    if problem is not None:
        return failed(problem.reason, problem.hint)
    wrong = wrong_samples(outputs, case.comparison)
    if wrong.any():
        reason, hint = explain(outputs, wrong, case.comparison)
        return failed(reason, hint)
    images = int(outputs.from_test_set.sum())
    hidden = len(wrong) - images
    if not images:
        return passed(say("All {hidden} hidden inputs agree with PyTorch.", hidden=hidden))
    return passed(
        say(
            "All {images} test images and {hidden} hidden inputs agree with PyTorch.",
            images=images,
            hidden=hidden,
        )
    )


def wrong_samples(outputs: Outputs, comparison: Comparison) -> np.ndarray:
    """Return a mask over the samples: True where any value is outside the tolerance."""
    close = np.isclose(outputs.actual, outputs.desired, rtol=comparison.rtol, atol=comparison.atol)
    return np.asarray(~close.reshape(len(close), -1).all(axis=1))


def _form_problem(outputs: Outputs, comparison: Comparison) -> Problem | None:
    actual = outputs.actual
    if actual.shape != outputs.desired.shape:
        got, wanted = actual.shape[1:], tuple(comparison.output_shape)
        return Problem(
            say(
                "One sample's output has the shape {got}, it should be {wanted}.",
                got=got,
                wanted=wanted,
            ),
            say("Check the last layers, and which variable goes into bb.emit_output(...)."),
        )
    if str(actual.dtype) != comparison.dtype:
        return Problem(
            say(
                "The output's dtype is {got}, it should be {wanted}.",
                got=actual.dtype,
                wanted=comparison.dtype,
            ),
            say(
                'Use "{wanted}" for the input, the constants and every layer.',
                wanted=comparison.dtype,
            ),
        )
    if not np.isfinite(actual).all():
        share = float((~np.isfinite(actual)).reshape(len(actual), -1).any(axis=1).mean())
        return _not_finite(share, outputs.unwritten)
    return None


def _not_finite(share: float, unwritten: tuple[str, ...]) -> Problem:
    reason = say("The output is NaN or infinite for {share:.0%} of the samples.", share=share)
    if unwritten:
        told = say("`{name}` never wrote to its output buffer.", name=unwritten[0])
        return Problem(join(reason, told), say(WRITE_THE_BUFFER))
    return Problem(
        reason,
        say(
            "A value is used before it is written: a sum without T.init() or an output that is only"
            " partly filled. Buffers do not start as zeros."
        ),
    )
