"""Reading the steps of a schedule off the scheduled function."""

from __future__ import annotations

import msgspec

from grader.ir.facts import BufferFacts, Store
from grader.referee.steps import NO_STEPS, Steps, find_steps
from tests.referee.factory import (
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

BASE = convolution(padding(), padded_update())


def steps(*blocks, base=BASE, allocations=()) -> Steps:
    return find_steps(convolution(*blocks, allocations=allocations), base, WEIGHT)


class TestSteps:
    def test_an_untouched_function_shows_no_step(self):
        assert NO_STEPS == steps(padding(), padded_update())

    def test_an_untouched_function_shows_no_step_where_its_base_is_unknown(self):
        assert NO_STEPS == steps(padding(), padded_update(), base=None)

    def test_inlining_shows_by_the_missing_padding_block(self):
        assert Steps(True, False, False, False) == steps(update())

    def test_a_padding_that_never_was_is_no_step_by_itself(self):
        assert NO_STEPS == steps(update(), base=convolution(update()))

    def test_a_padding_that_never_was_counts_as_inlined_beside_another_step(self):
        blocks = (init(), update(has_init=False))
        assert Steps(True, False, True, False) == steps(*blocks, base=convolution(update()))

    def test_splitting_shows_by_other_extents(self):
        assert steps(padding(), padded_update(loops(4, 8, 4, 26, 26, 1, 3, 3))).reorganize

    def test_a_base_that_is_made_up_makes_no_step_of_a_plain_nest(self):
        forged = convolution(padding(), padded_update(loops(128, 26, 26, 1, 3, 3)))
        assert not steps(padding(), padded_update(), base=forged).reorganize

    def test_reordering_shows_by_the_order_of_the_extents(self):
        assert steps(padding(), padded_update(loops(4, 26, 26, 32, 1, 3, 3))).reorganize

    def test_an_order_that_was_written_so_from_the_beginning_is_no_step(self):
        nest = loops(4, 26, 26, 32, 1, 3, 3)
        base = convolution(padding(), padded_update(nest))
        assert not steps(padding(), padded_update(nest), base=base).reorganize

    def test_decomposing_shows_by_an_initialising_block_of_its_own(self):
        assert steps(padding(), init(), padded_update(has_init=False)).decompose

    def test_a_reduction_that_was_never_initialised_is_not_decomposed(self):
        assert not steps(padding(), padded_update(has_init=False)).decompose

    def test_an_annotated_loop_of_the_initialisation_counts(self):
        annotated = init(loops(4, 32, 26, 26, kind="vectorized"))
        assert steps(padding(), annotated, padded_update(has_init=False)).annotate

    def test_an_annotated_loop_of_another_block_does_not_count(self):
        assert not steps(padding("parallel"), padded_update()).annotate

    def test_a_function_that_does_not_load_the_weight_shows_no_step(self):
        assert NO_STEPS == steps(padding())


class TestLoopsOfOneIteration:
    """They are no loops, neither reorganised nor annotated."""

    def test_splitting_them_off_is_no_reorganisation(self):
        nest = loops(1, 4, 32, 26, 26, 1, 3, 1, 3)
        assert not steps(padding(), padded_update(nest)).reorganize

    def test_annotating_them_is_no_step(self):
        nest = (*loops(1, kind="unrolled"), *PLAIN)
        assert not steps(padding(), padded_update(nest)).annotate

    def test_a_batch_of_one_is_scheduled_like_any_other(self):
        nest = loops(1, 128, 26, 26, 9)
        assert steps(padding(), padded_update(nest)).reorganize


class TestDecoys:
    """Steps count for the blocks that do the convolution, and for all of them."""

    SCHEDULED = loops(4, 8, 26, 26, 4, 9, kind="parallel")

    def test_a_block_that_only_declares_to_read_the_weight_is_no_convolution(self):
        declared = msgspec.structs.replace(
            update(self.SCHEDULED, loads=("x",)), reads=("out", "x", "w")
        )
        assert NO_STEPS == steps(declared)
        assert NO_STEPS == steps(declared, padding(), padded_update(), base=None)

    def test_a_block_that_does_too_little_is_no_convolution(self):
        assert NO_STEPS == steps(update(loops(4, 8, 26, 26, 2, 9, kind="parallel")))

    def test_a_loop_that_the_store_does_not_depend_on_is_no_work(self):
        small = loops(2, 2, 2, kind="parallel")
        repeated = msgspec.structs.replace(
            update((*PLAIN, *small)), statements=(Store("out", ("x", "w"), small),)
        )
        assert NO_STEPS == steps(repeated)

    def test_a_block_that_uses_the_weight_alone_is_not_judged(self):
        for loads in (("w",), ("scaled", "w")):
            scale = block("scale", "SSSS", loops(*WEIGHT), loads, "scaled")
            assert Steps(True, True, False, True) == steps(scale, update(self.SCHEDULED))

    def test_what_is_made_of_the_weight_alone_hides_no_convolution(self):
        scale = block("scale", "SSSS", loops(*WEIGHT), ("w",), "scaled")
        blocks = (scale, update(self.SCHEDULED), update(loads=("x", "scaled")))
        assert Steps(True, False, False, False) == steps(*blocks)

    def test_a_small_buffer_makes_no_small_block_the_convolution(self):
        aside = (BufferFacts("aside", tensor(2, 2)),)
        bystander = update(loops(2, 2, 9, kind="parallel"), store="aside")
        assert NO_STEPS == steps(bystander, allocations=aside)

    def test_a_scheduled_block_takes_no_other_ones_place(self):
        assert Steps(True, False, False, False) == steps(update(self.SCHEDULED), update())
        assert NO_STEPS == steps(update(self.SCHEDULED), padding(), padded_update(), base=None)

    def test_blocks_that_share_the_work_are_judged_together(self):
        half = update(loops(4, 16, 13, 2, 26, 9, kind="parallel"))
        assert steps(half, half).reorganize
        assert NO_STEPS == steps(half)
        decomposed = msgspec.structs.replace(half, has_init=False)
        assert steps(init(), decomposed, decomposed).decompose
        assert not steps(init(), decomposed, half).decompose

    def test_a_sum_written_out_is_as_much_work_as_loops(self):
        nine = update(loops(4, 32, 26, 2, 13, kind="parallel"), loads=("x", *["w"] * 9))
        assert steps(nine).reorganize

    def test_a_small_block_initialises_nothing(self):
        assert not steps(init(loops(2, 2)), update(has_init=False)).decompose

    def test_blocks_that_leave_sums_out_initialise_nothing(self):
        parts = [init(loops(4, 32, extent)) for extent in (672, 3)]
        assert not steps(*parts, update(has_init=False)).decompose

    def test_the_initialisation_of_a_block_that_has_its_own_does_not_count(self):
        parallel = init(loops(4, 32, 26, 26, kind="parallel"))
        assert NO_STEPS == steps(parallel, update(), base=convolution(update()))


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
        assert Steps(True, True, False, True) == found

    def test_a_cache_of_the_output_is_no_padding(self):
        cached = update(loops(128, 26, 26, 9), store="sums")
        written = block("write", "SSSS", PLAIN[:4], ("sums",), "out", is_copy=True)
        found = steps(cached, written, allocations=self.allocations("sums"))
        assert Steps(True, True, False, False) == found

    def test_an_input_that_is_packed_for_its_loops_is_no_padding(self):
        packed = BufferFacts("packed", tensor(4, 1, 3, 3, 676))
        pack = block("pack", "SSSSSS", loops(4, 9, 26, 26), ("x",), "packed", is_copy=True)
        reads_packed = update(loops(128, 676, 9), loads=("packed", "w"))
        found = steps(pack, reads_packed, allocations=(packed,))
        assert Steps(True, True, False, False) == found

    def test_a_padding_that_is_packed_is_still_there(self):
        buffers = (*self.allocations("pad"), BufferFacts("packed", tensor(4, 1, 3, 3, 676)))
        pack = block("pack", "SSSSSS", loops(4, 9, 26, 26), ("pad",), "packed", is_copy=True)
        reads_packed = update(loops(128, 676, 9), loads=("packed", "w"))
        assert not steps(padding(), pack, reads_packed, allocations=buffers).inline

    def test_the_parts_of_a_loop_are_decomposed_one_by_one(self):
        parts = [
            each
            for extent in (672, 4)
            for each in (
                init(loops(4, 32, extent)),
                update(loops(4, 32, extent, 9), has_init=False),
            )
        ]
        assert Steps(True, True, True, False) == steps(*parts)

    def test_sums_that_begin_with_the_bias_are_no_padding(self):
        bias = block("bias", "SSSS", PLAIN[:4], ("b",), "out", is_copy=True)
        assert steps(bias, update(loops(128, 26, 26, 9), has_init=False)).inline

    def test_a_tile_that_does_not_divide_does_more_than_all(self):
        assert steps(padding(), padded_update(loops(4, 32, 26, 7, 4, 1, 3, 3))).reorganize

    def test_sums_in_a_small_buffer_are_the_convolution_still(self):
        nest = loops(4, 32, 26, 2, 13, 9)
        sums = (BufferFacts("sums", tensor(13)),)
        blocks = (init(loops(13), store="sums"), update(nest, has_init=False, store="sums"))
        found = steps(*blocks, allocations=sums)
        assert Steps(True, True, True, False) == found

    def test_extents_that_are_not_known_are_trusted(self):
        nest = (*loops(4, 8), *loops(*[None], kind="parallel"), *loops(26, 9))
        assert steps(update(nest)).annotate

    def test_a_reduction_in_the_block_around_is_decomposed_with_it(self):
        outer = block("outer", "SSSSRRR", (), (), "out")
        outer = msgspec.structs.replace(outer, statements=(), loads=(), stores=())
        inner = msgspec.structs.replace(update(has_init=False, parent=1), iterators="SS")
        assert steps(init(), outer, inner).decompose
        own = msgspec.structs.replace(outer, has_init=True)
        assert not steps(init(), own, inner).decompose
