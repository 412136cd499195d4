"""The convolution that the `speed` check measures: unscheduled, and scheduled by the course.

A grading loads this text in a runner, compiles `baseline` and `reference` for the machine at hand
and times a submission's function between the two: the baseline's time is worth nothing, the
reference's time is worth full points. Only TVM is imported here, and nothing of a submission is
ever seen by this file.

The function may carry the bias and the ReLU that follow the convolution in the model, so there are
four variants. `shapes` says by name which shapes the arrays have that a submission's function takes
(float32):

    data    (N, 1, 28, 28)     images, channels first
    weight  (32, 1, 3, 3)      32 filters over one channel
    bias    32 numbers, in whatever shape the submission holds them
    output  (N, 32, 26, 26)    no padding, stride 1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import tvm
from tvm import te, topi

VARIANTS = {
    "conv2d": ("data", "weight"),
    "conv2d_bias": ("data", "weight", "bias"),
    "conv2d_relu": ("data", "weight"),
    "conv2d_bias_relu": ("data", "weight", "bias"),
}
"""What the function may compute, and the arrays that it takes then, before its output."""

Shapes = Mapping[str, tuple[int, ...]]


def baseline(variant: str, shapes: Shapes) -> tvm.IRModule:
    """Return `main(data, weight[, bias], output)` as TOPI and TE write it, without a schedule.

    Its blocks are `pad_temp` (a copy, as there is no padding), `conv2d_nchw`, and `bias_add` and
    `relu` where the variant has them: one loop nest each, with a whole array of intermediate
    results between.
    """
    arguments = [te.placeholder(shapes[name], "float32", name=name) for name in VARIANTS[variant]]
    data, weight, *bias = arguments
    result = topi.nn.conv2d(data, weight, 1, 0, 1)
    if bias:
        result = add_bias(result, *bias)
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


class Tile(NamedTuple):
    """So many filters by so many vectors of so many pixels, summed up in registers."""

    channels: int
    vectors: int
    lanes: int


WIDE = Tile(2, 3, 16)
"""Where there is AVX-512: six sums of its 32 registers. Tried were 1, 2, 4 and 8 filters by 1 to 14
vectors. Vectors of 13 or 26 pixels, which divide a row, cost a third more: no processor has any, so
each load becomes three."""

NARROW = Tile(1, 6, 8)
"""Elsewhere: six sums of 16 registers. A vector of 16 pixels is two there, and twelve sums and what
they are made of do not fit. Compiled for AVX2 on an Intel processor (haswell, skylake, alderlake),
`WIDE` had 0.96 to 1.12 times the speed of the unscheduled function, and nothing could
be graded; this one was 1.29 to 1.57 times as fast."""

CACHE_LINE = 16
"""Numbers in a line of the cache."""

IMAGE_PIXELS = 26 * 26

EPILOGUE_LANES = 52
"""As many pixels at a time get what follows the convolution: 13 times 52 are 676."""


def reference(variant: str, shapes: Shapes, threads: int) -> tvm.IRModule:
    """Return the same function with the course's schedule for `threads` threads.

    It is made for the current target, which a grading sets, or else for this processor.

    The convolution becomes a product of two matrices: the weight, 32 by 9, and a packed copy of the
    image, 9 by 676, with a row for each place in the window. (K. Chellapilla, S. Puri, P. Simard,
    "High performance convolutional neural networks for document processing", 2006.) The pixels of
    a packed row have no line ends between them, so any 16 neighbours make a vector.
    """
    tile = tile_for(tvm.target.Target.current() or tvm.target.Target.from_device("cpu"))
    schedule = tvm.s_tir.Schedule(baseline(variant, shapes))
    convolution = schedule.get_sblock("conv2d_nchw")

    # 1. Inline the padding: the convolution reads the image itself, not a copy of it.
    schedule.compute_inline(schedule.get_sblock("pad_temp"))

    # 2. Pack the image into 9 rows, the image moved by 0 to 2 lines and columns. Each row starts at
    # a multiple of 16 floats, so that no vector lies on two cache lines.
    packed = schedule.reindex_cache_read(
        convolution, 0, "global", lambda n, _c, y, x, i, dy, dx: (n, i, dy, dx, 26 * y + x)
    )
    schedule.storage_align(packed, buffer_index=0, axis=3, factor=CACHE_LINE, offset=0)

    # 3. Count pixels from 0 to 675, in place of lines and columns, in all that comes after.
    last = flatten(schedule, convolution, variant)

    # 4. Do a few filters of one image at a time. What follows the convolution finds their sums in
    # the cache.
    image, channel = schedule.get_loops(last)[:2]
    channel_tile, _ = schedule.split(channel, factors=[None, tile.channels])
    if variant != "conv2d":
        _, lanes = schedule.split(schedule.get_loops(last)[-1], factors=[None, EPILOGUE_LANES])
        schedule.vectorize(lanes)
        schedule.compute_at(convolution, channel_tile, preserve_unit_loops=True)

    # 5. Pack each image just before it is needed, whole lines at a time.
    schedule.compute_at(packed, image, preserve_unit_loops=True)
    y, x, *window = schedule.get_loops(packed)[-5:]
    schedule.reorder(*window, y, x)
    schedule.vectorize(x)

    # 6. Give each thread whole images. One image is done before a second thread has woken up.
    if threads > 1 and shapes["data"][0] > 1:
        schedule.parallel(image)

    # 7. Give the last four pixels a loop of their own: what is left is a multiple of a tile.
    inner_channel, pixel, *window = schedule.get_loops(convolution)[-5:]
    schedule.reorder(pixel, *window, inner_channel)
    tiled = IMAGE_PIXELS - IMAGE_PIXELS % (tile.vectors * tile.lanes)
    for part in schedule.loop_partition(pixel, factors=[tiled, None]):
        sum_up(schedule, *schedule.get_child_blocks(part), tile)
    return schedule.mod


def tile_for(target: Any) -> Tile:
    """Return the tile whose sums fit the registers of a processor."""
    is_wide = tvm.target.codegen.llvm_cpu_has_features("avx512f", target)
    return WIDE if is_wide else NARROW


def flatten(schedule: Any, convolution: Any, variant: str) -> Any:
    """Make one axis of lines and columns; return the block that writes the output.

    At most one block is left after the convolution, and between the two a buffer without lines.
    """
    last = convolution
    if variant == "conv2d_bias_relu":
        schedule.compute_inline(schedule.get_sblock("bias_add"))
    if variant != "conv2d":
        last = schedule.get_sblock(last_name(variant))
        unpacked = schedule.reindex_cache_write(
            convolution, 0, "global", lambda n, c, y, x, _i, _dy, _dx: (n, c, 26 * y + x)
        )
        schedule.compute_inline(unpacked)
        schedule.transform_block_layout(last, lambda n, c, y, x: (n, c, 26 * y + x))
    schedule.transform_block_layout(
        convolution, lambda n, c, y, x, i, dy, dx: (n, c, 26 * y + x, i, dy, dx)
    )
    return last


def sum_up(schedule: Any, convolution: Any, tile: Tile) -> None:
    """Sum up a tile of filters and pixels over the window, in registers, before the next begins.

    The loop over pixels is either a multiple of a tile or shorter than a vector.
    """
    pixel, input_channel, window_y, window_x, channel = schedule.get_loops(convolution)[-5:]
    window = (input_channel, window_y, window_x)
    if schedule.get(pixel).extent < tile.lanes:
        schedule.reorder(*window, channel, pixel)
        lanes, written_out = pixel, (window_y, window_x, channel)
    else:
        factors = [None, tile.vectors, tile.lanes]
        pixel_tile, vectors, lanes = schedule.split(pixel, factors=factors)
        schedule.reorder(pixel_tile, *window, channel, vectors, lanes)
        written_out = (window_y, window_x, channel, vectors)

    # One instruction works on a vector; the short loops around it are written out.
    schedule.vectorize(lanes)
    for loop in written_out:
        schedule.unroll(loop)

    # Set the sums to zero in loops of their own, before the window. This comes last: TVM does not
    # vectorize the loops of a reduction that has been taken apart.
    schedule.decompose_reduction(convolution, input_channel)


def last_name(variant: str) -> str:
    """Name the block that writes the output."""
    return {"conv2d": "conv2d_nchw", "conv2d_bias": "bias_add"}.get(variant, "relu")
