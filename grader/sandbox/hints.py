"""What mends a machine on which a sandbox does not start, by what stands in its way.

A command is one that can be typed here as it stands: of this system's package manager, and with
sudo only where the grader does not run as root.
"""

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
    return foreign(words) if words else say("without-reason")


def hint_for(obstacle: Obstacle) -> Text:
    """Return what to do about an obstacle."""
    return _HINTS[obstacle]()


def install_bubblewrap() -> Text:
    """Return what to do where there is no bubblewrap."""
    return say(_INSTALL, command=how_to_install("bubblewrap"))


def install_runtime() -> Text:
    """Return what to do where no container runtime is."""
    return say("install-one-comes-with-docker-and-podman", command=how_to_install("runc"))


def close_memory() -> Text:
    """Return what to do where one process can read another that it must not."""
    return say(
        "processes-that-must-not-read-have-hidden", command=as_root("sysctl -w fs.suid_dumpable=0")
    )


_INSTALL = say("install")


_SETTINGS = Path("/proc/sys")
_ALLOWING: Final = {
    "kernel/apparmor_restrict_unprivileged_userns": (range(1), 0),
    "kernel/unprivileged_userns_clone": (range(1, 2), 1),
    "user/max_user_namespaces": (range(1000, 2**31), 10000),
}
"""Values that allow namespaces, and the one to set, of settings that only some systems have."""


def _namespaces() -> Text:
    wrong = [
        f"{name.replace('/', '.')}={wanted}"
        for name, (allowing, wanted) in _ALLOWING.items()
        if (_SETTINGS / name).exists() and int((_SETTINGS / name).read_text()) not in allowing
    ]
    if not wrong:
        return say("something-around-forbids-user-namespaces")
    return say("allow-user-namespaces", command=as_root(f"sysctl -w {' '.join(wrong)}"))


def open_interpreter(paths: Iterable[Path]) -> Text:
    """Return what to do where other users cannot read the interpreter's folders `paths`.

    The command names the folders that are closed to them, as a home often is.
    """
    folders = {folder for path in paths for folder in (path.resolve(), *path.resolve().parents)}
    closed = sorted(str(each) for each in folders if _is_closed(each))
    if closed:
        return say(
            "give-other-users-as-whom-notebooks-run",
            command=as_root(f"chmod o+x {' '.join(closed)}"),
        )
    return say("other-users-must-able-read-python-environment")


def _is_closed(folder: Path) -> bool:
    return not folder.stat().st_mode & stat.S_IXOTH


_HINTS: Final[Mapping[Obstacle, Callable[[], Text]]] = {
    "namespaces": _namespaces,
    "hybrid groups": lambda: say("use-runc", command=how_to_install("runc")),
    "proc": lambda: say("in-container-start-with-security-opt-systempaths"),
    "setpriv": lambda: say(_INSTALL, command=how_to_install("util-linux")),
    "landlock": lambda: say("use-linux-5-13-or-newer-and-container"),
    "permission": lambda: open_interpreter(map(Path, (sys.prefix, sys.base_prefix))),
    "environment": lambda: say("sandbox-sees-only-interpreters-own-folder-install"),
    "unknown": lambda: say("run-bwrap-unshare-all-ro-bind-true"),
}
