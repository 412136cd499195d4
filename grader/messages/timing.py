"""Requests to time schedules, their steps and PyTorch's function in a sandbox, and the answers."""

from typing import Annotated, Literal

import msgspec

from grader.messages.frames import Array, Count, Message, Names, Seconds

SHAPE_LIMIT = 8
"""Most shapes that one schedule is timed at."""

ARRAY_LIMIT = 16
"""Most arrays that a timed function may take."""


class TimingRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long is measured.

    A block lasts `block_seconds` of the baseline at least. Slices of rounds are taken until the
    interval of the submission's share of the reference's log speed-up is narrower than
    `resolution`, or `budget_seconds` of processor time are spent. Between the two shares of `full`,
    which are all worth the same, nothing depends on it, nor below 0.
    """

    block_seconds: float
    budget_seconds: float
    resolution: float
    full: tuple[float, float]


class TimedFunction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The PrimFunc `function` of `module` is the submission's schedule at one shape.

    An empty module stands for the baseline itself, whose ratio to the baseline is known.
    `data` has a leading axis over inputs, of which each slice takes the next `ring` in turn.
    The submission's function is run once with guards before it is measured.
    """

    module: bytes
    function: str
    data: Array


class MeasureLimits(Message, frozen=True):
    """Measure what `cpus` can do at most, with a thread on each, with code for `target`. Only a
    runner that never gets a submission is asked.
    """

    target: str
    cpus: Annotated[tuple[int, ...], msgspec.Meta(min_length=1)]


class MachineLimits(Message, frozen=True):
    """What processors can do at most: `flops` floating-point operations per second, a multiply-add
    counts two, and `bytes` per second to and from memory of the size that the workload uses.
    """

    flops: Annotated[float, msgspec.Meta(ge=1e8, le=1e18)]
    bytes: Annotated[float, msgspec.Meta(ge=1e8, le=1e18)]


class TimeSchedule(Message, frozen=True):
    """Time a schedule, at one shape or several, against the course's baseline and reference.

    `workload` is the text of the assignment's `workload.py`. `names` are those of the arrays that
    functions take: first that of each shape's `data`, then those of `fixed`, which are the same for
    all inputs. An array of one axis is reshaped to what the function takes. All functions are
    compiled for `target` ("host" for the CPU at hand) and measured on `cpus`, with as many threads.
    """

    workload: str
    shapes: Annotated[tuple[TimedFunction, ...], msgspec.Meta(min_length=1, max_length=SHAPE_LIMIT)]
    names: Names
    fixed: Annotated[tuple[Array, ...], msgspec.Meta(max_length=ARRAY_LIMIT)]
    ring: int
    target: str
    cpus: tuple[int, ...]
    seed: int
    rules: TimingRules


SLICE_LIMIT = 10_000
"""Most slices of one measurement."""


