"""The convolution that the `speed` check measures: unscheduled, and scheduled by the course.

A grading loads this text in a runner, compiles `baseline` and `reference` for the machine at hand
and times a submission's function between the two: the baseline's time is worth nothing, the
reference's time is worth full points. Only TVM is imported here, and nothing of a submission is
ever seen by this file.

The function may carry the bias and the ReLU that follow the convolution in the model, so there are
four variants. All of them take and give the same arrays (float32):

    data    (N, 1, 28, 28)     images, channels first
    weight  (32, 1, 3, 3)      32 filters over one channel
    bias    `bias_shape`       32 numbers, in whatever shape the submission holds them
    output  (N, 32, 26, 26)    no padding, stride 1
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import te, topi

VARIANTS = ("conv2d", "conv2d_bias", "conv2d_relu", "conv2d_bias_relu")

IMAGE_SHAPE = (1, 28, 28)
WEIGHT_SHAPE = (32, 1, 3, 3)


def baseline(variant: str, batch: int, bias_shape: tuple[int, ...]) -> tvm.IRModule:
    """Return `main(data, weight[, bias], output)` as TOPI and TE write it, without a schedule.

    Its blocks are `pad_temp` (a copy, as there is no padding), `conv2d_nchw`, and `bias_add` and
    `relu` where the variant has them: one loop nest each, with a whole array of intermediate
    results between.
    """
    data = te.placeholder((batch, *IMAGE_SHAPE), "float32", name="data")
    weight = te.placeholder(WEIGHT_SHAPE, "float32", name="weight")
    arguments = [data, weight]
    result = topi.nn.conv2d(data, weight, 1, 0, 1)
    if "bias" in variant:
        bias = te.placeholder(bias_shape, "float32", name="bias")
        arguments.append(bias)
        result = add_bias(result, bias)
    if "relu" in variant:
        result = add_relu(result)
    return tvm.IRModule({"main": te.create_prim_func([*arguments, result])})


def add_bias(result: te.Tensor, bias: te.Tensor) -> te.Tensor:
    """Add `bias` to every pixel of its channel, whichever axis of `bias` counts the channels."""

    def of_channel(channel: Any) -> Any:
        return bias[tuple(0 if int(extent) == 1 else channel for extent in bias.shape)]

    return te.compute(
        result.shape, lambda n, c, y, x: result[n, c, y, x] + of_channel(c), name="bias_add"
    )


def add_relu(result: te.Tensor) -> te.Tensor:
    """Replace what is below zero by zero."""
    zero = tvm.tirx.const(0, "float32")
    return te.compute(result.shape, lambda *i: tvm.tirx.max(result[i], zero), name="relu")


def reference(variant: str, batch: int, bias_shape: tuple[int, ...], threads: int) -> tvm.IRModule:
    """Return the same function with the course's schedule for `threads` threads.

    The tiles were found by trying 4, 8 and 16 channels by 1 and 2 rows, with and without threads.
    On one thread 4 channels are fastest, as their sums fit the registers; on more threads 8 are, as
    each image is loaded less often. A single image is done before a second thread has woken up.
    """
    several = threads > 1 and batch > 1
    channels, rows, columns = (8 if several else 4), 2, 13
    schedule = tvm.s_tir.Schedule(baseline(variant, batch, bias_shape))
    convolution = schedule.get_sblock("conv2d_nchw")

    # 1. Inline the padding: the convolution reads the image itself, not a copy of it.
    schedule.compute_inline(schedule.get_sblock("pad_temp"))

    # 2. Bring what follows the convolution next to it: the bias goes into the ReLU, and the sums of
    # a few channels are computed just before they are needed, so that they are still in the cache.
    last = last_block(schedule, variant)
    image, channel = schedule.get_loops(last)[:2]
    channel_tile, _ = schedule.split(channel, factors=[None, channels])
    if variant != "conv2d":
        schedule.vectorize(schedule.get_loops(last)[-1])
        schedule.compute_at(convolution, channel_tile, preserve_unit_loops=True)

    # 3. Tile the convolution: a tile of 4 (or 8) channels x 2 rows x 13 columns is summed up over
    # the 3 x 3 window before the next tile begins, so that its sums stay in vector registers.
    loops = schedule.get_loops(convolution)[-6:]
    inner_channel, y, x, input_channel, window_y, window_x = loops
    y_tile, inner_y = schedule.split(y, factors=[None, rows])
    x_tile, inner_x = schedule.split(x, factors=[None, columns])
    window = (input_channel, window_y, window_x)
    schedule.reorder(y_tile, x_tile, *window, inner_channel, inner_y, inner_x)

    # 4. One instruction works on 13 neighbouring pixels; the short loops around it are written out.
    schedule.vectorize(inner_x)
    for loop in (window_y, window_x, inner_channel, inner_y):
        schedule.unroll(loop)

    # 5. Give each thread whole images.
    if several:
        schedule.parallel(image)

    # 6. Set the sums to zero in loops of their own, before the window. This comes last: TVM does
    # not vectorize or parallelise the loops of a reduction that has been taken apart.
    schedule.decompose_reduction(convolution, input_channel)
    return schedule.mod


def last_block(schedule: Any, variant: str) -> Any:
    """Leave at most one block after the convolution; return the block that writes the output."""
    if variant == "conv2d_bias_relu":
        schedule.compute_inline(schedule.get_sblock("bias_add"))
    return schedule.get_sblock(last_name(variant))


def last_name(variant: str) -> str:
    """Name the block that writes the output."""
    return {"conv2d": "conv2d_nchw", "conv2d_bias": "bias_add"}.get(variant, "relu")
