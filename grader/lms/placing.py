"""Putting one student's files into a folder, and unpacking the archives among them within bounds.

All archives of a student, in one another too, have one budget: bytes, files, archives, depth, and
time of a processor. What is over it stays packed, and is told of.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from grader.batch.collect import FOREIGN_ARCHIVES
from grader.lms.archives import (
    LONGEST_PATH,
    ArchiveError,
    ArchiveLimits,
    LeftOut,
    LeftOutList,
    PathError,
    Reason,
    UnpackOutcome,
    is_archive,
    names_refused,
    path_parts,
    unpack,
)
from grader.lms.delivery import Delivery
from grader.progress import Pace
from grader.reading.reader import SubmissionReader

_NESTED = 2
"""So deep are archives unpacked that were handed in within one another."""

_DEPTH = 60
"""So deep may folders be."""

_ARCHIVES = 20
_FEWEST_ARCHIVES = 2
_CLASS_ARCHIVES = 4_000
"""Each takes a millisecond, however little is in it. Half of them are shared as files are."""

_FILE_SIZE = 256 * 2**20
_SIZE = 2**30
_CLASS_SIZE = 2**29
_FILES = 5_000
_FEWEST_FILES = 20
_CLASS_FILES = 25_000
"""A file takes a tenth of a millisecond to make, and as long to remove. Half of them are shared
equally; whoever has more takes from the other half, as long as there is some."""
_INDEX = 2 * 2**20
_SECONDS = 3.0
_OWN_SECONDS = 2.0
"""Shared equally. What takes longer takes from what is for all, and whoever has used that up has
taken it from such alone."""

_LEAST_SECONDS = 0.02
_CLASS_SECONDS = 3.0
_RATIO = 12
"""So much larger than it is packed a student's work may always be."""

_BYTES_A_SECOND = 16 * 2**20
_SLOW = (b"BZh", b"\xfd7zXZ\0")

_Row = TypeVar("_Row", bound=tuple[Delivery, object])


class StudentRoom:
    """What the archives of one student may still come to."""

    def __init__(self, size: int, shared: ClassRoom) -> None:
        self._size = size
        self._files = _Part(_FILES, shared.own_files, shared.files)
        self._seconds = _Part(_SECONDS, shared.own_seconds, shared.seconds)
        self._archives = _Part(_ARCHIVES, shared.own_archives, shared.archives)
        self._shared = shared

    def unpack(
        self, archive: Path, folder: Path, reader: Callable[[], SubmissionReader]
    ) -> tuple[LeftOut, ...]:
        """Unpack an archive into an empty folder. Raises ArchiveError or PathError."""
        files, seconds = int(self._files.left), self._seconds.left
        if min(self._size, files, seconds, self._archives.left) <= 0:
            raise PathError("budget")
        self._archives.take(1)
        limits = ArchiveLimits(
            file_size=min(_FILE_SIZE, self._size),
            size=self._size,
            files=files,
            index=_INDEX,
            seconds=seconds,
        )
        try:
            taken = unpack(archive, folder, reader(), limits, whose=self)
        except ArchiveError as error:
            self._take(error.outcome)
            raise
        self._take(taken)
        return taken.left_out

    def may_move(self, path: Path) -> bool:
        """Say whether a file may be moved and need not be copied; it is asked once for each use."""
        return self._shared.is_last_use(path)

    def may_move_all(self, handed_in: Delivery) -> bool:
        """Say whether all files of this student may be moved."""
        return self._shared.has_once(handed_in)

    def _take(self, taken: UnpackOutcome) -> None:
        self._files.take(taken.files)
        self._seconds.take(taken.seconds)
        self._size -= taken.size


class _Spare:
    """The common rest, for students who need more than an equal share."""

    def __init__(self, left: float) -> None:
        self.left = left


class _Part:
    """What one student may still take: at most so much, and beyond an equal share what is spare."""

    def __init__(self, most: float, own: float, spare: _Spare) -> None:
        self._most = most
        self._own = own
        self._spare = spare

    @property
    def left(self) -> float:
        return min(self._most, self._own + max(self._spare.left, 0))

    def take(self, count: float) -> None:
        self._most -= count
        self._spare.left -= max(count - self._own, 0)
        self._own = max(self._own - count, 0)


