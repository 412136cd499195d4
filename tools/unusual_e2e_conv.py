"""Example submissions of e2e-conv that are right in an unusual way, or right amid leftovers."""

from __future__ import annotations

from textwrap import dedent

from snippets_e2e_conv import (
    BIAS,
    EMIT_TE_CONV,
    EMIT_TE_CONV_WITH_BIAS,
    EXTERN_CONV,
    EXTERN_CONV_WITHOUT_BIAS,
    REGISTER_CONV,
    REGISTER_CONV_WITHOUT_BIAS,
    RUN,
    SCHEDULE,
    SETUP,
    TE_CONV,
    TE_CONV_WITH_BIAS,
    USE_EMIT_TE,
    USE_TORCH_FUNC,
    emit_te,
    entry_point,
    torch_func,
)

# --- names that mean something else later ---------------------------------------------------------

# A second "env.conv2d" takes the bias too: called with the first module's arguments it would raise.
EXPERIMENT = entry_point("try_bias_inside", EXTERN_CONV) + "\n\nmod = try_bias_inside()\n" + RUN

SMALL_SCHEDULE = """\
def double(x):
    return te.compute(x.shape, lambda i, j: x[i, j] * 2, name="doubled")


x = te.placeholder((16, 16), name="x")
sch = tvm.s_tir.Schedule(te.create_prim_func([x, double(x)]))
sch.fuse(*sch.get_loops(sch.get_sblock("doubled")))
sch.mod.show()
"""

SCHEDULE_OF_TE_CONV = """\
mod = create_model_via_emit_te()
sch = tvm.s_tir.Schedule(mod)
block = sch.get_sblock("Y", func_name="my_conv2d")
b, f, y, z, c, i, j = sch.get_loops(block)
f0, f1 = sch.split(f, factors=[None, 4])
sch.reorder(b, f0, y, z, c, i, j, f1)
sch.parallel(b)
for columns in sch.loop_partition(z, factors=[8, 8, 8, None]):
    (block,) = sch.get_child_blocks(columns)
    z, c, i, j, f1 = sch.get_loops(block)[-5:]
    sch.reorder(c, i, j, f1, z)
    sch.vectorize(z)
    for loop in (i, j, f1):
        sch.unroll(loop)
    sch.decompose_reduction(block, c)
"""

NAMES_REDEFINED = (
    SETUP,
    emit_te(),
    USE_EMIT_TE,
    REGISTER_CONV_WITHOUT_BIAS,
    torch_func(conv=EXTERN_CONV_WITHOUT_BIAS, bias=BIAS),
    USE_TORCH_FUNC,
    REGISTER_CONV,
    EXPERIMENT,
    SMALL_SCHEDULE,
    TE_CONV,
    emit_te(conv=EMIT_TE_CONV),
    SCHEDULE_OF_TE_CONV,
)

# --- another batch size, another convolution ------------------------------------------------------

BATCH_OF_ONE = (
    SETUP.replace("batch_size = 4", "batch_size = 1"),
    emit_te(),
    USE_EMIT_TE,
    REGISTER_CONV,
    torch_func(),
    USE_TORCH_FUNC,
    SCHEDULE.replace("sch.parallel(n)", "sch.parallel(sch.fuse(n, ff0))"),
)

TE_LAYERS = """\
def my_relu(x):
    return te.compute(x.shape, lambda *i: te.max(x[i], 0), name="rectified")


def my_linear(x, w, b):
    k = te.reduce_axis((0, w.shape[1]), name="k")
    products = te.compute(
        (x.shape[0], w.shape[0]), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k), name="products"
    )
    return te.compute(products.shape, lambda i, j: products[i, j] + b[j], name="biased")
"""

FUSED_SCHEDULE = """\
def schedule(mod):
    s = tvm.s_tir.Schedule(mod)
    block = s.get_sblock("products", func_name="my_conv2d")
    bias = s.get_sblock("biased", func_name="my_conv2d")
    n, f, y, z = s.get_loops(bias)
    f0, f1 = s.split(f, factors=[None, 4])
    s.vectorize(z)
    s.compute_at(block, f0, preserve_unit_loops=True)
    *_, f1, y, z, c, i, j = s.get_loops(block)
    s.reorder(y, z, c, i, j, f1)
    s.parallel(n)
    for columns in s.loop_partition(z, factors=[8, 8, 8, None]):
        (block,) = s.get_child_blocks(columns)
        z, c, i, j, f1 = s.get_loops(block)[-5:]
        s.reorder(c, i, j, f1, z)
        s.vectorize(z)
        for loop in (i, j, f1):
            s.unroll(loop)
        s.decompose_reduction(block, c)
    return s.mod


scheduled = schedule(create_model_via_emit_te())
"""

