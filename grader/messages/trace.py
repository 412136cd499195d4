"""What is asked of a runner that runs a module step by step, and what it saw."""

from __future__ import annotations

from typing import Annotated

import msgspec

from grader.messages.arrays import Array, Count, Shape
from grader.messages.frames import Message
from grader.messages.runner import RunModule, TaskFailure

STEP_LIMIT = 64
"""Most steps that a trace has: the first ones of `main`."""


class Correction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the value of a step becomes, in every call: an array of its shape and dtype."""

    step: Count
    value: Array


class TraceModule(Message, frozen=True):
    """Run a module as `run` says, and return the value of every step of its function.

    The steps of a Relax `main` are its bindings, in order; those of a TIR function are the buffers
    that it allocates outside of its blocks, in the order in which they are written, and its
    outputs. A Python function has one step for each of its outputs.

    `corrections` are written over the values of steps, once those are taken down: what comes after
    computes from them. `cleared`: outputs hold zeros before each call, and not NaN. What is right
    then, and was not before, was computed from memory that nobody had written.
    """

    run: RunModule
    corrections: tuple[Correction, ...] = ()
    cleared: bool = False


class TracedStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step: the variable or buffer, what was called for it, and its value in every call.

    `binding` is the place of the call among the calls that `main` binds, as the referee counts them
    in `ModuleFacts.calls`; None where there is no such call. `values` has shape (calls, *shape);
    it is None where the step has no value: it was not reached, or is no tensor. `dtype` is what the
    module computes in; values of dtypes that no message carries come as float32. `takes` are the
    numbers of earlier steps that it is computed from, `takes_input` says that it takes an argument
    of the function directly. `is_unwritten`: what was called left its output as it was.
    """

    variable: str
    callee: str
    dtype: str
    values: Array | None
    takes: Shape = ()
    takes_input: bool = False
    binding: Count | None = None
    is_unwritten: bool = False


class TraceResult(Message, frozen=True):
    """The steps in the order in which they are done. `failure` is what ended the run early."""

    steps: Annotated[tuple[TracedStep, ...], msgspec.Meta(max_length=STEP_LIMIT)]
    failure: TaskFailure | None = None
