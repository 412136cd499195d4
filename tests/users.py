"""Running a command as a user, or as root with an interpreter that users can read.

What the commands need may lie in a home that is closed to others, as root's is. So they run in a
view of the host's files in which such homes are empty but for the interpreter.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from grader.sandbox.hints import hint_for
from tests.missing import BECOMING, BUBBLEWRAP, lack

USER = 61234
REPOSITORY = Path(__file__).resolve().parents[1]


def as_user(command: Sequence[str]) -> list[str]:
    """Return a command line that runs `command` as a user, which only root needs."""
    if os.geteuid() != 0:
        return list(command)
    BECOMING.need()
    become = [f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all"]
    return [*_opened(), "setpriv", *become, "--bounding-set=-all", "--", *command]


def need_boxes() -> None:
    """Skip the test that asks where bubblewrap is missing, or is refused what it needs.

    Where both should be there, it fails.
    """
    BUBBLEWRAP.need()
    if os.geteuid() != 0:
        need_user_namespaces()


def need_user_namespaces() -> None:
    """Skip the test that asks where users may make none, as below a changed root.

    Where everything should be there, it fails.
    """
    if not _users_make_namespaces():
        lack(hint_for("namespaces").english)


@cache
def _users_make_namespaces() -> bool:
    words = as_user(["unshare", "--user", "true"])
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def with_open_interpreter(command: Sequence[str]) -> list[str]:
    """Return a command line that runs `command` as this user, whose interpreter others can read."""
    return list(command) if os.geteuid() != 0 else [*_opened(), *command]


def _opened() -> list[str]:
    options = ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev"]
    needed = {Path(path).resolve() for path in (sys.prefix, sys.base_prefix, REPOSITORY)}
    homes = {folder for path in needed for folder in path.parents if _is_closed(folder)}
    if not homes:
        return []
    BUBBLEWRAP.need()
    for closed in homes:
        options += ["--perms", "0755", "--tmpfs", str(closed)]
        for path in needed:
            if path.is_relative_to(closed):
                options += _reopened(path, closed)
    return [*options, "--"]


def _reopened(path: Path, closed: Path) -> list[str]:
    options: list[str] = []
    for folder in reversed([each for each in path.parents if each.is_relative_to(closed)][:-1]):
        options += ["--perms", "0755", "--dir", str(folder)]
    return [*options, "--ro-bind", str(path), str(path)]


def _is_closed(folder: Path) -> bool:
    return not folder.stat().st_mode & 0o001


def main(arguments: Sequence[str]) -> None:
    """Become what runs a command: `python -m tests.users root|user COMMAND ...`."""
    kind, *command = arguments
    line = as_user(command) if kind == "user" else with_open_interpreter(command)
    os.execvp(line[0], line)


if __name__ == "__main__":
    main(sys.argv[1:])
