"""What lateness costs, case by case."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal

import msgspec
import pytest

from grader.lateness import IN_TIME, Lateness, LatePolicy, lateness

DUE = datetime(2026, 10, 24, 23, 59, tzinfo=timezone(timedelta(hours=2)))
DAILY = LatePolicy(percent=Decimal(10), grace_minutes=15, most_percent=Decimal(50))
HOURLY = LatePolicy(percent=Decimal("0.5"), per="hour")
FREE = LatePolicy(percent=Decimal(10), free_days=3)
CLOSING = LatePolicy(percent=Decimal(10), free_days=9, closes_after_hours=48)


BERLIN = msgspec.structs.replace(DAILY, timezone="Europe/Berlin")


@pytest.mark.parametrize(
    ("zone", "hours", "units"),
    [
        ("Europe/Berlin", 24.5, 1),
        ("Europe/Berlin", 25.0, 1),
        ("Europe/Berlin", 25.1, 2),
        ("Europe/Berlin", 49.0, 2),
        ("Asia/Shanghai", 24.5, 2),
        ("", 24.5, 2),
    ],
)
def test_a_day_ends_at_the_same_time_of_the_next(zone: str, hours: float, units: int) -> None:
    """In the night after DUE clocks are set back in Berlin: the day has 25 hours."""
    policy = msgspec.structs.replace(DAILY, timezone=zone)
    assert units == late(policy, hours=hours).units


def test_a_day_in_which_clocks_are_set_forward_has_23_hours() -> None:
    due = datetime(2026, 3, 28, 12, tzinfo=timezone(timedelta(hours=1)))
    units = [
        lateness(BERLIN, due, due + timedelta(hours=hours), 0).units for hours in (23, 23.5, 46.9)
    ]
    assert [1, 2, 2] == units


def test_a_free_day_ends_by_the_clocks_as_well() -> None:
    policy = msgspec.structs.replace(BERLIN, free_days=1)
    found = late(policy, 1, hours=25)
    assert (1, 0) == (found.free_days, found.units)
    hourly = msgspec.structs.replace(policy, per="hour")
    assert (1, 1) == (late(hourly, 1, hours=26).free_days, late(hourly, 1, hours=26).units)


def test_a_zone_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="Europe/Berlin"):
        LatePolicy(timezone="Berlin")


def late(policy: LatePolicy | None, free_days: int = 0, **span: float) -> Lateness:
    return lateness(policy, DUE, DUE + timedelta(**span), free_days)


@pytest.mark.parametrize(
    ("policy", "span", "units", "percent"),
    [
        (DAILY, {"seconds": 1}, 0, "0"),
        (DAILY, {"minutes": 15}, 0, "0"),
        (DAILY, {"minutes": 15, "seconds": 1}, 1, "10"),
        (DAILY, {"hours": 24}, 1, "10"),
        (DAILY, {"hours": 24, "seconds": 1}, 2, "20"),
        (DAILY, {"days": 5}, 5, "50"),
        (DAILY, {"days": 90}, 90, "50"),
        (HOURLY, {"seconds": 1}, 1, "0.5"),
        (HOURLY, {"hours": 3, "minutes": 1}, 4, "2.0"),
        (HOURLY, {"days": 30}, 720, "100"),
        (LatePolicy(), {"days": 1}, 1, "0"),
    ],
)
def test_every_unit_that_has_begun_costs_up_to_the_most(
    policy: LatePolicy, span: dict[str, float], units: int, percent: str
) -> None:
    found = late(policy, **span)
    assert (units, Decimal(percent)) == (found.units, found.percent)


@pytest.mark.parametrize(
    ("left", "span", "used", "percent"),
    [
        (3, {"hours": 1}, 1, 0),
        (3, {"days": 1}, 1, 0),
        (3, {"days": 1, "seconds": 1}, 2, 0),
        (3, {"days": 5}, 3, 20),
        (1, {"hours": 30}, 1, 10),
        (0, {"days": 1}, 0, 10),
        (-1, {"days": 1}, 0, 10),
    ],
)
def test_free_days_come_first(left: int, span: dict[str, float], used: int, percent: int) -> None:
    found = late(FREE, left, **span)
    assert (used, Decimal(percent)) == (found.free_days, found.percent)


def test_no_free_day_is_used_for_what_the_grace_covers() -> None:
    policy = LatePolicy(percent=Decimal(10), grace_minutes=10, free_days=3)
    assert 0 == late(policy, 3, minutes=10).free_days
    assert 1 == late(policy, 3, days=1, minutes=10).free_days


def test_what_is_closed_has_no_points_whatever_days_are_free() -> None:
    assert not late(CLOSING, 9, hours=48).is_closed
    found = late(CLOSING, 9, hours=48, seconds=1)
    assert (True, 0) == (found.is_closed, found.free_days)
    assert Decimal(7) == found.lost(CLOSING, Decimal(7), Decimal(10))


@pytest.mark.parametrize("due", [None, DUE])
def test_what_nobody_knows_the_time_of_is_in_time(due: datetime | None) -> None:
    assert IN_TIME == lateness(DAILY, due, None, 0)


def test_without_a_due_date_nothing_is_late() -> None:
    assert IN_TIME == lateness(DAILY, None, DUE, 0)


def test_times_are_compared_wherever_they_were_noted() -> None:
    elsewhere = DUE.astimezone(timezone(timedelta(hours=-8)))
    assert IN_TIME == lateness(DAILY, DUE, elsewhere, 0)


def test_without_a_policy_lateness_is_known_and_costs_nothing() -> None:
    assert Lateness(timedelta(days=2)) == late(None, days=2)


@pytest.mark.parametrize(("of", "lost"), [("reached", "6"), ("possible", "10")])
def test_percent_are_of_what_was_reached_or_possible(of: str, lost: str) -> None:
    policy = LatePolicy(percent=Decimal(10), of=of)
    assert Decimal(lost) == late(policy, hours=1).lost(policy, Decimal(60), Decimal(100))


def test_no_more_is_lost_than_there_is() -> None:
    policy = LatePolicy(percent=Decimal(50), of="possible")
    assert Decimal(3) == late(policy, hours=1).lost(policy, Decimal(3), Decimal(100))


def test_a_tenth_is_a_tenth() -> None:
    policy = msgspec.toml.decode(b"percent = 0.1\nper = 'hour'", type=LatePolicy)
    assert Decimal("0.3") == late(policy, hours=3).percent


@pytest.mark.parametrize(
    "table",
    [
        "percent = -1",
        "percent = 101",
        "percent = nan",
        "most_percent = inf",
        "grace = 5",
        "grace_minutes = -1",
        "per = 'week'",
    ],
)
def test_a_policy_that_says_nothing_sensible_is_refused(table: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.toml.decode(table.encode(), type=LatePolicy)
