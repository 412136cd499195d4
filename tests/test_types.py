"""Types of the public face, as type checkers of a program that uses it find them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
from __future__ import annotations

from pathlib import Path

import grader


def points(path: Path) -> float:
    report = grader.grade(path, course="course", data="builtin", seed=7)
    for part in report.parts:
        print(part.title.in_("en"), part.score, [check.verdict for check in part.checks])
    if report.diagnosis is not None:
        print(report.diagnosis.message.english)
    return report.score


def many(folder: Path) -> dict[str, float]:
    found = grader.grade_many([folder], course="course", jobs=1, assignment="e2e-mlp")
    return {name: report.score for name, report in found}


def page(path: Path) -> bytes:
    rendered: bytes = grader.load_report(path).render("html")  # it is a string
    return rendered


def sound(course: Path) -> bool:
    found: grader.Verification = grader.verify("layer", course=course)
    return found.passed
"""


def test_mypy_finds_them_in_this_environment(tmp_path: Path) -> None:
    """setuptools' import hook, which installs a checkout by default, hides all of them."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    words = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", program.name]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    (line,) = done.stdout.splitlines()
    assert ": error: Incompatible types in assignment" in line, done.stdout
