"""Modules as students write, schedule and import them, built with the real TVM."""

# ruff: noqa: N803, N806, SIM905

from collections.abc import Callable
from functools import cache
from typing import Any

import tvm
from tvm import relax, s_tir, te, topi
from tvm.script import relax as R  # noqa: N812

from tests.ir.scripts import (
    exercises,
    flat_tir,
    script_branches,
    script_relax,
    script_symbolic,
)
from tests.seeded import seeded

RNG = seeded(0)


def save(module: Any) -> bytes:
    """Return a module as TVM saves it."""
    text: str = tvm.ir.save_json(module)
    return text.encode()


def constant(*shape: int) -> Any:
    return relax.const(RNG.standard_normal(shape).astype("float32"), "float32")


# --- the classifier ------------------------------------------------------------------------------


@cache
def conv_model(batch: int = 4) -> Any:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((batch, 1, 28, 28), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit_te(topi.nn.conv2d, x, constant(32, 1, 3, 3), 1, 0, 1)
            lv = bb.emit_te(topi.add, lv, constant(1, 32, 1, 1))
            lv = bb.emit_te(topi.nn.relu, lv)
            lv = bb.emit_te(topi.nn.pool2d, lv, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
            lv = bb.emit_te(topi.nn.flatten, lv)
            lv = bb.emit_te(topi.nn.dense, lv, constant(100, 5408))
            lv = bb.emit_te(topi.add, lv, constant(1, 100))
            lv = bb.emit_te(topi.nn.relu, lv)
            lv = bb.emit_te(topi.nn.dense, lv, constant(10, 100))
            lv = bb.emit_te(topi.add, lv, constant(1, 10))
            gv = bb.emit_output(bb.emit_te(topi.nn.softmax, lv))
        bb.emit_func_output(gv)
    return bb.get()


def scheduled_conv() -> Any:
    """The reference schedule: annotations first, the decomposition last."""
    sch = s_tir.Schedule(conv_model())
    sch.compute_inline(sch.get_sblock("pad_temp", "conv2d"))
    block = sch.get_sblock("conv2d_nchw", "conv2d")
    n, ff, yy, xx, rc, ry, rx = sch.get_loops(block)
    ff0, ff1 = sch.split(ff, [None, 4])
    yy0, yy1 = sch.split(yy, [None, 2])
    xx0, xx1 = sch.split(xx, [None, 13])
    sch.reorder(n, ff0, yy0, xx0, rc, ry, rx, ff1, yy1, xx1)
    sch.vectorize(xx1)
    sch.unroll(ff1)
    sch.parallel(n)
    sch.decompose_reduction(block, rc)
    return sch.mod


def extern_model() -> Any:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 1, 28, 28), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit(
                relax.op.call_dps_packed(
                    "env.conv2d",
                    relax.Tuple([x, constant(32, 1, 3, 3)]),
                    R.Tensor((4, 32, 26, 26), "float32"),
                )
            )
            gv = bb.emit_output(bb.emit_te(topi.nn.relu, lv))
        bb.emit_func_output(gv)
    return bb.get()


def hand_written_conv() -> Any:
    """The same convolution as a student writes it in TE, with the bias fused."""

    def conv(x: Any, w: Any, b: Any) -> Any:
        rc = te.reduce_axis((0, 1), "rc")
        ry, rx = te.reduce_axis((0, 3), "ry"), te.reduce_axis((0, 3), "rx")
        acc = te.compute(
            (4, 32, 26, 26),
            lambda n, f, y, z: te.sum(
                x[n, rc, y + ry, z + rx] * w[f, rc, ry, rx], axis=[rc, ry, rx]
            ),
            name="acc",
        )
        return te.compute((4, 32, 26, 26), lambda n, f, y, z: acc[n, f, y, z] + b[f], name="out")

    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 1, 28, 28), "float32"))
    with bb.function("main", [x]):
        gv = bb.emit_te(conv, x, constant(32, 1, 3, 3), constant(32))
        bb.emit_func_output(gv)
    return bb.finalize()


# --- one matrix product, scheduled in many ways ---------------------------------------------------


@cache
def product_module(extent: int = 128) -> Any:
    A = te.placeholder((extent, extent), "float32", name="A")
    B = te.placeholder((extent, extent), "float32", name="B")
    k = te.reduce_axis((0, extent), "k")
    Y = te.compute((extent, extent), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="Y")
    C = te.compute((extent, extent), lambda i, j: te.max(Y[i, j], 0), name="C")
    function = te.create_prim_func([A, B, C]).with_attr({"global_symbol": "mm_relu"})
    return tvm.IRModule({"mm_relu": function})


