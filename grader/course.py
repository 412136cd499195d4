"""A course: a folder with `assignments/`, such as this repository or an instructor's own folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Literal

import msgspec

from grader.assignment import Assignment
from grader.assignment_files import (
    GIVEN_FILE,
    GivenForms,
    find_line,
    load_assignment,
    load_given,
    load_variant,
)
from grader.course_code import guarded_oracle, import_file
from grader.course_folder import assignment_files, course_folder, variant_files
from grader.errors import CourseError, Mistake, MistakeError, UsageError
from grader.language import NOTHING, Text, clause, join, say
from grader.reading.submission import SubmissionFile, defined_names
from grader.sandbox.layout import is_for_packages


class CourseAssignment(msgspec.Struct, frozen=True):
    """An assignment and the folder it lives in.

    `variant` is the folder of a variant: its files stand in place of those of the same name.
    """

    assignment: Assignment
    folder: Path
    variant: Path | None = None

    def file(self, name: str) -> Path:
        """Return the path of one of its files, whether it is there or not."""
        own = None if self.variant is None else self.variant / name
        return own if own is not None and own.exists() else self.folder / name

    def load_oracle(self) -> ModuleType:
        """Import the assignment's `oracle.py`: trusted code of the course, for the referee only."""
        path = self.file("oracle.py")
        module = import_file(path, f"oracle_{self.assignment.slug}")
        return guarded_oracle(module, path, self.assignment)

    def load_checks(self) -> None:
        """Import `checks.py`, if there is one: kinds of checks that the course adds."""
        if self.file("checks.py").exists():
            import_file(self.file("checks.py"), f"checks_{self.assignment.slug}")

    def load_models(self) -> ModuleType:
        """Import `models.py`: the PyTorch models that importers are tried on."""
        return import_file(self.file("models.py"), f"models_{self.assignment.slug}")

    def models(self) -> str:
        """Text of `models.py`, which the student's kernel executes; empty when there is none."""
        path = self.file("models.py")
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def given(self) -> GivenForms:
        """Forms of what the assignment gives, from `given.json`. Raises CourseError."""
        return load_given(self.file(GIVEN_FILE).parent)

    def workload(self) -> str:
        """Text of `workload.py`, which a runner executes; empty when nothing is timed."""
        path = self.file("workload.py")
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def library(self) -> str | None:
        """Text of `library.py`, which a process with PyTorch executes; None when there is none."""
        path = self.file("library.py")
        return path.read_text(encoding="utf-8") if path.exists() else None


class Course(msgspec.Struct, frozen=True):
    """All assignments below one folder, by slug.

    `variants` are asked for and never recognised: which rubric holds is not the student's to say.
    Their slugs are those of their assignments with the variant's name behind.
    """

    root: Path
    assignments: dict[str, CourseAssignment]
    variants: dict[str, CourseAssignment] = {}

    @property
    def folders(self) -> tuple[Path, ...]:
        """What no submission may read: all of it, or what is its own among installed packages."""
        return (self.root / "assignments" if is_for_packages(self.root) else self.root,)

    @property
    def slugs(self) -> frozenset[str]:
        """The slugs of all assignments and variants."""
        return frozenset((*self.assignments, *self.variants))

    def get(self, slug: str) -> CourseAssignment:
        """Return one assignment or variant. Raises UsageError that lists what there is."""
        found = self.assignments | self.variants
        if slug not in found:
            known = ", ".join(sorted(found)) or "none"
            raise UsageError(
                say("there-no-assignment-called-in", slug=slug, folder=str(self.root.resolve())),
                say("known", known=known),
            )
        return found[slug]

    def meant(self, word: str) -> tuple[CourseAssignment, ...]:
        """Return one assignment or variant, or all variants of a name. Raises UsageError."""
        return self._called(word) or (self.get(word),)

    def possible(self, demanded: str | None) -> tuple[CourseAssignment, ...]:
        """Return what submissions may be of: what a word means, or all. Raises UsageError."""
        return tuple(self.assignments.values()) if demanded is None else self.meant(demanded)

    def is_name_of_variants(self, word: str) -> bool:
        """Say whether variants are called by a word, whichever assignment they are of."""
        return bool(self._called(word))

    def _called(self, word: str) -> tuple[CourseAssignment, ...]:
        every = self.variants.values()
        return tuple(each for each in every if each.variant and each.variant.name == word)


