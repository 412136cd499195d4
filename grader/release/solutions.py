"""Recognising the course's own solutions in a repository, without having them there.

A release holds, for each solution of a master, how many lines it has and the SHA-256 of them. What
is indented otherwise, commented, or divided by empty lines is the same. Short solutions are left
out: many write them alike, and a hash of one could be guessed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from grader.authoring.master import find_master, has_master, read_master, regions, sources
from grader.course import Course
from grader.errors import UsageError
from grader.reading.submission import read_submission

LEAST_LINES, LEAST_CHARACTERS = 3, 120
"""A solution of less is not recognised."""

_ENDS = {".ipynb", ".py", ".md"}
_MOST_BYTES = 16 * 2**20
_MOST_FILES = 10_000
_MOST_LINES = 20_000

Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Fingerprint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, order=True):
    """Of one solution: how many lines it has, and the SHA-256 of them."""

    lines: Annotated[int, msgspec.Meta(ge=LEAST_LINES, le=10_000)]
    sha256: Digest


class FoundSolution(msgspec.Struct, frozen=True):
    """A solution in a repository: the file, relative to its root, and of a notebook the code cell.

    Cells are counted from 1.
    """

    path: Path
    cell: int | None


def fingerprints(course: Course) -> tuple[Fingerprint, ...]:
    """Return those of all solutions in a course's masters. Raises CourseError for a damaged one."""
    found: set[Fingerprint] = set()
    for slug in course.assignments | course.variants:
        if has_master(course.root, slug):
            for source in sources(read_master(find_master(course.root, slug))):
                kept = [each.lines for each in regions(source.text) if each.kind == "solution"]
                found.update(
                    _fingerprint(lines) for lines in map(_written, kept) if _is_long(lines)
                )
    return tuple(sorted(found))


def find_solutions(folder: Path, known: Iterable[Fingerprint]) -> Iterator[FoundSolution]:
    """Yield every code cell, or file, below a folder that holds a solution, by the files' names.

    Notebooks, scripts and Markdown are looked at; links are not followed, folders whose name begins
    with a dot are passed over.
    """
    digests = frozenset(known)
    lengths = sorted({each.lines for each in digests})
    for path in _files(folder):
        for number, text in _texts(path):
            if _holds(_written(text.split("\n")[:_MOST_LINES]), digests, lengths):
                yield FoundSolution(path.relative_to(folder), number)


def _holds(lines: list[str], known: frozenset[Fingerprint], lengths: list[int]) -> bool:
    return any(
        _fingerprint(lines[start : start + length]) in known
        for length in lengths
        for start in range(len(lines) - length + 1)
    )


def _written(lines: Iterable[str]) -> list[str]:
    stripped = (line.strip() for line in lines)
    return [line for line in stripped if line and not line.startswith("#")]


def _is_long(lines: list[str]) -> bool:
    return len(lines) >= LEAST_LINES and sum(map(len, lines)) >= LEAST_CHARACTERS


def _fingerprint(lines: list[str]) -> Fingerprint:
    text = "\n".join(lines).encode("utf-8", "replace")
    return Fingerprint(max(len(lines), LEAST_LINES), hashlib.sha256(text).hexdigest())


def _files(folder: Path) -> Iterator[Path]:
    count = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            if path.suffix in _ENDS and path.is_file() and not path.is_symlink():
                count += 1
                if count > _MOST_FILES:
                    return
                yield path


def _texts(path: Path) -> Iterator[tuple[int | None, str]]:
    """Yield the code cells of a notebook by number, or the text of another file.

    Nothing of one that cannot be read, is no notebook, or is too large to look at.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            return
        if path.suffix != ".ipynb":
            yield None, path.read_text("utf-8", "replace")
            return
        yield from enumerate(read_submission(path).sources, start=1)
    except (OSError, UsageError):
        return
