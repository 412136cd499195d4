"""Advice beside what was measured: nothing is advised that is known to cost time."""

from collections.abc import Iterable

from grader.language import NOTHING, Text, say
from grader.report import StepSpeed, StepSpeeds


def costly(speeds: StepSpeeds | None) -> tuple[StepSpeed, ...]:
    """Return the steps that made a function slower, the worst first."""
    steps = () if speeds is None else speeds.steps
    return tuple(
        sorted((each for each in steps if each.change == "slower"), key=lambda each: each.factor)
    )


def is_costly(speeds: StepSpeeds | None, kinds: Iterable[str]) -> bool:
    """Say whether a step of one of some kinds was measured as a loss."""
    return any({*kinds} & {*each.kinds} for each in costly(speeds))


def is_gain(speeds: StepSpeeds | None, kinds: Iterable[str]) -> bool:
    """Say whether steps of these kinds were measured, and none of them as a loss."""
    steps = () if speeds is None else speeds.steps
    timed = [each for each in steps if {*kinds} & {*each.kinds}]
    return bool(timed) and all(each.change in ("faster", "equal") for each in timed)


def look_at(speeds: StepSpeeds | None) -> Text:
    """Return what to try first: the step that cost most. NOTHING where none did."""
    if not (found := costly(speeds)):
        return NOTHING
    worst = found[0]
    name = ", ".join(dict.fromkeys(worst.kinds))
    if not worst.lines:
        return say("look-at-first-function-times-as-fast", step=name, factor=worst.factor)
    return say(
        "look-at-in-cell-line-first-function",
        step=name,
        cell=worst.lines[0].cell,
        line=worst.lines[0].line,
        factor=worst.factor,
    )
