"""nbgrader: its exchange of files on a JupyterHub, and what feedback needs to go back through it.

    EXCHANGE/COURSE/inbound/ada+hw+2026-11-03 12:05:33.123456 UTC+cmFuZG9t/    what was handed in
    COURSE/submitted/ada/hw/            the same, after `nbgrader collect`
    COURSE/feedback/ada/hw/hw.html      what `nbgrader release_feedback` gives to students

Students own what is in the exchange: each can call a folder by another student's name, and change
its own while it is read. So a folder is a student's only if its user account has that name, and it
is copied, within bounds, before anything else reads it. Every file is opened without following a
link, and has to be that user's: a link that is made meanwhile leads to no file of the course.
"""

import errno
import hashlib
import os
import pwd
import re
import stat
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from grader.errors import UsageError
from grader.language import in_a_row, say
from grader.lms.archives import LONGEST_PATH, LeftOutList, Reason, is_left_behind
from grader.lms.delivery import Delivery, FolderContents, told_when
from grader.lms.times import read_timestamp

_TIMESTAMP, _SECRET = "timestamp.txt", "submission_secret.txt"

NOTES = frozenset({_TIMESTAMP, _SECRET})
"""What `nbgrader submit` writes beside the student's files."""

_LONGEST_NOTE = 200
_SECRET_WORD = re.compile(r"[0-9A-Za-z_-]+")
"""A student wrote the file. nbgrader writes hexadecimal digits."""

_MARK = "nbgrader"


class SubmissionNote(NamedTuple):
    """What a submission is known by when its feedback goes back.

    `timestamp` is nbgrader's own text. The name of the feedback file is made of the `secret`, which
    the student's account keeps; ngshare has none.
    """

    assignment: str
    timestamp: str
    secret: str

    @property
    def given(self) -> str:
        """The same in one text, for a manifest; empty if it could not be read back."""
        return "" if "+" in self.assignment else "+".join((_MARK, *self))


def read_note(folder: Path, assignment: str) -> SubmissionNote:
    """Return what is written beside a submission, in a folder that no student can change now."""
    secret = _text_of(folder / _SECRET)
    known = secret if _SECRET_WORD.fullmatch(secret) else ""
    return SubmissionNote(assignment, _text_of(folder / _TIMESTAMP), known)


def note_of(given: str) -> SubmissionNote | None:
    """Return what `SubmissionNote.given` says; None for what another system has given."""
    head, _, secret = given.rpartition("+")
    mark, _, rest = head.partition("+")
    assignment, _, timestamp = rest.partition("+")
    is_known = mark == _MARK and assignment and timestamp
    return SubmissionNote(assignment, timestamp, secret) if is_known else None


def feedback_files(
    student: str, note: SubmissionNote, notebook: str, page: bytes
) -> dict[str, bytes]:
    """Return by their names in a course a page and what nbgrader releases it by.

    `nbgrader release_feedback` ends at the first submission without a secret, as it ends where a
    student has removed it. What is written then no other student can know.
    """
    place = f"feedback/{student}/{note.assignment}"
    secret = note.secret or hashlib.sha256(page).hexdigest()
    return {
        f"{place}/{notebook}.html": page,
        f"{place}/{_TIMESTAMP}": note.timestamp.encode(),
        f"{place}/{_SECRET}": secret.encode(),
    }


def choose_assignment(known: list[str], wanted: str | None) -> str:
    """Return whose folders are taken. Raises UsageError where that is not certain."""
    if wanted is None and len(known) > 1:
        raise UsageError(
            say("nbgraders-folder-holds-several-assignments"),
            say("name-one-with-assignment", names=in_a_row(known)),
        )
    chosen = wanted if wanted is not None else "".join(known)
    if chosen not in known and known:
        raise UsageError(
            say("nbgraders-folder-holds-no-assignment", name=chosen),
            say("name-one-with-assignment", names=in_a_row(known)),
        )
    return chosen


def _text_of(path: Path) -> str:
    if not path.is_file() or path.is_symlink():
        return ""
    with path.open("rb") as file:
        return " ".join(file.read(_LONGEST_NOTE).decode(errors="replace").split())


# The exchange.

_NAME = re.compile(
    r"(?P<user>.+)\+(?P<assignment>[^+]+)"
    r"\+(?P<at>[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?: \S*?)?)"
    r"(?:\+[\w=-]*)?"
)
"""A user's name may have a plus. The random end keeps other students from guessing the name."""

_FILE_SIZE = 256 * 2**20
_SIZE = 2**29
_FILES = 5_000
_DEPTH = 30

UserNames = Callable[[int], str]
"""Tells the name of a user by its number; empty if there is none."""


def user_name(number: int) -> str:
    """Return what a user of this machine is called."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return ""


class _Work(NamedTuple):
    """A folder of the exchange, and which user's it is."""

    name: str
    student: str
    assignment: str
    at: str
    user: int


def find_inbound(folder: Path) -> Path | None:
    """Return the folder of an exchange where submissions are; None where this is none.

    It may be named itself, or the course's folder around it.
    """
    for place in (folder, folder / "inbound"):
        is_folder = place.is_dir() and not place.is_symlink()
        names = [each.name for each in place.iterdir()] if is_folder else []
        if 2 * sum(_NAME.fullmatch(name) is not None for name in names) > len(names):
            return place
    return None


