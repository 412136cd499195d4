"""Rounds: one block of each function, in random order, on the same inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from grader.messages import Block, BlockGroup, ControlRound, TimingRound
from grader.timing.blocks import Length, Meter, Subject, draw_factor, take_quiet_block


class Trio(NamedTuple):
    """The functions that are compared at one shape, and the mean number of calls in their blocks.

    `baseline` and `reference` have blocks of the same number of calls.
    """

    baseline: Subject
    submission: Subject
    reference: Subject
    calls: int
    submission_calls: int


def take_round(
    trios: Sequence[Trio], generator: np.random.Generator, meter: Meter, end: float
) -> TimingRound:
    """Measure one round, the shapes in random order. Disturbed blocks are not repeated after `end`,
    a moment of the meter's wall clock."""
    steal = meter.steal()
    groups = {
        place: _take_group(trios[place], generator, meter, end)
        for place in generator.permutation(len(trios)).tolist()
    }
    ordered = tuple(groups[place] for place in range(len(trios)))
    return TimingRound(ordered, meter.steal() - steal)


def take_control_round(
    one: Subject,
    other: Subject,
    calls: int,
    generator: np.random.Generator,
    meter: Meter,
    end: float,
) -> ControlRound:
    """Measure a pair of functions that are the same, in random order."""
    steal = meter.steal()
    first, second = _take_blocks([(one, calls), (other, calls)], generator, meter, end)
    return ControlRound(first, second, meter.steal() - steal)


def _take_group(trio: Trio, generator: np.random.Generator, meter: Meter, end: float) -> BlockGroup:
    lengths = (
        (trio.baseline, trio.calls),
        (trio.submission, trio.submission_calls),
        (trio.reference, trio.calls),
    )
    return BlockGroup(*_take_blocks(lengths, generator, meter, end))


def _take_blocks(
    subjects: Sequence[tuple[Subject, int]],
    generator: np.random.Generator,
    meter: Meter,
    end: float,
) -> list[Block]:
    """Take a block of each subject in random order; return them in the order of the subjects."""
    first = int(generator.integers(subjects[0][0].ring))
    factor = draw_factor(generator)
    blocks = {}
    for place in generator.permutation(len(subjects)).tolist():
        subject, mean = subjects[place]
        length = Length(mean, factor)
        blocks[place] = take_quiet_block(subject, first, length, generator, meter, end)
    return [blocks[place] for place in range(len(subjects))]
