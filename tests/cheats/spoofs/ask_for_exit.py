# /// cheat
# about = "The notebook calls exit() in the hope that what came before counts as complete."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@", "right_model"]
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
exit()
