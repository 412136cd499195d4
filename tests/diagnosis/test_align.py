"""The first step that departs from PyTorch, whatever the steps are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from grader.diagnosis.align import Alignment, Observed, align
from grader.evidence.operations import Layer
from grader.evidence.recorder import record
from tests.diagnosis import network
from tests.diagnosis.network import IMAGES, PARAMETERS, but, double, noise, run

LAYERS = network.layers()


def callee(steps: list[Observed], alignment: Alignment) -> str | None:
    """Return what was called in the step that is wrong."""
    return None if alignment.wrong is None else steps[alignment.wrong].callee


class TestRight:
    def test_a_right_module_has_no_wrong_step(self) -> None:
        alignment = align(run(network.RIGHT), LAYERS)
        assert alignment.wrong is None
        assert {"right"} == set(alignment.statuses)
        names = [LAYERS[each].name for each in alignment.matched if each is not None]
        assert [
            *("conv2d without its bias", "conv2d", "relu", "max_pool2d", "flatten", "linear"),
            *("relu", "linear", "relu", "linear", "softmax"),
        ] == names

    def test_layers_may_be_one_function(self) -> None:
        steps = run(
            [
                ("features", lambda x: but_last(x, 4)),
                ("scores", lambda x: network.out(network.relu(network.square(x)))),
                ("softmax", network.softmax),
            ]
        )
        alignment = align(steps, LAYERS)
        assert None is alignment.wrong
        assert {"right"} == set(alignment.statuses)

    def test_a_layer_may_be_many_functions(self) -> None:
        """Windows as columns of a matrix, a product, and the shape of images again."""

        def columns(x: Any) -> Any:
            windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
            return windows.transpose(0, 2, 3, 1, 4, 5).reshape(4 * 64, 18)

        kernel = PARAMETERS["kernel"].reshape(3, 18)
        steps = run(
            [
                ("columns", columns),
                ("product", lambda x: x @ kernel.T),
                ("images", lambda x: x.reshape(4, 8, 8, 3).transpose(0, 3, 1, 2)),
                *network.RIGHT[1:],
            ]
        )
        alignment = align(steps, LAYERS)
        assert None is alignment.wrong
        assert "unknown" == alignment.statuses[0]
        assert "right" == alignment.statuses[2]

    def test_a_softmax_of_one_large_item_is_no_exponential(self) -> None:
        scores = np.array([[90.0, 0, 0], [0, 0, 80.0]], np.float32)
        layers = record(lambda: torch.softmax(torch.tensor(scores).double(), 1).numpy(), [scores])
        value = np.eye(3, dtype=np.float32)[[0, 2]]
        (place,) = align([Observed("y", "f", value, takes_input=True)], layers).matched
        assert place is not None
        assert "softmax" == layers[place].name

    def test_layers_that_can_be_exchanged_may_be(self) -> None:
        steps = run(but(relu=network.pool, pool2d=network.relu))
        alignment = align(steps, LAYERS)
        assert None is alignment.wrong
        assert "unknown" == alignment.statuses[2]

    def test_a_softmax_may_be_taken_apart(self) -> None:
        powers = [
            ("largest", lambda x: x - x.max(1, keepdims=True)),
            ("exp", np.exp),
            ("divide", lambda x: x / x.sum(1, keepdims=True)),
        ]
        alignment = align(run([*network.RIGHT[:-1], *powers]), LAYERS)
        assert None is alignment.wrong
        assert ("right", "right", "right") == alignment.statuses[-3:]

    @pytest.mark.parametrize("axes", [(0, 2, 3, 1), (0, 1, 3, 2)])
    def test_a_value_may_lie_in_memory_otherwise(self, axes: tuple[int, ...]) -> None:
        back = tuple(np.argsort(axes))
        steps = run(
            but(relu=lambda x: network.relu(x).transpose(axes), pool2d=lambda x: pooled(x, back))
        )
        alignment = align(steps, LAYERS)
        assert alignment.wrong is None
        assert {"right", "unknown"} >= set(alignment.statuses)
        assert "right" == alignment.statuses[3]

    def test_another_layout_is_known_by_its_shape(self) -> None:
        steps = run(
            but(
                relu=lambda x: network.relu(x).transpose(0, 2, 3, 1),
                pool2d=lambda x: pooled(x, (0, 3, 1, 2)),
            )
        )
        assert {"right"} == set(align(steps, LAYERS).statuses)

    def test_what_does_not_depend_on_the_input_is_not_wrong(self) -> None:
        transposed = Observed("w", "transpose", PARAMETERS["square"].T, (), takes_input=False)
        steps = run(network.RIGHT)
        shifted = [each._replace(takes=tuple(t + 1 for t in each.takes)) for each in steps]
        alignment = align([transposed, *shifted], LAYERS)
        assert None is alignment.wrong
        assert "unknown" == alignment.statuses[0]

    def test_a_weight_that_is_an_argument_may_be_transposed(self) -> None:
        transposed = Observed("w", "transpose", PARAMETERS["hidden"].T, (), takes_input=True)
        steps = run(but(dense=lambda x: network.hidden(x) + 1))
        shifted = [each._replace(takes=tuple(t + 1 for t in each.takes)) for each in steps]
        shifted[5] = shifted[5]._replace(takes=(*shifted[5].takes, 0))
        alignment = align([transposed, *shifted], LAYERS)
        assert 6 == alignment.wrong
        assert "unknown" == alignment.statuses[0]

    def test_a_layer_that_gives_its_bias_alone_is_no_preparation_of_it(self) -> None:
        """It has a parameter's numbers, and takes the input."""
        x, weight, bias = noise(1, 12), PARAMETERS["square"], PARAMETERS["hidden_bias"]

        def compute() -> torch.Tensor:
            return torch.relu(torch.nn.functional.linear(double(x), double(weight), double(bias)))

        taken = frozenset({("x", True), ("w", False), ("b", False)})
        steps = [
            Observed("l", "l", bias[None], (), takes_input=True, arguments=taken),
            Observed("r", "r", network.relu(bias[None]), (0,), arguments=frozenset()),
        ]
        alignment = align(steps, record(compute, [x]))
        assert (0, "operand_missing") == (
            alignment.wrong,
            alignment.mistake and alignment.mistake[0],
        )

    @pytest.mark.parametrize("taken", [("w", False), ("w", True)])
    def test_a_step_that_takes_a_parameter_alone_may_lay_it_out_otherwise(
        self, taken: tuple[str, bool]
    ) -> None:
        given = taken[1]
        x, weight = noise(3, 12), PARAMETERS["square"]

        def compute() -> torch.Tensor:
            return torch.relu(torch.matmul(double(x), double(weight)))

        layers = record(compute, [x, weight] if given else [x])
        steps = [
            Observed("t", "t", weight.T, (), takes_input=True, arguments=frozenset({taken})),
            Observed("y", "y", garbage(x), (0,), True, arguments=frozenset({("x", True)})),
        ]
        assert 1 == align(steps, layers).wrong


