"""`grader mark` with shares, and `grader grades agreement`, before a page is opened."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from grader.gradebook.book import Gradebook
from grader.gradebook.database import open_database
from grader.gradebook.entries import Chosen, Marking
from tests.endtoend.warm import run_warm
from tests.marking.factory import COURSE, make_class


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A course with a class of which one answer is marked twice, by different people."""
    shutil.copytree(COURSE, tmp_path, dirs_exist_ok=True)
    book = Gradebook(open_database(f"sqlite:///{tmp_path / 'gradebook.sqlite'}", make=True))
    make_class(book)
    marking = Marking((Chosen("memory", "Memory", Decimal(3)),), "Yes.")
    book.mark(1, "why", Decimal(3), marking, seen=0, who="eve")
    book.mark_second(1, "why", Decimal("1.5"), Marking(), seen=0, who="b\x1b[31mob")
    book.close()
    return tmp_path


def call(folder: Path, *words: str) -> tuple[int, str, str]:
    done = run_warm(words, folder, {"COLUMNS": "140"})
    return done.returncode, done.stdout, done.stderr


def test_agreement_names_the_answers_that_differ(folder: Path) -> None:
    code, output, _ = call(folder, "grades", "agreement", "written")
    assert 0 == code and "\x1b" not in output
    rows = [line.split() for line in output.splitlines()]
    assert ["why", "1", "0%", "-1.50", "0.00"] in rows
    assert ["ada", "1", "why", "3", "(eve)", "1.5", "(bob)"] in rows
    _, output, _ = call(folder, "grades", "agreement", "written", "--json", "-")
    found = json.loads(output)
    assert (1, -1.5) == (found["parts"][0]["answers"], found["parts"][0]["mean_difference"])
    assert 1.5 == found["different"][0]["second"]["points"]


def test_a_class_that_nobody_marked_twice_has_none(tmp_path: Path) -> None:
    shutil.copytree(COURSE, tmp_path, dirs_exist_ok=True)
    call(tmp_path, "course", "init")
    assert (0, "No answer was marked twice.\n", "") == call(
        tmp_path, "grades", "agreement", "written"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--share", "4/3"), "There is no share '4/3'."),
        (("--share", "ana"), "Write 1/3, 2/3, or 3/3, or list markers in course.toml."),
        (("--twice", "20"), "--twice needs --share."),
    ],
)
def test_a_share_that_is_none_is_refused(folder: Path, words: tuple[str, ...], told: str) -> None:
    code, _, error = call(folder, "mark", "written", *words)
    assert 2 == code and told in error


def test_markers_are_those_of_the_course(folder: Path) -> None:
    (folder / "course.toml").write_text('[marking]\nmarkers = ["ben", "cho"]\ntwice = 20\n')
    _, _, error = call(folder, "mark", "written", "--share", "ana")
    assert "Write 1/3, or one of: ben, cho." in error
    (folder / "course.toml").write_text('[marking]\nmarkers = ["ben", "ben"]\n')
    _, _, error = call(folder, "mark", "written", "--share", "ben")
    assert "course.toml:2: it is not valid: two of the `markers` have the same name" in error
