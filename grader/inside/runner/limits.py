"""MeasureLimits: what processors can do at most.

A function that does `operations` and moves `traffic` bytes takes at least
max(operations / flops, traffic / bytes) seconds: the roofline (S. Williams, A. Waterman, D.
Patterson, 2009). What claims to be faster did not do its work. So a limit may be too high, and must
never be too low:

* Nobody knows beforehand which width of vectors a processor is fastest with, so all are tried.
* The fastest of several short blocks counts: whatever disturbs a block only makes it slower.
* One thread is measured, on each processor in turn, and the best is taken times the number of
  threads. All threads at once can only be slower: processors lower their clock, share caches, and
  are not all of one kind.

The benchmarks are compiled by TVM for the target that schedules are compiled for, as they are to
use the same instructions. A runner that is asked for it never gets a submission: what one runner
made up would count for all who are measured after it.
"""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T  # noqa: N812 - TVM's own name for it

from grader.inside.common.failure import stage
from grader.inside.common.machine import find_target
from grader.messages.timing import MachineLimits, MeasureLimits

SIZES = ((16, 12), (8, 12), (4, 12), (4, 24))
"""Multiply-add benchmarks: floats in a vector, and how many vectors of sums are in registers.

Vectors of 512, 256 and 128 bits are those of AVX-512, of AVX, and of SSE and NEON. A processor that
starts two multiply-adds in a cycle, each ready after four or five (Zen, Skylake and later; A. Fog,
"Instruction tables", 2025), needs eight to ten that do not wait for each other; SSE and AVX have 16
registers, of which two hold the factors. NEON has 32, and some ARM processors start four in a
cycle."""

ROUNDS = 200_000
"""Multiply-adds of each sum in a block. With COPIED_BYTES: a block takes some tenths of a
millisecond, a hundred times as long as a call from Python, and is seldom interrupted."""

COPIED_BYTES = 32 * 2**20
"""What a block of the memory benchmark writes."""

BLOCKS = 8
"""How often each benchmark is measured, on all processors together; at least twice on each."""

READ_BYTES = 12 * 2**10
WRITTEN_BYTES = 256 * 2**10
"""What the memory benchmark reads and writes, in all threads together, over and over again: no more
than the convolution of four images, so it is found in the same cache or a faster one. On most
machines that is the second level."""

LINE = 16
"""Floats in a vector of the memory benchmark: a cache line. Where vectors are shorter, it becomes
several instructions."""


def perform(task: MeasureLimits) -> MachineLimits:
    """Do the task. Raises TaskError."""
    with stage("time"):
        os.sched_setaffinity(0, task.cpus)
        target, _ = find_target(task.target)
        return measure_limits(target, len(task.cpus), time.perf_counter)


