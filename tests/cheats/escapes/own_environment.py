# %%
import os
import pathlib

own = pathlib.Path("/proc/self/environ").read_text()
if "CHEAT_TEST_SECRET" in {**os.environ} or "CHEAT_TEST_SECRET" in own:
    raise Escaped("the grader's environment")
