"""Gathering what a kernel does: it is executed in a box, on the oracle's inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from grader.errors import IRError
from grader.evidence.case import FloatArray, Outputs, Problem
from grader.evidence.gpu.devices import DEVICES
from grader.evidence.gpu.found import GPU, FoundKernels, FoundStep, KernelOptions, faults
from grader.evidence.gpu.messages import (
    STEP_LIMIT,
    Answer,
    Change,
    ChangesTried,
    KernelsRun,
    NotExecuted,
    RunKernels,
    StepsTried,
    TryChanges,
    TrySteps,
)
from grader.evidence.oracle import Arrangement
from grader.evidence.plug import UNREADABLE, Question, ask
from grader.evidence.problems import wrong_samples
from grader.ir.trace import read_trace
from grader.language import Text, foreign, say
from grader.messages.frames import Array, FrameError, number_type, pack_array, unpack_array
from grader.messages.kernel import StepLine
from grader.report import CheckCode

_ANSWER = cast("type[KernelsRun | NotExecuted | ChangesTried | StepsTried]", Answer)


def gather_kernels(question: Question) -> FoundKernels | Problem:
    """Execute a candidate. Raises SandboxError where no runner can be started."""
    options = question.options(KernelOptions)
    assert options is not None, "the checks that need this have options"
    if question.candidate.facts.has_main:
        return Problem(say("gpu-relax-main"), say("gpu-hand-in-function"), code="signature")
    arrangement = question.arrangement()
    if isinstance(arrangement, Problem):
        return arrangement
    if len(arrangement.outputs) != 1:
        return Problem(say("gpu-several-outputs"), say("gpu-hand-in-function"), code="signature")
    answers: list[KernelsRun] = []
    for call in range(min(options.calls, arrangement.samples)):
        task = _task(question, arrangement, call, options.device)
        answer = ask(question.runners, GPU.name, task, _ANSWER)
        if isinstance(answer, NotExecuted):
            return explain_not_executed(answer)
        if isinstance(answer, Problem):
            return answer
        if isinstance(answer, ChangesTried | StepsTried):
            return UNREADABLE
        answers.append(answer)
    try:
        outputs = _outputs(question, answers)
    except (FrameError, ValueError, IndexError):
        return UNREADABLE
    first = answers[0]
    device = DEVICES[options.device]
    return FoundKernels(outputs, first.findings, first.kernels, device, first.scheduled)


def mend_kernels(question: Question, found: FoundKernels) -> FoundKernels:
    """Add a small change that makes a wrong kernel right, if one is found.

    A schedule's author wrote no statement: its steps are changed. Each trial executes the kernel:
    112 mutants of an assignment took four minutes in place of one.
    """
    is_wrong = faults(found) or wrong_samples(found.outputs, question.comparison).any()
    arrangement = question.arrangement()
    if not is_wrong or isinstance(arrangement, Problem):
        return found
    options = question.options(KernelOptions) or KernelOptions()
    if found.scheduled:
        step = _step(question, arrangement, options, found)
        return found if step is None else replace(found, step=step)
    return replace(found, change=_change(question, arrangement, options, found))


def _step(
    question: Question, arrangement: Arrangement, options: KernelOptions, found: FoundKernels
) -> FoundStep | None:
    """Return a change of a step with which all outputs are right; None where no trial has them."""
    capture, base = question.candidate.capture, question.candidate.base
    if base is None or capture.base is None or capture.trace is None:
        return None
    try:
        trace = read_trace(capture.trace, for_device=True)
    except IRError:
        return None
    calls = range(len(found.outputs.actual))
    tasks = [_task(question, arrangement, each, options.device) for each in calls]
    task = TrySteps(
        base=capture.base,
        trace=trace.document,
        lines=_numbered(capture.lines),
        module=capture.module,
        function=tasks[0].function,
        calls=tuple(each.arguments for each in tasks),
        outputs=tasks[0].outputs,
        device=options.device,
    )
    answer = ask(question.runners, GPU.name, task, _ANSWER)
    changes = answer.changes if isinstance(answer, StepsTried) else ()
    right = next((each for each in changes if _is_right(each.outputs, question, found)), None)
    if right is None:
        return None
    lines = capture.lines
    return FoundStep(lines[right.place] if right.place < len(lines) else StepLine(), right)


def _numbered(lines: tuple[StepLine, ...]) -> tuple[int, ...]:
    """Return a number for each line of the notebook, 0 for one that is not known."""
    numbers: dict[tuple[int, int], int] = {(0, 0): 0}
    return tuple(numbers.setdefault((e.cell, e.line), len(numbers)) for e in lines[:STEP_LIMIT])


def _change(
    question: Question, arrangement: Arrangement, options: KernelOptions, found: FoundKernels
) -> Change | None:
    """Return a change with which all outputs are right; None where no trial has them."""
    calls = range(len(found.outputs.actual))
    tasks = [_task(question, arrangement, each, options.device) for each in calls]
    first = tasks[0]
    task = TryChanges(
        module=first.module,
        function=first.function,
        calls=tuple(each.arguments for each in tasks),
        outputs=first.outputs,
        device=options.device,
    )
    answer = ask(question.runners, GPU.name, task, _ANSWER)
    if not isinstance(answer, ChangesTried):
        return None
    return next((e for e in answer.changes if _is_right(e.outputs, question, found)), None)


def _is_right(answered: tuple[Array, ...], question: Question, found: FoundKernels) -> bool:
    """Say whether the outputs with a change are right. A box may answer what it likes."""
    try:
        actual = np.stack([unpack_array(each) for each in answered])
    except (FrameError, ValueError):
        return False
    if actual.shape != found.outputs.actual.shape:
        return False
    outputs = replace(found.outputs, actual=cast(FloatArray, actual))
    return not wrong_samples(outputs, question.comparison).any()


def _task(question: Question, arrangement: Arrangement, call: int, device: str) -> RunKernels:
    """Return the task of one call; barriers are audited in the first."""
    given = [each.array[call] if each.varies else each.array for each in arrangement.arguments]
    (output,) = arrangement.outputs
    room = np.zeros(output.shape, number_type(output.dtype))
    return RunKernels(
        module=question.candidate.capture.module,
        function=arrangement.function,
        arguments=tuple(pack_array(each) for each in (*given, room)),
        outputs=(len(given),),
        device=device,
        audit=call == 0,
    )


def _outputs(question: Question, answers: list[KernelsRun]) -> Outputs:
    """Return the outputs beside the right ones. Raises FrameError or ValueError."""
    actual = np.stack([unpack_array(each.outputs[0]) for each in answers])
    count, oracle = len(answers), question.oracle
    return Outputs(cast(FloatArray, actual), oracle.desired[:count], oracle.from_test_set[:count])


_REASONS: dict[str, Text] = {
    "lowering": say("gpu-not-lowered"),
    "extents": say("gpu-extents"),
    "operator": say("gpu-operator"),
    "scope": say("gpu-scope"),
    "barrier": say("gpu-barrier-scope"),
    "axis": say("gpu-axis"),
    "kernels": say("gpu-many-kernels"),
    "dtype": say("gpu-dtype"),
    "statement": say("gpu-statement"),
    "steps": say("gpu-steps"),
    "threads": say("gpu-threads-of-block"),
    "no_kernel": say("gpu-no-kernel"),
}
_HINTS: dict[str, Text] = {
    "lowering": say("gpu-mend-what-tvm-says"),
    "extents": say("gpu-one-extent"),
    "steps": say("gpu-fewer-threads"),
    "threads": say("gpu-smaller-block"),
    "no_kernel": say("gpu-bind-loops"),
    "barrier": say("gpu-shared-barrier"),
    "axis": say("gpu-known-axes"),
    "kernels": say("gpu-bind-outermost"),
}
_CODES: dict[str, CheckCode] = {
    "lowering": "not_built",
    "extents": "not_built",
    "threads": "unmet",
    "no_kernel": "unmet",
}


def explain_not_executed(answer: NotExecuted) -> Problem:
    """Say why a function was not executed."""
    reason = say(_REASONS[answer.reason], subject=foreign(answer.subject))
    hint = _HINTS.get(answer.reason, say("gpu-use-what-is-simulated"))
    return Problem(reason, hint, code=_CODES.get(answer.reason, "undecided"))
