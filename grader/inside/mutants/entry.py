"""The mutants' process: a runner's, for the one task that runners do not do."""

from __future__ import annotations

from grader.inside.common.failure import answering_for_errors
from grader.inside.mutants.make import mutate_module
from grader.inside.runner.entry import run
from grader.inside.runner.evaluation import Evaluator
from grader.messages import FromRunner, MutateModule, TaskFailure, ToRunner


def main(arguments: list[str]) -> None:
    """Serve tasks on a socket, with the `arguments` of a runner."""
    run(arguments, perform)


def perform(task: ToRunner, evaluator: Evaluator | None = None) -> FromRunner:
    """Make mutants; whatever goes wrong becomes a TaskFailure, and so does any other task."""
    if not isinstance(task, MutateModule):
        return TaskFailure("run", "NotHere", "This kind of runner only makes mutants.")
    return answering_for_errors(lambda: mutate_module(task, evaluator))
