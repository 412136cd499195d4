"""docs/authoring.md, word for word: its commands are run, its files are written."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import nbformat
import pytest

from grader.authoring.master import find_master, read_master
from grader.authoring.template import paste_solutions
from grader.report import Report, decode_report
from tests.endtoend.warm import run_warm
from tests.pages import Follower, steps_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8")
SECONDS = 300

CHANGES = {
    "right": ("", ""),
    "one_pass": (
        "topi.multiply, centred, centred)",
        "lambda x, total: x * x - total * total / 65536.0, x, total)",
    ),
    "six_calls": (
        "total = bb.emit_te(",
        "total = bb.emit_te(topi.identity, x)\n            total = bb.emit_te(",
    ),
}
"""What is graded: the solution, and two with a mistake."""


class Author(Follower):
    """Does what the page says, in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.outputs: list[tuple[str, str]] = []

    def run(self, line: str) -> None:
        command, *arguments = shlex.split(line)
        if command == "cd":
            self.folder /= arguments[0]
        elif command == "mkdir":
            (self.folder / arguments[0]).mkdir()
        else:
            assert "grader" == command
            self.grader(*arguments)

    def grader(self, *arguments: str) -> None:
        done = run_warm(arguments, self.folder, {"COLUMNS": "200"}, SECONDS)
        assert 0 == done.returncode, done.stdout + done.stderr
        self.outputs.append((arguments[0], done.stdout))

    def solve(self, change: tuple[str, str] = ("", "")) -> None:
        """Fill in the stubs of the template as a student does, here with the solutions."""
        template = nbformat.read(self.folder / "templates" / "layer-norm.ipynb", as_version=4)
        solved = paste_solutions(template, read_master(find_master(self.folder, "layer-norm")))
        for cell in solved.cells:
            cell.source = cell.source.replace(*change)
        nbformat.write(solved, self.folder / "submission.ipynb")

    def grade(self, changes: Mapping[str, tuple[str, str]]) -> dict[str, Report]:
        """Grade a class that solved it with a change each."""
        (self.folder / "class").mkdir()
        for name, change in changes.items():
            self.solve(change)
            (self.folder / "submission.ipynb").rename(self.folder / "class" / f"{name}.ipynb")
        self.grader("batch", "class", "--output", "reports")
        paths = {name: self.folder / "reports" / f"{name}.json" for name in changes}
        return {name: decode_report(path.read_bytes()) for name, path in paths.items()}


@pytest.fixture(scope="module")
def author(tmp_path_factory: pytest.TempPathFactory) -> Author:
    """An author who has followed the page to its end."""
    author = Author(tmp_path_factory.mktemp("outside"))
    for step in steps_of(PAGE):
        if "submission.ipynb" in step.text:
            author.solve()
        author.take(step)
    return author


@pytest.fixture(scope="module")
def graded(author: Author) -> dict[str, Report]:
    return author.grade(CHANGES)


def test_the_new_assignment_is_sound_before_and_after_it_was_changed(author: Author) -> None:
    said = [text for _, text in author.outputs if "mutants are caught" in text]
    assert 2 == len(said)
    assert all("layer-norm is sound" in text for text in said)
    assert "few_calls" in said[1]


def test_a_submission_of_it_is_graded(author: Author, graded: dict[str, Report]) -> None:
    kernel, graph, schedule = graded["right"].parts
    assert (5, 5) == (kernel.score, graph.score)
    speed = next(each for each in schedule.checks if each.id == "speed")
    others = {each.verdict for each in schedule.checks if each is not speed}
    assert {"passed"} == others
    assert speed.verdict in ("passed", "partial") or speed.again, "it is slow, not the machine busy"
    (printed,) = (text for command, text in author.outputs if command == "run")
    assert "few calls" in printed


def test_a_case_of_the_course_is_named_where_it_is_wrong(graded: dict[str, Report]) -> None:
    """A variance in one pass is right for numbers that are drawn, and wrong beside a large mean."""
    kernel, graph, _ = graded["one_pass"].parts
    assert 5 == kernel.score
    assert ["passed", "failed", "passed"] == [check.verdict for check in graph.checks]
    (wrong,) = (each for each in graph.checks if "failed" == each.verdict)
    assert "rows with a large mean: " in wrong.reason.english


def test_a_mistake_costs_the_points_of_the_courses_own_check(graded: dict[str, Report]) -> None:
    """The docstring of the check is what the student reads."""
    _, graph, _ = graded["six_calls"].parts
    check = next(each for each in graph.checks if each.id == "few_calls")
    assert ("failed", "`main` needs few calls") == (check.verdict, check.title.english)
    assert 4 == graph.score
