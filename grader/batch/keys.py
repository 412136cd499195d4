"""By what a stored report is known to be today's: the key of a grading, and what was asked for.

Nothing is started for it. What decides beside the file is in `grading_basis`; what it is worth in
`rubric_digest`. An isolation counts that is as strong as the assignment asks for.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grader.assignment import Assignment
from grader.course import Chooser, Course
from grader.data import resolve_data
from grader.data.resolve import FolderPictures
from grader.environment import describe_environment
from grader.errors import GraderError
from grader.grading.preparation import GradingOptions, grading_basis
from grader.grading.rescoring import rescored, rubric_digest
from grader.progress import Silent
from grader.report import Report
from grader.sandbox.interface import LEVELS

if TYPE_CHECKING:  # with the library of databases
    from grader.gradebook.rows import StoredGrading


def accepts(found: Report | StoredGrading, seed: int | None, dialect: str) -> bool:
    """Say whether a seed and a dialect that are asked for are those of a grading."""
    return seed in (None, found.seed) and dialect in ("auto", found.dialect)


def current_report(
    report: Report, sha256: str, assignment: Assignment, basis: str
) -> Report | None:
    """Return a report of just this file, on one basis (`grader.grading.preparation`), as it is.

    In another rubric, it is counted anew. None where the file has to be graded.
    """
    graded = (report.assignment.slug, report.submission.sha256, report.basis)
    if graded != (assignment.slug, sha256, basis):
        return None
    return report if report.rubric == rubric_digest(assignment) else rescored(report, assignment)


def named(report: Report, name: str) -> Report:
    """Return a report of a file of this name."""
    submission = msgspec.structs.replace(report.submission, name=name)
    return msgspec.structs.replace(report, submission=submission)


class Key(NamedTuple):
    """An assignment as it is today: with the digests of what decides, and of the rest."""

    assignment: Assignment
    basis: str
    rubric: str


class Keys:
    """The keys of a course's assignments, each worked out when it is first asked for."""

    def __init__(
        self, course: Course, options: GradingOptions, pictures: FolderPictures | None = None
    ) -> None:
        """`pictures` has the images of a folder of data from then, for whoever grades after."""
        self.course = course
        self._options = options
        self._pictures = pictures or FolderPictures()
        self._known: dict[str, Key | None] = {}

    def of(self, slug: str) -> Key | None:
        """Return the key of an assignment or variant; None without it or its data."""
        if slug not in self._known:
            try:
                self._known[slug] = self._make(slug)
            except GraderError:  # whoever grades it says what is wrong
                self._known[slug] = None
        return self._known[slug]

    def holds(self, found: StoredGrading) -> bool:
        """Say whether a grading would come out alike today, but for its points."""
        key, asked = self.of(found.slug), self._options
        if key is None or not found.settled or found.basis != key.basis:
            return False
        if found.level not in LEVELS or asked.sandbox not in (None, found.level):
            return False
        is_isolated = LEVELS.index(found.level) <= LEVELS.index(key.assignment.sandbox.minimum)
        return is_isolated and accepts(found, asked.seed, asked.dialect)

    @property
    def chooser(self) -> Chooser:
        """Who says which assignment those are that `chooses` takes."""
        return "metadata" if self._options.assignment is None else "command"

    def chooses(self, found: StoredGrading) -> bool:
        """Say whether its file would be graded as the same assignment today.

        Where nobody names one, a notebook's metadata say so; what its entry points say takes
        reading it.
        """
        demanded = self._options.assignment
        if demanded is not None:
            return found.slug == demanded
        return found.chosen_by == "metadata" and found.slug in self.course.assignments

    def _make(self, slug: str) -> Key:
        chosen, options = self.course.get(slug), self._options
        data = resolve_data(
            chosen.assignment.data,
            directory=options.data,
            environment=os.environ,
            progress=Silent(),
            pictures=self._pictures,
        )
        basis = grading_basis(chosen, data, describe_environment(), preamble=options.preamble)
        return Key(chosen.assignment, basis, rubric_digest(chosen.assignment))
