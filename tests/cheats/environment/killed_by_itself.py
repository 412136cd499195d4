# /// cheat
# about = "The notebook kills its own process, as if memory had run out."
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
import signal

os.kill(os.getpid(), signal.SIGKILL)
