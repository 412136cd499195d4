"""Is there something to tell right from wrong by? What an oracle's outputs say of themselves.

Outputs that are not finite, that are the same for all inputs or all seeds, or that vary by less
than the tolerance, let wrong submissions pass.
"""

from collections.abc import Iterator

import numpy as np

from grader.assignment import Comparison
from grader.authoring.verify_result import ScoreRange
from grader.evidence.answers import Answers, CaseOracle
from grader.evidence.case import FloatArray
from grader.evidence.oracle import Oracle
from grader.language import Text, say

ROOM = 10.0
"""An output's items should vary, over inputs, by ten times the tolerance at least: a mistake that
moves them by a tenth of what inputs do is then seen."""

DISTINCT = 0.5
"""Least share of inputs whose outputs are unlike those of all others."""


def examine(answers: Answers, others: Answers) -> tuple[tuple[ScoreRange, ...], tuple[Text, ...]]:
    """Return the range of each oracle's outputs, and what is wrong; `others` have another seed."""
    ranges, findings = [], []
    for name, oracle, other in _pairs(answers, others):
        desired, options = oracle.desired, oracle.options
        ranges.append(_range(name, desired, options))
        found = list(_findings(desired, other.desired, ~oracle.from_test_set, options))
        if isinstance(oracle, CaseOracle) and not found:
            unused = oracle.unused_arguments()
            found = [say("does-not-affect-output", name=each) for each in unused]
        findings += [say("name-reason", name=name, reason=each) for each in found]
    return tuple(ranges), tuple(findings)


def _pairs(answers: Answers, others: Answers) -> Iterator[tuple[str, Oracle, Oracle]]:
    if answers.model is not None and others.model is not None:
        yield "oracle", answers.model, others.model
    for name, oracle in answers.computations.items():
        yield name, oracle, others.computations[name]


def _range(name: str, desired: FloatArray, options: Comparison) -> ScoreRange:
    flat = desired.reshape(len(desired), -1).astype(np.float64)
    finite = flat[np.isfinite(flat)]
    return ScoreRange(
        name,
        len(flat),
        float(finite.min(initial=np.inf)),
        float(finite.max(initial=-np.inf)),
        float(np.median(flat.std(axis=0))),
        float(np.median(_tolerance(flat, options))),
    )


def _findings(
    desired: FloatArray, other: FloatArray, hidden: np.ndarray, options: Comparison
) -> Iterator[Text]:
    flat = desired.reshape(len(desired), -1).astype(np.float64)
    if not np.isfinite(flat).all():
        share = float((~np.isfinite(flat)).any(axis=1).mean())
        yield say("right-outputs-nan-or-infinite-for-inputs", share=share)
        return
    drawn = flat[hidden]
    if _is_constant(flat):
        yield say("all-inputs-give-same-outputs-submission")
        return
    if _is_constant(drawn):
        yield say("all-inputs-that-drawn-give-same-outputs")
        return
    if other.shape == desired.shape and np.array_equal(other, desired):
        yield say("another-seed-gives-same-outputs-they-do")
    yield from _weak(drawn, options)


def _weak(drawn: np.ndarray, options: Comparison) -> Iterator[Text]:
    spread, allowed = drawn.std(axis=0), _tolerance(drawn, options)
    narrow = float((spread < ROOM * allowed).mean())
    if narrow > DISTINCT:
        yield say(
            "outputs-items-vary-over-hidden-inputs",
            share=narrow,
            room=ROOM,
            typical=float(np.median(spread)),
            allowed=float(np.median(allowed)),
        )
    distinct = len(np.unique(drawn.round(12), axis=0)) / len(drawn)
    if distinct < DISTINCT:
        yield say("only-hidden-inputs-have-unique-output", share=distinct)


def _tolerance(flat: np.ndarray, options: Comparison) -> np.ndarray:
    allowed: np.ndarray = options.atol + options.rtol * np.abs(flat).mean(axis=0)
    return allowed


def _is_constant(flat: np.ndarray) -> bool:
    """Say whether all rows are equal, but for rounding in double precision."""
    return bool(np.allclose(flat, flat[:1], rtol=1e-12, atol=0))
