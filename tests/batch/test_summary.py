"""One row for each submission.

The table at the end of a batch.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from grader.batch.collect import Entry
from grader.batch.summary import (
    Row,
    Summary,
    count_rows,
    decode_summary,
    encode_summary,
    in_a_line,
    make_row,
    notice,
    outcome,
    render_overview,
)
from grader.language import NOTHING, foreign, say
from grader.report import Cell
from tests.sample_reports import HOSTILE, full_marks, nothing_to_grade, typical

SEEN: Any = {"cell": 7, "error": "NameError", "count": 1}
ENTRY = Entry(Path("/class/ada/hw.ipynb"), "ada/hw.ipynb", "ada/hw", Path("/class"))


def changed(report: Any, **fields: object) -> Any:
    return msgspec.structs.replace(report, **fields)


class TestNotice:
    """What an instructor should know first."""

    def test_a_cell_that_failed_comes_first(self) -> None:
        seen = notice(typical())
        assert say("cell-raised-and-more", **SEEN) == seen
        assert "code cell 7 raised NameError, and 1 more" == seen.english

    def test_a_cell_that_failed_is_told_with_full_marks_too(self) -> None:
        report = changed(full_marks(), problems=typical().problems[:1])
        assert "code cell 7 raised NameError" == notice(report).english

    def test_a_failed_check_of_the_handout_is_not_told_before_what_is_not_solved(self) -> None:
        """An empty template was "code cell 12 raised NotImplementedError, and 5 more"."""
        report = typical()
        cells = tuple(Cell("code", "check()", each.cell, given=True) for each in report.problems)
        assert notice(changed(report, problems=())) == notice(changed(report, cells=cells))
        own = notice(changed(report, cells=cells[:1]))
        assert say("cell-raised", cell=report.problems[1].cell, error="CellTimeoutError") == own

    def test_a_notebook_of_another_assignment_is_told_first(self) -> None:
        other = say("notebook-names-graded", declared="tensorir", demanded="e2e-mlp")
        assert other == notice(changed(typical(), notes=(foreign("Recognised."), other)))

    def test_full_marks_need_no_word(self) -> None:
        assert NOTHING == notice(
            changed(full_marks(), problems=(), notes=(foreign("Recognised."),))
        )

    def test_a_notebook_that_was_ended_is_told_before_its_checks(self) -> None:
        note = "Code cell 15 ran longer than 20 seconds and was stopped."
        report = changed(typical(), problems=(), notes=(foreign("Recognised."), foreign(note)))
        assert foreign(note) == notice(report)

    def test_then_the_first_lost_check(self) -> None:
        assert notice(changed(typical(), problems=())).english.startswith(
            "On 4,443 of 4,443 test images"
        )

    def test_what_only_waits_for_another_check_is_told_after_it(self) -> None:
        report = changed(typical(), problems=())
        waiting = changed(
            report.parts[0].checks[0],
            score=0,
            verdict="not_graded",
            reason=foreign("Counts only once ..."),
        )
        parts = [
            changed(part, checks=(waiting, *part.checks)) if part is report.parts[0] else part
            for part in report.parts
        ]
        told = notice(changed(report, parts=tuple(parts))).english
        assert told.startswith("On 4,443 of 4,443 test images")

    def test_why_a_submission_was_not_graded(self) -> None:
        report = changed(
            nothing_to_grade(), parts=(), notes=(foreign("No sandbox."), foreign("Install it."))
        )
        assert "not graded: No sandbox. Install it." == notice(report).english

    def test_it_is_in_the_language_of_the_overview(self) -> None:
        """The reports of a class may be in several languages; who reads of all reads one."""
        reason = say("notebook-defines-no-function-called", entry="create")
        report = changed(typical(), problems=(), language="ko")
        lost = changed(report.parts[1].checks[2], reason=reason)
        alone = changed(report, parts=(changed(report.parts[1], checks=(lost,)),))
        assert reason == notice(alone)
        assert b"The notebook defines no function called create." in encode_summary(
            Summary((make_row(ENTRY, alone),), 0)
        )


class TestRow:
    """A row is small, and plain text."""

    def test_a_graded_submission(self) -> None:
        expected = Row(
            name="ada/hw",
            file="ada/hw.ipynb",
            report="ada/hw.json",
            graded=True,
            kept=True,
            score=77.5,
            max_score=100.0,
            noticed=say("cell-raised-and-more", **SEEN),
            assignment="e2e-conv",
            chosen_by="metadata",
        )
        assert expected == make_row(ENTRY, typical(), "metadata", kept=True)

    def test_one_that_has_to_be_graded_again(self) -> None:
        (*parts, last) = typical().parts
        check = msgspec.structs.replace(last.checks[-1], again=True, reason=foreign("Too busy."))
        last = msgspec.structs.replace(last, checks=(*last.checks[:-1], check))
        row = make_row(ENTRY, changed(typical(), parts=(*parts, last)))
        assert (True, True) == (row.graded, row.again)
        told = say("graded-again-reason", reason=foreign("Too busy."))
        assert told == row.noticed

    def test_what_a_student_wrote_stays_on_its_line(self) -> None:
        problem = msgspec.structs.replace(typical().problems[0], error=HOSTILE)
        row = make_row(ENTRY, changed(typical(), problems=(problem,)))
        assert in_a_line(row.noticed).isprintable()

    def test_a_long_reason_is_cut(self) -> None:
        report = changed(typical(), parts=(), notes=(foreign("why " * 100),))
        assert 160 == len(in_a_line(make_row(ENTRY, report).noticed))

    @pytest.mark.parametrize(
        ("graded", "noticed", "line"),
        [
            (True, "", "7 of 10"),
            (True, "code cell 3 raised TypeError", "7 of 10, code cell 3 raised TypeError"),
            (False, "not graded: why", "not graded: why"),
        ],
    )
    def test_the_outcome_is_a_line(self, graded: bool, noticed: str, line: str) -> None:
        row = Row("hw", "hw.ipynb", "hw.json", graded, False, 7, 10, foreign(noticed))
        assert line == outcome(row).english


def test_the_document_can_be_read_back() -> None:
    row = make_row(ENTRY, typical())
    document = encode_summary(Summary((row,), pending=3))
    assert document.endswith(b"}\n")
    told = changed(row, noticed=foreign(in_a_line(row.noticed)))
    assert Summary((told,), pending=3) == decode_summary(document)


def row(name: str, score: float = 7, noticed: str = "", graded: bool = True, kept: bool = False):
    made = Row(name, f"{name}.ipynb", f"{name}.json", graded, kept, score, 10, foreign(noticed))
    return msgspec.structs.replace(made, assignment="conv" if graded else "")


def of(assignment: str, row: Row, chooser: str = "metadata") -> Row:
    return msgspec.structs.replace(row, assignment=assignment, chosen_by=chooser)


def printed(*rows: Row, pending: int = 0, width: int = 100, language: str = "en") -> list[str]:
    file = io.StringIO()
    render_overview(Summary(rows, pending), Console(file=file, width=width), language)
    return [" ".join(line.split()) for line in file.getvalue().splitlines()]


def test_each_submission_has_its_points_and_what_was_noticed() -> None:
    lines = printed(
        row("ada", 10), row("ben", 7.5, "code cell 3 raised TypeError"), row("김", 0, "no module")
    )
    assert {
        "ada conv 10 of 10",
        "ben conv 7.5 of 10 code cell 3 raised TypeError",
        "김 conv 0 of 10 no module",
    } <= set(lines)


def test_assignments_that_are_mixed_are_told_with_who_chose() -> None:
    rows = [row("ada"), row("ben"), of("easy", row("cem")), row("dan", graded=False)]
    text = " ".join(printed(*rows))
    assert (
        "Different assignments: conv (2), easy (1). cem is easy, according to its metadata." in text
    )
    assert "--assignment SLUG" in text
    assert "mixed" not in " ".join(printed(row("ada"), row("ben"), row("dan", graded=False)))


def test_of_many_that_chose_some_are_named() -> None:
    rows = [of("easy", row(f"e{n}"), "entry points") for n in range(7)]
    text = " ".join(printed(*[row(f"c{n}") for n in range(8)], *rows))
    assert "e4 is easy, according to its entry points; and 2 more." in text


def test_one_without_a_grade_has_no_points() -> None:
    assert "ada – not graded: why" in printed(row("ada", 0, "not graded: why", graded=False))


def test_what_a_student_wrote_is_text() -> None:
    text = "\n".join(printed(row("ada", 0, HOSTILE)))
    assert "\x1b" not in text
    assert "[bold red]not" in text


@pytest.mark.parametrize("language", ["zh", "ko"])
def test_an_overview_is_in_one_language(language: str) -> None:
    rows = [msgspec.structs.replace(row("a", kept=True), noticed=notice(typical()), open=3)]
    rows += [of("easy", row(f"e{n}"), "entry points") for n in range(7)]
    rows += [row("n", graded=False), *(row(f"c{n}", 10) for n in range(8))]
    lines = printed(*rows, pending=2, language=language)
    assert [] == [line for line in lines if re.search("[a-z]+ [a-z]+ [a-z]+", line)]
    assert "graded" not in " ".join(lines)
    assert "NameError" in " ".join(lines)


@pytest.mark.parametrize(
    ("summary", "sentence"),
    [
        (Summary((row("a"),), 0), "1 submission: 1 graded."),
        (
            Summary((row("a"), row("b", kept=True)), 0),
            "2 submissions: 2 graded, 1 of them before.",
        ),
        (
            Summary((row("a"), msgspec.structs.replace(row("b"), again=True)), 0),
            "2 submissions: 2 graded; 1 to be graded again.",
        ),
        (
            Summary((row("a"), row("b", graded=False)), 3),
            "5 submissions: 1 graded; 1 could not be graded; 3 not yet graded.",
        ),
    ],
)
def test_the_last_sentence_counts(summary: Summary, sentence: str) -> None:
    assert sentence == count_rows(summary).english
