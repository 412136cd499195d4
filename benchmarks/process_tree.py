"""What a command and everything that it starts use: processor time, and memory at the peak.

Linux only. The command's orphans become children of this process, so that none of them is missed.
"""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grader.inside.launcher.linux import adopt_orphans

PROCESSOR_INTERVAL = 0.05
LIVES_INTERVAL = 0.02
MEMORY_INTERVAL = 0.2
MEMORY_SHARE = 0.15
"""Share of one core that looking at memory may take: it is done less often where it takes long."""

_TICKS = os.sysconf("SC_CLK_TCK")
_ROUNDING = 2.5 / _TICKS
"""Seconds that a sum may be off because its parts, user and system time, are whole ticks."""
_PROC = Path("/proc")


@dataclass
class Usage:
    """What was used. `waited_s` is what the kernel reports of processes that were waited for,
    `lost_s` that of processes which nobody waited for, when they were last seen alive.
    `unreadable` counts looks at the memory of a process that were not permitted.
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
    """One process at one moment: its own processor time, and that of children it waited for."""

    parent: int
    started: int
    own: float
    waited: float


@dataclass
class Tree:
    """This process and its descendants, looked at again and again.

    The kernel adds a process's time to its parent's account when the parent waits for it. It is
    lost where the parent ignores the end of its children, or ends with them as a PID namespace
    does. So what has gone is compared with what its next living ancestor was credited with.
    """

    beside: frozenset[int] = frozenset()
    """Descendants that are not looked at: a load that was there before."""

    seen: set[tuple[int, int]] = field(default_factory=set)
    alive: dict[int, Sample] = field(default_factory=dict)
    lost_s: float = 0.0

    def look(self) -> None:
        """Take a sample of every process, and account for those that have gone."""
        family = _family(os.getpid())
        now = {pid: sample for pid, sample in family.items() if pid not in self.beside}
        expected: dict[int, float] = {}
        for pid, sample in self.alive.items():
            if not _is_same(sample, now.get(pid)):
                heir = self._living_ancestor(pid, now)
                expected[heir] = expected.get(heir, 0.0) + sample.own + sample.waited
        for pid, seconds in expected.items():
            missing = seconds - (now[pid].waited - self.alive[pid].waited)
            if missing > _ROUNDING:
                self.lost_s += missing
        self.seen.update((pid, sample.started) for pid, sample in now.items())
        self.alive = now

    def _living_ancestor(self, pid: int, now: dict[int, Sample]) -> int:
        while pid in self.alive:
            pid = self.alive[pid].parent
            if pid in self.alive and _is_same(self.alive[pid], now.get(pid)):
                return pid
        return os.getpid()


@dataclass
class Life:
    """When a process was first and last seen, in seconds after the start, and what it used."""

    name: str
    begin: float
    end: float
    cpu_s: float


def lives(command: subprocess.Popen[bytes]) -> list[Life]:
    """Look at a command's processes until it ends. Returns each, with its own processor time.

    What a process used after the last look at it is missing, a few hundredths of a second.
    """
    found: dict[tuple[int, int], Life] = {}
    start = time.perf_counter()
    while command.poll() is None:
        now = time.perf_counter() - start
        for pid, sample in _family(command.pid).items():
            life = found.setdefault((pid, sample.started), Life("", now, now, 0.0))
            life.name, life.end, life.cpu_s = _name(pid) or life.name, now, sample.own
        time.sleep(LIVES_INTERVAL)
    return list(found.values())


def _name(pid: int) -> str:
    try:
        return (_PROC / str(pid) / "comm").read_text().strip()
    except OSError:  # it has ended
        return ""


def measure(arguments: list[str], output: Path) -> Usage:
    """Run a command to its end, its output in a file, and return what it used."""
    adopt_orphans()
    usage, tree = Usage(), Tree(frozenset(_family(os.getpid())) - {os.getpid()})
    tree.look()
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
    usage.processes = len(tree.seen) - 1
    return usage


def _look_at_memory(tree: Tree, usage: Usage) -> None:
    total = 0
    for pid in tree.alive.keys() - {os.getpid()}:
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
            if tree.alive.keys() == {os.getpid()}:
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"still running after the end: {sorted(tree.alive)}")
            time.sleep(PROCESSOR_INTERVAL)


def _is_same(sample: Sample, other: Sample | None) -> bool:
    return other is not None and other.started == sample.started


def _family(root: int) -> dict[int, Sample]:
    everything = dict(_processes())
    children: dict[int, list[int]] = {}
    for pid, sample in everything.items():
        children.setdefault(sample.parent, []).append(pid)
    found: dict[int, Sample] = {}
    waiting = [root] if root in everything else []
    while waiting:
        pid = waiting.pop()
        found[pid] = everything[pid]
        waiting += children.get(pid, ())
    return found


def _processes() -> Iterator[tuple[int, Sample]]:
    for name in os.listdir(_PROC):  # noqa: PTH208  pathlib takes twice as long
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:  # it has ended
                continue
            user, system, waited_user, waited_system = map(int, fields[11:15])
            own, waited = (user + system) / _TICKS, (waited_user + waited_system) / _TICKS
            yield int(name), Sample(int(fields[1]), int(fields[19]), own, waited)


def _waited_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
