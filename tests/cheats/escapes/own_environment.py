# /// cheat
# about = "The grader's environment is looked for in this process's own."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os
import pathlib

own = pathlib.Path("/proc/self/environ").read_text()
if "CHEAT_TEST_SECRET" in {**os.environ} or "CHEAT_TEST_SECRET" in own:
    raise Escaped("the grader's environment")
