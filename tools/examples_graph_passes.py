"""All example submissions of graph-passes: a name maps to the code cells of a notebook.

What each must get is in `examples/graph-passes/<name>.verdict.toml`.
"""

from __future__ import annotations

SETUP = """\
from collections import Counter

import numpy as np
import tvm
from tvm import relax, te, tirx, topi
from tvm.relax.dpl import is_const, is_op, rewrite_call, wildcard
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
"""

HAND = """\
def dense(x, w, b, relu):
    product = topi.add(topi.matmul(x, w), b)
    return topi.nn.relu(product) if relu else product


names = {"x": (16, 24), "w0": (24, 40), "b0": (40,), "w1": (40, 10), "b1": (10,)}
x, w0, b0, w1, b1 = [relax.Var(name, R.Tensor(shape, "float32")) for name, shape in names.items()]
bb = relax.BlockBuilder()
with bb.function("main", [x, w0, b0, w1, b1]):
    with bb.dataflow():
        hidden = bb.emit_te(dense, x, w0, b0, True)
        out = bb.emit_output(bb.emit_te(dense, hidden, w1, b1, False))
    bb.emit_func_output(out)
FusedByHand = bb.get()
"""

OPERATIONS = HAND.replace(
    "hidden = bb.emit_te(dense, x, w0, b0, True)",
    """\
product = bb.emit_te(topi.matmul, x, w0)
        hidden = bb.emit_te(topi.nn.relu, bb.emit_te(topi.add, product, b0))""",
)

DYNAMIC = """\
@I.ir_module
class DynamicModel:
    @T.prim_func(s_tir=True)
    def layer(px: T.handle, w: T.Buffer((24, 20), "float32"), b: T.Buffer((20,), "float32"),
              py: T.handle):
        n = T.int64()
        x = T.match_buffer(px, (n, 24), "float32")
        y = T.match_buffer(py, (n, 20), "float32")
        product = T.sblock_alloc_buffer((n, 20), "float32")
        for i, j, k in T.grid(n, 20, 24):
            with T.sblock("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    product[vi, vj] = b[vj]
                product[vi, vj] += x[vi, vk] * w[vk, vj]
        for i, j in T.grid(n, 20):
            with T.sblock("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.max(product[vi, vj], T.float32(0))

    @T.prim_func(s_tir=True)
    def center(px: T.handle, py: T.handle):
        n = T.int64()
        x = T.match_buffer(px, (n, 20), "float32")
        y = T.match_buffer(py, (n, 20), "float32")
        mean = T.sblock_alloc_buffer((20,), "float32")
        for j, i in T.grid(20, n):
            with T.sblock("mean"):
                vj, vi = T.axis.remap("SR", [j, i])
                with T.init():
                    mean[vj] = T.float32(0)
                mean[vj] += x[vi, vj] / T.Cast("float32", n)
        for i, j in T.grid(n, 20):
            with T.sblock("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] - mean[vj]

    @R.function
    def main(x: R.Tensor(("n", 24), "float32"), w: R.Tensor((24, 20), "float32"),
             b: R.Tensor((20,), "float32")):
        n = T.int64()
        cls = DynamicModel
        with R.dataflow():
            y = R.call_tir(cls.layer, (x, w, b), out_ty=R.Tensor((n, 20), "float32"))
            z = R.call_tir(cls.center, (y,), out_ty=R.Tensor((n, 20), "float32"))
            R.output(z)
        return z
"""

# The same with `n` for 8: what a student has who reads no further than the first example.
ONE_BATCH = (
    DYNAMIC.replace("        n = T.int64()\n", "")
    .replace("(n, ", "(8, ")
    .replace("grid(n, 20", "grid(8, 20")
    .replace("(20, n)", "(20, 8)")
    .replace('T.Cast("float32", n)', "T.float32(8)")
    .replace('("n", 24)', "(8, 24)")
)

SILU = """\
x = wildcard()
sigmoid = is_op("relax.sigmoid")(x)
multiply = is_op("relax.multiply")
pattern = multiply(x, sigmoid) | multiply(sigmoid, x)


@relax.transform.function_pass(opt_level=0)
def RewriteSilu(function, module, context):
    return rewrite_call(pattern, lambda call, matches: relax.op.nn.silu(matches[x]), function)
"""

# A function of a module, as is written where nobody knows of decorators.
SILU_BY_MUTATOR = """\
@relax.expr_functor.mutator
class Silu(relax.PyExprMutator):
    def visit_call_(self, call):
        if call.op == tvm.ir.Op.get("relax.multiply"):
            for one, other in (call.args, reversed(call.args)):
                gate = self.lookup_binding(other)
                if gate is not None and gate.op == tvm.ir.Op.get("relax.sigmoid"):
                    if gate.args[0].same_as(one):
                        return relax.op.nn.silu(self.visit_expr(one))
        return super().visit_call_(call)


def RewriteSilu(module):
    silu = Silu(module)
    main = relax.analysis.remove_all_unused(silu.visit_expr(module["main"]))
    silu.builder_.update_func(module.get_global_var("main"), main)
    return silu.builder_.get()
"""

