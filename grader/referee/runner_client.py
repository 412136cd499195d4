"""The trusted end of a runner: starts one in a sandbox, asks it, and ends it.

Whatever a runner does, `request` returns an answer within the time it was given: one that dies or
stays silent has answered with a TaskFailure.
"""

from __future__ import annotations

import socket
import time
from types import TracebackType
from typing import Literal

from grader.errors import ProtocolError, SandboxError
from grader.messages import (
    RUNNER_FRAME_LIMIT,
    FrameError,
    FromRunner,
    RunModule,
    TaskFailure,
    TimeSchedule,
    decode_payload,
    encode_frame,
    read_frame,
)
from grader.sandbox.interface import Command, Process, ResourceLimits, Sandbox
from grader.sandbox.shipping import shipped, start_arguments

START_SECONDS = 120.0
"""How long a runner may take to import TVM, on a machine that is busy with others."""

_SEGMENTATION_FAULT = 128 + 11


class _Deadline:
    """A socket read up to a moment: each `recv` waits for what is left of the time."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._end = time.monotonic() + seconds

    def recv(self, size: int, /) -> bytes:
        """Read as a socket does. Raises TimeoutError."""
        self._set()
        return self._connection.recv(size)

    def send(self, content: bytes) -> None:
        """Write everything. Raises TimeoutError."""
        self._set()
        self._connection.sendall(content)

    def _set(self) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)


class Runner:
    """A started runner, to be used as a context manager or closed."""

    def __init__(self, process: Process, connection: socket.socket) -> None:
        self._process = process
        self._connection = connection
        self._is_ready = False

    def request(self, task: RunModule | TimeSchedule, timeout: float) -> FromRunner:
        """Do one task within `timeout` seconds, the start not counted.

        Raises ProtocolError when the answer is not a message, SandboxError when the runner never
        became ready.
        """
        self._await_start()
        deadline = _Deadline(self._connection, timeout)
        try:
            deadline.send(encode_frame(task))
            payload = read_frame(deadline, RUNNER_FRAME_LIMIT)
            if payload is not None:
                return decode_payload(payload, FromRunner)
        except TimeoutError:
            return TaskFailure("run", "TimeLimit", f"longer than {timeout:g} seconds")
        except (ConnectionError, FrameError) as error:
            if self._process.wait(1.0) is None:
                raise ProtocolError(
                    f"A runner's answer cannot be read: {error}.", "Grade the submission again."
                ) from None
        return self._died()

    def close(self) -> None:
        """End the runner and everything in its sandbox."""
        self._connection.close()
        self._process.kill()

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _await_start(self) -> None:
        """Read the empty frame with which a runner says that it is ready."""
        if self._is_ready:
            return
        try:
            payload = read_frame(_Deadline(self._connection, START_SECONDS), 0)
        except (TimeoutError, ConnectionError, FrameError):
            payload = None
        if payload is None:
            raise SandboxError("A runner could not be started.", _start_hint(self._process))
        self._is_ready = True

    def _died(self) -> TaskFailure:
        status = self._process.wait(1.0)
        what = "a segmentation fault" if status == _SEGMENTATION_FAULT else f"status {status}"
        return TaskFailure("run", "Died", f"the process ended with {what}")


def start_runner(
    sandbox: Sandbox,
    kind: Literal["pure", "extern"],
    limits: ResourceLimits,
    environment: dict[str, str],
) -> Runner:
    """Start a runner and return at once: it imports TVM while others work. Raises SandboxError."""
    ours, theirs = socket.socketpair()
    command = Command(
        arguments=start_arguments("grader.runner.entry", str(theirs.fileno()), kind),
        files=shipped("runner"),
        descriptors=(theirs.fileno(),),
        environment=environment,
        limits=limits,
    )
    try:
        return Runner(sandbox.start(command), ours)
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()


def _start_hint(process: Process) -> str:
    lines = process.standard_error.strip().splitlines()
    told = f" It said: {lines[-1]}" if lines else ""
    return f"Run `grader doctor`: the packages may not fit together.{told}"