def but_last(x: Any, rows: int) -> Any:
    """Do everything up to the first ReLU after a linear layer."""
    features = network.pool(
        network.relu(network.add_bias(network.convolve(x, PARAMETERS["kernel"])))
    )
    return network.relu(network.hidden(features.reshape(rows, -1)))


def pooled(x: Any, axes: Any) -> Any:
    return network.pool(x.transpose(axes))


class TestWrong:
    @pytest.mark.parametrize("place", range(len(network.RIGHT)))
    def test_the_first_step_with_other_numbers_is_wrong_and_the_rest_follows(
        self, place: int
    ) -> None:
        steps = list(network.RIGHT)
        name, compute = steps[place]
        steps[place] = (name, lambda x: garbage(compute(x)))
        alignment = align(run(steps), LAYERS)
        assert (place, None) == (alignment.wrong, alignment.mistake)
        assert {"right"} | set() == set(alignment.statuses[:place]) or place == 0
        assert {"follows"} >= set(alignment.statuses[place + 1 :])

    def test_the_layer_that_was_expected_is_named_with_the_last_right_one(self) -> None:
        steps = run(but(pool2d=lambda x: garbage(network.pool(x))))
        alignment = align(steps, LAYERS)
        assert alignment.last_right is not None
        assert alignment.expected is not None
        assert "relu" == LAYERS[alignment.last_right].name
        assert "max_pool2d" == LAYERS[alignment.expected].name

    def test_a_copy_of_an_argument_that_a_hidden_step_may_take_is_not_wrong(self) -> None:
        """`B_global`, which a tensorized block reads: what that takes is not seen."""
        one, other = noise(4, 4), noise(4, 4)
        layers = record(lambda: torch.matmul(double(one), double(other)), [one, other])
        copy = Observed("B_global", "matmul", other, (), takes_input=True)
        wrong = Observed("C", "matmul", one @ other + 1, (), takes_input=False)
        assert 1 == align([copy, wrong], layers).wrong

    def test_float16_is_not_right(self) -> None:
        steps = run(but(dense=lambda x: network.hidden(x).astype(np.float16)))
        assert "dense" == callee(steps, align(steps, LAYERS))

    def test_a_ulp_of_float32_is_right(self) -> None:
        steps = run(but(dense=lambda x: np.nextafter(network.hidden(x), np.float32(np.inf))))
        assert None is align(steps, LAYERS).wrong

    def test_a_value_that_is_the_same_everywhere_is_no_layer(self) -> None:
        steps = run(but(relu1=np.zeros_like, dense1=np.zeros_like, relu2=np.zeros_like))
        assert "relu1" == callee(steps, align(steps, LAYERS))

    def test_what_is_right_because_it_is_zero_says_nothing_of_what_was_before(self) -> None:
        x, weight = noise(3, 4), noise(4, 4)

        def compute() -> torch.Tensor:
            product = torch.matmul(double(x), double(weight))
            return torch.relu(product - 100) + torch.exp(product)

        wrong = garbage(x)
        values = [wrong, wrong - 100, np.zeros_like(x), np.exp(wrong)]
        takes: list[tuple[int, ...]] = [(), (0,), (1,), (0, 2)]
        steps = [
            Observed(f"lv{place}", "f", value, taken, takes_input=place == 0)
            for place, (value, taken) in enumerate(zip(values, takes, strict=True))
        ]
        alignment = align(steps, record(compute, [x]))
        assert 0 == alignment.wrong
        assert ("follows", "right", "follows") == alignment.statuses[1:]

    def test_a_bias_that_is_zero_is_the_mistake_of_the_step_that_adds_it(self) -> None:
        steps = run(but(add=lambda x: x + np.zeros((1, 3, 1, 1))))
        alignment = align(steps, LAYERS)
        assert "add" == callee(steps, alignment)
        assert ("right", "wrong", "follows") == alignment.statuses[:3]

    def test_a_bias_that_nobody_adds_is_the_mistake_of_the_layer_without_it(self) -> None:
        steps = run(but(add=None))
        assert "conv2d" == callee(steps, align(steps, LAYERS))

    def test_a_largest_score_that_is_right_says_nothing_of_the_others(self) -> None:
        """It is the same whatever the scores below it are."""

        def lower(x: Any) -> Any:
            scores = network.out(x)
            scores[np.arange(len(scores)), scores.argmin(1)] -= 1
            return scores

        largest = ("largest", lambda x: x.max(1, keepdims=True))
        steps = run([*but(dense2=lower, softmax=None), largest])
        alignment = align(steps, LAYERS)
        assert "right" == alignment.statuses[-1]
        assert "dense2" == callee(steps, alignment)

    def test_a_softmax_that_is_right_says_nothing_of_its_scores(self) -> None:
        """It is the same for scores that are all one too large, and for others where it is flat."""
        steps = run([*but(dense2=lambda x: network.out(x) + 1), ("double", lambda x: x * 2)])
        assert "dense2" == callee(steps, align(steps, LAYERS))

    def test_a_step_that_only_copies_is_wrong_where_a_layer_is_missing(self) -> None:
        steps = run(but(relu1=lambda x: x))
        assert "relu1" == callee(steps, align(steps, LAYERS))

    def test_without_such_a_step_the_next_one_departs(self) -> None:
        steps = run(but(relu1=None))
        assert "dense1" == callee(steps, align(steps, LAYERS))

    def test_an_output_that_was_never_written_is_wrong(self) -> None:
        steps = run(but(dense1=lambda x: np.full_like(x, np.nan)))
        marked = [
            each._replace(is_unwritten=True) if each.callee == "dense1" else each for each in steps
        ]
        alignment = align(marked, LAYERS)
        assert "dense1" == callee(marked, alignment)
        assert alignment.mistake is not None
        assert "not_written" == alignment.mistake.kind

    def test_a_run_that_ended_early_is_wrong_where_it_ended(self) -> None:
        steps = run(network.RIGHT)
        cut = [each if at < 5 else each._replace(value=None) for at, each in enumerate(steps)]
        alignment = align(cut, LAYERS)
        assert 5 == alignment.wrong
        assert alignment.expected is not None
        assert "linear" == LAYERS[alignment.expected].name

    def test_a_step_without_a_value_is_passed_by(self) -> None:
        """A tuple of tensors, for instance."""
        steps = run(network.RIGHT)
        steps[3] = steps[3]._replace(value=None)
        assert None is align(steps, LAYERS).wrong

    def test_layers_that_are_missing_at_the_end_are_the_last_steps_mistake(self) -> None:
        steps = run(but(relu2=None, dense2=None, softmax=None))
        alignment = align(steps, LAYERS)
        assert "dense1" == callee(steps, alignment)
        assert alignment.mistake is not None
        assert "layer_left_out" == alignment.mistake.kind
        assert ("relu", "linear", "softmax") == alignment.mistake.facts["missing"]

    def test_a_right_output_that_is_not_returned_is_told_by_what_is(self) -> None:
        steps = run(network.RIGHT)
        alignment = align(steps, LAYERS, returned=steps[9].value)
        assert alignment.mistake is not None
        assert ("other_step_returned", 9) == (alignment.mistake.kind, alignment.wrong)
        assert {"returned": "lv9", "wanted": "lv10"} == alignment.mistake.facts
        assert None is align(steps, LAYERS, returned=steps[10].value).wrong

    def test_a_constant_result_is_wrong(self) -> None:
        steps = run(network.RIGHT)
        steps[-1] = steps[-1]._replace(takes=(), value=np.zeros((4, 5), np.float32))
        alignment = align(steps, LAYERS)
        assert "softmax" == callee(steps, alignment)
        assert alignment.mistake is not None
        assert ("zeros", "softmax") == alignment.mistake[:2]

    def test_no_steps_are_no_finding(self) -> None:
        assert Alignment((), ()) == align([], LAYERS)

    def test_without_layers_nothing_is_found(self) -> None:
        alignment = align(run(network.RIGHT[:2]), ())
        assert Alignment(("unknown", "unknown"), (None, None)) == alignment


