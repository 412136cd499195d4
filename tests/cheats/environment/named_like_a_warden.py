# /// cheat
# about = "Processes give themselves the names of the grader's own, leave their session and stay."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import ctypes
import os

SET_NAME = 15
for name in (b"grader-warden", b"grader-launcher", b"grader-reader", b"grader"):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(SET_NAME, name, 0, 0, 0)
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["grader-warden-{linger}", "600"])
        os._exit(0)
    os.wait()
