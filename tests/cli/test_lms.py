"""`grader collect`: what it prints, and its exit code."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from grader.cli.lms import print_collected
from grader.gradebook.book import Gradebook
from grader.gradebook.database import open_database
from grader.gradebook.entries import find_student
from grader.lms.archives import LeftOut
from grader.lms.collect import Collected, CollectOutcome
from tests.cli.test_grades import ROOT, call, refused, said
from tests.endtoend.warm import run_warm
from tests.gradebook.factory import SLUG, hand_in
from tests.lms.archives import make_zip


def collect(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_warm(["collect", *words], folder)


@pytest.fixture
def class_folder(tmp_path: Path) -> Path:
    make_zip(
        tmp_path / "hw.zip", {"kimmin_7_9_hw.ipynb": "{}", "lovelaceada_LATE_8_9_hw.ipynb": ""}
    )
    (tmp_path / "roster.csv").write_text("id,name\nmin,Kim Min\nada,Ada Lovelace\ngrace,Grace\n")
    return tmp_path


def test_it_says_what_came_and_what_comes_next(class_folder: Path) -> None:
    done = collect(class_folder, "hw.zip", "--output", "class", "--roster", "roster.csv")
    assert (0, "") == (done.returncode, done.stderr)
    assert "canvas: 2 students" in done.stdout
    assert "(2): ada, min" in done.stdout
    assert "Late (1): ada" in done.stdout
    assert "without a submission (1): grace" in done.stdout
    assert "Next: grader batch class/submissions --output reports" in done.stdout


def test_what_comes_next_names_the_late_ones_of_canvas(tmp_path: Path) -> None:
    """Only a gradebook counts who is late: without one the next step would be refused."""
    names = ["kim_LATE_77_102_hw.ipynb", "ada_78_103_hw.ipynb"]
    make_zip(tmp_path / "canvas.zip", dict.fromkeys(names, "{}"))
    assert "--handed-in" not in collect(tmp_path, "canvas.zip", "--output", "class").stdout
    shutil.copytree(ROOT / "tests" / "courses" / "small", tmp_path, dirs_exist_ok=True)
    assert 0 == run_warm(["course", "init"], tmp_path).returncode
    ran = collect(tmp_path, "canvas.zip", "--output", "class")
    assert "--output reports --handed-in class/collected.json" in ran.stdout


def test_who_is_in_no_roster_makes_the_exit_code(class_folder: Path) -> None:
    (class_folder / "roster.csv").write_text("id,name\nmin,Kim Min\n")
    done = collect(class_folder, "hw.zip", "--output", "class", "--roster", "roster.csv")
    assert 1 == done.returncode
    assert "roster (1): lovelaceada-8" in done.stdout


def test_so_does_what_was_left_out(class_folder: Path) -> None:
    make_zip(class_folder / "hw.zip", {"kimmin_7_9_hw.ipynb": "{}", "../x": "x"})
    done = collect(class_folder, "hw.zip", "--output", "class")
    assert 1 == done.returncode
    assert "Left out (1): ../x (it would be placed outside the folder)." in done.stdout


def test_an_archive_that_was_not_read_to_its_end_is_told_with_the_student_and_a_remedy() -> None:
    """Whoever is behind that student has neither a row nor a name."""
    output = Console(file=io.StringIO(), width=200)
    collected = Collected(left_out=(LeftOut("mallory", "unread"),))
    outcome = CollectOutcome(("folders",), (), (), (), (), (), (), collected)
    assert not print_collected(outcome, Path("class"), output)
    said = cast("io.StringIO", output.file).getvalue()
    assert "students from here on are missing (1): mallory." in said
    assert "Unpack the archive by hand, and name the folder." in said


def test_all_of_it_is_there_as_json(class_folder: Path) -> None:
    done = collect(class_folder, "hw.zip", "--output", "class", "--json")
    assert ["kimmin-7", "lovelaceada-8"] == json.loads(done.stdout)["new"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gone.zip", "--output", "class"), "There is no file or folder gone.zip."),
        (("hw.zip", "--output", "class", "--from", "nobody"), "--from nobody is unknown."),
        (("roster.csv", "--output", "class"), "roster.csv is not an archive, or is damaged."),
        (("hw.zip", "--output", "/proc/class"), "Cannot write the collected files"),
    ],
)
def test_what_cannot_be_done_is_said(class_folder: Path, words: tuple[str, ...], said: str) -> None:
    done = collect(class_folder, *words)
    assert 2 == done.returncode
    assert said in done.stderr


def test_a_name_cannot_steer_the_terminal(class_folder: Path) -> None:
    make_zip(class_folder / "hw.zip", {"kimmin_7_9_hw.ipynb": "{}", "x\x1b[31m": "x"})
    assert "\x1b" not in collect(class_folder, "hw.zip", "--output", "class").stdout


# `grader export` from a gradebook: the grades that it derives.


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
    assert "(1): Kim, Min" in done.stderr
    assert "Points are out of 100 here and out of 10 in Canvas" in done.stderr


def test_the_only_assignment_with_submissions_needs_no_name(folder: Path) -> None:
    assert "ada" in said(folder, "export", "csv")
    assert 0 == call(folder, "feedback", "--output", "pages").returncode
    assert (folder / "pages" / "ada.html").exists()


def test_they_are_adjusted(folder: Path) -> None:
    said(folder, "grades", "adjust", "ada", SLUG, "--points", "+2.5", "--reason", "a hint")
    told = said(folder, "export", "csv", "--assignment", SLUG)
    assert 'ada,"Lovelace, Ada",A,62.5,100,' in told


def test_grades_of_an_earlier_rubric_are_named(folder: Path) -> None:
    """They are out of other points than the assignment is by now."""
    own = folder / "assignments" / SLUG
    own.unlink()
    shutil.copytree(ROOT / "assignments" / SLUG, own)
    rules = own / "assignment.toml"
    text = rules.read_text().replace("points = 100", "points = 110", 1)
    rules.write_text(text.replace("points = 10\n", "points = 20\n", 1))
    for words in (("export", "csv"), ("feedback", "--output", "pages")):
        told = call(folder, *words, "--assignment", SLUG).stderr
        assert f"grader regrade --changed {SLUG}" in told


def test_who_has_withdrawn_has_none(folder: Path) -> None:
    (folder / "less.csv").write_text("login,name\nmin,Kim\n")
    said(folder, "roster", "import", "less.csv", "--withdraw")
    told = refused(folder, "export", "csv", "--assignment", SLUG)
    assert f"Nobody has a grade in {SLUG}, so nothing was written." in told


def test_an_assignment_that_is_unknown_is_named(folder: Path) -> None:
    assert "no assignment 'exam'" in refused(folder, "export", "csv", "--assignment", "exam")


def test_where_the_grades_are_has_to_be_said(folder: Path) -> None:
    (folder / "gradebook.sqlite").unlink()
    assert "--assignment, or a folder with --reports" in refused(folder, "export", "csv")