def garbage(value: Any) -> Any:
    return np.asarray(np.random.default_rng(1).standard_normal(value.shape), np.float32)


class TestUnexplained:
    """A step that no mistake explains, before one that a mistake would explain."""

    def columns(self, x: Any) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
        return windows.transpose(0, 2, 3, 1, 4, 5).reshape(4 * 64, 18)

    def test_it_is_not_wrong_where_it_can_be_a_part_of_a_layer(self) -> None:
        kernel = PARAMETERS["kernel"][:, :, ::-1, ::-1].reshape(3, 18)

        def product(x: Any) -> Any:
            return (x @ kernel.T).reshape(4, 8, 8, 3).transpose(0, 3, 1, 2)

        steps = run([("columns", self.columns), ("product", product), *network.RIGHT[1:]])
        alignment = align(steps, LAYERS)
        assert ("product", "unknown") == (callee(steps, alignment), alignment.statuses[0])
        assert alignment.mistake is not None
        assert "kernel_flipped" == alignment.mistake.kind

    def test_a_step_that_adds_its_bias_too_is_held_against_the_whole_layer(self) -> None:
        """It was told that it differs from "conv2d without its bias"."""
        kernel = PARAMETERS["kernel"][:, :, ::-1]
        whole = ("conv2d", lambda x: network.add_bias(network.convolve(x, kernel)))
        alignment = align(run([whole, *network.RIGHT[2:]]), LAYERS)
        assert alignment.mistake is not None
        assert alignment.expected is not None
        assert ("kernel_flipped", "conv2d") == (
            alignment.mistake.kind,
            LAYERS[alignment.expected].name,
        )

    def test_a_later_call_of_its_operator_is_another_step(self) -> None:
        """Two convolutions of other sizes, of which the second has the shape of PyTorch's first."""

        def cut(size: int) -> Any:
            return lambda x: garbage(np.zeros((len(x), 3, size, size)))

        names = ("conv2d", "relu", "conv2d")
        steps = run(list(zip(names, (cut(9), cut(9), cut(8)), strict=True)))
        assert 0 == align(steps, LAYERS).wrong

    def test_it_is_wrong_where_it_has_the_shape_of_the_layer(self) -> None:
        averages = network.pool(STRAIGHT[2].value, reduce=np.mean)
        steps = run(but(add=garbage, pool2d=lambda _: averages))
        alignment = align(steps, LAYERS)
        assert ("add", None) == (callee(steps, alignment), alignment.mistake)

    def test_of_several_layers_of_its_shape_it_is_held_against_the_one_it_nearly_is(self) -> None:
        """A quotient rounded to zero was to be compared with the product before it, or else told to
        be float16: that holds all small whole numbers."""
        x = 1000 * noise(4, 12)

        def quotient() -> torch.Tensor:
            return torch.clamp(torch.floor(double(x) * 3 / 8), -50, 50)

        layers = record(quotient, [x])
        cut = [("scaled", lambda v: np.trunc(v * 3 / 8)), ("cut", lambda v: np.clip(v, -50, 50))]
        alignment = align(run(cut, x), layers)
        assert alignment.expected is not None
        assert (None, "floor") == (alignment.mistake, layers[alignment.expected].name)

    def test_of_several_layers_that_it_nearly_is_it_is_held_against_the_nearest(self) -> None:
        """Steps that change little follow: the last of them is nearly as near."""
        x = noise(6, 8)

        def little() -> torch.Tensor:
            y = double(x)
            for each in (torch.tanh, torch.sin):
                y = y + each(y) / 1000
            return torch.exp(y)

        layers = record(little, [x])
        sinh = [("one", lambda v: v + np.sinh(v) / 1000), ("two", lambda v: v + np.sin(v) / 1000)]
        alignment = align(run([*sinh, ("exp", np.exp)], x), layers)
        sums = [place for place, each in enumerate(layers) if each.name == "add"]
        assert (None, sums[0]) == (alignment.mistake, alignment.expected)