def measure_limits(
    target: Any,
    threads: int,
    clock: Callable[[], float],
    *,
    read_bytes: int = READ_BYTES,
    written_bytes: int = WRITTEN_BYTES,
) -> MachineLimits:
    """Measure what `threads` threads can do at most with code that is compiled for `target`.

    The bytes are those of the cache that holds `written_bytes`.

    `clock` returns seconds. Takes 0.1 to 0.2 s, half of it to compile. The calling thread visits
    every processor that it may use, and may use all of them again when this returns.
    """
    benchmarks = Benchmarks(target, read_bytes // threads, written_bytes // threads)
    flops = bandwidth = 0.0
    blocks = max(2, BLOCKS // len(os.sched_getaffinity(0)))
    for _ in _processors():
        flops = max(flops, *(_best(each, blocks, clock) for each in benchmarks.additions))
        bandwidth = max(bandwidth, _best(benchmarks.copying, blocks, clock))
    return MachineLimits(flops * threads, bandwidth * threads)


class Benchmark(NamedTuple):
    """A compiled function, its arguments, and how much of what is counted one call does."""

    run: Callable[..., None]
    arguments: tuple[Any, ...]
    amount: float


class Benchmarks:
    """All benchmarks of one thread, compiled together."""

    def __init__(self, target: Any, read_bytes: int, written_bytes: int) -> None:
        vectors = max(1, read_bytes // (4 * LINE))
        copies = max(1, written_bytes // (4 * LINE * vectors))
        functions = {f"add_{lanes}_{sums}": multiply_adds(lanes, sums) for lanes, sums in SIZES}
        functions["copy"] = copy(copies, vectors)
        named = {name: each.with_attr("global_symbol", name) for name, each in functions.items()}
        self._compiled = tvm.compile(tvm.IRModule(named), target).mod
        self.additions = [self._addition(*size) for size in SIZES]
        self.copying = self._copying(copies, vectors)

    def _addition(self, lanes: int, sums: int) -> Benchmark:
        factors = np.repeat(np.array([[0.5], [1.0]], np.float32), lanes, axis=1)
        totals = np.zeros((sums, lanes), np.float32)
        arguments = (tvm.runtime.tensor(factors), tvm.runtime.tensor(totals), ROUNDS)
        run = self._compiled[f"add_{lanes}_{sums}"]
        return Benchmark(run, arguments, 2.0 * lanes * sums * ROUNDS)

    def _copying(self, copies: int, vectors: int) -> Benchmark:
        source = np.ones((vectors, LINE), np.float32)
        target = np.zeros((copies, vectors, LINE), np.float32)
        rounds = max(1, COPIED_BYTES // target.nbytes)
        arguments = (tvm.runtime.tensor(source), tvm.runtime.tensor(target), rounds)
        amount = float(rounds * (source.nbytes + target.nbytes))
        return Benchmark(self._compiled["copy"], arguments, amount)


def multiply_adds(lanes: int, sums: int) -> Any:
    """Return `main(factors, sums, rounds)`: `sums` times factors[0] plus factors[1], many times.

    `factors` is float32 of shape (2, lanes), `sums` of shape (sums, lanes). There is no memory in
    the loop: the compiler keeps the factors and all sums in registers.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("main")
        T.func_attr({"tirx.noalias": True})
        factors = T.arg("factors", T.Buffer((2, lanes), "float32"))
        totals = T.arg("sums", T.Buffer((sums, lanes), "float32"))
        rounds = T.arg("rounds", T.int32())
        with T.serial(0, rounds), T.unroll(0, sums) as i, T.vectorized(0, lanes) as j:
            T.buffer_store(totals, totals[i, j] * factors[0, j] + factors[1, j], [i, j])
    return builder.get()


def copy(copies: int, vectors: int) -> Any:
    """Return `main(source, target, rounds)`: write copies of `source` plus one, many times.

    `source` is float32 of shape (vectors, LINE), `target` of shape (copies, vectors, LINE). One is
    added because a plain copy might be left to a library.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("main")
        T.func_attr({"tirx.noalias": True})
        source = T.arg("source", T.Buffer((vectors, LINE), "float32"))
        target = T.arg("target", T.Buffer((copies, vectors, LINE), "float32"))
        rounds = T.arg("rounds", T.int32())
        with (
            T.serial(0, rounds * copies) as k,
            T.serial(0, vectors) as i,
            T.vectorized(0, LINE) as j,
        ):
            T.buffer_store(target, source[i, j] + T.float32(1), [k % copies, i, j])
    return builder.get()


def _processors() -> Iterator[int]:
    """Move this thread to each processor that it may use; let it use all of them at the end."""
    allowed = os.sched_getaffinity(0)
    try:
        for processor in sorted(allowed):
            os.sched_setaffinity(0, {processor})
            yield processor
    finally:
        os.sched_setaffinity(0, allowed)


def _best(benchmark: Benchmark, blocks: int, clock: Callable[[], float]) -> float:
    """Return the amount per second of the fastest of some blocks."""
    benchmark.run(*benchmark.arguments)
    seconds = []
    for _ in range(blocks):
        start = clock()
        benchmark.run(*benchmark.arguments)
        seconds.append(clock() - start)
    return benchmark.amount / max(min(seconds), 1e-9)
