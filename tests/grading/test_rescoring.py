"""What decides and what only weighs and tells; points counted anew without a run."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from grader.assignment import Assignment, CheckTable
from grader.course import load_course
from grader.grading.rescoring import (
    certainty,
    decided,
    outdoes,
    points_of,
    rescored,
    rubric_digest,
)
from grader.language import foreign, join
from grader.lateness import LatePolicy
from grader.report import Check, Part, Report
from tests.sample_reports import typical

SMALL = load_course(Path(__file__).parents[1] / "courses" / "small").get("small").assignment
(PART,) = SMALL.part
STRUCTURE, EQUIVALENCE = PART.check
REASON = foreign("So it is.")


def changed(at: str = "equivalence", **fields: Any) -> Assignment:
    """Return the assignment with another check, and the points that come of it."""
    checks = tuple(replace(each, **fields) if each.id == at else each for each in PART.check)
    part = replace(PART, check=checks)
    return replace(SMALL, part=(part,), points=part.points)


def check(table: CheckTable, share: float | None, interval: float = 0.0) -> Check:
    known = share or 0.0
    return Check(
        id=table.id,
        title=foreign(table.id),
        score=points_of(known, interval, table),
        max_score=table.points,
        verdict="partial",
        reason=join(REASON, certainty(interval, table.points, table)),
        share=share,
        interval=interval,
    )


def report(
    *shares: float | None, contested: bool = False, interval: float = 0.0, of: Assignment = SMALL
) -> Report:
    """Return a report of the assignment in which the checks have these shares."""
    (table,) = of.part
    checks = tuple(check(*each, interval) for each in zip(table.check, shares, strict=True))
    score = sum(each.score for each in checks)
    part = Part("model", foreign("A model"), score, of.points, checks, contested=contested)
    return replace(typical(), parts=(part,), score=score, rubric=rubric_digest(of))


TOLD: dict[str, Assignment] = {
    "a check's points": changed(points=8),
    "a part's title": replace(SMALL, part=(replace(PART, title="Another"),)),
    "its translation": replace(SMALL, part=(replace(PART, titles={"ko": "다른"}),)),
    "the title": replace(SMALL, title="Another"),
    "a check's visibility": changed(visibility="hidden"),
    "a part's visibility": replace(SMALL, part=(replace(PART, visibility="after_due"),)),
    "the version": replace(SMALL, version=2),
    "the due date": replace(SMALL, due=datetime(2026, 12, 1, tzinfo=timezone.utc)),
}
DECIDING: dict[str, Assignment] = {
    "options": changed("structure", options={"weights": [[16, 4]]}),
    "what is required": changed("structure", required=True),
    "whether a check is worth anything": changed(points=0),
    "a tolerance": replace(SMALL, oracle=replace(SMALL.oracle, rtol=0.5)),
    "a limit": replace(SMALL, limits=replace(SMALL.limits, cell_seconds=1)),
    "names": replace(SMALL, part=(replace(PART, entry=("make",)),)),
}
GRADEBOOK = {"late": LatePolicy(percent=Decimal(10)), "counts": "last"}


@pytest.mark.parametrize("name", TOLD)
def test_what_weighs_and_tells_is_the_rubric_and_decides_nothing(name: str) -> None:
    other = TOLD[name]
    assert (decided(SMALL), True) == (decided(other), rubric_digest(SMALL) != rubric_digest(other))


@pytest.mark.parametrize("name", DECIDING)
def test_all_else_decides(name: str) -> None:
    assert decided(SMALL) != decided(DECIDING[name])


def test_late_policy_and_which_attempt_counts_are_the_gradebooks_alone() -> None:
    other = replace(SMALL, **GRADEBOOK)
    assert (decided(SMALL), rubric_digest(SMALL)) == (decided(other), rubric_digest(other))


@pytest.mark.parametrize(
    ("shares", "points", "score"),
    [((1.0, 1.0), 8, 12), ((1.0, 0.5), 8, 8), ((0.0, 1 / 3), 9, 3), ((1.25, 1.0), 1, 6)],
)
def test_points_are_counted_anew(shares: tuple[float, ...], points: float, score: float) -> None:
    other = changed(points=points)
    found = rescored(report(*shares), other)
    assert found is not None
    assert (score, 4 + points, rubric_digest(other)) == (found.score, found.max_score, found.rubric)
    (part,) = found.parts
    assert (score, 4 + points) == (part.score, part.max_score)
    assert [4, points] == [each.max_score for each in part.checks]


def test_there_and_back_is_the_same_report() -> None:
    """Of points that were rounded nothing is lost: their share is known."""
    before = rescored(report(1.0, 1 / 3), SMALL)
    assert before is not None
    there = rescored(before, changed(points=0.1))
    assert there is not None
    assert before == rescored(there, SMALL)


def test_measured_points_are_rounded_as_their_interval_asks_and_say_so() -> None:
    found = rescored(report(1.0, 0.5123, interval=0.005), changed(points=60))
    assert found is not None
    last = found.parts[0].checks[-1]
    assert 30.5 == last.score
    assert join(REASON, certainty(0.005, 60, changed(points=60).part[0].check[-1])) == last.reason


@pytest.mark.parametrize("interval", [0.01, 0.1, 0.2, 0.3, 0.47, 0.7])
def test_points_are_rounded_up_no_further_than_the_measurement_goes(interval: float) -> None:
    """A schedule that is slow in most slices has a wide interval, which ends at its own speed: of
    10.6 points 14.1 were made."""
    table = changed(points=15, options={"grid": 0.1}).part[0].check[-1]
    assert points_of(0.71, interval, table, above=0.003) <= 10.7
    assert points_of(0.71, 0.47, table) == pytest.approx(14.1)
    assert points_of(0.71, 0.47, table, above=0.3) == pytest.approx(14.1)
    assert 15 == points_of(0.999, interval, table, above=0.003)


def test_what_was_measured_is_counted_anew_the_same_way() -> None:
    measured = report(1.0, 0.71, interval=0.47)
    (part,) = measured.parts
    checks = (part.checks[0], replace(part.checks[1], above=0.003))
    found = rescored(replace(measured, parts=(replace(part, checks=checks),)), changed(points=15))
    assert found is not None
    assert found.parts[0].checks[-1].score == pytest.approx(10.65)


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(report(1.0, None), id="a share is not known"),
        pytest.param(report(1.0, 0.5, contested=True), id="another candidate may count"),
        pytest.param(replace(report(1.0, 0.5), parts=()), id="a part is missing"),
    ],
)
def test_what_cannot_be_counted_anew_takes_a_run(before: Report) -> None:
    assert rescored(before, changed(points=8)) is None


@pytest.mark.parametrize("fields", [{"contested": True}, {}])
def test_titles_alone_take_none(fields: dict[str, Any]) -> None:
    found = rescored(report(1.0, 0.5, **fields), replace(SMALL, title="Another"))
    assert found is not None
    assert ("Another", 7) == (found.assignment.title.english, found.score)


def test_students_see_what_todays_visibility_says() -> None:
    found = rescored(report(1.0, 0.5), changed(visibility="hidden"))
    assert found is not None
    assert ["visible", "hidden"] == [each.visibility for each in found.parts[0].checks]


@pytest.mark.parametrize(
    ("other", "is_better"), [((1.0, 0.5), False), ((0.0, 0.6), True), ((0.5, 0.2), False)]
)
def test_a_candidate_outdoes_another_where_a_check_is_better(
    other: tuple[float, float], is_better: bool
) -> None:
    assert is_better == outdoes(report(*other).parts[0], report(1.0, 0.5).parts[0])