STRAIGHT = run(network.RIGHT)


class TestBranches:
    """A layer that is used twice, between two inputs."""

    x, y = noise(6, 4), noise(6, 4)
    shared = noise(4, 4)

    def layers(self) -> tuple[Layer, ...]:
        def compute() -> torch.Tensor:
            start = double(self.x) + double(self.y)
            once = start + torch.relu(torch.nn.functional.linear(start, double(self.shared)))
            twice = torch.relu(torch.nn.functional.linear(once, double(self.shared)))
            return twice + start

        return record(compute, [self.x, self.y])

    def steps(self, second: Any = None) -> list[Observed]:
        start = self.x + self.y
        inner = start @ self.shared.T
        once = start + network.relu(inner)
        inner2 = (once if second is None else second) @ self.shared.T
        twice = network.relu(inner2)
        values = [start, inner, network.relu(inner), once, inner2, twice, twice + start]
        takes: list[tuple[int, ...]] = [(), (0,), (1,), (0, 2), (3,), (4,), (5, 0)]
        return [
            Observed(f"lv{place}", "f", value, taken, takes_input=place == 0)
            for place, (value, taken) in enumerate(zip(values, takes, strict=True))
        ]

    def test_every_use_of_a_layer_has_its_own_place(self) -> None:
        alignment = align(self.steps(), self.layers())
        assert None is alignment.wrong
        assert len(alignment.matched) == len(set(alignment.matched))

    def test_the_wrong_one_of_two_uses_is_named(self) -> None:
        alignment = align(self.steps(second=self.y), self.layers())
        assert 4 == alignment.wrong
        assert ("right",) * 4 == alignment.statuses[:4]
        assert ("follows",) * 2 == alignment.statuses[5:]