def take_inbound(
    inbound: Path, target: Path, wanted: str | None, name_of: UserNames = user_name
) -> FolderContents:
    """Copy what was handed in for an assignment from an exchange into an empty folder.

    Raises UsageError where it is not certain which assignment is meant.
    """
    top = os.open(inbound, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        works, left_out, strangers = _look_through(top, name_of)
        assignment = choose_assignment(sorted({each.assignment for each in works}), wanted)
        works = [each for each in works if each.assignment == assignment]
        handed_in = tuple(_take_all(top, works, target, left_out))
    finally:
        os.close(top)
    return FolderContents("nbgrader", handed_in, tuple(strangers), left_out.all, certain=True)


def _look_through(top: int, name_of: UserNames) -> tuple[list[_Work], LeftOutList, list[str]]:
    works, left_out, strangers = [], LeftOutList(), []
    for name in sorted(os.listdir(top)):
        match = _NAME.fullmatch(name)
        if match is None:
            strangers += [] if is_left_behind(name) else [_readable(name)]
            continue
        try:
            status = os.stat(name, dir_fd=top, follow_symlinks=False)
        except FileNotFoundError:  # it was moved away meanwhile
            continue
        if name != _readable(name):
            left_out.add(_readable(name), "name")
        elif not stat.S_ISDIR(status.st_mode):
            left_out.add(name, "link" if stat.S_ISLNK(status.st_mode) else "special")
        elif match["user"] != name_of(status.st_uid):
            left_out.add(name, "owner")
        else:
            student, assignment, at = match["user"], match["assignment"], match["at"]
            works.append(_Work(name, student, assignment, at, status.st_uid))
    return works, left_out, strangers


def _take_all(
    top: int, works: list[_Work], target: Path, left_out: LeftOutList
) -> Iterator[Delivery]:
    """Copy submissions, each student's newest first: what is too much is an earlier one."""
    copies: dict[str, _Copy] = defaultdict(_Copy)
    for number, work in enumerate(sorted(works, key=lambda each: each.at, reverse=True)):
        copy, folder = copies[work.student], target / str(number)
        for name, reason in copy.take(top, work, folder):
            left_out.add(f"{work.name}/{name}" if name else work.name, reason)
        if folder.is_dir():
            yield _delivery(work, folder)


def _delivery(work: _Work, folder: Path) -> Delivery:
    note = read_note(folder, work.assignment)
    for note_file in (folder / name for name in NOTES):
        if note_file.is_file():
            note_file.unlink()
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    return Delivery(
        "",
        {"folder": work.student},
        tuple((each, each.relative_to(folder).as_posix()) for each in files),
        **told_when(note.timestamp or work.at, read_timestamp),
        given=note.given,
    )


def _readable(name: str) -> str:
    """Return a name as text: the bytes of a file's name need not be any."""
    return name.encode(errors="replace").decode()


class _Copy:
    """Copies what one user has handed in, and what all of that may still come to."""

    def __init__(self) -> None:
        self._size, self._files = _SIZE, _FILES
        self._user = 0

    def take(self, top: int, work: _Work, target: Path) -> Iterator[tuple[str, Reason]]:
        """Copy a folder; yield what is left out of it, and why. All of it has an empty name."""
        self._user = work.user
        yield from self._take(top, work.name, target, "", _DEPTH)

    def _take(
        self, around: int, name: str, target: Path, told: str, depth: int
    ) -> Iterator[tuple[str, Reason]]:
        try:
            entry = os.open(name, _FLAGS, dir_fd=around)
        except OSError as error:
            yield told, _REFUSED.get(error.errno or 0, "special")
            return
        try:
            status = os.fstat(entry)
            if status.st_uid != self._user:
                yield told, "owner"
            elif stat.S_ISDIR(status.st_mode):
                yield from self._take_folder(entry, target, told, depth)
            elif not stat.S_ISREG(status.st_mode):
                yield told, "special"
            elif refused := self._take_file(entry, target, status.st_size):
                yield told, refused
        finally:
            os.close(entry)

    def _take_folder(
        self, folder: int, target: Path, told: str, depth: int
    ) -> Iterator[tuple[str, Reason]]:
        with os.scandir(folder) as entries:
            names = sorted(each.name for each in islice(entries, self._files + 1))
        if not depth or len(names) >= self._files:
            yield told, "name" if not depth else "budget"
            return
        self._files -= 1
        target.mkdir()
        for name in names:
            place = f"{told}/{_readable(name)}" if told else _readable(name)
            if name != _readable(name) or len(place.encode()) > LONGEST_PATH:
                yield place, "name"
            elif not is_left_behind(name):
                yield from self._take(folder, name, target / name, place, depth - 1)

    def _take_file(self, file: int, target: Path, size: int) -> Reason | None:
        """Copy an open file, and no more of it than it had: it may grow meanwhile."""
        if size > _FILE_SIZE:
            return "large"
        if size > self._size or not self._files:
            return "budget"
        self._files -= 1
        self._size -= size
        with target.open("xb") as copy:
            while size > 0 and (chunk := os.read(file, min(size, 2**20))):
                copy.write(chunk)
                size -= len(chunk)
        return None


_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""A pipe would keep a reader waiting for somebody who writes."""

_REFUSED: dict[int, Reason] = {
    errno.ELOOP: "link",
    errno.EACCES: "closed",
    errno.ENOENT: "missing",
}
