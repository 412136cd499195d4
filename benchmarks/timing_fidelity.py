"""How far a timing can be trusted on a busy machine, beside what TVM's own protocols would say.

The benchmark puts half of the processors under load itself. Then it measures

    aa_error_median, aa_error_p90   |ratio - 1| of the unscheduled convolution against itself
    coverage                        share of those whose 95 % interval holds 1
    points_sd_of_20                 standard deviation of a schedule's points over gradings of one
                                    notebook by `grader batch`, on a scale of 20
    inversions                      pairs of gradings in which the slower of two schedules, at least
                                    5 % apart, got more points than the faster one

and, in turn with these, what `time_evaluator` and MetaSchedule's default would have said. All of it
takes about eight minutes; `--trials 1 --gradings 1 --schedules 1 --tried 1 --each 1` shows within
one that it works. With `--keep FOLDER` each measurement is written down as soon as it is made, and
the same command goes on after an interruption.

    python benchmarks/timing_fidelity.py [--trials 60] [--gradings 10] [--keep FOLDER] [--json FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import numpy as np
from journal import Journal
from load import load
from protocols import PROTOCOLS, Contest
from rich.progress import track
from schedules import Schedule, candidate, tiled, unscheduled

from grader.course import load_course
from grader.evidence.case import Candidate
from grader.evidence.runner_client import start_timing_runner
from grader.evidence.runners import RunnerPool
from grader.evidence.subject import Subject
from grader.measurement.measure import (
    Machine,
    Measured,
    MeasurementSetup,
    measuring_cpus,
    measuring_threads,
)
from grader.measurement.points import SpeedOptions, speed_fraction
from grader.measurement.speed import gather_timing
from grader.report import Timing, decode_report
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import ResourceLimits

ROOT = Path(__file__).resolve().parent.parent
GRADER = Path(sys.executable).with_name("grader")
SLUG = "e2e-conv"
POINTS = 20.0

BARS = {
    "aa_error_median": 0.003,
    "aa_error_p90": 0.01,
    "coverage": 0.93,
    "points_sd_of_20": 0.1,
    "inversions": 0,
}

GAP = 1.05
GRADED = tiled(4, 1, 1)
"""The schedule of the notebook that is graded again and again: somewhere in the middle."""


class Grading:
    """Times candidates as a grading does: each in a runner of its own, in a sandbox."""

    def __init__(
        self,
        setup: MeasurementSetup,
        seeds: np.random.SeedSequence,
        journal: Journal,
    ) -> None:
        self.journal = journal
        self._setup = setup
        self._seeds = seeds

    @property
    def options(self) -> SpeedOptions:
        """The assignment's options."""
        return self._setup.options

    def time(self, timed: Candidate) -> Timing | None:
        """Return the timing, or None when the verdict is that the machine is too noisy."""
        generator = np.random.default_rng(self._seeds.spawn(1)[0])
        kind: type[Timing | None] = Timing | None  # type: ignore[assignment]
        return self.journal.once(kind, lambda: self._measure(timed, generator))

    def _measure(self, timed: Candidate, generator: np.random.Generator) -> Timing | None:
        found = gather_timing(timed, self._setup, generator)
        if isinstance(found, Measured):
            return found.timing
        print("refused:", found.reason.english, file=sys.stderr)
        return None

    def points(self, timing: Timing) -> float:
        """Return the points of a timing on a scale of 20, without rounding."""
        return POINTS * speed_fraction(timing.share, timing.reference_speedup, self.options)


@contextmanager
def open_grading(seed: int, folder: Path, settings: str) -> Iterator[Grading]:
    """Make ready what gradings share, and what earlier ones have left in a folder."""
    journal = Journal(folder / "journal", settings)
    course_assignment = load_course(ROOT).get(SLUG)
    assignment = course_assignment.assignment
    part, table = next(
        (part, check) for part in assignment.part for check in part.check if check.kind == "speed"
    )
    options = msgspec.convert(table.options, SpeedOptions)
    sequences = np.random.SeedSequence(seed).spawn(2)
    threads = measuring_threads(options.threads)
    with (
        choose_sandbox(None, "none") as sandbox,
        RunnerPool(
            lambda _: start_timing_runner(sandbox, ResourceLimits(), threads), task_seconds=120.0
        ) as runners,
    ):
        setup = MeasurementSetup(
            workload=course_assignment.workload(),
            options=options,
            subject=Subject(options.weight, assignment.comparison(part)),
            points=POINTS,
            runners=runners,
            machine=Machine(measuring_cpus),
        )
        yield Grading(setup, sequences[1], journal)


