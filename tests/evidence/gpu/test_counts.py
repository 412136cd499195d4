"""Counters of known kernels, against numbers that were worked out by hand."""

from grader.evidence.gpu.inside.execution import Program
from grader.evidence.gpu.inside.lowering import lower
from grader.evidence.gpu.messages import KernelCounts, Traffic, Waits
from tests.evidence.gpu import written
from tests.evidence.gpu.running import execute
from tests.evidence.gpu.schedules import Example, addition, product, row_sums, transposition


def _count(example: Example) -> KernelCounts:
    lowered = lower(example.module, "main", "sm_80")
    arrays = example.arrays()
    program = Program(lowered.function, lowered.shapes)
    (counts,) = program.execute(arrays, [len(arrays) - 1]).counts()
    return counts


def _of(counts: KernelCounts, buffer: str, kind: str) -> Traffic:
    (found,) = (each for each in counts.traffic if (each.buffer, each.kind) == (buffer, kind))
    return found


def test_an_addition_moves_each_element_once() -> None:
    counts = _count(addition(1024, 128))
    assert ((8, 1, 1), (128, 1, 1), 8) == (counts.grid, counts.block, counts.executed)
    assert 1024 == counts.operations == counts.issued
    for buffer, kind in (("A", "load"), ("B", "load"), ("C", "store")):
        moved = _of(counts, buffer, kind)
        assert (32, 4096, 128, 128) == (moved.requests, moved.bytes, moved.units, moved.least)


def test_idle_threads_of_a_ragged_block_are_counted() -> None:
    counts = _count(addition(100, 32))
    assert (100, 128) == (counts.operations, counts.issued)


def test_vectors_of_four_take_a_quarter_of_the_requests() -> None:
    counts = _count(addition(1024, 32, vector=4))
    moved = _of(counts, "A", "load")
    assert (8, 4096, 128, 128) == (moved.requests, moved.bytes, moved.units, moved.least)


def test_a_transposition_stores_rows_and_loads_columns() -> None:
    # A warp has two rows of sixteen threads: it loads from sixteen rows two neighbours each.
    counts = _count(transposition(64, shared=False))
    load, store = _of(counts, "A", "load"), _of(counts, "C", "store")
    assert (128, 128 * 16, 128 * 4) == (load.requests, load.units, load.least)
    assert (128, 128 * 4, 128 * 4) == (store.requests, store.units, store.least)


def test_columns_of_shared_memory_wait_for_each_other_unless_rows_are_padded() -> None:
    # A warp reads two columns. Of rows of sixteen words eight lie in one bank. Of rows of seventeen
    # word 0 and word 15 * 17 + 1 = 256 alone lie in one bank, the first.
    plain, padded = _count(transposition(64)), _count(transposition(64, pad=1))
    assert (128, 128 * 8) == (_read(plain).requests, _read(plain).units)
    assert (128, 128 * 2) == (_read(padded).requests, _read(padded).units)
    assert (1024, 1088) == (plain.shared_bytes, padded.shared_bytes)


def _read(counts: KernelCounts) -> Traffic:
    return _of(counts, "A_shared", "load")


def test_a_naive_product_reads_both_matrices_for_each_operation() -> None:
    counts = _count(product(32, 8, 1, 8, shared=False))
    assert 2 * 32**3 == counts.operations
    # 32 warps of four rows and eight columns, 32 steps: of A four elements, of B eight neighbours.
    a, b = _of(counts, "A", "load"), _of(counts, "B", "load")
    assert (32 * 32, 32 * 32 * 4) == (a.requests, a.units)
    assert (32 * 32, 32 * 32) == (b.requests, b.units)


def test_what_a_compiler_keeps_in_registers_is_loaded_once() -> None:
    # A tile of 2 x 2: two elements of each matrix for four products, not four.
    counts = _count(product(32, 4, 2, 8, shared=False))
    a = _of(counts, "A", "load")
    warps, steps = 16, 32
    assert warps * steps * 2 == a.requests
    # Another order leaves no room for the values of the loops within.
    assert a.requests == _of(counts, "B", "load").requests


def test_tiles_in_shared_memory_are_fetched_once_for_a_block() -> None:
    counts = _count(product(32, 4, 2, 8))
    blocks, steps, elements = 16, 4, 8 * 8
    assert blocks * steps * elements * 4 == _of(counts, "A", "load").bytes
    assert blocks * steps * elements * 4 == _of(counts, "A_shared", "store").bytes


def test_a_sum_by_all_threads_loads_rows_together() -> None:
    counts = _count(row_sums(8, 128, 32))
    moved = _of(counts, "A", "load")
    assert (32, 128, 128) == (moved.requests, moved.units, moved.least)


def test_work_of_one_thread_leaves_its_warp_idle() -> None:
    (counts,) = execute(written.by_one_thread).counts()
    assert (64, 64 * 32) == (counts.operations, counts.issued)
    assert Waits(0, 0, 64) == counts.waits


def test_counts_are_the_same_at_every_execution() -> None:
    assert _count(product()) == _count(product())
