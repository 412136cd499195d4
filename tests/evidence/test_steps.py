"""Reading the steps of a schedule off the scheduled function."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tvm import s_tir

from grader.evidence.steps import NO_STEPS, find_steps, is_unscheduled
from grader.ir.facts import Block, BufferFacts, Store
from grader.ir.read import read_module
from tests.evidence import products, schedules
from tests.evidence.factory import (
    PLAIN,
    WEIGHT,
    block,
    convolution,
    init,
    loops,
    padded_update,
    padding,
    tensor,
    update,
)
from tests.ir import modules

BASE = convolution(padding(), padded_update())


COARSE = {"inline", "reorganize", "decompose", "annotate"}
ALL = {*COARSE, "split", "reorder", "fuse", "vectorize", "contiguous", "unroll", "parallel"}


def steps(*blocks, base=BASE, allocations=()) -> set[str]:
    """The steps in coarse words; the loops of these blocks do not say which axis they go along."""
    return COARSE & find_steps(convolution(*blocks, allocations=allocations), base, WEIGHT)


class TestSteps:
    def test_an_untouched_function_shows_no_step(self):
        assert set() == steps(padding(), padded_update())

    def test_an_untouched_function_shows_no_step_where_its_base_is_unknown(self):
        assert set() == steps(padding(), padded_update(), base=None)

    def test_inlining_shows_by_the_missing_padding_block(self):
        assert {"inline"} == steps(update())

    def test_a_padding_that_never_was_is_no_step_by_itself(self):
        assert set() == steps(update(), base=convolution(update()))

    def test_a_padding_that_never_was_counts_as_inlined_beside_another_step(self):
        blocks = (init(), update(has_init=False))
        assert {"inline", "decompose"} == steps(*blocks, base=convolution(update()))

    def test_splitting_shows_by_other_extents(self):
        assert "reorganize" in steps(padding(), padded_update(loops(4, 8, 4, 26, 26, 1, 3, 3)))

    def test_a_base_that_is_made_up_makes_no_step_of_a_plain_nest(self):
        forged = convolution(padding(), padded_update(loops(128, 26, 26, 1, 3, 3)))
        assert "reorganize" not in steps(padding(), padded_update(), base=forged)

    def test_reordering_shows_by_the_order_of_the_extents(self):
        assert "reorganize" in steps(padding(), padded_update(loops(4, 26, 26, 32, 1, 3, 3)))

    def test_an_order_that_was_written_so_from_the_beginning_is_no_step(self):
        nest = loops(4, 26, 26, 32, 1, 3, 3)
        base = convolution(padding(), padded_update(nest))
        assert "reorganize" not in steps(padding(), padded_update(nest), base=base)

    def test_decomposing_shows_by_an_initialising_block_of_its_own(self):
        assert "decompose" in steps(padding(), init(), padded_update(has_init=False))

    def test_a_reduction_that_was_never_initialised_is_not_decomposed(self):
        assert "decompose" not in steps(padding(), padded_update(has_init=False))

    def test_an_annotated_loop_of_the_initialisation_counts(self):
        annotated = init(loops(4, 32, 26, 26, kind="vectorized"))
        assert "annotate" in steps(padding(), annotated, padded_update(has_init=False))

    def test_an_annotated_loop_of_another_block_does_not_count(self):
        assert "annotate" not in steps(padding("parallel"), padded_update())

    def test_a_function_that_does_not_load_the_weight_shows_no_step(self):
        assert set() == steps(padding())


class TestLoopsOfOneIteration:
    """They are no loops, neither reorganised nor annotated."""

    def test_splitting_them_off_is_no_reorganisation(self):
        nest = loops(1, 4, 32, 26, 26, 1, 3, 1, 3)
        assert "reorganize" not in steps(padding(), padded_update(nest))

    def test_annotating_them_is_no_step(self):
        nest = (*loops(1, kind="unrolled"), *PLAIN)
        assert "annotate" not in steps(padding(), padded_update(nest))

    def test_a_batch_of_one_is_scheduled_like_any_other(self):
        nest = loops(1, 128, 26, 26, 9)
        assert "reorganize" in steps(padding(), padded_update(nest))


class TestDecoys:
    """Steps count for the blocks that do the convolution, and for all of them."""

    SCHEDULED = loops(4, 8, 26, 26, 4, 9, kind="parallel")

    def test_a_block_that_does_not_load_the_weight_is_no_convolution(self):
        without = update(self.SCHEDULED, loads=("x",))
        assert set() == steps(without)
        assert set() == steps(without, padding(), padded_update(), base=None)

    def test_a_block_that_does_too_little_is_no_convolution(self):
        assert set() == steps(update(loops(4, 8, 26, 26, 2, 9, kind="parallel")))

    def test_a_loop_that_the_store_does_not_depend_on_is_no_work(self):
        small = loops(2, 2, 2, kind="parallel")
        repeated = msgspec.structs.replace(
            update((*PLAIN, *small)), statements=(Store("out", ("x", "w"), small),)
        )
        assert set() == steps(repeated)

    def test_a_block_that_uses_the_weight_alone_is_not_judged(self):
        for loads in (("w",), ("scaled", "w")):
            scale = block("scale", "SSSS", loops(*WEIGHT), loads, "scaled")
            assert {"inline", "reorganize", "annotate"} == steps(scale, update(self.SCHEDULED))

    def test_what_is_made_of_the_weight_alone_hides_no_convolution(self):
        scale = block("scale", "SSSS", loops(*WEIGHT), ("w",), "scaled")
        blocks = (scale, update(self.SCHEDULED), update(loads=("x", "scaled")))
        assert {"inline"} == steps(*blocks)

    def test_a_small_buffer_makes_no_small_block_the_convolution(self):
        aside = (BufferFacts("aside", tensor(2, 2)),)
        bystander = update(loops(2, 2, 9, kind="parallel"), store="aside")
        assert set() == steps(bystander, allocations=aside)

    def test_a_scheduled_block_takes_no_other_ones_place(self):
        assert {"inline"} == steps(update(self.SCHEDULED), update())
        assert set() == steps(update(self.SCHEDULED), padding(), padded_update(), base=None)

    def test_blocks_that_share_the_work_are_judged_together(self):
        half = update(loops(4, 16, 13, 2, 26, 9, kind="parallel"))
        assert "reorganize" in steps(half, half)
        assert set() == steps(half)
        decomposed = msgspec.structs.replace(half, has_init=False)
        assert "decompose" in steps(init(), decomposed, decomposed)
        assert "decompose" not in steps(init(), decomposed, half)

    def test_a_sum_written_out_is_as_much_work_as_loops(self):
        nine = update(loops(4, 32, 26, 2, 13, kind="parallel"), loads=("x", *["w"] * 9))
        assert "reorganize" in steps(nine)

    def test_a_small_block_initialises_nothing(self):
        assert "decompose" not in steps(init(loops(2, 2)), update(has_init=False))

    def test_zeros_below_what_is_no_reduction_initialise_nothing(self):
        """The block overwrites them: its sum is written out, and nothing was decomposed."""
        written_out = block("conv", "SSSS", PLAIN[:4], ("pad", *["w"] * 9), "out")
        assert "decompose" not in steps(padding(), init(), written_out)

    def test_blocks_that_leave_sums_out_initialise_nothing(self):
        parts = [init(loops(4, 32, extent)) for extent in (672, 3)]
        assert "decompose" not in steps(*parts, update(has_init=False))

    def test_the_initialisation_of_a_block_that_has_its_own_does_not_count(self):
        parallel = init(loops(4, 32, 26, 26, kind="parallel"))
        assert set() == steps(parallel, update(), base=convolution(update()))


class TestHonestVariety:
    """What schedules do beside the four steps takes none of them away."""

    def allocations(self, *names):
        shapes = {"pad": (4, 1, 28, 28), "weights": WEIGHT}
        return tuple(
            BufferFacts(name, tensor(*shapes.get(name, (4, 32, 26, 26)))) for name in names
        )

    def test_a_cache_of_the_weight_stands_for_it_and_is_no_padding(self):
        cache = block("cache", "SSSS", loops(*WEIGHT), ("w",), "weights", is_copy=True)
        nest = loops(128, 26, 26, 9, kind="parallel")
        cached = update(nest, loads=("x", "weights"))
        found = steps(cache, cached, allocations=self.allocations("weights"))
        assert {"inline", "reorganize", "annotate"} == found

    def test_a_cache_of_the_output_is_no_padding(self):
        cached = update(loops(128, 26, 26, 9), store="sums")
        written = block("write", "SSSS", PLAIN[:4], ("sums",), "out", is_copy=True)
        found = steps(cached, written, allocations=self.allocations("sums"))
        assert {"inline", "reorganize"} == found

    def test_an_input_that_is_packed_for_its_loops_is_no_padding(self):
        packed = BufferFacts("packed", tensor(4, 1, 3, 3, 676))
        pack = block("pack", "SSSSSS", loops(4, 9, 26, 26), ("x",), "packed", is_copy=True)
        reads_packed = update(loops(128, 676, 9), loads=("packed", "w"))
        found = steps(pack, reads_packed, allocations=(packed,))
        assert {"inline", "reorganize"} == found

    def test_a_padding_that_is_packed_is_still_there(self):
        buffers = (*self.allocations("pad"), BufferFacts("packed", tensor(4, 1, 3, 3, 676)))
        pack = block("pack", "SSSSSS", loops(4, 9, 26, 26), ("pad",), "packed", is_copy=True)
        reads_packed = update(loops(128, 676, 9), loads=("packed", "w"))
        assert "inline" not in steps(padding(), pack, reads_packed, allocations=buffers)

    def test_the_parts_of_a_loop_are_decomposed_one_by_one(self):
        parts = [
            each
            for extent in (672, 4)
            for each in (
                init(loops(4, 32, extent)),
                update(loops(4, 32, extent, 9), has_init=False),
            )
        ]
        assert {"inline", "reorganize", "decompose"} == steps(*parts)

    def test_sums_that_begin_with_the_bias_are_no_padding(self):
        bias = block("bias", "SSSS", PLAIN[:4], ("b",), "out", is_copy=True)
        assert "inline" in steps(bias, update(loops(128, 26, 26, 9), has_init=False))

    def test_a_tile_that_does_not_divide_does_more_than_all(self):
        assert "reorganize" in steps(padding(), padded_update(loops(4, 32, 26, 7, 4, 1, 3, 3)))

    def test_sums_in_a_small_buffer_are_the_convolution_still(self):
        nest = loops(4, 32, 26, 2, 13, 9)
        sums = (BufferFacts("sums", tensor(13)),)
        blocks = (init(loops(13), store="sums"), update(nest, has_init=False, store="sums"))
        found = steps(*blocks, allocations=sums)
        assert {"inline", "reorganize", "decompose"} == found

    def test_extents_that_are_not_known_are_trusted(self):
        nest = (*loops(4, 8), *loops(*[None], kind="parallel"), *loops(26, 9))
        assert "annotate" in steps(update(nest))

    def test_a_reduction_in_the_block_around_is_decomposed_with_it(self):
        outer = block("outer", "SSSSRRR", (), (), "out")
        outer = msgspec.structs.replace(outer, statements=(), loads=(), stores=())
        inner = msgspec.structs.replace(update(has_init=False, parent=1), iterators="SS")
        assert "decompose" in steps(init(), outer, inner)
        own = msgspec.structs.replace(outer, has_init=True)
        assert "decompose" not in steps(init(), own, inner)


class TestRealSchedules:
    """What TVM's primitives leave behind, on a convolution of batch 4, 8 channels, 6 by 8."""

    NAME = "conv2d"

    def steps(self, schedule, layer="topi", base=True) -> set[str]:
        module = schedules.model(layer)
        made = s_tir.Schedule(module)
        schedule(made)
        before, after = (
            read_module(modules.save(each)).functions[self.NAME] for each in (module, made.mod)
        )
        return set(find_steps(after, before if base else None, schedules.WEIGHT))

    def on_loops(self, change, **options) -> set[str]:
        def schedule(sch):
            block = sch.get_sblock("mine", self.NAME)
            change(sch, block, *sch.get_loops(block))

        return self.steps(schedule, "hand_written", **options)

    def test_all_primitives_together(self):
        found = self.steps(schedules.schedule_topi)
        assert ALL - {"fuse"} == found
        assert ALL - {"fuse"} == self.steps(schedules.schedule_topi, base=False)

    def test_a_schedule_that_does_nothing(self):
        assert set() == self.steps(lambda sch: None)
        assert set() == self.steps(lambda sch: None, base=False)

    def test_a_split_loop(self):
        found = self.on_loops(lambda sch, block, n, f, *rest: sch.split(f, [None, 4]))
        assert {"split", "reorganize", "inline"} == found

    def test_a_split_loop_of_the_sum(self):
        def change(sch, block, n, f, y, x, ry, rx):
            sch.split(rx, [None, 2])

        assert {"split", "reorganize", "inline"} == self.on_loops(change)

    def test_a_split_by_one_is_none(self):
        assert set() == self.on_loops(lambda sch, block, n, f, *rest: sch.split(f, [None, 1]))

    def test_reordered_loops(self):
        def change(sch, block, n, f, *rest):
            sch.reorder(f, n)

        assert {"reorder", "reorganize", "inline"} == self.on_loops(change)

    def test_a_sum_outside_of_the_output(self):
        def change(sch, block, n, f, y, x, ry, rx):
            sch.reorder(ry, rx, x)

        assert "reorder" in self.on_loops(change)

    def test_fused_loops(self):
        found = self.on_loops(lambda sch, block, n, f, *rest: sch.fuse(n, f))
        assert {"fuse", "reorganize", "inline"} == found

    def test_loops_that_are_fused_and_split_again(self):
        def change(sch, block, n, f, *rest):
            sch.split(sch.fuse(n, f), [None, 16])

        assert {"fuse", "split", "reorganize", "inline"} == self.on_loops(change)

    def test_a_loop_along_memory_is_vectorized_contiguously(self):
        def change(sch, block, n, f, y, x, *window):
            sch.vectorize(sch.split(x, [None, 4])[1])

        assert {"vectorize", "contiguous", "annotate"} <= self.on_loops(change)

    def test_a_loop_across_memory_is_vectorized_and_scattered(self):
        for axis in (0, 1, 2):
            found = self.on_loops(lambda sch, block, *loops, at=axis: sch.vectorize(loops[at]))
            assert ("vectorize" in found, "contiguous" in found) == (True, False)

    def test_rows_that_were_fused_lie_side_by_side(self):
        def change(sch, block, n, f, y, x, *window):
            sch.vectorize(sch.split(sch.fuse(y, x), [None, 16])[1])

        assert "contiguous" in self.on_loops(change)

    def test_each_annotation_is_seen_by_itself(self):
        for name in ("parallel", "unroll"):
            found = self.on_loops(lambda sch, block, n, *rest, way=name: getattr(sch, way)(n))
            assert {"inline", "annotate", name} == found

    def test_an_annotated_initialisation_is_no_vectorized_sum(self):
        def change(sch, block, n, *rest):
            init = sch.decompose_reduction(block, n)
            sch.vectorize(sch.get_loops(init)[-1])

        assert {"inline", "decompose", "annotate"} == self.on_loops(change)

    def test_an_order_of_the_base_is_no_step_after_a_split(self):
        """The base was written with the channels outside."""
        made = s_tir.Schedule(schedules.model("hand_written"))
        n, f, *_ = made.get_loops(made.get_sblock("mine", self.NAME))
        made.reorder(f, n)
        base = read_module(modules.save(made.mod)).functions[self.NAME]
        made.split(f, [None, 4])
        after = read_module(modules.save(made.mod)).functions[self.NAME]
        assert {"split", "reorganize", "inline"} == find_steps(after, base, schedules.WEIGHT)


