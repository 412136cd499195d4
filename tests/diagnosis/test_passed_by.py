"""A layer is there and right, and what should take it takes what came before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch.nn.functional import linear

from grader.diagnosis.align import Alignment, Observed, align
from grader.evidence.operations import Layer
from grader.evidence.recorder import record
from tests.diagnosis import network
from tests.diagnosis.network import IMAGES, but, double, noise, run

LAYERS = network.layers()


def callee(steps: list[Observed], alignment: Alignment) -> str | None:
    """Return what was called in the step that is wrong."""
    return None if alignment.wrong is None else steps[alignment.wrong].callee


class TestCopies:
    """What takes the wrong step only flattens it, or exchanges its axes."""

    def steps(self, last: str) -> list[Observed]:
        """Return steps of which the fifth takes the pooling, and not the ReLU behind it."""
        values = [step.value for step in run(network.RIGHT)]
        pooled = network.pool(values[1])
        rectified = network.relu(pooled)
        copies = {"flatten": pooled.reshape(4, -1), "transpose": pooled.transpose(0, 2, 3, 1)}
        return [
            Observed("lv", "conv2d", values[0], (), takes_input=True),
            Observed("lv1", "add", values[1], (0,)),
            Observed("lv2", "pool2d", pooled, (1,)),
            Observed("lv3", "relu", rectified, (2,)),
            Observed("lv4", last, copies[last], (2,)),
        ]

    @pytest.mark.parametrize("last", ["flatten", "transpose"])
    def test_the_step_is_told_what_it_should_take(self, last: str) -> None:
        alignment = align(self.steps(last), LAYERS)
        assert (4, "other_operand") == (alignment.wrong, alignment.mistake and alignment.mistake[0])
        assert alignment.mistake is not None
        facts = alignment.mistake.facts
        assert ("lv2", "lv3") == (facts["taken_step"], facts["wanted_step"])

    def test_where_no_step_stands_beside_it_none_is_named(self) -> None:
        steps = self.steps("flatten")
        del steps[3]
        mistake = align(steps, LAYERS).mistake
        assert mistake is not None
        assert "wanted_step" not in mistake.facts


def normed(x: npt.ArrayLike, weight: npt.ArrayLike) -> Any:
    return torch.nn.functional.rms_norm(double(x), (8,), double(weight))


@pytest.mark.parametrize("is_there", [True, False])
def test_a_layer_of_an_argument_that_is_there_is_to_be_taken(*, is_there: bool) -> None:
    """A second norm was to be inserted before the product that takes `x`."""
    x, weight, gate, up = (noise(*shape) for shape in ((3, 8), (8,), (8, 5), (8, 5)))

    def computed() -> npt.NDArray[np.float64]:
        y = normed(x, weight)
        result: npt.NDArray[np.float64] = ((y @ double(gate)) * (y @ double(up))).numpy()
        return result

    y = normed(x, weight).numpy()
    steps = [
        Observed("lv", "norm", y, (), takes_input=True),
        Observed("lv1", "linear", x @ gate, (), takes_input=True),
        Observed("lv2", "linear", y @ up, (0,), takes_input=True),
        Observed("lv3", "gated", (x @ gate) * (y @ up), (1, 2)),
    ]
    mistake = align(
        steps[0 if is_there else 1 :][:2], record(computed, [x, weight, gate, up])
    ).mistake
    assert mistake is not None
    assert is_there == (mistake.facts.get("result") == "rms_norm")


class TestParameters:
    """The last layer is done on a weight, and nothing takes what it should be done on."""

    @pytest.mark.parametrize("is_transposed", [False, True])
    def test_the_step_is_told_what_it_should_take(self, is_transposed: bool) -> None:
        steps = run(network.RIGHT)
        weight = next(
            each.value
            for layer in LAYERS
            for each in layer.operation.operands
            if not each.is_running and each.value.ndim == 2
        )
        given = weight.T if is_transposed else weight
        steps[-1] = steps[-1]._replace(value=torch.softmax(given, 1).numpy(), takes=())
        alignment = align(steps, LAYERS)
        mistake = alignment.mistake
        assert (len(steps) - 1, "other_operand") == (alignment.wrong, mistake and mistake.kind)
        assert mistake is not None
        assert steps[-2].variable == mistake.facts["wanted_step"]
        assert mistake.facts["parameter"].startswith("linear")

    def test_a_constant_is_no_layer_of_a_parameter(self) -> None:
        """A normalisation that was not trained adds zeros, and a softmax of zeros is uniform."""
        x, weight, bias = noise(1, 12), noise(12, 12), np.linspace(-1, 1, 12, dtype=np.float32)

        def compute() -> npt.NDArray[np.float64]:
            normal = torch.nn.functional.layer_norm(
                double(x), (12,), double(np.ones(12)), double(np.zeros(12))
            )
            found: npt.NDArray[np.float64] = torch.softmax(
                linear(normal, double(weight), double(bias)), -1
            ).numpy()
            return found

        normal = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
        steps = [
            Observed("lv", "layer_norm", normal, (), takes_input=True),
            Observed("lv1", "linear", normal @ weight.T + bias, (0,)),
            Observed("lv2", "full", np.full((1, 12), 1 / 12, np.float32), ()),
        ]
        alignment = align(steps, record(compute, [x]))
        assert 2 == alignment.wrong
        assert alignment.mistake is None or "parameter" not in alignment.mistake.facts

    def test_of_noise_nothing_is_told(self) -> None:
        steps = run(network.RIGHT)
        steps[-1] = steps[-1]._replace(value=noise(32, 1, 3, 3), takes=())
        mistake = align(steps, LAYERS).mistake
        assert mistake is None or "parameter" not in mistake.facts


class TestPassedBy:
    """A layer is there and right, and what should take it takes what came before it."""

    def steps(self, *names: str) -> list[Observed]:
        """Return steps of which those called `names` are computed, and taken by nobody."""
        steps: list[Observed] = []
        value, last = IMAGES, ()
        for place, (callee, compute) in enumerate(network.RIGHT):
            given = compute(value)
            steps.append(Observed(f"lv{place}", callee, given, last, takes_input=not last))
            if callee not in names:
                value, last = given, (place,)
        return steps

    def test_the_step_is_told_what_it_should_take(self) -> None:
        steps = self.steps("relu1")
        alignment = align(steps, LAYERS)
        assert ("dense1", "lv6") == (callee(steps, alignment), steps[6].variable)
        assert alignment.mistake is not None
        assert ("other_operand", "linear") == alignment.mistake[:2]
        assert {
            "taken": "linear",
            "wanted": "relu",
            "taken_step": "lv5",
            "wanted_step": "lv6",
        } == alignment.mistake.facts
        assert alignment.expected == alignment.mistake.place

    def test_a_layer_that_is_nowhere_is_left_out(self) -> None:
        alignment = align(run(but(relu1=None)), LAYERS)
        assert alignment.mistake is not None
        assert "relu_missing" == alignment.mistake.kind

    def test_a_layer_with_a_bias_is_named_as_a_whole(self) -> None:
        alignment = align(self.steps("relu2"), LAYERS)
        assert alignment.expected is not None
        assert "linear" == LAYERS[alignment.expected].name
        assert not LAYERS[alignment.expected].is_partial

    def test_a_bias_that_is_added_for_nothing_is_not_missing(self) -> None:
        alignment = align(self.steps("add"), LAYERS)
        assert alignment.mistake is not None
        assert "other_operand" == alignment.mistake.kind
        assert ("lv0", "lv1") == (
            alignment.mistake.facts["taken_step"],
            alignment.mistake.facts["wanted_step"],
        )

    def test_a_step_between_is_not_named(self) -> None:
        """`lv3 = copy(lv1)` takes the wrong one, and `lv4` is where it shows."""
        steps = self.steps("relu1")
        wrong = align(steps, LAYERS).wrong
        assert wrong is not None
        (taken,) = steps[wrong].takes
        copied = Observed("copied", "copy", steps[taken].value, (taken,))
        moved = steps[wrong]._replace(takes=(wrong,))
        alignment = align([*steps[:wrong], copied, moved], LAYERS)
        assert alignment.mistake is not None
        assert "copied" == alignment.mistake.facts["taken_step"]

    def test_of_two_that_are_there_the_furthest_is_named(self) -> None:
        """A ReLU changes nothing of what a ReLU gave: without `dense1` there is nothing for it to
        do, and the product alone seems to be left out."""
        steps = run(network.RIGHT)
        assert steps[6].value is not None
        steps[9] = steps[9]._replace(takes=(6,), value=network.out(steps[6].value))
        last = network.softmax(steps[9].value)
        steps[10] = steps[10]._replace(value=last)
        alignment = align(steps, LAYERS)
        assert alignment.mistake is not None
        assert ("dense2", "lv6", "lv8") == (
            callee(steps, alignment),
            alignment.mistake.facts["taken_step"],
            alignment.mistake.facts["wanted_step"],
        )

    def test_a_step_in_another_layout_is_not_named(self) -> None:
        """`lv8 = dense1(copied.T)` cannot take what is not transposed."""
        steps = self.steps("relu1")
        wrong = align(steps, LAYERS).wrong
        assert wrong is not None
        (taken,) = steps[wrong].takes
        value = steps[taken].value
        assert value is not None
        copied = Observed("copied", "transpose", value.T, (taken,))
        moved = steps[wrong]._replace(takes=(wrong,))
        alignment = align([*steps[:wrong], copied, moved], LAYERS)
        assert alignment.mistake is not None
        assert "relu_missing" == alignment.mistake.kind

    def test_what_is_not_computed_from_what_is_taken_is_no_layer_of_the_students(self) -> None:
        """Somebody's zeros are as PyTorch's ReLU where that cuts everything."""
        x, weight = -np.abs(noise(4, 3)) - 1, noise(2, 3)

        def compute() -> torch.Tensor:
            cut = torch.relu(double(x) * 1.0 + 0.5)
            return torch.nn.functional.linear(cut, double(weight), double(noise(2)))

        layers = record(compute, [x])
        steps = [
            Observed("z", "zeros", np.zeros((4, 3), np.float32)),
            Observed("lv", "f", np.asarray(x + 0.5), (), takes_input=True),
            Observed("out", "g", np.asarray((x + 0.5) @ weight.T), (1,)),
        ]
        mistake = align(steps, layers).mistake
        assert mistake is None or "wanted_step" not in mistake.facts

    def test_what_is_taken_for_two_things_is_not_to_be_exchanged(self) -> None:
        """`l + linear(l)` in place of `l + linear(relu(l))`, in one step: only one of both."""
        x, first, second = noise(6, 4), noise(4, 4), noise(4, 4)

        def compute() -> torch.Tensor:
            start = torch.nn.functional.linear(double(x), double(first))
            return start + torch.nn.functional.linear(torch.relu(start), double(second))

        start = x @ first.T
        steps = [
            Observed("l", "f", start, (), takes_input=True),
            Observed("r", "relu", network.relu(start), (0,)),
            Observed("a", "g", start + start @ second.T, (0,)),
        ]
        mistake = align(steps, record(compute, [x])).mistake
        assert mistake is not None
        assert "relu_missing" == mistake.kind

    def test_who_takes_it_already_is_not_told_to(self) -> None:
        """Where a ReLU cuts everything, that it is taken does not make it a right value."""
        x, weight, bias = -np.abs(noise(4, 3)) - 1, noise(2, 3), noise(2)

        def compute() -> torch.Tensor:
            cut = torch.relu(double(x) - 0.5)
            return torch.nn.functional.linear(cut, double(weight), double(bias))

        taken = np.asarray(x - 0.5)
        steps = [
            Observed("lv", "f", taken, (), takes_input=True),
            Observed("lv1", "relu", np.zeros((4, 3), np.float32), (0,)),
            Observed("out", "g", np.asarray(taken @ weight.T + bias), (0, 1)),
        ]
        mistake = align(steps, record(compute, [x])).mistake
        assert mistake is not None
        assert "relu_missing" == mistake.kind


def advised(steps: list[Observed], layers: Sequence[Layer]) -> tuple[object, ...] | None:
    """Return what is wrong, what it takes, and what it should take; None where nothing is told."""
    alignment = align(steps, layers)
    facts = {} if alignment.mistake is None else alignment.mistake.facts
    if alignment.wrong is None or "wanted_step" not in facts:
        return None
    return steps[alignment.wrong].callee, facts["taken_step"], facts["wanted_step"]


class TestTakenInstead:
    """What should be taken is there: several layers ahead, behind a sum, or taken by another."""

    def test_two_layers_that_are_passed_by_at_once(self) -> None:
        """The pooling takes what has neither its bias nor its ReLU, which are both there."""
        steps: list[Observed] = []
        for name, compute in network.RIGHT:
            place = len(steps) - 1
            taken = 0 if name == "pool2d" else place
            value = IMAGES if place < 0 else steps[taken].value
            assert value is not None
            takes = () if place < 0 else (taken,)
            steps.append(Observed(name, name, compute(value), takes, takes_input=place < 0))
        assert ("pool2d", "conv2d", "relu") == advised(steps, LAYERS)

    @pytest.mark.parametrize(("taken", "name"), [(0, "s"), (2, "r")])
    def test_a_sum_that_nobody_takes(self, taken: int, name: str) -> None:
        """`x + relu(linear(x))` is there, and what comes after it takes one of both."""
        steps = residual()
        value = steps[taken].value
        assert value is not None
        steps[4] = steps[4]._replace(takes=(taken,), value=value @ LAST.T)
        assert ("o", name, "a") == advised(steps, RESIDUAL)

    @pytest.mark.parametrize("first", [True, False])
    def test_a_step_that_another_takes_as_it_should(self, first: bool) -> None:
        """Of two layers that take a ReLU's result, one takes what the ReLU takes."""
        x, weight, others = noise(6, 4), noise(4, 4), (noise(4, 4), noise(4, 4))

        def compute() -> torch.Tensor:
            cut = torch.relu(linear(double(x), double(weight)))
            return linear(cut, double(others[0])) * linear(cut, double(others[1]))

        start = x @ weight.T
        given = [start, network.relu(start)][:: 1 if first else -1]
        products = [each @ other.T for each, other in zip(given, others, strict=True)]
        places = [0, 1] if first else [1, 0]
        steps = [
            Observed("h", "f", start, (), takes_input=True),
            Observed("r", "relu", network.relu(start), (0,)),
            Observed("u", "g", products[0], (places[0],)),
            Observed("v", "g", products[1], (places[1],)),
            Observed("o", "multiply", products[0] * products[1], (2, 3)),
        ]
        wrong = "uv"[not first]
        alignment = align(steps, record(compute, [x]))
        assert alignment.wrong is not None and alignment.mistake is not None
        assert wrong == steps[alignment.wrong].variable
        assert ("h", "r") == tuple(
            alignment.mistake.facts[each] for each in ("taken_step", "wanted_step")
        )

    def test_a_sum_that_is_nowhere_is_not_told_to_be_taken(self) -> None:
        steps = residual()
        value = steps[0].value
        assert value is not None
        last = steps[4]._replace(takes=(0,), value=value @ LAST.T)
        alignment = align([*steps[:3], last], RESIDUAL)
        assert alignment.mistake is not None
        assert ("operand_missing", "add") == alignment.mistake[:2]

    def test_a_layer_of_two_values_is_not_to_take_another(self) -> None:
        """`s + s` takes the same for both, and for one of them rightly."""
        x, first = noise(6, 4), noise(4, 4)

        def compute() -> torch.Tensor:
            start = torch.relu(linear(double(x), double(first)))
            return torch.relu(start - 0.5) + start

        start = network.relu(x @ first.T)
        steps = [
            Observed("s", "f", start, (), takes_input=True),
            Observed("r", "relu", network.relu(start - 0.5), (0,)),
            Observed("a", "add", start + start, (0,)),
        ]
        assert advised(steps, record(compute, [x])) is None

    def test_of_layers_of_one_weight_the_one_that_is_not_done_yet_is_meant(self) -> None:
        x, weight = noise(6, 4), noise(4, 4)

        def compute() -> torch.Tensor:
            value = linear(double(x), double(weight))
            for _ in range(2):
                value = linear(torch.relu(value), double(weight))
            return value

        steps = [Observed("h", "f", x @ weight.T, (), takes_input=True)]
        for name in ("r", "h1", "r1"):
            value = steps[-1].value
            assert value is not None
            given = network.relu(value) if name[0] == "r" else value @ weight.T
            steps.append(Observed(name, name, given, (len(steps) - 1,)))
        steps.append(Observed("o", "o", x @ weight.T @ weight.T, (0,)))
        assert ("o", "h", "r1") == advised(steps, record(compute, [x]))


