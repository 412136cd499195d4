"""Why a notebook was ended before its last cell, and how that is told to the student."""

from __future__ import annotations

import signal
from typing import Literal

import msgspec

from grader.assignment import Limits
from grader.launch.protocol import Cause

OUTPUT_CELLS = 4
"""All cells together may print as much as this many cells at their limit."""

CAPTURE_DAMAGE = (
    "The notebook wrote something of its own where the grader expects modules. "
    "Only the modules that came before it are graded."
)


class Stop(msgspec.Struct, frozen=True):
    """What ended the notebook in a cell.

    `status` is the exit status of a kernel that died, `cause` the bound of the sandbox that ended
    it, if one did.
    """

    kind: Literal["died", "cell_time", "notebook_time", "output", "message"]
    status: int = 0
    cause: Cause = ""


def describe_stop(stop: Stop, cell: int, cells: int, limits: Limits) -> str:
    """Return what happened, which cells were not run, and what to do next."""
    happened, advice = _happened(stop, cell, limits)
    return " ".join(filter(None, (happened, _left_out(cell, cells), advice)))


def _happened(stop: Stop, cell: int, limits: Limits) -> tuple[str, str]:
    if stop.cause:
        return _excess(stop.cause, cell, limits)
    if stop.kind == "died":
        return _death(stop.status, cell)
    if stop.kind == "cell_time":
        return (
            f"Cell {cell} ran longer than {limits.cell_seconds:g} seconds and was stopped.",
            "Look for an endless loop, or let it work on fewer images.",
        )
    if stop.kind == "notebook_time":
        return (
            f"The notebook ran longer than {limits.notebook_seconds:g} seconds and was stopped in "
            f"cell {cell}.",
            "Shorten or remove the slowest cells.",
        )
    if stop.kind == "output":
        return (
            f"The notebook was stopped in cell {cell}, because it printed too much: "
            f"{limits.output_mb:g} MB are allowed for a cell, "
            f"{OUTPUT_CELLS * limits.output_mb:g} MB for all cells together.",
            "Print less, for example only the first few values.",
        )
    return (
        f"Cell {cell} sent something that is not a Jupyter message, and the notebook was stopped.",
        "Do not use the kernel's own connection.",
    )


def _excess(cause: Cause, cell: int, limits: Limits) -> tuple[str, str]:
    excesses = {
        "memory": (
            f"used more than {limits.memory_mb} MB of memory",
            "Use smaller arrays, or delete those that you no longer need.",
        ),
        "files": (
            f"made more than {limits.files} files",
            "Write fewer files, or delete those that you no longer need.",
        ),
        "disk": (
            f"wrote more than {limits.scratch_mb} MB of files",
            "Write less, or delete what you no longer need.",
        ),
        "processes": (
            f"started more than {limits.processes} processes and threads",
            "Start fewer, and wait for their end.",
        ),
    }
    excess, advice = excesses[cause]
    return f"Cell {cell} {excess}, and the notebook was stopped.", advice


def _death(status: int, cell: int) -> tuple[str, str]:
    ended = f"Cell {cell} ended the Python process"
    causes = {
        128 + signal.SIGSEGV: (
            f"{ended} with a segmentation fault.",
            "Look for an index out of range, or a missing function, in code that TVM compiled.",
        ),
        128 + signal.SIGKILL: (
            f"{ended}: it was killed, most often because it used too much memory.",
            "Use smaller arrays, or delete those that you no longer need.",
        ),
        128 + signal.SIGABRT: (
            f"{ended}: a library gave up, often for want of memory.",
            "Run the cell on your own machine and read what is printed in the terminal.",
        ),
        128 + signal.SIGXCPU: (
            f"{ended}, because it used too much processor time.",
            "Look for an endless loop.",
        ),
    }
    other = (f"{ended} (exit status {status}).", "Remove exit(), quit() and os._exit().")
    return causes.get(status, other)


def _left_out(cell: int, cells: int) -> str:
    if cell == cells:
        return ""
    if cell + 1 == cells:
        return f"Cell {cells} was not run."
    return f"Cells {cell + 1} to {cells} were not run."
