"""`grader rubric`: out of an assignment, and back into it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.course import load_course
from tests.endtoend.warm import run_warm
from tests.marking.factory import ASSIGNMENT, COURSE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(COURSE, tmp_path, dirs_exist_ok=True)
    return tmp_path


def call(folder: Path, *words: str, code: int = 0) -> str:
    done = run_warm(words, folder, {"COLUMNS": "140"})
    assert code == done.returncode, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.mark.parametrize("name", ["rubric.toml", "rubric.csv"])
def test_a_rubric_is_edited_as_a_file(folder: Path, name: str) -> None:
    told = call(folder, "rubric", "export", "written", "-o", name)
    assert "why: 4 items, 6 points.\nplot: 2 items, 4 points.\n" in told
    path, file = folder / name, folder / "assignments" / "written" / "assignment.toml"
    path.write_text(path.read_text("utf-8").replace("Axes have names", "Axes have long names"))
    before = file.read_bytes()
    dry = call(folder, "rubric", "import", "written", name, "--dry-run")
    assert dry.endswith("Nothing was changed.\n") and before == file.read_bytes()
    call(folder, "rubric", "import", "written", name)
    why, plot = load_course(folder).get("written").assignment.manual
    assert ASSIGNMENT.manual[0] == why
    assert "Axes have long names and units" == plot.item[0].text


def test_it_is_printed_without_a_file(folder: Path) -> None:
    assert call(folder, "rubric", "export", "written").startswith('[[manual]]\ntitle = "Why')


def test_what_does_not_fit_changes_nothing(folder: Path) -> None:
    file = folder / "assignments" / "written" / "assignment.toml"
    before = file.read_bytes()
    (folder / "new.toml").write_text('[[manual]]\nid = "new"\ntitle = "New"\npoints = 5\n')
    told = call(folder, "rubric", "import", "written", "new.toml", code=2)
    assert "add up to 25 points, `points` says 20" in told
    assert before == file.read_bytes()
    assert "There is no assignment" in call(folder, "rubric", "export", "x", code=2)
