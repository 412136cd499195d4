# /// cheat
# about = "Vectors of 256 conditions take 256 times the bytes that were counted for them."
# assignment = "kinds"
# cells = ["prelude", "forge", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.bmm]
# score = 4
# reason_contains = ["an impossible size"]
#
# [expect.part.bmm.check]
# blocks = "passed"
# equivalence = "not_graded"
# ///
# %%
# `boolx256` was read as a name, and its items as one number: 2**24 + 2 of them count as 16 MB then.
# TVM takes 256 bytes for each, multiplies in 32 bits, and allocates 512 bytes for all of them.
@I.ir_module
class Wild:
    @T.prim_func(s_tir=True)
    def bmm_relu(
        A: T.Buffer((2, 8, 8), "float32"),
        B: T.Buffer((2, 8, 8), "float32"),
        C: T.Buffer((2, 8, 8), "float32"),
    ):
        Y = T.sblock_alloc_buffer((2, 8, 8), "float32")
        Z = T.sblock_alloc_buffer((16777218,), "boolx256")
        for i in range(17):
            Z[i * 1048576] = T.Broadcast(T.bool(True), 256)
        for i in range(17):
            Z[i * 1048576 + 1] = Z[i * 1048576]
        for n, i, j, k in T.grid(2, 8, 8, 8):
            with T.sblock("Y"):
                vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
                with T.init():
                    Y[vn, vi, vj] = T.float32(0)
                Y[vn, vi, vj] = Y[vn, vi, vj] + A[vn, vi, vk] * B[vn, vk, vj]
        for n, i, j in T.grid(2, 8, 8):
            with T.sblock("C"):
                vn, vi, vj = T.axis.remap("SSS", [n, i, j])
                C[vn, vi, vj] = T.max(Y[vn, vi, vj], T.float32(0))


document = saved(Wild)
assert b'"boolx256"' in document
forge(Capture("bmm", "MyBmm", 9, True, document))
del Wild
