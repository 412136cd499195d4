"""Collecting in tests: one reading process for all of them, and what came of an archive."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

from grader.lms.choices import Layout
from grader.lms.collect import CollectedStudent, CollectOutcome, CollectRequest, collect_class
from grader.lms.roster import Roster
from grader.reading.reader import SubmissionReader


@functools.cache
def shared_reader() -> SubmissionReader:
    """Return the process that unpacks in all tests; it ends with them."""
    return SubmissionReader()


def collect(
    source: Path, output: Path, roster: Roster | None = None, layout: Layout | None = None
) -> CollectOutcome:
    """Collect one source."""
    return collect_class(CollectRequest((source,), output, layout), roster, reader=shared_reader())


def contents(output: Path, student: CollectedStudent) -> set[str]:
    """Return what is in the files of all attempts of a student."""
    files: Iterable[Path] = (
        path for each in student.attempts for path in (output / each.folder).rglob("*")
    )
    return {path.read_text(errors="replace") for path in files if path.is_file()}


def reasons(outcome: CollectOutcome) -> dict[str, str]:
    """Return why what is left out is."""
    told = {each.name: str(each.reason) for each in outcome.collected.left_out}
    for student in outcome.collected.students:
        for attempt in student.attempts:
            told |= {f"{student.folder}/{e.name}": str(e.reason) for e in attempt.left_out}
    return told | dict.fromkeys(outcome.collected.strangers, "stranger")
