"""Times as systems write them, and in which zone they are.

Systems write digits, or dates in words of the site's language (Babel has CLDR's names of months),
with a zone's name, its abbreviation, an offset, or nothing. What has no zone is no moment: it stays
as it was written until somebody says which zone it is in, and that it does is told.
"""

import functools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from babel.dates import get_month_names, get_period_names

from grader.errors import UsageError
from grader.language import say


class ToldTime(NamedTuple):
    """What some words say: a time with its offset, one on a clock alone, or nothing.

    `zone` is an abbreviation that several zones have with different offsets, such as CST.
    """

    at: datetime | None
    zone: str = ""

    @property
    def iso(self) -> str:
        """ISO 8601, empty where it is no time."""
        return "" if self.at is None else self.at.isoformat()


NO_TIME = ToldTime(None)

# Digits, as nbgrader and Gradescope write them.

_TIMESTAMP = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[T ](?P<clock>[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)"
    r"(?:[.,](?P<parts>[0-9]{1,9}))? ?(?P<zone>\S*)"
)
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2})")
_UTC = frozenset({"Z", "UTC", "GMT", "UCT"})


_YEARS = range(2000, 2200)
"""A student's program writes `timestamp.txt`. A time of year 1 ended the recording of the class."""


def read_timestamp(text: str) -> ToldTime:
    """Return what is said by "2026-11-03 12:05:33.5 UTC", with any zone, offset or neither."""
    match = _TIMESTAMP.fullmatch(text.strip())
    try:
        at = datetime.fromisoformat(f"{match['date']} {match['clock']}") if match else None
    except ValueError:
        at = None
    if match is None or at is None or at.year not in _YEARS:
        return NO_TIME
    at += timedelta(microseconds=int((match["parts"] or "0").ljust(6, "0")[:6]))
    return _in_named_zone(at, match["zone"])


def _in_named_zone(at: datetime, zone: str) -> ToldTime:
    if not zone:
        return ToldTime(at)
    offset = _OFFSET.fullmatch(zone)
    if zone.upper() in _UTC:
        return ToldTime(at.replace(tzinfo=timezone.utc))
    if offset is not None:
        span = timedelta(hours=int(offset["hours"]), minutes=int(offset["minutes"]))
        if span >= timedelta(days=1):
            return NO_TIME
        signed = -span if offset["sign"] == "-" else span
        return ToldTime(at.replace(tzinfo=timezone(signed)))
    if "/" in zone:
        known = zone in available_timezones()
        return ToldTime(at.replace(tzinfo=ZoneInfo(zone))) if known else NO_TIME
    offsets = _offsets_of(zone, at)
    if not offsets:
        return NO_TIME
    if len(offsets) == 1:
        return ToldTime(at.replace(tzinfo=timezone(next(iter(offsets)))))
    return ToldTime(at, zone)


@functools.lru_cache(maxsize=1024)
def _zones() -> tuple[ZoneInfo, ...]:
    return tuple(ZoneInfo(each) for each in sorted(available_timezones()))


def _offsets_of(abbreviation: str, at: datetime) -> frozenset[timedelta]:
    """Return the offsets that zones have at a time who are abbreviated so: CST is -6 and +8."""
    moments = (at.replace(tzinfo=each) for each in _zones())
    found = (each.utcoffset() for each in moments if each.tzname() == abbreviation)
    return frozenset(each for each in found if each is not None)


# Dates in words, as Brightspace writes them in names of folders.

_LANGUAGES = (
    *("en", "fr", "fr_CA", "de", "es", "pt", "it", "nl", "sv", "da", "nb", "fi", "tr", "cy"),
    *("ar", "hi", "id", "th", "ja", "ko", "zh", "zh_Hant", "mi", "haw", "pl", "cs", "ru", "uk"),
)
"""Those of Brightspace, and of its neighbours: a name that means two months is none."""

_NUMBERED = re.compile(
    r"(?<![0-9])(?P<month>[0-9]{1,2}) ?[月월-] ?(?P<day>[0-9]{1,2})(?: ?[日일]|(?![0-9]))"
)
_YEAR = re.compile(r"(?<![0-9])(?P<year>(?:19|20)[0-9]{2})(?![0-9])")
_CLOCK = re.compile(r"(?<![0-9])(?P<hour>[0-9]{1,2}?)(?: ?h ?|[:._])?(?P<minute>[0-9]{2})(?![0-9])")
_HOUR = re.compile(r"(?<![0-9])[0-9]{1,2}(?![0-9])")
_DAY = re.compile(r"(?<![0-9])(?P<day>[0-9]{1,2})(?![0-9])")
_NOON = 12


