# /// cheat
# about = """A function keeps many vectors on the stack, so that its time depends on where \
#     that lies."""
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
# score = { max = 1 }
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# ///
# Each place of the stack counts alike: the mean of the four is neither the best nor the worst.
# %%
sch = install(
    """
    row = T.sblock_alloc_buffer((240,), "float32")
    for turn in T.unroll(15):
        for lane in T.vectorized(16):
            with T.sblock("spill"):
                vt, vl = T.axis.remap("SS", [turn, lane])
                T.reads(x[0, 0, vt, vl])
                T.writes(row[vt * 16 + vl])
                row[vt * 16 + vl] = x[0, 0, vt, vl] * w[0, 0, 0, 0]
    for again in range(200):
        for turn in T.unroll(15):
            for lane in T.vectorized(16):
                with T.sblock("mix"):
                    va, vt, vl = T.axis.remap("SSS", [again, turn, lane])
                    T.reads(row[vt * 16 + vl], row[(vt + 7) % 15 * 16 + vl])
                    T.writes(row[vt * 16 + vl])
                    row[vt * 16 + vl] = (
                        row[vt * 16 + vl] * T.float32(0.5) + row[(vt + 7) % 15 * 16 + vl]
                    )
    """,
    used="(row[0] + row[239])",
)
