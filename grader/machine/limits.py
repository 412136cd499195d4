"""What the shell that started the grader allows it: files, processes, memory, time, stacks."""

import contextlib
import resource
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

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

LEAST_SECONDS = 600
"""Seconds that a process must be able to compute: below five, the reader of notebooks was ended and
the notebook blamed."""

LARGEST_FILE = 256 * 2**20
"""Bytes that a file must be able to have: so many may one of a notebook."""

STACK = 8 * 2**20
"""Bytes of stack that a process has everywhere, and each of its threads: with less, TVM crashes on
a module that it builds elsewhere, and the module is blamed. With a gigabyte, as who writes programs
for contests allows himself, ten threads use up the addresses that a kernel has."""


class _Limit(NamedTuple):
    """A limit, the least that will do, the sentence on one that is lower, and `ulimit`'s remedy."""

    kind: int
    least: int
    told: Text
    unit: int
    remedy: str


_OPEN = say("process-may-have-only-files-open-here")
_PROCESSES = say("user-may-have-only-processes-here")
_MEMORY = say("process-may-take-only-mb-memory-here")
_SECONDS = say("process-may-compute-for-only-seconds-here")
_FILE = say("file-may-have-only-kb-here")
_STACK = say("process-may-have-stack-only-kb-here")
_LIMITS = (
    _Limit(resource.RLIMIT_NOFILE, FEWEST_FILES, _OPEN, 1, f"-n {_ENOUGH_FILES}"),
    _Limit(resource.RLIMIT_NPROC, FEWEST_PROCESSES, _PROCESSES, 1, "-u 4096"),
    _Limit(resource.RLIMIT_AS, LEAST_MEMORY, _MEMORY, 2**20, "-v unlimited"),
    _Limit(resource.RLIMIT_DATA, LEAST_MEMORY, _MEMORY, 2**20, "-d unlimited"),
    _Limit(resource.RLIMIT_CPU, LEAST_SECONDS, _SECONDS, 1, "-t unlimited"),
    _Limit(resource.RLIMIT_FSIZE, LARGEST_FILE, _FILE, 2**10, "-f unlimited"),
    _Limit(resource.RLIMIT_STACK, STACK, _STACK, 2**10, f"-s {STACK // 2**10}"),
)


def demand_limits(promised: Mapping[int, int] = MappingProxyType({})) -> None:
    """Allow this process the open files that it may allow itself; see whether all is enough.

    A shell's limits hold for all that it starts. Below these no sandbox could give a notebook what
    it is promised, and what failed told of anything but the limit. `promised` is what assignments
    do, by the kinds of limits: where `ulimit -t` was shorter than that, a notebook that computed
    for longer was told that it had used up its processor time. Raises SandboxError.
    """
    _allow_open_files()
    for each in _LIMITS:
        limit = _number(resource.getrlimit(each.kind)[0])
        if limit < max(each.least, promised.get(each.kind, 0)):
            raise SandboxError(
                say(each.told, count=limit // each.unit),
                say("shells-limit-too-low-grade-raise", command=f"ulimit {each.remedy}"),
            )


def bound_stack() -> None:
    """Have what this process starts from now on begin with the usual stack, where it has more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if _number(soft) > STACK:
        resource.setrlimit(resource.RLIMIT_STACK, (STACK, hard))


def _allow_open_files() -> None:
    """Raise the limit on open files that a process may raise by itself, where that is low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = min(_number(hard), _ENOUGH_FILES)
    if _number(soft) < most:
        with contextlib.suppress(ValueError, OSError):  # then what there is has to be enough
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _number(limit: int) -> int:
    return 2**63 if limit == resource.RLIM_INFINITY else limit
