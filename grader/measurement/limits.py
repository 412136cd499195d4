"""What processors can do at most, as far as the measurements of this process know it.

A room of its own: whoever prepares a batch holds it, and must not wait for PyTorch.
"""

import threading

from grader.messages.timing import MachineLimits

ENOUGH = 2
"""Measurements of what some processors can do at most, after which it is believed."""


class KnownLimits:
    """The most that processors did in the measurements of this process. For use by many threads.

    A tenth of a grading's measurement went into finding it once more: five functions are compiled
    for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[int, ...], tuple[int, MachineLimits]] = {}

    def find(self, cpus: tuple[int, ...]) -> MachineLimits | None:
        """Return the most that is known of some processors, None while too little is."""
        with self._lock:
            times, limits = self._found.get(cpus, (0, None))
        return limits if times >= ENOUGH else None

    def learn(self, cpus: tuple[int, ...], limits: MachineLimits) -> MachineLimits:
        """Take a measurement into account and return the most that is known."""
        with self._lock:
            times, before = self._found.get(cpus, (0, limits))
            most = MachineLimits(max(before.flops, limits.flops), max(before.bytes, limits.bytes))
            self._found[cpus] = (times + 1, most)
            return most
