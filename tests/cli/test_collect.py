"""`grader collect`: what it prints, and its exit code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.endtoend.warm import run_warm
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
    assert "Laid out as by canvas: 2 students." in done.stdout
    assert "New (2): ada, min." in done.stdout
    assert "Late (1): ada." in done.stdout
    assert "Of the roster, nothing from (1): grace." in done.stdout
    assert "Next: grader batch class/submissions --output reports" in done.stdout


def test_who_is_in_no_roster_makes_the_exit_code(class_folder: Path) -> None:
    (class_folder / "roster.csv").write_text("id,name\nmin,Kim Min\n")
    done = collect(class_folder, "hw.zip", "--output", "class", "--roster", "roster.csv")
    assert 1 == done.returncode
    assert "Not matched to the roster (1): lovelaceada-8." in done.stdout


def test_so_does_what_was_left_out(class_folder: Path) -> None:
    make_zip(class_folder / "hw.zip", {"kimmin_7_9_hw.ipynb": "{}", "../x": "x"})
    done = collect(class_folder, "hw.zip", "--output", "class")
    assert 1 == done.returncode
    assert "left out (1): ../x (it would lie outside of the folder)." in done.stdout


def test_all_of_it_is_there_as_json(class_folder: Path) -> None:
    done = collect(class_folder, "hw.zip", "--output", "class", "--json")
    assert ["kimmin-7", "lovelaceada-8"] == json.loads(done.stdout)["new"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gone.zip", "--output", "class"), "There is no file or folder gone.zip."),
        (("hw.zip", "--output", "class", "--from", "nobody"), "--from nobody is unknown."),
        (("roster.csv", "--output", "class"), "roster.csv is no archive, or a damaged one."),
        (("hw.zip", "--output", "/proc/class"), "Cannot write what was collected"),
    ],
)
def test_what_cannot_be_done_is_said(class_folder: Path, words: tuple[str, ...], said: str) -> None:
    done = collect(class_folder, *words)
    assert 2 == done.returncode
    assert said in done.stderr


def test_a_name_cannot_steer_the_terminal(class_folder: Path) -> None:
    make_zip(class_folder / "hw.zip", {"kimmin_7_9_hw.ipynb": "{}", "x\x1b[31m": "x"})
    assert "\x1b" not in collect(class_folder, "hw.zip", "--output", "class").stdout
