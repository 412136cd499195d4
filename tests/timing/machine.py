"""A machine on which time passes only while a function runs, and rounds of a noisy machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from grader.messages import (
    Block,
    BlockGroup,
    ControlRound,
    Moment,
    Slots,
    TimingRound,
    TimingRules,
    pack_array,
)
from grader.timing.rounds import PLACES

RING = 4


class Disturbance(NamedTuple):
    """What comes in between while a block runs: switches, seconds of waiting, ticks of steal."""

    switches: int = 0
    waiting: float = 0.0
    steal: int = 0


QUIET = Disturbance()

PACE = 0.0002
"""Seconds of a probe that nothing holds back."""


class Event(NamedTuple):
    """Something that was asked of a function: "prepare", "run" or "finish"."""

    what: str
    name: str
    place: int
    calls: int = 0


class Machine:
    """A meter of its own time. `disturbances` befall the blocks in turn, and then it is quiet."""

    def __init__(
        self, disturbances: Iterable[Disturbance] = (), probes: Iterable[float] = ()
    ) -> None:
        self.events: list[Event] = []
        self.slept: list[float] = []
        self._probes = iter(probes)
        self._now = self._processor = 0.0
        self._switches = self._steal = 0
        self._disturbances = iter(disturbances)

    def wall(self) -> float:
        return self._now

    def processor(self) -> float:
        return self._processor

    def switches(self) -> int:
        return self._switches

    def steal(self) -> int:
        return self._steal

    def probe(self) -> float:
        seconds = next(self._probes, PACE)
        self.work(seconds)
        return seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._now += seconds

    def work(self, seconds: float) -> None:
        self._now += seconds
        self._processor += seconds

    def disturb(self) -> None:
        disturbance = next(self._disturbances, QUIET)
        self._switches += disturbance.switches
        self._steal += disturbance.steal
        self._now += disturbance.waiting

    def blocks(self) -> list[Event]:
        """Return what ran, in order."""
        return [each for each in self.events if each.what == "run"]


class Function:
    """A function that takes `seconds` for a call on `machine`."""

    def __init__(self, machine: Machine, name: str, seconds: float, ring: int = RING) -> None:
        self._machine, self._name, self._seconds = machine, name, seconds
        self.ring = ring
        self._made = 0

    def prepare(self, first: int) -> None:
        """Take longer than any block, which must not count."""
        self._machine.events.append(Event("prepare", self._name, first))
        self._machine.work(100.0 * self._seconds)

    def run_calls(self, first: int, calls: int) -> None:
        self._machine.events.append(Event("run", self._name, first, calls))
        self._machine.work(calls * self._seconds)
        self._machine.disturb()
        self._made = calls

    def made(self) -> int:
        return self._made

    def finish(self, last: int) -> None:
        self._machine.events.append(Event("finish", self._name, last))


CALLS = 7


def block(seconds: float = 1.0, share: float = 1.0, switches: int = 0) -> Block:
    return Block(seconds, share, switches, CALLS)


NO_SLOTS = Slots(*(pack_array(np.zeros(0, dtype)) for dtype in ("int32", "int32", "float32")))


def slots_of(outputs: np.ndarray, inputs: Sequence[int], place: int = 0) -> Slots:
    """Slots of calls that left these outputs: one item of each, the same of all."""
    return Slots(
        pack_array(np.array(inputs, np.int32)),
        pack_array(np.full(len(inputs), place, np.int32)),
        pack_array(outputs.reshape(len(inputs), -1)[:, place].astype(np.float32)),
    )


def moment(steal: int = 0, probe: float = PACE, place: int = 0) -> Moment:
    return Moment(steal, probe, place)


def single_round(
    baseline: float = 4.0, submission: float = 2.0, reference: float = 1.0, **changes: float
) -> TimingRound:
    """A round at one shape, by the seconds of its blocks."""
    group = BlockGroup(block(baseline), block(submission), block(reference))
    return TimingRound((group,), moment(**changes))  # type: ignore[arg-type]


def pair(one: Block | None = None, other: Block | None = None, **changes: float) -> ControlRound:
    """A control round, by its blocks."""
    return ControlRound(one or block(), other or block(), moment(**changes))  # type: ignore[arg-type]


def in_turn(rounds: Iterable[TimingRound]) -> tuple[TimingRound, ...]:
    """Return rounds with the stack at each of its places in turn."""
    return tuple(
        msgspec.structs.replace(
            each, moment=msgspec.structs.replace(each.moment, place=number % PLACES)
        )
        for number, each in enumerate(rounds)
    )


def rules(**changes: float) -> TimingRules:
    """Rules by which rounds are taken until an interval of 0.02, from 20 up to 200 of them."""
    fields = {
        "block_seconds": 0.003,
        "budget_seconds": 10.0,
        "resolution": 0.02,
        "full": (2.0, 2.0),
        "pace": 0.0,
        "minimum_rounds": 20,
        "maximum_rounds": 200,
        "control_rounds": 20,
    }
    return TimingRules(**{**fields, **changes})  # type: ignore[arg-type]


class Noise:
    """Rounds of a machine that speeds up and slows down, and that is interrupted now and then.

    All blocks of a round share the machine's speed, and where the stack is makes functions faster
    or slower; beside that each block varies by `spread`, and one in twenty takes longer still by up
    to ten times as much. The reference is four times as fast as the baseline; the submission has
    `share` of the logarithm of that.
    """

    REFERENCE = float(np.log(4.0))

    def __init__(self, seed: int, spread: float = 0.01) -> None:
        self.generator = np.random.default_rng(seed)
        self._spread = spread

    def rounds(self, count: int, share: float, shapes: int = 1) -> tuple[TimingRound, ...]:
        """Draw rounds."""
        speed = 0.05 * self.generator.standard_normal((count, 1, 1))
        gains = self.REFERENCE * np.array([0.0, share, 1.0])
        seconds = np.exp(speed + self._draw((count, shapes, 3)) - gains + self._of_places(count))
        return in_turn(
            TimingRound(tuple(BlockGroup(*map(block, group)) for group in each), moment())
            for each in seconds.tolist()
        )

    def _of_places(self, count: int) -> np.ndarray:
        """Return what each place adds to each function, nothing on average: (rounds, 1, 3)."""
        added = np.array(
            [[0.04, 0.0, -0.05], [0.0, 0.02, 0.05], [-0.04, 0.0, 0.0], [0.0, -0.02, 0]]
        )
        return added[np.arange(count) % PLACES, None, :]

    def control(self, count: int, bias: float = 0.0) -> tuple[ControlRound, ...]:
        """Draw a control whose first function takes longer by the logarithm `bias`."""
        seconds = np.exp(self._draw((count, 2)) + np.array([bias, 0.0]))
        return tuple(
            ControlRound(block(one), block(other), moment()) for one, other in seconds.tolist()
        )

    def _draw(self, shape: tuple[int, ...]) -> np.ndarray:
        usual = self._spread * self.generator.standard_normal(shape)
        longer = self.generator.exponential(10 * self._spread, shape)
        return usual + (self.generator.random(shape) < 0.05) * longer
