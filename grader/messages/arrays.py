"""Arrays and bounded containers, of which messages are made."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from grader.messages.frames import FrameError

# Lengths are checked before the decoder makes room, so a short frame cannot claim a huge container.
Shape = Annotated[tuple[int, ...], msgspec.Meta(max_length=32)]
Names = Annotated[tuple[str, ...], msgspec.Meta(max_length=4096)]
Counts = Annotated[dict[str, int], msgspec.Meta(max_length=4096)]
Pickles = Annotated[dict[str, bytes], msgspec.Meta(max_length=1024)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]

_ITEM_SIZE = {"float32": 4, "float64": 8, "int64": 8, "int32": 4, "uint8": 1}


class Array(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dense array in C order: `data` holds the items of `dtype` as little-endian bytes."""

    dtype: Literal["float32", "float64", "int64", "int32", "uint8"]
    shape: Shape
    data: bytes


def pack_array(values: npt.NDArray[np.generic]) -> Array:
    """Copy a NumPy array into a message. Raises KeyError for a dtype that no message carries."""
    dtype = str(values.dtype)
    if dtype not in _ITEM_SIZE:
        raise KeyError(dtype)
    contiguous = np.ascontiguousarray(values)
    return Array(dtype=dtype, shape=tuple(values.shape), data=contiguous.tobytes())  # type: ignore[arg-type]


def unpack_array(array: Array) -> npt.NDArray[np.generic]:
    """Return a fresh, writable NumPy array. Raises FrameError if bytes and shape do not agree."""
    if any(extent < 0 for extent in array.shape):
        raise FrameError("array with a negative extent")
    if math.prod(array.shape) * _ITEM_SIZE[array.dtype] != len(array.data):
        raise FrameError("array whose bytes do not fill its shape")
    try:
        flat: npt.NDArray[np.generic] = np.frombuffer(array.data, dtype=array.dtype)
        return np.array(flat.reshape(array.shape))
    except ValueError:  # an empty array may still claim extents that no array can have
        raise FrameError("array with an extent that is too large") from None
