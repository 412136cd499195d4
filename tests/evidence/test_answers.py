"""Symbols of `main` are what the assignment calls it with, where they fit that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.assignment import ArgumentTable, Computation, PartTable, TensorTable
from grader.errors import CourseError
from grader.evidence.answers import CaseOracle, course_function
from grader.evidence.case import Problem
from grader.evidence.oracle import Arrangement
from grader.ir.facts import ModuleFacts
from tests.evidence.test_subject import fitting, function

# --- cases ----------------------------------------------------------------------------------------
# Answers for a computation, on cases drawn for the run.


PART = PartTable(
    id="add", title="", entry_kind="module", entry=("MyAdd",), check=(), computation="add"
)


def table(**fields: Any) -> Computation:
    plain = {
        "id": "add",
        "arguments": (
            ArgumentTable((4, 4), "int64", name="A"),
            ArgumentTable((4,), "int64", name="B"),
        ),
        "outputs": (TensorTable((4, 4), "int64"),),
        "cases": 5,
    }
    return Computation(**(plain | fields))


def broadcast(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a + b[:, None, :]


def oracle(compute: Any = broadcast, seed: int = 0, **fields: Any) -> CaseOracle:
    return CaseOracle(table(**fields), compute, np.random.default_rng(seed))


def facts(*functions: Any) -> Any:

    return ModuleFacts(False, (), None, (), {each.name: each for each in functions}, (), ())


def test_cases_depend_on_the_seed_alone_and_answers_on_the_cases() -> None:
    one, same, other = oracle(seed=1), oracle(seed=1), oracle(seed=2)
    assert (5, 4, 4) == one.desired.shape
    assert one.desired.tolist() == same.desired.tolist()
    assert one.desired.tolist() != other.desired.tolist()


def test_a_tir_function_is_called_on_every_case_and_an_output_of_its_own() -> None:
    arrangement = oracle().arrange(PART, facts(fitting("f")))
    assert isinstance(arrangement, Arrangement)
    assert ("f", 5, [(4, 4)]) == (
        arrangement.function,
        arrangement.samples,
        [each.shape for each in arrangement.outputs],
    )
    assert [(5, 4, 4), (5, 4)] == [each.array.shape for each in arrangement.arguments]


def test_no_function_that_fits_is_a_problem_that_says_what_would() -> None:
    problem = oracle().arrange(PART, facts(function("f", ((4,), "int64"))))
    assert isinstance(problem, Problem)
    assert "`f`(int64[4])" in problem.reason.english
    assert "int64[4, 4], int64[4], int64[4, 4]" in problem.hint.english


def test_several_outputs_become_one_row() -> None:
    both = oracle(
        lambda a, b: (broadcast(a, b), b),
        outputs=(TensorTable((4, 4), "int64"), TensorTable((4,), "int64")),
    )
    assert (5, 20) == both.desired.shape
    assert (20,) == both.options.output_shape


def test_a_course_function_that_gives_another_shape_is_the_courses_error() -> None:
    with pytest.raises(CourseError, match="shapes"):
        _ = oracle(lambda a, b: a[0]).desired


@pytest.mark.parametrize(
    ("dtype", "span", "least", "largest"),
    [
        ("int8", None, -128, 127),
        ("uint8", None, 0, 255),
        ("bool", None, 0, 1),
        ("int32", None, -10, 10),
        ("int32", (-70_000, 70_000), -70_000, 70_000),
    ],
)
def test_integers_are_drawn_from_all_that_there_are_or_from_their_range(
    dtype: str, span: tuple[int, int] | None, least: int, largest: int
) -> None:
    tables = (ArgumentTable((40_000,), dtype, name="A", range=span),)
    drawn = oracle(arguments=tables, cases=4).arrange(PART, None)
    assert isinstance(drawn, Arrangement)
    (values,) = (each.array for each in drawn.arguments)
    assert dtype == str(values.dtype)
    assert least <= values.min() <= least + (largest - least) // 100
    assert largest - (largest - least) // 100 <= values.max() <= largest


def test_bfloat16_reaches_the_course_as_float32_of_the_same_numbers() -> None:
    seen: list[np.ndarray] = []

    def compute(a: np.ndarray) -> np.ndarray:
        seen.append(a)
        return a.astype(float)

    found = oracle(
        compute,
        arguments=(ArgumentTable((3,), "bfloat16", name="A"),),
        outputs=(TensorTable((3,), "bfloat16"),),
    )
    (given,) = (each.array for each in found.arrange(PART, None).arguments)  # type: ignore[union-attr]
    assert (5, 3) == found.desired.shape
    assert ["float32", "bfloat16"] == [str(seen[0].dtype), str(given.dtype)]
    assert np.array_equal(seen[0], given.astype(np.float32))


@pytest.mark.parametrize("wrong", [128, -129, 0.5, np.nan])
def test_numbers_that_the_dtype_does_not_have_are_the_courses_error(wrong: float) -> None:
    with pytest.raises(CourseError, match="do not fit int8"):
        _ = oracle(lambda a, b: a * 0 + wrong, outputs=(TensorTable((4, 4), "int8"),)).desired


def test_a_computation_without_a_function_is_the_courses_error() -> None:
    with pytest.raises(CourseError, match="no function called add"):
        course_function(object(), table(), {})
