# /// cheat
# about = "The sandbox's first process and this one's parent are killed."
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
import signal

if os.uname().nodename == "sandbox":  # never where the parent is somebody else's process
    for pid in {1, os.getppid()} - {0}:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue
