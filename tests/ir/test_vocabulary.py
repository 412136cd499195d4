"""Strings of a module: which pass, and how they are shown."""

from __future__ import annotations

import base64
import runpy
import struct
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from grader.ir.vocabulary import (
    SCHEMA_FILE,
    TensorError,
    TensorHeader,
    is_data_type,
    is_function_name,
    is_name,
    is_symbol,
    is_text,
    load_schema,
    read_header,
    shown,
)
from tests.ir.documents import Document, refusal, tensor
from tests.ir.modules import extern_model, save


class TestNames:
    """Names of variables, functions and registry entries."""

    @pytest.mark.parametrize("text", ["x", "conv2d_1", "<lambda>", "입력", "权重", "a.b", "i_0"])
    def test_names_in_any_script_pass(self, text: str) -> None:
        assert is_name(text)
        assert is_function_name(text)

    @pytest.mark.parametrize(
        "text", ["a\x00", "a\n", 'a"', "a'", "a`", "a\\", "\u202ea", "x" * 300]
    )
    def test_names_that_a_compiler_or_a_terminal_stumbles_over_do_not(self, text: str) -> None:
        assert not is_name(text)
        assert not is_function_name(text)

    def test_a_variable_may_be_without_a_name_and_a_function_may_not(self) -> None:
        assert is_name("")
        assert not is_function_name("")

    def test_a_symbol_is_plain_ascii(self) -> None:
        assert is_symbol("relax.nn.conv2d")
        assert not is_symbol("relax nn")
        assert not is_symbol("relá")
        assert not is_symbol("")


class TestDataTypes:
    """Data types as TVM writes them."""

    @pytest.mark.parametrize(
        "text", ["float32", "int64", "uint8x4", "bool", "bfloat16", "handle", "float8_e4m3fn"]
    )
    def test_a_data_type_passes(self, text: str) -> None:
        assert is_data_type(text)

    @pytest.mark.parametrize(
        "text", ["", "float", "float32 ", "complex64", "int64x", "int64x12345", "int0", "float00x3"]
    )
    def test_anything_else_does_not(self, text: str) -> None:
        assert not is_data_type(text)


class TestText:
    """Any string."""

    def test_lines_and_spaces_of_any_script_pass(self) -> None:
        assert is_text("a\n\tb\u3000c")

    def test_control_characters_and_endless_text_do_not(self) -> None:
        assert not is_text("\x00")
        assert not is_text("\x1b[2J")
        assert not is_text("a" * (2**16 + 1))


class TestShown:
    """What a message repeats."""

    def test_it_is_between_backquotes_without_any_of_its_own(self) -> None:
        assert "`ab`" == shown("a`b")

    def test_it_is_shortened(self) -> None:
        assert "`" + "x" * 60 + "…`" == shown("x" * 500)

    def test_it_is_printable(self) -> None:
        assert "`[31m`" == shown("\x1b[31m\n\u202e")


# --- schema ---------------------------------------------------------------------------------------
# The node schema is what reflection over the pinned TVM says.


TOOL = Path(__file__).parents[2] / "tools" / "make_ir_schema.py"


class TestLoadSchema:
    """Groups are taken apart, fields keep their rules."""

    def test_it_is_of_the_installed_tvm(self) -> None:
        assert tvm.__version__ == load_schema().tvm

    def test_groups_are_replaced_by_their_members(self) -> None:
        extent = load_schema().nodes["tirx.For"]["extent"]
        assert "ir.IntImm" in extent.types
        assert "prim.Add" in extent.types
        assert "tirx.For" not in extent.types
        assert not any(name.startswith("@") for name in extent.types)

    def test_a_loop_s_extent_is_not_optional_and_its_step_is(self) -> None:
        fields = load_schema().nodes["tirx.For"]
        assert not fields["extent"].null
        assert fields["step"].null

    def test_every_type_that_a_field_may_hold_has_rules_of_its_own(self) -> None:
        schema = load_schema()
        known = schema.nodes.keys() | schema.payloads.keys()
        for fields in schema.nodes.values():
            for rule in fields.values():
                assert rule.types <= known

    def test_nothing_that_describes_machines_or_holds_functions_is_accepted(self) -> None:
        schema = load_schema()
        known = schema.nodes.keys() | schema.payloads.keys()
        for name in ("ffi.Function", "ffi.Module", "target.Target", "relax.VDevice", "ffi.Object"):
            assert name not in known

    def test_the_committed_file_is_what_the_tool_writes(self) -> None:
        tool = runpy.run_path(str(TOOL))
        committed = files("grader.ir").joinpath(SCHEMA_FILE).read_text()
        assert committed == tool["_format"](tool["make_schema"]())


# --- tensors --------------------------------------------------------------------------------------
# Constants: the header is decoded, the elements are only counted.


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

        assert "not a complete tensor" in refusal_with_extern(self.document, cut)

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
