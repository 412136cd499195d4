"""The check of speed: what a schedule brought, measured beside the course's own."""

from __future__ import annotations

from grader.assignment import Positive, PositiveInt, Table
from grader.referee.estimate import speed_fraction
from grader.referee.evidence import Case, Problem
from grader.referee.outcome import Outcome, failed, not_graded, partial, passed
from grader.referee.registry import check
from grader.report import Timing


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
