"""What the referee and a runner say to each other: all that is asked of runners and their like."""

from typing import Annotated, Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from grader.messages.evidence import Examine, Examined
from grader.messages.frames import Array, Count, Counts, DType, Message, Names, Pickles, Shape
from grader.messages.timing import (
    LibraryTiming,
    MachineLimits,
    MeasureLimits,
    StepTimes,
    TimeSchedule,
    TimeSteps,
    TimingResult,
)

FailureCode = Literal[
    "Raised",
    # how a task ended without an answer
    "Died",
    "TimeLimit",
    "ExternDied",
    # what a function did
    "NotDeterministic",
    "InputChanged",
    "Disturbed",
    "OutOfBounds",
    "SharedBuffer",
    # what form it has
    "UnknownWorkload",
    "WrongArguments",
    "WrongInput",
    "WrongParameters",
    "WrongResult",
    "ChangingResult",
    "NotATensor",
    "TooLarge",
    "DoesNotFit",
    "NoMain",
    "NoFunction",
    # its external functions
    "NotCallable",
    "NotRegistered",
    "NameTaken",
    "BadArgument",
    "BadAnswer",
    # the task itself, or the machine
    "NotHere",
    "FrameError",
    "NoTarget",
    "NoFence",
    "TooFewThreads",
    "TooLong",
]
"""Why a task could not be done. "Raised": an error was raised that has its own class."""

EXTERN_DIED: Final = "ExternDied"
"""The code of a task whose evaluator's process has ended."""

OUT_OF_BOUNDS: Final = "OutOfBounds"
"""The code of a function that its guards have ended."""

ShortText = Annotated[str, msgspec.Meta(max_length=200)]
Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


def integer_poison(dtype: str, items: int, call: int = 0) -> npt.NDArray[np.generic]:
    """Return what runners fill `items` integers with before they are written.

    Integers have no NaN, and any one number can be right by chance: a sum begins well with 0, the
    maximum of anything with the least number. So there are two numbers, a large and a small one, in
    turn along the items, and exchanged from one call to the next: what depends on memory that
    nobody has written is right in one of them at most. They are not the ends of a short type's
    range, where what saturates ends up, and leave room to add to those of a long one.
    """
    if dtype == "bool":
        return np.asarray((np.arange(items) + call) % 2 == 0)
    range_of = np.iinfo(dtype)
    if range_of.bits < 32:
        pair = range_of.max - 2, range_of.min + 2
    else:
        pair = range_of.max // 2, range_of.min // 2 + 2
    return np.resize(np.array(pair[:: -1 if call % 2 else 1], dtype), items)


class TensorSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Shape and dtype of a tensor that a function writes."""

    dtype: DType
    shape: Shape


class RunArgument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One argument of the function that is run.

    Where it `varies`, `array` has a leading axis over the calls; otherwise every call gets it all.
    """

    array: Array
    varies: bool = True


class RunModule(Message, frozen=True):
    """Build `module` for `target` and call one of its functions, once for each item of `arguments`.

    `function` is a Relax function, or a TIR function whose parameters are the arguments followed by
    `outputs`. An empty module stands for the Python function that `externs` has under
    PYTHON_FUNCTION: it returns `outputs`, or writes them. Output buffers of every function are
    filled with NaN before each call, those of integers with numbers that change from item to item
    and from call to call. `externs` are pickled Python functions: a runner has its
    evaluator load them, and one without an evaluator refuses. `stubs` are names that get a function
    of the runner's own instead, which fills its outputs from a generator seeded with the given
    number and the calls that there were before. These are counted anew from item `restart` on: what
    a stub does at the first items it does there again.
    """

    module: bytes
    arguments: Annotated[tuple[RunArgument, ...], msgspec.Meta(min_length=1, max_length=256)]
    target: str
    threads: int
    externs: Pickles = msgspec.field(default_factory=dict)
    stubs: Counts = msgspec.field(default_factory=dict)
    function: str = "main"
    outputs: Annotated[tuple[TensorSpec, ...], msgspec.Meta(max_length=256)] = ()
    restart: Annotated[int, msgspec.Meta(ge=0)] = 0