FIRST, LAST, START = noise(4, 4), noise(4, 4), noise(6, 4)
FIRST[:, 3], START[:, 3] = -np.abs(FIRST[:, 3]), np.abs(START[:, 3])
"""The product's last term alone is negative: a ReLU leaves nothing of it."""


def residual() -> list[Observed]:
    """Return steps of which the fourth is the sum, and the last takes it."""
    start = network.relu(START)
    product = start @ FIRST.T
    total = start + network.relu(product)
    return [
        Observed("s", "relu", start, (), takes_input=True),
        Observed("l", "linear", product, (0,)),
        Observed("r", "relu", network.relu(product), (1,)),
        Observed("a", "add", total, (0, 2)),
        Observed("o", "o", total @ LAST.T, (3,)),
    ]


def _residual() -> torch.Tensor:
    start = torch.relu(double(START))
    return linear(start + torch.relu(linear(start, double(FIRST))), double(LAST))


RESIDUAL = record(_residual, [START])


def test_of_two_products_beside_each_other_the_right_one_is_named() -> None:
    x, gate, up = noise(3, 8), noise(8, 5), noise(8, 5) + 1
    silu = torch.nn.functional.silu
    steps = [
        Observed("g", "matmul", x @ gate, (), takes_input=True),
        Observed("u", "matmul", x @ up, (), takes_input=True),
        Observed("s", "silu", silu(torch.tensor(x @ up)).numpy(), (1,)),
    ]
    arguments = [x, gate, up]
    tensors = [double(each) for each in arguments]
    layers = record(
        lambda: (silu(tensors[0] @ tensors[1]) * (tensors[0] @ tensors[2])).numpy(), arguments
    )
    found = align(steps, layers)
    assert (2, "silu") == (found.wrong, layers[found.expected or 0].name)
    assert found.mistake is not None
    facts = found.mistake.facts
    assert ("u", "g") == (facts["taken_step"], facts["wanted_step"])


