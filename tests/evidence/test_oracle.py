"""The order in which test images and hidden inputs are met."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from grader.assignment import OracleOptions, PartTable
from grader.data.dataset import DataSet
from grader.evidence.arrangement import Arrangement
from grader.evidence.oracle import ModelOracle
from grader.language import foreign

OPTIONS = OracleOptions(input_shape=(784,), output_shape=(10,))
IMAGES, HIDDEN = 10_000, 256
SEEDS = range(4)


def make(seed: int) -> ModelOracle:
    images = np.zeros((IMAGES, 28, 28), np.uint8)
    data = DataSet(
        "fashion-mnist", foreign("Black pictures."), images, np.zeros(IMAGES, np.uint8), {}
    )
    return ModelOracle(SimpleNamespace(), OPTIONS, data, np.random.default_rng(seed))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def oracles() -> list[ModelOracle]:
    return [make(seed) for seed in SEEDS]


def part(samples: int) -> PartTable:
    return PartTable(
        id="loops", title="Loops", entry_kind="python", entry=("f",), check=(), samples=samples
    )


class TestOrder:
    def test_every_image_and_every_hidden_input_is_met(self, oracles):
        oracle = oracles[0]
        assert (IMAGES + HIDDEN, 784) == oracle.inputs.shape
        assert IMAGES == int(oracle.from_test_set.sum())
        black = ~oracle.inputs.any(axis=1)
        assert (black == oracle.from_test_set).all()

    def test_even_few_samples_are_of_both_kinds(self, oracles):
        for oracle in oracles:
            arrangement = oracle.arrange(part(24), None)
            assert isinstance(arrangement, Arrangement)
            assert 24 == arrangement.samples
            images = int(oracle.from_test_set[:24].sum())
            assert 2 <= images <= 22, "who knows one kind by heart must not be right on all"

    def test_their_order_is_that_of_a_run(self, oracles):
        orders = {oracle.from_test_set.tobytes() for oracle in oracles}
        assert len(SEEDS) == len(orders)
        assert (make(3).inputs == oracles[3].inputs).all()
