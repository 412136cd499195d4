"""What is opened before anything is graded: a sandbox that is strong enough, and the settings."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from grader.course import Course, CourseAssignment
from grader.environment import missing_for_grading, only_self_check
from grader.grading.preparation import Settings
from grader.grading.spelling import Accepted
from grader.preamble import slow_imports
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import LEVELS, Level
from grader.temporary import sweep


class GradingOptions(msgspec.Struct, frozen=True):
    """The arguments of every command that grades, as they were given."""

    assignment: str | None = None
    data: str | None = None
    seed: int | None = None
    course: Path | None = None
    sandbox: Level | None = None
    language: str | None = None
    dialect: Accepted = "auto"
    preamble: bool = False


@contextmanager
def open_settings(
    options: GradingOptions,
    course: Course,
    assignments: Iterable[CourseAssignment],
    own: Iterable[Path],
) -> Iterator[Settings]:
    """Choose a sandbox that is strong enough for all of these assignments, and draw the seed.

    What is `own` to this grading, submissions and reports, is kept from submissions, as is the
    course. What earlier commands left that were killed is removed first. Raises SandboxError when
    there is no such sandbox, UsageError where only the self-check is installed.
    """
    if missing := missing_for_grading():
        raise only_self_check(missing)
    sweep()
    assignments = tuple(assignments)
    needed = min((each.assignment.sandbox.minimum for each in assignments), key=LEVELS.index)
    protected = (*course.folders, *_data_folders(options.data, os.environ), *own)
    imports = slow_imports(each.assignment.preamble for each in assignments)
    with choose_sandbox(options.sandbox, needed, protected=protected, imports=imports) as sandbox:
        yield Settings(
            sandbox=sandbox,
            seed=secrets.randbits(48) if options.seed is None else options.seed,
            data=options.data,
            language=options.language,
            dialect=options.dialect,
            preamble=options.preamble,
            environment=os.environ,
        )


def _data_folders(named: str | None, environment: Mapping[str, str]) -> list[Path]:
    folder = named or environment.get("GRADER_DATA", "")
    return [] if folder in ("", "builtin") else [Path(folder)]
