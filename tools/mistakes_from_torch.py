"""Example submissions of from-torch with typical mistakes."""

from __future__ import annotations

from snippets_from_torch import (
    BUILD,
    FETCH,
    FUNCTIONS,
    FUSED,
    GET_ATTR_NODE,
    MATMUL,
    OP_LINEAR,
    PLACEHOLDERS,
    RELU,
    SETUP,
    TE,
    TE_LINEAR,
    TRY,
    WITH_INTERMEDIATE,
    from_fx,
    operators,
    tensorir,
)

# --- tensor expressions ---------------------------------------------------------------------------

SWAPPED = "\n".join(
    (
        PLACEHOLDERS,
        MATMUL,
        RELU,
        FUSED.replace("A, B, D", "A, B, C, D"),
        WITH_INTERMEDIATE.replace("A, B, C, D", "A, B, D"),
    )
)

MATRICES_ONLY = TE.replace("lambda *i: te.max(A(*i), 0.0)", "lambda i, j: te.max(A[i, j], 0.0)")

TE_MISTAKES = {
    "parameters_swapped": (SETUP, TE, SWAPPED),
    "outputs_out_of_order": (
        SETUP,
        TE,
        PLACEHOLDERS + WITH_INTERMEDIATE.replace("C, D", "D, C"),
    ),
    "relu_for_matrices_only": (
        SETUP,
        MATRICES_ONLY,
        PLACEHOLDERS + MATMUL,
        FUSED,
        RELU,
    ),
    "reduction_one_short": (
        SETUP,
        TE.replace("reduce_axis((0, l)", "reduce_axis((0, l - 1)"),
        FUNCTIONS,
        BUILD,
    ),
    "graph_where_function_is_asked": (SETUP, TE, BUILD + "fused_func = MyModule\n"),
}

# --- the graph ------------------------------------------------------------------------------------

BUILD_MISTAKES = {
    "relu_forgotten_in_graph": (SETUP, TE, BUILD.replace("emit_output(D)", "emit_output(C)")),
    "one_call_in_graph": (
        SETUP,
        TE,
        BUILD.replace("D = bb.emit_te(te_relu, C)", "").replace(
            "C = bb.emit_te(te_matmul, A, B)",
            "D = bb.emit_te(lambda a, b: te_relu(te_matmul(a, b)), A, B)",
        ),
    ),
    "graph_without_dataflow": (
        SETUP,
        TE,
        BUILD.replace("    with bb.dataflow():\n", "    if True:\n").replace(
            "bb.emit_output(D)", "D"
        ),
    ),
}

# --- importers ------------------------------------------------------------------------------------

# As in a well-known tutorial: without a bias `b` is never bound.
TE_LINEAR_BIAS_UNBOUND = """\
w = map_param(nn_mod.weight)
if nn_mod.bias is not None:
    b = map_param(nn_mod.bias)
y = bb.emit_te(topi.nn.dense, x, w)
return bb.emit_te(topi.add, y, b)"""

OP_LINEAR_BIAS_UNBOUND = """\
w = map_param(nn_mod.weight)
if nn_mod.bias is not None:
    b = map_param(nn_mod.bias)
y = bb.emit(relax.op.linear(x, w))
return bb.emit(relax.op.add(y, b))"""

# Reading the same numbers in another order: the shapes fit, the matrix is not transposed.
TE_LINEAR_RESHAPED = TE_LINEAR.replace(
    "topi.nn.dense, x, map_param(nn_mod.weight)",
    "te_matmul, x, map_param(nn_mod.weight.reshape(nn_mod.in_features, -1))",
)

OP_LINEAR_NOT_TRANSPOSED = OP_LINEAR.replace(
    "bb.emit(relax.op.permute_dims(map_param(nn_mod.weight)))", "map_param(nn_mod.weight)"
)

ONLY_THE_PERCEPTRON = """\
def import_with_tensorir(fx_module, input_shapes):
    x = relax.Var("x", R.Tensor(input_shapes[0], "float32"))
    w0, b0, w1, b1 = (
        relax.const(fx_module.get_parameter(name).detach().numpy())
        for name in ("linear0.weight", "linear0.bias", "linear1.weight", "linear1.bias")
    )
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            h = bb.emit_te(topi.add, bb.emit_te(topi.nn.dense, x, w0), b0)
            h = bb.emit_te(te_relu, h)
            h = bb.emit_te(topi.add, bb.emit_te(topi.nn.dense, h, w1), b1)
            out = bb.emit_output(h)
        bb.emit_func_output(out)
    return bb.get()
"""

