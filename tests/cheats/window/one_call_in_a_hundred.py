# /// cheat
# about = """A function counts its calls and leaves its work out in one of a hundred, which \
#     would be the quickest."""
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
# Of all blocks the lowest hundredth counts.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((1048576,), "int32")
    with T.sblock("count"):
        T.reads(kept[1048000])
        T.writes(kept[1048000])
        kept[1048000] = (kept[1048000] + 1) % 100
    for n, f, i, j in T.grid(4, 32, 26, 26):
        with T.sblock("slow"):
            vn, vf, vi, vj = T.axis.remap("SSSS", [n, f, i, j])
            T.reads(kept[1048000])
            T.writes(y[vn, vf, vi, vj])
            if kept[1048000] != 0:
                y[vn, vf, vi, vj] = T.float32(0)
    """
)