STRIDE = 13
"""So many sizes on is the next to be tried: all of 32 are met, neighbours far apart."""


def choose_schedules(grading: Grading, count: int, tried: int) -> list[tuple[str, Schedule, float]]:
    """Return some schedules whose speed-ups differ by 5 % at least, slowest first.

    They are as many as are asked for, or fewer where fewer differ: which of them do is a property
    of the processor, and on one that vectorises well all but a few are equally fast.

    `tried` says how many are timed to find them, 32 at most. However few these are, they are of all
    kinds: those with one channel at a time are slower than the unscheduled function on some
    processors, and all with many channels as fast as the reference on others.
    """
    sizes = list(itertools.product((1, 2, 4, 8), (1, 2), (1, 3), (True, False)))
    mixed = [sizes[STRIDE * number % len(sizes)] for number in range(min(tried, len(sizes)))]
    found = []
    for channels, rows, vectors, parallel in track(mixed, "looking for schedules"):
        name = f"{channels}x{rows}x{vectors}{' parallel' if parallel else ''}"
        schedule = tiled(channels, rows, vectors, parallel=parallel)
        timing = grading.time(candidate(schedule))
        if timing is not None and 0 < timing.share < grading.options.full_at:
            found.append((name, schedule, timing.speedup))
    return _spread(sorted(found, key=lambda each: each[2]), count)


def _spread(
    found: list[tuple[str, Schedule, float]], count: int
) -> list[tuple[str, Schedule, float]]:
    """Return the closest neighbours that are far enough apart: many if may be, `count` at most."""
    best: list[tuple[str, Schedule, float]] = []
    for start in range(len(found)):
        chosen = [found[start]]
        for each in found[start + 1 :]:
            if each[2] >= GAP * chosen[-1][2]:
                chosen.append(each)
        chosen = chosen[:count]
        if (len(chosen), -_range(chosen)) > (len(best), -_range(best) if best else 0.0):
            best = chosen
    return best


def _range(chosen: list[tuple[str, Schedule, float]]) -> float:
    return chosen[-1][2] / chosen[0][2]


def run_controls(
    grading: Grading, contest: Contest, trials: int
) -> tuple[list[Timing], dict[str, list[float]]]:
    """Time the unscheduled function as a submission, and let the other protocols do the same."""
    same = candidate(unscheduled)
    timings: list[Timing] = []
    others: dict[str, list[float]] = {name: [] for name in PROTOCOLS}
    for trial in track(range(trials), "the same against itself"):
        timing = grading.time(same)
        if timing is not None:
            timings.append(timing)
        if trial % 5 == 0:
            for name, protocol in PROTOCOLS.items():
                ratio = partial(contest.ratio, protocol, "baseline", "baseline")
                others[name].append(math.log(grading.journal.once(float, ratio)))
    return timings, others


def run_gradings(gradings: int, folder: Path) -> list[float]:
    """Grade copies of one notebook by `grader batch`, which goes on with what is in the folder.

    Returns the points for speed out of 20.
    """
    notebook = nbformat.read(ROOT / "examples" / SLUG / "schedule_in_function.ipynb", as_version=4)
    submissions, reports = folder / "submissions", folder / "reports"
    submissions.mkdir(exist_ok=True)
    for number in range(gradings):
        nbformat.write(notebook, submissions / f"copy_{number:02}.ipynb")
    command = [str(GRADER), "batch", str(submissions), "--output", str(reports)]
    subprocess.run([*command, "--data", "builtin", "--jobs", "1"], check=True)
    found = [decode_report(path.read_bytes()) for path in sorted(reports.glob("copy_*.json"))]
    checks = [check for report in found for part in report.parts for check in part.checks]
    return [POINTS * each.score / each.max_score for each in checks if each.id == "speed"]


def count_inversions(
    grading: Grading, chosen: list[tuple[str, Schedule, float]], each: int
) -> tuple[int, int]:
    """Return how many pairs of gradings are in the wrong order, and how many pairs there are."""
    generator = np.random.default_rng(5)
    places = generator.permutation(np.repeat(np.arange(len(chosen)), each)).tolist()
    got: list[tuple[int, float]] = []
    for place in track(places, "schedules in turn"):
        timing = grading.time(candidate(chosen[place][1]))
        if timing is not None:
            got.append((place, timing.share))
    pairs = [(one, two) for one in got for two in got if one[0] < two[0]]
    return sum(one[1] >= two[1] for one, two in pairs), len(pairs)


