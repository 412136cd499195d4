"""The report as Gradescope's `results.json`.

The format is that of https://gradescope-autograders.readthedocs.io/en/latest/specs/. Gradescope
shows it to instructors and to students, and keeps from students what `visibility` says, so it is
made from the instructor's report. All text is of the format "text", which nothing can be markup in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from grader.render import wording
from grader.render.findings import advice, cells_run, explanation, is_lost, place_of, timing_of
from grader.render.speech import speaking, tell
from grader.report import Report, Visibility

MOST_PROBLEMS = 20
"""Cells that ended in an error that are told; a notebook may have thousands."""

ERROR_LINES = 12
ERROR_CHARACTERS = 800
"""How much of a cell's error message is shown at most."""

Shown = Literal["visible", "after_due_date", "hidden"]

_SHOWN: dict[Visibility, Shown] = {
    "visible": "visible",
    "after_due": "after_due_date",
    "score_only": "visible",
    "hidden": "hidden",
}


class GradescopeCase(msgspec.Struct, frozen=True):
    """A check. `score_only` checks have no output."""

    score: float
    max_score: float
    status: Literal["passed", "failed"]
    name: str
    number: str
    output: str
    tags: tuple[str, ...]
    visibility: Shown
    extra_data: dict[str, str]
    name_format: Literal["text"] = "text"
    output_format: Literal["text"] = "text"


class BoardEntry(msgspec.Struct, frozen=True):
    """A column of the leaderboard, with this submission's value in it."""

    name: str
    value: float
    order: Literal["asc", "desc"] = "desc"


class Results(msgspec.Struct, frozen=True):
    """What Gradescope reads. `execution_time` is in seconds, `score` counts all tests."""

    score: float
    execution_time: int
    output: str
    tests: tuple[GradescopeCase, ...]
    leaderboard: tuple[BoardEntry, ...]
    extra_data: dict[str, str]
    output_format: Literal["text"] = "text"
    test_output_format: Literal["text"] = "text"
    test_name_format: Literal["text"] = "text"
    visibility: Literal["visible"] = "visible"
    stdout_visibility: Literal["hidden"] = "hidden"


def render_gradescope(report: Report) -> bytes:
    """Return the instructor's report as results.json, in the report's own language."""
    with speaking(report.language):
        results = Results(
            score=report.score,
            execution_time=round(report.duration.total),
            output="\n\n".join(_output(report)),
            tests=tuple(_tests(report)),
            leaderboard=tuple(_leaderboard(report)),
            extra_data=_extra_data(report),
        )
    return msgspec.json.format(msgspec.json.encode(results), indent=2) + b"\n"


def _output(report: Report) -> Iterator[str]:
    yield cells_run(report.submission)
    if report.open:
        yield wording.not_marked(report.open)
    yield from (wording.plain(note) for note in report.notes)
    for problem in report.problems[:MOST_PROBLEMS]:
        error = f"{place_of(problem, report)}: {wording.one_line(problem.error)}"
        message = wording.plain(problem.message, ERROR_CHARACTERS, ERROR_LINES)
        said = f"{error}: {message}" if message else error
        yield "\n".join(filter(None, (said, advice(problem.hint))))
    if len(report.problems) > MOST_PROBLEMS:
        yield tell("and {count:,} more", count=len(report.problems) - MOST_PROBLEMS)


def _tests(report: Report) -> Iterator[GradescopeCase]:
    for place, part in enumerate(report.parts, 1):
        for step, check in enumerate(part.checks, 1):
            said = [] if check.visibility == "score_only" else explanation(part, check, report)
            yield GradescopeCase(
                score=check.score,
                max_score=check.max_score,
                status="failed" if is_lost(check) else "passed",
                name=f"{wording.one_line(part.title)}: {wording.one_line(check.title)}",
                number=f"{place}.{step}",
                output="\n\n".join(said),
                tags=(wording.one_line(part.id), wording.one_line(check.id)),
                visibility=_SHOWN[check.visibility],
                extra_data={"verdict": check.verdict},
            )


def _leaderboard(report: Report) -> Iterator[BoardEntry]:
    """Yield what everybody sees of everybody: nothing of what a student would not see."""
    checks = [check for part in report.parts for check in part.checks]
    timed = [check for check in checks if timing_of(report, check) is not None]
    timing = report.timing
    if timing is not None and all(check.visibility == "visible" for check in timed):
        yield BoardEntry(tell("Speed-up"), round(timing.speedup, 3))
        yield BoardEntry(tell("Speed-up, lower end (95 %)"), round(timing.ci_low, 3))
        yield BoardEntry(tell("Speed-up, upper end (95 %)"), round(timing.ci_high, 3))
    if all(check.visibility in {"visible", "score_only"} for check in checks):
        yield BoardEntry(tell("Points"), report.score)


def _extra_data(report: Report) -> dict[str, str]:
    """Return what is stored and shown to nobody; later submissions can read it: no seed."""
    stored = {
        "assignment": report.assignment.slug,
        "version": str(report.assignment.version),
        "sha256": report.submission.sha256,
        "language": report.language,
        "dialect": report.dialect,
        "sandbox": report.sandbox.level,
    }
    return {name: wording.one_line(value) for name, value in stored.items()}
