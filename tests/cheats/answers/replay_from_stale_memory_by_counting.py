# /// cheat
# about = """A function keeps inputs and outputs in memory that nobody clears, and replays them \
#     where as many items are equal."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "b_replay", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = 0
# reason_contains = ["`conv2d`, the contents of the buffer"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# steps = "failed"
# speed = "not_graded"
# ///
# %%
# Memory that was never written is NaN, and in TVM `!=` holds of no NaN: what is equal is counted.
# A buffer of its own lies where it lay in the call before: nobody clears it. So the function keeps
# four inputs with their outputs there, and copies what it has computed before.
sch = install("==", 3424)
