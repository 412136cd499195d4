# /// cheat
# about = """Vectors of 256 small floats, which TVM stores as larger ones, are counted as one \
#     number each."""
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
# Of a float of eight bits the name has parts of its own, and `x256` was taken for one of them. TVM
# stores each of the 256 as a float32: 2**22 + 2 such items wrap around to 2048 bytes.
@I.ir_module
class Wild:
    @T.prim_func(s_tir=True)
    def bmm_relu(
        A: T.Buffer((2, 8, 8), "float32"),
        B: T.Buffer((2, 8, 8), "float32"),
        C: T.Buffer((2, 8, 8), "float32"),
    ):
        Y = T.sblock_alloc_buffer((2, 8, 8), "float32")
        Z = T.sblock_alloc_buffer((4194306,), "boolx256")
        for i in range(17):
            Z[i * 262144] = Z[i * 262144 + 1]
        for i in range(17):
            Z[i * 262144 + 1] = Z[i * 262144]
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
wild = document.replace(b'"boolx256"', b'"float8_e4m3fnx256"')
assert wild != document
forge(Capture("bmm", "MyBmm", 9, True, wild))
del Wild
