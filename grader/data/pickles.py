"""Pickles of parameters: the course hands its arrays out in this format, and notebooks load it.

Unpickling runs code that the file names, so this is the only module of the trusted side that
imports `pickle`, and it loads nothing but bytes whose SHA-256 was written down beforehand. Should
such a file be made to do harm all the same, the unpickler knows the two things that rebuild an
array, and nothing else.
"""

from __future__ import annotations

import hashlib
import io
import pickle  # loads only what has a known SHA-256, see above
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.errors import DataError

_RECONSTRUCT = np.empty(0).__reduce__()[0]  # NumPy has moved it from one private module to another
_ADMITTED = {
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}

_PROTOCOL = 4
"""Protocol of what is written, as in the course's own file."""


class _ArrayUnpickler(pickle.Unpickler):
    """Rebuilds arrays and plain containers. Names are looked up in a table and never imported."""

    def find_class(self, module: str, name: str, /) -> Any:
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} is not part of an array") from None


def unpickle_arrays(content: bytes, sha256: str, name: str) -> object:
    """Return what a pickle of arrays holds, provided that its SHA-256 is the one given.

    `name` is what an error calls the file. Raises DataError when the checksum differs or when the
    pickle names anything but NumPy's arrays.
    """
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DataError(
            f"{name} has an unknown SHA-256. A pickle can run any code, so it was not opened.",
            "Use the official file, or save your arrays as a .npz file with numpy.savez.",
        )
    try:
        return _ArrayUnpickler(io.BytesIO(content)).load()
    except pickle.UnpicklingError as error:
        raise DataError(f"{name} is not a pickle of arrays: {error}.") from None


def pickle_arrays(arrays: Mapping[str, npt.NDArray[np.float32]]) -> bytes:
    """Return arrays as a pickle of a plain dict, for notebooks that open the course's file."""
    return pickle.dumps(dict(arrays), protocol=_PROTOCOL)
