"""Install bubblewrap by the package manager of this system, where it is missing.

As root, or by a sudo that needs no password; nothing is asked. Where neither is possible it says
which command to run, and ends well: the grader then uses the strongest sandbox that works without.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from grader.machine.packages import MANAGERS, Manager, find_manager, install_command

PACKAGE = "bubblewrap"
NO_MANAGER = (
    "bubblewrap is missing, and no package manager is known here"
    f" ({', '.join(each.program for each in MANAGERS)}): install it for the strongest sandbox"
    " (https://github.com/containers/bubblewrap)."
)
FAILED = (
    "bubblewrap could not be installed; notebooks are graded in a weaker sandbox, or not at all"
    " where none works ('grader doctor' tells). To try again: {command}"
)


def install(user: int) -> str:
    """Install it where it is missing, as the user of a numeric id; return what is left to say."""
    if shutil.which("bwrap"):
        return ""
    manager = find_manager()
    if manager is None:
        return NO_MANAGER
    command = install_command(PACKAGE, user=user)
    sudo = _sudo(user)
    if sudo is None:
        return f"bubblewrap is missing. For the strongest sandbox run: {command}"
    print(f"Installing bubblewrap, which sandboxes are made with: {command}", flush=True)
    said = _run(manager, sudo)
    if shutil.which("bwrap"):
        return ""
    return "\n".join(filter(None, (said, FAILED.format(command=command))))


def _sudo(user: int) -> list[str] | None:
    """Return the words before a command of root's, None where it would ask for a password."""
    if user == 0:
        return []
    words = ["sudo", "-n"]
    return words if shutil.which("sudo") and _call([*words, "true"])[0] == 0 else None


def _run(manager: Manager, sudo: list[str]) -> str:
    """Run the manager's commands until one fails; return what that one said."""
    for words in manager.commands(PACKAGE, asks=False):
        status, said = _call([*sudo, *words])
        if status != 0:
            return said
    return ""


def _call(words: list[str]) -> tuple[int, str]:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout.strip()


if __name__ == "__main__":
    if left := install(os.geteuid()):
        print(left, file=sys.stderr)
