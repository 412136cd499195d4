"""The check of speed: what a schedule brought, measured beside the course's own."""

from __future__ import annotations

from grader.checks.registry import Outcome, check, failed, not_graded
from grader.evidence.case import Case, Problem
from grader.evidence.steps import NO_STEPS, find_steps
from grader.evidence.subject import Subject
from grader.language import Text, in_clauses, join, say
from grader.measurement.points import SpeedOptions, speed_fraction
from grader.report import Timing, Verdict

ALLOWANCE = 1.1
"""A result may be so many times faster than the machine's measured limit: micro-benchmarks and the
processor's clock rate are not exact."""


@check("speed", options=SpeedOptions, needs=("timing", "replay"))
def speed(case: Case, options: SpeedOptions) -> Outcome:
    """The scheduled function is faster than the unscheduled one."""
    timed = case.evidence.timed
    if isinstance(timed, Problem) or timed is None:
        return not_graded(timed or Problem(say("The schedule was not timed."), code="not_run"))
    if not timed.outputs_right:
        return failed(
            say("The function gave wrong values while it was timed."),
            say("A schedule must not change the result: look for loops that overlap in parallel."),
            code="values",
        )
    timing = timed.timing
    if timing.ci_high < 1.0:
        return _slower(case, timing, options)
    return _hold(timing, options) or _judge(timing, options)


def _slower(case: Case, timing: Timing, options: SpeedOptions) -> Outcome:
    """Say why a schedule costs more than it brings, as far as its steps show it."""
    function = Subject(options.weight, case.comparison).find(case.candidate.facts)
    steps = find_steps(function, None, options.weight) if function is not None else NO_STEPS
    causes = []
    if "vectorize" in steps and "contiguous" not in steps:
        causes.append(say("its vectors are stored to scattered places, number by number"))
    if "parallel" in steps and timing.threads > 1:  # with one thread they are timed as plain loops
        causes.append(say("starting its parallel tasks takes longer than doing them"))
    if not causes:
        causes.append(
            say("the compiler makes vectors of the plain loops by itself, and not of these")
        )
    return failed(
        join(
            _measured(timing),
            say(
                "Yours is slower than doing nothing. What is likely: {causes}.",
                causes=in_clauses(causes),
            ),
        ),
        say(
            "Take steps back until it is no longer slower: the unscheduled function, measured"
            " beside yours, takes {speedup:.2f} of its time.",
            speedup=timing.speedup,
        ),
        code="slower",
    )


def _hold(timing: Timing, options: SpeedOptions) -> Outcome | None:
    """Give no points for what cannot be believed, as a schedule only reorders the same work."""
    beyond = None
    if any(ALLOWANCE * shape.submission_us < shape.floor_us for shape in timing.shapes):
        beyond = say(
            "That is faster than this machine can multiply and add ({peak:,.0f} GFLOP/s) or move"
            " the arrays ({bandwidth:,.0f} GB/s), so this result is held for your instructor's"
            " look.",
            peak=timing.peak_gflops,
            bandwidth=timing.bandwidth_gbs,
        )
    elif timing.ci_low > options.held_above * timing.reference_speedup:
        beyond = say(
            "More than {most:g} times the reference's speed is beyond what a schedule should reach,"
            " so this result is held for your instructor's look.",
            most=options.held_above,
        )
    if beyond is None:
        return None
    return not_graded(
        Problem(
            join(_measured(timing), beyond),
            say("You need not do anything if the function does all of its work at each call."),
            code="held",
        )
    )


def _measured(timing: Timing) -> Text:
    return say(
        "The function is {speedup:.2f} times as fast as the unscheduled one [{low:.2f},"
        " {high:.2f}]; the reference schedule is {reference:.2f} times as fast.",
        speedup=timing.speedup,
        low=timing.ci_low,
        high=timing.ci_high,
        reference=timing.reference_speedup,
    )


def _judge(timing: Timing, options: SpeedOptions) -> Outcome:
    measured = _measured(timing)
    fraction, low, high = (
        speed_fraction(share, timing.reference_speedup, options)
        for share in (timing.share, timing.share_low, timing.share_high)
    )
    if fraction >= 1.0:
        return Outcome("passed", fraction, measured, interval=high - low, code="passed")
    # Not "do this": unrolling a tile that spills its sums, or vectors of 13 numbers, cost time.
    hint = say(
        "The reference schedule, measured beside yours, is faster: it keeps a small tile of outputs"
        " in registers, vectorizes along the last axis, and unrolls the short loops of a tile."
        " Change one thing at a time: a single one of these can cost more than it brings."
    )
    goal = timing.reference_speedup ** min(1.0, options.full_at)
    reason = join(measured, say("All points are earned from {goal:.2f} times on.", goal=goal))
    verdict: Verdict = "partial" if fraction > 0 else "failed"
    width = high - low
    return Outcome(verdict, fraction, reason, hint, interval=width, code="incomplete")