class TestSeveralOutputs:
    x = noise(3, 5)

    def layers(self) -> tuple[Layer, ...]:
        def compute() -> tuple[Any, Any]:
            product = torch.matmul(double(self.x), double(np.eye(5) * 2))
            return product.numpy(), torch.relu(product).numpy()

        return record(compute, [self.x])

    def outputs(self, *values: Any) -> list[Observed]:
        return [
            Observed(f"out{place}", "f", value, (), takes_input=True)
            for place, value in enumerate(values)
        ]

    def test_outputs_in_their_order_are_right(self) -> None:
        steps = self.outputs(2 * self.x, network.relu(2 * self.x))
        assert None is align(steps, self.layers()).wrong

    def test_outputs_in_another_order_are_wrong(self) -> None:
        alignment = align(self.outputs(network.relu(2 * self.x), 2 * self.x), self.layers())
        assert alignment.mistake is not None
        assert ("outputs_swapped", "matmul") == alignment.mistake[:2]
        assert 0 == alignment.wrong

    def test_the_output_that_is_wrong_is_named(self) -> None:
        alignment = align(self.outputs(2 * self.x, network.relu(3 * self.x)), self.layers())
        assert 1 == alignment.wrong


class TestBiasByHand:
    """`x @ w + b[:, None]`, of which a cell takes the halves."""

    x, w, b = noise(1, 4, 5), noise(1, 5, 6), noise(1, 6)

    def layers(self) -> tuple[Layer, ...]:
        def compute() -> Any:
            linear = double(self.x) @ double(self.w) + double(self.b)[:, None]
            return torch.sigmoid(linear[..., :3]) * torch.tanh(linear[..., 3:])

        return record(compute, [self.x, self.w, self.b])

    def run(self, arguments: frozenset[tuple[str, bool]]) -> Alignment:
        product = self.x[0] @ self.w[0]
        gate = 1 / (1 + np.exp(-product[:, :3]))
        steps = [
            Observed("lv", "dense", product, (), takes_input=True),
            Observed("lv1", "gate", gate, (0,), arguments=arguments),
        ]
        return align(steps, self.layers())

    def test_the_step_that_gives_the_product_lacks_it(self) -> None:
        alignment = self.run(frozenset())
        assert alignment.mistake is not None
        assert ("bias_missing", 0) == (alignment.mistake.kind, alignment.wrong)

    def test_the_step_that_is_given_the_bias_does_not_add_it(self) -> None:
        alignment = self.run(frozenset({("b", True)}))
        assert alignment.mistake is not None
        assert ("bias_missing", 1) == (alignment.mistake.kind, alignment.wrong)


