"""`grader verify` and `grader new`, run as a user runs them: words and exit codes."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from rich.console import Console

from grader.authoring.master import read_master
from grader.authoring.skeleton import make_assignment
from grader.cli.verify import run_lint
from grader.errors import CourseError
from tests.authoring.masters import TRANSLATED, write_course
from tests.endtoend.warm import run_warm

# `grader lint`: what it prints of findings, and its exit code.


ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from grader.cli.app import main; main()", "lint"]
FAULTY = TRANSLATED.replace("    ### END SOLUTION\n", "").replace("请定义 `answer`", "请定义")


def lint(course, slug=None):
    output = io.StringIO()
    console = Console(file=output)
    return run_lint(slug, course, console, console), output.getvalue()


def test_a_master_without_a_fault_is_named_with_no_findings(tmp_path):
    said = "assignments/task: 0 errors, 0 warnings\nreference/task.py: 0 errors, 0 warnings\n"
    assert (True, said) == lint(write_course(tmp_path))


def test_a_finding_has_its_place_and_what_to_do(tmp_path):
    good, text = lint(write_course(tmp_path, FAULTY), "task")
    summary, *lines = text.splitlines()
    assert "assignments/task: 0 errors, 0 warnings" == summary
    assert not good
    assert "reference/task.py:7 (cell 2): warning: The translation into Chinese lost" in lines[0]
    assert "    Compare it with the original, cell 1." == lines[1]
    assert lines[2].startswith(
        "reference/task.py:26 (cell 5): error: There is `### BEGIN SOLUTION`"
    )
    assert "reference/task.py: 1 error, 1 warning" == lines[-1]


def test_warnings_alone_are_no_failure(tmp_path):
    good, text = lint(write_course(tmp_path, TRANSLATED.replace("请定义 `answer`", "请定义")))
    assert good
    assert "0 errors, 1 warning" in text


def test_a_notebook_s_findings_are_placed_by_cell(tmp_path):
    write_course(tmp_path, FAULTY)
    source = tmp_path / "reference/task.py"
    notebook = nbformat.writes(read_master(source))
    source.unlink()
    source.with_suffix(".ipynb").write_text(notebook, encoding="utf-8")
    assert "reference/task.ipynb (cell 2): warning" in lint(tmp_path)[1]


def test_a_master_that_cannot_be_read_is_an_error_of_the_course(tmp_path):
    write_course(tmp_path, "{", ".ipynb")
    with pytest.raises(CourseError, match="Cannot read"):
        lint(tmp_path)


def test_outside_of_a_course_it_is_said_whose_assignments_are_checked(tmp_path, monkeypatch):
    """Whoever had written no assignment.toml yet read of seven sound assignments."""
    said = "grader's own assignments"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "assignments" / "mine").mkdir(parents=True)
    assert said in lint(None, "e2e-mlp")[1]
    assert said not in lint(ROOT, "e2e-mlp")[1]
    monkeypatch.chdir(ROOT)
    assert said not in lint(None, "e2e-mlp")[1]


def test_the_exit_code_says_whether_there_is_an_error(tmp_path):
    command = [*COMMAND, "--course", str(write_course(tmp_path, FAULTY))]
    assert 1 == subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode


def test_this_course_s_masters_have_no_faults():
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    findings = [line for line in done.stdout.splitlines() if "0 errors, 0 warnings" not in line]
    assert [] == findings


@pytest.mark.parametrize("language", ["zh", "ko"])
def test_findings_are_in_the_command_s_language(tmp_path, monkeypatch, language):
    monkeypatch.setenv("GRADER_LANG", language)
    text = FAULTY.replace("定义", "定 义").replace("# # A task", "# # 一道题")
    _, told = lint(write_course(tmp_path, text), "task")
    assert 4 < len(told.splitlines())
    # what stands in backticks is code
    words = re.sub("`[^`]*`|[a-z/]+[.]py", "", told)
    assert [] == re.findall(".*[a-z]+ [a-z]+ [a-z]+.*|.*error.*|.*warning.*", words)


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
    assert re.search(r"^layer is weak: (1 problem|(?!1 )\d+ problems)\.", done.stdout, re.MULTILINE)
    assert "make the tolerance smaller" in done.stdout


def test_what_cannot_be_verified_ends_with_2(course: Path) -> None:
    (course / "reference" / "layer.py").unlink()
    done = run(course, "verify", "layer")
    assert 2 == done.returncode
    assert "There is no master notebook" in done.stderr


def test_a_kind_of_check_that_is_there_already_is_refused(course: Path) -> None:
    (course / "assignments" / "layer" / "checks.py").write_text(
        "from grader.evidence.registry import passed\n"
        "from grader.evidence.registry import NoOptions, check\n\n\n"
        '@check("equivalence", options=NoOptions)\n'
        "def equivalence(case, options):\n"
        '    return passed("Everything is right.")\n'
    )
    done = run(course, "verify", "layer")
    assert 2 == done.returncode
    assert "two kinds of checks called 'equivalence'" in done.stderr


def test_a_new_assignment_is_not_written_over_another(tmp_path: Path) -> None:
    assert 0 == run(tmp_path, "new", "layer").returncode
    done = run(tmp_path, "new", "layer")
    assert 2 == done.returncode
    assert "exists already" in done.stderr
