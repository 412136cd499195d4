"""Machines made of files: what the kernel would show of them, below a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.machine.cpus import Files


def machine(folder: Path, contents: Mapping[str, str] | None = None) -> Files:
    """Return the files of a machine; `contents` maps paths such as "proc/stat" to texts."""
    for name, text in (contents or {}).items():
        write(folder, name, text)
    return Files(root=folder, proc=folder / "proc", sys=folder / "sys")


def write(folder: Path, name: str, text: str) -> None:
    """Write one of the files."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def stat(*cpus: Sequence[int]) -> str:
    """Return the text of /proc/stat; for each CPU (busy, idle, steal) in ticks."""
    lines = [
        f"cpu{number} {busy} 0 0 {idle} 0 0 0 {steal} 0 0"
        for number, (busy, idle, steal) in enumerate(cpus)
    ]
    return "\n".join(["cpu  1 2 3 4 5 6 7 8 0 0", *lines, "intr 12 0 0", "btime 1700000000", ""])


class Passing:
    """A sleep during which CPUs work: each gets the ticks (busy, idle, steal)."""

    def __init__(self, folder: Path, *cpus: Sequence[int]) -> None:
        self._folder = folder
        self._after = cpus
        self.slept: list[float] = []
        write(folder, "proc/stat", stat(*[(100, 900, 10)] * len(cpus)))

    def __call__(self, seconds: float) -> None:
        """Let the time pass."""
        self.slept.append(seconds)
        ticks = [(100 + busy, 900 + idle, 10 + steal) for busy, idle, steal in self._after]
        write(self._folder, "proc/stat", stat(*ticks))


def siblings(folder: Path, *cores: str) -> None:
    """Write which CPUs share a core, each core as the kernel writes a list ("0,4" or "0-1")."""
    for core in cores:
        first, separator, last = core.replace("-", ",").partition(",")
        for cpu in (first, last) if separator else (first,):
            name = f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
            write(folder, name, core + "\n")
