"""The table at the end of a batch."""

from __future__ import annotations

import io

import msgspec
import pytest
from rich.console import Console

from grader.batch.summary import Row, Summary, count_rows, render_overview
from tests.sample_reports import HOSTILE


def row(name: str, score: float = 7, noticed: str = "", graded: bool = True, kept: bool = False):
    made = Row(name, f"{name}.ipynb", f"{name}.json", graded, kept, score, 10, noticed)
    return msgspec.structs.replace(made, assignment="conv" if graded else "")


def of(assignment: str, row: Row, chooser: str = "metadata") -> Row:
    return msgspec.structs.replace(row, assignment=assignment, chosen_by=chooser)


def printed(*rows: Row, pending: int = 0, width: int = 100) -> list[str]:
    file = io.StringIO()
    render_overview(Summary(rows, pending), Console(file=file, width=width))
    return [" ".join(line.split()) for line in file.getvalue().splitlines()]


def test_each_submission_has_its_points_and_what_was_noticed() -> None:
    lines = printed(
        row("ada", 10), row("ben", 7.5, "cell 3 raised TypeError"), row("김", 0, "no module")
    )
    assert {
        "ada conv 10 of 10",
        "ben conv 7.5 of 10 cell 3 raised TypeError",
        "김 conv 0 of 10 no module",
    } <= set(lines)


def test_assignments_that_are_mixed_are_told_with_who_chose() -> None:
    rows = [row("ada"), row("ben"), of("easy", row("cem")), row("dan", graded=False)]
    text = " ".join(printed(*rows))
    assert "Assignments are mixed: conv (2), easy (1). cem is easy by its metadata." in text
    assert "--assignment SLUG" in text
    assert "mixed" not in " ".join(printed(row("ada"), row("ben"), row("dan", graded=False)))


def test_of_many_that_chose_some_are_named() -> None:
    rows = [of("easy", row(f"e{n}"), "entry points") for n in range(7)]
    text = " ".join(printed(*[row(f"c{n}") for n in range(8)], *rows))
    assert "e4 is easy by its entry points; and 2 more." in text


def test_one_without_a_grade_has_no_points() -> None:
    assert "ada – not graded: why" in printed(row("ada", 0, "not graded: why", graded=False))


def test_what_a_student_wrote_is_text() -> None:
    text = "\n".join(printed(row("ada", 0, HOSTILE)))
    assert "\x1b" not in text
    assert "[bold red]not" in text


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
    assert sentence == count_rows(summary)
