# /// cheat
# about = "The larger or the smaller of the sum and what the memory held is taken for the sum."
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.add]
# score = 4
# check.blocks = "passed"
# check.equivalence = "failed"
# ///
# With one number in all of the memory, a very small or a very large one, one of the two was right.
# %%
@I.ir_module
class MyAdd:
    @T.prim_func(s_tir=True)
    def add(A: T.Buffer((4, 4), "int64"), B: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")):
        for i, j in T.grid(4, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(C[vi, vj], A[vi, vj] + B[vj])


# %%
@I.ir_module
class MyAdd:
    @T.prim_func(s_tir=True)
    def add(A: T.Buffer((4, 4), "int64"), B: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")):
        for i, j in T.grid(4, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.min(C[vi, vj], A[vi, vj] + B[vj])
