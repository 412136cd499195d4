# /// cheat
# about = "One output is larger than all that is allowed for the notebook."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
print("10 of 10 points " * 5_000_000)
