"""What mends a machine on which a sandbox does not start, by what stands in its way.

A command is one that can be typed here as it stands: of this system's package manager, and with
sudo only where the grader does not run as root.
"""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, Literal

from grader.language import Text, foreign, say
from grader.machine.packages import as_root, how_to_install

Obstacle = Literal[
    "namespaces",
    "hybrid groups",
    "proc",
    "setpriv",
    "landlock",
    "permission",
    "environment",
    "unknown",
]
"""What keeps a sandbox from starting."""

_CLUES: Final[tuple[tuple[str, Obstacle], ...]] = (
    ("namespace", "namespaces"),
    ("uid map", "namespaces"),
    ("loopback", "namespaces"),
    ("setns", "namespaces"),
    ("cgroups in hybrid mode", "hybrid groups"),
    ("Can't mount proc", "proc"),
    ("setpriv", "setpriv"),
    ("landlock", "landlock"),
    ("Permission denied", "permission"),
    ("No module named", "environment"),
)
"""Words of bubblewrap, of a container runtime and of Python, and names of system calls: what they
say is all that they tell. The first that is found counts: bubblewrap ends with "Permission denied"
where namespaces are forbidden, too."""


def obstacle_in(words: str) -> Obstacle:
    """Return what is in the way, by what another program has said when it ended.

    No sentence of the grader's own is read here.
    """
    return next((obstacle for clue, obstacle in _CLUES if clue in words), "unknown")


def words_of(words: str) -> Text:
    """Return what another program has said; that it said nothing where it did not."""
    return foreign(words) if words else say("without a reason")


def hint_for(obstacle: Obstacle) -> Text:
    """Return what to do about an obstacle."""
    return _HINTS[obstacle]()


def install_bubblewrap() -> Text:
    """Return what to do where there is no bubblewrap."""
    return say(_INSTALL, command=how_to_install("bubblewrap"))


def install_runtime() -> Text:
    """Return what to do where no container runtime is."""
    return say(
        "Install one: {command} (it comes with docker and podman too)",
        command=how_to_install("runc"),
    )


def close_memory() -> Text:
    """Return what to do where one process can read another that it must not."""
    return say(
        "Processes that must not be read have to be hidden: {command}",
        command=as_root("sysctl -w fs.suid_dumpable=0"),
    )


_INSTALL = say("Install it: {command}")


def _use_runc() -> Text:
    return say("Use runc: {command}", command=how_to_install("runc"))


def _install_setpriv() -> Text:
    return say(_INSTALL, command=how_to_install("util-linux"))


def _namespaces() -> Text:
    settings = (
        "kernel.apparmor_restrict_unprivileged_userns=0"
        " kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000"
    )
    return say(
        "Allow user namespaces: {command} (leave out what this system does not know). In a"
        " container: docker run --security-opt seccomp=unconfined"
        " --security-opt systempaths=unconfined.",
        command=as_root(f"sysctl -w {settings}"),
    )


def _proc() -> Text:
    return say(
        "In a container, start it with --security-opt systempaths=unconfined "
        "--security-opt seccomp=unconfined."
    )


def _landlock() -> Text:
    return say("Use Linux 5.13 or newer, and a container that does not forbid Landlock.")


def _environment() -> Text:
    return say(
        "The sandbox sees only the interpreter's own folder: install the grader into a virtual "
        "environment (python3 -m venv)."
    )


def _permission() -> Text:
    return open_interpreter(map(Path, (sys.prefix, sys.base_prefix)))


def _try_by_hand() -> Text:
    return say("Run `bwrap --unshare-all --ro-bind / / true` to see what is missing.")


def open_interpreter(paths: Iterable[Path]) -> Text:
    """Return what to do where other users cannot read the interpreter's folders `paths`.

    The command names the folders that are closed to them, as a home often is.
    """
    folders = {folder for path in paths for folder in (path.resolve(), *path.resolve().parents)}
    closed = sorted(str(each) for each in folders if _is_closed(each))
    if closed:
        return say(
            "Give other users, as whom notebooks run, access to the Python environment: {command}",
            command=as_root(f"chmod o+x {' '.join(closed)}"),
        )
    return say(
        "Other users must be able to read the Python environment: install the grader into a"
        " virtual environment made with umask 022, outside of a home that is closed to others."
    )


def _is_closed(folder: Path) -> bool:
    return not folder.stat().st_mode & stat.S_IXOTH


_HINTS: Final[Mapping[Obstacle, Callable[[], Text]]] = {
    "namespaces": _namespaces,
    "hybrid groups": _use_runc,
    "proc": _proc,
    "setpriv": _install_setpriv,
    "landlock": _landlock,
    "permission": _permission,
    "environment": _environment,
    "unknown": _try_by_hand,
}
