"""What a sandbox is: a way to start one command with nothing of the host in reach.

Every back end gives the same: no network, a read-only system, an empty home, a private scratch
folder of bounded size that is the working folder, and nothing left alive once `kill` has returned.
"""

from __future__ import annotations

from typing import Protocol

import msgspec


class ResourceLimits(msgspec.Struct, frozen=True):
    """Limits that hold inside a sandbox. Sizes are in bytes, CPU time in seconds."""

    memory: int = 4 * 2**30
    scratch: int = 256 * 2**20
    processes: int = 256
    open_files: int = 1024
    file_size: int = 256 * 2**20
    cpu_seconds: int = 3600


class Command(msgspec.Struct, frozen=True):
    """What to start in a sandbox.

    `arguments` follow the interpreter of this environment (`python -I`), `files` maps absolute or
    scratch-relative paths inside the sandbox to their contents, `descriptors` are inherited under
    the same numbers, `environment` is added to the few variables that every sandbox has.
    """

    arguments: tuple[str, ...]
    files: dict[str, bytes] = {}
    descriptors: tuple[int, ...] = ()
    environment: dict[str, str] = {}
    limits: ResourceLimits = ResourceLimits()


class Process(Protocol):
    """A command running in a sandbox."""

    @property
    def pid(self) -> int:
        """Process id of the sandbox's outermost process, on the host."""
        ...

    @property
    def standard_error(self) -> str:
        """The last lines that were written to standard error; complete once the end was seen."""
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
    """A back end."""

    @property
    def level(self) -> str:
        """How strong it is: strong, container, basic, minimal or none."""
        ...

    @property
    def detail(self) -> str:
        """One sentence on the mechanism, for the report."""
        ...

    def start(self, command: Command) -> Process:
        """Start a command. Raises SandboxError when the machine refuses."""
        ...
