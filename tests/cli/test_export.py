"""`grader export` from a gradebook: the grades that it derives."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.gradebook.book import Gradebook
from grader.gradebook.entries import find_student
from grader.gradebook.opening import open_database
from tests.cli.test_grades import ROOT, call, refused, said
from tests.gradebook.factory import SLUG, hand_in

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,hw (7)
    Points Possible,,,,,10
"Lovelace, Ada",17,S1,ada,A,
"Kim, Min",18,S2,min,A,
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A course's folder with a gradebook, in which one of two has handed in."""
    (tmp_path / "assignments").mkdir()
    (tmp_path / "assignments" / SLUG).symlink_to(ROOT / "assignments" / SLUG)
    (tmp_path / "canvas.csv").write_text(CANVAS)
    said(tmp_path, "course", "init")
    said(tmp_path, "roster", "import", "canvas.csv")
    book = Gradebook(open_database(f"sqlite:///{tmp_path / 'gradebook.sqlite'}"))
    hand_in(book, find_student(book.students(), "ada"), b"first", 60)
    book.close()
    return tmp_path


def test_canvas_gets_the_grades_of_the_gradebook(folder: Path) -> None:
    words = ("canvas", "--assignment", SLUG, "--into", "canvas.csv", "--column", "hw")
    done = call(folder, "export", *words)
    assert 0 == done.returncode, done.stderr
    assert '"Lovelace, Ada",17,S1,ada,A,6' in done.stdout
    assert "Without a grade, and left as they were (1): Kim, Min." in done.stderr


def test_they_are_adjusted(folder: Path) -> None:
    said(folder, "grades", "adjust", "ada", SLUG, "--points", "+2.5", "--reason", "a hint")
    told = said(folder, "export", "csv", "--assignment", SLUG)
    assert 'ada,"Lovelace, Ada",A,62.5,100,' in told


def test_who_has_withdrawn_has_none(folder: Path) -> None:
    (folder / "less.csv").write_text("login,name\nmin,Kim\n")
    said(folder, "roster", "import", "less.csv", "--withdraw")
    assert "ada" not in said(folder, "export", "csv", "--assignment", SLUG)


def test_an_assignment_that_is_unknown_is_named(folder: Path) -> None:
    assert "no assignment 'exam'" in refused(folder, "export", "csv", "--assignment", "exam")


def test_where_the_grades_are_has_to_be_said(folder: Path) -> None:
    assert "--assignment, or a folder with --reports" in refused(folder, "export", "csv")
