"""Frames: eight bytes of length, then MessagePack; and the arrays that messages are made of.

Decoding is strict: unknown fields, wrong types and lengths over the cap raise; nothing is executed.
"""

import math
import struct
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, Protocol, TypeVar, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from grader.decoding import prepared

KERNEL_FRAME_LIMIT = 64 * 2**20
"""Largest frame accepted from a student kernel, in bytes: a 3 MB model and its externs fit well."""

RUNNER_FRAME_LIMIT = 512 * 2**20
"""Largest frame accepted from or sent to a runner, in bytes: ten thousand images are 31 MB."""

READY = bytes(8)
"""An empty frame: the first thing that a runner or an evaluator writes, once it can be asked."""

_HEADER = struct.Struct("<Q")

T = TypeVar("T")


class FrameError(Exception):
    """Raised when a frame is cut off, too long, or not the message that was expected."""


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Base of all messages."""


class Stream(Protocol):
    """What frames are read from: `recv(n)` as of a socket."""

    def recv(self, size: int, /) -> bytes:
        """Return up to `size` bytes; empty at the end of the stream."""
        ...


Hook = Callable[..., Any]


def encode_frame(message: Message, hook: Hook | None = None) -> bytearray:
    """Return a message as one frame; `hook` is msgspec's for values of other kinds.

    It is written once: a frame of a measurement has 15 MB, and a copy of it costs as much as to
    fetch that memory from the system.
    """
    frame = bytearray(_HEADER.size)
    msgspec.msgpack.Encoder(enc_hook=hook).encode_into(message, frame, _HEADER.size)
    _HEADER.pack_into(frame, 0, len(frame) - _HEADER.size)
    return frame


def decode_payload(payload: bytes | bytearray, expected: type[T], hook: Hook | None = None) -> T:
    """Decode the bytes of one frame strictly. Raises FrameError.

    `hook` is msgspec's for values of other kinds.
    """
    decoder = msgspec.msgpack.Decoder(prepared(expected), dec_hook=hook)
    try:
        return decoder.decode(payload)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FrameError(f"not a message: {error}") from None


def read_frame(stream: Stream, limit: int) -> bytearray | None:
    """Read one frame's payload, or None at the end of the stream. Raises FrameError."""
    header = _read_exactly(stream, _HEADER.size)
    if header is None:
        return None
    length: int = _HEADER.unpack(header)[0]
    if length > limit:
        raise FrameError(f"frame of {length} bytes, {limit} are allowed")
    payload = _read_exactly(stream, length)
    if payload is None:
        raise FrameError("stream ended inside a frame")
    return payload


def _read_exactly(stream: Stream, size: int) -> bytearray | None:
    chunks = bytearray()
    while len(chunks) < size:
        chunk = stream.recv(min(size - len(chunks), 2**20))
        if not chunk and not chunks:
            return None
        if not chunk:
            raise FrameError("stream ended inside a frame")
        chunks += chunk
    return chunks


# Lengths are checked before the decoder makes room, so a short frame cannot claim a huge container.
Shape = Annotated[tuple[int, ...], msgspec.Meta(max_length=32)]
Names = Annotated[tuple[str, ...], msgspec.Meta(max_length=4096)]
Counts = Annotated[dict[str, int], msgspec.Meta(max_length=4096)]
Pickles = Annotated[dict[str, bytes], msgspec.Meta(max_length=1024)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]

DType = Literal[
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
    "bfloat16", "float32", "float64"]  # fmt: skip
"""Dtypes of the tensors that messages carry: all that NumPy, with ml_dtypes, and TVM share."""

BFLOAT16: Final = "bfloat16"
_CARRIED = frozenset(get_args(DType))
_TRUTHS = bytes((0, 1))


def number_type(name: str) -> np.dtype[np.generic]:
    """Return NumPy's dtype of a name of `DType`; that of bfloat16 is from ml_dtypes."""
    if name == BFLOAT16:
        import ml_dtypes  # 20 ms that nobody else need wait for; TVM has imported it already

        dtype: np.dtype[np.generic] = np.dtype(ml_dtypes.bfloat16)
        return dtype
    return np.dtype(name)


class Array(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dense array in C order: `data` holds the items of `dtype` as little-endian bytes.

    A bool is a byte, 0 or 1.
    """

    dtype: DType
    shape: Shape
    data: bytes


def pack_array(values: npt.NDArray[np.generic]) -> Array:
    """Copy a NumPy array into a message. Raises KeyError for a dtype that no message carries."""
    dtype = str(values.dtype)
    if dtype not in _CARRIED:
        raise KeyError(dtype)
    contiguous = np.ascontiguousarray(values)
    if dtype == "bool":  # memory that nobody wrote may hold other bytes
        contiguous = contiguous.view(np.uint8) != 0
    return Array(dtype=dtype, shape=tuple(values.shape), data=contiguous.tobytes())  # type: ignore[arg-type]


def unpack_array(array: Array) -> npt.NDArray[np.generic]:
    """Return a fresh, writable NumPy array. Raises FrameError as `view_array` does."""
    return np.array(view_array(array))


def view_array(array: Array) -> npt.NDArray[np.generic]:
    """Return the array itself, to read: it shares the message's bytes. Raises FrameError if bytes
    and shape do not agree, or if a byte is no bool: what NumPy does with those is not defined."""
    if any(extent < 0 for extent in array.shape):
        raise FrameError("array with a negative extent")
    dtype = number_type(array.dtype)
    if math.prod(array.shape) * dtype.itemsize != len(array.data):
        raise FrameError("array whose bytes do not fill its shape")
    if array.dtype == "bool" and array.data.strip(_TRUTHS):
        raise FrameError("array of bool with a byte that is neither 0 nor 1")
    try:
        flat: npt.NDArray[np.generic] = np.frombuffer(array.data, dtype=dtype)
        return flat.reshape(array.shape)
    except ValueError:  # an empty array may still claim extents that no array can have
        raise FrameError("array with an extent that is too large") from None
