"""Times as systems write them: in which zone, in which words, or in none."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from grader.errors import UsageError
from grader.lms.collect import CollectOutcome, CollectRequest, collect_class, collected_times
from grader.lms.times import read_timestamp, read_words, zone_of
from tests.lms.archives import make_folder


@pytest.fixture(autouse=True)
def machine_in_utc() -> Iterator[None]:
    """The machine's own clock, which times without a zone are taken for."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    yield
    os.environ.pop("TZ") if before is None else os.environ.__setitem__("TZ", before)
    time.tzset()


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("2026-11-03 12:05:33.5 UTC", "2026-11-03T12:05:33.500000+00:00"),
        ("2026-11-03 12:05:33 EST", "2026-11-03T12:05:33-05:00"),
        ("2026-11-03 12:05:33.123456 Europe/Berlin", "2026-11-03T12:05:33.123456+01:00"),
        ("2026-07-03 12:05:33 Europe/Berlin", "2026-07-03T12:05:33+02:00"),
        ("2026-11-03 12:05:33 +0100", "2026-11-03T12:05:33+01:00"),
        ("2026-11-03 12:05:33 -05:30", "2026-11-03T12:05:33-05:30"),
        ("2026-11-03T12:05:33Z", "2026-11-03T12:05:33+00:00"),
        ("2026-11-03 12:05:33.123456789 Z", "2026-11-03T12:05:33.123456+00:00"),
        ("2026-11-03 12:05", "2026-11-03T12:05:00"),
    ],
)
def test_a_timestamp_keeps_its_zone(written: str, iso: str) -> None:
    assert (iso, "") == (read_timestamp(written).iso, read_timestamp(written).zone)


@pytest.mark.parametrize("zone", ["CST", "PST", "IST"])
def test_an_abbreviation_of_several_zones_is_none_of_them(zone: str) -> None:
    """CST is China's and Chicago's, PST Manila's and Los Angeles', IST India's and Israel's."""
    found = read_timestamp(f"2026-11-03 12:05:33 {zone}")
    assert ("2026-11-03T12:05:33", zone) == (found.iso, found.zone)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "yesterday",
        "2026-02-30 12:05:33 UTC",
        "2026-11-03 25:05:33 UTC",
        "2026-11-03 12:05:33 Mars/Olympus",
        "2026-11-03 12:05:33 XYZ",
        "2026-11-03 12:05:33 +9900",
        "2026-11-03 12:05:33 UTC and so on",
    ],
)
def test_other_words_are_no_time(written: str) -> None:
    assert "" == read_timestamp(written).iso


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("Mar 9, 2026 1205 AM", "2026-03-09T00:05"),
        ("Mar 9, 2026 1205 PM", "2026-03-09T12:05"),
        ("Mar 9, 2026 5 PM", "2026-03-09T17:00"),
        ("9 août 2026 2005", "2026-08-09T20:05"),
        ("9 aout 2026 20h05", "2026-08-09T20:05"),
        ("9 de março de 2026 2005", "2026-03-09T20:05"),
        ("9 апр. 2026 2005", "2026-04-09T20:05"),
    ],
)
def test_a_date_may_be_in_words_of_any_language(words: str, at: str) -> None:
    assert datetime.fromisoformat(at) == read_words(words).at


@pytest.mark.parametrize(
    "words", ["9 srp 2026 x", "Mar 2026 1205", "Mar 9, 2026 2505", "Mar 9", "9/10 2026 1205", ""]
)
def test_words_that_are_no_time_or_may_be_two_are_none(words: str) -> None:
    assert read_words(words).at is None


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(UsageError, match="not a time zone"):
        zone_of("Berlin")


def collect(folder: Path, zone: str = "", **times: str) -> CollectOutcome:
    files = {f"submitted/{who}/hw/hw.ipynb": who for who in times}
    stamps = {f"submitted/{who}/hw/timestamp.txt": at for who, at in times.items()}
    source = make_folder(folder / "course", {**files, **stamps})
    known = ZoneInfo(zone) if zone else None
    return collect_class(CollectRequest((source,), folder / "class", zone=known))


def times(folder: Path) -> dict[str, str]:
    found = collected_times(folder / "class")
    return {path.name: at if isinstance(at, str) else at.isoformat() for path, at in found.items()}


def test_whose_time_has_no_zone_or_is_none_is_named(tmp_path: Path) -> None:
    outcome = collect(
        tmp_path,
        ada="2026-12-01 12:00:00 UTC",
        ben="2026-12-01 12:00:00",
        cem="2026-12-01 12:00:00 CST",
        dan="soon",
    )
    assert (("ben",), ("cem", "dan")) == (outcome.zoneless, outcome.undated)
    expected = "2026-12-01T12:00:00+00:00"
    assert {"ada": expected, "ben": expected} == times(tmp_path)


def test_a_zone_that_is_named_is_that_of_times_without_one(tmp_path: Path) -> None:
    written = {"ben": "2026-12-01 12:00:00", "cem": "2026-12-01 12:00:00 CST"}
    outcome = collect(tmp_path, "Asia/Shanghai", **written, dan="2026-12-01 12:00:00 PST")
    assert ((), ("dan",)) == (outcome.zoneless, outcome.undated)
    expected = "2026-12-01T12:00:00+08:00"
    assert {"ben": expected, "cem": expected} == times(tmp_path)


def test_a_zone_that_is_named_later_makes_no_second_attempt(tmp_path: Path) -> None:
    collect(tmp_path, ada="2026-12-01 12:00:00")
    outcome = collect(tmp_path, "Europe/Berlin", ada="2026-12-01 12:00:00")
    assert (("ada",), ()) == (outcome.unchanged, outcome.replaced)
    assert {"ada": "2026-12-01T12:00:00+01:00"} == times(tmp_path)


def test_times_of_two_zones_are_compared_as_moments(tmp_path: Path) -> None:
    collect(tmp_path, ada="2026-12-01 23:30:00 EST")
    (tmp_path / "course/submitted/ada/hw/hw.ipynb").unlink()
    source = make_folder(
        tmp_path / "again",
        {
            "submitted/ada/hw/hw.ipynb": "earlier",
            "submitted/ada/hw/timestamp.txt": "2026-12-02 01:00:00 UTC",
        },
    )
    collect_class(CollectRequest((source,), tmp_path / "class"))
    assert "ada" == (tmp_path / "class/submissions/ada/hw.ipynb").read_text()


def test_what_canvas_calls_late_has_no_time_and_is_late(tmp_path: Path) -> None:
    files = {"lovelaceada_LATE_11_9_hw.ipynb": "a", "hopper_12_8_hw.ipynb": "b"}
    source = make_folder(tmp_path / "canvas", files)
    collect_class(CollectRequest((source,), tmp_path / "class"))
    assert {"lovelaceada-11": "late"} == times(tmp_path)
