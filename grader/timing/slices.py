"""Slices of rounds: a short block of each function in turn, at one place of arrays and stack."""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from grader.timing.core import Core, worse_of_both

FloatArray = npt.NDArray[np.float64]

BASELINE, CONTROL, SUBMISSION, REFERENCE = range(4)
"""The functions of a round. The control is the baseline, compiled once more."""

FUNCTIONS: Final = 4

SLICE_SECONDS = 0.01
"""A slice lasts about so long: to move arrays and to draw numbers takes a twentieth of it, and all
places are visited before what disturbs the machine has passed."""

MOST_ROUNDS = 64

BLOCKS_OF_A_SLICE: Final = FUNCTIONS * MOST_ROUNDS
"""As many as a slice can have: those of steps may have fewer functions and more rounds."""

FEWEST_ROUNDS = 4
"""Of functions that have warm calls. What a slice has moved is cold in its first round: where a
function was slow while the number was chosen, slices of one round made the reference 1.4 in place
of 1.6 times as fast as the baseline, and its own speed worth up to a fifth more."""

LONG_SECONDS = 0.25
"""A round that takes longer is one of a slice: a submission of half a second a call kept a class
waiting for 87 seconds. None is as slow in eleven calls, and then as quick as functions of 20 ms:
what may depend on numbers in memory takes at most some dozen times as long."""

MOST_CALLS = 128
"""Most calls of a block: a function of a tenth of a microsecond has no longer ones."""

CALLS_OF_A_SLICE = 8192
"""No slice has more calls than so many, unless a single round has."""

WARM_SECONDS = 0.02
"""Before a block comes a call that is not timed: it finds the caches as another function has left
them. A call that takes longer than this warms itself up."""

PATIENCE = 20.0
"""A budget of processor time is spent after so many times as long by the clock as well: a machine
may leave a measurement a twentieth of a processor, and a function may sleep."""

TRIALS = 3
"""How many blocks are tried for their length, and of each function for the number of rounds; the
quickest count. A machine that was busy just then had slices of one round all along."""


WALL: Final = time.CLOCK_MONOTONIC
PROCESSOR: Final = time.CLOCK_THREAD_CPUTIME_ID
"""The clocks that compiled code reads, as the system numbers them. The processor's takes the system
0.3 us, and stands still while a program has the processor that this thread runs on."""

INTERRUPTED_SECONDS = 1e-3
"""Blocks that take longer are timed by the processor's clock. Beside ten programs on two processors
each call of 30 ms is interrupted: unscheduled functions differed from their copies by 8%, and three
gradings of three were "too busy"."""


FINE_SECONDS = INTERRUPTED_SECONDS / 100
"""Steps of a clock that are small beside what it times."""

_READS = 10_000
"""Of a clock that stands still: some milliseconds."""


class Plan(NamedTuple):
    """How a block is measured at one shape: `warm` calls that are not timed, `calls` that are."""

    warm: int
    calls: int
    clock: int = WALL

    @property
    def made(self) -> int:
        """Return how many calls a block has in all."""
        return self.warm + self.calls


class Spending:
    """How much of a budget of processor time the calling thread has spent since this was made."""

    def __init__(
        self,
        processor: Callable[[], float] = time.thread_time,
        wall: Callable[[], float] = time.monotonic,
    ) -> None:
        self._processor, self._wall = processor, wall
        self._start = processor(), wall()

    def seconds(self) -> float:
        """Return seconds of the processor, or those of the clock by `PATIENCE` if they are more."""
        processor, wall = self._start
        return max(self._processor() - processor, (self._wall() - wall) / PATIENCE)


class Bench(Protocol):
    """The functions that are compared at one shape, on arrays that they share."""

    def begin(self, turn: int, place: int) -> None:
        """Take the inputs of a turn, at a place of the arrays; poison the output, forget calls."""
        ...

    def run(self, function: int, block: int, plan: Plan) -> None:
        """Call a function as often as is planned, with two looks at the clock."""
        ...

    def keep(self) -> None:
        """Keep what the last call has left, for the referee to check."""
        ...

    def seconds(self, blocks: int) -> FloatArray:
        """Return how long the timed calls of each block took together."""
        ...

    def finish(self) -> None:
        """Check what the slice has left beside its output, and keep what its calls have left."""
        ...


