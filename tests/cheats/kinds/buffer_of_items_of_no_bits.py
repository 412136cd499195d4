# /// cheat
# about = """A text is forged in which items have no bits: they count as nothing, and TVM takes 32 \
#     each."""
# assignment = "kinds"
# cells = ["prelude", "forge", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.bmm]
# score = 0
# ///
# %%
# What is `float0` to who reads the text is a float32 to TVM: as items of no bytes, 2**32 + 2**16 of
# them take nothing, and TVM, which multiplies in 32 bits, allocates 2**16.
import json


@I.ir_module
class Wild:
    @T.prim_func(s_tir=True)
    def bmm_relu(
        A: T.Buffer((2, 8, 8), "float32"),
        B: T.Buffer((2, 8, 8), "float32"),
        C: T.Buffer((2, 8, 8), "float32"),
    ):
        Y = T.sblock_alloc_buffer((2, 8, 8), "float32")
        Z = T.sblock_alloc_buffer((65537, 65536), "float16")
        for i in range(16):
            Z[i * 4096, i] = T.float16(1)
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
wild = document.replace(b'"float16"', b'"float0"')
assert wild != document
forge(Capture("bmm", "MyBmm", 9, True, wild))
del Wild
