"""The runner's process: it reads tasks from its socket, has them done, and writes answers.

No student Python is ever loaded here. All imports were made by the launcher that this process was
forked from (`grader.inside.common.preload`).
"""

import contextlib
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

from grader.inside.common.failure import TaskError, answering_for_errors
from grader.inside.common.machine import prepare_environment, silence
from grader.inside.runner import limits
from grader.inside.runner.evaluation import Evaluator
from grader.inside.runner.find_step import find_step
from grader.inside.runner.kinds import examine
from grader.inside.runner.model import build_ahead, run_module
from grader.inside.runner.replay import replay_trace
from grader.inside.runner.time_steps import build_steps_ahead, time_steps
from grader.inside.runner.timing import compile_ahead, time_schedule
from grader.inside.runner.trace import trace_module
from grader.messages.evidence import Examine
from grader.messages.frames import (
    READY,
    RUNNER_FRAME_LIMIT,
    FrameError,
    decode_payload,
    encode_frame,
    read_frame,
)
from grader.messages.runner import (
    BuildAhead,
    Built,
    FindStep,
    FromReferee,
    FromRunner,
    ReplayTrace,
    RunModule,
    TaskFailure,
    ToRunner,
    TraceModule,
)
from grader.messages.timing import MeasureLimits, TimeSchedule, TimeSteps


def perform(task: ToRunner, evaluator: Evaluator | None = None) -> FromRunner:
    """Do one task; whatever goes wrong becomes a TaskFailure.

    A runner with an evaluator measures no time and replays nothing: student Python is at work
    beside it.
    """
    return answering_for_errors(lambda: _perform(task, evaluator))


def build(task: RunModule | TimeSchedule | TimeSteps) -> float:
    """Build what a task to come will run, and return how many seconds that took.

    Its own attempt tells what cannot be built.
    """
    begin = time.monotonic()
    answering_for_errors(lambda: _BUILT_BY[type(task)](task))
    return time.monotonic() - begin


_BUILT_BY: Mapping[type[ToRunner], Callable[[Any], None]] = {
    RunModule: build_ahead,
    TimeSchedule: compile_ahead,
    TimeSteps: build_steps_ahead,
}


def _perform(task: ToRunner, evaluator: Evaluator | None) -> FromRunner:
    if isinstance(task, RunModule):
        return run_module(task, evaluator)
    if isinstance(task, TraceModule):
        return trace_module(task, evaluator)
    done_by = _DONE_BY.get(type(task))
    if evaluator is not None or done_by is None:
        return TaskFailure("time", "NotHere", "This kind of runner does not do that.")
    return done_by(task)


_DONE_BY: Mapping[type[ToRunner], Callable[[Any], FromRunner]] = {
    TimeSchedule: time_schedule,
    TimeSteps: time_steps,
    MeasureLimits: limits.perform,
    ReplayTrace: replay_trace,
    FindStep: find_step,
    Examine: examine,
}
"""Tasks of runners that have no evaluator beside them."""

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
            task: FromReferee = decode_payload(payload, FromReferee)  # type: ignore[arg-type]
        except FrameError as error:
            answer: FromRunner = TaskError("decode", "FrameError", str(error)).as_failure()
        else:
            if isinstance(task, BuildAhead):
                connection.sendall(encode_frame(Built(build(task.task))))
                continue
            answer = perform(task)
        connection.sendall(encode_frame(answer))
