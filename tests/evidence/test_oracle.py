"""Arguments in the order in which a function takes them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from grader.assignment import OracleOptions, PartTable
from grader.data.dataset import DataSet
from grader.evidence.case import Problem
from grader.evidence.oracle import Arrangement, Given, ModelOracle, match_inputs
from grader.ir.facts import BufferFacts, TensorFacts
from grader.language import foreign

IMAGE = Given(foreign("the input"), np.zeros((7, 1, 784), "float32"))
WEIGHT = Given(foreign("w0"), np.zeros((128, 784), "float32"), varies=False)
BIAS = Given(foreign("b0"), np.zeros((128,), "float32"), varies=False)
OTHER = Given(foreign("other"), np.ones((7, 1, 784), "float32"))


def buffer(*shape: int | str, dtype: str = "float32") -> BufferFacts:
    return BufferFacts("p", TensorFacts(shape, dtype))


def order(*inputs: BufferFacts, given: tuple[Given, ...] = (IMAGE, WEIGHT, BIAS)) -> list[str]:
    matched = match_inputs(inputs, given)
    assert not isinstance(matched, Problem), matched
    return [each.name.english for each in matched]


def problem(*inputs: BufferFacts, given: tuple[Given, ...] = (IMAGE, WEIGHT, BIAS)) -> Problem:
    matched = match_inputs(inputs, given)
    assert isinstance(matched, Problem)
    return matched


def test_shapes_that_differ_decide_the_order() -> None:
    asked = (buffer(1, 784), buffer(128, 784), buffer(128))
    assert ["the input", "w0", "b0"] == order(*asked)
    assert ["b0", "the input", "w0"] == order(asked[2], asked[0], asked[1])


def test_equal_shapes_are_taken_in_the_order_asked_for() -> None:
    assert ["the input", "other"] == order(buffer(1, 784), buffer(1, 784), given=(IMAGE, OTHER))


def test_a_shape_that_is_left_open_fits() -> None:
    assert ["the input"] == order(buffer("n", 784), given=(IMAGE,))


def test_what_is_missing_or_wrong_is_spelled_out() -> None:
    assert "takes 2 arguments" in problem(buffer(1, 784), buffer(128)).reason.english
    wrong = problem(buffer(1, 784), buffer(784, 128), buffer(128))
    assert "(784, 128)" in wrong.reason.english
    assert "w0 float32[128, 784]" in wrong.hint.english
    assert "int8" in problem(buffer(1, 784, dtype="int8"), given=(IMAGE,)).reason.english


def test_the_first_calls_then_others_drawn_anew() -> None:
    def redraw(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return np.full(shape, 5.0)

    given = Given(foreign("x"), np.arange(6.0).reshape(3, 2), redraw=redraw)
    arrangement = Arrangement("main", (given, BIAS), samples=3)
    first = arrangement.first(2)
    both = first.followed_by(first.redrawn(np.random.default_rng(0)))
    assert [[0, 1], [2, 3], [5, 5], [5, 5]] == both.arguments[0].array.tolist()
    assert BIAS is both.arguments[1]


def batched(samples: int = 7, batch: int = 3) -> Arrangement:
    """Samples 0 to 6 in batches of three; two more fill up the last one."""
    image = Given(foreign("x"), np.arange(9.0).reshape(3, batch, 1))
    return Arrangement("main", (BIAS, image), samples=samples, is_batched=True)


def test_chosen_samples_come_first_in_a_batch_that_others_fill_up() -> None:
    arrangement, samples = batched().chosen([5, 1])
    assert (5, 1, 0) == samples
    assert [[[5.0], [1.0], [0.0]]] == arrangement.arguments[1].array.tolist()
    assert BIAS is arrangement.arguments[0]
    assert 3 == arrangement.samples


def test_a_batch_takes_as_many_as_fit_and_each_once() -> None:
    assert (6, 2, 4) == batched().chosen([6, 2, 2, 4, 1])[1]


def test_a_batch_that_is_larger_than_all_samples_is_filled_up_with_what_does_not_count() -> None:
    arrangement, samples = batched(samples=2).chosen([1])
    assert (1, 0) == samples
    assert [[[1.0], [0.0], [2.0]]] == arrangement.arguments[1].array.tolist()
    assert 2 == arrangement.samples


def test_without_a_batch_the_first_one_is_taken() -> None:
    given = Given(foreign("x"), np.arange(6.0).reshape(3, 2))
    arrangement, samples = Arrangement("main", (given, BIAS), samples=3).chosen([2, 0])
    assert (2,) == samples
    assert [[4.0, 5.0]] == arrangement.arguments[0].array.tolist()


@pytest.mark.parametrize("rows", [[], [7], [-1]])
def test_a_sample_that_there_is_not_cannot_be_chosen(rows: list[int]) -> None:
    with pytest.raises(IndexError):
        batched().chosen(rows)


# --- oracle ---------------------------------------------------------------------------------------
# The order in which test images and hidden inputs are met.


OPTIONS = OracleOptions(input_shape=(784,), output_shape=(10,))
IMAGES, HIDDEN = 10_000, 256
SEEDS = range(4)


def make(seed: int) -> ModelOracle:
    images = np.zeros((IMAGES, 28, 28), np.uint8)
    data = DataSet(
        "fashion-mnist", foreign("Black pictures."), images, np.zeros(IMAGES, np.uint8), {}
    )
    return ModelOracle(SimpleNamespace(), OPTIONS, data, np.random.default_rng(seed))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def oracles() -> list[ModelOracle]:
    return [make(seed) for seed in SEEDS]


def part(samples: int) -> PartTable:
    return PartTable(
        id="loops", title="Loops", entry_kind="python", entry=("f",), check=(), samples=samples
    )


class TestOrder:
    def test_every_image_and_every_hidden_input_is_met(self, oracles):
        oracle = oracles[0]
        assert (IMAGES + HIDDEN, 784) == oracle.inputs.shape
        assert IMAGES == int(oracle.from_test_set.sum())
        black = ~oracle.inputs.any(axis=1)
        assert (black == oracle.from_test_set).all()

    def test_even_few_samples_are_of_both_kinds(self, oracles):
        for oracle in oracles:
            arrangement = oracle.arrange(part(24), None)
            assert isinstance(arrangement, Arrangement)
            assert 24 == arrangement.samples
            images = int(oracle.from_test_set[:24].sum())
            assert 2 <= images <= 22, "who knows one kind by heart must not be right on all"

    def test_their_order_is_that_of_a_run(self, oracles):
        orders = {oracle.from_test_set.tobytes() for oracle in oracles}
        assert len(SEEDS) == len(orders)
        assert (make(3).inputs == oracles[3].inputs).all()
