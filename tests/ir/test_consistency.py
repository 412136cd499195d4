"""Fields that must fit together: what a schema alone lets through and TVM does not survive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tvm import topi

from grader.errors import IRError
from grader.ir.read import read_module
from tests.inside.runner import modules
from tests.ir.documents import Document, refusal
from tests.ir.modules import conv_model, high_level, product_module, save, scheduled_product
from tests.ir.scripts import script_symbolic

PRODUCT = save(product_module())
Edit = Callable[[Document], Any]


def extent_of(field: str, kind: str, value: int) -> Edit:
    """Return an edit that gives the first node of a type a new constant for one of its fields."""

    def edit(document: Document) -> None:
        index = next(document.indices(kind))
        scalar = document.first("ir.IntImm")["ty"]
        number = {"type": "int", "data": value}
        literal = {"type": "ir.IntImm", "data": {"span": 0, "ty": scalar, "value": index}}
        document.insert(index, [number, literal])
        document.target(index + 2)["data"][field] = index + 1

    return edit


def first_item(kind: str, field: str, value: int) -> Edit:
    """Return an edit that gives the first element of an array of constants another value."""

    def edit(document: Document) -> None:
        index = next(document.indices(kind))
        items = list(document.target(document.first(kind)[field])["data"])
        scalar = document.first("ir.IntImm")["ty"]
        nodes = [
            {"type": "int", "data": value},
            {"type": "ir.IntImm", "data": {"span": 0, "ty": scalar, "value": index}},
            {"type": "ffi.Array", "data": [index + 1, *items[1:]]},
        ]
        document.insert(index, nodes)
        document.target(index + 3)["data"][field] = index + 2

    return edit


class TestLoops:
    """Loops, iterators and blocks."""

    @pytest.mark.parametrize("kind", [-1, 5, 99])
    def test_a_loop_of_an_unknown_kind_is_refused(self, kind: int) -> None:
        error = refusal(PRODUCT, lambda document: document.first("tirx.For").update(kind=kind))
        assert "a loop has an unknown kind" in error.message.english

    def test_a_loop_that_is_bound_to_no_thread_is_refused(self) -> None:
        refusal(PRODUCT, lambda document: document.first("tirx.For").update(kind=4))

    @pytest.mark.parametrize("extent", [0, -1, 2**62])
    def test_a_loop_without_a_positive_extent_is_refused(self, extent: int) -> None:
        error = refusal(PRODUCT, extent_of("extent", "tirx.For", extent))
        assert f"has the extent {extent}" in error.message.english

    @pytest.mark.parametrize("extent", [0, -1])
    def test_an_iterator_without_a_positive_domain_is_refused(self, extent: int) -> None:
        """Ranges are shared with regions, so the iterator's own is put in."""

        def edit(document: Document) -> None:
            index = next(document.indices("tirx.IterVar"))
            scalar = document.first("ir.IntImm")["ty"]
            nodes: list[dict[str, Any]] = [
                {"type": "int", "data": extent},
                {"type": "ir.IntImm", "data": {"span": 0, "ty": scalar, "value": index}},
                {"type": "ir.Range", "data": {"min": index + 1, "extent": index + 1, "span": 0}},
            ]
            document.insert(index, nodes)
            document.target(index + 3)["data"]["dom"] = index + 2

        refusal(PRODUCT, edit)

    def test_an_iterator_of_an_unknown_kind_is_refused(self) -> None:
        refusal(PRODUCT, lambda document: document.first("tirx.IterVar").update(iter_type=77))

    def test_a_block_iterator_without_a_domain_is_refused(self) -> None:
        def edit(document: Document) -> None:
            document.first("tirx.IterVar").update(dom=0, iter_type=1)

        refusal(PRODUCT, edit)

    def test_a_block_with_fewer_values_than_iterators_is_refused(self) -> None:
        def edit(document: Document) -> None:
            document.target(document.first("s_tir.SBlockRealize")["iter_values"])["data"].pop()

        refusal(PRODUCT, edit)


class TestBuffers:
    """Buffers and accesses to them."""

    @pytest.mark.parametrize("extent", [0, -1, 2**62])
    def test_a_buffer_without_positive_extents_is_refused(self, extent: int) -> None:
        refusal(PRODUCT, first_item("tirx.BufferType", "shape", extent))

    def test_an_access_with_another_number_of_indices_is_refused(self) -> None:
        def edit(document: Document) -> None:
            load = document.first("ir.TensorLoad")
            load["indices"] = document.first("tirx.BufferType")["strides"]

        assert "2 dimensions, but is used with 0 indices" in refusal(PRODUCT, edit).message.english

    def test_an_access_to_something_that_is_no_buffer_is_refused(self) -> None:
        def edit(document: Document) -> None:
            document.last("tirx.BufferStore")["buffer"] = document.first("tirx.For")["loop_var"]

        assert "not a buffer" in refusal(PRODUCT, edit).message.english

    @pytest.mark.parametrize("field", ["data_alignment", "offset_factor"])
    @pytest.mark.parametrize("value", [-1, 2**40])
    def test_an_alignment_out_of_range_is_refused(self, field: str, value: int) -> None:
        def edit(document: Document) -> None:
            document.first("tirx.BufferType")[field] = value

        refusal(PRODUCT, edit)

    def test_strides_that_do_not_fit_the_shape_are_refused(self) -> None:
        def edit(document: Document) -> None:
            at = next(document.indices("tirx.BufferType"))
            one = next(document.indices("ir.IntImm"))
            document.insert(at, [{"type": "ffi.Array", "data": [one]}])
            document.target(at + 1)["data"]["strides"] = at

        refusal(PRODUCT, edit)

    @pytest.mark.parametrize("dtype", ["int24", "int48", "float32x3", "int4", "handle"])
    def test_items_that_llvm_makes_larger_than_tvm_are_refused(self, dtype: str) -> None:
        """Of 1000 items of 24 bits, TVM allocates 3000 bytes, and the last is at 3996."""

        def edit(document: Document) -> None:
            item = document.first("tirx.BufferType")["dtype"]
            document.target(item)["data"]["dtype"] = dtype

        assert f"items of type `{dtype}`" in refusal(PRODUCT, edit).message.english

    def test_a_buffer_at_an_address_is_refused(self) -> None:
        def edit(document: Document) -> None:
            kind = document.first("tirx.BufferType")
            kind["allocated_addr"] = kind["shape"]

        assert "address" in refusal(PRODUCT, edit).message.english


