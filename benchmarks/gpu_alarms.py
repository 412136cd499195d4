"""How many right kernels get an alarm, and how many faults of synchronisation are named.

    python benchmarks/gpu_alarms.py [--each N] [--json FILE]

Right schedules of many kinds are executed as the grader executes them, then fifty kernels in which
one barrier was removed, moved, doubled or put into a condition, or two buffers into one memory. A
fault counts as named where what is told first is that fault, with the statements around it; of a
doubled barrier, that it is waste. `--each` takes so many of each kind of fault, and of the right
schedules. Takes a minute of a processor.

Printed as JSON: `right` schedules and how many of them had an `alarm`; for each kind of fault how
many were `made` and `named`. Exit code 1 where there was an alarm, or fewer than 48 of 50 named.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from itertools import groupby, islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from grader.evidence.gpu.inside.execution import Program
from grader.evidence.gpu.inside.lowering import lower
from tests.evidence.gpu.faulty import faulty, is_named
from tests.evidence.gpu.more_schedules import MORE
from tests.evidence.gpu.schedules import RIGHT, Example

BAR = 0.96


def has_alarm(example: Example) -> bool:
    """Say whether anything is found in a kernel."""
    arrays = example.arrays()
    lowered = lower(example.module, "main", "sm_80")
    program = Program(lowered.function, lowered.shapes)
    return bool(program.execute(arrays, [len(arrays) - 1]).findings)


def count_alarms(each: int) -> dict[str, object]:
    """Count the right schedules with an alarm."""
    made = list(islice({**RIGHT, **MORE}.items(), each))
    return {"right": len(made), "alarm": [name for name, make in made if has_alarm(make())]}


def count_named(each: int) -> dict[str, dict[str, object]]:
    """Count the faults of each kind that are named."""
    found: dict[str, dict[str, object]] = {}
    for kind, group in groupby(faulty(each), key=lambda one: one.kind):
        results = {f"{one.source}, line {one.mutant.line}": is_named(one) for one in group}
        missed = [name for name, named in results.items() if not named]
        found[kind] = {"made": len(results), "named": sum(results.values()), "missed": missed}
    return found


def _total(found: Iterable[dict[str, object]], key: str) -> int:
    return sum(each[key] for each in found if isinstance(each[key], int))  # type: ignore[misc]


def main() -> int:
    """Count, print, and compare with the bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", type=int, default=1000, help="Most of each kind.")
    parser.add_argument("--json", type=Path, help="Write the figures here as well.")
    options = parser.parse_args()
    faults = count_named(options.each)
    figures = {**count_alarms(options.each), "faults": faults}
    text = json.dumps(figures, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text, encoding="utf-8")
    missed = _total(faults.values(), "named") < BAR * _total(faults.values(), "made")
    return int(bool(figures["alarm"]) or missed)


if __name__ == "__main__":
    raise SystemExit(main())
