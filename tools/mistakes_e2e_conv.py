"""Example submissions of e2e-conv with one typical mistake each."""

from __future__ import annotations

from snippets_e2e_conv import (
    BIAS,
    CONV,
    EMIT_TE_CONV,
    EMIT_TE_CONV_WITH_BIAS,
    REGISTER_CONV,
    SETUP,
    TE_CONV,
    TE_CONV_WITH_BIAS,
    USE_EMIT_TE,
    USE_TORCH_FUNC,
    emit_te,
    entry_point,
    torch_func,
)

PADDED_CONV = 'h = bb.emit_te(topi.nn.conv2d, x, const("conv2d_weight"), 1, 1, 1)'

# The rows and columns of the window run the wrong way round.
FLIPPED_CONV = TE_CONV.replace("w[f, c, i, j]", "w[f, c, 2 - i, 2 - j]")

# Windows that overlap: 25 by 25 instead of 13 by 13. The student's own linear layer does not notice
# that it is given too many features.
STRIDE_ONE_POOL = 'h = bb.emit_te(topi.nn.pool2d, h, (2, 2), (1, 1), (1, 1), (0, 0, 0, 0), "max")'
CARELESS_LINEAR = """\
def linear(x, w, b):
    k = te.reduce_axis((0, w.shape[1]), name="k")
    products = te.compute(
        (x.shape[0], w.shape[0]), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k), name="products"
    )
    return te.compute(products.shape, lambda i, j: products[i, j] + b[j], name="biased")
"""

# Right only when the output's memory happens to hold zeros.
CONV_WITHOUT_INIT = """\
@T.prim_func(s_tir=True)
def conv2d_sum(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    for n, f, i, j, c, p, q in T.grid(4, 32, 26, 26, 1, 3, 3):
        with T.sblock("conv2d"):
            vn, vf, vi, vj, vc, vp, vq = T.axis.remap("SSSSRRR", [n, f, i, j, c, p, q])
            y[vn, vf, vi, vj] = y[vn, vf, vi, vj] + x[vn, vc, vi + vp, vj + vq] * w[vf, vc, vp, vq]
"""
CALL_CONV_WITHOUT_INIT = """\
h = bb.emit(
    relax.op.call_tir(
        bb.add_func(conv2d_sum, "conv2d_sum"),
        relax.Tuple([x, const("conv2d_weight")]),
        R.Tensor((4, 32, 26, 26), "float32"),
    )
)"""

OPERATORS = (
    'h = bb.emit(relax.op.nn.conv2d(x, const("conv2d_weight")))',
    'h = bb.emit(relax.op.add(h, const("conv2d_bias", (1, 32, 1, 1))))',
    "h = bb.emit(relax.op.nn.relu(h))",
    "h = bb.emit(relax.op.nn.max_pool2d(h, pool_size=(2, 2), strides=(2, 2)))",
    "h = bb.emit(relax.op.reshape(h, (batch_size, 5408)))",
    'h = bb.emit(relax.op.linear(h, const("linear0_weight"), const("linear0_bias")))',
    "h = bb.emit(relax.op.nn.relu(h))",
    'h = bb.emit(relax.op.linear(h, const("linear1_weight"), const("linear1_bias")))',
    "h = bb.emit(relax.op.nn.softmax(h, axis=1))",
)

MISTAKES_OF_PART_1 = {
    "conv_without_bias": (SETUP, emit_te(bias=""), USE_EMIT_TE),
    "conv_padding_does_not_fit": (SETUP, emit_te(conv=PADDED_CONV), USE_EMIT_TE),
    "conv_padding_hidden_by_pooling": (
        SETUP,
        emit_te(
            conv=PADDED_CONV,
            pool='h = bb.emit_te(topi.nn.pool2d, h, (3, 3), (2, 2), (1, 1), (0, 0, 0, 0), "max")',
        ),
        USE_EMIT_TE,
    ),
    "conv_kernel_flipped": (SETUP, FLIPPED_CONV, emit_te(conv=EMIT_TE_CONV), USE_EMIT_TE),
    "pool_stride_one": (
        SETUP,
        CARELESS_LINEAR,
        emit_te(
            pool=STRIDE_ONE_POOL,
            linear0='h = bb.emit_te(linear, h, const("linear0_weight"), const("linear0_bias"))',
        ),
        USE_EMIT_TE,
    ),
    "softmax_missing": (SETUP, emit_te(softmax=""), USE_EMIT_TE),
    "softmax_over_batch": (
        SETUP,
        emit_te(softmax="h = bb.emit_te(topi.nn.softmax, h, 0)"),
        USE_EMIT_TE,
    ),
    "bias_of_wrong_shape": (
        SETUP,
        emit_te(
            linear0=(
                'h = bb.emit_te(topi.nn.dense, h, const("linear0_weight"),'
                ' const("linear0_bias", (1, 100)))'
            )
        ),
        USE_EMIT_TE,
    ),
    "reduction_without_init": (
        SETUP,
        CONV_WITHOUT_INIT,
        emit_te(conv=CALL_CONV_WITHOUT_INIT),
        USE_EMIT_TE,
    ),
    "operators_instead_of_call_tir": (
        SETUP,
        entry_point("create_model_via_emit_te", *OPERATORS),
        USE_EMIT_TE,
    ),
}

