"""Which task is done by what, and what a runner of each kind may do."""

from __future__ import annotations

from grader.messages import (
    CompareTarget,
    FindStep,
    FromRunner,
    MutateModule,
    ReplayTrace,
    RunModule,
    TaskFailure,
    ToRunner,
    TraceModule,
)
from grader.runner.evaluation import Evaluator
from grader.runner.failure import TaskError
from grader.runner.find_step import find_step
from grader.runner.model import run_module
from grader.runner.mutants import mutate_module
from grader.runner.replay import replay_trace
from grader.runner.target import compare_target
from grader.runner.timing import time_schedule
from grader.runner.trace import trace_module


def perform(task: ToRunner, evaluator: Evaluator | None = None) -> FromRunner:
    """Do one task; whatever goes wrong becomes a TaskFailure.

    A runner with an evaluator measures no time and replays nothing: student Python is at work
    beside it.
    """
    try:
        if isinstance(task, RunModule):
            return run_module(task, evaluator)
        if isinstance(task, TraceModule):
            return trace_module(task, evaluator)
        if isinstance(task, MutateModule):
            return mutate_module(task, evaluator)
        if evaluator is not None:
            return TaskFailure("time", "NotHere", "This kind of runner only runs modules.")
        if isinstance(task, CompareTarget):
            return compare_target(task)
        if isinstance(task, FindStep):
            return find_step(task)
        return replay_trace(task) if isinstance(task, ReplayTrace) else time_schedule(task)
    except TaskError as error:
        return error.as_failure()
    except Exception as error:  # noqa: BLE001 - an answer says more than a runner that has died
        return TaskError("run", type(error).__name__, str(error)).as_failure()
