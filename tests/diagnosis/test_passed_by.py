"""A layer is there and right, and what should take it takes what came before it."""

from __future__ import annotations

import numpy as np
import torch

from grader.diagnosis.align import Alignment, Observed, align
from grader.evidence.recorder import record
from tests.diagnosis import network
from tests.diagnosis.network import IMAGES, but, double, noise, run

LAYERS = network.layers()


def callee(steps: list[Observed], alignment: Alignment) -> str | None:
    """Return what was called in the step that is wrong."""
    return None if alignment.wrong is None else steps[alignment.wrong].callee


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
