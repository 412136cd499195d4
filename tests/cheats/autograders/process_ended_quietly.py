# /// cheat
# about = "The process ends with status 0 before anything could be compared."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# ///
# %%
import os

os._exit(0)
