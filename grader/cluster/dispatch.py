"""The client's end of a cluster: who grades what now, and what becomes of it when somebody dies.

Only as many submissions are on their way as the workers can grade, and a few that wait there: so
the client's memory does not grow with the class, and whoever was graded when a worker died is
known. Dask would give a submission to a fourth worker after three have died of it, and blame those
that only waited beside it.

All decisions are made in one thread, which reads one queue: Dask's threads do nothing but write
into it. A submission during which a worker died is graded again, at its end; the second time it may
have died of a neighbour, so the third attempt has all workers alone.
"""

from __future__ import annotations

import queue
import secrets
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from distributed import Client, Future, KilledWorker

from grader.cluster.demand import Wanted
from grader.cluster.messages import FACTS, WorkerFacts, facts_of
from grader.cluster.task import hold
from grader.errors import UsageError
from grader.language import say

MOST_DEATHS = 3
"""So many workers may die while one submission is graded, before it is given up."""

PATIENCE_SECONDS = 60.0
"""How long to wait for a worker that may grade, or for a scheduler that is out of reach."""

_LOOK_SECONDS = 1.0
_FETCHERS = 4

What = Literal["started", "waits", "works"]


class Returned(NamedTuple):
    """What came back for a submission: whatever a worker sent."""

    name: str
    document: object


class Killed(NamedTuple):
    """A submission at whose grading so many workers died."""

    name: str
    deaths: int


class Failed(NamedTuple):
    """A submission whose task ended in an error of the worker itself."""

    name: str
    error: str


Outcome = Returned | Killed | Failed


class _Sent:
    """One attempt at a submission. `worker` is who has begun it, empty before that."""

    def __init__(self, name: str, future: Future) -> None:
        self.name, self.future, self.worker = name, future, ""


class _Done(NamedTuple):
    """An attempt has ended: `value` is what came back, else `error` says why nothing did."""

    key: str
    value: object = None
    error: BaseException | None = None


class _Event(NamedTuple):
    """A worker, or the scheduler, tells something."""

    message: Any


