"""The report as the points of a result.json of Classroom 50.

The format is `classroom50/result/v1`, described in the project's wiki, "Advanced Autograding". It
wants to know which repository, commit and release it is about; a report knows none of them, so the
autograder that `grader ci init classroom50` writes adds these fields.

All numbers in it are whole, and 0.5 of a point would be lost or made up. So they are hundredths of
a point, for everybody: 77.5 of 100 points are 7750 of 10000.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from grader.files import indented_json
from grader.language import join
from grader.render import wording
from grader.render.findings import explanation, is_graded, is_lost, titled
from grader.render.github import inert
from grader.render.speech import speaking
from grader.report import Report

HUNDREDTHS = 100


class Classroom50Case(msgspec.Struct, frozen=True, rename="kebab"):
    """A check. `points` and `message` are fields of our own, which Classroom 50 keeps."""

    test_name: str
    passed: bool
    score: int
    max_score: int
    points: str
    message: str


class Classroom50Result(msgspec.Struct, frozen=True, rename="kebab"):
    """What a report says of a submission; sums are those of the tests."""

    schema: Literal["classroom50/result/v1"]
    score: int
    max_score: int
    tests: tuple[Classroom50Case, ...]


def render_classroom50(report: Report) -> bytes:
    """Return the points of a report as result.json has them, without whose they are."""
    with speaking(report.language):
        tests = tuple(_tests(report))
    score, most = (sum(each) for each in zip(*((t.score, t.max_score) for t in tests), strict=True))
    result = Classroom50Result("classroom50/result/v1", score, most, tests)
    return indented_json(result)


def _tests(report: Report) -> Iterator[Classroom50Case]:
    """Yield the checks; one for the file where there are none, as no tests would be a pass."""
    checks = [(part, check) for part in report.parts for check in part.checks]
    if not checks:
        name = wording.one_line(report.submission.name) or "submission"
        yield _case(name, wording.plain(join(*report.notes)), passed=is_graded(report))
    for part, check in checks:
        title = titled(part, check)
        lost = is_lost(check)
        said = "\n".join(explanation(part, check, report)) if lost else ""
        yield _case(title, said, check.score, check.max_score, passed=not lost)


def _case(
    title: str, said: str, score: float = 0.0, most: float = 0.0, *, passed: bool
) -> Classroom50Case:
    possible = round(most * HUNDREDTHS)
    return Classroom50Case(
        test_name=inert(title),
        passed=passed,
        score=max(0, min(round(score * HUNDREDTHS), possible)),
        max_score=possible,
        points=wording.points_of(score, most),
        message=inert(said),
    )
