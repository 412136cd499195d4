"""Unpacking one archive in the reading process: members are told one after the other, in pieces.

Nothing of an archive is believed: neither names nor sizes nor its index. The grader's end
(`grader.lms.archives`) decides where a member is written, and counts again.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import tarfile
import time
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, NamedTuple, cast

from grader.reading.member_names import read_names
from grader.reading.messages import (
    ARCHIVE_NAME,
    PIECE,
    Began,
    FolderSkipped,
    FolderTold,
    FromUnpacker,
    LeaveReason,
    NamesRead,
    Piece,
    Skipped,
    UnpackEnd,
    UnpackLimits,
)
from grader.reading.shares import CrowdedError, Shares, Whose, path_of

_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Others are unpacked before they can be counted: 775 bytes of bzip2 were 887 MB of memory."""

_HEADERS = 2**18
"""Longest headers of one member of a tar archive, which are read into memory.

`tarfile` takes half a second for 1 MB of them: a process was killed before it looked at the time.
"""

_RATIO = 12
"""So much larger than it is packed a member may always be; notebooks shrink to a tenth."""

_SPARE_SECONDS = 0.5
"""The unpacking stops by itself so long before the kernel would end it."""

Tell = Callable[[FromUnpacker], None]


class _LeaveOutError(Exception):
    """Raised for a single member."""

    def __init__(self, reason: LeaveReason) -> None:
        super().__init__(reason)
        self.reason: LeaveReason = reason


class _TooLargeError(Exception):
    """Raised for an archive whose index, headers, files or bytes are too many."""


class _OutOfTimeError(_TooLargeError):
    """Raised for a tar archive that is not read to its end within the time."""


def unpack_archive(file: BinaryIO, limits: UnpackLimits, seconds: float, tell: Tell) -> UnpackEnd:
    """Tell every member of an archive, and return how that ended.

    `seconds` of a processor may be used.
    """
    out = _Telling(tell, limits, seconds - _SPARE_SECONDS)
    try:
        if _begins_as_tar(file) or not zipfile.is_zipfile(file):
            _TarTelling(file, limits, out).tell_all()
        else:
            _unpack_zip(file, limits, out)
    except (_TooLargeError, CrowdedError, MemoryError):
        return "large"
    except Exception:  # noqa: BLE001  parsers raise whatever they meet: OSError, ValueError, struct.error
        return "damaged"
    return "all" if out.files else "damaged"  # a block of zeros is a tar archive, and so is a bomb


_PACKED_TARS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
"""How gzip, bzip2 and xz begin."""


