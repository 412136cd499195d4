"""Axes of charts: from values to pixels, and the round numbers that are written beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_STEPS = (1, 2, 5, 10)


class Tick(NamedTuple):
    """A number at an axis, and where it is, in pixels."""

    place: float
    text: str


class Linear(NamedTuple):
    """Values from `low` to `high`, at pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value; beyond the ends it is that of the end."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + max(0.0, min(1.0, share)) * (self.end - self.start), 1)

    def ticks(self, most: int) -> tuple[Tick, ...]:
        """Return at most `most` round numbers."""
        step = _step((self.high - self.low) / most)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        numbers = (each * step for each in range(first, last + 1))
        return tuple(Tick(self.at(number), f"{number:,.{digits}f}") for number in numbers)


class Logarithmic(NamedTuple):
    """Positive values from `low` to `high`, at pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value; beyond the ends it is that of the end."""
        logs = [math.log(each) for each in (self.low, self.high, value)]
        return Linear(logs[0], logs[1], self.start, self.end).at(logs[2])

    def ticks(self, most: int) -> tuple[Tick, ...]:
        """Return powers of ten, with 2 and 5 between them where there are few."""
        for factors in ((1, 2, 5), (1, 3), (1,)):
            numbers = self._numbers(factors)
            if len(numbers) <= most:
                break
        else:
            numbers = numbers[:: math.ceil(len(numbers) / most)]
        return tuple(Tick(self.at(number), f"{number:,.6g}") for number in numbers)

    def _numbers(self, factors: Sequence[int]) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        numbers = (factor * 10.0**power for power in range(first, last + 1) for factor in factors)
        return [number for number in numbers if self.low <= number <= self.high]


def around(values: Sequence[float], margin: float) -> tuple[float, float]:
    """Return a range that holds values, and on both sides a share of it more."""
    low, high = min(values), max(values)
    more = margin * (high - low) or margin * abs(high) or margin
    return low - more, high + more


def _step(least: float) -> float:
    """Return the smallest round step that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in _STEPS if step * power >= least * (1 - 1e-9))
