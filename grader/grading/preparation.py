"""What gradings of one assignment have in common: settings, data and answers, each made once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from grader.checks import kinds as registered
from grader.course import CourseAssignment
from grader.data import DataSet, resolve_data
from grader.environment import describe_environment
from grader.evidence.runners import KnownAnswers
from grader.grading.basis import grading_basis
from grader.grading.spelling import Accepted
from grader.machine.lock import TimingLock
from grader.progress import Progress
from grader.quiet import Quiet
from grader.sandbox.interface import Sandbox
from grader.sandbox.room import Room
from grader.timing.pace import KnownPace

if TYPE_CHECKING:
    from grader.evidence.answers import Answers

assert registered.__all__  # a course's checks come after the built-in ones, which they may not hide


class Settings(msgspec.Struct, frozen=True):
    """What a grading depends on beside the submission and the assignment.

    `seed` decides all hidden inputs; `data` is a folder, "builtin" or None for the usual search;
    `language` is what students are spoken to in, None for the notebook's own. `dialect` says which
    notebooks are graded: those in every spelling of TVM, or in today's alone. `preamble` runs the
    assignment's imports before the first cell. `environment` is the
    process's, `clock` gives monotonic seconds, `now` the time of day with its zone.

    Gradings that run at the same time share one `quiet`, so that they do not disturb each other's
    measurements, one `timing_lock`, which gradings of other processes share too, and one `pace`, so
    that they know how fast this machine can be. They share one `room` as well: the memory that is
    there for all; and `known`, what runners have answered before.
    """

    sandbox: Sandbox
    seed: int
    data: str | None = None
    language: str | None = None
    dialect: Accepted = "auto"
    preamble: bool = False
    environment: Mapping[str, str] = {}
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = partial(datetime.now, timezone.utc)
    quiet: Quiet = msgspec.field(default_factory=Quiet)
    timing_lock: TimingLock = msgspec.field(default_factory=TimingLock)
    pace: KnownPace = msgspec.field(default_factory=KnownPace)
    room: Room = msgspec.field(default_factory=Room)
    known: KnownAnswers = msgspec.field(default_factory=KnownAnswers)


class Preparation:
    """An assignment made ready to grade any number of submissions, in any number of threads.

    Whoever first asks for the data or the answers begins to make them; the others get the same.
    """

    def __init__(self, course_assignment: CourseAssignment, settings: Settings) -> None:
        self.course_assignment = course_assignment
        course_assignment.load_checks()
        self.settings = settings
        self._lock = threading.Lock()
        self._data: DataSet | None = None
        self._answers: Future[Answers] | None = None
        self._basis = ""

    def data(self, progress: Progress) -> DataSet:
        """Return the data that submissions are compared on. Raises DataError."""
        with self._lock:
            if self._data is None:
                self._data = resolve_data(
                    self.course_assignment.assignment.data,
                    directory=self.settings.data,
                    environment=self.settings.environment,
                    progress=progress,
                )
            return self._data

    def basis(self, data: DataSet) -> str:
        """Return the digest of what decides a grade beside the submission and the seed."""
        with self._lock:
            if not self._basis:
                folder, level = self.course_assignment.folder, self.settings.sandbox.level
                how = f"{level} with preamble" if self.settings.preamble else level
                if self.course_assignment.variant is not None:
                    how = f"{how}, as {self.course_assignment.variant.name}"
                self._basis = grading_basis(folder, data, how, describe_environment())
            return self._basis

    def answers(self, data: DataSet) -> Future[Answers]:
        """Begin to compute the answers in the background, unless somebody has."""
        from grader.evidence.answers import load_answers  # with PyTorch, which takes seconds

        with self._lock:
            if self._answers is None:
                executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="oracle")
                for_oracle, _ = self._seeds()
                self._answers = executor.submit(
                    load_answers, self.course_assignment, data, for_oracle
                )
                executor.shutdown(wait=False)  # its thread ends with the answers
            return self._answers

    def with_settings(self, settings: Settings) -> Preparation:
        """Return the same assignment, data and answers under other settings, with the same seed."""
        other = Preparation(self.course_assignment, settings)
        with self._lock:
            other._data, other._answers = self._data, self._answers
        return other

    def model_seed(self) -> int:
        """Return the seed of the models that importers are tried on."""
        from grader.evidence.answers import model_seed

        for_oracle, _ = self._seeds()
        return model_seed(for_oracle)

    def part_seeds(self) -> np.random.SeedSequence:
        """Return the seeds of everything that is drawn for a part; the same at every call."""
        _, for_parts = self._seeds()
        return for_parts

    def _seeds(self) -> list[np.random.SeedSequence]:
        # Made anew: a sequence counts what was spawned from it.
        return np.random.SeedSequence(self.settings.seed).spawn(2)
