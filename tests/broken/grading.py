"""Grading cases with the real command line, and looking what it leaves behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from grader.report import decode_report
from tests.broken import files
from tests.broken.cases import Case
from tests.endtoend.command import GRADER, ROOT, Result

TIME_LIMIT = 90.0
REAPER = Path(__file__).with_name("reaper.py")
ASSIGNMENT = ROOT / "tests" / "courses" / "small" / "assignments" / "tight"
LEVEL = os.environ.get("GRADER_TEST_LEVEL", "")
"""The isolation to grade with; empty for the strongest that there is."""


@dataclass(frozen=True)
class Graded:
    """A run of the command, the processes that outlived it, and the files that it forgot."""

    result: Result
    survivors: str
    leftovers: tuple[str, ...]


def make_course(folder: Path) -> Path:
    """Make a course of this one assignment, so that its entry points tell which it is."""
    shutil.copytree(ASSIGNMENT, folder / "assignments" / "tight")
    return folder


def grade_case(case: Case, folder: Path, course: Path) -> Graded:
    """Write the submission into `folder` and grade it there."""
    folder.mkdir()
    submission = folder / "submission.ipynb"
    submission.write_bytes(getattr(files, case.file)(case.sources))
    report, listing = folder / "report.json", folder / "survivors.txt"
    words = ["run", submission, "--course", course, "--json", report, "--seed", "7"]
    words += ["--assignment", "tight"] if case.demanded else []
    words += ["--sandbox", LEVEL] if LEVEL else []
    temporary = Path(tempfile.mkdtemp(prefix="b-"))  # short: sockets are bound in it
    try:
        done = subprocess.run(
            [sys.executable, REAPER, str(TIME_LIMIT), listing, GRADER, *words],
            capture_output=True,
            text=True,
            errors="replace",
            cwd=folder,
            env={**os.environ, "COLUMNS": "100", "TMPDIR": str(temporary)},
        )
        leftovers = tuple(sorted(path.name for path in temporary.iterdir()))
    finally:
        shutil.rmtree(temporary)
    submission.unlink()
    document = decode_report(report.read_bytes()) if report.exists() else None
    result = Result(done.returncode, done.stdout, done.stderr, document)
    return Graded(result, listing.read_text(), leftovers)
