"""PrimFuncs: buffers, loops and blocks, as schedules leave them."""

from __future__ import annotations

import pytest

from grader.ir.facts import Block, BufferFacts, FunctionFacts, TensorFacts
from grader.ir.read import read_module
from tests.ir.modules import (
    TOPI,
    conv_model,
    decomposed_padding,
    emit,
    extern_model,
    hand_written_conv,
    save,
    scheduled_conv,
    scheduled_product,
    twins,
)
from tests.ir.scripts import exercises, flat_tir, script_relax, stores


def product(name: str) -> FunctionFacts:
    """Return the facts of the matrix product after one of the schedules."""
    return read_module(save(scheduled_product(name))).functions["mm_relu"]


def block(function: FunctionFacts, name: str) -> Block:
    return next(item for item in function.blocks if item.name == name)


def loops(item: Block) -> list[tuple[str, int | None, str]]:
    return [(loop.variable, loop.extent, loop.kind) for loop in item.loops]


@pytest.fixture(scope="module")
def conv2d(conv: bytes) -> FunctionFacts:
    """The convolution before any schedule."""
    return read_module(conv).functions["conv2d"]


@pytest.fixture(scope="module")
def scheduled() -> FunctionFacts:
    """The convolution after the reference schedule."""
    return read_module(save(scheduled_conv())).functions["conv2d"]


class TestUnscheduled:
    """The convolution as TOPI makes it."""

    def test_parameters_and_allocations(self, conv2d: FunctionFacts) -> None:
        shapes = {item.name: item.tensor.shape for item in conv2d.parameters}
        assert {
            "x": (4, 1, 28, 28),
            "B": (32, 1, 3, 3),
            "conv2d_nchw": (4, 32, 26, 26),
        } == shapes
        tensor = TensorFacts(shape=(4, 1, 28, 28), dtype="float32")
        assert (BufferFacts(name="pad_temp", tensor=tensor),) == conv2d.allocations

    def test_blocks_are_in_order_without_the_root(self, conv2d: FunctionFacts) -> None:
        assert ["pad_temp", "conv2d_nchw"] == [item.name for item in conv2d.blocks]

    def test_the_padding_is_a_copy(self, conv2d: FunctionFacts) -> None:
        padding = block(conv2d, "pad_temp")
        assert padding.is_copy
        assert not padding.is_constant_store
        assert ("SSSS", False) == (padding.iterators, padding.has_init)
        assert (("x",), ("pad_temp",)) == (padding.loads, padding.stores)

    def test_the_convolution_is_a_reduction_with_its_own_init(self, conv2d: FunctionFacts) -> None:
        conv = block(conv2d, "conv2d_nchw")
        assert ("SSSSRRR", True) == (conv.iterators, conv.has_init)
        assert not conv.is_copy
        assert not conv.is_constant_store
        assert ("conv2d_nchw", "pad_temp", "B") == conv.loads
        assert ("conv2d_nchw",) == conv.stores
        assert [4, 32, 26, 26, 1, 3, 3] == [loop.extent for loop in conv.loops]


class TestReferenceSchedule:
    """Inline, split, reorder, decompose, vectorize and parallel, all at once."""

    def test_the_padding_is_gone(self, scheduled: FunctionFacts) -> None:
        assert ["conv2d_nchw_init", "conv2d_nchw_update"] == [b.name for b in scheduled.blocks]
        assert () == scheduled.allocations

    def test_the_init_is_a_block_that_stores_a_constant(self, scheduled: FunctionFacts) -> None:
        init, update = scheduled.blocks
        assert init.is_constant_store
        assert ("SSSS", False, ()) == (init.iterators, init.has_init, init.loads)
        assert not update.is_constant_store
        assert ("SSSSRRR", False) == (update.iterators, update.has_init)
        assert init.stores == update.stores == ("conv2d_nchw",)

    def test_loops_are_split_reordered_and_annotated(self, scheduled: FunctionFacts) -> None:
        expected = [
            ("nn", 4, "parallel"),
            ("ff_0", 8, "serial"),
            ("yy_0", 13, "serial"),
            ("xx_0", 2, "serial"),
            ("rc", 1, "serial"),
            ("ry", 3, "serial"),
            ("rx", 3, "serial"),
            ("ff_1", 4, "unrolled"),
            ("yy_1", 2, "serial"),
            ("xx_1", 13, "vectorized"),
        ]
        assert expected == loops(scheduled.blocks[1])

    def test_other_functions_are_as_they_were(self) -> None:
        before = read_module(save(conv_model())).functions
        after = read_module(save(scheduled_conv())).functions
        assert {"conv2d"} == {name for name in before if before[name] != after[name]}


class TestSchedules:
    """Single primitives."""

    def test_a_fused_loop_has_the_product_of_the_extents(self) -> None:
        function = product("fuse")
        assert [
            ("i_j_fused", 128 * 128, "serial"),
            ("k_0", 32, "serial"),
            ("k_1", 4, "unrolled"),
        ] == loops(block(function, "Y"))

    def test_a_split_that_does_not_divide_makes_a_predicate(self) -> None:
        function = product("uneven")
        assert block(function, "C").predicated
        assert not block(function, "Y").predicated

    def test_copies_into_a_cache_are_copies(self) -> None:
        function = product("cache")
        copies = [item.name for item in function.blocks if item.is_copy]
        assert ["B_shared", "A_local", "Y_local"] == copies

    def test_a_blockized_tile_has_its_blocks_inside(self) -> None:
        function = product("blockize")
        assert [("Y_o", None), ("Y_init", 0), ("Y", 0), ("C", None)] == [
            (item.name, item.parent) for item in function.blocks
        ]
        assert block(function, "Y_o").has_init
        assert 6 == len(block(function, "Y").loops)

    def test_an_rfactor_has_two_reductions_and_a_buffer_more(self) -> None:
        function = product("rfactor")
        assert 2 == sum("R" in item.iterators for item in function.blocks)
        assert 2 == len(function.allocations)

    def test_computing_at_a_loop_shares_the_loop(self) -> None:
        function = product("compute_at")
        assert block(function, "Y").loops[0] == block(function, "C").loops[0]

    def test_a_decomposed_padding_is_a_constant_and_a_copy(self) -> None:
        blocks = read_module(save(decomposed_padding())).functions["pad"].blocks
        assert [True, False] == [item.is_constant_store for item in blocks]
        assert [False, True] == [item.is_copy for item in blocks]


