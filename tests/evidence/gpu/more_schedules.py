"""More right schedules: sums over threads, shuffles, pipelines, and DLight's own rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import te
from tvm.s_tir import dlight
from tvm.target import Target

from tests.evidence.gpu.schedules import Array, Example, _bind, _schedule

TARGET = Target(
    {
        "kind": "cuda",
        "arch": "sm_80",
        "max_threads_per_block": 1024,
        "max_shared_memory_per_block": 49152,
        "thread_warp_size": 32,
    }
)
Built = tuple[list[Any], tuple[tuple[int, ...], ...], Callable[..., Array]]


def _place(name: str, *shape: int) -> Any:
    return te.placeholder(shape, "float32", name=name)


def _sum(name: str, extent: int) -> Any:
    return te.reduce_axis((0, extent), name)


# --- computations ---------------------------------------------------------------------------------


def exponential(length: int = 1000) -> Built:
    a = _place("A", length)
    c = te.compute((length,), lambda i: te.exp(a[i]) * 2, name="C")
    return [a, c], ((length,),), lambda x: np.exp(x) * 2


def matmul(n: int = 64, m: int = 64, k: int = 64) -> Built:
    a, b, axis = _place("A", n, k), _place("B", k, m), _sum("k", k)
    c = te.compute((n, m), lambda i, j: te.sum(a[i, axis] * b[axis, j], axis=axis), name="C")
    return [a, b, c], ((n, k), (k, m)), lambda x, y: x @ y


def gemv(n: int = 128, k: int = 256) -> Built:
    a, b, axis = _place("A", n, k), _place("B", 1, k), _sum("k", k)
    c = te.compute((1, n), lambda i, j: te.sum(a[j, axis] * b[i, axis], axis=axis), name="C")
    return [a, b, c], ((n, k), (1, k)), lambda x, y: (x @ y.T).T


def row_sums(n: int = 16, k: int = 256) -> Built:
    a, axis = _place("A", n, k), _sum("k", k)
    c = te.compute((n,), lambda i: te.sum(a[i, axis], axis=axis), name="C")
    return [a, c], ((n, k),), lambda x: x.sum(axis=1)


def row_maxima(n: int = 16, k: int = 100) -> Built:
    a, axis = _place("A", n, k), _sum("k", k)
    c = te.compute((n,), lambda i: te.max(a[i, axis], axis=axis), name="C")
    return [a, c], ((n, k),), lambda x: x.max(axis=1)


def transposed(n: int = 64, m: int = 96) -> Built:
    a = _place("A", n, m)
    c = te.compute((m, n), lambda i, j: a[j, i], name="C")
    return [a, c], ((n, m),), lambda x: x.T


def softmax(n: int = 8, m: int = 100) -> Built:
    a, k, q = _place("A", n, m), _sum("k", m), _sum("q", m)
    most = te.compute((n,), lambda i: te.max(a[i, k], axis=k), name="most")
    power = te.compute((n, m), lambda i, j: te.exp(a[i, j] - most[i]), name="power")
    total = te.compute((n,), lambda i: te.sum(power[i, q], axis=q), name="total")
    c = te.compute((n, m), lambda i, j: power[i, j] / total[i], name="C")

    def answer(x: Array) -> Array:
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    return [a, c], ((n, m),), answer


def norm(n: int = 4, m: int = 256) -> Built:
    a, w, k = _place("A", n, m), _place("W", m), _sum("k", m)
    squares = te.compute((n,), lambda i: te.sum(a[i, k] * a[i, k], axis=k), name="squares")
    c = te.compute((n, m), lambda i, j: a[i, j] * w[j] * te.rsqrt(squares[i] / m + 1e-5), name="C")

    def answer(x: Array, weight: Array) -> Array:
        return x * weight / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5)

    return [a, w, c], ((n, m), (m,)), answer


def _begin(built: Built) -> tuple[Any, Callable[[], Example]]:
    arguments, inputs, answer = built
    schedule = _schedule(arguments)
    return schedule, lambda: Example(schedule.mod, inputs, answer)


# --- schedules ------------------------------------------------------------------------------------


def by_rule(built: Built, rule: Any) -> Example:
    """One of DLight's default rules, or two in a row."""
    arguments, inputs, answer = built
    with TARGET:
        module = dlight.ApplyDefaultSchedule(rule)(_schedule(arguments).mod)
    return Example(module, inputs, answer)


