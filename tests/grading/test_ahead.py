"""What is built while the notebook runs: which captures, how often, with what in their arrays."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest
from msgspec.structs import replace

from grader.course import load_course
from grader.errors import DisplacedError, GraderError, SandboxError
from grader.evidence.runners import Kind
from grader.grading.ahead import MOST, BuiltAhead
from grader.grading.pipeline import grade
from grader.grading.preparation import Preparation, Settings
from grader.language import foreign
from grader.messages.frames import unpack_array
from grader.messages.kernel import Capture, CaptureFailure
from grader.messages.runner import RunModule
from grader.messages.timing import TimeSchedule
from grader.progress import Silent
from grader.reading.submission import read_submission
from grader.report import Report
from grader.sandbox.interface import Sandbox
from tests.cli.test_batch import RIGHT, WRONG, write
from tests.inside.runner import modules
from tests.our_course import our_course

ROOT = Path(__file__).parents[2]
MODEL, _ = modules.classifier()
SECONDS = 30.0
CAPTURE = Capture("schedule", "sch", 3, by_name=True, module=modules.document(MODEL))


class Told:
    """In the place of a pool: what runners are told to build."""

    def __init__(self, error: GraderError | None = None, *, lasts: bool = False) -> None:
        self.forgotten: list[str] = []
        self.busy, self.lasts = 0, lasts
        self.asked = Semaphore(0)
        self.tasks: list[tuple[Kind, RunModule | TimeSchedule]] = []
        self.timed = Semaphore(0)
        self._error = error

    def forget(self, part: str) -> None:
        self.forgotten.append(part)

    def building(self) -> int:
        self.asked.release()
        return self.busy

    def build_ahead(self, _part: str, kind: Kind, task: RunModule | TimeSchedule) -> None:
        self.tasks.append((kind, task))
        self.busy += self.lasts
        if kind == "timing":
            self.timed.release()
        if self._error is not None:
            raise self._error

    @property
    def kinds(self) -> list[Kind]:
        return [kind for kind, _ in self.tasks]


@pytest.fixture(scope="module")
def prepared() -> Preparation:
    settings = Settings(sandbox=None, seed=7, data="builtin")  # type: ignore[arg-type]
    return Preparation(our_course().get("e2e-conv"), settings)


Build = Callable[..., Told]


@pytest.fixture
def build(prepared: Preparation) -> Build:
    def build(*captures: Capture | CaptureFailure, told: Told | None = None) -> Told:
        told = told or Told()
        answers = prepared.answers(prepared.data(Silent()))
        answers.result()
        machine: Any = None
        runners: Any = told
        for each in captures:  # one after the other, as cells are
            with BuiltAhead(prepared.course_assignment, answers, runners, machine) as built:
                built.take(each)
        return told

    return build


def arrays(task: RunModule | TimeSchedule) -> list[Any]:
    if isinstance(task, RunModule):
        return [unpack_array(each.array) for each in task.arguments]
    return [unpack_array(each) for each in (*(one.data for one in task.shapes), *task.fixed)]


class TestWhat:
    def test_a_schedule_is_built_to_be_run_and_to_be_timed(self, build: Build) -> None:
        assert ["pure", "timing"] == build(CAPTURE).kinds

    def test_a_model_with_externs_for_the_runner_with_them_and_the_one_without(
        self, build: Build
    ) -> None:
        document = modules.document(modules.calls_extern("mine", shape=(4, 1, 28, 28)))
        capture = replace(
            CAPTURE, part="torch_extern", module=document, externs={"mine": b"a pickle"}
        )
        told = build(capture)
        assert ["pure", "extern"] == told.kinds
        assert all({} == task.externs == task.stubs for _, task in told.tasks)  # type: ignore[union-attr]

    def test_no_hidden_input_is_told(self, build: Build) -> None:
        """The kernel still runs: what it should not see stands in no sandboxed process yet."""
        found = [each for _, task in build(CAPTURE).tasks for each in arrays(task)]
        assert len(found) > 3
        assert not any(each.any() for each in found)


class TestNot:
    @pytest.mark.parametrize(
        "capture",
        [
            replace(CAPTURE, by_name=False),
            replace(CAPTURE, module=b"no module"),
            replace(CAPTURE, part="of another course"),
            CaptureFailure("schedule", "sch", 3, reason="raised"),
            replace(
                CAPTURE,
                module=modules.document(modules.one_argument(lambda b, x: b.emit(x), (4, 2))),
            ),
        ],
        ids=["another name", "unreadable", "no part", "a failure", "of another shape"],
    )
    def test_what_is_not_run_is_not_built(self, build: Build, capture: Any) -> None:
        assert [] == build(capture).kinds

    def test_what_is_given_is_not_built(
        self, build: Build, prepared: Preparation, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("grader.grading.ahead.is_given", lambda *_: True)
        assert [] == build(CAPTURE).kinds

    def test_a_notebook_that_hands_over_one_in_every_cell_is_built_a_few_times(
        self, prepared: Preparation
    ) -> None:
        told: Any = Told()
        machine: Any = None
        answers = prepared.answers(prepared.data(Silent()))
        with BuiltAhead(prepared.course_assignment, answers, told, machine) as built:
            for _ in range(MOST):
                built.take(CAPTURE)
                assert told.timed.acquire(timeout=SECONDS)
            built.take(CAPTURE)
            assert not told.timed.acquire(timeout=0.5)

    def test_of_those_that_wait_the_newest_is_built(self, prepared: Preparation) -> None:
        told: Any = Told()
        machine: Any = None
        answers: Future[Any] = Future()
        newest = replace(CAPTURE, module=CAPTURE.module + b" ")
        with BuiltAhead(prepared.course_assignment, answers, told, machine) as built:
            built.take(CAPTURE)
            while built._newest:  # until it waits for the answers
                time.sleep(0.001)
            for each in (CAPTURE, newest):
                built.take(each)
            answers.set_result(prepared.answers(prepared.data(Silent())).result())
            assert told.timed.acquire(timeout=SECONDS)
        built_for = [len(task.module) for kind, task in told.tasks if kind == "pure"]
        assert [len(newest.module)] == built_for


class TestBesideTheNotebook:
    """It keeps a processor: no more is built at a time than may be."""

    def test_what_is_built_next_waits_for_what_is_built(self, prepared: Preparation) -> None:
        told: Any = Told(lasts=True)
        machine: Any = None
        answers = prepared.answers(prepared.data(Silent()))
        with BuiltAhead(prepared.course_assignment, answers, told, machine) as built:
            built.take(CAPTURE)
            for _ in range(4):
                assert told.asked.acquire(timeout=SECONDS)
            assert ["pure"] == told.kinds
            told.busy = 0
            assert told.timed.acquire(timeout=SECONDS)

    def test_two_are_built_at_once_where_there_are_processors(self, prepared: Preparation) -> None:
        told: Any = Told(lasts=True)
        machine: Any = None
        answers = prepared.answers(prepared.data(Silent()))
        with BuiltAhead(prepared.course_assignment, answers, told, machine, 2) as built:
            built.take(CAPTURE)
            assert told.timed.acquire(timeout=SECONDS)

    def test_when_it_has_ended_there_are_processors_for_what_is_left(self, build: Build) -> None:
        assert ["pure", "timing"] == build(CAPTURE, told=Told(lasts=True)).kinds

    def test_who_is_interrupted_has_nothing_more_built(self, prepared: Preparation) -> None:
        told: Any = Told(lasts=True)
        machine: Any = None
        answers = prepared.answers(prepared.data(Silent()))
        with (
            pytest.raises(KeyboardInterrupt),
            BuiltAhead(prepared.course_assignment, answers, told, machine) as built,
        ):
            built.take(CAPTURE)
            for _ in range(4):
                assert told.asked.acquire(timeout=SECONDS)
            raise KeyboardInterrupt
        built._pending[0].result()
        assert ["pure"] == told.kinds

    def test_a_newer_one_of_a_part_takes_the_place_of_what_is_built(
        self, prepared: Preparation
    ) -> None:
        told: Any = Told(lasts=True)
        machine: Any = None
        answers = prepared.answers(prepared.data(Silent()))
        newest = replace(CAPTURE, module=CAPTURE.module + b" ")
        with BuiltAhead(prepared.course_assignment, answers, told, machine) as built:
            built.take(CAPTURE)
            for _ in range(4):
                assert told.asked.acquire(timeout=SECONDS)
            built.take(newest)
            deadline = time.monotonic() + SECONDS
            while 2 != len(told.forgotten):
                assert time.monotonic() < deadline
                time.sleep(0.001)
            told.busy, told.lasts = 0, False
            assert told.timed.acquire(timeout=SECONDS)
        lengths = [len(getattr(task, "module", b"")) for _, task in told.tasks]
        assert [len(CAPTURE.module), len(newest.module), 0] == lengths


@pytest.mark.parametrize("error", [SandboxError, DisplacedError])
def test_where_no_runner_starts_nothing_is_said_yet(build: Build, error: type[GraderError]) -> None:
    told = build(CAPTURE, told=Told(error(foreign("A runner could not be started."))))
    assert ["pure"] == told.kinds


def test_a_mistake_of_the_graders_own_is_not_swallowed(build: Build) -> None:
    error: Any = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        build(CAPTURE, told=Told(error))


@pytest.mark.parametrize("cells", [RIGHT, WRONG], ids=["right", "wrong"])
def test_a_report_says_the_same(tmp_path: Path, sandbox: Sandbox, cells: tuple[str, ...]) -> None:
    write(tmp_path / "hw.ipynb", *cells)
    course_assignment = load_course(ROOT / "tests/courses/small").get("small")

    def report(*, builds_ahead: bool) -> Report:
        settings = Settings(sandbox, seed=7, builds_ahead=builds_ahead)
        prepared = Preparation(course_assignment, settings)
        return grade(read_submission(tmp_path / "hw.ipynb"), prepared, Silent())

    assert report(builds_ahead=True).parts == report(builds_ahead=False).parts
