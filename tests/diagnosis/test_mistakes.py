"""Every mistake is recognised by its numbers, which NumPy computes without PyTorch's help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from grader.diagnosis.align import Alignment, Observed, align
from grader.diagnosis.layers import Program
from grader.diagnosis.mistakes import explain, recognise
from grader.diagnosis.mistakes_numbers import WrongValue
from grader.evidence.operations import Layer
from grader.evidence.recorder import record
from tests.diagnosis import network
from tests.diagnosis.network import (
    PARAMETERS,
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
KERNEL, BIAS = PARAMETERS["kernel"], PARAMETERS["kernel_bias"].reshape(1, 3, 1, 1)

Compute = Callable[[Any], Any]


def last_term(x: Any) -> Any:
    """Return the last product of each window alone."""
    return np.einsum("nyx,f->nfyx", x[:, -1, 2:, 2:], KERNEL[:, -1, -1, -1])


def one_filter(x: Any) -> Any:
    """Use the second filter for all channels of the output."""
    return convolve(x, np.repeat(KERNEL[1:2], 3, axis=0))


def one_row(x: Any) -> Any:
    """Use the first row of each filter for all of its rows."""
    return convolve(x, np.repeat(KERNEL[:, :, :1], 3, axis=2))


def dilated(x: Any) -> Any:
    wide = np.zeros((3, 2, 5, 5), np.float32)
    wide[:, :, ::2, ::2] = KERNEL
    return convolve(x, wide)


def powers(x: Any) -> Any:
    return np.exp(x - x.max(1, keepdims=True))


PLACES = {each: at for at, (each, _) in enumerate(network.RIGHT)}

CASES: list[tuple[str, str, Compute, dict[str, Any]]] = [
    (
        "kernel_flipped",
        "conv2d",
        lambda x: convolve(x, KERNEL[:, :, ::-1, ::-1]),
        {"axes": ("rows", "columns")},
    ),
    ("kernel_flipped", "conv2d", lambda x: convolve(x, KERNEL[:, :, ::-1]), {"axes": ("rows",)}),
    ("kernel_flipped", "conv2d", lambda x: convolve(x, KERNEL[..., ::-1]), {"axes": ("columns",)}),
    ("kernel_transposed", "conv2d", lambda x: convolve(x, KERNEL.transpose(0, 1, 3, 2)), {}),
    (
        "padding",
        "conv2d",
        lambda x: convolve(x, KERNEL, padding=1),
        {"found": (1, 1), "wanted": (0, 0)},
    ),
    *(
        (
            "padding",
            "conv2d",
            lambda x, kept=kept: convolve(x, KERNEL, padding=1)[..., kept, kept],
            {"found": (1, 1), "wanted": (0, 0), "of": "cropped"},
        )
        for kept in (slice(0, -2), slice(2, None))
    ),
    (
        "convolution_stride",
        "conv2d",
        lambda x: convolve(x, KERNEL, stride=2),
        {"found": (2, 2), "wanted": (1, 1)},
    ),
    ("dilation", "conv2d", dilated, {"found": (2, 2), "wanted": (1, 1)}),
    (
        "reduction_too_short",
        "conv2d",
        lambda x: convolve(x, without(KERNEL, 2, -1)),
        {"end": "last", "axis": "rows", "found": 2, "wanted": 3},
    ),
    (
        "reduction_too_short",
        "conv2d",
        lambda x: convolve(x, without(KERNEL, 3, 0)),
        {"end": "first", "axis": "columns", "found": 2, "wanted": 3},
    ),
    (
        "reduction_too_short",
        "conv2d",
        lambda x: convolve(x, without(KERNEL, 1, -1)),
        {"end": "last", "axis": "channels", "found": 1, "wanted": 2},
    ),
    (
        "reduction_too_short",
        "conv2d",
        lambda x: convolve(x, without(without(KERNEL, 2, -1), 3, -1)),
        {"end": "last", "axis": "rows_and_columns", "found": 2, "wanted": 3},
    ),
    ("initialised_in_every_round", "conv2d", last_term, {}),
    ("sum_not_initialised", "conv2d", lambda x: convolve(x, KERNEL) + np.nan, {}),
    ("scaled", "conv2d", lambda x: 2 * convolve(x, KERNEL), {"of": "sum", "factor": 2}),
    ("index_fixed", "conv2d", one_filter, {"operand": "weight", "index": 1}),
    ("index_fixed", "conv2d", one_row, {"operand": "term", "index": 0}),
    ("bias_missing", "add", lambda x: x, {}),
    ("bias_twice", "add", lambda x: x + 2 * BIAS, {}),
    ("bias_subtracted", "add", lambda x: x - BIAS, {}),
    ("operand_twice", "add", lambda x: x + x, {"operand": "first"}),
    ("bias_first_item", "add", lambda x: x + BIAS[0, 0, 0, 0], {}),
    ("bias_differs", "add", lambda x: x + BIAS[:, [2, 0, 1]] ** 2, {"axis": -3}),
    ("relu_missing", "relu", lambda x: x, {}),
    ("relu_inverted", "relu", lambda x: np.minimum(x, 0), {}),
    ("relu_absolute", "relu", np.abs, {}),
    ("pooling_kind", "pool2d", lambda x: pool(x, reduce=np.mean), {"found": "average"}),
    ("pooling_kind", "pool2d", lambda x: pool(x, reduce=np.min), {"found": "smallest"}),
    (
        "pooling_stride",
        "pool2d",
        lambda x: pool(x, stride=1),
        {"stride_found": 1, "stride_wanted": 2, "different": ("stride",)},
    ),
    (
        "pooling_size",
        "pool2d",
        lambda x: pool(x, size=3),
        {"size_found": 3, "size_wanted": 2, "different": ("size",)},
    ),
    (
        "pooling_size",
        "pool2d",
        lambda x: pool(x, size=3, end=1),
        {"size_found": 3, "padding_found": (0, 1), "different": ("size", "padding")},
    ),
    (
        "pooling_padding",
        "pool2d",
        lambda x: pool(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)),
        {"padding_found": (1, 1), "padding_wanted": (0, 0)},
    ),
    (
        "reduction_too_short",
        "pool2d",
        lambda x: x[:, :, ::2].reshape(4, 3, 4, 4, 2).max(-1),
        {"end": "last", "axis": "rows", "found": 1, "wanted": 2},
    ),
    (
        "flatten_order",
        "flatten",
        lambda x: x.transpose(0, 2, 3, 1).reshape(4, -1),
        {"found": "NHWC"},
    ),
    (
        "flatten_order",
        "flatten",
        lambda x: x.transpose(0, 1, 3, 2).reshape(4, -1),
        {"found": "NCWH"},
    ),
    ("weight_not_transposed", "dense1", lambda x: x @ PARAMETERS["square"], {"is_reshaped": False}),
    (
        "weight_not_transposed",
        "dense",
        lambda x: x @ PARAMETERS["hidden"].reshape(48, 12) + PARAMETERS["hidden_bias"],
        {"is_reshaped": True},
    ),
    ("bias_missing", "dense", lambda x: x @ PARAMETERS["hidden"].T, {}),
    ("bias_twice", "dense", lambda x: hidden(x) + PARAMETERS["hidden_bias"], {}),
    ("bias_extra", "dense1", lambda x: square(x) + PARAMETERS["hidden_bias"], {"axis": -1}),
    (
        "reduction_too_short",
        "dense1",
        lambda x: square(without(x, 1, -1)),
        {"end": "last", "axis": "terms", "found": 11, "wanted": 12},
    ),
    (
        "reduction_too_short",
        "dense1",
        lambda x: square(without(x, 1, 0)),
        {"end": "first", "found": 11, "wanted": 12},
    ),
    (
        "reduction_too_short",
        "dense1",
        lambda x: square(x * (np.arange(12) % 4 != 3)),
        {"end": "inner", "found": 9, "wanted": 12},
    ),
    (
        # a loop along the output's axis
        "reduction_too_short",
        "dense",
        lambda x: x[:, :12] @ PARAMETERS["hidden"][:, :12].T + PARAMETERS["hidden_bias"],
        {"end": "last", "found": 12, "wanted": 48},
    ),
    ("initialised_in_every_round", "dense1", lambda x: x[:, -1:] @ PARAMETERS["square"].T[-1:], {}),
    ("low_precision", "dense1", lambda x: square(x).astype(np.float16), {"dtype": "float16"}),
    ("relu_extra", "dense2", lambda x: relu(out(x)), {}),
    ("layer_repeated", "dense1", lambda x: square(square(x)), {}),
    ("scaled", "dense1", lambda x: square(x) / 12, {"factor": pytest.approx(1 / 12)}),
    ("zeros", "dense2", lambda x: 0 * out(x), {}),
    ("softmax_missing", "softmax", lambda x: x, {}),
    ("softmax_axis", "softmax", lambda x: softmax(x, 0), {"found": 0, "wanted": 1}),
    ("softmax_of_all", "softmax", lambda x: np.exp(x) / np.exp(x).sum(), {}),
    ("softmax_logarithm", "softmax", lambda x: np.log(softmax(x)), {}),
    ("softmax_without_exponential", "softmax", lambda x: x / x.sum(1, keepdims=True), {}),
    (
        "reduction_too_short",
        "softmax",
        lambda x: powers(x) / powers(x)[:, :-1].sum(1, keepdims=True),
        {"end": "last", "axis": "terms", "found": 4, "wanted": 5},
    ),
    ("input_returned", "softmax", lambda _: np.resize(network.IMAGES, (4, 5)), {"argument": 0}),
    (
        "partly_right",
        "dense1",
        lambda x: square(x) * (np.arange(12) < 9),
        {"share": 0.75, "axis": 1, "start": 9, "stop": 12},
    ),
]


def until(step: str, compute: Compute) -> list[network.Step]:
    """Return the steps with one of them changed, as far as their shapes fit."""
    steps = but(**{step: compute})
    return steps[: PLACES[step] + 1] if step in ("conv2d", "pool2d", "flatten") else steps


@pytest.mark.parametrize(
    ("kind", "step", "compute", "facts"),
    CASES,
    ids=[f"{e[0]}-{e[1]}-{n}" for n, e in enumerate(CASES)],
)
def test_a_mistake_is_recognised_with_its_numbers(
    kind: str, step: str, compute: Compute, facts: dict[str, Any]
) -> None:
    mistake = align(run(until(step, compute)), LAYERS).mistake
    assert mistake is not None
    assert kind == mistake.kind
    assert facts.items() <= {**mistake.facts}.items()


@pytest.mark.parametrize("case", CASES, ids=[f"{e[0]}-{e[1]}-{n}" for n, e in enumerate(CASES)])
def test_it_is_that_layers(case: tuple[str, str, Compute, dict[str, Any]]) -> None:
    _, step, compute, _ = case
    names = {"add": "conv2d", "pool2d": "max_pool2d", "dense": "linear", "dense1": "linear"}
    layer = names.get(step, step).removesuffix("2") if step != "conv2d" else step
    mistake = align(run(until(step, compute)), LAYERS).mistake
    assert mistake is not None
    assert mistake.layer in {layer.replace("dense", "linear"), ""}


class TestParts:
    """Where other things hide a mistake."""

    def test_within_a_function_that_does_several_layers(self) -> None:
        def block(x: Any) -> Any:
            return pool(relu(add_bias(convolve(x, KERNEL, padding=1))))

        mistake = align(run([("block", block)]), LAYERS).mistake
        assert mistake is not None
        assert ("padding", "conv2d", {"found": (1, 1), "wanted": (0, 0)}) == mistake[:3]

    @pytest.mark.parametrize(("rows", "kind"), [(1, "kernel_flipped"), (6, "partly_right")])
    def test_some_rows_may_be_right_all_the_same(self, rows: int, kind: str) -> None:
        def mostly(x: Any) -> Any:
            value = convolve(x, KERNEL[:, :, ::-1, ::-1])
            value[0, 0, :rows] = convolve(x, KERNEL)[0, 0, :rows]
            if rows > 1:
                value[1:] = convolve(x, KERNEL)[1:]
            return value

        mistake = align(run([("conv2d", mostly)]), LAYERS).mistake
        assert mistake is not None
        assert kind == mistake.kind

    def test_a_step_that_only_rounds(self) -> None:
        rounding = ("astype", lambda x: x.astype(np.float16))
        steps = run([*network.RIGHT[:6], rounding, *network.RIGHT[6:]])
        alignment = align(steps, LAYERS)
        assert alignment.mistake is not None
        assert ("low_precision", "linear", {"dtype": "float16"}) == alignment.mistake[:3]
        assert 6 == alignment.wrong

    def test_the_search_ends(self) -> None:
        images = noise(1600, 2, 10, 10)
        program = Program(network.layers(images))
        found = explain(WrongValue(noise(1600, 3, 8, 8)), program)
        assert None is found
        assert 30e6 < program.computed < 50e6


class TestNoMistake:
    def test_exponentials_that_are_divided_by_one_wrong_sum_are_not_scaled(self) -> None:
        """The sum of one number of each row is another one on other inputs."""

        def divided(x: Any) -> Any:
            return powers(x) / powers(x)[np.arange(5) % len(x), np.arange(5)].sum()

        assert None is align(run(but(softmax=divided)), LAYERS).mistake

    @pytest.mark.parametrize("step", [each for each, _ in network.RIGHT])
    def test_other_numbers_are_no_mistake_that_is_known(self, step: str) -> None:
        def garbage(compute: Compute) -> Compute:
            return lambda x: np.random.default_rng(3).standard_normal(compute(x).shape)

        steps = but(**{step: garbage(dict(network.RIGHT)[step])})
        assert None is align(run(steps[: PLACES[step] + 1]), LAYERS).mistake

    def test_neither_are_numbers_that_are_not_finite(self) -> None:
        def infinite(x: Any) -> Any:
            value = square(x)
            value[0, 0], value[1, 1] = np.inf, -np.inf
            return value

        alignment = align(run(but(dense1=infinite)[:8]), LAYERS)
        assert (7, None) == (alignment.wrong, alignment.mistake)

    def test_neither_are_numbers_that_are_equal_everywhere(self) -> None:
        steps = run([*but()[:7], ("dense1", lambda x: np.ones((4, 12)))])
        assert None is align(steps, LAYERS).mistake

    def test_a_change_that_cannot_be_told_from_the_right_value_explains_nothing(self) -> None:
        x, weight = noise(3, 4), noise(5, 4)
        shift = np.full(5, 1.5e-5 * np.abs(x @ weight.T).max(), np.float64)

        def compute() -> torch.Tensor:
            return nn.functional.linear(double(x), double(weight), double(shift))

        product = x.astype(float) @ weight.T
        found = recognise(WrongValue(product - shift), record(compute, [x]))
        assert found is not None
        assert "bias_subtracted" == found.kind

    def test_two_mistakes_at_once_are_none_that_is_known(self) -> None:
        steps = run([("conv2d", lambda x: convolve(x[:, ::-1], KERNEL[:, :, ::-1], padding=1))])
        assert None is align(steps, LAYERS).mistake


# --- trial ----------------------------------------------------------------------------------------
# An advice is tried: with its change taken back, all the rest of the module is PyTorch's.


QUERY, KEY, VALUE = noise(6, 4), noise(6, 4), noise(6, 4)
Attention = Callable[[Any, Any, Any], torch.Tensor]


def by_hand(query: Any, key: Any, value: Any) -> torch.Tensor:
    scores = query @ key.mT / 2
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    return torch.matmul(powers / powers.sum(-1, keepdim=True), value)


def with_softmax(query: Any, key: Any, value: Any) -> torch.Tensor:
    return torch.matmul(torch.softmax(query @ key.mT / 2, dim=query.ndim - 1), value)


def at_once(query: Any, key: Any, value: Any) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(query, key, value)


ORACLES = (by_hand, with_softmax, at_once)


def layers(attention: Attention, with_cases: bool) -> tuple[Layer, ...]:
    """Return what PyTorch does for one case, with an axis over cases where they have one."""
    given = [each[None] if with_cases else each for each in (QUERY, KEY, VALUE)]
    found = record(lambda: attention(*map(double, given)), given)
    return tuple(each._replace(value=each.value[0]) for each in found) if with_cases else found


def steps(activation: Callable[[Any], Any]) -> list[Observed]:
    """Return the steps of a student's attention, with something in place of the softmax."""
    scores = QUERY @ KEY.T / np.float32(2)
    powers = activation(scores)
    return [
        Observed("lv", "scores", scores, takes_input=True),
        Observed("lv1", "softmax", powers, (0,)),
        Observed("lv2", "matmul", powers @ VALUE, (1,), takes_input=True),
    ]


