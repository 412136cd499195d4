"""Unpacking archives that were handed in, or that hold what was handed in.

A process with limits reads them (`grader.reading.unpacking`); what it tells is counted and written
here. A member that is a link, a device or would lie outside of the folder is left out with its
reason, as is a damaged one; an archive over its limits ends the unpacking. No member is opened by
the name of another, nothing is written over, and no link is made: nothing leads out of the folder.
"""

import contextlib
import errno
import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import msgspec

from grader.errors import UsageError
from grader.language import Text, say
from grader.progress import Pace, Progress, Silent
from grader.reading.messages import (
    Began,
    FolderSkipped,
    FolderTold,
    GoingOn,
    LeaveReason,
    NamesRead,
    Piece,
    ReaderBounds,
    Skipped,
    Unpacked,
    UnpackLimits,
)
from grader.reading.reader import SubmissionReader

Reason = (
    LeaveReason
    | Literal["outside", "name", "twice", "nested", "missing", "unclear", "unsubmitted", "foreign"]
    | Literal["owner", "closed", "gone", "textual"]
)
"""Why something is left out."""

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")

_TOOLS = frozenset({"__MACOSX", "__pycache__", ".DS_Store", "Thumbs.db", ".git"})

LONGEST_PATH = 1000
"""Bytes of a path below a student's folder: a path of the system may have 4095."""

_DEPTH = 30
"""So many folders may be in one another."""

_LONGEST_NAME = 255
_TOLD = 20
"""Members left out for one reason that are named; of the others it is said how many there are."""

_MEMORY = 160 * 2**20
_BAD_PATHS = (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)

_SMALL = 2**30
_LARGE = 16 * 2**30
_RATIO = 24
"""Twice what the reading process allows each student: the other half is shared equally."""
_SECONDS = 60
_BYTES_A_SECOND = 2 * 2**20
"""bzip2 unpacks 6 MB a second. Where time is over, those who come behind lose their files, so it
ends what has no end, and nothing else; it is shown that it goes on."""

CLASS_FILES = 50_000
"""Files and folders of a class's archive: of one with more, those are left out who have the most.

With moves and digests each takes up to 0.3 ms of a processor.
"""

_TELLINGS = 3
"""Messages for each file at most: a student who is left out is told as a folder and as such."""


class ArchiveLimits(UnpackLimits, frozen=True):
    """What an archive may hold and take where nobody says otherwise."""

    file_size: int = 512 * 2**20
    size: int = _LARGE
    files: int = 200_000
    index: int = 8 * 2**20
    seconds: float = 10


def limits_of_class(size: int, encoding: str = "") -> ArchiveLimits:
    """Return the limits of an archive of `size` bytes that a system has made."""
    most = max(_LARGE, 2 * size)
    room = min(max(_SMALL, _RATIO * size), most)
    seconds = _SECONDS + size // _BYTES_A_SECOND
    return ArchiveLimits(
        size=room, files=CLASS_FILES, seconds=seconds, shared=True, encoding=encoding
    )


class LeftOut(msgspec.Struct, frozen=True):
    """A member that was not unpacked; `more` were left out like it, and are not named."""

    name: str
    reason: Reason
    more: int = 0


class UnpackOutcome(NamedTuple):
    """What an unpacking left out, and what it took: files, bytes, seconds of a processor.

    `encoding` is how names were read that do not say it themselves.
    """

    left_out: tuple[LeftOut, ...]
    files: int
    size: int
    seconds: float
    encoding: str = ""


class ArchiveError(UsageError):
    """Raised for an archive that is damaged or too large; `outcome` is what it took before."""

    def __init__(self, message: Text, hint: Text, reason: Reason, outcome: UnpackOutcome) -> None:
        super().__init__(message, hint)
        self.reason: Reason = reason
        self.outcome = outcome


