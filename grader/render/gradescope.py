"""The report as Gradescope's `results.json`.

The format is that of https://gradescope-autograders.readthedocs.io/en/latest/specs/. Gradescope
shows it to instructors and to students, and keeps from students what `visibility` says, so it is
made from the instructor's report. What is told is HTML of a few elements without attributes, which
templates make that escape every text. Names are "text", in which nothing can be markup.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from grader.files import indented_json
from grader.render import wording
from grader.render.findings import (
    cells_run,
    diagnosis_of,
    explanation,
    is_lost,
    place_of,
    timing_of,
    titled,
)
from grader.render.html.charts import shape_views
from grader.render.html.page import ProblemRow, macro
from grader.render.html.sections import step_views
from grader.render.speech import speaking, tell
from grader.report import CellProblem, Check, Part, Report, Visibility

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
    output_format: Literal["html"] = "html"


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
    output_format: Literal["html"] = "html"
    test_output_format: Literal["html"] = "html"
    test_name_format: Literal["text"] = "text"
    visibility: Literal["visible"] = "visible"
    stdout_visibility: Literal["hidden"] = "hidden"


def render_gradescope(report: Report) -> bytes:
    """Return the instructor's report as results.json, in the report's own language."""
    with speaking(report.language):
        results = Results(
            score=report.score,
            execution_time=round(report.duration.total),
            output=_output(report),
            tests=tuple(_tests(report)),
            leaderboard=tuple(_leaderboard(report)),
            extra_data=_extra_data(report),
        )
    return indented_json(results)


def _output(report: Report) -> str:
    left = [wording.not_marked(report.open)] if report.open else []
    texts = (cells_run(report.submission), *left, *map(wording.plain, report.notes))
    rows = [_problem(each, report) for each in report.problems[: wording.MOST_PROBLEMS]]
    return _filled("whole", texts, rows, wording.more_problems(report))


def _problem(problem: CellProblem, report: Report) -> ProblemRow:
    return ProblemRow(
        place=place_of(problem, report),
        anchor="",
        error=wording.one_line(problem.error),
        message=wording.error_of(problem),
        hint=wording.plain(problem.hint),
    )


def _filled(piece: str, *values: object) -> str:
    """Return a macro's HTML; half of a surrogate pair would be no JSON."""
    text = macro("gradescope", piece)(*values)
    return text.strip().encode("utf-8", "replace").decode()


def _explained(part: Part, check: Check, report: Report) -> str:
    """Return what a check's output says; what students see the points of alone has none."""
    if check.visibility == "score_only":
        return ""
    lead = tell("what-do")
    texts = [
        (lead, text.removeprefix(lead)) if text.startswith(lead) else ("", text)
        for text in explanation(part, check, report)
    ]
    diagnosis, timing = diagnosis_of(part, check), timing_of(report, check)
    steps = () if diagnosis is None else tuple(step_views(diagnosis))
    shapes = () if timing is None else tuple(shape_views(timing))
    return _filled("outcome", texts, steps, shapes) if texts or steps or shapes else ""


def _tests(report: Report) -> Iterator[GradescopeCase]:
    for place, part in enumerate(report.parts, 1):
        for step, check in enumerate(part.checks, 1):
            yield GradescopeCase(
                score=check.score,
                max_score=check.max_score,
                status="failed" if is_lost(check) else "passed",
                name=titled(part, check),
                number=f"{place}.{step}",
                output=_explained(part, check, report),
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
        yield BoardEntry(tell("speed-up"), round(timing.speedup, 3))
        yield BoardEntry(tell("speed-up-lower-end-95"), round(timing.ci_low, 3))
        yield BoardEntry(tell("speed-up-upper-end-95"), round(timing.ci_high, 3))
    if all(check.visibility in {"visible", "score_only"} for check in checks):
        yield BoardEntry(tell("points"), report.score)


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
