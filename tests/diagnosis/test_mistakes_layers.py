"""Layers that are exchanged, left out, done twice or too late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from grader.diagnosis.align import Observed, align
from grader.evidence.operations import Layer
from grader.evidence.recorder import record
from tests.diagnosis import network
from tests.diagnosis.network import (
    PARAMETERS,
    Step,
    add_bias,
    but,
    convolve,
    double,
    hidden,
    noise,
    out,
    pool,
    relu,
    run,
    softmax,
    square,
    without,
)

LAYERS = network.layers()
KERNEL = PARAMETERS["kernel"]

Compute = Callable[[Any], Any]


class TestPoolingAlongOneAxis:
    @pytest.mark.parametrize(
        ("kind", "name", "found", "compute"),
        [
            ("pooling_padding", "padding", (1, 0, 0, 0), lambda x: pool(shifted(x, 2))[:, :, :4]),
            ("pooling_padding", "padding", (0, 1, 0, 0), lambda x: pool(shifted(x, 3))[..., :4]),
            ("pooling_dilation", "dilation", (2, 1), lambda x: np.maximum(first(x), third(x))),
            ("pooling_size", "size", (3, 2), lambda x: np.maximum(pool(x)[:, :, :3], third(x))),
        ],
    )
    def test_the_setting_is_named(
        self, kind: str, name: str, found: tuple[int, ...], compute: Compute
    ) -> None:
        steps = run([*network.RIGHT[:3], ("pool2d", compute)])
        mistake = align(steps, LAYERS).mistake
        assert mistake is not None
        assert (kind, found) == (mistake.kind, mistake.facts[f"{name}_found"])


def shifted(x: Any, axis: int) -> Any:
    """Return images moved by one along an axis, with what is less than all numbers in front."""
    pads = [(int(at == axis), int(at == axis)) for at in range(4)]
    return np.pad(x, pads, constant_values=-np.inf)


def first(x: Any) -> Any:
    """Return the larger number of the first row of each window that has a third one."""
    return third(np.roll(x, 2, 2))


def third(x: Any) -> Any:
    """Return the larger number of the third row of each window of 3 by 2."""
    return np.maximum(x[:, :, 2::2, ::2], x[:, :, 2::2, 1::2])


class TestDelayed:
    def test_a_relu_behind_the_next_layer_and_its_bias(self) -> None:
        *before, relu_step, dense, last = network.RIGHT
        alignment = align(run([*before, dense, relu_step, last]), LAYERS)
        assert alignment.mistake is not None
        assert ("order_swapped", ("relu", "linear")) == (
            alignment.mistake.kind,
            alignment.mistake.facts["layers"],
        )


class TestTooMuch:
    @pytest.mark.parametrize(
        ("kind", "compute"),
        [
            ("relu_extra", relu),
            ("softmax_extra", softmax),
            ("bias_twice", lambda x: x + PARAMETERS["out_bias"]),
        ],
    )
    def test_a_step_after_the_last_one(self, kind: str, compute: Compute) -> None:
        steps = [*run(but(softmax=None)), *run([("more", lambda x: compute(out_of(x)))])]
        last = steps[-1]._replace(takes=(len(steps) - 2,), takes_input=False)
        alignment = align([*steps[:-1], last], scores())
        assert len(steps) - 1 == alignment.wrong
        assert alignment.mistake is not None
        assert (kind, "linear") == alignment.mistake[:2]

    def test_a_second_softmax(self) -> None:
        alignment = align(run([*network.RIGHT, ("softmax1", softmax)]), LAYERS)
        assert alignment.mistake is not None
        assert ("layer_repeated", "softmax") == alignment.mistake[:2]

    def test_memory_that_was_not_cleared(self) -> None:
        garbage = 1e20 * noise(4, 12)
        mistake = align(run(but(dense1=lambda x: square(x) + garbage)), LAYERS).mistake
        assert mistake is not None
        assert ("sum_not_initialised", "linear") == mistake[:2]


def out_of(x: Any) -> Any:
    """Return the scores of the right network."""
    scores: Any = run(but(softmax=None), x)[-1].value
    return scores


class TestOrder:
    def test_two_layers_in_the_other_order(self) -> None:
        steps = run(but(add=relu, relu=add_bias))
        alignment = align(steps, LAYERS)
        assert alignment.mistake is not None
        assert "order_swapped" == alignment.mistake.kind
        assert {"layers": ("conv2d", "relu"), "part": "bias"} == alignment.mistake.facts
        assert 1 == alignment.wrong

    def test_two_layers_in_one_step_before_another_mistake(self) -> None:
        """The ReLU was said to be one too many: the pooling behind it is wrong, too."""
        steps = run(but(add=None, relu=lambda x: add_bias(relu(x)), pool2d=lambda x: pool(-x)))
        alignment = align(steps, LAYERS)
        assert alignment.mistake is not None
        assert ("order_swapped", 1) == (alignment.mistake.kind, alignment.wrong)

    def test_a_layer_that_changed_nothing_where_it_was_done_too_early(self) -> None:
        x, one, other = noise(3, 4), noise(4, 4), noise(4, 4)
        # Of positive numbers nothing would be lost by the second relu, whatever is drawn before.
        shift = np.array([-0.5, -0.25, -1, -0.75], np.float32)

        def compute() -> torch.Tensor:
            hidden = torch.relu(torch.matmul(double(x), double(one)))
            return torch.matmul(torch.relu(torch.add(hidden, double(shift))), double(other))

        steps = run(
            [
                ("matmul", lambda x: x @ one),
                ("relu", relu),
                ("relu1", relu),
                ("add", lambda x: x + shift),
                ("matmul1", lambda x: x @ other),
            ],
            x,
        )
        alignment = align(steps, record(compute, [x]))
        assert alignment.mistake is not None
        assert ("order_swapped", 2) == (alignment.mistake.kind, alignment.wrong)
        assert ("add", "relu") == alignment.mistake.facts["layers"]

    def test_a_layer_left_out_before_another_of_its_kind_is_no_exchange(self) -> None:
        steps = run(but(relu1=None))
        mistake = align(steps, LAYERS).mistake
        assert mistake is not None
        assert ("relu_missing", "relu") == mistake[:2]

    def test_a_relu_that_comes_too_late_is_done_where_it_changes_nothing(self) -> None:
        """It is not missing: one of the two in a row belongs before the product."""
        steps = [each._replace(callee=each.callee.rstrip("12")) for each in run(late_relu())]
        alignment = align(steps, LAYERS)
        assert alignment.mistake is not None
        assert ("order_swapped", 6) == (alignment.mistake.kind, alignment.wrong)
        assert ("relu", "linear") == alignment.mistake.facts["layers"]

    def test_a_relu_before_the_product_is_exchanged_with_all_of_the_linear_layer(self) -> None:
        """It changes nothing there: it is not the bias alone that comes too late."""
        before, (linear, relu_step), behind = (
            network.RIGHT[:5],
            network.RIGHT[5:7],
            network.RIGHT[7:],
        )
        alignment = align(run([*before, relu_step, linear, *behind]), LAYERS)
        assert alignment.mistake is not None
        assert "order_swapped" == alignment.mistake.kind
        assert {"layers": ("linear", "relu")} == alignment.mistake.facts

    def test_a_softmax_before_the_product_that_it_follows(self) -> None:
        """It is not one too many: nothing follows the product then."""
        *before, last, softmax_step = network.RIGHT
        alignment = align(run([*before, softmax_step, last]), LAYERS)
        assert alignment.mistake is not None
        assert "order_swapped" == alignment.mistake.kind
        assert {"layers": ("linear", "softmax")} == alignment.mistake.facts

    def test_a_softmax_too_many_before_a_product_that_has_its_own(self) -> None:
        *before, last, softmax_step = network.RIGHT
        early = ("softmax1", softmax)
        alignment = align(run([*before, early, last, softmax_step]), LAYERS)
        assert alignment.mistake is not None
        assert "softmax_extra" == alignment.mistake.kind

    def test_the_last_product_left_out(self) -> None:
        """The softmax has as many classes as the layer before has outputs."""
        steps = run(but(dense2=None))
        alignment = align(steps, LAYERS)
        assert alignment.mistake is not None
        assert ("layer_left_out", "linear") == alignment.mistake[:2]

    @pytest.mark.parametrize("first", [True, False])
    def test_a_layer_exchanged_with_the_sum_that_takes_it(self, first: bool) -> None:
        """Whichever operand of the sum it is: h + relu(g) or relu(g) + h."""
        h, g = (relu(noise(4, 12)) for _ in "hg")
        x = h - g

        def course() -> Any:
            start = torch.tensor(x).double()
            one = start @ double(PARAMETERS["square"])
            return torch.relu(one) + start if first else start + torch.relu(one)

        layers = record(course, [x])
        one = x @ PARAMETERS["square"]
        steps = [
            Observed("lv", "matmul", one, (), takes_input=True),
            Observed("lv1", "add", x + one, (0,), takes_input=True),
            Observed("lv2", "relu", relu(x + one), (1,), takes_input=False),
        ]
        alignment = align(steps, layers)
        assert alignment.mistake is not None
        assert ("order_swapped", 1) == (alignment.mistake.kind, alignment.wrong)
        assert ("relu", "add") == alignment.mistake.facts["layers"]

    def test_a_factor_taken_once_more(self) -> None:
        """Whichever it is: silu in place of the sigmoid gives `x * (x * s)`."""
        x = noise(4, 12)

        def gated() -> torch.Tensor:
            return double(x) * torch.sigmoid(double(x))

        silu = x / (1 + np.exp(-x))
        steps = run([("silu", lambda _: silu), ("multiply", lambda each: x * each)], x)
        mistake = align(steps, record(gated, [x])).mistake
        assert mistake is not None
        assert ("layer_repeated", "mul") == mistake[:2]

    def test_a_layer_left_out(self) -> None:
        steps = run(but(dense1=None))
        mistake = align(steps, LAYERS).mistake
        assert mistake is not None
        assert "layer_left_out" == mistake.kind

    def test_the_same_mistake_in_every_layer_of_a_function(self) -> None:
        """A function that does everything, with a linear layer whose sum is one too short."""

        def all_of_it(x: Any) -> Any:
            x = pool(relu(add_bias(convolve(x, KERNEL)))).reshape(4, -1)
            return out(short(relu(square(short(relu(hidden(short(x))))))))

        mistake = align(run([("main", all_of_it)]), scores()).mistake
        assert mistake is not None
        assert "reduction_too_short" == mistake.kind
        assert 3 == mistake.facts["layers"]


def late_relu() -> list[Step]:
    """Return the steps with the second linear layer before the ReLU that it takes."""
    steps = but()
    return [*steps[:6], steps[7], steps[6], *steps[8:]]


def short(x: Any) -> Any:
    """Leave out what the last term of a sum is made of."""
    return without(x, 1, -1)


def scores() -> list[Layer]:
    """Return the layers before the softmax, the last of them the output."""
    last = max(at for at, each in enumerate(LAYERS) if each.name == "linear")
    return [*LAYERS[:last], LAYERS[last]._replace(output=0)]
