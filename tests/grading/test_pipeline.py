"""When a grading works beside others, and when it has the machine alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path

import msgspec
import pytest

from grader.course import load_course
from grader.errors import SandboxError
from grader.evidence.runners import Kind
from grader.grading.assembly import runner_starter
from grader.grading.pipeline import grade, turn_to_time
from grader.grading.preparation import Preparation, Settings
from grader.inside.launcher.protocol import Program
from grader.language import NOTHING, Text, foreign
from grader.machine.quiet import Quiet, TimingLock, Turn
from grader.progress import Progress, Silent
from grader.reading.submission import read_submission
from grader.report import Report
from grader.sandbox.interface import Command, Process, Sandbox
from grader.sandbox.room import Room, Stay
from tests.cli.test_batch import RIGHT, write
from tests.our_course import our_course

ROOT = Path(__file__).parents[2]
SECONDS = 20.0
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

    def expect(self, *programs: Program) -> None:
        self._events.append(f"expect {' '.join(programs)}")
        self._sandbox.expect(*programs)

    def start(self, command: Command) -> Process:
        self._events.append("start")
        return self._sandbox.start(command)


class SpyLock(TimingLock):
    """A turn to time, on a file that nobody else uses, which writes down what is done with it."""

    def __init__(self, path: Path, events: list[str]) -> None:
        super().__init__(path, patience=0.3)
        self._events = events

    @contextmanager
    def turn(self, on_wait: Callable[[], None] = lambda: None) -> Iterator[Turn]:
        with super().turn(on_wait) as turn:
            self._events.append("turn")
            yield turn

    @contextmanager
    def turn_at_once(self) -> Iterator[Turn | None]:
        with super().turn_at_once() as turn:
            self._events.extend(["turn"] if turn is not None else [])
            yield turn


class SpyRoom(Room):
    """A room that writes down who is to time: a runner that compiles, then one that is asked."""

    def __init__(self, events: list[str]) -> None:
        super().__init__()
        self._events = events

    @contextmanager
    def taken(self, kind: str, limit: int) -> Iterator[Stay]:
        with super().taken(kind, limit) as stay:
            self._events.extend(["to time"] if kind.endswith(" timing") else [])
            yield stay


class Told(Silent):
    """A progress that keeps the names of stages."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, name: Text, *, waits: bool = False) -> None:
        self.stages.append(name.english)


class Waiting(threading.Thread):
    """A grading that wants to time; it writes down whether it was alone."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(daemon=True)
        self.waits = threading.Event()
        self.turns: list[bool] = []
        self._settings = settings

    def stage(self, name: Text, *, waits: bool = False) -> None:
        self.waits.set()

    def step(self, done: int, total: int, label: Text = NOTHING) -> None:
        pass

    def run(self) -> None:
        with turn_to_time(self._settings, self) as turn:
            self.turns.append(turn.is_alone)


Run = Callable[..., tuple[Report, list[str]]]


@pytest.fixture
def run(sandbox: Sandbox) -> Run:
    return partial(grade_watched, sandbox)


def grade_watched(
    sandbox: Sandbox,
    course: Path,
    slug: str,
    notebook: Path,
    lock: Path | None = None,
    progress: Progress | None = None,
) -> tuple[Report, list[str]]:
    """Grade a notebook. Returns the report, and what was done, each thing once in a row."""
    spy = Spy()
    timing_lock = SpyLock(lock or notebook.parent / "no lock is needed" / "lock", spy.events)
    watched = WatchedSandbox(sandbox, spy.events)
    settings = Settings(
        watched,  # type: ignore[arg-type]
        seed=7,
        data="builtin",
        quiet=spy,
        timing_lock=timing_lock,
        room=SpyRoom(spy.events),
    )
    prepared = Preparation(load_course(course).get(slug), settings)
    report = grade(read_submission(notebook), prepared, progress or Silent())
    return report, [event for event, _ in groupby(spy.events)]


def test_an_assignment_without_timing_never_wants_to_be_alone(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "hw.ipynb", *RIGHT)
    report, events = run(ROOT / "tests/courses/small", "small", tmp_path / "hw.ipynb")
    assert 10 == report.score
    assert ["expect kernel runner", "shared", "start", "end"] == events


def test_a_schedule_is_timed_alone_after_everything_else(tmp_path: Path, run: Run) -> None:
    report, events = run(
        ROOT, "e2e-conv", EXAMPLES / "extern_never_called.ipynb", tmp_path / "lock"
    )
    assert 40 == report.score
    # It is compiled before all others stand still. Measured anew on a busy machine, it is again.
    assert ["shared", "start", "to time", "end", "exclusive", "turn"] == events[1:7]
    assert ["end", "shared", "end"] == events[-3:], "what was timed is judged beside others"
    assert () == report.notes


def test_it_is_not_timed_while_another_grading_of_the_machine_is(tmp_path: Path, run: Run) -> None:
    """When that one's turn does not end, grading goes on, and the report says so."""
    told = Told()
    with TimingLock(tmp_path / "lock").turn():
        report, _ = run(
            ROOT, "e2e-conv", EXAMPLES / "extern_never_called.ipynb", tmp_path / "lock", told
        )
    assert any("did not wait longer" in note.english for note in report.notes)
    waiting = next(
        place
        for place, stage in enumerate(told.stages)
        if stage.startswith("waiting for another grading's timing")
    )
    assert any(stage.startswith("timing: ") for stage in told.stages[waiting + 1 :])