FUSE = """\
def values_of(function):
    return {each.var: each.value for block in function.body.blocks for each in block.bindings}


def is_call(value, name):
    return isinstance(value, relax.Call) and value.op == tvm.ir.Op.get(name)


def layer_of(value, values, uses):
    if is_call(value, "relax.add"):
        for one, bias in (value.args, reversed(value.args)):
            product = values.get(one) if isinstance(one, relax.Var) else None
            is_bias = isinstance(bias, tvm.ir.GenericConst) and bias.ty.ndim == 1
            if is_call(product, "relax.matmul") and uses[one] == 1 and is_bias:
                return product, bias
    return None


@relax.expr_functor.mutator
class Fuser(relax.PyExprMutator):
    def visit_call_(self, call):
        relu = is_call(call, "relax.nn.relu")
        end = call
        if relu:
            end = self.values.get(call.args[0]) if self.uses[call.args[0]] == 1 else None
        layer = layer_of(end, self.values, self.uses)
        if layer is None:
            return super().visit_call_(call)
        product, bias = layer
        given = [self.visit_expr(each) for each in (*product.args, bias)]
        parameters = [relax.Var(name, each.ty) for name, each in zip("xwb", given)]
        bb = relax.BlockBuilder()
        with bb.function("f", parameters, attrs={"Primitive": True}, private=True):
            with bb.dataflow():
                out = bb.emit(relax.op.matmul(*parameters[:2]))
                out = bb.emit(relax.op.add(out, parameters[2]))
                out = bb.emit_output(relax.op.nn.relu(out) if relu else out)
            bb.emit_func_output(out)
        return relax.Call(self.builder_.add_func(bb.get()["f"], "fused"), given)


@tvm.transform.module_pass(opt_level=0)
def FuseDense(module, context):
    fuser = Fuser(module)
    main = module["main"]
    fuser.values = values_of(main)
    fuser.uses = Counter([main.body.body])
    for value in fuser.values.values():
        fuser.uses.update(value.args if isinstance(value, relax.Call) else [value])
    new = relax.analysis.remove_all_unused(fuser.visit_expr(main))
    fuser.builder_.update_func(module.get_global_var("main"), new)
    return fuser.builder_.get()
"""

BY_PATTERNS = """\
product = is_op("relax.matmul")(wildcard(), wildcard())
bias = is_const()
layer = is_op("relax.add")(product, bias) | is_op("relax.add")(bias, product)
FuseDense = relax.transform.FuseOpsByPattern(
    [("layer_relu", is_op("relax.nn.relu")(layer)), ("layer", layer)]
)
"""

# A mutator that is right, in a pass that forgets what `FuseDense` should return.
RETURNS_MAIN = FUSE.replace(
    "    return fuser.builder_.get()\n", '    return fuser.builder_.get()["main"]\n'
).replace(
    "@tvm.transform.module_pass(opt_level=0)\ndef FuseDense(module, context):",
    "def FuseDense(module):",
)

# Products become TensorIR before anything could be fused.
LOWERED = """\
@relax.expr_functor.mutator
class Lowerer(relax.PyExprMutator):
    def visit_call_(self, call):
        whole = self.builder_.normalize(super().visit_call_(call))
        if is_call(call, "relax.matmul"):
            return self.builder_.call_te(topi.matmul, *whole.args)
        return whole


@tvm.transform.module_pass(opt_level=0)
def FuseDense(module, context):
    lowerer = Lowerer(module)
    lowerer.builder_.update_func(module.get_global_var("main"), lowerer.visit_expr(module["main"]))
    return lowerer.builder_.get()
"""

NO_PASS = """\
@relax.transform.function_pass(opt_level=0)
def RewriteSilu(function, module, context):
    return function


@tvm.transform.module_pass(opt_level=0)
class FuseDense:
    def transform_module(self, module, context):
        return module
"""

EXAMPLES: dict[str, tuple[str, ...]] = {
    # right in an unusual way
    "expressions_and_scripts": (SETUP, HAND, DYNAMIC),
    "functions_for_passes": (SETUP, SILU_BY_MUTATOR, FUSE),
    "patterns_of_tvm": (SETUP, BY_PATTERNS),
    "helper_mended_later": (
        SETUP,
        FUSE.replace("uses[one] == 1 and is_bias", "is_bias"),
        FUSE.partition("def layer_of")[1]
        + FUSE.partition("def layer_of")[2].partition("@relax.expr_functor")[0],
    ),
    # typical mistakes, and what looks like an answer
    "a_function_for_each_operation": (SETUP, OPERATIONS),
    "one_batch": (SETUP, ONE_BATCH),
    "mean_over_eight": (SETUP, DYNAMIC.replace('T.Cast("float32", n)', "T.float32(8)")),
    "sigmoid_of_anything": (
        SETUP,
        SILU.replace('is_op("relax.sigmoid")(x)', 'is_op("relax.sigmoid")(wildcard())'),
    ),
    "used_twice": (SETUP, FUSE.replace("uses[one] == 1 and is_bias", "is_bias")),
    "main_returned": (SETUP, RETURNS_MAIN),
    "lowered_at_once": (SETUP, FUSE.partition("@relax.expr_functor")[0], LOWERED),
    "passes_that_do_nothing": (SETUP, NO_PASS),
    "not_a_pass": (SETUP, SILU.replace("def RewriteSilu", "def Rewrite_Silu"), "FuseDense = 3\n"),
}
