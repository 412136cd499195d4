"""What `grader grades stats` and `grader insights` say before and after answers are marked."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from grader.cli.class_reports import ClassOptions
from grader.cli.class_stats import tell_stats
from grader.cli.gradebook import CommandOutput
from grader.cli.insights import run_insights
from grader.gradebook.book import Gradebook
from grader.marking.queue import Session
from tests.marking.factory import ASSIGNMENT, COURSE

WRITTEN = ASSIGNMENT.slug


@pytest.fixture(autouse=True)
def _gradebook(classbook: Gradebook, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_GRADEBOOK", url)


def stats(folder: Path) -> tuple[dict[str, Any], str]:
    """Return the numbers of an assignment, and what is said to people."""
    told = io.StringIO()

    class Told(CommandOutput, frozen=True):
        def tell(self, found: object, people: Any) -> None:
            self._write(found)
            people(Console(file=told, width=200, emoji=False))

    tell_stats(WRITTEN, COURSE, Told(folder / "stats.json"))
    return json.loads((folder / "stats.json").read_bytes())[WRITTEN], told.getvalue()


def looked_at(folder: Path) -> str:
    """Return what the insights say."""
    told = io.StringIO()
    found = ClassOptions(WRITTEN, course=COURSE)
    run_insights(found, folder / "out", Console(file=told, width=200), "en")
    return told.getvalue()


def mark(book: Gradebook, *logins: str) -> None:
    """Mark both parts of some students: the first item of each is right."""
    session = Session(book, ASSIGNMENT, "eve")
    for each in session.answers():
        if each.student.login in logins:
            session.mark(each, [each.table.item[0].id], "", seen=each.seen)


def test_what_is_not_marked_is_to_be_reviewed_until_all_of_it_is(
    classbook: Gradebook, tmp_path: Path
) -> None:
    """Both said "not marked yet" after everything was marked."""
    numbers, told = stats(tmp_path)
    assert (3, 8, 3) == (numbers["graded"], numbers["mean"], told.count("not marked yet"))
    assert "3 students graded, 3 to review." in looked_at(tmp_path)

    mark(classbook, "ada")
    _, told = stats(tmp_path)
    assert "ada" not in told.partition("To review")[2]
    assert 2 == told.count("not marked yet")
    assert "3 students graded, 2 to review." in looked_at(tmp_path)

    mark(classbook, "bob", "leilei")
    numbers, told = stats(tmp_path)
    assert "not marked yet" not in told and "To review" not in told
    why, plot = (float(each.item[0].points or 0) for each in ASSIGNMENT.manual)
    assert (8 + why + plot, 8 + why + plot) == (numbers["mean"], numbers["lowest"])
    assert {"model": 8, "why": why, "plot": plot} == numbers["parts"]
    assert "3 students graded, 0 to review." in looked_at(tmp_path)
