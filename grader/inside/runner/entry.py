"""The runner's process: it prepares itself, reads tasks from its socket and writes answers.

No student Python is ever loaded here. All imports were made by the launcher that this process was
forked from (`grader.inside.common.preload`).
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable

from grader.inside.common.failure import TaskError
from grader.inside.common.machine import prepare_environment, silence
from grader.inside.runner.evaluation import Evaluator
from grader.inside.runner.tasks import perform
from grader.messages import (
    READY,
    RUNNER_FRAME_LIMIT,
    FrameError,
    FromRunner,
    ToRunner,
    decode_payload,
    encode_frame,
    read_frame,
)

Perform = Callable[[ToRunner, Evaluator | None], FromRunner]


def main(arguments: list[str]) -> None:
    """Serve a runner's tasks on a socket; see `run`."""
    run(arguments, perform)


def run(arguments: list[str], perform: Perform) -> None:
    """Serve tasks on a socket.

    `arguments`: the number of its descriptor, and that of the evaluator's socket, if there is one.
    """
    prepare_environment()
    with contextlib.ExitStack() as stack:
        tasks, *others = (
            stack.enter_context(socket.socket(fileno=int(number))) for number in arguments
        )
        evaluator = Evaluator(others[0]) if others else None
        if evaluator is not None and not evaluator.await_start():
            raise SystemExit("The process for external functions did not start.")
        silence(2)  # until here it says why a runner cannot start
        tasks.sendall(READY)
        serve(tasks, lambda task: perform(task, evaluator))


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
