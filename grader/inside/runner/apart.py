"""Work that is done in a child process: what it has said stays said when it crashes.

The child is a copy of the runner, in the same sandbox. It ends with the runner.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from typing import TypeVar

from grader.inside.launcher.linux import die_with_parent
from grader.messages import (
    RUNNER_FRAME_LIMIT,
    FailureCode,
    FrameError,
    Message,
    TaskFailure,
    decode_payload,
    encode_frame,
    read_frame,
)

T = TypeVar("T")
Send = Callable[[Message], None]


def work_apart(
    work: Callable[[Send], None], expected: type[T], limit: int
) -> tuple[list[T], TaskFailure | None]:
    """Do some work in a child; return the messages that it sent, and why it ended early if it did.

    At most `limit` messages are taken. Errors of the work end the child: what they say is the
    work's to send.
    """
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        ours.close()
        _work(work, theirs, parent)
    theirs.close()
    with ours:
        received = _receive(ours, expected, limit)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return received, _failure(status)


def _work(work: Callable[[Send], None], connection: socket.socket, parent: int) -> None:
    """Do the work, and end this process whatever happens."""
    status = 1
    try:
        die_with_parent(signal.SIGKILL, parent)
        work(lambda message: connection.sendall(encode_frame(message)))
        status = 0
    finally:
        os._exit(status)


def _receive(connection: socket.socket, expected: type[T], limit: int) -> list[T]:
    received: list[T] = []
    while len(received) < limit:
        try:
            payload = read_frame(connection, RUNNER_FRAME_LIMIT)
            if payload is None:
                break
            received.append(decode_payload(payload, expected))
        except (FrameError, ConnectionError):
            break  # it ended while it was saying something
    return received


def _failure(status: int) -> TaskFailure | None:
    if status == 0:
        return None
    name: FailureCode = "TimeLimit" if status == -signal.SIGXCPU else "Died"
    return TaskFailure("run", name, "The process that ran the module ended.")
