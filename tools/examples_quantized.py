"""All example submissions of quantized: a name maps to the code cells of a notebook.

What each must get is in `examples/quantized/<name>.verdict.toml`.
"""

from __future__ import annotations

from textwrap import indent

SETUP = """\
import numpy as np
import tvm
from tvm import relax, te
from tvm.script import ir as I
from tvm.script import tirx as T
"""

PRODUCT = """\
for i, j, k in T.grid(128, 128, 128):
    with T.sblock("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = T.int32(0)
        C[vi, vj] += T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
"""

REQUANTIZE = """\
for i, j in T.grid(32, 48):
    with T.sblock("output"):
        vi, vj = T.axis.remap("SS", [i, j])
        output[vi, vj] = T.Cast("int8", T.max(T.min(
            (sums[vi, vj] * multiplier[vj] + (T.int32(1) << (shift[vj] - 1))) >> shift[vj],
            T.int32(127)), T.int32(-128)))
"""

SCHEDULE = """\
sch = tvm.s_tir.Schedule(MyMatmul)
C = sch.get_sblock("C", func_name="matmul")
written = sch.cache_write(C, 0, "global")
i, j, k = sch.get_loops(C)
j_0, j_1 = sch.split(j, factors=[None, 16])
k_0, k_1 = sch.split(k, factors=[None, 4])
sch.reorder(j_0, k_0, k_1, j_1)
sch.reverse_compute_at(written, j_0)
sch.unroll(k_1)
sch.vectorize(j_1)
sch.decompose_reduction(C, k_0)
"""


INTRINSIC = """\
@T.prim_func(s_tir=True)
def described(a: T.handle, b: T.handle, c: T.handle) -> None:
    x = T.match_buffer(a, (1,), "int8", offset_factor=1)
    y = T.match_buffer(b, (16,), "int8", offset_factor=1)
    z = T.match_buffer(c, (16,), "int32", offset_factor=1)
    with T.sblock("root"):
        T.reads(z[0:16], x[0:1], y[0:16])
        T.writes(z[0:16])
        for j in range(16):
            with T.sblock("term"):
                vj = T.axis.spatial(16, j)
                z[vj] = z[vj] + T.Cast("int32", x[0]) * T.Cast("int32", y[vj])


@T.prim_func(s_tir=True)
def sixteen(a: T.handle, b: T.handle, c: T.handle) -> None:
    x = T.match_buffer(a, (1,), "int8", offset_factor=1)
    y = T.match_buffer(b, (16,), "int8", offset_factor=1)
    z = T.match_buffer(c, (16,), "int32", offset_factor=1)
    with T.sblock("root"):
        T.reads(z[0:16], x[0:1], y[0:16])
        T.writes(z[0:16])
        z[T.ramp(0, 1, 16)] += T.broadcast(T.Cast("int32", x[0]), 16) * T.Cast(
            "int32x16", y[T.ramp(0, 1, 16)])


tvm.s_tir.TensorIntrin.register("sixteen", described, sixteen, override=True)
"""

TENSORIZED = """\
sch = tvm.s_tir.Schedule(MyMatmul)
C = sch.get_sblock("C", func_name="matmul")
i, j, k = sch.get_loops(C)
j_0, j_1 = sch.split(j, factors=[None, 16])
sch.reorder(i, j_0, k, j_1)
sch.decompose_reduction(C, k)
sch.tensorize(j_1, "sixteen")
"""

IN_PARTS = """\
sch = tvm.s_tir.Schedule(MyMatmul)
C = sch.get_sblock("C", func_name="matmul")
sch.cache_read(C, 1, "global")
i, j, k = sch.get_loops(C)
k_0, k_1 = sch.split(k, factors=[None, 4])
sch.rfactor(k_1, 0)
"""

