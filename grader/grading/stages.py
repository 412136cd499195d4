"""Where the time of a grading goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from grader.report import Duration


class Stages:
    """Wall seconds by stage, in the order in which they were run."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._start = clock()
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Measure the body of a with statement; what was measured of the stage before is added."""
        start = self._clock()
        try:
            yield
        finally:
            earlier = self.seconds.get(name, 0.0)
            self.seconds[name] = round(earlier + self._clock() - start, 3)

    def duration(self) -> Duration:
        """Return the time since the start, and the stages."""
        return Duration(round(self._clock() - self._start, 3), dict(self.seconds))