REBINDING = """\
@tvm.register_global_func("env.conv2d", override=True)
def torch_conv2d(x, w, b, out):
    x_torch, w_torch, b_torch = map(torch.from_dlpack, (x, w, b))
    out_torch = torch.from_dlpack(out)
    out_torch = torch.conv2d(x_torch, w_torch, b_torch)
"""

COPYING = """\
@tvm.register_global_func("env.conv2d", override=True)
def copy(source, out):
    torch.from_dlpack(out).copy_(torch.from_dlpack(source))
"""
CONV_THEN_COPY = f"""\
{CONV}
h = bb.emit(
    relax.op.call_dps_packed(
        "env.conv2d", relax.Tuple([h]), R.Tensor((batch_size, 32, 26, 26), "float32")
    )
)"""

MISTAKES_OF_PART_2 = {
    "extern_rebinds_its_output": (SETUP, REBINDING, torch_func(), USE_TORCH_FUNC),
    "extern_never_called": (SETUP, REGISTER_CONV, torch_func(conv=CONV, bias=BIAS), USE_TORCH_FUNC),
    "extern_only_copies": (
        SETUP,
        COPYING,
        torch_func(conv=CONV_THEN_COPY, bias=BIAS),
        USE_TORCH_FUNC,
    ),
}

# No step is refused: TVM vectorises a loop around a reduction that is decomposed afterwards.
WRONG_SCHEDULE = """\
mod = create_model_via_emit_te()
sch = tvm.s_tir.Schedule(mod)
block = sch.get_sblock("products", func_name="my_conv2d")
bias = sch.get_sblock("biased", func_name="my_conv2d")
n, f, y, z, c, i, j = sch.get_loops(block)
sch.parallel(sch.fuse(n, f))
sch.vectorize(z)
sch.reverse_compute_at(bias, z)
sch.decompose_reduction(block, c)
"""

UNCHECKED_SCHEDULE = """\
mod = create_model_via_emit_te()
sch = tvm.s_tir.Schedule(mod, enable_check=False)
block = sch.get_sblock("conv2d_nchw", func_name="conv2d")
sch.compute_inline(sch.get_sblock("pad_temp", func_name="conv2d"))
n, ff, yy, xx, rc, ry, rx = sch.get_loops(block)
sch.parallel(sch.fuse(n, ff))
sch.decompose_reduction(block, rx)
"""

# 10,816 tasks of eight numbers each: handing them out takes longer than the work.
SLOW_SCHEDULE = """\
mod = create_model_via_emit_te()
sch = tvm.s_tir.Schedule(mod)
block = sch.get_sblock("conv2d_nchw", func_name="conv2d")
sch.compute_inline(sch.get_sblock("pad_temp", func_name="conv2d"))
n, ff, yy, xx, rc, ry, rx = sch.get_loops(block)
f0, f1 = sch.split(ff, factors=[None, 2])
y0, y1 = sch.split(yy, factors=[None, 2])
x0, x1 = sch.split(xx, factors=[None, 2])
sch.reorder(n, f0, y0, x0, rc, ry, rx, f1, y1, x1)
tasks = sch.fuse(n, f0, y0, x0)
inner = sch.fuse(y1, x1)
sch.parallel(tasks)
sch.unroll(f1)
sch.vectorize(inner)
sch.decompose_reduction(block, rc)
"""

UNDECOMPOSED_SCHEDULE = """\
mod = create_model_via_emit_te()
sch = tvm.s_tir.Schedule(mod)
block = sch.get_sblock("conv2d_nchw", func_name="conv2d")
sch.compute_inline(sch.get_sblock("pad_temp", func_name="conv2d"))
n, ff, yy, xx, rc, ry, rx = sch.get_loops(block)
sch.reorder(n, ff, yy, rc, ry, rx, xx)
sch.parallel(sch.fuse(n, ff))
sch.vectorize(xx)
"""

MISTAKES_OF_PART_3 = {
    "schedule_changes_result": (
        SETUP,
        TE_CONV_WITH_BIAS,
        emit_te(conv=EMIT_TE_CONV_WITH_BIAS, bias=""),
        WRONG_SCHEDULE,
    ),
    "schedule_unchecked": (SETUP, emit_te(), UNCHECKED_SCHEDULE),
    "schedule_slower": (SETUP, emit_te(), SLOW_SCHEDULE),
    "schedule_not_decomposed": (SETUP, emit_te(), UNDECOMPOSED_SCHEDULE),
}

MISTAKES = MISTAKES_OF_PART_1 | MISTAKES_OF_PART_2 | MISTAKES_OF_PART_3
