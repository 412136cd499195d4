"""How fast this machine is: what processors can do at most, and whether somebody holds one back.

On a virtual machine a processor may share its core with another machine. No counter of ours shows
it, and it does not change all functions alike: one that stores a lot becomes a sixth slower where
one that computes becomes a thirtieth slower, for some seconds. A probe that only stores becomes a
quarter slower, so it tells the two states apart without looking at what is compared.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import numpy as np

from grader.messages import MachineLimits

TOLERANCE = 1.1
"""A probe that takes so many times longer than the machine's pace was held back. Probes of a quiet
core differ by 2 per cent, those of a shared one by 25."""

FEWEST_PROBES = 10
QUICK = 10
"""The pace is this percentile of at least so many probes: the least of many would be a stroke of
luck."""

MOST_HELD_BACK = 1.5
"""A neighbour on the same core makes a probe a quarter slower, and never so much slower as this."""

_ITEMS = 64 * 1024
_FILLS = 40
_LINE = 16


class Probe:
    """A buffer of 256 kB that is filled again and again.

    It begins with a line of the cache: probes of different processes are compared.
    """

    def __init__(self) -> None:
        raw = np.zeros(_ITEMS + _LINE, np.float32)
        start = -raw.ctypes.data // raw.itemsize % _LINE
        self._buffer = raw[start : start + _ITEMS]

    def run(self) -> None:
        """Fill it, for a fifth of a millisecond or so."""
        for _ in range(_FILLS):
            self._buffer.fill(1.0)


def find_pace(probes: Sequence[float], known: float = 0.0) -> float:
    """Return the seconds that a probe takes here; `known` are those of earlier, 0 for none.

    It is 0 while too little is known. What is known is not believed where the machine would have to
    be held back more than ever: then it is another processor, or somebody made it up.
    """
    if len(probes) < FEWEST_PROBES:
        return known
    own = float(np.percentile(probes, QUICK))
    return known if own / MOST_HELD_BACK < known < own else own


def is_held_back(probe: float, pace: float) -> bool:
    """Say whether a probe took longer than this machine needs; never while its pace is unknown."""
    return pace > 0 and probe > TOLERANCE * pace


class KnownPace:
    """The best pace that this process had measured. For use by many threads.

    Nothing that a submission has been near is learned from: one that made up quick probes would
    have all others called held back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._best = 0.0

    @property
    def best(self) -> float:
        """Return it, 0 before the first measurement."""
        return self._best

    def learn(self, probes: Iterable[float]) -> float:
        """Take probes into account, at least FEWEST_PROBES, and return the best pace."""
        with self._lock:
            self._best = find_pace(list(probes), self._best)
            return self._best


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
