"""`grader feedback` and `grader export` where there is nothing to give back: nothing is written."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from grader.files import indented_json
from grader.lms.collect import MANIFEST, Collected, CollectedAttempt, CollectedStudent
from grader.lms.sync.source import Source, write_source
from tests.cli.test_grades import ROOT, call, refused, said
from tests.cli.test_grades import folder as graded
from tests.gradebook.factory import SLUG

__all__ = ["graded"]

PACK = ("feedback", "--assignment", SLUG, "--output", "pages.zip", "--zip")
OTHER = "e2e-mlp"


@pytest.fixture
def folder(graded: Path, tmp_path: Path) -> Path:
    """A course in which one has handed in one of two assignments."""
    for name in (SLUG, OTHER):
        (tmp_path / "assignments").mkdir(exist_ok=True)
        (tmp_path / "assignments" / name).symlink_to(ROOT / "assignments" / name)
    shutil.copyfile(graded / "gradebook.sqlite", tmp_path / "gradebook.sqlite")
    return tmp_path


def collected(folder: Path, *, given: str = "", **keys: str) -> None:
    """Write what was collected: the work of one, known by these numbers."""
    attempts = (CollectedAttempt("submissions/ada", "", "a.zip", given=given),)
    ada = CollectedStudent("ada", "ada", "Ada Lovelace", keys, attempts)
    (folder / "class").mkdir(exist_ok=True)
    (folder / "class" / MANIFEST).write_bytes(indented_json(Collected((ada,))))


def test_an_archive_without_the_names_of_a_download_is_refused(folder: Path) -> None:
    for form, system in {"canvas": "Canvas", "moodle": "Moodle", "nbgrader": "nbgrader"}.items():
        told = refused(folder, *PACK, form)
        assert f"needs the names of {system}'s download, so nothing was written." in told
        assert "Name the folder of `grader collect`: --collected class" in told
    assert not (folder / "pages.zip").exists()


def test_so_is_one_of_a_class_that_was_collected_elsewhere(folder: Path) -> None:
    collected(folder, gradescope="7")
    for form, system in {"canvas": "Canvas", "moodle": "Moodle", "nbgrader": "nbgrader"}.items():
        told = refused(folder, *PACK, form, "--collected", "class")
        assert f"class was not collected from {system}, so nothing was written." in told
        assert "Leave out --zip: the pages are written to a folder." in told
    assert not (folder / "pages.zip").exists()


def test_a_class_that_was_fetched_by_api_gets_its_pages_by_api(folder: Path) -> None:
    collected(folder, canvas="7", moodle_user="8")
    for form, system in (("canvas", "Canvas"), ("moodle", "Moodle")):
        write_source(folder / "class", Source(form, "https://x.org"))  # type: ignore[arg-type]
        told = refused(folder, *PACK, form, "--collected", "class")
        assert f"class was fetched from {system} by API" in told
        assert f"Push the pages: grader sync {form} push class --assignment SLUG" in told
    assert not (folder / "pages.zip").exists()


def test_with_the_names_the_archive_is_written(folder: Path) -> None:
    collected(folder, given="lovelaceada_7_99_hw.ipynb", canvas="7")
    assert "with 1 page" in call(folder, *PACK, "canvas", "--collected", "class").stderr
    with zipfile.ZipFile(folder / "pages.zip") as archive:
        assert ["lovelaceada_7_99_hw.html"] == archive.namelist()


def test_a_page_of_before_is_named_and_kept(folder: Path) -> None:
    """It may be of somebody who has withdrawn or was forgotten, and would be given out again."""
    write = ("feedback", "--assignment", SLUG, "--output", "pages")
    assert "before" not in call(folder, *write).stderr
    (folder / "pages" / "zoe.html").write_text("old")
    (folder / "pages" / "index.txt").write_text("mine")
    told = call(folder, *write).stderr
    assert "In the folder from before, and not written again (1): zoe.html." in told
    assert "old" == (folder / "pages" / "zoe.html").read_text()


def test_of_an_assignment_that_nobody_handed_in_nothing_is_written(folder: Path) -> None:
    for words in (
        ("feedback", "--assignment", OTHER, "--output", "pages"),
        ("export", "csv", "--assignment", OTHER, "--output", "grades.csv"),
    ):
        told = refused(folder, *words)
        assert f"Nobody has a grade in {OTHER}, so nothing was written." in told
        assert "Grade a class first: grader batch FOLDER --output reports" in told
    assert {"assignments", "gradebook.sqlite"} == {each.name for each in folder.iterdir()}


def test_an_assignment_that_nobody_handed_in_is_no_row_of_the_statistics(folder: Path) -> None:
    told = said(folder, "grades", "stats")
    rows = [line.split()[0] for line in told.splitlines() if line[:1].isalnum()]
    assert ["Assignment", SLUG, "No"] == rows
    assert f"No submissions for {OTHER}." in told
    assert OTHER in said(folder, "grades", "stats", OTHER)  # it was asked for
