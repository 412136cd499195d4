"""Saying what is wrong with outputs that differ: what the numbers show, and what a diagnosis does.

Without a diagnosis, where the module cannot be run step by step, only the outputs speak.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grader.assignment import Comparison
from grader.evidence.case import Outputs, Problem
from grader.language import Text, join, say
from grader.report import CheckCode, Diagnosis

WRITE_THE_BUFFER = say(
    "Write the result into the last argument: out[...] = result for a NumPy array,"
    " torch.from_dlpack(out).copy_(result) for a tensor. A new variable of the same name is not the"
    " buffer."
)

NOT_FINITE = say(
    "NaN and infinity come of memory that is read before it is written (a sum without T.init(), an"
    " output that is only partly filled), of a division by zero, of the logarithm of zero, or of"
    " the exponential of a large number."
)
"""All that it may be. What it is is told where it was tried."""

_NEAR = 1e-3
"""Numbers so near to each other are equal for the purpose of a hint."""

Mask = npt.NDArray[np.bool_]


def wrong_samples(outputs: Outputs, comparison: Comparison) -> Mask:
    """Return a mask over the samples: True where any value is outside the tolerance.

    Where shape or dtype are other ones than PyTorch's, all samples are wrong.
    """
    if not _has_form(outputs, comparison):
        return np.ones(len(outputs.desired), np.bool_)
    close = np.isclose(outputs.actual, outputs.desired, rtol=comparison.rtol, atol=comparison.atol)
    finite = np.isfinite(outputs.actual)
    return np.asarray(~(close & finite).reshape(len(close), -1).all(axis=1))


def explain(
    outputs: Outputs, wrong: Mask, comparison: Comparison, told: Diagnosis | Problem | None
) -> Problem:
    """Return the reason and the next step for outputs that are not right.

    `wrong` is a mask over the samples with at least one True.
    """
    seen = _seen(outputs, wrong, comparison)
    if isinstance(told, Problem):
        return Problem(join(seen, told.reason), told.hint, code=told.code)
    if told is not None:
        return Problem(join(seen, told.message), told.advice, code=_code(outputs, comparison))
    if outputs.unwritten:
        unwritten = say("`{name}` never wrote to its output buffer.", name=outputs.unwritten[0])
        return Problem(join(seen, unwritten), WRITE_THE_BUFFER, code="unwritten")
    return Problem(seen, _hint(outputs, wrong, comparison), code=_code(outputs, comparison))


def _has_form(outputs: Outputs, comparison: Comparison) -> bool:
    actual = outputs.actual
    return actual.shape == outputs.desired.shape and str(actual.dtype) == comparison.dtype


def _code(outputs: Outputs, comparison: Comparison) -> CheckCode:
    """Return how the outputs differ, as `_seen` says it."""
    actual = outputs.actual
    if actual.shape != outputs.desired.shape:
        return "shape"
    if str(actual.dtype) != comparison.dtype:
        return "dtype"
    return "values" if np.isfinite(actual).all() else "not_finite"


def _seen(outputs: Outputs, wrong: Mask, comparison: Comparison) -> Text:
    """Say how the outputs differ: in shape, in dtype, in being finite, or in their values."""
    actual = outputs.actual
    if actual.shape != outputs.desired.shape:
        return say(
            "One sample's output has the shape {got}, it should be {wanted}.",
            got=str(actual.shape[1:]),
            wanted=str(tuple(comparison.output_shape)),
        )
    if str(actual.dtype) != comparison.dtype:
        return say(
            "The output's dtype is {got}, it should be {wanted}.",
            got=str(actual.dtype),
            wanted=comparison.dtype,
        )
    finite = np.isfinite(actual)
    if not finite.all():
        share = float((~finite).reshape(len(actual), -1).any(axis=1).mean())
        return say("The output is NaN or infinite for {share:.0%} of the samples.", share=share)
    return say(
        "{wrong} of {samples} samples differ from the right outputs, by up to {worst:.2g}.",
        wrong=int(wrong.sum()),
        samples=len(wrong),
        worst=float(np.abs(actual.astype(np.float64) - outputs.desired).max()),
    )


def _hint(outputs: Outputs, wrong: Mask, comparison: Comparison) -> Text:
    """Say what to do about what `_seen` says."""
    actual = outputs.actual
    if actual.shape != outputs.desired.shape:
        return say("Check the last layers, and which variable goes into bb.emit_output(...).")
    if str(actual.dtype) != comparison.dtype:
        return say(
            'Use "{wanted}" for the input, the constants and every layer.',
            wanted=comparison.dtype,
        )
    if not np.isfinite(actual).all():
        return NOT_FINITE
    return _hint_for_values(actual[wrong].astype(np.float64), outputs.desired[wrong])


def _hint_for_values(actual: npt.NDArray[np.floating], desired: npt.NDArray[np.floating]) -> Text:
    """Say what outputs look like beside the right ones."""
    if np.allclose(actual, actual.flat[0]):
        return say("The output is the same everywhere: does it depend on the input at all?")
    share = float(np.isclose(actual, desired, rtol=_NEAR, atol=_NEAR).mean())
    if share > 0:
        return say(
            "{share:.0%} of the elements of these samples are right: look at the edges of the"
            " loops, at which index belongs to which axis, and where a sum begins.",
            share=share,
        )
    return say(
        "No element of these samples is right: compare each layer's shape and parameters with"
        " PyTorch's, one layer after the other."
    )