class Slots(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One item of the output of each of some calls, all three of one length.

    `inputs` (int32) says which of the task's inputs a call was given, `places` (int32) which item
    of its output, counted through, and `values` what was there after the call. Something
    else had been put there before.
    """

    inputs: Array
    places: Array
    values: Array


class ShapeResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Facts that all slices of a shape share, and outputs of the submission's timed calls.

    `outputs` has shape (kept, *output shape); `inputs` says for each of them which of the task's
    inputs it was computed from. `slots` are those of calls of all slices.
    """

    outputs: Array
    inputs: Annotated[tuple[Count, ...], msgspec.Meta(max_length=SLICE_LIMIT)]
    slots: Slots


MOST_COUNTED = 10**6
"""Most of anything that is counted in a round of a loop: its text has fewer lines."""

_Counted = Annotated[int, msgspec.Meta(ge=0, le=MOST_COUNTED)]
_Some = Annotated[int, msgspec.Meta(ge=1, le=MOST_COUNTED)]


class HotLoop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one round of a function's hot loop does.

    `multiply_adds` are instructions, one for a product and its sum; `products` are the numbers that
    they multiply: 0 where only the processor knows how long its vectors are, as for SVE.
    `vector_bits` is the widest of them, that of one number where they have no vectors.

    `loads` and `stores` are numbers and vectors that are read from memory and written to it, apart
    from those at fixed places of the stack: `spills` are vectors that are put there, for want of
    registers or as items of a small array, and `reloads` vectors that are fetched from there.
    """

    multiply_adds: _Some
    products: _Counted
    vector_bits: Annotated[int, msgspec.Meta(ge=0, le=4096)]
    loads: _Counted
    stores: _Counted
    spills: _Counted
    reloads: _Counted


class HotLoops(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The hot loops of what was timed at the first shape: None where none was found."""

    unscheduled: HotLoop | None = None
    submission: HotLoop | None = None
    reference: HotLoop | None = None


class Slice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some rounds in a row, at one place of the stack (0 to 3) and of the arrays.

    For each shape the seconds of one call (float64), of shape (4, rounds): of the baseline, of the
    baseline compiled once more, of the submission and of the reference, in the order in which the
    rounds were taken. Within a round the order was drawn. `units` (float64) are those of the core
    that were free before and after each block, of the same shapes.
    """

    place: Annotated[int, msgspec.Meta(ge=0, le=3)]
    seconds: Annotated[tuple[Array, ...], msgspec.Meta(min_length=1, max_length=SHAPE_LIMIT)]
    units: Annotated[tuple[Array, ...], msgspec.Meta(min_length=1, max_length=SHAPE_LIMIT)]


Clock = Literal["wall", "processor"]
"""The clock that was read: the processor's shows the time of the thread alone."""


class TimingResult(Message, frozen=True):
    """What a runner measured.

    `variant` names the variant of the workload that the function computes ("conv2d", "conv2d_bias",
    ...). `target` is the TVM target that all functions were compiled for. `hot_loops` are those of
    the first shape, where the submission was slower than the reference. `clock` is "processor"
    where a shape was timed by the thread's own time.
    """

    variant: str
    target: str
    shapes: Annotated[tuple[ShapeResult, ...], msgspec.Meta(min_length=1, max_length=SHAPE_LIMIT)]
    slices: Annotated[tuple[Slice, ...], msgspec.Meta(min_length=1, max_length=SLICE_LIMIT)]
    hot_loops: HotLoops = HotLoops()
    clock: Clock = "wall"


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


class StepTimes(Message, frozen=True):
    """What a runner measured of the steps: a fate for each of `ends`, outputs of `base` and of each
    that was timed, and the slices.

    A slice is of one shape: its functions are `base`, its copy, and what was timed of `ends`.
    """

    fates: Annotated[tuple[PrefixFate, ...], msgspec.Meta(min_length=1, max_length=PREFIX_LIMIT)]
    outputs: Annotated[
        tuple[ShapeResult, ...], msgspec.Meta(min_length=1, max_length=PREFIX_LIMIT + 1)
    ]
    slices: Annotated[tuple[Slice, ...], msgspec.Meta(min_length=1, max_length=SLICE_LIMIT)]


class TimeLibrary(Message, frozen=True):
    """Time the function that PyTorch has for what an assignment times.

    `library` is the text of the assignment's `library.py`; its `library(variant)` returns what is
    called with tensors of the `arrays`. It runs on `cpus`, with a thread for each.
    Blocks last about `block_seconds`, all of them together `budget_seconds` of the processor.
    """

    library: str
    variant: str
    arrays: Annotated[tuple[Array, ...], msgspec.Meta(min_length=1, max_length=ARRAY_LIMIT)]
    cpus: Annotated[tuple[int, ...], msgspec.Meta(min_length=1)]
    block_seconds: float
    budget_seconds: float


class LibraryTiming(Message, frozen=True):
    """Seconds of a call in the quickest of `blocks` blocks.

    `output` is what the last call returned.
    """

    seconds: Seconds
    blocks: Annotated[int, msgspec.Meta(ge=1)]
    output: Array