def other_points(grading: Grading, contest: Contest, gradings: int) -> dict[str, list[float]]:
    """Return the points that other protocols give to the schedule that is graded."""
    once, options = grading.journal.once, grading.options
    results: dict[str, list[float]] = {}
    for name, protocol in PROTOCOLS.items():
        shares = []
        for _ in track(range(gradings), name):
            reference, submission = (
                once(float, partial(contest.ratio, protocol, "baseline", other))
                for other in ("reference", "submission")
            )
            share = math.log(submission) / max(1e-9, math.log(max(1.0, reference)))
            shares.append(POINTS * speed_fraction(share, max(1.01, reference), options))
        results[name] = shares
    return results


def summarise(
    timings: list[Timing], points: list[float], inversions: tuple[int, int]
) -> dict[str, Any]:
    """Return the figures that have bars, and those that explain them."""
    errors = [abs(timing.speedup - 1) for timing in timings]
    covered = [timing.ci_low <= 1 <= timing.ci_high for timing in timings]
    return {
        "aa_error_median": float(np.median(errors)),
        "aa_error_p90": float(np.percentile(errors, 90)),
        "coverage": float(np.mean(covered)),
        "points_sd_of_20": float(np.std(points, ddof=1)),
        "inversions": inversions[0],
        "aa_trials": len(errors),
        "aa_error_max": max(errors),
        "points": points,
        "pairs_compared": inversions[1],
        "rounds_median": float(np.median([timing.pairs for timing in timings])),
    }


def main() -> int:
    """Run the benchmark. Returns 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--gradings", type=int, default=10)
    parser.add_argument("--schedules", type=int, default=5, help="how many are compared")
    parser.add_argument("--tried", type=int, default=16, help="how many they are chosen from")
    parser.add_argument("--each", type=int, default=4, help="how often each of them is timed")
    parser.add_argument("--keep", type=Path, help="a folder for what was measured so far")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    contest = Contest(GRADED, threads=1)
    counts = {name: value for name, value in vars(arguments).items() if isinstance(value, int)}
    with _kept_in(arguments.keep) as folder, open_grading(1, folder, json.dumps(counts)) as grading:
        chosen = choose_schedules(grading, arguments.schedules, arguments.tried)
        if len(chosen) < min(2, arguments.schedules):
            raise SystemExit("No two of the schedules tried are 5 % apart: try more of them.")
        if len(chosen) < arguments.schedules:
            print(f"No more than {len(chosen)} of the schedules tried are 5 % apart.")
        for name, _, speedup in chosen:
            print(f"schedule {name:16} {speedup:.3f} times as fast as unscheduled")
        with load(max(1, (os.cpu_count() or 2) // 2)):
            timings, others = run_controls(grading, contest, arguments.trials)
            points = run_gradings(arguments.gradings, folder)
            inversions = count_inversions(grading, chosen, arguments.each)
            theirs = other_points(grading, contest, arguments.gradings)
    result = summarise(timings, points, inversions)
    result["others"] = {
        name: {
            "aa_error_median": float(np.median(np.abs(np.expm1(others[name])))),
            "aa_error_p90": float(np.percentile(np.abs(np.expm1(others[name])), 90)),
            "points_sd_of_20": float(np.std(theirs[name], ddof=1)),
        }
        for name in PROTOCOLS
    }
    print(json.dumps(result, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    missed = [name for name, bar in BARS.items() if _misses(name, result[name], bar)]
    print("missed:", ", ".join(missed) or "none")
    return 1 if missed else 0


@contextmanager
def _kept_in(folder: Path | None) -> Iterator[Path]:
    """Yield a folder, or else one for the time being."""
    with tempfile.TemporaryDirectory() as temporary:
        chosen = folder or Path(temporary)
        chosen.mkdir(exist_ok=True)
        yield chosen


def _misses(name: str, value: float, bar: float) -> bool:
    return not (value >= bar if name == "coverage" else value <= bar)  # what is no number misses


if __name__ == "__main__":
    sys.exit(main())
