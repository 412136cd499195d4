"""What mends a machine on which a sandbox does not start, by what was said when it failed.

A command is one that can be typed here as it stands: of this system's package manager, and with
sudo only where the grader does not run as root.
"""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from grader.machine.packages import as_root, how_to_install


def install_bubblewrap() -> str:
    """Return what to do where there is no bubblewrap."""
    return f"Install it: {how_to_install('bubblewrap')}"


def install_runtime() -> str:
    """Return what to do where no container runtime is."""
    return f"Install one: {how_to_install('runc')} (it comes with docker and podman too)"


def close_memory() -> str:
    """Return what to do where one process can read another that it must not."""
    command = as_root("sysctl -w fs.suid_dumpable=0")
    return f"Processes that may not be read must be closed to others: {command}"


def _use_runc() -> str:
    return f"Use runc: {how_to_install('runc')}"


def _install_setpriv() -> str:
    return f"Install it: {how_to_install('util-linux')}"


def _namespaces() -> str:
    settings = (
        "kernel.apparmor_restrict_unprivileged_userns=0"
        " kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000"
    )
    command = as_root(f"sysctl -w {settings}")
    return (
        f"Allow user namespaces: {command} (leave out what this system does not know)."
        " In a container: docker run --security-opt seccomp=unconfined"
        " --security-opt systempaths=unconfined."
    )


def _proc() -> str:
    return (
        "In a container, start it with --security-opt systempaths=unconfined "
        "--security-opt seccomp=unconfined."
    )


def _landlock() -> str:
    return "Use Linux 5.13 or newer, and a container that does not forbid Landlock."


def _environment() -> str:
    return (
        "The sandbox sees only the interpreter's own folder: install the grader into a virtual "
        "environment (python3 -m venv)."
    )


def _permission() -> str:
    return open_interpreter(map(Path, (sys.prefix, sys.base_prefix)))


def open_interpreter(paths: Iterable[Path]) -> str:
    """Return what to do where other users cannot read the interpreter's folders `paths`.

    The command names the folders that are closed to them, as a home often is.
    """
    folders = {folder for path in paths for folder in (path.resolve(), *path.resolve().parents)}
    closed = sorted(str(each) for each in folders if _is_closed(each))
    if closed:
        command = as_root(f"chmod o+x {' '.join(closed)}")
        return f"Let other users, as whom notebooks run, pass to the Python environment: {command}"
    return (
        "Other users must be able to read the Python environment: install the grader into a"
        " virtual environment made with umask 022, outside of a home that is closed to others."
    )


def _is_closed(folder: Path) -> bool:
    return not folder.stat().st_mode & stat.S_IXOTH


_HINTS: dict[str, Callable[[], str]] = {
    "namespace": _namespaces,
    "uid map": _namespaces,
    "loopback": _namespaces,
    "setns": _namespaces,
    "cgroups in hybrid mode": _use_runc,
    "Can't mount proc": _proc,
    "setpriv": _install_setpriv,
    "landlock": _landlock,
    "Permission denied": _permission,
    "No module named": _environment,
}


def hint_for(message: str) -> str:
    """Return what to do about the message of a sandbox that did not start."""
    matching = (hint() for clue, hint in _HINTS.items() if clue in message)
    return next(matching, "Run `bwrap --unshare-all --ro-bind / / true` to see what is missing.")