class TestStores:
    """What each store needs, and the loops that it depends on."""

    def test_a_reduction_depends_on_all_of_its_loops(self, conv2d: FunctionFacts) -> None:
        (store,) = block(conv2d, "conv2d_nchw").statements
        assert ("conv2d_nchw", ("conv2d_nchw", "pad_temp", "B")) == (store.buffer, store.loads)
        assert block(conv2d, "conv2d_nchw").loops == store.loops

    def test_a_loop_that_nothing_depends_on_is_left_out(self) -> None:
        (store,) = block(written(), "again").statements
        assert ["i"] == [loop.variable for loop in store.loops]

    def test_a_loop_within_a_block_is_one_of_its_stores(self) -> None:
        (store,) = block(written(), "within").statements
        assert ["i", "j"] == [loop.variable for loop in store.loops]

    def test_every_load_counts_those_of_bound_values_too(self) -> None:
        (store,) = block(written(), "twice").statements
        assert ("A", "A") == store.loads
        assert ["i"] == [loop.variable for loop in store.loops]

    def test_a_part_of_a_buffer_goes_by_the_name_of_the_whole_and_depends_on_its_place(
        self,
    ) -> None:
        part = block(written(), "part")
        (store,) = part.statements
        assert ("B", ("A",)) == (store.buffer, store.loads)
        assert (("A",), ("B",)) == (part.loads, part.stores)
        assert ["i", "j"] == [loop.variable for loop in store.loops]

    def test_a_store_to_a_part_depends_on_its_place(self) -> None:
        (store,) = block(written(), "cleared").statements
        assert ["i"] == [loop.variable for loop in store.loops]

    def test_a_part_of_a_part_depends_on_both_places(self) -> None:
        (store,) = block(written(), "inner").statements
        assert ("A",) == store.loads
        assert ["i", "j"] == [loop.variable for loop in store.loops]

    def test_buffers_of_one_name_are_told_apart(self) -> None:
        function = read_module(save(twins())).functions["twins"]
        assert ["T_reshape'1", "T_reshape"] == [each.stores[0] for each in function.blocks]
        assert ("T_reshape'1",) == function.blocks[1].loads
        names = [item.name for item in (*function.allocations, *function.parameters)]
        assert sorted({"T_reshape", "T_reshape'1", "x"}) == sorted(names)


def written() -> FunctionFacts:
    return read_module(save(stores())).functions["stores"]


class TestOtherPrograms:
    """What is not a schedule of an emit_te function."""

    def test_flat_tensor_ir_has_no_blocks(self) -> None:
        function = read_module(save(flat_tir())).functions["plain"]
        assert () == function.blocks
        assert ["t"] == [item.name for item in function.allocations]

    def test_a_scalar_parameter_has_an_empty_shape(self) -> None:
        function = read_module(save(flat_tir())).functions["local"]
        assert TensorFacts(shape=(), dtype="int32") == function.parameters[2].tensor

    def test_accesses_within_a_block_are_found_whatever_it_declares(self) -> None:
        body = read_module(save(flat_tir())).functions["local"].blocks[0]
        assert ("acc", "A") == body.loads
        assert ("acc", "B") == body.stores
        assert body.predicated

    def test_what_an_init_does_is_not_what_the_body_does(self) -> None:
        body = read_module(save(flat_tir())).functions["start"].blocks[0]
        assert ("C", "A") == body.loads
        assert body.has_init
        assert not body.is_constant_store

    def test_symbolic_extents_are_names(self) -> None:
        function = read_module(save(script_relax()), ("env.*",)).functions["linear0"]
        assert ("n", "m") == function.parameters[1].tensor.shape
        assert [1, None, None] == [loop.extent for loop in function.blocks[0].loops]

    def test_a_bias_that_is_fused_is_a_block_of_its_own(self) -> None:
        function = read_module(save(hand_written_conv())).functions["conv"]
        assert ["acc", "out"] == [item.name for item in function.blocks]
        assert not function.blocks[1].is_copy

    def test_a_parallel_loop_around_blocks_is_seen(self) -> None:
        function = read_module(save(exercises())).functions["bmm_relu"]
        assert ("n", 16, "parallel") == loops(function.blocks[0])[0]

    @pytest.mark.parametrize(
        ("name", "copy"),
        [("reshape", True), ("transpose", True), ("take", False), ("add", False), ("cast", False),
         ("concatenate", False), ("where", False)],
    )  # fmt: skip
    def test_only_what_hands_on_one_buffer_is_a_copy(self, name: str, copy: bool) -> None:
        module = read_module(save(emit(*TOPI[name], name="f")))
        assert copy == module.functions["f"].blocks[-1].is_copy

    def test_an_extern_model_has_only_the_functions_that_are_left(self) -> None:
        assert {"relu"} == read_module(save(extern_model()), ("env.*",)).functions.keys()
