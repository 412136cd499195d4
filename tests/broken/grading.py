"""Grading cases with the real command line, all of a kind in one batch."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.broken import files
from tests.broken.cases import Case, load_case
from tests.endtoend.batches import GradedBatch, grade_batch
from tests.endtoend.command import ROOT

ASSIGNMENT = ROOT / "tests" / "courses" / "small" / "assignments" / "tight"


def make_course(folder: Path) -> Path:
    """Make a course of this one assignment, so that its entry points tell which it is."""
    shutil.copytree(ASSIGNMENT, folder / "assignments" / "tight")
    return folder


def grade_cases(names: Iterable[str], folder: Path, course: Path) -> dict[str, GradedBatch]:
    """Grade cases; return for each the batch that it was in."""
    cases = {name: load_case(name) for name in names}
    batches: dict[str, GradedBatch] = {}
    for demanded in (False, True):
        chosen = {name: case for name, case in cases.items() if case.demanded is demanded}
        if chosen:
            graded = _grade(chosen, folder / f"demanded-{demanded}", course, demanded)
            batches.update(dict.fromkeys(chosen, graded))
    return batches


def _grade(cases: dict[str, Case], folder: Path, course: Path, demanded: bool) -> GradedBatch:
    folder.mkdir()
    contents = {name: getattr(files, case.file)(case.sources) for name, case in cases.items()}
    options = ["--assignment", "tight"] if demanded else []
    return grade_batch(folder, contents, "--course", course, "--seed", "7", *options)
