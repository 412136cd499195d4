"""How many CPUs' worth of time the control groups leave to this process.

A group that has used up its quota is stopped until its next period begins, for tens of
milliseconds. A timed block that meets such a pause says nothing about the function in it.
"""

from __future__ import annotations

from pathlib import Path

from grader.machine.files import Files, read_number, read_text
from grader.machine.hierarchies import hierarchies, own_folders


def cpu_quota(files: Files) -> float | None:
    """Return the least quota of this process's groups and all groups above, in CPUs.

    None where there is none, or none that can be seen: what lies above a container's own group is
    hidden inside.
    """
    quotas = [
        quota
        for hierarchy in hierarchies(files)
        if hierarchy.unified or "cpu" in hierarchy.controllers
        for folder in own_folders(files, hierarchy)
        if (quota := _quota(folder)) is not None
    ]
    return min(quotas, default=None)


def _quota(folder: Path) -> float | None:
    """Return a group's quota in CPUs: `cpu.max` of version 2, two files of version 1."""
    quota, _, period = read_text(folder / "cpu.max").partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period) > 0:
        return int(quota) / int(period)
    allowed = read_number(folder / "cpu.cfs_quota_us")
    length = read_number(folder / "cpu.cfs_period_us")
    return allowed / length if allowed and length and allowed > 0 and length > 0 else None
