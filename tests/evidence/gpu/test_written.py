"""Kernels written by hand: what is wrong with each, and with which threads and elements."""

import numpy as np
import pytest

from grader.evidence.gpu.messages import Finding
from tests.evidence.gpu import written
from tests.evidence.gpu.running import arrays_of, execute


def _only(findings: tuple[Finding, ...]) -> Finding:
    (finding,) = findings
    return finding


class TestRight:
    """Kernels without a fault."""

    def test_a_barrier_lets_threads_read_what_others_stored(self) -> None:
        execution = execute(written.reversed_blocks)
        given = arrays_of(written.reversed_blocks)[0]
        assert () == execution.findings
        np.testing.assert_array_equal(given.reshape(2, 64)[:, ::-1].ravel(), execution.outputs[0])

    def test_a_barrier_in_whole_blocks_is_no_fault(self) -> None:
        assert () == execute(written.some_blocks_wait).findings

    def test_a_sum_by_halves_is_right(self) -> None:
        execution = execute(written.tree_sum)
        given = arrays_of(written.tree_sum)[0]
        assert () == execution.findings
        desired = given.reshape(4, 64).sum(axis=1)
        np.testing.assert_allclose(execution.outputs[0], desired, rtol=1e-4)

    def test_columns_that_are_swizzled_wait_for_nobody(self) -> None:
        execution = execute(written.swizzled)
        given = arrays_of(written.swizzled)[0]
        assert () == execution.findings
        np.testing.assert_array_equal(given.T, execution.outputs[0])
        traffic = execution.counts()[0].traffic
        (load,) = (each for each in traffic if (each.buffer, each.kind) == ("S", "load"))
        assert load.units == load.least

    def test_shuffles_give_what_another_thread_has(self) -> None:
        execution = execute(written.shuffled_sums)
        given = arrays_of(written.shuffled_sums)[0]
        assert () == execution.findings
        np.testing.assert_allclose(execution.outputs[0], given.sum(axis=1), rtol=1e-4)

    def test_a_shuffle_beyond_the_warp_gives_the_own_value(self) -> None:
        execution = execute(written.shuffled_by_both)
        given = arrays_of(written.shuffled_by_both)[0]
        warps = given.reshape(8, 2, 32)
        left = np.concatenate([warps[..., :1], warps[..., :-1]], axis=2)
        np.testing.assert_array_equal((warps[..., :1] + left).reshape(8, 64), execution.outputs[0])

    def test_a_buffer_doubled_by_hand_needs_one_barrier_a_round(self) -> None:
        execution = execute(written.doubled_by_hand)
        given = arrays_of(written.doubled_by_hand)[0]
        assert () == execution.findings
        np.testing.assert_allclose(execution.outputs[0], given.sum(axis=0)[::-1], rtol=1e-5)

    def test_a_thread_may_load_what_it_stored_itself_beside_others(self) -> None:
        assert () == execute(written.stored_by_eight_each).findings

    @pytest.mark.parametrize("length", [1, 8, 13])
    def test_a_product_of_any_size_is_right(self, length: int) -> None:
        execution = execute(written.any_product, length)
        a, b, _ = arrays_of(written.any_product, length)
        assert () == execution.findings
        np.testing.assert_allclose(execution.outputs[0], a @ b, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("length", [1, 31, 32, 100])
    def test_a_length_that_the_caller_gives_is_bound(self, length: int) -> None:
        execution = execute(written.any_length, length)
        given = arrays_of(written.any_length, length)[0]
        assert () == execution.findings
        np.testing.assert_allclose(execution.outputs[0], np.exp(given), rtol=1e-6)

    def test_halves_stay_halves(self) -> None:
        (output,) = execute(written.halves).outputs
        assert np.float16 == output.dtype

    def test_the_same_value_stored_by_all_threads_is_waste(self) -> None:
        execution = execute(written.all_store_the_same)
        assert () == execution.findings
        assert 63 * 64 * 4 == sum(each.repeated for each in execution.counts()[0].traffic)


class TestFaults:
    """Kernels with one fault each."""

    def test_without_a_barrier_a_thread_meets_another_ones_store(self) -> None:
        race = _only(execute(written.without_barrier).findings)
        store, load = race.accesses
        assert ("race", "S", "shared", (63,)) == (race.kind, race.buffer, race.scope, race.element)
        assert ("store", "load") == (store.kind, load.kind)
        assert (63, 0, 0) == store.thread
        assert (0, 0, 0) == load.thread
        assert "S[threadIdx.x] = A[blockIdx.x * 64 + threadIdx.x]" == store.text
        assert "B[blockIdx.x * 64 + threadIdx.x] = S[63 - threadIdx.x]" == load.text

    def test_what_several_threads_stored_others_load_behind_a_barrier(self) -> None:
        race = _only(execute(written.stored_by_eight_for_others).findings)
        assert ("race", "S") == (race.kind, race.buffer)

    def test_a_shuffle_from_a_thread_that_takes_no_part_gives_poison(self) -> None:
        (output,) = execute(written.shuffled_with_idle_threads).outputs
        assert [*range(8, 16)] == [*np.flatnonzero(np.isnan(output))]

    def test_memory_without_a_scope_belongs_to_a_thread(self) -> None:
        finding = _only(execute(written.memory_without_scope).findings)
        assert ("unwritten", "S", "own") == (finding.kind, finding.buffer, finding.scope)

    def test_rounds_without_a_barrier_are_told_from_threads_of_one_round(self) -> None:
        (race,) = execute(written.rounds_without_barrier).findings
        assert ("race", "i") == (race.kind, race.loop)
        (race,) = execute(written.neighbours_in_place).findings
        assert ("race", "") == (race.kind, race.loop)

    def test_a_condition_of_the_next_round_is_no_part_of_this_one(self) -> None:
        race = execute(written.condition_on_a_neighbour).findings[0]
        assert ("race", "i") == (race.kind, race.loop)

    def test_a_barrier_that_half_of_a_block_reaches_is_divergent(self) -> None:
        finding = _only(execute(written.divergent).findings)
        assert "divergent_barrier" == finding.kind
        assert finding.before.startswith("S[")
        assert finding.text.startswith("B[")

    def test_shared_memory_that_nobody_stored_is_seen(self) -> None:
        finding = _only(execute(written.unwritten).findings)
        assert ("unwritten", "S", (64,)) == (finding.kind, finding.buffer, finding.element)
        assert (63, 0, 0) == finding.accesses[0].thread

    def test_a_sum_that_begins_nowhere_is_seen(self) -> None:
        execution = execute(written.sum_without_start)
        finding = _only(execution.findings)
        assert ("unwritten", "s", "local") == (finding.kind, finding.buffer, finding.scope)
        assert np.isnan(execution.outputs[0][0])

    def test_an_access_behind_the_end_is_seen(self) -> None:
        finding = _only(execute(written.beyond).findings)
        assert ("bounds", "A", (128,)) == (finding.kind, finding.buffer, finding.element)
        assert ((1, 0, 0), (63, 0, 0)) == (finding.accesses[0].block, finding.accesses[0].thread)

    def test_elements_have_the_indices_that_their_author_wrote(self) -> None:
        """`S[16, 2]` was told as `S[530]`, and `A[8, 0]`, behind the end, as `A[1024]`."""
        unwritten, beyond = execute(written.rows).findings
        assert ("unwritten", "S", (16, 2)) == (unwritten.kind, unwritten.buffer, unwritten.element)
        assert ("bounds", "A", (8, 0)) == (beyond.kind, beyond.buffer, beyond.element)

    def test_blocks_that_store_one_element_race(self) -> None:
        finding = _only(execute(written.blocks_meet).findings)
        assert "block_race" == finding.kind
        assert {(0, 0, 0), (1, 0, 0)} == {each.block for each in finding.accesses}

    def test_threads_that_add_to_one_element_race(self) -> None:
        finding = _only(execute(written.threads_add_to_one).findings)
        assert ("race", "global") == (finding.kind, finding.scope)

    def test_a_barrier_orders_no_other_block(self) -> None:
        kinds = {each.kind for each in execute(written.next_block_reads).findings}
        assert {"block_race"} == kinds
