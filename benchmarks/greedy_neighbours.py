"""Honest notebooks beside greedy ones: whatever a neighbour takes, they keep all their points.

Each kind of greed is graded beside an honest notebook, again and again, by the real command line.
Where control groups can be made, all of it runs in one of a few gigabytes: there it is easy to take
everything, and the machine has no part in it. With `--without-groups` the grader itself makes none,
and has to see and to end what takes too much.

    python benchmarks/greedy_neighbours.py                       # every kind, twenty times
    python benchmarks/greedy_neighbours.py --times 4 --kinds sockets descriptors
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat

from grader.report import Report, decode_report
from grader.sandbox.groups import SWITCH, Quota, find_groups

ROOT = Path(__file__).resolve().parents[1]
COURSE = ROOT / "tests" / "courses" / "small"
CELLS = ROOT / "tests" / "cheats" / "cells" / "shared"
GRADER = Path(sys.executable).with_name("grader")
MACHINE = Quota(memory=5 * 2**30, processes=4096)
"""The machine that they share, if it can be made smaller than this one."""

JOBS = 2
POINTS = 10

HONEST = """
import time

held = np.ones((150, 2**20), np.uint8)
end = time.process_time() + 1.5
while time.process_time() < end:
    np.linalg.svd(np.random.rand(60, 60))
print(held.sum())
"""

FORKED = """
import os
import time

def each(number, work):
    for _ in range(number):
        try:
            if os.fork() == 0:
                try:
                    work()
                except OSError:
                    pass
                time.sleep(3)
                os._exit(0)
        except OSError:
            break
"""

KINDS: Mapping[str, str] = {
    "memory": """
hoard = []
for _ in range(30):
    hoard.append(np.ones(2**26, np.uint8))
time.sleep(1)
while True:
    hoard.append(np.ones(2**26, np.uint8))
""",
    "memory_of_many": """
def work():
    hoard = np.ones(2**27, np.uint8)
    time.sleep(3)
each(30, work)
time.sleep(3)
""",
    "sockets": """
import socket
kept = []
def work():
    while True:
        ends = socket.socketpair()
        kept.append(ends)
        ends[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**22)
        ends[0].setblocking(False)
        try:
            while True:
                ends[0].send(bytes(2**16))
        except BlockingIOError:
            pass
each(30, work)
time.sleep(3)
""",
    "pipes": """
import fcntl
def work():
    while True:
        _, end = os.pipe()
        os.set_blocking(end, False)
        try:
            fcntl.fcntl(end, 1031, 2**20)
        except OSError:
            pass
        try:
            while True:
                os.write(end, bytes(4096))
        except BlockingIOError:
            pass
each(100, work)
time.sleep(3)
""",
    "mappings": """
import mmap
def work():
    kept = mmap.mmap(-1, 2**31, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | 0x4000)
    for place in range(0, 2**31, 2**16):
        kept[place]
    time.sleep(3)
each(100, work)
time.sleep(3)
""",
    "processor": """
def work():
    while time.time() < end:
        pass
    os._exit(0)
end = time.time() + 4
each(100, work)
work()
""",
    "processes": """
def work():
    each(100, work)
    time.sleep(3)
each(100, work)
time.sleep(3)
""",
    "disk": """
def work():
    for folder in (".", "/tmp", "/dev/shm"):
        try:
            with open(f"{folder}/{os.getpid()}", "wb") as file:
                while True:
                    file.write(bytes(2**20))
        except OSError:
            pass
each(8, work)
time.sleep(3)
""",
    "files": """
for number in range(10**6):
    open(f"{number}", "w").close()
""",
    "page_cache": """
with open("cached", "wb") as file:
    file.write(bytes(2**25))
end = time.time() + 3
while time.time() < end:
    with open("cached", "r+b") as file:
        file.write(file.read())
        os.fsync(file.fileno())
""",
    "descriptors": """
def work():
    while True:
        os.open("/dev/null", os.O_RDONLY)
