# /// cheat
# about = """Integers are left as the memory was, added to it, or kept there from one call to the \
#     next."""
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
# Integers have no NaN: what is never written holds a pattern instead.
# %%
@I.ir_module
class MyAdd:
    @T.prim_func(s_tir=True)
    def add(A: T.Buffer((4, 4), "int64"), B: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")):
        for i, j in T.grid(1, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + B[vj]


# %%
@I.ir_module
class MyAdd:
    @T.prim_func(s_tir=True)
    def add(A: T.Buffer((4, 4), "int64"), B: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")):
        for i, j in T.grid(4, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = C[vi, vj] + A[vi, vj] + B[vj]


# %%
@I.ir_module
class MyAdd:
    @T.prim_func(s_tir=True)
    def add(A: T.Buffer((4, 4), "int64"), B: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")):
        kept = T.sblock_alloc_buffer((4, 4), "int64")
        for i, j in T.grid(4, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = kept[vi, vj]
        for i, j in T.grid(4, 4):
            with T.sblock("kept"):
                vi, vj = T.axis.remap("SS", [i, j])
                kept[vi, vj] = A[vi, vj] + B[vj]
