"""What the shell that started the grader allows it: open files, processes, memory."""

from __future__ import annotations

import contextlib
import resource

from grader.errors import SandboxError
from grader.language import Text, say

FEWEST_FILES = 512
"""Files that a process must be able to have open: a sandboxed program moves those that it inherits
above number 256 first, and 256 was too few for a grading itself."""

_ENOUGH_FILES = 65536

FEWEST_PROCESSES = 256
"""Processes, and threads, that a user must be able to have: so many may a notebook alone."""

LEAST_MEMORY = 4 * 2**30
"""Bytes that a process must be able to take: a kernel takes one of them for libraries alone, and
one that is ended by such a limit looks like a notebook that used too much."""


def demand_limits() -> None:
    """Allow this process the open files that it may allow itself; see whether all is enough.

    A shell's limits hold for all that it starts. Below these no sandbox could give a notebook what
    it is promised, and what failed told of anything but the limit. Raises SandboxError.
    """
    raise_open_files()
    files, processes = _limit(resource.RLIMIT_NOFILE), _limit(resource.RLIMIT_NPROC)
    if files < FEWEST_FILES:
        told = say("A process may have only {count} files open here.", count=files)
        raise _refusal(told, f"ulimit -n {_ENOUGH_FILES}")
    if processes < FEWEST_PROCESSES:
        told = say("A user may have only {count} processes here.", count=processes)
        raise _refusal(told, "ulimit -u 4096")
    for kind, command in (
        (resource.RLIMIT_AS, "ulimit -v unlimited"),
        (resource.RLIMIT_DATA, "ulimit -d unlimited"),
    ):
        if (memory := _limit(kind)) < LEAST_MEMORY:
            told = say("A process may take only {size} MB of memory here.", size=memory // 2**20)
            raise _refusal(told, command)


def raise_open_files() -> None:
    """Raise the limit on open files that a process may raise by itself, where that is low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = min(_number(hard), _ENOUGH_FILES)
    if _number(soft) < most:
        with contextlib.suppress(ValueError, OSError):  # then what there is has to be enough
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _limit(kind: int) -> int:
    return _number(resource.getrlimit(kind)[0])


def _number(limit: int) -> int:
    return 2**63 if limit == resource.RLIM_INFINITY else limit


def _refusal(told: Text, command: str) -> SandboxError:
    return SandboxError(
        told,
        say(
            "That is a limit of the shell, too low to grade. Raise it there: {command}"
            " (where that is refused, root may).",
            command=command,
        ),
    )
