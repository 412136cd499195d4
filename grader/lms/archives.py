"""Unpacking archives that were handed in, or that hold what was handed in.

Nothing of an archive is trusted: neither its names nor its sizes. A member that is a link, a device
or would lie outside of the folder is left out and told of, as is what cannot be read; what would
fill the disk ends the unpacking. No member is ever opened by the name of another, and no link is
made, so that nothing leads out of the folder.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, cast

import msgspec

from grader.errors import UsageError
from grader.language import Text, say

Reason = Literal[
    "link",
    "special",
    "outside",
    "name",
    "twice",
    "large",
    "encrypted",
    "unsupported",
    "damaged",
    "nested",
]
"""Why a member is left out."""

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")

_LONGEST_NAME = 255
_UNICODE_NAME = 0x800
_ENCRYPTED = 0x1
_CHUNK = 2**20
_BLOCK = 2**16
_LONGEST_HEADERS = 16 * 2**20
_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    gzip.BadGzipFile,
)


class ArchiveLimits(msgspec.Struct, frozen=True):
    """What an archive may hold: bytes in one file and in all, files, and folders in one another."""

    file_size: int = 512 * 2**20
    size: int = 16 * 2**30
    files: int = 200_000
    depth: int = 30


OF_A_STUDENT = ArchiveLimits(file_size=256 * 2**20, size=2**30, files=10_000)


class LeftOut(msgspec.Struct, frozen=True):
    """A member that was not unpacked."""

    name: str
    reason: Reason


class ArchiveError(UsageError):
    """Raised when an archive cannot be unpacked, or is larger than it may be."""


class _LeaveOutError(Exception):
    """Raised for a single member."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


def is_archive(name: str) -> bool:
    """Say by its name whether a file is an archive of a kind that is unpacked."""
    return name.lower().endswith(SUFFIXES)


def unpack(archive: Path, folder: Path, limits: ArchiveLimits | None = None) -> tuple[LeftOut, ...]:
    """Unpack a zip or tar archive into an empty folder; return what was left out.

    Raises ArchiveError when it is none, is damaged as a whole, or larger than the limits.
    """
    writer = _Writer(folder, ArchiveLimits() if limits is None else limits)
    try:
        if zipfile.is_zipfile(archive):
            _unpack_zip(archive, writer)
        else:
            _unpack_tar(archive, writer)
    except _DAMAGED:
        hint = say("Download it anew; what is unpacked by hand can be named as a folder.")
        raise ArchiveError(
            say("{name} is no archive, or a damaged one.", name=archive.name), hint
        ) from None
    return tuple(writer.left_out)


class _Writer:
    """Writes members below a folder, and counts."""

    def __init__(self, folder: Path, limits: ArchiveLimits) -> None:
        self.left_out: list[LeftOut] = []
        self._folder = folder
        self._limits = limits
        self._files = 0
        self._size = 0

    @contextmanager
    def member(self, name: str) -> Iterator[None]:
        """Leave a member out, and go on with the next, where the body cannot take it."""
        self._files += 1  # before anything else: an archive of refused members is no shorter
        if self._files > self._limits.files:
            raise _too_large(
                say("The archive holds more than {files:,} files.", files=self._limits.files)
            )
        try:
            yield
        except _LeaveOutError as refusal:
            self.left_out.append(LeftOut(name, refusal.reason))

    def write(self, name: str, content: IO[bytes]) -> None:
        """Write one member. Raises _LeaveOutError, and ArchiveError when all is too much."""
        place = self._folder.joinpath(*_parts(name, self._limits.depth))
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("xb") as file:
                self._copy(content, file)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise _LeaveOutError("twice") from None
        except _LeaveOutError:
            place.unlink()
            raise

    def _copy(self, content: IO[bytes], file: IO[bytes]) -> None:
        """Copy by chunks: what an archive says of its sizes need not be so."""
        size = 0
        while chunk := _read(content):
            size += len(chunk)
            self._size += len(chunk)
            if self._size > self._limits.size:
                raise _too_large(
                    say("The archive holds more than {size:,} MB.", size=self._limits.size // 2**20)
                )
            if size <= self._limits.file_size:
                file.write(chunk)
        if size > self._limits.file_size:  # read to its end: the next of a tar comes after it
            raise _LeaveOutError("large")


def _read(content: IO[bytes]) -> bytes:
    try:
        return content.read(_CHUNK)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError):
        raise _LeaveOutError("damaged") from None


