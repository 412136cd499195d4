"""The overview of a batch: one row for each submission, as JSON, for files and the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.batch.collect import Entry
from grader.course import Chooser
from grader.language import join
from grader.render import wording
from grader.render.terminal import WIDEST, Page
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
    the report could not be written to its place, and `noticed` says where it is. `open` are points
    that a person has yet to give.
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
    open: float = 0.0


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
        noticed=overview_notice(report),
        assignment=report.assignment.slug,
        chosen_by=chooser or "",
        again=is_graded(report) and not is_settled(report),
        open=report.open,
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
    return ", ".join(filter(None, (points, wording.not_marked(row.open), row.noticed)))


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


def overview_notice(report: Report) -> str:
    """Return what is said of a report in an overview: its notice, in one line that is not long."""
    line = one_line(notice(report))
    return line if len(line) <= _LONGEST_NOTICE else f"{line[: _LONGEST_NOTICE - 2]} …"


NAMED = 5
"""So many submissions of a rarer assignment are named; the table has them all."""


def render_overview(summary: Summary, console: Console) -> None:
    """Print the rows of a batch, and in a sentence how many there are of which kind."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, expand=True, header_style="dim"
    )
    table.add_column("Submission", ratio=2, overflow="fold")
    table.add_column("Assignment", overflow="fold")
    table.add_column("Points", justify="right", no_wrap=True)
    table.add_column("Noticed", ratio=3, overflow="fold")
    for row in summary.rows:
        table.add_row(
            Text(wording.one_line(row.name)), Text(row.assignment), _points(row), _noticed(row)
        )
    console.print(Page(table), width=min(console.width, WIDEST), end="")
    console.print()
    console.print(Page(Text(count_rows(summary))), end="")
    for text in filter(None, (mixture(summary),)):
        console.print(Page(Text(text, style="yellow")), end="")


def mixture(summary: Summary) -> str:
    """Warn where students chose between assignments, who may have chosen the easier one.

    Empty where there is nothing to warn of.
    """
    most, *others = summary.assignments.items() or [("", 0)]
    if not others:
        return ""
    counted = ", ".join(f"{slug} ({count})" for slug, count in (most, *others))
    odd = [row for row in summary.rows if row.graded and row.assignment != most[0]]
    named = "; ".join(
        f"{wording.one_line(row.name)} is {row.assignment} by its {row.chosen_by}"
        for row in odd[:NAMED]
    )
    more = f"; and {len(odd) - NAMED} more" if len(odd) > NAMED else ""
    return (
        f"Assignments are mixed: {counted}. {named}{more}. What a notebook says of itself is the"
        " student's to change: name the assignment with --assignment SLUG."
    )


def count_rows(summary: Summary) -> str:
    """Return "40 submissions: 38 graded, 12 of them before; 2 could not be graded."."""
    total = len(summary.rows) + summary.pending
    kept = sum(row.kept for row in summary.rows)
    graded = f"{len(summary.rows) - summary.ungraded} graded"
    parts = [f"{graded}, {kept} of them before" if kept else graded]
    again = sum(row.again for row in summary.rows)
    if again:
        parts.append(f"{again} to be graded again")
    if summary.ungraded:
        parts.append(f"{summary.ungraded} could not be graded")
    if summary.misplaced:
        parts.append(f"{wording.count(summary.misplaced, 'report')} not in the folder of reports")
    if summary.pending:
        parts.append(f"{summary.pending} not yet graded")
    return f"{wording.count(total, 'submission')}: {'; '.join(parts)}."


def _points(row: Row) -> Text:
    if not row.graded:
        return Text("–", style="red")
    style = "green" if row.score >= row.max_score else "yellow" if row.score > 0 else "red"
    return Text(wording.points_of(row.score, row.max_score), style=style)


def _noticed(row: Row) -> Text:
    said = ", ".join(filter(None, (wording.not_marked(row.open), row.noticed)))
    return Text(wording.one_line(said), style="" if row.graded else "red")


def summarize(names: Sequence[str], rows: Mapping[str, Row]) -> Summary:
    """Return the overview of a batch of submissions, of the rows that there are."""
    found = tuple(rows[name] for name in names if name in rows)
    return Summary(found, pending=len(names) - len(found))
