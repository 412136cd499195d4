"""A batch without a sandbox: what is graded, kept, left out and told."""

from __future__ import annotations

import itertools
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import numpy as np
import pytest

from grader.batch.collect import Entry, collect
from grader.batch.grading import Batch, Interrupted, Store
from grader.batch.summary import Row, Summary
from grader.course import Course, load_course
from grader.data.dataset import DataSet, no_data
from grader.environment import describe_environment
from grader.errors import DataError, DisplacedError, SandboxError
from grader.grading import preparation
from grader.grading.pipeline import grade
from grader.grading.preparation import Preparation, Settings
from grader.language import Text, foreign
from grader.machine.quiet import Pausable, Quiet, TimingLock
from grader.progress import Silent
from grader.reading.submission import SubmissionFile
from grader.report import Report, ungraded_report
from grader.report.parts import UNSETTLED
from grader.sandbox.room import CrowdedSandbox, RevocableSandbox
from tests.our_course import our_course
from tests.properties import hostile
from tests.sample_reports import TIMING

SECONDS = 300.0
"""How long to wait for what must come: who waits in vain fails in place of hanging."""

COURSE = load_course(Path(__file__).parents[1] / "courses" / "small")


class NoSandbox:
    """A sandbox in which nothing can be started."""

    level = "none"
    detail = foreign("Nothing starts.")

    def expect(self, *programs: str) -> None:
        """Nothing is made ready for it."""

    def start(self, command: object) -> Any:
        raise SandboxError(foreign("Nothing starts here."), foreign("Go elsewhere."))


class StrongerSandbox(NoSandbox):
    """Another one."""

    level = "strong"


def other_data() -> DataSet:
    """Data of the same name, with one more image."""
    none = no_data()
    return msgspec.structs.replace(none, images=np.zeros((1, 28, 28), np.uint8))


class Recorder:
    """A BatchProgress that remembers, and does something when a submission is finished."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.began: list[str] = []
        self.ended: dict[str, str] = {}
        self.later: list[str] = []
        self._then = then

    def started(self, name: str) -> None:
        self.began.append(name)

    def stage(self, name: str, stage: Text, *, waits: bool = False) -> None:
        pass

    def finished(self, name: str, outcome: Text, *, graded: bool = True) -> None:
        self.ended[name] = outcome.english
        self._then()

    def put_back(self, name: str, outcome: Text) -> None:
        self.later.append(name)


def write_damaged(folder: Path, *names: str) -> None:
    """Write files that are no notebooks: they are graded, with no points, and nothing is run."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / f"{name}.ipynb").write_text(f"{name}: no notebook")


def write_sound(path: Path, source: str = "1 + 1") -> None:
    cell = nbformat.v4.new_code_cell(source)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)


def too_busy(report: Report) -> Report:
    """Return a report in which the first check could not be decided."""
    part = report.parts[0]
    check = msgspec.structs.replace(part.checks[0], again=True)
    part = msgspec.structs.replace(part, checks=(check, *part.checks[1:]))
    return msgspec.structs.replace(report, parts=(part, *report.parts[1:]))


def disturbed(report: Report) -> Report:
    """Return a report of which all is decided, beside another program on the same core."""
    timing = msgspec.structs.replace(TIMING, notes=(UNSETTLED,))
    return msgspec.structs.replace(report, timing=timing)


class Attempts:
    """Stands for `grade`: says of the first so many gradings that the machine displaced them.

    The first `together` gradings end only when all of them have begun, and those of them that are
    not displaced only when `leave` is set. A later one sets it, too, having counted who is there:
    who was to wait for them, and did not, is seen.
    """

    def __init__(self, displaced: int, together: int = 1) -> None:
        self._displaced = displaced
        self._running = 0
        self._lock = threading.Lock()
        self._meeting = threading.Barrier(together)
        self.leave = threading.Event()
        self.began = 0
        self.beside: dict[int, int] = {}
        self.sandboxes: list[object] = []
        self.may_time: list[bool] = []

    def __call__(self, submission: SubmissionFile, prepared: Preparation, *_: object) -> Report:
        with prepared.settings.quiet.shared(), self._counted() as number:
            self.sandboxes.append(prepared.settings.sandbox)
            with prepared.settings.timing_lock.turn_at_once() as turn:
                self.may_time.append(turn is not None)
            if number < self._meeting.parties:
                self._meeting.wait(SECONDS)
            self.beside[number] = self._running
            if number < self._displaced:
                raise DisplacedError(foreign("There was no room."), foreign("Come again."))
            if number < self._meeting.parties:
                assert self.leave.wait(SECONDS)
            self.leave.set()
        return ungraded_report(submission.name, foreign("It was reached."), describe_environment())

    @contextmanager
    def _counted(self) -> Iterator[int]:
        with self._lock:
            number, self.began = self.began, self.began + 1
            self._running += 1
        try:
            yield number
        finally:
            with self._lock:
                self._running -= 1


