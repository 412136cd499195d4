"""Rounds of blocks: many calls between two looks at the clock, each function in its turn.

Compiled loops spill vectors of 64 bytes to a stack that the system aligns to 16. At one of its four
places no vector crosses a line of the cache, and such a function is ten per cent faster there. The
place is decided when a process starts, so without this every run would favour other functions.
"""

from __future__ import annotations

import ctypes
import math
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from grader.messages import Block, BlockGroup, ControlRound, Moment, TimingRound
from grader.timing.pace import Probe, find_pace, is_held_back

MOST_CALLS = 10**6

SLOW_BLOCKS = 10.0
"""A submission's block has fewer calls where it would last so many times as long as asked for."""

FACTORS = (0.75, 1.25)
"""A block has between so many times the calls that were chosen, by a factor drawn for each round:
nobody can tell from the blocks before which call will be the last. Longer blocks would be disturbed
more often on a busy machine, so the mean is 1."""

MOST_CALLS_OF_A_BLOCK = 1 + math.ceil(FACTORS[1] * MOST_CALLS)
"""No block has more calls than so many, as `Length` says."""

TRIALS = 3
MOST_TRIALS = 30
"""How many blocks are tried for their length: so many undisturbed ones, or so many at all."""

TRIAL_SECONDS = 1.0
"""After that no further block is tried: a function of some seconds is always disturbed."""

ATTEMPTS = 4
"""How often a block is measured before a disturbed measurement is taken as it is."""


class Measurable(Protocol):
    """A function that is timed. The inputs that its calls take in turn are counted by `ring`."""

    @property
    def ring(self) -> int:
        """Return how many inputs there are."""
        ...

    def prepare(self, first: int) -> None:
        """Wake it up with a call on another input; then make inputs fresh and poison the output."""
        ...

    def run_calls(self, first: int, calls: int) -> None:
        """Call it `calls` times, on the ring's inputs from `first` on. Only this is timed."""
        ...

    def made(self) -> int:
        """Return how many calls that was, as counted where the function cannot write."""
        ...

    def finish(self, last: int) -> None:
        """Look at what the block has left; `last` is the input of its last call."""
        ...


class Meter(Protocol):
    """What is read before and after a block."""

    def wall(self) -> float:
        """Return seconds."""
        ...

    def processor(self) -> float:
        """Return the seconds for which the calling thread had a processor."""
        ...

    def switches(self) -> int:
        """Return how often a thread of this process had to leave its processor to somebody else."""
        ...

    def steal(self) -> int:
        """Return the clock ticks that the hypervisor took from the processors measured on."""
        ...

    def probe(self) -> float:
        """Do a fixed piece of work and return the seconds that it took."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemMeter:
    """This process, on processors `cpus`. A file that cannot be read counts as no steal."""

    wall: Callable[[], float] = staticmethod(time.perf_counter)
    processor: Callable[[], float] = staticmethod(time.thread_time)
    sleep: Callable[[float], None] = staticmethod(time.sleep)

    def __init__(self, cpus: tuple[int, ...], statistics: Path = Path("/proc/stat")) -> None:
        self._names = {f"cpu{cpu}" for cpu in cpus}
        self._statistics = statistics
        self._probe = Probe()

    def probe(self) -> float:
        """Store to memory for a fifth of a millisecond or so, once more than is timed."""
        self._probe.run()
        start = self.wall()
        self._probe.run()
        return max(1e-9, self.wall() - start)

    def switches(self) -> int:
        """Return the involuntary context switches of all threads."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw

    def steal(self) -> int:
        """Return the ticks of the eighth number of each processor's line (proc(5))."""
        try:
            lines = self._statistics.read_text("ascii").splitlines()
        except OSError:
            return 0
        fields = (line.split() for line in lines)
        return sum(int(each[8]) for each in fields if each and each[0] in self._names)


class Length(NamedTuple):
    """How long a block is: `factor` times as many calls as blocks have on average."""

    mean: int
    factor: float = 1.0

    def calls(self, ring: int) -> int:
        """Return the number of calls, at least one.

        The last is on another input than the first: else a function that works only into a fresh
        buffer would end with the right output.
        """
        calls = max(1, round(self.mean * self.factor))
        return calls + 1 if calls > 1 and (calls - 1) % ring == 0 else calls