class RunResult(Message, frozen=True):
    """Outputs of all calls, shape (calls, *output shape), and what was noticed on the way.

    Several outputs of one call are laid one behind the other, so that there is one axis.

    `unwritten` names functions that left their poisoned output untouched; `stale` says that the
    outputs change with what memory holds that nobody wrote. They are the runner's own observations:
    no student Python is in its process.
    """

    outputs: Array
    unwritten: Names = ()
    stale: bool = False


ViolationKind = Literal[
    "index", "overflow", "division", "conversion", "allocation", "assumption", "unguarded"
]


class Violation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a TIR function would have done if its guards had not ended it.

    "index": an access of the item `value` of a buffer `subject` of `size` items (0 where that is
    decided at run time); "overflow", "division", "conversion": integers that do not fit, a divisor
    that is zero, a number that is no integer; "allocation": a buffer `subject` of impossible size;
    "assumption": an assumption that does not hold; "unguarded": it has something (`subject`) that
    cannot be checked.
    """

    kind: ViolationKind
    function: ShortText
    subject: ShortText
    value: Integer = 0
    size: Integer = 0


class TaskFailure(Message, frozen=True):
    """The task could not be done. `stage` says where, `code` why, `message` more, shortened.

    `violation` says more of "OutOfBounds". `error` is the class of an error that was "Raised", by
    TVM or by a student's function; `raised` is the text of one of a student's function.
    """

    stage: Literal["decode", "load", "build", "externs", "signature", "run", "time"]
    code: FailureCode
    message: str
    violation: Violation | None = None
    raised: str | None = None
    error: str = ""

    @property
    def error_name(self) -> str:
        """What it is called where it is told: the code, or the class of what was raised."""
        return self.error or self.code


STEP_LIMIT = 64
"""Most steps that a trace has: the first ones of `main`."""

PASS_LIMIT = 8
"""Most passes of one task: their values share one message."""


class Correction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the value of a step becomes: its dtype, shape (calls, *shape), one for each call."""

    step: Count
    value: Array


Passes = Annotated[
    tuple[tuple[Correction, ...], ...], msgspec.Meta(min_length=1, max_length=PASS_LIMIT)
]


class TraceModule(Message, frozen=True):
    """Run a module as `run` says, and return the value of every step of its function.

    The steps of a Relax `main` are its bindings, in order; those of a TIR function are the buffers
    that it allocates outside of its blocks, in the order in which they are written, and its
    outputs. A Python function has one step for each of its outputs.

    In each of the `passes` all calls are made, by its own process: nothing of one is left for
    the next but the module that was built. With externs, which remember, there is one pass only.
    Its corrections are written over the values of steps, once those are taken down: what comes
    after computes from them. `cleared`: outputs hold zeros before each call, and not NaN. What is
    right then, and was not before, was computed from memory that nobody had written.
    """

    run: RunModule
    passes: Passes = ((),)
    cleared: bool = False


class TracedStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step: the variable or buffer, and its value in every call.

    `binding` is the place of the call among the calls that `main` binds, as the referee counts them
    in `ModuleFacts.calls`; None where there is no such call. `values` has shape (calls, *shape);
    it is None where the step has no value: it was not reached, or is no tensor. `dtype` is what the
    module computes in, which is that of the values. `takes` are the
    numbers of earlier steps that it is computed from, `takes_input` says that it takes an argument
    of the function directly. `is_unwritten`: what was called left its output as it was.
    """

    variable: str
    dtype: str
    values: Array | None
    takes: Shape = ()
    takes_input: bool = False
    binding: Count | None = None
    is_unwritten: bool = False


class TracedPass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The steps in the order in which they are done. `failure` is what ended the calls early."""

    steps: Annotated[tuple[TracedStep, ...], msgspec.Meta(max_length=STEP_LIMIT)]
    failure: TaskFailure | None = None


