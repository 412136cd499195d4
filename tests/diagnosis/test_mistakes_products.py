"""What goes wrong in products of matrices and in sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from grader.diagnosis.align import Observed, align
from grader.diagnosis.mistakes import LikelyMistake, recognise
from grader.diagnosis.mistakes_numbers import WrongValue
from grader.diagnosis.words import tell_change
from grader.evidence.recorder import record
from tests.diagnosis.network import (
    double,
    noise,
    relu,
)


def terms(a: Any, operator: Callable[[Any, Any], Any], b: Any) -> Any:
    """Return what the sums of a product would add up, along the axis before the last."""
    return operator(a[..., :, None], b[..., None, :, :])


class TestProducts:
    a, b = noise(3, 6, 6), noise(3, 6, 6)

    def mistake(self, value: Any) -> LikelyMistake | None:
        layers = record(
            lambda: torch.bmm(double(self.a), double(self.b)).relu().numpy(), [self.a, self.b]
        )
        return align([Observed("Y", "f", value, (), takes_input=True)], layers).mistake

    @pytest.mark.parametrize(
        ("kind", "facts", "compute"),
        [
            ("transposed", {"operand": "second"}, lambda a, b: a @ b.transpose(0, 2, 1)),
            ("transposed", {"operand": "first"}, lambda a, b: a.transpose(0, 2, 1) @ b),
            ("operands_swapped", {}, lambda a, b: b @ a),
            ("result_transposed", {}, lambda a, b: (a @ b).transpose(0, 2, 1)),
            ("index_fixed", {"operand": "second"}, lambda a, b: a @ b[:1]),
            ("index_fixed", {"operand": "first"}, lambda a, b: a[:1] @ b),
            ("index_fixed", {"operand": "term", "index": 0}, lambda a, b: every_row(a, b, 0)),
            ("index_fixed", {"operand": "second_item"}, lambda a, b: every_column(a, b, 5)),
            ("index_fixed", {"operand": "first_item"}, lambda a, b: a[:, :1].repeat(6, 1) @ b),
            ("initialised_in_every_round", {}, lambda a, b: a[..., -1:] @ b[:, -1:]),
            ("reduction_too_short", {"found": 5}, lambda a, b: a[..., :-1] @ b[:, :-1]),
            ("wrong_terms", {"found": "x + w"}, lambda a, b: terms(a, np.add, b).sum(-2)),
            ("wrong_terms", {"found": "x - w"}, lambda a, b: terms(a, np.subtract, b).sum(-2)),
            ("wrong_terms", {"found": "x / w"}, lambda a, b: terms(a, np.divide, b).sum(-2)),
            ("wrong_terms", {"found": "w"}, lambda a, b: (0 * a + 1) @ b),
            (
                "largest_for_sum",
                {"found": "largest"},
                lambda a, b: terms(a, np.multiply, b).max(-2),
            ),
            ("bias_extra", {"amount": -1.0}, lambda a, b: a @ b - 1),
        ],
    )
    def test_of_several_matrices(
        self, kind: str, facts: dict[str, Any], compute: Callable[[Any, Any], Any]
    ) -> None:
        found = self.mistake(relu(compute(self.a, self.b)))
        assert found is not None
        assert kind == found.kind
        assert facts.items() <= {**found.facts}.items()
        assert "bmm" == found.layer

    def test_the_first_matrix_as_it_is(self) -> None:
        found = self.mistake(self.a)
        assert found is not None
        assert ("input_returned", {"argument": 0}) == (found.kind, found.facts)

    def test_a_result_that_nothing_explains_is_held_against_the_output(self) -> None:
        def compute() -> Any:
            return torch.bmm(double(self.a), double(self.b)).relu().numpy()

        layers = record(compute, [self.a, self.b])
        other = noise(3, 3, 6, 6)[2]  # neither `a` nor `b`, which are drawn first
        alignment = align([Observed("Y", "f", other, (), takes_input=True)], layers)
        assert alignment.expected is not None
        assert (None, "relu") == (alignment.mistake, layers[alignment.expected].name)

    def test_without_the_relu(self) -> None:
        found = self.mistake(self.a @ self.b)
        assert found is not None
        assert ("relu_missing", "relu") == found[:2]


def every_row(a: Any, b: Any, row: int) -> Any:
    """Multiply with one row of `b` in place of all."""
    return a @ b[:, [row] * b.shape[1]]


def every_column(a: Any, b: Any, column: int) -> Any:
    """Multiply with one column of `b` in place of all."""
    return a @ b[:, :, [column] * b.shape[2]]


class TestLoops:
    """What is done within the loop of a sum, and belongs after it."""

    x, weight, bias = noise(3, 20), noise(5, 20), noise(5)

    def mistake(self, value: Any) -> LikelyMistake | None:
        def compute() -> Any:
            layer = nn.functional.linear(double(self.x), double(self.weight), double(self.bias))
            return torch.relu(layer).numpy()

        layers = record(compute, [self.x])
        return align([Observed("Y", "f", value, (), takes_input=True)], layers).mistake

    def test_a_bias_alone(self) -> None:
        found = self.mistake(np.broadcast_to(self.bias, (3, 5)).copy())
        assert ("operand_missing", "linear", {"operand": "product"}) == found[:3]

    def test_a_last_term_of_zeros_is_no_sum_that_begins_anew(self) -> None:
        """One term that is 0 is the bias alone, too: which of the two it is cannot be known."""
        x = self.x.copy()
        x[:, -1] = 0
        bias = np.broadcast_to(self.bias, (3, 5)).copy()
        layers = record(
            lambda: nn.functional.linear(double(x), double(self.weight), double(self.bias)), [x]
        )
        found = recognise(WrongValue(bias), layers)
        assert found is not None
        assert "operand_missing" == found.kind

    def test_one_row_of_the_weight_for_all_columns(self) -> None:
        found = self.mistake(relu(self.x @ self.weight[[4] * 5].T + self.bias))
        assert found is not None
        assert ("index_fixed", {"operand": "weight", "index": 4}) == (found.kind, found.facts)

    def test_one_number_of_the_input_for_every_term(self) -> None:
        found = self.mistake(relu(self.x[:, [0] * 20] @ self.weight.T + self.bias))
        assert found is not None
        assert ("index_fixed", {"operand": "term", "index": 0}) == (found.kind, found.facts)

    def test_a_bias_that_is_added_with_every_term(self) -> None:
        found = self.mistake(relu(self.x @ self.weight.T + 20 * self.bias))
        assert found is not None
        assert ("bias_in_every_round", "linear", {"rounds": 20}) == found[:3]

    def test_a_relu_that_is_taken_after_every_term(self) -> None:
        total = np.zeros((3, 5))
        for term in range(20):
            total = relu(total + np.outer(self.x[:, term], self.weight[:, term]))
        found = self.mistake(relu(total + self.bias))
        assert found is not None
        assert ("relu_in_every_round", "linear") == found[:2]


class TestSums:
    a, b = np.arange(16).reshape(1, 4, 4), np.array([[3, 5, 9, 17]])
    x, y = noise(5, 6), noise(5, 6)

    def test_a_vector_added_to_columns(self) -> None:
        def compute() -> Any:
            return (torch.tensor(self.a) + torch.tensor(self.b)[:, None]).numpy()

        layers = record(compute, [self.a, self.b])
        value = self.a[0] + self.b[0][:, None]
        mistake = align([Observed("C", "add", value, (), takes_input=True)], layers).mistake
        assert mistake is not None
        assert ("added_to_columns", "add") == mistake[:2]

    def test_one_number_of_the_vector_for_all(self) -> None:
        def compute() -> Any:
            return (torch.tensor(self.a) + torch.tensor(self.b)[:, None]).numpy()

        layers = record(compute, [self.a, self.b])
        value = self.a[0] + self.b[0, 1]
        mistake = align([Observed("C", "add", value, (), takes_input=True)], layers).mistake
        assert mistake is not None
        assert ("index_fixed", {"operand": "second_item", "index": 1}) == (
            mistake.kind,
            mistake.facts,
        )

    @pytest.mark.parametrize(
        ("kind", "facts", "compute"),
        [
            ("operand_missing", {"operand": "second"}, lambda x, y: np.exp(x)),
            ("operand_missing", {"operand": "first"}, lambda x, y: y),
            ("operand_twice", {"operand": "first"}, lambda x, y: 2 * np.exp(x)),
            ("operand_twice", {"operand": "second"}, lambda x, y: 2 * y),
            ("subtracted", {}, lambda x, y: np.exp(x) - y),
            ("multiplied", {}, lambda x, y: np.exp(x) * y),
        ],
    )
    def test_of_two_tensors(
        self, kind: str, facts: dict[str, Any], compute: Callable[[Any, Any], Any]
    ) -> None:
        layers = record(lambda: torch.exp(double(self.x)) + double(self.y), [self.x, self.y])
        found = recognise(WrongValue(compute(self.x, self.y)), layers)
        assert found is not None
        assert kind == found.kind
        assert facts.items() <= {**found.facts}.items()

    def test_another_value_than_the_right_one(self) -> None:
        weight = noise(6, 6)

        def compute() -> Any:
            one, other = torch.exp(double(self.x)), torch.sin(double(self.y))
            return torch.matmul(one, double(weight)) + other

        found = recognise(
            WrongValue(np.sin(self.y) @ weight, right=(0, 1)), record(compute, [self.x, self.y])
        )
        assert found is not None
        assert ("other_operand", {"taken": "sin", "wanted": "exp"}) == (found.kind, found.facts)

    def test_an_argument_for_the_result_of_a_layer(self) -> None:
        def compute() -> Any:
            return torch.exp(double(self.x)) * torch.sin(double(self.y))

        found = recognise(
            WrongValue(np.exp(self.x) * self.y, right=(0, 1)), record(compute, [self.x, self.y])
        )
        assert found is not None
        assert ("other_operand", 2, "sin") == (
            found.kind,
            found.facts["taken_argument"],
            found.facts["result"],
        )
        told = tell_change(found.kind, {**found.facts, "layer": found.layer})
        reason = "it uses argument 2 of the function; it should use the result of sin"
        assert reason == told[0].english

    def test_another_argument_than_the_right_one(self) -> None:
        given = [noise(4, 6), noise(6, 5), noise(6, 5) + 1]

        def compute() -> Any:
            one, first, other = map(double, given)
            total = first.sum()
            return torch.relu(one @ other) + total

        found = recognise(WrongValue(given[0] @ given[1]), record(compute, given))
        assert found is not None
        assert "other_operand" == found.kind
        assert (2, 3) == (found.facts["taken_argument"], found.facts["wanted_argument"])
        told = tell_change(found.kind, {**found.facts, "layer": found.layer})
        assert "it uses argument 2 of the function; it should use argument 3" == told[0].english

    def test_the_parameter_of_another_layer(self) -> None:
        one, other = noise(6, 6), noise(6, 6)

        def compute() -> Any:
            return torch.matmul(
                torch.relu(torch.matmul(double(self.x), double(one))), double(other)
            )

        found = recognise(
            WrongValue(relu(self.x @ one) @ one, right=(1,)), record(compute, [self.x])
        )
        assert found is not None
        assert ("constant_swapped", "matmul") == found[:2]

    def test_the_first_numbers_of_a_longer_bias_of_another_layer(self) -> None:
        """A loop over the outputs reads no more of it, and nothing fails."""
        weights, biases = (noise(8, 6), noise(3, 8)), (noise(8), noise(3))

        def compute() -> Any:
            x = double(self.x)
            for weight, bias in zip(weights, biases, strict=True):
                x = nn.functional.linear(x.relu(), double(weight), double(bias))
            return x

        hidden = relu(relu(self.x) @ weights[0].T + biases[0])
        found = recognise(
            WrongValue(hidden @ weights[1].T + biases[0][:3]), record(compute, [self.x])
        )
        assert found is not None
        assert ("constant_swapped", "linear") == found[:2]


class TestCentred:
    """A mean over the rows is taken away: a vector that depends on the input."""

    x = noise(3, 20)

    def mistake(self, value: Any) -> LikelyMistake | None:
        x = double(self.x)
        layers = record(lambda: (x.relu() - x.relu().mean(0)).numpy(), [self.x])
        return align([Observed("Y", "f", value, (), takes_input=True)], layers).mistake

    def test_another_mean_is_no_vector_too_many(self) -> None:
        assert self.mistake(relu(self.x) - relu(self.x).sum(0) / 8) is None

    def test_no_mean_at_all_is_seen(self) -> None:
        found = self.mistake(relu(self.x))
        assert found is not None
        assert "layer_left_out" == found.kind


@pytest.mark.parametrize(
    ("added", "operand"), [(0, "second_swallowed"), (1, "second_swallowed"), (2, "")]
)
def test_an_operand_that_a_quotient_swallows_is_not_said_to_be_missing(
    added: int, operand: str
) -> None:
    """`(x + 1) >> 20` gives what `x >> 20` does: whether 1 is added or nothing is not seen."""
    x = (np.random.default_rng(7).integers(-2000, 2000, (5, 7)) * 2**18).astype(np.int64)
    half = np.full((5, 7), 2**19)
    tensor, other = double(x), double(half)
    layers = record(lambda: torch.floor((tensor + other) / 2**20).numpy(), [x, half])
    value = np.floor((x + (added if added < 2 else 2**20)) / 2**20).astype(np.int32)
    found = align([Observed("y", "f", value, takes_input=True)], layers).mistake
    assert operand == ("" if found is None else found.facts.get("operand", ""))


def test_an_operand_that_shows_is_missing() -> None:
    x, y = noise(3, 6), noise(3, 6)
    layers = record(lambda: (double(x) + double(y)).relu().numpy(), [x, y])
    found = align([Observed("y", "f", relu(x), takes_input=True)], layers).mistake
    assert found is not None
    assert ("operand_missing", "second") == (found.kind, found.facts["operand"])
