"""Constants: the header is decoded, the elements are only counted."""

from __future__ import annotations

import base64
import struct
from typing import Any

import numpy as np
import pytest
from tvm import relax

from grader.ir.tensors import TensorError, TensorHeader, read_header
from tests.ir.documents import Document, refusal, tensor
from tests.ir.modules import extern_model, save

ARRAY = np.arange(24, dtype="float32").reshape(2, 3, 4)
GOOD = tensor(ARRAY).decode()
PADDED = tensor(np.arange(5, dtype="uint8")).decode()


class TestReadHeader:
    """A whole tensor gives its shape and dtype; anything else an error."""

    @pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "uint8", "float16"])
    @pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3, 4)])
    def test_shape_and_dtype_are_read(self, dtype: str, shape: tuple[int, ...]) -> None:
        text = tensor(np.zeros(shape, dtype)).decode()
        assert TensorHeader(shape=shape, dtype=dtype) == read_header(text)

    @pytest.mark.parametrize("dtype", ["float32", "bool", "int64", "uint8", "float16"])
    def test_what_tvm_writes_is_read(self, dtype: str) -> None:
        document = Document(save_constant(np.zeros((3, 2), dtype)))
        header = read_header(document.first("ffi.Tensor"))
        assert TensorHeader(shape=(3, 2), dtype=dtype) == header

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "AAAA",
            "!" * 80,
            "é" * 80,
            GOOD[:-4],
            GOOD[:40],
            GOOD[:41],
            GOOD + "AAAA",
            "=" + GOOD[1:],
            GOOD[:60] + "=" + GOOD[61:],
            GOOD[:60] + "\n" + GOOD[61:],
            PADDED[:-1] + "!",
            PADDED[:-2] + "!!",
            PADDED[:10] + "=" + PADDED[11:-1] + "A",
            "=" + PADDED[1:-1] + "A",
            tensor(ARRAY, magic=1).decode(),
            tensor(ARRAY, size=2).decode(),
            tensor(ARRAY, size=2**63 - 1).decode(),
        ],
    )
    def test_a_tensor_that_is_not_whole_is_refused(self, text: str) -> None:
        with pytest.raises(TensorError):
            read_header(text)

    @pytest.mark.parametrize(
        ("offset", "value"),
        [(16, 2), (24, 255), (24, 33), (28, 9), (29, 7), (30, 4), (32, 3), (39, 255)],
    )
    def test_a_header_with_another_byte_is_refused(self, offset: int, value: int) -> None:
        """In this order: device, rank (twice), code, bits, lanes, extent, sign of the extent."""
        raw = bytearray(base64.b64decode(GOOD))
        raw[offset] = value
        with pytest.raises(TensorError):
            read_header(base64.b64encode(raw).decode())

    def test_two_negative_extents_do_not_make_a_positive_size(self) -> None:
        raw = bytearray(base64.b64decode(GOOD))
        raw[32:48] = struct.pack("<2q", -2, -3)
        with pytest.raises(TensorError, match="negative"):
            read_header(base64.b64encode(raw).decode())

    def test_padding_at_the_end_is_right(self) -> None:
        assert PADDED.endswith("=")
        assert TensorHeader(shape=(5,), dtype="uint8") == read_header(PADDED)


class TestConstants:
    """Within a module, a constant is also of the type that is written beside it."""

    document = save(extern_model())

    def edit(self, array: Any) -> str:
        def change(document: Document) -> None:
            index = next(document.indices("ffi.Tensor"))
            document.nodes[index]["data"] = tensor(array).decode()

        return refusal_with_extern(self.document, change)

    def test_a_truncated_constant_is_refused(self) -> None:
        def cut(document: Document) -> None:
            index = next(document.indices("ffi.Tensor"))
            document.nodes[index]["data"] = document.nodes[index]["data"][:-4]

        assert "not a whole tensor" in refusal_with_extern(self.document, cut)

    def test_a_constant_of_another_shape_is_refused(self) -> None:
        assert "type" in self.edit(np.zeros((1, 1, 3, 3), "float32"))

    def test_a_constant_of_another_dtype_is_refused(self) -> None:
        assert "type" in self.edit(np.zeros((32, 1, 3, 3), "int32"))


def refusal_with_extern(document: bytes, change: Any) -> str:
    return refusal(document, change).message.english


def save_constant(array: Any) -> bytes:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1,), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.const(array, str(array.dtype))))
    return save(bb.get())
