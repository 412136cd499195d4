"""Which task is done by what, and what a runner of each kind may do."""

from __future__ import annotations

from typing import Literal

from grader.messages import (
    FromRunner,
    TaskFailure,
    TimeSchedule,
    ToRunner,
)
from grader.runner.failure import Stage, TaskError
from grader.runner.model import run_module
from grader.runner.timing import time_schedule


def perform(task: ToRunner, kind: Literal["pure", "extern"]) -> FromRunner:
    """Do one task; whatever goes wrong becomes a TaskFailure.

    A pure runner loads no student Python, so it may measure; an extern runner may not.
    """
    try:
        if isinstance(task, TimeSchedule):
            return time_schedule(task) if kind == "pure" else _refuse("time", "measures no time")
        if task.externs and kind == "pure":
            return _refuse("externs", "loads no external functions")
        return run_module(task)
    except TaskError as error:
        return error.as_failure()
    except Exception as error:  # noqa: BLE001 - an answer says more than a runner that has died
        return TaskError("run", type(error).__name__, str(error)).as_failure()


def _refuse(stage: Stage, what: str) -> TaskFailure:
    return TaskFailure(stage, "NotHere", f"This kind of runner {what}.")
