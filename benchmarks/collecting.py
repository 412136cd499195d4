"""Collects archives of classes, hostile ones among them, and prints what each takes.

Every row is an archive of `--size` MB at most, or of many small submissions. "grader" is the
process that writes, "reader" the processes that unpack: seconds of a processor, and the largest
memory of one process. Only the memory of readers that lived for 10 ms is seen.

    python benchmarks/collecting.py [--size MB] [--students N] [--only WORD] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import lzma
import os
import random
import resource
import sys
import tarfile
import tempfile
import threading
import time
import traceback
import zipfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from grader.cli.telling import line
from grader.errors import GraderError
from grader.lms.collect import CollectRequest, collect_class
from grader.reading.messages import FromUnpacker, ReaderBounds, Unpacked, UnpackLimits
from grader.reading.reader import SubmissionReader

SECONDS, MEGABYTES = 10.0, 300
"""What an archive of 64 MB may take: time by the clock, and memory of one process."""

_MEGABYTE = 2**20
_LOOK_SECONDS = 0.01
_RANDOM = random.Random(39)


class Row(NamedTuple):
    """What became of an archive. `end` is "collected", or the sentence that refused it."""

    name: str
    megabytes: float
    clock: float
    grader_seconds: float
    reader_seconds: float
    grader_megabytes: float
    reader_megabytes: float
    unpackings: int
    students: int
    silence: float
    end: str


class _Measured(SubmissionReader):
    """A reader that adds up what its processes say they took."""

    seconds = 0.0
    count = 0

    def unpack(
        self, file: int, limits: UnpackLimits, bounds: ReaderBounds
    ) -> Generator[FromUnpacker, None, None]:
        """Unpack, and count."""
        self.count += 1
        with contextlib.closing(super().unpack(file, limits, bounds)) as told:
            for message in told:
                if isinstance(message, Unpacked):
                    self.seconds += message.seconds
                yield message


class _Listening:
    """A progress that knows how long nothing was said."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self.silence = 0.0

    def stage(self, _name: object, *, waits: bool = False) -> None:
        """Note that something was said."""
        del waits
        self.listen()

    def step(self, _done: int, _total: int, _label: object = None) -> None:
        """Note that something was said."""
        self.listen()

    def listen(self) -> None:
        """Note that something was said, or that it is the end."""
        now = time.monotonic()
        self.silence = max(self.silence, now - self._last)
        self._last = now


Made = Iterator[tuple[str, bytes]]
"""Names of members, and what is in them."""


class Kind(NamedTuple):
    """A kind of archive: what is in it for a size in bytes and a number of students."""

    name: str
    members: Callable[[int, int], Made]
    pack: Callable[[Path, Made], None]


def _name(student: int, file: str) -> str:
    return f"student{student:05}_{student + 100}_{student + 500000}_{file}"


def _zip(path: Path, made: Made) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in made:
            archive.writestr(zipfile.ZipInfo(name), content)


def _deflated(path: Path, made: Made) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in made:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def _tar(mode: str) -> Callable[[Path, Made], None]:
    def pack(path: Path, made: Made) -> None:
        with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
            for name, content in made:
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))

    return pack


