"""What is lost by handing in late: the policy of an assignment, and what it makes of two times.

All of it is arithmetic on times and exact numbers, and asks no clock. A day has 24 hours, also
where clocks are set forward or back in it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Counting = Literal["best", "last", "first"]
"""Which attempt is a student's grade."""

DAY = timedelta(days=1)
_UNITS = {"day": DAY, "hour": timedelta(hours=1)}
_ALL = Decimal(100)
NONE = Decimal(0)


class LatePolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What lateness costs: `percent` for every day or hour that has begun, at most `most_percent`.

    They are percent `of` the points that were reached, or of those that were possible. Nothing is
    lost within `grace_minutes`; after them, lateness counts from the due date. A student has
    `free_days` that cost nothing, shared with the assignments that are due earlier. Later than
    `closes_after_hours` there are no points, free days or not.
    """

    percent: Decimal = NONE
    per: Literal["day", "hour"] = "day"
    of: Literal["reached", "possible"] = "reached"
    most_percent: Decimal = _ALL
    grace_minutes: Count = 0
    free_days: Count = 0
    closes_after_hours: Count | None = None

    def __post_init__(self) -> None:
        for name in ("percent", "most_percent"):
            value = getattr(self, name)
            if not (value.is_finite() and 0 <= value <= _ALL):
                raise ValueError(f"`{name}` under [late] is a number from 0 to 100")

    @property
    def grace(self) -> timedelta:
        """How late is still in time."""
        return timedelta(minutes=self.grace_minutes)


class Lateness(msgspec.Struct, frozen=True):
    """How late something is, and what follows.

    `late_by` is zero for what is in time. `free_days` are used up by it, `units` days or hours are
    paid for with `percent` in all. What `is_closed` has no points.
    """

    late_by: timedelta = timedelta()
    free_days: int = 0
    units: int = 0
    percent: Decimal = NONE
    is_closed: bool = False

    def lost(self, policy: LatePolicy, reached: Decimal, possible: Decimal) -> Decimal:
        """Return how many of the points reached are lost: never more than there are."""
        if self.is_closed:
            return max(reached, NONE)
        base = reached if policy.of == "reached" else possible
        return max(min(base * self.percent / _ALL, reached), NONE)


IN_TIME = Lateness()


def lateness(
    policy: LatePolicy | None, due: datetime | None, handed_in: datetime | None, free_days: int
) -> Lateness:
    """Say how late something was handed in, and what that costs who has so many free days left.

    Without a due date, or where nobody knows when it was handed in, it is in time. Both times have
    their offsets from UTC.
    """
    if due is None or handed_in is None or handed_in <= due:
        return IN_TIME
    late_by = handed_in - due
    if policy is None:
        return Lateness(late_by)
    closes = policy.closes_after_hours
    if closes is not None and late_by > timedelta(hours=closes):
        return Lateness(late_by, percent=_ALL, is_closed=True)
    used = min(max(free_days, 0), _begun(late_by - policy.grace, DAY))
    rest = late_by - used * DAY
    units = 0 if rest <= policy.grace else _begun(rest, _UNITS[policy.per])
    return Lateness(late_by, used, units, min(units * policy.percent, policy.most_percent))


def _begun(span: timedelta, unit: timedelta) -> int:
    """Return how many units have begun in a span, none where it is not positive."""
    return max(-(-span // unit), 0)
