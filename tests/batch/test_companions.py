"""Notebooks that one student handed in together, and what their rows say."""

from __future__ import annotations

from pathlib import Path

from grader.batch.collect import Entry, unknown_attempt
from grader.batch.companions import companions, with_companions
from grader.batch.summary import Row, Summary
from grader.language import NOTHING, foreign, say


def entry(file: str) -> Entry:
    return Entry(Path("/class", file), file, file.removesuffix(".ipynb"), Path("/class"))


def row(each: Entry, assignment: str = "hw", *, graded: bool = True, noticed: str = "") -> Row:
    said = foreign(noticed) if noticed else NOTHING
    return Row(each.name, each.file, "r", graded, False, 1.0, 2.0, said, assignment)


def notices(*rows: Row) -> list[str]:
    entries = [entry(each.file) for each in rows]
    found = with_companions(Summary(rows, 0), companions(entries, unknown_attempt))
    return [each.noticed.english for each in found.rows]


ADA = [entry(f"ada/{name}.ipynb") for name in "abc"]


def test_every_row_says_how_many_were_handed_in_together() -> None:
    told = "One of 2 notebooks submitted together: the best counts."
    assert [told, f"{told} Slow.", ""] == notices(
        row(ADA[0]), row(ADA[1], noticed="Slow."), row(entry("ben/hw.ipynb"))
    )


def test_notebooks_of_two_assignments_and_ungraded_ones_are_not_said_to_compete() -> None:
    assert ["", ""] == notices(row(ADA[0]), row(ADA[1], "other"))
    assert ["", "Damaged."] == notices(
        row(ADA[0]), row(ADA[1], "", graded=False, noticed="Damaged.")
    )


def test_files_in_no_folder_and_what_cannot_be_read_are_no_group() -> None:
    broken = Entry(
        Path("/class/ada/x"), "ada/x", "ada/x", Path("/class"), say("no-sentence"), say("Go.")
    )
    assert {} == companions([entry("a.ipynb"), entry("b.ipynb")], unknown_attempt)
    assert {} == companions([ADA[0], broken], unknown_attempt)


def test_what_was_collected_as_one_attempt_is_one_group() -> None:
    (group,) = companions(ADA, lambda each: "submissions/ada").values()
    assert tuple(ADA) == group