def _begins_as_tar(file: BinaryIO) -> bool:
    """Say whether a file begins as a tar, packed or not.

    A zip is known by its end. The end of a class's tar is a file that a student handed in: where
    that is a zip, the whole class would be taken for what is in it.
    """
    file.seek(0)
    begin = file.read(tarfile.BLOCKSIZE)
    file.seek(0)
    if begin.startswith(_PACKED_TARS):
        return True
    try:
        tarfile.TarInfo.frombuf(begin, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


class _Telling:
    """Tells the members of an archive, and counts files and bytes."""

    def __init__(self, tell: Tell, limits: UnpackLimits, seconds: float) -> None:
        self._tell = tell
        self._limits = limits
        self._since = time.process_time()
        self._seconds = seconds
        self._begun = False
        self.files = 0
        self.size = 0

    @contextmanager
    def member(self, name: str) -> Iterator[None]:
        """Skip a member, and go on with the next, where the body cannot tell it."""
        self._begun = False
        self.files += 1  # before anything else: an archive of refused members is no shorter
        if self.files > self._limits.files and not self._limits.shared:
            raise _TooLargeError
        try:
            yield
        except _LeaveOutError as refusal:
            self._tell(Skipped(_sent(name), refusal.reason, self._begun))
        except (MemoryError, _TooLargeError):
            raise
        except Exception:  # noqa: BLE001  as above
            self._tell(Skipped(_sent(name), "damaged", self._begun))

    def leave_out(self, whose: Whose, *, is_folder: bool, reason: LeaveReason = "budget") -> None:
        """Tell that nothing of a student is unpacked, whose folder shows that there is one."""
        self._tell(FolderSkipped(_sent("/".join(whose)), is_folder, reason))

    def folder(self, name: str) -> None:
        """Tell a folder, which may be all that there is of a student."""
        self._tell(FolderTold(_sent(name)))

    def names_read(self, encoding: str) -> None:
        """Tell in which encoding names are read that do not say theirs."""
        self._tell(NamesRead(encoding))

    def room(self, left: int) -> int:
        """Return how large a member may be of which `left` bytes are left."""
        return min(self._limits.file_size, left)

    def content(self, name: str, content: IO[bytes], most: int, *, to_end: bool = False) -> int:
        """Tell a member in pieces, and return its size. Raises _LeaveOutError for one too large.

        One of a tar is read `to_end`: the next comes after it.
        """
        self._tell(Began(_sent(name)))
        self._begun = True
        size = 0
        while chunk := content.read(PIECE):
            size += len(chunk)
            self.size += len(chunk)
            if self.size > self._limits.size:
                raise _TooLargeError
            if size <= most:
                self._tell(Piece(chunk))
            elif not to_end:
                break
            self.check_time()
        if size > most:
            raise _LeaveOutError("large")
        return size

    def begin_again(self) -> None:
        """Count bytes anew: those of members that are left out do not count."""
        self.size = 0

    def is_late(self, share: float = 1.0) -> bool:
        """Say whether the time is over, or a share of it."""
        return time.process_time() > self._since + share * self._seconds

    def check_time(self) -> None:
        if self.is_late():
            raise _LeaveOutError("budget")


def _sent(name: str) -> str:
    """Return a name that a message can hold: what is no text in it is replaced."""
    known = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return known[: ARCHIVE_NAME + 1]


# zip


class _Index:
    """A file of which nothing is read at once that is longer than an index may be."""

    def __init__(self, file: BinaryIO, longest: int) -> None:
        self._file = file
        self._longest = longest
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        if size > self._longest:
            raise _TooLargeError
        content = self._file.read(size if size >= 0 else self._longest + 1)
        if len(content) > self._longest:
            raise _TooLargeError
        return content

    def seekable(self) -> bool:
        """Return whether there is an order of one's own."""
        return True


def _unpack_zip(file: BinaryIO, limits: UnpackLimits, out: _Telling) -> None:
    file.seek(0, 2)
    length = file.tell()
    with zipfile.ZipFile(cast("IO[bytes]", _Index(file, limits.index))) as opened:
        entries = opened.infolist()
        if len(entries) > limits.files and not limits.shared:
            raise _TooLargeError
        if sum(entry.compress_size for entry in entries) > length:
            raise zipfile.BadZipFile("members overlap")
        names, encoding = read_names(entries, limits.encoding)
        if encoding:
            out.names_read(encoding)
        shares = Shares(limits.files, limits.size)
        for group, room, whose in _fair(entries, names, limits, shares):
            if shares.is_left_out(whose):
                longer = (len(path_of(name)) > len(whose) or e.is_dir() for e, name in group)
                out.leave_out(whose, is_folder=any(longer))
                continue
            left = room
            for entry, name in group:
                with out.member(name):
                    out.check_time()
                    if entry.is_dir():
                        out.folder(name)
                        continue
                    _check_zip_entry(entry, out.room(left))
                    with _open_zip_entry(opened, entry) as content:
                        left -= out.content(name, content, out.room(left))


_Member = tuple[zipfile.ZipInfo, str]


def _fair(
    entries: Sequence[zipfile.ZipInfo], names: Sequence[str], limits: UnpackLimits, shares: Shares
) -> list[tuple[list[_Member], int, Whose]]:
    """Return members and their names by the folder or file in the archive that they belong to.

    Each of these comes with its room and its name.
    Each has an equal share, or 12 times what it is packed to: a bomb takes nobody else's room.
    Those that claim to be small come first.
    """
    groups: dict[Whose, list[_Member]] = defaultdict(list)
    paths = [path_of(name) if limits.shared else () for name in names]
    for path in paths:
        shares.count(path, 0)
    shares.divide()
    for entry, name, path in zip(entries, names, paths, strict=True):
        groups[shares.whose(path)].append((entry, name))
    share = limits.size // max(2 * len(groups), 1) if limits.shared else limits.size
    ordered = sorted(groups.items(), key=lambda named: sum(each.file_size for each, _ in named[1]))
    return [
        (group, max(share, _RATIO * sum(each.compress_size for each, _ in group)), whose)
        for whose, group in ordered
    ]


def _check_zip_entry(entry: zipfile.ZipInfo, most: int) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise _LeaveOutError("link")
    if kind not in (0, stat.S_IFREG):
        raise _LeaveOutError("special")
    if entry.flag_bits & _ENCRYPTED:
        raise _LeaveOutError("encrypted")
    if entry.compress_type not in _METHODS:
        raise _LeaveOutError("unsupported")
    if entry.file_size > most:  # what is more than it says is damaged: no more is read
        raise _LeaveOutError("large")


@contextmanager
def _open_zip_entry(opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    try:
        content = opened.open(entry)
    except NotImplementedError:
        raise _LeaveOutError("unsupported") from None
    with content:
        yield content


# tar


class _Stream:
    """What a tar archive is read from, with a bound on what is read between two of its members."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._read = 0

    def read(self, size: int) -> bytes:
        """Return some bytes. Raises _TooLargeError where the headers have no end."""
        content = self._stream.read(size)
        self._read += len(content)
        if self._read > _HEADERS:
            raise _TooLargeError
        return content

    def begin(self) -> None:
        self._read = 0


class _Content:
    """The content of a member of a tar archive, which is not counted as headers."""

    def __init__(self, content: IO[bytes], stream: _Stream) -> None:
        self._content = content
        self._stream = stream

    def read(self, size: int) -> bytes:
        self._stream.begin()
        return self._content.read(size)


_OPENERS: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
_BLOCK = 2**16


_FIRST = 0.6
"""The share of the time in which an archive is read to its end that is to be read once more."""


class _TarTelling:
    """Tells the members of a tar archive. A class's is read twice where a share is exceeded.

    Only its end shows who has the most, and its beginning may have been told by then.
    """

    def __init__(self, file: BinaryIO, limits: UnpackLimits, out: _Telling) -> None:
        self._file = file
        self._limits = limits
        self._out = out
        self._shares = Shares(limits.files, limits.size)
        self._told = 0
        self._last: _TarMember | None = None

    def tell_all(self) -> None:
        """Tell all members. Raises _TooLargeError, CrowdedError, and what parsers raise.

        Where the time is over, those of a class are told who were read until then: nobody knows
        who comes behind them.
        """
        try:
            self._tell_first()
            if self._shares.is_exceeded:
                self._shares.divide()
                self._tell_rest()
        except _OutOfTimeError:
            if not self._limits.shared or self._last is None:
                raise
            self._leave_out(self._last, "unread")

    def _tell_first(self) -> None:
        for each in _tar_members(self._file, self._out):
            size = each.size_within(self._limits.file_size)
            if not self._limits.shared or self._shares.count(each.path, size):
                self._tell(each)
                self._told += 1
            elif self._out.is_late(_FIRST):
                raise _OutOfTimeError

    def _tell_rest(self) -> None:
        """Tell who is left out, and of all others the members after those that were told."""
        self._out.begin_again()
        left_out = set()
        for at, each in enumerate(_tar_members(self._file, self._out)):
            whose = self._shares.whose(each.path)
            if not self._shares.is_left_out(whose):
                if at >= self._told:
                    self._tell(each)
            elif whose not in left_out:
                left_out.add(whose)
                self._leave_out(each, "budget")

    def _tell(self, member: _TarMember) -> None:
        self._last = member
        member.tell(self._out)

    def _leave_out(self, member: _TarMember, reason: LeaveReason) -> None:
        whose = self._shares.whose(member.path)
        is_folder = len(member.path) > len(whose) or member.entry.isdir()
        self._out.leave_out(whose, is_folder=is_folder, reason=reason)


class _TarMember(NamedTuple):
    """A member of a tar archive that is being read."""

    opened: tarfile.TarFile
    entry: tarfile.TarInfo
    stream: _Stream

    @property
    def path(self) -> Whose:
        return path_of(_sent(self.entry.name))

    @property
    def is_plain(self) -> bool:
        """Whether it is a file without holes."""
        return self.entry.isreg() and not self.entry.issparse()

    @property
    def content(self) -> IO[bytes] | None:
        """What is in it, None where it is no plain file."""
        if not self.is_plain:
            return None
        content = self.opened.extractfile(self.entry)
        return None if content is None else cast("IO[bytes]", _Content(content, self.stream))

    def size_within(self, most: int) -> int:
        """Return its size, 0 where it will not be unpacked: it is no plain file, or too large."""
        return self.entry.size if self.is_plain and self.entry.size <= most else 0

    def tell(self, out: _Telling) -> None:
        """Tell it, or why it is left out."""
        entry = self.entry
        with out.member(entry.name):
            out.check_time()
            if entry.isdir():
                out.folder(entry.name)
                return
            if entry.issym() or entry.islnk():
                raise _LeaveOutError("link")
            content = self.content
            if content is None:
                raise _LeaveOutError("special")
            most = out.room(entry.size)
            out.content(entry.name, content, most if most == entry.size else 0, to_end=True)


class _DamagedError(Exception):
    """Raised for a header that is none: `tarfile` takes it for the end of the archive."""


class _Header(tarfile.TarInfo):
    """A header of a tar archive, which is sound or is told."""

    @classmethod
    def fromtarfile(cls, opened: tarfile.TarFile) -> _Header:
        """Read the next header. Raises _DamagedError."""
        try:
            return super().fromtarfile(opened)
        except (tarfile.InvalidHeaderError, tarfile.TruncatedHeaderError):  # type: ignore[attr-defined]
            raise _DamagedError from None


def _tar_members(file: BinaryIO, out: _Telling) -> Iterator[_TarMember]:
    """Yield the members of a tar archive, compressed by what its first bytes say.

    Each of these decompresses no more than is asked for: a bomb ends at its limit. Raises
    _OutOfTimeError, _DamagedError, and what `tarfile` raises.
    """
    file.seek(0)
    head = file.read(6)
    file.seek(0)
    opener = next((each for magic, each in _OPENERS.items() if head.startswith(magic)), None)
    stream = _Stream(file if opener is None else opener(file))
    source = cast("IO[bytes]", stream)
    with tarfile.open(fileobj=source, mode="r|", bufsize=_BLOCK, tarinfo=_Header) as opened:
        while (entry := opened.next()) is not None:
            cast("Any", opened).members.clear()  # 100,000 of them were more than a reader's memory
            stream.begin()
            yield _TarMember(opened, entry, stream)
            _skip_rest(opened, stream, out)


def _skip_rest(opened: tarfile.TarFile, stream: _Stream, out: _Telling) -> None:
    """Read what nobody has asked for of a member's content, but the last byte.

    `tarfile` reads that as it looks for the next member, where it counts as headers.
    """
    source = cast("Any", opened.fileobj)
    while not out.is_late():
        left = opened.offset - 1 - source.tell()
        stream.begin()
        if left <= 0 or not source.read(min(left, _BLOCK)):
            return
    raise _OutOfTimeError
