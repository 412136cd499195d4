"""Building while the notebook runs: what it has handed over is built before all of it is there.

A notebook leaves a processor idle, and what is built then need not be waited for afterwards.
Runners are told modules that were read as all captures are, and no input: those come when the
kernel is gone. Nothing is judged here, and nothing depends on it but time: what was built for
nothing is ended unused, and what could not be built is tried again by the task itself.

The notebook keeps a processor, and memory: three versions of a module that takes 17 s to build were
built at once, and the last of them came to a limit of 20 s that it is far from alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock

import numpy as np
from msgspec.structs import replace

from grader.assignment import PartTable
from grader.course import CourseAssignment
from grader.errors import DisplacedError, SandboxError
from grader.evidence.answers import Answers
from grader.evidence.candidates import (
    inspect,
    is_given,
    is_meant,
    run_task,
    runner_kind,
)
from grader.evidence.case import Candidate, Problem
from grader.evidence.oracle import Arrangement
from grader.evidence.plug import admission, kinds_of, part_needs
from grader.evidence.runners import Kind, RunnerPool
from grader.grading.needs import replayed, timing_setup
from grader.measurement.measure import Machine
from grader.measurement.speed import timing_ahead
from grader.messages.frames import number_type, pack_array
from grader.messages.kernel import Capture, CaptureFailure
from grader.messages.runner import RunArgument, RunModule
from grader.messages.timing import TimeSchedule

MOST = 3
"""How often a part is built ahead: a notebook may hand over another one in every cell."""

_POLL_SECONDS = 0.05


class BuiltAhead:
    """Has runners build captures as they arrive. Use it as a context manager.

    `take` may be called from any thread until that is left; what waits then is not begun any more.
    `at_once` is how many runners may build at a time.
    """

    def __init__(
        self,
        course_assignment: CourseAssignment,
        answers: Future[Answers],
        runners: RunnerPool,
        machine: Machine,
        at_once: int = 1,
    ) -> None:
        self._at_once = at_once
        self._has_ended = Event()
        self._is_given_up = False
        self._course_assignment = course_assignment
        self._answers = answers
        self._runners = runners
        self._machine = machine
        self._parts = {each.id: each for each in course_assignment.assignment.part}
        self._left = dict.fromkeys(self._parts, MOST)
        self._newest: dict[str, Capture] = {}
        self._lock = Lock()
        self._pending: list[Future[None]] = []
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ahead")

    def __enter__(self) -> BuiltAhead:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        # Who is interrupted does not wait for answers and runners that nobody will need.
        self._is_given_up = error is not None
        self._has_ended.set()
        self._executor.shutdown(wait=error is None, cancel_futures=True)
        for each in self._pending if error is None else ():
            if not each.cancelled():
                each.result()

    def take(self, capture: Capture | CaptureFailure) -> None:
        """Build a capture, soon, if it is the one that its part is going to be judged by."""
        part = self._parts.get(capture.part)
        if part is None or not isinstance(capture, Capture) or not capture.by_name:
            return
        if not is_meant(part, capture) or not self._left[part.id]:
            return
        with self._lock:
            self._newest[part.id] = capture
        self._left[part.id] -= 1
        self._pending.append(self._executor.submit(self._build, part))

    def _build(self, part: PartTable) -> None:
        with self._lock:
            capture = self._newest.pop(part.id, None)
        if capture is None:  # a newer one was built in its turn
            return
        candidate = inspect(part, capture, admission(part))
        if isinstance(candidate, Problem):
            return
        oracle = self._answers.result().of(part)
        candidate = candidate.taking(oracle.shapes(part))
        arrangement = oracle.arrange(part, candidate.signature)
        # inputs of several shapes have a task each
        if isinstance(arrangement, Problem) or len(oracle.groups) > 1:
            return
        if self._is_run_otherwise(part, candidate):
            return
        try:
            self._ask(part, candidate, arrangement)
        except (SandboxError, DisplacedError):  # whoever needs a runner says that there is none
            return

    def _is_run_otherwise(self, part: PartTable, candidate: Candidate) -> bool:
        """Say whether a candidate is not run as it is: it is given, or there is much to draw."""
        comparison = self._course_assignment.assignment.comparison(part)
        given = is_given(candidate, comparison, self._course_assignment.given())
        return given or any(kind.choose for kind in kinds_of(part))

    def _ask(self, part: PartTable, candidate: Candidate, arrangement: Arrangement) -> None:
        self._runners.forget(part.id)  # this one is judged first: the one before may build no more
        for kind, task in self._tasks(part, candidate, arrangement):
            if not self._may_build(part):
                return
            self._runners.build_ahead(part.id, kind, task)

    def _tasks(
        self, part: PartTable, candidate: Candidate, arrangement: Arrangement
    ) -> Iterator[tuple[Kind, RunModule | TimeSchedule]]:
        needs = part_needs(part)
        task = _emptied(run_task(candidate, arrangement))
        if "stubs" in needs and candidate.facts.externs:
            yield "pure", task
        if "outputs" in needs:
            yield runner_kind(part), task
        if "timing" in needs:
            setup = timing_setup(self._course_assignment, part, self._runners, self._machine)
            timing = timing_ahead(candidate, setup, replayed(part)[1])
            if timing is not None:
                yield "timing", timing

    def _may_build(self, part: PartTable) -> bool:
        """Wait until a runner may build for a part; say whether it still should.

        When the notebook has ended, so has the wait: what is asked for now takes all processors.
        """
        while not self._has_ended.is_set() and self._runners.building() >= self._at_once:
            if part.id in self._newest:
                break
            self._has_ended.wait(_POLL_SECONDS)
        return part.id not in self._newest and not self._is_given_up


def _emptied(task: RunModule) -> RunModule:
    """Return a task whose arguments are zeros, of one call: what is built for it is the same."""
    arguments = tuple(
        replace(each, array=pack_array(np.zeros(_one_call(each), number_type(each.array.dtype))))
        for each in task.arguments
    )
    return replace(task, arguments=arguments)


def _one_call(argument: RunArgument) -> tuple[int, ...]:
    shape = argument.array.shape
    return (1, *shape[1:]) if argument.varies else shape
