"""Whose grade a regrade moved, where nothing is run and no points are counted anew."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rich.console import Console

from grader.cli.gradebook import CommandOutput
from grader.cli.regrade import RegradeOptions, run_regrade
from grader.gradebook.book import HandedIn, Recording
from grader.grading.preparation import GradingOptions
from tests.gradebook.small_class import SLUG, Class

LATE = '[late]\npercent = 10\nof = "reached"\n\n[oracle]'
NOON = datetime(2026, 12, 2, 12, tzinfo=timezone.utc)


def test_a_late_policy_moves_who_was_late_and_the_second_time_nobody(tmp_path: Path) -> None:
    world = Class(tmp_path)
    world.rewrite("points = 10", "points = 10\ndue = 2026-12-02T00:00:00Z")
    for login, when in (("ada", NOON), ("ben", None)):
        content = login.encode()
        given = HandedIn(world.student(login), SLUG, "hw.ipynb", content, when)
        world.book.record_all([Recording(given, world.report(content))])
    world.book.take_rules([world.assignment])
    world.rewrite("[oracle]", LATE)
    first, second = regraded(world), regraded(world)
    world.book.close()
    assert [("ada", 7, 6.3)] == [
        (each["student"], each["before"], each["after"]) for each in first["moved"]
    ]
    assert (2, 2, []) == (first["kept"], second["kept"], second["moved"])


def regraded(world: Class) -> dict[str, Any]:
    place = world.folder / "told.json"
    asked = RegradeOptions(GradingOptions(SLUG, course=world.folder), changed=True)
    assert run_regrade(asked, CommandOutput(place), Console())
    return json.loads(place.read_bytes())
