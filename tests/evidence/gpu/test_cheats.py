"""Kernels that try to cost less than they do, or to hide what they do wrong."""

# ruff: noqa: N803, N806

import numpy as np
import pytest
from tvm.script import tirx as T  # noqa: N812 - TVM's own name for it

from grader.evidence.gpu.cost import cycles_of
from grader.evidence.gpu.devices import DEVICES
from grader.evidence.gpu.inside.failure import NotSimulatedError
from tests.evidence.gpu import written
from tests.evidence.gpu.running import execute, program_of

A100 = DEVICES["sm_80"]


@T.prim_func
def doubled(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        B[tx] = A[tx] * T.float32(2)


def test_one_thread_that_does_all_the_work_costs_what_it_waits() -> None:
    alone, together = (execute(each).counts() for each in (written.by_one_thread, doubled))
    assert cycles_of(A100, alone) > 40 * cycles_of(A100, together)


@T.prim_func
def by_table(
    A: T.Buffer((1024,), "float32"), table: T.Buffer((32,), "int32"), B: T.Buffer((32,), "float32")
):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        B[tx] = A[table[tx]]


@pytest.mark.parametrize(("stride", "units"), [(1, 4), (32, 32)])
def test_addresses_behind_a_table_are_those_that_it_holds(stride: int, units: int) -> None:
    arrays = [
        np.arange(1024, dtype="float32"),
        (np.arange(32) * stride).astype("int32"),
        np.zeros(32, "float32"),
    ]
    execution = program_of(by_table).execute(arrays, [2])
    (counts,) = execution.counts()
    (moved,) = (each.units for each in counts.traffic if each.buffer == "A")
    assert units == moved
    np.testing.assert_array_equal(np.arange(32) * stride, execution.outputs[0])


@T.prim_func
def never(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        if A[tx] > T.float32(1e30):
            for i in range(1000):
                B[i % 64] = A[i % 64]
        B[tx] = A[tx]


def test_what_is_never_done_costs_and_races_nothing() -> None:
    execution = execute(never)
    assert () == execution.findings
    (counts,) = execution.counts()
    assert 2 == sum(each.requests for each in counts.traffic if each.kind == "store")


@T.prim_func
def dead_load(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        x = T.alloc_buffer((1,), "float32", scope="local")
        for i in range(16):
            x[0] = A[(tx * 37 + i) % 64]
        B[tx] = A[tx]


def test_loads_that_nobody_uses_cost_and_hide_nothing() -> None:
    dead, plain = (execute(each).counts() for each in (dead_load, doubled))
    assert cycles_of(A100, dead) > cycles_of(A100, plain)


@T.prim_func
def other_name(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer((64,), "float32", scope="shared")
        R = T.decl_buffer((64,), "float32", data=S.data, scope="shared")
        S[tx] = A[tx]
        B[tx] = R[63 - tx]


def test_another_name_of_a_buffer_hides_no_race() -> None:
    (race,) = execute(other_name).findings
    assert ("race", "S") == (race.kind, race.buffer)


@T.prim_func
def one_memory(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer((64,), "float32", scope="shared")
        R = T.decl_buffer((64,), "float32", data=S.data, scope="shared")
        S[tx] = A[tx]
        R[tx] = A[tx] * T.float32(2)
        T.tvm_storage_sync("shared")
        B[tx] = S[63 - tx] + R[63 - tx]


def test_two_buffers_in_one_memory_are_told_with_the_store_of_the_other() -> None:
    (finding,) = execute(one_memory).findings
    assert "other_name" == finding.kind
    assert finding.accesses[0].text.startswith("R[")
    assert "S[63 - threadIdx.x]" in finding.accesses[1].text


@T.prim_func
def one_after_the_other(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer((64,), "float32", scope="shared")
        R = T.decl_buffer((64,), "float32", data=S.data, scope="shared")
        s = T.alloc_buffer((1,), "float32", scope="local")
        S[tx] = A[tx]
        T.tvm_storage_sync("shared")
        s[0] = S[63 - tx]
        T.tvm_storage_sync("shared")
        R[tx] = A[tx] * T.float32(2)
        T.tvm_storage_sync("shared")
        B[tx] = s[0] + R[63 - tx]


def test_memory_that_is_used_again_behind_a_barrier_is_no_fault() -> None:
    assert () == execute(one_after_the_other).findings


@T.prim_func
def other_type(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer((64,), "float32", scope="shared")
        R = T.decl_buffer((64,), "int32", data=S.data, scope="shared")
        S[tx] = A[tx]
        B[tx] = T.Cast("float32", R[tx])


def test_bytes_of_another_type_are_not_simulated() -> None:
    with pytest.raises(NotSimulatedError, match="DeclBuffer"):
        execute(other_type)


@T.prim_func
def half_guarded(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer((64,), "float32", scope="shared")
        S[tx] = A[tx]
        if A[tx] > T.float32(0):
            T.tvm_storage_sync("shared")
        B[tx] = S[63 - tx]


def test_a_barrier_that_data_decide_is_divergent() -> None:
    kinds = {each.kind for each in execute(half_guarded).findings}
    assert "divergent_barrier" in kinds


@T.prim_func
def too_many(A: T.Buffer((8192,), "float32"), B: T.Buffer((8192,), "float32")):
    for tx in T.thread_binding(8192, thread="threadIdx.x"):
        B[tx] = A[tx]


def test_a_block_that_no_gpu_has_is_not_executed() -> None:
    with pytest.raises(NotSimulatedError, match="8,192"):
        execute(too_many)


@T.prim_func
def large_shared(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
    for bx in T.thread_binding(4096, thread="blockIdx.x"):
        for _tx in T.thread_binding(1, thread="threadIdx.x"):
            S = T.alloc_buffer((65536,), "float32", scope="shared")
            S[0] = A[bx]
            B[bx] = S[0]


def test_shared_memory_of_many_blocks_is_not_held_at_once() -> None:
    execution = execute(large_shared)
    assert () == execution.findings
    assert 65536 * 4 == execution.counts()[0].shared_bytes


@T.prim_func
def not_in_the_first_round(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        x = T.alloc_buffer((1,), "float32", scope="local")
        x[0] = T.float32(0)
        for i in range(2):
            if i == 1:
                x[0] = A[tx]
        B[tx] = x[0]


@T.prim_func
def one_thread_a_round(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        x = T.alloc_buffer((1,), "float32", scope="local")
        x[0] = T.float32(0)
        for i in range(16):
            x[0] = T.if_then_else(tx % 16 == i, A[tx], x[0])
        B[tx] = x[0]


@pytest.mark.parametrize(
    ("function", "requests"), [(not_in_the_first_round, 1), (one_thread_a_round, 16)]
)
def test_a_load_that_a_condition_moves_to_other_rounds_is_counted_there(
    function: object, requests: int
) -> None:
    (counts,) = execute(function).counts()
    (load,) = (each for each in counts.traffic if each.buffer == "A")
    assert requests == load.requests


@T.prim_func
def few_registers(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        x = T.alloc_buffer((64,), "float32", scope="local")
        for i in range(64):
            x[i] = A[i, tx]
        for _r in range(8):
            for i in range(64):
                x[i] = x[i] * T.float32(2)
        for i in range(64):
            B[i, tx] = x[i]


@T.prim_func
def many_registers(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        x = T.alloc_buffer((1024,), "float32", scope="local")
        for i in range(64):
            x[i] = A[i, tx]
        for _r in range(8):
            for i in range(64):
                x[i] = x[i] * T.float32(2)
        for i in range(64):
            B[i, tx] = x[i]


def test_more_local_memory_than_registers_is_paid_as_global_memory() -> None:
    few, many = (execute(each).counts() for each in (few_registers, many_registers))
    assert cycles_of(A100, many) > 2 * cycles_of(A100, few)
