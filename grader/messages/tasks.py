"""All that is asked of runners, and all that they answer."""

from __future__ import annotations

from grader.messages.mutants import MutateModule, MutationResult
from grader.messages.replay import FindStep, FoundStep, ReplayResult, ReplayTrace
from grader.messages.runner import RunModule, RunResult, TaskFailure
from grader.messages.target import CompareTarget, TargetResult
from grader.messages.timing import TimeSchedule, TimingResult
from grader.messages.trace import TraceModule, TraceResult

ToRunner = (
    RunModule | TraceModule | TimeSchedule | ReplayTrace | FindStep | CompareTarget | MutateModule
)
FromRunner = (
    RunResult
    | TraceResult
    | TimingResult
    | ReplayResult
    | FoundStep
    | TargetResult
    | MutationResult
    | TaskFailure
)
