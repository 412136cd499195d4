"""What a report says of a schedule that was measured."""

from __future__ import annotations

from typing import Literal

from grader.language import Text
from grader.report.value import Frozen


class ShapeTiming(Frozen, frozen=True):
    """The schedule at one batch size. Times are in microseconds per call: medians, and over the
    places of the stack their geometric mean.

    `ratios` are the unscheduled function's times over the submission's, one for each round that
    counts, in the order of measuring. `floor_us` is the least time that the machine could take:
    `flops` operations at its peak rate, or `bytes` at its bandwidth. `library_us` is PyTorch's
    function, None where that was not measured.
    """

    batch: int
    baseline_us: float
    submission_us: float
    reference_us: float
    speedup: float
    reference_speedup: float
    ratios: tuple[float, ...]
    flops: int
    bytes: int
    floor_us: float
    library_us: float | None = None


class SelfTest(Frozen, frozen=True):
    """The unscheduled function against itself: `ratio` should be 1, and `low` to `high` hold it."""

    ratio: float
    low: float
    high: float
    pairs: int


class Timing(Frozen, frozen=True):
    """The measured schedule.

    `speedup` is the unscheduled function's time over the submission's: the median of the rounds'
    ratios, the geometric mean over `shapes`, with its 95 % bootstrap interval. `reference_speedup`
    is the same for the assignment's reference schedule. `share` is the logarithm of the one over
    that of the other, with its own interval: 0 is the unscheduled time, 1 the reference's; it
    decides about points. `pairs` are the rounds that count, `rejected` those that were disturbed.
    `clock` is "processor" where a single thread's processor time was taken. `peak_gflops` and
    `bandwidth_gbs` are what `threads` threads on `cpus` can reach (10**9 operations, bytes a
    second).
    """

    function: str
    workload: str
    target: str
    threads: int
    cpus: tuple[int, ...]
    clock: Literal["wall", "processor"]
    shapes: tuple[ShapeTiming, ...]
    speedup: float
    ci_low: float
    ci_high: float
    reference_speedup: float
    share: float
    share_low: float
    share_high: float
    pairs: int
    rejected: int
    self_test: SelfTest
    peak_gflops: float
    bandwidth_gbs: float
    notes: tuple[Text, ...] = ()
