"""Where a course is, and which assignments it has, before any of them is read.

A student's own kernel looks here too, where nothing of the grading is to be imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

COURSE_VARIABLE: Final = "GRADER_COURSE"
"""The environment variable that names the folder of a notebook's course, as `--course` does."""

_FILES = "assignments/*/assignment.toml"


def assignment_files(root: Path) -> list[Path]:
    """Return the files that say what the assignments of a course are, sorted."""
    return sorted(root.glob(_FILES))


def variant_files(assignment: Path) -> list[Path]:
    """Return the files that say what is different in variants of an assignment, sorted."""
    return sorted(assignment.parent.glob("variants/*/assignment.toml"))


def course_folder(explicit: Path | None, near: Iterable[Path]) -> Path:
    """Return the folder that was named, else the first course in or above `near`, else our own.

    Whether it has an assignment is not said.
    """
    if explicit is not None:
        return explicit
    for start in near:
        for folder in (start, *start.parents):
            if any(folder.glob(_FILES)):
                return folder
    return Path(__file__).resolve().parent.parent


def folder_of_notebook(named: str | None, folder: Path, environment: Mapping[str, str]) -> Path:
    """Return the course of a notebook in `folder`: `named`, else by the environment, else near."""
    told = named or environment.get(COURSE_VARIABLE)
    return course_folder(folder / told if told else None, (folder,))
