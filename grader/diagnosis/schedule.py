"""Which step of a schedule changes the result, in words.

The steps are done one after the other in a runner (`grader/inside/runner/find_step.py`); here it
is looked at whether the module without any of them is right, and said what came of it.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np

from grader.diagnosis.report import Diagnosed, choose_rows
from grader.diagnosis.tracing import TARGET
from grader.diagnosis.values import TOLERANCE
from grader.errors import IRError, ProtocolError
from grader.evidence.case import Candidate, Outputs, Problem
from grader.evidence.gather import arrange, run_task, runner_kind
from grader.evidence.runners import RunnerPool
from grader.ir.names import shown
from grader.ir.trace import Trace, read_trace
from grader.language import NOTHING, Text, join, say
from grader.messages import Capture, FindStep, FoundStep, FrameError, unpack_array

Rows = tuple[int, ...]

SCHEDULE_STEP = "schedule_step"
"""What such a mistake is called in a report."""

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")

_OPERANDS = 4
"""Blocks and loops of a step that are named; a reorder may have many."""


def find_step(diagnosed: Diagnosed, outputs: Outputs, runners: RunnerPool) -> Problem | None:
    """Return which step of a candidate's schedule changes the result, and what to do about it.

    None where no step does, or where that cannot be told: where there is no schedule, where it was
    not taken from a module that is accepted, or where that module is itself not right. `outputs`
    are the candidate's.
    """
    found = _task(diagnosed, outputs)
    if found is None:
        return None
    task, rows, trace = found
    try:
        answer = runners.request("pure", task)
        if isinstance(answer, FoundStep) and _is_of(trace, answer):
            return _told(answer) if _is_base_right(answer, rows, diagnosed) else None
    except (ProtocolError, FrameError):
        return None
    return None


def _is_of(trace: Trace, answer: FoundStep) -> bool:
    """Say whether an answer names a step that there is: what the referee knows is not believed."""
    named = trace.kinds[answer.number - 1 : answer.number] if answer.number else ()
    return answer.steps == trace.steps and named == (answer.instruction,)


def _task(diagnosed: Diagnosed, outputs: Outputs) -> tuple[FindStep, Rows, Trace] | None:
    """Return the task of one call on samples that are wrong, which these are, and the trace."""
    candidate, part = diagnosed.candidate, diagnosed.part
    capture, trace = candidate.capture, _trace(candidate.capture)
    if trace is None or capture.base is None or candidate.base is None:
        return None
    unscheduled = Candidate(msgspec.structs.replace(capture, module=capture.base), candidate.base)
    arrangement = arrange(unscheduled, part, diagnosed.oracle)
    if runner_kind(part) != "pure" or isinstance(arrangement, Problem):
        return None
    rows = choose_rows(outputs, diagnosed)
    if not rows or max(rows) >= arrangement.samples:
        return None
    arrangement, chosen = arrangement.chosen(rows)
    run = msgspec.structs.replace(run_task(unscheduled, arrangement), target=TARGET)
    return FindStep(run, trace.document, capture.module, TOLERANCE), chosen, trace


def _trace(capture: Capture) -> Trace | None:
    if capture.trace is None:
        return None
    try:
        return read_trace(capture.trace)
    except IRError:
        return None


def _is_base_right(answer: FoundStep, rows: Rows, diagnosed: Diagnosed) -> bool:
    """Say whether the unscheduled module gave the oracle's outputs."""
    found = np.asarray(unpack_array(answer.outputs), np.float64).reshape(-1)
    wanted = np.asarray(diagnosed.oracle.desired[list(rows)], np.float64).reshape(-1)
    comparison = diagnosed.oracle.options
    if found.size < wanted.size:  # a batch may have been filled up
        return False
    return bool(np.isclose(found[: wanted.size], wanted, comparison.rtol, comparison.atol).all())


def _told(answer: FoundStep) -> Problem:
    step = _spelled(answer)
    reason = say(
        "The schedule changes the result in step {number} of {steps}, {step}: up to there the"
        " outputs are those of the unscheduled module.",
        number=answer.number,
        steps=answer.steps,
        step=step,
    )
    return Problem(join(reason, _why(answer)), _advice(answer), code="values")


def _spelled(answer: FoundStep) -> str:
    """Return the call of a step, between backquotes: `reverse_compute_at(C, j)`."""
    operands = [*answer.blocks, *answer.loops]
    names = operands[:_OPERANDS] + ["…"] * (len(operands) > _OPERANDS)
    return shown(f"{_WORD.sub('_', answer.instruction).lower()}({', '.join(names)})")


def _why(answer: FoundStep) -> Text:
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
    return NOTHING


def _advice(answer: FoundStep) -> Text:
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
