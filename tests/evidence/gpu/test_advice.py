"""The first advice for a kernel that takes many cycles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs
from tvm.script import from_source
from tvm.script import ir as I  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.evidence.case import Case, Evidence, Outputs
from grader.evidence.gpu.checks import CostOptions, gpu_cost, gpu_equivalence, gpu_fits
from grader.evidence.gpu.devices import DEVICES
from grader.evidence.gpu.found import FoundKernels
from grader.evidence.gpu.gather import explain_not_executed
from grader.evidence.gpu.inside.execution import Program
from grader.evidence.gpu.inside.lowering import lower
from grader.evidence.gpu.messages import Finding, KernelCounts, NotExecuted
from grader.evidence.gpu.view import show_kernels
from grader.report import Grid, Paragraph
from tests.evidence.factory import case, module
from tests.evidence.gpu.running import execute
from tests.evidence.gpu.schedules import Example, product

OUTPUTS = Outputs(*np.zeros((2, 1, 1), np.float32), np.ones(1, np.bool_))
OPTIONS = CostOptions(naive=10_000_000, reference=1)


def counted(example: Example) -> tuple[KernelCounts, ...]:
    arrays = example.arrays()
    lowered = lower(example.module, "main", "sm_80")
    program = Program(lowered.function, lowered.shapes)
    return program.execute(arrays, [len(arrays) - 1]).counts()


def with_kernels(kernels: tuple[KernelCounts, ...]) -> Case:
    found = FoundKernels(OUTPUTS, (), kernels, DEVICES["sm_80"], scheduled=True)
    return replace(case(module()), evidence=Evidence(found={"gpu": found}))


def hint(kernels: tuple[KernelCounts, ...]) -> str:
    return gpu_cost(with_kernels(kernels), OPTIONS).hint.english


def test_what_is_too_large_is_told_where_its_cycles_count() -> None:
    """A part may have no check of its own for that: "Make them fit first" told nobody how."""
    kernels = tuple(structs.replace(each, block=(128, 9, 1)) for each in counted(product()))
    outcome = gpu_cost(with_kernels(kernels), OPTIONS)
    assert "1,152 threads" in outcome.reason.english
    assert "Bind smaller loops" in outcome.hint.english


def test_what_is_too_large_to_be_executed_does_not_fit() -> None:
    """That it was not decided is not true."""
    found = explain_not_executed(NotExecuted("threads", "21,632"))
    outcome = gpu_fits(replace(case(module()), evidence=Evidence(found={"gpu": found})), OPTIONS)
    assert "failed" == outcome.verdict
    assert "21,632 threads" in outcome.reason.english


@pytest.mark.parametrize("is_bound", [True, False])
def test_a_copy_that_no_thread_shares_is_to_be_bound(*, is_bound: bool) -> None:
    """Its author was told to use larger vectors, as what waits longest would need."""
    said = hint(counted(product(cooperative=is_bound)))
    assert is_bound != ("16 threads of a block store each element of `A_shared`" in said)


COPY = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((1024,), "float32"), C: T.Buffer((1024,), "float32")):
        for bx in T.thread_binding(16, thread="blockIdx.x"):
            with T.sblock("root"):
                S = T.sblock_alloc_buffer((64,), "float32", scope="shared")
                for tx in T.thread_binding(64, thread="threadIdx.x"):
                    for i in range(64):
                        with T.sblock("S"):
                            T.where(tx < LANES)
                            S[INDEX] = A[bx * 64 + INDEX]
                for tx in T.thread_binding(64, thread="threadIdx.x"):
                    for i in range(64):
                        with T.sblock("C"):
                            C[bx * 64 + i] = S[i]
"""