def load_course(root: Path) -> Course:
    """Load every `assignments/<slug>/assignment.toml` below `root`. Raises CourseError."""
    found: dict[str, CourseAssignment] = {}
    variants: dict[str, CourseAssignment] = {}
    for path in assignment_files(root):
        assignment = load_assignment(path)
        if assignment.slug != path.parent.name:
            told = say(
                "folder-contains-assignment-named",
                path=str(path.parent.name),
                slug=str(assignment.slug),
            )
            line = find_line(path.read_text(encoding="utf-8"), "`slug`")
            hint = say("give-both-same-name")
            raise MistakeError(Mistake("folder_name", path, line, told, hint))
        found[assignment.slug] = CourseAssignment(assignment, path.parent)
        for file in variant_files(path):
            slug = f"{assignment.slug}-{file.parent.name}"
            variant = load_variant(file, path, slug)
            variants[slug] = CourseAssignment(variant, path.parent, file.parent)
    if not found:
        raise CourseError(say("no-assignment-found"), say("run-in-course-folder-or-name-one"))
    return Course(root, found, variants)


def find_course(explicit: Path | None, near: Iterable[Path]) -> Course:
    """Load the course that was named, else the first in or above `near`, else the built-in one."""
    return load_course(course_folder(explicit, near))


Chooser = Literal["command", "metadata", "entry points"]
"""Who says which assignment a submission is: the command line, or what the student wrote."""


def who_chose(submission: SubmissionFile, chosen: Assignment, demanded: str | None) -> Chooser:
    """Say what made `choose_assignment` choose as it did.

    Who demands the variants of a name alone leaves it to the notebook of which assignment.
    """
    if demanded == chosen.slug:
        return "command"
    declared = submission.declared_assignment
    slug = declared if demanded is None else f"{declared}-{demanded}"
    return "metadata" if slug == chosen.slug else "entry points"


def choose_assignment(
    course: Course, submission: SubmissionFile, demanded: str | None
) -> tuple[CourseAssignment, Text]:
    """Return the assignment to grade, and a note for the report where one is due.

    What the command line demands counts most: a notebook's metadata is the student's to change.
    Where it is the name of variants, the notebook says of which assignment.
    Then the metadata, then the entry points that the cells define. Raises UsageError when nothing
    decides.
    """
    declared = submission.declared_assignment
    if demanded is not None and course.is_name_of_variants(demanded):
        chosen, note = choose_assignment(course, submission, None)
        return course.get(f"{chosen.assignment.slug}-{demanded}"), note
    if demanded is not None:
        chosen = course.get(demanded)
        if declared not in (None, demanded, chosen.folder.name):
            return chosen, say("notebook-names-graded", declared=declared, demanded=demanded)
        return chosen, NOTHING
    if declared in course.assignments:
        return course.assignments[declared], NOTHING
    return _by_entry_points(course, submission, declared)


def _by_entry_points(
    course: Course, submission: SubmissionFile, declared: str | None
) -> tuple[CourseAssignment, Text]:
    recognised = recognise(course, defined_names(submission.sources))
    if recognised is not None:
        if declared is None:
            return recognised, say("assignment-recognised-by-entry-points-notebooks-metadata-do")
        return recognised, say(
            "assignment-recognised-by-entry-points-notebooks-metadata", declared=declared
        )
    known = ", ".join(sorted(course.assignments))
    if submission.problem:
        raise UsageError(
            say("cannot-graded", submission=submission.name, reason=clause(submission.problem)),
            join(submission.hint, say("with-assignment-slug-gets-report")),
        )
    raise UsageError(
        say("no-assignment-found-does-not-name-one", submission=str(submission.name)),
        say("name-with-assignment-slug", known=str(known)),
    )


def recognise(course: Course, names: frozenset[str]) -> CourseAssignment | None:
    """Return the assignment whose entry points are among a notebook's names, if it is only one."""
    found = {slug: _entries_in(each, names) for slug, each in course.assignments.items()}
    most = max(found.values(), default=0)
    matching = [course.assignments[slug] for slug, count in found.items() if 0 < count == most]
    return matching[0] if len(matching) == 1 else None


def _entries_in(candidate: CourseAssignment, names: frozenset[str]) -> int:
    """Return how many parts' entry points are among the names; a name of a schedule says nothing.

    Assignments of one course share names: the one that most of whose parts are there is meant.
    """
    return sum(
        any(map(part.asks_for, names))
        for part in candidate.assignment.part
        if part.entry_kind not in ("schedule", "space")
    )
