"""Times as they are typed, and by whose clocks they are meant."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from grader.cli.gradebook import moment

DUE = datetime.fromisoformat("2026-10-24T23:59:00+02:00")


@pytest.fixture(params=["UTC", "Europe/Berlin"])
def machine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The zone of this machine."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield request.param
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def test_a_day_across_a_change_of_clocks_ends_at_midnight_of_the_zone(machine: str) -> None:
    """On 25 October clocks are set back in Berlin: +02:00 would end the day at 22:59."""
    del machine
    assert "2026-10-26T23:59:59+01:00" == moment("2026-10-26", DUE, BERLIN).isoformat()
    assert "2026-10-26T23:59:00+01:00" == moment("2026-10-26T23:59", DUE, BERLIN).isoformat()


def test_without_a_zone_it_is_this_machines_if_that_has_the_offset_of_the_due_date(
    machine: str,
) -> None:
    offset = "+01:00" if machine == "Europe/Berlin" else "+02:00"
    assert f"2026-10-26T23:59:59{offset}" == moment("2026-10-26", DUE).isoformat()


def test_an_offset_that_is_typed_counts(machine: str) -> None:
    del machine
    assert "2026-10-26T08:00:00+09:00" == moment("2026-10-26T08:00+09:00", DUE, BERLIN).isoformat()


BERLIN = ZoneInfo("Europe/Berlin")