PIPELINED = """\
sch = tvm.s_tir.Schedule(MyMatmul)
C = sch.get_sblock("C", func_name="matmul")
rows = sch.cache_read(C, 1, "global")
i, j, k = sch.get_loops(C)
j_0, j_1 = sch.split(j, factors=[None, 16])
k_0, k_1 = sch.split(k, factors=[None, 4])
sch.reorder(i, j_0, k_0, k_1, j_1)
sch.compute_at(rows, k_0)
sch.unroll(k_1)
sch.vectorize(j_1)
sch.decompose_reduction(C, k_0)
sch.annotate(k_0, "software_pipeline_stage", [0, 1])
sch.annotate(k_0, "software_pipeline_order", [0, 1])
"""

RECORD = """\
# The best of 24 trials of tune_tir, as its database has it. MetaSchedule calls every function main.
RECORD = json.loads(r'''
[[["GetSBlock", [], ["C", "main"], ["b0"]], ["GetSBlock", [], ["root", "main"], ["b1"]],
["Annotate", ["b0", "\\"SSRSRS\\""], ["meta_schedule.tiling_structure"], []], ["GetLoops",
["b0"], [], ["l2", "l3", "l4"]], ["SamplePerfectTile", ["l2"], [4, 64], ["v5", "v6", "v7",
"v8"]], ["Split", ["l2", "v5", "v6", "v7", "v8"], [true, false], ["l9", "l10", "l11",
"l12"]], ["SamplePerfectTile", ["l3"], [4, 64], ["v13", "v14", "v15", "v16"]], ["Split",
["l3", "v13", "v14", "v15", "v16"], [true, false], ["l17", "l18", "l19", "l20"]],
["SamplePerfectTile", ["l4"], [2, 64], ["v21", "v22"]], ["Split", ["l4", "v21", "v22"],
[true, false], ["l23", "l24"]], ["Reorder", ["l9", "l17", "l10", "l18", "l23", "l11", "l19",
"l24", "l12", "l20"], [], []], ["Annotate", ["b1", 16], ["meta_schedule.parallel"], []],
["Annotate", ["b1", 64], ["meta_schedule.vectorize"], []], ["SampleCategorical", [], [[0,
16, 64, 512], [0.25, 0.25, 0.25, 0.25]], ["v25"]], ["Annotate", ["b1", "v25"],
["meta_schedule.unroll_explicit"], []], ["EnterPostproc", [], [], []], ["GetSBlock", [],
["root", "main"], ["b26"]], ["Unannotate", ["b26"], ["meta_schedule.parallel"], []],
["Unannotate", ["b26"], ["meta_schedule.vectorize"], []], ["Unannotate", ["b26"],
["meta_schedule.unroll_explicit"], []], ["GetChildBlocks", ["b26"], [], ["b27"]],
["GetLoops", ["b27"], [], ["l28", "l29", "l30", "l31", "l32", "l33", "l34", "l35", "l36",
"l37"]], ["Fuse", ["l28", "l29", "l30", "l31"], [1], ["l38"]], ["Parallel", ["l38"], [],
[]], ["Fuse", ["l37"], [1], ["l39"]], ["Vectorize", ["l39"], [], []], ["Annotate", ["l38",
64], ["pragma_auto_unroll_max_step"], []], ["Annotate", ["l38", 1],
["pragma_unroll_explicit"], []], ["GetSBlock", [], ["C", "main"], ["b40"]], ["GetLoops",
["b40"], [], ["l41", "l42", "l43", "l44", "l45", "l46", "l47"]], ["DecomposeReduction",
["b40", "l42"], [], ["b48"]]], [[4, [4, 2, 4, 4]], [6, [1, 1, 8, 16]], [8, [16, 8]], [13,
2]]]
''')
sch = tvm.s_tir.Schedule(tvm.IRModule({"main": MyMatmul["matmul"]}))
tvm.s_tir.schedule.Trace.apply_json_to_schedule(RECORD, sch)
"""


