"""Search for what no test has drawn yet: other programs, inputs and archives each night.

    python tools/nightly.py [--output build/nightly] [--seed 20261129] [--only NAME]

Each search is a benchmark. NAME.txt in the output is what it said, NAME.json what it found. All
run, whatever one finds. Exit code 1 where one of them failed: a proven program read or wrote
outside its buffers, a decoder raised what it must not, an archive took more than it may.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"

SECONDS = 4500.0
"""What a search may take by the clock: one that hangs must not cost the others."""


class Search(NamedTuple):
    """A search: the name of its output, its program in `benchmarks/`, and arguments.

    `{seed}` in an argument is this night's.
    """

    name: str
    program: str
    arguments: tuple[str, ...] = ()


SEARCHES = (
    Search("guards", "guarded_programs.py", ("--count", "2000", "--seed", "{seed}")),
    Search("decoders", "decoders.py"),
    Search("archives", "hostile_files.py", ("--archives",)),
    Search("collecting", "collecting.py"),
)


def run_search(search: Search, output: Path, seed: int, seconds: float = SECONDS) -> str:
    """Run a search, keep what it says, and return why it failed, empty where it did not."""
    words = [each.format(seed=seed) for each in search.arguments]
    found = ("--json", str(output / f"{search.name}.json"))
    command = [sys.executable, str(BENCHMARKS / search.program), *words, *found]
    with (output / f"{search.name}.txt").open("wb") as said:
        try:
            done = subprocess.run(
                command, stdout=said, stderr=subprocess.STDOUT, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return f"not done after {seconds:.0f} s"
    return f"exit code {done.returncode}" if done.returncode else ""


def run(searches: Sequence[Search], output: Path, seed: int, seconds: float = SECONDS) -> int:
    """Run all searches, and print a line for each. Returns 1 where one failed."""
    output.mkdir(parents=True, exist_ok=True)
    print(f"seed {seed}, output in {output}", flush=True)
    status = 0
    for search in searches:
        begin = time.monotonic()
        failure = run_search(search, output, seed, seconds)
        took = time.monotonic() - begin
        print(f"{search.name:12} {took:7.0f} s  {failure or 'nothing found'}", flush=True)
        if failure:
            print((output / f"{search.name}.txt").read_text(errors="replace"), flush=True)
            status = 1
    return status


def main() -> int:
    """Run the searches of this night."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("build/nightly"))
    parser.add_argument(
        "--seed", type=int, default=int(f"{datetime.now(timezone.utc):%Y%m%d}"), help="this day's"
    )
    parser.add_argument("--only", choices=[each.name for each in SEARCHES])
    arguments = parser.parse_args()
    searches = [each for each in SEARCHES if arguments.only in (None, each.name)]
    return run(searches, arguments.output, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
