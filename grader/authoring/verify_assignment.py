"""`grader.verify`, and what it shares with the command: one assignment, verified."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from grader.authoring.kept import kept_results
from grader.authoring.mistakes import find_mistakes
from grader.authoring.subject import Notebooks
from grader.authoring.verify import Verifier
from grader.authoring.verify_result import Verification
from grader.course import Course, CourseAssignment, find_course
from grader.environment import usable_cores
from grader.errors import Mistake, MistakeError
from grader.grading.preparation import GradingOptions, open_settings
from grader.language import join, say
from grader.progress import Progress, Silent
from grader.sandbox.interface import Level


def verify(
    assignment: str,
    *,
    course: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    sandbox: Level | None = None,
    quick: bool = False,
    jobs: int | None = None,
    everything: bool = False,
    progress: Progress | None = None,
) -> Verification:
    """Verify one assignment or variant of a course, as `grader verify` does. Returns all findings.

    `passed` of the result says whether the assignment is sound: its reference gets all points, the
    empty template none, and every mutant of the reference loses some. `quick` measures no speed.
    `jobs` mutants are judged at a time, by default one for each processor. Results of an earlier
    verification are reused where nothing that they depend on has changed, unless `everything`. The
    other arguments are those of `grade`.

    Raises CourseError for a mistake in the assignment's files, and GraderError, with a `hint` of
    what to do next, where nothing can be verified.
    """
    options = GradingOptions(
        data=None if data is None else os.fspath(data),
        seed=seed,
        course=None if course is None else Path(course),
        sandbox=sandbox,
    )
    found = find_course(options.course, (Path.cwd(),))
    chosen = found.get(assignment)
    mistakes = find_mistakes(chosen, found.root)
    for each in mistakes:
        if each.severity == "error":
            raise MistakeError(each)
    choices = VerifyChoices(timed=not quick, jobs=jobs, everything=everything)
    return verify_assignment(found, chosen, options, choices, mistakes, progress or Silent())


class VerifyChoices(NamedTuple):
    """Choices of a verification, beside the options of a grading."""

    timed: bool = True
    jobs: int | None = None
    everything: bool = False


def verify_assignment(
    course: Course,
    chosen: CourseAssignment,
    options: GradingOptions,
    choices: VerifyChoices,
    warnings: Iterable[Mistake],
    progress: Progress,
) -> Verification:
    """Verify an assignment whose files have at most `warnings`. Raises GraderError."""
    notebooks = Notebooks(course.root, chosen)
    slug, is_read = chosen.assignment.slug, not choices.everything
    with open_settings(options, course, [chosen], ()) as settings:
        level = settings.sandbox.level
        verifier = Verifier(
            chosen,
            notebooks,
            settings,
            timed=choices.timed,
            jobs=choices.jobs or usable_cores(),
            kept=kept_results(course.root, slug, level, options.seed, is_read=is_read),
        )
        verified = verifier.verify(progress)
    told = tuple(
        say("name-reason", name=each.path.name, reason=join(each.problem, each.hint))
        for each in warnings
    )
    return msgspec.structs.replace(verified, warnings=told)
