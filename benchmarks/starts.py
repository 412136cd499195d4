"""What many starts leave behind: processes, mounts, sockets, shared memory and files of this user.

    python benchmarks/starts.py [--count 1000] [--level LEVEL] [--json FILE]

Each start runs a notebook of one cell in a student kernel of its own, four at a time. Everything is
counted before the first and after the last; the exit code is 1 if something is left.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nbformat.v4 import new_code_cell, new_notebook

from grader.assignment import Limits
from grader.execute.kernel import KernelOrder
from grader.execute.notebook import execute_notebook
from grader.inside.launcher.linux import adopt_orphans
from grader.inside.launcher.usage import descendants
from grader.progress import Silent
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import LEVELS, Sandbox

_FILE_FOLDERS = (tempfile.gettempdir(), "/dev/shm", "/var/tmp")
_CONNECTIONS = ("unix", "tcp", "tcp6", "udp", "udp6")
_AT_A_TIME = 4
_SETTLE_SECONDS = 10.0


def main() -> int:
    """Run the benchmark; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--level", choices=LEVELS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    adopt_orphans()
    with (
        tempfile.TemporaryDirectory() as folder,
        choose_sandbox(options.level, minimum="none") as sandbox,
    ):
        tempfile.tempdir = folder
        _start(sandbox)  # the launcher is started with the first: it stays
        before = _inventory()
        begin = time.monotonic()
        seconds = _start_many(sandbox, options.count)
        wall = time.monotonic() - begin
        left = _what_is_left(before)
    result = {
        "level": sandbox.level,
        "starts": options.count,
        "wall_s": round(wall, 2),
        "median_start_ms": round(1000 * statistics.median(seconds), 1),
        "left": {kind: sorted(items) for kind, items in left.items() if items},
    }
    print(json.dumps(result, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(result))
    return 1 if result["left"] else 0


def _start_many(sandbox: Sandbox, count: int) -> list[float]:
    seconds: list[float] = []
    with ThreadPoolExecutor(_AT_A_TIME) as executor:
        for number, each in enumerate(executor.map(lambda _: _start(sandbox), range(count)), 1):
            seconds.append(each)
            if number % 100 == 0:
                print(f"{number} of {count}", file=sys.stderr)
    return seconds


def _start(sandbox: Sandbox) -> float:
    """Run a notebook and return the seconds that it took."""
    begin = time.monotonic()
    notebook = new_notebook(cells=[new_code_cell("import torch, tvm")])
    order = KernelOrder(sandbox, (), {"data/note": b"text"}, Limits())
    execution = execute_notebook(notebook, order, Silent())
    if execution.executed != 1:
        raise SystemExit(f"a notebook did not run: {execution.problems} {execution.notes}")
    return time.monotonic() - begin


def _inventory() -> dict[str, set[str]]:
    """Return what there is of each kind, under names that stay the same."""
    return {
        "processes": set(map(str, descendants(os.getpid()))),  # orphans were adopted
        "mounts": set(Path("/proc/self/mountinfo").read_text().splitlines()),
        "sockets": set(_sockets()),
        "shared memory": set(_rows("/proc/sysvipc/shm")),
        "semaphores": set(_rows("/proc/sysvipc/sem")),
        "message queues": set(_rows("/proc/sysvipc/msg")),
        "descriptors": set(_descriptors()),
        "files": {str(path) for folder in _folders() for path in folder.iterdir()},
    }


def _what_is_left(before: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return what is there beyond `before`, once what is on its way out has had time to go."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    while True:
        now = _inventory()
        left = {kind: now[kind] - before[kind] for kind in now}
        if not any(left.values()) or time.monotonic() > deadline:
            return left
        time.sleep(0.2)


def _sockets() -> Iterator[str]:
    """Yield the sockets that have a name in this benchmark's folder, and network connections."""
    for kind in _CONNECTIONS:
        for row in _rows(f"/proc/net/{kind}"):
            name = row.split()[-1]
            if kind != "unix" or name.startswith(tempfile.gettempdir()):
                yield f"{kind} {name}"


def _rows(path: str) -> list[str]:
    return Path(path).read_text().splitlines()[1:] if Path(path).exists() else []


def _folders() -> tuple[Path, ...]:
    return Path(tempfile.gettempdir()), Path("/dev/shm"), Path("/var/tmp")


def _descriptors() -> Iterator[str]:
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the listing's own
            target = path.readlink()
            if "/proc/" not in str(target):
                yield f"{path.name}"


if __name__ == "__main__":
    raise SystemExit(main())
