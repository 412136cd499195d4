"""Saying what is wrong with outputs that differ: what can be read off the numbers alone."""

from __future__ import annotations

import numpy as np

from grader.assignment import Comparison, OracleOptions
from grader.language import join, mark, say
from grader.referee.evidence import Outputs

WRITE_THE_BUFFER = mark(
    "Write the result into the last argument: out[...] = result for a NumPy array,"
    " torch.from_dlpack(out).copy_(result) for a tensor. A new variable of the same name is not the"
    " buffer."
)

_NEAR = 1e-3
"""Numbers so near to each other are equal for the purpose of a hint."""


def explain(outputs: Outputs, wrong: np.ndarray, comparison: Comparison) -> tuple[str, str]:
    """Return the reason and the next step for outputs of the right shape that are not right.

    `wrong` is a mask over the samples with at least one True.
    """
    actual, desired = outputs.actual.astype(np.float64), outputs.desired
    worst = float(np.abs(actual - desired).max())
    reason = say(
        "{wrong} of {samples} samples differ from PyTorch, by up to {worst:.2g}.",
        wrong=int(wrong.sum()),
        samples=len(wrong),
        worst=worst,
    )
    if outputs.unwritten:
        unwritten = say("`{name}` never wrote to its output buffer.", name=outputs.unwritten[0])
        return join(reason, unwritten), say(WRITE_THE_BUFFER)
    hint = _hint_for_scores if _is_classifier(comparison) else _hint_for_tensors
    return reason, hint(actual[wrong], desired[wrong])


def _is_classifier(comparison: Comparison) -> bool:
    return isinstance(comparison, OracleOptions) and len(comparison.output_shape) == 1


def _hint_for_tensors(actual: np.ndarray, desired: np.ndarray) -> str:
    """Say what an output that is no row of scores looks like beside the right one."""
    if np.allclose(actual, actual.flat[0]):
        return say("The output is the same everywhere: does it depend on the input at all?")
    if np.allclose(np.maximum(actual, 0), desired, rtol=_NEAR, atol=_NEAR):
        return say("It is right but where it should be 0 it is negative: the ReLU is missing.")
    if np.allclose(actual, np.maximum(desired, 0), rtol=_NEAR, atol=_NEAR):
        return say("It is right where it is positive, and 0 elsewhere: there is a ReLU too many.")
    share = float(np.isclose(actual, desired, rtol=_NEAR, atol=_NEAR).mean())
    if share > 0:
        return say(
            "{share:.0%} of the elements of these samples are right: look at the edges of the"
            " loops, at which index belongs to which axis, and where a sum begins.",
            share=share,
        )
    return say(
        "No element of these samples is right: compare which axis is summed over and which index"
        " each argument is read at, and that a sum begins at 0."
    )


def _hint_for_scores(actual: np.ndarray, desired: np.ndarray) -> str:
    if np.allclose(actual, actual.flat[0]):
        return say("The output is the same everywhere: does it depend on the input at all?")
    if _rows_sum_to_one(desired) and not _rows_sum_to_one(actual):
        if np.allclose(actual.sum(axis=0) % 1, 0, atol=1e-3):
            return say(
                "The columns sum to 1 and not the rows: take the softmax over the classes, axis 1."
            )
        return say(
            "The ten scores of an image do not sum to 1: is a softmax over the classes there?"
        )
    if (actual.argmax(axis=1) == desired.argmax(axis=1)).mean() > 0.9:
        return say(
            "The predicted classes are mostly right, the values are not: look for a bias that is"
            " missing or added twice, and for the order of the layers."
        )
    return say(
        "The predicted classes differ too: compare each layer's shape and parameters (stride,"
        " padding, kernel, weight) with the PyTorch model, one layer after the other."
    )


def _rows_sum_to_one(values: np.ndarray) -> bool:
    return bool(np.allclose(values.sum(axis=-1), 1.0, atol=1e-3))