@pytest.mark.parametrize(
    ("lanes", "index", "is_told"), [(64, "i", True), (1, "i", False), (64, "0", False)]
)
def test_only_what_all_threads_store_in_a_loop_is_to_be_shared_out(
    lanes: int, index: str, *, is_told: bool
) -> None:
    """One thread filled it, and all stored the output: "each of the 64 threads" was told."""
    source = COPY.replace("LANES", str(lanes)).replace("INDEX", index)
    written = from_source(source, extra_vars={"I": I, "T": T})
    said = hint(counted(Example(written, ((1024,),), lambda x: x)))
    assert is_told == ("64 threads of a block store each element of `S`" in said)


ACROSS = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((1024,), "float32"), C: T.Buffer((1024,), "float32")):
        for bx in T.thread_binding(16, thread="blockIdx.x"):
            for ty in T.thread_binding(8, thread="threadIdx.y"):
                for tx in T.thread_binding(64, thread="threadIdx.x"):
                    S = T.alloc_buffer((64,), "float32", scope="shared")
                    for j in range(8):
                        S[j * 8 + ty] = A[bx * 64 + j * 8 + ty]
                    T.tvm_storage_sync("shared")
                    C[bx * 64 + tx] = S[tx]
"""


def test_a_copy_on_an_axis_of_its_own_is_to_be_bound_to_all_axes() -> None:
    """The copy was bound to `threadIdx.y`: each element was stored by all threads along x."""
    written = from_source(ACROSS, extra_vars={"I": I, "T": T})
    said = hint(counted(Example(written, ((1024,),), lambda x: x)))
    assert "64 threads of a block store each element of `S`" in said
    assert "all axes of `threadIdx`" in said


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_threads_that_copy_are_counted_for_elements_of_any_size(dtype: str) -> None:
    """Halves were stored by more threads than a block has, and doubles by one."""
    source = ACROSS.replace("float32", dtype)
    written = from_source(source, extra_vars={"I": I, "T": T})
    said = hint(execute(written["main"]).counts())
    assert "64 threads of a block store each element of `S`" in said


ADDED = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4096,), "float32"), C: T.Buffer((4096,), "float32")):
        for bx in T.thread_binding(32, thread="blockIdx.x"):
            for tx in T.thread_binding(128, thread="threadIdx.x"):
                C[bx * 128 + tx] = A[bx * 128 + tx]
                for k in range(ROUNDS):
                    C[bx * 128 + tx] = C[bx * 128 + tx] + A[bx * 128 + tx]
"""


@pytest.mark.parametrize(("rounds", "is_told"), [(1, False), (4, True)])
def test_only_a_sum_has_rounds(rounds: int, *, is_told: bool) -> None:
    """Who adds once in place was told to sum up in local memory."""
    source = ADDED.replace("ROUNDS", str(rounds))
    written = from_source(source, extra_vars={"I": I, "T": T})
    said = hint(counted(Example(written, ((4096,),), lambda x: x)))
    assert is_told == ("each round of a sum" in said)


APART = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32"),
             C: T.Buffer((4096,), "float32")):
        for tx in T.thread_binding(1024, thread="threadIdx.x"):
            for k in range(4):
                C[tx * 4 + k] = A[tx * 4 + k] + B[tx * 4 + k]
"""


def test_three_buffers_that_are_touched_alike_are_one_mistake() -> None:
    """Each saved a quarter of all sectors alone, and what was advised was done already."""
    written = from_source(APART, extra_vars={"I": I, "T": T})
    said = hint(counted(Example(written, ((4096,), (4096,)), lambda a, b: a + b)))
    assert "let neighbouring threads touch neighbouring elements" in said


def test_a_kernel_that_a_loop_starts_again_is_to_be_one() -> None:
    """Its author had bound no loop to blocks, and read of intermediate results."""
    (kernel,) = counted(product())
    assert "starts the same kernel 3 times" in hint((kernel,) * 3)
    found = FoundKernels(OUTPUTS, (), (kernel,) * 3, DEVICES["sm_80"], scheduled=True)
    section = show_kernels(found)
    assert section is not None
    assert 1 == sum(isinstance(each, Grid) for each in section.blocks)
    assert isinstance(section.blocks[-1], Paragraph)
    assert section.blocks[-1].text.english.startswith("Kernels 2 to 3 are the same")


ROWS = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64, 4096), "float32"), B: T.Buffer((64, 4096), "float32"),
             C: T.Buffer((64, 4096), "float32")):
        for bx in T.thread_binding(16, thread="blockIdx.x"):
            for ty in T.thread_binding(4, thread="threadIdx.y"):
                for tx in T.thread_binding(64, thread="threadIdx.x"):
                    for k in range(64):
                        with T.sblock("C"):
                            C[ty + bx * 4, k * 64 + tx] = (
                                A[ty + bx * 4, k * 64 + tx] + B[ROW, k * 64 + tx])
"""


