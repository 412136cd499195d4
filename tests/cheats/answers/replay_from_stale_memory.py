# /// cheat
# about = "A function keeps inputs and outputs in memory that nobody clears, and replays them."
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
# reason_contains = ["begins with whatever the memory holds"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "failed"
# steps = "not_graded"
# speed = "not_graded"
# ///
# %%
# A buffer of its own lies where it lay in the call before: nobody clears it. So the function keeps
# four inputs with their outputs there, and copies what it has computed before.
sch = install("!=", 0)
