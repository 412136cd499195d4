"""A class by the commands of the documents: from the archive to what goes back."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import nbformat
import pytest

from tests.endtoend.command import ROOT
from tests.endtoend.warm import run_warm
from tests.lms.archives import make_zip

COURSE = ROOT / "tests" / "courses" / "small"
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,hw (12)
    Points Possible,,,,,20
"Lovelace, Ada",1234,,ada,Mon,
"Hopper, Grace",78,,grace,Tue,
"""


def grader(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_warm(words, folder)


@pytest.mark.graded
def test_an_archive_of_canvas_becomes_grades_and_pages_for_it(tmp_path: Path) -> None:
    wrong = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("pass", id="c0")],
        metadata={"grader": {"assignment": "small"}},
    )
    text = nbformat.writes(wrong)
    make_zip(
        tmp_path / "submissions.zip",
        {"lovelaceada_LATE_1234_99_hw.ipynb": text, "hoppergrace_78_98_notes.txt": "sorry"},
    )
    (tmp_path / "canvas.csv").write_text(CANVAS)

    collected = grader(
        tmp_path, "collect", "submissions.zip", "--output", "class", "--roster", "canvas.csv"
    )
    assert 0 == collected.returncode, collected.stderr
    *_, proposed = collected.stdout.splitlines()
    words = proposed.removeprefix("Next: grader ").split()
    graded = grader(tmp_path, *words, "--course", str(COURSE), "--data", "builtin")
    assert 2 == graded.returncode, graded.stderr  # one has handed in nothing that can be graded

    reports = ("--reports", "reports", "--collected", "class")
    exported = grader(
        tmp_path, "export", "canvas", *reports, "--into", "canvas.csv", "--column", "hw"
    )
    assert 1 == exported.returncode
    assert '"Lovelace, Ada",1234,,ada,Mon,0' in exported.stdout
    assert '"Hopper, Grace",78,,grace,Tue,\n' in exported.stdout.replace("\r", "")
    assert "(1): grace" in exported.stderr

    feedback = grader(tmp_path, "feedback", *reports, "--zip", "canvas", "--output", "feedback.zip")
    assert 1 == feedback.returncode
    with zipfile.ZipFile(tmp_path / "feedback.zip") as archive:
        assert ["lovelaceada_LATE_1234_99_hw.html"] == archive.namelist()