class TestScalars:
    """Literals and types."""

    @pytest.mark.parametrize("dtype", ["float32", "handle", ""])
    def test_an_integer_of_another_type_is_refused(self, dtype: str) -> None:
        def edit(document: Document) -> None:
            document.target(document.first("ir.IntImm")["ty"])["data"]["dtype"] = dtype

        refusal(PRODUCT, edit)

    @pytest.mark.parametrize(("dtype", "value"), [("int8", 1000), ("uint8", -1), ("bool", 2)])
    def test_an_integer_that_its_type_does_not_hold_is_refused(
        self, dtype: str, value: int
    ) -> None:
        def edit(document: Document) -> None:
            literal = document.first("ir.IntImm")
            document.target(literal["ty"])["data"]["dtype"] = dtype
            document.target(literal["value"])["data"] = value

        assert "an integer does not fit its type" in refusal(PRODUCT, edit).message.english

    def test_a_floating_point_number_of_an_integer_type_is_refused(self) -> None:
        def edit(document: Document) -> None:
            document.first("ir.FloatImm")["ty"] = document.first("ir.IntImm")["ty"]

        refusal(PRODUCT, edit)

    @pytest.mark.parametrize("rank", [-2, 3, 99])
    def test_a_tensor_of_another_rank_than_its_shape_is_refused(self, rank: int) -> None:
        def edit(document: Document) -> None:
            document.first("relax.TensorType")["ndim"] = rank

        refusal(save(script_symbolic()), edit)

    def test_a_length_that_topi_does_not_work_out_is_no_damage(self) -> None:
        def flattened(builder: Any, x: Any) -> Any:
            return builder.emit_te(topi.reshape, x, (2, -1))

        with pytest.raises(IRError) as caught:
            read_module(save(modules.one_argument(flattened, (2, 3, 4))))
        assert "A tensor in the module has the shape (2, -1)." == caught.value.message.english
        assert "In place of -1, write the number" in caught.value.hint.english

    @pytest.mark.parametrize("position", [-1, 3, 2**40])
    def test_an_element_that_a_tuple_does_not_have_is_refused(self, position: int) -> None:
        def edit(document: Document) -> None:
            document.first("ir.TupleGetItem")["index"] = position

        refusal(save(high_level()), edit)


class TestNames:
    """Names, and the table of functions."""

    @pytest.mark.parametrize("name", ["a\x7f", 'Y"', "Y`", "\u202eY", "Y" * 300])
    def test_a_variable_with_an_odd_name_is_refused(self, name: str) -> None:
        refusal(PRODUCT, lambda document: document.set_text("A", name))

    @pytest.mark.parametrize("name", ["", "mm relu\n", "mm'relu"])
    def test_a_function_with_an_odd_name_is_refused(self, name: str) -> None:
        refusal(PRODUCT, lambda document: document.set_text("mm_relu", name))

    def test_an_operator_with_an_odd_name_is_refused(self) -> None:
        document = save(conv_model())

        def edit(document: Document) -> None:
            document.nodes[next(document.indices("ir.Op"))]["data"] = "tirx exp"

        refusal(document, edit)

    def test_a_block_with_an_odd_name_is_refused(self) -> None:
        document = save(scheduled_product("tile"))
        refusal(document, lambda document: document.set_text("Y_init", "Y\\init"))

    def test_a_table_of_names_that_says_something_else_is_refused(self) -> None:
        def edit(document: Document) -> None:
            table = document.target(document.first("ir.IRModule")["global_var_map_"])["data"]
            table[0] = next(i for i in document.indices("ffi.String") if i != table[0])

        assert "names do not match its functions" in refusal(PRODUCT, edit).message.english

    def test_a_function_symbol_that_is_no_string_is_refused(self) -> None:
        def edit(document: Document) -> None:
            table = document.target(document.first("ir.DictAttrs")["__dict__"])["data"]
            symbol = next(i for i in table[::2] if document.target(i)["data"] == "global_symbol")
            at = table.index(symbol)
            table[at + 1] = next(i for i in table[1::2] if document.target(i)["type"] == "bool")

        assert "symbol" in refusal(PRODUCT, edit).message.english
