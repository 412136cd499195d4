"""Random numbers are a test's own, whatever ran before it."""

import numpy as np
import pytest

from tests.seeded import seeded

NUMBERS = seeded(1)
FIRST = np.random.default_rng(1).random()


@pytest.fixture(scope="module")
def drawn() -> float:
    return NUMBERS.random()


def test_a_test_leaves_its_generator_wherever_it_is() -> None:
    assert FIRST == NUMBERS.random()


def test_a_fixture_of_a_module_draws_the_first_numbers(drawn: float) -> None:
    """It is made before the fixtures of its test: it went on where the test before had ended."""
    assert FIRST == drawn