@pytest.mark.parametrize(("row", "is_told"), [("ty + bx * 4", False), ("bx * 4", True)])
def test_shared_memory_is_for_what_threads_share(row: str, *, is_told: bool) -> None:
    """Where each element is loaded by one thread, a copy in shared memory saves nothing."""
    source = ROWS.replace("ROW", row)
    written = from_source(source, extra_vars={"I": I, "T": T})
    shapes = ((64, 4096), (64, 4096))
    said = hint(counted(Example(written, shapes, lambda a, b: a + b)))
    assert is_told == ("what its threads share" in said)
    assert is_told != ("load and store each element once" in said)


@pytest.mark.parametrize("trace", [None, b"[]"])
def test_only_a_schedule_binds_two_loops_to_one_axis(trace: bytes | None) -> None:
    """A kernel of blocks by hand had 31 of 32 blocks, and was told of two loops on one axis."""
    wrong = Outputs(np.full((1, 1), np.nan), np.zeros((1, 1)), np.ones(1, np.bool_))
    unstored = Finding("unstored", 0, "C", "global", (3968,))
    found = FoundKernels(wrong, (unstored,), (), DEVICES["sm_80"], scheduled=True)
    given = replace(case(module()), evidence=Evidence(found={"gpu": found}))
    capture = structs.replace(given.candidate.capture, trace=trace)
    judged = replace(given, candidate=replace(given.candidate, capture=capture))
    said = gpu_equivalence(judged, OPTIONS).hint.english
    assert (trace is not None) == ("an axis of its own" in said)
    assert (trace is None) == ("Compare the extents of the loops" in said)


ROUNDS = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4104,), "float32"), C: T.Buffer((4096,), "float32")):
        for bx in T.thread_binding(32, thread="blockIdx.x"):
            for tx in T.thread_binding(128, thread="threadIdx.x"):
                C[bx * 128 + tx] = T.float32(0)
        for k in range(9):
            for bx in T.thread_binding(32, thread="blockIdx.x"):
                for tx in T.thread_binding(128, thread="threadIdx.x"):
                    C[bx * 128 + tx] = C[bx * 128 + tx] + A[bx * 128 + tx + k]
"""


def test_the_loop_of_a_sum_is_to_be_moved_into_the_threads() -> None:
    """Bound to blocks as was advised, it made them race; each round counted what all moved."""
    written = from_source(ROUNDS, extra_vars={"I": I, "T": T})
    sums = lambda a: np.lib.stride_tricks.sliding_window_view(a, 9).sum(1)  # noqa: E731
    first, *rounds = counted(Example(written, ((4104,),), sums))
    assert [128] * 10 == [each.traffic[-1].requests for each in (first, *rounds)]
    assert "if it is the loop of a sum, move it inside" in hint((first, *rounds))


def test_a_kernel_some_of_whose_threads_are_idle_at_last_is_the_same() -> None:
    source = ADDED.replace('T.thread_binding(32, thread="blockIdx.x")', "range(32)")
    source = source.replace("for k in range(ROUNDS)", "if bx * 128 + tx < 4000")
    written = from_source(source, extra_vars={"I": I, "T": T})
    said = hint(counted(Example(written, ((4096,),), lambda a: a)))
    assert "starts the same kernel 32 times" in said
