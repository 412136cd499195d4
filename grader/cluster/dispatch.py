"""The client's end of a cluster: who grades what now, and what becomes of it when somebody dies.

Only as many submissions are on their way as the workers can grade, and one more for each that waits
there: so the client's memory does not grow with the class. Each is sent to a worker by name. Left
to itself, Dask gave a class to the one worker that had the course already, tried a submission on a
fourth worker after three had died of it, and blamed those that only waited beside it.

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
from typing import Any, Literal, NamedTuple, Protocol

from distributed import Client, Future, KilledWorker

from grader.cluster.current import hold
from grader.cluster.messages import FACTS, WorkerFacts, facts_of
from grader.errors import UsageError
from grader.language import Text, say

MOST_DEATHS = 3
"""So many workers may die while one submission is graded, before it is given up."""

PATIENCE_SECONDS = 60.0
"""How long to wait for a worker that may grade, or for a scheduler that is out of reach."""

_LOOK_SECONDS = 1.0
_FETCHERS = 4

What = Literal["started", "waits", "works"]


class Choice(Protocol):
    """Which workers may grade, as `grader.cluster.choice.Wanted` has it."""

    def lacks(self, worker: str, facts: WorkerFacts | None) -> Text:
        """Say why a worker may not; empty if it may."""


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
    """One attempt at a submission: who was to make it, and whether it was begun."""

    def __init__(self, name: str, worker: str, future: Future) -> None:
        self.name, self.worker, self.future = name, worker, future
        self.is_begun = False


class _Worker:
    """One that may grade: `course` is what it was sent of it, `keys` what it has in hand."""

    def __init__(self, threads: int, course: Future) -> None:
        self.threads, self.course = threads, course
        self.keys: set[str] = set()
        self.is_missed = False

    @property
    def room(self) -> int:
        """How many more it may be sent: one waits there, so that none waits for the network."""
        return self.threads + 1 - len(self.keys)


class _Done(NamedTuple):
    """An attempt has ended: `value` is what came back, else `error` says why nothing did. It is
    lost where that was not on the worker: a connection broke, and all that was on its way with it.
    """

    key: str
    value: object = None
    error: BaseException | None = None
    is_lost: bool = False


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
        choice: Choice,
        tell: Callable[[str, What, str], None] = lambda *_: None,
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._function, self._choice = client, function, choice
        self._archive, self._tell = archive, tell
        self._patience, self._clock = patience, clock
        self._topic = f"grader-{secrets.token_hex(8)}"
        self._messages: queue.Queue[_Done | _Event] = queue.Queue()
        self._fetchers = ThreadPoolExecutor(_FETCHERS, thread_name_prefix="fetching")
        self._sent: dict[str, _Sent] = {}
        self._deaths: dict[str, int] = {}
        self._suspects: deque[str] = deque()
        self._workers: dict[str, _Worker] = {}
        self._number = 0
        self._is_heard = False
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
            while waiting or self._suspects or self._sent:
                self._look()
                self._fill(waiting, make)
                for message in self._received():
                    yield from self._heed(message, waiting)
        finally:
            self._take_back()

    def _on_event(self, event: tuple[float, Any]) -> None:
        self._messages.put(_Event(event[1]))

    def _fill(self, waiting: deque[str], make: Callable[[str], bytes]) -> None:
        while waiting and (worker := self._freest()) is not None:
            self._send(waiting.popleft(), worker, make)
        if not waiting and not self._sent and self._suspects:
            worker = self._freest()
            if worker is not None:
                self._send(self._suspects.popleft(), worker, make)

    def _freest(self) -> str | None:
        """Return the worker that can be sent the most; None where all have enough."""
        free = {address: each.room for address, each in self._workers.items() if each.room > 0}
        return max(free, key=lambda address: free[address], default=None)

    def _send(self, name: str, worker: str, make: Callable[[str], bytes]) -> None:
        key = self._new_key()
        course = self._workers[worker].course
        job = make(name)
        future = self._client.submit(self._function, job, course, key=key, workers=[worker])
        self._sent[key] = _Sent(name, worker, future)
        self._workers[worker].keys.add(key)
        future.add_done_callback(self._on_done)

    def _new_key(self) -> str:
        self._number += 1
        return f"{self._topic}-{self._number}"

    def _on_done(self, future: Future) -> None:
        with suppress(RuntimeError):  # nobody fetches any more: it was taken back
            self._fetchers.submit(self._fetch, future)

    def _fetch(self, future: Future) -> None:
        """Put into the queue what came of an attempt; in a thread of its own."""
        try:
            self._messages.put(_Done(future.key, future.result()))
        except (Exception, CancelledError) as error:  # noqa: BLE001 - whatever a worker has raised
            is_lost = future.status != "error"
            self._messages.put(_Done(future.key, error=error, is_lost=is_lost))

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
        sent = self._forget(done.key)
        if sent is None:  # it was taken back
            return
        if done.error is None:
            self._deaths.pop(sent.name, None)
            yield Returned(sent.name, done.value)
        elif done.is_lost:
            waiting.append(sent.name)
            self._begin_anew()
        elif isinstance(done.error, KilledWorker):
            yield from self._bury(sent.name, waiting)
        else:
            yield Failed(sent.name, type(done.error).__name__)

    def _forget(self, key: str) -> _Sent | None:
        sent = self._sent.pop(key, None)
        if sent is not None and sent.worker in self._workers:
            self._workers[sent.worker].keys.discard(key)
        return sent

    def _hear(self, event: dict[str, Any], waiting: deque[str]) -> Generator[Outcome, None, None]:
        action, worker = event.get("action"), str(event.get("worker"))
        if action == "remove-worker":
            yield from self._part(worker, waiting, has_died=not event.get("expected"))
        if action in ("remove-worker", "add-worker"):
            self._looked = -_LOOK_SECONDS
        sent = self._sent.get(str(event.get("key")))
        what = event.get("what")
        if sent is not None and what in ("started", "waits", "works"):
            sent.is_begun = True
            self._tell(sent.name, what, worker)

    def _part(
        self, worker: str, waiting: deque[str], *, has_died: bool
    ) -> Generator[Outcome, None, None]:
        """Take back what a worker had in hand that has gone; what it had begun may be why."""
        self._workers.pop(worker, None)
        for key, sent in list(self._sent.items()):
            if sent.worker == worker:
                del self._sent[key]
                sent.future.cancel()
                if has_died and sent.is_begun:
                    yield from self._bury(sent.name, waiting)
                else:
                    waiting.appendleft(sent.name)

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
        if self._client.status == "running":
            self._update()
        else:
            self._begin_anew()
        if self._workers:
            self._useful = now
        elif self._client.status == "closed" or now - self._useful > self._patience:
            raise _nobody_left()

    def _begin_anew(self) -> None:
        """Send nothing before the next look: the scheduler has forgotten this client, and all that
        it was sent.
        """
        self._workers.clear()
        self._is_heard = False

    def _update(self) -> None:
        """Take in workers that have come, and part with those whose end nobody has told of."""
        if not self._is_heard:
            for topic in (self._topic, "all"):
                self._client.subscribe_topic(topic, self._on_event)
            self._is_heard = True
        try:
            found = {each.address: each for each in workers_of(self._client)}
        except (OSError, TimeoutError, RuntimeError):  # the connection was lost just now
            return
        for address, each in found.items():
            known = self._workers.get(address)
            if known is not None and not known.course.cancelled():
                known.threads, known.is_missed = each.threads, False
            elif not self._choice.lacks(address, each.facts):
                self._workers[address] = _Worker(each.threads, self._course_for(address))
        for address in self._workers.keys() - found.keys():
            if self._workers[address].is_missed:
                self._messages.put(_Event({"action": "remove-worker", "worker": address}))
            self._workers[address].is_missed = True

    def _course_for(self, worker: str) -> Future:
        """Send the course to a worker, once."""
        return self._client.submit(hold, self._archive, key=self._new_key(), workers=[worker])

    def _take_back(self) -> None:
        """Leave nothing on any worker. What runs there is ended by its watch."""
        futures = [sent.future for sent in self._sent.values()]
        futures += [each.course for each in self._workers.values()]
        self._sent.clear()
        self._workers.clear()
        if self._client.status == "running":
            with suppress(Exception):  # the scheduler may be gone at this moment, and all with it
                self._client.cancel(futures)
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
