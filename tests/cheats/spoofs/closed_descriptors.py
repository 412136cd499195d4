# /// cheat
# about = "All descriptors are closed, the kernel's own ones among them."
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
import os

os.closerange(3, 1024)
