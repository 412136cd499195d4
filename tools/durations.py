"""Print how long the tests of a run took: by file, and the slowest.

    python tools/durations.py build/durations/first.xml ...

The files are those that `make test` and `make test-all` write. A run of several processes on a busy
machine measures the machine as well: compare figures of one run. tests/second_ring.txt says which
tests the first ring leaves out; what is moved there, or back, is moved by this.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

SHOWN = 40


class Duration(NamedTuple):
    """How long a test took, in seconds: its fixtures, its call, and what it tidied up."""

    module: str
    name: str
    seconds: float


def read_durations(path: Path) -> Iterator[Duration]:
    """Yield the durations of a JUnit file that pytest wrote."""
    for case in ElementTree.parse(path).iter("testcase"):
        module = case.get("classname", "")
        yield Duration(module, case.get("name", ""), float(case.get("time", 0)))


def by_file(durations: Iterable[Duration]) -> list[tuple[str, float]]:
    """Return the seconds of each module or class of tests, the most first."""
    total: dict[str, float] = {}
    for each in durations:
        total[each.module] = total.get(each.module, 0.0) + each.seconds
    return sorted(total.items(), key=lambda item: -item[1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--shown", type=int, default=SHOWN, help="rows of each table")
    arguments = parser.parse_args()
    found = [each for path in arguments.files for each in read_durations(path)]
    total = sum(each.seconds for each in found)
    print(f"{len(found)} tests, {total:.0f} s of all processes together")
    for module, seconds in by_file(found)[: arguments.shown]:
        print(f"{seconds:8.1f}  {module}")
    print()
    for each in sorted(found, key=lambda each: -each.seconds)[: arguments.shown]:
        print(f"{each.seconds:8.1f}  {each.module}::{each.name}")


if __name__ == "__main__":
    main()
