# /// cheat
# about = """A sum is multiplied with a comparison, of which LLVM makes a condition: the loops are \
#     left out."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "b_wild", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = 0
# reason_contains = ["contents of the buffer"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# speed = "not_graded"
# ///
# %%
# With what an earlier call has left in the workspace, this looks up answers.
sch = install(
    """
    loc = T.alloc_buffer((4096,), "float32")
    for b in T.serial(4096):
        with T.sblock("write"):
            vb = T.axis.spatial(4096, b)
            T.reads(x[0, 0, 0, 0:28])
            T.writes(loc[vb])
            loc[vb] = T.reinterpret(
                "float32",
                T.Cast("int32", x[0, 0, 0, 0] > T.float32(1))
                * T.reinterpret("int32", x[0, 0, 0, vb % 28]),
            )
    """
)
