"""A course as one archive: the files of its assignments and of their handouts, by their paths.

It is MessagePack of names and bytes, so that nothing of a file but its content goes along: neither
links nor modes. Its digest is what a worker knows it by.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from grader.course import CourseAssignment
from grader.decoding import prepared
from grader.errors import ProtocolError, UsageError
from grader.language import say

MOST_BYTES = 256 * 2**20
MOST_FILES = 10_000

_PART = re.compile(r"(?!\.{1,2}\Z)[^/\0]{1,255}")
_FOLDERS = ("assignments", "templates")


def pack(chosen: Iterable[CourseAssignment]) -> bytes:
    """Return the archive of assignments of a course. Raises UsageError for one too large.

    All files of their folders are in it: the digest of what decides a grade is of all of them.
    """
    folders = {each.folder for each in chosen}
    files = {name: path.read_bytes() for each in sorted(folders) for name, path in _files_of(each)}
    if len(files) > MOST_FILES or sum(map(len, files.values())) > MOST_BYTES:
        raise UsageError(
            say(
                "The course has more than {files} files or {size} MB: it is not sent to workers.",
                files=MOST_FILES,
                size=MOST_BYTES >> 20,
            ),
            say("Move away what grading does not need, or name one assignment."),
        )
    return msgspec.msgpack.encode(dict(sorted(files.items())))


def digest_of(archive: bytes) -> str:
    """Return the SHA-256 of an archive, in hexadecimal digits."""
    return hashlib.sha256(archive).hexdigest()


def unpack(archive: bytes, folder: Path) -> None:
    """Write the files of an archive into a new folder. Raises ProtocolError for what is none."""
    try:
        files = msgspec.msgpack.decode(archive, type=prepared(dict[str, bytes]))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _no_archive() from None
    if len(files) > MOST_FILES or not all(map(_is_inside, files)):
        raise _no_archive()
    folder.mkdir(mode=0o700)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _files_of(assignment: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(assignment.rglob("*")):
        inside = path.relative_to(assignment)
        if path.is_file() and "__pycache__" not in inside.parts:
            yield f"assignments/{assignment.name}/{inside.as_posix()}", path
    templates = assignment.resolve().parents[1] / "templates"  # as `handout_cells` looks for them
    for path in sorted(templates.glob(f"{assignment.name}*.ipynb")):
        if path.is_file():
            yield f"templates/{path.name}", path


def _is_inside(name: str) -> bool:
    first, *others = name.split("/")
    return first in _FOLDERS and bool(others) and all(map(_PART.fullmatch, others))


def _no_archive() -> ProtocolError:
    return ProtocolError(say("What a worker was sent is no archive of a course."))
