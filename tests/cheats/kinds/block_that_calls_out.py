# /// cheat
# about = """Blocks leave the work to a packed function, to a symbol, and to what lies beyond a \
#     buffer: the last is worth as much as any wrong function in such blocks."""
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.add]
# score = 0
#
# [expect.part.bmm]
# score = 4
# ///
# %%
@T.prim_func(s_tir=True)
def MyAdd(A: T.Buffer((4, 4), "int64"), B: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")):
    for i, j in T.grid(4, 4):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.call_packed("runtime.GetSystemLib", A[vi, vj], B[vj], dtype="int64")


# %%
@T.prim_func(s_tir=True)
def MyAdd(A: T.Buffer((4, 4), "int64"), B: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")):
    for i, j in T.grid(4, 4):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.call_extern("int64", "labs", A[vi, vj] + B[vj])


# %%
@T.prim_func(s_tir=True)
def MyBmm(
    A: T.Buffer((2, 8, 8), "float32"),
    B: T.Buffer((2, 8, 8), "float32"),
    C: T.Buffer((2, 8, 8), "float32"),
):
    for n, i, j, k in T.grid(2, 8, 8, 8):
        with T.sblock("C"):
            vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
            with T.init():
                C[vn, vi, vj] = T.float32(0)
            C[vn, vi, vj] = A[vn, vi, vk + 4096] + B[vn, vk - 4096, vj]
