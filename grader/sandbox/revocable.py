"""A sandbox whose programs can all be ended at once, for work that somebody interrupts."""

from __future__ import annotations

import threading
import weakref
from contextlib import ExitStack

from grader.errors import SandboxError
from grader.inside.launcher.protocol import Program
from grader.language import Text
from grader.sandbox.interface import Command, Level, Process, Sandbox


class RevocableSandbox:
    """Starts commands in `sandbox` until `revoke` is called.

    Threads that wait for a program cannot be interrupted. They come to an end by themselves when
    the program is gone and no other can be started. `is_revoked` says whether that was done.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._lock = threading.Lock()
        self._started: weakref.WeakSet[Process] = weakref.WeakSet()
        self.is_revoked = False

    @property
    def level(self) -> Level:
        """As the sandbox says."""
        return self._sandbox.level

    @property
    def detail(self) -> Text:
        """As the sandbox says."""
        return self._sandbox.detail

    def expect(self, *programs: Program) -> None:
        """Do as the sandbox does, until `revoke` is called."""
        if not self.is_revoked:
            self._sandbox.expect(*programs)

    def start(self, command: Command) -> Process:
        """Start a command. Raises SandboxError when the machine refuses or `revoke` was called."""
        self._check()
        process = self._sandbox.start(command)
        with self._lock:
            self._started.add(process)
        try:
            self._check()  # `revoke` may have come while it was being started
        except SandboxError:
            process.kill()
            raise
        return process

    def close(self) -> None:
        """Do as the sandbox does."""
        self._sandbox.close()

    def revoke(self) -> None:
        """End everything that was started, and start nothing any more.

        Raises SandboxError when something does not end; the others have been ended then.
        """
        with self._lock:
            self.is_revoked = True
            running = list(self._started)
        with ExitStack() as endings:
            for process in running:
                endings.callback(process.kill)

    def _check(self) -> None:
        with self._lock:
            if self.is_revoked:
                raise SandboxError("The work was interrupted.", "Start it again.")
