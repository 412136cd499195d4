"""Parameter files: those known by name, which may be pickles, and `.npz` files for them.

Unpickling runs code that the file names, so this is the only module of the trusted side that
imports `pickle`, and it loads nothing but bytes whose SHA-256 was written down beforehand. Should
such a file be made to do harm all the same, the unpickler knows the two things that rebuild an
array, and nothing else.
"""

import hashlib
import io
import pickle  # loads only what has a known SHA-256, see above
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from grader.errors import DataError
from grader.language import in_a_row, say

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


_MEND = say("use-official-file-or-save-your-arrays")


def unpickle_arrays(content: bytes, sha256: str, name: str) -> object:
    """Return what a pickle of arrays holds, provided that its SHA-256 is the one given.

    `name` is what an error calls the file. Raises DataError when the checksum differs or when the
    pickle names anything but NumPy's arrays.
    """
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DataError(
            say("has-unknown-sha-256-pickle-can-run", name=name),
            _MEND,
        )
    try:
        return _ArrayUnpickler(io.BytesIO(content)).load()
    except pickle.UnpicklingError as error:
        raise DataError(say("not-pickle-arrays", name=name, error=str(error)), _MEND) from None


def pickle_arrays(arrays: Mapping[str, npt.NDArray[np.float32]]) -> bytes:
    """Return arrays as a pickle of a plain dict, for notebooks that open the course's file."""
    return pickle.dumps(dict(arrays), protocol=_PROTOCOL)


Parameters = dict[str, npt.NDArray[np.float32]]

BYTE_LIMIT = 256 * 2**20
"""Most bytes that the arrays of one file may fill."""


class KnownFile(msgspec.Struct, frozen=True):
    """A parameter file of the course: its checksum, its size in bytes and the shapes in it.

    `asset` is the file of the package that stands in for it in the built-in set.
    """

    sha256: str
    size: int
    asset: str
    shapes: dict[str, tuple[int, ...]]


# The names are the course's, with its spelling of "fashion".
KNOWN = {
    "fasionmnist_mlp_assignment_params.pkl": KnownFile(
        sha256="5002bc310ff329ce00cddff6a8aa9065558a24248c9f7f211bb8b7e1d5c0db2e",
        size=2_169_350,
        asset="e2e_conv.npz",
        shapes={
            "conv2d_weight": (32, 1, 3, 3),
            "conv2d_bias": (32,),
            "linear0_weight": (100, 5408),
            "linear0_bias": (100,),
            "linear1_weight": (10, 100),
            "linear1_bias": (10,),
        },
    ),
    "fasionmnist_mlp_params.pkl": KnownFile(
        sha256="65e60c21536ed052ba5e1e6c94806530c7d804056822a6b39066ce6a5b02e646",
        size=407_396,
        asset="e2e_mlp.npz",
        shapes={"w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)},
    ),
}


def accepted_names(name: str) -> tuple[str, ...]:
    """Return the file names under which the parameters `name` are looked for, preferred ones first.

    A `.npz` goes first: someone who was told to convert a pickle has both lying there.
    """
    return (f"{PurePath(name).stem}.npz", name)


def decode_parameters(content: bytes, file_name: str, name: str) -> Parameters:
    """Decode a file called `file_name` that holds the parameters `name`.

    Returns float32 arrays: of the known names and shapes if `name` is a known file. Raises
    DataError.
    """
    known = KNOWN.get(name)
    found: object
    if file_name.endswith(".npz"):
        found = _load_npz(content, file_name)
    else:
        found = unpickle_arrays(content, known.sha256 if known else "", file_name)
    arrays = _checked(found, file_name)
    if known is not None:
        _check_shapes(arrays, known.shapes, file_name)
    return arrays


def _load_npz(content: bytes, name: str) -> dict[str, npt.NDArray[np.generic]]:
    try:
        # Sizes are read from the index first, so that a small file cannot fill the memory.
        with zipfile.ZipFile(io.BytesIO(content)) as index:
            if sum(member.file_size for member in index.infolist()) > BYTE_LIMIT:
                raise DataError(say("unpacks-more-than-bytes", name=name, limit=BYTE_LIMIT), _MEND)
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return dict(archive)
    except _DAMAGE:
        raise DataError(
            say("not-complete-npz-file-plain-arrays", name=name), say("save-again-with-numpy-savez")
        ) from None


# What zipfile, zlib and NumPy raise for bytes that are not an archive of arrays.
_DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


def _checked(found: object, name: str) -> Parameters:
    if not isinstance(found, dict):
        raise DataError(say("does-not-hold-dictionary-arrays", name=name), _MEND)
    for key, array in found.items():
        if not isinstance(key, str) or not isinstance(array, np.ndarray):
            raise DataError(say("does-not-hold-dictionary-arrays", name=name), _MEND)
        if array.dtype != np.float32:
            raise DataError(
                say("in-type-float32-needed", key=key, name=name, dtype=str(array.dtype)), _MEND
            )
        if not np.isfinite(array).all():
            raise DataError(say("in-holds-values-that-not-finite", key=key, name=name), _MEND)
    return {key: np.array(array, order="C") for key, array in found.items()}


def _check_shapes(arrays: Parameters, shapes: dict[str, tuple[int, ...]], name: str) -> None:
    for key, shape in shapes.items():
        if key not in arrays:
            raise DataError(
                say("lacks-array", name=name, key=key), say("needs", names=in_a_row(shapes))
            )
        if arrays[key].shape != shape:
            raise DataError(
                say(
                    "in-has-shape-needed",
                    key=key,
                    name=name,
                    found=str(arrays[key].shape),
                    wanted=str(shape),
                ),
                _MEND,
            )
