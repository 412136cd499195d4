"""Reads and renders files that were written to take long, and prints the worst first.

Every construct of tests/properties/hostile.py is drawn as large as a file of its kind may be: in
one cell, in cells that are just looked at, in as many cells as there may be, as a script, as
Markdown, and in what is no cell. Each is read by the process that reads submissions; then some are
written down and rendered in every format, with outputs that are hostile as well.
"ended" is a file that was too much: its report says so. Seconds are those of the processor, and
after them by the clock, which counts what else the machine does.

With --archives it is the archives of tests/lms/hostile.py that are read, each as one student's.

    python benchmarks/hostile_files.py [--archives] [--size MB] [--only WORD] [--rows N]
        [--seconds S] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import msgspec
from nbformat import NotebookNode
from reader_watch import Watch, children

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from grader.execute.problems import PathRedaction
from grader.execute.result import Execution
from grader.grading.account import transcribe
from grader.grading.spelling import respell
from grader.reading.cells import CODE_LIMIT, SIZE_LIMIT, TEXT_LIMIT
from grader.reading.messages import (
    Overwhelmed,
    Read,
    ReaderBounds,
    Unpacked,
    UnpackLimits,
)
from grader.reading.reader import SubmissionReader
from grader.reading.submission import SubmissionFile, as_notebook
from grader.render.formats import FORMATS, render_as
from grader.report import CellProblem, Report, decode_report, encode_report
from tests import sample_reports
from tests.lms.hostile import ATTACKS
from tests.properties import hostile

SECONDS, MEGABYTES = 5.0, 300
"""What reading a file, or rendering its report, may take: processor time, and memory above the idle
process."""

LOOKED_AT, MANY = 60_000, 2000
"""Characters of the longest cell that is parsed, and cells of the longest notebook."""


class File(NamedTuple):
    """A hostile file: what is in it, how its name ends, and a function that makes it.

    What is read of it is `rendered` as well, where no other file has the same in it.
    """

    name: str
    suffix: str
    make: Callable[[], bytes]
    rendered: bool = False


class Row(NamedTuple):
    """What became of a file. `end` is "read", "refused" with a sentence, or "ended" at a bound."""

    name: str
    stage: str
    seconds: float
    clock: float
    megabytes: float
    end: str


def draw(size: int) -> Iterator[File]:
    """Yield all files, of at most `size` bytes each."""
    for name, make in hostile.FORMS.items():
        yield File(name, ".ipynb", _text(make, size - 2**16))
    code, text = min(size, CODE_LIMIT - 2**16), min(size, TEXT_LIMIT)
    for name, make in hostile.CODE.items():
        long = max(code // LOOKED_AT, 1)
        yield File(f"{name}, a cell", ".ipynb", _cells(make, code, 1))
        yield File(f"{name}, long cells", ".ipynb", _cells(make, code, long))
        yield File(f"{name}, cells", ".ipynb", _cells(make, code, MANY), rendered=True)
        yield File(f"{name}, a script", ".py", _text(make, text))
    for name, make in hostile.MARKDOWN.items():
        yield File(f"{name}, text cells", ".ipynb", _cells(make, size // 2, 100, "markdown"))
        yield File(
            f"{name}, short text cells", ".ipynb", _cells(make, 300_000, 80, "markdown"), True
        )
        yield File(f"{name}, Markdown", ".md", _text(make, text))


def _cells(
    make: hostile.Construct, size: int, count: int, kind: str = "code"
) -> Callable[[], bytes]:
    def content() -> bytes:
        whole = hostile.in_cells(make, size, count, kind)
        # With text alone there is nothing to grade.
        return (
            whole if kind == "code" else whole.replace(b"[", b"[%b, " % hostile.cell().encode(), 1)
        )

    return content


def _text(make: hostile.Construct, size: int) -> Callable[[], bytes]:
    return lambda: make(size).encode("utf-8", "replace")[:SIZE_LIMIT]


def measure(file: File, reader: SubmissionReader) -> Iterator[Row]:
    """Yield what reading a file came to, and rendering what was read of it."""
    with tempfile.TemporaryFile() as stream:
        stream.write(file.make())
        stream.seek(0)
        begin = time.monotonic()
        answer = reader.ask(stream.fileno(), file.suffix)
        seconds = time.monotonic() - begin
    if isinstance(answer, Overwhelmed):
        yield Row(file.name, "reading", min(seconds, SECONDS), seconds, MEGABYTES, "ended")
        return
    end = "read" if isinstance(answer, Read) else "refused"
    cost = answer.cost
    yield Row(file.name, "reading", cost.seconds, seconds, cost.memory / 2**20, end)
    if isinstance(answer, Read) and file.rendered:
        yield _in_child(file.name, "rendering", lambda: _render(answer))


def _render(read: Read) -> None:
    """Do what the grader does itself: spell, write down, and render in every format."""
    submission = SubmissionFile("a.ipynb", "", as_notebook(read.content))
    notebook = submission.notebook
    assert notebook is not None
    spelling = respell(notebook, read.respelling, submission.starts)
    run = spelling.notebook
    code = [cell for cell in run.cells if cell.cell_type == "code" and cell.source.strip()]
    for made in code:
        made.outputs = [NotebookNode(output_type="stream", name="stdout", text=made.source)] * 50
    problems = tuple(
        CellProblem(number, "Error", made.source[:300], 1) for number, made in enumerate(code, 1)
    )
    execution = spelling.own_words(Execution(run, problems, len(code), 0, (), ()))
    base = sample_reports.typical()
    report = msgspec.structs.replace(
        base,
        notes=tuple(sentence.text for sentence in read.content.notes),
        problems=execution.problems,
        cells=transcribe(submission, execution, PathRedaction((Path("/nowhere"),))),
    )
    _render_all(decode_report(encode_report(report)))


def _render_all(report: Report) -> None:
    for name in FORMATS:
        render_as(name, report, "instructor", datetime.now(timezone.utc))


def _in_child(name: str, stage: str, work: Callable[[], None]) -> Row:
    """Do something in a forked process, and return what it took."""
    idle = int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:  # noqa: BLE001  whatever it is, it is this row's
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status, used = os.wait4(child, 0)
    end = "rendered" if status == 0 else "FAILED"
    memory = max(used.ru_maxrss * 1024 - idle, 0) / 2**20
    seconds = used.ru_utime + used.ru_stime
    return Row(name, stage, seconds, time.monotonic() - begin, memory, end)


def is_bad(row: Row, limit: float) -> bool:
    """Say whether a file took more than it may, or could not be rendered."""
    return row.seconds > limit or row.megabytes > MEGABYTES or row.end == "FAILED"


def run(size: int, only: str = "", limit: float = SECONDS) -> list[Row]:
    """Measure all files, or those with a word in their names. Returns rows, the worst first."""
    rows: list[Row] = []
    with SubmissionReader() as reader:
        for file in draw(size):
            if only in file.name:
                for row in measure(file, reader):
                    rows.append(row)
                    print(_line(row, limit), file=sys.stderr, flush=True)
    return sorted(rows, key=lambda row: (not is_bad(row, limit), -row.seconds))


_OF_A_STUDENT = UnpackLimits(file_size=2**28, size=2**30, files=5000, index=2**21)
_UNPACKING = ReaderBounds(memory=160 * 2**20, seconds=3)


def run_archives(only: str = "") -> list[Row]:
    """Measure all archives, or those with a word in their names. Returns rows, the longest first.

    Memory is all that a process has, and not only what it has above an idle one.
    """
    rows: list[Row] = []
    with SubmissionReader() as reader:
        for name, (_, make) in ATTACKS.items():
            if only in name:
                rows.append(_unpack(name, make(), reader))
                print(_line(rows[-1], SECONDS), file=sys.stderr, flush=True)
    return sorted(rows, key=lambda row: -row.seconds)


def _unpack(name: str, content: bytes, reader: SubmissionReader) -> Row:
    watch, end, seconds = Watch(lambda: children(reader.pid)), "ended", 0.0
    with tempfile.TemporaryFile() as stream, watch.watching():
        stream.write(content)
        stream.seek(0)
        begin = time.monotonic()
        for message in reader.unpack(stream.fileno(), _OF_A_STUDENT, _UNPACKING):
            if isinstance(message, Unpacked):
                end, seconds = message.end, message.seconds
        clock = time.monotonic() - begin
    return Row(name, "unpacking", max(seconds, watch.seconds), clock, watch.megabytes, end)


def _line(row: Row, limit: float) -> str:
    took = f"{row.seconds:6.2f} s {row.clock:6.1f} s {row.megabytes:7.1f} MB"
    verdict = "   TOO MUCH" if is_bad(row, limit) else ""
    return f"{took}  {row.stage:9} {row.end:8} {row.name}{verdict}"


def main() -> None:
    """Print a line for each file. Exit code 1 when one of them took too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--archives", action="store_true", help="archives in place of notebooks and scripts"
    )
    parser.add_argument("--size", type=float, default=64, help="largest file, in MB")
    parser.add_argument("--only", default="", help="a word that a file's name has")
    parser.add_argument("--rows", type=int, default=20, help="how many are printed at the end")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="processor time that a file may take"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.archives:
        rows = run_archives(options.only)
    else:
        rows = run(int(options.size * 2**20), options.only, options.seconds)
    for row in rows[: options.rows]:
        print(_line(row, options.seconds))
    bad = sum(is_bad(row, options.seconds) for row in rows)
    print(f"{len(rows)} measured, {bad} too much")
    if options.json is not None:
        options.json.write_text(json.dumps([row._asdict() for row in rows], indent=2) + "\n")
    if bad:
        sys.exit(1)


if __name__ == "__main__":
    main()