BIAS_FUSED = (
    SETUP,
    TE_CONV_WITH_BIAS + "\n\n" + TE_LAYERS,
    entry_point(
        "create_model_via_emit_te",
        EMIT_TE_CONV_WITH_BIAS,
        "h = bb.emit_te(my_relu, h)",
        'h = bb.emit_te(topi.nn.pool2d, h, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")',
        "h = bb.emit_te(topi.reshape, h, (batch_size, 5408))",
        'h = bb.emit_te(my_linear, h, const("linear0_weight"), const("linear0_bias"))',
        "h = bb.emit_te(my_relu, h)",
        'h = bb.emit_te(my_linear, h, const("linear1_weight"), const("linear1_bias"))',
        "h = bb.emit_te(topi.nn.softmax, h)",
    ),
    USE_EMIT_TE,
    REGISTER_CONV,
    torch_func(),
    USE_TORCH_FUNC,
    FUSED_SCHEDULE,
)

# --- externs --------------------------------------------------------------------------------------

SIX_EXTERNS = """\
def register(name, function):
    @tvm.register_global_func(name, override=True)
    def extern(*tensors):
        *inputs, out = map(torch.from_dlpack, tensors)
        out.copy_(function(*inputs))


register("env.conv2d", torch.conv2d)
register("env.relu", torch.relu)
register("env.pool", lambda x: torch.nn.functional.max_pool2d(x, 2))
register("env.flatten", lambda x: x.flatten(1))
register("env.linear", torch.nn.functional.linear)
register("env.softmax", lambda x: x.softmax(1))


def call(bb, name, shape, *arguments):
    result_type = R.Tensor((batch_size, *shape), "float32")
    return bb.emit(relax.op.call_dps_packed(name, relax.Tuple(list(arguments)), result_type))
"""

ALL_EXTERNS = (
    SETUP,
    SIX_EXTERNS,
    entry_point(
        "create_model_with_torch_func",
        'h = call(bb, "env.conv2d", (32, 26, 26), x, const("conv2d_weight"), const("conv2d_bias"))',
        'h = call(bb, "env.relu", (32, 26, 26), h)',
        'h = call(bb, "env.pool", (32, 13, 13), h)',
        'h = call(bb, "env.flatten", (5408,), h)',
        'h = call(bb, "env.linear", (100,), h, const("linear0_weight"), const("linear0_bias"))',
        'h = call(bb, "env.relu", (100,), h)',
        'h = call(bb, "env.linear", (10,), h, const("linear1_weight"), const("linear1_bias"))',
        'h = call(bb, "env.softmax", (10,), h)',
    ),
    USE_TORCH_FUNC,
)

NUMPY_EXTERN = """\
@tvm.register_global_func("env.my_convolution", override=True)
def numpy_conv2d(x, w, out):
    windows = np.lib.stride_tricks.sliding_window_view(x.numpy(), (3, 3), axis=(2, 3))
    out.copyfrom(np.einsum("nchwij,fcij->nfhw", windows, w.numpy()))
"""

NUMPY_CONV = EXTERN_CONV_WITHOUT_BIAS.replace("env.conv2d", "env.my_convolution")

# --- entry points and cells as students leave them ------------------------------------------------

WITH_PARAMETERS = (
    SETUP,
    emit_te(name="create_model_via_emit_te_topi", parameters="weight_map, batch_size"),
    "mod = create_model_via_emit_te_topi(weight_map, batch_size)\nmod.show()\n",
)

FAILED_DRAFT = (
    SETUP,
    emit_te(pool="h = bb.emit_te(topi.nn.max_pool2d, h, (2, 2), (2, 2))"),
    USE_EMIT_TE,
    emit_te(softmax=""),
    USE_EMIT_TE,
    emit_te(),
    USE_EMIT_TE,
)

BROKEN_CELL = dedent(
    """\
    def relu(x):
        return te.compute(x.shape, lambda *i: te.max(x[i], 0))
      mod = relu
    """
)

SCHEDULE_IN_FUNCTION = """\
def transform(mod):
{body}
    return schedule.mod


fast = transform(create_model_via_emit_te())
"""


def local_schedule() -> str:
    """Return the schedule as a function of a module whose `Schedule` never gets a global name."""
    lines = SCHEDULE.replace("sch.", "schedule.").replace("sch =", "schedule =").splitlines()[1:]
    return SCHEDULE_IN_FUNCTION.format(body="\n".join("    " + line for line in lines))


UNUSUAL = {
    "names_redefined_later": NAMES_REDEFINED,
    "batch_of_one": BATCH_OF_ONE,
    "bias_fused_into_convolution": BIAS_FUSED,
    "extern_for_each_layer": ALL_EXTERNS,
    "extern_in_numpy": (
        SETUP,
        NUMPY_EXTERN,
        torch_func(conv=NUMPY_CONV, bias=BIAS),
        USE_TORCH_FUNC,
    ),
    "entry_with_suffix_and_parameters": WITH_PARAMETERS,
    "failed_drafts_first": FAILED_DRAFT,
    "indentation_error_amid": (SETUP, BROKEN_CELL, emit_te(), USE_EMIT_TE),
    "schedule_in_function": (SETUP, emit_te(), local_schedule()),
}
