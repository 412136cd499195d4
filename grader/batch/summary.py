"""The overview of a batch: one row for each submission, as JSON and for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

import msgspec

from grader.batch.collect import Entry
from grader.course import Chooser
from grader.language import join
from grader.render.wording import one_line, points_of
from grader.report import Check, Report

SCHEMA_VERSION: Literal[2] = 2

_LONGEST_NOTICE = 160


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One submission. `graded` is false where `noticed` says why it could not be graded.

    `file` and `report` are relative paths: below the folder that all submissions have in common,
    and below the folder of the reports. `kept` says that the report is of an earlier run, `again`
    that something of it could not be decided and will be graded again. `assignment` is what it was
    graded as and `chosen_by` who said so: empty where it was not graded. `report` is empty where
    the report could not be written to its place, and `noticed` says where it is.
    """

    name: str
    file: str
    report: str
    graded: bool
    kept: bool
    score: float
    max_score: float
    noticed: str
    assignment: str = ""
    chosen_by: Chooser | Literal[""] = ""
    again: bool = False


class Summary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All rows of a batch, in order. `pending` counts submissions that it did not come to."""

    rows: tuple[Row, ...]
    pending: int
    schema_version: Literal[2] = SCHEMA_VERSION

    @property
    def ungraded(self) -> int:
        """How many submissions could not be graded."""
        return sum(not row.graded for row in self.rows)

    @property
    def misplaced(self) -> int:
        """How many reports could not be written to their places."""
        return sum(not row.report for row in self.rows)

    @property
    def assignments(self) -> dict[str, int]:
        """How many submissions were graded as which assignment, the most frequent one first."""
        return dict(Counter(row.assignment for row in self.rows if row.graded).most_common())


def encode_summary(summary: Summary) -> bytes:
    """Return the overview as indented JSON, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n"


def make_row(
    entry: Entry, report: Report, chooser: Chooser | None = None, *, kept: bool = False
) -> Row:
    """Return the row of a submission with its report; `chooser` is who chose the assignment."""
    return Row(
        name=entry.name,
        file=one_line(entry.file),
        report=f"{entry.name}.json",
        graded=is_graded(report),
        kept=kept,
        score=report.score,
        max_score=report.max_score,
        noticed=_short(notice(report)),
        assignment=report.assignment.slug,
        chosen_by=chooser or "",
        again=is_graded(report) and not is_settled(report),
    )


def misplaced(row: Row, why: str) -> Row:
    """Return the row of a submission whose report is not where it should be."""
    return msgspec.structs.replace(row, report="", noticed=one_line(why))


def is_graded(report: Report) -> bool:
    """Say whether a report has verdicts, and is not about a file that could not be graded."""
    return bool(report.parts)


def is_settled(report: Report) -> bool:
    """Say whether a report is a grade, of which nothing has to be graded again."""
    return is_graded(report) and not list(_undecided(report))


def outcome(row: Row) -> str:
    """Return a row without its name, in a line: "7 of 10, cell 3 raised TypeError"."""
    points = points_of(row.score, row.max_score) if row.graded else ""
    return ", ".join(filter(None, (points, row.noticed)))


def notice(report: Report) -> str:
    """Return what an instructor should know first, in a line; empty when there is nothing.

    It is in English as the rest of the overview, in whichever language the report is.
    """
    if not is_graded(report):
        return f"not graded: {join(*report.notes).english}"
    for check in _undecided(report):
        return f"to be graded again: {check.reason.english}"
    if report.problems:
        first, others = report.problems[0], len(report.problems) - 1
        more = f", and {others} more" if others else ""
        return f"cell {first.cell} raised {first.error}{more}"
    if report.score >= report.max_score:
        return ""
    if report.submission.executed < report.submission.cells and report.notes:
        return report.notes[-1].english
    lost = [check for part in report.parts for check in part.checks if _lost(check)]
    # what was not graded mostly waits for another check: that one is the reason
    lost.sort(key=lambda check: check.verdict == "not_graded")
    return lost[0].reason.english if lost else ""


def _undecided(report: Report) -> Iterator[Check]:
    return (check for part in report.parts for check in part.checks if check.again)


def _lost(check: Check) -> bool:
    return check.verdict != "passed" or check.score < check.max_score


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST_NOTICE else f"{line[: _LONGEST_NOTICE - 2]} …"