each(100, work)
time.sleep(3)
""",
}
"""What each greedy notebook does, with `each(number, work)` to do it in many processes."""


@dataclass(frozen=True)
class Result:
    """What came of one kind: points of the honest ones, and what was said of the greedy ones."""

    kind: str
    honest: tuple[float, ...]
    lost: tuple[str, ...]
    greedy: tuple[str, ...]
    seconds: float
    messages: str


def main() -> None:
    """Print a line for each kind; end with 1 if an honest notebook lost points."""
    parser = argparse.ArgumentParser(description="Grade honest notebooks beside greedy ones.")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--level", default="")
    parser.add_argument("--without-groups", action="store_true")
    options = parser.parse_args()
    failed = False
    for kind in options.kinds:
        result = grade_beside(
            [kind], options.times, level=options.level, without_groups=options.without_groups
        )[kind]
        kept = sum(points == POINTS for points in result.honest)
        failed |= kept != options.times
        told = " | ".join(sorted(set(result.greedy)))
        print(f"{kind:15} {kept} of {options.times} kept all, {result.seconds:.0f} s: {told}")
        for line in result.lost:
            print(f"    lost: {line}")
        if len(result.honest) != options.times:
            print(result.messages)
    raise SystemExit(failed)


def grade_beside(
    kinds: Collection[str], times: int, *, level: str = "", without_groups: bool = False
) -> dict[str, Result]:
    """Grade an honest notebook beside a greedy one of each kind so many times, all in one batch."""
    with tempfile.TemporaryDirectory(prefix="greed-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o711)
        submissions = folder / "in"
        submissions.mkdir()
        for kind in kinds:
            for number in range(times):
                _write(submissions / f"{kind}-{number:02}-honest.ipynb", HONEST)
                _write(submissions / f"{kind}-{number:02}-neighbour.ipynb", FORKED + KINDS[kind])
        words = ["batch", submissions, "--output", folder / "out", "--course", COURSE]
        words += ["--data", "builtin", "--seed", "7", "--jobs", str(JOBS)]
        words += ["--sandbox", level] if level else []
        begin = time.monotonic()
        done = _run_in_a_small_machine(
            [str(GRADER), *map(str, words)],
            {**os.environ, "TMPDIR": name, **({SWITCH: "off"} if without_groups else {})},
        )
        seconds = time.monotonic() - begin
        return {
            kind: _result(kind, folder / "out", times, seconds, done.stdout + done.stderr)
            for kind in kinds
        }


def _result(kind: str, folder: Path, times: int, seconds: float, messages: str) -> Result:
    honest = list(_reports(folder, times, f"{kind}-{{:02}}-honest"))
    greedy = list(_reports(folder, times, f"{kind}-{{:02}}-neighbour"))
    return Result(
        kind,
        tuple(report.score for report in honest),
        tuple(_told(report) for report in honest if report.score != POINTS),
        tuple(_told(report) for report in greedy),
        seconds,
        messages,
    )


def _write(path: Path, source: str) -> None:
    shared = [(CELLS / f"{name}.py").read_text() for name in ("prelude", "right_model")]
    cells = [shared[0], source, shared[1]]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell.strip("\n")) for cell in cells],
        metadata={"grader": {"assignment": "small", "version": 1}},
    )
    nbformat.write(notebook, path)


def _run_in_a_small_machine(
    command: list[str], environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    groups = find_groups(environment={})
    if groups is None:
        return _run(command, environment)
    group = groups.make(MACHINE)
    entrances = [str(each / "cgroup.procs") for each in group.folders]
    script = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 1; shift; done; shift; exec "$@"'
    try:
        return _run(["/bin/sh", "-c", script, "sh", *entrances, "--", *command], environment)
    finally:
        group.remove()


def _run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, errors="replace", check=False
    )


def _reports(folder: Path, times: int, name: str) -> Iterable[Report]:
    for number in range(times):
        path = folder / f"{name.format(number)}.json"
        if path.exists():
            yield decode_report(path.read_bytes())


def _told(report: Report) -> str:
    problems = [f"{each.error}: {each.message}"[:100] for each in report.problems]
    return "; ".join([f"{report.score:g}", *problems, *(note.english for note in report.notes)])


if __name__ == "__main__":
    main()