def _too_large(what: Text) -> ArchiveError:
    return ArchiveError(what, say("If that is right, unpack it by hand, and name the folder."))


def _parts(name: str, depth: int) -> tuple[str, ...]:
    """Return the names of a path below the folder. Raises _LeaveOutError for any other path."""
    path = name.replace("\\", "/")  # so archives of Windows separate folders
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if path.startswith("/") or ".." in parts or (parts and parts[0].endswith(":")):
        raise _LeaveOutError("outside")
    if not parts or len(parts) > depth or "\0" in path:
        raise _LeaveOutError("name")
    if any(len(part.encode(errors="surrogateescape")) > _LONGEST_NAME for part in parts):
        raise _LeaveOutError("name")
    return parts


def _unpack_zip(archive: Path, writer: _Writer) -> None:
    with zipfile.ZipFile(archive) as opened:
        for entry in opened.infolist():
            name = _zip_name(entry)
            if entry.is_dir():
                continue
            with writer.member(name):
                _check_zip_entry(entry)
                with _open_zip_entry(opened, entry) as content:
                    writer.write(name, content)


def _zip_name(entry: zipfile.ZipInfo) -> str:
    """Return a member's name. Many programs write UTF-8 and do not say so, as macOS does."""
    if entry.flag_bits & _UNICODE_NAME:
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode()
    except UnicodeError:
        return entry.filename


def _check_zip_entry(entry: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise _LeaveOutError("link")
    if kind not in (0, stat.S_IFREG):
        raise _LeaveOutError("special")
    if entry.flag_bits & _ENCRYPTED:
        raise _LeaveOutError("encrypted")


@contextmanager
def _open_zip_entry(opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    try:
        content = opened.open(entry)
    except NotImplementedError:
        raise _LeaveOutError("unsupported") from None
    except (zipfile.BadZipFile, RuntimeError):  # whose header says another thing than its index
        raise _LeaveOutError("damaged") from None
    with content:
        yield content


class _Stream:
    """What a tar archive is read from, with a bound on what is read between two of its members.

    The headers of one member are read into memory, however long they say that they are.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._read = 0

    def read(self, size: int) -> bytes:
        """Return some bytes. Raises ArchiveError where the headers have no end."""
        content = self._stream.read(size)
        self._read += len(content)
        if self._read > _LONGEST_HEADERS:
            raise _too_large(
                say(
                    "The archive holds more than {size:,} MB about one file.",
                    size=_LONGEST_HEADERS // 2**20,
                )
            )
        return content

    def begin(self) -> None:
        """Count from here."""
        self._read = 0


class _Content:
    """The content of a member of a tar archive, which is not counted as headers."""

    def __init__(self, content: IO[bytes], stream: _Stream) -> None:
        self._content = content
        self._stream = stream

    def read(self, size: int) -> bytes:
        """Return some bytes."""
        self._stream.begin()
        return self._content.read(size)


_OPENERS: dict[bytes, Callable[[Path, Literal["rb"]], IO[bytes]]] = {
    b"\x1f\x8b": cast("Callable[[Path, Literal['rb']], IO[bytes]]", gzip.open),
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}


def _unpack_tar(archive: Path, writer: _Writer) -> None:
    with _decompressed(archive) as compressed:
        stream = _Stream(compressed)
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|", bufsize=_BLOCK) as opened:
            for entry in opened:
                stream.begin()
                if not entry.isdir():
                    with writer.member(entry.name):
                        writer.write(entry.name, _tar_content(opened, entry, stream))


def _tar_content(opened: tarfile.TarFile, entry: tarfile.TarInfo, stream: _Stream) -> IO[bytes]:
    if entry.issym() or entry.islnk():
        raise _LeaveOutError("link")
    content = opened.extractfile(entry) if entry.isreg() and not entry.issparse() else None
    if content is None:
        raise _LeaveOutError("special")
    return cast("IO[bytes]", _Content(content, stream))


@contextmanager
def _decompressed(archive: Path) -> Iterator[IO[bytes]]:
    """Open what a tar archive is compressed with, by its first bytes."""
    with archive.open("rb") as file:
        head = file.read(6)
    opener = next((each for magic, each in _OPENERS.items() if head.startswith(magic)), Path.open)
    with opener(archive, "rb") as stream:
        yield stream