class TestUnscheduled:
    """Where a schedule may begin."""

    @pytest.mark.parametrize("layer", sorted(schedules.LAYERS))
    @pytest.mark.parametrize("batch", [1, 4])
    def test_what_te_makes(self, layer, batch):
        facts = read_module(modules.save(schedules.model(layer, batch)))
        assert is_unscheduled(facts.functions["conv2d"], schedules.WEIGHT)

    @pytest.mark.parametrize(
        "change",
        [
            lambda sch, block, n, f, *rest: sch.split(f, [None, 4]),
            lambda sch, block, n, f, *rest: sch.reorder(f, n),
            lambda sch, block, n, f, *rest: sch.fuse(n, f),
            lambda sch, block, n, *rest: sch.parallel(n),
            lambda sch, block, n, f, y, x, *rest: sch.vectorize(x),
            lambda sch, block, *loops: sch.unroll(loops[-1]),
            lambda sch, block, n, *rest: sch.decompose_reduction(block, n),
            lambda sch, block, n, f, y, x, ry, rx: sch.reorder(ry, rx, x),
        ],
        ids="split reorder fuse parallel vectorize unroll decompose sum_outside".split(),  # noqa: SIM905
    )
    def test_no_single_step_passes(self, change):
        made = s_tir.Schedule(schedules.model("hand_written"))
        block = made.get_sblock("mine", "conv2d")
        change(made, block, *made.get_loops(block))
        facts = read_module(modules.save(made.mod))
        assert not is_unscheduled(facts.functions["conv2d"], schedules.WEIGHT)


