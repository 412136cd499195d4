"""The overview of a batch: one row for each submission, as JSON, for files and the terminal."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from rich.console import Console
from rich.text import Text as Styled

from grader.batch.collect import Entry
from grader.course import Chooser
from grader.decoding import prepared
from grader.files import indented_json
from grader.language import (
    ENGLISH,
    NOTHING,
    Sentence,
    Text,
    counted,
    foreign,
    in_a_row,
    in_clauses,
    join,
    say,
)
from grader.render.findings import is_lost
from grader.render.pieces import plain_table
from grader.render.terminal import WIDEST, Page
from grader.render.wording import one_line, points
from grader.report import CellProblem, Check, Report
from grader.report.texts import decode_old

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
    noticed: Text
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
    """Return the overview as indented JSON, in English, ending in a newline."""
    return indented_json(summary, in_a_line)


def decode_summary(document: bytes) -> Summary:
    """Read an overview that was written. Raises msgspec.ValidationError."""
    return msgspec.json.decode(document, type=prepared(Summary), dec_hook=decode_old)


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
        noticed=notice(report),
        assignment=report.assignment.slug,
        chosen_by=chooser or "",
        again=is_graded(report) and not is_settled(report),
        open=report.open,
    )


def misplaced(row: Row, why: Text) -> Row:
    """Return the row of a submission whose report is not where it should be."""
    return msgspec.structs.replace(row, report="", noticed=why)


def is_graded(report: Report) -> bool:
    """Say whether a report has verdicts, and is not about a file that could not be graded."""
    return bool(report.parts)


def is_settled(report: Report) -> bool:
    """Say whether a report is a grade, of which nothing has to be graded again."""
    return is_graded(report) and not list(_undecided(report))


def is_put_back(report: Report) -> bool:
    """Say whether the machine spoiled something, so that a batch grades it once more at its end.

    Another customer's program used the core in 3 of 100 measurements on a virtual machine, for 20 s
    to 2 minutes: a schedule then got 5 points in place of 9.
    """
    is_spoiled = report.timing is not None and not report.timing.is_settled
    return is_graded(report) and (is_spoiled or not is_settled(report))


def outcome(row: Row) -> Text:
    """Return a row without its name, in a line: "7 of 10, cell 3 raised TypeError"."""
    told = (_points_of(row) if row.graded else NOTHING, _not_marked(row), row.noticed)
    return in_a_row(filter(None, told))


def _points_of(row: Row) -> Text:
    return say("score-maximum", score=points(row.score), maximum=points(row.max_score))


def _not_marked(row: Row) -> Text:
    return say("points-not-marked-yet", points=points(row.open)) if row.open else NOTHING


def notice(report: Report) -> Text:
    """Return what an instructor should know first; nothing when there is nothing."""
    if not is_graded(report):
        return say("not-graded-reason", reason=join(*report.notes))
    for check in _undecided(report):
        return say("graded-again-reason", reason=check.reason)
    other = [note for note in report.notes if isinstance(note, Sentence) and note.id in _OTHER_WORK]
    if other:
        return other[0]
    problems = _own_problems(report) or report.problems * (report.score >= report.max_score)
    if problems:
        first, others = problems[0], len(problems) - 1
        if not others:
            return say("cell-raised", cell=first.cell, error=first.error)
        return say("cell-raised-and-more", cell=first.cell, error=first.error, count=others)
    if report.score >= report.max_score:
        return NOTHING
    if report.submission.executed + len(report.problems) < report.submission.cells and report.notes:
        return report.notes[-1]
    lost = [check for part in report.parts for check in part.checks if is_lost(check)]
    # what was not graded mostly waits for another check: that one is the reason
    lost.sort(key=lambda check: (check.code == "waits", check.verdict == "not_graded"))
    return lost[0].reason if lost else NOTHING


_OTHER_WORK = frozenset({"notebook-names-graded"})
"""Notes on a file that may be of another assignment: nothing else in it counts then."""


def _own_problems(report: Report) -> tuple[CellProblem, ...]:
    """Return the errors of cells that the student wrote.

    The handout's checks fail in what is not solved: in empty templates they hid that it is not.
    """
    given = {cell.number for cell in report.cells if cell.given}
    return tuple(each for each in report.problems if each.cell not in given)


def _undecided(report: Report) -> Iterator[Check]:
    return (check for part in report.parts for check in part.checks if check.again)


def in_a_line(text: Text, language: str = ENGLISH) -> str:
    """Return a notice as overviews have it: in one line that is not long.

    It is in English in documents and in the gradebook, in whichever language the report is.
    """
    line = one_line(text.in_(language))
    return line if len(line) <= _LONGEST_NOTICE else f"{line[: _LONGEST_NOTICE - 2]} …"


NAMED = 5
"""So many submissions of a rarer assignment are named; the table has them all."""


def render_overview(summary: Summary, console: Console, language: str = ENGLISH) -> None:
    """Print the rows of a batch, and in a sentence how many there are of which kind."""
    table = plain_table(expand=True)
    table.add_column(say("submission").in_(language), ratio=2, overflow="fold")
    table.add_column(say("assignment").in_(language), overflow="fold")
    table.add_column(say("points").in_(language), justify="right", no_wrap=True)
    table.add_column(say("observed").in_(language), ratio=3, overflow="fold")
    for row in summary.rows:
        table.add_row(
            Styled(one_line(row.name)),
            Styled(row.assignment),
            _shown_points(row, language),
            _shown_notice(row, language),
        )
    console.print(Page(table), width=min(console.width, WIDEST), end="")
    console.print()
    console.print(Page(Styled(count_rows(summary).in_(language))), end="")
    if text := mixture(summary):
        console.print(Page(Styled(text.in_(language), style="yellow")), end="")


_CHOSEN: Mapping[str, Text] = {
    "": say("name-assignment"),
    "command": say("by-command"),
    "metadata": say("by-metadata"),
    "entry points": say("by-entry-points"),
}


def mixture(summary: Summary) -> Text:
    """Warn where students chose between assignments, who may have chosen the easier one."""
    most, *others = summary.assignments.items() or [("", 0)]
    if not others:
        return NOTHING
    odd = [row for row in summary.rows if row.graded and row.assignment != most[0]]
    named = [_chosen(row) for row in odd[:NAMED]]
    if len(odd) > NAMED:
        named.append(say("and-more", count=len(odd) - NAMED))
    return say(
        "different-assignments-students-control-their-notebooks-metadata",
        counted=in_a_row(f"{slug} ({count})" for slug, count in (most, *others)),
        named=in_clauses(named),
    )


def _chosen(row: Row) -> Text:
    return say(_CHOSEN[row.chosen_by], name=one_line(row.name), assignment=row.assignment)


def count_rows(summary: Summary) -> Text:
    """Return "40 submissions: 38 graded, 12 of them before; 2 could not be graded."."""
    total = len(summary.rows) + summary.pending
    kept = sum(row.kept for row in summary.rows)
    graded = say("count-graded", count=len(summary.rows) - summary.ungraded)
    if kept:
        graded = say("graded-count-them-before", graded=graded, count=kept)
    again = sum(row.again for row in summary.rows)
    places = say("report-not-in-folder-reports"), say("reports-not-in-folder-reports")
    told = (
        (again, say("count-graded-again", count=again)),
        (summary.ungraded, say("could-not-graded", count=summary.ungraded)),
        (summary.misplaced, counted(summary.misplaced, *places)),
        (summary.pending, say("not-yet-graded", count=summary.pending)),
    )
    submissions = counted(total, say("count-submission"), say("submissions"))
    parts = in_clauses([graded, *(text for number, text in told if number)])
    return say("submissions-parts", submissions=submissions, parts=parts)


def _shown_points(row: Row, language: str) -> Styled:
    if not row.graded:
        return Styled("–", style="red")
    style = "green" if row.score >= row.max_score else "yellow" if row.score > 0 else "red"
    return Styled(_points_of(row).in_(language), style=style)


def _shown_notice(row: Row, language: str) -> Styled:
    line = foreign(in_a_line(row.noticed, language))
    said = in_a_row(filter(None, (_not_marked(row), line)))
    return Styled(said.in_(language), style="" if row.graded else "red")


def summarize(names: Sequence[str], rows: Mapping[str, Row]) -> Summary:
    """Return the overview of a batch of submissions, of the rows that there are."""
    found = tuple(rows[name] for name in names if name in rows)
    return Summary(found, pending=len(names) - len(found))
