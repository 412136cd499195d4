"""IDX, the file format of MNIST: two zero bytes, a type, the number of axes, extents, items.

Format: https://yann.lecun.com/exdb/mnist/ (big-endian extents of four bytes; type 8 is unsigned
byte). torchvision has a reader too, but importing it takes over a second, and it accepts a label
file with bytes missing.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from io import BytesIO

import numpy as np
import numpy.typing as npt

from grader.errors import DataError

BYTE_LIMIT = 70_000 * 28 * 28 + 64
"""Longest accepted content in bytes: Fashion-MNIST's training and test images together."""

_UNSIGNED_BYTE = 8
_GZIP_MAGIC = b"\x1f\x8b"
_HINT = "Replace the file with a whole copy of the official one."


def read_images(content: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return images, uint8 (n, 28, 28) with n of at least 1, from an IDX file, plain or gzipped.

    `name` is what an error calls the file. Raises DataError.
    """
    images = _read_idx(content, name, axes=3)
    if images.shape[1:] != (28, 28) or not len(images):
        raise DataError(
            f"{name} holds an array of shape {images.shape}, not images of 28 x 28.", _HINT
        )
    return images


def read_labels(content: bytes, name: str) -> npt.NDArray[np.uint8]:
    """Return labels from 0 to 9, uint8 (n,), from an IDX file, plain or gzipped.

    Raises DataError.
    """
    labels = _read_idx(content, name, axes=1)
    if len(labels) and labels.max() > 9:
        raise DataError(f"{name} holds the label {labels.max()}; 9 is the highest.", _HINT)
    return labels


def write_idx(array: npt.NDArray[np.uint8]) -> bytes:
    """Return an array of unsigned bytes as an uncompressed IDX file."""
    header = struct.pack(f">HBB{array.ndim}I", 0, _UNSIGNED_BYTE, array.ndim, *array.shape)
    return header + array.tobytes()


def _read_idx(content: bytes, name: str, axes: int) -> npt.NDArray[np.uint8]:
    content = _plain(content, name)
    header = struct.Struct(f">HBB{axes}I")
    if len(content) < header.size:
        raise DataError(f"{name} ends inside its header.", _HINT)
    zeros, kind, ndim, *shape = header.unpack_from(content)
    if (zeros, kind, ndim) != (0, _UNSIGNED_BYTE, axes):
        raise DataError(f"{name} is not an IDX file of unsigned bytes with {axes} axes.", _HINT)
    if math.prod(shape) != len(content) - header.size:
        raise DataError(
            f"{name} should hold {math.prod(shape)} bytes of data and holds"
            f" {len(content) - header.size}.",
            _HINT,
        )
    return np.frombuffer(content, np.uint8, offset=header.size).reshape(shape)


def _plain(content: bytes, name: str) -> bytes:
    """Decompress where needed, never to more than the limit."""
    if content[:2] == _GZIP_MAGIC:
        try:
            with gzip.GzipFile(fileobj=BytesIO(content)) as file:
                content = file.read(BYTE_LIMIT + 1)
        except (OSError, EOFError, zlib.error):
            raise DataError(f"{name} is not a whole gzip file.", _HINT) from None
    if len(content) > BYTE_LIMIT:
        raise DataError(f"{name} is longer than {BYTE_LIMIT} bytes.", _HINT)
    return content
