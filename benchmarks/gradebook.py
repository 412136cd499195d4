"""What the gradebook's commands cost as a class grows: time, memory, and both for each student.

Every student has a file and a stored report of it. A command is run in a process of its own, a few
times: without the time that its imports take, and with what it prints. The memory is the most that
the process ever had, its imports with it; for each student it is told without. `regrade` finds that
nothing has changed, and `rescore` is the same command where only points have: then every report is
counted anew. No kernel is started.

    python benchmarks/gradebook.py [--students 10 100 1000 10000] [--repeat 5] [--json FILE]

PostgreSQL is started for it where it is installed. Exit code 1: a bar is missed. Bars: 500 that are
unchanged in 1 s, 500 that are counted anew in 3 s; and a student of the largest class costs no more
than 1.25 times what one of the class before it does.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import msgspec  # noqa: E402
from rich.console import Console  # noqa: E402

from grader.cli.lms import ExportOptions, run_export  # noqa: E402
from grader.cli.regrade import RegradeOptions, run_regrade  # noqa: E402
from grader.cli.student_grades import explain_grade, list_grades  # noqa: E402
from grader.cli.telling import CommandOutput  # noqa: E402
from grader.gradebook.database import VARIABLE  # noqa: E402
from grader.gradebook.entries import RosterEntry, plan  # noqa: E402
from grader.grading.preparation import GradingOptions  # noqa: E402
from tests.gradebook.small_class import SLUG, Class  # noqa: E402

Value = TypeVar("Value")
COMMANDS = ("list", "explain", "export", "regrade")
BARS = {"regrade": 1.0, "rescore": 3.0}
"""Seconds for a class of 500, of which nothing or only points have changed."""

FLAT = 1.25
NAMES = ("Ada Lovelace", "李雷", "Zoë Ångström", "김철수", "محمد علي", "Nguyễn Thị", "O'Brien, Jr.")


class Measured(msgspec.Struct, frozen=True):
    """What came of a command in a process of its own: seconds of each time, and megabytes."""

    wall_s: tuple[float, ...]
    cpu_s: tuple[float, ...]
    before_mb: float
    peak_mb: float


class Row(msgspec.Struct, frozen=True):
    """A command on a gradebook with so many students."""

    database: str
    command: str
    students: int
    found: Measured

    @property
    def median_s(self) -> float:
        """Seconds that it takes."""
        return statistics.median(self.found.wall_s)

    @property
    def each_ms(self) -> float:
        """Milliseconds for each student, of a processor: what others do beside it is not its."""
        return statistics.median(self.found.cpu_s) / self.students * 1000

    @property
    def each_kb(self) -> float:
        """Kilobytes for each student, beyond what the imports take."""
        return max(self.found.peak_mb - self.found.before_mb, 0) / self.students * 1024


def make_class(folder: Path, url: str, students: int) -> None:
    """Make a course with a gradebook in which so many are graded, with all kinds of scores."""
    found = Class(folder, url)
    logins = [f"s{number:05}" for number in range(students)]
    roster = [
        RosterEntry(login, {"name": NAMES[at % len(NAMES)], "section": "AB"[at % 2]}, {}, "")
        for at, login in enumerate(logins)
    ]
    found.book.change_students(plan([], roster))
    found.grade_all({login: at * 7 % 21 / 20 for at, login in enumerate(logins)})
    found.book.close()


def command_of(name: str, folder: Path) -> Callable[[], object]:
    """Return what runs a command."""
    if name == "list":
        return lambda: list_grades(None, None, folder, CommandOutput(), everybody=False)
    if name == "explain":
        return lambda: explain_grade("s00000", SLUG, folder, CommandOutput())
    if name == "export":
        options = ExportOptions("csv", assignment=SLUG, course=folder)
        return lambda: _must(run_export(options, Console(), lambda content: print(len(content))))
    return lambda: regrade(folder, {"regrade": "kept", "rescore": "rescored"}[name])


def regrade(folder: Path, way: str) -> None:
    """Grade anew what has changed: of which everything goes one way, and nothing is run."""
    asked = RegradeOptions(GradingOptions(SLUG, course=folder), changed=True)
    place = folder / "told.json"
    _must(run_regrade(asked, CommandOutput(place), Console()))
    told = json.loads(place.read_bytes())
    _must(told[way] > 0 == told["run"])


def _must(is_so: bool) -> None:
    if not is_so:
        raise AssertionError("a command did something else than what is measured")


def measure(name: str, folder: Path, url: str, repeat: int) -> Measured:
    """Run a command a few times; between, points are changed for what counts them anew."""
    os.environ[VARIABLE] = url
    run, before_mb = command_of(name, folder), _most_memory()
    walls, processors = [], []
    for number in range(repeat):
        if name == "rescore":
            _weigh(folder, number)
        wall, processor = time.perf_counter(), time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            run()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return Measured(tuple(walls), tuple(processors), before_mb, _most_memory())


def _weigh(folder: Path, number: int) -> None:
    """Make the second check, of 6 points at first, worth a point more."""
    path = folder / "assignments" / "small" / "assignment.toml"
    text = path.read_text()
    for before in (10 + number, 6 + number):
        assert f"points = {before}\n" in text
        text = text.replace(f"points = {before}\n", f"points = {before + 1}\n")
    path.write_text(text)


def _most_memory() -> float:
    """Return the most memory that this process ever had, in megabytes.

    What `getrusage` says may be that of the process which it was forked off.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