class TestAnyFunction:
    """Without a weight, the steps are those of the blocks that sum up."""

    def steps(self, schedule: Any) -> set[str]:
        return set(
            find_steps(products.facts_after(schedule), products.facts_of(products.Written), ())
        )

    def test_all_steps_of_a_matrix_product_are_seen(self):
        assert {
            "split", "reorder", "reorganize", "decompose", "annotate", "parallel", "vectorize",
            "unroll", "contiguous",
        } == self.steps(products.transform)  # fmt: skip

    def test_an_unscheduled_function_shows_none(self):
        function = products.facts_of(products.Written)
        assert NO_STEPS == find_steps(function, None, ()) == find_steps(function, function, ())
        assert is_unscheduled(function, ())

    @pytest.mark.parametrize(("loop", "is_it"), [("k", True), ("k0, k1", False)])
    def test_an_axis_of_the_sum_that_is_declared_spatial_is_no_step(self, loop, is_it):
        """Its author was told that the function was changed before the schedule began."""
        split = {"k": (128,), "k0, k1": (32, 4)}[loop]
        nest = loops(16, 128, 128, *split)
        axes = ((0,), (1,), (2,), *((),) * len(split))
        store = Store("Y", ("Y", "A", "B"), nest, axes)
        summing = block("Y", "SSSS", nest, ("Y", "A", "B"), "Y", has_init=True)
        function = convolution(replace(summing, statements=(store,)))
        assert is_it == is_unscheduled(function, ())

    def test_what_is_stored_beside_a_sum_in_its_block_is_no_step(self):
        """The function has no loop fewer than it was written with."""
        function = products.facts_of(products.relu_in_every_round())
        assert NO_STEPS == find_steps(function, None, ())
        assert is_unscheduled(function, ())

    @pytest.mark.parametrize(
        ("primitive", "expected"),
        [
            ("split", {"split", "reorganize"}),
            ("reorder", {"reorder", "reorganize"}),
            ("fuse", {"fuse", "reorganize"}),
            ("parallel", {"parallel", "annotate"}),
        ],
    )
    def test_each_is_seen_by_itself(self, primitive, expected):
        def schedule(sch: Any) -> None:
            n, i, j, k = sch.get_loops(sch.get_sblock("Y", "bmm_relu"))
            arguments = {
                "split": (k, [None, 4]),
                "reorder": (k, j),
                "fuse": (n, i),
                "parallel": (n,),
            }
            getattr(sch, primitive)(*arguments[primitive])

        assert expected == self.steps(schedule)
        assert not is_unscheduled(products.facts_after(schedule), ())

    def test_steps_on_other_blocks_are_no_steps_of_the_sum(self):
        def schedule(sch: Any) -> None:
            sch.parallel(sch.get_loops(sch.get_sblock("C", "bmm_relu"))[0])

        assert set() == self.steps(schedule)
        assert not is_unscheduled(products.facts_after(schedule), ())

    def test_a_sum_of_one_place_is_not_fused(self):
        function = products.facts_of(products.of_one_place())
        assert NO_STEPS == find_steps(function, None, ())
        assert is_unscheduled(function, ())

    def test_a_bias_that_is_added_in_place_hides_no_step_of_the_sum(self):
        nest = loops(16, 8, 32, kind="parallel")
        total = storing("SSR", Store("Y", ("Y", "A", "B"), nest, ((0,), (1,), ())))
        bias = storing("SS", Store("Y", ("Y", "b"), loops(16, 8), ((0,), (1,))))
        function = convolution(total, bias)
        assert {"parallel", "annotate"} == find_steps(function, None, ())


def storing(iterators: str, store: Store) -> Block:
    """A block of a store that says which axes its loops go along."""
    made = block("made", iterators, store.loops, store.loads, store.buffer)
    return msgspec.structs.replace(made, statements=(store,))
