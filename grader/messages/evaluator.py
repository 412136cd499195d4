"""What a runner and its evaluator say to each other, with arrays framed behind messages.

Arrays of a megabyte go back and forth in every call of an external function. Outside of the frame
they are copied by the kernel alone: out of the array they are in, and into the one they are to be.
"""

import socket
from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from grader.messages.frames import Count, DType, FrameError, Message, Shape, encode_frame


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

    It travels without bytes and arrives poisoned for call number `main_call` of `main`, or full of
    zeros where it is `cleared`.
    """

    dtype: DType
    shape: Shape
    cleared: bool = False
    main_call: Count = 0


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


Values = npt.NDArray[np.generic]

_NAMES: dict[np.dtype[np.generic], str] = {}
"""NumPy takes longer to spell a dtype than the rest of a description takes."""

_PIECES = 64
"""Most buffers that are handed to the kernel at once."""


def send_framed(connection: socket.socket, message: Message, arrays: Iterable[Values] = ()) -> None:
    """Write a frame and the bytes of arrays, each in C order."""
    pieces = [memoryview(encode_frame(message)), *(octets(array) for array in arrays)]
    pieces = [piece for piece in pieces if piece.nbytes]
    while pieces:
        sent = connection.sendmsg(pieces[:_PIECES])
        while pieces and sent >= pieces[0].nbytes:
            sent -= pieces.pop(0).nbytes
        if sent:
            pieces[0] = pieces[0][sent:]


def receive_arrays(connection: socket.socket, arrays: Iterable[Values]) -> None:
    """Read the bytes of arrays into them. Raises FrameError at the end of the stream."""
    for array in arrays:
        left = octets(array)
        while left.nbytes:
            size = connection.recv_into(left, left.nbytes, socket.MSG_WAITALL)
            if not size:
                raise FrameError("stream ended inside an array")
            left = left[size:]


def octets(array: Values) -> memoryview:
    """Return a view of the bytes of an array, which must be in C order."""
    assert array.flags.c_contiguous, "what is written to a copy would be lost"
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def describe(array: Values) -> Tensor:
    """Return what announces an array in a message."""
    name = _NAMES.get(array.dtype) or _NAMES.setdefault(array.dtype, str(array.dtype))
    return Tensor(name, array.shape)  # type: ignore[arg-type]
