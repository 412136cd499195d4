"""Which rounds are dropped: time is never a reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.messages import Block, BlockGroup, ControlRound, TimingRound
from grader.timing.estimate import (
    LEAST_SHARE,
    MOST_SHARE,
    Disturbance,
    find_disturbance,
    split_rounds,
)
from grader.timing.pace import TOLERANCE
from tests.timing.machine import PACE, block, moment, pair, single_round

SECONDS = st.floats(1e-12, 3600.0)


def a_round(place: int, disturbed: Block, steal: int = 0) -> TimingRound:
    """A round at two shapes, one of whose six blocks is given."""
    blocks = [block()] * 6
    blocks[place] = disturbed
    return TimingRound((BlockGroup(*blocks[:3]), BlockGroup(*blocks[3:])), moment(steal=steal))


@given(st.lists(st.tuples(SECONDS, SECONDS, SECONDS), max_size=12))
def test_no_round_is_dropped_for_how_long_it_took(seconds: list[tuple[float, ...]]) -> None:
    rounds = [single_round(*each) for each in seconds]
    assert (tuple(rounds), {}) == split_rounds(rounds, PACE)


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize(
    ("disturbed", "cause"),
    [
        (block(switches=1), "scheduler"),
        (block(share=0.9), "processor"),
        (block(share=1.1), "processor"),
        (block(share=0.0), "processor"),
    ],
)
def test_one_disturbed_block_at_any_shape_is_enough(
    place: int, disturbed: Block, cause: Disturbance
) -> None:
    assert cause == find_disturbance(a_round(place, disturbed), PACE)


def test_steal_disturbs_a_round() -> None:
    assert "steal" == find_disturbance(single_round(steal=1), PACE)


@pytest.mark.parametrize(
    ("probe", "pace", "cause"),
    [
        (PACE, PACE, None),
        (TOLERANCE * PACE, PACE, None),
        (1.2 * PACE, PACE, "neighbour"),
        (1.2 * PACE, 0.0, None),
    ],
)
def test_a_neighbour_is_known_by_the_probe_before_the_round(
    probe: float, pace: float, cause: Disturbance | None
) -> None:
    assert cause == find_disturbance(single_round(probe=probe), pace)


@pytest.mark.parametrize("share", [LEAST_SHARE, 0.99, 1.0, 1.01, MOST_SHARE])
def test_clocks_may_disagree_a_little(share: float) -> None:
    assert find_disturbance(a_round(0, block(share=share)), PACE) is None


def test_the_first_cause_is_counted_and_every_round_once() -> None:
    rounds = [
        a_round(0, block(share=0.5, switches=2), steal=3),
        a_round(1, block(share=0.5), steal=3),
        a_round(2, block(), steal=3),
        a_round(3, block(share=0.5)),
        single_round(),
    ]
    kept, dropped = split_rounds(rounds, PACE)
    assert (rounds[4],) == kept
    assert {"scheduler": 1, "processor": 2, "steal": 1} == dropped


@pytest.mark.parametrize(
    ("control", "cause"),
    [
        (pair(other=block(3600.0)), None),
        (pair(block(switches=1)), "scheduler"),
        (pair(other=block(share=0.5)), "processor"),
        (pair(steal=1), "steal"),
        (pair(probe=1.2 * PACE), "neighbour"),
    ],
)
def test_a_control_is_treated_alike(control: ControlRound, cause: Disturbance | None) -> None:
    assert cause == find_disturbance(control, PACE)
    kept, dropped = split_rounds([control], PACE)
    assert 1 == len(kept) + sum(dropped.values())


def test_of_no_rounds_none_are_kept() -> None:
    assert ((), {}) == split_rounds([], PACE)
