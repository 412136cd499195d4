"""The report for GitHub: summary and annotations for Actions, a result for Classroom's reporter.

A summary is Markdown of at most 1 MiB, appended to the file that $GITHUB_STEP_SUMMARY names. Lines
such as `::error file=hw.ipynb,line=7::message` on a step's output are annotations; of each kind ten
are shown. Both are described on
https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands

GitHub Classroom has ended, and its reporter is still in workflows that were made for it. The
reporter (classroom-resources/autograding-grading-reporter) decodes what the variable NAME_RESULTS
holds for each NAME of its input `runners`, prints the tests, and adds up their points.
What it prints reaches the log of the job, where a line of a student's text must be no command.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec

from grader.language import join
from grader.render import wording
from grader.render.findings import (
    advice,
    explanation,
    is_graded,
    is_lost,
    line_in_file,
    lost_checks,
    titled,
)
from grader.render.markdown import sections
from grader.render.speech import speaking, tell
from grader.report import CellProblem, Check, Part, Report

SUMMARY_BYTES = 2**20
"""Most that a step may add to the summary; GitHub drops all of it when it is more."""

MOST_SHOWN = 10
"""Annotations of each kind that GitHub shows of a step."""

MESSAGE_CHARACTERS = 2000

Level = Literal["error", "warning", "notice"]


class Annotation(NamedTuple):
    """A message beside a line of a file; `line` is None where it concerns the whole file."""

    level: Level
    title: str
    message: str
    file: str = ""
    line: int | None = None


def render_github(report: Report) -> bytes:
    """Return a report as the summary of a job: Markdown, in UTF-8 and in its own language."""
    cut, summary = _cut(report), bytearray()
    for section in sections(report):
        addition = f"{section}\n".encode()
        if len(summary) + len(addition) + len(cut) > SUMMARY_BYTES:
            return bytes(summary + cut)
        summary += addition
    return bytes(summary)


def _cut(report: Report) -> bytes:
    with speaking(report.language):
        too_long = tell("rest-too-long-for-this-page")
        return f"{too_long}\n".encode()


def render_annotations(report: Report) -> bytes:
    """Return a report as workflow commands, one a line: for the output of a step, not a file.

    The two notices at the end are what GitHub Classroom read.
    """
    with speaking(report.language):
        findings = list(_findings(report))
        errors = [each for each in findings if each.level == "error"]
        warnings = [each for each in findings if each.level == "warning"]
        listed = [*_first(errors, report), *_first(warnings, report), *_notices(report)]
    return "".join(f"{command(each)}\n" for each in listed).encode()


def _first(findings: list[Annotation], report: Report) -> Iterator[Annotation]:
    """Yield what GitHub will show of these, and as the last one how many there are more."""
    if len(findings) <= MOST_SHOWN:
        yield from findings
        return
    yield from findings[: MOST_SHOWN - 1]
    more = tell("and-count-more", count=len(findings) - MOST_SHOWN + 1)
    yield Annotation(findings[0].level, wording.one_line(report.assignment.title), more)


def _findings(report: Report) -> Iterator[Annotation]:
    for problem in report.problems:
        yield _of_problem(problem, report)
    for part in report.parts:
        for checks in lost_checks(part):
            yield _of_checks(checks, part, report)
    if not is_graded(report):
        message = wording.plain(join(*report.notes), MESSAGE_CHARACTERS)
        yield Annotation("error", tell("nothing-graded"), message, report.submission.name)


def _of_problem(problem: CellProblem, report: Report) -> Annotation:
    error = wording.one_line(problem.error)
    title = tell("code-cell-title", cell=problem.cell, error=error)
    said = wording.plain(problem.message, MESSAGE_CHARACTERS) or error, advice(problem.hint)
    line = line_in_file(report, problem.cell, problem.line)
    return Annotation("error", title, _joined(said), report.submission.name, line)


def _of_checks(checks: list[Check], part: Part, report: Report) -> Annotation:
    partial = all(check.verdict == "partial" for check in checks)
    lost = sum(check.score for check in checks), sum(check.max_score for check in checks)
    titles = [wording.one_line(check.title) for check in checks]
    said = dict.fromkeys(each for check in checks for each in explanation(part, check, report))
    points = f" ({wording.points_of(*lost)})" if lost[1] else ""
    title = f"{wording.one_line(part.title)}: {'; '.join(titles)}{points}"
    line = line_in_file(report, part.origin.cell) if part.origin is not None else None
    message = _joined(said) or title
    level: Level = "warning" if partial else "error"
    return Annotation(level, title, message, report.submission.name, line)


def _joined(said: Iterable[str]) -> str:
    return "\n".join(filter(None, said))


def _notices(report: Report) -> Iterator[Annotation]:
    """Yield the notices by which GitHub Classroom's reporter hands over the points."""
    if not report.max_score:
        return
    reached, most = wording.points(report.score), wording.points(report.max_score)
    totals = json.dumps({"totalPoints": float(reached), "maxPoints": float(most)})
    yield Annotation("notice", "Autograding complete", f"Points {reached}/{most}")
    yield Annotation("notice", "Autograding report", totals)