def tiled(
    scope: str = "shared",
    *,
    double: bool = False,
    pipeline: bool = False,
    unroll: bool = False,
    virtual: int = 1,
    built: Callable[[], Built] = matmul,
) -> Example:
    """A matrix product by tiles; buffers doubled, rounds overlapped."""
    schedule, done = _begin(built())
    block = schedule.get_sblock("C")
    local = schedule.cache_write(block, 0, "local")
    i, j, k = schedule.get_loops(block)
    i0, iv, i1, i2 = schedule.split(i, [None, virtual, 8, 2])
    j0, jv, j1, j2 = schedule.split(j, [None, virtual, 8, 2])
    k0, k1 = schedule.split(k, [None, 16])
    schedule.reorder(i0, j0, iv, jv, i1, j1, k0, k1, i2, j2)
    schedule.reverse_compute_at(local, j1)
    _bind(schedule, i0, "blockIdx.y", j0, "blockIdx.x", i1, "threadIdx.y", j1, "threadIdx.x")
    if virtual > 1:
        _bind(schedule, iv, "vthread.y", jv, "vthread.x")
    for number in (0, 1):
        copy = schedule.cache_read(block, number, scope)
        schedule.compute_at(copy, k0)
        fused = schedule.fuse(*schedule.get_loops(copy)[-2:])
        _, y, x = schedule.split(fused, [None, 8, 8])
        _bind(schedule, y, "threadIdx.y", x, "threadIdx.x")
        if double:
            schedule.annotate(copy, "double_buffer_scope", 0)
    schedule.decompose_reduction(block, k0)
    if pipeline:
        schedule.annotate(k0, "software_pipeline_stage", [0, 0, 1])
        schedule.annotate(k0, "software_pipeline_order", [0, 1, 2])
    if unroll:
        schedule.unroll(k1)
    return done()


def by_all_threads(built: Built, threads: int = 32, *, rows: int = 1) -> Example:
    """Each row is reduced by all threads in a row of a block."""
    schedule, done = _begin(built)
    i, k = schedule.get_loops(schedule.get_sblock("C"))
    outer, row = schedule.split(i, [None, rows])
    _, inner = schedule.split(k, [None, threads])
    _bind(schedule, outer, "blockIdx.x", row, "threadIdx.y", inner, "threadIdx.x")
    return done()


def factored(scope: str = "local") -> Example:
    """Partial sums of each thread, which are then summed over the threads."""
    schedule, done = _begin(row_sums())
    _, k = schedule.get_loops(schedule.get_sblock("C"))
    _, inner = schedule.split(k, [None, 32])
    partial = schedule.rfactor(inner, 0)
    i, k = schedule.get_loops(schedule.get_sblock("C"))
    _bind(schedule, i, "blockIdx.x", k, "threadIdx.x")
    schedule.compute_at(partial, k)
    schedule.set_scope(partial, 0, scope)
    return done()


def factored_by_two_kernels() -> Example:
    """Partial sums by one kernel, their sums by another one."""
    schedule, done = _begin(row_sums())
    _, k = schedule.get_loops(schedule.get_sblock("C"))
    _, inner = schedule.split(k, [None, 32])
    partial = schedule.rfactor(inner, 0)
    row, _, part = schedule.get_loops(partial)
    i, _ = schedule.get_loops(schedule.get_sblock("C"))
    _bind(schedule, row, "blockIdx.x", part, "threadIdx.x", i, "threadIdx.x")
    return done()


def argmax(n: int = 8, m: int = 64) -> Example:
    """The place of the largest number of each row: two values are reduced together."""
    a, k = _place("A", n, m), _sum("k", m)

    def join(x: Any, y: Any) -> Any:
        first = x[1] >= y[1]
        return tuple(tvm.tirx.Select(first, x[each], y[each]) for each in (0, 1))

    def start(index: str, value: str) -> Any:
        return tvm.tirx.const(-1, index), tvm.tirx.min_value(value)

    largest = te.comm_reducer(join, start, name="largest")
    place, _ = te.compute((n,), lambda i: largest((k.var, a[i, k]), axis=k), name="C")
    c = te.compute((n,), lambda i: place[i].astype("float32"), name="O")
    schedule = _schedule([a, c])
    i, axis = schedule.get_loops(schedule.get_sblock("C"))
    _, inner = schedule.split(axis, [None, 32])
    (row,) = schedule.get_loops(schedule.get_sblock("O"))
    _bind(schedule, i, "blockIdx.x", inner, "threadIdx.x", row, "threadIdx.x")
    return Example(schedule.mod, ((n, m),), lambda x: x.argmax(axis=1).astype("float32"))


def softmax_in_one_kernel(threads: int = 32) -> Example:
    """A block for each row, with all that belongs to it in shared memory."""
    schedule, done = _begin(softmax())
    i, j = schedule.get_loops(schedule.get_sblock("C"))
    _, inner = schedule.split(j, [None, threads])
    _bind(schedule, i, "blockIdx.x", inner, "threadIdx.x")
    for name in ("total", "power", "most"):
        block = schedule.get_sblock(name)
        schedule.compute_at(block, i)
        schedule.set_scope(block, 0, "shared")
        _, inner = schedule.split(schedule.get_loops(block)[-1], [None, threads])
        _bind(schedule, inner, "threadIdx.x")
    return done()


