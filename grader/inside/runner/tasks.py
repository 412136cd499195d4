"""Which task is done by what, and what a runner of each kind may do."""

from __future__ import annotations

from grader.inside.common.failure import answering_for_errors
from grader.inside.runner.evaluation import Evaluator
from grader.inside.runner.find_step import find_step
from grader.inside.runner.model import run_module
from grader.inside.runner.replay import replay_trace
from grader.inside.runner.target import compare_target
from grader.inside.runner.timing import time_schedule
from grader.inside.runner.trace import trace_module
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


def perform(task: ToRunner, evaluator: Evaluator | None = None) -> FromRunner:
    """Do one task; whatever goes wrong becomes a TaskFailure.

    A runner with an evaluator measures no time and replays nothing: student Python is at work
    beside it.
    """
    return answering_for_errors(lambda: _perform(task, evaluator))


def _perform(task: ToRunner, evaluator: Evaluator | None) -> FromRunner:
    if isinstance(task, RunModule):
        return run_module(task, evaluator)
    if isinstance(task, TraceModule):
        return trace_module(task, evaluator)
    if evaluator is not None or isinstance(task, MutateModule):
        return TaskFailure("time", "NotHere", "This kind of runner does not do that.")
    if isinstance(task, CompareTarget):
        return compare_target(task)
    if isinstance(task, FindStep):
        return find_step(task)
    return replay_trace(task) if isinstance(task, ReplayTrace) else time_schedule(task)
