"""A layer that stands elsewhere than in PyTorch: it is moved, and not inserted once more."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.diagnosis.align import Alignment, Observed, align
from grader.diagnosis.layers import Program
from grader.diagnosis.moved import moves
from grader.diagnosis.words import Departure, tell
from grader.evidence.recorder import record
from tests.diagnosis import network
from tests.diagnosis.network import IMAGES, PARAMETERS, RIGHT, double, noise, run

LAYERS = network.layers()
STEPS = dict(RIGHT)
NAMES = [name for name, _ in RIGHT]
LAST = [
    ("matmul", lambda x: x @ PARAMETERS["out"].T),
    ("add2", lambda x: x + PARAMETERS["out_bias"]),
]


def told(found: Alignment) -> tuple[Any, ...]:
    """Return the mistake's kind, the layers that it names, and where."""
    mistake = found.mistake
    assert mistake is not None
    return mistake.kind, mistake.facts.get("layers"), found.wrong


class TestMoved:
    @pytest.mark.parametrize(
        ("order", "expected"),
        [
            ((0, 1, 2), None),
            ((2, 0, 1), ("order_swapped", ("linear", "softmax"), 9)),
        ],
    )
    def test_a_softmax_before_a_product_and_its_bias(self, order: Any, expected: Any) -> None:
        """Each in a step of its own."""
        tail = [*LAST, RIGHT[-1]]
        found = align(run([*RIGHT[:9], *(tail[each] for each in order)]), LAYERS)
        assert expected == (None if found.wrong is None else told(found))

    def test_a_relu_before_the_product_that_comes_first(self) -> None:
        """No convolution is left out: it stands behind."""
        names = ["conv2d", "add", "pool2d"]
        found = align(run([("relu", STEPS["relu"]), *((n, STEPS[n]) for n in names)]), short())
        assert ("order_swapped", ("conv2d", "relu"), 0) == told(found)

    def test_a_softmax_two_layers_too_early(self) -> None:
        names = [*NAMES[:8], "softmax", "relu2", "dense2"]
        found = align(run([(each, STEPS[each]) for each in names]), LAYERS)
        assert ("order_swapped", ("softmax", "relu"), 8) == told(found)
        assert found.mistake is not None
        assert ("early", "linear") == (found.mistake.facts["part"], found.mistake.facts["wanted"])
        message, advice = tell(Departure("lv8", (4, 12)), "order_swapped", found.mistake.facts)
        assert "softmax is done before relu; it should be done after linear" in message.english
        assert "Do softmax after linear, not before relu." == advice.english

    def test_a_layer_that_is_left_out_is_still_told(self) -> None:
        names = [each for each in NAMES if each != "dense2"]
        found = align(run([(each, STEPS[each]) for each in names]), LAYERS)
        assert found.mistake is not None
        assert ("layer_left_out", "linear") == found.mistake[:2]

    def test_of_one_step_a_layer_is_left_out_before_it_is_moved(self) -> None:
        """A ReLU of an image, where nothing is negative, gives what no ReLU gives."""
        images, weights = abs(noise(6, 8)), (double(noise(7, 8)), double(noise(5, 7)))

        def perceptron() -> Any:
            x = torch.relu(torch.tensor(images).double() @ weights[0].T)
            return (x @ weights[1].T).numpy()

        made = (images @ weights[0].numpy().T @ weights[1].numpy().T).astype("float32")
        steps = [Observed("y", "mlp", made, (), takes_input=True)]
        found = align(steps, record(perceptron, [images]))
        assert found.mistake is not None
        assert "relu_missing" == found.mistake.kind


def short() -> Any:
    """Return the layers up to the pooling, the last of which is the output."""
    found = LAYERS[: next(at for at, each in enumerate(LAYERS) if each.name == "max_pool2d") + 1]
    return (*found[:-1], found[-1]._replace(output=0))


class TestDoneAside:
    def test_a_layer_behind_the_one_that_is_returned(self) -> None:
        """With another one in its place, the one that stands behind would raise."""
        steps = run([*RIGHT[:9], ("softmax", STEPS["softmax"])])
        value = STEPS["dense2"](steps[8].value).astype("float32")
        found = align([*steps, Observed("lv10", "dense2", value, (8,))], LAYERS)
        assert ("order_swapped", ("linear", "softmax"), 9) == told(found)


class TestDoneBehind:
    def test_a_layer_that_is_done_behind_another_mistake_is_not_to_be_inserted(self) -> None:
        steps = [*RIGHT[:9], ("softmax", STEPS["softmax"]), ("dense2", STEPS["dense2"])]
        found = align(run([*steps, ("scaled", lambda x: x * noise(4, 5))]), LAYERS)
        assert found.mistake is None or "layer_left_out" != found.mistake.kind


def test_moves_are_of_whole_layers() -> None:
    """A product without its bias goes nowhere."""
    program = Program(LAYERS)
    for one in moves(program):
        partial = [each for each in one.computes if program.layers[each].is_partial]
        assert all(each + 1 in one.computes for each in partial), one.facts


def test_of_an_input_nothing_is_moved() -> None:
    assert None is align(run(RIGHT, IMAGES), LAYERS).mistake
