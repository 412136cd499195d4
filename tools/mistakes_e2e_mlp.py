"""Example submissions of e2e-mlp with one typical mistake each."""

from __future__ import annotations

from snippets_e2e_mlp import (
    BIND,
    CALL_LINEAR0,
    CALL_LINEAR1,
    CALLS,
    EXTERNS,
    LINEAR0,
    LINEAR1,
    LNUMPY_LINEAR,
    MIXTURE,
    REGISTER,
    REGISTER_LINEAR,
    REGISTER_RELU,
    RELU0,
    SETUP,
    TIR,
    WITH_EXTERN_CALL,
    low_level,
    module,
    run,
)

# --- in the layers --------------------------------------------------------------------------------

# The sum is there, but what was added to it is not.
WITHOUT_BIAS = "Z[vi, vj] = Y[vi, vj]\n"
WITH_BIAS = "Z[vi, vj] = Y[vi, vj] + B[vj]\n"
BIAS_FORGOTTEN = (
    SETUP,
    low_level(linear=LNUMPY_LINEAR.replace("Y[i, j] + B[j]", "Y[i, j]")),
    module("MyModule", (LINEAR0, RELU0, LINEAR1.replace(WITH_BIAS, WITHOUT_BIAS)), CALLS),
    run("MyModule"),
    REGISTER_LINEAR.replace("    torch.add(out, b, out=out)\n", "") + "\n\n" + REGISTER_RELU,
    WITH_EXTERN_CALL,
)

# A (128, 784) weight cannot be indexed by the 784 first.
WEIGHT_NOT_TRANSPOSED = (
    SETUP,
    low_level(linear=LNUMPY_LINEAR.replace("W[j, k]", "W[k, j]")),
    module("MyModule", tuple(each.replace("W[vj, vk]", "W[vk, vj]") for each in TIR), CALLS),
    REGISTER_LINEAR.replace("w.T", "w") + "\n\n" + REGISTER_RELU,
    WITH_EXTERN_CALL,
)

INIT = "            with T.init():\n                Y[vi, vj] = T.float32(0)\n"
SUM_WITHOUT_INIT = (
    SETUP,
    low_level(
        linear=LNUMPY_LINEAR.replace(
            "                if k == 0:\n                    Y[i, j] = 0\n", ""
        )
    ),
    module("MyModule", tuple(each.replace(INIT, "") for each in TIR), CALLS),
    run("MyModule"),
)

# What is negative in the scores is lost.
RELU1 = RELU0.replace("relu0", "relu1").replace("128", "10")
CALL_RELU1 = 'out = R.call_tir(cls.relu1, (lv2,), R.Tensor((1, 10), "float32"))'
RELU_AT_THE_END = (
    SETUP,
    module("MyModule", (*TIR, RELU1), (*CALLS[:2], CALLS[2].replace("out", "lv2"), CALL_RELU1)),
    run("MyModule"),
)

# --- in how the network is written ----------------------------------------------------------------

MATMUL_IN_LOW_LEVEL = (
    SETUP,
    """\
def lnumpy_linear(X, W, B, Z):
    Y = np.empty(Z.shape, dtype="float32")
    Y[:] = X @ W.T
    for i in range(1):
        for j in range(Z.shape[1]):
            Z[i, j] = Y[i, j] + B[j]


def lnumpy_mlp(data, w0, b0, w1, b1):
    lv0 = np.empty((1, 128), dtype="float32")
    lnumpy_linear(data, w0, b0, lv0)
    for i in range(1):
        for j in range(128):
            lv0[i, j] = max(lv0[i, j], 0)
    out = np.empty((1, 10), dtype="float32")
    lnumpy_linear(lv0, w1, b1, out)
    return out
""",
)

ROWS_IN_LOW_LEVEL = (
    SETUP,
    low_level(
        linear="""\
def lnumpy_linear(X, W, B, Z):
    for i in range(1):
        for j in range(len(B)):
            Z[i, j] = np.sum(X[i, :] * W[j, :]) + B[j]
"""
    ),
)

