"""What is asked of a runner that times the steps of a schedule, and what it measured."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grader.messages.frames import Array, Count, Message, Names
from grader.messages.timed_outputs import SLICE_LIMIT, ShapeResult

PREFIX_LIMIT = 15
"""Most beginnings of a schedule that are timed beside the function without a schedule."""


class TimeSteps(Message, frozen=True):
    """Time a function as it is after some of the steps of a schedule, in one measurement.

    `trace` is JSON as `Trace.as_json()` gives it, `base` the module that it starts from: both were
    read by the referee, and the whole trace was proven. Of its instructions the first `ends[0]`
    make one function, the first `ends[1]` the next, and so on; `function` of `base` itself is timed
    beside them, and so is a copy of it, compiled once more. `names`, `data`, `fixed` and `ring` are
    as in `TimeSchedule`. Functions are built until `build_seconds` of processor time are spent, and
    measured for `budget_seconds`.
    """

    base: bytes
    trace: bytes
    function: str
    ends: Annotated[tuple[Count, ...], msgspec.Meta(min_length=1, max_length=PREFIX_LIMIT)]
    names: Names
    data: Array
    fixed: Annotated[tuple[Array, ...], msgspec.Meta(max_length=16)]
    ring: int
    target: str
    cpus: tuple[int, ...]
    seed: int
    block_seconds: float
    build_seconds: float
    budget_seconds: float


PrefixFate = Literal["timed", "same", "skipped", "failed"]
"""What became of a beginning. "same": its program is that of the one before. "skipped": no time was
left to build it. "failed": it cannot be built, or has left its arrays."""


class StepSlice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some rounds in a row at one place of the stack: seconds of one call (float64), of shape
    (functions, rounds): of `base`, of its copy, and of what was timed of `ends`.
    """

    place: Annotated[int, msgspec.Meta(ge=0, le=3)]
    seconds: Array


class StepTimes(Message, frozen=True):
    """What a runner measured of the steps: a fate for each of `ends`, outputs of `base` and of each
    that was timed, and the slices.
    """

    fates: Annotated[tuple[PrefixFate, ...], msgspec.Meta(min_length=1, max_length=PREFIX_LIMIT)]
    outputs: Annotated[
        tuple[ShapeResult, ...], msgspec.Meta(min_length=1, max_length=PREFIX_LIMIT + 1)
    ]
    slices: Annotated[tuple[StepSlice, ...], msgspec.Meta(min_length=1, max_length=SLICE_LIMIT)]
