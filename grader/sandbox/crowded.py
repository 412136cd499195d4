"""Submissions beside each other: who comes to an early end may not be the one to blame.

Where only one submission is run, a sandbox that held much when the machine had little left has
itself to blame, and one that was too slow has, too. Beside others it may have been within its
limits all the time, and somebody else the one that took the rest. Then it has to be run again,
alone, before anything is said of it.
"""

from __future__ import annotations

from grader.errors import DisplacedError
from grader.inside.launcher.protocol import Cause, Program
from grader.language import Text
from grader.sandbox.interface import Command, Level, Process, Sandbox


def refuse_displaced(process: Process) -> None:
    """Raise DisplacedError if a process, which has ended, was ended for what others took."""
    if process.cause == "outside":
        raise DisplacedError(
            "The machine had no memory or no processor left while this was graded, and it was"
            " ended for that.",
            "Grade it again when less runs on this machine.",
        )


class CrowdedSandbox:
    """Starts commands in `sandbox`, beside others: what the machine did to them is never theirs."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    @property
    def level(self) -> Level:
        """As the sandbox says."""
        return self._sandbox.level

    @property
    def detail(self) -> Text:
        """As the sandbox says."""
        return self._sandbox.detail

    def expect(self, *programs: Program) -> None:
        """Do as the sandbox does."""
        self._sandbox.expect(*programs)

    def start(self, command: Command) -> Process:
        """Start a command. Raises SandboxError when the machine refuses."""
        return _CrowdedProcess(self._sandbox.start(command))

    def close(self) -> None:
        """Do as the sandbox does."""
        self._sandbox.close()


_NOT_ITS_OWN: tuple[Cause, ...] = ("machine", "starved")


class _CrowdedProcess:
    """A process that says "outside" where alone it would be its own doing."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @property
    def standard_error(self) -> str:
        return self._process.standard_error

    @property
    def cause(self) -> Cause:
        cause = self._process.cause
        return "outside" if cause in _NOT_ITS_OWN else cause

    @property
    def peak(self) -> int:
        return self._process.peak

    def poll(self) -> int | None:
        return self._process.poll()

    def wait(self, timeout: float | None = None) -> int | None:
        return self._process.wait(timeout)

    def kill(self) -> None:
        self._process.kill()