def choose_plan(
    bench: Bench,
    block_seconds: float,
    threads: int,
    processor: Callable[[], float] = time.thread_time,
) -> Plan:
    """Return how many calls of the baseline last `block_seconds`, and by which clock they are
    timed: the submission has no say.

    With several threads the clock of one says nothing of the others.
    """
    bench.begin(0, 0)
    long = PROCESSOR if threads == 1 and _is_fine(processor) else WALL
    if all(_first_seconds(bench) > WARM_SECONDS for _ in range(TRIALS)):
        return Plan(0, 1, long)
    calls = 1
    while (seconds := _least_seconds(bench, calls)) < block_seconds and calls < MOST_CALLS:
        wanted = math.ceil(1.1 * calls * block_seconds / max(seconds, 1e-9))
        calls = min(max(calls + 1, wanted), MOST_CALLS)
    return Plan(1, calls, long if seconds > INTERRUPTED_SECONDS else WALL)


def _is_fine(clock: Callable[[], float]) -> bool:
    """Say whether a clock of processor time has small steps: gVisor's may have 10 ms."""
    reads = (clock() for _ in range(_READS))
    return any(0 < later - one < FINE_SECONDS for one, later in itertools.pairwise(reads))


def _first_seconds(bench: Bench) -> float:
    bench.run(BASELINE, 0, Plan(0, 1))
    return float(bench.seconds(1)[0])


def _least_seconds(bench: Bench, calls: int) -> float:
    for block in range(TRIALS):
        bench.run(BASELINE, block, Plan(1, calls))
    return float(bench.seconds(TRIALS).min())


def choose_rounds(benches: Sequence[Bench], plans: Sequence[Plan]) -> int:
    """Return how many rounds make a slice."""
    seconds = np.min([_round_seconds(benches, plans) for _ in range(TRIALS)], axis=0)
    most = min(CALLS_OF_A_SLICE // (FUNCTIONS * plan.made) for plan in plans)
    is_warm = all(plan.warm for plan in plans) and float(seconds.sum()) < LONG_SECONDS
    fewest = FEWEST_ROUNDS if is_warm else 1
    wanted = math.floor(SLICE_SECONDS / max(float(seconds.sum()), 1e-9))
    return max(1, min(max(wanted, fewest), most, MOST_ROUNDS // len(benches)))


def _round_seconds(benches: Sequence[Bench], plans: Sequence[Plan]) -> FloatArray:
    """Return how long the blocks of a round take, those of each shape."""
    seconds = []
    for bench, plan in zip(benches, plans, strict=True):
        for function in range(FUNCTIONS):
            bench.run(function, function, plan)
        seconds.append(bench.seconds(FUNCTIONS) * plan.made / plan.calls)
    return np.array(seconds)


def take_slice(
    benches: Sequence[Bench],
    plans: Sequence[Plan],
    rounds: int,
    core: Core,
    generator: np.random.Generator,
) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """Take a slice for which the benches are ready; return seconds of a call, (4, rounds) each, and
    the core's units that were free meanwhile, the same.

    In each round the order is drawn, of all shapes' functions together. After the submission's
    block of one round, which is drawn, its output is kept. Before each block, and after the last,
    there is a look at the core.
    """
    numbers = len(benches) * FUNCTIONS
    orders = [generator.permutation(numbers).tolist() for _ in range(rounds)]
    kept = int(generator.integers(rounds))
    for number, each in in_turn(core, orders):
        shape, function = divmod(each, FUNCTIONS)
        benches[shape].run(function, number * FUNCTIONS + function, plans[shape])
        if number == kept and function == SUBMISSION:
            benches[shape].keep()
    seconds = tuple(
        bench.seconds(rounds * FUNCTIONS).reshape(rounds, FUNCTIONS).T / plan.calls
        for bench, plan in zip(benches, plans, strict=True)
    )
    units = units_of_blocks(core, orders)
    return seconds, tuple(np.split(units, len(benches)))


def in_turn(core: Core, orders: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Yield the round and function of each block, with a look at the core before it, and a last."""
    looks = itertools.count()
    for number, order in enumerate(orders):
        for function in order:
            core.look(next(looks))
            yield number, function
    core.look(next(looks))


def units_of_blocks(core: Core, orders: Sequence[Sequence[int]]) -> FloatArray:
    """Return the core's units that were free before and after each block, (functions, rounds), of
    looks that were taken by `in_turn`."""
    functions = len(orders[0])
    found = worse_of_both(core.units(len(orders) * functions + 1)).reshape(-1, functions)
    units = np.empty((functions, len(orders)))
    units[np.array(orders), np.arange(len(orders))[:, np.newaxis]] = found
    return units
