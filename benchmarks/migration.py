"""What the migration of dialects adds to a submission, in milliseconds of one processor.

Measured are the files that are named; without any, the notebooks in `examples/` and `templates/`,
which are in today's spelling, and, where GRADER_COURSE_TEXTS names a folder of texts, the code
blocks of each. The import, which a command pays once, is measured apart. The bar is 200 ms for a
submission.

    python benchmarks/migration.py [--repeat 5] [FILE ...]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from grader.reading.documents import migrate_document  # noqa: E402

BAR_MS = 200.0
IMPORT = """
import time
import msgspec, nbformat
start = time.process_time()
import grader.dialects.migration
print((time.process_time() - start) * 1000)
"""


def import_ms() -> float:
    """Return what the import costs in a process that has the grader's other packages."""
    command = [sys.executable, "-c", IMPORT]
    result = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    return float(result.stdout)


def migration_ms(path: Path, repeat: int) -> list[float]:
    """Return the times of several migrations of a file."""
    content = path.read_bytes()
    suffix = path.suffix
    times = []
    for _ in range(repeat):
        start = time.process_time()
        migrate_document(content, suffix)
        times.append((time.process_time() - start) * 1000)
    return times


def subjects() -> list[Path]:
    """Return the files that are measured where none is named."""
    folder = os.environ.get("GRADER_COURSE_TEXTS")
    texts = sorted(path for path in Path(folder).glob("0*") if path.is_file()) if folder else []
    notebooks = [*(ROOT / "templates").glob("*.ipynb"), *(ROOT / "examples").glob("*/*.ipynb")]
    return [*texts, *sorted(notebooks)]


def main() -> None:
    """Print a line for each file, and the slowest one against the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    repeat: int = arguments.repeat
    print(f"import {statistics.median(import_ms() for _ in range(repeat)):.0f} ms")
    slowest = 0.0
    for path in arguments.files or subjects():
        first, *others = migration_ms(path, repeat + 1)
        median = statistics.median(others)
        slowest = max(slowest, first)
        print(f"{path.name}: {median:.0f} ms, {first:.0f} ms the first time")
    verdict = "within" if slowest < BAR_MS else "over"
    print(f"the slowest took {slowest:.0f} ms, {verdict} the bar of {BAR_MS:.0f} ms")


if __name__ == "__main__":
    main()