def warp_memory() -> Example:
    """Threads of a warp hand each other their elements."""
    a = _place("A", 64)
    c = te.compute((64,), lambda i: a[i // 32 * 32 + 31 - i % 32], name="C")
    schedule = _schedule([a, c])
    block = schedule.get_sblock("C")
    outer, inner = schedule.split(schedule.get_loops(block)[0], [None, 32])
    _bind(schedule, outer, "blockIdx.x")
    copy = schedule.cache_read(block, 0, "warp")
    schedule.compute_at(copy, outer)
    _bind(schedule, schedule.get_loops(copy)[-1], "threadIdx.x", inner, "threadIdx.x")
    return Example(schedule.mod, ((64,),), lambda x: x.reshape(-1, 32)[:, ::-1].reshape(-1))


def inlined(threads: int = 64) -> Example:
    """A computation within another one, and both in one thread."""
    a = _place("A", 500)
    b = te.compute((500,), lambda i: a[i] + 1, name="B")
    c = te.compute((500,), lambda i: b[i] * b[i], name="C")
    schedule = _schedule([a, c])
    schedule.compute_inline(schedule.get_sblock("B"))
    outer, inner = schedule.split(schedule.get_loops(schedule.get_sblock("C"))[0], [None, threads])
    _bind(schedule, outer, "blockIdx.x", inner, "threadIdx.x")
    return Example(schedule.mod, ((500,),), lambda x: (x + 1) ** 2)


def copied_by_some(size: int = 64) -> Example:
    """Eight threads copy the same elements into shared memory, which each of them then loads."""
    a = _place("A", size)
    b = te.compute((size,), lambda i: a[i] * 2, name="B")
    c = te.compute((size, 8), lambda i, j: b[i] + te.const(1.0), name="C")
    schedule = _schedule([a, c])
    block = schedule.get_sblock("C")
    i, j = schedule.get_loops(block)
    outer, inner = schedule.split(i, [None, 8])
    _bind(schedule, outer, "blockIdx.x", inner, "threadIdx.y", j, "threadIdx.x")
    copy = schedule.get_sblock("B")
    schedule.compute_at(copy, j)
    schedule.set_scope(copy, 0, "shared")
    return Example(schedule.mod, ((size,),), lambda x: np.repeat(x[:, None] * 2 + 1, 8, axis=1))


GPU = dlight.gpu
MORE: dict[str, Callable[[], Example]] = {
    "fallback rule": lambda: by_rule(exponential(), GPU.Fallback()),
    "fallback rule for a product": lambda: by_rule(matmul(), GPU.Fallback()),
    "fallback rule for softmax": lambda: by_rule(softmax(), GPU.Fallback()),
    "rule for products": lambda: by_rule(matmul(), GPU.Matmul()),
    "rule for products, ragged": lambda: by_rule(matmul(50, 50, 50), GPU.Matmul()),
    "rule for matrix times vector": lambda: by_rule(gemv(), GPU.GEMV()),
    "rule for sums": lambda: by_rule(row_sums(32, 300), GPU.Reduction()),
    "rule for softmax": lambda: by_rule(softmax(), GPU.GeneralReduction()),
    "rule for norms": lambda: by_rule(norm(), GPU.GeneralReduction()),
    "rule for transpositions": lambda: by_rule(transposed(), GPU.Transpose()),
    "tiles in dynamic shared memory": lambda: tiled("shared.dyn"),
    "buffers doubled": lambda: tiled(double=True),
    "rounds overlapped": lambda: tiled(pipeline=True),
    "rounds overlapped, dynamic": lambda: tiled("shared.dyn", pipeline=True),
    "rounds unrolled": lambda: tiled(unroll=True),
    "tiles of virtual threads": lambda: tiled(virtual=2),
    "tiles of ragged matrices": lambda: tiled(built=lambda: matmul(40, 56, 72)),
    "sums by two rows of threads": lambda: by_all_threads(row_sums(), rows=2),
    "maxima by all threads": lambda: by_all_threads(row_maxima()),
    "sums by 256 threads": lambda: by_all_threads(row_sums(4, 1000), 256),
    "sums factored": factored,
    "sums factored, shared": lambda: factored("shared"),
    "sums factored, by two kernels": factored_by_two_kernels,
    "argmax": argmax,
    "softmax in one kernel": softmax_in_one_kernel,
    "softmax by two warps": lambda: softmax_in_one_kernel(64),
    "warp memory": warp_memory,
    "two steps in one": inlined,
    "copied by some threads": copied_by_some,
}
