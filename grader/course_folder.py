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

_COLLECTED = {"collected.json": ("submissions", "earlier")}
"""What `grader collect` writes, and in which folders beside it students' files are."""


def assignment_files(root: Path) -> list[Path]:
    """Return the files that say what the assignments of a course are, sorted."""
    return sorted(root.glob(_FILES))


def variant_files(assignment: Path) -> list[Path]:
    """Return the files that say what is different in variants of an assignment, sorted."""
    return sorted(assignment.parent.glob("variants/*/assignment.toml"))


def course_folder(explicit: Path | None, near: Iterable[Path]) -> Path:
    """Return the folder that was named, else the first course in or above `near`, else our own.

    Whether it has an assignment is not said. What was handed in is no course: its `oracle.py` would
    be run, and decide the points, where somebody grades in a student's folder.
    """
    if explicit is not None:
        return explicit
    for start in near:
        for folder in (start, *start.parents):
            if any(folder.glob(_FILES)) and not _is_handed_in(folder):
                return folder
    return Path(__file__).resolve().parent.parent


def _is_handed_in(folder: Path) -> bool:
    """Say whether a folder lies where `grader collect` has put students' files."""
    inside = folder.resolve()
    return any(
        inside.is_relative_to(above / name) and (above / manifest).is_file()
        for above in inside.parents
        for manifest, names in _COLLECTED.items()
        for name in names
    )


def folder_of_notebook(named: str | None, folder: Path, environment: Mapping[str, str]) -> Path:
    """Return the course of a notebook in `folder`: `named`, else by the environment, else near."""
    told = named or environment.get(COURSE_VARIABLE)
    return course_folder(folder / told if told else None, (folder,))
