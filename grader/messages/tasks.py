"""All that is asked of runners and of their like: mutants, PyTorch's time, and the rest."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grader.messages.frames import Array, Count, Message, Seconds
from grader.messages.runner import (
    CompareTarget,
    FindStep,
    FoundStep,
    ReplayResult,
    ReplayTrace,
    RunModule,
    RunResult,
    TargetResult,
    TaskFailure,
    TraceModule,
    TraceResult,
)
from grader.messages.timing import ARRAY_LIMIT, TimeSchedule, TimingResult

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
    RunModule | TraceModule | TimeSchedule | ReplayTrace | FindStep | CompareTarget | MutateModule
)
FromRunner = (
    RunResult
    | TraceResult
    | TimingResult
    | ReplayResult
    | FoundStep
    | TargetResult
    | MutationResult
    | TaskFailure
)


class TimeLibrary(Message, frozen=True):
    """Time the function that PyTorch has for what an assignment times.

    `library` is the text of the assignment's `library.py`; its `library(variant)` returns what is
    called with tensors of the `arrays`. It runs on `cpus` with `threads` threads.
    Blocks last about `block_seconds`; they are measured until `blocks` of them were undisturbed or
    `budget_seconds` are spent.
    """

    library: str
    variant: str
    arrays: Annotated[tuple[Array, ...], msgspec.Meta(min_length=1, max_length=ARRAY_LIMIT)]
    cpus: tuple[int, ...]
    threads: int
    block_seconds: float
    blocks: int
    budget_seconds: float


class LibraryTiming(Message, frozen=True):
    """Median seconds of a call over the undisturbed blocks, of which there were `blocks`.

    `rejected` counts those that were disturbed. With no block undisturbed the median is that of all
    of them. `calls` is how many calls a block had, `output` what the last one returned.
    """

    seconds: Seconds
    blocks: Count
    rejected: Count
    calls: Count
    output: Array


FromLibrary = LibraryTiming | TaskFailure
