"""What a runner and the evaluator of its external functions say to each other."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grader.messages.arrays import Count, Shape
from grader.messages.frames import Message

DType = Literal[
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "bool"]  # fmt: skip
"""Dtypes of the tensors that external functions take and write: all that NumPy and TVM share."""


class Tensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """A dense array in C order. Its bytes follow the frame, in the order of the message's tensors.

    They are outside of the frame so that they are copied once, into the array they are to be. An
    evaluator keeps a copy under the number `keep`, unless that is 0.
    """

    dtype: DType
    shape: Shape
    keep: Count = 0


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The tensor that was kept under this number. It has no bytes."""

    number: Count


class Output(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """An array that the function is to write.

    It travels without bytes and arrives poisoned, or full of zeros where it is `cleared`.
    """

    dtype: DType
    shape: Shape
    cleared: bool = False


class Extents(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """A shape that a function takes as such."""

    values: Shape


Argument = Tensor | Kept | Output | Extents | bool | int | float | str | None


class LoadExtern(Message, frozen=True):
    """Unpickle one external function, which is called by this name from now on."""

    name: str
    pickle: bytes


class Evaluate(Message, frozen=True):
    """Call one function. `call` numbers the calls of a task from 1."""

    call: Count
    name: str
    arguments: Annotated[tuple[Argument, ...], msgspec.Meta(max_length=1024)]


class ExternLoaded(Message, frozen=True):
    """The function is there and can be called."""


class Evaluated(Message, frozen=True):
    """What a call left in its outputs, in their order among the arguments."""

    call: Count
    outputs: Annotated[tuple[Tensor, ...], msgspec.Meta(max_length=1024)]


class EvaluationFailed(Message, frozen=True):
    """A function could not be loaded (`call` is 0), or raised. `message` is the error's text.

    What is "not_callable" is no function, and raised nothing.
    """

    call: Count
    error_name: str
    message: str
    code: Literal["raised", "not_callable"] = "raised"


ToEvaluator = LoadExtern | Evaluate
FromEvaluator = ExternLoaded | Evaluated | EvaluationFailed
