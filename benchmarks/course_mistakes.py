"""How long it takes to name a mistake of an instructor's: each of those of `tests/mistakes`.

    python benchmarks/course_mistakes.py [--json FILE]

Each is made in the assignment that `grader new` writes, and looked for as `lint` and `verify` do
before anything else, in a process that has imported PyTorch already: that is the work of their own.
Then `grader lint` is run as a command, with all that it imports. The exit code is 1 if a mistake
took longer than a second.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from grader.authoring.skeleton import make_assignment
from grader.evidence import registry
from tests.mistakes.test_mistakes import GRADER, MADE, found_in, write

MOST_SECONDS = 1.0


def main() -> int:
    """Run the benchmark; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        sound = _sound(root / "sound")
        seconds = {name: _timed(root / name, sound, name) for name in MADE}
        command = _command(root / "sound")
    for name, each in sorted(seconds.items(), key=lambda pair: -pair[1]):
        print(f"{1000 * each:8.0f} ms  {name}")
    worst, median = max(seconds.values()), statistics.median(seconds.values())
    print(f"{len(seconds)} mistakes: median {1000 * median:.0f} ms, worst {1000 * worst:.0f} ms")
    print(f"`grader lint` as a command, with its imports: {command:.1f} s")
    if options.json:
        options.json.write_text(json.dumps({"seconds": seconds, "command": command}, indent=2))
    return int(worst > MOST_SECONDS)


def _sound(root: Path) -> dict[str, bytes]:
    """Write a new assignment; return its files by their paths, with PyTorch imported."""
    made = make_assignment(root, "layer", ["en"])
    assert not found_in(root)
    return {str(path.relative_to(root)): path.read_bytes() for path in made}


def _timed(root: Path, sound: dict[str, bytes], name: str) -> float:
    """Return how long it takes to find a mistake, in seconds."""
    write(root, sound, MADE[name])
    kinds = dict(registry._KINDS)
    start = time.perf_counter()
    found = found_in(root)
    taken = time.perf_counter() - start
    registry._KINDS.clear()
    registry._KINDS.update(kinds)
    if not found:
        sys.exit(f"{name} was not found")
    return taken


def _command(root: Path) -> float:
    """Return how long `grader lint` takes, in seconds."""
    start = time.perf_counter()
    subprocess.run([str(GRADER), "lint", "layer"], cwd=root, check=True, capture_output=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
