"""From a share of the reference's speed to points: no steps, no cliffs, nothing for a slowdown."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.measurement.points import Anchors, speed_fraction

REFERENCE = 4.0
PLAIN = Anchors(full_at=0.9)
BONUS = Anchors(full_at=0.9, stretch=1.5, bonus=0.2)

shares = st.floats(-3.0, 5.0)
anchors = st.builds(
    Anchors,
    full_at=st.floats(0.5, 1.0),
    stretch=st.floats(0.5, 4.0),
    bonus=st.floats(0.0, 0.5),
)
references = st.floats(1.1, 100.0)


def stretched(times: float) -> float:
    """Return the share of a function that is so many times as fast as the reference."""
    return 1.0 + math.log(times) / math.log(REFERENCE)


@pytest.mark.parametrize(
    ("share", "fraction"),
    [(-2.0, 0.0), (0.0, 0.0), (0.45, 0.5), (0.9, 1.0), (1.0, 1.0), (1.1, 1.0), (9.0, 1.0)],
)
def test_points_grow_with_the_logarithm_up_to_the_anchor(share: float, fraction: float) -> None:
    assert fraction == pytest.approx(speed_fraction(share, REFERENCE, PLAIN))


@pytest.mark.parametrize(
    ("share", "fraction"),
    [
        (1.1, 1.0),
        ((1.1 + stretched(1.5)) / 2, 1.1),
        (stretched(1.5), 1.2),
        (stretched(3.0), 1.2),
    ],
)
def test_the_bonus_is_only_for_what_is_beyond_the_noise_around_the_reference(
    share: float, fraction: float
) -> None:
    assert fraction == pytest.approx(speed_fraction(share, REFERENCE, BONUS))


@pytest.mark.parametrize("stretch", [0.5, 1.0, 1.1])
def test_where_the_stretch_is_within_that_noise_there_is_no_bonus(stretch: float) -> None:
    near = Anchors(full_at=0.9, stretch=stretch, bonus=0.2)
    assert 1.0 == speed_fraction(5.0, REFERENCE, near)


def test_an_anchor_beyond_the_reference_is_the_reference() -> None:
    assert 1.0 == speed_fraction(1.0, REFERENCE, Anchors(full_at=3.0))


@given(shares, shares, references, anchors)
def test_faster_is_never_worth_less(
    one: float, other: float, reference: float, given: Anchors
) -> None:
    slower, faster = sorted((one, other))
    assert speed_fraction(slower, reference, given) <= speed_fraction(faster, reference, given)


@given(shares, references, anchors)
def test_it_is_between_nothing_and_the_bonus(
    share: float, reference: float, given: Anchors
) -> None:
    assert 0.0 <= speed_fraction(share, reference, given) <= 1.0 + given.bonus + 1e-12


@given(shares, st.floats(0.0, 0.01), st.floats(1.1, 20.0), st.floats(0.9, 1.0))
def test_a_small_change_of_the_share_changes_points_a_little(
    share: float, change: float, reference: float, full_at: float
) -> None:
    given = Anchors(full_at=full_at, stretch=1.5, bonus=0.1)
    steepest = max(2 / full_at, 0.1 / (math.log(1.5) / math.log(reference) - (1 - full_at)))
    before, after = (speed_fraction(each, reference, given) for each in (share, share + change))
    assert after - before <= steepest * change + 1e-9
    assert steepest < 3.0


def test_what_other_spellings_of_the_same_loops_differ_by_is_worth_nothing() -> None:
    given = Anchors(full_at=0.95)
    assert [0.0, 0.0] == [speed_fraction(share, 3.5, given) for share in (0.005, 0.02)]
    assert 0.04 / 0.95 == pytest.approx(speed_fraction(0.04, 3.5, given))


@pytest.mark.parametrize("reference", [1.15, 1.26, 4.0])
def test_a_speedup_that_a_copy_may_have_is_worth_nothing(reference: float) -> None:
    """Beside a reference of 1.26 times, an unscheduled function earned a tenth of the points."""
    share = math.log(1.01) / math.log(reference)
    assert 0.0 == speed_fraction(share, reference, Anchors(full_at=0.8))
