"""Boxes without namespaces: a folder, and the rules of Landlock and seccomp.

For machines on which nobody may make namespaces, such as many containers. What is weaker
than in a strong sandbox is in docs/security.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from grader.errors import SandboxError
from grader.files import OwnFolder, temporary_folder
from grader.inside.launcher.protocol import Confinement
from grader.language import Text, say
from grader.sandbox.holder import system_call_filter
from grader.sandbox.interface import Command, Level, ResourceLimits
from grader.sandbox.layout import (
    ENVIRONMENT,
    covers,
    inner_path,
    readable_beside,
)
from grader.sandbox.process import student_id

_DETAILS: dict[Level, Text] = {
    "basic": say("landlock-and-system-call-filter-no-network"),
    "minimal": say("system-call-filter-no-network-but-all"),
    "none": say("limits-on-resources-only-notebook-can-reach"),
}
_WITH_OWN_USER = say("user-id-own")

_WRITABLE = ("scratch", "tmp")


class FolderBoxes:
    """Makes boxes of one of the three lowest levels; root gives each its own user id.

    At the level "basic" none of the files and folders `protected` can be read, wherever they lie.
    Raises SandboxError when that cannot be.
    """

    def __init__(self, level: Level, *, as_root: bool, protected: Iterable[Path] = ()) -> None:
        self.level = level
        readable, listed = readable_beside(covers(protected)) if level == "basic" else ((), ())
        self._readable = tuple(map(str, readable))
        self._listed = tuple(map(str, listed))
        self.detail = _DETAILS[level]
        self._has_own_user = as_root and level != "none"
        if self._has_own_user:
            self.detail = say(_WITH_OWN_USER, isolation=self.detail)

    def make(self, command: Command) -> FolderBox:
        """Make a folder that holds a command's files. Raises SandboxError for a bad file name."""
        user = student_id() if self._has_own_user else -1
        own = OwnFolder("grader-box-", _place(shared=user >= 0))
        outer = own.path
        try:
            outer.chmod(0o711)
            for name in _WRITABLE:
                (outer / name).mkdir(mode=0o700)
            fill(outer / "scratch", command.files)
            if user >= 0:
                _give(outer, user)
        except BaseException:
            own.remove()
            raise
        return FolderBox(own, self._confinement(_writable(outer), user))

    def _confinement(self, writable: tuple[str, ...], user: int) -> Confinement:
        if self.level == "none":
            return Confinement(namespaces=False)
        hides = self.level == "basic"
        return Confinement(
            namespaces=False,
            user=user,
            readable=self._readable,
            listed=self._listed,
            writable=writable if hides else (),
            filter=system_call_filter(strict=True),
        )


class FolderBox:
    """A separate folder below the one for temporary files."""

    pidfd: int | None = None

    def __init__(self, own: OwnFolder, confinement: Confinement) -> None:
        self._own, outer = own, own.path
        self.folder = str(outer / "scratch")
        self.watched = _writable(outer)
        self.confinement = confinement
        self.environment = {
            **ENVIRONMENT,
            "HOME": self.folder,
            "TMPDIR": str(outer / "tmp"),
            # no user has the id, and none of the libraries needs the folders that it would have
            "USER": "student",
        }

    def capacity(self, limits: ResourceLimits) -> int:
        """Return how many bytes of memory files in it may take: the place may be no disk."""
        return 2 * limits.scratch

    def end(self) -> None:
        """Remove the folder; whoever wrote into it is gone already."""
        self._own.remove()
        if self._own.path.exists():
            raise SandboxError(
                say("folder-submission-cannot-removed", folder=str(self._own.path)),
                say("remove-by-hand"),
            )


def _place(*, shared: bool) -> str:
    """Return the folder for boxes: one that other users can reach into where they have to."""
    usual = Path(temporary_folder())
    reachable = all(folder.stat().st_mode & 0o001 for folder in (usual, *usual.parents))
    return str(usual) if reachable or not shared else "/tmp"  # noqa: S108


def _writable(outer: Path) -> tuple[str, ...]:
    return tuple(str(outer / name) for name in _WRITABLE)


def fill(scratch: Path, files: Mapping[str, bytes], *, for_all: bool = False) -> None:
    """Write files into a new folder, `for_all` users to change. Raises SandboxError."""
    for name, content in files.items():
        path = scratch / inner_path(name)
        made = [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if for_all:
            path.chmod(0o666)
            for folder in made:
                folder.chmod(0o777)


def _give(outer: Path, user: int) -> None:
    for path in (each for name in _WRITABLE for each in (outer / name, *(outer / name).rglob("*"))):
        os.chown(path, user, user)
