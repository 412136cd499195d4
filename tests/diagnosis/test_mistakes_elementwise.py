"""Means, differences, clamps and activations that are others than PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from grader.diagnosis.align import Observed, align, closest
from grader.diagnosis.layers import Program
from grader.diagnosis.mistakes import LikelyMistake
from grader.diagnosis.mistakes_elementwise import elementwise_mistakes
from grader.diagnosis.report import is_added
from grader.diagnosis.words import tell_change
from grader.evidence.recorder import record

Compute = Callable[..., Any]
X = np.random.default_rng(3).normal(size=(5, 7)).astype(np.float32) + np.float32(0.3)
Y = np.random.default_rng(4).normal(size=(5, 7)).astype(np.float32)
IMAGE = np.random.default_rng(5).normal(size=(1, 2, 6, 6)).astype(np.float32)
KERNEL = torch.tensor(np.random.default_rng(6).normal(size=(3, 2, 3, 3)))


def mistake_of(
    pytorch: Compute, student: Compute, *arguments: Any, dtype: type = np.float32
) -> LikelyMistake | None:
    """Return the mistake of a student's one step beside PyTorch's function."""
    tensors = [torch.tensor(each, dtype=torch.float64) for each in arguments]
    layers = record(lambda: pytorch(*tensors).numpy(), arguments)
    value = student(*tensors).numpy().astype(dtype)
    return align([Observed("y", "f", value, takes_input=True)], layers).mistake


@pytest.mark.parametrize(
    ("pytorch", "student", "found", "wanted"),
    [
        (torch.relu, functional.relu6, "relu6", "relu"),
        (torch.relu, lambda x: functional.leaky_relu(x, 0.01), "leaky_relu (0.01)", "relu"),
        (lambda x: x * torch.sigmoid(x), functional.gelu, "gelu", "silu"),
        (functional.silu, torch.sigmoid, "sigmoid", "silu"),
        (functional.gelu, functional.silu, "silu", "gelu"),
        (functional.silu, lambda x: x * torch.tanh(x), "x * tanh(x)", "silu"),
        (lambda x: x * torch.sigmoid(x), functional.mish, "mish", "silu"),
    ],
)
def test_another_activation_is_named_with_the_one_that_is_meant(
    pytorch: Compute, student: Compute, found: str, wanted: str
) -> None:
    mistake = mistake_of(lambda x: pytorch(5 * x), lambda x: student(5 * x), X)
    assert mistake is not None
    assert ("other_activation", found, wanted) == (
        mistake.kind,
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


def test_another_activation_in_two_layers_is_one_change_after_the_other() -> None:
    """What the second one takes has the first one's numbers: a pass rewrites both."""
    silu = lambda x: x * torch.sigmoid(x)  # noqa: E731
    tensor = torch.tensor(X, dtype=torch.float64)
    program = Program(record(lambda: silu(silu(tensor) - 1).numpy(), [X]))
    last = len(program.layers) - 1
    (one,) = (
        each
        for each in elementwise_mistakes(program, last)
        if each.facts.get("found") == "gelu" and each.facts["wanted"] == "silu"
    )
    given = [2 * each.value for each in program.layers[last].operation.operands]
    assert torch.equal(functional.gelu(given[0]), one.computes[last](*given))


def test_the_sigmoid_within_a_silu_is_not_what_was_meant() -> None:
    """Two of them in a row: neither is borne out by what comes after the other."""
    silu = lambda x: x * torch.sigmoid(x)  # noqa: E731
    tensor = torch.tensor(X, dtype=torch.float64)
    layers = record(lambda: silu(silu(tensor)).numpy(), [X])
    first = functional.gelu(tensor)
    steps = [
        Observed("a", "gelu", first.numpy().astype(np.float32), takes_input=True),
        Observed("b", "gelu", functional.gelu(first).numpy().astype(np.float32), takes=(0,)),
    ]
    mistake = align(steps, layers).mistake
    assert mistake is not None
    assert ("gelu", "silu") == (mistake.facts["found"], mistake.facts["wanted"])


