"""How often the step that a diagnosis names is the one with the mistake, for all automatic mutants.

What is run is the same as in tests/diagnosis; here all that was missed is told. "construction"
are models that cannot be built: of them, the line is the step; "schedules" are schedules that
change the result. Exit code 1: of some mutants, the right step was named for less than nine in ten.

    python benchmarks/diagnosis.py [ASSIGNMENT|construction|schedules ...] [--jobs 2] [--each N]
        [--json FILE]
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

from grader.course import load_course
from grader.environment import usable_cores
from grader.sandbox.choose import choose_sandbox
from tests.accuracy import construction, schedules
from tests.accuracy.accuracy import BAR, ROOT, SLUGS, Found, Trial, share
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
    parser.add_argument("name", nargs="*", default=[*OTHERS, *SLUGS])
    parser.add_argument("--jobs", type=int, default=usable_cores())
    parser.add_argument("--each", type=int, default=1, help="one mutant in so many is diagnosed")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with choose_sandbox() as sandbox:
        for name in options.name:
            if name in OTHERS:
                rows.append(OTHERS[name]())
                continue
            start = time.perf_counter()
            found = Trial(name, sandbox, options.jobs, options.each).diagnosed()
            rows.append(measure(name, found, time.perf_counter() - start))
    print_table(rows)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return int(any(row["right share"] < BAR for row in rows))  # type: ignore[operator]


if __name__ == "__main__":
    sys.exit(main())
