"""What a sandbox is: a way to start one program with nothing of the host in reach.

Every level gives the same: no network, a read-only system, an empty home, a private scratch folder
of bounded size that is the working folder, and nothing left alive once `kill` has returned. How
well each of these is kept is what the levels differ in (docs/security.md).
"""

import resource
from typing import Literal, Protocol

import msgspec

from grader.inside.launcher.protocol import FIRST_DESCRIPTOR, Cause, Program
from grader.language import Text

Level = Literal["strong", "container", "basic", "minimal", "none"]

LEVELS: tuple[Level, ...] = ("strong", "container", "basic", "minimal", "none")
"""Levels of isolation, strongest first."""

WITH_NAMESPACES: tuple[Level, ...] = ("strong", "container")
"""Those whose boxes have their own mounts, processes and network."""


_MAPPING_BYTES = 4 * 2**30
"""Address space beyond the memory limit: libraries, stacks, reservations that are never touched."""

_PROCESSES_WITH_ALL = 32
_FEWEST_OPEN_FILES = 1024
"""A child has its parent's files open once more: few files and many children are no hoard."""


class ResourceLimits(msgspec.Struct, frozen=True):
    """Limits that hold inside a sandbox. Sizes are in bytes, CPU time in seconds.

    `memory` bounds each process and all of them together, `files` the number of files in a folder
    that can be written to. `watch` is how often, in seconds, the use of the whole sandbox is looked
    at; 0 leaves that away, for a single process that must not be disturbed.
    """

    memory: int = 4 * 2**30
    scratch: int = 256 * 2**20
    processes: int = 256
    open_files: int = 1024
    file_size: int = 256 * 2**20
    files: int = 20_000
    cpu_seconds: int = 3600
    watch: float = 0.1

    @property
    def space(self) -> int:
        """Bytes of addresses that a process may use: what is mapped is not all memory."""
        return self.memory + _MAPPING_BYTES

    def promised(self) -> dict[int, int]:
        """Return what a program may be sure of, as far as the operating system could withhold it.

        So many processes are not among it: the kernel counts those that others have as well.
        """
        return {
            resource.RLIMIT_NOFILE: self.open_files,
            resource.RLIMIT_AS: self.space,
            resource.RLIMIT_DATA: self.memory,
            resource.RLIMIT_CPU: self.cpu_seconds,
            resource.RLIMIT_FSIZE: self.file_size,
        }

    @property
    def descriptors(self) -> int:
        """How many files all processes together may have open: the machine has a number of them."""
        return _PROCESSES_WITH_ALL * max(self.open_files, _FEWEST_OPEN_FILES)


class Command(msgspec.Struct, frozen=True):
    """What to start in a sandbox.

    `program` gets `arguments`; "python" is this environment's interpreter (`python -I`), the others
    are parts of the grader that need not import anything any more. `files` maps paths, relative to
    the working folder, to contents. `descriptors` are inherited as 3, 4, 5 and so on;
    `environment` is added to the few variables that every sandbox has.
    """

    program: Program
    arguments: tuple[str, ...] = ()
    files: dict[str, bytes] = {}
    descriptors: tuple[int, ...] = ()
    environment: dict[str, str] = {}
    limits: ResourceLimits = ResourceLimits()


def inside_numbers(count: int) -> tuple[int, ...]:
    """Return the numbers that so many inherited descriptors have inside."""
    return tuple(range(FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + count))


class Process(Protocol):
    """A program running in a sandbox."""

    @property
    def standard_error(self) -> str:
        """The last lines that were written to standard error; complete once the end was seen."""
        ...

    @property
    def cause(self) -> Cause:
        """Why it was ended from outside, if it was and its end was seen."""
        ...

    @property
    def peak(self) -> int:
        """Bytes of memory that it has held at most, as far as was looked; 0 before its end."""
        ...

    def poll(self) -> int | None:
        """Return the exit status (128 + n for signal n) once all inside is gone, else None."""
        ...

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the end, up to `timeout` seconds; return as `poll` does."""
        ...

    def kill(self) -> None:
        """End everything inside at once and wait until it is gone. Harmless if it already is."""
        ...


class Sandbox(Protocol):
    """A way of confining, at one level. May be used from several threads."""

    @property
    def level(self) -> Level:
        """How strong it is."""
        ...

    @property
    def detail(self) -> Text:
        """One sentence on the mechanism, for the report."""
        ...

    def expect(self, *programs: Program) -> None:
        """Begin to make ready what these programs need to start, and return at once."""
        ...

    def start(self, command: Command) -> Process:
        """Start a command. Raises SandboxError when the machine refuses."""
        ...

    def close(self) -> None:
        """End what starts programs. Those that still run go on to their end."""
        ...