def take_block(subject: Measurable, first: int, calls: int, meter: Meter) -> Block:
    """Measure one block."""
    subject.prepare(first)
    switches, processor = meter.switches(), meter.processor()
    start = meter.wall()
    subject.run_calls(first, calls)
    wall = meter.wall() - start
    processor = meter.processor() - processor
    switches = meter.switches() - switches
    wall = max(wall, 1e-9)
    return Block(wall / calls, processor / wall, switches, subject.made())


def take_quiet_block(
    subject: Measurable,
    first: int,
    length: Length,
    generator: np.random.Generator,
    meter: Meter,
    end: float,
) -> Block:
    """Measure a block.

    A disturbed block is measured again, unless `end` has come, and with another number of calls, as
    the function has seen this one. What decides is the number of switches and never the time, so
    neither slow nor fast blocks are preferred.
    """
    for _ in range(ATTEMPTS):
        calls = length.calls(subject.ring)
        block = take_block(subject, first, calls, meter)
        if block.switches == 0 or meter.wall() >= end:
            break
        length = length._replace(factor=draw_factor(generator))
    subject.finish((first + calls - 1) % subject.ring)
    return block


def draw_factor(generator: np.random.Generator) -> float:
    """Draw by how much a block is longer than the mean."""
    return float(generator.uniform(*FACTORS))


def choose_calls(baseline: Measurable, block_seconds: float, meter: Meter) -> int:
    """Return how many calls of the baseline last `block_seconds`."""
    calls = 1
    while (seconds := calls * _least_seconds(baseline, calls, meter)) < block_seconds:
        if calls >= MOST_CALLS:
            break
        wanted = math.ceil(1.1 * calls * block_seconds / max(seconds, 1e-9))
        calls = min(max(calls + 1, wanted), 100 * calls, MOST_CALLS)
    return calls


def affordable_calls(subject: Measurable, calls: int, block_seconds: float, meter: Meter) -> int:
    """Return `calls`, or fewer for a function that is more than ten times slower.

    That saves time and changes nothing in its mean.
    """
    each = _least_seconds(subject, 1, meter)
    return max(1, min(calls, math.floor(SLOW_BLOCKS * block_seconds / each)))


def _least_seconds(subject: Measurable, calls: int, meter: Meter) -> float:
    """Return the seconds of one call in the shortest of three blocks that nothing disturbed.

    On a machine where nothing is undisturbed it is the shortest of all: a block of too few calls
    would measure what it costs to begin one.
    """
    end = meter.wall() + TRIAL_SECONDS
    blocks = [take_block(subject, 0, calls, meter)]
    while (
        len(blocks) < MOST_TRIALS
        and sum(not block.switches for block in blocks) < TRIALS
        and meter.wall() < end
    ):
        blocks.append(take_block(subject, 0, calls, meter))
    return min(block.seconds for block in blocks)


PLACES = 4
"""Places of a stack aligned to 16 bytes within a line of 64 bytes."""

_IN_REGISTERS = 8
"""So many integer arguments or fewer are passed in registers (6 on x86-64, 8 on AArch64)."""


def call_at(place: int, function: Callable[[], Result]) -> Result:
    """Call a function with the stack moved by `place` times 16 bytes; return what it returns.

    Arguments that do not fit into registers are what moves it. Whatever it raises is raised here.
    """
    count = _IN_REGISTERS + 2 * place
    results: list[Result] = []
    errors: list[BaseException] = []

    def call(*_: int) -> None:
        try:
            results.append(function())
        except BaseException as error:  # noqa: BLE001 - it cannot pass through a C function
            errors.append(error)

    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * count)
    kind(call)(*[0] * count)
    if errors:
        raise errors[0]
    return results[0]


PAUSE = 0.01
"""Seconds between two looks at a machine that is held back: such times last for seconds."""

Result = TypeVar("Result")


class Trio(NamedTuple):
    """The functions that are compared at one shape, and the mean number of calls in their blocks.

    `baseline` and `reference` have blocks of the same number of calls.
    """

    baseline: Measurable
    submission: Measurable
    reference: Measurable
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


def take_control_round(
    one: Measurable, other: Measurable, calls: int, series: Series
) -> ControlRound:
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


def _take_blocks(subjects: Sequence[tuple[Measurable, int]], series: Series) -> list[Block]:
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