class Dispatch:
    """Has submissions graded by a cluster's workers.

    `function` is what they run, of a job's bytes and the `archive`'s. `tell` hears which submission
    is at work on which worker. `clock` gives monotonic seconds, `patience` is in them.
    """

    def __init__(
        self,
        client: Client,
        function: Callable[[bytes, bytes], bytes],
        archive: bytes,
        wanted: Wanted,
        tell: Callable[[str, What, str], None] = lambda *_: None,
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._function, self._wanted = client, function, wanted
        self._archive, self._tell = archive, tell
        self._patience, self._clock = patience, clock
        self._topic = f"grader-{secrets.token_hex(8)}"
        self._messages: queue.Queue[_Done | _Event] = queue.Queue()
        self._fetchers = ThreadPoolExecutor(_FETCHERS, thread_name_prefix="fetching")
        self._sent: dict[str, _Sent] = {}
        self._deaths: dict[str, int] = {}
        self._suspects: deque[str] = deque()
        self._course: Future | None = None
        self._number = 0
        self._room = 0
        self._looked = -_LOOK_SECONDS
        self._useful = self._clock()

    def run(
        self, names: Iterable[str], make: Callable[[str], bytes]
    ) -> Generator[Outcome, None, None]:
        """Yield what became of each submission. `make` makes its job, as often as it is sent.

        Closing the iterator takes back what is on its way. Raises UsageError where no worker is
        left, or the scheduler is gone.
        """
        waiting = deque(names)
        try:
            self._connect()
            while waiting or self._suspects or self._sent:
                self._look()
                self._fill(waiting, make)
                for message in self._received():
                    yield from self._heed(message, waiting)
        finally:
            self._take_back()

    def _connect(self) -> None:
        """Hear what workers tell, and give the scheduler the course."""
        for topic in (self._topic, "all"):
            self._client.subscribe_topic(topic, self._on_event)
        self._course = self._client.submit(
            hold,
            self._archive,
            key=f"{self._topic}-course-{self._number}",
            resources=self._wanted.resources(),
        )

    def _on_event(self, event: tuple[float, Any]) -> None:
        self._messages.put(_Event(event[1]))

    def _fill(self, waiting: deque[str], make: Callable[[str], bytes]) -> None:
        while waiting and len(self._sent) < self._room:
            self._send(waiting.popleft(), make)
        if not waiting and not self._sent and self._suspects:
            self._send(self._suspects.popleft(), make)

    def _send(self, name: str, make: Callable[[str], bytes]) -> None:
        self._number += 1
        key = f"{self._topic}-{self._number}"
        future = self._client.submit(
            self._function,
            make(name),
            self._course,
            key=key,
            resources=self._wanted.resources(),
            pure=False,
        )
        self._sent[key] = _Sent(name, future)
        future.add_done_callback(lambda done: self._fetchers.submit(self._fetch, done))

    def _fetch(self, future: Future) -> None:
        """Put into the queue what came of an attempt; in a thread of its own."""
        try:
            self._messages.put(_Done(future.key, future.result()))
        except (Exception, CancelledError) as error:  # noqa: BLE001 - whatever a worker has raised
            self._messages.put(_Done(future.key, error=error))

    def _received(self) -> list[_Done | _Event]:
        """Wait for a message, and return all that are there."""
        found: list[_Done | _Event] = []
        with suppress(queue.Empty):
            found.append(self._messages.get(timeout=_LOOK_SECONDS))
            while True:
                found.append(self._messages.get_nowait())
        return found

    def _heed(self, message: _Done | _Event, waiting: deque[str]) -> Generator[Outcome, None, None]:
        if isinstance(message, _Done):
            yield from self._end(message, waiting)
        elif isinstance(message.message, dict):
            yield from self._hear(message.message, waiting)

    def _end(self, done: _Done, waiting: deque[str]) -> Generator[Outcome, None, None]:
        sent = self._sent.pop(done.key, None)
        if sent is None:  # it was taken back
            return
        if done.error is None:
            self._deaths.pop(sent.name, None)
            yield Returned(sent.name, done.value)
        elif isinstance(done.error, CancelledError):  # the connection was lost, and all with it
            waiting.append(sent.name)
        elif isinstance(done.error, KilledWorker):
            yield from self._bury(sent.name, waiting)
        else:
            yield Failed(sent.name, type(done.error).__name__)

    def _hear(self, event: dict[str, Any], waiting: deque[str]) -> Generator[Outcome, None, None]:
        if event.get("action") == "remove-worker":
            if not event.get("expected"):
                yield from self._mourn(str(event.get("worker")), waiting)
            self._looked = -_LOOK_SECONDS
        elif event.get("action") == "add-worker":
            self._looked = -_LOOK_SECONDS
        sent = self._sent.get(str(event.get("key")))
        what = event.get("what")
        if sent is not None and what in ("started", "waits", "works"):
            sent.worker = str(event.get("worker"))
            self._tell(sent.name, what, sent.worker)

    def _mourn(self, worker: str, waiting: deque[str]) -> Generator[Outcome, None, None]:
        """Take back what a worker had begun that has died."""
        for key, sent in list(self._sent.items()):
            if sent.worker == worker:
                del self._sent[key]
                sent.future.cancel()
                yield from self._bury(sent.name, waiting)

    def _bury(self, name: str, waiting: deque[str]) -> Generator[Outcome, None, None]:
        deaths = self._deaths[name] = self._deaths.get(name, 0) + 1
        if deaths >= MOST_DEATHS:
            yield Killed(name, self._deaths.pop(name))
        elif deaths == MOST_DEATHS - 1:
            self._suspects.append(name)
        else:
            waiting.append(name)

    def _look(self) -> None:
        """Look who is there, once in a while. Raises UsageError when nobody has been for long."""
        now = self._clock()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        self._room = 0
        if self._client.status == "running":
            self._reconnect()
            self._room = sum(threads + 1 for threads in self._useful_threads())
        if self._room:
            self._useful = now
        elif self._client.status == "closed" or now - self._useful > self._patience:
            raise _nobody_left()

    def _reconnect(self) -> None:
        """Give the course to a scheduler that has lost it: another one, or one out of reach."""
        if self._course is None or self._course.cancelled():
            self._number += 1
            self._connect()

    def _useful_threads(self) -> list[int]:
        try:
            workers = workers_of(self._client)
        except (OSError, TimeoutError, RuntimeError):  # the connection was lost just now
            return []
        return [each.threads for each in workers if not self._wanted.lacks("", each.facts)]

    def _take_back(self) -> None:
        """Leave nothing on any worker. What runs there is ended by its watch."""
        futures = [sent.future for sent in self._sent.values()]
        self._sent.clear()
        if self._client.status == "running":
            with suppress(Exception):  # the scheduler may be gone at this moment, and all with it
                self._client.cancel([*futures, *filter(None, (self._course,))])
                for topic in (self._topic, "all"):
                    self._client.unsubscribe_topic(topic)
        self._fetchers.shutdown(wait=False, cancel_futures=True)


class KnownWorker(NamedTuple):
    """A worker as the scheduler knows it. `facts` are None where it says nothing of itself."""

    address: str
    threads: int
    facts: WorkerFacts | None


def workers_of(client: Client) -> list[KnownWorker]:
    """Return who has joined a cluster."""
    found = client.scheduler_info().get("workers", {})
    return [
        KnownWorker(str(address), int(each.get("nthreads", 1)), facts_of(each.get(FACTS)))
        for address, each in found.items()
    ]


def _nobody_left() -> UsageError:
    return UsageError(
        say("The cluster has gone: its scheduler cannot be reached, or no worker is left."),
        say("What was graded is kept: start it again, and the same command goes on from here."),
    )