def diagnosed(attention: Attention, activation: Any, with_cases: bool = False) -> Alignment:
    return align(steps(activation), layers(attention, with_cases))


class TestAttention:
    @pytest.mark.parametrize("with_cases", [False, True])
    @pytest.mark.parametrize("attention", ORACLES)
    def test_a_softmax_over_the_wrong_axis_is_not_told_to_go(
        self, attention: Attention, with_cases: bool
    ) -> None:
        found = diagnosed(attention, lambda x: softmax(x, 0), with_cases)
        assert found.mistake is not None
        assert ("softmax_axis", 1) == (found.mistake.kind, found.wrong)
        assert {"found": 0, "wanted": 1} == found.mistake.facts

    @pytest.mark.parametrize("attention", ORACLES)
    def test_the_right_one_has_nothing_wrong(self, attention: Attention) -> None:
        assert diagnosed(attention, softmax).wrong is None

    @pytest.mark.parametrize("attention", ORACLES)
    def test_a_missing_softmax_is_told_with_its_axis(self, attention: Attention) -> None:
        scores = QUERY @ KEY.T / np.float32(2)
        without = [
            Observed("lv", "scores", scores, takes_input=True),
            Observed("lv1", "matmul", scores @ VALUE, (0,), takes_input=True),
        ]
        found = align(without, layers(attention, with_cases=False)).mistake
        assert found is not None
        assert ("softmax_missing", {"along": 1}) == (found.kind, found.facts)


