"""Collects archives of classes, hostile ones among them, and prints what each takes.

Every row is an archive of `--size` MB at most, or of many small submissions. "grader" is the
process that writes, "reader" the processes that unpack: seconds of a processor, and the largest
memory of one process. Of readers that end without saying what they took, and of memory, only what
lived for 10 ms is seen. Other work on the machine makes the clock go on, so the bars are for
seconds of a processor; for an archive that is over them, progress may go on instead.

    python benchmarks/collecting.py [--size MB] [--students N] [--only WORD] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from archive_kinds import KINDS, Kind
from child import in_child
from reader_watch import Watch, children

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from grader.cli.telling import line
from grader.errors import GraderError
from grader.lms.collect import CollectRequest, collect_class
from grader.reading.messages import FromUnpacker, ReaderBounds, Unpacked, UnpackLimits
from grader.reading.reader import SubmissionReader

SECONDS, MEGABYTES = 10.0, 300
"""What an archive of 64 MB may take: seconds of processors, and memory of one process."""

_MEGABYTE = 2**20


class Row(NamedTuple):
    """What became of an archive. `end` is "collected", or the sentence that refused it.

    `left_out` are the reasons why members were left out, and how many were for each.
    """

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
    left_out: dict[str, int]
    end: str

    @property
    def seconds(self) -> float:
        """Seconds of a processor in all processes."""
        return self.grader_seconds + self.reader_seconds


class _Measured(SubmissionReader):
    """A reader that adds up what its processes say they took."""

    seconds = 0.0
    count = 0

    def unpack(
        self, file: int, limits: UnpackLimits, bounds: ReaderBounds, whose: object = None
    ) -> Generator[FromUnpacker, None, None]:
        """Unpack, and count."""
        self.count += 1
        with contextlib.closing(super().unpack(file, limits, bounds, whose)) as told:
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


def measure(kind: Kind, size: int, students: int) -> Row:
    """Make an archive, and collect it, each in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        archive = Path(place, "a.zip")
        in_child(type(None), lambda: kind.pack(archive, kind.members(size, students)))
        watch = Watch(_unpackers)
        with watch.watching():
            found = in_child(dict[str, Any], lambda: _collect(archive, Path(place, "class")))
        found["reader_seconds"] = max(found["reader_seconds"], watch.seconds)
        megabytes = archive.stat().st_size / _MEGABYTE
        return Row(kind.name, megabytes, reader_megabytes=watch.megabytes, **found)


def _unpackers() -> Iterator[int]:
    """Yield what a child's reader has forked."""
    for collecting in children(os.getpid()):
        for reader in children(collecting):
            yield from children(reader)


def _collect(archive: Path, output: Path) -> dict[str, Any]:
    """Collect an archive, and return the fields of its row."""
    progress = _Listening()
    with contextlib.closing(_Measured()) as reader:
        begin, used = time.monotonic(), _used()
        end, students, left_out = "collected", 0, Counter[str]()
        try:
            request = CollectRequest((archive,), output)
            outcome = collect_class(request, progress=progress, reader=reader)
            students = len(outcome.collected.students)
            members = list(outcome.collected.left_out)
            for student in outcome.collected.students:
                members += student.attempts[-1].left_out
            for member in members:
                left_out[member.reason] += 1 + member.more
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
            "left_out": left_out,
            "end": end,
        }


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _print(row: Row) -> None:
    left_out = ", ".join(f"{count} {reason}" for reason, count in row.left_out.items())
    print(
        f"{row.seconds:6.2f} s of processors: grader {row.grader_seconds:5.2f} s"
        f" {row.grader_megabytes:4.0f} MB, reader {row.reader_seconds:5.2f} s"
        f" {row.reader_megabytes:4.0f} MB; clock {row.clock:5.1f} s, nothing said for"
        f" {row.silence:4.1f} s; {row.megabytes:5.1f} MB, {row.students:5} students,"
        f" {row.unpackings:4} unpackings: {row.name}: {row.end[:60]}"
        + (f"; left out: {left_out}" if left_out else ""),
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
    slow = [row for row in rows if min(row.seconds, row.silence) > SECONDS]
    large = [row for row in rows if max(row.grader_megabytes, row.reader_megabytes) > MEGABYTES]
    print(f"{len(rows)} archives, {len(slow)} too slow, {len(large)} too large")
    if options.json:
        options.json.write_text(json.dumps({"rows": [row._asdict() for row in rows]}, indent=1))
    return int(bool(slow or large))


if __name__ == "__main__":
    sys.exit(main())