def in_child(work: Callable[..., Value], *arguments: object) -> Value:
    """Return what a function returns, called in a new process that has the imports of this one."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as executor:
        return executor.submit(work, *arguments).result()


@contextlib.contextmanager
def databases() -> Iterator[dict[str, Callable[[Path], str]]]:
    """Yield, by kinds of databases, what returns the URL of a new one for a folder."""
    found: dict[str, Callable[[Path], str]] = {
        "sqlite": lambda folder: f"sqlite:///{folder / 'gradebook.sqlite'}"
    }
    with contextlib.ExitStack() as opened:
        try:
            from tests.gradebook.postgres import find_programs, new_database, running_server
        except ModuleNotFoundError as error:  # the driver is an extra
            print(f"Without PostgreSQL: {error}.", file=sys.stderr)
            yield found
            return
        if find_programs() is None:
            print("Without PostgreSQL, which is not installed.", file=sys.stderr)
        else:
            server = opened.enter_context(running_server())
            found["postgresql"] = lambda _: new_database(server)
        yield found


def rows_of(
    kind: str, new: Callable[[Path], str], students: int, commands: Iterable[str], repeat: int
) -> Iterator[Row]:
    """Measure commands on one gradebook, and print each when it is done."""
    with tempfile.TemporaryDirectory(prefix="gradebook-") as name:
        folder = Path(name)
        url = new(folder)
        in_child(make_class, folder, url, students)
        for command in commands:
            found = in_child(measure, command, folder, url, repeat)
            row = Row(kind, command, students, found)
            print_row(row)
            yield row


def print_row(row: Row) -> None:
    """Print what was measured, in a line."""
    low, high = min(row.found.wall_s), max(row.found.wall_s)
    spread = f"{low:.3f} to {high:.3f}"
    print(
        f"{row.database:10} {row.command:8} {row.students:8} {row.median_s:9.3f} {spread:>18}"
        f" {row.each_ms:12.3f} {row.found.peak_mb:8.0f} {row.each_kb:11.1f}",
        flush=True,
    )


HEAD = (
    f"{'database':10} {'command':8} {'students':>8} {'median s':>9} {'spread':>18}"
    f" {'CPU ms/each':>12} {'peak MB':>8} {'KB/each':>11}"
)


def growth(rows: Iterable[Row]) -> dict[str, float]:
    """Return how many times what a student of the class before costs one of the largest does."""
    classes: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.students):
        classes.setdefault(f"{row.database} {row.command}", []).append(row)
    return {
        name: round(found[-1].each_ms / found[-2].each_ms, 3)
        for name, found in classes.items()
        if len(found) > 1
    }


def tell_bars(timed: Iterable[Row], grown: dict[str, float]) -> bool:
    """Print what there are bars for; return whether all are met."""
    met = []
    for row in timed:
        bar = BARS[row.command]
        met.append(row.median_s < bar)
        print(f"{row.database}: {row.command} of {row.students}: {row.median_s:.2f} s of {bar} s")
    for name, ratio in grown.items():
        met.append(ratio <= FLAT)
        print(f"{name}: a student of the largest class costs {ratio:.2f} times one of that before")
    return all(met)


def main() -> int:
    """Print a row for every command, database and class, then the bars."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--students", type=int, nargs="+", default=[10, 100, 1000, 10000])
    parser.add_argument("--bars", type=int, default=500, help="students where seconds have a bar")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(HEAD)
    rows: list[Row] = []
    timed: list[Row] = []
    with databases() as known:
        for kind, new in known.items():
            for students in sorted(arguments.students):
                rows += rows_of(kind, new, students, COMMANDS, arguments.repeat)
            timed += rows_of(kind, new, arguments.bars, BARS, arguments.repeat)
    grown = growth(rows)
    is_met = tell_bars(timed, grown)
    if arguments.json is not None:
        told = msgspec.to_builtins([*rows, *timed])
        document = {"rows": told, "growth": grown, "met": is_met}
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
