# /// cheat
# about = "The process ends with status 0 after the right work was done: it counts."
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
#
# [expect.part.model]
# score = 10
# ///
# %%
import os

os._exit(0)
