"""Where the kernel shows what it knows of the machine."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Files(msgspec.Struct, frozen=True):
    """The roots that everything here is read below: usually /, /proc and /sys.

    A file that is not there, or that this user may not read, is no error: nothing is known then.
    """

    root: Path = Path("/")
    proc: Path = Path("/proc")
    sys: Path = Path("/sys")

    @property
    def cpus(self) -> Path:
        """The folder that holds one folder for each CPU."""
        return self.sys / "devices/system/cpu"


def read_text(path: Path) -> str:
    """Return the stripped text of a file, empty where there is none or it cannot be read.

    Files below /sys that exist may still refuse: a governor's does on some virtual machines.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def read_number(path: Path) -> int | None:
    """Return the whole number that a file holds, None where it holds none."""
    text = read_text(path)
    return int(text) if text.removeprefix("-").isdecimal() else None
