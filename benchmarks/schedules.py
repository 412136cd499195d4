"""Schedules of the convolution of `e2e-conv`, of many speeds, as candidates for the grader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from metaschedule import BATCH
from tvm import relax, topi

from grader.evidence.case import Candidate
from grader.ir.read import read_module
from grader.messages.kernel import Capture

Schedule = Callable[[Any], None]
"""Applies primitives to a `tvm.s_tir.Schedule` of the model."""


def model(batch: int = BATCH) -> tvm.IRModule:
    """Return a model of one convolution, as `emit_te` builds it."""
    weight = np.random.default_rng(0).standard_normal((32, 1, 3, 3)).astype("float32")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((batch, 1, 28, 28), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_te(topi.nn.conv2d, x, relax.const(weight), 1, 0, 1)
            output = builder.emit_output(result)
        builder.emit_func_output(output)
    return builder.get()


def candidate(schedule: Schedule, batch: int = BATCH) -> Candidate:
    """Return a scheduled model as the referee knows it."""
    base = model(batch)
    document = tvm.ir.save_json(base).encode()
    scheduled = tvm.s_tir.Schedule(base)
    schedule(scheduled)
    capture = Capture(
        part="schedule",
        name="sch",
        cell=1,
        by_name=True,
        module=tvm.ir.save_json(scheduled.mod).encode(),
        base=document,
    )
    return Candidate(capture, read_module(capture.module), read_module(document))


def unscheduled(_: Any) -> None:
    """Change nothing."""


LANES = 8
"""Pixels of a vector: AVX2 and AVX-512 have such registers. Vectors of 13 or 26 pixels, which
divide a row, made every tile slower than the unscheduled function where there is AVX2 alone."""

WHOLE_VECTORS = 24
"""So many of the 26 pixels of a row are vectors; the last two get a loop of their own."""


def tiled(channels: int, rows: int, vectors: int, *, parallel: bool = True) -> Schedule:
    """Return a schedule with a tile of outputs in registers.

    Args:
        channels: filters of a tile, a divisor of 32.
        rows: lines of a tile, 1 or 2.
        vectors: vectors of 8 pixels beside each other, 1 or 3.
        parallel: whether images are given to threads.
    """

    def apply(schedule: Any) -> None:
        block = schedule.get_sblock("conv2d_nchw", func_name="conv2d")
        schedule.compute_inline(schedule.get_sblock("pad_temp", func_name="conv2d"))
        image, channel, y, x, *window = schedule.get_loops(block)
        channel_tile, inner_channel = schedule.split(channel, [None, channels])
        y_tile, inner_y = schedule.split(y, [None, rows])
        schedule.reorder(image, channel_tile, y_tile, x, *window, inner_channel, inner_y)
        if parallel:
            schedule.parallel(image)
        for part in schedule.loop_partition(x, [WHOLE_VECTORS, None]):
            (tile,) = schedule.get_child_blocks(part)
            _in_registers(schedule, tile, vectors)

    return apply


def _in_registers(schedule: Any, block: Any, vectors: int) -> None:
    """Vectorise the columns of a tile, and write out what is within the sum over input channels."""
    x, *window, inner_channel, inner_y = schedule.get_loops(block)[-6:]
    written_out = [*window[1:], inner_channel, inner_y]
    if schedule.get(x).extent == WHOLE_VECTORS:
        x_tile, vector, x = schedule.split(x, [None, vectors, LANES])
        schedule.reorder(x_tile, *window, inner_channel, inner_y, vector, x)
        written_out.append(vector)
    else:
        schedule.reorder(*window, inner_channel, inner_y, x)
    schedule.vectorize(x)
    for loop in written_out:
        schedule.unroll(loop)
    schedule.decompose_reduction(block, window[0])


FACTORS = (2, 4, 8, 13, 16, 26)
STEPS = ("inline", "split", "reorder", "vectorize", "unroll", "decompose")


def drawn(generator: np.random.Generator) -> Schedule:
    """Draw a legal schedule, from one that changes nothing to a tile in registers."""
    if generator.random() < 1 / 2:
        channels, rows = int(generator.choice((1, 2, 4, 8))), int(generator.choice((1, 2)))
        return tiled(channels, rows, int(generator.choice((1, 3))), parallel=False)
    chosen = {each for each in STEPS if generator.random() < 1 / 2}
    factor, axis = int(generator.choice(FACTORS)), int(generator.integers(1, 4))

    def apply(schedule: Any) -> None:
        block = schedule.get_sblock("conv2d_nchw", func_name="conv2d")
        if "inline" in chosen:
            schedule.compute_inline(schedule.get_sblock("pad_temp", func_name="conv2d"))
        image, channel, y, x, inner, *window = schedule.get_loops(block)
        outer = [image, channel, y, x]
        if "split" in chosen:
            outer[axis], tile = schedule.split(outer[axis], [None, factor])
            outer.append(tile)
        if "reorder" in chosen:
            schedule.reorder(*outer[:-1], inner, *window, outer[-1])
            if "vectorize" in chosen:
                schedule.vectorize(outer[-1])
        if "unroll" in chosen:
            for each in window:
                schedule.unroll(each)
        if "decompose" in chosen:
            schedule.decompose_reduction(block, inner)

    return apply
