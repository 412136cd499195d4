"""`grader lint`: what it prints of findings, and its exit code."""

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
from grader.cli.verify import LintOptions, run_lint
from grader.errors import CourseError
from tests.authoring.masters import TRANSLATED, write_course

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from grader.cli.app import main; main()", "lint"]
FAULTY = TRANSLATED.replace("    ### END SOLUTION\n", "").replace("请定义 `answer`", "请定义")


def lint(course, slug=None):
    output = io.StringIO()
    console = Console(file=output)
    return run_lint(LintOptions(slug, course), console, console), output.getvalue()


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
