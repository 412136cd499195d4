"""Whose a report is, and which attempt of theirs it grades, by what was collected."""

from __future__ import annotations

import hashlib
from pathlib import Path

from grader.errors import UsageError
from grader.lms.collect import MANIFEST, Student, read_manifest


def attempt_number(collected: Path, student: Student, sha256: str) -> int | None:
    """Return which of a student's attempts has a file of this digest, counted from 1.

    The last one where several have. None where none does, as where it has been collected again
    since it was graded into another folder: a number is certain, or is not told.
    """
    for number, attempt in reversed([*enumerate(student.attempts, start=1)]):
        files = sorted((collected / attempt.folder).rglob("*"))
        if any(_digest(path) == sha256 for path in files):
            return number
    return None


def collected_around(path: Path, trusted: Path) -> tuple[Path, Student] | None:
    """Return the folder into which a file was collected and whose it is; None for any other.

    Both are absolute. What lies below `trusted` was handed in: a manifest there is a student's.
    """
    for folder in (trusted, *trusted.parents):
        if (folder / MANIFEST).is_file() and path.is_relative_to(folder):
            return _owner(folder, path.relative_to(folder))
    return None


def _owner(folder: Path, place: Path) -> tuple[Path, Student] | None:
    try:
        students = read_manifest(folder).students
    except UsageError:  # a title is not worth the batch
        return None
    for student in students:
        if any(place.is_relative_to(each.folder) for each in student.attempts):
            return folder, student
    return None


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file; of what is none, or a link, it is empty."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()