class Announcing(Quiet):
    """A Quiet that sets an event when somebody asks to be alone."""

    def __init__(self, asked: threading.Event) -> None:
        super().__init__()
        self._asked = asked

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        self._asked.set()
        with super().exclusive():
            yield


class World:
    """A class of submissions and a folder of reports."""

    def __init__(self, root: Path) -> None:
        self.submissions = root / "class"
        self.reports = root / "reports"
        self.reports.mkdir()

    def batch(
        self,
        demanded: str | None = "small",
        seed: int | None = None,
        course: Course = COURSE,
        **settings: Any,
    ) -> Batch:
        made = Settings(**{"sandbox": NoSandbox(), "seed": 7, **settings})
        return Batch(course, demanded, made, Store(self.reports), seed)

    def entries(self) -> tuple[Entry, ...]:
        return collect([self.submissions])

    def grade(self, demanded: str | None = "small", jobs: int = 2, **settings: Any) -> Summary:
        batch = self.batch(demanded, **settings)
        return batch.run(self.entries(), batch.find_graded(self.entries()), jobs, Recorder())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def written(path: Path) -> tuple[int, int]:
    """Return what tells whether a file was written again."""
    facts = path.stat()
    return facts.st_ino, facts.st_mtime_ns


def by_name(summary: Summary) -> dict[str, Row]:
    return {row.name: row for row in summary.rows}


