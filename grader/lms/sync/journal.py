"""The journal of a push, beside the collected files: it tells the grader's own grades from others.

A line before each change says what is about to be written, one after it that it was. Killed between
them, the next push finds either the old or the new, and knows both for its own.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

import msgspec

from grader.decoding import prepared
from grader.errors import UsageError
from grader.files import writing
from grader.language import say
from grader.lms.sync.platform import PushedGrade, Standing, plain

JOURNAL = "pushed.jsonl"


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of one student's grade, and whether it was done. Users were numbers once."""

    user: str | int
    points: Decimal
    page: str = ""
    ratings: dict[str, Decimal] = {}
    comment: str = ""
    done: bool = False


class Ours:
    """What may stand there of one student and is the grader's own: at first nothing."""

    def __init__(self) -> None:
        self.last: Entry | None = None
        self._points: set[Decimal | None] = {None}
        self._ratings: list[Mapping[str, Decimal]] = [{}]
        self._comments = {""}

    def take(self, entry: Entry) -> None:
        """Record an entry. A finished one replaces all before it."""
        if entry.done:
            self.last = entry
            self._points, self._ratings, self._comments = set(), [], {""}
        self._points.add(entry.points)
        self._ratings.append(entry.ratings)
        self._comments.add(plain(entry.comment))

    def has_points(self, standing: Standing) -> bool:
        """Say whether the points were written by the grader, or there were none before."""
        return standing.points in self._points

    def has_ratings(self, standing: Standing) -> bool:
        """Say whether the ratings were written by the grader, or there are none."""
        return not standing.ratings or dict(standing.ratings) in self._ratings

    def has_comment(self, standing: Standing) -> bool:
        """Say whether the comment was written by the grader, or there is none to be told."""
        return standing.comment is None or standing.comment in self._comments


class Journal:
    """The journal of a folder, which is one command's while it is open."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._ours: dict[str, Ours] = {}
        content = file.read()
        for line in content.splitlines():
            try:
                entry = msgspec.json.decode(line, type=prepared(Entry))
            except msgspec.MsgspecError:  # it was killed while it wrote
                continue
            self.of(str(entry.user)).take(entry)
        self._is_torn = bool(content) and not content.endswith(b"\n")

    def of(self, user: str) -> Ours:
        """Return what is known of a student."""
        return self._ours.setdefault(user, Ours())

    def note(self, user: str, grade: PushedGrade, *, done: bool) -> None:
        """Write an entry, which is on the disk when this returns."""
        entry = Entry(user, grade.points, grade.page, dict(grade.ratings), grade.comment, done)
        self.of(user).take(entry)
        line = (b"\n" if self._is_torn else b"") + msgspec.json.encode(entry) + b"\n"
        self._is_torn = False
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def open_journal(folder: Path) -> Iterator[Journal]:
    """Open the journal of a folder. Raises UsageError where another command has it."""
    path = folder / JOURNAL
    with writing(path, say("what-pushed")):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        file = os.fdopen(descriptor, "r+b")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                say("another-command-pushing", folder=str(folder)), say("wait-until-has-ended")
            ) from None
        yield Journal(file)
