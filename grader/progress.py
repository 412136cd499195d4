"""How long work tells that it is going on. The pipeline calls, a command line draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from grader.language import NOTHING, Text, say

FEWEST = 2
"""Things that must be done before it is said how long the others will take."""


class Progress(Protocol):
    """Receives what is being done. Both methods return at once."""

    def stage(self, name: Text, *, waits: bool = False) -> None:
        """Begin a stage; `name` is a short phrase for a person ("running the notebook").

        `waits` says that nothing is done in it but to wait for somebody else.
        """
        ...

    def step(self, done: int, total: int, label: Text = NOTHING) -> None:
        """Say that `done` of `total` steps of the stage are finished and `label` is under way."""
        ...


class Silent:
    """A Progress that shows nothing."""

    def stage(self, name: Text, *, waits: bool = False) -> None:
        """Ignore the stage."""

    def step(self, done: int, total: int, label: Text = NOTHING) -> None:
        """Ignore the step."""


class Pace:
    """Tells that work goes on, once a second, however many small steps it has."""

    seconds = 1.0

    def __init__(self, tell: Callable[[], None], clock: Callable[[], float] = monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._last = clock()

    def step(self) -> None:
        """Tell, unless that was done less than a second ago."""
        now = self._clock()
        if now >= self._last + self.seconds:
            self._last = now
            self._tell()


class BatchProgress(Protocol):
    """Receives which submissions of a batch are being graded. May be called from any thread."""

    def started(self, name: str) -> None:
        """Say that the submission of this name is being graded from now on."""
        ...

    def stage(self, name: str, stage: Text, *, waits: bool = False) -> None:
        """Say what is being done with it, as a Progress is told."""
        ...

    def finished(self, name: str, outcome: Text, *, graded: bool = True) -> None:
        """Say that it is done, and in a line what came out; not `graded` is what could not be."""
        ...

    def put_back(self, name: str, outcome: Text) -> None:
        """Say that it will be graded once more at the end, and in a line why."""
        ...


class SilentBatch:
    """A BatchProgress that says nothing."""

    def started(self, name: str) -> None:
        """Ignore the beginning."""

    def stage(self, name: str, stage: Text, *, waits: bool = False) -> None:
        """Ignore the stage."""

    def finished(self, name: str, outcome: Text, *, graded: bool = True) -> None:
        """Ignore the end."""

    def put_back(self, name: str, outcome: Text) -> None:
        """Ignore the delay."""


class TimeLeft:
    """How long the rest of many like things will take, by those that are done.

    `clock` gives monotonic seconds, from now on; `done` were done before.
    """

    def __init__(self, clock: Callable[[], float], done: int = 0) -> None:
        self._clock = clock
        self._began, self._before = clock(), done

    def told(self, done: int, total: int) -> Text:
        """Return how many of how many are done, and how long the others will take if known."""
        left = self.left(done, total)
        if not left:
            return say("done-total", done=done, total=total)
        return say("done-total-about-left", done=done, total=total, left=left)

    def left(self, done: int, total: int) -> Text:
        """Return about how long the others will take, such as "12 min"; nothing if unknown."""
        return time_left(self._clock() - self._began, done - self._before, total - done)


def time_left(seconds: float, finished: int, rest: int) -> Text:
    """Return about how long the rest will take where so many took `seconds`; nothing if unknown."""
    if finished < FEWEST or rest <= 0:
        return NOTHING
    return duration(seconds / finished * rest)


def duration(seconds: float) -> Text:
    """Return a rough duration, such as "40 s", "12 min" or "2 h 5 min"."""
    if seconds < 60:
        return say("s", seconds=math.ceil(seconds / 10) * 10)
    hours, minutes = divmod(math.ceil(seconds / 60), 60)
    if hours:
        return say("h-min", hours=hours, minutes=minutes)
    return say("min", minutes=minutes)
