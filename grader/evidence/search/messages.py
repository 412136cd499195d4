"""What a box is asked of a space of schedules, and what it answers."""

from typing import Annotated

import msgspec

from grader.messages.frames import Count, Message, Seconds
from grader.messages.runner import RunModule

TRIAL_LIMIT = 64
"""Most schedules that are drawn from one space."""


class DrawTrials(Message, frozen=True):
    """Draw `trials` schedules from a space: `trace`, less what it drew, on the module `base`.

    What a trace draws is drawn by TVM, by generators whose seeds are drawn from `seed`. Then come
    MetaSchedule's own postprocessors for processors. Nothing is built or run: the program is
    rewritten, no more.
    """

    trace: bytes
    base: bytes
    seed: int
    trials: Annotated[int, msgspec.Meta(ge=1, le=TRIAL_LIMIT)]


class DrawnTrial(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A schedule that was drawn: its trace with what it drew, and its module as graph JSON."""

    trace: bytes
    module: bytes


class DrawnTrials(Message, frozen=True):
    """The schedules whose modules differ, each once, in the order in which they were drawn.

    `failed` counts those in which a step could not be done; `message` says what TVM said of the
    first of them.
    """

    trials: Annotated[tuple[DrawnTrial, ...], msgspec.Meta(max_length=TRIAL_LIMIT)]
    failed: Count = 0
    message: str = ""


class RankTrials(Message, frozen=True):
    """Say which of some modules is fastest, roughly: they are a submission's own, all of them.

    `run` says how each is run, without externs; the module in it is empty. Of its calls the first
    is made.
    """

    run: RunModule
    modules: Annotated[tuple[bytes, ...], msgspec.Meta(min_length=1, max_length=TRIAL_LIMIT)]


class TrialTimes(Message, frozen=True):
    """Seconds of one call of each module; None of one that could not be built or run in time.

    What has run is a student's code, so this is a choice among what the student handed in: it is
    evidence of nothing else.
    """

    seconds: Annotated[tuple[Seconds | None, ...], msgspec.Meta(max_length=TRIAL_LIMIT)]


Task = DrawTrials | RankTrials
Answer = DrawnTrials | TrialTimes
