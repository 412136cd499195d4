"""How far a timing can be trusted beside other programs, which this benchmark starts itself.

A schedule is timed again and again, as a grading does it: each time in a runner of its own. A cell
is a length of the unscheduled function, a number of threads, and what else wants the processors:
busy loops, one that moves memory, or one that works in bursts. Of each cell the table has

    off itself     how far the unscheduled function is from its copy: median and 90th percentile
    bias           the speed-up's median, beside that of the first cell of its length and threads
    points         standard deviation of the points of 15
    given up       measurements that said nothing
    seconds        of one measurement, by the clock

With `--keep FOLDER` each measurement is written down as soon as it is made, and the same command
goes on after an interruption.

With `--schedules N` the same N drawn schedules are measured once beside each load instead, and the
table has how far one machine's score is another's: the standard deviation of a schedule's points,
and how many pairs, of which one is 3% faster where nothing runs beside, have points the other way
round.

    python benchmarks/timing_fidelity.py [--trials 5] [--only WORD] [--keep FOLDER] [--json FILE]
    python benchmarks/timing_fidelity.py --schedules 40 [--keep FOLDER] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from journal import Journal, kept_in
from load import load
from schedules import candidate, drawn, tiled

from grader.course import load_course
from grader.evidence.case import Candidate, Problem
from grader.evidence.runner_client import Runner, start_timing_runner
from grader.evidence.runners import Kind, RunnerPool
from grader.evidence.subject import Subject
from grader.measurement.measure import Machine, MeasurementSetup, measuring_cpus
from grader.measurement.points import SpeedOptions, speed_fraction
from grader.measurement.speed import gather_timing
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import ResourceLimits, Sandbox

ROOT = Path(__file__).resolve().parent.parent
SLUG = "e2e-conv"
POINTS = 15.0

APART = 0.03
"""Logarithm of the ratio of two speed-ups that must not change places."""

LENGTHS = {"9 us": 1, "35 us": 4, "150 us": 16, "1 ms": 112}
"""Lengths of the unscheduled function, about, by the images of a batch."""

GRADED = tiled(4, 1, 1)
"""The schedule that is timed: somewhere between unscheduled and reference."""


class Cell(NamedTuple):
    """One row of the table."""

    length: str
    threads: int
    beside: str

    @property
    def name(self) -> str:
        """Return what the row is called."""
        threads = f", {self.threads} threads" if self.threads > 1 else ""
        return f"{self.length}{threads}, {self.beside}"


CELLS = (
    *(Cell("35 us", 1, f"load {count}") for count in (0, 1, 2, 4, 8)),
    Cell("35 us", 1, "memory"),
    Cell("35 us", 1, "bursts"),
    *(Cell(length, 1, f"load {n}") for length in ("9 us", "150 us", "1 ms") for n in (0, 4)),
    *(Cell("35 us", 2, f"load {count}") for count in (0, 4)),
)


COMPARED = tuple(Cell("35 us", 1, f"load {count}") for count in (0, 2, 4))
"""Where drawn schedules are measured."""


class Trial(msgspec.Struct, frozen=True):
    """One measurement, and whether it said something; `off` and `speedup` are logarithms."""

    seconds: float
    said: bool = False
    off: float = 0.0
    speedup: float = 0.0
    points: float = 0.0


class Row(msgspec.Struct, frozen=True):
    """What came of a cell."""

    name: str
    off_median: float
    off_p90: float
    bias: float
    points_deviation: float
    given_up: int
    seconds: float


@contextmanager
def beside(what: str) -> Iterator[None]:
    """Have something else run in the body of a with statement."""
    kind, _, count = what.partition(" ")
    with load(int(count) if count else 1, {"load": "compute"}.get(kind, kind)):
        yield


def measure(cell: Cell, timed: Candidate, setup: MeasurementSetup, seed: int) -> Trial:
    """Time once."""
    start = time.monotonic()
    found = gather_timing(timed, setup, np.random.default_rng(seed))
    seconds = time.monotonic() - start
    if isinstance(found, Problem):
        print(f"{cell.name}: {found.reason.english}", file=sys.stderr)
        return Trial(seconds)
    timing = found.timing
    points = POINTS * speed_fraction(timing.share, timing.reference_speedup, setup.options)
    return Trial(seconds, True, math.log(timing.self_test.ratio), math.log(timing.speedup), points)


def summarise(cell: Cell, trials: list[Trial], quiet: float) -> Row:
    """Make a row of a cell's measurements; `quiet` is the logarithm that the speed-up should be."""
    said = [trial for trial in trials if trial.said]
    off = [abs(trial.off) for trial in said] or [0.0]
    points = [trial.points for trial in said]
    return Row(
        cell.name,
        float(np.median(off)),
        float(np.percentile(off, 90)),
        _middle(trials) - quiet,
        float(np.std(points, ddof=1)) if len(points) > 1 else 0.0,
        len(trials) - len(said),
        float(np.median([trial.seconds for trial in trials])),
    )