SPACE = """\
def space(sch):
    C = sch.get_sblock("C", func_name="matmul")
    i, j, k = sch.get_loops(C)
    i_0, i_1 = sch.split(i, sch.sample_perfect_tile(i, n=2, max_innermost_factor=4))
    j_0, j_1 = sch.split(j, sch.sample_perfect_tile(j, n=2, max_innermost_factor=16))
    sch.reorder(i_0, j_0, k, i_1, j_1)
    sch.unroll(i_1)
    sch.vectorize(j_1)
"""

GENERATOR = (
    SPACE.replace("def space", "def steps")
    + """\
    root = sch.get_sblock("root", func_name="matmul")
    unrolled = sch.sample_categorical([0, 16, 64], [0.4, 0.3, 0.3])
    sch.annotate(root, "meta_schedule.unroll_explicit", unrolled)


space = tvm.s_tir.meta_schedule.space_generator.ScheduleFn(steps)
"""
)

WITHOUT_CHOICES = SPACE.replace(
    "sch.sample_perfect_tile(i, n=2, max_innermost_factor=4)", "[None, 4]"
).replace("sch.sample_perfect_tile(j, n=2, max_innermost_factor=16)", "[None, 16]")

OFTEN_IMPOSSIBLE = """\
def space(sch):
    i, j, k = sch.get_loops(sch.get_sblock("C", func_name="matmul"))
    tiles = sch.sample_categorical([2, 4, 8, 16], [0.25, 0.25, 0.25, 0.25])
    sch.split(j, [tiles, 16])
"""

ONE_OF_TWO = """\
def space(sch):
    fast, slow = sch, tvm.s_tir.Schedule(MyMatmul)
    return [fast, slow]
"""


def matmul(body: str = PRODUCT, output: str = "int32") -> str:
    """Return a cell with the module of part 1."""
    return f"""\
@I.ir_module
class MyMatmul:
    @T.prim_func(s_tir=True)
    def matmul(
        A: T.Buffer((128, 128), "int8"),
        B: T.Buffer((128, 128), "int8"),
        C: T.Buffer((128, 128), "{output}"),
    ):
        T.func_attr({{"global_symbol": "matmul", "tirx.noalias": True}})
{indent(body, "        ")}"""


def requantize(body: str = REQUANTIZE) -> str:
    """Return a cell with the module of part 2."""
    return f"""\
@I.ir_module
class MyRequantize:
    @T.prim_func(s_tir=True)
    def requantize(
        sums: T.Buffer((32, 48), "int32"),
        multiplier: T.Buffer((48,), "int32"),
        shift: T.Buffer((48,), "int32"),
        output: T.Buffer((32, 48), "int8"),
    ):
        T.func_attr({{"global_symbol": "requantize", "tirx.noalias": True}})
{indent(body, "        ")}"""


LAYER = """\
def te_layer(x, weight, bias, multiplier, shift):
    k = te.reduce_axis((0, 64), name="k")
    sums = te.compute((16, 32), lambda i, j: te.sum(
        x[i, k].astype("int32") * weight[k, j].astype("int32"), axis=k), name="sums")
    one = tvm.tirx.const(1, "int32")

    def item(i, j):
        biased = sums[i, j] + bias[j]
        scaled = (biased * multiplier[j] + (one << (shift[j] - one))) >> shift[j]
        low, high = tvm.tirx.const(-128, "int32"), tvm.tirx.const(127, "int32")
        return tvm.tirx.max(tvm.tirx.min(scaled, high), low).astype("int8")

    return te.compute((16, 32), item, name="layer")


def build_layer():
    forms = {"x": ((16, 64), "int8"), "weight": ((64, 32), "int8"), "bias": ((32,), "int32"),
             "multiplier": ((32,), "int32"), "shift": ((32,), "int32")}
    given = [relax.Var(name, relax.TensorType(*form)) for name, form in forms.items()]
    bb = relax.BlockBuilder()
    with bb.function("main", given):
        with bb.dataflow():
            output = bb.emit_output(bb.emit_te(te_layer, *given))
        bb.emit_func_output(output)
    return bb.get()
"""

