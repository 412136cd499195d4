"""The report as a step's result for the reporter of GitHub Classroom: JSON in base64.

The reporter (classroom-resources/autograding-grading-reporter) decodes what the variable
NAME_RESULTS holds for each NAME of its input `runners`, prints the tests, and adds up their points.
What it prints reaches the log of the job, where a line of a student's text must be no command.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from grader.language import join
from grader.render import wording
from grader.render.findings import explanation, is_graded, is_lost, line_in_file
from grader.render.speech import speaking
from grader.report import Check, Report

Status = Literal["pass", "fail", "error"]

_COMMAND = re.compile(r"(?<=:)(?=:)|(?<=##)(?=\[)")
_BREAK = "\u200b"
"""What a line of a log is a workflow command by, and the space without width that breaks it up."""


class Case(msgspec.Struct, frozen=True):
    """A check. `message` is null where nothing is to be said, `line_no` 0 where none is known."""

    name: str
    status: Status
    score: float
    message: str | None
    test_code: str
    filename: str
    line_no: int
    duration: float


class Result(msgspec.Struct, frozen=True):
    """What a step hands over."""

    version: Literal[1]
    status: Status
    max_score: float
    tests: tuple[Case, ...]


def render_classroom(report: Report) -> bytes:
    """Return a report as base64 of the result's JSON, on one line."""
    with speaking(report.language):
        tests = tuple(_tests(report))
    statuses = {test.status for test in tests}
    status: Status = "error" if "error" in statuses else "fail" if "fail" in statuses else "pass"
    result = Result(1, status, report.max_score, tests)
    return base64.b64encode(msgspec.json.encode(result)) + b"\n"


def _tests(report: Report) -> Iterator[Case]:
    if not is_graded(report):
        title = wording.one_line(report.submission.name)
        yield _case(title, "error", 0.0, wording.plain(join(*report.notes)), report)
    for part in report.parts:
        line = line_in_file(report, part.origin.cell) if part.origin is not None else None
        for check in part.checks:
            title = f"{wording.one_line(part.title)}: {wording.one_line(check.title)}"
            said = explanation(part, check, report) if is_lost(check) else []
            yield _case(title, _status(check), check.score, "\n".join(said), report, line)


def _case(
    title: str, status: Status, score: float, said: str, report: Report, line: int | None = None
) -> Case:
    return Case(
        name=_inert(title),
        status=status,
        score=score,
        message=_inert(said) or None,
        test_code="",
        filename=_inert(wording.one_line(report.submission.name)),
        line_no=line or 0,
        duration=0.0,
    )


def _status(check: Check) -> Status:
    if not is_lost(check):
        return "pass"
    return "error" if check.verdict == "not_graded" else "fail"


def _inert(text: str) -> str:
    """Return text that is no workflow command wherever it is printed."""
    return _COMMAND.sub(_BREAK, text)