class PathError(Exception):
    """Raised for a name that nothing can be written by."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


def is_archive(name: str) -> bool:
    """Say by its name whether a file is an archive of a kind that is unpacked."""
    return name.lower().endswith(SUFFIXES)


def is_left_behind(name: str) -> bool:
    """Say whether a file or folder of this name is a program's, and was not written by a student.

    The settings in a `.git` name programs, which an editor runs that is shown the folder.
    """
    return name in _TOOLS or name.startswith("._")


def unpack(
    archive: Path,
    folder: Path,
    reader: SubmissionReader,
    limits: ArchiveLimits | None = None,
    progress: Progress | None = None,
    whose: object = None,
) -> UnpackOutcome:
    """Unpack a zip or tar archive into an empty folder; return what was left out.

    What programs have left behind is not written, but of a class: there it shows the layout. A
    process that has read what is damaged reads only what is `whose`, too. Raises ArchiveError when
    it is none, is damaged as a whole, or larger than the limits.
    """
    limits = ArchiveLimits() if limits is None else limits
    try:
        return _unpack(archive, folder, reader, limits, progress, whose)
    except _KilledError as lost:
        # By a machine without memory, or by what it has met before: that is not this archive's.
        shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
        try:
            return _unpack(archive, folder, reader, limits, progress, whose)
        except _KilledError:
            raise _too_large(archive, limits, lost.outcome) from None


class _KilledError(Exception):
    """Raised where the process that reads an archive has ended before it said so."""

    def __init__(self, outcome: UnpackOutcome) -> None:
        super().__init__()
        self.outcome = outcome


def _unpack(
    archive: Path,
    folder: Path,
    reader: SubmissionReader,
    limits: ArchiveLimits,
    progress: Progress | None,
    whose: object,
) -> UnpackOutcome:
    shown = Silent() if progress is None else progress

    def tell() -> None:
        shown.step(writer.files, limits.files, say("files", count=writer.files))

    pace = Pace(tell)
    writer = _Writer(folder, limits, pace)
    bounds = ReaderBounds(_MEMORY, math.ceil(limits.seconds))
    end, seconds, encoding = "", float(limits.seconds), ""
    with archive.open("rb") as file, contextlib.closing(writer):
        told = reader.unpack(file.fileno(), limits, bounds, whose)
        with contextlib.closing(told):
            for message in told:
                if isinstance(message, Unpacked):
                    end, seconds = message.end, message.seconds
                    break
                if isinstance(message, NamesRead):
                    encoding = message.encoding
                elif not isinstance(message, GoingOn) and not writer.take(message):
                    end = "large"
                    break
                pace.step()
    outcome = UnpackOutcome(writer.left_out, writer.files, writer.size, seconds, encoding)
    if end == "damaged":
        hint = say("download-again-folder-that-you-unpacked")
        damaged = say("not-archive-or-damaged", name=archive.name)
        raise ArchiveError(damaged, hint, "damaged", outcome)
    if end == "large":
        raise _too_large(archive, limits, outcome)
    if not end:
        raise _KilledError(outcome)
    return outcome


def _too_large(archive: Path, limits: ArchiveLimits, outcome: UnpackOutcome) -> ArchiveError:
    return ArchiveError(
        say(
            "holds-more-than-may-unpacked-mb-files",
            name=archive.name,
            size=limits.size // 2**20,
            files=limits.files,
            seconds=math.ceil(limits.seconds),
        ),
        say("if-this-right-unpack-by-hand"),
        "large",
        outcome,
    )


class _Writer:
    """Writes members below a folder, and counts them once more: their teller has met an archive."""

    def __init__(self, folder: Path, limits: ArchiveLimits, pace: Pace) -> None:
        self.files = 0
        self.size = 0
        self._told = LeftOutList()
        # As text: a Path takes as long as the file that is opened by it.
        self._folder = str(folder)
        self._limits = limits
        self._pace = pace
        self._file: BinaryIO | None = None
        self._path = self._folder
        self._made = {self._folder}

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Members that were not written."""
        return self._told.all

    def take(self, message: Began | FolderTold | Piece | Skipped | FolderSkipped) -> bool:
        """Write what is told. Returns whether that is still within the limits."""
        if isinstance(message, Piece):
            self.size += len(message.content)
            if self._file is not None:
                self._file.write(message.content)
            return self.size <= self._limits.size
        self.files += not (isinstance(message, Skipped) and message.begun)
        if isinstance(message, Skipped):
            # The open file is the member before, where this one was refused before it began.
            self._drop() if message.begun else self.close()
            self._told.add(message.name, message.reason)
        elif isinstance(message, FolderSkipped):
            self._leave_out(message)
        else:
            self._begin(message)
        return self.files <= self._limits.files * (_TELLINGS if self._limits.shared else 1)

    def close(self) -> None:
        """Close the file that is being written."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _begin(self, message: Began | FolderTold) -> None:
        self.close()
        try:
            parts = path_parts(message.name, _DEPTH)
            if not self._limits.shared and any(map(is_left_behind, parts)):
                return
            self._path = "/".join((self._folder, *parts))
            with names_refused():
                if isinstance(message, FolderTold):
                    self._make(self._path)
                    return
                self._make(_around(self._path))
                self._file = open(self._path, "xb", buffering=0)  # noqa: PTH123, SIM115
        except PathError as refusal:
            if isinstance(message, Began):  # of a folder, its members are told
                self._told.add(message.name, refusal.reason)

    def _leave_out(self, message: FolderSkipped) -> None:
        """Remove what was written of a student, but the folder, by which there is a student."""
        self.close()
        self._told.add(message.name, message.reason)
        with contextlib.suppress(PathError), names_refused():
            path = "/".join((self._folder, *path_parts(message.name, _DEPTH)))
            self._remove(path)
            if message.is_folder:
                self._make(path)

    def _remove(self, path: str) -> None:
        if Path(path).is_file():
            self._remove_file(Path(path))
        for place, _, names in os.walk(path, topdown=False):
            self._made.discard(place)
            for name in names:
                self._remove_file(Path(place, name))
            Path(place).rmdir()

    def _remove_file(self, path: Path) -> None:
        self.size -= path.stat().st_size
        path.unlink()
        self._pace.step()

    def _make(self, folder: str) -> None:
        """Make a folder and those around it; each counts as a file.

        4,000 files with their own path each were 40,000 folders.
        """
        missing = []
        while folder not in self._made:
            missing.append(folder)
            folder = _around(folder)
        for each in reversed(missing):
            Path(each).mkdir(exist_ok=True)
            self._made.add(each)
        self.files += len(missing)

    def _drop(self) -> None:
        """Remove what was written of a member that is left out in its middle."""
        if self._file is not None:
            Path(self._path).unlink()
        self.close()


def _around(path: str) -> str:
    return path.rpartition("/")[0]


class LeftOutList:
    """Members left out: some of each reason are named, the others counted."""

    def __init__(self) -> None:
        self._named: dict[Reason, list[LeftOut]] = {}

    def add(self, name: str, reason: Reason, more: int = 0) -> None:
        """Note a name, or one name more."""
        named = self._named.setdefault(reason, [])
        if len(named) < _TOLD:
            named.append(LeftOut(name[:_LONGEST_NAME], reason, more))
        else:
            last = named[-1]
            named[-1] = LeftOut(last.name, reason, last.more + 1 + more)

    @property
    def all(self) -> tuple[LeftOut, ...]:
        """All of them."""
        return tuple(each for named in self._named.values() for each in named)


@contextlib.contextmanager
def names_refused() -> Iterator[None]:
    """Raise PathError in the body where a name cannot be written by, whatever the reason is."""
    try:
        yield
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise PathError("twice") from None
    except ValueError:
        raise PathError("name") from None
    except OSError as error:
        if error.errno in _BAD_PATHS:
            raise PathError("name") from None
        raise


def path_parts(name: str, depth: int) -> tuple[str, ...]:
    """Return the names of a path below a folder. Raises PathError for any other path."""
    path = name.replace("\\", "/")  # so archives of Windows separate folders
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if path.startswith("/") or ".." in parts or (parts and parts[0].endswith(":")):
        raise PathError("outside")
    if not parts or len(parts) > depth or "\0" in path or len(path.encode()) > LONGEST_PATH:
        raise PathError("name")
    if any(len(part.encode()) > _LONGEST_NAME for part in parts):
        raise PathError("name")
    return parts
