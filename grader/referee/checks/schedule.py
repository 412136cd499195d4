"""Checks of the schedule: which steps were done, and what they brought."""

from __future__ import annotations

from functools import reduce
from operator import and_

from grader.assignment import Points, Positive, PositiveInt, Table
from grader.ir.facts import FunctionFacts
from grader.referee.convolution import NO_CONVOLUTION, find_convolution, find_convolutions
from grader.referee.estimate import speed_fraction
from grader.referee.evidence import Case, Problem
from grader.referee.outcome import Outcome, failed, not_graded, partial, passed
from grader.referee.registry import check
from grader.referee.steps import Steps, find_steps
from grader.report import Timing


class StepOptions(Table, frozen=True):
    """`weight` is the convolution's shape; the others are each step's points."""

    weight: tuple[int, ...]
    inline: Points
    reorganize: Points
    decompose: Points
    annotate: Points


_NAMES = {
    "inline": ("the padding is inlined", "compute_inline the block that only copies the input"),
    "reorganize": ("the loops are reorganised", "split, reorder or fuse the loops"),
    "decompose": ("the reduction is decomposed", "call decompose_reduction"),
    "annotate": (
        "a loop is vectorized, parallel or unrolled",
        "vectorize an inner loop and run an outer one in parallel",
    ),
}


@check("schedule_steps", options=StepOptions)
def schedule_steps(case: Case, options: StepOptions) -> Outcome:
    """The steps of the schedule are done on the convolution."""
    functions = find_convolutions(case.candidate.facts, options.weight)
    if not functions:
        return not_graded(NO_CONVOLUTION)
    base = _base(case, options)
    found = (find_steps(function, base, options.weight) for function in functions)
    steps = reduce(and_, found)
    points = {name: getattr(options, name) for name in _NAMES}
    earned = sum(value for name, value in points.items() if getattr(steps, name))
    return partial(earned / sum(points.values()), _spell(steps), _next_step(steps))


def _base(case: Case, options: StepOptions) -> FunctionFacts | None:
    base = case.candidate.base
    return find_convolution(base, options.weight) if base is not None else None


def _spell(steps: Steps) -> str:
    done = [text for name, (text, _) in _NAMES.items() if getattr(steps, name)]
    missing = [text for name, (text, _) in _NAMES.items() if not getattr(steps, name)]
    sentences = []
    if done:
        sentences.append(f"Done: {', '.join(done)}.")
    if missing:
        sentences.append(f"Not seen: {', '.join(missing)}.")
    return " ".join(sentences)


def _next_step(steps: Steps) -> str:
    hints = [hint for name, (_, hint) in _NAMES.items() if not getattr(steps, name)]
    return f"{hints[0][0].upper()}{hints[0][1:]}." if hints else ""


class SpeedOptions(Table, frozen=True):
    """How speed becomes points.

    The share of the points is linear in the logarithm of the speed-up, 0 at the unscheduled time
    and 1 at `full_at` of the reference schedule's log speed-up, and rounded to `grid` points.
    `threads` is how many a schedule may use; rounds go on until `maximum_rounds` or
    `budget_seconds`. A schedule more than `held_above` times as fast as the reference gets no
    points by itself: it is for the instructor to look at.
    """

    weight: tuple[int, ...]
    full_at: Positive = 0.85
    held_above: Positive = 4.0
    grid: Positive = 0.5
    threads: PositiveInt = 4
    minimum_rounds: PositiveInt = 15
    maximum_rounds: PositiveInt = 60
    block_seconds: Positive = 0.005
    budget_seconds: Positive = 10.0


@check("speed", options=SpeedOptions, needs=("timing",))
def speed(case: Case, options: SpeedOptions) -> Outcome:
    """The convolution is faster than the unscheduled one."""
    timed = case.evidence.timed
    if isinstance(timed, Problem) or timed is None:
        return not_graded(timed or Problem("The schedule was not timed."))
    if not timed.outputs_right:
        return failed(
            "The convolution gave wrong values while it was timed.",
            "A schedule must not change the result: look for loops that overlap in parallel.",
        )
    timing = timed.timing
    if timing.ci_low > options.held_above * timing.reference_speedup:
        return _hold(timing, options.held_above)
    fraction = speed_fraction(timing.speedup, timing.reference_speedup, options.full_at)
    return _judge_speed(fraction, timing)


def _hold(timing: Timing, held_above: float) -> Outcome:
    """Give no points for what cannot be believed, as a schedule only reorders the same work."""
    return not_graded(
        Problem(
            f"{_measured(timing)} More than {held_above:g} times the reference's speed is beyond"
            " what a schedule should reach, so this result is held for your instructor's look.",
            "You need not do anything if the function computes the whole convolution at each call.",
        )
    )


def _measured(timing: Timing) -> str:
    return (
        f"The convolution is {timing.speedup:.2f} times as fast as the unscheduled one"
        f" [{timing.ci_low:.2f}, {timing.ci_high:.2f}]; the reference schedule is"
        f" {timing.reference_speedup:.2f} times as fast."
    )


def _judge_speed(fraction: float, timing: Timing) -> Outcome:
    measured = _measured(timing)
    if timing.ci_high < 1.0:
        return failed(
            f"{measured} Yours is slower than doing nothing.",
            "Many tiny parallel tasks and vectors that are stored to scattered places cost more"
            " than they bring: run few large pieces in parallel, vectorize along the last axis.",
        )
    if fraction >= 1.0:
        return passed(measured)
    return partial(
        fraction,
        measured,
        "Keep a small tile of outputs in registers, vectorize along the last axis, unroll the"
        " 3 by 3 kernel, and run the outer loops in parallel.",
    )