class TraceResult(Message, frozen=True):
    """What became of each pass, in their order."""

    passes: Annotated[tuple[TracedPass, ...], msgspec.Meta(max_length=PASS_LIMIT)]


Documents = Annotated[tuple[bytes, ...], msgspec.Meta(max_length=16)]

SCRIPT_LIMIT = 64_000
"""Longest text of a function, in characters; the printer of TVM is what decides how long it is."""

Script = Annotated[str, msgspec.Meta(max_length=SCRIPT_LIMIT)]


class ReplayTrace(Message, frozen=True):
    """Apply a schedule's trace to modules.

    `trace` is JSON as `Trace.as_json()` gives it, the others are TVM's graph JSON: on `base` the
    trace should give `expected`; on each of `others` it gives whatever it does. `function` is the
    one that is printed before and after; none where it is empty.
    """

    trace: bytes
    base: bytes
    expected: bytes
    others: Documents = ()
    function: str = ""


class ReplayResult(Message, frozen=True):
    """What the trace gave.

    `outcome` says whether the result on the base is structurally equal to what was expected: if it
    "differs", `functions` names the functions in which it does; if the trace "fails" on the base,
    `message` says why, in TVM's words. `modules` are the results on the others, as graph JSON,
    empty where the trace failed. `before` and `after` are the function as TVMScript on the base
    and in the result, cut at SCRIPT_LIMIT; empty where it could not be printed.
    """

    outcome: Literal["equal", "differs", "fails"]
    functions: Names = ()
    message: str = ""
    modules: Documents = ()
    before: Script = ""
    after: Script = ""


SEARCH_SECONDS = 20.0
"""How long a step is looked for at most. A runner that has not answered by then is ended: what is
in the middle of a trace may take any time to build, or to run."""


class FindStep(Message, frozen=True):
    """Find the step of a schedule from which on a module computes something else.

    `run` says which function of the unscheduled module is run, and in which one call. `trace` is
    JSON as `Trace.as_json()` gives it, `expected` the module that it is said to give. Outputs that
    differ by at most `tolerance` beside the largest number are the same.
    """

    run: RunModule
    trace: bytes
    expected: bytes
    tolerance: float


Within = Literal["", "sum", "lanes"]
Operands = Annotated[tuple[ShortText, ...], msgspec.Meta(max_length=64)]


class FoundStep(Message, frozen=True):
    """The step up to which the outputs are those of the unscheduled module, and no longer then.

    `number` counts the steps that change a program, from 1; 0 where no such step was found, or
    where the trace gives another module than the one expected. `instruction` is its kind, `blocks`
    and `loops` what it was done on. `outputs` are those of the unscheduled module.

    `within` says what can be seen of it: the block `reader` now stands in the loop `within_loop`,
    over which the block `writer`, whose result it takes, still sums ("sum"), or which is vectorized
    and gives the result of `writer` room for one item only ("lanes").

    What was tried: without the step the outputs are the same again (`may_go`), or with the loop
    `other_loop` in place of its own (empty where no other one does it).
    """

    outputs: Array
    number: Count = 0
    steps: Count = 0
    instruction: ShortText = ""
    blocks: Operands = ()
    loops: Operands = ()
    within: Within = ""
    reader: ShortText = ""
    writer: ShortText = ""
    within_loop: ShortText = ""
    may_go: bool = False
    other_loop: ShortText = ""


class BuildAhead(Message, frozen=True):
    """Build what a task to come will run. What comes of it that task says; the answer is `Built`,
    when it is over.

    The arrays of `task` have the shapes and dtypes of those to come, and zeros in them. It may be
    told while the notebook still runs, so nothing is called, and no input is in it. `TimeSteps` is
    told when that has ended, and has the arrays that it is asked for with.
    """

    task: RunModule | TimeSchedule | TimeSteps


class Built(Message, frozen=True):
    """The module to build ahead is built, or cannot be; it took so many seconds."""

    seconds: Annotated[float, msgspec.Meta(ge=0)]


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

FromLibrary = LibraryTiming | TaskFailure
"""What a process with PyTorch answers."""
