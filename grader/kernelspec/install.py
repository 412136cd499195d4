"""Where Jupyter finds the kernel: a folder with a `kernel.json`, put there and taken away."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_core.paths import jupyter_data_dir

from grader.errors import UsageError
from grader.files import write_whole
from grader.language import in_a_row, say

NAME = "grader"
DISPLAYED = "Python 3 (grader sandbox)"

Level = Literal["strong", "container", "basic"]
"""Levels at which a notebook can read no file of the user's."""

_FILE = "kernel.json"
_MARK = "grader_sandbox"
_SHAPE = re.compile(r"[a-z0-9][a-z0-9._-]*")


class KernelspecPlace(msgspec.Struct, frozen=True):
    """Which Jupyter is to find the kernel: the user's, that of the environment `prefix`, or, if
    nothing is said, that of this environment.
    """

    user: bool = False
    prefix: Path | None = None

    @property
    def is_named(self) -> bool:
        """Whether anything is said."""
        return self.user or self.prefix is not None

    def folder(self) -> Path:
        """Return the folder of kernels. Raises UsageError where both are said."""
        if self.user and self.prefix is not None:
            raise UsageError(say("give-either-user-or-prefix"), say("leave-out-one-them"))
        if self.user:
            return Path(jupyter_data_dir()) / "kernels"
        return Path(self.prefix or sys.prefix).absolute() / "share" / "jupyter" / "kernels"


def install(place: KernelspecPlace, name: str, level: Level | None) -> Path:
    """Put the kernel where Jupyter finds it; return the folder. Raises UsageError."""
    folder = place.folder() / _checked(name)
    if folder.exists() and not _is_ours(folder):
        raise UsageError(
            say("another-kernel-or-cannot-read", folder=str(folder)),
            say("choose-another-name-grader-kernelspec-install-name"),
        )
    text = json.dumps(specification(name, level), indent=1) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / _FILE, text.encode())
    except OSError as error:
        raise UsageError(
            say("cannot-write-kernel", folder=str(folder), reason=str(error.strerror)),
            say("install-for-yourself-user-or-below-folder"),
        ) from None
    return folder


def remove(place: KernelspecPlace, name: str) -> list[Path]:
    """Take the kernel away, wherever Jupyter finds it if no place is named; return the folders.

    Raises UsageError where there is none.
    """
    _checked(name)
    places = [place.folder()] if place.is_named else list(_searched())
    found = [folder / name for folder in places if _is_ours(folder / name)]
    if not found:
        raise UsageError(
            say("there-no-sandboxed-kernel", name=name, names=in_a_row(map(str, places))),
            say("jupyter-kernelspec-list-shows-all-kernels"),
        )
    try:
        for folder in found:
            shutil.rmtree(folder)
    except OSError as error:
        raise UsageError(
            say("cannot-removed", path=str(error.filename), reason=str(error.strerror))
        ) from None
    return found


def specification(name: str, level: Level | None) -> dict[str, Any]:
    """Return what stands in `kernel.json`.

    The interpreter is isolated: of the folder that Jupyter starts it in, which may have been handed
    in with the notebook, nothing may be imported.
    """
    demanded = [] if level is None else ["--sandbox", level]
    return {
        "argv": [
            sys.executable,
            *("-I", "-m", "grader.cli", "kernelspec", "start", *demanded),
            "{connection_file}",
        ],
        "display_name": DISPLAYED if name == NAME else f"{DISPLAYED}: {name}",
        "language": "python",
        "interrupt_mode": "message",
        "metadata": {"debugger": False, "supported_encryption": "curve", _MARK: True},
    }


def _searched() -> Iterator[Path]:
    """Yield the folders in which Jupyter looks, and that of this environment, once each."""
    folders = [*KernelSpecManager().kernel_dirs, str(KernelspecPlace().folder())]
    yield from map(Path, dict.fromkeys(folders))


def _checked(name: str) -> str:
    """Return a name that Jupyter takes and that is no path. Raises UsageError."""
    if not _SHAPE.fullmatch(name):
        raise UsageError(
            say("cannot-name-kernel", name=repr(name)), say("use-small-letters-digits-dots-hyphens")
        )
    return name


def _is_ours(folder: Path) -> bool:
    try:
        known = json.loads((folder / _FILE).read_bytes())
        return bool(known["metadata"][_MARK])
    except (OSError, ValueError, KeyError, TypeError):
        return False
