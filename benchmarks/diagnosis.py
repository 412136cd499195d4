"""How often the step that a diagnosis names is the one with the mistake, for all automatic mutants.

What is run is the same as in tests/diagnosis; here all that was missed is told. "construction"
are models that cannot be built: of them, the line is the step; "schedules" are schedules that
change the result. Exit code 1: of some mutants, the right step was named for less than nine in ten.

    python benchmarks/diagnosis.py [ASSIGNMENT|construction|schedules ...] [--jobs 2] [--each N]
        [--json FILE]
    python benchmarks/diagnosis.py --fresh [ASSIGNMENT ...] [--count 500] [--seed 0]
        [--keep DIR] [--json FILE]

With --fresh, the mistakes are random edits of the references that nobody chose: operators, axes,
constants, indices, order, steps of schedules. `--count` is how many of them change the result, all
assignments together. Of each it is said whether the first wrong step is named, whether the mistake
is, whether the advice leads to the right outputs where it names a change, and how many sentences
do not hold; "judged" are those of which the one or the other can be said. The worst are printed.
Exit code 1: a bar is missed, which are 98% of the steps, 85% of the mistakes, and no wrong advice
or sentence. With `--keep`, what was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from journal import Journal, kept_in

from grader.course import load_course
from grader.environment import usable_cores
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Sandbox
from tests.accuracy import construction, schedules
from tests.accuracy.accuracy import BAR, ROOT, SLUGS, Found, Trial, share
from tests.accuracy.fresh import SLUGS as FRESH
from tests.accuracy.fresh import FreshTrial, Judgement
from tests.accuracy.fresh_gpu import KernelTrial
from tests.diagnosis.test_advice import recorded

Row = dict[str, object]
_HEAD = ("assignment", "mutants", "with a choice", "right step", "mistake recognised", "seconds")


def measure(slug: str, found: Sequence[Found], seconds: float) -> Row:
    """Return what was measured of one assignment."""
    choice = [each for each in found if each.has_choice]
    return {
        "assignment": slug,
        "mutants": len(found),
        "with a choice": len(choice),
        "right step": sum(each.is_right for each in found),
        "right share": min(share(e.is_right for e in found), share(e.is_right for e in choice)),
        "mistake recognised": sum(each.is_recognised for each in found),
        "seconds": round(seconds, 1),
        "missed": [str(each) for each in found if not each.is_right],
        "unrecognised": [
            f"{each.mutant.part.id}: {each.mutant.mutation.kind}, {each.mutant.mutation.about}:"
            f" {each.mistake or 'nothing'}"
            for each in found
            if not each.is_recognised
        ],
    }


def measure_construction() -> Row:
    """Return the same of models that cannot be built; what is right there is the line."""
    start = time.perf_counter()
    layers = recorded(load_course(ROOT).get("e2e-conv"), None)
    told = [construction.tell(each, lambda: layers) for each in construction.MUTANTS]
    return {
        **_shares("construction", told, start),
        "missed": [each.line.strip() for each in told if not each.is_right],
        "unrecognised": [each.mutant.new for each in told if not each.is_recognised],
    }


def measure_schedules() -> Row:
    """Return the same of schedules that change the result."""
    start = time.perf_counter()
    told = [schedules.tell(each) for each in schedules.mutants()]
    return {
        **_shares("schedules", told, start),
        "missed": [each.mutant.name for each in told if not each.is_right],
        "unrecognised": [each.mutant.name for each in told if not each.is_recognised],
    }


_FIRST, _NAMED = 0.98, 0.85
"""Shares of fresh mistakes of which the first wrong step, and the mistake, must be named."""


def measure_fresh(
    slug: str, count: int, options: argparse.Namespace, sandbox: Sandbox, journal: Journal
) -> Row:
    """Return what was measured of random edits of an assignment."""
    start = time.perf_counter()
    made = KernelTrial if slug == "gpu" else FreshTrial
    said = made(slug, sandbox, options.jobs, count, options.seed).judged(journal.once)
    first = [each.first for each in said if each.first is not None]
    advice = [each.advice for each in said if each.advice is not None]
    return {
        "assignment": slug,
        "mistakes": len(said),
        "first step": sum(first),
        "judged": len(first),
        "named": sum(each.is_named for each in said),
        "advice leads": sum(advice),
        "advised": len(advice),
        "wrong sentences": sum(len(each.wrong) for each in said),
        "seconds": round(time.perf_counter() - start, 1),
        "worst": [each.text for each in sorted(said, key=badness) if each.is_bad],
    }


def badness(said: Judgement) -> tuple[bool, ...]:
    """Return what orders what is said of mistakes, the worst first."""
    is_right = not said.wrong and said.advice is not False
    return is_right, said.first is not False, said.is_named


def print_fresh(rows: Sequence[Row]) -> int:
    """Print a line for each assignment and one for all, then the worst; return the exit code."""
    columns = [name for name, value in rows[0].items() if not isinstance(value, str | list)]
    total: Row = {name: sum(row[name] for row in rows) for name in columns}  # type: ignore[misc]
    print(" | ".join(("assignment".ljust(12), *columns)))
    for row in (*rows, {"assignment": "all", **total}):
        figures = (f"{row[name]:g}".rjust(len(name)) for name in columns)
        print(" | ".join((str(row["assignment"]).ljust(12), *figures)))
    for row in rows:
        for text in row["worst"]:  # type: ignore[attr-defined]
            print(f"{row['assignment']}, {text}")
    return int(
        total["first step"] < _FIRST * total["judged"]  # type: ignore[operator]
        or total["named"] < _NAMED * total["mistakes"]  # type: ignore[operator]
        or total["advice leads"] < total["advised"]  # type: ignore[operator]
        or total["wrong sentences"] > 0  # type: ignore[operator]
    )


OTHERS = {"construction": measure_construction, "schedules": measure_schedules}


def _shares(
    name: str, told: Sequence[construction.Told] | Sequence[schedules.Told], start: float
) -> Row:
    return {
        "assignment": name,
        "mutants": len(told),
        "with a choice": len(told),
        "right step": sum(each.is_right for each in told),
        "right share": share(each.is_right for each in told),
        "mistake recognised": sum(each.is_recognised for each in told),
        "seconds": round(time.perf_counter() - start, 1),
    }


def print_table(rows: Sequence[Row]) -> None:
    """Print one line for each assignment, and what was missed."""
    print(" | ".join(_HEAD))
    for row in rows:
        print(" | ".join(str(row[name]).rjust(len(name)) for name in _HEAD))
    for row in rows:
        for name in ("missed", "unrecognised"):
            for text in row[name]:  # type: ignore[attr-defined]
                print(f"{name}: {row['assignment']}, {text}")


def main() -> int:
    """Measure what is named, or everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", nargs="*")
    parser.add_argument("--jobs", type=int, default=usable_cores())
    parser.add_argument("--each", type=int, default=1, help="one mutant in so many is diagnosed")
    parser.add_argument("--fresh", action="store_true", help="random edits in place of mutants")
    parser.add_argument("--count", type=int, default=500, help="random edits, in all")
    parser.add_argument("--seed", type=int, default=0, help="what random edits are drawn from")
    parser.add_argument("--keep", type=Path, help="a folder for what --fresh measured so far")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows, code = fresh(options) if options.fresh else automatic(options)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return code


