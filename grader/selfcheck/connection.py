"""The kernel's end of the process that checks."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, TypeVar, cast

from grader.errors import GraderError
from grader.language import foreign, join, say
from grader.messages.frames import FrameError, decode_payload, encode_frame, read_frame
from grader.report import texts
from grader.selfcheck.messages import FRAME_LIMIT, FromChecker, Refused, ToChecker

Answer = TypeVar("Answer")

_END_SECONDS = 5.0
"""How long the process may take to end its sandbox, once nobody asks any more."""


class CheckError(GraderError):
    """Raised when a check cannot be made: shown in the notebook, and never raised into it.

    `language` is the one to say it in, None where nobody has chosen one.
    """

    language: str | None = None


class CheckerClient:
    """A process that answers requests one after the other; started when it is first asked.

    It is a separate process, so that nothing of the grading changes the kernel: no import, no
    random state, no number of threads. It keeps data, answers and sandbox for the next check, and
    ends with the kernel, whose end of the connection it sees closed.
    """

    def __init__(self) -> None:
        self._connection: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: IO[bytes] | None = None

    def ask(self, request: ToChecker, expected: type[Answer]) -> Answer:
        """Return the answer to a request. Raises CheckError.

        An interrupt while it is waited for ends the process: its answer would come too late.
        """
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._start()
        try:
            answer = self._exchange(request)
        except BaseException:
            self.close(at_once=True)
            raise
        if isinstance(answer, Refused):
            error = CheckError(answer.message, answer.hint)
            error.language = answer.language
            raise error
        assert isinstance(answer, expected)
        return answer

    def close(self, *, at_once: bool = False) -> None:
        """End the process, if there is one."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._await_end(at_once)
        if self._messages is not None:
            self._messages.close()
        self._connection = self._process = self._messages = None

    def __enter__(self) -> CheckerClient:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _start(self) -> None:
        root = str(Path(__file__).resolve().parents[2])
        ours, theirs = socket.socketpair()
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the process
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", "grader.selfcheck.checker", str(theirs.fileno())],
                cwd=root,  # the first place that modules are looked for: not the student's folder
                stdin=subprocess.DEVNULL,
                stdout=self._messages,
                stderr=self._messages,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Jupyter interrupts a kernel with all of its group
                env={**os.environ, "TVM_BIND_THREADS": "0"},
            )
        self._connection = ours

    def _exchange(self, request: ToChecker) -> FromChecker:
        assert self._connection is not None
        try:
            self._connection.sendall(encode_frame(request))
            payload = read_frame(self._connection, FRAME_LIMIT)
        except (OSError, FrameError):
            payload = None
        if payload is None:
            raise CheckError(join(say("check-ended-early"), foreign(self._last_words())))
        # mypy has no type for a union as a value
        return decode_payload(payload, cast("type[FromChecker]", FromChecker), texts.decode)

    def _last_words(self) -> str:
        """Return the last line that the process wrote: it closes the connection before it."""
        assert self._messages is not None
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self._messages.seek(0)
        lines = self._messages.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _await_end(self, at_once: bool) -> None:
        assert self._process is not None
        if at_once:
            self._process.kill()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
