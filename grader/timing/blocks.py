"""Blocks: many calls between two looks at the clock."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from grader.messages import Block
from grader.timing.pace import Probe

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


class Subject(Protocol):
    """A function that is timed. The inputs that its calls take in turn are counted by `ring`."""

    @property
    def ring(self) -> int:
        """Return how many inputs there are."""
        ...

    def prepare(self, first: int) -> None:
        """Wake it up with a call on another input; then make inputs fresh and poison the output."""
        ...

    def run(self, first: int, calls: int) -> None:
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


def take_block(subject: Subject, first: int, calls: int, meter: Meter) -> Block:
    """Measure one block."""
    subject.prepare(first)
    switches, processor = meter.switches(), meter.processor()
    start = meter.wall()
    subject.run(first, calls)
    wall = meter.wall() - start
    processor = meter.processor() - processor
    switches = meter.switches() - switches
    wall = max(wall, 1e-9)
    return Block(wall / calls, processor / wall, switches, subject.made())


def take_quiet_block(
    subject: Subject,
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


def choose_calls(baseline: Subject, block_seconds: float, meter: Meter) -> int:
    """Return how many calls of the baseline last `block_seconds`."""
    calls = 1
    while (seconds := calls * _least_seconds(baseline, calls, meter)) < block_seconds:
        if calls >= MOST_CALLS:
            break
        wanted = math.ceil(1.1 * calls * block_seconds / max(seconds, 1e-9))
        calls = min(max(calls + 1, wanted), 100 * calls, MOST_CALLS)
    return calls


def affordable_calls(subject: Subject, calls: int, block_seconds: float, meter: Meter) -> int:
    """Return `calls`, or fewer for a function that is more than ten times slower.

    That saves time and changes nothing in its mean.
    """
    each = _least_seconds(subject, 1, meter)
    return max(1, min(calls, math.floor(SLOW_BLOCKS * block_seconds / each)))


def _least_seconds(subject: Subject, calls: int, meter: Meter) -> float:
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
