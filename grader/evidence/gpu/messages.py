"""What crosses the boundary: a module with its arguments in, outputs, findings and counts out."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grader.messages.frames import Array, Message

FINDING_LIMIT = 20
"""Most findings of one run; each pair of statements is reported once."""

SITE_LIMIT = 512
KERNEL_LIMIT = 64
TEXT_LIMIT = 200
"""Longest statement that is quoted, in characters."""

LARGEST = 2**62

Number = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Whole = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
Quote = Annotated[str, msgspec.Meta(max_length=TEXT_LIMIT)]
Name = Annotated[str, msgspec.Meta(max_length=256)]
Axes = tuple[Number, Number, Number]
"""Along x, y and z."""

AccessKind = Literal["load", "store"]

FindingKind = Literal[
    "race",
    "block_race",
    "unwritten",
    "bounds",
    "divergent_barrier",
    "outside_kernel",
    "needless_barrier",
    "other_name",
    "unstored",
]

NO_FAULTS: frozenset[FindingKind] = frozenset({"needless_barrier", "other_name", "unstored"})
"""Waste, and what is wrong only where the outputs are."""


class Access(Message, frozen=True):
    """Who touches an element, and by which statement (its place in the kernel, and its text)."""

    kind: AccessKind
    statement: Number
    text: Quote
    block: Axes
    thread: Axes


_CALLS = msgspec.Meta(max_length=16)


class Finding(Message, frozen=True):
    """One fault of a kernel, with the first place where it happened.

    | kind | accesses | loop |
    |---|---|---|
    | `race` | two threads of one block | the loop whose next round meets this one, or "" |
    | `block_race` | threads of two blocks | "" |
    | `unwritten` | the load of what nobody has stored | "" |
    | `bounds` | the access outside the buffer | "" |
    | `divergent_barrier` | none; the barrier is between `before` and `text` | |
    | `outside_kernel` | none; `text` is the statement that no thread executes | |
    | `other_name` | a store, and a load by another name of the same memory | "" |
    | `unstored` | none; the element of the output is one that no thread stores | |
    | `needless_barrier` | none; the barrier is between `before` and `text` | |

    A barrier that opens or ends a kernel has "" on that side.
    """

    kind: FindingKind
    kernel: Number
    buffer: Name = ""
    scope: Name = ""
    element: Annotated[tuple[Whole, ...], msgspec.Meta(max_length=32)] = ()
    accesses: Annotated[tuple[Access, ...], msgspec.Meta(max_length=2)] = ()
    loop: Name = ""
    text: Quote = ""
    before: Quote = ""


class Traffic(Message, frozen=True):
    """What one access of one statement has moved, over all threads that were executed.

    `text` is the statement, `access` the element as it is written there.
    `requests` are warps that executed it. `bytes` are those that threads asked for. `units` are
    32-byte sectors of global memory, or passes over the banks of shared memory; `least` is how many
    there would be if threads asked for neighbours (sectors) or for different banks (passes).
    `repeated` are bytes that a thread stored as another one had by it.
    """

    statement: Number
    kind: AccessKind
    text: Quote
    access: Quote
    buffer: Name
    scope: Literal["global", "shared"]
    requests: Number
    bytes: Number
    units: Number
    least: Number
    repeated: Number = 0


class Waits(Message, frozen=True):
    """How often blocks executed a statement, by the slowest memory that it reads.

    Threads of a block wait together here: a statement that one thread executes counts as much as
    one that all do.
    """

    registers: Number
    shared: Number
    global_: Number


class KernelCounts(Message, frozen=True):
    """One kernel: what it launches, what a block needs, and what its threads did.

    `shared_bytes` are those whose size is fixed, `dynamic_bytes` those of `shared.dyn`. `registers`
    is an estimate of 32-bit registers of a thread. `operations` are floating-point operations as
    written; `issued` are those with the idle threads of each warp. `local` are accesses of warps to
    local memory. `executed` of the grid's blocks were executed.
    """

    grid: Axes
    block: Axes
    executed: Number
    shared_bytes: Number
    dynamic_bytes: Number
    registers: Number
    operations: Number
    issued: Number
    local: Number
    waits: Waits
    traffic: Annotated[tuple[Traffic, ...], msgspec.Meta(max_length=SITE_LIMIT)]


class RunKernels(Message, frozen=True):
    """Execute a PrimFunc of a module (graph JSON that the referee has read) on arrays.

    `arguments` are its parameters in order; those in `outputs` are filled with poison first.
    `device` names the architecture, as `sm_80`. Without `audit` nothing is said of barriers that no
    two statements need.
    """

    module: bytes
    function: Name
    arguments: Annotated[tuple[Array, ...], msgspec.Meta(max_length=64)]
    outputs: Annotated[tuple[Number, ...], msgspec.Meta(max_length=64)]
    device: Name
    audit: bool = True


class KernelsRun(Message, frozen=True):
    """What the outputs hold afterwards, what was found, and what was counted.

    `scheduled`: TVM has set the barriers, and the author can not.
    """

    outputs: Annotated[tuple[Array, ...], msgspec.Meta(max_length=64)]
    findings: Annotated[tuple[Finding, ...], msgspec.Meta(max_length=FINDING_LIMIT)]
    kernels: Annotated[tuple[KernelCounts, ...], msgspec.Meta(max_length=KERNEL_LIMIT)]
    scheduled: bool


Reason = Literal[
    "lowering",
    "extents",
    "operator",
    "scope",
    "barrier",
    "axis",
    "kernels",
    "dtype",
    "statement",
    "steps",
    "threads",
    "no_kernel",
]


class NotExecuted(Message, frozen=True):
    """Why a function could not be executed here; it may be right nonetheless.

    `subject` is the operator, scope or type that is not simulated, how many threads a block would
    have, the outermost loop around too many kernels, or TVM's own message.
    """

    reason: Reason
    subject: Annotated[str, msgspec.Meta(max_length=500)]


ChangeKind = Literal[
    "barrier",
    "scope",
    "operator",
    "number",
    "everywhere",
    "extent",
    "variable",
    "buffer",
    "index",
    "axis",
    "operand",
    "condition",
]

CHANGE_LIMIT = 200
"""Most changes of one kernel that are answered."""


class TryChanges(Message, frozen=True):
    """Execute a PrimFunc with one small change each, on the arguments of each of the `calls`.

    The rest is as in `RunKernels`.
    """

    module: bytes
    function: Name
    calls: Annotated[tuple[Annotated[tuple[Array, ...], msgspec.Meta(max_length=64)], ...], _CALLS]
    outputs: Annotated[tuple[Number, ...], msgspec.Meta(max_length=64)]
    device: Name


class Change(Message, frozen=True):
    """A change with which nothing is found, and the outputs of each call with it.

    `before` and `after` are what is changed and what it becomes, in `statement`. Of an "extent" and
    an "axis" that is the loop, of a "scope" the buffer, of a "barrier" both are the statements
    around it, and of a "condition" `after` is what goes around the statement.
    """

    kind: ChangeKind
    statement: Quote
    before: Quote
    after: Quote
    outputs: Annotated[tuple[Array, ...], msgspec.Meta(max_length=16)]


class ChangesTried(Message, frozen=True):
    """The changes, the likeliest first."""

    changes: Annotated[tuple[Change, ...], msgspec.Meta(max_length=CHANGE_LIMIT)]


StepKind = Literal[
    "axis",
    "axes",
    "scope",
    "loop",
    "order",
    "factors",
    "exchanged",
    "fused",
    "left_out",
    "bind_missing",
    "place_missing",
    "place_missing_reverse",
]

STEP_LIMIT = 2000
"""Most instructions of a trace."""


class TrySteps(Message, frozen=True):
    """Replay a trace with one small change each on a module, and execute what comes of it.

    `base` and `module` are graph JSON that the referee has read, what the schedule begins on and
    what it made; `trace` is JSON that it has written. `lines` are alike for instructions that stand
    in one line, 0 where that is not known. The rest is as in `TryChanges`.
    """

    base: bytes
    trace: bytes
    lines: Annotated[tuple[Number, ...], msgspec.Meta(max_length=STEP_LIMIT)]
    module: bytes
    function: Name
    calls: Annotated[tuple[Annotated[tuple[Array, ...], msgspec.Meta(max_length=64)], ...], _CALLS]
    outputs: Annotated[tuple[Number, ...], msgspec.Meta(max_length=64)]
    device: Name


class StepChange(Message, frozen=True):
    """A change of a step with which nothing is found, and the outputs of each call with it.

    `place` is that of the instruction. `before` and `after` are axes, scopes, factors or loops. Of
    a binding that is missing these are the loop and its axis; of another step `after` is its call.
    """

    kind: StepKind
    place: Number
    before: Quote
    after: Quote
    outputs: Annotated[tuple[Array, ...], msgspec.Meta(max_length=16)]


class StepsTried(Message, frozen=True):
    """The changes of steps, the likeliest first."""

    changes: Annotated[tuple[StepChange, ...], msgspec.Meta(max_length=CHANGE_LIMIT)]


Task = RunKernels | TryChanges | TrySteps
Answer = KernelsRun | NotExecuted | ChangesTried | StepsTried