NO_ALLOCATION = (
    SETUP,
    """\
def layer(x, w, b):
    y = []
    for j in range(len(b)):
        s = 0.0
        for k in range(len(x)):
            s += x[k] * w[j][k]
        y.append(s + b[j])
    return y


def lnumpy_mlp(data, w0, b0, w1, b1):
    hidden = [max(each, 0) for each in layer(data[0], w0, b0)]
    return np.array([layer(hidden, w1, b1)], dtype="float32")
""",
)

NO_DATAFLOW_BLOCK = (
    SETUP,
    module("MyModule", TIR, CALLS, dataflow=False),
    run("MyModule"),
    REGISTER,
    module("MyModuleWithExternCall", (), EXTERNS, dataflow=False),
)

OPERATORS = (
    SETUP,
    module(
        "MyModule",
        (),
        (
            "lv0 = R.add(R.matmul(x, R.permute_dims(w0)), b0)",
            "lv1 = R.nn.relu(lv0)",
            "out = R.add(R.matmul(lv1, R.permute_dims(w1)), b1)",
        ),
    ),
    run("MyModule"),
)

RELU_BY_OPERATOR = (
    SETUP,
    module("MyModule", (LINEAR0, LINEAR1), (CALL_LINEAR0, "lv1 = R.nn.relu(lv0)", CALL_LINEAR1)),
    run("MyModule"),
)

LAYER_LEFT_OUT = (
    SETUP,
    module(
        "MyModule",
        (LINEAR0, RELU0, LINEAR1),
        (CALL_LINEAR0, CALLS[1], CALL_LINEAR1.replace("(lv1, w1, b1)", "(lv0, w1, b1)")),
    ),
    run("MyModule"),
)

# --- externs and parameters -----------------------------------------------------------------------

EXTERN_REBINDS = (
    SETUP,
    """\
@tvm.register_global_func("env.linear", override=True)
def torch_linear(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))
    out = x @ w.T + b


"""
    + REGISTER_RELU,
    WITH_EXTERN_CALL,
    run("MyModuleWithExternCall"),
)

EXTERN_NOT_REGISTERED = (SETUP, REGISTER_LINEAR, WITH_EXTERN_CALL, run("MyModuleWithExternCall"))

EVERYTHING_EXTERN_IN_MIXTURE = (SETUP, REGISTER, module("MyModuleMixture", (), EXTERNS))

NOTHING_EXTERN_IN_MIXTURE = (SETUP, module("MyModuleMixture", TIR, CALLS))

NOT_BOUND = (SETUP, REGISTER, MIXTURE, "MyModuleWithParams = MyModuleMixture\n")

ONLY_WEIGHTS_BOUND = (
    SETUP,
    REGISTER,
    MIXTURE,
    BIND.replace("parameters)", '{"w0": parameters["w0"], "w1": parameters["w1"]})'),
)

MISTAKES = {
    "bias_forgotten": BIAS_FORGOTTEN,
    "weight_not_transposed": WEIGHT_NOT_TRANSPOSED,
    "sum_without_init": SUM_WITHOUT_INIT,
    "relu_at_the_end": RELU_AT_THE_END,
    "matmul_in_low_level": MATMUL_IN_LOW_LEVEL,
    "rows_in_low_level": ROWS_IN_LOW_LEVEL,
    "no_allocation": NO_ALLOCATION,
    "no_dataflow_block": NO_DATAFLOW_BLOCK,
    "operators_instead_of_call_tir": OPERATORS,
    "relu_by_operator": RELU_BY_OPERATOR,
    "layer_left_out": LAYER_LEFT_OUT,
    "extern_rebinds_its_output": EXTERN_REBINDS,
    "extern_not_registered": EXTERN_NOT_REGISTERED,
    "everything_extern_in_mixture": EVERYTHING_EXTERN_IN_MIXTURE,
    "nothing_extern_in_mixture": NOTHING_EXTERN_IN_MIXTURE,
    "parameters_not_bound": NOT_BOUND,
    "only_weights_bound": ONLY_WEIGHTS_BOUND,
}
