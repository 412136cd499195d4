"""An advice is tried: with its change taken back, all the rest of the module is PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from grader.diagnosis.align import Alignment, Observed, align
from grader.evidence.operations import Layer
from grader.evidence.recorder import record
from tests.diagnosis.network import double, noise, relu, softmax

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
        assert found.mistake is None

    def test_nor_where_it_is_the_result(self) -> None:
        scores = QUERY @ KEY.T
        observed = [
            Observed("lv", "matmul", scores, takes_input=True),
            Observed("lv1", "relu", relu(scores), (0,)),
        ]
        assert align(observed, record(self.compute, [QUERY, KEY, VALUE])).mistake is None

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
