"""The client's end of a cluster: who grades what now, and what becomes of it when somebody dies.

Only as many submissions are on their way as the workers can grade, and some more that wait there:
so the client's memory does not grow with the class. They travel in rows: those that a worker can be
sent at once are one message, and what has come back meanwhile is fetched together. All the same
each is a separate task, which tells, fails and is taken back alone.

Each is sent to a worker by name. Left to itself, Dask gave a class to the one worker that had the
course already, tried a submission on a fourth worker after three had died of it, and blamed those
that only waited beside it.

All decisions are made in one thread, which reads one queue: Dask's threads do nothing but write
into it. A submission during which a worker died is graded again, at its end; the second time it may
have died of a neighbour, so the third attempt has all workers alone.
"""

import queue
import secrets
import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal, NamedTuple, Protocol

from distributed import Client, Future, KilledWorker

from grader.cluster.current import hold
from grader.cluster.jobs import FACTS, PATIENCE_SECONDS, WorkerFacts, facts_of
from grader.errors import UsageError
from grader.language import Text, say

LONGEST_ROW = 64
"""So many submissions may wait on a worker that grades them quickly, sent in one message."""

ROW_BYTES = 2 * 2**20
"""A row has no further submission when it has grown to this."""

AHEAD_SECONDS = 0.25
"""Work for so long may wait: some round trips to the scheduler, however slow it is."""

_REMEMBERED = 8
"""The slowest of so many gradings says how quick a worker is: what comes next may be slow, too."""


class Load:
    """What a worker has: `course` is what it was sent of it, `keys` the submissions in its hand, of
    which those in `aside` wait for their turn to time. `now` are monotonic seconds.
    """

    def __init__(self, threads: int, course: Future) -> None:
        self.threads, self.course = threads, course
        self.keys: set[str] = set()
        self.aside: set[str] = set()
        self.is_missed = False
        self._since = 0.0
        self._recent: deque[float] = deque(maxlen=_REMEMBERED)

    @property
    def room(self) -> int:
        """How many more it may be sent, below zero where it has too many; zero as long as that is
        not worth a message.
        """
        waiting = self._may_wait()
        aside = min(len(self.aside), self.threads)  # they have left their places to others
        room = self.threads + aside + waiting - len(self.keys)
        return room if room < 0 or 2 * room >= waiting else 0

    def take(self, key: str, now: float) -> None:
        """It was sent a submission."""
        if not self.keys:
            self._since = now
        self.keys.add(key)

    def end(self, key: str, now: float) -> None:
        """It has graded a submission: how long that took says how much may wait there."""
        self._recent.append(now - self._since)
        self._since = now
        self.forget(key)

    def forget(self, key: str) -> None:
        """It no longer has a submission in hand."""
        self.keys.discard(key)
        self.aside.discard(key)

    def is_slow(self, now: float) -> bool:
        """Say whether it has too many, as those that it grades now are slower than the last."""
        if self.keys and now - self._since > AHEAD_SECONDS:
            self._recent.append(now - self._since)
        return self.room < 0

    def _may_wait(self) -> int:
        slowest = max(self._recent, default=AHEAD_SECONDS)
        return min(LONGEST_ROW, max(1, int(AHEAD_SECONDS / max(slowest, 1e-6))))


MOST_DEATHS = 3
"""So many workers may die while one submission is graded, before it is given up."""

_LOOK_SECONDS = 1.0
_STUCK_SECONDS = 20.0  # longer than a client of Dask tries to connect again, before it closes
_FETCHERS = 4

What = Literal["started", "waits", "works"]