def fresh(options: argparse.Namespace) -> tuple[list[Row], int]:
    """Measure random edits; return the rows and the exit code."""
    slugs = options.name or FRESH
    rows: list[Row] = []
    with choose_sandbox() as sandbox, kept_in(options.keep) as folder:
        for place, slug in enumerate(slugs):
            # Of one that has fewer edits, the others have the rest.
            count = -(-(options.count - sum(map(_mistakes, rows))) // (len(slugs) - place))
            journal = Journal(folder / slug, json.dumps([options.seed]))
            rows.append(measure_fresh(slug, count, options, sandbox, journal))
    return rows, print_fresh(rows)


def _mistakes(row: Row) -> int:
    count = row["mistakes"]
    assert isinstance(count, int)
    return count


def automatic(options: argparse.Namespace) -> tuple[list[Row], int]:
    """Measure automatic mutants; return the rows and the exit code."""
    rows = []
    with choose_sandbox() as sandbox:
        for name in options.name or [*OTHERS, *SLUGS]:
            if name in OTHERS:
                rows.append(OTHERS[name]())
                continue
            start = time.perf_counter()
            found = Trial(name, sandbox, options.jobs, options.each).diagnosed()
            rows.append(measure(name, found, time.perf_counter() - start))
    print_table(rows)
    return rows, int(any(row["right share"] < BAR for row in rows))  # type: ignore[operator]


if __name__ == "__main__":
    sys.exit(main())
