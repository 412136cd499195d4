"""A pool of runners for one submission: started ahead of need, each used for one task.

Starting a runner means importing TVM. The pool does it in the background while the notebook runs,
for the tasks that are expected; a task that was not expected waits for a start of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Literal

from grader.messages import SEARCH_SECONDS, FindStep, FromRunner, ToRunner
from grader.referee.runner_client import Runner
from grader.sandbox.room import Stay

Kind = Literal["pure", "extern", "timing"]
"""`pure` runs modules without Python externs, `extern` has an evaluator to call them, `timing` is a
pure one whose threads are set up for measuring."""

Admit = Callable[[Kind], AbstractContextManager[Stay]]
"""Waits until there is room for a task, which then runs in the body of a with statement."""


def _admit_all(_kind: Kind) -> AbstractContextManager[Stay]:
    return nullcontext(Stay())


class RunnerPool:
    """Hands out runners. `start` starts one; it is called in threads of the pool.

    `admit` waits until the machine has room for a task. A runner that waits for one takes little.
    Use it as a context manager: leaving it ends every runner, used or not.
    """

    def __init__(
        self, start: Callable[[Kind], Runner], task_seconds: float, admit: Admit | None = None
    ) -> None:
        self._start = start
        self._admit = admit or _admit_all
        self._task_seconds = task_seconds
        self._executor = ThreadPoolExecutor(max_workers=16, thread_name_prefix="runner")
        self._ready: defaultdict[Kind, list[Future[Runner]]] = defaultdict(list)
        self._lock = Lock()

    def expect(self, kinds: Iterable[Kind]) -> None:
        """Begin to start runners for tasks to come, one of each kind given."""
        with self._lock:
            for kind in kinds:
                self._ready[kind].append(self._executor.submit(self._start, kind))

    def settle(self, needed: Kind) -> None:
        """Keep the processors free: wait for runners of one kind that start, end unused others.

        Raises SandboxError when one of those that are needed cannot be started.
        """
        for kind in [kind for kind in self._ready if kind != needed]:
            self._end(self._ready.pop(kind))
        for future in self._ready[needed]:
            future.result().await_start()

    def request(self, kind: Kind, task: ToRunner) -> FromRunner:
        """Do one task in a runner of its own and end that runner.

        A runner that dies or takes too long answers with a TaskFailure. Raises SandboxError when no
        runner can be started, ProtocolError when the answer is not a message.
        """
        with self._admit(kind) as stay:
            with self._take(kind) as runner:
                answer = runner.request(task, timeout=self._seconds(task))
            stay.peak = runner.peak
            return answer

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
        for futures in self._ready.values():
            self._end(futures)
        self._executor.shutdown()

    def _end(self, futures: list[Future[Runner]]) -> None:
        for future in futures:
            if not future.cancel() and future.exception() is None:
                future.result().close()