@pytest.mark.parametrize(("given", "after", "wrong"), [("wb", "", 0), ("w", "", 1), ("wb", "b", 1)])
def test_a_product_that_is_given_its_bias_lacks_it_where_nothing_explains_the_next_step(
    given: str, after: str, wrong: int
) -> None:
    """`linear` forgot its bias, and `relu` takes the minimum: "up to `linear` everything is right".

    A `relu(x, b)` may add the bias itself, and `linear` is then no wrong step.
    """
    x, w, b = noise(2, 4), noise(3, 4), noise(3)

    def compute() -> Any:
        return torch.relu(torch.nn.functional.linear(double(x), double(w), double(b)))

    product = x @ w.T
    steps = [
        Observed(
            "lv0", "linear", product, (), True, arguments=frozenset((n, False) for n in given)
        ),
        Observed(
            "lv1",
            "relu",
            np.minimum(product, 0) * 3,
            (0,),
            arguments=frozenset((n, False) for n in after),
        ),
    ]
    alignment = align(steps, record(compute, [x]))
    assert wrong == alignment.wrong
    assert (alignment.mistake is not None) == (wrong == 0)


def test_an_output_in_another_layout_is_not_said_to_be_another_step() -> None:
    """A pass takes two transposes for none: all numbers of the output are there."""
    x = noise(4, 6, 8)

    def compute() -> Any:
        y = torch.relu(double(x)).permute(1, 2, 0)
        return torch.exp(y.permute(1, 2, 0))

    rectified = network.relu(x)
    steps = [
        Observed("lv", "relu", rectified, (), takes_input=True),
        Observed("lv1", "exp", np.exp(rectified), (0,)),
    ]
    alignment = align(steps, record(compute, [x]), returned=np.exp(rectified))
    assert 1 == alignment.wrong
    assert alignment.mistake is None or alignment.mistake.kind != "other_step_returned"


