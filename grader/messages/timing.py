"""What is asked of a runner that times a schedule, and what it measured."""

from __future__ import annotations

from typing import Annotated

import msgspec

from grader.messages.arrays import Array, Count, Seconds
from grader.messages.frames import Message


class TimeSchedule(Message, frozen=True):
    """Time one PrimFunc of `module` against the assignment's own baseline and reference.

    `workload` is the text of the assignment's `workload.py`; `function` the name of the PrimFunc;
    `data` has a leading axis over inputs, of which each round takes the next `ring` in turn;
    `weight` and `bias` are the same in all, `bias` is one-dimensional and reshaped to what the
    function takes. All three are compiled for `target` ("host" for the CPU at hand) and measured on
    `cpus`, with as many threads. The reference is the one made for `threads` threads, which are at
    least as many. A block lasts about `block_seconds` of the baseline, by a number of calls that is
    drawn for each round; rounds go on until `maximum_rounds` or `budget_seconds`, but at least
    `minimum_rounds`.
    """

    workload: str
    module: bytes
    function: str
    data: Array
    weight: Array
    bias: Array
    ring: int
    target: str
    cpus: tuple[int, ...]
    threads: int
    seed: int
    minimum_rounds: int
    maximum_rounds: int
    block_seconds: float
    budget_seconds: float


class TimingRound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds per call of one interleaved round, and whether it was disturbed.

    `switches` counts involuntary context switches of the process during the three blocks; `ring` is
    the place in `data` of the last input of the submission's block, whose output is kept.
    """

    ring: Count
    baseline: Seconds
    submission: Seconds
    reference: Seconds
    switches: Count


class TimingResult(Message, frozen=True):
    """What a runner measured. `outputs` are the submission's timed outputs, one a round.

    `fused` names the variant of the workload that the function computes ("conv2d", "conv2d_bias",
    ...). `target` is the TVM target that all three were compiled for; `calls` is the mean
    number of calls in a timed block, chosen from the baseline alone.
    """

    fused: str
    target: str
    calls: int
    rounds: Annotated[tuple[TimingRound, ...], msgspec.Meta(max_length=100_000)]
    outputs: Array
