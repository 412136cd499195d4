"""Grading cases with the real command line, all of a kind in one batch."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tests.broken import files
from tests.broken.cases import Case, load_case
from tests.endtoend.batches import GradedBatch, grade_batch
from tests.endtoend.command import ROOT

ASSIGNMENT = ROOT / "tests" / "courses" / "small" / "assignments" / "tight"


SECONDS = {
    "cell_seconds = 5": "cell_seconds = 40",
    "notebook_seconds = 15": "notebook_seconds = 80",
}
"""Time for what has to come to a limit of another kind, on a machine that does other work too."""


def make_course(folder: Path, patient: bool) -> Path:
    """Make a course of this one assignment, so that its entry points tell which it is."""
    copy = shutil.copytree(ASSIGNMENT, folder / "assignments" / "tight") / "assignment.toml"
    text = copy.read_text()
    for short, ample in SECONDS.items() if patient else ():
        assert short in text
        text = text.replace(short, ample)
    copy.write_text(text)
    return folder


def grade_cases(names: Iterable[str], folder: Path) -> dict[str, GradedBatch]:
    """Grade cases; return for each the batch that it was in."""
    batches: dict[str, GradedBatch] = {}
    kinds: defaultdict[tuple[bool, bool], dict[str, Case]] = defaultdict(dict)
    for name in names:
        case = load_case(name)
        kinds[case.demanded, case.patient][name] = case
    for (demanded, patient), cases in kinds.items():
        place = folder / f"demanded-{demanded}-patient-{patient}"
        course = make_course(place / "course", patient)
        batches |= dict.fromkeys(cases, _grade(cases, place, course, demanded))
    return batches


def _grade(cases: dict[str, Case], folder: Path, course: Path, demanded: bool) -> GradedBatch:
    contents = {name: getattr(files, case.file)(case.sources) for name, case in cases.items()}
    options = ["--assignment", "tight"] if demanded else []
    return grade_batch(folder, contents, "--course", course, "--seed", "7", *options)
