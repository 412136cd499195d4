"""The holder: the one process of a box until a program steps in, and the first of its namespace.

The program that steps in may be hostile and of the same user. So the holder has nothing to offer:
the filter, limits that leave it nothing to do, no capability, and, where root grades, another user
id than the program's. Its executable is a copy that nobody may read: for that reason the kernel
keeps everybody out of its memory and its descriptors (`fs.suid_dumpable` must not be 1, and the
trial of a sandbox looks).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from grader.errors import SandboxError

HOLDER = "/run/cat"
"""Where the copy is. Programs that are many in one go by their name."""

HOLDER_PERMISSIONS = 0o111

# Of a program that reads from a pipe and writes to another one.
_LIMITS = (
    "--as=67108864",
    "--data=33554432",
    "--nofile=16",
    "--nproc=1",
    "--fsize=0",
    "--core=0",
    "--cpu=60",
)


def find_cat(find: Callable[[str], str | None]) -> bytes:
    """Return the program that is copied. Raises SandboxError."""
    found = find("cat")
    if found is None:
        raise SandboxError("The program cat is not installed.", "Install coreutils.")
    return Path(found).read_bytes()


def hold(user: int | None = None) -> list[str]:
    """Return the command line of a holder, which takes on a user id if one is given.

    Whoever has lost its parent becomes the holder's child: it buries them all unseen.
    """
    become = [] if user is None else _drop_to(user)
    return [*become, "env", "--ignore-signal=CHLD", "prlimit", *_LIMITS, HOLDER]


def _drop_to(user: int) -> list[str]:
    """Return a prefix that runs a command as this user, without any capability."""
    return [
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
        "--no-new-privs",
        "--",
    ]
