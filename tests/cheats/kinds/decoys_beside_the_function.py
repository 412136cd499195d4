# /// cheat
# about = "Functions in blocks stand beside those that are graded, which have none or are wrong."
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 12
# problems = []
#
# [expect.part.add]
# score = 6
# check.blocks = "failed"
# check.equivalence = "passed"
#
# [expect.part.bmm]
# score = 6
# check.blocks = "failed"
# check.equivalence = "passed"
# ///
# The check of the blocks and the comparison of the outputs look at one and the same function.
# %%
@I.ir_module
class MyAdd:
    @T.prim_func(s_tir=True)
    def add(A: T.Buffer((4, 4), "int64"), B: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")):
        for i, j in T.grid(4, 4):
            C[i, j] = A[i, j] + B[j]

    @T.prim_func(s_tir=True)
    def in_blocks(
        A: T.Buffer((4, 4), "int64"), B: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")
    ):
        for i, j in T.grid(4, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]


# %%
@T.prim_func(s_tir=True)
def in_blocks(
    A: T.Buffer((2, 8, 8), "float32"),
    B: T.Buffer((2, 8, 8), "float32"),
    C: T.Buffer((2, 8, 8), "float32"),
):
    for n, i, j, k in T.grid(2, 8, 8, 8):
        with T.sblock("C"):
            vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
            with T.init():
                C[vn, vi, vj] = T.float32(0)
            C[vn, vi, vj] = C[vn, vi, vj] + A[vn, vi, vk]


builder = relax.BlockBuilder()
A, B = (relax.Var(name, R.Tensor((2, 8, 8), "float32")) for name in "AB")
with builder.function("main", [A, B]):
    with builder.dataflow():
        decoy = builder.emit(
            relax.call_tir(
                builder.add_func(in_blocks, "bmm_relu"), [A, B], R.Tensor((2, 8, 8), "float32")
            )
        )
        output = builder.emit_output(relax.op.nn.relu(relax.op.matmul(A, B)))
    builder.emit_func_output(output)
MyBmm = builder.get()
