"""Modules for the tests of runners: right ones, and some with one mistake each."""
# ruff: noqa: N805, N812, RUF059 - TVMScript looks like Python and has its own rules

import numpy as np
import tvm
from tvm import relax, te, topi
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from grader.messages.frames import pack_array
from grader.messages.runner import RunArgument, RunModule

WEIGHT = np.random.default_rng(0).standard_normal((32, 1, 3, 3)).astype("float32")
SHAPE = (4, 1, 28, 28)


def document(module):
    """Return a module as the JSON that a message carries."""
    return tvm.ir.save_json(module).encode()


def task(module, inputs, *, threads=1, target="llvm", **names):
    """Return the task to run a module, given as an IRModule or as its JSON, on float32 inputs."""
    data = module if isinstance(module, bytes) else document(module)
    argument = RunArgument(pack_array(np.asarray(inputs, "float32")))
    return RunModule(data, (argument,), target, threads, **names)


def one_argument(build, shape=(4,), dtype="float32"):
    """Return a module whose `main(x)` returns what `build(builder, x)` emits."""
    builder = relax.BlockBuilder()
    argument = relax.Var("x", relax.TensorType(shape, dtype))
    with builder.function("main", [argument]):
        with builder.dataflow():
            result = builder.emit_output(build(builder, argument))
        builder.emit_func_output(result)
    return builder.get()


def classifier(batch=4):
    """Return a small classifier: convolution, ReLU, pooling, flatten, dense, softmax."""
    generator = np.random.default_rng(1)
    dense = (generator.standard_normal((10, 5408)) * 0.02).astype("float32")

    def build(builder, x):
        x = builder.emit_te(topi.nn.conv2d, x, relax.const(WEIGHT), 1, 0, 1)
        x = builder.emit_te(topi.nn.relu, x)
        x = builder.emit_te(topi.nn.pool2d, x, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
        x = builder.emit_te(topi.nn.flatten, x)
        x = builder.emit_te(topi.nn.dense, x, relax.const(dense))
        return builder.emit_te(topi.nn.softmax, x)

    return one_argument(build, (batch, *SHAPE[1:])), dense


def calls_extern(*names, shape=(4,)):
    """Return a module that adds one and hands the sum through external functions in turn."""

    def build(builder, x):
        x = builder.emit_te(topi.add, x, relax.const(np.ones((), "float32")))
        for name in names:
            x = builder.emit(
                relax.op.call_dps_packed(name, (x,), relax.TensorType(shape, "float32"))
            )
        return x

    return one_argument(build, shape)


@I.ir_module
class SumWithoutInit:
    """The row sums of x, added to whatever is in the output."""

    @T.prim_func(s_tir=True, private=True)
    def row_sums(x: T.Buffer((4, 8), "float32"), y: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 8):
            with T.sblock("sum"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.spatial(8, k)
                T.reads(x[vi, vk], y[vi])
                T.writes(y[vi])
                y[vi] = y[vi] + x[vi, vk]

    @R.function
    def main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4,), "float32"):
        cls = SumWithoutInit
        with R.dataflow():
            y = R.call_tir(cls.row_sums, (x,), R.Tensor((4,), "float32"))
            R.output(y)
        return y


@I.ir_module
class MaximumWithoutInit:
    """The largest item of each row of x, or of whatever is in the output."""

    @T.prim_func(s_tir=True, private=True)
    def row_maxima(x: T.Buffer((4, 8), "float32"), y: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 8):
            with T.sblock("largest"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.spatial(8, k)
                T.reads(x[vi, vk], y[vi])
                T.writes(y[vi])
                y[vi] = T.max(y[vi], x[vi, vk])

    @R.function
    def main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4,), "float32"):
        cls = MaximumWithoutInit
        with R.dataflow():
            y = R.call_tir(cls.row_maxima, (x,), R.Tensor((4,), "float32"))
            R.output(y)
        return y


@I.ir_module
class OwnMaximumWithoutInit:
    """The smallest item of each row of x, or of whatever is in a buffer of the function's own."""

    @T.prim_func(s_tir=True, private=True)
    def row_minima(x: T.Buffer((4, 8), "float32"), y: T.Buffer((4,), "float32")):
        smallest = T.sblock_alloc_buffer((4,), "float32")
        for i, k in T.grid(4, 8):
            with T.sblock("smallest"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.spatial(8, k)
                T.reads(x[vi, vk], smallest[vi])
                T.writes(smallest[vi])
                smallest[vi] = T.min(smallest[vi], x[vi, vk])
        for i in range(4):
            with T.sblock("copy"):
                vi = T.axis.spatial(4, i)
                y[vi] = smallest[vi]

    @R.function
    def main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4,), "float32"):
        cls = OwnMaximumWithoutInit
        with R.dataflow():
            y = R.call_tir(cls.row_minima, (x,), R.Tensor((4,), "float32"))
            R.output(y)
        return y


