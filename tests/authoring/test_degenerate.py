"""Outputs by which right and wrong cannot be told apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from grader.assignment import ArgumentTable, Computation, TensorTable
from grader.authoring.degenerate import examine
from grader.evidence.answers import Answers, CaseOracle

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]


def answers(compute: Function, seed: int, **options: float) -> Answers:
    table = Computation(
        "sum",
        (ArgumentTable((3,), name="a"), ArgumentTable((3,), name="b")),
        (TensorTable((3,)),),
        **options,  # type: ignore[arg-type]
    )
    oracle = CaseOracle(table, compute, np.random.default_rng(seed))
    return Answers(None, None, {"sum": oracle})  # type: ignore[arg-type]


def findings(compute: Function, second_seed: int = 2, **options: float) -> tuple[str, ...]:
    _, found = examine(answers(compute, 1, **options), answers(compute, second_seed, **options))
    return tuple(each.english for each in found)


def test_a_function_of_all_its_arguments_is_sound() -> None:
    assert () == findings(lambda a, b: a.astype(float) + b)


def test_the_range_is_told() -> None:
    ((seen,), _) = examine(
        answers(lambda a, b: a.astype(float) + b, 1), answers(lambda a, b: a.astype(float) + b, 2)
    )
    assert ("sum", 64) == (seen.oracle, seen.inputs)
    assert -6 < seen.low < -1 < 1 < seen.high < 6
    assert 1 < seen.spread < 2


@pytest.mark.parametrize(
    ("compute", "complaint"),
    [
        (lambda a, b: np.full((64, 3), 0.5), "give the same outputs"),
        (lambda a, b: np.sqrt(np.where(a > 0, a, np.nan)), "NaN or infinite for"),
        (lambda a, b: a.astype(float), "b does not affect the output"),
        (lambda a, b: 1 + 1e-5 * (a.astype(float) + b), "by less than 10 times the tolerance"),
        (lambda a, b: np.sign(a[:, :1] + b[:, :1]) * np.ones(3), "a unique output"),
    ],
)
def test_what_is_wrong_is_said(compute: Function, complaint: str) -> None:
    with np.errstate(invalid="ignore"):
        (found,) = findings(compute)
    assert found.startswith("sum: ")
    assert complaint in found


def test_outputs_that_do_not_depend_on_the_seed_are_found() -> None:
    (found,) = findings(lambda a, b: a.astype(float) + b, second_seed=1)
    assert "another seed gives the same outputs" in found


def test_a_wide_tolerance_is_found() -> None:
    (found,) = findings(lambda a, b: a.astype(float) + b, atol=0.5)
    assert "make the tolerance smaller" in found