def read_words(text: str) -> ToldTime:
    """Return what is said by "Mar 29, 2018 1205 PM", "29 mars 2018 12 h 05", "2018年3月29日 1205".

    The date comes first, then the time, whose colon file systems do not take.
    """
    folded = _folded(text)
    year = _YEAR.search(folded)
    if year is None:
        return NO_TIME
    numbered = _NUMBERED.search(folded)
    if numbered is not None:
        month, day, end = int(numbered["month"]), int(numbered["day"]), numbered.end()
    else:
        head = folded[: year.start()]
        months = {found for word in re.findall(r"[^\W\d_]+", head) if (found := _month(word))}
        days = _DAY.findall(head)
        if len(months) != 1 or len(days) != 1:
            return NO_TIME
        month, day, end = months.pop(), int(days[0]), year.end()
    minutes = _minutes(folded[end:])
    try:
        midnight = datetime(int(year["year"]), month, day)
    except ValueError:
        return NO_TIME
    return NO_TIME if minutes is None else ToldTime(midnight + timedelta(minutes=minutes))


def _minutes(text: str) -> int | None:
    """Return the minutes since midnight that a time means; None where it is none."""
    clock = _CLOCK.search(text)
    if clock is not None:
        hour, minute = int(clock["hour"] or 0), int(clock["minute"])
    else:
        alone = _HOUR.search(text)
        if alone is None:
            return None
        hour, minute = int(alone[0]), 0
    half = {half for word, half in _halves().items() if word in text}
    if len(half) == 1 and 1 <= hour <= _NOON:
        hour = hour % _NOON + (_NOON if half == {"pm"} else 0)
    return hour * 60 + minute if hour < 24 and minute < 60 else None


@functools.cache
def _months() -> dict[str, int]:
    found: dict[str, set[int]] = defaultdict(set)
    for name, month in _names_of_months():
        word = _folded(name)
        for form in (word, _unmarked(word)):
            letters = "".join(re.findall(r"[^\W\d_]+", form))
            found[letters].add(month)
    return {name: months.pop() for name, months in found.items() if name and len(months) == 1}


def _names_of_months() -> Iterator[tuple[str, int]]:
    for language in _LANGUAGES:
        for width in ("abbreviated", "wide"):
            for context in ("format", "stand-alone"):
                names = get_month_names(width, context, locale=language)
                yield from ((name, month) for month, name in names.items())


def _month(word: str) -> int | None:
    return _months().get(word) or _months().get(_unmarked(word))


@functools.cache
def _halves() -> dict[str, str]:
    found = {"am": "am", "pm": "pm", "a.m": "am", "p.m": "pm", "a. m": "am", "p. m": "pm"}
    for language in _LANGUAGES:
        for width in ("abbreviated", "wide"):
            names = get_period_names(width, locale=language)
            found |= {_folded(names[half]): half for half in ("am", "pm") if half in names}
    return found


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _unmarked(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    return "".join(each for each in parts if not unicodedata.combining(each))


# Zones that are named.


def zone_of(name: str) -> ZoneInfo:
    """Return a zone by its name. Raises UsageError where there is none."""
    if name not in available_timezones():
        raise UsageError(
            say("not-time-zone", name=repr(name)), say("name-one-iana-list-such-as-europe")
        )
    return ZoneInfo(name)


def settled(at: datetime, abbreviation: str, zone: tzinfo) -> datetime | None:
    """Return the moment when a clock in a zone shows a time; None where it is never called so.

    Of an hour that comes twice the abbreviation tells which is meant, or the first is.
    """
    for fold in (0, 1):
        found = at.replace(tzinfo=zone, fold=fold)
        if not abbreviation or found.tzname() == abbreviation:
            return found
    return None


def moment_of(iso: str) -> datetime | None:
    """Return the moment that ISO 8601 names, on this machine's clock without an offset.

    None for what names none, and for another age: year 9999 is another one in UTC.
    """
    try:
        at = datetime.fromisoformat(iso)
        at = at if at.utcoffset() is not None else at.astimezone()
    except (ValueError, OverflowError):
        return None
    return at if at.year in _YEARS else None