@pytest.mark.parametrize(("filled", "is_wrong"), [(0.0, True), (-10.0, True), (-1e9, False)])
def test_a_mask_that_fills_in_too_large_a_number_is_told_as_such(
    filled: float, is_wrong: bool
) -> None:
    x, future = noise(5, 5), np.triu(np.ones((5, 5), bool), 1)

    def compute() -> Any:
        scaled = double(x) * 0.5
        return torch.softmax(scaled.masked_fill(torch.tensor(future), float("-inf")), -1)

    masked = np.where(future, filled, x / 2)
    powers = np.exp(masked)
    steps = [
        Observed("lv", "mask", masked, (), takes_input=True),
        Observed("lv1", "softmax", powers / powers.sum(1, keepdims=True), (0,)),
    ]
    found = align(steps, record(compute, [x]))
    assert (0 if is_wrong else None) == found.wrong
    if is_wrong:
        assert found.mistake is not None
        assert ("partly_right", "masked_fill", {"at": "masked"}) == found.mistake[:3]


def test_zeros_that_change_nothing_are_not_right_for_that() -> None:
    """The smallest of a column behind a ReLU is 0: nothing is subtracted."""
    x = np.abs(noise(4, 5)) * np.tri(4, 5, 2)

    def compute() -> Any:
        y = torch.relu(double(x))
        return y - y.mean(0, keepdim=True)

    steps = [
        Observed("lv", "relu", x, (), takes_input=True),
        Observed("lv1", "smallest", np.zeros((1, 5)), (0,)),
        Observed("lv2", "subtract", x, (0, 1)),
    ]
    assert 1 == align(steps, record(compute, [x])).wrong


def test_images_are_not_changed_by_an_alignment() -> None:
    before = IMAGES.copy()
    align(run(network.RIGHT), LAYERS)
    assert np.array_equal(before, IMAGES)
