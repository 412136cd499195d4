"""What the referee and a runner say to each other about running a module."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from grader.messages.arrays import Array, Counts, Names, Pickles, Shape
from grader.messages.frames import Message

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
    "TooFewCpus",
    "TooLong",
]
"""Why a task could not be done. "Raised": an error was raised that has a class of its own."""

EXTERN_DIED: Final = "ExternDied"
"""The code of a task whose evaluator's process has ended."""

OUT_OF_BOUNDS: Final = "OutOfBounds"
"""The code of a function that its guards have ended."""

ShortText = Annotated[str, msgspec.Meta(max_length=200)]
Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class TensorSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Shape and dtype of a tensor that a function writes."""

    dtype: Literal["float32", "float64", "int64", "int32"]
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
    filled with NaN before each call. `externs` are pickled Python functions: a runner has its
    evaluator load them, and one without an evaluator refuses. `stubs` are names that get a function
    of the runner's own instead, which fills its outputs from a generator seeded with the given
    number: a referee asks for two different seeds to see whether a model depends on them.
    """

    module: bytes
    arguments: Annotated[tuple[RunArgument, ...], msgspec.Meta(min_length=1, max_length=256)]
    target: str
    threads: int
    externs: Pickles = msgspec.field(default_factory=dict)
    stubs: Counts = msgspec.field(default_factory=dict)
    function: str = "main"
    outputs: Annotated[tuple[TensorSpec, ...], msgspec.Meta(max_length=256)] = ()


class RunResult(Message, frozen=True):
    """Outputs of all calls, shape (calls, *output shape), and what was noticed on the way.

    Several outputs of one call are laid one behind the other, so that there is one axis.

    `unwritten` names functions that left their poisoned output untouched, `calls` counts calls of
    externs. Both are the runner's own observations: no student Python is in its process.
    """

    outputs: Array
    unwritten: Names = ()
    calls: Counts = msgspec.field(default_factory=dict)


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
