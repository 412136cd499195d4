"""What shows in the numbers themselves: what was never written, or lost its precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from grader.diagnosis.align import Observed, align
from grader.diagnosis.mistakes import LikelyMistake, recognise
from grader.diagnosis.mistakes_numbers import WrongValue
from grader.evidence.recorder import record
from grader.messages.runner import integer_poison
from tests.diagnosis import network
from tests.diagnosis.network import (
    PARAMETERS,
    but,
    convolve,
    double,
    noise,
    relu,
    run,
    square,
)

LAYERS = network.layers()


class TestScaled:
    """A factor that is a step of its own is one of what it takes, and not of the next layer."""

    def scaled(self, place: int, factor: float) -> Any:
        steps = network.RIGHT[: place + 1]
        alignment = align(run([*steps, ("scale", lambda x: x * factor)]), LAYERS)
        assert place + 1 == alignment.wrong and alignment.mistake is not None
        assert "scaled" == alignment.mistake.kind
        assert pytest.approx(factor) == alignment.mistake.facts["factor"]
        return alignment

    @pytest.mark.parametrize(("place", "layer"), [(3, "max_pool2d"), (4, "flatten")])
    def test_it_is_held_against_what_it_takes(self, place: int, layer: str) -> None:
        alignment = self.scaled(place, 0.5)
        assert layer == LAYERS[alignment.expected].name

    def test_the_input_times_a_number_is_no_convolution(self) -> None:
        alignment = align(run([("divide", lambda x: x / 255), *network.RIGHT]), LAYERS)
        assert (0, "scaled") == (alignment.wrong, alignment.mistake and alignment.mistake.kind)
        assert alignment.mistake is not None
        assert "input" == alignment.mistake.facts["of"]


class TestWhereToLook:
    """What is seen in the numbers themselves says where to look, and where there is nothing."""

    def test_a_sum_that_begins_with_another_number_is_no_vector_too_many(self) -> None:
        mistake = align(run([*but()[:7], ("dense1", lambda x: square(x) + 1)]), LAYERS).mistake
        assert mistake is not None
        assert ("bias_extra", "constant") == (mistake.kind, mistake.facts["form"])
        assert pytest.approx(1, abs=1e-4) == mistake.facts["amount"]

    def test_a_vector_too_many_is_no_number(self) -> None:
        bias = PARAMETERS["hidden_bias"]
        mistake = align(run([*but()[:7], ("dense1", lambda x: square(x) + bias)]), LAYERS).mistake
        assert mistake is not None
        assert ("bias_extra", {"axis": -1}) == (mistake.kind, mistake.facts)

    def test_what_is_hardly_more_than_rounding_is_no_vector(self) -> None:
        """A step after another approximation of a GELU is off by that much, and adds nothing."""
        x, weight = noise(6, 8), noise(8, 8)
        right = x @ weight.T
        off = 2.2e-5 * np.abs(right).max() * np.abs(np.cos(37 * right))
        layers = record(lambda: torch.tensor(x).double() @ torch.tensor(weight).double().T, [x])
        steps = [Observed("y", "f", (right + off).astype(np.float32), takes_input=True)]
        alignment = align(steps, layers)
        assert (0, None) == (alignment.wrong, alignment.mistake)

    def test_what_is_left_of_negative_numbers_is_at_no_edge(self) -> None:
        def leaky(x: Any) -> Any:
            return np.maximum(x, x * np.float32(0.15))

        x, weight = np.abs(noise(6, 8)), np.abs(noise(8, 8))
        weight[:, [1, 4]] *= -1
        layers = record(lambda: torch.relu(double(x) @ double(weight)), [x])
        steps = [
            Observed("lv", "matmul", x @ weight, (), takes_input=True),
            Observed("lv1", "relu", leaky(x @ weight), (0,)),
        ]
        mistake = align(steps, layers).mistake
        assert mistake is not None
        assert ("partly_right", "negative") == (mistake.kind, mistake.facts["at"])

    def test_halves_rounded_to_the_other_side_are_told(self) -> None:
        """It was told to compare its inputs, their order, and the axes."""
        x = np.random.default_rng(0).integers(-200, 200, (4, 32)).astype(np.int32)
        layers = record(lambda: torch.clamp(torch.floor((double(x) * 3 + 4) / 8), -50, 50), [x])
        value = np.clip(np.rint(x * 3 / 8), -50, 50).astype(np.int8)
        mistake = align([Observed("y", "requantize", value, (), takes_input=True)], layers).mistake
        assert mistake is not None
        assert ("partly_right", "rounded") == (mistake.kind, mistake.facts.get("at"))

    @pytest.mark.parametrize(
        ("course", "wrong"),
        [
            (lambda x: x.cumsum(1), lambda y: y + (np.arange(6) == 5)[:, None]),
            (lambda x: torch.clamp(torch.floor(x / 2), -3, 3), lambda y: np.minimum(y, 2)),
        ],
    )
    def test_a_sum_that_is_off_by_1_or_another_clamp_is_not_rounded(
        self, course: Any, wrong: Any
    ) -> None:
        """A window that was one short at its edge was told to compute in integers."""
        x = np.random.default_rng(0).integers(-4, 10, (6, 12)).astype(np.float32)
        layers = record(lambda: course(double(x)), [x])
        value = wrong(layers[-1].value)
        mistake = align([Observed("y", "f", value, (), takes_input=True)], layers).mistake
        assert mistake is not None
        assert "rounded" != mistake.facts.get("at")

    def test_numbers_that_wrap_around_lack_their_clamp(self) -> None:
        """It was told that half of the numbers are right; behind the cast, a clamp does nothing."""
        x = np.random.default_rng(0).integers(-900, 900, (4, 32)).astype(np.int32)
        shifted, tensor = (x * 3 + 4) >> 3, torch.tensor(x)
        value = shifted.astype(np.int8)
        layers = record(lambda: ((tensor * 3 + 4) >> 3).clamp(-128, 127).to(torch.int8), [x])
        at_once = [Observed("y", "requantize", value, (), takes_input=True)]
        one_by_one = [
            Observed("y", "shift", shifted, (), takes_input=True),
            Observed("z", "cast", value, (0,)),
            Observed("w", "clamp", value, (1,)),
        ]
        for steps in (at_once, one_by_one, one_by_one[:2]):
            mistake = align(steps, layers).mistake
            assert mistake is not None
            assert ("layer_left_out", "clamp") == mistake[:2]
            assert {"of": "wrapped", "dtype": "int8"} == mistake.facts

    def test_a_product_that_wraps_round_does_not_lack_its_bias(self) -> None:
        """Whoever had forgotten the casts was told to add a bias, which the next step adds."""
        draw = np.random.default_rng(5)
        x, w = (draw.integers(-128, 128, shape).astype(np.float64) for shape in ((4, 9), (9, 6)))
        bias = draw.integers(-20000, 20000, 6).astype(np.float64)

        def compute() -> Any:
            return torch.matmul(double(x), double(w)) + double(bias)

        value = (x @ w).astype(np.int64).astype(np.int8)
        mistake = recognise(WrongValue(value, (), value.dtype), record(compute, [x, w, bias]))
        assert mistake is not None
        assert ("overflows", "matmul") == mistake[:2]
        assert {"of": "integer", "dtype": "int8"} == mistake.facts

    def test_what_is_off_by_rounding_is_not_called_partly_right(self) -> None:
        """Most of it is right as far as float32 goes, where the numbers are small."""

        def rounded(x: Any) -> Any:
            value = square(x)
            value.reshape(-1)[::3] *= np.float32(1 + 2**-11)
            return value

        assert align(run([*but()[:7], ("dense1", rounded)]), LAYERS).mistake is None


class TestNumbersThatAreNone:
    def test_places_that_are_never_written(self) -> None:
        def half(x: Any) -> Any:
            value = square(x)
            value[:, 6:] = np.nan
            return value

        steps = run([*but()[:7], ("dense1", half)])
        mistake = align(steps, LAYERS).mistake
        assert LikelyMistake("partly_written", "linear", {"share": 0.5}, 8) == mistake

    def test_whole_numbers_have_no_nan_and_show_the_memorys_own(self) -> None:
        x, kernel = np.arange(64).reshape(1, 1, 8, 8), np.arange(9).reshape(1, 1, 3, 3)
        layers = record(lambda: nn.functional.conv2d(torch.tensor(x), torch.tensor(kernel)), [x])
        right = convolve(x, kernel)
        memory = integer_poison("int64", right.size).reshape(right.shape)
        found = WrongValue(right + memory)
        assert LikelyMistake("sum_not_initialised", "conv2d", {}, 0) == recognise(found, layers)
        stale = right.copy()
        stale[..., 3:] = memory[..., 3:]
        assert LikelyMistake("partly_written", "conv2d", {"share": 0.5}, 0) == recognise(
            WrongValue(stale), layers
        )

    def test_bfloat16(self) -> None:
        value = square(relu(noise(4, 12)))
        layers = record(lambda: double(value) * 1.0, [value])
        rounded = (value.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        found = recognise(WrongValue(rounded), layers)
        assert found is not None
        assert ("low_precision", {"dtype": "bfloat16"}) == (found.kind, found.facts)

    def test_a_copy_of_the_input_that_was_rounded(self) -> None:
        found = recognise(WrongValue(network.IMAGES.astype(np.float16), dtype="float16"), LAYERS)
        assert found is not None
        assert ("low_precision", {"dtype": "float16"}) == (found.kind, found.facts)

    def test_a_parameter_that_was_rounded(self) -> None:
        rounded = PARAMETERS["square"].T.astype(np.float16)
        constant = Observed("w", "astype", rounded, (), takes_input=False)
        steps = run(but(dense1=lambda x: x @ rounded.astype(np.float32)))
        shifted = [each._replace(takes=tuple(t + 1 for t in each.takes)) for each in steps]
        shifted[7] = shifted[7]._replace(takes=(*shifted[7].takes, 0))
        alignment = align([constant, *shifted], LAYERS)
        assert 0 == alignment.wrong
        assert alignment.mistake is not None
        assert ("low_precision", {"dtype": "float16"}) == (
            alignment.mistake.kind,
            alignment.mistake.facts,
        )
