"""What is lost by handing in late: the policy of an assignment, and what it makes of two times.

All of it is arithmetic on times and exact numbers, and asks no clock. A day ends at the same time
of the next day where the policy names a zone, so that one in which clocks are set back has 25
hours. By an offset from UTC alone nobody knows when they are set, and a day has 24 hours.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Counting = Literal["best", "last", "first"]
"""Which attempt is a student's grade."""

DAY = timedelta(days=1)
_ALL = Decimal(100)
NONE = Decimal(0)


class LatePolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What lateness costs: `percent` for every day or hour that has begun, at most `most_percent`.

    They are percent `of` the points that were reached, or of those that were possible. Nothing is
    lost within `grace_minutes`; after them, lateness counts from the due date. A student has
    `free_days` that cost nothing, shared with the assignments that are due earlier. Later than
    `closes_after_hours` there are no points, free days or not. `timezone` is the course's, by its
    name in the IANA list: days of lateness and of extensions end by its clocks.
    """

    percent: Decimal = NONE
    per: Literal["day", "hour"] = "day"
    of: Literal["reached", "possible"] = "reached"
    most_percent: Decimal = _ALL
    grace_minutes: Count = 0
    free_days: Count = 0
    closes_after_hours: Count | None = None
    timezone: str = ""

    def __post_init__(self) -> None:
        for name in ("percent", "most_percent"):
            value = getattr(self, name)
            if not (value.is_finite() and 0 <= value <= _ALL):
                raise ValueError(f"`{name}` under [late] is a number from 0 to 100")
        if self.timezone and self.timezone not in available_timezones():
            raise ValueError("`timezone` under [late] is a name such as Europe/Berlin")

    @property
    def zone(self) -> ZoneInfo | None:
        """The zone that it names, if it does."""
        return ZoneInfo(self.timezone) if self.timezone else None

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
    days = _Days(due, policy.zone)
    used = min(max(free_days, 0), days.begun(handed_in - policy.grace))
    rest = handed_in - days.end(used)
    units = 0
    if rest > policy.grace:
        by_day = policy.per == "day"
        units = days.begun(handed_in) - used if by_day else _begun(rest, timedelta(hours=1))
    return Lateness(late_by, used, units, min(units * policy.percent, policy.most_percent))


class _Days:
    """The days after a due date, each of which ends when it is that time again."""

    def __init__(self, due: datetime, zone: tzinfo | None) -> None:
        self._due = due if zone is None else due.astimezone(zone)

    def end(self, number: int) -> datetime:
        """Return when so many days are over, in UTC: times of one zone are no moments."""
        clock = self._due.replace(tzinfo=None) + number * DAY
        return clock.replace(tzinfo=self._due.tzinfo, fold=self._due.fold).astimezone(timezone.utc)

    def begun(self, moment: datetime) -> int:
        """Return how many days have begun by a moment, none where it is not late."""
        number = max(_begun(moment - self.end(0), DAY) - 1, 0)
        while self.end(number) < moment:
            number += 1
        return number


def _begun(span: timedelta, unit: timedelta) -> int:
    """Return how many units have begun in a span, none where it is not positive."""
    return max(-(-span // unit), 0)