LAYER_BY_OPERATORS = (
    LAYER.replace("def te_layer(x, weight, bias,", "def te_layer(sums, bias,")
    .replace(
        """\
    k = te.reduce_axis((0, 64), name="k")
    sums = te.compute((16, 32), lambda i, j: te.sum(
        x[i, k].astype("int32") * weight[k, j].astype("int32"), axis=k), name="sums")
""",
        "",
    )
    .replace(
        "            output = bb.emit_output(bb.emit_te(te_layer, *given))\n",
        """\
            product = relax.op.matmul(given[0], given[1], out_dtype="int32")
            output = bb.emit_output(bb.emit_te(te_layer, bb.emit(product), *given[2:]))
""",
    )
)

FLOATS = """\
for i, j in T.grid(32, 48):
    with T.sblock("output"):
        vi, vj = T.axis.remap("SS", [i, j])
        output[vi, vj] = T.Cast("int8", T.max(T.min(T.round(
            T.Cast("float32", sums[vi, vj]) * T.Cast("float32", multiplier[vj])
            / T.Cast("float32", T.int32(1) << shift[vj])),
            T.float32(127)), T.float32(-128)))
"""

EXAMPLES: dict[str, tuple[str, ...]] = {
    # right in an unusual way
    "layer_in_one_function": (SETUP, LAYER),
    # schedules of other steps than those that are asked for
    "product_tensorized": (SETUP, matmul(), INTRINSIC, TENSORIZED),
    "product_in_parts": (SETUP, matmul(), IN_PARTS),
    "product_pipelined": (SETUP, matmul(), PIPELINED),
    "tuning_record": ("import json\n" + SETUP, matmul(), RECORD),
    # spaces of schedules, and what is none
    "space_of_a_generator": (SETUP, matmul(), GENERATOR),
    "space_without_choices": (SETUP, matmul(), WITHOUT_CHOICES),
    "space_often_impossible": (SETUP, matmul(), OFTEN_IMPOSSIBLE),
    "space_of_two_schedules": (SETUP, matmul(), ONE_OF_TWO),
    # typical mistakes, and what looks like an answer
    "products_of_int8": (
        SETUP,
        matmul(
            PRODUCT.replace(
                'T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])',
                'T.Cast("int32", A[vi, vk] * B[vk, vj])',
            )
        ),
        requantize(),
    ),
    "sums_in_int8": (
        SETUP,
        matmul(
            PRODUCT.replace("T.int32(0)", "T.int8(0)").replace(
                'T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])', "A[vi, vk] * B[vk, vj]"
            ),
            "int8",
        ),
    ),
    "saturation_ignored": (
        SETUP,
        requantize(
            REQUANTIZE.replace("T.max(T.min(", "(").replace(
                ",\n            T.int32(127)), T.int32(-128)))", "))"
            )
        ),
    ),
    "floats_rounded": (SETUP, requantize(FLOATS), LAYER),
    "rounded_down": (
        SETUP,
        requantize(REQUANTIZE.replace(" + (T.int32(1) << (shift[vj] - 1))", "")),
    ),
    "one_shift_for_all_columns": (SETUP, requantize(REQUANTIZE.replace("shift[vj]", "shift[0]"))),
    "bias_forgotten": (SETUP, LAYER.replace("sums[i, j] + bias[j]", "sums[i, j]")),
    "product_by_an_operator": (SETUP, LAYER_BY_OPERATORS),
    "half_of_it_written": (
        SETUP,
        matmul(PRODUCT.replace("T.grid(128, 128, 128)", "T.grid(128, 64, 128)")),
    ),
    "sum_never_initialised": (
        SETUP,
        matmul(PRODUCT.replace("        with T.init():\n            C[vi, vj] = T.int32(0)\n", "")),
    ),
}
