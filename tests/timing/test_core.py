"""When a core was free, by how many units of it were."""

from __future__ import annotations

import numpy as np
import pytest

from grader.timing.core import (
    AFTER,
    BEFORE,
    LOOPS,
    MOST_UNITS,
    free_blocks,
    units_of,
    worse_of_both,
)


def units(*found: float) -> np.ndarray:
    """Looks at a core of which these units were free."""
    chain = np.full(len(found), 3e-10)
    return np.stack([chain, chain / found, chain])


def told(*slices: np.ndarray) -> list[list[bool]]:
    return [
        each.tolist() for each in free_blocks([worse_of_both(units_of(each)) for each in slices])
    ]


def test_a_block_is_free_if_the_core_is_at_both_of_its_ends() -> None:
    assert [[True, False, False, True]] == told(units(3.97, 3.95, 2.5, 3.96, 3.97))


@pytest.mark.parametrize("number", [3, 4, 5, 6, 8])
def test_a_free_core_has_a_whole_number_of_units(number: int) -> None:
    least = 0.99 * number
    assert [[True], [False]] == told(units(least, least), units(0.8 * number, 0.8 * number))


@pytest.mark.parametrize("seed", range(5))
def test_a_core_that_is_shared_all_the_time_is_never_free(seed: int) -> None:
    """Its best moments are no better than 3.6 of 4 units: what counts is not the best of them."""
    found = np.random.default_rng(seed).uniform(2.1, 3.6, 101)
    assert not any(told(units(*found, 3.6))[0])


def test_half_of_four_units_are_no_core_of_two() -> None:
    """A neighbour that always adds leaves as many, now and then more."""
    assert not any(told(units(*[1.8] * 20, 2.0, 2.0))[0])


def test_where_nearly_all_blocks_are_alike_the_core_is_of_a_kind_that_is_not_known() -> None:
    """Units of a processor that are counted otherwise need not be a whole number."""
    assert [[True] * 19 + [False]] == told(units(*[3.4] * 20, 2.2))


def test_a_look_that_was_interrupted_is_beside_two_blocks() -> None:
    seen = units(*[2.0] * 10, 1.5, *[2.0] * 10)
    assert [[True] * 9 + [False] * 2 + [True] * 9] == told(seen)


def test_chains_that_were_both_interrupted_are_no_core_of_a_thousand_units() -> None:
    seen = units(3.97, 3.97)
    seen[[BEFORE, AFTER]] *= 1e9
    assert MOST_UNITS == units_of(seen).max()


def test_the_clock_rate_does_not_matter() -> None:
    assert told(units(3.97, 3.97, 3.0)) == told(2.5 * units(3.97, 3.97, 3.0))


@pytest.mark.parametrize("chain", [BEFORE, AFTER])
def test_a_chain_that_was_interrupted_says_nothing(chain: int) -> None:
    seen = units(3.97, 3.97, 3.97)
    seen[chain, 1] *= 50
    assert [[True, True]] == told(seen)


def test_a_clock_that_does_not_go_on_in_a_look_says_nothing() -> None:
    """Loops that took no time were alike, so each core was free by a clock of milliseconds."""
    seen = np.full((LOOPS, 20), 1e-9) / np.array([[64 * 128], [260 * 128], [64 * 128]])
    assert not any(told(seen)[0])


@pytest.mark.parametrize("loops", [1, 2])
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_clock_rate_that_rises_in_a_look_spoils_no_other(place: int, loops: int) -> None:
    """Four units seemed to be 4.2, so the core was shared in all slices of a measurement."""
    seen = units(3.97, 3.97, 3.97, 3.97, 3.97)
    seen[:loops, place] *= 1.25
    assert all(told(units(*[3.97] * 5), seen)[0])


def test_a_clock_rate_that_changes_all_the_time_is_that_of_each_look() -> None:
    """An Intel core does 3.0, 2.8 or 2.4 GHz after vectors of 512 bits. Compared with the quickest
    chain of a slice few looks had all units, and where the rate rose in some, none had."""
    generator = np.random.default_rng(0)
    slices = [
        units(*[4.91] * 36) * generator.choice([1.0, 1.07, 1.25], 36, p=[0.1, 0.8, 0.1])
        for _ in range(16)
    ]
    for each in slices:
        each[0, generator.integers(36, size=3)] *= 1.07
    assert all(all(each) for each in told(*slices))