class TestRun:
    """Every submission gets a report."""

    def test_rows_come_in_the_order_of_names_whatever_ended_first(self, world: World) -> None:
        write_damaged(world.submissions, "c", "a", "b")
        progress = Recorder()
        summary = world.batch().run(world.entries(), {}, 3, progress)
        assert ["a", "b", "c"] == [row.name for row in summary.rows]
        assert (0, 0) == (summary.pending, summary.ungraded)
        assert {"a", "b", "c"} == set(progress.began) == set(progress.ended)
        assert "0 of 10, The file is not a notebook: it is not JSON." == progress.ended["a"]

    def test_all_get_the_same_seed(self, world: World) -> None:
        write_damaged(world.submissions, "a", "b")
        world.grade()
        store = Store(world.reports)
        seeds = [report.seed for entry in world.entries() if (report := store.find(entry))]
        assert [7, 7] == seeds

    def test_one_that_cannot_be_graded_does_not_stop_the_others(self, world: World) -> None:
        write_damaged(world.submissions, "a", "c")
        write_sound(world.submissions / "b.ipynb")
        rows = by_name(world.grade())
        assert [True, False, True] == [rows[name].graded for name in "abc"]
        assert "not graded: Nothing starts here. Go elsewhere." == rows["b"].noticed.english

    def test_an_assignment_that_cannot_be_told_is_a_reason(self, world: World) -> None:
        write_sound_one = world.submissions / "b.ipynb"
        write_damaged(world.submissions, "a")
        write_sound(write_sound_one)
        rows = by_name(world.grade(demanded=None))
        assert [False, False] == [row.graded for row in rows.values()]
        assert rows["a"].noticed.english.startswith(
            "not graded: a.ipynb cannot be graded: the file"
        )

    def test_a_failure_of_the_grader_is_a_reason_too(self, world: World) -> None:
        write_damaged(world.submissions, "a", "b")
        ticks = itertools.count()

        def clock() -> float:
            if next(ticks) == 0:
                raise ZeroDivisionError
            return 0.0

        rows = world.grade(jobs=1, clock=clock).rows
        assert [False, True] == [row.graded for row in rows]
        assert rows[0].noticed.english.startswith("not graded: Internal error: ZeroDivisionError")

    def test_what_the_machine_has_displaced_is_graded_again_alone(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        attempts = Attempts(displaced=1, together=3)
        monkeypatch.setattr("grader.batch.attempts.grade", attempts)
        world.submissions.mkdir()
        for name in "abc":
            write_sound(world.submissions / f"{name}.ipynb")
        world.grade(jobs=3, quiet=Announcing(attempts.leave))
        assert 4 == attempts.began
        assert 1 == attempts.beside[3]
        assert isinstance(attempts.sandboxes[-1], RevocableSandbox)
        assert {CrowdedSandbox} == {type(each) for each in attempts.sandboxes[:-1]}

    def test_alone_it_times_in_the_turn_of_one_that_waits_for_its_end(
        self, world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        attempts = Attempts(displaced=1)
        monkeypatch.setattr("grader.batch.attempts.grade", attempts)
        world.submissions.mkdir()
        write_sound(world.submissions / "a.ipynb")
        lock = TimingLock(tmp_path / "lock")
        with lock.turn():
            world.grade(timing_lock=lock)
        assert [False, True] == attempts.may_time

    def test_it_is_not_graded_for_ever(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        attempts = Attempts(displaced=9)
        monkeypatch.setattr("grader.batch.attempts.grade", attempts)
        world.submissions.mkdir()
        write_sound(world.submissions / "a.ipynb")
        (row,) = world.grade().rows
        assert (2, False) == (attempts.began, row.graded)
        assert "not graded: There was no room. Come again." == row.noticed.english

    @pytest.mark.parametrize("shares", [False, True])
    @pytest.mark.parametrize(
        ("spoil", "busy", "again"),
        [(too_busy, 1, False), (too_busy, 9, True), (disturbed, 1, False), (disturbed, 9, False)],
    )
    def test_what_the_machine_spoiled_is_graded_once_more_after_all_others(
        self,
        world: World,
        monkeypatch: pytest.MonkeyPatch,
        spoil: Callable[[Report], Report],
        busy: int,
        again: bool,
        shares: bool,
    ) -> None:
        """With a gradebook, too, where one report is the answer to all files of one content."""
        monkeypatch.setattr(Store, "shares", shares)
        begun = []

        def undecided(submission: SubmissionFile, *others: Any) -> Report:
            begun.append(submission.name)
            report = grade(submission, *others)
            times = begun.count(submission.name)
            return spoil(report) if submission.name.startswith("a") and times <= busy else report

        write_damaged(world.submissions, "a", "b", "c")
        monkeypatch.setattr("grader.batch.attempts.grade", undecided)
        progress = Recorder()
        rows = by_name(world.batch().run(world.entries(), {}, 1, progress))
        assert ["a.ipynb", "b.ipynb", "c.ipynb", "a.ipynb"] == begun
        assert [again, False, False] == [rows[name].again for name in "abc"]
        assert (["a"], {*"abc"}) == (progress.later, set(progress.ended))

    def test_a_traceback_is_printed_on_demand(
        self, world: World, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write_damaged(world.submissions, "a")

        def clock() -> float:
            raise ZeroDivisionError("mine")

        world.grade(clock=clock)
        assert "" == capsys.readouterr().err
        world.grade(clock=clock, environment={"GRADER_DEBUG": "1"})
        assert "ZeroDivisionError: mine" in capsys.readouterr().err

    def test_a_link_in_a_folder_is_not_read(self, world: World) -> None:
        write_damaged(world.submissions, "a")
        (world.submissions / "b.ipynb").symlink_to(world.submissions / "a.ipynb")
        rows = by_name(world.grade())
        assert "0 of 10" == f"{rows['a'].score:g} of {rows['a'].max_score:g}"
        assert rows["b"].noticed.english.startswith("not graded: b.ipynb is a link.")

    def test_data_that_are_missing_are_told_by_whoever_asks(self, world: World) -> None:
        chosen = our_course().get("e2e-conv")
        prepared = world.batch(data=str(world.reports / "none")).prepare(chosen)
        with pytest.raises(DataError, match="There is no data folder"):
            prepared.data(Silent())


class Holds(Quiet):
    """A Quiet that remembers of every file that was read what its thread held then."""

    def __init__(self) -> None:
        super().__init__()
        self._held = threading.local()
        self.reads: list[str] = []

    @contextmanager
    def shared(self) -> Iterator[None]:
        with super().shared():
            self._held.what = "shared"
            yield
            self._held.what = "nothing"

    @contextmanager
    def aside(self, work: Pausable) -> Iterator[None]:
        with super().aside(work):
            self.reads.append(getattr(self._held, "what", "nothing"))
            yield


class TestHostileFiles:
    """A file that takes long is nobody else's business."""

    def test_nobody_waits_for_a_file_that_is_read(self, world: World) -> None:
        write_damaged(world.submissions, "a", "c")
        many = "\n" * 10**6
        write_sound(world.submissions / "b.ipynb", f"x = 1{many}")
        quiet = Holds()
        world.grade(quiet=quiet)
        assert ["nothing"] * 3 == quiet.reads

    def test_one_that_is_too_much_has_a_report_that_says_so(self, world: World) -> None:
        write_damaged(world.submissions, "a")
        halves = hostile.FORMS["halves of surrogate pairs"](60 * 10**6)
        (world.submissions / "b.ipynb").write_text(halves)
        rows = by_name(world.grade())
        assert (True, 0, 10) == (rows["b"].graded, rows["b"].score, rows["b"].max_score)
        assert "too large or too complicated to be read" in rows["b"].noticed.english


class TestResuming:
    """What was graded is kept."""

    def test_graded_reports_are_kept_untouched(self, world: World) -> None:
        write_damaged(world.submissions, "a", "b")
        world.grade()
        before = {path: written(path) for path in world.reports.iterdir()}
        write_damaged(world.submissions, "c")
        rows = by_name(world.grade())
        assert [True, True, False] == [rows[name].kept for name in "abc"]
        assert before == {path: written(path) for path in before}

    def test_a_file_that_changed_is_graded_anew(self, world: World) -> None:
        write_damaged(world.submissions, "a", "b")
        world.grade()
        (world.submissions / "a.ipynb").write_text("handed in again")
        rows = by_name(world.grade())
        assert [False, True] == [rows[name].kept for name in "ab"]

    def test_another_assignment_is_graded_anew(self, world: World) -> None:
        write_damaged(world.submissions, "a")
        world.grade("small")
        assert [False] == [row.kept for row in world.grade("trio").rows]

    def test_another_seed_that_is_asked_for_is_graded_anew_and_one_that_is_drawn_is_not(
        self, world: World
    ) -> None:
        write_damaged(world.submissions, "a")
        world.grade()
        kept = [world.batch(seed=seed).find_graded(world.entries()) for seed in (None, 7, 8)]
        assert [1, 1, 0] == [len(rows) for rows in kept]

    @pytest.mark.parametrize("of_it", ["level", "files", "data", "packages"])
    def test_what_decides_a_grade_decides_whether_it_is_kept(
        self, world: World, of_it: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        shutil.copytree(COURSE.root, tmp_path / "course")
        course, settings = load_course(tmp_path / "course"), {}
        write_damaged(world.submissions, "a")
        world.grade(course=course)
        assert [True] == [row.kept for row in world.grade(course=course).rows]
        if of_it == "level":
            settings = {"sandbox": StrongerSandbox()}
        elif of_it == "files":
            with (course.get("small").folder / "oracle.py").open("a") as file:
                file.write("# by another hand\n")
        elif of_it == "data":
            monkeypatch.setattr(preparation, "resolve_data", lambda *_, **__: other_data())
        else:
            environment = describe_environment(version_of=lambda name: "0.28")
            monkeypatch.setattr(preparation, "describe_environment", lambda: environment)
        assert [False] == [row.kept for row in world.grade(course=course, **settings).rows]

    def test_a_part_that_the_machine_kept_from_being_decided_is_no_grade(
        self, world: World
    ) -> None:
        write_damaged(world.submissions, "a")
        world.grade()
        (entry,), store = world.entries(), Store(world.reports)
        report = store.find(entry)
        assert report is not None
        store.write(entry, too_busy(report))
        assert {} == world.batch().find_graded(world.entries())

    def test_what_could_not_be_graded_is_tried_again(self, world: World) -> None:
        write_damaged(world.submissions, "a")
        write_sound(world.submissions / "b.ipynb")
        world.grade()
        rows = by_name(world.grade())
        assert [True, False] == [rows[name].kept for name in "ab"]

    def test_a_file_that_became_a_link_is_not_kept(self, world: World) -> None:
        write_damaged(world.submissions, "a")
        world.grade()
        (world.submissions / "a.ipynb").rename(world.submissions / "b.txt")
        (world.submissions / "a.ipynb").symlink_to(world.submissions / "b.txt")
        assert [False] == [row.graded for row in world.grade().rows]


class TestInterruption:
    """Ctrl-C keeps what is finished."""

    def test_what_is_finished_is_in_the_summary_and_the_rest_is_pending(self, world: World) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        write_damaged(world.submissions, *"abcdef")
        with pytest.raises(Interrupted) as caught:
            world.batch().run(world.entries(), {}, 1, Recorder(interrupt))
        summary = caught.value.summary
        assert 1 == len(summary.rows)
        assert 5 == summary.pending
        assert 6 == len(world.grade().rows)

    def test_nobody_waits_for_the_turn_to_time_afterwards(
        self, world: World, tmp_path: Path
    ) -> None:
        looks = iter([0.0, 1.0])  # a third look at the clock would be that of somebody who waits
        lock = TimingLock(tmp_path / "lock", patience=600, clock=lambda: next(looks))
        write_damaged(world.submissions, "a")
        world.grade(timing_lock=lock)
        with TimingLock(tmp_path / "lock").turn(), lock.turn() as turn:
            assert not turn.is_alone
