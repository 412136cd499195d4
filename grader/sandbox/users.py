"""User ids for sandboxes, which only root can give away."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path


def student_id() -> int:
    """Draw a user id that nobody has: the limit on processes is counted by user id.

    Within a container only the ids of its own map exist.
    """
    rows = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    highest = min(max(int(first) + int(count) for first, _, count in rows), 2**31) - 1
    return highest - secrets.randbelow(max(highest // 2, 1))


def tasks_of(user: int) -> int:
    """Return how many processes and threads a user has."""
    count = 0
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            if path.stat().st_uid == user:
                count += sum(1 for _ in (path / "task").iterdir())
    return count
