"""Arguments in the order in which a function takes them."""

from __future__ import annotations

import numpy as np

from grader.ir.facts import BufferFacts, TensorFacts
from grader.referee.arrangement import Arrangement, Given, match_inputs
from grader.referee.evidence import Problem

IMAGE = Given("the input", np.zeros((7, 1, 784), "float32"))
WEIGHT = Given("w0", np.zeros((128, 784), "float32"), varies=False)
BIAS = Given("b0", np.zeros((128,), "float32"), varies=False)
OTHER = Given("other", np.ones((7, 1, 784), "float32"))


def buffer(*shape: int | str, dtype: str = "float32") -> BufferFacts:
    return BufferFacts("p", TensorFacts(shape, dtype))


def order(*inputs: BufferFacts, given: tuple[Given, ...] = (IMAGE, WEIGHT, BIAS)) -> list[str]:
    matched = match_inputs(inputs, given)
    assert not isinstance(matched, Problem), matched
    return [each.name for each in matched]


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
    assert "takes 2 arguments" in problem(buffer(1, 784), buffer(128)).reason
    wrong = problem(buffer(1, 784), buffer(784, 128), buffer(128))
    assert "(784, 128)" in wrong.reason
    assert "w0 float32[128, 784]" in wrong.hint
    assert "int8" in problem(buffer(1, 784, dtype="int8"), given=(IMAGE,)).reason


def test_the_first_calls_twice_and_others_drawn_anew() -> None:
    def redraw(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return np.full(shape, 5.0)

    given = Given("x", np.arange(6.0).reshape(3, 2), redraw=redraw)
    arrangement = Arrangement("main", (given, BIAS), samples=3)
    twice = arrangement.first(2, repeated=2).arguments
    assert [[0, 1], [2, 3], [0, 1], [2, 3]] == twice[0].array.tolist()
    assert BIAS is twice[1]
    redrawn = arrangement.redrawn(np.random.default_rng(0)).arguments
    assert [5.0] * 6 == redrawn[0].array.reshape(-1).tolist()
