"""Rounds: one block of each function, in random order, on the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from grader.messages import Block, BlockGroup, ControlRound, Moment, TimingRound
from grader.timing.blocks import Length, Meter, Subject, draw_factor, take_quiet_block
from grader.timing.pace import find_pace, is_held_back
from grader.timing.stack import PLACES, call_at

PAUSE = 0.01
"""Seconds between two looks at a machine that is held back: such times last for seconds."""

Result = TypeVar("Result")


class Trio(NamedTuple):
    """The functions that are compared at one shape, and the mean number of calls in their blocks.

    `baseline` and `reference` have blocks of the same number of calls.
    """

    baseline: Subject
    submission: Subject
    reference: Subject
    calls: int
    submission_calls: int


class Series:
    """What all rounds of a measurement share: chance, clocks, the end, and the probes so far.

    `end` is a moment of the meter's wall clock, after which nothing is waited for or repeated;
    `pace` is what a probe is known to take here, 0 for unknown.
    """

    def __init__(
        self, generator: np.random.Generator, meter: Meter, end: float, pace: float = 0.0
    ) -> None:
        self.generator = generator
        self.meter = meter
        self.end = end
        self._known = pace
        self._probes: list[float] = []
        self._places: list[int] = []

    @property
    def pace(self) -> float:
        """Return what a probe takes here when nothing holds it back, 0 while that is unknown."""
        return find_pace(self._probes, self._known)

    def take(self, measure: Callable[[], Result]) -> tuple[Result, Moment]:
        """Take one round by `measure`, once the machine is quick enough, at the next place of the
        stack: each of four rounds in turn has another one, in random order."""
        probe = self._await_pace()
        if not self._places:
            self._places = self.generator.permutation(PLACES).tolist()
        place = self._places.pop()
        steal = self.meter.steal()
        result = call_at(place, measure)
        return result, Moment(self.meter.steal() - steal, probe, place)

    def _await_pace(self) -> float:
        """Probe until the machine is not held back, or the end has come; return the last probe."""
        while True:
            probe = self.meter.probe()
            self._probes.append(probe)
            if not is_held_back(probe, self.pace) or self.meter.wall() >= self.end:
                return probe
            self.meter.sleep(PAUSE)


def take_round(trios: Sequence[Trio], series: Series) -> TimingRound:
    """Measure one round, the shapes in random order."""

    def measure() -> tuple[BlockGroup, ...]:
        order = series.generator.permutation(len(trios)).tolist()
        groups = {place: _take_group(trios[place], series) for place in order}
        return tuple(groups[place] for place in range(len(trios)))

    return TimingRound(*series.take(measure))


def take_control_round(one: Subject, other: Subject, calls: int, series: Series) -> ControlRound:
    """Measure a pair of functions that are the same, in random order."""
    pair = ((one, calls), (other, calls))
    (first, second), moment = series.take(lambda: _take_blocks(pair, series))
    return ControlRound(first, second, moment)


def _take_group(trio: Trio, series: Series) -> BlockGroup:
    lengths = (
        (trio.baseline, trio.calls),
        (trio.submission, trio.submission_calls),
        (trio.reference, trio.calls),
    )
    return BlockGroup(*_take_blocks(lengths, series))


def _take_blocks(subjects: Sequence[tuple[Subject, int]], series: Series) -> list[Block]:
    """Take a block of each subject in random order; return them in the order of the subjects."""
    first = int(series.generator.integers(subjects[0][0].ring))
    factor = draw_factor(series.generator)
    blocks = {}
    for place in series.generator.permutation(len(subjects)).tolist():
        subject, mean = subjects[place]
        length = Length(mean, factor)
        blocks[place] = take_quiet_block(
            subject, first, length, series.generator, series.meter, series.end
        )
    return [blocks[place] for place in range(len(subjects))]
