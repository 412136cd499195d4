"""A task from its module to its answer, and what is not executed here."""

# ruff: noqa: N803, N806

import numpy as np
import pytest
import tvm
from tvm import IRModule
from tvm.script import tirx as T  # noqa: N812 - TVM's own name for it

from grader.evidence.gpu.inside.entry import perform
from grader.evidence.gpu.messages import KernelsRun, NotExecuted, RunKernels
from grader.messages.frames import pack_array, unpack_array
from tests.evidence.gpu.more_schedules import factored_by_two_kernels as by_two_sizes
from tests.evidence.gpu.running import arrays_of
from tests.evidence.gpu.schedules import product, two_kernels


def _task(module: IRModule, arrays: list, name: str = "main", **changes: object) -> RunKernels:
    document = tvm.ir.save_json(module).encode()
    packed = tuple(map(pack_array, arrays))
    outputs = (len(arrays) - 1,)
    return RunKernels(document, name, packed, outputs, "sm_80", **changes)


def test_outputs_findings_and_counts_come_back() -> None:
    example = product(16)
    arrays = example.arrays()
    answer = perform(_task(example.module, arrays))
    assert isinstance(answer, KernelsRun)
    desired = example.answer(*arrays[:-1])
    np.testing.assert_allclose(unpack_array(answer.outputs[0]), desired, rtol=1e-4, atol=1e-5)
    assert () == answer.findings
    assert 1 == len(answer.kernels)


def test_each_kernel_is_counted() -> None:
    example = two_kernels()
    answer = perform(_task(example.module, example.arrays()))
    assert isinstance(answer, KernelsRun)
    assert 2 == len(answer.kernels)


def test_the_same_task_has_the_same_answer() -> None:
    example = product(16)
    task = _task(example.module, example.arrays())
    assert perform(task) == perform(task)


@T.prim_func
def two_barriers(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer((64,), "float32", scope="shared")
        S[tx] = A[tx]
        T.tvm_storage_sync("shared")
        T.tvm_storage_sync("shared")
        B[tx] = S[63 - tx]


@pytest.mark.parametrize("audit", [True, False])
def test_a_second_barrier_is_told_where_that_was_asked_for(audit: bool) -> None:
    task = _task(IRModule({"main": two_barriers}), arrays_of(two_barriers), audit=audit)
    answer = perform(task)
    assert isinstance(answer, KernelsRun)
    assert ["needless_barrier"] * audit == [each.kind for each in answer.findings]


@T.prim_func
def on_the_host(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        B[i] = A[i]


def test_a_store_that_no_thread_executes_is_a_finding() -> None:
    answer = perform(_task(IRModule({"main": on_the_host}), arrays_of(on_the_host)))
    assert isinstance(answer, KernelsRun)
    assert ["outside_kernel"] == [each.kind for each in answer.findings]
    assert np.isnan(unpack_array(answer.outputs[0])).all()


@T.prim_func
def long_on_the_host(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
    for i in range(1000000000):
        B[0] = A[0] + T.Cast("float32", i)


def test_rounds_of_the_host_are_not_executed_one_by_one() -> None:
    answer = perform(_task(IRModule({"main": long_on_the_host}), arrays_of(long_on_the_host)))
    assert isinstance(answer, KernelsRun)
    assert ["outside_kernel"] == [each.kind for each in answer.findings]


@T.prim_func
def texture_memory(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        S = T.alloc_buffer((32,), "float32", scope="texture")
        S[tx] = A[tx]
        B[tx] = S[31 - tx]


@T.prim_func
def brain_floats(A: T.Buffer((32,), "bfloat16"), B: T.Buffer((32,), "bfloat16")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        C = T.alloc_buffer((1,), "bfloat16", scope="local")
        C[0] = A[tx]
        B[tx] = C[0]


@T.prim_func
def local_barrier(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        T.tvm_storage_sync("local")
        B[tx] = A[tx]


@T.prim_func
def global_barrier(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        T.tvm_storage_sync("global")
        B[tx] = A[tx]


@T.prim_func
def virtual_threads(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    with T.launch_thread("vthread.x", 4) as v, T.launch_thread("threadIdx.x", 8) as tx:
        B[v * 8 + tx] = A[v * 8 + tx]


@T.prim_func
def as_many_as_a_number_says(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    with T.launch_thread("threadIdx.x", T.Cast("int32", A[0])) as tx:
        B[tx] = A[tx]


@T.prim_func
def as_many_as_a_block_says(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    with T.launch_thread("blockIdx.x", 2) as bx, T.launch_thread("threadIdx.x", bx * 8 + 8) as tx:
        B[bx * 16 + tx] = A[bx * 16 + tx]


@T.prim_func
def many_kernels(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for many in range(65):  # noqa: B007
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            B[tx] = A[tx]


@pytest.mark.parametrize(
    ("function", "reason", "subject"),
    [
        (texture_memory, "scope", "texture"),
        (brain_floats, "dtype", "bfloat16"),
        (local_barrier, "barrier", "local"),
        (global_barrier, "barrier", "global"),
        (virtual_threads, "axis", "vthread.x"),
        (as_many_as_a_number_says, "statement", "load of A before a kernel"),
        (as_many_as_a_block_says, "statement", "bx before a kernel"),
        (many_kernels, "kernels", "many"),
    ],
)
def test_what_is_not_simulated_is_said(function: object, reason: str, subject: str) -> None:
    arrays = [np.zeros(32, "float32")] * 2
    answer = perform(_task(IRModule({"main": function}), arrays))
    assert NotExecuted(reason, subject) == answer


@T.prim_func
def two_sizes(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        S = T.alloc_buffer((32,), "float32", scope="shared")
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            S[bx + tx] = A[tx]
        for ty in T.thread_binding(16, thread="threadIdx.x"):
            B[ty] = S[ty] + S[ty + 16]


def test_two_extents_of_one_axis_are_told_for_tvm_takes_one_of_them() -> None:
    answer = perform(_task(IRModule({"main": two_sizes}), arrays_of(two_sizes)))
    assert NotExecuted("extents", "`threadIdx.x`: 16 / 32") == answer


@T.prim_func
def two_launches(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    with T.launch_thread("threadIdx.x", 32) as tx:
        B[tx] = A[tx]
        with T.launch_thread("threadIdx.x", 16) as ty:
            B[ty] = A[ty]


def test_two_extents_of_threads_that_are_launched_are_told_too() -> None:
    answer = perform(_task(IRModule({"main": two_launches}), arrays_of(two_launches)))
    assert NotExecuted("extents", "`threadIdx.x`: 16 / 32") == answer


def test_kernels_of_two_sizes_are_no_fault() -> None:
    example = by_two_sizes()
    answer = perform(_task(example.module, example.arrays()))
    assert isinstance(answer, KernelsRun)


@T.prim_func
def bound(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            B[bx * 16 + tx] = A[bx * 16 + tx]


@T.prim_func
def launched(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 16)
    B[bx * 16 + tx] = A[bx * 16 + tx]


def test_threads_that_are_launched_are_those_of_bound_loops() -> None:
    loops, threads = (
        perform(_task(IRModule({"main": each}), arrays_of(bound))) for each in (bound, launched)
    )
    assert loops == threads


@T.prim_func
def half_a_warp(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        B[tx] = A[T.truncmod(tx, tx - tx)]


def test_a_module_that_tvm_cannot_lower_is_no_crash() -> None:
    answer = perform(_task(IRModule({"main": half_a_warp}), arrays_of(half_a_warp)))
    assert isinstance(answer, NotExecuted)
    assert "lowering" == answer.reason