def command(annotation: Annotation) -> str:
    """Return an annotation as a workflow command, on one line."""
    properties = {"title": annotation.title}
    if annotation.file:
        line = {"line": str(annotation.line)} if annotation.line is not None else {}
        properties = {"file": annotation.file, **line, **properties}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{annotation.level} {listed}::{_data(annotation.message)}"


def _data(text: str) -> str:
    """Escape a message as the runner unescapes it: percent signs and the ends of lines."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a value as the runner unescapes it: what would end it, too."""
    return _data(wording.plain(text)).replace(":", "%3A").replace(",", "%2C")


Status = Literal["pass", "fail", "error"]

_COMMAND = re.compile(r"(?<=:)(?=:)|(?<=##)(?=\[)")
_BREAK = "\u200b"
"""What a line of a log is a workflow command by, and the space without width that breaks it up."""


class ClassroomCase(msgspec.Struct, frozen=True):
    """A check. `message` is null where nothing is to be said, `line_no` 0 where none is known."""

    name: str
    status: Status
    score: float
    message: str | None
    test_code: str
    filename: str
    line_no: int
    duration: float


class ClassroomResult(msgspec.Struct, frozen=True):
    """What a step hands over."""

    version: Literal[1]
    status: Status
    max_score: float
    tests: tuple[ClassroomCase, ...]


def render_classroom(report: Report) -> bytes:
    """Return a report as base64 of the result's JSON, on one line."""
    with speaking(report.language):
        tests = tuple(_tests(report))
    statuses = {test.status for test in tests}
    status: Status = "error" if "error" in statuses else "fail" if "fail" in statuses else "pass"
    result = ClassroomResult(1, status, report.max_score, tests)
    return base64.b64encode(msgspec.json.encode(result)) + b"\n"


def _tests(report: Report) -> Iterator[ClassroomCase]:
    if not is_graded(report):
        title = wording.one_line(report.submission.name)
        yield _case(title, "error", 0.0, wording.plain(join(*report.notes)), report)
    for part in report.parts:
        line = line_in_file(report, part.origin.cell) if part.origin is not None else None
        for check in part.checks:
            title = titled(part, check)
            said = explanation(part, check, report) if is_lost(check) else []
            yield _case(title, _status(check), check.score, "\n".join(said), report, line)


def _case(
    title: str, status: Status, score: float, said: str, report: Report, line: int | None = None
) -> ClassroomCase:
    return ClassroomCase(
        name=inert(title),
        status=status,
        score=score,
        message=inert(said) or None,
        test_code="",
        filename=inert(wording.one_line(report.submission.name)),
        line_no=line or 0,
        duration=0.0,
    )


def _status(check: Check) -> Status:
    if not is_lost(check):
        return "pass"
    return "error" if check.verdict == "not_graded" else "fail"


def inert(text: str) -> str:
    """Return text that is no workflow command wherever it is printed."""
    return _COMMAND.sub(_BREAK, text)
