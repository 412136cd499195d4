"""How long `grader similar` takes, what memory, and what it finds of planted copies.

    python benchmarks/similarity.py --students 100 300 1000

Each class is made up by tools/plant_class.py: honest notebooks of random choices that share a
handout, and copies of some of them in six ways. It is compared in a process of its own, whose
memory is that of its end.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from grader.similarity.fragments import given_keys, writing_of
from grader.similarity.pairs import compare

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]


def measure(students: int, copies: int) -> dict[str, Any]:
    """Return seconds, megabytes, how many copies of each kind were found, and false pairs."""
    from plant_class import make_class
    from planted_notebooks import handout

    made = make_class(students, copies)
    wall, processor = time.perf_counter(), time.process_time()
    writings = [writing_of(each.id, each.id, "", each.cells) for each in made.students]
    found = compare("made-up", writings, given_keys(handout()))
    seconds = time.perf_counter() - wall, time.process_time() - processor
    pairs = [frozenset((each.one, each.other)) for each in found.pairs]
    planted = Counter(made.copies.values())
    hits = Counter(made.copies[pair] for pair in pairs if pair in made.copies)
    return {
        "students": students,
        "seconds": round(seconds[0], 2),
        "processor_seconds": round(seconds[1], 2),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "found": {kind: f"{hits[kind]} of {count}" for kind, count in planted.items()},
        "false_among_first_ten": sum(pair not in made.copies for pair in pairs[:10]),
        "false": sum(pair not in made.copies for pair in pairs),
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure classes of several sizes, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--copies", type=int, default=60)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    for students in options.students:
        if options.here:
            print(json.dumps(measure(students, min(options.copies, students // 3))))
            continue
        words = [sys.executable, __file__, "--here", "--students", str(students)]
        words += ["--copies", str(options.copies)]
        subprocess.run(words, check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
