"""A pool of runners for one submission: started ahead of need, each used for one task at most.

Starting a runner means importing TVM. The pool does it in the background while the notebook runs,
for the tasks that are expected; a task that was not expected waits for its own start.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Literal, NamedTuple

import msgspec

from grader.errors import DisplacedError
from grader.evidence.runner_client import Runner
from grader.messages.evidence import Examine
from grader.messages.frames import encode_frame
from grader.messages.runner import (
    SEARCH_SECONDS,
    FindStep,
    FromRunner,
    MutateModule,
    ReplayTrace,
    RunModule,
    TaskFailure,
    ToRunner,
    TraceModule,
    TraceResult,
)
from grader.messages.timing import TimeSchedule, TimeSteps
from grader.sandbox.room import Stay

Kind = Literal["pure", "extern", "timing"]
"""`pure` runs modules without Python externs, `extern` has an evaluator to call them, `timing` is a
pure one whose threads are set up for measuring."""

Admit = Callable[[Kind], AbstractContextManager[Stay]]
"""Waits until there is room for a task, which then runs in the body of a with statement."""


def _admit_all(_kind: Kind) -> AbstractContextManager[Stay]:
    return nullcontext(Stay())


_MOST_KNOWN = 32 * 2**20
"""Bytes of answers that are kept: that of a usual task has a few thousand."""

_DRAWS = b'"Sample'
"""What the name of an instruction of a trace begins with that draws what the trace leaves open."""

_DECIDED = RunModule | TraceModule | ReplayTrace | MutateModule | Examine
"""Tasks whose answer depends on nothing beside them: not on a clock, as a measurement does."""


class KnownAnswers:
    """Answers of runners without externs, by the digest of their whole task; the latest are kept.

    Gradings of one batch share their inputs, and many submissions hold a module that another one
    held, bit by bit: it is built and run once. Failures are not kept, nor what a failure has ended
    early: a busy machine has its own. An answer that takes more than all the room is not, either.
    May be used from several threads.
    """

    def __init__(self, room: int = _MOST_KNOWN) -> None:
        self._room = self._left = room
        self._answers: OrderedDict[bytes, tuple[FromRunner, int]] = OrderedDict()
        self._lock = Lock()

    def find(self, digest: bytes) -> FromRunner | None:
        """Return the answer to a task that was done before, None without one."""
        with self._lock:
            if digest not in self._answers:
                return None
            self._answers.move_to_end(digest)
            return self._answers[digest][0]

    def learn(self, digest: bytes, answer: FromRunner) -> None:
        """Keep an answer, unless it failed; the one that was asked for least lately goes."""
        if _has_failed(answer) or (size := size_of(answer)) > self._room:
            return
        with self._lock:
            if digest in self._answers:
                return
            self._answers[digest] = (answer, size)
            self._left -= size
            while self._left < 0:
                _, (_, freed) = self._answers.popitem(last=False)
                self._left += freed


def size_of(value: object) -> int:
    """Return about how many bytes a message takes, or a value in it.

    A name of one letter takes fifty; and to encode a large answer takes as much as it has.
    """
    parts: tuple[object, ...] = ()
    if isinstance(value, msgspec.Struct):
        parts = msgspec.structs.astuple(value)
    elif isinstance(value, dict):
        parts = (*value.keys(), *value.values())
    elif isinstance(value, tuple):
        parts = value
    return sys.getsizeof(value) + sum(map(size_of, parts))


def _has_failed(answer: FromRunner) -> bool:
    if isinstance(answer, TraceResult):
        return any(each.failure is not None for each in answer.passes)
    return isinstance(answer, TaskFailure)


def _digest(kind: Kind, task: ToRunner, within: bytes) -> bytes | None:
    """Return what a task's answer is kept under, None if it depends on more than the task."""
    if kind != "pure" or not isinstance(task, _DECIDED):
        return None
    if isinstance(task, Examine) and task.timed:
        return None
    # A sampled tile that the trace does not decide is another one in every replay (cheat
    # trace_that_draws_anew).
    if isinstance(task, ReplayTrace) and _DRAWS in task.trace:
        return None
    digest = hashlib.sha256(hashlib.sha256(within).digest())
    digest.update(encode_frame(task))
    return digest.digest()


