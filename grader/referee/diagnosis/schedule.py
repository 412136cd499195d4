"""Which step of a schedule changes the result, in words.

The steps are done one after the other in a runner (`grader/runner/find_step.py`); here it is looked
at whether the module without any of them is right, and said what came of it.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np

from grader.errors import IRError, ProtocolError
from grader.ir.names import shown
from grader.ir.trace import read_trace
from grader.language import join, say
from grader.messages import FindStep, FoundStep, FrameError, unpack_array
from grader.referee.diagnosis.report import Diagnosed
from grader.referee.diagnosis.values import TOLERANCE, is_equal, known
from grader.referee.evidence import Problem
from grader.referee.gather import arrange, run_task, runner_kind
from grader.referee.runners import RunnerPool
from grader.referee.tracing import TARGET

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def find_step(diagnosed: Diagnosed, runners: RunnerPool) -> Problem | None:
    """Return which step of a candidate's schedule changes the result, and what to do about it.

    None where no step does, or where that cannot be told: where there is no schedule, where it was
    not taken from a module that is accepted, or where that module is itself not right.
    """
    task = _task(diagnosed)
    if task is None:
        return None
    try:
        answer = runners.request("pure", task)
        if isinstance(answer, FoundStep) and answer.number and _is_base_right(answer, diagnosed):
            return _told(answer)
    except (ProtocolError, FrameError):
        return None
    return None


def _task(diagnosed: Diagnosed) -> FindStep | None:
    candidate, part = diagnosed.candidate, diagnosed.part
    capture = candidate.capture
    if capture.trace is None or capture.base is None or candidate.base is None:
        return None
    if runner_kind(part) != "pure":
        return None
    base = msgspec.structs.replace(capture, module=capture.base)
    unscheduled = type(candidate)(base, candidate.base)
    arrangement = arrange(unscheduled, part, diagnosed.oracle)
    if isinstance(arrangement, Problem):
        return None
    try:
        trace = read_trace(capture.trace)
    except IRError:
        return None
    arrangement, _ = arrangement.chosen([0])
    run = msgspec.structs.replace(run_task(unscheduled, arrangement), target=TARGET)
    return FindStep(run, trace.document, TOLERANCE)


def _is_base_right(answer: FoundStep, diagnosed: Diagnosed) -> bool:
    """Say whether the unscheduled module gave the oracle's outputs for the first sample."""
    values = np.asarray(unpack_array(answer.outputs), np.float64)
    wanted = np.asarray(diagnosed.oracle.desired[:1], np.float64).reshape(-1)
    comparison = diagnosed.oracle.options
    found = values.reshape(-1)[: wanted.size]
    if found.size != wanted.size:
        return False
    close = np.isclose(found, wanted, rtol=comparison.rtol, atol=comparison.atol)
    return bool(close.all()) or is_equal(found, known(wanted))


def _told(answer: FoundStep) -> Problem:
    step = _spelled(answer)
    reason = say(
        "The schedule changes the result in step {number} of {steps}, `{step}`: up to there the"
        " outputs are those of the unscheduled module.",
        number=answer.number,
        steps=answer.steps,
        step=step,
    )
    return Problem(join(reason, _why(answer)), _advice(answer))


def _spelled(answer: FoundStep) -> str:
    """Return the call of a step: reverse_compute_at(C, j)."""
    name = _WORD.sub("_", answer.instruction).lower()
    return f"{shown(name)}({', '.join(map(shown, (*answer.blocks, *answer.loops)))})"


def _why(answer: FoundStep) -> str:
    facts = {
        "reader": shown(answer.reader),
        "writer": shown(answer.writer),
        "loop": shown(answer.within_loop),
    }
    if answer.within == "sum":
        return say(
            "It put the block {reader} into the loop {loop}, in which the block {writer} is still"
            " summing: {reader} takes sums that are not complete.",
            **facts,
        )
    if answer.within == "lanes":
        return say(
            "The blocks {writer} and {reader} now stand in one vectorized loop {loop}, where what"
            " the one hands the other has room for a single item.",
            **facts,
        )
    return ""


def _advice(answer: FoundStep) -> str:
    """Return what was tried and gives the right outputs; a place to look where nothing did."""
    if answer.other_loop:
        return say(
            "Give it the loop {loop}: with that, and all other steps as they are, the outputs are"
            " right.",
            loop=shown(answer.other_loop),
        )
    if answer.may_go:
        return say("Leave this step out: with all other steps as they are, the outputs are right.")
    return say(
        "Look at the function before and after this step with sch.show(), and compare the outputs."
    )
