"""Whose a report is, and which attempt of theirs it grades, by what was collected."""

from __future__ import annotations

import hashlib
from pathlib import Path

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


def collected_around(path: Path) -> tuple[Path, Student] | None:
    """Return the folder into which a file was collected and whose it is; None for any other."""
    for folder in path.parents:
        if (folder / MANIFEST).is_file():
            place = path.relative_to(folder)
            for student in read_manifest(folder).students:
                if any(place.is_relative_to(each.folder) for each in student.attempts):
                    return folder, student
            return None
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