@pytest.mark.parametrize(
    ("student", "kind", "facts"),
    [
        (lambda x: x - x.mean(0, keepdim=True), "mean_axis", {"found": 0, "wanted": 1}),
        (lambda x: x - x.sum(1, keepdim=True), "sum_for_mean", {"takes": "mean"}),
        (lambda x: x + x.mean(1, keepdim=True), "added", {}),
        (lambda x: x.mean(1, keepdim=True) - x, "exchanged", {}),
    ],
)
def test_a_mean_that_is_taken_off_otherwise(
    student: Compute, kind: str, facts: dict[str, Any]
) -> None:
    mistake = mistake_of(lambda x: x - x.mean(1, keepdim=True), student, X)
    assert mistake is not None
    assert kind == mistake.kind
    assert facts == dict(mistake.facts)


def test_axes_are_those_of_a_case() -> None:
    """PyTorch's function has all cases at once; the student's has one."""
    layers = record(
        lambda: (lambda x: x - x.mean(2, keepdim=True))(torch.tensor(X[None])).numpy(), [X[None]]
    )
    layers = tuple(each._replace(value=each.value[0]) for each in layers)
    value = X - X.mean(0, keepdims=True)
    mistake = align([Observed("y", "f", value, takes_input=True)], layers).mistake
    assert mistake is not None
    assert (0, 1) == (mistake.facts["found"], mistake.facts["wanted"])


@pytest.mark.parametrize(
    "student",
    [
        lambda x: functional.rms_norm(x - x.mean(-1, keepdim=True), (7,)),
        lambda x: functional.rms_norm(x, (7,)) / x * (x - x.mean(-1, keepdim=True)),
    ],
)
def test_half_a_layer_norm(student: Compute) -> None:
    mistake = mistake_of(lambda x: functional.rms_norm(x, (7,)), student, X)
    assert mistake is not None
    assert "mean_taken_off" == mistake.kind


def test_a_sum_of_squares_that_is_not_divided() -> None:
    """All numbers are off by the same factor, which nobody finds in the code."""
    mistake = mistake_of(
        lambda x: functional.rms_norm(x, (7,), eps=0.1),
        lambda x: x / torch.sqrt((x * x).sum(1, keepdim=True) + 0.1),
        X,
    )
    assert mistake is not None
    assert "sum_for_mean" == mistake.kind


@pytest.mark.parametrize(
    ("student", "facts"),
    [
        (lambda x: x.clamp(-127, 127), {"found": "-127 to 127"}),
        (lambda x: (x + 128).clamp(0, 255), {"found": "0 to 255"}),
        (
            lambda x: (x - 128).clamp(-128, 127),
            {"found": "0 to 255", "moved": "moved", "shift": -128},
        ),
    ],
)
def test_another_range(student: Compute, facts: dict[str, Any]) -> None:
    whole = np.round(X * 200)
    mistake = mistake_of(lambda x: x.clamp(-128, 127), student, whole, dtype=np.int16)
    assert mistake is not None
    assert ("clamp_range", facts) == (mistake.kind, dict(mistake.facts))


def test_a_rotation_that_goes_backwards() -> None:
    """The sines are an argument; two operations take them."""

    def turned(x: Any, s: Any) -> Any:
        s = s[:, :]
        return torch.cat([x - 2 * s, x * s], 1)

    mistake = mistake_of(turned, lambda x, s: turned(x, -s), X, Y)
    assert mistake is not None
    assert ("negated", 2) == (mistake.kind, mistake.facts["argument"])


@pytest.mark.parametrize("pads", [(2, 0, 2, 0), (0, 2, 0, 2)])
def test_padding_on_one_side(pads: tuple[int, ...]) -> None:
    mistake = mistake_of(
        lambda x: functional.conv2d(x, KERNEL, padding=1),
        lambda x: functional.conv2d(functional.pad(x, pads), KERNEL),
        IMAGE,
    )
    assert mistake is not None
    assert ("padding_one_side", 1) == (mistake.kind, mistake.facts["wanted"])


