"""What the grader tells a launcher, and what a warden says of the end of its sandbox.

Both travel over unix sockets that keep message boundaries, so there are no frames. A request is
trusted; an ending is too: its writer, the warden, never runs anything of a submission.
"""

from typing import Literal

import msgspec

MESSAGE_LIMIT = 128 * 1024
"""Longest message in bytes: a request carries one filter, an environment and arguments."""

DESCRIPTOR_LIMIT = 32
"""Most descriptors that come with one request."""

IMPORTED = b"."
"""What a launcher writes when it has imported what it should: at its start, and for `Imports`."""

FIRST_DESCRIPTOR = 3
"""Number of a program's first inherited descriptor; the others follow it."""

Program = Literal["kernel", "runner", "evaluator", "mutants", "library", "python"]
"""What a child runs: the student's kernel, a runner of modules, an evaluator of externs, a maker
of mutants, the course's measurement of PyTorch, or a new Python interpreter."""

Preload = Literal["student", "pure", "bare"]
"""What a launcher has imported: TVM with PyTorch and IPython, TVM alone, or nothing."""

Cause = Literal[
    "", "memory", "processes", "files", "disk", "descriptors", "machine", "outside", "starved"
]
"""Why a sandbox was ended from outside of it. Most name the bound of the whole sandbox that was
passed: memory, number of processes or files, size of files, number of open files.

"machine": it held much when the machine had little memory left, or none. "outside": it held little,
and the kernel killed it because the machine had none left. "starved": the grader ended it, and it
had waited for a processor or for memory, more than it did anything, while others had them.
"""

PRELOADS: dict[Program, Preload] = {
    "kernel": "student",
    "evaluator": "student",
    "library": "student",
    "runner": "pure",
    "mutants": "pure",
    "python": "bare",
}


class LauncherMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of what is sent."""


class Confinement(LauncherMessage, frozen=True):
    """What takes a child's powers away, in the order in which it is applied.

    `namespaces`: the child enters those of the process that the request's pidfd refers to.
    `user`: the user and group id that it takes on, -1 for none. `readable` and `writable` are what
    Landlock leaves in reach; both empty: Landlock is not used. In `listed` names can be seen.
    `filter`: a seccomp program, empty for none.
    """

    namespaces: bool
    user: int = -1
    readable: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    filter: bytes = b""


class Bounds(LauncherMessage, frozen=True):
    """Resource limits of a child and all that it starts; sizes in bytes, CPU time in seconds.

    `limits` maps a resource's number to (soft, hard). `memory` bounds the proportional memory of
    all processes together, with what their sockets, pipes and page tables hold; `processes` their
    number, `files` the number of files in each of the folders `watched`, `disk` the bytes in them,
    `descriptors` how many files all processes together may have open. The warden looks every
    `interval` seconds; 0: it does not look.
    """

    limits: dict[int, tuple[int, int]]
    memory: int
    processes: int
    files: int
    disk: int
    watched: tuple[str, ...]
    interval: float
    descriptors: int


class Imports(LauncherMessage, frozen=True, tag=True):
    """Import further modules, as far as they are there, for kernels that are started after it."""

    modules: tuple[str, ...]


class Request(LauncherMessage, frozen=True, tag=True):
    """Start a child. With it come the descriptors: the warden's end of a socket pair on which it
    says how the child ended, what becomes standard error, a pidfd where `confinement.namespaces`
    is set, and then those that the program inherits as 3, 4, 5 and so on.

    `groups` are the folders of the control groups that the child enters, `above` those of groups
    that the launcher is in and that bound the memory of everything here.
    """

    program: Program
    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    confinement: Confinement
    bounds: Bounds
    groups: tuple[str, ...] = ()
    above: tuple[str, ...] = ()


class Ending(LauncherMessage, frozen=True):
    """How a child ended: exit status (128 + n for signal n), and why if the warden ended it.

    `cause` is "start" when the child never started its program; `detail` says what failed then.
    `peak` is the most memory in bytes that a look at all of it has found.
    """

    status: int
    cause: Cause | Literal["start"] = ""
    detail: str = ""
    peak: int = 0