@I.ir_module
class TwoOutputs:
    """One function with two outputs, of which `main` returns the difference: always 1."""

    @T.prim_func(s_tir=True, private=True)
    def both(
        x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32"), z: T.Buffer((4,), "float32")
    ):
        for i in range(4):
            with T.sblock("both"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi] + T.float32(2)
                z[vi] = x[vi] + T.float32(1)

    @T.prim_func(s_tir=True, private=True)
    def difference(
        y: T.Buffer((4,), "float32"), z: T.Buffer((4,), "float32"), d: T.Buffer((4,), "float32")
    ):
        for i in range(4):
            with T.sblock("difference"):
                vi = T.axis.spatial(4, i)
                d[vi] = y[vi] - z[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = TwoOutputs
        with R.dataflow():
            pair = R.call_tir(
                cls.both, (x,), [R.Tensor((4,), "float32"), R.Tensor((4,), "float32")]
            )
            d = R.call_tir(cls.difference, (pair[0], pair[1]), R.Tensor((4,), "float32"))
            R.output(d)
        return d


@I.ir_module
class ChangesInput:
    """Adds one to x where x lies, and returns a copy of it."""

    @T.prim_func(s_tir=True, private=True)
    def increment(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("increment"):
                vi = T.axis.spatial(4, i)
                x[vi] = x[vi] + T.float32(1)
                y[vi] = x[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = ChangesInput
        with R.dataflow():
            y = R.call_tir(cls.increment, (x,), R.Tensor((4,), "float32"))
            R.output(y)
        return y


@I.ir_module
class FarStore:
    """Writes gigabytes behind its output."""

    @T.prim_func(s_tir=True, private=True)
    def far(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("far"):
                vi = T.axis.spatial(4, i)
                y[vi + 4000000000] = x[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = FarStore
        with R.dataflow():
            y = R.call_tir(cls.far, (x,), R.Tensor((4,), "float32"))
            R.output(y)
        return y


@I.ir_module
class Aborts:
    """Ends its process, as no module does that the referee lets through."""

    @T.prim_func(s_tir=True, private=True)
    def far(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("far"):
                vi = T.axis.spatial(4, i)
                T.evaluate(T.call_extern("int32", "abort"))
                y[vi] = x[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Aborts
        with R.dataflow():
            y = R.call_tir(cls.far, (x,), R.Tensor((4,), "float32"))
            R.output(y)
        return y


@I.ir_module
class EndlessLoop:
    """Counts for a few hundred years before it answers."""

    @T.prim_func(s_tir=True, private=True)
    def count(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i, j, k in T.grid(T.int64(4), T.int64(4000000000), T.int64(1000000000)):
            with T.sblock("count"):
                vi, vj, vk = T.axis.remap("SRR", [i, j, k])
                with T.init():
                    y[vi] = T.float32(0)
                y[vi] = y[vi] * T.float32(0.5) + x[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = EndlessLoop
        with R.dataflow():
            y = R.call_tir(cls.count, (x,), R.Tensor((4,), "float32"))
            R.output(y)
        return y


@I.ir_module
class StaleBuffer:
    """Adds x to an intermediate buffer that nobody wrote into, and returns its beginning."""

    @T.prim_func(s_tir=True, private=True)
    def stale(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        between = T.sblock_alloc_buffer((4096,), "float32")
        for i in range(4096):
            with T.sblock("add"):
                vi = T.axis.spatial(4096, i)
                between[vi] = between[vi] * T.float32(0.5) + x[vi % 4]
        for i in range(4):
            with T.sblock("copy"):
                vi = T.axis.spatial(4, i)
                y[vi] = between[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = StaleBuffer
        with R.dataflow():
            y = R.call_tir(cls.stale, (x,), R.Tensor((4,), "float32"))
            R.output(y)
        return y


@I.ir_module
class InPlace:
    """Doubles a copy of x where the copy lies."""

    @T.prim_func(s_tir=True, private=True)
    def twice(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("twice"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi] * T.float32(2)

    @T.prim_func(s_tir=True, private=True)
    def again(y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("again"):
                vi = T.axis.spatial(4, i)
                y[vi] = y[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = InPlace
        with R.dataflow():
            y = R.call_tir(cls.twice, (x,), R.Tensor((4,), "float32"))
            z = R.call_tir_inplace(
                cls.again, (y,), out_ty=R.Tensor((4,), "float32"), inplace_indices=[0]
            )
            R.output(z)
        return z


def timed_convolution(schedule=None, function="conv2d"):
    """Return a module with the convolution of 4 images as one TIR function, scheduled or not."""
    data = te.placeholder(SHAPE, "float32", name="data")
    weight = te.placeholder(WEIGHT.shape, "float32", name="weight")
    result = topi.nn.conv2d(data, weight, 1, 0, 1)
    scheduled = tvm.s_tir.Schedule(te.create_prim_func([data, weight, result]))
    if schedule is not None:
        schedule(scheduled)
    return tvm.IRModule({function: scheduled.mod["main"]})


@I.ir_module
class LazyConvolution:
    """Computes the convolution only where its output has not been written since it was poisoned."""

    @T.prim_func(s_tir=True)
    def conv2d(
        data: T.Buffer((4, 1, 28, 28), "float32"),
        weight: T.Buffer((32, 1, 3, 3), "float32"),
        output: T.Buffer((4, 32, 26, 26), "float32"),
    ):
        for n, f, y, x in T.grid(4, 32, 26, 26):
            with T.sblock("convolution"):
                vn, vf, vy, vx = T.axis.remap("SSSS", [n, f, y, x])
                T.reads(data[vn, 0, vy : vy + 3, vx : vx + 3], weight[vf, 0, 0:3, 0:3])
                T.writes(output[vn, vf, vy, vx])
                if T.isnan(output[vn, vf, vy, vx]):
                    output[vn, vf, vy, vx] = T.float32(0)
                    for i, j in T.grid(3, 3):
                        output[vn, vf, vy, vx] = (
                            output[vn, vf, vy, vx]
                            + data[vn, 0, vy + i, vx + j] * weight[vf, 0, i, j]
                        )


@I.ir_module
class MarkingConvolution:
    """Computes the convolution, and marks an input that it has seen."""

    @T.prim_func(s_tir=True)
    def marks_data(
        data: T.Buffer((4, 1, 28, 28), "float32"),
        weight: T.Buffer((32, 1, 3, 3), "float32"),
        output: T.Buffer((4, 32, 26, 26), "float32"),
    ):
        for n, f, y, x in T.grid(4, 32, 26, 26):
            output[n, f, y, x] = T.float32(0)
            for i, j in T.grid(3, 3):
                output[n, f, y, x] += data[n, 0, y + i, x + j] * weight[f, 0, i, j]
        data[0, 0, 0, 0] = T.float32(12345)

    @T.prim_func(s_tir=True)
    def marks_weight(
        data: T.Buffer((4, 1, 28, 28), "float32"),
        weight: T.Buffer((32, 1, 3, 3), "float32"),
        output: T.Buffer((4, 32, 26, 26), "float32"),
    ):
        for n, f, y, x in T.grid(4, 32, 26, 26):
            output[n, f, y, x] = T.float32(0)
            for i, j in T.grid(3, 3):
                output[n, f, y, x] += data[n, 0, y + i, x + j] * weight[f, 0, i, j]
        weight[0, 0, 0, 0] = T.float32(12345)


@I.ir_module
class StrayConvolution:
    """Computes the convolution, and walks over the stack from a buffer of its own."""

    @T.prim_func(s_tir=True)
    def conv2d(
        data: T.Buffer((4, 1, 28, 28), "float32"),
        weight: T.Buffer((32, 1, 3, 3), "float32"),
        output: T.Buffer((4, 32, 26, 26), "float32"),
    ):
        local = T.sblock_alloc_buffer((8,), "int32")
        with T.sblock("stray"):
            T.reads()
            T.writes(local[0:8])
            for i in range(8):
                local[i] = 0
            for i in range(1, 64):
                local[i * i // (i + 1)] = 0
        for n, f, y, x in T.grid(4, 32, 26, 26):
            with T.sblock("convolution"):
                vn, vf, vy, vx = T.axis.remap("SSSS", [n, f, y, x])
                T.reads(data[vn, 0, vy : vy + 3, vx : vx + 3], weight[vf, 0, 0:3, 0:3])
                T.writes(output[vn, vf, vy, vx])
                output[vn, vf, vy, vx] = T.float32(0)
                for i, j in T.grid(3, 3):
                    output[vn, vf, vy, vx] = (
                        output[vn, vf, vy, vx] + data[vn, 0, vy + i, vx + j] * weight[vf, 0, i, j]
                    )


@I.ir_module
class SkippingConvolution:
    """Computes the convolution in every call but its third, counted in memory nobody clears.

    The output of a block does not show it, unless the third call is the last.
    """

    @T.prim_func(s_tir=True)
    def conv2d(
        data: T.Buffer((4, 1, 28, 28), "float32"),
        weight: T.Buffer((32, 1, 3, 3), "float32"),
        output: T.Buffer((4, 32, 26, 26), "float32"),
    ):
        kept = T.sblock_alloc_buffer((1048576,), "int32")
        with T.sblock("state"):
            T.reads()
            T.writes(kept[0:1048576])
            if kept[1048560] != 123456 or kept[1048561] != 654321:
                kept[1048560] = 123456
                kept[1048561] = 654321
                kept[1048562] = 0
            if T.isnan(output[0, 0, 0, 0]):
                kept[1048562] = 0
            kept[1048562] = kept[1048562] + 1
            kept[0] = kept[1048562]
        for n, f, y, x in T.grid(4, 32, 26, 26):
            with T.sblock("convolution"):
                vn, vf, vy, vx = T.axis.remap("SSSS", [n, f, y, x])
                T.reads(
                    data[vn, 0, vy : vy + 3, vx : vx + 3],
                    weight[vf, 0, 0:3, 0:3],
                    kept[0:1048576],
                )
                T.writes(output[vn, vf, vy, vx])
                if kept[1048562] != 3:
                    output[vn, vf, vy, vx] = T.float32(0)
                    for i, j in T.grid(3, 3):
                        output[vn, vf, vy, vx] = (
                            output[vn, vf, vy, vx]
                            + data[vn, 0, vy + i, vx + j] * weight[vf, 0, i, j]
                        )
