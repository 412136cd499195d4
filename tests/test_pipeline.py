"""When a grading works beside others, and when it has the machine alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import pytest

from grader.course import load_course
from grader.pipeline import grade
from grader.preparation import Preparation, Settings
from grader.progress import Silent
from grader.quiet import Quiet
from grader.report import Report
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command, Process, Sandbox
from grader.submission import read_submission
from tests.cli.test_batch import RIGHT, write

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "e2e-conv"


class Spy(Quiet):
    """A Quiet that writes down what is done, and so does its sandbox."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[str] = []

    @contextmanager
    def shared(self) -> Iterator[None]:
        with super().shared():
            self.events.append("shared")
            yield
            self.events.append("end")

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with super().exclusive():
            self.events.append("exclusive")
            yield
            self.events.append("end")


class WatchedSandbox:
    """A sandbox that says when something is started in it."""

    def __init__(self, sandbox: Sandbox, events: list[str]) -> None:
        self._sandbox, self._events = sandbox, events
        self.level, self.detail = sandbox.level, sandbox.detail

    def start(self, command: Command) -> Process:
        self._events.append("start")
        return self._sandbox.start(command)


def run(course: Path, slug: str, notebook: Path) -> tuple[Report, list[str]]:
    """Grade a notebook. Returns the report, and what was done, each thing once in a row."""
    spy = Spy()
    with choose_sandbox() as sandbox:
        watched = WatchedSandbox(sandbox, spy.events)
        settings = Settings(watched, seed=7, data="builtin", quiet=spy)  # type: ignore[arg-type]
        prepared = Preparation(load_course(course).get(slug), settings)
        report = grade(read_submission(notebook), prepared, Silent())
    return report, [event for event, _ in groupby(spy.events)]


def test_an_assignment_without_timing_never_wants_to_be_alone(tmp_path: Path) -> None:
    write(tmp_path / "hw.ipynb", *RIGHT)
    report, events = run(ROOT / "tests/courses/small", "small", tmp_path / "hw.ipynb")
    assert 10 == report.score
    assert ["shared", "start", "end"] == events


def test_a_schedule_is_timed_alone_after_everything_else() -> None:
    report, events = run(ROOT, "e2e-conv", EXAMPLES / "extern_never_called.ipynb")
    assert 40 == report.score
    assert ["shared", "start", "end", "exclusive"] == events[:4]
    assert "end" == events[-1]


def test_what_cannot_be_timed_does_not_hold_up_the_others() -> None:
    _, events = run(ROOT, "e2e-conv", EXAMPLES / "softmax_missing.ipynb")
    assert ["shared", "start", "end"] == events


@pytest.mark.parametrize("content", ["", "no notebook"])
def test_a_damaged_notebook_runs_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "hw.ipynb").write_text(content)
    report, events = run(ROOT / "tests/courses/small", "small", tmp_path / "hw.ipynb")
    assert (0, []) == (report.score, events)
