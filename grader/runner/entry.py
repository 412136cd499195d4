"""The runner's process: it prepares itself, reads tasks from its socket and writes answers.

All imports were made by the launcher that this process was forked from (`grader.runner.preload`).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Literal

from grader.messages import (
    RUNNER_FRAME_LIMIT,
    FrameError,
    FromRunner,
    ToRunner,
    decode_payload,
    encode_frame,
    read_frame,
)
from grader.runner.failure import TaskError
from grader.runner.machine import prepare_environment
from grader.runner.tasks import perform

Kind = Literal["pure", "extern"]

READY = bytes(8)
"""An empty frame: the first thing that a runner writes."""


def main(arguments: list[str]) -> None:
    """Serve tasks on a socket. `arguments`: its descriptor's number, and "pure" or "extern"."""
    descriptor, kind = int(arguments[0]), arguments[1]
    if kind not in ("pure", "extern"):
        raise SystemExit(f"no such kind of runner: {kind}")
    prepare_environment()
    with socket.socket(fileno=descriptor) as connection:
        silence(2)  # until here it says why a runner cannot start
        connection.sendall(READY)
        serve(connection, lambda task: perform(task, kind))  # type: ignore[arg-type]


def silence(*descriptors: int) -> None:
    """Connect standard streams to nowhere: what a module prints could be a gigabyte."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def serve(connection: socket.socket, perform: Callable[[ToRunner], FromRunner]) -> None:
    """Answer every task until the other side closes the connection."""
    while (payload := read_frame(connection, RUNNER_FRAME_LIMIT)) is not None:
        try:
            task: ToRunner = decode_payload(payload, ToRunner)  # type: ignore[arg-type]
        except FrameError as error:
            answer: FromRunner = TaskError("decode", "FrameError", str(error)).as_failure()
        else:
            answer = perform(task)
        connection.sendall(encode_frame(answer))