class ClassRoom:
    """What the archives of a class may come to, and each student's part of that."""

    def __init__(self, handed_in: Sequence[Delivery], source: int | None) -> None:
        """`source` is the size of the archive that all of it was in, None where it was a folder."""
        self._sizes = {id(each): sum(map(_size, each.files)) for each in handed_in}
        on_disk = sum(self._sizes.values()) or 1
        size = on_disk if source is None else source
        count = len(handed_in) or 1
        self._ratio = _RATIO * min(1.0, size / on_disk)
        self._share = max(_CLASS_SIZE, _RATIO * size) // count
        self.own_files = max(_FEWEST_FILES, _CLASS_FILES // 2 // count)
        self.files = _Spare(_CLASS_FILES // 2)
        self.own_archives = max(_FEWEST_ARCHIVES, _CLASS_ARCHIVES // 2 // count)
        self.archives = _Spare(_CLASS_ARCHIVES // 2)
        self.own_seconds = max(_LEAST_SECONDS, _OWN_SECONDS / count)
        self.seconds = _Spare(_CLASS_SECONDS + size / _BYTES_A_SECOND)
        paths = (path for each in handed_in for path, _ in each.files)
        self._uses = Counter(paths if source is not None else ())

    def is_last_use(self, path: Path) -> bool:
        """Say whether a file may be moved: it was unpacked, and nobody else has handed it in.

        To make a file takes a file system twenty times as long as to rename it.
        """
        self._uses[path] -= 1
        return self._uses[path] == 0

    def has_once(self, handed_in: Delivery) -> bool:
        """Say whether all files of somebody may be moved."""
        return all(self._uses[path] == 1 for path, _ in handed_in.files)

    def of(self, handed_in: Delivery) -> StudentRoom:
        """Return a student's part: an equal one, or by what is packed in it."""
        size = max(self._share, int(self._ratio * self._sizes[id(handed_in)]))
        return StudentRoom(min(size, _SIZE), self)

    def in_turn(self, rows: Iterable[_Row]) -> list[_Row]:
        """Return the same, those last whose archives take long to unpack."""
        return sorted(rows, key=lambda row: any(_is_slow(path) for path, _ in row[0].files))


def _size(file: tuple[Path, str]) -> int:
    return file[0].stat().st_size


def _is_slow(path: Path) -> bool:
    if not is_archive(path.name):
        return False
    with path.open("rb") as file:
        return file.read(6).startswith(_SLOW)


def place_files(
    handed_in: Delivery,
    folder: Path,
    reader: Callable[[], SubmissionReader],
    room: StudentRoom,
    pace: Pace,
) -> tuple[LeftOut, ...]:
    """Copy what was handed in into a folder; archives in it are unpacked in place of them."""
    left_out, taken = LeftOutList(), Counter[Path]()
    for path, name in () if _move_whole(handed_in, folder, room, pace) else handed_in.files:
        pace.step()
        refused = _place(path, folder, name, taken, moves=room.may_move(path))
        if refused is not None:
            left_out.add(name, refused)
    found = files_in(folder)
    pace.step()
    packed = [each for each in found if is_archive(each.name)]
    for _ in range(_NESTED):
        inside: list[Path] = []
        for archive in packed:
            for each in _unpack_within(archive, folder, reader, room):
                left_out.add(each.name, each.reason, each.more)
            inside += files_in(archive)
        packed = [each for each in inside if is_archive(each.name)]
        found += inside
    for archive in packed:
        left_out.add(archive.relative_to(folder).as_posix(), "nested")
    for path in found:
        if path.name.lower().endswith(FOREIGN_ARCHIVES):
            left_out.add(path.relative_to(folder).as_posix(), "foreign")
    return left_out.all


def files_in(folder: Path) -> list[Path]:
    """Return the files in a folder that was made here, in order; none where it is a file."""
    found = (f"{place}/{name}" for place, _, names in os.walk(folder) for name in names)
    # As Paths are ordered, but ten times as fast.
    return [Path(each) for each in sorted(found, key=lambda each: each.split("/"))]


def _move_whole(handed_in: Delivery, folder: Path, room: StudentRoom, pace: Pace) -> bool:
    """Move what is in a folder that was unpacked for one student. Returns whether it was moved.

    One by one, 24,000 files in folders of their own were 48,000 folders to be made, and as many to
    be removed. A single file may lie beside everybody else's: their folder is not looked through.
    """
    if len(handed_in.files) < 2 or not room.may_move_all(handed_in):
        return False
    path, name = handed_in.files[0]
    around = Path(str(path).removesuffix(f"/{name}"))
    if not _are_in(around, handed_in.files) or _count_files(around) != len(handed_in.files):
        return False
    for each in around.iterdir():
        each.rename(folder / each.name)
        pace.step()
    return True


def _are_in(folder: Path, files: Sequence[tuple[Path, str]]) -> bool:
    """Say whether these are different files in a folder, by names that a student's may have."""
    top, names = f"{folder}/", {name for _, name in files}
    with suppress(PathError):
        for name in names:
            path_parts(name, _DEPTH)
        return len(names) == len(files) and all(str(path) == top + name for path, name in files)
    return False


def _count_files(folder: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


def _place(
    path: Path, folder: Path, name: str, taken: Counter[Path], *, moves: bool
) -> Reason | None:
    """Copy or move a file beside one of its name that is there; return why it cannot be there."""
    try:
        with names_refused():
            wanted = target = folder.joinpath(*path_parts(name, _DEPTH))
            target.parent.mkdir(parents=True, exist_ok=True)
            while target.exists():
                taken[wanted] += 1
                target = wanted.with_name(f"{wanted.stem}-{taken[wanted]}{wanted.suffix}")
            if moves:
                path.rename(target)
            else:
                shutil.copyfile(path, target)
    except PathError as refusal:
        return refusal.reason
    return None


def _unpack_within(
    archive: Path, folder: Path, reader: Callable[[], SubmissionReader], room: StudentRoom
) -> Iterable[LeftOut]:
    """Unpack what a student handed in packed, in place of it; it stays where it cannot be."""
    name = archive.relative_to(folder).as_posix()
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder.parent))
    try:
        inside = room.unpack(archive, draft, reader)
        _check_length(name, draft)
    except (ArchiveError, PathError) as error:
        shutil.rmtree(draft)
        return [LeftOut(name, error.reason)]
    draft.chmod(0o755)
    archive.unlink()
    draft.rename(archive)
    return [LeftOut(f"{name}/{each.name}", each.reason, each.more) for each in inside]


def _check_length(name: str, folder: Path) -> None:
    """Raise PathError where a path would be too long with the archive's name before it."""
    before = len(os.fsencode(folder)) + 1
    places = (os.fsencode(os.path.join(at, e)) for at, d, f in os.walk(folder) for e in (*d, *f))  # noqa: PTH118  Path takes ten times as long
    longest = max((len(each) - before for each in places), default=0)
    if len(os.fsencode(name)) + longest > LONGEST_PATH:
        raise PathError("name")
