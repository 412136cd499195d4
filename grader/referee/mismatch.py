"""Saying what is wrong with outputs that differ: what can be read off the numbers alone."""

from __future__ import annotations

import numpy as np

from grader.referee.evidence import Outputs

WRITE_THE_BUFFER = (
    "Write the result into the last argument, for example with"
    " torch.from_dlpack(out).copy_(result): a new variable of the same name is not the buffer."
)


def explain(outputs: Outputs, wrong: np.ndarray) -> tuple[str, str]:
    """Return the reason and the next step for outputs of the right shape that are not right.

    `wrong` is a mask over the samples with at least one True.
    """
    actual, desired = outputs.actual.astype(np.float64), outputs.desired
    worst = float(np.abs(actual - desired).max())
    reason = (
        f"{int(wrong.sum())} of {len(wrong)} samples differ from PyTorch, by up to {worst:.2g}."
    )
    if outputs.unwritten:
        unwritten = f"`{outputs.unwritten[0]}` never wrote to its output buffer."
        return f"{reason} {unwritten}", WRITE_THE_BUFFER
    return reason, _hint(actual[wrong], desired[wrong])


def _hint(actual: np.ndarray, desired: np.ndarray) -> str:
    if np.allclose(actual, actual.flat[0]):
        return "The output is the same everywhere: does it depend on the input at all?"
    if _rows_sum_to_one(desired) and not _rows_sum_to_one(actual):
        if np.allclose(actual.sum(axis=0) % 1, 0, atol=1e-3):
            return (
                "The columns sum to 1 and not the rows: take the softmax over the classes, axis 1."
            )
        return "The ten scores of an image do not sum to 1: is a softmax over the classes there?"
    if (actual.argmax(axis=1) == desired.argmax(axis=1)).mean() > 0.9:
        return (
            "The predicted classes are mostly right, the values are not: look for a bias that is"
            " missing or added twice, and for the order of the layers."
        )
    return (
        "The predicted classes differ too: compare each layer's shape and parameters (stride,"
        " padding, kernel, weight) with the PyTorch model, one layer after the other."
    )


def _rows_sum_to_one(values: np.ndarray) -> bool:
    return bool(np.allclose(values.sum(axis=-1), 1.0, atol=1e-3))
