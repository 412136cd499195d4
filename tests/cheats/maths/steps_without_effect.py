# /// cheat
# about = """Loops of one iteration are split off and unrolled, so that steps are seen that do \
#     nothing."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = { min = 7, max = 8 }
#
# [expect.part.schedule.check]
# equivalence = "passed"
# steps = "partial"
# ///
# %%
# Every step is there, and none does anything: loops of one iteration are split off, and it is they
# that are reordered, unrolled and run in parallel.
sch = tvm.s_tir.Schedule(create_model_via_emit_te())
block = sch.get_sblock("conv2d_nchw", func_name="conv2d")
sch.compute_inline(sch.get_sblock("pad_temp", func_name="conv2d"))
loops = sch.get_loops(block)
outer, _ = sch.split(loops[0], factors=[1, None])
sch.decompose_reduction(block, sch.get_loops(block)[-3])
sch.unroll(outer)
