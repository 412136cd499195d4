"""What an instructor chooses about a recipe, and what of it makes sense."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import msgspec

from grader.ci.wheel import Installed
from grader.course import Course, load_course
from grader.errors import CourseError, UsageError

NOTEBOOKS = "**/*.ipynb"

_PATTERN = re.compile(r"[*?\[]")


class Choices(msgspec.Struct, frozen=True):
    """The arguments of `grader ci init`, as they were given.

    `threshold` is in points, `minutes` is the time for all of a push, or for one submission on
    Gradescope. `course` is relative to `directory`, which is the repository; None is the directory
    itself. `install` is what pip installs beside what is locked.
    """

    directory: Path
    install: Installed
    assignment: str | None = None
    threshold: float | None = None
    submissions: str = "submissions"
    course: Path | None = None
    minutes: int = 60
    force: bool = False


def submissions_pattern(text: str) -> str:
    """Return which files are submissions, as a pattern that git and GitLab read alike.

    A folder stands for all notebooks in it. Raises UsageError for a path that leads out of the
    repository, and for one with no notebooks.
    """
    path = PurePosixPath(text)
    if not text or path.is_absolute() or ".." in path.parts:
        raise UsageError(
            f"{text!r} is no folder of the repository.",
            "Name one relative to its root, such as submissions.",
        )
    if not _PATTERN.search(text):
        return str(path / NOTEBOOKS)
    if not text.endswith(".ipynb"):
        raise UsageError(
            f"The pattern {text!r} does not end in .ipynb.",
            f'Submissions are notebooks: "submissions/{NOTEBOOKS}" are all in a folder.',
        )
    return str(path)


def find_course_of(choices: Choices) -> Course | None:
    """Return the course that the recipe will grade with; None if it is not in the repository yet.

    Raises CourseError and UsageError where it is named and is not there, or has no such assignment.
    """
    if choices.course is None:
        if not any(choices.directory.glob("assignments/*/assignment.toml")):
            return None
        course = load_course(choices.directory)
    else:
        _check_inside(choices.course)
        course = load_course(choices.directory / choices.course)
    if choices.assignment is not None:
        course.get(choices.assignment)
    return course


def _check_inside(course: Path) -> None:
    if course.is_absolute() or ".." in course.parts:
        raise CourseError(
            f"{course} is no folder of the repository.",
            "The course must be in the repository that is graded: name it relative to its root.",
        )
