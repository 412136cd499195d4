"""What the commands that grade have in common: their options, and the settings made of them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from grader.course import CourseAssignment
from grader.preparation import Settings
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import LEVELS, Level
from grader.spelling import Accepted
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


@contextmanager
def open_settings(
    options: GradingOptions, assignments: Iterable[CourseAssignment]
) -> Iterator[Settings]:
    """Choose a sandbox that is strong enough for all of these assignments, and draw the seed.

    What earlier commands left that were killed is removed first. Raises SandboxError when there is
    no such sandbox.
    """
    sweep()
    needed = min((each.assignment.sandbox.minimum for each in assignments), key=LEVELS.index)
    with choose_sandbox(options.sandbox, needed) as sandbox:
        yield Settings(
            sandbox=sandbox,
            seed=secrets.randbits(48) if options.seed is None else options.seed,
            data=options.data,
            language=options.language,
            dialect=options.dialect,
            environment=os.environ,
        )
