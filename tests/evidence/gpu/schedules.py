"""Right schedules for a GPU, of many kinds, with what they compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tvm import IRModule, s_tir, te

Array = npt.NDArray[Any]


class Example(NamedTuple):
    """A module's function `main`, the shapes of its inputs, and NumPy's answer."""

    module: Any
    inputs: tuple[tuple[int, ...], ...]
    answer: Callable[..., Array]

    def arrays(self) -> list[Array]:
        """Return inputs, and room for the output."""
        generator = np.random.default_rng(45)
        given = [generator.standard_normal(each, dtype="float32") for each in self.inputs]
        return [*given, np.zeros(self.answer(*given).shape, "float32")]


def _schedule(arguments: list[Any]) -> Any:
    function = te.create_prim_func(arguments).with_attr("global_symbol", "main")
    return s_tir.Schedule(IRModule({"main": function}))


def _bind(schedule: Any, *pairs: Any) -> None:
    for loop, thread in zip(pairs[::2], pairs[1::2], strict=True):
        schedule.bind(loop, thread)


def addition(length: int = 1000, threads: int = 64, *, vector: int = 1) -> Example:
    """Two vectors are added, one element a thread; of the last block some are idle."""
    a, b = (te.placeholder((length,), "float32", name=each) for each in "AB")
    c = te.compute((length,), lambda i: a[i] + b[i], name="C")
    schedule = _schedule([a, b, c])
    (loop,) = schedule.get_loops(schedule.get_sblock("C"))
    block, thread, lane = schedule.split(loop, [None, threads, vector])
    _bind(schedule, block, "blockIdx.x", thread, "threadIdx.x")
    if vector > 1:
        schedule.vectorize(lane)
    return Example(schedule.mod, ((length,), (length,)), lambda x, y: x + y)


def transposition(size: int = 64, *, shared: bool = True, pad: int = 0) -> Example:
    """A matrix is transposed, by way of shared memory or not."""
    a = te.placeholder((size, size), "float32", name="A")
    c = te.compute((size, size), lambda i, j: a[j, i], name="C")
    schedule = _schedule([a, c])
    block = schedule.get_sblock("C")
    i, j = schedule.get_loops(block)
    i0, i1 = schedule.split(i, [None, 16])
    j0, j1 = schedule.split(j, [None, 16])
    schedule.reorder(i0, j0, i1, j1)
    _bind(schedule, i0, "blockIdx.y", j0, "blockIdx.x")
    if shared:
        copy = schedule.cache_read(block, 0, "shared")
        schedule.compute_at(copy, j0)
        y, x = schedule.get_loops(copy)[-2:]
        _bind(schedule, y, "threadIdx.y", x, "threadIdx.x")
        if pad:
            schedule.storage_align(copy, 0, axis=0, factor=16, offset=pad)
    _bind(schedule, i1, "threadIdx.y", j1, "threadIdx.x")
    return Example(schedule.mod, ((size, size),), lambda x: x.T)


def window(
    length: int = 256, threads: int = 32, width: int = 5, *, by_threads: bool = False
) -> Example:
    """Each element is the sum of its neighbours, which a block keeps in shared memory.

    Where threads sum up one, TVM puts the barrier beside the reduction.
    """
    a = te.placeholder((length + width - 1,), "float32", name="A")
    k = te.reduce_axis((0, width), "k")
    c = te.compute((length,), lambda i: te.sum(a[i + k], axis=k), name="C")
    schedule = _schedule([a, c])
    block = schedule.get_sblock("C")
    i, neighbour = schedule.get_loops(block)
    outer, inner = schedule.split(i, [None, threads])
    _bind(schedule, outer, "blockIdx.x", inner, "threadIdx.x")
    if by_threads:
        schedule.bind(neighbour, "threadIdx.y")
    copy = schedule.cache_read(block, 0, "shared")
    schedule.compute_at(copy, outer)
    (fetched,) = schedule.get_loops(copy)[1:]
    _, thread = schedule.split(fetched, [None, threads])
    _bind(schedule, thread, "threadIdx.x")

    def answer(x: Array) -> Array:
        return np.lib.stride_tricks.sliding_window_view(x, width).sum(axis=1)

    return Example(schedule.mod, ((length + width - 1,),), answer)


def product(
    size: int = 32,
    threads: int = 4,
    tile: int = 2,
    step: int = 8,
    *,
    shared: bool = True,
    vector: int = 1,
    cooperative: bool = True,
) -> Example:
    """A matrix product, naive or with tiles in shared and local memory, fetched together."""
    a, b = (te.placeholder((size, size), "float32", name=each) for each in "AB")
    k = te.reduce_axis((0, size), "k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    schedule = _schedule([a, b, c])
    block = schedule.get_sblock("C")
    local = schedule.cache_write(block, 0, "local")
    i, j, k0 = schedule.get_loops(block)
    i0, i1, i2 = schedule.split(i, [None, threads, tile])
    j0, j1, j2 = schedule.split(j, [None, threads, tile])
    k1, k2 = schedule.split(k0, [None, step])
    schedule.reorder(i0, j0, i1, j1, k1, k2, i2, j2)
    schedule.reverse_compute_at(local, j1)
    _bind(schedule, i0, "blockIdx.y", j0, "blockIdx.x", i1, "threadIdx.y", j1, "threadIdx.x")
    for number in (0, 1) if shared else ():
        copy = schedule.cache_read(block, number, "shared")
        schedule.compute_at(copy, k1)
        if cooperative:
            fused = schedule.fuse(*schedule.get_loops(copy)[-2:])
            _, y, x, lane = schedule.split(fused, [None, threads, threads, vector])
            _bind(schedule, y, "threadIdx.y", x, "threadIdx.x")
            if vector > 1:
                schedule.vectorize(lane)
    if vector > 1:
        schedule.vectorize(schedule.get_loops(local)[-1])
    schedule.decompose_reduction(block, k1)
    return Example(schedule.mod, ((size, size), (size, size)), lambda x, y: x @ y)


def row_sums(rows: int = 8, columns: int = 100, threads: int = 32) -> Example:
    """The sum of each row, by all threads of a block together."""
    a = te.placeholder((rows, columns), "float32", name="A")
    k = te.reduce_axis((0, columns), "k")
    c = te.compute((rows,), lambda i: te.sum(a[i, k], axis=k), name="C")
    schedule = _schedule([a, c])
    i, k0 = schedule.get_loops(schedule.get_sblock("C"))
    _, k1 = schedule.split(k0, [None, threads])
    _bind(schedule, i, "blockIdx.x", k1, "threadIdx.x")
    return Example(schedule.mod, ((rows, columns),), lambda x: x.sum(axis=1))


def two_kernels(length: int = 96) -> Example:
    """A sum and a product of vectors, by a kernel each, with a buffer between."""
    a = te.placeholder((length,), "float32", name="A")
    b = te.compute((length,), lambda i: a[i] + 1, name="B")
    c = te.compute((length,), lambda i: b[length - 1 - i] * 2, name="C")
    schedule = _schedule([a, c])
    for name in "BC":
        (loop,) = schedule.get_loops(schedule.get_sblock(name))
        outer, inner = schedule.split(loop, [None, 32])
        _bind(schedule, outer, "blockIdx.x", inner, "threadIdx.x")
    return Example(schedule.mod, ((length,),), lambda x: (x + 1)[::-1] * 2)


def virtual_threads(length: int = 128) -> Example:
    """Each thread adds elements that lie far apart, as two virtual threads."""
    a, b = (te.placeholder((length,), "float32", name=each) for each in "AB")
    c = te.compute((length,), lambda i: a[i] + b[i], name="C")
    schedule = _schedule([a, b, c])
    (loop,) = schedule.get_loops(schedule.get_sblock("C"))
    block, virtual, thread = schedule.split(loop, [None, 2, 16])
    _bind(schedule, block, "blockIdx.x", virtual, "vthread.x", thread, "threadIdx.x")
    return Example(schedule.mod, ((length,), (length,)), lambda x, y: x + y)


def convolution(threads: int = 4) -> Example:
    """A convolution with tiles of its input in shared memory; rows do not divide evenly."""
    a = te.placeholder((2, 3, 10, 10), "float32", name="A")
    w = te.placeholder((4, 3, 3, 3), "float32", name="W")
    rc, ry, rx = (te.reduce_axis((0, 3), each) for each in ("rc", "ry", "rx"))
    c = te.compute(
        (2, 4, 8, 8),
        lambda n, f, y, x: te.sum(a[n, rc, y + ry, x + rx] * w[f, rc, ry, rx], [rc, ry, rx]),
        name="C",
    )
    schedule = _schedule([a, w, c])
    block = schedule.get_sblock("C")
    n, f, y, x, k, *_ = schedule.get_loops(block)
    y0, y1 = schedule.split(y, [None, 3])
    schedule.reorder(n, f, y0, y1, x)
    local = schedule.cache_write(block, 0, "local")
    outer = schedule.fuse(n, f)
    schedule.reverse_compute_at(local, x)
    _bind(schedule, outer, "blockIdx.x", y0, "blockIdx.y", y1, "threadIdx.y", x, "threadIdx.x")
    copy = schedule.cache_read(block, 0, "shared")
    schedule.compute_at(copy, k)
    fused = schedule.fuse(*schedule.get_loops(copy)[-2:])
    _, first, second = schedule.split(fused, [None, 3, 8])
    _bind(schedule, first, "threadIdx.y", second, "threadIdx.x")
    schedule.decompose_reduction(block, k)

    def answer(image: Array, weight: Array) -> Array:
        views = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))
        return np.einsum("ncyxij,fcij->nfyx", views, weight)

    return Example(schedule.mod, ((2, 3, 10, 10), (4, 3, 3, 3)), answer)


RIGHT: dict[str, Callable[[], Example]] = {
    "addition": addition,
    "addition in one warp": lambda: addition(100, 32),
    "addition of even blocks": lambda: addition(1024, 128),
    "addition by vectors": lambda: addition(1024, 32, vector=4),
    "addition by odd threads": lambda: addition(500, 17),
    "transposition": lambda: transposition(shared=False),
    "transposition by shared memory": transposition,
    "transposition with padded rows": lambda: transposition(pad=1),
    "window summed by threads": lambda: window(by_threads=True),
    "window": window,
    "wide window": lambda: window(128, 16, 9),
    "window of ragged blocks": lambda: window(100, 32, 3),
    "naive product": lambda: product(shared=False),
    "product of single elements": lambda: product(16, 4, 1, 4),
    "tiled product": product,
    "product fetched by vectors": lambda: product(32, 4, 4, 8, vector=4),
    "product by ragged tiles": lambda: product(24, 5, 2, 8),
    "product with ragged steps": lambda: product(20, 4, 2, 8),
    "product that all fetch": lambda: product(16, 4, 2, 8, cooperative=False),
    "sums by all threads": row_sums,
    "sums by three warps": lambda: row_sums(4, 200, 96),
    "two kernels": two_kernels,
    "virtual threads": virtual_threads,
    "convolution": convolution,
}
