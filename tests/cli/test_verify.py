"""`grader verify` and `grader new`, run as a user runs them: words and exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grader.authoring.skeleton import make_assignment
from tests.endtoend.warm import run_warm

GRADER = Path(sys.executable).with_name("grader")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_warm(arguments, folder, {"COLUMNS": "160"})


@pytest.fixture
def course(tmp_path: Path) -> Path:
    make_assignment(tmp_path, "layer")
    return tmp_path


def test_a_sound_assignment_ends_with_0_and_a_table(course: Path) -> None:
    done = run(course, "verify", "layer", "--quick", "--json", "found.json")
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "layer is sound." in done.stdout
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("bias_forgotten")]
    assert "1 of 5" in row
    assert "equivalence" in row
    assert (course / "found.json").read_bytes().startswith(b"{")
    assert "judging mutants" in done.stderr
    schedule = [
        line for line in done.stdout.splitlines() if " schedule " in line and "0 of 0" in line
    ]
    assert all("equivalence" in line for line in schedule)
    assert schedule


def test_a_weak_assignment_ends_with_1_and_says_why(course: Path) -> None:
    path = course / "assignments" / "layer" / "assignment.toml"
    path.write_text(path.read_text().replace("atol = 1e-5", "atol = 100.0"))
    done = run(course, "verify", "layer", "--quick")
    assert 1 == done.returncode
    assert "layer is weak" in done.stdout
    assert "make the tolerance smaller" in done.stdout


def test_what_cannot_be_verified_ends_with_2(course: Path) -> None:
    (course / "reference" / "layer.py").unlink()
    done = run(course, "verify", "layer")
    assert 2 == done.returncode
    assert "There is no master notebook" in done.stderr


def test_a_kind_of_check_that_is_there_already_is_refused(course: Path) -> None:
    (course / "assignments" / "layer" / "checks.py").write_text(
        "from grader.checks.registry import passed\n"
        "from grader.checks.registry import NoOptions, check\n\n\n"
        '@check("equivalence", options=NoOptions)\n'
        "def equivalence(case, options):\n"
        '    return passed("Everything is right.")\n'
    )
    done = run(course, "verify", "layer")
    assert 2 == done.returncode
    assert "There are two kinds of checks called 'equivalence'." in done.stderr


def test_a_new_assignment_is_not_written_over_another(tmp_path: Path) -> None:
    assert 0 == run(tmp_path, "new", "layer").returncode
    done = run(tmp_path, "new", "layer")
    assert 2 == done.returncode
    assert "is there already" in done.stderr