def _tile(sch: Any, Y: Any, C: Any) -> None:
    i, j, k = sch.get_loops(Y)
    j0, j1 = sch.split(j, [None, 4])
    sch.reorder(j0, k, j1)
    sch.reverse_compute_at(C, j0)
    sch.vectorize(j1)
    sch.parallel(i)
    sch.decompose_reduction(Y, k)


def _fuse(sch: Any, Y: Any, _: Any) -> None:
    i, j, k = sch.get_loops(Y)
    sch.unroll(sch.split(k, [None, 4])[1])
    sch.fuse(i, j)


def _rfactor(sch: Any, Y: Any, _: Any) -> None:
    sch.rfactor(sch.split(sch.get_loops(Y)[2], [None, 4])[1], 2)


def _cache(sch: Any, Y: Any, _: Any) -> None:
    sch.cache_read(Y, 0, "local")
    sch.cache_read(Y, 1, "shared")
    sch.cache_write(Y, 0, "local")


def _blockize(sch: Any, Y: Any, _: Any) -> None:
    i, j, k = sch.get_loops(Y)
    i0, i1 = sch.split(i, [8, None])
    j0, j1 = sch.split(j, [8, None])
    k0, k1 = sch.split(k, [8, None])
    sch.reorder(i0, j0, k0, i1, j1, k1)
    sch.blockize(i1)


def _uneven(sch: Any, Y: Any, C: Any) -> None:
    sch.add_unit_loop(Y)
    sch.split(sch.get_loops(C)[0], [3, 50])


def _unroll_pragma(sch: Any, _: Any, C: Any) -> None:
    loop = sch.get_loops(C)[0]
    sch.annotate(loop, "pragma_auto_unroll_max_step", 16)
    sch.annotate(loop, "pragma_unroll_explicit", 1)


def _sample(sch: Any, _: Any, C: Any) -> None:
    loop = sch.get_loops(C)[0]
    sch.split(loop, sch.sample_perfect_tile(loop, 2))


SCHEDULES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "tile": _tile,
    "fuse": _fuse,
    "rfactor": _rfactor,
    "cache": _cache,
    "blockize": _blockize,
    "uneven": _uneven,
    "unroll_pragma": _unroll_pragma,
    "sample": _sample,
    "compute_at": lambda sch, Y, C: sch.compute_at(Y, sch.get_loops(C)[0]),
    "layout": lambda sch, Y, _: sch.transform_layout(
        Y, ("write", 0), lambda i, j: (j // 16, i, j % 16)
    ),
    "block_layout": lambda sch, _, C: sch.transform_block_layout(C, lambda i, j: (i * 128 + j,)),
    "align": lambda sch, Y, _: sch.storage_align(Y, 0, 0, 16, 1),
    "scope": lambda sch, Y, _: sch.set_scope(Y, 0, "local"),
    "partition": lambda sch, _, C: sch.loop_partition(sch.get_loops(C)[0], [3, None]),
    "reindex": lambda sch, Y, _: sch.reindex(Y, ("read", 0)),
    "reindex_cache": lambda sch, Y, _: sch.reindex_cache_read(
        Y, 0, "local", lambda i, j, k: (k, i)
    ),
    "pad_einsum": lambda sch, Y, _: sch.pad_einsum(Y, [1, 1, 1]),
}


def scheduled_product(name: str) -> Any:
    sch = s_tir.Schedule(product_module())
    Y, C = (sch.get_sblock(block, func_name="mm_relu") for block in ("Y", "C"))
    SCHEDULES[name](sch, Y, C)
    return sch.mod


def decomposed_padding() -> Any:
    sch = s_tir.Schedule(emit(topi.nn.pad, (4, 4), [1, 1], [1, 1], 0.0, name="pad"))
    block = sch.get_sblock("PadInput", "pad")
    sch.decompose_padding(block, sch.get_loops(block)[0])
    return sch.mod


# --- TOPI, Relax and importers -------------------------------------------------------------------


def twins() -> Any:
    """A function of which two buffers have the same name."""
    x = te.placeholder((4, 8), name="x")
    twice = topi.reshape(topi.reshape(x, (32,)), (8, 4))
    return tvm.IRModule({"twins": te.create_prim_func([x, twice])})