# It imports what the notebook built itself, whatever it is given.
OWN_WEIGHTS = """\
def import_with_tensorir(fx_module, input_shapes):
    return from_fx(
        fx.symbolic_trace(mlp),
        input_shapes,
        call_function_map={},
        call_module_map={nn.Linear: map_linear, nn.ReLU: map_relu},
    )
"""

PARAMETER_AS_INPUT = """\
def map_param(param):
    return relax.const(param.data.numpy(), "float32")


later = []


def take_param(fx_mod, target):
    param = fetch_attr(fx_mod, target)
    var = relax.Var(target.replace(".", "_"), R.Tensor(tuple(param.shape), "float32"))
    later.append(var)
    return var
"""

GET_ATTR_AS_INPUT = """\
node_map[node] = take_param(fx_mod, node.target)
fn_inputs.append(node_map[node])"""

FIRST_SHAPE_FOR_ALL = """\
var = relax.Var(node.name, R.Tensor(input_shapes[0], "float32"))
fn_inputs.append(var)
node_map[node] = var"""

SHAPES_IGNORED = FIRST_SHAPE_FOR_ALL.replace("input_shapes[0]", "(1, 784)")

GET_ATTR_WITHOUT_DOTS = GET_ATTR_NODE.replace("fetch_attr(", "getattr(")

BY_TARGET = (
    from_fx()
    .replace("node_map[node]", "node_map[node.target]")
    .replace("node_map[node.args[0]]", "node_map[node.args[0].target]")
)


def by_target(importer: str) -> str:
    """Return an importer that looks values up by the name of what made them."""
    return importer.replace(".args[0]]", ".args[0].target]").replace(
        ".args[1]]", ".args[1].target]"
    )


LAYERS_ONLY = "torch.relu: map_relu{suffix},"

IMPORT_MISTAKES = {
    "bias_of_none": (
        SETUP,
        TE,
        from_fx(),
        tensorir(linear=TE_LINEAR_BIAS_UNBOUND),
        operators(linear=OP_LINEAR_BIAS_UNBOUND),
        TRY,
    ),
    "weights_not_transposed": (
        SETUP,
        TE,
        from_fx(),
        tensorir(linear=TE_LINEAR_RESHAPED),
        operators(linear=OP_LINEAR_NOT_TRANSPOSED),
    ),
    "only_the_visible_model": (SETUP, TE, ONLY_THE_PERCEPTRON, TRY),
    "weights_of_another_model": (
        SETUP,
        TE,
        from_fx(),
        tensorir(name="import_any"),
        TRY.replace("import_with_tensorir", "import_any"),
        OWN_WEIGHTS,
    ),
    "input_shapes_ignored": (SETUP, TE, from_fx(placeholder=SHAPES_IGNORED), tensorir(), TRY),
    "first_shape_for_all_inputs": (
        SETUP,
        TE,
        from_fx(placeholder=FIRST_SHAPE_FOR_ALL),
        tensorir(),
        operators(),
    ),
    "operators_for_tensorir": (
        SETUP,
        TE,
        from_fx(),
        operators(name="import_with_tensorir"),
        operators(),
    ),
    "tensorir_for_operators": (SETUP, TE, from_fx(), tensorir(name="import_with_operators")),
    "parameters_as_inputs": (
        SETUP,
        TE,
        FETCH,
        from_fx(param=PARAMETER_AS_INPUT, get_attr=GET_ATTR_AS_INPUT),
        tensorir(),
    ),
    "layers_only": (SETUP, TE, from_fx(), tensorir(functions=LAYERS_ONLY), TRY),
    "attributes_without_dots": (
        SETUP,
        TE,
        from_fx(get_attr=GET_ATTR_WITHOUT_DOTS),
        tensorir(),
        TRY,
    ),
    "values_by_name": (SETUP, TE, BY_TARGET, by_target(tensorir()), TRY),
}

MISTAKES = TE_MISTAKES | BUILD_MISTAKES | IMPORT_MISTAKES
