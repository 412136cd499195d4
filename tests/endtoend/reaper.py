"""Runs a command and says which of its processes are alive after its end.

    python reaper.py SECONDS FILE COMMAND...

Orphans among the descendants become children of this process, whatever they did to get away. Those
that live on are listed in FILE, one a line, and ended. A command that takes longer than SECONDS is
ended too: exit code 124.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from grader.inside.launcher.linux import adopt_orphans

GRACE_SECONDS = 2.0
"""How long the end of a killed process may take: freeing memory takes its time."""

TIMED_OUT = 124


def main(seconds: float, listing: Path, command: list[str]) -> int:
    """Run the command and return its exit code."""
    adopt_orphans()
    process = subprocess.Popen(command)
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        code = TIMED_OUT
    survivors = _orphans()
    deadline = time.monotonic() + GRACE_SECONDS
    while survivors and time.monotonic() < deadline:
        time.sleep(0.02)
        survivors = _orphans()
    listing.write_text("".join(f"{_describe(pid)}\n" for pid in survivors))
    while pids := _orphans():
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    return code


def _orphans() -> list[int]:
    """Return the children that are alive, after burying those that are not."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    own = os.getpid()
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if _parent(pid) == own]


def _parent(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(status.rpartition(")")[2].split()[1])


def _describe(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return f"{pid} (gone by now)"
    return f"{pid} {b' '.join(words).decode(errors='replace')[:200]}"


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
