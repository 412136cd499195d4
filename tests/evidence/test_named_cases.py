"""Samples that a course makes itself: they come first, and a report tells each case by its name."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from grader.assignment import Computation, PartTable
from grader.checks.kinds.equivalence import EquivalenceOptions, equivalence
from grader.errors import MistakeError
from grader.evidence.answers import CaseOracle
from grader.evidence.case import Outputs
from grader.evidence.named_cases import make_inputs, named_cases
from grader.evidence.oracle import Arrangement
from grader.ir.facts import ModuleFacts
from tests.evidence.factory import case

TABLE = msgspec.convert(
    {
        "id": "variance",
        "arguments": [{"name": "x", "shape": [6]}, {"name": "mask", "shape": [6], "dtype": "bool"}],
        "outputs": [{"shape": []}],
        "cases": 4,
        "case": [
            {
                "name": "large",
                "title": "variance of large numbers",
                "titles": {"ko": "큰 수의 분산"},
            },
            {"name": "ties", "count": 3, "hidden": True},
        ],
    },
    Computation,
)
PART = PartTable(
    id="a", title="", entry_kind="python", entry=("f",), check=(), computation="variance"
)
NOTHING = ModuleFacts(False, (), None, (), {}, (), ())


def inputs(seed: int, name: str) -> dict[str, Any]:
    x = np.random.default_rng(seed).standard_normal(6)
    return {"x": x + 1e4 if name == "large" else np.ones(6), "mask": [1, 0] * 3}


def variance(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return x.astype(np.float64).var(axis=1) + mask.sum(axis=1)


def made(function: Any = inputs, seed: int = 0) -> tuple[np.ndarray[Any, Any], ...]:
    module: Any = SimpleNamespace(inputs=function)
    return make_inputs(module, Path("oracle.py"), TABLE, np.random.default_rng(seed))


def oracle() -> CaseOracle:
    return CaseOracle(TABLE, variance, np.random.default_rng(1), made())


def test_they_are_of_the_dtypes_of_the_arguments_and_of_the_seed_alone() -> None:
    x, mask = made()
    assert [((11, 6), "float32"), ((11, 6), "bool")] == [(e.shape, str(e.dtype)) for e in (x, mask)]
    assert x[:8].mean() > 9e3
    assert np.array_equal(x, made()[0])
    assert not np.array_equal(x, made(seed=1)[0])
    assert 8 == len(np.unique(x[:8, 0])), "each sample has a seed of its own"


def test_they_come_before_what_is_drawn() -> None:
    found = oracle()
    assert (15,) == found.desired.shape
    assert np.array_equal(found.desired[8:11], [3, 3, 3])
    few = found.arrange(msgspec.structs.replace(PART, samples=9), None)
    assert isinstance(few, Arrangement)
    assert 9 == few.samples
    assert np.array_equal(made()[0][:9], few.arguments[0].array)


def judged(wrong: list[int], language: str = "en") -> str:
    right = oracle().desired
    actual = right.astype(np.float32)
    actual[wrong] += 1
    outputs = Outputs(actual, right, np.zeros(15, np.bool_), cases=named_cases(TABLE))
    told = dataclasses.replace(case(NOTHING, outputs=outputs), comparison=TABLE)
    return equivalence(told, EquivalenceOptions()).reason.in_(language)


def test_a_report_says_of_which_case_how_many_are_wrong() -> None:
    said = judged([0, 3, 4])
    assert "3 of 15 samples differ" in said
    assert said.endswith("variance of large numbers: 3 of 8 wrong.")
    assert "큰 수" in judged([0], "ko")


def test_a_hidden_case_has_a_number_alone() -> None:
    said = judged([8, 14])
    assert said.endswith("hidden case 2: 1 of 3 wrong.")
    assert "ties" not in said


def test_of_drawn_samples_nothing_more_is_said() -> None:
    assert "wrong." not in judged([14])


@pytest.mark.parametrize(
    "result",
    [
        {"x": np.ones(6)},
        {"x": np.ones(6), "mask": np.ones(6), "more": 1},
        {"x": np.ones(5), "mask": np.ones(6)},
        {"x": ["a"] * 6, "mask": np.ones(6)},
        {"x": np.ones(6), "mask": np.full(6, 2)},
        [np.ones(6), np.ones(6)],
    ],
)
def test_other_inputs_are_a_mistake_of_the_course(result: Any) -> None:
    with pytest.raises(MistakeError) as caught:
        made(lambda _seed, _case: result)
    assert "inputs" == caught.value.mistake.code


def test_cases_have_names_of_their_own_and_arguments_too() -> None:
    table = msgspec.to_builtins(TABLE)
    twice = {**table, "case": [{"name": "a"}, {"name": "a"}]}
    unnamed = {**table, "arguments": [{"shape": [6]}]}
    for wrong in (twice, unnamed):
        with pytest.raises(msgspec.ValidationError, match=r"same name|need a `name`"):
            msgspec.convert(wrong, Computation)