def _middle(trials: list[Trial]) -> float:
    return float(np.median([trial.speedup for trial in trials if trial.said] or [0.0]))


def run(cells: list[Cell], trials: int, journal: Journal) -> list[Row]:
    """Measure all cells, and print a row as soon as it is there."""
    rows: list[Row] = []
    quiet: dict[tuple[str, int], float] = {}
    print(f"{'':24} off itself: median, p90   bias  points  given up  seconds")
    for cell in cells:
        timed = candidate(GRADED, LENGTHS[cell.length])
        with measuring(cell.threads) as setup, beside(cell.beside):
            found = [
                journal.once(Trial, partial(measure, cell, timed, setup, seed))
                for seed in range(trials)
            ]
        expected = quiet.setdefault((cell.length, cell.threads), _middle(found))
        rows.append(summarise(cell, found, expected))
        print(shown(rows[-1]), flush=True)
    return rows


class Agreement(msgspec.Struct, frozen=True):
    """How far the points of some schedules agree between loads."""

    schedules: int
    loads: tuple[str, ...]
    deviation_median: float
    deviation_most: float
    pairs: int
    inversions: int
    given_up: int


def compare_schedules(count: int, cells: Sequence[Cell], journal: Journal) -> Agreement:
    """Measure drawn schedules beside each load, each once, and compare their points."""
    found: list[list[Trial]] = []
    for cell in cells:
        trials = []
        with measuring(cell.threads) as setup, beside(cell.beside):
            for seed in range(count):
                timed = candidate(drawn(np.random.default_rng(seed)), LENGTHS[cell.length])
                once = partial(measure, cell, timed, setup, seed)
                trials.append(journal.once(Trial, once))
        found.append(trials)
    said = [column for column in zip(*found, strict=True) if all(each.said for each in column)]
    return agree(said, tuple(cell.beside for cell in cells), count)


def agree(said: Sequence[Sequence[Trial]], loads: tuple[str, ...], count: int) -> Agreement:
    """Compare the points of schedules that were measured beside all loads, the first being none."""
    points = np.array([[each.points for each in row] for row in said]).reshape(-1, len(loads))
    quiet = np.array([row[0].speedup for row in said])
    faster, slower = np.nonzero(quiet[:, np.newaxis] - quiet > APART)
    turned = points[faster, 1:] < points[slower, 1:]
    deviations = points.std(axis=1, ddof=1) if len(points) and len(loads) > 1 else np.zeros(1)
    return Agreement(
        count,
        loads,
        round(float(np.median(deviations)), 3),
        round(float(np.max(deviations)), 3),
        int(turned.size),
        int(turned.sum()),
        count - len(said),
    )


@contextmanager
def measuring(threads: int) -> Iterator[MeasurementSetup]:
    """Yield what a measurement with so many threads needs."""
    course_assignment = load_course(ROOT).get(SLUG)
    part, table = next(
        (part, check)
        for part in course_assignment.assignment.part
        for check in part.check
        if check.kind == "speed"
    )
    options = msgspec.convert(table.options, SpeedOptions)
    comparison = course_assignment.assignment.comparison(part)
    with choose_sandbox(None, "none") as sandbox:
        start = partial(_start, sandbox, threads)
        with RunnerPool(start, task_seconds=120.0) as runners:
            yield MeasurementSetup(
                workload=course_assignment.workload(),
                options=msgspec.structs.replace(options, threads=threads),
                subject=Subject(options.weight, comparison),
                points=POINTS,
                runners=runners,
                machine=Machine(measuring_cpus),
            )


def _start(sandbox: Sandbox, threads: int, _: Kind) -> Runner:
    return start_timing_runner(sandbox, ResourceLimits(), threads)


def shown(row: Row) -> str:
    """Return a row as a line of text."""
    return (
        f"{row.name:24} {100 * row.off_median:14.2f}% {100 * row.off_p90:5.2f}%"
        f" {100 * row.bias:+5.1f}% {row.points_deviation:6.2f} {row.given_up:9} {row.seconds:8.1f}"
    )


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--only", default="", help="cells whose names have this in them")
    parser.add_argument("--schedules", type=int, default=0, metavar="N", help="compare so many")
    parser.add_argument("--keep", type=Path, help="a folder for what was measured so far")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    most = len(os.sched_getaffinity(0))
    cells = [each for each in CELLS if arguments.only in each.name and each.threads <= most]
    with kept_in(arguments.keep) as folder:
        settings = json.dumps([arguments.trials, arguments.only, arguments.schedules])
        journal = Journal(folder / "journal", settings)
        found: list[Row] | Agreement
        if arguments.schedules:
            alike = [each for each in cells if each in COMPARED]
            found = compare_schedules(arguments.schedules, alike, journal)
            print(msgspec.json.format(msgspec.json.encode(found)).decode())
        else:
            found = run(cells, arguments.trials, journal)
    if arguments.json:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
