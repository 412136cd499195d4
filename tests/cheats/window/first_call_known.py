# /// cheat
# about = """A function knows its first call, which is guarded and not timed, by the memory \
#     that it finds there, and is quick from then on."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "b_wild", "b_uneven", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = { max = 26.2 }
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# ///
# Guarded builds fill what a function allocates with numbers that are none.
# %%
sch = uneven(between(2, 4000000))