def test_parameters_that_are_read_backwards() -> None:
    weight = torch.tensor(np.random.default_rng(7).normal(size=(4, 7)))
    bias = torch.tensor(np.random.default_rng(8).normal(size=4))
    mistake = mistake_of(
        lambda x: functional.linear(x, weight, bias),
        lambda x: functional.linear(x, weight.flip(0), bias.flip(0)),
        X,
    )
    assert mistake is not None
    assert "reversed" == mistake.kind


def test_what_is_joined_in_another_order_is_held_against_pytorchs_cat() -> None:
    tensors = [torch.tensor(each, dtype=torch.float64) for each in (X, Y)]
    layers = record(lambda: torch.cat(tensors).numpy(), [X, Y])
    joined = np.concatenate([Y, X])
    alignment = align([Observed("y", "f", joined, takes_input=True)], layers)
    assert alignment.expected is not None
    assert "cat" == layers[alignment.expected].name


def test_a_factor_that_is_left_out_comes_before_another_operand() -> None:
    """Of `b - m * s` without `s`: that its first step takes another argument says nothing."""
    mistake = mistake_of(lambda x, y: x - x.abs() * y, lambda x, _: x - x.abs(), X, Y)
    assert mistake is not None
    assert ("layer_left_out", "mul") == (mistake.kind, mistake.layer)


@pytest.mark.parametrize(
    ("scaled", "told"),
    [
        (lambda x: x.sin() * 0.25, {"of": "factor", "wanted": 0.25}),
        (lambda x: x.sin() / 4, {"of": "division", "wanted": 4.0}),
        (lambda x: x.sin() + 0.5, {"of": "addition", "wanted": 0.5}),
        (lambda x: x.sin() * x, {}),
    ],
)
def test_of_a_factor_that_is_left_out_it_is_told_how_much_it_is(scaled: Any, told: Any) -> None:
    """`Add mul here` does not say by what: scores are divided by a root, a norm has an epsilon."""
    mistake = mistake_of(lambda x: scaled(x).exp(), lambda x: x.sin().exp(), X)
    assert mistake is not None
    assert "layer_left_out" == mistake.kind
    assert pytest.approx(told) == dict(mistake.facts)


@pytest.mark.parametrize("layer", [torch.sqrt, torch.log, lambda x: torch.log_softmax(x, 0)])
def test_what_differs_by_one_number_here_is_no_addition(layer: Any) -> None:
    """Who left the root of a sum of squares out was told to add -10.38."""
    mistake = mistake_of(lambda x: layer(squares(x)), squares, X[0])
    assert mistake is not None
    assert ("layer_left_out", None) == (mistake.kind, mistake.facts.get("of"))


def test_a_layer_that_takes_no_ones_is_left_out_too() -> None:
    """A matrix of ones has no inverse: nothing at all was told."""
    square = X.T @ X + np.eye(7, dtype=np.float32)
    mistake = mistake_of(lambda x: x.cosh().inverse().exp(), lambda x: x.cosh().exp(), square / 9)
    assert mistake is not None
    assert "layer_left_out" == mistake.kind


def squares(x: Any) -> Any:
    """Return the squares' sum, three times."""
    return (x * x).sum().repeat(3)


def test_of_a_factor_that_is_left_out_at_the_end_too() -> None:
    layers = record(lambda: (torch.tensor(X).double().sin() * 0.25).numpy(), [X])
    steps = [Observed("y", "f", np.sin(X), takes_input=True)]
    mistake = align(steps, layers).mistake
    assert mistake is not None
    assert ("factor", 0.25) == (mistake.facts["of"], mistake.facts["wanted"])


def turned(x: Any, cos: Any, sin: Any) -> Any:
    """Turn each pair of the first and the second half by an angle: a rotary embedding."""
    left, right = x[..., :4], x[..., 4:]
    return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)


def turned_neighbours(x: Any, cos: Any, sin: Any) -> Any:
    left, right = x[..., 0::2], x[..., 1::2]
    pairs = [left * cos - right * sin, right * cos + left * sin]
    return torch.stack(pairs, dim=-1).flatten(-2)


