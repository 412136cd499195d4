import re
import textwrap

BEFORE = """
@T.prim_func(s_tir=True)
def wild(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
"""
AFTER = """
    for n, f, i, j in T.grid(4, 32, 26, 26):
        with T.sblock("conv"):
            vn, vf, vi, vj = T.axis.remap("SSSS", [n, f, i, j])
            T.reads(x[vn, 0, vi : vi + 3, vj : vj + 3], w[vf, 0, 0:3, 0:3])
            T.writes(y[vn, vf, vi, vj])
            y[vn, vf, vi, vj] = T.float32(0)
            for p, q in T.grid(3, 3):
                y[vn, vf, vi, vj] = y[vn, vf, vi, vj] + x[vn, 0, vi + p, vj + q] * w[vf, 0, p, q]
"""
USE = """
    with T.sblock("use"):
        T.reads(y[0, 0, 0, 0])
        T.writes(y[0, 0, 0, 0])
        y[0, 0, 0, 0] = y[0, 0, 0, 0] + T.min(
            T.max(T.Cast("float32", {used}), T.float32(0)), T.float32(1)
        ) * T.float32(1e-30)
"""
ONE_LESS = r"""(
    T.Cast("int32", T.Cast("int64", \1) * T.int64(8589934592) // T.int64(8589934592)) - 1
)"""


def body_of(statements):
    """Return statements as they stand in the function.

    Of `one_less(b)` the referee does not know the number: it computes none of over 32 bits.
    """
    body = textwrap.indent(textwrap.dedent(statements), "    ")
    return re.sub(r"one_less\((\w+)\)", ONE_LESS, body)


def install(statements, used="", after=AFTER):
    """Return a schedule of the model whose convolution does something else before.

    The compiler leaves out what nothing depends on. So the first item of the output depends on the
    value `used`, by less than it is rounded. A buffer is made as small as what is accessed of it.
    """
    source = BEFORE + body_of(statements) + after + (USE.format(used=used) if used else "")
    function = tvm.script.from_source(source, extra_vars={"T": T})
    model = create_model_via_emit_te()
    model.update_func(model.get_global_var("conv2d"), function)
    return tvm.s_tir.Schedule(model)
