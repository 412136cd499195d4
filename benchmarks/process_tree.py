"""What a command and everything that it starts use: processor time, and memory at the peak.

Linux only. The command's orphans become children of this process, so that none of them is missed.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PROCESSOR_INTERVAL = 0.05
MEMORY_INTERVAL = 0.2
MEMORY_SHARE = 0.15
"""Share of one core that looking at memory may take: it is done less often where it takes long."""

_SET_CHILD_SUBREAPER = 36
_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


@dataclass
class Usage:
    """What was used. `waited_s` is what the kernel reports of processes that were waited for,
    `lost_s` that of processes which ended with their PID namespace: nobody waits for those.
    `unreadable` counts looks at the memory of a process that was not permitted.
    """

    code: int = 0
    wall_s: float = 0.0
    waited_s: float = 0.0
    lost_s: float = 0.0
    peak_mb: float = 0.0
    processes: int = 0
    memory_samples: int = 0
    unreadable: int = 0

    @property
    def cpu_s(self) -> float:
        """Processor seconds of all processes, user and system."""
        return self.waited_s + self.lost_s


@dataclass(frozen=True)
class Sample:
    """One process at one moment."""

    parent: int
    started: int
    seconds: float


@dataclass
class Tree:
    """The descendants of this process, looked at again and again."""

    seen: set[tuple[int, int]] = field(default_factory=set)
    inits: dict[int, int | None] = field(default_factory=dict)
    alive: dict[int, Sample] = field(default_factory=dict)
    lost_s: float = 0.0

    def look(self) -> None:
        """Take a sample of every descendant, and account for those that have gone."""
        now = _descendants()
        gone = {
            pid: sample
            for pid, sample in self.alive.items()
            if pid not in now or now[pid].started != sample.started
        }
        for pid, sample in gone.items():
            init = self.inits.pop(pid, None)
            if init is not None and init in gone:
                self.lost_s += sample.seconds
        for pid, sample in now.items():
            self.seen.add((pid, sample.started))
            if pid not in self.inits:
                self.inits[pid] = _namespace_init(pid, now)
        self.alive = now


def measure(arguments: list[str], output: Path) -> Usage:
    """Run a command to its end, its output in a file, and return what it used."""
    ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    usage, tree = Usage(), Tree()
    before = _waited_seconds()
    start = time.perf_counter()
    next_memory = start
    with output.open("wb") as file:
        command = subprocess.Popen(arguments, stdout=file, stderr=subprocess.STDOUT)
        while (code := command.poll()) is None:
            begin = time.perf_counter()
            tree.look()
            if begin >= next_memory:
                _look_at_memory(tree, usage)
                taken = time.perf_counter() - begin
                next_memory = begin + max(MEMORY_INTERVAL, taken / MEMORY_SHARE)
            time.sleep(max(0.0, PROCESSOR_INTERVAL - (time.perf_counter() - begin)))
    usage.wall_s = time.perf_counter() - start
    _wait_for_orphans(tree)
    usage.code = code
    usage.waited_s = _waited_seconds() - before
    usage.lost_s = tree.lost_s
    usage.processes = len(tree.seen)
    return usage


def _look_at_memory(tree: Tree, usage: Usage) -> None:
    total = 0
    for pid in tree.alive:
        try:
            text = (_PROC / str(pid) / "smaps_rollup").read_text()
        except PermissionError:
            usage.unreadable += 1
            continue
        except OSError:  # it has ended
            continue
        total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    usage.memory_samples += 1
    usage.peak_mb = max(usage.peak_mb, total / 1024)


def _wait_for_orphans(tree: Tree, seconds: float = 30.0) -> None:
    """Wait for what was left to this process; what does not end by itself is an error."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            tree.look()
            return
        if pid == 0:
            tree.look()
            if time.monotonic() > deadline:
                raise RuntimeError(f"still running after the command's end: {sorted(tree.alive)}")
            time.sleep(PROCESSOR_INTERVAL)


def _descendants() -> dict[int, Sample]:
    everything = dict(_processes())
    children: dict[int, list[int]] = {}
    for pid, sample in everything.items():
        children.setdefault(sample.parent, []).append(pid)
    found: dict[int, Sample] = {}
    waiting = [os.getpid()]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            found[pid] = everything[pid]
            waiting.append(pid)
    return found


def _processes() -> Iterator[tuple[int, Sample]]:
    for name in os.listdir(_PROC):  # noqa: PTH208  pathlib takes twice as long
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:  # it has ended
                continue
            ticks = int(fields[11]) + int(fields[12])
            yield int(name), Sample(int(fields[1]), int(fields[19]), ticks / _TICKS)


def _namespace_init(pid: int, alive: dict[int, Sample]) -> int | None:
    """Return the process that is number 1 in the PID namespace of `pid`, if it is another one."""
    if (_inner_number(pid) or 0) <= 1:
        return None
    while pid in alive:
        pid = alive[pid].parent
        if _inner_number(pid) == 1:
            return pid
    return None


def _inner_number(pid: int) -> int | None:
    """Return the number of a process in its own PID namespace; None where that is this one."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:  # noqa: PTH123
            numbers = next(line.split()[1:] for line in file if line.startswith("NSpid:"))
    except (OSError, StopIteration):
        return None
    return int(numbers[-1]) if len(numbers) > 1 else None


def _waited_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