@pytest.mark.parametrize("cases", [False, True])
def test_neighbours_that_are_turned_in_place_of_halves_are_told(*, cases: bool) -> None:
    """Half of the models do it so; its author was told to compare with cat."""
    x, angle = np.linspace(-3, 2, 48).reshape(6, 8) ** 3, np.linspace(0, 5, 24).reshape(6, 4)
    given = [x, np.cos(angle), np.sin(angle)]

    def of_each(*arguments: Any) -> Any:
        """An oracle's function takes cases."""
        return torch.stack([turned(*each) for each in zip(*arguments, strict=True)])

    if cases:
        given = [each[None] for each in given]
    pytorch = of_each if cases else turned
    mistake = mistake_of(pytorch, turned_neighbours, *given)
    assert mistake is not None
    assert ("operands_swapped", "cat") == (mistake.kind, mistake.layer)
    assert {"of": "neighbours", "distance": 4} == dict(mistake.facts)
    what, advice = tell_change(mistake.kind, mistake.facts)
    assert "it pairs each number with its neighbour" in what.english
    assert "Pair number j with number j + 4 of the axis." == advice.english


def test_what_is_joined_in_the_reverse_order() -> None:
    mistake = mistake_of(lambda x, y: torch.cat([x, y]), lambda x, y: torch.cat([y, x]), X, Y)
    assert mistake is not None
    assert ("operands_swapped", "joined") == (mistake.kind, mistake.facts["of"])


def test_a_vector_that_is_read_with_the_index_of_the_row() -> None:
    vector = Y[0]
    mistake = mistake_of(lambda x, m: x * m, lambda x, m: x * m[:5, None], X, vector)
    assert mistake is not None
    assert ("added_to_columns", "vector") == (mistake.kind, mistake.facts["of"])


def test_a_relu_of_every_term_of_a_product() -> None:
    weight = torch.tensor(np.random.default_rng(7).normal(size=(7, 4)))
    mistake = mistake_of(
        lambda x: torch.relu(x @ weight),
        lambda x: torch.relu(x[:, :, None] * weight).sum(1),
        X,
    )
    assert mistake is not None
    assert ("relu_in_every_round", "terms") == (mistake.kind, mistake.facts["of"])


SCORES = X * np.array([1, 1, 300, 1, 1], np.float32)[:, None]


@pytest.mark.parametrize(
    "student",
    [
        lambda x: np.exp(x),
        lambda x: np.exp(x) * np.float32(1 + 3e-6),  # another library's last digits
        lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
    ],
)
def test_exponentials_that_overflow(student: Compute) -> None:
    layers = record(lambda: torch.softmax(torch.tensor(SCORES).double(), 1).numpy(), [SCORES])
    with np.errstate(over="ignore", invalid="ignore"):
        value = student(SCORES)
    mistake = align([Observed("y", "f", value, takes_input=True)], layers).mistake
    assert mistake is not None
    assert ("overflows", "exponential") == (mistake.kind, mistake.facts["of"])


def test_squares_that_overflow() -> None:
    large = X * np.array([1, 1, 1e25, 1, 1], np.float32)[:, None]
    tensor = torch.tensor(large).double()
    layers = record(lambda: functional.rms_norm(tensor, (7,)).numpy(), [large])
    with np.errstate(over="ignore", invalid="ignore"):
        value = large / np.sqrt((large * large).mean(1, keepdims=True))
    mistake = align([Observed("y", "f", value, takes_input=True)], layers).mistake
    assert mistake is not None
    assert ("overflows", "square") == (mistake.kind, mistake.facts["of"])


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_a_bias_that_is_added_behind_all_that_follows(dtype: type) -> None:
    """Its author was told that an operand is missing, and had it twice after adding it."""
    bias = torch.tensor(np.round(Y[0] * 90)).double()
    given = np.round(X * 100)
    tensor = torch.tensor(given).double()

    def scaled(x: Any) -> Any:
        return (x * 2 - 3).clamp(-128, 127)

    layers = record(lambda: scaled(tensor + bias).numpy(), [given])
    first = scaled(tensor)
    steps = [
        Observed("a", "scaled", first.numpy().astype(dtype), takes_input=True),
        Observed("b", "add", (first + bias).numpy().astype(np.int64).astype(dtype), takes=(0,)),
    ]
    mistake = align(steps, layers).mistake
    assert mistake is not None
    assert ("order_swapped", ("add", "clamp")) == (mistake.kind, mistake.facts["layers"])
    # To exchange the two leaves the sum behind the product.
    assert ("late", "mul") == (mistake.facts["part"], mistake.facts["wanted"])