def test_a_step_that_needs_both_values_is_not_to_take_the_other_one() -> None:
    """Of `silu(y)` for `x * sigmoid(y)` it was advised to take `x`, which gives `silu(x)`."""
    arguments = [noise(3, 8), noise(8, 5), noise(8, 5) + 1]
    x, gate, up = (double(each) for each in arguments)

    def gated() -> torch.Tensor:
        a, b = x @ gate, x @ up
        return a * torch.sigmoid(b) + b * torch.sigmoid(a)

    a, b = (x @ gate).numpy(), (x @ up).numpy()
    right, wrong = b / (1 + np.exp(-a)), b / (1 + np.exp(-b))
    steps = [
        Observed("a", "matmul", a, (), takes_input=True),
        Observed("b", "matmul", b, (), takes_input=True),
        Observed("s", "silu", wrong, (1,)),
        Observed("g", "sigmoid", right / b, (0,)),
        Observed("m", "multiply", right, (1, 3)),
        Observed("y", "add", wrong + right, (2, 4)),
    ]
    layers = record(gated, arguments)
    assert (2, None) == (align(steps, layers).wrong, advised(steps, layers))


class TestThroughout:
    """A step does several layers, and takes one of two gates for the other in all of them."""

    x, h = noise(3, 4), noise(3, 4)

    def layers(self) -> tuple[Layer, ...]:
        def compute() -> torch.Tensor:
            r, z = torch.sigmoid(double(self.x)), torch.sigmoid(double(self.h))
            n = torch.tanh(double(self.x) + r * double(self.h))
            return (1 - z) * n + z * double(self.h)

        return record(compute, [self.x, self.h])

    def steps(self, *, first: int, second: int) -> list[Observed]:
        """Return the steps of which the last two take a gate each: 0 is `r`, 1 is `z`."""
        gates = [1 / (1 + np.exp(-each.astype(np.float64))) for each in (self.x, self.h)]
        n = np.tanh(self.x + gates[first] * self.h)
        state = (1 - gates[second]) * n + gates[second] * self.h
        return [
            Observed("r", "reset", gates[0], (), takes_input=True),
            Observed("z", "update", gates[1], (), takes_input=True),
            Observed("n", "candidate", n, (first,), takes_input=True),
            Observed("y", "state", state, (second, 2), takes_input=True),
        ]

    @pytest.mark.parametrize(
        ("first", "second", "wrong", "taken", "wanted"),
        [(1, 0, 2, "z", "r"), (1, 1, 2, "z", "r"), (0, 0, 3, "r", "z")],
    )
    def test_the_gate_that_it_should_take_is_named(
        self, first: int, second: int, wrong: int, taken: str, wanted: str
    ) -> None:
        alignment = align(self.steps(first=first, second=second), self.layers())
        assert (wrong, "other_operand") == (
            alignment.wrong,
            alignment.mistake and alignment.mistake.kind,
        )
        assert alignment.mistake is not None
        facts = alignment.mistake.facts
        assert (taken, wanted) == (facts["taken_step"], facts["wanted_step"])

    def test_the_right_gates_are_right(self) -> None:
        assert None is align(self.steps(first=0, second=1), self.layers()).wrong

    def test_of_two_values_that_may_be_taken_wrongly_none_is_named(self) -> None:
        """`r * x` may be `r * h` with `x` for `h`, and `z * x` with `r` for `z`."""

        def compute() -> torch.Tensor:
            r, z = torch.sigmoid(double(self.x)), torch.cos(double(self.h))
            n = torch.tanh(r * double(self.h))
            return n + z * double(self.x)

        gates = [1 / (1 + np.exp(-self.x.astype(np.float64))), np.cos(self.h)]
        steps = [
            Observed("r", "reset", gates[0], (), takes_input=True),
            Observed("z", "update", gates[1], (), takes_input=True),
            Observed("p", "multiply", gates[0] * self.x, (0,), takes_input=True),
        ]
        alignment = align(steps, record(compute, [self.x, self.h]))
        assert 2 == alignment.wrong
        assert alignment.mistake is not None
        assert ("other_operand", {}) == (alignment.mistake.kind, alignment.mistake.facts)