def emit(function: Any, *arguments: Any, name: str, dtype: str = "float32") -> Any:
    """Build a module around one emit_te: leading tuples are shapes of inputs."""
    bb = relax.BlockBuilder()
    shapes = [item for item in arguments if isinstance(item, tuple)]
    inputs = [relax.Var(f"x{i}", R.Tensor(shape, dtype)) for i, shape in enumerate(shapes)]
    with bb.function("main", inputs):
        with bb.dataflow():
            lv = bb.emit_te(function, *inputs, *arguments[len(shapes) :], primfunc_name_hint=name)
            gv = bb.emit_output(lv)
        bb.emit_func_output(gv)
    return bb.get()


IMAGE = (1, 3, 9, 9)
TOPI: dict[str, tuple[Any, ...]] = {
    **{
        name: (getattr(topi, name), (4, 8))
        for name in """
        exp tanh sigmoid sqrt rsqrt log log2 log10 abs ceil floor round trunc negative
        sign erf isnan isfinite cos sin tan atan cosh sinh acos asin fast_exp fast_tanh
        fast_erf identity
        """.split()
    },
    **{
        name: (getattr(topi, name), (4, 8), (1, 8))
        for name in """add subtract multiply divide maximum minimum power mod floor_mod floor_divide
        greater less equal not_equal greater_equal less_equal""".split()
    },
    **{name: (getattr(topi, name), (4, 8), 1) for name in ("sum", "max", "min", "prod", "argmax")},
    "softmax": (topi.nn.softmax, (4, 8)),
    "log_softmax": (topi.nn.log_softmax, (4, 8)),
    "conv2d_padded": (topi.nn.conv2d, (1, 3, 8, 8), (4, 3, 3, 3), 1, 1, 1),
    "group_conv2d": (topi.nn.group_conv2d_nchw, (1, 3, 8, 8), (3, 1, 3, 3), 1, 1, 1, 3),
    "depthwise": (topi.nn.depthwise_conv2d_nchw, (1, 3, 8, 8), (3, 1, 3, 3), 1, 1, 1),
    "max_pool": (topi.nn.pool2d, IMAGE, [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], "max"),
    "avg_pool": (topi.nn.pool2d, IMAGE, [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], "avg"),
    "global_pool": (topi.nn.global_pool, IMAGE, "avg"),
    "adaptive_pool": (topi.nn.adaptive_pool, IMAGE, [2, 2], "max"),
    "dense_bias": (topi.nn.dense, (4, 8), (3, 8), (3,)),
    "matmul": (topi.matmul, (4, 8), (3, 8), False, True),
    "batch_matmul": (topi.nn.batch_matmul, (2, 4, 8), (2, 3, 8)),
    "leaky_relu": (topi.nn.leaky_relu, (4,), 0.1),
    "reshape": (topi.reshape, (3, 4, 5), [3, 20]),
    "transpose": (topi.transpose, (3, 4), [1, 0]),
    "concatenate": (lambda x, y: topi.concatenate((x, y), 0), (3, 4), (2, 4)),
    "split": (topi.split, (4, 4), 2, 0),
    "mirror_pad": (topi.nn.mirror_pad, (4, 4), [1, 1], [1, 1]),
    "layer_norm": (lambda x, g, b: topi.nn.layer_norm(x, g, b, (1,)), (4, 8), (8,), (8,)),
    "take": (lambda x, y: topi.take(x, topi.cast(y, "int32"), 0), (4, 8), (3,)),
    "where": (lambda c, x: topi.where(topi.greater(c, 0.0), x, c), (4,), (4,)),
    "cast": (topi.cast, (4,), "int8"),
    "clip": (topi.clip, (4,), 0.0, 6.0),
    "resize": (lambda x: topi.image.resize2d(x, [0.0] * 4, (8, 8), method="linear"), (1, 3, 4, 4)),
    "strided_slice": (topi.strided_slice, (4, 8), [0, 1], [2, 4], [1, 2]),
    "repeat": (topi.repeat, (4, 4), 2, 0),
    "<lambda>": (lambda x: topi.add(x, 1.0), (4,)),
    "입력": (topi.nn.relu, (4,)),
}


def special_floats() -> Any:
    A = te.placeholder((8, 8), "float32", "A")
    k = te.reduce_axis((0, 8), "k")
    largest = te.compute((8,), lambda i: te.max(A[i, k], axis=k), "largest")
    lowest = tvm.tirx.const(float("-inf"), "float32")
    nothing = tvm.tirx.const(float("nan"), "float32")
    B = te.compute(
        (8,),
        lambda i: te.if_then_else(i < 4, tvm.tirx.max(largest[i], lowest), nothing),
        "B",
    )
    return tvm.IRModule({"main": te.create_prim_func([A, B])})