class TestTakenOut:
    def compute(self) -> torch.Tensor:
        hidden = torch.nn.functional.gelu(torch.matmul(double(QUERY), double(KEY).mT))
        return torch.matmul(hidden, double(VALUE))

    def test_a_relu_where_pytorch_has_another_function_is_not_told_to_go(self) -> None:
        scores = QUERY @ KEY.T
        observed = [
            Observed("lv", "matmul", scores, takes_input=True),
            Observed("lv1", "relu", relu(scores), (0,)),
            Observed("lv2", "matmul1", relu(scores) @ VALUE, (1,), takes_input=True),
        ]
        found = align(observed, record(self.compute, [QUERY, KEY, VALUE]))
        assert 1 == found.wrong
        assert found.mistake is not None
        assert "other_activation" == found.mistake.kind

    def test_nor_where_it_is_the_result(self) -> None:
        scores = QUERY @ KEY.T
        observed = [
            Observed("lv", "matmul", scores, takes_input=True),
            Observed("lv1", "relu", relu(scores), (0,)),
        ]
        found = align(observed, record(self.compute, [QUERY, KEY, VALUE])).mistake
        assert found is not None
        assert "other_activation" == found.kind

    def test_one_too_many_is_told_to_go_where_the_rest_is_pytorchs(self) -> None:
        def compute() -> torch.Tensor:
            scores = torch.matmul(double(QUERY), double(KEY).mT)
            return torch.matmul(scores, double(VALUE))

        scores = QUERY @ KEY.T
        observed = [
            Observed("lv", "matmul", scores, takes_input=True),
            Observed("lv1", "relu", relu(scores), (0,)),
            Observed("lv2", "matmul1", relu(scores) @ VALUE, (1,), takes_input=True),
        ]
        found = align(observed, record(compute, [QUERY, KEY, VALUE])).mistake
        assert found is not None
        assert "relu_extra" == found.kind
