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
