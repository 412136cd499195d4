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
from grader.messages import Capture

Schedule = Callable[[Any], None]
"""Applies primitives to a `tvm.s_tir.Schedule` of the model."""


def model() -> tvm.IRModule:
    """Return a model of one convolution, as `emit_te` builds it."""
    weight = np.random.default_rng(0).standard_normal((32, 1, 3, 3)).astype("float32")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((BATCH, 1, 28, 28), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_te(topi.nn.conv2d, x, relax.const(weight), 1, 0, 1)
            output = builder.emit_output(result)
        builder.emit_func_output(output)
    return builder.get()


def candidate(schedule: Schedule) -> Candidate:
    """Return a scheduled model as the referee knows it."""
    base = model()
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


def tiled(
    channels: int, rows: int, columns: int, *, unrolled: bool = True, parallel: bool = True
) -> Schedule:
    """Return a schedule with a tile of outputs in registers."""

    def apply(schedule: Any) -> None:
        block = schedule.get_sblock("conv2d_nchw", func_name="conv2d")
        schedule.compute_inline(schedule.get_sblock("pad_temp", func_name="conv2d"))
        image, channel, y, x, *window = schedule.get_loops(block)
        channel_tile, inner_channel = schedule.split(channel, [None, channels])
        y_tile, inner_y = schedule.split(y, [None, rows])
        x_tile, inner_x = schedule.split(x, [None, columns])
        schedule.reorder(
            image, channel_tile, y_tile, x_tile, *window, inner_channel, inner_y, inner_x
        )
        schedule.vectorize(inner_x)
        if unrolled:
            for loop in (*window[1:], inner_channel, inner_y):
                schedule.unroll(loop)
        if parallel:
            schedule.parallel(image)
        schedule.decompose_reduction(block, window[0])

    return apply