def _packed(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def _notebooks(size: int, students: int) -> Made:
    for student in range(students):
        yield _name(student, "hw.ipynb"), _RANDOM.randbytes(size // students)


def _zips(size: int, students: int) -> Made:
    for student in range(students):
        content = _RANDOM.randbytes(size // students)
        yield _name(student, "hw.zip"), _packed({"hw.ipynb": content, "notes.txt": b"x"})


def _small_zips(_: int, students: int) -> Made:
    yield from _zips(20_000 * students, students)


def _many_files(size: int, students: int) -> Made:
    count = max(1, min(1000, size // 150 // students))
    packed = _packed({f"d{at // 50}/{at}.py": b"x" for at in range(count)})
    for student in range(students):
        yield _name(student, "hw.zip"), packed


def _zip_bombs(size: int, students: int) -> Made:
    bomb = _packed({"hw.ipynb": bytes(size // students * 1000)})
    for student in range(students):
        yield _name(student, "hw.zip"), bomb


def _tar_bombs(size: int, students: int) -> Made:
    stream = io.BytesIO()
    with lzma.open(stream, "wb", preset=0) as packed:
        content = bytes(size // students * 1000)
        with tarfile.open(fileobj=packed, mode="w|") as archive:
            entry = tarfile.TarInfo("hw.ipynb")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    for student in range(students):
        yield _name(student, "hw.tar.xz"), stream.getvalue()


def _in_one_another(size: int, students: int) -> Made:
    for student in range(students):
        content = _packed({"hw.ipynb": _RANDOM.randbytes(size // students)})
        yield _name(student, "hw.zip"), _packed({"inner.zip": content}, zipfile.ZIP_STORED)


def _zeros(size: int, students: int) -> Made:
    for student in range(students):
        yield _name(student, "hw.ipynb"), bytes(size // students * 1000)


def _empty_files(size: int, _: int) -> Made:
    for student in range(size // 120):
        yield _name(student, "hw.ipynb"), b""


def _flood(_: int, students: int) -> Made:
    yield from ((f"mallory/{at}.py", b"x") for at in range(60_000))
    yield from ((f"student{each}/hw.ipynb", b"{}") for each in range(students))


def _folders(size: int, students: int) -> Made:
    for student in range(students):
        for at in range(max(1, min(300, size // 600 // students))):
            yield f"student{student}/f{at}/hw{at}.py", b"x" * 50


FEW = 30

KINDS = (
    Kind("notebooks", _notebooks, _zip),
    Kind("notebooks in .tar.gz", _notebooks, _tar("w:gz")),
    Kind("notebooks in .tar.xz", _notebooks, _tar("w:xz")),
    Kind("notebooks in .tar.bz2", _notebooks, _tar("w:bz2")),
    Kind("zips", _zips, _zip),
    Kind("zips of 20 kB", _small_zips, _zip),
    Kind("zips in zips", _in_one_another, _zip),
    Kind("zips of many files", _many_files, _zip),
    Kind("folders of many files", _folders, _zip),
    Kind("zips that are bombs", _zip_bombs, _zip),
    Kind("30 zips that are bombs", lambda size, _: _zip_bombs(size, FEW), _zip),
    Kind("30 .tar.xz that are bombs", lambda size, _: _tar_bombs(min(size, 2**20), FEW), _zip),
    Kind("a bomb in each name", lambda size, _: _zeros(size // 4, FEW), _deflated),
    Kind("52,000 empty files", lambda _size, _students: _empty_files(52_000 * 120, 0), _zip),
    Kind("empty files", _empty_files, _zip),
    Kind("a flood of one student", _flood, _zip),
    Kind("empty files in .tar.gz", _empty_files, _tar("w:gz")),
)


def measure(kind: Kind, size: int, students: int) -> Row:
    """Make an archive, and collect it, each in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        archive = Path(place, "a.zip")
        _in_child(lambda: kind.pack(archive, kind.members(size, students)) or {})
        looking = threading.Event()
        peaks = [0.0]
        thread = threading.Thread(target=_look, args=(looking, peaks))
        thread.start()
        found = _in_child(lambda: _collect(archive, Path(place, "class")))
        looking.set()
        thread.join()
        return Row(
            kind.name, archive.stat().st_size / _MEGABYTE, reader_megabytes=peaks[0], **found
        )


def _collect(archive: Path, output: Path) -> dict[str, Any]:
    """Collect an archive, and return the fields of its row."""
    progress = _Listening()
    with contextlib.closing(_Measured()) as reader:
        begin, used = time.monotonic(), _used()
        end, students = "collected", 0
        try:
            request = CollectRequest((archive,), output)
            outcome = collect_class(request, progress=progress, reader=reader)
            students = len(outcome.collected.students)
        except GraderError as error:
            end = line(error.message)
        progress.listen()
        return {
            "clock": time.monotonic() - begin,
            "grader_seconds": _used() - used,
            "reader_seconds": reader.seconds,
            "grader_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "unpackings": reader.count,
            "students": students,
            "silence": progress.silence,
            "end": end,
        }


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _in_child(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Work in a child, whose memory is its own. Raises ChildProcessError."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(work, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read()
    if os.waitpid(child, 0)[1] != 0:
        raise ChildProcessError
    found: dict[str, Any] = msgspec.json.decode(answer)
    return found


def _answer(work: Callable[[], dict[str, Any]], writer: int) -> NoReturn:
    status = 1
    try:
        os.write(writer, msgspec.json.encode(work()))
        status = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(status)


def _look(ended: threading.Event, peaks: list[float]) -> None:
    """Note the most memory that a process below this one has had that is a reader."""
    while not ended.wait(_LOOK_SECONDS):
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                if (folder / "comm").read_text().startswith("grader-reader"):
                    status = (folder / "status").read_text()
                    kilobytes = int(status.split("VmHWM:")[1].split()[0])
                    peaks[0] = max(peaks[0], kilobytes / 1024)


def _print(row: Row) -> None:
    print(
        f"{row.clock:6.1f} s, nothing said for {row.silence:5.1f} s;"
        f" grader {row.grader_seconds:6.2f} s {row.grader_megabytes:4.0f} MB;"
        f" reader {row.reader_seconds:6.2f} s {row.reader_megabytes:4.0f} MB;"
        f" {row.megabytes:5.1f} MB, {row.students:5} students, {row.unpackings:4} unpackings:"
        f" {row.name}: {row.end[:60]}",
        flush=True,
    )


def main() -> int:
    """Measure, print, and return 1 where an archive takes too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=64, help="megabytes of each archive")
    parser.add_argument("--students", type=int, default=500)
    parser.add_argument("--only", default="", help="only kinds with this word in their name")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for kind in KINDS:
        if options.only in kind.name:
            rows.append(measure(kind, int(options.size * _MEGABYTE), options.students))
            _print(rows[-1])
    slow = [row for row in rows if min(row.clock, row.silence) > SECONDS]
    large = [row for row in rows if max(row.grader_megabytes, row.reader_megabytes) > MEGABYTES]
    print(f"{len(rows)} archives, {len(slow)} too slow, {len(large)} too large")
    if options.json:
        options.json.write_text(json.dumps({"rows": [row._asdict() for row in rows]}, indent=1))
    return int(bool(slow or large))


if __name__ == "__main__":
    sys.exit(main())
