"""What a worker has in hand, and how much more it may be sent.

It has as many submissions as it grades at a time, and some more that wait there, so that it never
waits for the network: one, or as many as it grades in a moment. Those are few enough that little is
lost with a worker that dies, and that no other worker is idle for long.
"""

from collections import deque

from distributed import Future

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
