"""What the referee and a runner say to each other; timing and replay have their own modules."""

from __future__ import annotations

from typing import Literal

import msgspec

from grader.messages.arrays import Array, Counts, Names, Pickles
from grader.messages.frames import Message
from grader.messages.replay import ReplayResult, ReplayTrace
from grader.messages.timing import TimeSchedule, TimingResult

EXTERN_DIED = "ExternDied"
"""Name of the error of a task whose evaluator's process has ended."""


class RunModule(Message, frozen=True):
    """Build `module` for `target` and run its `main` on every batch of `inputs`.

    `inputs` has shape (batches, *input shape of main). Output buffers of every function are filled
    with NaN before each call. `externs` are pickled Python functions: a runner has its evaluator
    load them, and one without an evaluator refuses. `stubs` are names that get a function of the
    runner's own instead, which fills its outputs from a generator seeded with the given number: a
    referee asks for two different seeds to see whether a model depends on them.
    """

    module: bytes
    inputs: Array
    target: str
    threads: int
    externs: Pickles = msgspec.field(default_factory=dict)
    stubs: Counts = msgspec.field(default_factory=dict)


class RunResult(Message, frozen=True):
    """Outputs of all batches, shape (batches, *output shape), and what was noticed on the way.

    `unwritten` names functions that left their poisoned output untouched, `calls` counts calls of
    externs. Both are the runner's own observations: no student Python is in its process.
    """

    outputs: Array
    unwritten: Names = ()
    calls: Counts = msgspec.field(default_factory=dict)


class TaskFailure(Message, frozen=True):
    """The task could not be done. `stage` says where, the rest is the error, shortened."""

    stage: Literal["decode", "load", "build", "externs", "signature", "run", "time"]
    error_name: str
    message: str


ToRunner = RunModule | TimeSchedule | ReplayTrace
FromRunner = RunResult | TimingResult | ReplayResult | TaskFailure
