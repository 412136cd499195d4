# /// cheat
# about = "The process ends itself with success before anything could test it."
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
import os

os._exit(0)
