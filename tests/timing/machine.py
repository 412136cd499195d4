"""A bench on which time passes only while a function runs, and slices of a noisy machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from grader.messages.frames import pack_array
from grader.messages.timing import Slice, Slots, TimingRules
from grader.timing.estimate import TimedSlice
from grader.timing.slices import FUNCTIONS, WALL, Plan
from grader.timing.stack import PLACES


class Event(NamedTuple):
    """A block that was asked for."""

    function: int
    block: int
    warm: int
    calls: int
    clock: int = WALL


class Bench:
    """Four functions of which a call takes some `seconds`; the first of some calls takes longer."""

    def __init__(self, *seconds: float) -> None:
        self._seconds = seconds if len(seconds) == FUNCTIONS else seconds * FUNCTIONS
        self._blocks: dict[int, float] = {}
        self.events: list[Event] = []
        self.kept: list[Event] = []
        self.begun: list[tuple[int, int]] = []

    def begin(self, turn: int, place: int) -> None:
        self.begun.append((turn, place))

    def run(self, function: int, block: int, plan: Plan) -> None:
        self.events.append(Event(function, block, *plan))
        cold = 0.0 if plan.warm else 10 * self._seconds[function]
        self._blocks[block] = cold + plan.calls * self._seconds[function]

    def keep(self) -> None:
        self.kept.append(self.events[-1])

    def seconds(self, blocks: int) -> np.ndarray:
        return np.array([self._blocks[block] for block in range(blocks)])

    def finish(self) -> None:
        """Nothing is left."""


NO_SLOTS = Slots(*(pack_array(np.zeros(0, dtype)) for dtype in ("int32", "int32", "float32")))


def slots_of(outputs: np.ndarray, inputs: Sequence[int], place: int = 0) -> Slots:
    """Slots of calls that left these outputs: one item of each, the same of all."""
    return Slots(
        pack_array(np.array(inputs, np.int32)),
        pack_array(np.full(len(inputs), place, np.int32)),
        pack_array(outputs.reshape(len(inputs), -1)[:, place].astype(np.float32)),
    )


def rules(**changes: float) -> TimingRules:
    """Rules by which slices are taken until an interval of 0.02, for 1.5 s at most."""
    fields = {
        "block_seconds": 4e-5,
        "budget_seconds": 1.5,
        "resolution": 0.02,
        "full": (2.0, 2.0),
    }
    return TimingRules(**{**fields, **changes})  # type: ignore[arg-type]


FREE = 3.97
"""Units of a core with four that is free."""


def free(rounds: int, units: float = FREE) -> np.ndarray:
    """Return that so many units were free beside the blocks of all functions."""
    return np.full((FUNCTIONS, rounds), units)


class Core:
    """A core that is looked at, and has all of its four units."""

    def __init__(self) -> None:
        self.looks: list[int] = []

    def look(self, number: int) -> None:
        self.looks.append(number)

    def units(self, looks: int) -> np.ndarray:
        return np.full(looks, FREE)


def packed(slices: Sequence[TimedSlice]) -> tuple[Slice, ...]:
    """The same as a runner sends them."""
    return tuple(
        Slice(each.place, tuple(map(pack_array, each.seconds)), tuple(map(pack_array, each.units)))
        for each in slices
    )


def steady(
    baseline: float = 4.0,
    submission: float = 2.0,
    reference: float = 1.0,
    control: float | None = None,
    shapes: int = 1,
    count: int = 16,
) -> list[TimedSlice]:
    """Return slices of a machine without noise, by the seconds of a call."""
    times = (baseline, baseline if control is None else control, submission, reference)
    return [
        TimedSlice(
            number % PLACES,
            tuple(np.tile(np.array([times]).T, (1, 10)) for _ in range(shapes)),
            (free(10),) * shapes,
        )
        for number in range(count)
    ]


class Noise:
    """Slices of a machine where other programs take processors and share cores.

    A call takes longer by a few per cent each time, one block in three is interrupted, and in three
    slices of four something else shares the core: then the reference, which uses all of it, takes a
    fifth longer, and the others a twentieth. Where the stack is makes functions faster or slower.
    The reference is four times as fast as the baseline; the submission has `share` of the logarithm
    of that.
    """

    REFERENCE = float(np.log(4.0))

    def __init__(self, seed: int, spread: float = 0.02) -> None:
        self._generator = np.random.default_rng(seed)
        self._spread = spread

    def slices(self, count: int, share: float, rounds: int = 25) -> list[TimedSlice]:
        """Draw slices."""
        gains = self.REFERENCE * np.array([0.0, 0.0, share, 1.0])[:, np.newaxis]
        slices = []
        for number in range(count):
            is_shared = bool(self._generator.random() < 0.75)
            seconds = np.exp(self._logs(number, rounds, is_shared=is_shared) - gains)
            units = self._generator.uniform(2.1, 3.6, seconds.shape) if is_shared else free(rounds)
            slices.append(TimedSlice(number % PLACES, (seconds,), (units,)))
        return slices

    def _logs(self, number: int, rounds: int, *, is_shared: bool) -> np.ndarray:
        shape = (FUNCTIONS, rounds)
        usual = np.abs(self._spread * self._generator.standard_normal(shape))
        interrupted = self._generator.random(shape) < 1 / 3
        shared = np.array([0.05, 0.05, 0.05, 0.2])[:, np.newaxis] * is_shared
        longer = interrupted * self._generator.exponential(10.0, shape)
        place = 0.02 * np.array([[1, 1, -1, 0], [0, 0, 1, -1], [-1, -1, 0, 1], [0, 0, 0, 0]])
        return usual + shared + longer + place[number % PLACES][:, np.newaxis]


def shared_core(seed: int, count: int) -> list[TimedSlice]:
    """Return slices of a core that another program uses all the time, in some of them more: the
    baseline takes 15 to 30 per cent longer, and its copy exactly as much, the reference 5 to 15."""
    generator = np.random.default_rng(seed)
    weights = np.log(np.array([[1.3], [1.3], [1.4], [1.15]]))
    return [
        TimedSlice(each.place, (each.seconds[0] * np.exp(share * weights),), (free(10, 4 - share),))
        for each, share in zip(steady(count=count), generator.uniform(0.5, 1.0, count), strict=True)
    ]
