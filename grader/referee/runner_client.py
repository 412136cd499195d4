"""The trusted end of a runner: starts one in a sandbox, asks it, and ends it.

Whatever a runner does, `request` returns an answer within the time it was given: one that dies or
stays silent has answered with a TaskFailure, and is ended. Nothing here loads TVM or a pickle.
"""

from __future__ import annotations

import signal
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
    RunResult,
    TaskFailure,
    TimeSchedule,
    TimingResult,
    decode_payload,
    encode_frame,
    read_frame,
)
from grader.sandbox.interface import Command, Process, ResourceLimits, Sandbox, inside_numbers

START_SECONDS = 120.0
"""How long a runner may take to import TVM, on a machine that is busy with others."""

_END_SECONDS = 1.0
"""How long to wait for the exit status of a runner whose connection is gone."""

_ENDINGS = {
    128 + signal.SIGSEGV: "It read or wrote memory that is not its own (segmentation fault).",
    128 + signal.SIGBUS: "It read or wrote memory that is not its own (bus error).",
    128 + signal.SIGILL: "It used an instruction that this processor does not have.",
    128 + signal.SIGFPE: "It divided an integer by zero.",
    128 + signal.SIGABRT: "It was aborted, because a check in it failed or memory ran out.",
    128 + signal.SIGKILL: "It was killed, most likely because memory ran out.",
    128 + signal.SIGXCPU: "It used up its processor time.",
}


class _Deadline:
    """A socket used up to a moment: each call waits for what is left of the time."""

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
    """A started runner, to be used as a context manager or closed.

    A runner that failed to answer once is ended, and every later request gets the same failure.
    """

    def __init__(
        self, process: Process, connection: socket.socket, start_seconds: float = START_SECONDS
    ) -> None:
        self._process = process
        self._connection = connection
        self._start_seconds = start_seconds
        self._is_ready = False
        self._failure: TaskFailure | None = None

    def request(self, task: RunModule | TimeSchedule, timeout: float) -> FromRunner:
        """Do one task within `timeout` seconds, the start not counted.

        The answer is a TaskFailure called "TimeLimit" when there was none in time, one called
        "Died" when the runner's process ended. Raises ProtocolError when the answer is not of the
        task's kind, SandboxError when the runner never became ready.
        """
        if self._failure is not None:
            return self._failure
        self.await_start()
        try:
            answer = self._ask(task, _Deadline(self._connection, timeout))
        except TimeoutError:
            sentence = f"There was no answer within {timeout:g} seconds."
            return self._end(TaskFailure(_stage(task), "TimeLimit", sentence))
        except (ConnectionError, FrameError) as error:
            if self._is_gone():
                return self._died(task)
            self.close()
            raise ProtocolError(
                f"A runner's answer cannot be read: {error}.", "Grade the submission again."
            ) from None
        return self._died(task) if answer is None else answer

    def close(self) -> None:
        """End the runner and everything in its sandbox. Harmless when it was done before."""
        self._connection.close()
        self._process.kill()
        if self._failure is None:
            self._failure = TaskFailure("run", "Died", "The runner was ended.")

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def await_start(self) -> None:
        """Wait for the empty frame with which a runner says that it is ready.

        Raises SandboxError when it does not become so.
        """
        if self._is_ready:
            return
        try:
            payload = read_frame(_Deadline(self._connection, self._start_seconds), 0)
        except (TimeoutError, ConnectionError, FrameError):
            payload = None
        if payload is None:
            self.close()
            raise SandboxError("A runner could not be started.", _start_hint(self._process))
        self._is_ready = True

    def _ask(self, task: RunModule | TimeSchedule, deadline: _Deadline) -> FromRunner | None:
        """Send the task and return the answer, or None at the end of the stream."""
        deadline.send(encode_frame(task))
        payload = read_frame(deadline, RUNNER_FRAME_LIMIT)
        if payload is None:
            return None
        result = RunResult if isinstance(task, RunModule) else TimingResult
        expected: type[FromRunner] = result | TaskFailure  # type: ignore[assignment]
        return decode_payload(payload, expected)

    def _is_gone(self) -> bool:
        return self._process.wait(_END_SECONDS) is not None

    def _died(self, task: RunModule | TimeSchedule) -> TaskFailure:
        status = self._process.wait(_END_SECONDS)
        sentence = _ENDINGS.get(status or 0, "Its process ended before it answered.")
        name = "TimeLimit" if status == 128 + signal.SIGXCPU else "Died"
        return self._end(TaskFailure(_stage(task), name, sentence))

    def _end(self, failure: TaskFailure) -> TaskFailure:
        self._failure = failure
        self.close()
        return failure


def start_runner(
    sandbox: Sandbox,
    kind: Literal["pure", "extern"],
    limits: ResourceLimits,
    environment: dict[str, str],
) -> Runner:
    """Start a runner and return at once: it imports TVM while others work. Raises SandboxError.

    Several may be started one after the other, or from several threads. A sandbox may be bound to
    the life of the thread that starts it; bubblewrap's back end has a thread for that.
    """
    ours, theirs = socket.socketpair()
    command = Command(
        program="runner" if kind == "pure" else "evaluator",
        arguments=(str(inside_numbers(1)[0]), kind),
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


def _stage(task: RunModule | TimeSchedule) -> Literal["run", "time"]:
    return "run" if isinstance(task, RunModule) else "time"


def _start_hint(process: Process) -> str:
    lines = process.standard_error.strip().splitlines()
    told = f" It said: {lines[-1]}" if lines else ""
    return f"Run `grader doctor`: the packages may not fit together.{told}"