@pytest.mark.parametrize(
    ("pytorch", "student", "of", "found", "wanted"),
    [
        (lambda x: x / math.sqrt(8), lambda x: x / 8, "division", 8, math.sqrt(8)),
        (lambda x: x / math.sqrt(8), lambda x: x * 3, "multiplied", 3, math.sqrt(8)),
        (lambda x: 0.7 * x, lambda x: 0.49 * x, "factor", 0.49, 0.7),
        (lambda x: x * 1.4, lambda x: x * 0.3, "factor", 0.3, 1.4),
    ],
)
def test_a_wrong_factor_is_named_and_is_no_layer_done_twice(
    pytorch: Compute, student: Compute, of: str, found: float, wanted: float
) -> None:
    """8 is the square of PyTorch's divisor: nobody divided twice."""
    mistake = mistake_of(pytorch, student, X)
    assert mistake is not None
    assert ("scaled", of) == (mistake.kind, mistake.facts["of"])
    assert pytest.approx((found, wanted), rel=1e-4) == (
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


def test_a_division_that_is_a_step_of_its_own_is_done_twice() -> None:
    tensor = torch.tensor(X, dtype=torch.float64)
    layers = record(lambda: torch.tanh(tensor / 3).numpy(), [X])
    values = [X / 3, X / 9, np.tanh(X / 9)]
    steps = [
        Observed(f"lv{at}", "f", each.astype(np.float32), (at - 1,) if at else (), at == 0)
        for at, each in enumerate(values)
    ]
    found = align(steps, layers)
    assert found.mistake is not None
    assert (1, "layer_repeated") == (found.wrong, found.mistake.kind)


@pytest.mark.parametrize(
    ("student", "kind", "found"),
    [
        (lambda x: x - x.sum(0, keepdim=True) / 7, "sum_for_mean", 7),
        (lambda x: x - x.amax(0, keepdim=True) / 5, "largest_for_sum", "largest"),
        (lambda x: x - x.amin(0, keepdim=True) / 5, "largest_for_sum", "smallest"),
    ],
)
def test_what_a_mean_adds_up_or_divides_by_is_named(
    student: Compute, kind: str, found: Any
) -> None:
    mistake = mistake_of(lambda x: x - x.mean(0, keepdim=True), student, X)
    assert mistake is not None
    assert (kind, found) == (mistake.kind, mistake.facts["found"])


def test_a_function_of_several_layers_is_the_one_whose_relu_is_missing() -> None:
    """`te_dense_relu` without its ReLU is to be mended, and not what takes its result."""
    weight, row = np.asarray(Y.T[:, :3]), np.asarray(Y[0, :3])
    tensors = [torch.tensor(each, dtype=torch.float64) for each in (X, weight, row)]

    def pytorch(x: Any, w: Any, b: Any) -> Any:
        positive = torch.relu(torch.matmul(x, w) + b[None, :])
        return (positive - positive.mean(0, keepdim=True)).numpy()

    layers = record(lambda: pytorch(*tensors), [X, weight, row])
    first = X @ weight + row
    values = [first, first - first.mean(0)]
    steps = [
        Observed(f"lv{at}", "f", each.astype(np.float32), (0,) if at else (), at == 0)
        for at, each in enumerate(values)
    ]
    found = align(steps, layers)
    assert found.mistake is not None
    assert (0, "relu_missing") == (found.wrong, found.mistake.kind)


def test_of_whole_numbers_off_by_one_is_wrong_where_nothing_else_is() -> None:
    x = np.arange(1, 36, dtype=np.int32).reshape(5, 7) * 1_000_000
    tensor = torch.tensor(x, dtype=torch.float64)
    layers = record(lambda: torch.neg(tensor).numpy(), [x])
    for value, dtype, wrong in ((1 - x, np.int32, 0), (-x, np.int32, None), (1 - x, float, None)):
        steps = [Observed("C", "f", value.astype(dtype), takes_input=True)]
        found, tolerance = closest(steps, layers)
        assert wrong == found.wrong
        assert (dtype is np.int32) == (tolerance < 1e-9)


def test_an_activation_of_another_value_is_named_with_both() -> None:
    """`silu(sigmoid(x))`: both operands of PyTorch's product are others."""
    tensor = torch.tensor(X, dtype=torch.float64)
    silu = lambda x: x * torch.sigmoid(x)  # noqa: E731
    layers = record(lambda: (silu(3 * tensor) - 1).numpy(), [X])
    threefold = 3 * tensor
    sigmoid = torch.sigmoid(threefold)
    values = [threefold, sigmoid, functional.silu(sigmoid)]
    steps = [
        Observed(f"lv{at}", "f", each.numpy().astype(np.float32), (at - 1,) if at else (), at == 0)
        for at, each in enumerate(values)
    ]
    mistake = align(steps, layers).mistake
    assert mistake is not None
    assert ("other_operand", "sigmoid", "mul") == (
        mistake.kind,
        mistake.facts["taken"],
        mistake.facts["wanted"],
    )


def in_a_row(*values: Any) -> list[Observed]:
    """Return steps that each take the one before, the first one the input."""
    return [
        Observed(f"lv{at}", "f", each.numpy().astype(np.float32), (at - 1,) if at else (), at == 0)
        for at, each in enumerate(values)
    ]


def test_a_relu_before_a_layer_with_a_bias_is_exchanged_with_it() -> None:
    """It changes nothing there, of what a ReLU gave: it does not seem to be left out alone."""
    x, w, b = (torch.tensor(each, dtype=torch.float64) for each in (X, Y[:3], Y[0, :3]))

    def pytorch() -> Any:
        hidden = torch.relu(functional.linear(torch.relu(x), w, b))
        return functional.linear(hidden, w.T).numpy()

    first = torch.relu(x)
    second = functional.linear(first, w, b)
    found = align(
        in_a_row(first, first, second, functional.linear(second, w.T)), record(pytorch, [X])
    )
    assert found.mistake is not None
    assert (1, "order_swapped") == (found.wrong, found.mistake.kind)
    assert ("linear", "relu") == found.mistake.facts["layers"]


def test_a_step_behind_which_several_layers_are_missing_is_no_step_of_its_own() -> None:
    """PyTorch's softmax is not applied to what the student's takes: a layer stands between."""
    x, w = (torch.tensor(each, dtype=torch.float64) for each in (X, Y[:3]))
    layers = record(lambda: torch.softmax(functional.linear(torch.tanh(x), w), 1).numpy(), [X])
    first = torch.tanh(x)
    steps = in_a_row(first, torch.softmax(first, 1))
    assert not is_added(steps, layers, align(steps, layers))
    steps = in_a_row(first, first * first, functional.linear(first * first, w))
    assert is_added(steps, layers, align(steps, layers))


def test_an_argument_of_which_the_course_takes_case_by_case_is_another_operand() -> None:
    """A cell without its reset gate multiplies the state, which is a row of an argument there."""
    batch = X[None, :, :5], Y[None, :, :5], X[None, :5, :5]
    mistake = mistake_of(
        lambda *cases: torch.stack([(x.sigmoid() * h) @ u for x, h, u in zip(*cases, strict=True)]),
        lambda _x, h, u: h @ u,
        *batch,
    )
    assert mistake is not None
    assert ("other_operand", {"taken_argument": 2, "result": "mul"}) == (
        mistake.kind,
        {name: mistake.facts[name] for name in ("taken_argument", "result")},
    )
