"""All that is asked of runners and of their like: schedules timed, mutants, trials, the rest."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grader.messages.evidence import Examine, Examined
from grader.messages.frames import Array, Message, Names
from grader.messages.machine_code import HotLoops
from grader.messages.runner import (
    FindStep,
    FoundStep,
    ReplayResult,
    ReplayTrace,
    RunModule,
    RunResult,
    TaskFailure,
    TraceModule,
    TraceResult,
)
from grader.messages.step_times import StepTimes, TimeSteps
from grader.messages.timed_outputs import SLICE_LIMIT, ShapeResult

# What is asked of a runner that times a schedule, and what it measured.


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


class BuildAhead(Message, frozen=True):
    """Build what a task to come will run. What comes of it that task says; the answer is `Built`,
    when it is over.

    The arrays of `task` have the shapes and dtypes of those to come, and zeros in them. It may be
    told while the notebook still runs, so nothing is called, and no input is in it. `TimeSteps` is
    told when that has ended, and has the arrays that it is asked for with.
    """

    task: RunModule | TimeSchedule | TimeSteps


class Built(Message, frozen=True):
    """What was to be built ahead is, or cannot be; that took so many seconds."""

    seconds: Annotated[float, msgspec.Meta(ge=0)]


class Slice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some rounds in a row, at one place of the stack (0 to 3) and of the arrays.

    For each shape the seconds of one call (float64), of shape (4, rounds): of the baseline, of the
    baseline compiled once more, of the submission and of the reference, in the order in which the
    rounds were taken. Within a round the order was drawn.
    """

    place: Annotated[int, msgspec.Meta(ge=0, le=3)]
    seconds: Annotated[tuple[Array, ...], msgspec.Meta(min_length=1, max_length=SHAPE_LIMIT)]


class TimingResult(Message, frozen=True):
    """What a runner measured.

    `variant` names the variant of the workload that the function computes ("conv2d", "conv2d_bias",
    ...). `target` is the TVM target that all functions were compiled for. `hot_loops` are those of
    the first shape, where the submission was slower than the reference.
    """

    variant: str
    target: str
    shapes: Annotated[tuple[ShapeResult, ...], msgspec.Meta(min_length=1, max_length=SHAPE_LIMIT)]
    slices: Annotated[tuple[Slice, ...], msgspec.Meta(min_length=1, max_length=SLICE_LIMIT)]
    hot_loops: HotLoops = HotLoops()


MutationKind = Literal[
    "drop_bias",
    "flip_kernel",
    "swap_layers",
    "off_by_one",
    "float16",
    "narrow",
    "return_zeros",
    "return_input",
]


class Mutation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change of a module, and where its values first depart from the right ones.

    `function` is the TensorIR function that was changed, `binding` the variable of `main` whose
    value is the first to be another one; empty where there is none, or where every one is.
    `about` says in a clause what was done.
    """

    kind: MutationKind
    function: str
    binding: str
    about: str


class MutateModule(Message, frozen=True):
    """Make mutants of a module, and run each beside the module itself.

    `run` says which module, on which inputs it is compared with its mutants, and how it is run. At
    most `limit` mutants of each kind are returned, those in different functions first.
    """

    run: RunModule
    limit: Annotated[int, msgspec.Meta(ge=1, le=16)] = 4


class MutatedModule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mutant as graph JSON.

    `difference` is the largest absolute difference of its outputs from the module's own; infinity
    where the outputs have another form, are not finite, or where running it failed.
    """

    mutation: Mutation
    module: bytes
    difference: float


class Unmutated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of which there is no mutant, and why, in a clause without a full stop."""

    kind: MutationKind
    reason: str


class MutationResult(Message, frozen=True):
    """The mutants, and the kinds that do not apply to this module."""

    mutants: Annotated[tuple[MutatedModule, ...], msgspec.Meta(max_length=256)] = ()
    inapplicable: Annotated[tuple[Unmutated, ...], msgspec.Meta(max_length=16)] = ()


ToRunner = (
    RunModule
    | TraceModule
    | TimeSchedule
    | TimeSteps
    | MeasureLimits
    | ReplayTrace
    | FindStep
    | MutateModule
    | Examine
)
FromReferee = ToRunner | BuildAhead
"""What a runner may be told."""

FromRunner = (
    RunResult
    | TraceResult
    | TimingResult
    | StepTimes
    | MachineLimits
    | ReplayResult
    | FoundStep
    | MutationResult
    | Examined
    | TaskFailure
)
