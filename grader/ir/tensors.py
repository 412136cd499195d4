"""Constants of a module: TVM's binary tensor format, of which only the header is decoded.

The format is that of `SaveDLTensor` in TVM's runtime: two words (magic number, reserved), the
device, the rank, the data type, the extents, the number of bytes, the bytes; all of it
little-endian and in base64.
"""

from __future__ import annotations

import math
import struct
from binascii import a2b_base64

import msgspec

from grader.errors import Told
from grader.language import say

MAGIC = 0xDD5E40F096B4A13F
RANK_LIMIT = 32

_PREFIX = struct.Struct("<QQiiiBBH")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_CPU = 1
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}
_BITS = {1, 4, 8, 16, 32, 64}


class TensorHeader(msgspec.Struct, frozen=True):
    """Shape and dtype of a constant."""

    shape: tuple[int, ...]
    dtype: str


class TensorError(Told):
    """Raised when a constant is not a whole tensor; says what is wrong with it."""


def read_header(text: str) -> TensorHeader:
    """Check a constant in base64 and return its header. Raises TensorError.

    The bytes of the elements are counted but not decoded.
    """
    size = _decoded_size(text)
    prefix = _decode(text, _PREFIX.size)
    magic, _, device, _, rank, code, bits, lanes = _PREFIX.unpack(prefix)
    if magic != MAGIC or device != _CPU or not 0 <= rank <= RANK_LIMIT:
        raise TensorError(say("its header is not a tensor's"))
    dtype = _dtype(code, bits, lanes)
    header = _PREFIX.size + 8 * (rank + 1)
    *shape, byte_count = struct.unpack_from(f"<{rank + 1}q", _decode(text, header), _PREFIX.size)
    if any(extent < 0 for extent in shape):
        raise TensorError(say("it has a negative extent"))
    if byte_count != math.prod(shape) * ((bits + 7) // 8) or byte_count != size - header:
        raise TensorError(say("its bytes do not fill its shape"))
    return TensorHeader(shape=tuple(shape), dtype=dtype)


def _decoded_size(text: str) -> int:
    """Return how many bytes the base64 text stands for, by arithmetic. Raises TensorError."""
    try:
        raw = text.encode("ascii")
    except UnicodeEncodeError:
        raise TensorError(say("it is not base64")) from None
    padding = raw.translate(None, _ALPHABET)
    if len(raw) % 4 or padding not in (b"", b"=", b"==") or not raw.endswith(padding):
        raise TensorError(say("it is not base64"))
    return len(raw) // 4 * 3 - len(padding)


def _decode(text: str, size: int) -> bytes:
    """Return the first `size` bytes. Raises TensorError when there are fewer."""
    part = a2b_base64(text[: (size + 2) // 3 * 4])[:size]
    if len(part) < size:
        raise TensorError(say("it ends inside its header"))
    return part


def _dtype(code: int, bits: int, lanes: int) -> str:
    name = _CODES.get(code)
    if name is None or bits not in _BITS or lanes != 1:
        raise TensorError(say("its data type is not known"))
    return "bool" if name == "bool" or (name, bits) == ("uint", 1) else f"{name}{bits}"