def symbolic_te() -> Any:
    n, m = te.var("n", "int64"), te.var("m", "int64")
    A = te.placeholder((n, m), "float32", "A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), "B")
    C = te.compute((n,), lambda i: te.if_then_else(i < 4, B[i], te.exp(B[i])), "C")
    return tvm.IRModule({"main": te.create_prim_func([A, C])})


def symbolic_batch() -> Any:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((te.var("n", "int64"), 8), "float32"))
    with bb.function("main", [x]):
        lv = bb.emit_te(topi.nn.relu, x)
        bb.emit_func_output(bb.emit(relax.op.add(lv, lv)))
    return bb.get()


@cache
def high_level() -> Any:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((1, 3, 16, 16), "float32"))
    steps: list[Callable[[Any], Any]] = [
        lambda y: relax.op.nn.conv2d(y, constant(8, 3, 3, 3), padding=1),
        lambda y: relax.op.add(y, constant(1, 8, 1, 1)),
        relax.op.nn.relu,
        lambda y: relax.op.nn.max_pool2d(y, (2, 2), (2, 2)),
        lambda y: relax.op.nn.avg_pool2d(y, (2, 2), (2, 2)),
        lambda y: relax.op.nn.batch_norm(y, *(constant(8) for _ in range(4)), 1),
        lambda y: relax.TupleGetItem(y, 0),
        relax.op.flatten,
        lambda y: relax.op.reshape(y, (1, -1)),
        lambda y: relax.op.linear(y, constant(10, 128), constant(10)),
        lambda y: relax.op.nn.dropout(y, 0.5),
        lambda y: relax.TupleGetItem(y, 0),
        lambda y: relax.op.nn.layer_norm(y, constant(10), constant(10), [-1]),
        relax.op.nn.gelu,
        lambda y: relax.op.concat([y, y], 0),
        lambda y: relax.op.split(y, 2, 0),
        lambda y: relax.TupleGetItem(y, 0),
        lambda y: relax.op.astype(y, "float16"),
        lambda y: relax.op.astype(y, "float32"),
        lambda y: relax.op.permute_dims(y, [1, 0]),
        lambda y: relax.op.strided_slice(y, [0], [0], [4]),
        lambda y: relax.op.nn.pad(y, [1, 1, 0, 0]),
        lambda y: relax.op.clip(y, 0, 6),
        lambda y: relax.op.layout_transform(y, lambda i, j: (j, i)),
        lambda y: relax.op.einsum((y, constant(6, 3)), "ij,jk->ik"),
        lambda y: relax.op.nn.softmax(y),
        lambda y: relax.op.mean(y, 0),
    ]
    with bb.function("main", [x]):
        with bb.dataflow():
            y = x
            for step in steps:
                y = bb.emit(step(y))
            z = bb.emit(relax.op.full((3,), relax.const(1.0, "float32"), "float32"))
            gv = bb.emit_output(relax.op.add(y, z))
        bb.emit_func_output(gv)
    return bb.get()


def fused() -> Any:
    steps = [
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
    ]
    return tvm.ir.transform.Sequential(steps)(high_level())


def from_torch(keep: bool) -> Any:
    from torch import fx, nn
    from tvm.relax.frontend.torch import from_fx

    net = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Linear(676, 10)
    )
    graph = fx.symbolic_trace(net.eval())
    return from_fx(graph, [((4, 1, 28, 28), "float32")], keep_params_as_input=keep)


@cache
def all_documents() -> dict[str, bytes]:
    """Return all modules of this file, saved."""
    built = {
        "conv": conv_model(),
        "conv of one image": conv_model(1),
        "conv scheduled": scheduled_conv(),
        "conv by hand": hand_written_conv(),
        "conv extern": extern_model(),
        "product": product_module(),
        "padding decomposed": decomposed_padding(),
        "script relax": script_relax(),
        "script symbolic": script_symbolic(),
        "script branches": script_branches(),
        "flat tir": flat_tir(),
        "exercises": exercises(),
        "special floats": special_floats(),
        "symbolic te": symbolic_te(),
        "symbolic batch": symbolic_batch(),
        "high level": high_level(),
        "legalized": relax.transform.LegalizeOps()(high_level()),
        "zero pipeline": relax.get_pipeline("zero")(high_level()),
        "fused": fused(),
        "torch": from_torch(False),
        "torch with parameters": from_torch(True),
    }
    built |= {f"product {name}": scheduled_product(name) for name in SCHEDULES}
    built |= {f"topi {name}": emit(*call, name=name) for name, call in TOPI.items()}
    return {name: save(module) for name, module in built.items()}
