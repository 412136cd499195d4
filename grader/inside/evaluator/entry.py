"""The evaluator's process: it loads a student's functions and calls them when the runner asks.

It is the only process beside the notebook's that runs student Python, and all that it can do is
answer: it has one socket, the runner's. All imports were made by the launcher that it was forked
from (`grader.inside.common.preload`).
"""

from __future__ import annotations

import socket

from grader.inside.common.framed_arrays import receive_arrays, send_framed
from grader.inside.common.machine import prepare_environment, silence
from grader.inside.evaluator.functions import Functions
from grader.messages import (
    READY,
    RUNNER_FRAME_LIMIT,
    Evaluated,
    LoadExtern,
    ToEvaluator,
    decode_payload,
    read_frame,
)


def main(arguments: list[str]) -> None:
    """Serve a runner. `arguments`: the number of the descriptor of the socket between the two."""
    prepare_environment()
    with socket.socket(fileno=int(arguments[0])) as connection:
        silence(2)  # until here it says why an evaluator cannot start
        connection.sendall(READY)
        serve(connection, Functions())


def serve(connection: socket.socket, functions: Functions) -> None:
    """Answer every request until the other side closes the connection.

    Raises FrameError for what is no request: the runner sends none such.
    """
    while (payload := read_frame(connection, RUNNER_FRAME_LIMIT)) is not None:
        request: ToEvaluator = decode_payload(payload, ToEvaluator)  # type: ignore[arg-type]
        if isinstance(request, LoadExtern):
            send_framed(connection, functions.load(request.name, request.pickle))
            continue
        call = functions.prepare(request)
        receive_arrays(connection, call.inputs)
        answer = functions.run(call)
        send_framed(connection, answer, call.outputs if isinstance(answer, Evaluated) else ())
