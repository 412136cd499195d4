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
import zlib
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
    GoingOn,
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

_GOING_SECONDS = 0.5

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
    out = _Telling(tell, limits, seconds)
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


def _begins_as_tar(file: BinaryIO) -> bool:
    """Say whether a file begins as a tar, packed or not.

    A zip is known by its end. The end of a class's tar is a file that a student handed in: where
    that is a zip, the whole class would be taken for what is in it. The first block of a class's
    zip has a student's file, too, whose bytes may give it the sum that a tar's header has.
    """
    file.seek(0)
    begin = file.read(tarfile.BLOCKSIZE)
    file.seek(0)
    if begin.startswith(tuple(_OPENERS)):
        return True
    if _begins_as_zip(begin):
        return False
    try:
        tarfile.TarInfo.frombuf(begin, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _begins_as_zip(begin: bytes) -> bool:
    """Say whether a block begins with a member of a zip; no name in a header of a tar does so.

    A version is below 256, so a name would end at its zero byte, behind which a tar has but zeros.
    """
    return begin.startswith(b"PK\3\4") and begin[5:6] == b"\0" and begin[26:28] != b"\0\0"


class _Telling:
    """Tells the members of an archive, and counts files and bytes."""

    def __init__(self, tell: Tell, limits: UnpackLimits, seconds: float) -> None:
        self.tell = tell
        self._limits = limits
        self._since = self._told = time.process_time()
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
            self.tell(Skipped(_sent(name), refusal.reason, self._begun))
        except (MemoryError, _TooLargeError):
            raise
        except Exception:  # noqa: BLE001  as above
            self.tell(Skipped(_sent(name), "damaged", self._begun))

    def leave_out(self, whose: Whose, *, is_folder: bool, reason: LeaveReason = "budget") -> None:
        """Tell that nothing of a student is unpacked, whose folder shows that there is one."""
        self.tell(FolderSkipped(_sent("/".join(whose)), is_folder, reason))

    def folder(self, name: str) -> None:
        """Tell a folder, which may be all that there is of a student."""
        self.tell(FolderTold(_sent(name)))

    def room(self, left: int) -> int:
        """Return how large a member may be of which `left` bytes are left."""
        return min(self._limits.file_size, left)

    def content(self, name: str, content: IO[bytes], most: int) -> int:
        """Tell a member in pieces, and return its size. Raises _LeaveOutError for one too large."""
        self.tell(Began(_sent(name)))
        self._begun = True
        size = 0
        while chunk := content.read(PIECE):
            size += len(chunk)
            self.size += len(chunk)
            if self.size > self._limits.size:
                raise _TooLargeError
            if size > most:
                raise _LeaveOutError("large")
            self.tell(Piece(chunk))
            self.check_time()
        return size

    def pass_over(self, size: int) -> None:
        """Count a member that is too large. Raises _TooLargeError where an archive then is, too.

        A class's is not: what is one student's must not cost all others.
        """
        self.size += 0 if self._limits.shared else size
        if self.size > self._limits.size:
            raise _TooLargeError

    def go_on(self) -> None:
        """Tell, twice a second, that something is done of which there is nothing to tell."""
        now = time.process_time()
        if now > self._told + _GOING_SECONDS:
            self._told = now
            self.tell(GoingOn())

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
            out.tell(NamesRead(encoding))
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


class _Watched:
    """A file that is read only within the time.

    64 MB of empty streams are unpacked to nothing by a single read of half a minute.
    """

    def __init__(self, file: BinaryIO, out: _Telling) -> None:
        self._file = file
        self._out = out

    def read(self, size: int = -1) -> bytes:
        """Return some bytes. Raises _OutOfTimeError."""
        self._out.go_on()
        if self._out.is_late():
            raise _OutOfTimeError
        return self._file.read(size)

    def seek(self, place: int, whence: int = 0) -> int:
        """Go to a place, as openers do to begin again."""
        return self._file.seek(place, whence)


class _Stream:
    """What a tar archive is read from, forwards, with a bound on what is read between two members.

    `tarfile` has such an object itself, which takes as long again for each header.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._block = b""
        self._begin = 0
        self._at = 0
        self._read = 0

    def tell(self) -> int:
        """Return how much was read, as `tarfile` asks."""
        return self._begin + self._at

    def seek(self, place: int) -> None:
        """Go on to a place, or to the end where that comes before."""
        if place < self._begin:
            raise tarfile.StreamError("seeking backwards is not allowed")
        while place > self._begin + len(self._block) and self._next():
            pass
        self._at = min(place - self._begin, len(self._block))

    def read(self, size: int) -> bytes:
        """Return some bytes. Raises _TooLargeError where the headers have no end."""
        self._read += size
        if self._read > _HEADERS:
            raise _TooLargeError
        found = self._block[self._at : self._at + size]
        self._at += len(found)
        return found if len(found) == size else self._read_on(found, size)

    def begin(self) -> None:
        """Count anew what is read."""
        self._read = 0

    def skip_alike(self, begin: bytes) -> int:
        """Skip members from here on whose names begin so, and return how many.

        Only what lies in the block, and what is a plain header: one that is not is told by whoever
        reads it.
        """
        if self._at == len(self._block):
            self._next()
        block, at, count, before = self._block, self._at, 0, b""
        while True:
            if before and block.startswith(before, at):  # as most of three million are
                size = 0
            else:
                size = _size_alike(block, at, begin)
                if size < 0:
                    break
                before = b"" if size else block[at : at + _HEADER]
            at += _HEADER + size
            count += 1
        end = self._begin + at
        self.seek(end)
        if self.tell() != end:
            raise _DamagedError
        return count

    def _next(self) -> bool:
        """Read the next block, which is shorter only at the end. Returns whether there was one."""
        block = self._stream.read(_BLOCK)
        while 0 < len(block) < _BLOCK and (more := self._stream.read(_BLOCK - len(block))):
            block += more
        if block:
            self._begin += len(self._block)
            self._block, self._at = block, 0
        return bool(block)

    def _read_on(self, found: bytes, size: int) -> bytes:
        pieces, left = [found], size - len(found)
        while left and self._next():
            pieces.append(self._block[:left])
            self._at = len(pieces[-1])
            left -= self._at
        return b"".join(pieces)


def _octal(field: bytes) -> int | None:
    """Return a number as most headers have it, None for any other."""
    try:
        return int(field.rstrip(b"\0 ") or b"0", 8) if b"-" not in field else None
    except ValueError:
        return None


_HEADER = tarfile.BLOCKSIZE
_PLAIN = {tarfile.REGTYPE: 1} | dict.fromkeys(
    (
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.DIRTYPE,
        tarfile.FIFOTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
    ),
    0,
)
"""Kinds of members of which a header says all, and whether their content comes next."""


def _plain_size(header: bytes) -> int:
    """Return how much comes between a header and the next one; -1 where it is not a plain one."""
    has_content = _PLAIN.get(header[156:157])
    if has_content is None or header[345:346] != b"\0" or not _is_sound(header):
        return -1
    size = _octal(header[124:136]) if has_content else 0
    return -1 if size is None else -(-size // _HEADER) * _HEADER


_LONG_NAME = b"././@LongLink\0"
"""What GNU tar calls a member whose content is the next one's name."""


def _size_alike(block: bytes, at: int, begin: bytes) -> int:
    """Return how much comes behind a header until the next member, of one whose name begins so.

    -1 where it is not a plain one, or not whole in the block. Names of more than 100 bytes have two
    headers: a flood of those was read header by header, 25 times as slowly.
    """
    name = own = at
    if block.startswith(_LONG_NAME, at):
        header = block[at : at + _HEADER]
        size = _octal(header[124:136]) if _is_sound(header) else None
        if not size or header[156:157] != tarfile.GNUTYPE_LONGNAME:
            return -1
        name = at + _HEADER
        own = name - -size // _HEADER * _HEADER
    if not block.startswith(begin, name):
        return -1
    size = _plain_size(block[own : own + _HEADER])
    return -1 if size < 0 else own - at + size


def _is_sound(header: bytes) -> bool:
    """Say whether a header has the sum that it says; for others, `tarfile` adds up otherwise, too.

    Adler-32 begins with the sum of all bytes: Python takes ten times as long to add them up.
    """
    total = _octal(said := header[148:156])
    if total is None or len(header) != _HEADER:
        return False
    return zlib.adler32(header) % 2**16 == (total - _BLANK + sum(said) + 1) % _ADLER


_BLANK = 8 * ord(" ")
"""What the sum counts in its own place."""

_ADLER = 65521


class _Content:
    """The content of a member of a tar archive, which is not counted as headers."""

    def __init__(self, content: IO[bytes], stream: _Stream) -> None:
        self._content = content
        self._stream = stream

    def read(self, size: int) -> bytes:
        self._stream.begin()
        return self._content.read(size)


_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
"""What reads a packed archive, by how it begins: gzip, bzip2 and xz."""

_BLOCK = 2**16


class _TarTelling:
    """Tells the members of a tar archive.

    Only the end of a class's shows who has the most. Who had to wait and has not is told when the
    archive is read once more.
    """

    def __init__(self, file: BinaryIO, limits: UnpackLimits, out: _Telling) -> None:
        self._file = file
        self._limits = limits
        self._out = out
        self._shares = Shares(limits.files, limits.size)
        self._is_told = bytearray()
        self._left_out: set[Whose] = set()
        self._last: _TarMember | None = None

    def tell_all(self) -> None:
        """Tell all members. Raises _TooLargeError, CrowdedError, and what parsers raise.

        Where the time is over, those of a class are told who were read until then: nobody knows
        who comes behind them.
        """
        try:
            self._tell_first()
            crowded = self._shares.divide() if self._shares.is_exceeded else ()
            if crowded is None:
                self._tell_rest()
        except _OutOfTimeError:
            if not self._limits.shared or self._last is None:
                raise
            crowded = self._shares.refused
            self._leave_out(self._last, "unread")
        for each in crowded or ():
            if each.whose not in self._left_out:
                self._out.leave_out(each.whose, is_folder=each.is_folder)

    def _tell_first(self) -> None:
        """Tell all who need not wait until everybody is counted."""
        members = _TarMembers(self._file, self._out)
        for each in members:
            may_be = not self._limits.shared or self._shares.count(
                each.path, each.size_within(self._limits.file_size), is_folder=each.entry.isdir()
            )
            self._is_told.append(may_be)
            if may_be:
                self._tell(each)
            elif self._shares.is_past_hope(each.path):
                whose = self._shares.whose(each.path)
                self._is_told.extend(bytes(members.skip_alike(each, whose)))

    def _tell_rest(self) -> None:
        """Tell who is left out, and of all others the members that had to wait."""
        self._out.begin_again()
        members, at = _TarMembers(self._file, self._out), 0
        for each in members:
            whose = self._shares.whose(each.path)
            is_told = self._is_told[at]
            at += 1
            if self._shares.is_left_out(whose):
                if whose not in self._left_out:
                    self._leave_out(each, "budget")
                at += members.skip_alike(each, whose)
            elif not is_told:
                self._tell(each)

    def _tell(self, member: _TarMember) -> None:
        self._last = member
        member.tell(self._out)

    def _leave_out(self, member: _TarMember, reason: LeaveReason) -> None:
        whose = self._shares.whose(member.path)
        self._left_out.add(whose)
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
            if getattr(entry, "is_unread", False):
                raise _LeaveOutError("budget")
            if entry.isdir():
                out.folder(entry.name)
                return
            if entry.issym() or entry.islnk():
                raise _LeaveOutError("link")
            content = self.content
            if content is None:
                raise _LeaveOutError("special")
            if out.room(entry.size) < entry.size:
                out.pass_over(entry.size)
                raise _LeaveOutError("large")
            out.content(entry.name, content, entry.size)


class _DamagedError(Exception):
    """Raised for a header that is none: `tarfile` takes it for the end of the archive."""


class _Entry(tarfile.TarInfo):
    """What a header of a tar archive says; it is sound or is told.

    `is_unread` is one that had more to say.
    """

    is_unread = False

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Entry:
        """Read a header, and of it only what is needed: `tarfile` takes four times as long."""
        buf = bytes(buf)
        kind, size = buf[156:157], _octal(buf[124:136])
        if size is None or kind == tarfile.GNUTYPE_SPARSE or not _is_sound(buf):
            return super().frombuf(buf, encoding, errors)
        found = cls(buf[:100].partition(b"\0")[0].decode(encoding, errors))
        found.size = size
        found.type = kind
        if kind == tarfile.AREGTYPE and found.name.endswith("/"):
            found.type = tarfile.DIRTYPE
        if found.isdir():
            found.name = found.name.rstrip("/")
        if buf[345:346] != b"\0" and kind not in _OF_GNU:
            before = buf[345:500].partition(b"\0")[0].decode(encoding, errors)
            found.name = f"{before}/{found.name}"
        return found

    def _proc_pax(self, opened: _Opened) -> tarfile.TarInfo:
        """Read what else is said of the next member, unless too much was read of such."""
        if self.size > _LONG_PAX:
            opened.pax_left -= self.size
            if opened.pax_left < 0:
                stream = cast("_Stream", opened.fileobj)
                stream.seek(stream.tell() - -self.size // _HEADER * _HEADER)
                found = self.fromtarfile(opened)
                found.is_unread = True
                return found
        return cast("tarfile.TarInfo", super()._proc_pax(opened))  # type: ignore[misc]

    @classmethod
    def fromtarfile(cls, opened: tarfile.TarFile) -> _Entry:
        """Read the next header. Raises _DamagedError."""
        try:
            return super().fromtarfile(opened)
        except (tarfile.InvalidHeaderError, tarfile.TruncatedHeaderError):  # type: ignore[attr-defined]
            raise _DamagedError from None


_OF_GNU = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
"""Kinds whose headers have something else where others have the beginning of a long name."""


class _Opened(tarfile.TarFile):
    """A tar archive, and how many bytes of long headers of its members may still be read."""

    pax_left = 2**23


_LONG_PAX = 4096
"""A path and times take less. `tarfile` takes half a second for 2 MB of these: of 2,000 members
with 128 KB each, a minute."""


class _TarMembers:
    """The members of a tar archive, compressed by what its first bytes say.

    Each way of compression gives no more than is asked for: a bomb ends at its limit.
    """

    def __init__(self, file: BinaryIO, out: _Telling) -> None:
        file.seek(0)
        head = file.read(6)
        file.seek(0)
        opener = next((each for magic, each in _OPENERS.items() if head.startswith(magic)), None)
        self._stream = _Stream(file if opener is None else opener(_Watched(file, out)))
        self._out = out
        self._opened = _Opened(fileobj=cast("IO[bytes]", self._stream), tarinfo=_Entry)

    def __iter__(self) -> Iterator[_TarMember]:
        """Yield each. Raises _OutOfTimeError, _DamagedError, and what `tarfile` raises."""
        self._stream.begin()
        while (entry := self._opened.next()) is not None:
            cast("Any", self._opened).members.clear()  # 100,000 of them were more than its memory
            yield _TarMember(self._opened, entry, self._stream)
            self._skip_rest()
            self._stream.begin()

    def skip_alike(self, member: _TarMember, whose: Whose) -> int:
        """Skip what comes next of the same student, as far as it can be skipped at once.

        Returns how many members that were. Who packs "." has names that begin with it.
        """
        around = "./" if member.entry.name.startswith("./") else ""
        name = around + "".join(f"{each}/" for each in whose)
        begin, count = name.encode("utf-8", "surrogateescape"), 0
        self._skip_rest()
        self._stream.seek(cast("Any", self._opened).offset)
        while skipped := self._stream.skip_alike(begin):
            count += skipped
            cast("Any", self._opened).offset = self._stream.tell()
            self._check_time()
        return count

    def _skip_rest(self) -> None:
        """Read what nobody has asked for of a member's content, but the last byte.

        `tarfile` reads that as it looks for the next member, where it counts as headers.
        """
        end = cast("Any", self._opened).offset - 1
        self._check_time()
        while (place := self._stream.tell()) < end:
            self._stream.seek(min(place + _BLOCK, end))
            if self._stream.tell() == place:
                return
            self._check_time()

    def _check_time(self) -> None:
        self._out.go_on()
        if self._out.is_late():
            raise _OutOfTimeError