class _BuiltFor(NamedTuple):
    """The task that a runner has built for. Whether all is built, that runner sees."""

    kind: Kind
    module: bytes
    function: str


class _Builder(NamedTuple):
    """A runner, and what it builds ahead."""

    built_for: _BuiltFor
    runner: Runner


def _built_for(kind: Kind, task: RunModule | TimeSchedule | TimeSteps) -> _BuiltFor:
    if isinstance(task, TimeSteps):
        return _BuiltFor(kind, task.base + task.trace, task.function)
    first = task if isinstance(task, RunModule) else task.shapes[0]
    return _BuiltFor(kind, first.module, first.function)


class RunnerPool:
    """Hands out runners. `start` starts one; it is called in threads of the pool.

    `admit` waits until the machine has room for a task. A runner that waits for one takes little.
    `known` are answers that other pools may share, and `within` says which limits its runners have:
    where others are, a task that is the same may be ended.
    Use it as a context manager: leaving it ends every runner, used or not.
    """

    def __init__(
        self,
        start: Callable[[Kind], Runner],
        task_seconds: float,
        admit: Admit | None = None,
        known: KnownAnswers | None = None,
        within: bytes = b"",
    ) -> None:
        self._start = start
        self._within = within
        self._known = known or KnownAnswers()
        self._admit = admit or _admit_all
        self._task_seconds = task_seconds
        self._executor = ThreadPoolExecutor(max_workers=16, thread_name_prefix="runner")
        self._ready: defaultdict[Kind, list[Future[Runner]]] = defaultdict(list)
        self._ahead: dict[tuple[str, Kind], _Builder] = {}
        self._is_over = False
        self._lock = Lock()

    def expect(self, kinds: Iterable[Kind]) -> None:
        """Begin to start runners for tasks to come, one of each kind given."""
        with self._lock:
            for kind in kinds:
                self._ready[kind].append(self._executor.submit(self._start, kind))

    def build_ahead(
        self, part: str, kind: Kind, task: RunModule | TimeSchedule | TimeSteps
    ) -> Runner:
        """Have a runner build what a task of a part to come will run, and return it; the task's
        arrays are of those forms.

        The runner is kept for that task, and what one of its kind has built for the part before is
        ended. Nothing waits for room here: what is built belongs to one grading that runs alone.
        Raises SandboxError, DisplacedError.
        """
        runner = self._take(kind)
        runner.build_ahead(task)
        with self._lock:
            earlier = self._ahead.pop((part, kind), None)
            if not self._is_over:
                self._ahead[part, kind] = _Builder(_built_for(kind, task), runner)
        if earlier is not None:
            earlier.runner.close()
        if self._is_over:
            runner.close()
        return runner

    def build(self, part: str, kind: Kind, task: RunModule | TimeSchedule | TimeSteps) -> None:
        """Have a runner build what a task of a part to come will run, and wait for it.

        One that has built a part of it before builds the rest. What takes longer than a task may is
        not kept. While it builds it takes room as the task will, not while it waits for that: who
        has the turn to time needs some, too.
        Raises SandboxError, DisplacedError.
        """
        with self._admit(kind):
            earlier = self._ahead.get((part, kind))
            if earlier is None or earlier.built_for != _built_for(kind, task):
                runner, is_free = self.build_ahead(part, kind, task), True
            else:
                runner = earlier.runner
                is_free = runner.await_built(self._task_seconds)
                if is_free:
                    runner.build_ahead(task)
            is_built = is_free and runner.await_built(self._task_seconds)
            if not is_built or runner.seconds > self._task_seconds:
                self.forget(part)

    def building(self) -> int:
        """Return how many runners build ahead at this moment."""
        with self._lock:
            return sum(each.runner.is_building() for each in self._ahead.values())

    def forget(self, part: str) -> None:
        """End what is built ahead for a part, of which something else is to be built."""
        with self._lock:
            found = [self._ahead.pop(key) for key in [*self._ahead] if key[0] == part]
        for each in found:
            each.runner.close()

    def settle(self, needed: Kind, parts: Collection[str]) -> None:
        """Keep the processors free: wait for runners of one kind that start, end unused others.

        Of what is built ahead that of these parts is kept; not what takes longer than a task may.
        Raises SandboxError when one of those that are needed cannot be started.
        """
        for (part, kind), (_, runner) in [*self._ahead.items()]:
            is_needed = kind == needed and part in parts
            if not is_needed or not runner.await_built(self._task_seconds):
                self._ahead.pop((part, kind)).runner.close()
        for kind in [kind for kind in self._ready if kind != needed]:
            self._end(self._ready.pop(kind))
        for future in self._ready[needed]:
            future.result().await_start()

    def request(self, kind: Kind, task: ToRunner, seconds: float = math.inf) -> FromRunner:
        """Do one task in its own runner and end that runner; or return what is known already.

        It may take so many `seconds`, and no more than any task of its kind. A runner that dies or
        takes too long answers with a TaskFailure. Raises SandboxError when no runner can be
        started, ProtocolError when the answer is not a message.
        """
        digest = _digest(kind, task, self._within)
        found = self._known.find(digest) if digest is not None else None
        if found is not None:
            return found
        most = min(seconds, self._seconds(task))
        with self._admit(kind) as stay:
            answer, stay.peak = self._ask_prepared(kind, task, most)
            if answer is None:
                with self._take(kind) as runner:
                    answer = runner.request(task, timeout=most)
                stay.peak = runner.peak
        if digest is not None:
            self._known.learn(digest, answer)
        return answer

    def _ask_prepared(
        self, kind: Kind, task: ToRunner, seconds: float
    ) -> tuple[FromRunner | None, int]:
        """Return the answer of the runner that has built for a task, and its peak.

        None without one, and where that has died, or was ended while the notebook ran: another one
        shall say of what. None, too, where it took longer for its answer than a task may, with what
        it built: where nothing is built ahead, as in a batch, that counts, but beside a notebook it
        takes its time. What is timed is compiled ahead in either case, and measures for as long as
        the course wants.
        """
        prepared = self._prepared(kind, task)
        if prepared is None:
            return None, 0
        with prepared as runner:
            try:
                answer = runner.request(task, timeout=seconds)
            except DisplacedError:
                return None, 0
        if isinstance(answer, TaskFailure):
            counts = answer.code != "Died"
        else:
            counts = runner.seconds <= seconds or isinstance(task, TimeSchedule | TimeSteps)
        return (answer if counts else None), runner.peak

    def _prepared(self, kind: Kind, task: ToRunner) -> Runner | None:
        if not isinstance(task, RunModule | TimeSchedule | TimeSteps):
            return None
        wanted = _built_for(kind, task)
        with self._lock:
            for key, each in self._ahead.items():
                if each.built_for == wanted:
                    return self._ahead.pop(key).runner
        return None

    def _seconds(self, task: ToRunner) -> float:
        """Return how long a task may take: what only explains is not waited for long."""
        if isinstance(task, FindStep):
            return min(self._task_seconds, SEARCH_SECONDS)
        return self._task_seconds

    def _take(self, kind: Kind) -> Runner:
        with self._lock:
            ready = self._ready[kind].pop(0) if self._ready[kind] else None
        return (ready or self._executor.submit(self._start, kind)).result()

    def __enter__(self) -> RunnerPool:
        return self

    def __exit__(self, *_error: object) -> None:
        """End the runners that nobody used."""
        with self._lock:
            self._is_over = True  # who is interrupted may have one started for it at this moment
            ahead = [each.runner for each in self._ahead.values()]
            self._ahead.clear()
        for runner in ahead:
            runner.close()
        for futures in self._ready.values():
            self._end(futures)
        self._executor.shutdown()

    def _end(self, futures: list[Future[Runner]]) -> None:
        for future in futures:
            if not future.cancel() and future.exception() is None:
                future.result().close()
