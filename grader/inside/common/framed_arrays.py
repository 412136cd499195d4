"""Framed arrays: a frame, and after it the bytes of its arrays.

Arrays of a megabyte go back and forth in every call of an external function. Outside of the frame
they are copied by the kernel alone: out of the array they are in, and into the one they are to be.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import get_args

import numpy as np
import numpy.typing as npt

from grader.messages import DType, FrameError, Message, Tensor, encode_frame

Values = npt.NDArray[np.generic]

_NAMES = {np.dtype(name): name for name in get_args(DType)}
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
    return Tensor(_NAMES.get(array.dtype) or str(array.dtype), array.shape)  # type: ignore[arg-type]