class TestTurnToTime:
    """Of several gradings in one process, while another process may have the machine's turn."""

    @pytest.fixture
    def settings(self, tmp_path: Path, sandbox: Sandbox) -> Settings:
        lock = TimingLock(tmp_path / "lock", patience=SECONDS)
        return Settings(sandbox, seed=7, timing_lock=lock)

    def test_others_work_on_while_one_waits_for_the_machine(self, settings: Settings) -> None:
        waiting = Waiting(settings)
        with TimingLock(settings.timing_lock.path).turn():
            waiting.start()
            assert waiting.waits.wait(SECONDS)
            with settings.quiet.shared():
                assert waiting.is_alive()
        waiting.join(SECONDS)
        assert [True] == waiting.turns

    def test_it_has_neither_turn_before_those_who_work_have_finished(
        self, settings: Settings
    ) -> None:
        waiting = Waiting(settings)
        with settings.quiet.shared(), TimingLock(settings.timing_lock.path).turn():
            waiting.start()
            assert not waiting.waits.wait(0.2)
        waiting.join(SECONDS)
        assert [True] == waiting.turns

    def test_who_has_the_process_alone_times_in_the_turn_of_one_that_waits_for_it(
        self, settings: Settings
    ) -> None:
        waiting = Waiting(settings)
        machine = ExitStack()
        machine.enter_context(TimingLock(settings.timing_lock.path).turn())
        waiting.start()
        assert waiting.waits.wait(SECONDS)
        with settings.quiet.exclusive():
            machine.close()
            lock = settings.timing_lock.joining()
            alone = msgspec.structs.replace(settings, quiet=Quiet(), timing_lock=lock)
            with turn_to_time(alone, Silent()) as turn:
                assert turn.is_alone
                assert waiting.is_alive()
        waiting.join(SECONDS)
        assert [True] == waiting.turns


def test_what_cannot_be_timed_does_not_hold_up_the_others(run: Run) -> None:
    _, events = run(ROOT, "e2e-conv", EXAMPLES / "softmax_missing.ipynb")
    assert ["expect kernel runner", "shared", "start", "end"] == events


def test_the_report_names_cells_with_words_that_are_watched_and_takes_no_points(run: Run) -> None:
    folder = ROOT / "examples" / "from-torch"
    report, _ = run(ROOT, "from-torch", folder / "importer_of_tvm.ipynb")
    assert 64 == report.score
    assert ["`frontend`", "`LegalizeOps`"] == [
        note.english.removeprefix("Code cell 2 uses ").split(".")[0] for note in report.notes
    ]


@pytest.mark.parametrize("content", ["", "no notebook"])
def test_a_damaged_notebook_runs_nothing(tmp_path: Path, run: Run, content: str) -> None:
    (tmp_path / "hw.ipynb").write_text(content)
    report, events = run(ROOT / "tests/courses/small", "small", tmp_path / "hw.ipynb")
    assert (0, []) == (report.score, events)


class Refusing:
    """A sandbox that keeps what it was asked to start, and starts nothing."""

    level, detail = "none", "Nothing starts."

    def __init__(self) -> None:
        self.commands: list[Command] = []

    def start(self, command: Command) -> Process:
        self.commands.append(command)
        raise SandboxError(foreign("Nothing starts here."))

    def close(self) -> None:
        """Nothing is to be closed."""


def test_a_runner_that_measures_is_looked_at_less_often_and_bounded_alike() -> None:
    sandbox = Refusing()
    start = runner_starter(sandbox, our_course().get("e2e-conv").assignment)  # type: ignore[arg-type]
    kinds: tuple[Kind, ...] = ("pure", "timing")
    for kind in kinds:
        with pytest.raises(SandboxError):
            start(kind)
    pure, timing = (command.limits for command in sandbox.commands)
    assert 0 < pure.watch < timing.watch
    assert pure == msgspec.structs.replace(timing, watch=pure.watch)
