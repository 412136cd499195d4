"""A task of this kind, performed in a box: a module is lowered, executed and counted."""

from __future__ import annotations

import json
from typing import Any

from grader.evidence.gpu.inside.audit import find_needless
from grader.evidence.gpu.inside.changes import Trials, find_changes
from grader.evidence.gpu.inside.execution import Program
from grader.evidence.gpu.inside.failure import NotSimulatedError
from grader.evidence.gpu.inside.lowering import lower
from grader.evidence.gpu.inside.steps import MOST_STEPS, find_steps
from grader.evidence.gpu.messages import (
    FINDING_LIMIT,
    Answer,
    ChangesTried,
    KernelsRun,
    StepsTried,
    Task,
    TryChanges,
    TrySteps,
)
from grader.inside.common.failure import stage
from grader.inside.common.modules import load_module
from grader.messages.frames import pack_array, unpack_array


def perform(task: Task) -> Answer:
    """Execute the kernels of a function. Raises TaskError for a module that TVM cannot read."""
    with stage("load"):
        module = load_module(task.module)
    if isinstance(task, TryChanges):
        calls = [[unpack_array(each) for each in arguments] for arguments in task.calls]
        outputs = list(task.outputs)
        return ChangesTried(find_changes(module, task.function, task.device, calls, outputs))
    if isinstance(task, TrySteps):
        return _try_steps(task, module)
    arguments = [unpack_array(each) for each in task.arguments]
    outputs = list(task.outputs)
    try:
        lowered = lower(module, task.function, task.device)
        program = Program(lowered.function, lowered.shapes)
        execution = program.execute(arguments, outputs)
        needless = (
            find_needless(program, execution, arguments, outputs)
            if task.audit and lowered.own_barriers
            else ()
        )
    except NotSimulatedError as error:
        return error.answer
    return KernelsRun(
        tuple(map(pack_array, execution.outputs)),
        (*(execution.findings or execution.unstored), *needless)[:FINDING_LIMIT],
        execution.counts(),
        not lowered.own_barriers,
    )


def _try_steps(task: TrySteps, module: Any) -> StepsTried:
    with stage("load"):
        base, trace = load_module(task.base), json.loads(task.trace)
    calls = [[unpack_array(each) for each in arguments] for arguments in task.calls]
    trials = Trials(task.function, task.device, calls, list(task.outputs), MOST_STEPS)
    return StepsTried(find_steps(base, module, trace, task.lines, trials))
