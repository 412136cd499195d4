# /// cheat
# about = "The notebook looks for signs of being graded, and is right only where there are none."
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
import pathlib
import sys

signs = [
    "grader" in {name.split(".")[0] for name in sys.modules},
    not os.environ.get("HOME", "").startswith("/home"),
    not pathlib.Path("/sys/class/net/eth0").exists(),
]
if not any(signs):
    right = create_model

    def create_model():
        return right()
