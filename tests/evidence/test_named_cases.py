"""Samples that a course makes itself: they come first, and a report tells each case by its name."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from tvm.script import ir as I  # noqa: N812
from tvm.script import relax as R  # noqa: N812

from grader.assignment import Computation, PartTable
from grader.checks.kinds.measured import EquivalenceOptions, equivalence
from grader.errors import MistakeError
from grader.evidence.answers import CaseOracle
from grader.evidence.candidates import gather_outputs, inspect
from grader.evidence.case import Outputs, Problem
from grader.evidence.named_cases import Made, NamedCase, make_inputs, tell_wrong
from grader.evidence.oracle import Arrangement
from grader.evidence.problems import wrong_samples
from grader.inside.runner.entry import perform
from grader.ir.facts import ModuleFacts
from grader.language import foreign
from grader.messages.kernel import Capture
from grader.messages.runner import FromRunner, ToRunner
from tests.evidence.factory import case
from tests.ir import modules

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


def made(function: Any = inputs, seed: int = 0, table: Computation = TABLE) -> tuple[Made, ...]:
    module: Any = SimpleNamespace(inputs=function)
    return make_inputs(module, Path("oracle.py"), table, np.random.default_rng(seed))


def oracle() -> CaseOracle:
    return CaseOracle(TABLE, variance, np.random.default_rng(1), *made())


def test_they_are_of_the_dtypes_of_the_arguments_and_of_the_seed_alone() -> None:
    x, mask = made()[0].arrays
    assert [((11, 6), "float32"), ((11, 6), "bool")] == [(e.shape, str(e.dtype)) for e in (x, mask)]
    assert x[:8].mean() > 9e3
    assert np.array_equal(x, made()[0].arrays[0])
    assert not np.array_equal(x, made(seed=1)[0].arrays[0])
    assert 8 == len(np.unique(x[:8, 0])), "each sample has a seed of its own"


def test_inputs_may_ask_which_computation_they_are_for() -> None:
    asked: list[str] = []

    def of_all(seed: int, name: str, computation: str) -> dict[str, Any]:
        asked.append(computation)
        return inputs(seed, name)

    made(of_all)
    assert {TABLE.id} == {*asked}


def test_there_may_be_named_cases_alone() -> None:
    table = msgspec.structs.replace(TABLE, cases=0)
    found = CaseOracle(table, variance, np.random.default_rng(1), *made(table=table))
    assert (11,) == found.desired.shape
    with pytest.raises(MistakeError, match="has no inputs"):
        made(table=msgspec.structs.replace(table, case=()))


def test_they_come_before_what_is_drawn() -> None:
    found = oracle()
    assert (15,) == found.desired.shape
    assert np.array_equal(found.desired[8:11], [3, 3, 3])
    few = found.arrange(msgspec.structs.replace(PART, samples=9), None)
    assert isinstance(few, Arrangement)
    assert 9 == few.samples
    assert np.array_equal(made()[0].arrays[0][:9], few.arguments[0].array)


def judged(wrong: list[int], language: str = "en") -> str:
    right = oracle().desired
    actual = right.astype(np.float32)
    actual[wrong] += 1
    outputs = Outputs(actual, right, np.zeros(15, np.bool_), cases=oracle().cases)
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


VARIED = msgspec.convert(
    {
        "id": "means",
        "arguments": [
            {"name": "x", "shape": [4, 3], "axes": ["n"]},
            {"name": "w", "shape": [3, 5], "axes": ["", "m"]},
        ],
        "outputs": [{"shape": [4, 5], "axes": ["n", "m"]}],
        "cases": 2,
        "case": [
            {"name": "drawn", "count": 2},
            {"name": "mixed", "count": 4},
            {"name": "empty", "count": 1, "hidden": True},
        ],
    },
    Computation,
)
SIZES = {"drawn": [(4, 5)], "mixed": [(1, 5), (4, 5), (1, 1)], "empty": [(0, 5)]}


def of_sizes(seed: int, name: str) -> dict[str, Any]:
    n, m = SIZES[name][seed % len(SIZES[name])]
    return {"x": np.full((n, 3), seed % 7), "w": np.ones((3, m))}


def test_samples_of_the_same_shapes_are_one_group() -> None:
    groups = made(of_sizes, table=VARIED)
    assert {"n": 4, "m": 5} == groups[0].extents, "what is drawn comes first"
    by_shape = {tuple(each.extents.values()): each for each in groups}
    assert by_shape.keys() <= {(4, 5), (1, 5), (1, 1), (0, 5)}
    assert 7 == sum(len(each.arrays[0]) for each in groups)
    assert {"drawn"} <= {each.title.english for each in by_shape[4, 5].cases}
    for (n, m), group in by_shape.items():
        samples = len(group.arrays[0])
        assert [(samples, n, 3), (samples, 3, m)] == [each.shape for each in group.arrays]
        assert samples == group.cases[-1].stop, "each sample belongs to a case"


def test_a_case_is_counted_over_all_of_its_shapes() -> None:
    wrong = np.array([True, False])
    title = foreign("mixed")
    told = tell_wrong([((NamedCase(title, 0, 2),), wrong), ((NamedCase(title, 1, 2),), ~wrong)])
    assert ["mixed: 2 of 3 wrong."] == [each.english for each in told]


@pytest.mark.parametrize(
    "shapes", [((4, 2), (3, 5)), ((4, 3), (2, 5)), ((4,), (3, 5)), ((4, 3, 1), (3, 5))]
)
def test_only_named_axes_vary(shapes: tuple[tuple[int, ...], ...]) -> None:
    x, w = map(np.ones, shapes)
    with pytest.raises(MistakeError, match=r"\[n, 3\]|\[3, m\]") as caught:
        made(lambda _seed, _case: {"x": x, "w": w}, table=VARIED)
    assert "inputs" == caught.value.mistake.code


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("outputs", [{"shape": [4, 5], "axes": ["k"]}], "'k' of an output"),
        ("outputs", [{"shape": [3, 5], "axes": ["n"]}], "of another extent"),
        ("outputs", [{"shape": [4], "axes": ["n", "m"]}], "1 axes has 2"),
        (
            "arguments",
            [
                {"name": "x", "shape": [4], "axes": ["n"]},
                {"name": "y", "shape": [3], "axes": ["n"]},
            ],
            "two extents",
        ),
    ],
)
def test_axes_that_do_not_fit_are_refused(field: str, value: Any, complaint: str) -> None:
    table = {**msgspec.to_builtins(VARIED), field: value}
    with pytest.raises(msgspec.ValidationError, match=complaint):
        msgspec.convert(table, Computation)


def means(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    product: np.ndarray = x.astype(np.float64) @ w.astype(np.float64)
    return product


def varied_oracle() -> CaseOracle:
    generator = np.random.default_rng(1)
    drawn, *others = made(of_sizes, table=VARIED)
    tables = [msgspec.structs.replace(VARIED.at(e.extents), cases=0, case=()) for e in others]
    oracles = [
        CaseOracle(table, means, generator, each)
        for table, each in zip(tables, others, strict=True)
    ]
    return CaseOracle(VARIED, means, generator, drawn, oracles)


@I.ir_module
class Product:
    """A product of any size."""

    @R.function
    def main(
        x: R.Tensor(("n", 3), "float32"),  # noqa: N805
        w: R.Tensor((3, "m"), "float32"),
    ):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y


class InProcess:
    """Does the tasks of runners in this process."""

    def request(self, _kind: str, task: ToRunner) -> FromRunner:
        return perform(task)


def outputs_of(module: Any) -> Outputs:
    part = msgspec.structs.replace(PART, entry_kind="module", computation="means")
    captured = Capture("a", "f", 1, True, modules.save(module))
    candidate = inspect(part, captured)
    assert not isinstance(candidate, Problem)
    oracle = varied_oracle()
    found = gather_outputs(candidate.taking(oracle.shapes(part)), part, oracle, InProcess(), VARIED)  # type: ignore[arg-type]
    assert isinstance(found, Outputs)
    return found


def test_a_module_is_run_on_every_shape_also_on_none_and_on_one() -> None:
    found = outputs_of(Product)
    groups = [found, *found.others]
    assert {(4, 5), (0, 5), (1, 1)} <= {each.actual.shape[1:] for each in groups}
    assert not any(wrong_samples(each, VARIED).any() for each in groups)
    told = dataclasses.replace(case(NOTHING, outputs=found), comparison=VARIED)
    judged = equivalence(told, EquivalenceOptions())
    assert "All 9 hidden inputs give the right outputs." == judged.reason.english


def test_the_first_shape_that_is_wrong_is_told_with_all_cases() -> None:
    right = outputs_of(Product)
    groups = [right, *right.others]
    wrong = next(each for each in groups if each.desired.shape[1:] == (0, 5))
    chosen = next(each for each in groups if each.desired.shape[1] == 1)
    changed = dataclasses.replace(
        chosen,
        actual=chosen.actual + np.float32(1),
        others=tuple(each for each in groups if each is not chosen),
    )
    told = dataclasses.replace(case(NOTHING, outputs=changed), comparison=VARIED)
    said = equivalence(told, EquivalenceOptions()).reason.english
    assert said.startswith("Where n = 1, m = ")
    assert f"mixed: {len(chosen.desired)} of 4 wrong." in said
    assert len(wrong.desired) == 1 and "hidden case" not in said


def test_cases_have_names_of_their_own_and_arguments_too() -> None:
    table = msgspec.to_builtins(TABLE)
    twice = {**table, "case": [{"name": "a"}, {"name": "a"}]}
    unnamed = {**table, "arguments": [{"shape": [6]}]}
    for wrong in (twice, unnamed):
        with pytest.raises(msgspec.ValidationError, match=r"same name|need a `name`"):
            msgspec.convert(wrong, Computation)