class WorkerChoice(Protocol):
    """Which workers may grade, as `grader.cluster.jobs.WantedWorker` has it."""

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
    is at work on which worker. `again` makes another client where Dask cannot connect this one
    again. `clock` gives monotonic seconds, `patience` is in them.
    """

    def __init__(
        self,
        client: Client,
        function: Callable[[bytes, bytes], bytes],
        archive: bytes,
        choice: WorkerChoice,
        tell: Callable[[str, What, str], None] = lambda *_: None,
        patience: float = PATIENCE_SECONDS,
        again: Callable[[], Client] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._function, self._choice = client, function, choice
        self._archive, self._tell = archive, tell
        self._patience, self._again, self._clock = patience, again, clock
        self._topic = f"grader-{secrets.token_hex(8)}"
        self._messages: queue.Queue[_Done | _Event] = queue.Queue()
        self._ended: deque[Future] = deque()
        self._fetchers = ThreadPoolExecutor(_FETCHERS, thread_name_prefix="fetching")
        self._sent: dict[str, _Sent] = {}
        self._deaths: dict[str, int] = {}
        self._suspects: deque[str] = deque()
        self._workers: dict[str, Load] = {}
        self._number = 0
        self._is_heard = False
        self._looked = -_LOOK_SECONDS
        self._useful = self._connected = self._clock()

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
                self._look(waiting)
                self._fill(waiting, make)
                for message in self._received():
                    yield from self._heed(message, waiting)
        finally:
            self._take_back()

    def _on_event(self, event: tuple[float, Any]) -> None:
        self._messages.put(_Event(event[1]))

    def _fill(self, waiting: deque[str], make: Callable[[str], bytes]) -> None:
        rows: defaultdict[str, list[tuple[str, bytes]]] = defaultdict(list)
        free = {address: each.room for address, each in self._workers.items() if each.room > 0}
        while waiting and free:
            worker = max(free, key=lambda address: free[address])
            name = waiting.popleft()
            rows[worker].append((name, make(name)))
            free[worker] -= 1
            if not free[worker] or sum(len(job) for _, job in rows[worker]) > ROW_BYTES:
                del free[worker]
        if not waiting and not rows and not self._sent and self._suspects and free:
            name = self._suspects.popleft()
            rows[next(iter(free))].append((name, make(name)))
        for worker, row in rows.items():
            self._send(worker, row)

    def _send(self, worker: str, row: list[tuple[str, bytes]]) -> None:
        """Send submissions to a worker in one message."""
        known = self._workers[worker]
        keys = [self._new_key() for _ in row]
        names, jobs = zip(*row, strict=True)
        courses = [known.course] * len(keys)
        futures = self._client.map(self._function, jobs, courses, key=keys, workers=[worker])
        for key, name, future in zip(keys, names, futures, strict=True):
            self._sent[key] = _Sent(name, worker, future)
            known.take(key, self._clock())
            future.add_done_callback(self._on_done)

    def _new_key(self) -> str:
        self._number += 1
        return f"{self._topic}-{self._number}"

    def _on_done(self, future: Future) -> None:
        self._ended.append(future)
        with suppress(RuntimeError):  # nobody fetches any more: it was taken back
            self._fetchers.submit(self._fetch)

    def _fetch(self) -> None:
        """Put into the queue what came of attempts, of all that have ended; in its own thread."""
        came: dict[str, Future] = {}
        with suppress(IndexError):
            while len(came) < LONGEST_ROW:
                future = self._ended.popleft()
                came[future.key] = future
        try:
            found = self._client.gather(came, errors="skip") if came else {}
        except (Exception, CancelledError) as error:  # noqa: BLE001 - of the connection, mostly
            found = dict.fromkeys(came, error)
        for key, future in came.items():
            self._messages.put(_done(key, future, found[key]))

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
        if sent.worker in self._workers:
            self._workers[sent.worker].end(done.key, self._clock())
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
            self._note_aside(str(event["key"]), sent.worker, is_aside=what == "waits")
            self._tell(sent.name, what, worker)

    def _note_aside(self, key: str, worker: str, *, is_aside: bool) -> None:
        if worker in self._workers:
            aside = self._workers[worker].aside
            aside.add(key) if is_aside else aside.discard(key)

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

    def _look(self, waiting: deque[str]) -> None:
        """Look who is there, once in a while. Raises UsageError when nobody has been for long."""
        now = self._clock()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        if self._client.status == "running":
            self._connected = now
            self._update()
            self._lighten(waiting, now)
        else:
            self._begin_anew()
            self._connect_again(waiting, now)
        if self._workers:
            self._useful = now
        elif self._client.status == "closed" or now - self._useful > self._patience:
            raise _nobody_left()

    def _lighten(self, waiting: deque[str], now: float) -> None:
        """Take back what waits on workers that have become slow: others may be idle."""
        slow = {address for address, each in self._workers.items() if each.is_slow(now)}
        back = []
        for key, sent in reversed(self._sent.items() if slow else ()):
            if sent.worker in slow and not sent.is_begun and self._workers[sent.worker].room < 0:
                self._workers[sent.worker].forget(key)
                back.append(key)
        waiting.extendleft(self._sent[key].name for key in back)
        self._client.cancel([self._sent.pop(key).future for key in back])

    def _begin_anew(self) -> None:
        """Send nothing before the next look: the scheduler has forgotten this client, and all that
        it was sent.
        """
        self._workers.clear()
        self._is_heard = False

    def _connect_again(self, waiting: deque[str], now: float) -> None:
        """Take another client where this one is "connecting" for ever: Dask's fails when the first
        message to one that comes back says two things. What it was given since is sent anew.
        """
        is_stuck = self._client.status == "connecting" and now - self._connected > _STUCK_SECONDS
        if self._again is not None and is_stuck:
            with suppress(UsageError):  # nobody answers: until the patience is at its end
                self._client = self._again()
                waiting.extend(sent.name for sent in self._sent.values())
                self._sent.clear()

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
                self._workers[address] = Load(each.threads, self._course_for(address))
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


def _done(key: str, future: Future, value: object) -> _Done:
    """Return what came of an attempt; `value` was fetched for it, None or an error if in vain."""
    if future.status == "finished" and not isinstance(value, BaseException):
        return _Done(key, value)
    if future.status == "error":
        return _Done(key, error=future.exception())
    return _Done(key, error=CancelledError(), is_lost=True)


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
        say("cluster-gone-scheduler-cannot-reached"),
        say("finished-reports-kept-start-again-and-same"),
    )
