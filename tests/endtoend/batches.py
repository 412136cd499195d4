"""Grading many submissions by the real command line, and looking what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.report import Report, decode_report
from tests.endtoend.command import GRADER, ROOT, Result
from tests.endtoend.examples import brisk_course

REAPER = Path(__file__).with_name("reaper.py")
TIME_LIMIT = 3600.0
"""Seconds after which a batch hangs. Where a dozen others are at work, two hundred submissions take
more than twenty minutes."""

LEVEL = os.environ.get("GRADER_TEST_LEVEL", "")
"""The isolation to grade with; empty for the strongest that there is."""

TIMED_SECONDS = 3
"""How long a schedule is timed at first: enough for a verdict that leaves some room."""

TRIES = 3
"""How often a submission is graded before the machine counts as too busy to time it."""


@dataclass(frozen=True)
class GradedBatch:
    """What a batch came to.

    `reports` are by the submissions' names, `survivors` lists the processes that outlived it,
    `leftovers` the files that it forgot.
    """

    code: int
    output: str
    messages: str
    reports: Mapping[str, Report]
    survivors: str
    leftovers: tuple[str, ...]

    def result(self, name: str) -> Result:
        """Return what one of its submissions came to; code and output are those of all."""
        return Result(self.code, self.output, self.messages, self.reports.get(name))


def grade_batch(
    folder: Path,
    submissions: Mapping[str, bytes],
    *options: str | Path,
    environment: Mapping[str, str] | None = None,
) -> GradedBatch:
    """Write submissions ("group/name", content) below `folder` and grade them side by side.

    Names that end in `.py` or `.md` are files of that kind, which a folder is not searched for.
    """
    inputs, output, listing = folder / "in", folder / "out", folder / "survivors.txt"
    texts = [inputs / name for name in submissions if name.endswith((".py", ".md"))]
    for name, content in submissions.items():
        path = inputs / name
        path = path if path in texts else path.with_name(f"{path.name}.ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    words = ["batch", inputs, *texts, "--output", output, "--data", "builtin", *options]
    words += ["--sandbox", LEVEL] if LEVEL else []
    with tempfile.TemporaryDirectory(prefix="b-", dir="/tmp") as temporary:  # short: for sockets
        Path(temporary).chmod(0o711)  # a sandbox's own user has to come through
        done = subprocess.run(
            [sys.executable, REAPER, str(TIME_LIMIT), listing, GRADER, *map(str, words)],
            capture_output=True,
            text=True,
            errors="replace",
            cwd=folder,
            env={**os.environ, "COLUMNS": "100", "TMPDIR": temporary, **(environment or {})},
        )
        leftovers = tuple(sorted(path.name for path in Path(temporary).iterdir()))
    reports = {name: _report(output / f"{name}.json") for name in submissions}
    found = {name: report for name, report in reports.items() if report is not None}
    survivors = listing.read_text()
    return GradedBatch(done.returncode, done.stdout, done.stderr, found, survivors, leftovers)


def grade_timed(
    folder: Path,
    submissions: Mapping[str, bytes],
    *options: str | Path,
    environment: Mapping[str, str] | None = None,
) -> GradedBatch:
    """Grade what is timed: first in a course which measures for less time than ours.

    What the machine was too busy to measure is graded again as a student's would be: neighbours of
    a virtual machine hold it back for seconds, which ours waits for and the brisk course does not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    brisk = brisk_course(folder, TIMED_SECONDS)
    batch = grade_batch(folder, submissions, "--course", brisk, *options, environment=environment)
    for number in range(1, TRIES):
        waiting = [name for name, each in batch.reports.items() if is_too_busy(each)]
        if not waiting:
            break
        again = grade_batch(
            folder / f"again-{number}",
            {name: submissions[name] for name in waiting},
            *("--course", ROOT, *options),
            environment=environment,
        )
        batch = _joined(batch, again)
    return batch


def _joined(earlier: GradedBatch, later: GradedBatch) -> GradedBatch:
    """Return two batches as one, in which later reports count."""
    return GradedBatch(
        earlier.code or later.code,
        earlier.output + later.output,
        earlier.messages + later.messages,
        {**earlier.reports, **later.reports},
        earlier.survivors + later.survivors,
        earlier.leftovers + later.leftovers,
    )


def is_too_busy(report: Report) -> bool:
    """Say whether the machine did too much else to measure a submission."""
    return any(check.code == "busy" for part in report.parts for check in part.checks)


def require_measured(report: Report) -> None:
    """Skip a test whose verdict the machine was too busy to measure, each time that it was tried.

    The grader does what it should then: it says so, and gives no points by luck.
    """
    if is_too_busy(report):
        pytest.skip(f"the machine was too busy to time it, {TRIES} times: run it when it is quiet")


def _report(path: Path) -> Report | None:
    return decode_report(path.read_bytes()) if path.exists() else None
